//! `scanbox import`: what was measured elsewhere becomes rows that the other commands read.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sweeps::{Ended, Place, ended};
use assert_cmd::cargo::cargo_bin;
use scanbox_model::csv_file;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Record, Selection, Status};

const TABLE: &str = "n_elements,steady_ns_median,steady_ns_q1,steady_ns_q3,note\n\
                     4096,1000.4,990,1010,a\n8192,2000,,,b\n";
const SAID: &str = r#"{"protocol":1,"tool":"CUB","version":"3.5.0","device":"Replay","subjects":[{"name":"cub-scan","result":"scan"}]}
{"do":"load","n":4096,"seed":1}
{"ok":true}
{"do":"time","subject":"other","n":4096,"cache":"hot","calls":1,"samples":1}
{"samples_ns":[7.0]}
{"do":"time","subject":"cub-scan","n":4096,"cache":"hot","calls":10,"samples":3}
{"samples_ns":[10000,11000,12000]}
{"do":"time","subject":"cub-scan","n":4096,"cache":"hot","calls":1,"samples":1}
{"samples_ns":[5000]}
{"do":"time","subject":"cub-scan","n":4096,"cache":"cold","calls":1,"samples":1}
{"samples_ns":[9000]}
"#;

fn import(folder: &Path, text: &str, ending: &str, args: &[&str]) -> Ended {
    let input = format!("in.{ending}");
    fs::write(folder.join(&input), text).unwrap();
    let mut command = Command::new(cargo_bin("scanbox"));
    command.args(["import", &input, "--subject", "cub-scan", "--out", "bench/cub.csv"]).args(args);
    ended(command.current_dir(folder).output().unwrap())
}

fn rows(folder: &Path) -> Vec<Record> {
    csv_file::read(&folder.join("bench/cub.csv")).unwrap().records
}

#[test]
fn a_table_becomes_rows() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--version", "CUB 3.5.0", "--device-name", "Replay"];
    let ended = import(folder.path(), TABLE, "csv", &args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let rows = rows(folder.path());
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].n_elements, rows[0].bytes_moved, rows[0].status), (4096, 32_768, Status::Ok));
    assert_eq!(rows[0].subject_version, "CUB 3.5.0");
    assert_eq!((rows[0].cache, &rows[0].selection[..]), (Some(Cache::Hot), &[Selection::Baseline][..]));
    let times = rows.iter().map(|row| row.steady.unwrap());
    assert_eq!(
        times.map(|time| (time.median_ns, time.q1_ns)).collect::<Vec<_>>(),
        [(1000, 990), (2000, 2000)]
    );
    // What is there is not written over.
    assert_eq!(import(folder.path(), TABLE, "csv", &args).code, Some(1));
}

