//! What `scanbox analyze` says of the published sweeps, against their rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;
use scanbox_analysis::bench::heats;
use scanbox_analysis::versus::{lines, shown, verdict};
use scanbox_model::csv_file;
use scanbox_model::record::{Cache, Clock, Record, Status};
use serde_json::Value;

use crate::readme::RUN;

const SWEEPS: [&str; 2] = ["published.nvidia-h200.thesis.csv", "published.nvidia-h200.full.csv"];

fn path(sweep: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").join(sweep)
}

fn analyze(sweep: &str, columns: Option<usize>, arguments: &[&str]) -> String {
    let mut command = cargo_bin_cmd!("scanbox");
    command.env_remove("COLUMNS").arg("analyze").arg(path(sweep)).args(arguments);
    command.envs(columns.map(|columns| ("COLUMNS", columns.to_string())));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn ok_rows(sweep: &str) -> Vec<Record> {
    let rows = csv_file::read(&path(sweep)).unwrap().records;
    rows.into_iter().filter(|row| row.status == Status::Ok && !row.is_of_benchmark()).collect()
}

/// Sweeps of two spaces have no config in common: the answer says which files have, and ends in a sentence for each
/// device.
#[test]
fn sweeps_of_several_spaces_are_told_apart() {
    let others = ["published.nvidia-h200.full.csv", "published.nvidia-h100.thesis.csv"].map(path);
    let [full, thesis] = others.map(|path| path.display().to_string());
    let answer = analyze("published.nvidia-h200.thesis.csv", None, &[&full, &thesis]);
    let common = answer.lines().find(|line| line.contains("have configs in common")).unwrap();
    assert!(common.contains("h100.thesis.csv") && common.contains("h200.thesis.csv"), "{common}");
    assert!(!common.contains("full.csv"), "{common}");
    let transfers: Vec<&str> = answer
        .lines()
        .skip_while(|line| !line.starts_with("set of"))
        .skip(2)
        .take_while(|line| line.starts_with(' '))
        .collect();
    assert_eq!(transfers.len(), 2, "{answer}");
    // Ideal lines of two spaces would compare the spaces.
    let speeds: Vec<&str> = answer.lines().filter(|line| line.contains(" times as fast as ")).collect();
    assert!(matches!(speeds.as_slice(), [speed] if !speed.contains("34 sizes")), "{speeds:?}");
    let closing: Vec<&str> = answer.lines().skip_while(|line| *line != "In short").skip(1).collect();
    assert_eq!(closing.len(), 3, "{closing:?}");
    for (line, sizes) in closing.iter().zip([20, 20, 34]) {
        assert!(line.contains(&format!(": {sizes} sizes; best kernel ")), "{line}");
        assert!(line.contains("% on average"), "{line}");
    }
}

/// Over which sizes a set loses what, and which sizes it does not cover at all.
#[test]
fn portfolios_tell_every_size_of_the_sweep() {
    for (sweep, coverage) in SWEEPS.into_iter().flat_map(|sweep| [(sweep, "auto"), (sweep, "all")]) {
        let mut sizes: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
        for row in ok_rows(sweep) {
            sizes.entry(row.n_elements).or_default().insert(row.kernel_id);
        }
        let arguments = ["--portfolio", "4", "--coverage", coverage];
        let json = analyze(sweep, None, &[&arguments[..], &["--format", "json"]].concat());
        let json: Value = serde_json::from_str(&json).unwrap();
        let device = &json["devices"][0];
        let compared: Vec<u64> = serde_json::from_value(device["comparison"]["sizes"].clone()).unwrap();
        let text = analyze(sweep, None, &arguments);
        let sets = device["portfolio"].as_array().unwrap();
        for set in sets {
            let kernels: Vec<String> = serde_json::from_value(set["kernels"].clone()).unwrap();
            let missing: Vec<u64> = sizes
                .iter()
                .filter(|(_, there)| !kernels.iter().any(|kernel| there.contains(kernel)))
                .map(|(&n, _)| n)
                .collect();
            let found: Vec<u64> = serde_json::from_value(set["uncovered_n"].clone()).unwrap();
            assert_eq!((found.len() as u64, &found), (set["uncovered"].as_u64().unwrap(), &missing), "{set}");
            let missed = compared.iter().filter(|n| missing.contains(n)).count();
            let over = (set["sizes"].as_u64().unwrap(), set["of_sizes"].as_u64().unwrap());
            assert_eq!(over, ((compared.len() - missed) as u64, sizes.len() as u64), "{set}");
            // What is told, is at a size that was not compared.
            let elsewhere = set["worst_elsewhere_n"].as_u64();
            assert_eq!(elsewhere.is_some(), compared.len() - missed + missing.len() < sizes.len(), "{set}");
            assert!(elsewhere.is_none_or(|n| !compared.contains(&n) && !missing.contains(&n)), "{set}");
        }
        let all = sizes.len();
        let over = match compared.len() {
            every if every == all => format!("all {all} sizes"),
            some => format!("{some} of all {all} sizes"),
        };
        assert!(text.contains(&format!("loss: on average over {over}")), "{text}");
        assert_eq!(text.contains("Loss at the other "), compared.len() < all, "{text}");
        // A set of one that is not the best kernel needs a word.
        let best = &device["best_kernel"]["ranking"][0]["kernel"];
        let is_other = best.is_string() && *best != sets[0]["kernels"][0];
        assert_eq!(text.contains("The set of one is another kernel"), is_other, "{best}: {text}");
    }
}

/// The column that decides stands at any width, so that no runner-up stands above its winner.
#[test]
fn explanations_are_in_order_at_any_width() {
    for (sweep, columns) in SWEEPS.into_iter().flat_map(|sweep| [60, 80, 100, 140].map(|at| (sweep, at))) {
        let confirmed = ok_rows(sweep).iter().any(|row| row.confirmed_ns.is_some());
        let text = analyze(sweep, Some(columns), &["--explain"]);
        let mut lines = text.lines().skip_while(|line| !(line.contains(" config ") && line.contains(" ns")));
        let header = lines.next().unwrap();
        assert_eq!(header.contains("confirmed"), confirmed, "{columns}: {header}");
        let end = |column: &str| header.find(column).map_or(0, |at| at + column.len());
        let (ns_at, confirmed_at) = (end(" ns"), end("confirmed"));
        let mut winner: Option<u64> = None;
        let mut pairs = 0;
        for line in lines.skip(1).take_while(|line| !line.starts_with("How:") && !line.starts_with("left")) {
            // Numbers are set to the right of their columns; the rest of a broken label has none.
            let cell = |end: usize| {
                line.get(..end).filter(|part| part.ends_with(|last: char| last.is_ascii_digit()))
            };
            let of = |end: usize| cell(end)?.split_whitespace().last()?.parse::<u64>().ok();
            let Some(swept) = of(ns_at) else { continue };
            let ns = of(confirmed_at);
            let is_second = line.trim_start().starts_with("2 ");
            if let (true, Some(first), Some(second)) =
                (is_second, winner, ns.or(Some(swept).filter(|_| !confirmed)))
            {
                assert!(first <= second, "{columns}: {line}");
                pairs += 1;
            }
            winner = if is_second { None } else { ns.or(Some(swept).filter(|_| !confirmed)) };
        }
        assert!(pairs >= 5, "{columns}: {pairs}");
    }
}

/// One answer about another implementation, whoever is asked: the table of the benchmark, `analyze` or the page.
#[test]
fn the_ratio_to_another_implementation_is_that_of_the_benchmark() {
    let bench = path("..").join(RUN).join("bench.csv");
    let rows = csv_file::read(&bench).unwrap().records;
    let heats = heats(&rows, Clock::Steady);
    let of_bench: BTreeMap<u64, f64> = lines(&heats)
        .into_iter()
        .filter(|line| line.cache == Cache::Hot)
        .filter_map(|line| Some((line.n, line.kept?.ratio?)))
        .collect();
    let bench = bench.to_str().unwrap();
    let json: Value = serde_json::from_str(&analyze(SWEEPS[1], None, &[bench, "--format", "json"])).unwrap();
    let points = json["devices"][0]["ideal"]["points"].as_array().unwrap();
    let mut ratios: Vec<(u64, Option<f64>)> = Vec::new();
    for point in points.iter().filter(|point| !point["baseline_gbps"].is_null()) {
        let of = |key: &str| point[key].as_f64().unwrap();
        let (n, ratio) = (point["n"].as_u64().unwrap(), of("baseline_ratio"));
        assert!((ratio / of_bench[&n] - 1.0).abs() < 1e-6, "{point}");
        assert!((of("baseline_own_gbps") / of("baseline_gbps") / ratio - 1.0).abs() < 1e-6, "{point}");
        ratios.push((n, Some(ratio)));
    }
    // The benchmark may have sizes that the sweep has not.
    let swept: BTreeSet<u64> = points.iter().filter_map(|point| point["n"].as_u64()).collect();
    assert_eq!(ratios.len(), of_bench.keys().filter(|n| swept.contains(n)).count());

    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let mut command = cargo_bin_cmd!("scanbox");
    command.arg("report").arg(path(SWEEPS[1])).arg(bench).arg("-o").arg(&page).assert().success();
    let (page, verdict) = (std::fs::read_to_string(page).unwrap(), verdict(&ratios));
    let behind = ratios.iter().filter(|(_, ratio)| ratio.is_some_and(|ratio| shown(ratio) < 1.0)).count();
    let (least, most) = verdict.range.unwrap();
    for said in [
        "measured beside it in one run",
        &match behind {
            0 => format!("not slower at any of {} sizes", ratios.len()),
            behind => format!("slower at {behind} of {} sizes", ratios.len()),
        },
        &format!("{least:.2} (at "),
        &format!("to {most:.2} (at "),
    ] {
        assert!(page.contains(said), "{said}");
    }
}

/// "What do I use at 3,000,000 elements?"
#[test]
fn a_size_that_was_not_measured_has_an_answer() {
    let sizes = [("3000000", "2^21, 2^22"), ("2^20", "2^20"), ("5", "2^10"), ("2^31", "2^29")];
    let asked: Vec<&str> = sizes.iter().map(|(size, _)| *size).collect();
    let text = analyze(SWEEPS[0], None, &["--at", &asked.join(",")]);
    let (_, block) = text.split_once("Launch at the sizes of --at").unwrap();
    for (size, measured) in sizes {
        let n = size.parse::<scanbox_model::sizes::Sizes>().unwrap().largest().to_string();
        let row = block.lines().find(|line| line.trim_start().starts_with(&format!("{n} "))).unwrap();
        assert!(row.ends_with(measured), "{size}: {row}");
    }
    // It is the last part: no table scrolls it away.
    assert!(!block.contains("\n\n") && text.contains("Launch in ranges"), "{text}");
    let json = analyze(SWEEPS[0], None, &["--at", "3000000", "--format", "json"]);
    let found: Value = serde_json::from_str(&json).unwrap();
    let at = &found["devices"][0]["at"][0];
    assert_eq!((at["n"].as_u64(), at["measured"][1].as_u64()), (Some(3_000_000), Some(1 << 22)), "{at}");
    assert!(at["time_ns"].as_f64().unwrap() > 1000.0, "{at}");
    let ranges = found["devices"][0]["launch"].as_array().unwrap();
    assert!(ranges.len() > 1 && ranges[0]["from"] == 1, "{ranges:?}");
}
