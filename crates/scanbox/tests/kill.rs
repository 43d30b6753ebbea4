//! Kill -9 at random moments: of the supervisor, of its worker, of both. Whatever is left is completed, and nothing
//! goes on in the background.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "figures for whoever asks for them")]

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::sweeps::{
    Ended, Place, Rows, all_ok, assert_soon, children, is_alive, signal, slow, wait, wait_until,
};
use rustix::process::Signal;

/// Numbers that look random and are the same everywhere (Knuth's MMIX generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Supervisor,
    Worker,
    Both,
}

/// What the kills of a test did.
#[derive(Debug, Default)]
struct Tally {
    kills: u32,
    too_late: u32,
    torn: u32,
}

/// A device, and how long a sweep on it takes.
struct Field<'a> {
    start: &'a dyn Fn(&Place) -> Child,
    expected: &'a Rows,
    moments: u64,
    place: &'a dyn Fn() -> Place,
}

impl Field<'_> {
    /// Kills sweeps, each at its own moment, and resumes them to their end.
    fn check(&self, kills: u32, numbers: &mut Numbers) -> Tally {
        let mut tally = Tally::default();
        while tally.kills < kills {
            let victim = [Victim::Supervisor, Victim::Worker, Victim::Both][numbers.below(3) as usize];
            let moment = Duration::from_micros(numbers.below(self.moments * 1000));
            let place = (self.place)();
            let what = format!("{victim:?} killed after {moment:?}");
            self.kill(&place, victim, moment, &what, &mut tally);
            let ended = wait((self.start)(&place));
            assert_eq!(ended.code, Some(0), "{what}: {}{}", ended.stdout, ended.stderr);
            tally.torn += u32::from(ended.stderr.contains("was cut off"));
            assert_eq!(&place.rows(), self.expected, "{what}");
            let metadata = place.metadata();
            assert_eq!(metadata.counts.values().sum::<u64>(), self.expected.len() as u64, "{what}");
        }
        tally
    }

    fn kill(&self, place: &Place, victim: Victim, moment: Duration, what: &str, tally: &mut Tally) {
        let child = (self.start)(place);
        let pid = child.id();
        std::thread::sleep(moment);
        let workers = children(pid);
        let hit = match victim {
            Victim::Supervisor => signal(pid, Signal::KILL),
            Victim::Worker => kill_all(&workers),
            // Both orders of the two, as the moment has it.
            Victim::Both if moment.as_micros().is_multiple_of(2) => {
                kill_all(&workers);
                signal(pid, Signal::KILL)
            }
            Victim::Both => {
                let hit = signal(pid, Signal::KILL);
                kill_all(&workers);
                hit
            }
        };
        let killed = Instant::now();
        let ended = wait(child);
        match victim {
            Victim::Worker => self.survived(&ended, what),
            // A sweep that was over before its end came has ended with 0.
            _ if ended.code.is_some() => tally.too_late += 1,
            _ => {}
        }
        tally.kills += u32::from(hit && (victim == Victim::Worker || ended.code.is_none()));
        for worker in workers {
            wait_until("the end of the worker", || !is_alive(worker));
            if victim != Victim::Worker {
                assert_soon(killed, what);
            }
        }
    }

    /// A sweep whose worker was killed goes on by itself, at any moment.
    fn survived(&self, ended: &Ended, what: &str) {
        assert_eq!(ended.code, Some(0), "{what}: {}{}", ended.stdout, ended.stderr);
    }
}

/// Whether any of them was there.
fn kill_all(pids: &BTreeSet<u32>) -> bool {
    pids.iter().filter(|&&pid| signal(pid, Signal::KILL)).count() > 0
}

/// How many kills, and from which seed: `SCANBOX_KILLS` and `SCANBOX_SEED`.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn a_sweep_survives_kills_on_the_replay_device() {
    let place = || Place::in_memory(&slow(4));
    let start = |place: &Place| place.start(&[]);
    let expected = all_ok();
    let begin = Instant::now();
    wait(start(&place()));
    let moments = begin.elapsed().as_millis() as u64;
    let field = Field { start: &start, expected: &expected, moments, place: &place };
    let mut numbers = Numbers(setting("SCANBOX_SEED", 1));
    println!("{:?}", field.check(setting("SCANBOX_KILLS", 12) as u32, &mut numbers));
}

/// On a real driver: `SCANBOX_TEST_DEVICE=1` runs it, on the device that `VK_DRIVER_FILES` names.
#[test]
fn a_sweep_survives_kills_on_a_device() {
    if std::env::var("SCANBOX_TEST_DEVICE").is_err() {
        return;
    }
    let start = |place: &Place| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("scanbox"));
        command.args(["sweep", "--device", "0", "--out", "out/test.csv", "--space", "quick"]);
        command.args(["--sizes", "2^12..2^14", "--filter", "workgroup_size=64,batch_size=1"]);
        command.current_dir(place.folder()).env("LP_NUM_THREADS", "1");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let reference = Place::in_memory("");
    let begin = Instant::now();
    let ended = wait(start(&reference));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let expected = reference.rows();
    let field = Field {
        start: &start,
        expected: &expected,
        moments: begin.elapsed().as_millis() as u64,
        place: &|| Place::in_memory(""),
    };
    let mut numbers = Numbers(setting("SCANBOX_SEED", 1));
    let kills = setting("SCANBOX_KILLS", 20) as u32;
    println!("{} rows, {:?}: {:?}", expected.len(), begin.elapsed(), field.check(kills, &mut numbers));
}

#[test]
fn a_worker_ends_with_its_supervisor() {
    // In flight: a config that would hang for ever.
    let place = Place::new("[[fault]]\nkind = \"hang\"\nconfig = \"b\"\n");
    let mut child = place.start(&["--timeout", "60s"]);
    wait_until("a config in flight", || {
        std::fs::read_to_string(place.file("journal")).is_ok_and(|journal| journal.contains("start"))
    });
    let workers: BTreeSet<u32> = children(child.id());
    assert_eq!(workers.len(), 1);
    child.kill().unwrap();
    let killed = Instant::now();
    wait_until("the end of the worker", || workers.iter().all(|&worker| !is_alive(worker)));
    assert_soon(killed, "the end of the worker");
    child.wait().unwrap();
}

/// A worker whose supervisor ended before it could ask to end with it.
#[test]
fn a_worker_without_its_supervisor_does_nothing() {
    let place = Place::new("");
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("scanbox"));
    command
        .args(["worker", "--device", "replay:replay.toml", "--supervisor", "1"])
        .current_dir(place.folder());
    let output = command.stdin(Stdio::piped()).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}
