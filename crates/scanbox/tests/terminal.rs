//! The program in a terminal: tables that fit, colours, how much is said, and what `scanbox` alone says.

use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

use crate::sweeps::{Ended, Place, ended, fault};

/// A command in the root of the repository, without what the environment of the tests says of terminals.
fn scanbox(args: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("scanbox"));
    command.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    for name in ["COLUMNS", "NO_COLOR", "CLICOLOR_FORCE", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}

/// No line of an answer is wider than the terminal; columns that are not there are named, and a pipe has them all.
#[test]
fn no_row_is_broken_at_80_100_and_120_columns() {
    let h200 = "results/published.nvidia-h200.full.csv";
    let thesis = "results/published.nvidia-h200.thesis.csv";
    let bench = "results/runs/2026-11-24-nvidia-h200/bench.csv";
    let commands: [(&[&str], &str); 11] = [
        (&["analyze", h200, "--portfolio", "3", "--explain"], "hidden columns: "),
        (&["analyze", thesis, "results/published.llvmpipe.quick.csv", "--include-software"], ""),
        (&["bench", "--show", bench], "hidden columns: "),
        (&["bench", "--show", bench, "--summary"], ""),
        (&["bench", "--show", bench, "--summary", "views"], "hidden columns: "),
        (&["compare", thesis, h200], ""),
        (&["pack", "--show", "packs/nvidia-h200.scanpack"], ""),
        (&["explain", "b4.vec4.gather.sub.shuffle.striped.wgid.early.wg256"], ""),
        (&["explain", "rules"], ""),
        (&["explain", "columns"], ""),
        (&["explain"], ""),
    ];
    for (args, says) in commands {
        let piped = ended(scanbox(args).output().unwrap()).stdout;
        assert!(!piped.contains("hidden columns"), "{args:?}");
        for width in [80, 100, 120] {
            let shown = ended(scanbox(args).env("COLUMNS", width.to_string()).output().unwrap()).stdout;
            for line in shown.lines() {
                // A command is one line, which can be pasted.
                let is_text = !line.contains("scanbox ");
                assert!(!is_text || line.chars().count() <= width, "{args:?} {width}: {line}");
            }
            assert!(width > 80 || shown.contains(says), "{args:?} {width}:\n{shown}");
            for line in shown.lines().filter_map(|line| line.strip_prefix("hidden columns: ")) {
                let column = line.split([',', ';']).next().unwrap();
                assert!(piped.contains(column), "{args:?} {width}: {column}");
            }
        }
    }
}

/// What is wrong fits a terminal too; paths and commands stay whole, and a pipe has one line.
#[test]
#[cfg(target_os = "linux")]
fn errors_are_broken_between_words_in_a_terminal_alone() {
    let lines: [(&str, i32, &[&str]); 4] = [
        (
            "analyze a/folder/of/results/nowhere.csv",
            1,
            &["a/folder/of/results/nowhere.csv", "`scanbox sweep`"],
        ),
        ("sweep --space quik", 2, &["`quick`?"]),
        ("analyze results/published.nvidia-h200.thesis.csv --metric sqared", 2, &["`squared`?", "'--help'"]),
        (
            "space --profile results/published.nvidia-h200.full.meta.json --filter lookback=none,arguments=block",
            0,
            &["--filter"],
        ),
    ];
    for (line, code, whole) in lines {
        let piped =
            ended(scanbox(&line.split(' ').collect::<Vec<_>>()).env("COLUMNS", "60").output().unwrap());
        assert_eq!(piped.code, Some(code), "{piped:?}");
        // What `script` starts has a terminal for each of its streams.
        let command = format!("{} {line}", cargo_bin("scanbox").display());
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(scanbox(&[]).get_current_dir().unwrap());
        let shown = ended(script.env("COLUMNS", "60").env("TERM", "dumb").output().unwrap());
        assert_eq!(shown.code, Some(code), "{shown:?}");
        let (text, first) = (shown.stdout.replace('\r', ""), piped.stderr.lines().next().unwrap());
        assert!(first.chars().count() > 60, "{line}: {first}");
        for line in text.lines() {
            assert!(line.chars().count() <= 60, "{line}:\n{text}");
        }
        whole.iter().for_each(|part| assert!(text.contains(part), "{part}:\n{text}"));
        // Nothing but line breaks is new.
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(&first.split_whitespace().collect::<Vec<_>>().join(" ")), "{first}:\n{text}");
    }
}

