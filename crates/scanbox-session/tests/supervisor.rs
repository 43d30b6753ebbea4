//! The supervisor against workers that are shell scripts: each says and does what a row of a test wants.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use scanbox_kernels::cases::Builds;
use scanbox_kernels::catalog::Variant;
use scanbox_kernels::plan::CeilingShape;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};
use scanbox_runner::session::End;
use scanbox_runner::subject::Subject;
use scanbox_runner::verify::VerifyJob;
use scanbox_session::failure::{Cause, SessionError};
use scanbox_session::process::{RunLimits, WorkerCommand};
use scanbox_session::protocol::{ConfigResult, MARK, Message, SubjectKey, Work};
use scanbox_session::supervise::{Death, Supervised, Supervision, Task};
use scanbox_session::tools::Tools;
use scanbox_testing::program::write_program;

/// What a script does next.
enum Step {
    Say(Message),
    /// Waits for an order.
    Hear,
    /// A line of shell.
    Do(&'static str),
}

use Step::{Do, Hear, Say};

fn ready() -> Step {
    let profile = Box::new(Replay::new(Script::default()).profile().as_ref().clone());
    Say(Message::Ready { profile, unit: 0 })
}

/// A config that is announced, and waits for the word.
fn started(config: &str) -> [Step; 2] {
    let subject = Subject::Ceiling { shape: CeilingShape::new(1, 256), label: config.to_owned() };
    let key = SubjectKey { subject, n: 1, input: None };
    [Say(Message::Started { key }), Hear]
}

fn finished(config: &str) -> Step {
    Say(Message::Finished(ConfigResult::Row(config.to_owned())))
}

fn ended() -> Step {
    Say(Message::Ended { end: End::Complete, seconds: vec![("device_busy".to_owned(), 1.5)] })
}

/// What a worker does from its work to its end.
fn worker(steps: impl IntoIterator<Item = Step>) -> Vec<Step> {
    [ready(), Hear].into_iter().chain(steps).collect()
}

/// Configs that are run without any trouble, and the end.
fn well(configs: &[&str]) -> Vec<Step> {
    let each = |config: &&str| started(config).into_iter().chain([finished(config)]);
    worker(configs.iter().flat_map(each).chain([ended()]))
}

/// A script that is another worker each time it is started.
fn script(workers: &[Vec<Step>]) -> String {
    let step = |step: &Step| match step {
        Say(message) => {
            let text = serde_json::to_string(message).unwrap().replace('\'', r"'\''");
            format!("printf '%s\\n' '{MARK}{text}'")
        }
        Hear => "read -r order || exit 1".to_owned(),
        Do(shell) => (*shell).to_owned(),
    };
    let case = |(index, steps): (usize, &Vec<Step>)| {
        let steps: Vec<String> = steps.iter().map(step).collect();
        format!("{})\n{}\n;;\n", index + 1, steps.join("\n"))
    };
    let cases: String = workers.iter().enumerate().map(case).collect();
    let count = "count=$(($(cat \"$0.count\" 2>/dev/null || echo 0) + 1))\necho $count >\"$0.count\"\n";
    format!("#!/bin/sh\n{count}case $count in\n{cases}esac\n")
}

/// Takes down what it is told.
#[derive(Default)]
struct Log {
    left: BTreeSet<String>,
    events: Vec<String>,
    fail_fast: bool,
}

impl Log {
    fn note(&mut self, event: String) -> anyhow::Result<()> {
        self.events.push(event);
        Ok(())
    }
}

impl Task for Log {
    fn work(&self, one_by_one: bool) -> Work {
        Work::Verify(VerifyJob {
            problem: Problem::default(),
            items: Vec::new(),
            variant: Variant::default(),
            builds: Builds::default(),
            seed: 1,
            one_by_one,
        })
    }

    fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    fn has_enough(&self) -> bool {
        self.fail_fast && self.events.iter().any(|event| event.starts_with("died"))
    }

    fn begin(&mut self, _: &DeviceProfile) -> anyhow::Result<()> {
        self.note("begin".to_owned())
    }

    fn phase(&mut self, _: &str) {}

    fn remark(&mut self, text: &str) {
        self.events.push(format!("remark {text}"));
    }

    fn intend(&mut self, key: &SubjectKey) -> anyhow::Result<()> {
        self.note(format!("intend {}", key.subject))
    }

    fn finish(&mut self, product: ConfigResult) -> anyhow::Result<()> {
        let ConfigResult::Row(config) = product else { panic!("only rows are made here") };
        self.left.remove(&config);
        self.note(format!("row {config}"))
    }

