//! Kernels whose workgroups all have to run at the same time: how many fit, of the program that runs, and what of them
//! is shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use scanbox_model::record::{Record, Status};
use scanbox_pack::Pack;

use crate::guarantees::{SPACE, place, statuses, sweep};
use crate::pack::swept;
use crate::sweeps::ended;

/// As many as were seen, and no more, also where it is assumed that those that fit run together.
#[test]
fn how_many_fit_is_what_was_counted() {
    // 16 units are assumed, so that 32 workgroups of 64 are launched; of a software device larger ones are counted.
    for (invocations, expected) in [(32 * 256, Status::Ok), (32 * 256 - 1, Status::Unsupported)] {
        let place = place(&format!("[probe]\ninvocations = {invocations}\n"));
        sweep(&place, &["--filter", "family=persistent"]);
        assert_eq!(statuses(&place.records()), BTreeMap::from([(expected, 4)]), "{invocations}");
        fs::remove_dir_all(place.folder().join("out")).unwrap();
        sweep(&place, &["--filter", "family=persistent", "--assume", "co-residency"]);
        assert_eq!(statuses(&place.records()), BTreeMap::from([(expected, 4)]), "{invocations}, assumed");
        for record in place.records().iter().filter(|_| expected != Status::Ok) {
            assert!(record.reason.contains("32 workgroups that have to run at the same time, where 31 fit"));
        }
    }
}

/// What counts is the program that runs: with its arguments in it a kernel may take more registers than before they
/// were known, so that fewer of its workgroups fit.
#[test]
fn a_kernel_with_its_arguments_in_it_is_counted_as_it_runs() {
    let space = SPACE.replace("rendezvous", "arguments = [\"push\", \"baked\"]\nrendezvous");
    for (registers, baked) in [(64, Status::Ok), (255, Status::Unsupported)] {
        let place = place(&format!("baked_registers = {registers}\n[probe]\n"));
        fs::write(place.folder().join("space.toml"), &space).unwrap();
        sweep(&place, &["--filter", "family=persistent"]);
        let (of_baked, pushed): (Vec<Record>, Vec<_>) =
            place.records().into_iter().partition(|record| record.config_id.contains(".baked."));
        assert_eq!(statuses(&of_baked), BTreeMap::from([(baked, 4)]), "{registers}: {of_baked:?}");
        assert_eq!(statuses(&pushed), BTreeMap::from([(Status::Ok, 4)]), "{registers}");
        assert!(of_baked.iter().all(|record| record.registers == Some(registers)));
        let fits = of_baked.iter().all(|record| record.reason.contains("255 registers per invocation"));
        assert_eq!(fits, baked == Status::Unsupported);
    }
}

/// A build with late workgroups takes more registers. Where fewer of them fit than have to run together, the config
/// that is verified has failed in nothing.
#[test]
fn a_late_build_that_does_not_fit_blames_nobody() {
    for (registers, calls) in [(32, 11), (255, 10)] {
        let place = place(&format!("late_registers = {registers}\n[probe]\n"));
        let verify =
            ["verify", "--device", "replay:replay.toml", "--space", "space.toml", "--format", "json"];
        let mut command = place.scanbox(&verify);
        command.env("SCANBOX_CACHE", place.folder().join("cache"));
        command.args(["--filter", "family=persistent", "--sizes", "65536", "--inputs", "random"]);
        let ended = ended(command.output().unwrap());
        assert_eq!(ended.code, Some(0), "{registers}: {}{}", ended.stdout, ended.stderr);
        let answer: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        let of = |name: &str| answer[name].as_u64().unwrap();
        assert_eq!((of("cases"), of("calls")), (2, 2 * calls), "{registers}: {answer:#}");
    }
}

/// A kernel for subgroups of another size than the device's own choice fits as often as was counted of that size.
#[test]
fn workgroups_are_counted_of_every_subgroup_size() {
    let place = place("hardware = true\nsubgroup_sizes = [16, 32]\npinned_subgroups = 64\n[probe]\n");
    let text = SPACE.replace("workgroups_per_unit", "subgroup_size = [\"all\"]\nworkgroups_per_unit");
    fs::write(place.folder().join("space.toml"), text).unwrap();
    sweep(&place, &["--filter", "family=persistent"]);
    let residents = place.metadata().device.guarantee_facts.probe.unwrap().residents;
    assert!([None, Some(16)].iter().all(|size| residents.iter().any(|shape| shape.subgroup_size == *size)));
    assert_eq!(statuses(&place.records()), BTreeMap::from([(Status::Ok, 8)]));
}

/// A program bakes other numbers of elements than the sweep, and the driver makes another kernel of each: fewer of its
/// workgroups may fit than were seen to.
#[test]
fn workgroups_that_run_together_are_shipped_without_their_arguments() {
    let space = SPACE.replace("workgroup_size", "arguments = [\"block\", \"baked\"]\nworkgroup_size");
    let place = swept(&space, &["--assume", "workgroup-order,co-residency"]);
    let all = "progress+workgroup-order+co-residency";
    let args = ["pack", "rows.csv", "--uses", "line,baked", "--promises", all, "--portable", "none"];
    place.run(&[&args[..], &["-o", "all.scanpack"]].concat(), 0);
    let pack = Pack::read(&fs::read(place.folder().join("all.scanpack")).unwrap()).unwrap();
    let labels: BTreeSet<_> = pack.data().recipes.iter().map(|recipe| recipe.label.as_str()).collect();
    let has = |family: &str, arguments: &str| {
        labels
            .iter()
            .any(|label| label.starts_with("pers.") == (family == "pers") && label.contains(arguments))
    };
    assert!(has("pers", ".block.") && has("par", ".baked.") && !has("pers", ".baked."), "{labels:?}");
}
