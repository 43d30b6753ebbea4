//! Operators of users as a user asks for them: from a file, through verify, sweep, bench, space and analyze.
//!
//! On the replay device; with `SCANBOX_TEST_DEVICE=1` on a real one too.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machines::Machine;
use crate::sweeps::{CONFIG, Place};
use scanbox_model::csv_file;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;

const DEVICE: [&str; 2] = ["--device", "replay:replay.toml"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/operators")
}

/// A folder with an example in it.
fn place_with(example: &str) -> Place {
    let place = Place::new("");
    let name = format!("{example}.glsl");
    fs::copy(examples().join(&name), place.folder().join(&name)).unwrap();
    place
}

/// A sweep into another file.
#[track_caller]
fn sweep_to(place: &Place, out: &str, args: &[&str]) {
    place.run(&[&["sweep", "--space", "space.toml", "--out", out][..], &DEVICE, args].concat(), 0);
}

const AFFINE: [&str; 2] = ["--operator", "affine.glsl"];

#[test]
fn rows_and_metadata_are_read_without_the_file() {
    let place = place_with("affine");
    assert_eq!(place.sweep(&[&AFFINE[..], &["--mode", "exclusive"]].concat()).code, Some(0));
    for row in place.records() {
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        assert_eq!(
            (row.op.unwrap().as_str(), row.element.unwrap().to_string().as_str()),
            ("affine", "struct8")
        );
        assert_eq!((row.element_bytes, row.bytes_moved), (8, 16 * row.n_elements));
        assert_eq!((row.operator_hash.len(), row.operator_facts.as_str()), (16, "ordered+exact"));
        assert_eq!((row.init.as_str(), row.max_error), ("", None));
        assert_eq!(row.parameters.tile_state.unwrap().to_string(), "word64");
    }
    let problem = place.metadata().problem;
    assert_eq!(problem, Problem::of_row(&place.records()[0]).unwrap());
    assert_eq!(problem.user().unwrap().hash_text(), place.records()[0].operator_hash);
    // Sums of the same device stand beside it.
    sweep_to(&place, "sums.csv", &[]);
    fs::remove_file(place.folder().join("affine.glsl")).unwrap();
    let told = place.run(&["analyze", "--include-software", "out/test.csv", "sums.csv"], 0).stdout;
    for title in ["exclusive struct8 affine", "inclusive u32 add"] {
        assert!(told.contains(title), "no `{title}` in {told}");
    }
    let json = ["analyze", "--include-software", "--format", "json", "out/test.csv"];
    let json: serde_json::Value = serde_json::from_str(&place.run(&json, 0).stdout).unwrap();
    let scanned = &json["devices"][0];
    assert_eq!((&scanned["op"], &scanned["element"]), (&"affine".into(), &"struct8".into()));
    assert_eq!(scanned["operator_hash"].as_str().unwrap(), place.records()[0].operator_hash);
    let csv = place.run(&["analyze", "--include-software", "--format", "csv", "out/test.csv"], 0).stdout;
    assert!(csv.contains("exclusive,struct8,affine"), "{csv}");
    place.run(&["report", "--include-software", "out/test.csv", "--out", "report.html"], 0);
    let gate = place.run(&["compare", "sums.csv", "out/test.csv"], 2);
    assert!(gate.stderr.contains("name two sweeps of one problem"), "{}", gate.stderr);
    let export = place.run(&["export", "out/test.csv", "--format", "csv"], 0).stdout;
    assert!(export.contains(&place.records()[0].operator_hash), "{export}");
}

