//! What a device keeps beyond what Vulkan promises: asked, kept, gone by and written down; and kinds of waiting that
//! hang in spite of it. On a replay device whose script says what probes find.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use scanbox_kernels::catalog;
use scanbox_model::guarantee_probe::{GuaranteesProbe, ProbeVerdict};
use scanbox_model::parameters::Parameter;
use scanbox_model::record::{Record, Selection, Status};
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::Promises;

use crate::sweeps::{Ended, Place, ended};

/// What is said when a device is asked.
const ASKING: &str = "asking it what it keeps beyond what Vulkan promises";

/// Kernels that need each guarantee, and one that needs progress alone.
pub const SPACE: &str = r#"
name = "test"
sizes = "2^16,2^18"
[[block]]
family = ["chained-scan"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["parallel"]
block_scan = ["raking"]
tile_order = ["ticket", "workgroup-id"]
[[block]]
family = ["persistent"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
workgroups_per_unit = [2]
lookback = ["gather"]
block_scan = ["subgroup"]
load_layout = ["striped"]
publish = ["before-scan"]
tile_order = ["workgroup-id"]
rendezvous = ["barrier", "flags"]
"#;

pub fn place(script: &str) -> Place {
    let place = Place::in_memory(script);
    fs::write(place.folder().join("space.toml"), SPACE).unwrap();
    place
}

/// The command in a cache folder of the place's own.
fn own_cache(place: &Place, mut command: Command) -> Ended {
    command.env("SCANBOX_CACHE", place.folder().join("cache"));
    ended(command.output().unwrap())
}

pub fn sweep(place: &Place, args: &[&str]) -> Ended {
    own_cache(place, place.command(args))
}

fn kept(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.folder().join("cache/probes")).into_iter().flatten().flatten();
    // A run may be writing: what is not whole yet has another ending, and is gone at the next moment.
    entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect()
}

/// How many rows there are of each status.
pub fn statuses(records: &[Record]) -> BTreeMap<Status, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.status).or_default() += 1;
    }
    counts
}

fn verdicts(place: &Place) -> BTreeMap<Guarantee, ProbeVerdict> {
    let probe = place.metadata().device.guarantee_facts.probe.expect("the metadata has what was found");
    probe.findings.into_iter().map(|finding| (finding.guarantee, finding.verdict)).collect()
}

#[test]
fn what_is_not_refuted_opens_configs_for_sweeps_and_none_for_packs() {
    let place = place("[probe]\n");
    let dry = sweep(&place, &["--dry-run"]);
    assert!(dry.stdout.contains("to do      2") && !dry.stderr.contains(ASKING), "{dry:?}");
    let first = sweep(&place, &[]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stderr.contains(ASKING), "{first:?}");
    assert_eq!((place.records().len(), kept(&place).len()), (8, 1));
    assert_eq!(statuses(&place.records()), BTreeMap::from([(Status::Ok, 8)]), "{first:?}");
    assert!(verdicts(&place).values().all(|verdict| *verdict == ProbeVerdict::NotRefuted));
    // Nobody asks again, and a count of the space has the same points.
    let mut again = place.scanbox(&["sweep", "--device", "replay:replay.toml", "--space", "space.toml"]);
    again.args(["--out", "out/other.csv"]);
    assert!(!own_cache(&place, again).stderr.contains(ASKING));
    for device in [["--device", "replay:replay.toml"], ["--profile", "out/test.meta.json"]] {
        let mut count = place.scanbox(&["space", "--space", "space.toml", "--format", "json"]);
        count.args(device);
        let counted = own_cache(&place, count);
        let counts: serde_json::Value = serde_json::from_str(&counted.stdout).unwrap();
        assert_eq!(counts["configs"], 8, "{counted:?}");
    }
    // What a pack is of is what the list says: nothing was promised.
    let device = scanbox_session::pack::known(&place.metadata().device).unwrap();
    assert!(device.guarantees.is_empty() && device.guarantee_facts.probe.is_none(), "{device:?}");
    assert!(
        !Guarantee::VALUES
            .iter()
            .any(|guarantee| *guarantee != Guarantee::Progress && device.gives(*guarantee))
    );
}

