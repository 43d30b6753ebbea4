//! `scanbox sweep` as a user runs it: what it writes, how it is stopped, and what it says when it cannot go on.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::sweeps::{
    ALL, CONFIG, Ended, Held, Place, Rows, all_ok, assert_soon, ended, fault, faulty, signal, slow, wait,
    wait_until,
};
use rustix::process::Signal;
use scanbox_model::record::Status;

#[track_caller]
fn assert_ended(ended: &Ended, code: i32, stderr: &[&str]) {
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    for part in stderr {
        assert!(ended.stderr.contains(part), "no `{part}` in: {}", ended.stderr);
    }
}

#[test]
fn a_sweep_writes_one_row_per_config_and_size() {
    let place = Place::new("");
    let ended = place.sweep(&[]);
    assert_ended(&ended, 0, &["28 configs"]);
    assert!(ended.stdout.contains("rows       28 of 28: 28 ok"), "{}", ended.stdout);
    let records = place.records();
    assert_eq!(records.len(), ALL);
    for (index, record) in records.iter().enumerate() {
        assert_eq!(record.order_index, index as u64);
        assert_eq!(record.timestamp_utc.len(), "2026-01-01T00:00:00Z".len(), "{}", record.timestamp_utc);
    }
    let metadata = place.metadata();
    assert_eq!((metadata.points, metadata.counts[&Status::Ok]), (ALL as u64, ALL as u64));
    assert_eq!((metadata.runs.len(), metadata.runs[0].rows), (1, ALL as u64));
    assert!(metadata.runs[0].ended_utc.is_some());
    assert_eq!(metadata.ceiling_gbps.len(), 7);
    assert!(!place.file("journal").exists());
}

#[test]
fn a_complete_sweep_has_nothing_left_to_do() {
    let place = Place::new("");
    place.sweep(&[]);
    let files = || ["csv", "meta.json"].map(|ending| fs::read(place.file(ending)).unwrap());
    let before = files();
    assert_ended(&place.sweep(&[]), 0, &["28 of them done before"]);
    assert_eq!(files(), before);
    assert!(!place.file("journal").exists());
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = Place::new("");
    let ended = place.sweep(&["--dry-run"]);
    assert_ended(&ended, 0, &[]);
    assert!(ended.stdout.contains("to do      28"), "{}", ended.stdout);
    assert!(!place.folder().join("out").exists());
    place.sweep(&[]);
    assert!(place.sweep(&["--dry-run"]).stdout.contains("to do      0"));
}

/// The job is over before the run begins: it is no mistake, and another job goes on.
#[test]
fn a_budget_whose_end_has_been_leaves_all_to_the_next_run() {
    let place = Place::in_memory("");
    let mut command = place.command(&["--budget", "until-job-end"]);
    let ended = ended(command.env("SLURM_JOB_END_TIME", "1000").output().unwrap());
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    for part in ["the end of --budget has been there already", "run the same command again"] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    // A moment does not come again: whoever runs the same command again and again would do so for ever.
    for end in ["until-1970-01-01T03:00:00Z", "until-1000"] {
        let ended = place.sweep(&["--budget", end]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("has passed"), "{}", ended.stderr);
    }
    assert!(!place.file("csv").exists());
}

#[test]
fn a_budget_ends_a_run_and_the_next_one_goes_on() {
    // All of them take longer than a run, and a run longer than a busy machine to start one.
    let place = Place::new(&slow(60));
    let mut runs = 0;
    let mut rows_before = 0;
    loop {
        let ended = place.sweep(&["--budget", "3s"]);
        let rows = place.rows().len();
        runs += 1;
        // A table without a row says nothing.
        assert_eq!(ended.stdout.contains("best config"), rows > 0, "{}", ended.stdout);
        if ended.code == Some(0) {
            assert_eq!(rows, ALL);
            let again = place.sweep(&["--budget", "3s"]);
            for part in
                ["nothing was left to measure; these times are of 2", "--out out/test.2.csv", "compare "]
            {
                assert!(again.stdout.contains(part), "{part}: {}", again.stdout);
            }
            assert!(!ended.stdout.contains("nothing was left to measure"), "{}", ended.stdout);
            break;
        }
        assert_ended(&ended, 4, &[]);
        assert!(rows >= rows_before && rows < ALL, "{rows} after {rows_before}");
        assert!(ended.stdout.contains(&format!("rows       {rows} of 28")), "{}", ended.stdout);
        assert!(ended.stdout.contains("the budget is spent; to continue, run"), "{}", ended.stdout);
        assert_eq!(place.metadata().counts[&Status::Ok], rows as u64);
        rows_before = rows;
    }
    assert!(runs > 1);
    let by_run: Vec<u64> = place.metadata().runs.iter().map(|run| run.rows).collect();
    assert_eq!((by_run.len(), by_run.iter().sum::<u64>()), (runs, ALL as u64));
    assert_eq!(place.rows(), all_ok());
}