#[test]
fn a_file_that_changed_is_another_problem() {
    let place = place_with("affine");
    assert_eq!(place.sweep(&AFFINE).code, Some(0));
    let again = place.sweep(&AFFINE);
    assert!(again.stderr.contains("28 of them done before"), "{}", again.stderr);
    let csv = fs::read(place.file("csv")).unwrap();
    let refuse = |args: &[&str], part: &str| {
        let ended = place.sweep(args);
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains(part) && ended.stderr.contains("--out"), "{}", ended.stderr);
        assert_eq!(fs::read(place.file("csv")).unwrap(), csv, "nothing was written");
    };
    refuse(&[], "rows have element `struct8`, this run has `u32`");
    fs::copy(examples().join("segmented-sum.glsl"), place.folder().join("segmented-sum.glsl")).unwrap();
    refuse(
        &["--operator", "segmented-sum.glsl"],
        "rows have op `affine`, this run has `segmented-sum` (--operator)",
    );
    let file = place.folder().join("affine.glsl");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "// another thought\n").unwrap();
    refuse(&AFFINE, "rows have operator_hash `");
    // Nor are their times compared.
    sweep_to(&place, "other.csv", &AFFINE);
    let both = place.run(&["analyze", "--include-software", "out/test.csv", "other.csv"], 0).stdout;
    assert_eq!(both.matches(": inclusive struct8 affine").count(), 2, "{both}");
    let bench = ["bench", "--from", "out/test.csv", "--sizes", "4096", "--out", "bench.csv"];
    let other = place.run(&[&bench[..], &DEVICE, &AFFINE].concat(), 2);
    assert!(other.stderr.contains("its rows have operator_hash `"), "{}", other.stderr);
    let bench = ["bench", "--from", "other.csv", "--sizes", "4096", "--rounds", "1", "--out", "bench.csv"];
    place.run(&[&bench[..], &DEVICE, &AFFINE].concat(), 0);
    let rows = csv_file::read(&place.folder().join("bench.csv")).unwrap().records;
    assert!(rows.iter().any(|row| row.operator_facts == "ordered+exact" && row.status == Status::Ok));
}

#[test]
fn space_says_what_is_legal() {
    let place = place_with("affine");
    fs::copy(examples().join("argmax.glsl"), place.folder().join("argmax.glsl")).unwrap();
    let counts = |flags: &[&str]| {
        let space = ["space", "--space", "full", "--format", "json"];
        let text = place.run(&[&space[..], &DEVICE, flags].concat(), 0).stdout;
        let counts: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rules = counts["rejections"].as_array().unwrap().iter();
        let rules: Vec<String> = rules.map(|rule| rule["rule"].as_str().unwrap().to_owned()).collect();
        (counts["configs"].as_u64().unwrap(), rules)
    };
    let (affine, ordered) = counts(&AFFINE);
    let (argmax, commutative) = counts(&["--operator", "argmax.glsl"]);
    // Order closes no kernel.
    assert!(0 < affine && affine == argmax, "{affine} and {argmax}");
    assert_eq!(ordered, commutative);
    assert!(ordered.iter().any(|rule| rule == "shuffle-is-operation"), "{ordered:?}");
}

#[test]
fn verify_tries_what_there_is_and_repeats_with_the_file() {
    let place = place_with("affine");
    let verify = ["verify", CONFIG, "--sizes", "100", "--format", "json"];
    let answer = place.run(&[&verify[..], &DEVICE, &AFFINE].concat(), 0).stdout;
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["problem"]["op"], "affine");
    assert_eq!(answer["cases"], 2, "random elements, and one among identities");
    let numbers = ["verify", CONFIG, "--sizes", "100", "--inputs", "ones"];
    let told = place.run(&[&numbers[..], &DEVICE, &AFFINE].concat(), 2).stderr;
    assert!(told.contains("rule input-needs-numbers") && told.contains("random, spike"), "{told}");
    let wrong = Place::new("[[fault]]\nkind = \"wrong_last\"\nconfig = \"b1\"");
    fs::create_dir(wrong.folder().join("my operators")).unwrap();
    fs::copy(examples().join("affine.glsl"), wrong.folder().join("my operators/affine.glsl")).unwrap();
    let verify =
        ["verify", "b1.vec4.seq.rake.wg64", "--sizes", "100", "--operator", "my operators/affine.glsl"];
    let told = wrong.run(&[&verify[..], &DEVICE].concat(), 5).stdout;
    assert!(told.contains("--operator 'my operators/affine.glsl' --sizes 100"), "{told}");
}