#[test]
fn what_is_refuted_closes_configs_unless_the_user_assumes_it() {
    let place = place("[probe]\norder = false\ntogether = false\n");
    let ended = sweep(&place, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("workgroup-order is refuted: round 1 of 8"), "{ended:?}");
    assert!(ended.stderr.contains("waited 500 ms for each other without success"), "{ended:?}");
    assert_eq!(place.records().len(), 2);
    let found = verdicts(&place);
    assert_eq!(found[&Guarantee::WorkgroupOrder], ProbeVerdict::Refuted);
    assert_eq!(found[&Guarantee::CoResidency], ProbeVerdict::Refuted);
    assert_eq!(found[&Guarantee::SubgroupProgress], ProbeVerdict::NotRefuted);
    let counts = |assume: &[&str]| {
        let words = [
            &["space", "--space", "space.toml", "--format", "json", "--device", "replay:replay.toml"],
            assume,
        ];
        let counted = own_cache(&place, place.scanbox(&words.concat()));
        serde_json::from_str::<serde_json::Value>(&counted.stdout).unwrap()
    };
    let text = counts(&[]).to_string();
    assert!(text.contains("was seen not to give the guarantee workgroup-order"), "{text}");
    assert_eq!(counts(&["--assume", "workgroup-order"])["configs"], 4);
    // How many fit is not known, and whoever assumes that they run together takes the consequences.
    let assumed = sweep(&place, &["--assume", "workgroup-order,co-residency"]);
    assert_eq!(assumed.code, Some(0), "{assumed:?}");
    assert_eq!(statuses(&place.records()), BTreeMap::from([(Status::Ok, 8)]));
}

/// A script that answers everything, with a fault in the call of a probe.
fn faulty(kind: &str, probe: &str) -> String {
    format!("[probe]\n[[fault]]\nkind = \"{kind}\"\nconfig = \"probe.{probe}\"\n")
}

/// Another sweep of the place, in a file of its own.
fn other(place: &Place) -> Ended {
    let words =
        ["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--out", "out/other.csv"];
    own_cache(place, place.scanbox(&words))
}

/// What is kept, as guarantees with their verdicts.
fn kept_verdicts(place: &Place) -> BTreeMap<Guarantee, ProbeVerdict> {
    let text = kept(place).first().map(|path| fs::read_to_string(path).unwrap());
    let file: Option<serde_json::Value> = text.map(|text| serde_json::from_str(&text).unwrap());
    let probe = file
        .map_or_else(GuaranteesProbe::default, |file| serde_json::from_value(file["probe"].clone()).unwrap());
    probe.findings.into_iter().map(|finding| (finding.guarantee, finding.verdict)).collect()
}

