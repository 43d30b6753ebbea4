//! Who is to blame: only a config that ran has a row that says how it failed. What fails under a copy, a load or a
//! pipeline has its own name, and what asks a run to stop is held against nobody.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::sweeps::{
    ALL, CONFIG, Ended, Place, all_ok, assert_soon, children, ended, fault, faulty, signal, slow, wait,
    wait_for_rows, wait_until,
};
use rustix::process::Signal;
use scanbox_model::record::Status;

/// Where something fails that is no config, and how that is told.
const PLACES: &[(&str, &str)] = &[
    ("config = \"copy\"\nn = 8192\n", "while the copy of 2^13 was measured"),
    ("config = \"load\"\n", "while 2^16 elements were loaded"),
    ("config = \"pipeline\"\n", "while pipelines were made"),
];

/// How it fails, and how that is told.
const WAYS: &[(&str, &str)] =
    &[("device_lost", "the device was lost"), ("hang", "nothing came for"), ("crash", "killed by signal 6")];

#[test]
fn what_is_no_config_costs_no_config_its_row() {
    std::thread::scope(|scope| {
        for (place, what) in PLACES {
            for (kind, how) in WAYS {
                // A load has no limit below the ten minutes of a set-up.
                if *kind == "hang" && !what.contains("copy") {
                    continue;
                }
                scope.spawn(move || {
                    let at = Place::in_memory(&format!("[[fault]]\nkind = \"{kind}\"\n{place}"));
                    let ended = at.sweep(&["--timeout", "500ms"]);
                    let told = format!("{kind} {what}: {ended:?}");
                    assert_eq!(ended.code, Some(1), "{told}");
                    assert!(ended.stderr.contains(what) && ended.stderr.contains(how), "{told}");
                    assert!(ended.stderr.contains("4 workers in a row"), "{told}");
                    assert!(ended.stderr.contains("scanbox doctor"), "{told}");
                    assert!(ended.stdout.contains(&format!("left       {ALL} points")), "{told}");
                    assert!(at.rows().is_empty(), "{told}");
                    let journal = fs::read_to_string(at.file("journal")).unwrap();
                    assert_eq!(journal.matches("broke ").count(), 4, "{told}{journal}");
                    assert!(journal.contains(what) && !journal.contains("start"), "{told}{journal}");
                    let outcome = at.metadata().runs[0].outcome.clone().unwrap();
                    assert_eq!((outcome.exit_code, outcome.points_left), (1, ALL as u64), "{told}");
                    assert!(outcome.trouble.unwrap().contains(what), "{told}");
                    // What has passed leaves no trace.
                    at.script("");
                    assert_eq!(at.sweep(&[]).code, Some(0));
                    assert_eq!(at.rows(), all_ok(), "{told}");
                });
            }
        }
    });
}

/// The copy that watches for drift, before the first row: one config is to be measured again, and is not blamed.
#[test]
fn the_canary_is_no_config() {
    std::thread::scope(|scope| {
        for (kind, how) in WAYS {
            scope.spawn(move || {
                let place = Place::in_memory(&fault("crash"));
                assert_eq!(place.sweep(&[]).code, Some(0));
                // All copies have been measured.
                place.script(&format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"copy\"\n"));
                let ended = place.sweep(&["--retry-failed", "--timeout", "500ms"]);
                assert_eq!(ended.code, Some(1), "{kind}: {ended:?}");
                assert!(
                    ended.stderr.contains("copy of 2^12 that watches for drift was measured"),
                    "{kind}: {ended:?}"
                );
                assert!(ended.stderr.contains(how), "{kind}: {ended:?}");
                assert!(!place.rows().contains_key(&faulty()), "{kind}");
                // With something to show for it, the same command is worth another try.
                place.script("");
                assert_eq!(place.sweep(&[]).code, Some(0));
                assert_eq!(place.rows(), all_ok(), "{kind}");
            });
        }
    });
}