    fn worker_ended(&mut self, death: &Death, _: &DeviceProfile) -> anyhow::Result<()> {
        let outcome = death.outcome.as_ref().map(|(status, _)| status.word());
        if outcome.is_some() {
            self.left.remove(&death.key.subject.label());
        }
        self.note(format!(
            "died of {}: {}: {}",
            death.key.subject,
            death.how,
            outcome.unwrap_or("no outcome")
        ))
    }

    fn dropped(&mut self, key: &SubjectKey) -> anyhow::Result<()> {
        self.note(format!("dropped {}", key.subject))
    }
}

/// Lets these workers, one after the other, run configs `a` and `b`; what the task was told is `events`.
fn run(workers: &[Vec<Step>], log: &mut Log, stop: &AtomicBool) -> anyhow::Result<Supervised> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("worker.sh");
    write_program(&program, &script(workers));
    let mut command = WorkerCommand::new("0", None, &Tools::default());
    command.program = Some(program);
    let limits = RunLimits { stop, deadline: None };
    log.left = ["a", "b"].map(str::to_owned).into();
    let worker = command.start(&limits)?;
    Supervision { command, timeout: Duration::from_secs(3), limits }.run(worker, log)
}

#[track_caller]
fn check(workers: &[Vec<Step>], replaced: u32, events: &[&str]) {
    let mut log = Log::default();
    let supervised = run(workers, &mut log, &AtomicBool::new(false)).unwrap();
    assert_eq!(log.events, events);
    assert_eq!((supervised.end, supervised.replaced), (End::Complete, replaced));
    assert_eq!(supervised.finished, 2);
}

#[test]
fn whatever_happens_to_a_worker_the_next_one_goes_on() {
    check(&[well(&["a", "b"])], 0, &["begin", "intend a", "row a", "intend b", "row b"]);
    // A driver may print between messages, and a message may be cut off.
    let noise = [Do("echo a layer talks"), Do("printf 'scanbox:{\"Fin\\n'")];
    let chatty = worker(noise.into_iter().chain(well(&["a", "b"]).into_iter().skip(2)));
    check(&[chatty], 0, &["begin", "intend a", "row a", "intend b", "row b"]);
    let next = ["begin", "intend b", "row b"];
    let after =
        |first: &[&'static str]| -> Vec<&'static str> { first.iter().chain(&next).copied().collect() };
    let dies = |how| worker(started("a").into_iter().chain([Do(how)]));
    let died = ["begin", "intend a", "died of a: exit code 3: runtime_error"];
    check(&[dies("exit 3"), well(&["b"])], 1, &after(&died));
    let died = ["begin", "intend a", "died of a: killed by signal 6: runtime_error"];
    check(&[dies("kill -6 $$"), well(&["b"])], 1, &after(&died));
    let hangs = ["begin", "intend a", "died of a: timeout: timeout"];
    check(&[dies("exec sleep 60"), well(&["b"])], 1, &after(&hangs));
    // Nobody knows who killed it: its config is tried once more.
    let killed = ["begin", "intend a", "died of a: killed by signal 9: no outcome"];
    let both = ["begin", "intend a", "row a", "intend b", "row b"];
    let all: Vec<&str> = killed.iter().chain(&both).copied().collect();
    check(&[dies("kill -9 $$"), well(&["a", "b"])], 1, &all);
}

#[test]
fn what_fails_while_no_config_runs_is_held_against_none() {
    let broke = worker([Say(Message::Broke { reason: "the copy failed".to_owned() })]);
    let remark = "remark the copy failed; no config is to blame; another worker goes on in 1 s";
    let events = ["begin", remark, "begin", "intend a", "row a", "intend b", "row b"];
    check(&[broke, well(&["a", "b"])], 1, &events);
}

#[test]
fn a_run_that_has_enough_starts_no_other_worker() {
    let stop = AtomicBool::new(false);
    let mut log = Log { fail_fast: true, ..Log::default() };
    let dies = worker(started("a").into_iter().chain([Do("exit 3")]));
    let supervised = run(&[dies, well(&["b"])], &mut log, &stop).unwrap();
    assert_eq!((supervised.end, supervised.replaced), (End::Interrupted, 0));
    assert_eq!(log.events, ["begin", "intend a", "died of a: exit code 3: runtime_error"]);
}

#[test]
fn a_worker_without_a_device_says_what_is_to_blame() {
    let failed = vec![Say(Message::Failed { reason: "no such device".to_owned(), cause: Cause::NoDevice })];
    let error = run(&[failed], &mut Log::default(), &AtomicBool::new(false)).err().unwrap();
    assert_eq!((error.to_string().as_str(), Cause::of(&error)), ("no such device", Cause::NoDevice));
    let error = run(&[], &mut Log::default(), &AtomicBool::new(true)).err().unwrap();
    assert!(matches!(error.downcast_ref(), Some(SessionError::Stopped(End::Interrupted))), "{error}");
}
