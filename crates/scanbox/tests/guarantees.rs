//! What a device keeps beyond what Vulkan promises: asked, kept, gone by and written down; and kinds of waiting that
//! hang in spite of it. On a replay device whose script says what probes find.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use scanbox_kernels::catalog;
use scanbox_model::guarantee_probe::ProbeVerdict;
use scanbox_model::parameters::Parameter;
use scanbox_model::record::{Record, Status};
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::Promises;

use crate::sweeps::{Ended, Place, ended};

/// What is said when a device is asked.
const ASKING: &str = "asking it what it keeps beyond what Vulkan promises";

/// Kernels that need each guarantee, and one that needs progress alone.
const SPACE: &str = r#"
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

fn place(script: &str) -> Place {
    let place = Place::in_memory(script);
    fs::write(place.folder().join("space.toml"), SPACE).unwrap();
    place
}

/// The command in a cache folder of the place's own.
fn own_cache(place: &Place, mut command: Command) -> Ended {
    command.env("SCANBOX_CACHE", place.folder().join("cache"));
    ended(command.output().unwrap())
}

fn sweep(place: &Place, args: &[&str]) -> Ended {
    own_cache(place, place.command(args))
}

fn kept(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.folder().join("cache/probes")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// How many rows there are of each status.
fn statuses(records: &[Record]) -> BTreeMap<Status, usize> {
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
    assert!(ended.stderr.contains("waited 500 ms for each other in vain"), "{ended:?}");
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

/// As many as were seen, and no more.
#[test]
fn how_many_fit_is_what_was_counted() {
    // 16 units are assumed, so that 32 workgroups of 64 are launched; of a software device larger ones are counted.
    for (invocations, expected) in [(32 * 256, Status::Ok), (32 * 256 - 1, Status::Unsupported)] {
        let place = place(&format!("[probe]\ninvocations = {invocations}\n"));
        sweep(&place, &["--filter", "family=persistent"]);
        assert_eq!(statuses(&place.records()), BTreeMap::from([(expected, 4)]), "{invocations}");
        for record in place.records().iter().filter(|_| expected != Status::Ok) {
            assert!(record.reason.contains("32 workgroups that have to run at the same time, where 31 fit"));
        }
    }
}

#[test]
fn a_probe_that_hangs_or_dies_is_a_finding() {
    for (kind, why) in
        [("hang", "it hangs: no answer within 8 s"), ("crash", "the worker ended: killed by signal")]
    {
        let fault = format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"probe.order\"\n");
        let place = place(&format!("[probe]\n{fault}"));
        let ended = sweep(&place, &["--timeout", "8s"]);
        assert_eq!(ended.code, Some(0), "{kind}: {ended:?}");
        assert!(ended.stderr.contains(&format!("workgroup-order is unknown: {why}")), "{ended:?}");
        let found = verdicts(&place);
        assert_eq!(found.len(), Guarantee::VALUES.len(), "{found:?}");
        for (guarantee, verdict) in found {
            let unknown = guarantee == Guarantee::WorkgroupOrder;
            let expected = if unknown { ProbeVerdict::Unknown } else { ProbeVerdict::NotRefuted };
            assert_eq!(verdict, expected, "{kind}: {guarantee}: {}", ended.stderr);
        }
        // All others are open, and nobody asks a device again what it hung of.
        assert_eq!((place.records().len(), kept(&place).len()), (6, 1));
        let mut again = place.scanbox(&["sweep", "--device", "replay:replay.toml", "--space", "space.toml"]);
        again.args(["--out", "out/other.csv"]);
        assert!(!own_cache(&place, again).stderr.contains(ASKING));
    }
}

#[test]
fn a_sweep_goes_on_with_what_was_found_when_it_began() {
    let place = place("[probe]\n");
    assert_eq!(sweep(&place, &["--sizes", "2^16"]).code, Some(0));
    fs::remove_dir_all(place.folder().join("cache/probes")).unwrap();
    place.script("[probe]\norder = false\ntogether = false\n");
    let resumed = sweep(&place, &[]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(!resumed.stderr.contains(ASKING), "{resumed:?}");
    assert_eq!((place.records().len(), kept(&place).len()), (8, 0));
    assert!(verdicts(&place).values().all(|verdict| *verdict == ProbeVerdict::NotRefuted));
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

/// A device that lies: what is assumed does not hold, and it hangs of all that counts on it.
#[test]
fn three_that_hang_end_their_kind_and_not_the_sweep() {
    let fault = "[[fault]]\nkind = \"hang\"\nconfig = \"pers\"\n";
    let place = place(fault);
    let sizes = ["--sizes", "2^14,2^15,2^16,2^17,2^18,2^19", "--timeout", "1s"];
    let lies = [&sizes[..], &["--assume", "co-residency,subgroup-progress"]].concat();
    let ended = sweep(&place, &lies);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // Two kinds, with flags and without, of six points each; the other kernel runs.
    let expected = BTreeMap::from([(Status::Ok, 6), (Status::Timeout, 6), (Status::Unsupported, 6)]);
    let records = place.records();
    assert_eq!(statuses(&records), expected, "{ended:?}");
    let hung: Vec<&Record> = records.iter().filter(|record| record.status == Status::Timeout).collect();
    for record in records.iter().filter(|record| record.status == Status::Unsupported) {
        let named = hung.iter().filter(|hung| {
            hung.config_id == record.config_id
                && record.reason.contains(&format!("{} at {}", hung.config_id, hung.n_elements))
        });
        assert_eq!(named.count(), 3, "{}", record.reason);
        for part in
            ["[waiting-hangs]", "it needs progress, co-residency", "without --assume", "--retry-failed"]
        {
            assert!(record.reason.contains(part), "{part}: {}", record.reason);
        }
    }
    // The same command has nothing left to do, and another size of such a kind is not tried either.
    let more = ["--sizes", "2^14,2^15,2^16,2^17,2^18,2^19,2^20", "--timeout", "1s"];
    let resumed = sweep(&place, &[&more[..], &lies[4..]].concat());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let expected = BTreeMap::from([(Status::Ok, 7), (Status::Timeout, 6), (Status::Unsupported, 8)]);
    assert_eq!(statuses(&place.records()), expected, "{resumed:?}");
    // A driver that was mended.
    place.script("");
    let again = sweep(&place, &[&lies[..], &["--retry-failed"]].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(statuses(&place.records())[&Status::Ok] >= 18, "{again:?}");
}