/// The canary of the 100th row: rows are there, points are left, the same command goes on.
#[test]
fn a_device_that_fails_half_way_leaves_the_rest_to_the_next_run() {
    // The copies of the largest size, in all shapes, twice; then the canary before the first row.
    let place =
        Place::in_memory("[[fault]]\nkind = \"device_lost\"\nconfig = \"copy\"\nn = 65536\nafter = 11\n");
    let filter = "block_scan=raking,workgroup_size=64|128";
    let space = ["--space", "thesis", "--sizes", "2^12..2^16", "--filter", filter];
    let run = || ended(place.command_for(&space, &[]).output().unwrap());
    let first = run();
    assert!(first.stderr.contains("that watches for drift"), "{first:?}");
    // The next worker finds the copies done, and goes on.
    assert_eq!(first.code, Some(0), "{first:?}");
    let rows = place.rows();
    assert_eq!(rows.len(), 118);
    assert!(rows.values().all(|&status| status == Status::Ok), "{rows:?}");
}

/// What goes wrong with a copy without ending anything is told, and costs the size its ceiling alone.
#[test]
fn a_copy_that_fails_is_told() {
    let cases = [
        (
            "wrong_element",
            5,
            "wrong_result while the copy of 2^13 was measured: 1 of 8192 elements are wrong",
        ),
        ("zero_timestamps", 0, "runtime_error while the copy of 2^13 was measured: "),
        ("out_of_memory", 0, "out_of_memory while the copy of 2^13 was measured: scripted"),
    ];
    for (kind, code, told) in cases {
        let place = Place::in_memory(&format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"copy\"\nn = 8192\n"));
        let ended = place.sweep(&[]);
        assert_eq!(ended.code, Some(code), "{kind}: {ended:?}");
        assert_eq!(ended.stderr.matches(told).count(), 1, "{kind}: {}", ended.stderr);
        assert_eq!(place.rows(), all_ok(), "{kind}");
        let copies = place.metadata().ceiling_gbps;
        assert!(copies.contains_key(&4096) && !copies.contains_key(&8192), "{kind}: {copies:?}");
    }
}

/// The other commands: what fails under a load or a pipeline is no config's.
#[test]
fn every_command_says_what_failed() {
    std::thread::scope(|scope| {
        let commands: [&[&str]; 2] = [
            &["verify", CONFIG, "--sizes", "4096"],
            &["bench", CONFIG, "--sizes", "4096", "--rounds", "1", "--out", "bench.csv"],
        ];
        for command in commands {
            for (place, what) in
                [("load", "while 2^12 elements were loaded"), ("pipeline", "while pipelines were made")]
            {
                for kind in ["device_lost", "crash"] {
                    scope.spawn(move || {
                        let at = Place::in_memory(&format!(
                            "[[fault]]\nkind = \"{kind}\"\nconfig = \"{place}\"\n"
                        ));
                        let command = [command, &["--device", "replay:replay.toml"]].concat();
                        let ended = at.run(&command, 1);
                        assert!(ended.stderr.contains(what), "{kind} {command:?}: {ended:?}");
                        assert!(ended.stderr.contains("scanbox doctor"), "{kind} {command:?}: {ended:?}");
                        assert!(!ended.stdout.contains("1 device_lost"), "{kind} {command:?}: {ended:?}");
                    });
                }
            }
        }
    });
}

/// What hangs where no config runs ends with the budget of the run, and says what it was.
#[test]
fn a_set_up_that_hangs_ends_with_the_budget() {
    let commands: [&[&str]; 2] = [
        &["verify", CONFIG, "--sizes", "4096"],
        &["bench", CONFIG, "--sizes", "4096", "--rounds", "1", "--out", "bench.csv"],
    ];
    for command in commands {
        for (place, what) in
            [("load", "while 2^12 elements were loaded"), ("pipeline", "while pipelines were made")]
        {
            let at = Place::in_memory(&format!("[[fault]]\nkind = \"hang\"\nconfig = \"{place}\"\n"));
            let start = Instant::now();
            let rest = ["--device", "replay:replay.toml", "--budget", "2s", "--timeout", "1s"];
            let ended = at.run(&[command, &rest].concat(), 4);
            assert_soon(start, command);
            assert!((ended.stderr.clone() + &ended.stdout).contains(what), "{command:?}: {ended:?}");
        }
    }
}