/// The device did not survive it, so that nobody tries again, and nothing waits there; `--timeout` is about configs.
#[test]
fn a_probe_that_hangs_or_dies_is_a_finding() {
    use Guarantee::{Progress, WorkgroupOrder};
    for (kind, probe, guarantee, why, rows) in [
        ("hang", "order", WorkgroupOrder, "it hangs: no answer within 15 s", 6),
        ("crash", "order", WorkgroupOrder, "the worker ended: killed by signal", 6),
        ("device_lost", "order", WorkgroupOrder, "scripted", 6),
        ("crash", "progress", Progress, "the worker ended: killed by signal", 0),
        ("device_lost", "progress", Progress, "scripted", 0),
    ] {
        let place = place(&faulty(kind, probe));
        let ended = sweep(&place, &["--timeout", "1s"]);
        assert_eq!(ended.code, Some(if rows > 0 { 0 } else { 2 }), "{kind}: {ended:?}");
        assert!(ended.stderr.contains(&format!("{guarantee} is hung: {why}")), "{ended:?}");
        let found = kept_verdicts(&place);
        assert_eq!(found.len(), Guarantee::VALUES.len(), "{found:?}");
        for (other, verdict) in found {
            let expected = if other == guarantee { ProbeVerdict::Hung } else { ProbeVerdict::NotRefuted };
            assert_eq!(verdict, expected, "{kind}: {other}: {}", ended.stderr);
        }
        // All others are open, and nobody asks a device again what it hung of.
        if rows > 0 {
            assert_eq!(place.records().len(), rows, "{kind}");
        }
        let again = other(&place);
        assert!(!again.stderr.contains(ASKING), "{again:?}");
        let counted = own_cache(
            &place,
            place.scanbox(&["space", "--space", "space.toml", "--device", "replay:replay.toml"]),
        );
        assert!(counted.stdout.contains(&format!("needs-{guarantee}")), "{counted:?}");
    }
}

/// What was cut short is no finding: it is asked again, and that alone.
#[test]
fn what_was_cut_short_is_asked_again() {
    let place = place(&faulty("out_of_memory", "order"));
    let ended = sweep(&place, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("workgroup-order is unknown: scripted"), "{ended:?}");
    assert_eq!(
        (verdicts(&place)[&Guarantee::WorkgroupOrder], place.records().len()),
        (ProbeVerdict::Unknown, 6)
    );
    let (before, three) = (fs::read_to_string(&kept(&place)[0]).unwrap(), kept_verdicts(&place));
    assert_eq!((three.len(), three.get(&Guarantee::WorkgroupOrder)), (3, None), "{three:?}");
    // Only what is asked would be refuted now.
    place.script("[probe]\norder = false\nprogress = false\nsubgroups = false\ntogether = false\n");
    let again = other(&place);
    assert!(
        again.stderr.contains(ASKING) && again.stderr.contains("workgroup-order is refuted"),
        "{again:?}"
    );
    let all = kept_verdicts(&place);
    assert_eq!((all.len(), all[&Guarantee::WorkgroupOrder]), (4, ProbeVerdict::Refuted));
    assert_eq!(all[&Guarantee::Progress], ProbeVerdict::NotRefuted);
    assert_ne!(before, fs::read_to_string(&kept(&place)[0]).unwrap());
}

/// What is found is kept before the next guarantee is asked for; whoever ends a worker from outside says nothing about
/// the device.
#[test]
#[cfg(target_os = "linux")]
fn findings_are_kept_one_by_one() {
    use crate::sweeps::{children, signal, wait, wait_until};
    use rustix::process::Signal;
    for whole_run in [true, false] {
        let place = place(&faulty("hang", "order"));
        let mut command = place.command(&[]);
        command.env("SCANBOX_CACHE", place.folder().join("cache"));
        let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the first finding", || !kept_verdicts(&place).is_empty());
        let progress = BTreeMap::from([(Guarantee::Progress, ProbeVerdict::NotRefuted)]);
        assert_eq!(kept_verdicts(&place), progress);
        let workers = children(run.id());
        for pid in if whole_run { vec![run.id()] } else { workers.into_iter().collect() } {
            signal(pid, Signal::KILL);
        }
        let ended = wait(run);
        let found = kept_verdicts(&place);
        assert_eq!(found.get(&Guarantee::WorkgroupOrder), None, "{ended:?}");
        assert_eq!(found.len(), if whole_run { 1 } else { 3 }, "{ended:?}");
        assert_eq!(
            ended.stderr.contains("workgroup-order is unknown: the worker ended"),
            !whole_run,
            "{ended:?}"
        );
        place.script("[probe]\nprogress = false\norder = false\n");
        assert!(other(&place).stderr.contains("workgroup-order is refuted"));
        assert_eq!(kept_verdicts(&place)[&Guarantee::Progress], ProbeVerdict::NotRefuted);
    }
}

