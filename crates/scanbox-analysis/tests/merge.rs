//! Which rows stay when files are merged, and that the order of files says nothing.

use std::collections::BTreeMap;

use crate::rows::*;
use proptest::prelude::*;
use scanbox_analysis::grouping::Runs;
use scanbox_analysis::merge::rows::unite;
use scanbox_analysis::merge::{fleet, wrong_points};
use scanbox_model::merged::{MergedInput, MergedUnit};
use scanbox_model::record::{Record, Selection, Status};
use scanbox_model::shard::{ShardBy, ShardOf};

/// A row of one point, named so that a table of tests is short: a day, and what it is.
fn of(day: u32, what: &str) -> Record {
    let mut record = row(A, 64, 100, 10);
    record.timestamp_utc = format!("2026-11-{day:02}T08:00:00Z");
    record.run_id = format!("run {day}");
    record.host = "a".into();
    let fails = |record: Record, status, reason: &str| Record {
        status,
        reason: reason.to_owned(),
        steady: None,
        samples: 0,
        ..record
    };
    match what {
        "ok" => record,
        "faster" => timed(record, 900, 1),
        "confirmed" => Record { confirmed_ns: Some(990), rounds: Some(8), ..record },
        "proof" => Record { proved_calls: Some(1000), ..record },
        "wrong" => fails(record, Status::WrongResult, "3 of 100 elements are wrong"),
        "timeout" => fails(record, Status::Timeout, "it took longer"),
        "lost" => fails(record, Status::DeviceLost, "gone"),
        "quarantined" => fails(record, Status::Quarantined, "2 workers ended while they ran it"),
        "retracted" => {
            Record { status: Status::Timeout, reason: "in the confirmation: it took longer".into(), ..record }
        }
        "retracted wrong" => Record {
            status: Status::WrongResult,
            reason: "in the confirmation: 3 of 100 elements are wrong".into(),
            ..record
        },
        "other host" => Record { host: "b".into(), ..record },
        "other bus" => Record { pci_address: "0000:41:00.0".into(), ..record },
        "other driver" => Record { driver: "driver 2".into(), ..record },
        "other kernels" => Record { kernel_hash: "other".into(), ..record },
        "other size" => Record { n_elements: 200, ..record },
        "named" => Record { selection: vec![Selection::Named], ..record },
        other => panic!("{other}"),
    }
}

const WHAT: [&str; 17] = [
    "ok",
    "faster",
    "confirmed",
    "proof",
    "wrong",
    "timeout",
    "lost",
    "quarantined",
    "retracted",
    "retracted wrong",
    "other host",
    "other bus",
    "other driver",
    "other kernels",
    "other size",
    "named",
    "ok",
];

