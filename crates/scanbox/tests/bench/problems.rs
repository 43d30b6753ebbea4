//! Baselines and problems: who has which, what they are asked, and what the CUB program makes of it without a GPU.

use std::io::Write;
use std::path::PathBuf;

use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::reference::Reference;
use scanbox_model::parameters::Parameter;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_runner::baseline::AskedProblem;
use scanbox_testing::operator_files;

use super::*;

const SUMS: &str = r#"{"modes":["inclusive","exclusive","reduce"],"elements":["u32","f64"],"ops":["add","max"],
                       "placements":["out-of-place","in-place"]}"#;

/// A baseline of version 2 that has these kinds of problems, and writes down what it is asked to load.
fn of_version_2(place: &Place, problems: &str) {
    baseline(place, "fake", r#"*'"do":"load"'*) echo "$line" >>loads; echo '{"ok":true}' ;;"#);
    greets(
        place,
        "\"protocol\":1,",
        &format!("\"protocol\":2,\"problems\":[{}],", problems.replace('\n', " ")),
    );
}

/// Has it say something else in its greeting.
fn greets(place: &Place, instead_of: &str, what: &str) {
    let path = place.folder().join("fake");
    let script = fs::read_to_string(&path).unwrap();
    assert!(script.contains(instead_of), "{script}");
    fs::write(&path, script.replace(instead_of, what)).unwrap();
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../kernels/operators/{name}.glsl"))
}

/// A verification and a twin that each could be true, and no row can say both.
#[test]
fn answers_that_contradict_each_other_cost_the_rows_of_their_baseline() {
    let place = Place::new("");
    of_version_2(&place, r#"{"modes":["inclusive"],"elements":["f32"],"ops":["add"],"inputs":["real"]}"#);
    let says = |what: &str, error: &str, bound: &str, times: u32| {
        format!(
            r#"*'"do":"{what}"'*) echo '{{"compared":{},"mismatches":0,"max_error":{error},"error_bound":{bound}}}' ;;"#,
            4096 * times
        )
    };
    let arms = [says("verify", "1e-7", "1e-6", 1), says("twin", "1e-3", "1e-2", 3)].join("\n");
    greets(&place, "*'\"do\":\"load\"'*)", &format!("{arms}\n*'\"do\":\"load\"'*)"));
    greets(&place, "\"version\"", "\"twins\":true,\"version\"");
    let args =
        ["--type", "f32", "--input", "real", "--sizes", "4096", "--rounds", "1", "--baseline", "./fake"];
    bench(&place, &[&[CONFIG][..], &args].concat(), 1);
    let rows = rows(&place);
    let scan = rows.iter().find(|row| row.config_id == "fake-scan").unwrap();
    assert_eq!((scan.status, scan.steady, scan.max_error), (Status::RuntimeError, None, None), "{scan:#?}");
    assert!(scan.reason.contains("contradict each other"), "{}", scan.reason);
    assert!(rows.iter().any(|row| row.config_id == CONFIG && row.status == Status::Ok));
}

#[test]
fn a_baseline_is_asked_for_the_problem_of_the_run() {
    fn check(flags: &[&str], asked: &str, shown: &str) {
        let place = Place::new("");
        let hash = operator_files::example("affine").operator().hash_text();
        let affine = format!(
            r#"{{"modes":["exclusive"],"elements":["struct8"],"ops":["affine"],"operator_hash":"{hash}"}}"#
        );
        let real = r#"{"modes":["inclusive"],"elements":["f64"],"ops":["add"],"inputs":["real"]}"#;
        of_version_2(&place, &[SUMS, &affine, real].join(","));
        let args = ["--sizes", "4096", "--rounds", "1", "--baseline", "./fake"];
        bench(&place, &[flags, &args[..]].concat(), 0);
        let loads = fs::read_to_string(place.folder().join("loads")).unwrap();
        let asked = asked.replace("HASH", &hash);
        assert!(loads.lines().all(|load| load.contains(&asked)), "{asked}: {loads}");
        let metadata = Metadata::read(&place.folder().join("bench.meta.json")).unwrap();
        assert_eq!(metadata.problem.to_string(), shown, "{flags:?}");
        let rows = rows(&place);
        let scan = rows.iter().find(|row| row.config_id == "fake-scan").unwrap();
        assert_eq!(Problem::of_row(scan), Ok(metadata.problem), "{flags:?}");
        assert_eq!(
            (scan.status, scan.bytes_moved),
            (Status::Ok, metadata.problem.bytes_moved(4096)),
            "{flags:?}"
        );
        // A reduction has no copy to be held against.
        let copies = rows.iter().filter(|row| row.config_id == "fake-copy").count();
        assert_eq!(copies, usize::from(metadata.problem.mode() != Mode::Reduce), "{flags:?}");
    }
    let words = |mode: &str, element: &str, op: &str, init: &str, rest: &str| {
        format!(
            "\"mode\":\"{mode}\",\"element\":\"{element}\",\"op\":\"{op}\",\"operator_hash\":\"\",\
             \"operator_facts\":\"\",\"init_bits\":{init},{rest}}}"
        )
    };
    let random = "\"placement\":\"out-of-place\",\"input\":\"random\"";
    check(&[], &words("inclusive", "u32", "add", "0", random), "u32-add-inclusive");
    check(
        &["--mode", "exclusive", "--type", "f64", "--op", "max", "--init", "-2"],
        &words("exclusive", "f64", "max", "13835058055282163712", random),
        "f64-max-exclusive-init=-2",
    );
    check(&["--mode", "reduce"], &words("reduce", "u32", "add", "0", random), "u32-add-reduce");
    let in_place = "\"placement\":\"in-place\",\"input\":\"random\"";
    check(&["--in-place"], &words("inclusive", "u32", "add", "0", in_place), "u32-add-inclusive-in-place");
    let real = "\"placement\":\"out-of-place\",\"input\":\"real\"";
    check(
        &["--type", "f64", "--input", "real"],
        &words("inclusive", "f64", "add", "0", real),
        "f64-add-inclusive",
    );
    let path = example("affine").display().to_string();
    check(
        &["--operator", &path, "--mode", "exclusive"],
        "\"op\":\"affine\",\"operator_hash\":\"HASH\",\"operator_facts\":\"ordered+exact\",\"init_bits\":0",
        "struct8-affine-exclusive",
    );
}

#[test]
fn a_baseline_without_the_problem_says_so_in_its_rows() {
    // Flags, the subjects of the baseline that have rows, and what the greeting has in place of something.
    fn check(flags: &[&str], subjects: &[&str], change: Option<(&str, &str)>) {
        let place = Place::new("");
        of_version_2(&place, SUMS);
        if let Some((instead_of, what)) = change {
            greets(&place, instead_of, what);
        }
        let args = ["--sizes", "4096,8192", "--rounds", "1", "--baseline", "./fake"];
        let ended = bench(&place, &[flags, &args[..]].concat(), 0);
        let rows = rows(&place);
        let of_fake: Vec<&Record> = rows.iter().filter(|row| row.subject_version == "Fake 3.5").collect();
        let known: Vec<&str> = of_fake.iter().map(|row| row.config_id.as_str()).collect();
        assert_eq!(known, [subjects, subjects].concat(), "{flags:?}");
        for row in of_fake {
            assert_eq!(row.status, Status::Unsupported, "{flags:?}");
            assert!(row.reason.contains("Fake 3.5 has no ") && row.steady.is_none(), "{}", row.reason);
        }
        assert!(ended.stderr.contains("baseline: Fake 3.5, which has no "), "{}", ended.stderr);
        assert!(!place.folder().join("loads").exists(), "it is asked for nothing: {flags:?}");
        let own = rows.iter().filter(|row| row.subject == "copy" || row.subject == "read");
        assert!(own.clone().count() == 2 * COPIES && own.clone().all(|row| row.status == Status::Ok));
        // It can be shown again.
        let shown = place.run(&["bench", "--show", "bench.csv"], 0).stdout;
        assert!(shown.contains("fake-") && shown.contains("unsupported"), "{shown}");
    }
    check(&["--type", "i64"], &["fake-scan"], None);
    check(&["--op", "xor", "--mode", "reduce"], &["fake-scan"], None);
    check(&["--operator", &example("argmax").display().to_string()], &["fake-scan"], None);
    check(&["--type", "f64", "--input", "real"], &["fake-scan"], None);
    // One of version 1 has sums of u32 alone.
    let version_1 = Some(("\"protocol\":2", "\"protocol\":1"));
    check(&["--type", "f64"], &["fake-scan"], version_1);
    check(&["--mode", "exclusive"], &["fake-scan"], version_1);
    // Of another file with the same name it has nothing.
    let other_file = SUMS.replace('\n', " ");
    let affine = r#"{"modes":["inclusive"],"elements":["struct8"],"ops":["affine"],"operator_hash":"0123456789abcdef"}"#;
    check(
        &["--operator", &example("affine").display().to_string()],
        &["fake-scan"],
        Some((&other_file, affine)),
    );
    // Who has no scans says it of copies.
    check(
        &["--type", "i64"],
        &["fake-scan", "fake-copy"],
        Some(("\"result\":\"scan\"", "\"result\":\"copy\"")),
    );
}

#[test]
fn subjects_take_part_where_their_problems_have_it() {
    let place = Place::new("");
    of_version_2(&place, SUMS);
    let only = r#""result":"scan","problems":[{"modes":["inclusive"],"elements":["u32"],"ops":["add"]}]},
                  {"name":"fake-other","result":"scan"}"#;
    greets(&place, "\"result\":\"scan\"}", &only.replace('\n', " "));
    for (flags, scans) in [
        (&["--type", "f64"][..], &["fake-other"][..]),
        (&["--in-place"], &["fake-other"]),
        (&[], &["fake-scan", "fake-other"]),
    ] {
        let args = ["--sizes", "4096", "--rounds", "1", "--baseline", "./fake"];
        bench(&place, &[flags, &args[..]].concat(), 0);
        let rows = rows(&place);
        let found = rows.iter().filter(|row| row.selection == [Selection::Baseline]);
        assert_eq!(found.map(|row| row.config_id.as_str()).collect::<Vec<_>>(), scans, "{flags:?}");
    }
    // What it has not after all is its own matter, and costs nobody else anything.
    let path = place.folder().join("fake");
    let script = fs::read_to_string(&path).unwrap();
    let refusal =
        r#"*'"do":"verify","subject":"fake-other"'*) echo '{"error":"not this","status":"unsupported"}' ;;"#;
    let verify = "*'\"do\":\"verify\"'*)";
    fs::write(&path, script.replacen(verify, &format!("{refusal} {verify}"), 1)).unwrap();
    fs::remove_file(place.folder().join("loads")).unwrap();
    let args = ["--sizes", "4096,8192,16384", "--rounds", "1", "--baseline", "./fake"];
    bench(&place, &args, 0);
    let rows = rows(&place);
    for n in [4096, 8192, 16384] {
        assert_eq!(status_of(&rows, "fake-scan", n), [Status::Ok].into());
        assert_eq!(status_of(&rows, "fake-other", n), [Status::Unsupported].into());
    }
    // It goes on as it is: who is started again is asked for the largest size last.
    let loads = fs::read_to_string(place.folder().join("loads")).unwrap();
    assert_eq!(loads.lines().count(), 4, "{loads}");
}

#[test]
fn a_greeting_says_which_problems_there_are() {
    fn check(instead_of: &str, what: &str, reason: &str) {
        let place = Place::new("");
        of_version_2(&place, SUMS);
        greets(&place, instead_of, what);
        let ended = bench(&place, &["--sizes", "4096", "--baseline", "./fake"], 1);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
    check("\"protocol\":2", "\"protocol\":3", "it speaks protocol 3, this version of scanbox speaks 1 to 2");
    check("\"protocol\":2", "\"protocol\":0", "it speaks protocol 0");
    check("\"problems\":", "\"answers\":", "does not say which `problems` it has");
    check("\"modes\":[\"inclusive\",\"exclusive\",\"reduce\"],", "", "missing field `modes`");
    check("\"elements\":[\"u32\",\"f64\"]", "\"elements\":\"u32\"", "is not a greeting");
}

/// A scanbox that is asked by another one has the problem that it was started for.
#[test]
fn a_scanbox_serves_its_problem_alone() {
    fn check(change: &[&str; 2], reply: &str) {
        let place = Place::new("");
        let load = r#"{"do":"load","n":4096,"seed":1,"mode":"exclusive","element":"f64","op":"add","operator_hash":"",
                       "operator_facts":"","init_bits":4611686018427387904,"placement":"out-of-place","input":"real"}"#;
        assert!(load.contains(change[0]), "{load}");
        let load = load.replace(change[0], change[1]).replace('\n', " ");
        let verify = format!(r#"{{"do":"verify","subject":"{CONFIG}","n":4096}}"#);
        let flags = ["--type", "f64", "--mode", "exclusive", "--init", "2"];
        let mut serve = place.scanbox(&["serve", "--device", "replay:replay.toml"]);
        let mut serve = serve.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        serve.stdin.take().unwrap().write_all(format!("{load}\n{verify}\n").as_bytes()).unwrap();
        let output = serve.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        let kind = r#""problems":[{"modes":["exclusive"],"elements":["f64"],"ops":["add"],"placements":["out-of-place"],"inputs":["random","real"]}]"#;
        assert!(lines[0].contains("\"protocol\":2") && lines[0].contains(kind), "{}", lines[0]);
        assert!(lines[1].contains(reply), "{change:?}: {said}");
        let compared =
            if reply.contains("ok") { "\"compared\":" } else { "there is no input of 4096 elements" };
        assert!(lines[2].contains(compared), "{change:?}: {said}");
    }
    check(&["real", "real"], "{\"ok\":true}");
    check(&["real", "random"], "{\"ok\":true}");
    check(&["real", "ramp"], "input `ramp`: there are random and real");
    check(&["f64", "f32"], "--type: this scanbox was started for `f64` and asked for `f32`");
    check(&["4611686018427387904", "0"], "--init: this scanbox was started for `2` and asked for `0`");
    check(&["\"add\"", "\"affine\""], "operator_hash");
    check(&["\"op\":", "\"operation\":"], "missing field `op`");
}

/// Compiles a program of the folder of the CUB baseline.
fn compiled(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = folder.join(name);
    let compiled = Command::new("c++")
        .args(options)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-pthread", "-I"])
        .args([&root.join("kernels"), Path::new("-o"), &program])
        .arg(root.join("scripts/baselines/cub").join(format!("{name}.cpp")))
        .output()
        .expect("a C++ compiler, which the build needs too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// What users' operators are to CUB is what the files say.
#[test]
fn the_cub_program_has_the_operators_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let tested = Command::new(compiled(folder.path(), "operators_test", &["-std=c++20"])).output().unwrap();
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("scripts/baselines/cub/operators.hpp")).unwrap();
    for file in fs::read_dir(root.join("kernels/operators")).unwrap() {
        let path = file.unwrap().path();
        let operator = operator_files::example(path.file_stem().unwrap().to_str().unwrap()).operator();
        let hash = format!("hash = \"{}\";", operator.hash_text());
        assert!(text.contains(&hash), "operators.hpp has another version of {}: {hash}", operator.name);
    }
}

/// The CUB program makes the elements that scanbox makes, and its reference is scanbox's.
#[test]
fn the_cub_program_has_scanboxs_inputs_and_answers() {
    const N: u64 = 5000;
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), "problems_test", &["-std=c++17"]);
    let all = Element::VALUES.iter().copied().filter(|element| !element.is_struct());
    let mut cases: Vec<(Problem, Input)> = Vec::new();
    for element in all {
        for &op in Operator::VALUES.iter().filter(|op| op.takes(element)) {
            for (mode, init) in [
                (Mode::Inclusive, None),
                (Mode::Exclusive, None),
                (Mode::Exclusive, Some("5")),
                (Mode::Reduce, None),
            ] {
                let problem = Problem::new(mode, element, op, init, Placement::OutOfPlace).unwrap();
                // Both sides of the seed.
                for seed in [1, 0x1234_5678_9ABC_DEF0 | 1 << 30] {
                    cases.push((problem, Input { kind: InputKind::Random, seed }));
                }
                if element.is_float() && op == Operator::Add {
                    cases.push((problem, Input { kind: InputKind::Real, seed: 7 }));
                }
            }
        }
    }
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let loads: String = cases
        .iter()
        .map(|(problem, input)| {
            let asked = serde_json::to_string(&AskedProblem::new(problem, input)).unwrap();
            format!("{{\"do\":\"load\",\"n\":{N},\"seed\":{},{}\n", input.seed, &asked[1..])
        })
        .collect();
    let mut requests = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || requests.write_all(loads.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    for (problem, input) in &cases {
        let mut words = vec![0; (N * problem.element_bytes() / 4) as usize];
        input.fill(problem, 0, &mut words);
        let hex = |words: &[u32]| words.iter().map(|word| format!(" {word:x}")).collect::<String>();
        let is = |line: Option<&str>, what: &str, words: &[u32]| {
            let line = line.unwrap_or_default();
            assert!(
                line == format!("{what}{}", hex(words)),
                "{what} of {problem}, {input}, {}: {}",
                input.seed,
                &line[..line.len().min(200)]
            );
        };
        is(lines.next(), "input", &words);
        Reference::new(*problem).scan(&mut words);
        is(lines.next(), "answer", &words);
        let bound: f64 = lines.next().unwrap().strip_prefix("bound ").unwrap().parse().unwrap();
        assert_eq!(bound > 0.0, input.kind == InputKind::Real, "{problem}: {bound}");
    }
    assert_eq!(lines.next(), None);
}
