//! What administrators run: scripts for Slurm, and uses of the same contract elsewhere that are documented and not
//! tried. Their syntax is checked here, and, with a Slurm that is played, what `scripts/slurm/attempt` makes of exit
//! codes.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::sweeps::wait_until;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn slurm() -> PathBuf {
    root().join("scripts/slurm")
}

/// What a shell, or another program, says of a text: nothing, where it is right.
fn parses(program: &str, args: &[&str], text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text");
    fs::write(&file, text).unwrap();
    let output = Command::new(program).args(args).arg(&file).output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn every_job_can_be_signalled_requeued_and_is_limited() {
    let mut found = 0;
    for entry in fs::read_dir(slurm()).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|ending| ending == "txt") {
            continue;
        }
        let name = path.display();
        assert!(text.starts_with("#!/usr/bin/env bash\n"), "{name}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0o111, "{name} can be run");
        parses("bash", &["-n"], &text).unwrap_or_else(|error| panic!("{name}: {error}"));
        if path.extension().is_none_or(|ending| ending != "sbatch") {
            continue;
        }
        found += 1;
        // Slurm reads them up to the first command.
        let head = text.lines().take_while(|line| line.is_empty() || line.starts_with('#'));
        let directives: Vec<&str> = head.filter_map(|line| line.strip_prefix("#SBATCH ")).collect();
        assert_eq!(
            directives.len(),
            text.matches("#SBATCH").count(),
            "{name}: behind a command they do nothing"
        );
        for option in [
            "--job-name=",
            "--nodes=1",
            "--ntasks=1",
            "--cpus-per-task=",
            "--mem=",
            "--gres=gpu:",
            "--time=",
            "--requeue",
            "--signal=B:TERM@",
            "--open-mode=append",
            "--output=",
        ] {
            assert!(directives.iter().any(|line| line.starts_with(option)), "{name}: {option}");
        }
        // Whoever appends an option writes `--name` or `--name=value`, each on a line of its own.
        assert!(directives.iter().all(|line| line.starts_with("--") && !line.contains(' ')), "{name}");
        for said in ["SCANBOX", "logs", "sbatch "] {
            assert!(text.contains(said), "{name}: {said}");
        }
    }
    assert_eq!(found, 3);
}

/// One per line, and every one is a problem.
#[test]
fn the_matrix_has_every_problem_once() {
    let list = fs::read_to_string(slurm().join("problems.txt")).unwrap();
    let lines: std::collections::BTreeSet<&str> = list.lines().collect();
    assert_eq!((lines.len(), list.lines().count()), (150, 150));
    let of_enums = lines.iter().filter(|line| line.starts_with("--type ")).count();
    let operators = lines.iter().filter_map(|line| line.strip_prefix("--operator ")?.split(' ').next());
    assert!(operators.clone().all(|file| root().join(file).is_file()));
    assert_eq!((of_enums, operators.count()), (126, 24));
}

/// A Slurm of shell scripts, which write down what they are asked.
struct PlayedSlurm {
    folder: tempfile::TempDir,
}