/// Where time is short, what led on other devices comes first, with its neighbours.
#[test]
fn a_budget_begins_with_what_led_elsewhere() {
    let filter =
        "family=recompute,block_scan=subgroup,workgroup_size=64|128|1024,batch_size=1|2,vector_width=vec4";
    let labels = |space: &str| -> Vec<(u64, String)> {
        let place = Place::in_memory("");
        let args = ["--sizes", "2^11,2^12", "--filter", filter, "--budget", "10m"];
        let ended = ended(place.command_for(&["--space", space], &args).output().unwrap());
        assert_ended(&ended, 0, &[]);
        place.records().into_iter().map(|record| (record.n_elements, record.config_id)).collect()
    };
    let (all, mut led) = (labels("full"), labels("nightly"));
    led.retain(|point| all.contains(point));
    assert!(led.len() >= 4 && led.len() < all.len() / 2, "{led:?}");
    assert!(all[..led.len()].iter().all(|point| led.contains(point)), "{led:?}: {all:?}");
}

#[test]
fn the_first_signal_stops_a_sweep_in_good_order() {
    for kind in [Signal::INT, Signal::TERM] {
        let place = Place::new(&slow(100));
        let child = place.start_with_rows(&[], 3);
        assert!(signal(child.id(), kind));
        let ended = wait(child);
        assert_ended(&ended, 4, &[]);
        assert!(ended.stdout.contains("interrupted; to continue, run"), "{}", ended.stdout);
        let rows = place.rows();
        assert!((3..ALL).contains(&rows.len()));
        assert!(place.metadata().runs[0].ended_utc.is_some());
        place.script("");
        assert_ended(&place.sweep(&[]), 0, &[&format!("{} of them done before", rows.len())]);
        assert_eq!(place.rows(), all_ok());
    }
}

#[test]
fn the_second_signal_ends_a_sweep_at_once() {
    let place = Place::new(&fault("hang"));
    let child = place.start(&["--timeout", "60s"]);
    let worker = wait_for_hang(&place, child.id());
    assert!(signal(child.id(), Signal::INT));
    std::thread::sleep(Duration::from_millis(200));
    let asked = Instant::now();
    assert!(signal(child.id(), Signal::INT));
    assert_ended(&wait(child), 130, &[]);
    assert_soon(asked, "the second signal");
    wait_until("the end of the worker", || !crate::sweeps::is_alive(worker));
    place.script("");
    assert_ended(&place.sweep(&[]), 0, &[]);
    assert_eq!(place.rows(), all_ok());
}

#[test]
fn a_row_that_is_stopped_on_request_is_held_against_nobody() {
    let place = Place::new(&fault("hang"));
    for _ in 0..2 {
        let child = place.start(&["--timeout", "60s"]);
        wait_for_hang(&place, child.id());
        assert!(signal(child.id(), Signal::TERM));
        assert_ended(&wait(child), 4, &[]);
    }
    assert!(!place.rows().contains_key(&faulty()));
    place.script("");
    assert_ended(&place.sweep(&[]), 0, &[]);
    assert_eq!(place.rows(), all_ok());
}

/// Waits until the config that hangs is in flight, and returns its worker.
fn wait_for_hang(place: &Place, pid: u32) -> u32 {
    let (config, n) = faulty();
    let line = format!("start {config} {n}\n");
    wait_until("the config that hangs", || {
        fs::read_to_string(place.file("journal")).is_ok_and(|text| text.ends_with(&line))
    });
    *crate::sweeps::children(pid).first().unwrap()
}

#[test]
fn another_sweep_on_the_same_file_says_who_holds_it() {
    let place = Place::new(&slow(30));
    let child = place.start_with_rows(&[], 1);
    let holder = format!("process {}", child.id());
    let held = Held::new(&child);
    assert_ended(&place.sweep(&[]), 4, &["is being written by another run", &holder, "--wait", "--out"]);
    drop(held);
    assert_ended(&wait(child), 0, &[]);
    assert_eq!(place.rows(), all_ok());
}