#[test]
fn of_several_rows_of_a_point_those_stay_that_resume_and_analysis_go_by() {
    fn check(rows: &[(u32, &str)], expected: &[(u32, &str)], wrong: u64) {
        let records: Vec<Record> = rows.iter().map(|&(day, what)| of(day, what)).collect();
        let mut expected: Vec<Record> = expected.iter().map(|&(day, what)| of(day, what)).collect();
        expected.sort_by_key(|row| row.timestamp_utc.clone());
        for order in [records.clone(), records.iter().rev().cloned().collect()] {
            let united = unite(order);
            assert_eq!(united.records, expected, "{rows:?}");
            assert_eq!(wrong_points(&united.records), wrong, "{rows:?}");
            let left_out = united.repeated + united.replaced + united.failed_elsewhere;
            assert_eq!(left_out as usize + united.records.len(), rows.len(), "{rows:?}");
        }
    }
    check(&[], &[], 0);
    check(&[(1, "ok"), (1, "ok"), (1, "ok")], &[(1, "ok")], 0);
    // The later one of two that are ok.
    check(&[(1, "ok"), (2, "faster")], &[(2, "faster")], 0);
    check(&[(2, "ok"), (1, "faster")], &[(2, "ok")], 0);
    // What ended an attempt hides nothing that another one has measured, before or after.
    check(&[(1, "quarantined"), (2, "ok")], &[(2, "ok")], 0);
    check(&[(2, "quarantined"), (1, "ok")], &[(1, "ok")], 0);
    check(&[(3, "timeout"), (2, "lost"), (1, "ok")], &[(1, "ok")], 0);
    // Of failures alone one stays, rather one that was tried.
    check(&[(1, "timeout"), (2, "lost")], &[(2, "lost")], 0);
    check(&[(1, "timeout"), (2, "quarantined")], &[(1, "timeout")], 0);
    check(&[(1, "quarantined"), (2, "quarantined")], &[(2, "quarantined")], 0);
    // Nothing hides a wrong result; what was proved later takes it back, and stays for that.
    check(&[(1, "wrong"), (2, "ok")], &[(1, "wrong"), (2, "ok")], 1);
    check(&[(2, "wrong"), (1, "ok")], &[(2, "wrong"), (1, "ok")], 1);
    check(&[(1, "wrong"), (3, "wrong"), (2, "timeout")], &[(1, "wrong"), (3, "wrong")], 1);
    check(&[(1, "wrong"), (2, "proof"), (3, "ok")], &[(1, "wrong"), (2, "proof"), (3, "ok")], 0);
    check(&[(3, "wrong"), (2, "proof")], &[(3, "wrong"), (2, "proof")], 1);
    // A confirmation changes rows that are there: its state is the last one of a row.
    check(&[(1, "ok"), (1, "confirmed")], &[(1, "confirmed")], 0);
    check(&[(1, "confirmed"), (2, "ok")], &[(2, "ok")], 0);
    check(&[(1, "ok"), (2, "retracted")], &[(2, "retracted")], 0);
    check(&[(1, "ok"), (2, "retracted"), (3, "quarantined")], &[(2, "retracted")], 0);
    check(&[(1, "ok"), (2, "retracted"), (3, "faster")], &[(2, "retracted"), (3, "faster")], 0);
    check(&[(1, "proof"), (2, "retracted wrong")], &[(2, "retracted wrong")], 1);
    // Other units, drivers, kernels and sizes are other points.
    for other in ["other host", "other bus", "other driver", "other kernels", "other size"] {
        check(&[(1, "timeout"), (2, other)], &[(1, "timeout"), (2, other)], 0);
    }
    // What is said beside points stays, each row once.
    check(&[(1, "named"), (2, "named"), (2, "named")], &[(1, "named"), (2, "named")], 0);
}

#[test]
fn clocks_decide_between_two_ok_rows_of_a_unit_and_nothing_else() {
    // One host's clock is a year behind: each of its rows stays or goes as if it was not.
    for what in ["wrong", "timeout", "quarantined", "ok", "proof"] {
        for (own, other) in [(1, 20), (20, 1)] {
            let here = |rows: &[Record]| -> Vec<Status> {
                rows.iter().filter(|row| row.host == "a").map(|row| row.status).collect()
            };
            let alone = unite(vec![of(own, what)]);
            let both = unite(vec![of(own, what), of(other, "other host")]);
            assert_eq!(here(&alone.records), here(&both.records), "{what}");
        }
    }
    let (early, late) =
        (unite(vec![of(1, "quarantined"), of(9, "ok")]), unite(vec![of(9, "quarantined"), of(1, "ok")]));
    assert_eq!(early.records[0].status, late.records[0].status);
}

