//! Units of one model taken together: which are, what they come to, which is off, and that nothing grows faster than
//! they do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::rows::*;
use proptest::prelude::*;
use scanbox_analysis::answers::{DeviceAnswer, Question, answer};
use scanbox_analysis::grouping::{Builder, FileFacts, FileRows, RecordFile, Runs};
use scanbox_analysis::pool::Units;
use scanbox_analysis::table::{DeviceTable, Tables};
use scanbox_analysis::warning::Warning;
use scanbox_model::csv_file;
use scanbox_model::merged::{MergedInput, MergedUnit};
use scanbox_model::record::{Clock, Record, Status, TimeStats};

const KERNELS: [&str; 4] = [A, B, C, D];
const SIZES: [u64; 6] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// The same row of a unit whose times are so many times as long.
fn on_unit(mut record: Record, unit: &str, slower: f64) -> Record {
    record.device_uuid = format!("uuid-{unit}");
    record.host = format!("host-{unit}");
    let scaled = |ns: u64| (ns as f64 * slower).round() as u64;
    record.steady = record.steady.map(|time| TimeStats {
        median_ns: scaled(time.median_ns),
        min_ns: scaled(time.min_ns),
        mean_ns: scaled(time.mean_ns),
        q1_ns: scaled(time.q1_ns),
        q3_ns: scaled(time.q3_ns),
        stddev_ns: 0,
    });
    record
}

/// A sweep whose winners differ from size to size: 8 configs at 6 sizes, times far above a nanosecond's rounding.
fn sweep() -> Vec<Record> {
    let mut rows = Vec::new();
    for (place, n) in SIZES.into_iter().enumerate() {
        for (kernel, label) in KERNELS.into_iter().enumerate() {
            for workgroup_size in [64, 128] {
                let step = (7 * kernel + 5 * place + workgroup_size as usize / 64) % 11;
                let record = row(label, workgroup_size, n, 1_000_000);
                rows.push(timed(record, 1_000_000 + 12_000 * step as u64, 10));
            }
        }
    }
    rows
}

fn tables_by(units: Units, files: &[Vec<Record>]) -> (Tables, Vec<Warning>) {
    let mut builder = Builder::new(Clock::Steady).with_units(units);
    for records in files {
        builder.add(&source(records)).unwrap();
    }
    let (tables, mut warnings) = builder.finish(Runs::Latest);
    warnings.retain(|warning| !matches!(warning, Warning::NoMetadata { .. }));
    (tables, warnings)
}

/// The winner of each size of the first table, with its lead in percent.
fn winners(tables: &Tables) -> BTreeMap<u64, (String, f64)> {
    let (answers, _) = answer(tables, &Question::default());
    let points = answers.devices[0].ideal.points.iter();
    let winner = |point: &scanbox_analysis::ideal::IdealPoint| {
        (tables.catalog.config(point.best.config).to_string(), point.margin_pct.unwrap_or_default())
    };
    points.map(|point| (point.n, winner(point))).collect()
}

#[test]
fn units_are_pooled_where_they_complement_each_other() {
    let all = sweep();
    let of = |unit: &str, keep: &dyn Fn(usize) -> bool| -> Vec<Record> {
        let rows = all.iter().enumerate().filter(|(place, _)| keep(*place));
        rows.map(|(_, row)| on_unit(row.clone(), unit, 1.0)).collect()
    };
    let check = |files: &[Vec<Record>], auto: usize, pool: usize, each: usize| {
        for (units, expected) in [(Units::Auto, auto), (Units::Pool, pool), (Units::Each, each)] {
            let (tables, warnings) = tables_by(units, files);
            assert_eq!(tables.devices.len(), expected, "{units:?}");
            assert!(warnings.is_empty(), "{warnings:?}");
        }
    };
    let whole = |unit| of(unit, &|_| true);
    check(&[whole("a")], 1, 1, 1);
    check(&[whole("a"), whole("b")], 2, 1, 2);
    // By size, by turns, and with points in common.
    check(&[of("a", &|place| place < 24), of("b", &|place| place >= 24)], 1, 1, 2);
    check(&[of("a", &|place| place < 40), of("b", &|place| place >= 8)], 1, 1, 2);
    // One has all, or nearly all.
    check(&[whole("a"), of("b", &|place| place < 24)], 2, 1, 2);
    check(&[of("a", &|place| place != 3), of("b", &|place| place != 5)], 2, 1, 2);
    // Other drivers, and other names, are never put together.
    let mut other = of("b", &|place| place >= 24);
    other.iter_mut().for_each(|row| row.driver = "driver 2".into());
    check(&[of("a", &|place| place < 24), other.clone()], 2, 2, 2);
    other.iter_mut().for_each(|row| (row.driver, row.device) = ("driver 1".into(), "d2".into()));
    check(&[of("a", &|place| place < 24), other], 2, 2, 2);
}