#[test]
fn colours_are_where_they_were_asked_for() {
    let check = |args: &[&str], variables: &[(&str, &str)], coloured: bool| {
        let mut command = scanbox(
            &[&["analyze", "results/published.llvmpipe.quick.csv", "--include-software"], args].concat(),
        );
        let shown = ended(command.envs(variables.iter().copied()).output().unwrap()).stdout;
        assert_eq!(shown.contains('\u{1b}'), coloured, "{args:?} {variables:?}:\n{shown}");
    };
    check(&[], &[], false);
    check(&["--color", "always"], &[], true);
    check(&["--color", "always"], &[("NO_COLOR", "1")], true);
    check(&["--color", "always", "--format", "json"], &[], false);
    check(&["--color", "always", "--format", "md"], &[], false);
    check(&["--color", "always", "--format", "csv"], &[], false);
    check(&[], &[("CLICOLOR_FORCE", "1")], true);
    check(&[], &[("CLICOLOR_FORCE", "0")], false);
    check(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false);
    check(&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false);
    // Errors are said in colour too, also those of the command line.
    let wrong = |args: &[&str]| ended(scanbox(args).output().unwrap()).stderr;
    assert!(
        wrong(&["analyze", "nowhere.csv", "--color", "always"]).starts_with("\u{1b}[1;31merror:\u{1b}[0m ")
    );
    assert!(wrong(&["analyze", "nowhere.csv"]).starts_with("error: "));
    assert!(wrong(&["--color=always", "anlyze"]).contains('\u{1b}'));
    assert!(!wrong(&["--color=never", "anlyze"]).contains('\u{1b}'));
}

#[test]
fn a_quiet_run_says_its_errors_and_a_verbose_one_what_happens_inside() {
    let place = Place::in_memory("");
    let sweep = |more: &[&str], log: Option<&str>| -> Ended {
        let args = ["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--sizes", "2^10"];
        let mut command = place.scanbox(&[&args[..], more].concat());
        command.env_remove("RUST_LOG").envs(log.map(|filter| ("RUST_LOG", filter)));
        ended(command.output().unwrap())
    };
    let quiet = sweep(&["--quiet", "--out", "a.csv"], None);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    assert!(quiet.stdout.contains("rows       4 of 4: 4 ok"), "{}", quiet.stdout);
    let failed = sweep(&["-q", "--out", "a.csv", "--op", "max"], None);
    assert!(failed.code == Some(1) && failed.stderr.starts_with("error: "), "{failed:?}");
    assert_eq!(failed.stderr.lines().filter(|line| !line.starts_with("error: ")).count(), 0, "{failed:?}");

    let usual = sweep(&["--out", "b.csv"], None).stderr;
    assert!(usual.contains("space test") && !usual.contains(" INFO "), "{usual}");
    let verbose = sweep(&["-v", "--out", "c.csv"], None).stderr;
    assert!(verbose.contains("INFO scanbox_session::process: the device is open"), "{verbose}");
    assert!(!verbose.contains(" DEBUG "), "{verbose}");
    // Of the worker, too, which says it through its supervisor.
    let more = sweep(&["-vv", "--out", "d.csv"], None).stderr;
    assert!(more.contains("DEBUG scanbox_runner::sweep: attempts a point"), "{more}");
    let chosen = sweep(&["-q", "--out", "e.csv"], Some("scanbox_runner=debug")).stderr;
    assert!(chosen.contains("attempts a point") && !chosen.contains("scanbox_session"), "{chosen}");
    let wrong = sweep(&["--out", "f.csv"], Some("scanbox=loud")).stderr;
    assert!(wrong.contains("warning: RUST_LOG: `scanbox=loud` is not a filter"), "{wrong}");
}

#[test]
fn scanbox_alone_says_what_is_there_and_what_comes_next() {
    let place = Place::in_memory("");
    let alone = || ended(place.scanbox(&[]).env("VK_DRIVER_FILES", "/nowhere.json").output().unwrap());
    let nothing = alone();
    assert_eq!(nothing.code, Some(3), "{nothing:?}");
    assert!(
        nothing.stdout.contains("devices    none") && nothing.stdout.contains("scanbox doctor"),
        "{nothing:?}"
    );
    assert!(nothing.stdout.contains("results    none"), "{nothing:?}");
    let args = ["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--sizes", "2^10"];
    place.run(&[&args[..], &["--out", "results/a.csv"]].concat(), 0);
    assert!(alone().stdout.contains("results/a.csv: Replay"), "{}", alone().stdout);
}

/// The end of a sweep of many sizes, with failures, fits 80 columns and 24 lines; a pipe has every size.
#[test]
fn the_end_of_a_sweep_fits_a_screen() {
    let place = Place::in_memory(&fault("wrong_element"));
    let sizes: Vec<String> = (0..30).map(|step| (1024 + 1024 * step).to_string()).collect();
    let sizes = sizes.join(",");
    let args = ["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--out", "a.csv"];
    let args = [&args[..], &["--sizes", &sizes]].concat();
    let piped = ended(place.scanbox(&args).env_remove("COLUMNS").output().unwrap()).stdout;
    let is_row = |line: &&str| line.contains(".vec4.") && !line.contains(" at ");
    let rows = |text: &str| text.lines().filter(is_row).count();
    assert_eq!(rows(&piped), 30, "{piped}");
    let shown = ended(place.scanbox(&args).env("COLUMNS", "80").output().unwrap()).stdout;
    let lines: usize = shown.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum();
    assert!(lines < 24 || rows(&shown) <= 5, "{lines}:\n{shown}");
    assert!(shown.contains("other sizes: ") && shown.contains("\nnext       "), "{shown}");
}
