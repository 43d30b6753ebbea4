//! `scanbox verify` as a user runs it, on the replay device: what each fault becomes, what is printed, how it ends.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin_cmd;
use scanbox_testing::folder::copy_folder;
use serde_json::Value;
use tempfile::TempDir;

const SPACE: &str = r#"
name = "example"
sizes = "2^12..2^18"

[[block]]
family = ["chained-scan"]
batch_size = [1, 4]
vector_width = ["vec4"]
workgroup_size = [64, 256]
workgroups = "16..1024"
lookback = ["sequential", "parallel"]
block_scan = ["raking"]
"#;

const LABEL: &str = "b4.vec4.par.rake.wg256";

/// A folder with a script of the replay device and a space of 8 configs.
struct Bench {
    folder: TempDir,
}

/// What a run came to.
struct Ran {
    code: i32,
    out: String,
    err: String,
    script: String,
}

impl Bench {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("device.toml"), script).unwrap();
        fs::write(folder.path().join("space.toml"), SPACE).unwrap();
        Self { folder }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let script = format!("replay:{}", self.folder.path().join("device.toml").display());
        let output: Output = cargo_bin_cmd!("scanbox")
            .current_dir(self.folder.path())
            .env("SCANBOX_CACHE", self.folder.path().join("cache"))
            .env_remove("SCANBOX_KERNELS")
            .args(["verify", "--device", &script])
            .args(arguments)
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            script,
        }
    }

    fn space(&self, arguments: &[&str]) -> Ran {
        self.run(&[&["--space", "space.toml"], arguments].concat())
    }
}

