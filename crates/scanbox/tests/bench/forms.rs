//! `scanbox bench --call-forms`: which configs have which forms, what is said of them, and that none of them is taken
//! for the ordinary call.

use std::fs;
use std::path::Path;

use scanbox_model::call_form::CallForm;
use scanbox_model::csv_file;
use scanbox_model::record::{COLUMNS, Cache, Record, RoundMedians, Status};
use serde_json::Value;

use super::bench;
#[cfg(target_os = "linux")]
use crate::machines::{Machine, run};
use crate::sweeps::{Place, ended};

const BLOCK: &str = "b4.vec4.par.rake.block.wg256";
const BAKED: &str = "b4.vec4.par.rake.baked.wg256";
const PUSH: &str = "b4.vec4.par.rake.wg256";
const ALL: &str = "unchanged-line,updated-line,max-4,any-element,total";

#[test]
fn each_config_has_the_forms_that_fit_it() {
    let place = Place::in_memory("");
    let args = [BLOCK, PUSH, "--call-forms", ALL, "--sizes", "1000,2^20", "--rounds", "2"];
    let more = ["--buffers", "hot,cold", "--format", "json"];
    let ended = bench(&place, &[&args[..], &more].concat(), 0);
    let rows = csv_file::read(&place.folder().join("bench.csv")).unwrap().records;
    let of = |config: &str, n: u64, cache: Cache| -> Vec<String> {
        let rows = rows.iter().filter(|row| {
            row.config_id == config
                && row.n_elements == n
                && row.cache == Some(cache)
                && row.status == Status::Ok
        });
        rows.map(|row| row.call_form.map_or_else(String::new, |form| form.to_string())).collect()
    };
    let sorted = |mut forms: Vec<String>| {
        forms.sort();
        forms.join(" ")
    };
    for n in [1000, 1 << 20] {
        let all = " any-element max-4 total unchanged-line updated-line";
        assert_eq!(sorted(of(BLOCK, n, Cache::Hot)), all);
        // Cold calls have other arrays each, which a line that never changes cannot say.
        assert_eq!(sorted(of(BLOCK, n, Cache::Cold)), all.replace(" unchanged-line", ""));
        assert_eq!(sorted(of(PUSH, n, Cache::Hot)), " any-element total");
    }
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    let forms = json["call_forms"].as_array().unwrap();
    let timed = forms.iter().filter(|form| form["median_ns"].is_u64() && form["ordinary_ns"].is_u64());
    assert_eq!(timed.count(), 2 * (5 + 4 + 2 + 2), "{json}");
    let failed = forms.iter().filter(|form| form["status"] == "unsupported");
    assert_eq!(failed.count(), 2, "{json}");
    // Neither the answers nor the rows that they come from know them.
    let ordinary = json["rows"].as_array().unwrap();
    let own = |row: &&Value| row["subject"] == "scanbox" && row["status"] == "ok";
    assert_eq!(ordinary.iter().filter(own).count(), 2 * 2 * 2);

    let shown = bench_shown(&place);
    assert!(shown.contains("Forms of calls beside the ordinary call of the config"), "{shown}");
    assert!(shown.contains("max-4") && shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

/// Rows of another run beside them, three times as slow, are not what forms are held against; one that is not ok is
/// told; and no benchmark but that of dispatches is shown as one.
#[test]
fn forms_are_held_against_their_own_run() {
    let place = Place::in_memory("");
    let args = [BLOCK, BAKED, "--call-forms", "total,max-4", "--sizes", "1000,2^12", "--rounds", "2"];
    bench(&place, &args, 0);
    let file = place.folder().join("bench.csv");
    let found = csv_file::read(&file).unwrap().records;
    let slower: Vec<Record> = found
        .iter()
        .filter(|row| row.call_form.is_none())
        .map(|row| {
            let mut row = Record { run_id: "another".to_owned(), ..row.clone() };
            let steady = row.steady.as_mut().unwrap();
            for ns in [&mut steady.median_ns, &mut steady.min_ns, &mut steady.mean_ns, &mut steady.q1_ns] {
                *ns *= 3;
            }
            steady.q3_ns *= 3;
            row
        })
        .collect();
    write_rows(&place.folder().join("other.csv"), &slower);
    let forms = |args: &[&str]| -> Vec<Value> {
        let mut command = place.scanbox(&[&["bench", "--show"], args, &["--format", "json"]].concat());
        let ended = ended(command.output().unwrap());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let json: Value = serde_json::from_str(&ended.stdout).unwrap();
        json["call_forms"].as_array().unwrap().clone()
    };
    let alone = forms(&["bench.csv"]);
    // A baked config has none: its calls cannot be verified on other arrays.
    assert!(alone.iter().all(|form| form["config"] == BLOCK && form["status"] == "ok"), "{alone:?}");
    assert_eq!(alone.len(), 2 * 2);
    assert_eq!(forms(&["bench.csv", "--with", "other.csv"]), alone);

    let wrong: Vec<Record> = found
        .iter()
        .map(|row| match row.call_form {
            Some(CallForm::Max(_)) => Record {
                status: Status::WrongResult,
                reason: "3 elements are wrong".to_owned(),
                steady: None,
                span: None,
                round_medians_ns: RoundMedians::default(),
                ..row.clone()
            },
            _ => row.clone(),
        })
        .collect();
    write_rows(&file, &wrong);
    let told = bench_shown(&place);
    assert!(told.contains("(max-4) at 1000, hot: 3 elements are wrong"), "{told}");
    assert!(forms(&["bench.csv"]).iter().any(|form| form["status"] == "wrong_result"));
    let mut shown = place.scanbox(&["bench", "--show", "bench.csv", "--dispatch"]);
    let shown = ended(shown.output().unwrap());
    assert_eq!(shown.code, Some(2), "{shown:?}");
}

fn write_rows(path: &Path, rows: &[Record]) {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut text = names.join(",") + "\n";
    for row in rows {
        let cells: Vec<String> = COLUMNS.iter().map(|column| column.write(row)).collect();
        text += &(cells.join(",") + "\n");
    }
    fs::write(path, text).unwrap();
}

fn bench_shown(place: &Place) -> String {
    let mut command = place.scanbox(&["bench", "--show", "bench.csv"]);
    let output = command.env("COLUMNS", "100").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_form_that_nobody_has_is_refused() {
    let check = |args: &[&str], parts: &[&str]| {
        let place = Place::in_memory("");
        let ended = bench(&place, args, 2);
        for part in parts {
            assert!(ended.stderr.contains(part), "no `{part}` in {}", ended.stderr);
        }
        assert!(!fs::exists(place.folder().join("bench.csv")).unwrap());
    };
    let sizes = ["--sizes", "1000"];
    let with = |form: &'static str| [&[PUSH, "--call-forms", form][..], &sizes].concat();
    check(&with("max-4"), &["--call-forms max-4: no config has such calls", "(n-from-memory-needs-turn)"]);
    check(&with("updated-line"), &["--call-forms updated-line", "(line-needs-block)"]);
    check(
        &[BAKED, "--call-forms", "total", "--sizes", "1000"],
        &["baked.wg256 is baked: what such calls leave"],
    );
    check(&with("max-0"), &["`max-0` is not a form of calls: unchanged-line"]);
    check(&with("often"), &["`often` is not a form of calls"]);
    let largest = [BLOCK, "--call-forms", "max-1048576", "--sizes", "2^20"];
    check(&largest, &["--call-forms max-1048576: no config has such calls: "]);
    check(&["--blocking", "--call-forms", "total"], &["cannot be used with"]);
    for other in [&["--prove"][..], &["--plots", "x"]] {
        check(&[&[BLOCK, "--call-forms", "total"], other].concat(), &["cannot be used with"]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn every_form_is_right_on_a_device() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let two_levels = "b2.vec4.two.sub.block.wg64";
    let args = ["bench", BLOCK, two_levels, "rts.b1.vec4.none.rake.block.wg64", "--call-forms", ALL];
    let more = ["--sizes", "1000,5001", "--rounds", "1", "--warm-up", "1ms", "--out", "b.csv"];
    let answer = run(folder.path(), lavapipe, &[&args[..], &more].concat());
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let rows = csv_file::read(&folder.path().join("b.csv")).unwrap().records;
    let forms = rows.iter().filter(|row| row.call_form.is_some());
    let right = forms.filter(|row| row.status == Status::Ok && row.twin_calls.is_some_and(|calls| calls > 1));
    // Of several passes: lines, and any element.
    assert_eq!(right.count(), 2 * (5 + 5 + 3), "{}", answer.out);
}