#[test]
fn four_units_apart_have_the_winners_of_one() {
    let all = sweep();
    let alone = tables_by(Units::Each, std::slice::from_ref(&all)).0;
    let expected = winners(&alone);
    let slower = [1.0, 1.02, 1.04, 1.06];
    let files = |keep: &dyn Fn(usize, usize) -> bool| -> Vec<Vec<Record>> {
        let file = |unit: usize| {
            let rows = all.iter().enumerate().filter(|(place, _)| keep(unit, *place));
            rows.map(|(_, row)| on_unit(row.clone(), &unit.to_string(), slower[unit])).collect()
        };
        (0..4).map(file).collect()
    };
    // Each has everything; each has sizes; each has some configs of each size, and five that all have.
    for files in [
        files(&|_, _| true),
        files(&|unit, place| place / 8 % 4 == unit),
        files(&|unit, place| place % 8 < 5 || place % 4 == unit),
    ] {
        let (tables, warnings) = tables_by(Units::Pool, &files);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(tables.devices.len(), 1);
        assert!(tables.devices[0].title.ends_with(", 4 units"), "{}", tables.devices[0].title);
        for (n, (winner, lead)) in winners(&tables) {
            assert!(expected[&n].1 < 1.0 || expected[&n].0 == winner, "{n}: {winner} leads by {lead}");
        }
    }
    // Without points in common that is chance, and said.
    let (_, warnings) = tables_by(Units::Pool, &files(&|unit, place| place % 4 == unit));
    assert!(
        matches!(&warnings[..], [Warning::SizesOverUnits { sizes, .. }] if sizes == &SIZES),
        "{warnings:?}"
    );
}

/// What units measure beside their points says how much they differ, and is no point of theirs.
#[test]
fn anchors_tell_what_units_differ_by() {
    let all = sweep();
    let (alone, _) = tables_by(Units::Each, std::slice::from_ref(&all));
    let check = |slower: [f64; 4], anchors: usize, said: usize, left: usize| {
        let mut builder = Builder::new(Clock::Steady);
        for (unit, &slower) in slower.iter().enumerate() {
            let mut file = FileRows::new("x.csv", Clock::Steady);
            for (place, row) in all.iter().enumerate() {
                let row = on_unit(row.clone(), &unit.to_string(), slower);
                if place % 4 == unit {
                    file.push(&row).unwrap();
                }
                // At the start and at the end.
                if place % 8 < anchors {
                    file.push_anchor(&row).unwrap();
                    file.push_anchor(&row).unwrap();
                }
            }
            builder.add_rows(file, &FileFacts::default());
        }
        let (tables, mut warnings) = builder.finish(Runs::Latest);
        warnings.retain(|warning| !matches!(warning, Warning::NoMetadata { .. }));
        assert_eq!(warnings.len(), said, "{warnings:?}");
        assert_eq!((tables.devices.len(), tables.devices[0].units().len()), (1, left));
        assert_eq!(tables.devices[0].summary.rows, 12 * left as u64);
        tables
    };
    let tables = check([1.0, 1.02, 1.04, 1.06], 5, 0, 4);
    let expected = winners(&alone);
    for (n, (winner, lead)) in winners(&tables) {
        assert_eq!(winner, expected[&n].0);
        assert!((lead - expected[&n].1).abs() < 0.01, "{n}: {lead}");
    }
    check([1.0, 1.02, 1.04, 1.06], 2, 1, 4);
    check([1.0, 1.02, 1.01, 1.12], 5, 1, 3);
}