/// What was measured on a device goes before a list, whoever asks: and is never measured again for that.
#[test]
fn what_was_seen_goes_before_the_list() {
    const DEVICE: [&str; 2] = ["--device", "replay:replay.toml"];
    let place = place("[probe]\n");
    let list = "[[device]]\nmatch = { device = \"Replay\" }\nwhy = \"a test\"\nguarantees = [\"progress\", \
                \"workgroup-order\", \"subgroup-progress\", \"co-residency\"]\n";
    fs::write(place.folder().join("safe.toml"), list).unwrap();
    let listed = |mut command: Command| {
        command.env("SCANBOX_SAFE_DEVICES", place.folder().join("safe.toml"));
        let ended = own_cache(&place, command);
        assert!(!ended.stderr.contains(ASKING), "{ended:?}");
        ended
    };
    let filter = ["--filter", "family=chained-scan"];
    let before = listed(place.command(&filter));
    assert_eq!((before.code, place.records().len()), (Some(0), 4), "{before:?}");
    let shipped = ["--promises", "progress", "--uses", "pushed", "--portable", "none"];
    let of_rows = [&["pack", "out/test.csv"][..], &shipped, &["-o", "x.scanpack"]].concat();
    let packed = listed(place.scanbox(&of_rows));
    assert_eq!(packed.code, Some(0), "{packed:?}");
    // Somebody asks the device, who has no list.
    place.script("[probe]\nprogress = false\n");
    let asked = other(&place);
    assert!(asked.stderr.contains("progress is refuted"), "{asked:?}");
    let seen = "was seen not to give the guarantee progress";
    let (chained, needs) = ("b4.vec4.par.rake.wg64", "needs-progress");
    let on_pack =
        ["bench", "--pack", "x.scanpack", "--uses", "pushed", "--promises", "progress", "--sizes", "2^18"];
    for (words, with_device, code, said) in [
        (&["space", "--space", "space.toml", "--format", "json"][..], true, 0, seen),
        (
            &["sweep", "--space", "space.toml", "--out", "out/third.csv"],
            true,
            2,
            "no config of space test is left",
        ),
        (&["sweep", "--space", "space.toml", "--out", "out/test.csv", "--dry-run"], true, 2, "is left"),
        (&["verify", chained, "--sizes", "64"], true, 2, needs),
        (&["bench", chained, "--sizes", "65536", "--out", "bench.csv"], true, 1, seen),
        (&["tune", "--space", "./space.toml", "--folder", "."], true, 2, "no config of space test is left"),
        (&on_pack, true, 2, needs),
        (&["pack", "--check", "x.scanpack", "--format", "json"], true, 1, "it needs progress, which"),
        (&of_rows, false, 1, seen),
    ] {
        let ended = listed(place.scanbox(&[words, if with_device { &DEVICE } else { &[] }].concat()));
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains(said), "{words:?}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{words:?}: {ended:?}");
    }
    // Whoever insists gets them.
    let assumed = listed(
        place.scanbox(&[&["verify", chained, "--sizes", "64", "--assume", "progress"], &DEVICE[..]].concat()),
    );
    assert_eq!(assumed.code, Some(0), "{assumed:?}");
}