#[test]
fn sweeps_that_begin_together_do_not_share_a_file() {
    let place = Place::new(&slow(5));
    let children: Vec<_> = (0..4).map(|_| place.start(&[])).collect();
    for child in children {
        let ended = wait(child);
        if ended.code != Some(0) {
            assert_ended(&ended, 4, &["is being written by another run"]);
        }
    }
    assert_eq!(place.rows(), all_ok());
}

#[test]
fn a_changed_origin_is_refused_by_name() {
    /// `change` is made to the file with this ending after a sweep, or to the script.
    fn check(ending: &str, from: &str, to: &str, parts: &[&str]) {
        let place = Place::in_memory("");
        assert_ended(&place.sweep(&[]), 0, &[]);
        if ending == "script" {
            place.script(to);
        } else {
            let text = fs::read_to_string(place.file(ending)).unwrap();
            assert!(text.contains(from));
            fs::write(place.file(ending), text.replace(from, to)).unwrap();
        }
        // Also where something would be left to do.
        fs::write(place.file("csv"), fs::read_to_string(place.file("csv")).unwrap() + "torn").unwrap();
        let files = || ["csv", "meta.json"].map(|ending| fs::read(place.file(ending)).unwrap());
        let before = files();
        assert_ended(&place.sweep(&[]), 1, &["test."]);
        assert_ended(&place.sweep(&["--retry-failed"]), 1, parts);
        assert_eq!(files(), before, "a refused file stays as it is");
    }
    let uuid = "00000000-0000-0000-0000-00000000feed";
    let hash = {
        let place = Place::in_memory("");
        place.sweep(&[]);
        place.metadata().kernel_hash
    };
    check("script", "", "name = \"Other\"", &["device `Replay`", "`Other`", "--out"]);
    check("script", "", "driver = \"replay 2\"", &["driver `replay 1`", "`replay 2`", "--out"]);
    check("script", "", "uuid = \"beef\"", &[&format!("device_uuid `{uuid}`"), "`beef`", "--accept-device"]);
    check("csv", &hash, "0000", &["kernel_hash `0000`", &hash]);
    check("meta.json", &hash, "0000", &["kernel_hash `0000`", &hash]);
    check("csv", "replay 1", "replay 0", &["driver `replay 0`"]);
    check("csv", "\n1,", "\n2,", &["line 2", "`schema`", "2"]);
    check("meta.json", "\"schema\": 1", "\"schema\": 2", &["schema 2"]);
    check("csv", "steady_ns_median", "speed", &["line 1", "`steady_ns_median` is missing"]);
    check("csv", ",ok,", ",fine,", &["line 2", "`status`", "`fine`"]);
}

#[test]
fn another_unit_of_the_same_model_is_accepted_on_request() {
    let place = Place::new(&slow(100));
    let child = place.start_with_rows(&[], 3);
    assert!(signal(child.id(), Signal::TERM));
    assert_ended(&wait(child), 4, &[]);
    place.script("uuid = \"beef\"");
    assert_ended(&place.sweep(&["--accept-device"]), 0, &[]);
    assert_eq!(place.rows(), all_ok());
    let records = place.records();
    let others = records.iter().filter(|record| record.device_uuid == "beef").count();
    assert!((1..ALL).contains(&others), "each row says which unit it is from: {others}");
}