/// A config that every run stops in: whoever is told to stop, and by which signals, it is tried again and never held
/// against it.
#[test]
fn what_asks_a_run_to_stop_is_held_against_nobody() {
    #[derive(Debug, Clone, Copy)]
    enum To {
        Supervisor,
        Both,
        /// The worker first, and its supervisor so many milliseconds later.
        WorkerFirst(u64),
        SupervisorFirst(u64),
    }
    use To::{Both, Supervisor, SupervisorFirst, WorkerFirst};
    fn check(to: To, kinds: &[Signal], code: Option<i32>) {
        let place = Place::in_memory(&fault("hang"));
        let what = format!("{kinds:?} to {to:?}");
        for run in 0..3 {
            let child = place.start(&["--timeout", "60s"]);
            let pid = child.id();
            let worker = in_flight(&place, pid, run);
            let asked = Instant::now();
            for &kind in kinds {
                match to {
                    Supervisor => drop(signal(pid, kind)),
                    Both => {
                        signal(pid, kind);
                        signal(worker, kind);
                    }
                    WorkerFirst(ms) => {
                        signal(worker, kind);
                        std::thread::sleep(Duration::from_millis(ms));
                        signal(pid, kind);
                    }
                    SupervisorFirst(ms) => {
                        signal(pid, kind);
                        std::thread::sleep(Duration::from_millis(ms));
                        signal(worker, kind);
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let ended = wait(child);
            assert_soon(asked, &what);
            assert_eq!(ended.code, code, "{what}: {ended:?}");
            wait_until("the end of the worker", || !crate::sweeps::is_alive(worker));
            let journal = fs::read_to_string(place.file("journal")).unwrap();
            assert!(!journal.contains("ended "), "{what}: {journal}");
            if code.is_some() {
                let (config, n) = faulty();
                assert!(journal.ends_with(&format!("dropped {config} {n}\nend\n")), "{what}: {journal}");
            }
        }
        place.script("");
        assert_eq!(place.sweep(&[]).code, Some(0), "{what}");
        assert_eq!(place.rows(), all_ok(), "{what}");
    }
    std::thread::scope(|scope| {
        let cases: Vec<(To, &'static [Signal], Option<i32>)> = vec![
            (Supervisor, &[Signal::TERM], Some(4)),
            (Supervisor, &[Signal::TERM, Signal::TERM, Signal::TERM], Some(4)),
            (Supervisor, &[Signal::INT, Signal::TERM], Some(4)),
            // What other batch systems send, and a terminal that closes.
            (Supervisor, &[Signal::HUP], Some(4)),
            (Supervisor, &[Signal::USR1], Some(4)),
            (Both, &[Signal::USR1, Signal::XCPU], Some(4)),
            (Both, &[Signal::TERM], Some(4)),
            (Both, &[Signal::TERM, Signal::TERM], Some(4)),
            (Both, &[Signal::INT], Some(4)),
            (WorkerFirst(100), &[Signal::TERM], Some(4)),
            (SupervisorFirst(100), &[Signal::TERM], Some(4)),
            // A job that is killed when it does not stop in time.
            (SupervisorFirst(0), &[Signal::TERM, Signal::KILL], None),
            (Supervisor, &[Signal::KILL], None),
            (SupervisorFirst(0), &[Signal::KILL], None),
            (WorkerFirst(0), &[Signal::KILL], None),
            (WorkerFirst(100), &[Signal::KILL], None),
        ];
        for (to, kinds, code) in cases {
            scope.spawn(move || check(to, kinds, code));
        }
    });
}

/// Under nohup a terminal that closes ends nothing.
#[test]
fn a_run_that_ignores_the_end_of_its_terminal_goes_on() {
    let place = Place::in_memory(&slow(40));
    let sweep = place.command(&[]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(sweep.get_program()).args(sweep.get_args());
    command.envs(sweep.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let piped = Stdio::piped;
    let child = command.current_dir(place.folder()).stdout(piped()).stderr(piped()).spawn().unwrap();
    wait_for_rows(&place.file("csv"), 2);
    assert!(signal(child.id(), Signal::HUP));
    let ended = wait(child);
    assert_eq!((ended.code, place.rows()), (Some(0), all_ok()), "{ended:?}");
}

/// Waits until the config that hangs is in flight, in the run of this number, and returns the worker.
fn in_flight(place: &Place, pid: u32, run: usize) -> u32 {
    let (config, n) = faulty();
    let line = format!("start {config} {n}\n");
    wait_until("the config that hangs", || {
        let journal = fs::read_to_string(place.file("journal")).unwrap_or_default();
        journal.matches("run ").count() == run + 1 && journal.ends_with(&line)
    });
    *children(pid).first().unwrap()
}

/// A worker is deaf to what asks a run to stop: that is for its supervisor, which knows whether there is such a
/// request.
#[test]
fn a_worker_does_not_listen_to_signals_of_its_supervisor() {
    let place = Place::in_memory(&slow(100));
    let child = place.start_with_rows(&[], 3);
    for kind in [Signal::TERM, Signal::INT, Signal::HUP, Signal::TERM] {
        let workers = children(child.id());
        assert_eq!(workers.len(), 1);
        assert!(signal(*workers.first().unwrap(), kind));
        std::thread::sleep(Duration::from_millis(60));
    }
    let ended = wait(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stdout.contains("replaced"), "{}", ended.stdout);
    assert_eq!(place.rows(), all_ok());
}

/// A stop at any moment of the set-up ends the run soon, and a budget pays for the set-up too.
#[test]
fn a_run_that_stops_in_its_set_up_says_so() {
    fn check(what: &str, ended: &Ended, since: Instant) {
        assert_eq!(ended.code, Some(4), "{what}: {ended:?}");
        assert_soon(since, what);
        assert!(
            ended.stdout.contains("during the set-up, while 2^16 elements were loaded"),
            "{what}: {ended:?}"
        );
    }
    let script = "[[fault]]\nkind = \"hang\"\nconfig = \"load\"\n";
    let place = Place::in_memory(script);
    // A busy machine takes more than a second to come as far as what hangs.
    let start = Instant::now();
    check("budget", &place.sweep(&["--budget", "5s"]), start);
    let mut command =
        place.scanbox(&["verify", "--device", "replay:replay.toml", CONFIG, "--sizes", "65536"]);
    let start = Instant::now();
    check("budget of verify", &ended(command.args(["--budget", "5s"]).output().unwrap()), start);
    let child = place.start(&[]);
    std::thread::sleep(Duration::from_secs(5));
    let start = Instant::now();
    signal(child.id(), Signal::TERM);
    check("signal", &wait(child), start);
    assert!(place.rows().is_empty());
}

/// Also while the device opens: there, nothing is written at all.
#[test]
fn a_run_that_is_stopped_at_any_moment_ends_in_good_order() {
    std::thread::scope(|scope| {
        for ms in [0_u64, 20, 40, 60, 80, 120, 160, 240] {
            scope.spawn(move || {
                let place = Place::in_memory(&slow(30));
                let mut command = place.command(&[]);
                let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                std::thread::sleep(Duration::from_millis(50 + ms));
                signal(child.id(), Signal::TERM);
                let ended = wait(child);
                // Before it could listen, the signal ends it.
                assert!(matches!(ended.code, Some(4) | None), "{ms}: {ended:?}");
                place.script("");
                assert_eq!(place.sweep(&[]).code, Some(0));
                assert_eq!(place.rows(), all_ok(), "{ms}");
            });
        }
    });
}

/// A config that has no times all the same answers for what its calls did to the input, before the next one reads it.
#[test]
fn a_config_without_times_is_seen_to_leave_the_input() {
    let script = format!("{}{}", fault("zero_timestamps"), fault("writes_input"));
    let place = Place::in_memory(&script);
    assert_eq!(place.sweep(&[]).code, Some(5));
    let rows = place.records();
    let row = rows.iter().find(|row| (row.config_id.clone(), row.n_elements) == faulty()).unwrap();
    assert_eq!(row.status, Status::WrongResult, "{}", row.reason);
    assert!(row.reason.contains("it writes to its input"), "{}", row.reason);
    assert_eq!(rows.iter().filter(|row| row.status != Status::Ok).count(), 1);
}
