//! Problems with a total beside the scan and with an initial value in memory, as a user asks for them, on the replay
//! device: through every command.

use std::fs;

use scanbox_kernels::packing::scan_problem;
use scanbox_model::csv_file;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_pack::{CallUse, Pack};

use crate::pack::SHIPPED;
use crate::sweeps::{ALL, CONFIG, Place};

const DEVICE: [&str; 2] = ["--device", "replay:replay.toml"];

/// What all of these tests ask for, and how messages name it.
const FLAGS: [&str; 4] = ["--mode", "exclusive", "--total", "--init-in-memory"];
const NAME: &str = "u32-add-exclusive-total-init-in-memory";

#[test]
fn rows_say_so_and_a_sweep_goes_on() {
    let place = Place::new("");
    assert_eq!(place.sweep(&FLAGS).code, Some(0));
    assert_eq!(place.records().len(), ALL);
    for row in place.records() {
        assert_eq!(row.status, Status::Ok);
        assert_eq!(Problem::of_row(&row).unwrap().to_string(), NAME);
        assert_eq!(row.bytes_moved, 8 * row.n_elements);
    }
    let text = fs::read_to_string(place.file("csv")).unwrap();
    assert!(text.lines().next().unwrap().contains(",total,init_source"), "{text}");
    assert_eq!(place.metadata().problem.flags(), FLAGS);
    // The same command goes on where it was; another problem does not.
    let again = place.sweep(&FLAGS);
    assert!(again.stderr.contains("28 of them done before"), "{}", again.stderr);
    for (now, expected) in [
        (&FLAGS[..2], "rows have total `stored`, this run has `absent` (--total)"),
        (&FLAGS[..3], "rows have init_source `memory`, this run has `arguments` (--init-in-memory)"),
    ] {
        let ended = place.sweep(now);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

#[test]
fn answers_keep_such_problems_apart() {
    let place = Place::new("");
    let mut files = Vec::new();
    for (name, flags) in [("plain", &FLAGS[..2]), ("total", &FLAGS[..3]), ("both", &FLAGS)] {
        assert_eq!(place.sweep(flags).code, Some(0));
        fs::create_dir(place.folder().join(name)).unwrap();
        for ending in ["csv", "meta.json"] {
            let to = place.folder().join(format!("{name}/test.{ending}"));
            fs::rename(place.file(ending), to).unwrap();
        }
        files.push(format!("{name}/test.csv"));
    }
    let [plain, total, both] = [0, 1, 2].map(|at| files[at].as_str());
    let all = [plain, total, both];
    let analysed = place.run(&[&["analyze", "--include-software", "--format", "json"][..], &all].concat(), 0);
    let answer: serde_json::Value = serde_json::from_str(&analysed.stdout).unwrap();
    let mut found: Vec<_> = answer["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| (device["total"].as_str(), device["init_source"].as_str()))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [(None, None), (Some("stored"), None), (Some("stored"), Some("memory"))]);
    let text = place.run(&[&["analyze", "--include-software"][..], &all].concat(), 0).stdout;
    for title in
        ["exclusive u32 add", "exclusive u32 add with total", "exclusive u32 add from memory with total"]
    {
        assert!(text.contains(title), "no `{title}` in {text}");
    }
    place.run(&[&["report", "--include-software", "-o", "page.html"][..], &all].concat(), 0);
    let page = fs::read_to_string(place.folder().join("page.html")).unwrap();
    assert!(page.contains("exclusive u32 add from memory with total"));
    // The gate and merges refuse what is of two problems.
    let gate = place.run(&["compare", plain, total], 2);
    assert!(gate.stderr.contains("name two sweeps of one problem"), "{}", gate.stderr);
    place.run(&["compare", both, both], 0);
    let merged = place.run(&["merge", total, both, "-o", "all.csv"], 1);
    assert!(merged.stderr.contains("they differ in the problem"), "{}", merged.stderr);
    place.run(&["merge", both, both, "-o", "all.csv"], 0);
    let rows = csv_file::read(&place.folder().join("all.csv")).unwrap().records;
    assert!(rows.iter().all(|row| Problem::of_row(row).unwrap().to_string() == NAME));
    // A file for other autotuners has both in every configuration.
    let exported = place.run(&["export", both, "--format", "t4"], 0).stdout;
    let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
    let configuration = &exported["results"][0]["configuration"];
    assert_eq!(
        (&configuration["total"], &configuration["init_source"]),
        (&"stored".into(), &"memory".into())
    );
}

#[test]
fn bench_verify_and_space_know_them() {
    let place = Place::new("");
    assert_eq!(place.sweep(&FLAGS).code, Some(0));
    let line = ["bench", "--from", "out/test.csv", "--sizes", "4096", "--rounds", "1", "--out", "bench.csv"];
    let other = place.run(&[&line[..], &DEVICE, &FLAGS[..2]].concat(), 2);
    assert!(other.stderr.contains("(--total)"), "{}", other.stderr);
    place.run(&[&line[..], &DEVICE, &FLAGS].concat(), 0);
    let rows = csv_file::read(&place.folder().join("bench.csv")).unwrap().records;
    let scans: Vec<_> = rows.iter().filter(|row| !row.config_id.is_empty() && row.mode.is_some()).collect();
    assert!(!scans.is_empty() && scans.iter().all(|row| Problem::of_row(row).unwrap().to_string() == NAME));
    // The form of calls that each call has is none beside it.
    let forms = ["bench", CONFIG, "--sizes", "4096", "--call-forms", "total", "--out", "forms.csv"];
    let refused = place.run(&[&forms[..], &DEVICE, &FLAGS].concat(), 2);
    assert!(refused.stderr.contains("the ordinary call of u32-add-exclusive-total"), "{}", refused.stderr);

    let verify = ["verify", CONFIG, "--sizes", "100"];
    let told = place.run(&[&verify[..], &DEVICE, &FLAGS].concat(), 0).stdout;
    assert!(told.contains(NAME), "{told}");
    let space = ["space", "--space", "problems", "--format", "json"];
    let rules = |flags: &[&str]| {
        let text = place.run(&[&space[..], &DEVICE, flags].concat(), 0).stdout;
        let counts: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rules = counts["rejections"].as_array().unwrap().iter();
        rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let one_pass = "total-needs-one-pass".to_owned();
    assert!(!rules(&FLAGS[..2]).contains(&one_pass) && rules(&FLAGS).contains(&one_pass));
    for (flags, expected) in [
        (&["--mode", "reduce", "--total"][..], "--total with --mode reduce: its output is the total"),
        (&["--init-in-memory"], "--init-in-memory: --init says which value stands there"),
        (&["--init-in-memory", "--init", "0"], "other than the identity"),
    ] {
        let refused = place.run(&[&verify[..], &DEVICE, flags].concat(), 2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

#[test]
fn a_wrong_total_is_a_wrong_result() {
    let script = "[[fault]]\nkind = \"wrong_total\"\nconfig = \"b1\"\n[[fault]]\nkind = \"wrong_timed_total\"\n\
                  config = \"b4\"\n";
    // Without a total there is nothing wrong.
    let place = Place::new(script);
    assert_eq!(place.sweep(&[]).code, Some(0));
    let place = Place::new(script);
    assert_eq!(place.sweep(&["--total"]).code, Some(5));
    let (mut once, mut timed) = (0, 0);
    for row in place.records().iter().filter(|row| row.status != Status::Ok) {
        assert_eq!((row.status, row.mismatches, row.first_mismatch), (Status::WrongResult, Some(1), None));
        assert!(row.steady.is_none());
        once += u32::from(row.reason == "the total is wrong: expected 1, got 2");
        timed += u32::from(row.reason.contains("(the timed path): the total is wrong"));
    }
    assert!(once > 3 && timed > 3, "{once} {timed}");
    let verify = ["verify", "b1.vec4.seq.rake.wg64", "--sizes", "100", "--inputs", "ramp", "--total"];
    let told = place.run(&[&verify[..], &DEVICE].concat(), 5).stdout;
    assert!(told.contains("the total is wrong: expected 1, got 2"), "{told}");
}

/// Rows with a total choose for calls with a total, with losses; rows without, beside them, for all others.
#[test]
fn packs_have_measured_kernels_for_them() {
    let place = Place::in_memory("");
    fs::write(place.folder().join("ship.toml"), SHIPPED).unwrap();
    for (out, flags) in [("plain.csv", &[][..]), ("total.csv", &["--total"])] {
        let line = ["sweep", "--device", "replay:replay.toml", "--space", "./ship.toml", "--out", out];
        place.run(&[&line[..], flags].concat(), 0);
    }
    let pack = |files: &[&str], uses: &str| {
        let name = format!("{}-{uses}.scanpack", files.len());
        let line = ["-o", &name, "--portable", "none", "--uses", uses];
        place.run(&[&["pack"], files, &line[..]].concat(), 0);
        Pack::read(&fs::read(place.folder().join(&name)).unwrap()).unwrap()
    };
    let with_total = CallUse { total: true, ..CallUse::default() };
    let has = |pack: &Pack, call_use: CallUse| {
        let [problem] = &pack.data().problems[..] else { panic!("{:?}", pack.data().problems) };
        assert_eq!(problem.scan, scan_problem(&Problem::default()));
        let tables = problem.measured.iter().filter(|table| table.call_use == call_use);
        let losses: Vec<_> =
            tables.flat_map(|table| &table.breakpoints).map(|one| one.worst_loss_ppm).collect();
        (!losses.is_empty()).then(|| losses.iter().all(Option::is_some))
    };
    let of_total = pack(&["total.csv"], "pushed");
    assert_eq!(has(&of_total, with_total), Some(true));
    assert_eq!(has(&of_total, CallUse::default()), None);
    let of_plain = pack(&["plain.csv"], "pushed,total");
    assert_eq!((has(&of_plain, with_total), has(&of_plain, CallUse::default())), (Some(false), Some(true)));
    let of_both = pack(&["plain.csv", "total.csv"], "pushed,total");
    assert_eq!((has(&of_both, with_total), has(&of_both, CallUse::default())), (Some(true), Some(true)));
    // Each kernel has its own times.
    assert!(of_both.data().times.len() > of_plain.data().times.len());
    // For any device, in one word.
    let line = ["pack", "--any-device", "u32:add:exclusive:total:init-in-memory", "-o", "any.scanpack"];
    place.run(&[&line[..], &["--portable", "32", "--uses", "pushed"]].concat(), 0);
    let any = Pack::read(&fs::read(place.folder().join("any.scanpack")).unwrap()).unwrap();
    let uses: Vec<_> = any.data().problems[0].portable.iter().map(|table| table.call_use).collect();
    assert_eq!(uses, [CallUse { init_in_memory: true, ..with_total }]);
}