#[test]
fn what_is_wrong_with_a_file_is_told_before_anything_runs() {
    let place = place_with("affine");
    // A file is wrong: 1. The command line makes no sense with it: 2.
    let check = |name: &str, text: &str, args: &[&str], code: i32, parts: &[&str]| {
        fs::write(place.folder().join(name), text).unwrap();
        for command in [&["verify", CONFIG, "--sizes", "1"][..], &["bench", CONFIG, "--sizes", "4096"]] {
            let told = place.run(&[command, &DEVICE, &["--operator", name], args].concat(), code).stderr;
            for part in parts {
                assert!(told.contains(part), "no `{part}` in {told}");
            }
        }
        let ended = place.sweep(&[&["--operator", name], args].concat());
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(!place.file("csv").exists());
    };
    let good = fs::read_to_string(examples().join("affine.glsl")).unwrap();
    check("Affine.glsl", &good, &[], 1, &["Affine.glsl: the name of the file is that of the operator"]);
    check(
        "two.glsl",
        &good.replace("exact = yes", ""),
        &[],
        1,
        &["two.glsl:7: `` is not a fact with a value"],
    );
    let broken = good.replace("Element(1u, 0u)", "Element(1u, zero)");
    check(
        "broken.glsl",
        &broken,
        &[],
        1,
        &["does not compile", "broken.glsl:15: error: 'zero' : undeclared identifier"],
    );
    check("clash.glsl", &good, &["--op", "max"], 2, &["--operator", "--op", "cannot be used with"]);
    check("clash.glsl", &good, &["--type", "u32"], 2, &["cannot be used with"]);
    let scale_alone = ["--init: 1 numbers, where an element of clash has 2: uint scale, uint offset"];
    check("clash.glsl", &good, &["--mode", "exclusive", "--init", "1"], 2, &scale_alone);
    check("clash.glsl", &good, &["--mode", "reduce", "--in-place"], 2, &["--in-place with --mode reduce"]);
    let missing = place.run(&["space", "--operator", "nowhere.glsl", "--device", DEVICE[1]], 1).stderr;
    assert!(missing.contains("nowhere.glsl: there is no such file"), "{missing}");
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn a_real_device_sweeps_an_operator() {
    if std::env::var_os("SCANBOX_TEST_DEVICE").is_none() {
        eprintln!("skipped: set SCANBOX_TEST_DEVICE=1");
        return;
    }
    let place = place_with("affine");
    let space = "name = \"small\"\nsizes = \"2^10..2^12\"\n[[block]]\nfamily = [\"chained-scan\"]\nbatch_size = [2]\nvector_width = [\"vec2\"]\n\
                 workgroup_size = [64]\nlookback = [\"sequential\", \"parallel\"]\nblock_scan = [\"raking\"]\n";
    fs::write(place.folder().join("small.toml"), space).unwrap();
    let device = ["--device", "0"];
    let verify = ["verify", "--sizes", "1,255,5000", "b2.vec2.par.rake.wg64", "one.b1.vec4.none.sub.wg32"];
    let told = place.run(&[&verify[..], &device, &AFFINE].concat(), 0).stdout;
    assert!(told.contains("configs    2: 2 ok"), "{told}");
    let sweep = ["sweep", "--space", "small.toml", "--out", "real.csv", "--warm-up", "1ms", "--samples", "5"];
    place.run(&[&sweep[..], &device, &AFFINE].concat(), 0);
    let rows = csv_file::read(&place.folder().join("real.csv")).unwrap().records;
    assert!(rows.len() >= 4 && rows.iter().all(|row| row.status == Status::Ok), "{rows:#?}");
    place.run(&["analyze", "--include-software", "real.csv"], 0);
}

#[test]
fn an_operator_that_is_none_is_told_once() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let place = place_with("affine");
    let space = "name = \"small\"\nsizes = \"2^10..2^12\"\n[[block]]\nfamily = [\"chained-scan\"]\nbatch_size = [2]\nvector_width = [\"vec2\"]\n\
                 workgroup_size = [64]\nlookback = [\"sequential\", \"parallel\"]\nblock_scan = [\"raking\"]\n";
    fs::write(place.folder().join("small.toml"), space).unwrap();
    let good = fs::read_to_string(place.folder().join("affine.glsl")).unwrap();
    fs::write(place.folder().join("minus.glsl"), good.replace("+ later.offset", "- later.offset")).unwrap();
    for command in [
        &["verify", "--space", "small.toml", "--sizes", "1,255,1000"][..],
        &["sweep", "--space", "small.toml", "--out", "minus.csv"],
        &["bench", "b2.vec2.par.rake.wg64", "--sizes", "1000", "--out", "bench.csv"],
    ] {
        let mut run = place.scanbox(command);
        run.args(["--device", "0", "--operator", "minus.glsl"]);
        // Beside the other test that runs on a real device.
        run.env("SCANBOX_LOCKS", place.folder());
        run.env("VK_DRIVER_FILES", &driver).env("LP_NUM_THREADS", "1");
        let ran = crate::sweeps::ended(run.output().unwrap());
        assert_eq!(ran.code, Some(5), "{command:?}: {}{}", ran.stdout, ran.stderr);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(told.matches("operator minus").count(), 1, "{command:?}: {told}");
        let parts = [
            "error: operator minus: identity() is not the identity of combine\n",
            "\n  law    combine(identity(), x) and combine(x, identity()) must be x\n",
            "\n  for    x = {scale = ",
            "\n  gave   combine(identity(), x) = {",
            "\n         combine(x, identity()) = {",
            "\n  to do  have identity() make the element that changes no other one, or change combine\n",
        ];
        for part in parts {
            assert!(told.contains(part), "{command:?}: no `{part}` in {told}");
        }
        assert!(!told.contains("goes on"), "{told}");
    }
}