impl Ran {
    #[track_caller]
    fn code(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn says(&self, part: &str) -> &Self {
        assert!(self.out.contains(part), "`{part}` is not in:\n{}\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn complains(&self, part: &str) -> &Self {
        assert!(self.err.contains(part), "`{part}` is not in:\n{}", self.err);
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

fn fault(kind: &str, more: &str) -> String {
    format!("[[fault]]\nkind = \"{kind}\"\n{more}\n")
}

#[test]
fn a_space_is_each_kernel_in_each_workgroup_size() {
    let ran = Bench::new("").space(&["--format", "json"]);
    let answer = ran.code(0).json();
    assert_eq!(answer["configs"], 8);
    assert_eq!(answer["configs_by_status"]["ok"], 8);
    assert_eq!(answer["cases"], answer["cases_planned"]);
    assert_eq!(answer["calls"].as_u64().unwrap(), 12 * answer["cases"].as_u64().unwrap());
    assert!(answer["elements"].as_u64().unwrap() > 1_000_000);
    assert_eq!(answer["end"], "Complete");
    ran.complains("8 configs");
}

#[test]
fn the_table_sums_up() {
    let bench = Bench::new("");
    let ran = bench.run(&[LABEL, "--sizes", "1,1000", "--inputs", "ones,spike"]);
    ran.code(0)
        .says("configs    1: 1 ok")
        .says("cases      4 of 4, 48 calls")
        .says("elements   36312 compared");
    // Two sizes, two inputs, five calls, four of many in a row, one between guards and two with late workgroups,
    // and the guard of 256 words each time.
    assert_eq!(36_312, 2 * 12 * (1 + 1000 + 2 * 256));
}

#[test]
fn one_config_and_filters() {
    let bench = Bench::new("");
    let configs = |arguments: &[&str]| bench.run(arguments).code(0).json()["configs"].as_u64().unwrap();
    let json = ["--format", "json", "--sizes", "1000", "--inputs", "ones", "--builds", "swept"];
    assert_eq!(configs(&[&[LABEL][..], &json].concat()), 1);
    assert_eq!(configs(&[&[LABEL, LABEL, "b1.vec2.seq.rake.wg64"][..], &json].concat()), 2);
    let space = ["--space", "space.toml", "--filter", "lookback=parallel,workgroup_size=64"];
    assert_eq!(configs(&[&space[..], &json].concat()), 2);
    // The thesis space without sizes and workgroup counts: 40 kernels in 6 workgroup sizes.
    assert_eq!(configs(&json), 240);
}

/// Labels of one config with other workgroup counts, as rows of a sweep have them, are that config at more sizes.
#[test]
fn labels_of_one_config_are_one() {
    let more = [&format!("{LABEL}.g16")[..], &format!("{LABEL}.g1024")];
    for labels in [&[LABEL, more[0]][..], &more, &[LABEL, more[0], more[1]]] {
        let answer = Bench::new("").run(&[labels, &["--format", "json"]].concat()).code(0).json();
        assert_eq!((&answer["configs"], &answer["configs_unfinished"]), (&1.into(), &0.into()), "{labels:?}");
        assert_eq!(answer["configs_by_status"]["ok"], 1, "{labels:?}");
        assert_eq!(answer["cases"], answer["cases_planned"], "{labels:?}");
    }
}

/// Calls of a case, of one tile and of many: five of the build that sweeps time and three of a row of it, guards; late
/// workgroups in both orders of subgroups; and, of what finds n in memory, two, one beyond the maximum, and four across
/// the end of the count.
#[test]
fn builds_that_are_not_asked_for_are_left_out() {
    let bench = Bench::new("");
    let block = "b1.vec4.par.rake.block.wg64";
    for (label, builds, calls, circumstances) in [
        (LABEL, "all", 20 + 4, "8"),
        (LABEL, "swept", 20, "7"),
        (block, "all", 20 + 4 + 4 + 1 + 4, "12"),
        (block, "swept", 20, "7"),
    ] {
        let cases = [label, "--sizes", "1,20000", "--inputs", "ones", "--builds", builds];
        let ran = bench.run(&[&cases[..], &["--format", "json"]].concat());
        let answer = ran.code(0).json();
        assert_eq!((&answer["calls"], &answer["builds"]), (&calls.into(), &builds.into()), "{label}");
        ran.complains(&format!("2 cases in {circumstances} circumstances each"));
        let table = bench.run(&cases);
        assert_eq!(table.code(0).out.contains("builds     those that sweeps time, alone"), builds == "swept");
    }
    let bench = Bench::new(&fault("wrong_element", ""));
    bench.run(&[LABEL, "--builds", "swept"]).code(5).says(" --builds swept --timeout 60s");
    bench.run(&[LABEL, "--builds", "swept", "--blocking", "2"]).code(2).complains("--blocking");
    bench.run(&[LABEL, "--builds", "some"]).code(2).complains("[possible values: all, swept]");
    // A build with simulated blocking has none beside it.
    let blocked = bench.run(&["b4.vec4.fallback.sub.wg256", "--blocking", "2", "--format", "json"]);
    assert!(blocked.json().get("builds").is_none(), "{}", blocked.out);
}

#[test]
fn a_wrong_element_is_said_and_can_be_repeated() {
    let bench = Bench::new(&fault("wrong_last", &format!("config = \"{LABEL}\"\nn = 4097")));
    let ran = bench.space(&["--seed", "7"]);
    ran.code(5)
        .says("wrong_result: b4.vec4.par.rake.wg256 at 4097 elements, input random, on the first call")
        .says("1 of 4097 elements are wrong; the first is element 4096: expected 1, got 2")
        .says("configs    8: 7 ok, 1 wrong_result")
        .complains("wrong_result: b4.vec4.par.rake.wg256 at 4097 elements");
    let repeat = format!(
        "scanbox verify --device {} {LABEL} --sizes 4097 --inputs random --seed 7 --timeout 60s",
        ran.script
    );
    ran.says("  repeat: ").says(&format!("{repeat}\n"));
    let words: Vec<&str> = repeat.split(' ').skip(4).collect();
    bench.run(&words).code(5).says("configs    1: 1 wrong_result").says("cases      0 of 1, 1 calls");
}

#[test]
fn nobody_has_to_read_the_answer() {
    let bench = Bench::new(&fault("wrong_last", ""));
    for format in ["table", "json"] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("scanbox"));
        command.args([
            "verify",
            LABEL,
            "--device",
            "replay:device.toml",
            "--sizes",
            "1000",
            "--format",
            format,
        ]);
        command.current_dir(bench.folder.path()).env("SCANBOX_CACHE", bench.folder.path().join("cache"));
        let mut child =
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(5), "{format}");
    }
}

#[test]
fn what_is_wrong_in_many_calls_in_a_row_is_found() {
    for kind in ["wrong_timed", "wrong_second", "wrong_late", "wrong_stale", "keeps_answer"] {
        let bench = Bench::new(&fault(kind, &format!("config = \"{LABEL}\"")));
        bench
            .space(&["--inputs", "random"])
            .code(5)
            .says("input random, in many calls in a row")
            .says("right when called once, wrong in call ")
            .says("configs    8: 7 ok, 1 wrong_result");
    }
    Bench::new(&fault("wrong_cold", "")).space(&["--inputs", "random"]).code(0);
}

#[test]
fn every_failing_config_is_counted_once() {
    let bench = Bench::new(&fault("wrong_element", "config = \"b4\""));
    let answer = bench.space(&["--format", "json"]).code(5).json();
    assert_eq!(answer["configs_by_status"]["wrong_result"], 4);
    assert_eq!(answer["configs_by_status"]["ok"], 4);
    let failures = answer["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 4);
    assert_eq!(failures[0]["first_mismatch"], 0);
    assert_eq!(failures[0]["expected"], 1);
    assert_eq!(failures[0]["got"], 2);
    assert_eq!(failures[0]["circumstance"], "first");
    // Every config that did not fail did everything.
    assert!(answer["cases"].as_u64().unwrap() > answer["cases_planned"].as_u64().unwrap() / 2);
}

#[test]
fn fail_fast_stops_at_the_first() {
    let bench = Bench::new(&fault("wrong_element", ""));
    let answer = bench.space(&["--fail-fast", "--format", "json"]).code(5).json();
    assert_eq!(answer["failures"].as_array().unwrap().len(), 1);
    assert_eq!(answer["configs_unfinished"], 7);
}

#[test]
fn a_write_behind_the_output_is_a_wrong_result() {
    let bench = Bench::new(&fault("write_behind", ""));
    let ran = bench.run(&[LABEL, "--sizes", "1000"]);
    ran.code(5).says("1 words behind the output were written; the first 0 past its end");
}

#[test]
fn a_hang_is_a_timeout_of_its_config() {
    let bench = Bench::new(&fault("hang", &format!("config = \"{LABEL}\"")));
    let start = Instant::now();
    let ran = bench.space(&["--timeout", "1s"]);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    ran.code(1)
        .says("timeout: b4.vec4.par.rake.wg256 at ")
        .says("on the first call")
        .says("did not finish within 1 s (--timeout sets the limit); its worker was killed")
        .says("configs    8: 7 ok, 1 timeout")
        .says("workers    1 replaced");
}

#[test]
fn a_crash_is_a_runtime_error_of_its_config() {
    let ran = Bench::new(&fault("crash", &format!("config = \"{LABEL}\""))).space(&[]);
    ran.code(1)
        .says("runtime_error: b4.vec4.par.rake.wg256 at ")
        .says("its worker process ended: killed by signal 6")
        .says("configs    8: 7 ok, 1 runtime_error");
}

/// A kernel may break what its worker needs for the next input, and be right itself.
#[test]
fn a_crash_between_configs_is_no_success() {
    // Each worker loads one input; on the next one it ends.
    let ran = Bench::new(&fault("crash", "config = \"load\"\nafter = 1")).space(&[]);
    ran.code(1)
        .complains("the worker ended (killed by signal 6) while")
        .complains(" elements, behind which it was, may be to blame; another worker goes on")
        .complains("workers crashed while no config ran")
        .says("configs    8: 8 ok")
        .says("of them crashed between configs");
    // On its first one none comes to a config.
    let ran = Bench::new(&fault("crash", "config = \"load\"")).space(&[]);
    ran.code(1).complains("workers in a row came to nothing").says("no worker could go on");
}

#[test]
fn other_failures_keep_their_status() {
    for (kind, status) in [
        ("out_of_memory", "out_of_memory"),
        ("device_lost", "device_lost"),
        ("pipeline_error", "pipeline_error"),
    ] {
        let bench = Bench::new(&fault(kind, &format!("config = \"{LABEL}\"")));
        let answer = bench.space(&["--format", "json"]).code(1).json();
        assert_eq!(answer["configs_by_status"][status], 1, "{kind}");
        assert_eq!(answer["configs_by_status"]["ok"], 7, "{kind}");
        let replaced = if kind == "device_lost" { 1 } else { 0 };
        assert_eq!(answer["workers_replaced"], replaced, "{kind}");
    }
}

#[test]
fn a_wrong_result_outranks_a_budget() {
    let bench = Bench::new("wall_ms_per_config = 5");
    let start = Instant::now();
    bench.space(&["--budget", "1s"]).code(4).says("the budget is spent").says("not finished");
    assert!(start.elapsed() < Duration::from_secs(20));
    // Half of the configs are wrong at once, and the others take longer than there is time, also on a busy machine.
    let wrong = fault("wrong_last", "config = \"b4.\"");
    let bench = Bench::new(&format!("wall_ms_per_config = 3\n{wrong}"));
    bench.space(&["--budget", "0s"]).code(4);
    // What is compiled is kept: with that, a busy machine would be set up for longer.
    bench.space(&["--sizes", "1000", "--inputs", "ones"]).code(5);
    bench.space(&["--budget", "6s"]).code(5).says("the budget is spent").says(" wrong_result");
}

#[test]
fn what_the_rules_leave_out_is_said() {
    let bench = Bench::new("int64_atomics = false");
    let ran = bench.run(&[
        "b1.vec4.seq.rake.packed.wg64",
        "--sizes",
        "1000,2^20",
        "--inputs",
        "ramp,maximum,random",
    ]);
    ran.code(0)
        .says("left out   3 cases by rule packed-total, such as b1.vec4.seq.rake.packed.wg64 at 2^20: ")
        .says("cases      3 of 3, 36 calls");
    let ran = bench.run(&["b1.vec4.seq.rake.word64.wg64"]);
    ran.code(2)
        .complains("by rule word64-needs-int64-atomics, such as b1.vec4.seq.rake.word64.wg64 at ")
        .complains("the device has no 64-bit atomics");
}

#[test]
fn senseless_requests_are_refused() {
    let bench = Bench::new("");
    bench.run(&[LABEL, "--sizes", "0"]).code(2).complains("a scan has at least one element");
    bench.run(&["b4.vec5.par"]).code(2).complains("is not a label");
    bench.run(&[LABEL, "--inputs", "zeros"]).code(2).complains("random, real, ones, ramp, maximum, spike");
    bench.run(&[LABEL, "--space", "thesis"]).code(2).complains("cannot be used with");
    bench.space(&["--filter", "batch_size=3"]).code(2).complains("the filter accepts none");
    bench.run(&["--space", "nothing"]).code(2).complains("there is no space `nothing`");
    bench.run(&[LABEL, "--timeout", "0s"]).code(2).complains("a limit is above 0");
}

#[test]
fn a_config_of_a_sweep_is_taken_as_it_stands_there() {
    let bench = Bench::new(&fault("wrong_last", "n = 4194304"));
    let ran = bench.run(&["b4.vec4.par.rake.wg256.g1024"]);
    ran.code(5).says("wrong_result: b4.vec4.par.rake.wg256 at 4194304 elements");
}

/// A mutation of a kernel stage, verified on the first real device.
#[track_caller]
fn check_mutation(stage: &str, good: &str, bad: &str, expected_code: i32) {
    if std::env::var_os("SCANBOX_TEST_DEVICE").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let kernels = folder.path().join("kernels");
    copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/glsl"), &kernels);
    let path = kernels.join("stages").join(stage);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(good), "{stage} has no `{good}`");
    fs::write(&path, text.replace(good, bad)).unwrap();
    let output = cargo_bin_cmd!("scanbox")
        .args(["verify", "--device", "0", "b2.vec2.par.rake.packed.wg32", "--timeout", "20s", "--kernels"])
        .arg(&kernels)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(expected_code), "{stage}, `{bad}`:\n{out}\n{err}");
    if expected_code == 5 {
        assert!(out.contains("wrong_result: b2.vec2.par.rake.packed.wg32 at "), "{out}");
        assert!(out.contains(&format!("scanbox verify --kernels {} ", kernels.display())), "{out}");
    }
}

