//! What known issues do to commands, on the replay device: skipped, forced and expected, and what workers find in their
//! environment.

use std::fs;
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};
use tempfile::TempDir;

use crate::machines::{Machine, run};

const SPACE: &str = r#"
name = "example"
sizes = "2^12..2^14"

[[block]]
family = ["chained-scan"]
batch_size = [1]
vector_width = ["vec4"]
workgroup_size = [64]
workgroups = "16..device"
lookback = ["sequential", "parallel"]
block_scan = ["raking"]
"#;

/// A replay device that does what `script` says, and an issue of it with these actions.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new(script: &str, actions: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let issue = format!(
            "[[issue]]\nid = \"example\"\nmatch = {{ device = \"replay\" }}\nwhy = \"it is slow\"\nseen = \"2026\"\n{actions}\n"
        );
        for (name, text) in [("device.toml", script), ("space.toml", SPACE), ("issues.toml", &issue)] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder }
    }

    fn run(&self, command: &str, environment: &[(&str, &str)]) -> Output {
        cargo_bin_cmd!("scanbox")
            .current_dir(self.folder.path())
            .env_remove("SCANBOX_KERNELS")
            .env("SCANBOX_CACHE", "cache")
            .env("SCANBOX_KNOWN_ISSUES", "issues.toml")
            .envs(environment.iter().copied())
            .args([command, "--device", "replay:device.toml", "--space", "space.toml"])
            .output()
            .unwrap()
    }

    /// Sweeps; what was printed, and the rows.
    fn sweep(&self, code: i32) -> (String, Vec<Record>) {
        let output = self.run("sweep", &[]);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(code), "{text}");
        (text, csv_file::read(&self.folder.path().join("results/replay.example.csv")).unwrap().records)
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn skipped_configs_are_counted_by_the_issue_and_not_run() {
    let bench = Bench::new("", "skip = \"lookback=parallel\"");
    let space = text(&bench.run("space", &[]));
    assert!(space.contains(" 3  known-issue:example\n      for example: it is slow"), "{space}");
    let (_, rows) = bench.sweep(0);
    assert!(rows.len() == 3 && rows.iter().all(|row| row.config_id.contains(".seq.")), "{rows:#?}");
    // What was skipped is missing nowhere, whoever reads the file.
    let on_file = |arguments: &[&str]| {
        let mut command = cargo_bin_cmd!("scanbox");
        command.current_dir(bench.folder.path()).env("SCANBOX_KNOWN_ISSUES", "issues.toml").args(arguments);
        command.output().unwrap()
    };
    let analysis = text(&on_file(&["analyze", "results/replay.example.csv"]));
    assert!(analysis.contains("3 of 3 points"), "{analysis}");
    let merged = on_file(&["merge", "results/replay.example.csv", "-o", "merged.csv"]);
    assert_eq!(merged.status.code(), Some(0), "{}", text(&merged));
}

#[test]
fn a_forced_parameter_runs_and_the_label_keeps_auto() {
    let bench = Bench::new("", "force = { tile_state = \"packed\" }");
    let (_, rows) = bench.sweep(0);
    assert_eq!(rows.len(), 6);
    for row in rows {
        let ran = (row.parameters.tile_state.unwrap().to_string(), row.parameters.reset.unwrap().to_string());
        assert_eq!(ran, ("packed".to_owned(), "fill".to_owned()));
        assert!(!row.config_id.contains("packed") && row.input.contains("bounded"), "{row:#?}");
    }
}

#[test]
fn an_expected_failure_keeps_its_status_and_an_unexpected_pass_is_told() {
    let wrong = "[[fault]]\nkind = \"wrong_last\"\nconfig = \"b1.vec4.par.rake.wg64\"\nn = 4096";
    let bench = Bench::new(wrong, "expect = { status = [\"wrong_result\"], filter = \"lookback=parallel\" }");
    let (text, rows) = bench.sweep(5);
    let failed: Vec<&Record> = rows.iter().filter(|row| row.status != Status::Ok).collect();
    assert_eq!(failed.len(), 1, "{rows:#?}");
    assert_eq!(failed[0].status, Status::WrongResult);
    assert!(failed[0].reason.ends_with("; known issue example"), "{}", failed[0].reason);
    assert!(text.contains("known issue example: it is slow"), "{text}");
    assert!(text.contains("2 in spite of the known issue example"), "{text}");
}

#[test]
fn workers_get_the_environment_that_the_user_has_not_set() {
    let bench = Bench::new("", "environment = { SCANBOX_KERNELS = \"gone\" }");
    let output = bench.run("sweep", &[]);
    assert!(!output.status.success() && text(&output).contains("gone"), "{}", text(&output));
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/glsl");
    let output = bench.run("sweep", &[("SCANBOX_KERNELS", kernels)]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_wrong_file_of_issues_is_an_error_with_its_place() {
    let bench = Bench::new("", "skips = \"lookback=parallel\"");
    for command in ["space", "sweep"] {
        let output = bench.run(command, &[]);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains("issues.toml") && text.contains("line 6") && text.contains("`skips`"),
            "{text}"
        );
    }
}

#[test]
fn the_issues_of_the_software_device_are_remedied_and_none_has_gone_away() {
    let Some(lavapipe) = Machine::lavapipe() else { return };
    let folder = tempfile::tempdir().unwrap();
    let answer = run(folder.path(), lavapipe, &["sweep", "--space", "quick", "--sizes", "2^11..2^13"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    // Neither one that takes effect in spite of its remedy, nor one that is passed.
    assert!(!(answer.out + &answer.err).contains("known issue"));
}