#[test]
fn failed_rows_are_measured_again_on_request() {
    let faults = ["crash", "out_of_memory", "wrong_last"].map(|kind| format!("{}share = 1.0\n", fault(kind)));
    // One config crashes, one has no memory, one is wrong; the fourth stays well.
    let faults: Vec<String> = faults
        .iter()
        .zip([4096, 1024, 2048])
        .map(|(fault, n)| fault.replace("4096", &n.to_string()))
        .collect();
    let place = Place::new(&faults.concat());
    assert_ended(&place.sweep(&[]), 5, &[]);
    let failed = place.rows();
    assert_eq!(failed.values().filter(|&&status| status != Status::Ok).count(), 3);
    let runs = |place: &Place| place.records().into_iter().map(|record| record.run_id).collect::<Vec<_>>();
    let first_run = runs(&place)[0].clone();
    // Without the request they stay what they are, on a device that has got well.
    place.script("");
    assert_ended(&place.sweep(&[]), 5, &[]);
    assert_eq!(place.rows(), failed);
    assert!(place.sweep(&["--dry-run", "--retry-failed"]).stdout.contains("to do      3"));
    assert_ended(&place.sweep(&["--retry-failed"]), 5, &["25 of them done before"]);
    // What was wrong stays: an ok row beside it takes nothing back.
    let last = |place: &Place| {
        place.records().into_iter().map(|row| ((row.config_id, row.n_elements), row.status)).collect::<Rows>()
    };
    assert_eq!((last(&place), place.records().len()), (all_ok(), ALL + 1));
    assert_eq!(runs(&place).iter().filter(|run| **run == first_run).count(), ALL - 2);
    assert_ended(&place.sweep(&["--retry-failed"]), 5, &["28 of them done before"]);
    assert_ended(&place.sweep(&["--prove"]), 2, &["--retry-failed"]);
    // Only proof does, once.
    assert!(place.sweep(&["--dry-run", "--retry-failed", "--prove"]).stdout.contains("to do      1"));
    assert_ended(&place.sweep(&["--retry-failed", "--prove"]), 0, &["27 of them done before"]);
    assert_ended(&place.sweep(&["--retry-failed", "--prove"]), 0, &["28 of them done before"]);
    assert_ended(&place.sweep(&[]), 0, &[]);
    let proved: Vec<_> = place.records().into_iter().filter(|row| row.proved_calls.is_some()).collect();
    assert_eq!(proved.len(), 1);
    assert!(proved[0].proved_calls.unwrap() >= 1005 && proved[0].n_elements == 2048, "{:?}", proved[0]);
}

/// What was wrong and still is, in whatever circumstance: no run shows it right.
#[test]
fn what_is_wrong_again_is_not_proved() {
    let kinds = ["wrong_last", "wrong_element", "wrong_timed", "wrong_second", "wrong_late", "wrong_stale"];
    for kind in kinds {
        let place = Place::in_memory(&fault("wrong_last"));
        assert_ended(&place.sweep(&[]), 5, &[]);
        place.script(&fault(kind));
        assert_ended(&place.sweep(&["--retry-failed", "--prove"]), 5, &[]);
        let rows: Vec<_> = place
            .records()
            .into_iter()
            .filter(|row| (row.config_id.clone(), row.n_elements) == faulty())
            .collect();
        assert_eq!(rows.len(), 2, "{kind}: the old row stays");
        assert!(
            rows.iter().all(|row| row.status == Status::WrongResult && row.proved_calls.is_none()),
            "{kind}"
        );
        place.script("");
        assert_ended(&place.sweep(&["--retry-failed", "--prove"]), 0, &[]);
    }
}

#[test]
fn another_filter_or_more_sizes_go_on_in_the_same_file() {
    let place = Place::new("");
    assert_ended(&place.sweep(&["--sizes", "2^10..2^12"]), 0, &["12 configs"]);
    assert_ended(&place.sweep(&[]), 0, &["12 of them done before"]);
    assert_eq!(place.rows(), all_ok());
    let space = place.metadata().space;
    let ended = place.sweep(&["--sizes", "2^10", "--filter", "lookback=parallel", "--retry-failed"]);
    assert_ended(&ended, 0, &["2 configs, 2 of them done before"]);
    assert!(ended.stdout.contains("rows       28 of 28"), "{}", ended.stdout);
    assert_eq!(place.metadata().space, space, "a smaller run does not forget what the file holds");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let place = Place::new("");
    fs::write(place.folder().join("out"), "a file").unwrap();
    assert_ended(&place.sweep(&[]), 1, &["out/test.csv", "--out", "Not a directory"]);
    fs::remove_file(place.folder().join("out")).unwrap();
    fs::create_dir_all(place.file("csv")).unwrap();
    assert_ended(&place.sweep(&[]), 1, &["out/test.csv is a folder", "--out"]);
}

#[test]
fn files_of_others_are_left_alone() {
    let place = Place::new("");
    let bench = ["bench", CONFIG, "--device", "replay:replay.toml", "--sizes", "4096", "--out"];
    let on = |path: &str, code| place.run(&[&bench[..], &[path]].concat(), code);
    on("out/test.csv", 0);
    let check = |part: &str| {
        let before = fs::read(place.file("csv")).unwrap();
        assert_ended(&place.sweep(&[]), 1, &["out/test.csv", part]);
        assert_eq!(fs::read(place.file("csv")).unwrap(), before);
    };
    check("rows of a benchmark");
    fs::write(place.file("csv"), "to do").unwrap();
    check("a file that scanbox has not written");
    fs::remove_file(place.file("csv")).unwrap();
    assert_ended(&place.sweep(&[]), 1, &["out/test.meta.json is the metadata of a benchmark", "--out"]);
    fs::remove_file(place.file("meta.json")).unwrap();
    assert_ended(&place.sweep(&[]), 0, &[]);
    let refused = on("out/test.csv", 1);
    assert!(refused.stderr.contains("rows of a sweep"), "{}", refused.stderr);
    assert_eq!(place.rows(), all_ok());
}