#[test]
fn a_unit_that_is_off_is_named_and_left_out() {
    let all = sweep();
    let files = |slower: &[f64]| -> Vec<Vec<Record>> {
        let unit = |(unit, &slower): (usize, &f64)| {
            all.iter().map(|row| on_unit(row.clone(), &unit.to_string(), slower)).collect()
        };
        slower.iter().enumerate().map(unit).collect()
    };
    let check = |slower: &[f64], left: usize, said: &[&str]| {
        let (tables, warnings) = tables_by(Units::Pool, &files(slower));
        assert_eq!(tables.devices[0].units().len(), left, "{slower:?}");
        assert_eq!(warnings.len(), usize::from(!said.is_empty()), "{warnings:?}");
        for text in said {
            assert!(warnings[0].to_string().contains(text), "{text}: {}", warnings[0]);
        }
        tables
    };
    let three = check(&[1.0, 1.02, 1.01], 3, &[]);
    let four =
        check(&[1.0, 1.02, 1.01, 1.1], 3, &["on host-3 is 8.", "% slower (median of 48 points)", "left out"]);
    assert_eq!(winners(&four), winners(&three));
    assert_eq!(four.devices[0].summary.rows, 3 * 48);
    check(&[1.0, 0.9, 1.01, 1.0], 3, &["on host-1 is 10.0 % faster"]);
    // Of two nobody knows which is off.
    check(&[1.0, 1.04], 2, &[]);
    check(&[1.0, 1.2], 2, &["host-0 is 9.1 % faster", "host-1 is 9.1 % slower", "nothing is left out"]);
}

#[test]
fn equal_uuids_on_two_hosts_stay_two() {
    let at = |host: &str, sizes: &[u64], slower| -> Vec<Record> {
        let rows = sweep().into_iter().filter(|row| sizes.contains(&row.n_elements));
        let rows = rows.map(|row| on_unit(row, host, slower));
        rows.map(|row| Record { device_uuid: "the same".into(), ..row }).collect()
    };
    let files = [at("north", &SIZES[..4], 1.0), at("south", &SIZES[2..], 1.04)];
    let (tables, _) = tables_by(Units::Each, &files);
    assert_eq!(tables.devices.len(), 2);
    let (tables, warnings) = tables_by(Units::Auto, &files);
    assert!(warnings.is_empty(), "no row replaces one of the other unit: {warnings:?}");
    let hosts: Vec<&str> = tables.devices[0].units().iter().map(|unit| unit.host.as_str()).collect();
    assert_eq!(hosts, ["host-north", "host-south"]);
    // What both have is between them: 1.02 times as long.
    let (answers, _) = answer(&tables, &Question::default());
    let times: Vec<f64> = answers.devices[0].ideal.points.iter().map(|point| point.best.time_ns).collect();
    let own: Vec<u64> = SIZES.iter().map(|&n| fastest(n)).collect();
    let ratios: Vec<f64> = times.iter().zip(own).map(|(time, own)| time / own as f64).collect();
    for (ratio, expected) in ratios.iter().zip([1.0, 1.0, 1.02, 1.02, 1.04, 1.04]) {
        assert!((ratio - expected).abs() < 1e-5, "{ratios:?}");
    }
}

fn fastest(n: u64) -> u64 {
    let rows = sweep().into_iter().filter(|row| row.n_elements == n);
    rows.filter_map(|row| row.steady).map(|time| time.median_ns).min().unwrap()
}

/// A lead that units do not agree on is a tie, and one that all of them have is none, however slow one is as a whole.
#[test]
fn a_lead_below_what_units_differ_by_is_a_tie() {
    // By unit: the times of A and of B.
    let check = |times: &[(u64, u64)], spread: f64, ties: usize| {
        let file = |(unit, &(a, b)): (usize, &(u64, u64))| {
            let at = |kernel, ns| on_unit(timed(row(kernel, 64, 100, 1000), ns, 0), &unit.to_string(), 1.0);
            vec![at(A, a), at(B, b)]
        };
        let files: Vec<Vec<Record>> = times.iter().enumerate().map(file).collect();
        let (tables, _) = tables_by(Units::Pool, &files);
        let (answers, _) = answer(&tables, &Question::default());
        let point = &answers.devices[0].ideal.points[0];
        let found = point.unit_spread_pct.unwrap();
        assert!((found - spread).abs() < 1e-3, "{found}, expected {spread}");
        assert_eq!(point.ties, ties, "{times:?}");
        let choice = answers.devices[0].choice.as_ref().unwrap();
        assert_eq!(choice.ties.len(), ties, "{times:?}");
    };
    check(&[(1000, 1020), (1010, 1030)], 0.0099, 0);
    check(&[(1000, 1020), (2000, 2040), (4000, 4080)], 0.0, 0);
    check(&[(1000, 1010), (1000, 1100)], 4.5, 0);
    check(&[(1000, 1010), (1000, 990), (1000, 1002)], 1.0, 1);
}

