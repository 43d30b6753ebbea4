//! `scanbox bench` as a user runs it, on the replay device, with baselines that are small shell scripts.
#![cfg(unix)]

mod baselines;
mod devices;
mod dispatch;
mod empty;
mod forms;
mod interrupted;
mod library;
mod problems;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sweeps::{CONFIG, Ended, Place, ended, is_alive, signal, wait, wait_until};
use assert_cmd::cargo::cargo_bin;
use rustix::process::Signal;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Cache, Record, Selection, Status};
use scanbox_testing::program::write_program;

const OTHER: &str = "b1.vec4.seq.rake.wg64";
/// Launch shapes of the copy on a device with workgroups of 1024.
const COPIES: usize = 5;

/// A baseline that does what it is asked for, unless one of `arms` of its `case` comes first.
fn baseline(place: &Place, name: &str, arms: &str) {
    let script = format!(
        r#"#!/bin/sh
number() {{ rest=${{line#*\"$1\":}}; echo "${{rest%%[,\}}]*}}"; }}
echo '{{"protocol":1,"tool":"Fake","version":"3.5","device":"Replay","device_uuid":"","driver":"fake 1",'\
'"subjects":[{{"name":"fake-scan","result":"scan"}},{{"name":"fake-copy","result":"copy"}}]}}'
while read -r line; do
    case "$line" in
        {arms}
        *'"do":"load"'*) echo '{{"ok":true}}' ;;
        *'"do":"verify"'*) echo "{{\"compared\":$(number n),\"mismatches\":0,\"first\":null,\"call_ns\":5000.5}}" ;;
        *'"do":"time"'*)
            time=$((4000 * $(number calls))); samples=$(number samples); all=$time; i=1
            while [ $i -lt $samples ]; do all="$all,$time.5"; i=$((i + 1)); done
            echo "{{\"samples_ns\":[$all]}}" ;;
    esac
done
"#
    );
    write_program(&place.folder().join(name), &script);
}

fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = place.scanbox(&["bench", "--device", "replay:replay.toml", "--out", "bench.csv"]);
    command.args(args).env("COLUMNS", "100");
    command
}

#[track_caller]
fn bench(place: &Place, args: &[&str], code: i32) -> Ended {
    let ended = ended(command(place, args).output().unwrap());
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    ended
}

fn rows(place: &Place) -> Vec<Record> {
    csv_file::read(&place.folder().join("bench.csv")).unwrap().records
}

fn status_of(rows: &[Record], config: &str, n: u64) -> BTreeSet<Status> {
    let of = rows.iter().filter(|row| row.config_id == config && row.n_elements == n);
    of.map(|row| row.status).collect()
}