/// Winners of a sweep are what its rows say, also where nobody has asked the device yet.
#[test]
fn who_needs_no_state_is_known_before_the_device_was_asked() {
    let slow = |factor: f64, tags: &str| {
        format!("[[slow]]\nfactor = {factor:.1}\nconfig = \"b4.vec4.par.rake.{tags}\"\n")
    };
    // By number it is faster than any other but by ticket, keeps its states, and is slow where every call clears them.
    let place = place(&(slow(3.0, "wgid.fill") + &slow(2.0, "fill") + "[probe]\n"));
    let block = SPACE.split("[[block]]").take(2).collect::<Vec<_>>().join("[[block]]");
    // And one that has no states.
    let free = "[[block]]\nfamily = [\"recompute\"]\nbatch_size = [1]\nvector_width = [\"vec4\"]\n\
        workgroup_size = [64]\nlookback = [\"none\"]\nblock_scan = [\"subgroup\"]\nload_layout = [\"striped\"]\n";
    let space = block + "reset = [\"auto\", \"fill\"]\n" + free;
    fs::write(place.folder().join("space.toml"), space).unwrap();
    assert_eq!(sweep(&place, &[]).code, Some(0));
    fs::remove_dir_all(place.folder().join("cache/probes")).unwrap();
    let words =
        ["bench", "--device", "replay:replay.toml", "--from", "out/test.csv", "--scratch", "stateless"];
    let rest = ["--sizes", "2^16", "--rounds", "1", "--out", "bench.csv"];
    let ended = own_cache(&place, place.scanbox(&[&words[..], &rest].concat()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rows = scanbox_model::csv_file::read(&place.folder().join("bench.csv")).unwrap().records;
    let winners = rows.iter().filter(|row| row.selection.contains(&Selection::IdealStateless));
    // Whichever of the two kinds the sweep found faster, both take part.
    let winners: BTreeSet<&str> = winners.map(|row| &*row.config_id).collect();
    let expected = ["b4.vec4.par.rake.fill.wg64", "redo.b1.vec4.none.sub.striped.wg64"];
    assert_eq!(winners, expected.into(), "{rows:?}");
}

/// Rows that other questions have opened, or another device, say nothing about this one.
#[test]
fn a_sweep_goes_on_with_what_was_found_when_it_began() {
    let unchanged = |text: &str| text.to_owned();
    let other_version = |text: &str| text.replace(env!("CARGO_PKG_VERSION"), "0.0.1");
    let other_unit = |text: &str| {
        let metadata: serde_json::Value = serde_json::from_str(text).unwrap();
        text.replace(metadata["device"]["uuid"].as_str().unwrap(), "another unit")
    };
    let seen_since = "[probe]\norder = false\n";
    for (change, again, rows) in [
        (&unchanged as &dyn Fn(&str) -> String, "[probe]\norder = false\n", 8),
        (&other_version, seen_since, 7),
        (&other_unit, seen_since, 7),
    ] {
        let place = place("[probe]\n");
        assert_eq!(sweep(&place, &["--sizes", "2^16"]).code, Some(0));
        fs::remove_dir_all(place.folder().join("cache/probes")).unwrap();
        let beside = place.file("meta.json");
        fs::write(&beside, change(&fs::read_to_string(&beside).unwrap())).unwrap();
        place.script(again);
        let resumed = sweep(&place, &["--accept-device"]);
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
        let is_asked = rows < 8;
        assert_eq!(resumed.stderr.contains(ASKING), is_asked, "{resumed:?}");
        assert_eq!((place.records().len(), kept(&place).len()), (rows, usize::from(is_asked)), "{resumed:?}");
        let order = verdicts(&place)[&Guarantee::WorkgroupOrder];
        assert_eq!(order == ProbeVerdict::Refuted, is_asked, "{order:?}");
    }
    // What was seen since closes what is left.
    let place = place("[probe]\n");
    assert_eq!(sweep(&place, &["--sizes", "2^16"]).code, Some(0));
    fs::remove_dir_all(place.folder().join("cache/probes")).unwrap();
    place.script(seen_since);
    other(&place);
    let resumed = sweep(&place, &[]);
    assert_eq!((resumed.code, place.records().len()), (Some(0), 7), "{resumed:?}");
    assert_eq!(verdicts(&place)[&Guarantee::Progress], ProbeVerdict::NotRefuted);
}

/// Every kernel of the space waits, so another space takes its place, in which none does.
#[test]
fn a_device_without_progress_gets_kernels_that_end() {
    let place = place("[probe]\nprogress = false\n");
    let words = [
        "sweep",
        "--device",
        "replay:replay.toml",
        "--space",
        "quick",
        "--sizes",
        "2^10,2^14",
        "--filter",
        "batch_size=4",
        "--out",
        "out",
    ];
    let ended = own_cache(&place, place.scanbox(&words));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("space safe takes its place"), "{ended:?}");
    let path = place.folder().join("out/replay.safe.csv");
    let records = scanbox_model::csv_file::read(&path).unwrap().records;
    for n in [1 << 10, 1 << 14] {
        assert!(records.iter().filter(|record| record.n_elements == n).count() >= 30, "{n}");
    }
    let device = scanbox_model::metadata::Metadata::read(&path.with_extension("meta.json")).unwrap().device;
    for record in &records {
        assert_eq!(catalog::needs(&record.config_id.parse().unwrap(), &device), Promises::NONE, "{record:?}");
        assert_eq!(record.status, Status::Ok, "{record:?}");
    }
    // Whoever insists gets them.
    let insisting =
        own_cache(&place, place.scanbox(&[&words[..], &["--assume", "progress", "--dry-run"]].concat()));
    assert!(insisting.stdout.contains("space      quick"), "{insisting:?}");
    // A space of one's own stays what it is: without those.
    let own = sweep(&place, &[]);
    assert_eq!(own.code, Some(2), "{own:?}");
}

/// A device that lies: what is assumed does not hold, and it hangs of all that counts on it, from a size on.
#[test]
fn three_that_hang_end_what_hangs_and_not_the_sweep() {
    let hangs = |n: u32| format!("[[fault]]\nkind = \"hang\"\nconfig = \"pers\"\nn = {}\n", 1 << n);
    let place = place(&(15..=20).map(hangs).collect::<String>());
    let sizes = ["--sizes", "2^14,2^15,2^16,2^17,2^18,2^19", "--timeout", "1s"];
    let lies = [&sizes[..], &["--assume", "co-residency,subgroup-progress"]].concat();
    let ended = sweep(&place, &lies);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // Two kinds, with flags and without, of one config each; the other kernel runs, and all run at the smallest size.
    let check = |rows: usize| {
        let records = place.records();
        let counts = statuses(&records);
        let hung: Vec<&Record> = records.iter().filter(|record| record.status == Status::Timeout).collect();
        let ended: Vec<&Record> =
            records.iter().filter(|record| record.status == Status::Unsupported).collect();
        assert_eq!((hung.len() + ended.len(), counts[&Status::Ok]), (2 * rows, rows + 3), "{counts:?}");
        for record in ended {
            let named = hung.iter().filter(|hung| {
                hung.config_id == record.config_id
                    && record.reason.contains(&format!("{} at {}", hung.config_id, hung.n_elements))
            });
            assert_eq!(named.count(), 3, "{}", record.reason);
            let from =
                hung.iter().filter(|hung| hung.config_id == record.config_id).map(|hung| hung.n_elements);
            assert!(from.min().unwrap() <= record.n_elements, "{}", record.reason);
            for part in
                ["[waiting-hangs]", "it needs progress, co-residency", "without --assume", "--retry-failed"]
            {
                assert!(record.reason.contains(part), "{part}: {}", record.reason);
            }
        }
        counts
    };
    let counts = check(5);
    assert!((6..10).contains(&counts[&Status::Timeout]), "{counts:?}");
    // The same command has nothing left to do, and a larger size is not tried either.
    let more = ["--sizes", "2^14,2^15,2^16,2^17,2^18,2^19,2^20", "--timeout", "1s"];
    let resumed = sweep(&place, &[&more[..], &lies[4..]].concat());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(check(6)[&Status::Timeout], counts[&Status::Timeout], "{resumed:?}");
    // A driver that was mended.
    place.script("");
    let again = sweep(&place, &[&lies[..], &["--retry-failed"]].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(statuses(&place.records())[&Status::Ok] >= 18, "{again:?}");
}
