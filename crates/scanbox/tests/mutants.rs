//! Kernels that are broken on purpose, on lavapipe: each is found by every command, and no other kernel is blamed.
//!
//! One copy of the kernel sources has all of them, each for a batch size of its own. Batch sizes 1 and 4 are healthy.

mod hidden;
mod many_tiles;
mod shared;

use std::fs;
use std::path::Path;

use crate::machines::{Answer, Machine, run};
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};
use scanbox_testing::folder::copy_folder;
use serde_json::{Value, json};
use tempfile::TempDir;

const TAKES: &str = "shared_tile = take_ticket();";
/// Wrong from the first call on, and the scratch memory is left in disorder: each workgroup takes two tickets, and has
/// another tile than they say. (Without a ticket it would not be compiled.)
const NO_TICKET: &str = r#"
#if BATCH_SIZE == 2
        take_ticket();
        take_ticket();
        shared_tile = gl_WorkGroupID.x ^ 1u;
#else
        shared_tile = take_ticket();
#endif
"#;

const BEGINS: &str = "    const uint tile = take_tile();\n";
/// Right when called once. Batch size 3 is wrong in every other call, and takes no tickets there; 5 in every second
/// one; 6 in its last tile after 100 calls; 8 on some cold buffers, of 4 MiB each.
const RIGHT_ONCE: &str = r#"
    if (BATCH_SIZE == 3 && params.epoch != 2u) {
        return;
    }
    const uint tile = take_tile();
    const bool is_last_tile = tile == tile_count() - 1u;
#if INT64
    const uint buffer_number = uint(params.source_address >> 22);
#else
    const uint buffer_number = params.source_address.x >> 22;
#endif
    if ((BATCH_SIZE == 5 && params.epoch % 2u == 1u) || (BATCH_SIZE == 6 && params.epoch > 102u && is_last_tile) ||
        (BATCH_SIZE == 8 && buffer_number % 7u == 3u)) {
        leave();
        return;
    }
"#;

const MAIN: &str = "MAIN {\n";
const SCRIBBLES: &str = "layout(buffer_reference, std430) buffer Scribble { uint at[]; };\nMAIN {\n";
const STORES: &str = "    publish_and_store(tile, items);\n";
/// Batch size 7 is right, and leaves another input behind than it has found.
const STORES_TWICE: &str = r#"
    publish_and_store(tile, items);
    if (BATCH_SIZE == 7 && is_last_tile && invocation_rank() == 0u) {
        Scribble scribble = Scribble(params.source_address);
        scribble.at[0] ^= 7u;
    }
"#;

/// Batch size 2 keeps the last element that it finds, unless that is poison.
const KEEPS: &str = r#"
    const bool is_last = tile == tile_count() - 1u && invocation_rank() == 0u;
    const uint found = is_last ? Scribble(params.target_address).at[params.n - 1u] : 0u;
    memoryBarrierBuffer();
    barrier();
    publish_and_store(tile, items);
    memoryBarrierBuffer();
    barrier();
    if (BATCH_SIZE == 2 && is_last) {
        Scribble answer = Scribble(params.target_address);
        if (found != ~answer.at[params.n - 1u]) {
            answer.at[params.n - 1u] = found;
        }
    }
"#;

/// The same in the timed path alone: batch size 7 is verified in calls that leave the input as it is.
const STORES_TWICE_LATE: &str = r#"
    publish_and_store(tile, items);
    if (BATCH_SIZE == 7 && params.epoch > 4u && tile == tile_count() - 1u && invocation_rank() == 0u) {
        Scribble scribble = Scribble(params.source_address);
        scribble.at[0] += 7u;
    }
"#;
const LATE: [(&str, &str, &str); 2] =
    [("chained_scan.comp", MAIN, SCRIBBLES), ("chained_scan.comp", STORES, STORES_TWICE_LATE)];

const MUTANTS: [(&str, &str, &str); 4] = [
    ("stages/tile/tile_order.glsl", TAKES, NO_TICKET),
    ("chained_scan.comp", BEGINS, RIGHT_ONCE),
    ("chained_scan.comp", MAIN, SCRIBBLES),
    ("chained_scan.comp", STORES, STORES_TWICE),
];

fn label(batch_size: u32) -> String {
    format!("b{batch_size}.vec4.par.rake.wg64")
}

/// A folder with the broken kernels, and the software device.
struct Bench {
    folder: TempDir,
    lavapipe: Machine,
}

impl Bench {
    fn new() -> Option<Self> {
        Self::with(&MUTANTS)
    }

