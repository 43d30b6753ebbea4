//! What README.md and the pages in docs/ show is what the commands print.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};

/// The run whose benchmark the documents show.
pub(crate) const RUN: &str = "results/runs/2026-11-30-nvidia-h200-morning";

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_example_is_the_analysis_of_the_published_file() {
    let output = Command::cargo_bin("scanbox")
        .unwrap()
        .args(["analyze", "results/published.nvidia-h200.thesis.csv", "--metric", "squared"])
        .current_dir(root())
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let page = fs::read_to_string(root().join("docs/answers.md")).unwrap();
    assert!(page.contains(printed.trim_end()), "docs/answers.md does not show:\n{printed}");
}

#[test]
fn what_the_readme_names_is_there() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let files =
        ["scripts/quickstart", "scripts/test", "scripts/setup", "kernels/README.md", "docs/commands.md"];
    for file in files {
        assert!(readme.contains(file) && root().join(file).exists(), "{file}");
    }
}

/// The table of commands has every command of `--help`, and no other.
#[test]
fn the_manual_lists_every_command() {
    let manual = fs::read_to_string(root().join("docs/commands.md")).unwrap();
    let help = Command::cargo_bin("scanbox").unwrap().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let shown = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let shown: BTreeSet<&str> = shown.filter_map(|line| line.split_whitespace().next()).collect();
    let (_, table) = manual.split_once("| command | what it does |").unwrap();
    let rows = table.lines().take_while(|line| !line.starts_with('#'));
    let rows = rows.filter_map(|line| line.strip_prefix("| `")?.split_once(" | ").map(|(names, _)| names));
    let named: BTreeSet<&str> = rows
        .flat_map(|names| names.split('`'))
        .flat_map(|name| name.split(", "))
        .map(|name| name.trim_start_matches("scanbox ").trim())
        .filter(|name| !name.is_empty())
        .collect();
    let shown: BTreeSet<&str> = shown.into_iter().filter(|command| *command != "help").collect();
    assert_eq!(named, shown);
}

fn printed(arguments: &str) -> String {
    let mut command = Command::cargo_bin("scanbox").unwrap();
    command.args(arguments.split_whitespace()).current_dir(root()).env("COLUMNS", "80");
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

/// What a document shows of commands: arguments, and what stands between `<!-- scanbox ARGUMENTS -->` and `<!--
/// end -->`.
fn blocks(document: &str) -> Vec<(&str, &str)> {
    let begun = document.split("<!-- scanbox ").skip(1);
    begun
        .map(|text| {
            let (arguments, rest) = text.split_once(" -->\n").unwrap();
            (arguments, rest.split_once("<!-- end -->").expect("a block ends").0)
        })
        .collect()
}

#[test]
fn tables_are_what_their_commands_print() {
    for (document, count) in [("README.md", 2), ("docs/benchmark.md", 13), ("docs/dispatch.md", 1)] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let blocks = blocks(&text);
        assert_eq!(blocks.len(), count, "scripts/figures fills them");
        for (arguments, shown) in blocks {
            let printed = printed(arguments);
            assert_eq!(
                shown, printed,
                "{document} is not what `scanbox {arguments}` prints: run scripts/figures"
            );
        }
    }
    let views = fs::read_to_string(root().join(RUN).join("bench.md")).unwrap();
    assert_eq!(views, printed(&format!("bench --show {RUN}/bench.csv --summary views --format md")));
}

/// The table against CUB, from the rows by another way than the program's.
#[test]
fn ratios_are_against_the_fastest_cub_of_the_run() {
    let rows = csv_file::read(&root().join(RUN).join("bench.csv")).unwrap().records;
    let mut hot: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.cache.unwrap().word() == "hot" && row.status == Status::Ok) {
        hot.entry(row.n_elements).or_default().push(row);
    }
    let own = |row: &Record| row.subject == "scanbox";
    let no_state = |row: &Record| {
        let label = &row.config_id;
        own(row)
            && (["one.", "redo.", "rts.", "stp."].iter().any(|head| label.starts_with(head))
                || label.contains(".fill."))
    };
    let mut expected = Vec::new();
    let mut loses = [0, 0];
    for (n, rows) in &hot {
        let least = |suits: &dyn Fn(&Record) -> bool| {
            let of = rows.iter().filter(|row| suits(row)).map(|row| row.steady.unwrap().median_ns);
            of.min().unwrap() as f64
        };
        let cub = least(&|row| row.subject.starts_with("cub-"));
        let copy = least(&|row| row.subject == "copy" || row.subject.starts_with("cuda-"));
        let (kept, same) = (least(&own), least(&no_state));
        let ratios = [cub / kept, cub / same].map(|ratio| format!("{ratio:.2}"));
        for (count, ratio) in loses.iter_mut().zip(&ratios) {
            *count += usize::from(ratio.starts_with('0'));
        }
        let [kept_ratio, same_ratio] = ratios;
        let copy_pct = format!("{:.0}", 100.0 * copy / kept);
        let us = match kept / 1e3 {
            us if us < 100.0 => format!("{us:.2}"),
            us if us < 1000.0 => format!("{us:.1}"),
            us => format!("{us:.0}"),
        };
        expected.push([format!("2^{}", n.ilog2()), us, kept_ratio, same_ratio, copy_pct]);
    }
    let page = fs::read_to_string(root().join("docs/benchmark.md")).unwrap();
    let block = blocks(&page)[0].1;
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let table = block.lines().filter(|line| line.starts_with("| ")).map(cells).skip(1);
    let shown: Vec<[String; 5]> =
        table.map(|row| [1, 2, 3, 4, 5].map(|column| row[column].clone())).collect();
    assert_eq!(shown, expected);
    // The sentences name as many sizes as the table has below 1.
    for (count, sentence) in loses.into_iter().zip(block.lines().filter(|line| line.starts_with("- "))) {
        let exponent = |text: &str| text.trim().strip_prefix("2^").unwrap().parse::<usize>().unwrap();
        let named = sentence.split_once("slower at ").map_or(0, |(_, rest)| {
            let runs = rest.split_once(" (").unwrap().0.split(',');
            runs.map(|run| run.split_once(" to ").map_or(1, |(from, to)| exponent(to) - exponent(from) + 1))
                .sum()
        });
        assert_eq!(named, count, "{sentence}");
    }
}

/// README.md is a door: what scanbox is for, a picture, a small table, where it loses, how to get it and its two main
/// commands are on the first screen. Its sentences are short.
#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 130);
    let first: Vec<&str> = readme.lines().take(40).collect();
    for command in [
        "![",
        "| 2^28 |",
        "- H200: ",
        "scripts/setup && cargo install",
        "scanbox sweep --device 0 ",
        "scanbox analyze results/*.csv --metric squared ",
    ] {
        assert!(first.iter().any(|line| line.starts_with(command)), "{command}");
    }
    for command in ["scripts/quickstart ", "scripts/test "] {
        assert!(readme.lines().any(|line| line.starts_with(command)), "{command}");
    }
    let (words, sentences) = crate::voice::length(&readme);
    assert!(words < 22 * sentences, "{words} words in {sentences} sentences");
}
