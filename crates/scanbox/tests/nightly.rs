//! The nightly job from its first night on, on the replay device: `scripts/nightly`, and `scanbox compare` as it sees
//! it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use rustix::process::Signal;
use scanbox_kernels::legal;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::record::Record;
use scanbox_model::space::{Point, Space};
use scanbox_testing::program::write_program;
use scanbox_testing::space::points_per_size;
use serde_json::Value;

use crate::sweeps::{Ended, ended, signal, wait_until};

/// 16 configs at 8 sizes.
const SPACE: &str = r#"
name = "night"
sizes = "2^12..2^19"
[[block]]
family = ["chained-scan"]
batch_size = [1, 4]
vector_width = ["vec2", "vec4"]
workgroup_size = [64, 128]
lookback = ["sequential", "parallel"]
block_scan = ["raking"]
"#;
/// A device with noise and drift; `run` says which night it is.
const DEVICE: &str = "noise_ratio = 0.015\noutlier_share = 0.01\ndrift_ratio = 0.02\n";
/// Every config takes 8 % longer at 2^16.
const LOSS: &str = "[[slow]]\nfactor = 1.08\nn = 65536\n";

/// A place for nights.
struct Job {
    folder: tempfile::TempDir,
}

impl Job {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("space.toml"), SPACE).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn state(&self) -> PathBuf {
        self.path("state")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        command.env("SCANBOX", cargo_bin("scanbox"));
        command.env("SCANBOX_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        for name in ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"] {
            command.env(name, self.path(name));
        }
        command
    }

    /// A night of a version of scanbox that is as this script of the device says: `all` is of the device, `own` of the
    /// version. A version is a program that goes by its own script, whatever device it is given; those before it,
    /// which a base may have kept, go by theirs.
    fn night_on(&self, run: u32, all: &str, own: &str, args: &[&str]) -> Ended {
        let version = self.path(&format!("own-{run}.toml"));
        fs::write(&version, own).unwrap();
        let program = self.path(&format!("scanbox-{run}"));
        let (real, folder) = (cargo_bin("scanbox"), self.folder.path());
        let text = format!(
            "#!/usr/bin/env bash\nexec '{}' \"${{@/#replay:*/replay:{}/version-{run}.toml}}\"\n",
            real.display(),
            folder.display()
        );
        write_program(&program, &text);
        for version in 1..=run {
            let Ok(own) = fs::read_to_string(self.path(&format!("own-{version}.toml"))) else { continue };
            let script = format!("run = {version}\nnight = {run}\n{DEVICE}{all}{own}");
            fs::write(self.path(&format!("version-{version}.toml")), script).unwrap();
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/nightly");
        let mut command = self.command(&script);
        command.env("SCANBOX", program);
        command.args(["--device", "replay:replay.toml", "--space", "space.toml", "--state", "state"]);
        ended(command.args(args).output().unwrap())
    }

    fn night(&self, run: u32, own: &str, args: &[&str]) -> Ended {
        self.night_on(run, "", own, args)
    }

    fn scanbox(&self, args: &[&str]) -> Ended {
        ended(self.command(&cargo_bin("scanbox")).args(args).output().unwrap())
    }

    /// The nights that are kept, the first one first.
    fn nights(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state().join("nights")).unwrap().flatten();
        let mut nights: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        nights.sort();
        nights
    }

    fn base(&self) -> String {
        let link = fs::read_link(self.state().join("base")).unwrap();
        link.file_name().unwrap().to_str().unwrap().to_owned()
    }
}

fn first_line(ended: &Ended) -> &str {
    ended.stdout.lines().next().unwrap_or_default()
}

