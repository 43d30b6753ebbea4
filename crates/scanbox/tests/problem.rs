//! Problems as a user asks for them, on the replay device: through sweep, bench, verify, space and analyze.

use std::fs;

use crate::sweeps::{ALL, CONFIG, Place};
use scanbox_model::csv_file;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;

const DEVICE: [&str; 2] = ["--device", "replay:replay.toml"];

#[test]
fn rows_and_metadata_say_what_was_computed() {
    let place = Place::new("");
    let flags = ["--op", "add", "--type", "f64", "--mode", "exclusive", "--init=-2.5", "--in-place"];
    assert_eq!(place.sweep(&flags).code, Some(0));
    for row in place.records() {
        assert_eq!(row.status, Status::Ok);
        assert_eq!(Problem::of_row(&row).unwrap().to_string(), "f64-add-exclusive-init=-2.5-in-place");
        assert_eq!((row.element_bytes, row.bytes_moved), (8, 16 * row.n_elements));
        assert_eq!(row.parameters.tile_state.unwrap().to_string(), "word64");
        assert!(row.max_error.is_some() && row.error_bound.is_some());
    }
    assert_eq!(
        place.metadata().problem.flags().join(" "),
        "--type f64 --mode exclusive --init=-2.5 --in-place"
    );
    // The same command goes on where it was; another problem does not.
    let again = place.sweep(&flags);
    assert!(again.stderr.contains("28 of them done before"), "{}", again.stderr);
}

#[test]
fn a_file_holds_one_problem() {
    fn check(before: &[&str], now: &[&str], parts: &[&str]) {
        let place = Place::new("");
        assert_eq!(place.sweep(before).code, Some(0));
        let csv = fs::read(place.file("csv")).unwrap();
        let ended = place.sweep(now);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        for part in parts.iter().chain(&["a file holds one problem", "--out"]) {
            assert!(ended.stderr.contains(part), "no `{part}` in {}", ended.stderr);
        }
        assert_eq!(fs::read(place.file("csv")).unwrap(), csv, "nothing was written");
    }
    check(&[], &["--op", "max"], &["rows have op `add`, this run has `max` (--op)"]);
    check(&[], &["--type", "i32"], &["element `u32`", "(--type)"]);
    check(&["--mode", "exclusive"], &[], &["mode `exclusive`, this run has `inclusive` (--mode)"]);
    check(&["--mode", "exclusive"], &["--mode", "exclusive", "--init", "7"], &["init `0`", "`7` (--init)"]);
    check(&[], &["--in-place"], &["placement `out-of-place`", "(--in-place)"]);
    let float = ["--type", "f32"];
    check(&float, &["--type", "f32", "--input", "real"], &["input `random`", "`real` (--input)"]);
}

#[test]
fn rows_from_before_there_were_problems_are_of_the_default() {
    let place = Place::new("");
    place.sweep(&[]);
    // The columns of problems go, and all that were appended since, as in a file of an older version.
    let text = fs::read_to_string(place.file("csv")).unwrap();
    let appended = text.lines().next().unwrap().split(',').skip_while(|name| *name != "init").count();
    let cut = |line: &str| line.rsplitn(appended + 1, ',').last().unwrap().to_owned();
    let header = cut(text.lines().next().unwrap());
    assert!(header.ends_with(",subgroup_scan"), "{header}");
    let older: Vec<String> = text.lines().map(cut).collect();
    fs::write(place.file("csv"), older.join("\n") + "\n").unwrap();
    let again = place.sweep(&[]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("28 of them done before"), "{}", again.stderr);
    assert_eq!(place.sweep(&["--op", "xor"]).code, Some(1));
}

#[test]
fn default_file_names_have_the_problem() {
    let place = Place::new("");
    let name = |args: &[&str], code| {
        let space = ["sweep", "--dry-run", "--space", "space.toml", "--out", "."];
        place.run(&[&space[..], &DEVICE, args].concat(), code).stdout
    };
    assert!(name(&[], 0).contains("./replay.test.csv"));
    assert!(name(&["--mode", "reduce", "--op", "min"], 0).contains("./replay.test.u32-min-reduce.csv"));
    let real = name(&["--type", "f32", "--input", "real"], 0);
    assert!(real.contains("./replay.test.f32-add-inclusive.real.csv"), "{real}");
}