#[test]
fn what_was_said_to_a_baseline_becomes_rows() {
    let folder = tempfile::tempdir().unwrap();
    let ended = import(folder.path(), SAID, "jsonl", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let rows = rows(folder.path());
    let found = rows.iter().map(|row| {
        let median = |time: Option<scanbox_model::record::TimeStats>| time.map(|time| time.median_ns);
        (row.cache.unwrap(), row.samples, median(row.steady).unwrap(), median(row.span))
    });
    let expected = [(Cache::Hot, 3, 1100, Some(5000)), (Cache::Cold, 1, 9000, Some(9000))];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!((rows[0].subject_version.as_str(), rows[0].device.as_str()), ("CUB 3.5.0", "Replay"));
}

#[test]
fn what_cannot_be_read_says_where() {
    #[track_caller]
    fn check(text: &str, ending: &str, args: &[&str], code: i32, parts: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let ended = import(folder.path(), text, ending, args);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        for part in parts {
            assert!(ended.stderr.contains(part), "no `{part}` in {}", ended.stderr);
        }
        assert!(!folder.path().join("bench/cub.csv").exists());
    }
    let both = ["--version", "1", "--device-name", "Replay"];
    check(TABLE, "csv", &both[2..], 2, &["--version"]);
    check(TABLE, "csv", &both[..2], 2, &["--device-name"]);
    check("n_elements,steady_ns_median\n4096,fast\n", "csv", &both, 1, &["in.csv", "line 2", "`fast`"]);
    check(
        "n_elements,steady_ns_median\n4096,\n",
        "csv",
        &both,
        1,
        &["line 2", "`steady_ns_median` is missing"],
    );
    check("n_elements\n4096\n", "csv", &both, 1, &["`steady_ns_median` is missing"]);
    check("n_elements,steady_ns_median\n", "csv", &both, 1, &["no rows"]);
    check("n_elements,steady_ns_median\n8,1\n8,2\n", "csv", &both, 1, &["8 elements are there twice"]);
    check("{\"do\":7}\n", "jsonl", &both, 1, &["in.jsonl", "line 1"]);
    check("{}\n", "jsonl", &both, 1, &["no samples of cub-scan"]);
    check(&SAID.replace("11000", "-1"), "jsonl", &[], 1, &["line 7", "not above zero"]);
    check(TABLE, "csv", &[&both[..], &["--bogus"]].concat(), 2, &["--bogus"]);
}

#[test]
fn an_analysis_shows_the_baseline_beside_the_ideal_line() {
    let place = Place::new("");
    place.sweep(&[]);
    import(place.folder(), TABLE, "csv", &["--version", "CUB 3.5.0", "--device-name", "Replay"]);
    let analyze = |files: &[&str]| {
        let mut command = Command::new(cargo_bin("scanbox"));
        ended(command.arg("analyze").args(files).current_dir(place.folder()).output().unwrap())
    };
    assert!(!analyze(&["out/test.csv"]).stdout.contains("x base"));
    let with = analyze(&["out/test.csv", "bench/cub.csv"]);
    assert_eq!(with.code, Some(0), "{}", with.stderr);
    assert!(with.stdout.contains("x base"), "{}", with.stdout);
    let json = analyze(&["out/test.csv", "bench/cub.csv", "--format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let points = json["devices"][0]["ideal"]["points"].as_array().unwrap();
    let with: Vec<u64> = points
        .iter()
        .filter(|point| point["baseline_ratio"].is_f64())
        .map(|point| point["n"].as_u64().unwrap())
        .collect();
    assert_eq!(with, [4096, 8192]);
    assert_eq!(points[2]["baseline_gbps"].as_f64(), Some(32.768));
}

#[test]
fn what_was_said_about_a_problem_is_of_that_problem() {
    fn check(of_load: &str, code: i32, told: &str) {
        let folder = tempfile::tempdir().unwrap();
        let words = |element: &str| {
            format!(
                "\"seed\":1,\"mode\":\"reduce\",\"element\":\"{element}\",\"op\":\"max\",\"operator_hash\":\"\",\
                 \"operator_facts\":\"\",\"init_bits\":0,\"placement\":\"out-of-place\",\"input\":\"random\"}}"
            )
        };
        let of_load = of_load.replace("F64", &words("f64")).replace("U32", &words("u32"));
        let said = SAID.replace("\"protocol\":1", "\"protocol\":2").replace("\"seed\":1}", &of_load);
        let ended = import(folder.path(), &said, "jsonl", &[]);
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        match code {
            0 => {
                for row in rows(folder.path()) {
                    assert_eq!(Problem::of_row(&row).unwrap().to_string(), told);
                    assert_eq!((row.element_bytes, row.bytes_moved), (8, 8 * 4097));
                }
            }
            _ => assert!(ended.stderr.contains(told), "{}", ended.stderr),
        }
    }
    check("F64", 0, "f64-max-reduce");
    check("F64\n{\"do\":\"load\",\"n\":4096,U32", 1, "rows are of one problem, and here `u32` follows `f64`");
    check("F64\n{\"do\":\"load\",\"n\":1,F64", 0, "f64-max-reduce");
}