#[test]
fn nights_from_the_first_one_on() {
    let job = Job::new();

    let first = job.night(1, "", &[]);
    assert_eq!(first.code, Some(0), "{}{}", first.stdout, first.stderr);
    assert!(first_line(&first).contains("no base yet"), "{}", first.stdout);
    let base = job.base();
    assert_eq!(job.nights(), std::slice::from_ref(&base));

    let same = job.night(2, "", &[]);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
    assert!(first_line(&same).starts_with("SAME"), "{}", same.stdout);
    assert_eq!(job.base(), base);

    let slower = job.night(3, LOSS, &[]);
    assert_eq!(slower.code, Some(6), "{}{}", slower.stdout, slower.stderr);
    let line = first_line(&slower);
    assert!(line.starts_with("SLOWER: +") && line.contains("at 2^16") && line.contains(".vec"), "{line}");
    assert_eq!(job.base(), base);

    // What was measured beside another night says nothing about this one.
    let nights = job.nights();
    let of = |night: usize, file: &str| format!("state/nights/{}/{file}", nights[night]);
    let [base_rows, rows, pairs] = [of(0, "sweep.csv"), of(2, "sweep.csv"), of(1, "pairs.csv")];
    let mixed = job.scanbox(&["compare", &base_rows, &rows, "--pairs", &pairs]);
    assert_eq!(mixed.code, Some(2), "{}{}", mixed.stdout, mixed.stderr);
    assert!(mixed.stderr.contains("pairs beside another sweep"), "{}", mixed.stderr);

    // Somebody has looked at it and takes it: the night after is the same again.
    let accepted = job.night(4, LOSS, &["--accept"]);
    assert_eq!(accepted.code, Some(6), "{}", accepted.stdout);
    assert_ne!(job.base(), base);
    let after = job.night(5, LOSS, &[]);
    assert_eq!(after.code, Some(0), "{}{}", after.stdout, after.stderr);
    assert!(first_line(&after).starts_with("SAME"), "{}", after.stdout);

    // What was lost comes back: that is faster, never fails, and is the base from then on.
    let faster = job.night(6, "", &["--keep", "1"]);
    assert_eq!(faster.code, Some(0), "{}{}", faster.stdout, faster.stderr);
    assert!(first_line(&faster).starts_with("FASTER: at 2^16"), "{}", faster.stdout);
    // The base and one more.
    let nights = job.nights();
    assert_eq!(nights.len(), 2, "{nights:?}");
    assert_eq!(Some(&job.base()), nights.last());

    let night = job.state().join("base");
    for file in
        ["sweep.csv", "sweep.meta.json", "sweep.txt", "pairs.csv", "compare.txt", "compare.json", "scanbox"]
    {
        assert!(fs::metadata(night.join(file)).unwrap().len() > 0, "{file}");
    }
    let summary = fs::read_to_string(job.path("GITHUB_STEP_SUMMARY")).unwrap();
    assert!(summary.contains("**SLOWER: +") && summary.contains("| 2^16"), "{summary}");
    // The base alone has a program.
    let programs = job
        .nights()
        .iter()
        .filter(|night| job.state().join("nights").join(night).join("scanbox").exists())
        .count();
    assert_eq!(programs, 1);
    assert_eq!(fs::read_to_string(job.path("GITHUB_OUTPUT")).unwrap().lines().count(), 6);
}