/// Sums of reals depend on the order in which they are combined, in a pack as elsewhere.
#[test]
fn a_pack_of_an_operator_that_rounds_is_held_to_its_tolerance() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let place = place_with("affine");
    let run = |line: &[&str], code: i32| {
        let mut command = place.scanbox(line);
        command.args(["--operator", "sum.glsl"]).env("SCANBOX_LOCKS", place.folder());
        command
            .env("VK_DRIVER_FILES", &driver)
            .env("LP_NUM_THREADS", "1")
            .env("LP_NATIVE_VECTOR_WIDTH", "256");
        let ended = crate::sweeps::ended(command.output().unwrap());
        assert_eq!(ended.code, Some(code), "{line:?}: {}{}", ended.stdout, ended.stderr);
        ended
    };
    let sum = |tolerance: &str| {
        let text = format!(
            "#pragma scanbox operator(commutative = yes, tolerance = {tolerance})\nstruct Element {{ float sum; }};\n\
             Element identity() {{ return Element(0.0); }}\n\
             Element combine(const Element a, const Element b) {{ return Element(a.sum + b.sum); }}\n\
             Element draw(const uvec2 random, const uint index) {{ return Element(float(random.x) * 1e-10 + 0.1); }}\n"
        );
        fs::write(place.folder().join("sum.glsl"), text).unwrap();
    };
    sum("1e-3");
    let space = "name = \"small\"\nsizes = \"2^10\"\n[[block]]\nfamily = [\"chained-scan\"]\nbatch_size = [2]\n\
                 vector_width = [\"vec2\"]\nworkgroup_size = [64]\nlookback = [\"sequential\"]\nblock_scan = [\"raking\"]\n";
    fs::write(place.folder().join("small.toml"), space).unwrap();
    run(&["sweep", "--device", "0", "--space", "./small.toml", "--out", "rows.csv", "--warm-up", "1ms"], 0);
    run(&["pack", "rows.csv", "-o", "sum.scanpack", "--uses", "pushed", "--portable", "8"], 0);
    let check = ["pack", "--check", "sum.scanpack", "--device", "0"];
    let told = run(&check, 0).stdout;
    assert!(told.contains(" right, each use counted") && !told.contains("not tried"), "{told}");
    // Another text of the file says nothing about the pack.
    sum("2e-3");
    let told = run(&check, 1).stdout.replace("\n  ", " ");
    assert!(told.contains("is not that of the file that --operator names (sum, text "), "{told}");
}