#[test]
fn what_is_wrong_on_one_unit_counts_on_none() {
    let rows = |unit: &str| -> Vec<Record> {
        [A, B].map(|kernel| on_unit(row(kernel, 64, 100, if kernel == A { 9 } else { 5 }), unit, 1.0)).into()
    };
    let mut wrong = rows("b");
    wrong[0].status = Status::WrongResult;
    let (tables, _) = tables_by(Units::Pool, &[rows("a"), wrong, rows("c")]);
    assert_eq!(ideal_labels(&tables, 0), [(100, format!("{B}.wg64"))]);
}

/// The ceiling of a size is the median of those that were measured, not the luckiest.
#[test]
fn ceilings_are_medians_with_a_count() {
    let records = sweep();
    let check = |ceilings: &[f64], expected: f64| {
        let ceilings: Vec<BTreeMap<u64, f64>> =
            ceilings.iter().map(|&gbps| SIZES.iter().map(|&n| (n, gbps)).collect()).collect();
        let unit = |unit: usize| records.iter().map(move |row| on_unit(row.clone(), &unit.to_string(), 1.0));
        let of_units: Vec<Vec<Record>> = (0..ceilings.len()).map(|at| unit(at).collect()).collect();
        // Files of one unit, and of several.
        for several in [false, true] {
            let mut builder = Builder::new(Clock::Steady).with_units(Units::Pool);
            for (place, ceiling) in ceilings.iter().enumerate() {
                let records = if several { &of_units[place] } else { &of_units[0] };
                builder.add(&RecordFile { ceiling_gbps: Some(ceiling), ..source(records) }).unwrap();
            }
            let (tables, _) = builder.finish(Runs::Latest);
            let (answers, _) = answer(&tables, &Question::default());
            let point = &answers.devices[0].ideal.points[0];
            assert_eq!((point.ceiling_gbps, point.ceiling_count), (Some(expected), ceilings.len() as u64));
        }
    };
    check(&[20.0], 20.0);
    check(&[20.0, 30.0, 21.0], 21.0);
    check(&[20.0, 30.0], 25.0);
    // A file may say that its own are medians: one that was merged does.
    let (gbps, counts) = (BTreeMap::from([(SIZES[0], 20.0)]), BTreeMap::from([(SIZES[0], 4)]));
    let mut file = FileRows::new("x.csv", Clock::Steady);
    records.iter().for_each(|row| file.push(row).unwrap());
    let mut builder = Builder::new(Clock::Steady);
    let (ceiling_gbps, ceiling_counts) = (Some(&gbps), Some(&counts));
    builder.add_rows(file, &FileFacts { ceiling_gbps, ceiling_counts, ..FileFacts::default() });
    let (tables, _) = builder.finish(Runs::Latest);
    assert_eq!(tables.devices[0].ceiling_counts, counts);
}

/// In a merged file each unit has the copies that it has measured, and all together what the file says.
#[test]
fn units_of_a_merged_file_have_copies_of_their_own() {
    let unit = |name: &str| sweep().into_iter().map(|row| on_unit(row, name, 1.0)).collect::<Vec<_>>();
    let (slow, fast, third) = (unit("a"), unit("b"), unit("c"));
    let input = |rows: &[Record], gbps: &[f64]| MergedInput {
        name: rows[0].host.clone(),
        rows: rows.len() as u64,
        shard: None,
        units: rows.iter().map(MergedUnit::of).collect(),
        run_ids: BTreeSet::new(),
        device: None,
        ceiling_gbps: SIZES.into_iter().zip(gbps.iter().copied()).collect(),
    };
    // Unit a was swept by two attempts, of which the second repeats what the first has; c has no copy.
    let inputs = [input(&slow, &[20.0]), input(&slow, &[20.0]), input(&fast, &[30.0]), input(&third, &[])];
    let (gbps, counts) = (BTreeMap::from([(SIZES[0], 25.0)]), BTreeMap::from([(SIZES[0], 2)]));
    let of = |units| {
        let mut file = FileRows::new("x.csv", Clock::Steady);
        slow.iter().chain(&fast).chain(&third).for_each(|row| file.push(row).unwrap());
        let mut builder = Builder::new(Clock::Steady).with_units(units);
        let (ceiling_gbps, ceiling_counts) = (Some(&gbps), Some(&counts));
        let facts = FileFacts { ceiling_gbps, ceiling_counts, inputs: &inputs, ..FileFacts::default() };
        builder.add_rows(file, &facts);
        let (tables, _) = builder.finish(Runs::Latest);
        let ceiling = |table: &DeviceTable| {
            (table.device.host.clone(), table.ceiling_gbps[&SIZES[0]], table.ceiling_counts[&SIZES[0]])
        };
        tables.devices.iter().map(ceiling).collect::<Vec<_>>()
    };
    let row = |host: &str, gbps, count| (host.to_owned(), gbps, count);
    assert_eq!(of(Units::Each), [row("host-a", 20.0, 1), row("host-b", 30.0, 1), row("host-c", 25.0, 2)]);
    assert_eq!(of(Units::Pool).into_iter().map(|(_, gbps, n)| (gbps, n)).collect::<Vec<_>>(), [(25.0, 2)]);
}