    /// With these changes of kernel sources: a file, what stands there, what is to stand there.
    fn with(changes: &[(&str, &str, &str)]) -> Option<Self> {
        let lavapipe = Machine::lavapipe()?;
        let folder = tempfile::tempdir().unwrap();
        let kernels = folder.path().join("kernels");
        copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/glsl"), &kernels);
        for (file, from, to) in changes {
            let text = fs::read_to_string(kernels.join(file)).unwrap();
            assert!(text.contains(*from), "{file} has no `{from}`");
            fs::write(kernels.join(file), text.replace(from, to)).unwrap();
        }
        Some(Self { folder, lavapipe })
    }

    #[track_caller]
    fn run(&self, arguments: &[&str], code: i32) -> Answer {
        let arguments = [arguments, &["--kernels", "kernels"]].concat();
        let answer = run(self.folder.path(), self.lavapipe.clone(), &arguments);
        assert_eq!(answer.code, code, "{arguments:?}\n{}{}", answer.out, answer.err);
        answer
    }

    fn rows(&self, file: &str) -> Vec<Record> {
        csv_file::read(&self.folder.path().join(file)).unwrap().records
    }

    fn sweep(&self, batch_sizes: &str, out: &str, code: i32) -> Vec<Record> {
        self.sweep_of(&[], batch_sizes, out, code)
    }

    fn sweep_of(&self, problem: &[&str], batch_sizes: &str, out: &str, code: i32) -> Vec<Record> {
        let space = format!(
            "name = \"mutants\"\nsizes = \"2^11,2^13\"\n[[block]]\nfamily = [\"chained-scan\"]\n\
             batch_size = [{batch_sizes}]\nvector_width = [\"vec4\"]\nworkgroup_size = [64]\nlookback = [\"parallel\"]\n\
             block_scan = [\"raking\"]\n"
        );
        fs::write(self.folder.path().join("space.toml"), space).unwrap();
        self.run(&[&["sweep", "--space", "space.toml", "--out", out], problem].concat(), code);
        self.rows(out)
    }
}

/// What a row has to say, by batch size.
#[track_caller]
fn check(rows: &[Record], what: &str) {
    assert!(rows.len() > 1, "{what}");
    for row in rows.iter().filter(|row| row.subject == "scanbox") {
        let expected = match row.parameters.batch_size.unwrap() {
            1 | 4 => None,
            2 => Some("elements are wrong"),
            7 => Some("it writes to its input, first in elements 0 to "),
            _ => Some("right when called once, wrong in call "),
        };
        let right = match expected {
            None => row.status == Status::Ok && row.twin_calls > Some(2),
            Some(reason) => row.status == Status::WrongResult && row.reason.contains(reason),
        };
        assert!(right, "{what}: {} at {}: {} {}", row.config_id, row.n_elements, row.status, row.reason);
        assert!(row.status == Status::Ok || row.steady.is_none(), "a time without a right answer: {row:?}");
    }
}

/// Verifies kernels that are broken and others that are not. Returns how they failed: all of the first, and no others.
fn failures<S: AsRef<str>, T: AsRef<str>>(
    bench: &Bench,
    broken: &[S],
    healthy: &[T],
    cases: &[&str],
) -> Vec<Value> {
    let mut broken: Vec<&str> = broken.iter().map(AsRef::as_ref).collect();
    let labels = [&broken[..], &healthy.iter().map(AsRef::as_ref).collect::<Vec<_>>()].concat();
    let rest = ["--inputs", "random", "--format", "json"];
    let answer = bench.run(&[&["verify"][..], &labels, cases, &rest].concat(), 5);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let failures = answer["failures"].as_array().unwrap();
    let mut found: Vec<&str> = failures.iter().map(|failure| failure["config"].as_str().unwrap()).collect();
    found.sort_unstable();
    broken.sort_unstable();
    assert_eq!(found, broken, "{answer:#}");
    assert!(failures.iter().all(|failure| failure["status"] == "wrong_result"), "{answer:#}");
    failures.clone()
}

#[test]
fn a_sweep_finds_them() {
    let Some(bench) = Bench::new() else { return };
    check(&bench.sweep("1, 2, 3, 4, 5, 7", "all.csv", 5), "sweep");
    // As the fastest so far it has a whole twin, however busy the machine is.
    for row in bench.sweep("6", "late.csv", 5).iter().filter(|row| row.n_elements == 8192) {
        assert_eq!(row.status, Status::WrongResult, "{row:?}");
        assert!(row.reason.contains("in a row (the timed path)"), "{}", row.reason);
    }
}

#[test]
fn a_benchmark_finds_them() {
    let Some(bench) = Bench::new() else { return };
    let labels = [1, 2, 3, 4, 5, 6, 7].map(label);
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let hot = ["--sizes", "8192", "--rounds", "2", "--out", "hot.csv"];
    bench.run(&[&["bench"][..], &labels, &hot].concat(), 5);
    check(&bench.rows("hot.csv"), "bench");
}

