//! Wrong once is wrong until shown right, whichever row or file came first.

use crate::rows::*;
use scanbox_analysis::answers::{Question, answer};
use scanbox_analysis::between::between;
use scanbox_analysis::grouping::Runs;
use scanbox_analysis::trust::Trust;
use scanbox_model::call_form::CallForm;
use scanbox_model::record::{Cache, Record, Selection, Status};

/// A wins everywhere, B is second.
fn good() -> Vec<Record> {
    let sizes = [100u64, 200, 300];
    let at = |n| [row(A, 64, n, 30), row(B, 64, n, 20), row(C, 64, n, 10)];
    sizes.into_iter().flat_map(at).collect()
}

fn at(mut record: Record, day: u32) -> Record {
    record.timestamp_utc = format!("2026-11-{day:02}T08:00:00Z");
    record
}

fn wrong(record: Record) -> Record {
    Record { status: Status::WrongResult, mismatches: Some(1), steady: None, samples: 0, ..record }
}

fn proved(record: Record, calls: u32) -> Record {
    Record { proved_calls: Some(calls), ..record }
}

fn a_at_200() -> Record {
    row(A, 64, 200, 30)
}

/// What wins at 200 elements of the first device, and which kernel is the best one.
fn winners(files: &[Vec<Record>]) -> (String, String) {
    let sources: Vec<_> = files.iter().map(|records| source(records)).collect();
    let (tables, warnings) = tables_of(&sources, Runs::Latest);
    let question = Question { portfolio: Some(3), distributions: true, ..Question::default() };
    let (answers, _) = answer(&tables, &question);
    let device = &answers.devices[0];
    let point = device.ideal.points.iter().find(|point| point.n == 200).unwrap();
    let winner = tables.catalog.config(point.best.config).kernel.to_string();
    let best = device.choice.as_ref().unwrap().ranking.winner.kernel;
    let best = tables.catalog.kernel(best).to_string();
    // Nothing else is about what does not count.
    let distrusts = winner != A;
    let told = warnings.iter().map(ToString::to_string).find(|text| text.contains("wrong result once"));
    assert_eq!(told.is_some(), distrusts, "{warnings:?}");
    assert_eq!(device.table.distrusted.is_empty(), !distrusts);
    if let Some(told) = told {
        for part in ["b1.vec2.seq.rake.wg64 at 200", "--retry-failed --prove"] {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(device.densities.iter().find(|density| density.n == 200).unwrap().configs, 2);
        let launch = between(&tables.catalog, device.table, 150, |_| true).unwrap();
        assert_ne!(launch.kernel.to_string(), A);
        let dropped = device.eligibility.dropped.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(dropped.len(), 1);
        assert!(
            dropped[0].starts_with("no ok row at 200 (") && dropped[0].ends_with(" wrong_result)"),
            "{dropped:?}"
        );
    }
    (winner, best)
}

#[test]
fn a_config_that_was_wrong_wins_nowhere_until_it_is_proved() {
    let check = |extra: Vec<Record>, trusted: bool| {
        let expected = if trusted { (A.to_owned(), A.to_owned()) } else { (B.to_owned(), B.to_owned()) };
        let mut first = extra.clone();
        first.extend(good());
        let mut last = good();
        last.extend(extra.clone());
        // In one file in either order, and in two.
        for files in [vec![first], vec![last], vec![good(), extra.clone()], vec![extra.clone(), good()]] {
            assert_eq!(winners(&files), expected, "{extra:?}");
        }
    };
    let (early, late) = (at(wrong(a_at_200()), 1), at(wrong(a_at_200()), 30));
    // Rows of the sweep are of 2025-11-21.
    check(vec![], true);
    check(vec![early.clone()], false);
    check(vec![late.clone()], false);
    // An ok row that nobody made for it shows nothing, however late.
    check(vec![early.clone(), at(a_at_200(), 29)], false);
    check(vec![early.clone(), at(proved(a_at_200(), 0), 29)], false);
    check(vec![early.clone(), at(proved(a_at_200(), 1000), 29)], true);
    check(vec![at(proved(a_at_200(), 1000), 29), late.clone()], false);
    // Within the same second the proof came after what it was made for.
    check(vec![early.clone(), at(proved(a_at_200(), 1000), 1)], true);
    // A proof that found it wrong again is none.
    check(vec![early.clone(), at(proved(wrong(a_at_200()), 10), 29)], false);
    // Another size, config, problem, subject or variant says nothing.
    check(vec![wrong(row(A, 128, 200, 30))], true);
    check(vec![Record { subject: "cub-scan".into(), cache: Some(Cache::Hot), ..early.clone() }], true);
    let of_benchmark = Record { cache: Some(Cache::Hot), selection: vec![Selection::Named], ..early.clone() };
    check(vec![of_benchmark.clone()], false);
    check(vec![Record { blocking: Some(2), ..of_benchmark.clone() }], true);
    check(vec![Record { call_form: Some(CallForm::Total), ..of_benchmark.clone() }], true);
    // The number of workgroups that the size has is no other config.
    let counted = |row: Record| Record { config_id: format!("{}.g2", row.config_id), ..row };
    check(vec![counted(of_benchmark.clone())], false);
    check(vec![counted(of_benchmark.clone()), at(proved(a_at_200(), 1000), 29)], true);
    check(vec![of_benchmark, at(counted(proved(a_at_200(), 1000)), 29)], true);
    for status in Status::ALL.into_iter().filter(|status| ![Status::Ok, Status::WrongResult].contains(status))
    {
        check(vec![Record { status, ..early.clone() }], true);
    }
}

#[test]
fn a_verdict_is_about_one_unit_driver_and_source() {
    let wrong = |change: &dyn Fn(&mut Record)| {
        let mut record = at(wrong(a_at_200()), 1);
        change(&mut record);
        Trust::of([&record])
    };
    let placed = |host: &str, pci: &str| Record { host: host.into(), pci_address: pci.into(), ..a_at_200() };
    let check = |change: &dyn Fn(&mut Record), record: Record, trusted: bool| {
        assert_eq!(wrong(change).trusts(&record), trusted, "{record:?}");
    };
    check(&|_| {}, a_at_200(), false);
    check(&|row| row.driver = "driver 2".into(), a_at_200(), true);
    check(&|row| row.kernel_hash = "other".into(), a_at_200(), true);
    check(&|row| row.device_uuid = "u2".into(), a_at_200(), true);
    // Another version of scanbox with the same sources is the same kernel.
    check(&|row| row.subject_version = "0.2.0".into(), a_at_200(), false);
    // Equal UUIDs on two hosts are two units; an unknown host may be either.
    check(&|row| row.host = "north".into(), placed("south", ""), true);
    check(&|row| row.host = "north".into(), placed("north", "0000:01:00.0"), false);
    check(&|row| row.host = "north".into(), a_at_200(), false);
    check(&|_| {}, placed("south", "0000:01:00.0"), false);
    check(&|row| row.pci_address = "0000:01:00.0".into(), placed("", "0000:02:00.0"), true);
    // A proof on one unit clears no other.
    let mut trust = wrong(&|row| row.host = "north".into());
    trust.push(&at(proved(placed("south", ""), 1000), 29));
    assert!(!trust.trusts(&placed("north", "")));
    trust.push(&at(proved(placed("north", ""), 1000), 29));
    assert!(trust.trusts(&placed("north", "")));
    assert!(Trust::of([&a_at_200()]).is_empty());
}