/// A published sweep, and the same split by size over four units.
#[test]
fn a_sweep_that_is_split_by_size_has_the_answers_of_the_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/published.nvidia-h200.thesis.csv");
    let whole = csv_file::read(&path).unwrap().records;
    let sizes: BTreeSet<u64> = whole.iter().map(|row| row.n_elements).collect();
    let part = |unit: usize| -> Vec<Record> {
        let sizes: Vec<&u64> = sizes.iter().skip(unit).step_by(4).collect();
        let rows = whole.iter().filter(|row| sizes.contains(&&row.n_elements));
        rows.map(|row| on_unit(row.clone(), &unit.to_string(), 1.0)).collect()
    };
    let parts: Vec<Vec<Record>> = (0..4).map(part).collect();
    let (one, _) = tables_by(Units::Auto, std::slice::from_ref(&whole));
    let (four, warnings) = tables_by(Units::Auto, &parts);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(four.devices[0].units().len(), 4);
    assert_eq!(one.catalog, four.catalog);
    let question = Question { portfolio: Some(3), distributions: true, ..Question::default() };
    let [one, four] = [&one, &four].map(|tables| answer(tables, &question).0);
    assert!(four.across.is_empty());
    let [one, four]: [&DeviceAnswer<'_>; 2] = [&one.devices[0], &four.devices[0]];
    assert_eq!(one.ideal, four.ideal);
    assert_eq!(one.choice, four.choice);
    assert_eq!(one.by_metric, four.by_metric);
    assert_eq!(one.portfolio, four.portfolio);
    assert_eq!((&one.densities, &one.trends), (&four.densities, &four.trends));
    assert_eq!(one.table.summary, four.table.summary);
}

/// Answers as large as they are because of what is in them, not because of how many units there are.
#[test]
fn nothing_grows_faster_than_units() {
    let text = |units: usize, how: Units| {
        let rows: Vec<Record> = sweep().into_iter().filter(|row| row.n_elements <= SIZES[1]).collect();
        let unit = |unit: usize| rows.iter().map(move |row| on_unit(row.clone(), &format!("{unit:04}"), 1.0));
        let files: Vec<Vec<Record>> = (0..units).map(|at| unit(at).collect()).collect();
        let (tables, _) = tables_by(how, &files);
        let (answers, warnings) = answer(&tables, &Question::default());
        assert_eq!(warnings.len(), usize::from(units > 64 && how == Units::Each), "{warnings:?}");
        format!("{answers:?}").len() / units
    };
    for how in [Units::Each, Units::Pool] {
        let (few, many) = (text(40, how), text(160, how));
        assert!(many * 10 <= few * 11, "{how:?}: {few} letters of answers per unit of 40, {many} of 160");
    }
}

proptest! {
    /// Pooling shards of one unit's times over any units, by size, changes no answer; nor does the order of files.
    #[test]
    fn shards_by_size_are_the_whole(shard in proptest::collection::vec(0usize..4, SIZES.len()), turned in any::<bool>()) {
        let whole = sweep();
        let file = |unit: usize| -> Vec<Record> {
            let is_here = |row: &&Record| shard[SIZES.iter().position(|&n| n == row.n_elements).unwrap()] == unit;
            whole.iter().filter(is_here).map(|row| on_unit(row.clone(), &unit.to_string(), 1.0)).collect()
        };
        let mut files: Vec<Vec<Record>> = (0..4).map(file).filter(|rows| !rows.is_empty()).collect();
        if turned {
            files.reverse();
        }
        let (pooled, _) = tables_by(Units::Pool, &files);
        let (alone, _) = tables_by(Units::Each, std::slice::from_ref(&whole));
        prop_assert_eq!(winners(&pooled), winners(&alone));
    }
}