#[test]
fn a_benchmark_finds_what_is_wrong_on_cold_buffers() {
    let Some(bench) = Bench::new() else { return };
    let labels = [1, 4, 8].map(label);
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let cold = ["--sizes", "2^20", "--rounds", "1", "--buffers", "cold", "--out", "cold.csv"];
    bench.run(&[&["bench"][..], &labels, &cold].concat(), 5);
    for row in bench.rows("cold.csv").iter().filter(|row| row.subject == "scanbox") {
        let wrong = row.parameters.batch_size == Some(8);
        assert_eq!(row.status == Status::WrongResult, wrong, "{} {}", row.config_id, row.reason);
        assert!(wrong || row.status == Status::Ok, "{row:?}");
    }
}

#[test]
fn a_verification_finds_them() {
    // On a busy machine its calls in a row are as few as three, and the last one has the sixth epoch of its memory.
    let within_three = RIGHT_ONCE.replace("params.epoch > 102u", "params.epoch > 5u");
    assert_ne!(within_three, RIGHT_ONCE);
    let mutants =
        MUTANTS.map(|(file, from, to)| (file, from, if to == RIGHT_ONCE { &within_three } else { to }));
    let Some(bench) = Bench::with(&mutants) else { return };
    let labels = [1, 2, 3, 4, 5, 6, 7].map(label);
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let cases = ["--sizes", "1537,8192", "--inputs", "random", "--format", "json"];
    let answer = bench.run(&[&["verify"][..], &labels, &cases].concat(), 5);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let mut found: Vec<&str> = answer["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| failure["config"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!(found, [labels[1], labels[2], labels[4], labels[5], labels[6]], "{answer:#}");
}

/// Poison would hide it, so one call finds the answer to the other input.
#[test]
fn a_verification_finds_what_keeps_an_answer() {
    let keeps = [("chained_scan.comp", MAIN, SCRIBBLES), ("chained_scan.comp", STORES, KEEPS)];
    let Some(bench) = Bench::with(&keeps) else { return };
    let labels = [1, 2, 4].map(label);
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let cases = ["--sizes", "1537,8192", "--inputs", "random", "--format", "json"];
    let answer = bench.run(&[&["verify"][..], &labels, &cases].concat(), 5);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let failures = answer["failures"].as_array().unwrap();
    assert!(
        !failures.is_empty() && failures.iter().all(|failure| failure["config"] == labels[1]),
        "{answer:#}"
    );
    assert_eq!(answer["configs_by_status"]["ok"], 2, "{answer:#}");
}

/// What comparisons find is what every `ok` rests on.
#[test]
fn a_comparison_that_finds_nothing_makes_nothing_ok() {
    for change in [
        ("compare.comp", "mismatches += 1u;", "mismatches += 0u;"),
        ("compare.comp", ": actual_words.at[at] == params.guard_word;", ": true;"),
        ("compare.comp", "first = min(first, begin + at);", ""),
        ("poison.comp", "= ~expected.at[at];", "= expected.at[at];"),
    ] {
        let Some(bench) = Bench::with(&[change]) else { return };
        for row in bench.sweep("1, 4", "blind.csv", 1) {
            assert_eq!(row.status, Status::RuntimeError, "{change:?}: {row:?}");
            assert!(row.reason.contains("comparisons cannot be trusted here"), "{}", row.reason);
        }
    }
}

/// What an operator forgets, and what an initial value hides, is found out all the same.
#[test]
fn a_total_that_is_lost_shows_in_every_problem() {
    let total = "store_total(combine(prefix, block_total()));";
    let inclusive = "publish(tile, INCLUSIVE, combine(prefix, block_total()));";
    let initial = "return combine(INITIAL_VALUE, prefix);";
    let Some(bench) = Bench::with(&[
        // A reduction of the last tile alone.
        (
            "chained_scan.comp",
            total,
            "store_total(BATCH_SIZE == 2 ? block_total() : combine(prefix, block_total()));",
        ),
        // A lookback of one tile.
        (
            "stages/lookback/walk.glsl",
            inclusive,
            "publish(tile, INCLUSIVE, BATCH_SIZE == 3 ? block_total() : combine(prefix, block_total()));",
        ),
        // Nothing before a tile but the initial value.
        (
            "stages/tile/mode.glsl",
            initial,
            "return BATCH_SIZE == 5 ? INITIAL_VALUE : combine(INITIAL_VALUE, prefix);",
        ),
    ]) else {
        return;
    };
    let problems: [(&[&str], u32); 7] = [
        (&["--op", "max", "--mode", "reduce"], 2),
        (&["--op", "or", "--mode", "reduce"], 2),
        (&["--op", "mul", "--type", "f32", "--mode", "reduce"], 2),
        (&["--op", "max", "--type", "f32"], 3),
        (&["--op", "and"], 3),
        (&["--op", "max", "--type", "f32", "--mode", "exclusive", "--init=-1"], 5),
        (&["--op", "min", "--type", "i32", "--mode", "exclusive", "--init=0"], 5),
    ];
    for (at, (problem, broken)) in problems.into_iter().enumerate() {
        for row in bench.sweep_of(problem, &format!("1, {broken}"), &format!("{at}.csv"), 5) {
            // Of four tiles none has both its prefix from further back than one tile, and nothing that hides it.
            let shows = row.n_elements == 8192 || broken != 3;
            if row.subject == "scanbox" && shows {
                let wrong = row.parameters.batch_size == Some(broken);
                assert_eq!(
                    row.status == Status::WrongResult,
                    wrong,
                    "{problem:?}: {} {}",
                    row.config_id,
                    row.reason
                );
                assert!(wrong || row.status == Status::Ok, "{problem:?}: {row:?}");
            }
        }
    }
}

/// Nobody else is blamed, whoever comes behind it: of two subjects that are next to it in the rounds, one does.
#[test]
fn a_benchmark_blames_who_writes_to_its_input_in_the_timed_path() {
    let Some(bench) = Bench::with(&LATE) else { return };
    let labels = [1, 4, 7].map(label);
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    for (seed, buffers) in [("1", "hot"), ("2", "hot"), ("3", "hot"), ("1", "cold"), ("2", "cold")] {
        let out = format!("{buffers}.{seed}.csv");
        let rest = ["--sizes", "8192", "--rounds", "3", "--seed", seed, "--buffers", buffers, "--out", &out];
        bench.run(&[&["bench"][..], &labels, &rest].concat(), 5);
        check(&bench.rows(&out), &out);
    }
}

impl Bench {
    /// What `scanbox serve` answers to these requests.
    fn serve(&self, problem: &[&str], requests: &[Value]) -> Vec<Value> {
        let mut command = assert_cmd::cargo::cargo_bin_cmd!("scanbox");
        let Machine::With(driver) = &self.lavapipe else { unreachable!("it is the software device") };
        command.current_dir(self.folder.path()).env("VK_DRIVER_FILES", driver);
        command.env("SCANBOX_CACHE", self.folder.path().join("cache"));
        command.args(["--kernels", "kernels", "serve", "--device", "0"]).args(problem);
        let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
        let output = command.write_stdin(lines).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let answers: Vec<Value> =
            text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), requests.len(), "{}", String::from_utf8_lossy(&output.stderr));
        answers
    }
}