#[test]
fn a_reduction_moves_one_element_more_than_it_reads() {
    let place = Place::new("");
    assert_eq!(place.sweep(&["--mode", "reduce"]).code, Some(0));
    let records = place.records();
    assert_eq!(records.len(), ALL);
    assert!(records.iter().all(|row| row.bytes_moved == 4 * (row.n_elements + 1)));
    assert!(records.iter().all(|row| row.max_error.is_none()));
}

#[test]
fn verify_bench_and_space_take_the_same_flags() {
    let place = Place::new("[[fault]]\nkind = \"wrong_last\"\nconfig = \"b1\"");
    let flags = ["--type", "i64", "--op", "min", "--mode", "exclusive", "--init=-7"];
    let verify = ["verify", CONFIG, "--sizes", "100", "--format", "json"];
    let answer = place.run(&[&verify[..], &DEVICE, &flags].concat(), 0).stdout;
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["problem"]["element"], "i64");
    assert_eq!(answer["cases"], 3, "random, ramp, spikes: the others show nothing");
    let wrong = ["verify", "b1.vec4.seq.rake.wg64", "--sizes", "100", "--inputs", "ramp"];
    let told = place.run(&[&wrong[..], &DEVICE, &flags].concat(), 5).stdout;
    assert!(told.contains("problem    i64-min-exclusive-init=-7"), "{told}");
    // What repeats it repeats the problem.
    assert!(
        told.contains("--op min --type i64 --mode exclusive '--init=-7' --sizes 100 --inputs ramp"),
        "{told}"
    );

    let bench = ["bench", CONFIG, "--sizes", "4096", "--rounds", "1", "--out", "bench.csv"];
    place.run(&[&bench[..], &DEVICE, &flags].concat(), 0);
    let rows = csv_file::read(&place.folder().join("bench.csv")).unwrap().records;
    let own = rows.iter().find(|row| row.config_id == CONFIG).unwrap();
    assert_eq!(Problem::of_row(own).unwrap().to_string(), "i64-min-exclusive-init=-7");
    let copy = rows.iter().find(|row| row.subject == "copy").unwrap();
    assert_eq!((copy.element_bytes, copy.bytes_moved), (8, 16 * 4096));

    let space = ["space", "--space", "problems", "--format", "json"];
    let counts = |flags: &[&str]| {
        let text = place.run(&[&space[..], &DEVICE, flags].concat(), 0).stdout;
        let counts: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rules = counts["rejections"].as_array().unwrap().iter();
        let rules: Vec<String> = rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect();
        (counts["configs"].as_u64().unwrap(), rules)
    };
    let (sums, _) = counts(&[]);
    let (minima, rules) = counts(&flags);
    assert!(0 < minima && minima < sums, "{minima} of {sums}");
    assert!(rules.iter().any(|found| found == "packed-needs-u32-sum"), "{rules:?}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let place = Place::new("");
    let check = |args: &[&str], parts: &[&str]| {
        let ended = place.run(&[&["verify", CONFIG, "--sizes", "1"], &DEVICE[..], args].concat(), 2);
        for part in parts {
            assert!(ended.stderr.contains(part), "no `{part}` in {}", ended.stderr);
        }
    };
    check(&["--op", "and", "--type", "f32"], &["operator \"and\" needs an integer type, not f32"]);
    check(&["--op", "plus"], &["`plus` is not a value of op; it is one of add, min"]);
    check(
        &["--type", "u16"],
        &["`u16` is not a value of element", "u32, i32, f32, u64, i64, f64, or comes with --operator FILE"],
    );
    check(&["--init", "one"], &["--init: `one` is not a value of type u32"]);
    let affine = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/operators/affine.glsl");
    for (init, expected) in [
        ("1", "1 numbers, where an element of affine has 2: uint scale, uint offset"),
        ("1,-2", "field offset: `-2` is not a value of type uint"),
        ("1,0.5", "field offset: `0.5` is not a value of type uint"),
        ("1u,2.0", "field offset: `2.0` is not a value of type uint"),
    ] {
        check(&["--operator", affine, "--init", init], &["--init: ", expected]);
    }
    check(&["--mode", "exclusive", "--init", "x"], &["--init: `x` is not a value of type u32"]);
    check(&["--mode", "exclusive", "--init", "-1"], &["`-1` is not a value of type u32"]);
    check(&["--mode", "exclusive", "--type", "f32", "--init", "nan"], &["`nan` is not a value of type f32"]);
    let factor = ["--mode", "exclusive", "--type", "f32", "--op", "mul", "--init", "1e30"];
    check(&factor, &["from 2^-20 to 2^20"]);
    let subnormal = ["--mode", "exclusive", "--type", "f32", "--init", "1e-40"];
    check(&subnormal, &["--init: 1e-40 is subnormal"]);
    // Whatever a kernel does, the answer is the initial value.
    let decided = ["--mode", "exclusive", "--op", "and", "--init", "0"];
    check(&decided, &["rule initial-value-decides", "it leaves 0 bits to the elements"]);
    check(&["--op", "max", "--inputs", "ones"], &["rule input-shows-nothing"]);
    check(&["--mode", "reduce", "--in-place"], &["--in-place with --mode reduce"]);
    check(&["--inputs", "real"], &["rule real-needs-float-sum"]);
    let ended = place.sweep(&["--input", "real"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--input real with u32-add-inclusive"), "{}", ended.stderr);
    let ended = place.sweep(&["--type", "f32", "--mode", "exclusive", "--init", "0.1"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--input real is for sums that are"), "{}", ended.stderr);
}

#[test]
fn times_of_different_problems_are_not_compared() {
    let place = Place::new("");
    place.sweep(&[]);
    fs::create_dir(place.folder().join("sums")).unwrap();
    for ending in ["csv", "meta.json"] {
        fs::rename(place.file(ending), place.folder().join(format!("sums/test.{ending}"))).unwrap();
    }
    place.sweep(&["--op", "max"]);
    place.run(&["analyze", "--include-software", "sums/test.csv"], 0);
    place.run(&["analyze", "--include-software", "out/test.csv"], 0);
    // Each has answers of its own.
    let both = place.run(&["analyze", "--include-software", "sums/test.csv", "out/test.csv"], 0);
    for problem in ["inclusive u32 add", "inclusive u32 max"] {
        assert!(both.stdout.contains(problem), "{}", both.stdout);
    }
    let gate = place.run(&["compare", "sums/test.csv", "out/test.csv"], 2);
    assert!(gate.stderr.contains("name two sweeps of one problem"), "{}", gate.stderr);
    let bench = ["bench", "--from", "out/test.csv", "--sizes", "4096", "--out", "bench.csv"];
    let other = place.run(&[&bench[..], &DEVICE].concat(), 2);
    assert!(other.stderr.contains("its rows have op `max`, this run has `add` (--op)"), "{}", other.stderr);
    place.run(&[&bench[..], &DEVICE, &["--op", "max", "--rounds", "1"]].concat(), 0);
    let with = ["bench", CONFIG, "--with", "bench.csv", "--sizes", "4096", "--out", "other.csv"];
    let other = place.run(&[&with[..], &DEVICE].concat(), 1);
    assert!(other.stderr.contains("bench.csv: its rows have op `max`"), "{}", other.stderr);
}

#[test]
fn flags_stand_below_the_heading_that_they_belong_to() {
    let place = Place::new("");
    for command in ["space", "sweep", "verify", "bench"] {
        let help = place.run(&[command, "--help"], 0).stdout;
        let below = |heading: &str| {
            let part = help.split(&format!("\n{heading}:\n")).nth(1).unwrap();
            part.split("\n\n").take_while(|part| part.starts_with(' ')).collect::<String>()
        };
        for (flag, heading) in [
            ("--device", "Options"),
            ("--format", "Options"),
            ("--budget", "Options"),
            ("--op", "What is computed"),
            ("--in-place", "What is computed"),
            ("--cache", "For all commands"),
        ] {
            let flag = format!(" {flag}");
            assert!(!help.contains(&flag) || below(heading).contains(&flag), "{command}{flag}:\n{help}");
        }
    }
}