#[test]
fn senseless_flags_are_refused() {
    let place = Place::new("");
    assert_ended(&place.sweep(&["--timeout", "0s"]), 2, &["--timeout", "a limit is above 0"]);
    assert_ended(&place.sweep(&["--budget=-1s"]), 2, &["--budget", "a time is not negative"]);
    assert_ended(&place.sweep(&["--confirm", "1"]), 2, &["--confirm"]);
}

#[test]
fn nobody_has_to_read_the_output() {
    for (script, code) in [("", 0), (fault("wrong_element").as_str(), 5)] {
        let place = Place::new(script);
        let mut child = place.start(&[]);
        drop(child.stdout.take());
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(place.rows().len(), ALL);
    }
}

#[test]
fn a_file_that_is_lost_or_changed_ends_the_sweep() {
    fn check(change: impl Fn(&Place), part: &str) {
        let place = Place::new(&slow(60));
        let child = place.start_with_rows(&[], 2);
        change(&place);
        assert_ended(&wait(child), 1, &["out/test.csv", part, "to continue from there, run: "]);
    }
    check(|place| fs::remove_file(place.file("csv")).unwrap(), "removed or replaced");
    check(|place| fs::remove_dir_all(place.folder().join("out")).unwrap(), "removed or replaced");
    check(
        |place| {
            let copy = place.folder().join("copy");
            fs::copy(place.file("csv"), &copy).unwrap();
            fs::rename(copy, place.file("csv")).unwrap();
        },
        "removed or replaced",
    );
    check(
        |place| {
            let mut file = fs::File::options().append(true).open(place.file("csv")).unwrap();
            file.write_all(b"a line of somebody else\n").unwrap();
        },
        "somebody else changed the file",
    );
}

/// Runs the sweep in a shell after `before`: limits are inherited.
#[cfg(target_os = "linux")]
fn in_shell(place: &Place, before: &str, after: &str) -> Ended {
    let sweep = place.command(&[]);
    let words = std::iter::once(sweep.get_program()).chain(sweep.get_args());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{before} \"$@\"; code=$?; {after} exit $code")).arg("sh").args(words);
    shell.current_dir(place.folder()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (key, value) in sweep.get_envs() {
        shell.env(key, value.unwrap());
    }
    ended(shell.output().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_may_not_grow_keeps_what_it_has() {
    let place = Place::new("");
    // 16 blocks of 512 bytes.
    let ended = in_shell(&place, "ulimit -f 16;", "");
    assert_ended(&ended, 1, &["out/test.csv", "File too large", "to continue from there, run: "]);
    let rows = place.rows();
    assert!((10..ALL).contains(&rows.len()), "{}", rows.len());
    assert_ended(&place.sweep(&[]), 0, &[&format!("{} of them done before", rows.len())]);
    assert_eq!(place.rows(), all_ok());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_keeps_what_it_has() {
    let place = Place::new("");
    let out = place.folder().join("out");
    fs::create_dir(&out).unwrap();
    let mount = "mount -t tmpfs -o size=20k,mode=777 full out";
    let probe = Command::new("unshare").args(["-m", "sh", "-c", mount]).current_dir(place.folder()).output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        eprintln!("SKIPPED: a small file system cannot be mounted here: {probe:?}");
        return;
    }
    // What is on the small disk goes away with its name space: it is copied out, and the second sweep runs beside it.
    let ended = in_shell(
        &place,
        &format!("exec unshare -m sh -c '{mount} && \"$@\"; code=$?; cp -r out copy; exit $code' sh"),
        "",
    );
    assert_ended(&ended, 1, &["out/test.", ": No space left on device", "to continue from there, run: "]);
    fs::remove_dir(&out).unwrap();
    fs::rename(place.folder().join("copy"), &out).unwrap();
    let rows = place.rows();
    assert!((1..ALL).contains(&rows.len()), "{}", rows.len());
    assert_ended(&place.sweep(&[]), 0, &[&format!("{} of them done before", rows.len())]);
    assert_eq!(place.rows(), all_ok());
}