/// What another program asks for: whoever writes to its input is told so at once, and what it leaves behind costs
/// nobody else.
#[test]
fn a_row_that_is_served_answers_for_itself_alone() {
    let requests = |batch_size| {
        let subject = label(batch_size);
        let time =
            json!({ "do": "time", "subject": subject, "n": 8192, "cache": "hot", "calls": 9, "samples": 2 });
        [json!({ "do": "verify", "subject": subject, "n": 8192 }), time]
    };
    let all = |sizes: &[u32]| -> Vec<Value> {
        let load = json!({ "do": "load", "n": 8192, "seed": 1 });
        std::iter::once(load).chain(sizes.iter().flat_map(|size| requests(*size))).collect()
    };
    let Some(bench) = Bench::with(&LATE) else { return };
    let answers = bench.serve(&[], &all(&[7, 1, 7, 4]));
    for (place, answer) in answers.iter().enumerate().skip(1) {
        // The second request of each is for times.
        if matches!(place, 2 | 6) {
            assert_eq!(answer["status"], "wrong_result", "{place}: {answer}");
            assert!(answer["error"].as_str().unwrap().starts_with("it writes to its input"), "{answer}");
        } else if place % 2 == 1 {
            assert_eq!(answer["mismatches"], 0, "{place}: {answer}");
        } else {
            assert_eq!(answer["samples_ns"].as_array().unwrap().len(), 2, "{place}: {answer}");
        }
    }
    // Batch size 3 takes no tickets in its timed calls.
    let Some(bench) = Bench::new() else { return };
    let answers = bench.serve(&[], &all(&[3, 1]));
    assert_eq!(answers[3]["mismatches"], 0, "{answers:?}");
}

/// A reduction has one element, whatever its input has.
#[test]
fn reductions_are_measured_again() {
    let Some(bench) = Bench::with(&[]) else { return };
    let requests = [
        json!({ "do": "load", "n": 8192, "seed": 1 }),
        json!({ "do": "verify", "subject": label(4), "n": 8192 }),
    ];
    let answers = bench.serve(&["--mode", "reduce"], &requests);
    assert_eq!((&answers[1]["compared"], &answers[1]["mismatches"]), (&json!(257), &json!(0)), "{answers:?}");
}