#[test]
fn broken_kernels_are_found() {
    let check = check_mutation;
    check("subgroup/operator.glsl", "(earlier) + (later)", "(earlier) + (later)", 0);
    check("subgroup/operator.glsl", "(earlier) + (later)", "(earlier) | (later)", 5);
    // The last lane of a window is not added, one more tile is, the second window begins too late.
    check("lookback/window.glsl", "lane + 1u >= last_inclusive", "lane >= last_inclusive", 5);
    check(
        "lookback/window.glsl",
        "window_end + lane >= SUBGROUP_SIZE",
        "window_end + lane > SUBGROUP_SIZE",
        5,
    );
    // Elements behind the end are stored, the last one is not.
    check("tile/load_store.glsl", "LANES + i < left", "LANES + i <= left", 5);
    check("tile/load_store.glsl", "LANES + i < left", "LANES + i + 1u < left", 5);
    // Tickets of an earlier call.
    check("tile/tile_order.glsl", "- params.ticket_base", "- params.ticket_base * 0u - 1u", 5);
}

#[test]
fn deterministic_kernels_repeat_their_bits() {
    let other_bits = fault("other_bits", "config = \"b1.vec4.chain\"\nn = 1000");
    let bench = Bench::new(&other_bits);
    let sums = |config: &str, more: &[&str]| {
        bench.run(&[&[config, "--type", "f32", "--sizes", "1000,5000"], more].concat())
    };
    // Four calls after the first, of each size: on reals alone, where alone results may differ.
    sums("b2.vec4.chain.rake.wg64", &[]).code(0).says("same bits  8 calls of deterministic kernels");
    let ran = sums("b2.vec4.chain.rake.wg64", &["--format", "json"]);
    assert_eq!(ran.code(0).json()["repeats"], 8);
    // A kernel that is not deterministic may do as it likes.
    let ran = sums("b2.vec4.par.rake.wg64", &["--format", "json"]);
    assert_eq!(ran.code(0).json()["repeats"], 0);
    assert!(!sums("b2.vec4.par.rake.wg64", &[]).out.contains("same bits"));
    let ran = sums("b1.vec4.chain.rake.wg64", &["--inputs", "real"]);
    ran.code(5)
        .says(
            "wrong_result: b1.vec4.chain.rake.wg64 at 1000 elements, input real, on the second call in a row",
        )
        .says("1 words of 1000 elements differ from those of the first call, and the kernel is deterministic")
        .says("the first is element 0: ")
        .says("scanbox verify --device");
    sums("b1.vec4.chain.rake.wg64", &["--inputs", "random"]).code(0);
    // The filter says which they are.
    let filter = |words: &str| bench.space(&["--filter", words, "--inputs", "ones"]);
    filter("deterministic=no").code(0).says("configs    8: 8 ok");
    filter("deterministic=yes").code(2).complains("the filter accepts none");
    filter("deterministic=maybe")
        .code(2)
        .complains("`maybe` is not a value of deterministic; it is one of yes, no");
}