#[test]
fn a_reduction_is_held_against_a_read() {
    let place = Place::new("");
    let config = "b4.vec4.two.sub.striped.early.wg256";
    let ended = bench(&place, &[config, "--mode", "reduce", "--sizes", "65536", "--rounds", "2"], 0);
    let rows = rows(&place);
    let reads: Vec<&Record> = rows.iter().filter(|row| row.subject == "read").collect();
    assert_eq!((rows.len(), reads.len()), (1 + COPIES, COPIES));
    for row in &rows {
        assert_eq!((row.status, row.bytes_moved), (Status::Ok, 4 * 65_537), "{}", row.config_id);
    }
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["read %", "the fastest read of the size"] {
        assert!(text.contains(part), "no `{part}` in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains("copy"), "{}", ended.stdout);
}

#[test]
fn every_subject_has_a_row_per_size_and_cache_state() {
    let place = Place::new("noise_ratio = 0.01\n");
    baseline(&place, "fake", "");
    let args = [CONFIG, OTHER, "--sizes", "4096,5000", "--buffers", "hot,cold", "--rounds", "3"];
    let ended = bench(&place, &[&args[..], &["--baseline", "./fake"]].concat(), 0);
    let rows = rows(&place);
    assert_eq!(rows.len(), (2 + 2 + COPIES) * 2 * 2);
    for row in &rows {
        assert_eq!((row.status, row.rounds), (Status::Ok, Some(3)), "{}", row.config_id);
        assert!(row.steady.is_some() && row.span.is_some() && row.round_spread_pct.is_some());
        assert_eq!(row.bytes_moved, 8 * row.n_elements);
        assert_eq!(row.mismatches, Some(0));
    }
    let of = |subject: &str| rows.iter().find(|row| row.config_id == subject).unwrap();
    assert_eq!(of("fake-scan").subject_version, "Fake 3.5");
    assert_eq!(of("fake-scan").steady.unwrap().median_ns, 4000);
    assert_eq!(of("fake-scan").selection, [Selection::Baseline]);
    assert_eq!(of("fake-copy").selection, [Selection::Ceiling, Selection::Baseline]);
    assert_eq!(
        (of(CONFIG).subject.as_str(), &of(CONFIG).selection[..]),
        ("scanbox", &[Selection::Named][..])
    );
    // What the replay device says of cold memory.
    let time = |cache| {
        let row = rows.iter().find(|row| row.config_id == CONFIG && row.cache == Some(cache)).unwrap();
        row.steady.unwrap().median_ns as f64
    };
    assert!((time(Cache::Cold) / time(Cache::Hot) - 1.25).abs() < 0.05);
    for part in ["Hot: ", "Cold: ", "fake-scan", "copy %", "x base", CONFIG] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let metadata = Metadata::read(&place.folder().join("bench.meta.json")).unwrap();
    assert_eq!((metadata.counts[&Status::Ok], metadata.runs.len()), (rows.len() as u64, 1));
    assert_eq!(metadata.runs[0].settings["baselines"][0]["tool"], "Fake");
    assert_eq!(metadata.ceiling_gbps.len(), 2);
    assert!(!place.folder().join("bench.csv.partial").exists());
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let order = || {
        let place = Place::new("");
        let ended = bench(&place, &[CONFIG, "--sizes", "4096", "--format", "json"], 0);
        let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(json["rows"].as_array().unwrap().len(), 1 + COPIES);
        assert!(json["rows"][0]["throughput_gbps"].as_f64().unwrap() > 0.0);
        json["rows"].to_string().replace(char::is_numeric, "")
    };
    assert_eq!(order(), order());
}

#[test]
fn a_sweep_says_who_takes_part() {
    let place = Place::new("");
    place.sweep(&[]);
    let swept = place.records();
    let args = ["--from", "out/test.csv", "--sizes", "4096,5000,100000", "--kernel", "b4.vec4.seq.rake"];
    bench(&place, &args, 0);
    let rows = rows(&place);
    let chosen = |selection, n| {
        let chosen = |row: &&Record| row.selection.contains(&selection) && row.n_elements == n;
        rows.iter().find(chosen).unwrap().config_id.clone()
    };
    let fastest = |n| {
        let at = swept.iter().filter(|row| row.n_elements == n);
        at.min_by_key(|row| row.steady.unwrap().median_ns).unwrap().config_id.clone()
    };
    assert_eq!(chosen(Selection::Ideal, 4096), fastest(4096));
    // Between two sizes, the times at both.
    let times = |n| {
        let at = swept.iter().filter(move |row| row.n_elements == n);
        at.map(|row| (row.config_id.clone(), row.steady.unwrap().median_ns as f64))
            .collect::<BTreeMap<_, _>>()
    };
    let (below, above) = (times(4096), times(8192));
    let both =
        below.iter().filter_map(|(id, from)| Some((id, from + 904.0 / 4096.0 * (above.get(id)? - from))));
    let least = both.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert_eq!(&chosen(Selection::Ideal, 5000), least.0);
    // Beyond them, the nearest.
    assert_eq!(chosen(Selection::Ideal, 100_000), fastest(65_536));
    assert_eq!(chosen(Selection::Named, 5000), "b4.vec4.seq.rake.wg64");
    assert!(rows.iter().any(|row| row.selection.contains(&Selection::BestKernel)));
    // Without --sizes, those of the sweep.
    bench(&place, &["--from", "out/test.csv", "--rounds", "1"], 0);
    let sizes: BTreeSet<u64> = self::rows(&place).iter().map(|row| row.n_elements).collect();
    assert_eq!(sizes.len(), 7);
}

#[test]
fn rows_of_another_run_and_a_plot_can_be_asked_for() {
    let place = Place::new("");
    let text = "n_elements,steady_ns_median\n4096,3000\n777,1\n";
    fs::write(place.folder().join("cub.csv"), text).unwrap();
    let mut import = Command::new(cargo_bin("scanbox"));
    import.args([
        "import",
        "cub.csv",
        "--subject",
        "cub-scan",
        "--version",
        "CUB 3",
        "--device-name",
        "Replay",
    ]);
    let imported = import.args(["--out", "cub-rows.csv"]).current_dir(place.folder()).output().unwrap();
    assert!(imported.status.success());
    let args =
        [CONFIG, "--sizes", "2^12..2^14", "--buffers", "hot,cold", "--rounds", "1", "--plot", "plot.svg"];
    let ended = bench(&place, &[&args[..], &["--with", "cub-rows.csv"]].concat(), 0);
    for part in ["cub-scan", "measured in another run: cub-scan (CUB 3)", "x base"] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    assert!(rows(&place).iter().all(|row| row.subject != "cub-scan"));
    let svg = fs::read_to_string(place.folder().join("plot.svg")).unwrap();
    let ratio = "Times as fast as CUB of another run, hot buffers";
    for part in ["<svg", "cub-scan", "copy", CONFIG, ratio, "cold buffers", "2¹³", "GB/s", "</svg>"] {
        assert!(svg.contains(part), "no `{part}` in the plot");
    }
    assert!(!svg.contains("another run, cold buffers"), "the baseline was measured on hot buffers alone");
    let nothing = bench(&place, &[CONFIG, "--sizes", "8192", "--with", "cub-rows.csv"], 2);
    assert!(nothing.stderr.contains("--with"), "{}", nothing.stderr);
}

/// A baseline that has an empty call and can repeat what it has timed.
fn whole_baseline(place: &Place, name: &str, arms: &str) {
    let twin =
        r#"*'"do":"twin"'*) echo "{\"compared\":$((3 * $(number n))),\"mismatches\":0,\"first\":null}" ;;"#;
    baseline(place, name, &format!("{arms} {twin}"));
    let path = place.folder().join(name);
    let script = fs::read_to_string(&path).unwrap();
    let empty = "\"subjects\":[{\"name\":\"fake-empty\",\"result\":\"empty\"},";
    fs::write(&path, script.replace("\"subjects\":[", &format!("\"twins\":true,{empty}"))).unwrap();
}

/// A program that is started again has the subjects that it was asked for, not all.
/// Both contracts against the fastest of the run, whichever baseline has it; rows of other runs have no part in it.
#[test]
fn a_summary_is_against_the_fastest_of_the_run() {
    let place = Place::new("");
    baseline(&place, "slow", "");
    let fast = r#"*'"do":"time"'*)
            time=$((3000 * $(number calls))); samples=$(number samples); all=$time; i=1
            while [ $i -lt $samples ]; do all="$all,$time"; i=$((i + 1)); done
            echo "{\"samples_ns\":[$all]}" ;;"#;
    baseline(&place, "fast", fast);
    let script = fs::read_to_string(place.folder().join("fast")).unwrap().replace("3.5", "3.6");
    fs::write(place.folder().join("fast"), script).unwrap();
    let redo = "redo.b1.vec2.none.sub.shuffle.striped.wg128";
    let args = [CONFIG, redo, "--sizes", "4096,8192", "--scratch", "kept,stateless", "--rounds", "1"];
    let baselines = ["--baseline", "./slow", "--baseline", "./fast"];
    bench(&place, &[&args[..], &baselines].concat(), 0);
    // What was measured elsewhere is faster.
    let text = "n_elements,steady_ns_median\n4096,10\n8192,10\n";
    fs::write(place.folder().join("cub.csv"), text).unwrap();
    let import =
        ["import", "cub.csv", "--subject", "cub-scan", "--version", "CUB 3", "--device-name", "Replay"];
    place.run(&[&import[..], &["--out", "cub-rows.csv"]].concat(), 0);

    let show = |args: &[&str], code| place.run(&[&["bench", "--show", "bench.csv"], args].concat(), code);
    let with = ["--with", "cub-rows.csv", "--summary", "--format", "json"];
    let lines: serde_json::Value = serde_json::from_str(&show(&with, 0).stdout).unwrap();
    let rows = rows(&place);
    for line in lines.as_array().unwrap() {
        let n = line["n_elements"].as_u64().unwrap();
        let least = |suits: &dyn Fn(&Record) -> bool| {
            let of = rows.iter().filter(|row| row.n_elements == n && row.subject == "scanbox" && suits(row));
            of.min_by_key(|row| row.steady.unwrap().median_ns).unwrap()
        };
        let stateless = |row: &Record| row.config_id.contains(".fill.") || row.config_id.starts_with("redo.");
        for (side, row) in [("kept", least(&|_| true)), ("same_contract", least(&stateless))] {
            let (shown, ns) = (&line[side], row.steady.unwrap().median_ns);
            assert_eq!(
                (shown["subject"].as_str(), shown["median_ns"].as_u64()),
                (Some(&*row.config_id), Some(ns))
            );
            let ratio = 3000.0 / ns as f64;
            assert!((shown["ratio"].as_f64().unwrap() - ratio).abs() < 1e-3, "{shown}, {ratio}");
        }
        assert_eq!(
            (line["baseline"]["subject"].as_str(), line["baseline"]["version"].as_str()),
            (Some("fake-scan"), Some("Fake 3.6"))
        );
    }
    assert_eq!(lines.as_array().unwrap().len(), 2);
    for line in lines.as_array().unwrap() {
        for side in ["kept", "same_contract"] {
            let [low, ratio, high] =
                ["ratio_low", "ratio", "ratio_high"].map(|name| line[side][name].as_f64().unwrap());
            assert!(low <= ratio && ratio <= high, "{line}");
        }
    }
    let intervals = show(&["--summary", "intervals"], 0).stdout;
    assert!(intervals.contains(" to ") && intervals.contains("what holds that at 95 %"), "{intervals}");
    for format in ["table", "md", "csv"] {
        let shown = show(&["--summary", "views", "--format", format], 0).stdout;
        assert!(shown.contains("fake-scan") && shown.contains("3.6"), "{shown}");
    }
    let told = show(&[], 0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("times as fast as the fastest Fake;"), "{told}");
    let refused = show(&["--format", "csv"], 2);
    assert!(refused.stderr.contains("--summary"), "{}", refused.stderr);
}

#[test]
fn a_config_is_held_against_itself_with_push_constants() {
    let place = Place::new("");
    let block = "b4.vec4.par.rake.block.wg64";
    bench(&place, &[block, "--against-push", "--sizes", "4096,8192", "--rounds", "4"], 0);
    let rows = rows(&place);
    assert_eq!(status_of(&rows, CONFIG, 4096), [Status::Ok].into());
    assert!(rows.iter().all(|row| row.round_medians_ns.0.len() == 4), "{rows:?}");
    let show = |format: &str| {
        place.run(&["bench", "--show", "bench.csv", "--summary", "arguments", "--format", format], 0).stdout
    };
    let lines: serde_json::Value = serde_json::from_str(&show("json")).unwrap();
    let found = lines.as_array().unwrap().iter().map(|line| line["config"].as_str().unwrap().to_owned());
    assert_eq!(found.collect::<Vec<_>>(), [block, block], "{lines}");
    assert_eq!(show("csv").lines().count(), 3);
    assert!(show("md").contains(" of 2 take no longer than with push constants"), "{}", show("md"));
}

#[test]
fn a_benchmark_can_be_shown_again() {
    let place = Place::new("");
    let args = [CONFIG, "--sizes", "2^12,2^14", "--rounds", "1", "--plot", "first.svg"];
    let first = bench(&place, &args, 0);
    let show = |args: &[&str]| {
        let mut command = place.scanbox(&["bench", "--show"]);
        ended(command.args(args).env("COLUMNS", "100").output().unwrap())
    };
    let again = show(&["bench.csv", "--plot", "again.svg"]);
    assert_eq!((again.code, again.stdout), (Some(0), first.stdout), "{}", again.stderr);
    let [first, again] = ["first.svg", "again.svg"].map(|name| fs::read(place.folder().join(name)).unwrap());
    assert_eq!(again, first);
    assert_eq!(show(&["bench.csv", CONFIG]).code, Some(2));
    let missing = show(&["nothing.csv"]);
    assert_eq!(missing.code, Some(1), "{}", missing.stderr);
    assert!(missing.stderr.contains("nothing"), "{}", missing.stderr);
}

#[test]
fn a_workgroup_count_of_another_size_is_left_free() {
    let place = Place::new("");
    bench(&place, &["b4.vec4.par.rake.wg64.g16", "--sizes", "16384,5000", "--rounds", "1"], 0);
    let rows = rows(&place);
    assert_eq!(status_of(&rows, "b4.vec4.par.rake.wg64.g16", 16_384), [Status::Ok].into());
    assert_eq!(status_of(&rows, "b4.vec4.par.rake.wg64", 5000), [Status::Ok].into());
}

#[test]
fn stateless_is_a_fill_in_every_call() {
    let place = Place::new("");
    let packed = "b4.vec4.par.rake.packed.wg64";
    let args = [CONFIG, packed, "--scratch", "kept,stateless", "--sizes", "4096", "--rounds", "1"];
    bench(&place, &args, 0);
    let configs: BTreeSet<String> = rows(&place).into_iter().map(|row| row.config_id).collect();
    assert!(configs.contains(CONFIG) && configs.contains("b4.vec4.par.rake.fill.wg64"), "{configs:?}");
    // The packed tile state is filled in any case.
    assert_eq!(configs.len(), 3 + COPIES, "{configs:?}");
    // Levels are written before they are read.
    let place = Place::new("");
    let levels = "rts.b1.vec4.none.rake.wg64";
    bench(&place, &[levels, "--scratch", "kept,stateless", "--sizes", "4096", "--rounds", "1"], 0);
    let configs: BTreeSet<String> = rows(&place).into_iter().map(|row| row.config_id).collect();
    assert!(configs.contains(levels) && configs.len() == 1 + COPIES, "{configs:?}");
}

#[test]
fn a_fault_costs_the_rows_of_its_subject() {
    fn check(kind: &str, status: Status, code: i32) {
        let place = Place::new(&format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"{CONFIG}\"\nn = 4096\n"));
        let args = [CONFIG, OTHER, "--sizes", "4096,8192", "--buffers", "hot,cold", "--rounds", "2"];
        bench(&place, &[&args[..], &["--timeout", "1s"]].concat(), code);
        let rows = rows(&place);
        assert_eq!(rows.len(), (2 + COPIES) * 2 * 2, "{kind}");
        assert_eq!(status_of(&rows, CONFIG, 4096), [status].into(), "{kind}");
        assert_eq!(rows.iter().filter(|row| row.status != Status::Ok).count(), 2, "{kind}");
    }
    for kind in ["wrong_element", "loses_tickets", "wrong_timed", "wrong_second", "wrong_late", "wrong_cold"]
    {
        check(kind, Status::WrongResult, 5);
    }
    check("out_of_memory", Status::OutOfMemory, 0);
    check("pipeline_error", Status::PipelineError, 0);
    check("zero_timestamps", Status::RuntimeError, 0);
    check("device_lost", Status::DeviceLost, 0);
    check("crash", Status::RuntimeError, 0);
    check("hang", Status::Timeout, 0);
}

#[test]
fn what_is_assumed_to_run_at_once_is_started() {
    let place = Place::new("");
    let all_at_once = "pers.b4.vec4.gather.sub.striped.wgid.early.wg256.u2";
    let flags = ["--sizes", "4096,65536", "--rounds", "2"];
    // How many fit is not known of this device: whoever assumes it takes the consequences.
    let assumed = ["--assume", "co-residency,workgroup-order"];
    bench(&place, &[&[all_at_once, CONFIG], &assumed[..], &flags].concat(), 0);
    let rows = rows(&place);
    for config in [all_at_once, CONFIG] {
        assert_eq!(status_of(&rows, config, 65_536), BTreeSet::from([Status::Ok]), "{config}");
    }
    // Where nobody does, it is not.
    let ended = bench(&place, &[&[all_at_once], &flags[..]].concat(), 1);
    assert!(ended.stderr.contains("needs-co-residency"), "{}", ended.stderr);
}

#[test]
fn what_makes_no_sense_is_refused() {
    fn check(script: &str, args: &[&str], code: i32, parts: &[&str]) {
        let place = Place::new(script);
        write_program(&place.folder().join("mute"), "#!/bin/sh\necho hello\n");
        let refuses = "#!/bin/sh\necho '{\"error\":\"no CUDA device\"}'; exit 1\n";
        write_program(&place.folder().join("refuses"), refuses);
        let ended = bench(&place, args, code);
        for part in parts {
            assert!(ended.stderr.contains(part), "no `{part}` in {}", ended.stderr);
        }
        assert!(!place.folder().join("bench.csv").exists());
    }
    check("", &["--sizes", "4096"], 2, &["nothing to compare", "--from", "--baseline"]);
    check("", &[CONFIG, "--kernel", "b4.vec4.par.rake"], 2, &["--from"]);
    check("", &[CONFIG, "--sizes", "0"], 2, &["at least one element"]);
    check("", &["--from", "missing.csv"], 1, &["missing.csv"]);
    check("", &["--baseline", "./missing", "--sizes", "4096"], 1, &["--baseline ./missing"]);
    check("", &["--baseline", "./mute", "--sizes", "4096"], 1, &["`hello`", "not a greeting"]);
    check("", &["--baseline", "./refuses", "--sizes", "4096"], 1, &["no CUDA device"]);
    check("", &["nonsense"], 2, &["`nonsense` is not a label"]);
    check("", &[CONFIG, "--timeout", "0s"], 2, &["a limit is above 0"]);
    let place = Place::new("");
    place.sweep(&[]);
    place.script("name = \"Another\"\n");
    let other = bench(&place, &["--from", "out/test.csv"], 1);
    assert!(other.stderr.contains("rows of Replay, and this device is Another"), "{}", other.stderr);
    place.script("");
    let args = ["--from", "out/test.csv", "--kernel", "b16.vec2.seq.rake"];
    let missing = bench(&place, &args, 2);
    assert!(missing.stderr.contains("--kernel b16.vec2.seq.rake"), "{}", missing.stderr);
    // Before anything runs.
    let folder = place.run(&["bench", CONFIG, "--device", "replay:replay.toml", "--out", "out"], 1);
    assert!(
        folder.stderr.contains("out is a folder") && !folder.stderr.contains("compiling"),
        "{}",
        folder.stderr
    );
}

/// What is measured is not what is shown.
#[test]
fn what_only_measuring_heeds_is_refused_where_rows_are_shown() {
    let place = Place::in_memory("");
    bench(&place, &[CONFIG, "--sizes", "4096", "--rounds", "2"], 0);
    for option in [
        "--device=3",
        "--kernel=b1.vec4.seq.rake",
        "--op=max",
        "--in-place",
        "--scratch=stateless",
        "--uses=baked",
        "--promises=progress",
        "--prove",
        "--rounds=3",
        "--seed=2",
        "--budget=1s",
        "--wait",
        "--call-forms=total",
        "--baseline-subjects=cub-scan",
    ] {
        let ended = place.run(&["bench", "--show", "bench.csv", option], 2);
        let name = option.split('=').next().unwrap();
        assert!(ended.stderr.contains("cannot be used with"), "{option}: {}", ended.stderr);
        assert!(ended.stderr.contains(name), "{option}: {}", ended.stderr);
    }
}