/// Rows of few points, so that many are of one.
fn rows() -> impl Strategy<Value = Vec<Record>> {
    let one = (1..4u32, 0..WHAT.len(), 0..2u64).prop_map(|(day, what, order)| {
        let mut record = of(day, WHAT[what]);
        record.order_index = order;
        record
    });
    proptest::collection::vec(one, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn merging_in_parts_is_merging_at_once(rows in rows(), parts in proptest::collection::vec(0..3usize, 40), shuffle in any::<u64>()) {
        let whole = unite(rows.clone()).records;
        // Again, it is what it is.
        prop_assert_eq!(&unite(whole.clone()).records, &whole);
        // In another order.
        let mut other = rows.clone();
        other.sort_by_key(|row| (u64::from(row.timestamp_utc.as_bytes()[9]) ^ shuffle, row.order_index ^ shuffle));
        prop_assert_eq!(&unite(other).records, &whole);
        // In parts, whose unions are merged, with some of the rows once more.
        let part = |number: usize| -> Vec<Record> {
            rows.iter().zip(&parts).filter(|(_, part)| **part == number).map(|(row, _)| row.clone()).collect()
        };
        let mut together: Vec<Record> = (0..3).flat_map(|number| unite(part(number)).records).collect();
        together.extend(part(1));
        prop_assert_eq!(&unite(together).records, &whole);
    }

    #[test]
    fn what_is_analysed_of_a_union_is_what_is_analysed_of_the_files(rows in rows()) {
        // A single file never has both: a confirmation changes the rows that are there.
        let rows: Vec<Record> = rows.into_iter().filter(|row| !row.reason.starts_with("in the")).collect();
        let united = unite(rows.clone()).records;
        let cells = |records: &[Record]| {
            let (tables, _) = tables_of(&[source(records)], Runs::All);
            let of = |table: &scanbox_analysis::table::DeviceTable| {
                let cells: Vec<_> = (0..table.sizes.len()).flat_map(|at| table.cells_at(at).to_vec()).collect();
                (table.device.clone(), table.provenance.clone(), cells, table.distrusted.clone())
            };
            tables.devices.iter().map(of).collect::<Vec<_>>()
        };
        prop_assert_eq!(cells(&united), cells(&rows));
    }
}

/// An anchor of a unit, and a point of it, at two sizes.
fn of_unit(host: &str, times: u64, drifts: u64) -> Vec<Record> {
    let rows = [100u64, 200].into_iter().flat_map(|n| {
        let base = 1000 * n * times / 100;
        let one = |kernel: &str, selection: Vec<Selection>, ns: u64| Record {
            host: host.into(),
            run_id: format!("run of {host}"),
            selection,
            ..timed(row(kernel, 64, n, 10), ns, 1)
        };
        [
            one(A, vec![Selection::AnchorStart], base),
            one(A, vec![Selection::AnchorEnd], base + base * drifts / 100),
            one(B, vec![Selection::AnchorStart], 2 * base),
            one(C, Vec::new(), 3 * base),
        ]
    });
    rows.collect()
}

#[test]
fn a_unit_that_is_off_at_the_anchors_is_left_out() {
    fn check(units: &[(&str, u64)], expected: &[(&str, f64)], off: &[&str]) {
        let rows: Vec<Record> = units.iter().flat_map(|&(host, times)| of_unit(host, times, 0)).collect();
        let mut rows = unite(rows).records;
        let found = fleet::ratios(&rows, &[]);
        let rounded: Vec<(&str, f64)> = found
            .iter()
            .map(|unit| (unit.unit.host.as_str(), (1000.0 * unit.ratio).round() / 1000.0))
            .collect();
        assert_eq!(rounded, expected);
        assert!(found.iter().all(|unit| unit.ratios.values().all(|ratio| (ratio - unit.ratio).abs() < 1e-9)));
        let is_off: Vec<&str> =
            found.iter().filter(|unit| unit.is_off).map(|unit| unit.unit.host.as_str()).collect();
        assert_eq!(is_off, off);
        let points = |rows: &[Record], host: &str| {
            rows.iter().filter(|row| row.host == host && row.selection.is_empty()).count()
        };
        let anchors = rows.iter().filter(|row| row.is_anchor()).count();
        let file = |(host, _): &(&str, u64)| file_of(&rows, host, &format!("run of {host}"), None);
        let files: Vec<MergedInput> = units.iter().map(file).collect();
        let left_out = fleet::leave_out_units(&mut rows, &found, &files);
        assert_eq!((left_out.reasons.len(), left_out.rows as usize), (off.len(), 2 * off.len()));
        for (host, _) in units {
            assert_eq!(points(&rows, host), if off.contains(host) { 0 } else { 2 }, "{host}");
        }
        // What shows it stays: the same is found again.
        assert_eq!(rows.iter().filter(|row| row.is_anchor()).count(), anchors);
        assert_eq!(fleet::ratios(&rows, &[]), found);
        for (reason, host) in left_out.reasons.iter().zip(off) {
            assert!(reason.contains(&format!("the unit on {host} is ")), "{reason}");
            let told = format!("than the others at the anchors ({host}.csv): 2 rows left out");
            assert!(reason.contains(&told), "{reason}");
        }
    }
    check(&[], &[], &[]);
    check(&[("a", 100)], &[("a", 1.0)], &[]);
    // Of two that differ nobody can say which is off.
    check(&[("a", 100), ("b", 150)], &[("a", 0.8), ("b", 1.2)], &[]);
    check(&[("a", 98), ("b", 100), ("c", 102)], &[("a", 0.98), ("b", 1.0), ("c", 1.02)], &[]);
    check(&[("a", 98), ("b", 100), ("c", 104)], &[("a", 0.98), ("b", 1.0), ("c", 1.04)], &[]);
    check(&[("a", 100), ("b", 110), ("c", 100)], &[("a", 1.0), ("b", 1.1), ("c", 1.0)], &["b"]);
    check(
        &[("a", 100), ("b", 90), ("c", 101), ("d", 111), ("e", 100)],
        &[("a", 1.0), ("b", 0.9), ("c", 1.01), ("d", 1.11), ("e", 1.0)],
        &["b", "d"],
    );
}

/// The file of one run on one host: a shard whose anchors drifted, or one that kept its speed.
fn file_of(rows: &[Record], host: &str, run: &str, drift: Option<f64>) -> MergedInput {
    let own = || rows.iter().filter(|row| row.host == host && row.run_id == run);
    MergedInput {
        name: format!("{host}.csv"),
        rows: own().count() as u64,
        shard: Some(ShardOf {
            index: 1,
            count: 2,
            by: ShardBy::Pipeline,
            points: "feed".into(),
            of_points: 4,
            anchor_drift_pct: drift,
        }),
        units: own().map(MergedUnit::of).collect(),
        run_ids: own().map(|row| row.run_id.clone()).collect(),
        device: None,
        ceiling_gbps: BTreeMap::new(),
    }
}

/// Units that drifted once, and were measured again: who is off is asked of the anchors of the runs that count.
#[test]
fn anchors_of_shards_that_drifted_judge_nobody() {
    let again = |host: &str| -> Vec<Record> {
        let row = |row: Record| Record { run_id: format!("again on {host}"), ..row };
        of_unit(host, 100, 0).into_iter().map(row).collect()
    };
    // Each row: by how much units b and c were slower in the run that drifted, and whether that was all they measured.
    let check = |slower: u64, is_again: bool, expected: &[(&str, f64)], told: usize| {
        let mut rows = of_unit("a", 100, 0);
        let mut inputs = vec![file_of(&rows, "a", "run of a", Some(0.0))];
        for host in ["b", "c"] {
            let first = of_unit(host, 100 + slower, 0);
            inputs.push(file_of(&first, host, &format!("run of {host}"), Some(15.0)));
            rows.extend(first);
            if is_again {
                let second = again(host);
                inputs.push(file_of(&second, host, &format!("again on {host}"), Some(0.0)));
                rows.extend(second);
            }
        }
        // Points that only b and c have.
        for row in rows.iter_mut().filter(|row| row.host != "a" && row.selection.is_empty()) {
            row.config_id = format!("{} of {}", row.config_id, row.host);
        }
        let left_out = fleet::leave_out_drifted(&mut rows, &inputs);
        assert_eq!(left_out.reasons.len(), told, "{slower} {is_again}: {:?}", left_out.reasons);
        let rows = unite(rows).records;
        let found = fleet::ratios(&rows, &inputs);
        let seen: Vec<(&str, f64)> = found.iter().map(|unit| (unit.unit.host.as_str(), unit.ratio)).collect();
        assert_eq!(seen, expected, "{slower} {is_again}");
        assert!(found.iter().all(|unit| !unit.is_off), "{slower} {is_again}");
    };
    let all = [("a", 1.0), ("b", 1.0), ("c", 1.0)];
    check(30, true, &all, 0);
    check(0, true, &all, 0);
    check(30, false, &all[..1], 2);
}

#[test]
fn a_shard_whose_anchors_drift_is_left_out() {
    let check = |drift: Option<f64>, expected: u64| {
        let mut rows: Vec<Record> = [of_unit("a", 100, 0), of_unit("b", 100, 3)].concat();
        for row in rows.iter_mut().filter(|row| row.host == "a") {
            row.config_id += " of a";
        }
        let input = file_of(&rows, "b", "run of b", drift);
        let left_out = fleet::leave_out_drifted(&mut rows, &[input]);
        assert_eq!((left_out.rows, left_out.reasons.len() as u64), (expected, u64::from(expected > 0)));
        assert_eq!(rows.iter().filter(|row| row.host == "b").count(), 8 - expected as usize);
        assert_eq!(rows.iter().filter(|row| row.host == "a").count(), 8);
        for reason in left_out.reasons {
            assert!(
                reason
                    .contains("b.csv: the anchors of --shard 1/2 --shard-by pipeline took +3.0 % at the end"),
                "{reason}"
            );
        }
    };
    check(None, 0);
    check(Some(1.9), 0);
    check(Some(3.0), 2);
}