#[test]
fn a_night_that_fails_leaves_the_base() {
    let job = Job::new();
    // Not complete: no base.
    let cut = job.night(1, "", &["--budget", "0s"]);
    assert_eq!(cut.code, Some(4), "{}", cut.stderr);
    assert!(!job.state().join("base").exists());

    assert_eq!(job.night(1, "", &[]).code, Some(0));
    let base = job.base();
    let wrong = "[[fault]]\nkind = \"wrong_element\"\nn = 4096\nconfig = \"b4.vec4.par\"\n";
    let ended = job.night(2, wrong, &[]);
    assert_eq!(ended.code, Some(5), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("ok and fail now: 2"), "{}", ended.stdout);
    // All configs of a size: the line is gone.
    let gone = "[[fault]]\nkind = \"out_of_memory\"\nn = 4096\n";
    let ended = job.night(3, gone, &[]);
    assert_eq!(ended.code, Some(6), "{}{}", ended.stdout, ended.stderr);
    assert!(
        first_line(&ended).starts_with("SLOWER: at 2^12 none of 16 configs works any more"),
        "{}",
        ended.stdout
    );
    // The device as a whole, copies too: told, and no base, also where something is faster beside the base.
    let slow = "slowdown_ratio = 0.13\n";
    let faster = "[[slow]]\nfactor = 0.9\nn = 4096\n";
    for (run, own) in [(10, ""), (11, faster)] {
        let ended = job.night_on(run, slow, own, &[]);
        assert_eq!(ended.code, Some(6), "{}{}", ended.stdout, ended.stderr);
        assert!(first_line(&ended).starts_with("DEVICE SLOWER: +"), "{}", ended.stdout);
        assert_eq!(job.base(), base);
    }
    // The winner of the base alone, by the rounds that it is measured in again.
    let rows = csv_file::read(&job.state().join("base/sweep.csv")).unwrap().records;
    let at = rows.iter().filter(|row| row.n_elements == 1 << 17 && row.confirmed_ns.is_some());
    let winner = at.min_by_key(|row| row.confirmed_ns).unwrap().config_id.clone();
    let own = format!("[[slow]]\nfactor = 1.1\nn = 131072\nconfig = \"{winner}\"\n");
    let ended = job.night(12, &own, &[]);
    assert_eq!(ended.code, Some(6), "{}{}", ended.stdout, ended.stderr);
    let line = first_line(&ended);
    assert!(line.starts_with("SLOWER: +") && line.contains(&winner) && line.contains("2^17"), "{line}");
    // A base without its program, and a program that is none.
    let program = job.state().join("base/scanbox");
    fs::write(&program, "#!/bin/sh\nexit 3\n").unwrap();
    let ended = job.night(13, "", &[]);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("--no-rerun"), "{}", ended.stderr);
    fs::remove_file(&program).unwrap();
    let ended = job.night(14, "", &[]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("no program of its own"), "{}", ended.stderr);
    // Nothing of a sweep that cannot be.
    let ended = job.night(4, "", &["--space", "missing.toml"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let nights = job.nights();
    for wrong in [&["--no-such-option"][..], &["--threshold", "0"], &["--threshold", "x"], &["--keep", "x"]] {
        let ended = job.night(4, "", wrong);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    }
    assert_eq!(job.nights(), nights, "before anything is swept");
    assert_eq!(job.base(), base);
}

#[test]
fn a_night_that_cannot_be_compared_says_why() {
    let job = Job::new();
    assert_eq!(job.night(1, "", &[]).code, Some(0));
    let (base, state) = (job.base(), job.state());
    let check = |ended: &Ended, code: i32, line: &str, why: &str| {
        assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
        assert!(first_line(ended).starts_with(line), "{}", ended.stdout);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        let last = fs::read_to_string(state.join("last")).unwrap();
        let words: Vec<&str> = last.trim_end().splitn(3, ' ').collect();
        assert_eq!(words[1], code.to_string(), "{last}");
        assert_eq!(words[2..].join(""), first_line(ended), "{last}");
        assert_eq!(job.base(), base);
    };
    // No result is right any more: that is wrong, and no failure of what compares.
    let all_wrong = "[[fault]]\nkind = \"wrong_element\"\n";
    for more in [&[][..], &["--no-rerun"]] {
        check(&job.night(2, all_wrong, more), 5, "WRONG: ", "");
    }
    // The device is in use, so that there are no rows.
    let stub = |text: &str| {
        let program = job.path("stub");
        write_program(&program, &format!("#!/usr/bin/env bash\n{text}\n"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/nightly");
        let mut command = job.command(&script);
        command.env("SCANBOX", program).args(["--state", "state"]);
        command
    };
    check(&ended(stub("exit 4").output().unwrap()), 4, "", "nothing was measured; run scripts/nightly again");
    // Another night has the folder.
    let lock = fs::File::options().append(true).open(state.join("lock")).unwrap();
    lock.lock().unwrap();
    let second = ended(stub("exit 4").output().unwrap());
    assert_eq!(second.code, Some(4), "{second:?}");
    assert!(second.stderr.contains("another night is running in") && second.stderr.contains("(process "));
    drop(lock);
    // Whoever tells the script to stop means the sweep too.
    for (told, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let text = "trap 'touch told; exit 4' TERM; echo $$ > begun; sleep 60 >&- 2>&- & wait";
        let mut command = stub(text);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let night = command.spawn().unwrap();
        wait_until("a sweep", || fs::read(job.path("begun")).is_ok_and(|pid| !pid.is_empty()));
        assert!(signal(night.id(), told));
        check(&ended(night.wait_with_output().unwrap()), code, "", "stopped; the base is unchanged");
        for file in ["told", "begun"] {
            fs::remove_file(job.path(file)).unwrap();
        }
    }
    // The base is gone.
    fs::rename(state.join("nights").join(&base), job.path("aside")).unwrap();
    let gone = job.night(3, "", &[]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.stderr.contains(" is gone; --accept makes this night the base"), "{}", gone.stderr);
    let taken = job.night(3, "", &["--accept"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    assert_ne!(job.base(), base);
}

#[test]
fn the_nightly_space_has_the_winners_and_a_sample() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    let device = Metadata::read(&root.join("results/published.nvidia-h200.full.meta.json")).unwrap().device;
    let space = Space::from_toml(&read("configs/nightly.toml"), "nightly.toml").unwrap();
    let space = space.for_elements(4).unwrap();
    let legal = |config: &_, n, device: &_| legal(config, &Problem::default(), n, device);
    let enumeration = space.enumerate(&device, legal);
    let left_out = enumeration.rejections.iter().find(|rejection| rejection.rule == "not-in-sample").unwrap();
    assert!(left_out.points > 1000, "{left_out:?}");
    let per_size = points_per_size(&enumeration);
    assert_eq!(per_size.len(), 20);
    assert!(per_size.values().all(|count| (18..=60).contains(count)), "{per_size:?}");

    let rows = csv_file::read(&root.join("results/published.nvidia-h200.full.csv")).unwrap().records;
    for &n in per_size.keys() {
        let fastest = |belongs: &dyn Fn(&Record) -> bool| {
            let at = rows.iter().filter(|row| row.n_elements == n && belongs(row));
            at.filter_map(|row| row.steady.map(|time| time.median_ns)).min()
        };
        let here = |row: &Record| {
            row.config().is_some_and(|config| enumeration.points.binary_search(&Point { n, config }).is_ok())
        };
        // At small sizes leaders change places by chance.
        let (all, nightly) = (fastest(&|_| true).unwrap(), fastest(&here).unwrap());
        assert!(
            nightly as f64 <= 1.05 * all as f64,
            "the winner of {n}: {all} ns, in the nightly space {nightly} ns"
        );
    }
}

/// Two nights for `scanbox compare`.
fn two_nights(script: &str) -> Job {
    let job = Job::new();
    for (run, out, script) in [(1, "base.csv", ""), (2, "new.csv", script)] {
        fs::write(job.path("replay.toml"), format!("run = {run}\n{DEVICE}{script}")).unwrap();
        let sweep = ["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--out", out];
        let swept = job.scanbox(&sweep);
        assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    }
    job
}

#[test]
fn formats_and_exit_codes() {
    let job = two_nights(LOSS);
    let compare = |args: &[&str]| job.scanbox(&[&["compare"], args].concat());
    let check = |args: &[&str], code: i32, text: &str| {
        let ended = compare(args);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(code), "{args:?}: {all}");
        assert!(all.contains(text), "{args:?}: {all}");
    };
    check(&["base.csv", "new.csv"], 6, "SLOWER: +");
    check(&["base.csv", "base.csv"], 0, "SAME: no size is slower by more than 3 %; a loss of ");
    check(&["base.csv", "base.csv"], 0, " % or more would have been seen\n");
    check(&["base.csv", "new.csv", "--threshold", "20%"], 0, "SAME: no size is slower by more than 20 %");
    check(&["new.csv", "base.csv"], 0, "FASTER: at 2^16");
    check(&["base.csv", "new.csv"], 6, "  slower alone  ");
    check(
        &["base.csv", "new.csv"],
        6,
        "; slower alone: how many configs, of those in both sweeps, lost more than noise",
    );
    check(&["none.csv", "new.csv"], 7, "no base: none.csv is not there");
    check(&["base.csv", "none.csv"], 1, "none.csv");
    check(&["base.csv"], 2, "NEW");
    check(&["base.csv", "new.csv", "--threshold", "0"], 2, "above 0 and below 100");
    check(&["base.csv", "space.toml"], 1, "space.toml: line 1");

    let markdown = compare(&["base.csv", "new.csv", "--format", "md"]).stdout;
    assert!(markdown.starts_with("**SLOWER: +"), "{markdown}");
    assert!(markdown.contains("\n| 2^16 | SLOWER "), "{markdown}");

    let json: Value =
        serde_json::from_str(&compare(&["base.csv", "new.csv", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["outcome"], "regression");
    assert_eq!(json["ideal"].as_array().unwrap().len(), 8);
    let slower: Vec<&Value> =
        json["ideal"].as_array().unwrap().iter().filter(|line| line["verdict"] == "SLOWER").collect();
    assert_eq!(slower.len(), 1);
    assert_eq!(slower[0]["n"], 65536);
    let change = slower[0]["change_pct"].as_f64().unwrap();
    assert!((5.0..=11.0).contains(&change), "{change}");
    assert_eq!(json["configs"].as_array().unwrap().len(), 16 * 8);

    let csv = compare(&["base.csv", "new.csv", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), 1 + 8 + 8 + 8 + 16 * 8);

    // Half the sizes are there, and the other half is no line that is as it was.
    let kept: Vec<String> = fs::read_to_string(job.path("base.csv"))
        .unwrap()
        .lines()
        .filter(|line| line.split(',').nth(10) != Some("65536"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(job.path("part.csv"), kept.concat()).unwrap();
    check(&["base.csv", "part.csv"], 7, "MISSING: the new run has no time of what led the base at 2^16");
    fs::write(job.path("empty.csv"), format!("{}\n", kept[0].trim_end())).unwrap();
    check(&["empty.csv", "new.csv"], 7, "nothing to compare");

    // Another model, and the flag for it.
    let other = fs::read_to_string(job.path("base.csv")).unwrap().replace(",Replay,", ",Other,");
    fs::write(job.path("other.csv"), other).unwrap();
    check(&["base.csv", "other.csv"], 2, "--accept-device");
    check(&["base.csv", "other.csv", "--accept-device"], 0, "device: Replay, now Other");
    // Another driver and other kernels are told.
    let other = fs::read_to_string(job.path("base.csv")).unwrap().replace(",replay 1,", ",replay 2,");
    fs::write(job.path("other.csv"), other).unwrap();
    check(&["base.csv", "other.csv"], 0, "driver: replay 1, now replay 2");
}

#[test]
fn drift_is_no_regression_and_is_told() {
    // Everything is slower, copies too: a little, perhaps, and for sure. (The two nights differ by drift, too.)
    for (slowdown, code, text) in [
        (0.0, 0, "SAME"),
        (0.03, 0, "SAME beside the device, which is "),
        (0.045, 7, "UNCLEAR: the device as a whole is "),
        (0.12, 6, "DEVICE SLOWER: +"),
        (0.3, 6, "DEVICE SLOWER: +"),
    ] {
        let job = two_nights(&format!("slowdown_ratio = {slowdown}\n"));
        let ended = job.scanbox(&["compare", "base.csv", "new.csv"]);
        assert_eq!(ended.code, Some(code), "{slowdown}: {}", ended.stdout);
        assert!(ended.stdout.starts_with(text), "{slowdown}: {}", ended.stdout);
    }
    let job = two_nights("slowdown_ratio = 0.06\n");
    // Without copies nobody can tell that.
    fs::remove_file(job.path("new.meta.json")).unwrap();
    let ended = job.scanbox(&["compare", "base.csv", "new.csv"]);
    assert_eq!(ended.code, Some(7), "{}", ended.stdout);
    assert!(ended.stdout.starts_with("UNCLEAR: all sizes are "), "{}", ended.stdout);
    // All scans, but no copy.
    let job = two_nights("[[slow]]\nfactor = 1.08\n");
    let ended = job.scanbox(&["compare", "base.csv", "new.csv"]);
    assert_eq!(ended.code, Some(6), "{}", ended.stdout);
    assert!(ended.stdout.contains("scans are slower as a whole, and copies are not"), "{}", ended.stdout);
}
