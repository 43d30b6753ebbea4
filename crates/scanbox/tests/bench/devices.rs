//! `scanbox bench --show A B --summary devices`: several devices beside each other, from published files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::csv_file;
use scanbox_model::record::{Cache, Record, Status};
use serde_json::Value;

use crate::sweeps::{Ended, Place};

fn published(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/runs").join(name)
}

/// One device in one file, another one in three.
fn files() -> [(&'static str, Vec<PathBuf>); 2] {
    let of = |names: &[&str]| names.iter().map(|name| published(name)).collect();
    let h100 = [
        "2026-11-23-nvidia-h100/small.csv",
        "2026-11-23-nvidia-h100/middle.csv",
        "2026-11-23-nvidia-h100/large.csv",
    ];
    [("H200", of(&["2026-11-24-nvidia-h200/bench.csv"])), ("H100", of(&h100))]
}

#[track_caller]
fn show(files: &[PathBuf], args: &[&str], code: i32) -> Ended {
    let place = Place::in_memory("");
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    place.run(&[&["bench", "--show"], &files[..], args].concat(), code)
}

/// Median times of one device by size: the fastest config, and the fastest scan of another implementation.
fn times(files: &[PathBuf]) -> BTreeMap<u64, [u64; 2]> {
    let rows: Vec<Record> = files.iter().flat_map(|file| csv_file::read(file).unwrap().records).collect();
    let ok = |row: &&Record| row.status == Status::Ok && row.cache == Some(Cache::Hot) && row.is_ordinary();
    let rows: Vec<&Record> = rows.iter().filter(ok).collect();
    let sizes: BTreeSet<u64> = rows.iter().map(|row| row.n_elements).collect();
    let least = |n: u64, begin: &str| {
        let of = rows.iter().filter(|row| row.n_elements == n && row.subject.starts_with(begin));
        of.map(|row| row.steady.unwrap().median_ns).min().unwrap()
    };
    sizes.into_iter().map(|n| (n, [least(n, "scanbox"), least(n, "cub-")])).collect()
}

#[test]
fn each_device_has_a_pair_of_columns() {
    let devices = files();
    let all: Vec<PathBuf> = devices.iter().flat_map(|(_, files)| files.clone()).collect();
    let table = show(&all, &["--summary", "devices", "--format", "md"], 0).stdout;
    let cells =
        |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = table.lines().map(cells).collect();
    assert_eq!(lines[0], ["n", "H200 us", "H200 x CUB", "H100 us", "H100 x CUB"]);
    let expected: Vec<BTreeMap<u64, [u64; 2]>> = devices.iter().map(|(_, files)| times(files)).collect();
    let sizes: BTreeSet<u64> = expected.iter().flat_map(|times| times.keys().copied()).collect();
    assert_eq!(lines.len(), sizes.len() + 2, "{table}");
    for (line, n) in lines[2..].iter().zip(&sizes) {
        assert_eq!(line[0], format!("2^{}", n.ilog2()));
        for (device, times) in expected.iter().enumerate() {
            let [us, ratio] = [&line[1 + 2 * device], &line[2 + 2 * device]];
            let Some([own, cub]) = times.get(n) else {
                assert!(us.is_empty() && ratio.is_empty(), "{table}");
                continue;
            };
            assert_eq!(*ratio, format!("{:.2}", *cub as f64 / *own as f64), "{n}");
            assert!((us.parse::<f64>().unwrap() * 1e3 / *own as f64 - 1.0).abs() < 0.006, "{us} of {own} ns");
        }
    }
    let some = show(&all, &["--summary", "devices", "--sizes", "2^10,2^19", "--format", "md"], 0).stdout;
    let firsts: Vec<&str> =
        some.lines().skip(2).map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(firsts, ["2^10", "2^19"]);

    let json: Value =
        serde_json::from_str(&show(&all, &["--summary", "devices", "--format", "json"], 0).stdout).unwrap();
    let found: Vec<(usize, usize)> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|device| (device["files"].as_array().unwrap().len(), device["lines"].as_array().unwrap().len()))
        .collect();
    assert_eq!(found, [(1, expected[0].len()), (3, expected[1].len())]);
    let csv = show(&all, &["--summary", "devices", "--format", "csv"], 0).stdout;
    assert!(csv.starts_with("device,n_elements,cache,baseline,"), "{csv}");
    assert_eq!(
        csv.lines().filter(|line| line.starts_with("NVIDIA H100 80GB HBM3,")).count(),
        expected[1].len()
    );
    for loses in ["table", "md"] {
        let told = show(&all, &["--summary", "loses", "--format", loses], 0).stdout;
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told.contains("H200: nowhere slower than the fastest CUB; with the same contract, at 2^15 to "),
            "{told}"
        );
        assert!(
            told.contains("H100: nowhere slower than the fastest CUB; with the same contract (measured at "),
            "{told}"
        );
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let copy = tempfile::tempdir().unwrap();
    for end in ["csv", "meta.json"] {
        let name = format!("2026-11-23-nvidia-h100/small.{end}");
        fs::copy(published(&name), copy.path().join(format!("again.{end}"))).unwrap();
    }
    let [(_, h200), (_, h100)] = files();
    let again = copy.path().join("again.csv");
    let run = |name: &str| published(&format!("2026-11-24-nvidia-h200/{name}"));
    let sweep = run("u32.csv");
    let sum = run("u32-bench.csv");
    let two = [h200[0].clone(), h100[0].clone()];
    let cases: [(&[PathBuf], &[&str], &str); 7] = [
        (
            &[h100[0].clone(), again],
            &["--summary", "devices"],
            "again.csv both have rows of NVIDIA H100 80GB HBM3 at 1024 elements (hot)",
        ),
        (&two, &["--summary", "views"], "--summary devices or"),
        (&two, &[], "--summary devices or"),
        (&[sum.clone(), run("u64-bench.csv")], &["--summary", "devices"], "has element `u32`"),
        (&[sum.clone(), sweep], &["--summary", "devices"], "it shows what `scanbox bench` has measured"),
        (&two, &["--summary", "devices", "--plot", "a.svg"], "--plot and --with"),
        (&two, &["--summary", "devices", "--sizes", "3"], "nothing can be compared"),
    ];
    for (files, args, said) in cases {
        let ended = show(files, args, 2);
        assert!(ended.stderr.contains(said), "{args:?}: {}", ended.stderr);
    }
}