/// Lines of flags and configs, each of which is a verification; of operators of files too.
#[test]
fn the_list_of_pairs_is_what_to_verify() {
    let bench = Bench::new("");
    // Their fields have different types: uint and float.
    let files = ["affine", "affine-f32", "argmax", "text-position"];
    let files =
        files.map(|name| format!("{}/../../kernels/operators/{name}.glsl", env!("CARGO_MANIFEST_DIR")));
    let list = [&["--list-pairs"], &files.each_ref().map(String::as_str)[..]].concat();
    let listed = bench.space(&list);
    listed.code(0);
    let lines: Vec<Vec<&str>> = listed.out.lines().map(|line| line.split(' ').collect()).collect();
    let of_file = |line: &&Vec<&str>| line.contains(&"--operator");
    let (own, others): (Vec<_>, Vec<_>) = lines.iter().partition(|line| of_file(line));
    assert!(own.len() >= 8 && others.len() > 30, "{} and {} problems", own.len(), others.len());
    for line in &lines {
        assert!(line.iter().any(|word| word.contains(".wg")), "{line:?}");
    }
    for word in ["--op", "--type", "f64", "reduce", "exclusive", "--in-place", "'--init=3'"] {
        assert!(others.iter().any(|line| line.contains(&word)), "{word} is in no line");
    }
    let begin = |line: &&Vec<&str>| line.iter().any(|word| word.contains("--init="));
    let begun: Vec<_> = own.iter().copied().filter(begin).collect();
    let of_floats = |word: &&str| word.ends_with("affine-f32.glsl") || word.ends_with("argmax.glsl");
    assert!(begun.iter().any(|line| line.iter().any(of_floats)), "{begun:?}");
    for line in begun.into_iter().chain([own[0], others[0]]) {
        // As a shell takes its quotes away.
        let words: Vec<&str> = line.iter().map(|word| word.trim_matches('\'')).collect();
        bench.run(&[&words[..], &["--sizes", "100"]].concat()).code(0);
    }
    assert_eq!(bench.space(&list).out, listed.out);
    bench.space(&["--list-pairs", "nowhere.glsl"]).code(1).complains("nowhere.glsl");
    bench.space(&["--list-pairs", "--filter", "vector_width=scalar"]).code(2).complains("no config is left");
    for unused in [["--sizes", "100"], ["--seed", "2"], ["--op", "max"], ["--mode", "reduce"]] {
        bench.space(&[&["--list-pairs"], &unused[..]].concat()).code(2).complains("cannot be used with");
    }
}