impl PlayedSlurm {
    fn new(state: &str) -> Self {
        let played = Self { folder: tempfile::tempdir().unwrap() };
        let log = played.path("log").display().to_string();
        played.program(
            "scontrol",
            &format!(
                "job='JobState={state} ExcNodeList=node7'\n\
             [ \"$1 $2\" != 'show job' ] || exec echo \"$job\"\necho \"$*\" >> '{log}'"
            ),
        );
        played.program("squeue", "echo 2026-11-24T05:00:00");
        played.program("sleep", "exit 0");
        played
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn attempt(&self, args: &[&str], restarts: &str) -> Command {
        let mut command = Command::new(slurm().join("attempt"));
        let path = format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap());
        command.args(args).env("PATH", path).env("SLURM_JOB_ID", "9").env("SLURM_RESTART_COUNT", restarts);
        command
            .env("SLURM_ARRAY_JOB_ID", "5")
            .env("SLURM_ARRAY_TASK_ID", "3")
            .env("SLURMD_NODENAME", "node1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What it was asked.
    fn asked(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default().replace('\n', ";")
    }
}

#[test]
fn an_attempt_requeues_what_others_continue() {
    let requeue = "requeue 5_3;";
    let elsewhere = "requeuehold 5_3;update JobId=5_3 ExcNodeList=node7,node1;release 5_3;";
    let check = |code: &str, restarts: &str, state: &str, once: bool, asked: &str| {
        let slurm = PlayedSlurm::new(state);
        slurm.program("task", &format!("echo \"end $SLURM_JOB_END_TIME\"; {code}"));
        let args = if once { &["--once", "task"][..] } else { &["task"] };
        let output = slurm.attempt(args, restarts).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(slurm.asked(), asked, "{code} {restarts} {state}: {said}");
        assert!(said.contains("task 5_3, attempt") && said.contains("end 17"), "{said}");
        let number: i32 = code.rsplit(' ').next().unwrap().parse().unwrap_or(137);
        assert_eq!(output.status.code(), Some(number), "{said}");
        assert_eq!(said.contains("SCANBOX_ATTEMPTS"), restarts == "19", "{said}");
    };
    for done in ["exit 0", "exit 1", "exit 2", "exit 5", "exit 7"] {
        check(done, "0", "RUNNING", false, "");
    }
    for goes_on in ["exit 4", "exit 129", "exit 130", "exit 138", "exit 143", "exit 152", "kill -9 $$"] {
        check(goes_on, "0", "RUNNING", false, requeue);
        check(goes_on, "18", "RUNNING", false, requeue);
        check(goes_on, "0", "CANCELLED", false, "");
        check(goes_on, "0", "PREEMPTED", false, "");
        check(goes_on, "0", "RUNNING", true, "");
    }
    check("exit 4", "19", "RUNNING", false, "");
    check("exit 3", "0", "RUNNING", false, elsewhere);
    check("exit 3", "0", "CANCELLED", false, "");
}

/// The signal before the limit reaches the command and what that has started, once or twice, and its code counts.
#[test]
fn an_attempt_passes_signals_on() {
    let slurm = PlayedSlurm::new("RUNNING");
    let ready = slurm.path("ready");
    slurm.program(
        "task",
        &format!(
            "trap 'echo told; exit 4' TERM\necho > '{}'\nwhile :; do /bin/sleep 0.1; done",
            ready.display()
        ),
    );
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::USR1, Signal::XCPU] {
        let child = slurm.attempt(&["task"], "0").spawn().unwrap();
        wait_until("the task", || ready.exists());
        for _ in 0..2 {
            crate::sweeps::signal(child.id(), signal);
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.code() == Some(4) && said.contains("told"), "{signal:?}: {said}");
        assert_eq!(slurm.asked(), "requeue 5_3;");
        fs::remove_file(slurm.path("log")).unwrap();
        fs::remove_file(&ready).unwrap();
    }
}

/// A signal that comes while the script asks Slurm for the end of the job: nothing begins, and the task goes on later.
#[test]
fn an_attempt_that_is_signalled_before_it_begins_is_requeued() {
    let slurm = PlayedSlurm::new("RUNNING");
    let [asking, answer] = ["asking", "answer"].map(|name| slurm.path(name));
    slurm.program(
        "squeue",
        &format!(
            "echo > '{}'\nwhile [ ! -e '{}' ]; do /bin/sleep 0.05; done\necho 2026-11-24T05:00:00",
            asking.display(),
            answer.display()
        ),
    );
    slurm.program("task", "echo it runs");
    let child = slurm.attempt(&["task"], "0").env_remove("SLURM_JOB_END_TIME").spawn().unwrap();
    wait_until("squeue", || asking.exists());
    crate::sweeps::signal(child.id(), Signal::TERM);
    fs::write(&answer, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(4) && !said.contains("it runs"), "{said}");
    assert_eq!(slurm.asked(), "requeue 5_3;");
}

#[test]
fn an_attempt_outside_of_slurm_says_how_to_use_it() {
    let mut command = Command::new(slurm().join("attempt"));
    let output = command.arg("true").env_remove("SLURM_JOB_ID").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("scripts/slurm/attempt COMMAND..."));
}

/// The blocks of docs/fleet.md, by their language.
fn blocks(language: &str) -> Vec<String> {
    let document = fs::read_to_string(root().join("docs/fleet.md")).unwrap();
    let begin = format!("```{language}\n");
    document.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn documented_uses_parse() {
    let shell = blocks("sh");
    assert!(shell.len() >= 4);
    for block in shell {
        parses("bash", &["-n"], &block).unwrap_or_else(|error| panic!("{block}\n{error}"));
    }
    // The contract is in each of them.
    for (language, count) in [("yaml", 2), ("dockerfile", 1)] {
        let found = blocks(language);
        assert_eq!(found.len(), count, "{language}");
        assert!(found.iter().all(|block| language == "dockerfile" || block.contains("--shard")));
    }
    for block in blocks("dockerfile") {
        let known = ["FROM", "RUN", "COPY", "WORKDIR", "ENV", "ENTRYPOINT", "#"];
        let mut continued = false;
        for line in block.lines().filter(|line| !line.is_empty()) {
            let word = line.split(' ').next().unwrap();
            assert!(continued || known.contains(&word), "{line}");
            continued = line.ends_with('\\');
        }
        assert!(!continued);
    }
    let has_yaml = Command::new("python3").args(["-c", "import yaml"]).output();
    if !has_yaml.is_ok_and(|output| output.status.success()) {
        return;
    }
    for block in blocks("yaml") {
        parses("python3", &["-c", "import sys, yaml; assert yaml.safe_load(open(sys.argv[1]))"], &block)
            .unwrap_or_else(|error| panic!("{block}\n{error}"));
    }
}
