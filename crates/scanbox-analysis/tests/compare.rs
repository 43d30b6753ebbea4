//! Comparisons of rows made by hand: one row per rule.

use std::collections::BTreeMap;

use proptest::prelude::*;
use scanbox_analysis::AnalysisError;
use scanbox_analysis::compare::{CompareQuestion, Comparison, Outcome, Verdict, compare};
use scanbox_analysis::grouping::RecordFile;
use scanbox_analysis::pairs::{GROUP_LIMIT, GROUP_MIN, SINGLE_LIMIT};
use scanbox_model::record::{Clock, Record, Status};

use crate::rows::{failed, on, row, source, timed};

const KERNELS: [&str; 4] = [crate::rows::A, crate::rows::B, crate::rows::C, crate::rows::D];
const WORKGROUP_SIZES: [u32; 4] = [32, 64, 128, 256];
const SIZES: [u64; 6] = [1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 25];

/// The time of the config with this place among 16; the first one of kernel A is the fastest.
fn nominal_ns(place: usize) -> f64 {
    1e6 * (1.0 + 0.01 * place as f64)
}

/// A small number that looks like noise and depends on what it is for.
fn wobble(run: u64, n: u64, place: usize) -> f64 {
    let mut hash =
        run.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ n.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ place as u64;
    for _ in 0..3 {
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }
    (hash >> 40) as f64 / f64::from(1 << 24) - 0.5
}

/// A run: 16 configs at 6 sizes, with noise of this half range, each time times `factor(n, place)`.
fn run(number: u64, noise: f64, factor: impl Fn(u64, usize) -> f64) -> Vec<Record> {
    let mut records = Vec::new();
    for n in SIZES {
        for (place, (kernel, workgroup_size)) in
            KERNELS.iter().flat_map(|kernel| WORKGROUP_SIZES.map(|size| (kernel, size))).enumerate()
        {
            let ns = nominal_ns(place) * (1.0 + 2.0 * noise * wobble(number, n, place)) * factor(n, place);
            let mut record = timed(row(kernel, workgroup_size, n, 1), ns.round() as u64, 1000);
            record.bytes_moved = 8 * n;
            records.push(record);
        }
    }
    records
}

fn unchanged(_: u64, _: usize) -> f64 {
    1.0
}

pub fn asked() -> CompareQuestion {
    CompareQuestion {
        metric: "squared".parse().unwrap(),
        clock: Clock::Steady,
        threshold: 0.03,
        accept_device: false,
        new_is_cut: false,
    }
}

/// Copies at every size, times a factor.
fn copies(factor: f64) -> BTreeMap<u64, f64> {
    SIZES.iter().map(|&n| (n, 1000.0 * factor)).collect()
}

fn compared(base: &[Record], new: &[Record], copy_factor: f64) -> Comparison {
    let (before, after) = (copies(1.0), copies(copy_factor));
    let base = RecordFile { ceiling_gbps: Some(&before), ..source(base) };
    let new = RecordFile { ceiling_gbps: Some(&after), ..source(new) };
    compare(&base, &new, &asked(), None).unwrap()
}

const N: u64 = 1 << 22;

#[test]
fn verdicts() {
    /// `expected`: of the ideal line at `N`, and of all.
    fn check(what: &str, noise: f64, factor: fn(u64, usize) -> f64, expected: (Verdict, Outcome)) {
        let found = compared(&run(1, noise, unchanged), &run(2, noise, factor), 1.0);
        let there = found.ideal.iter().find(|change| change.n == N).unwrap();
        assert_eq!((there.verdict, found.outcome), expected, "{what}: {there:?}");
        for change in found.ideal.iter().filter(|change| change.n != N) {
            // Where rows lie that far apart, one alone may not show a loss that matters.
            let is_expected = change.verdict == Same || (noise >= 0.04 && change.verdict == Unclear);
            assert!(is_expected, "{what}: {change:?}");
        }
    }
    fn at_size(n: u64, factor: f64) -> f64 {
        if n == N { factor } else { 1.0 }
    }
    use Outcome::{NoRegression, Regression};
    use Verdict::{Faster, Same, Slower, Unclear};
    check("nothing", 0.005, unchanged, (Same, NoRegression));
    check("a loss", 0.005, |n, _| at_size(n, 1.05), (Slower, Regression));
    check("below the threshold", 0.005, |n, _| at_size(n, 1.02), (Same, NoRegression));
    check("faster", 0.005, |n, _| at_size(n, 0.9), (Faster, NoRegression));
    // Noise of the rows reaches further than the loss of one: it is all of them together that show it.
    check("in the noise", 0.04, |n, _| at_size(n, 1.07), (Unclear, Regression));
    // One row of each run says so, and no other: it may have been off once.
    let lone = |n, place| if n == N && place > 0 { 1.3 } else { at_size(n, 1.07) };
    check("seen by all", 0.005, lone, (Slower, Regression));
    // The second fastest takes its place, 1 % behind.
    check(
        "the winner alone",
        0.005,
        |n, place| if place == 0 { at_size(n, 1.2) } else { 1.0 },
        (Same, NoRegression),
    );
}

/// Few rows tell no loss by the two sweeps alone, however clear it looks; measured in turns they do.
#[test]
fn few_rows_of_a_size_leave_a_loss_open() {
    let slow = |n: u64, _| if n == N { 1.2 } else { 1.0 };
    let unclear = [1, 2, GROUP_MIN - 1].map(|rows| (rows, Verdict::Unclear));
    for (rows, expected) in unclear.into_iter().chain([(GROUP_MIN, Verdict::Slower)]) {
        let few = |run: Vec<Record>| -> Vec<Record> {
            let of_size =
                |(place, row): (usize, Record)| (row.n_elements != N || place % 16 < rows).then_some(row);
            run.into_iter().enumerate().filter_map(of_size).collect()
        };
        let found = compared(&few(run(1, 0.005, unchanged)), &few(run(2, 0.005, slow)), 1.0);
        let group = found.judgement.at(N).unwrap();
        assert_eq!((group.rows, group.verdict), (rows, expected), "{group:?}");
        // The line of one or two says no more.
        let line = found.ideal.iter().find(|change| change.n == N).unwrap();
        assert_eq!(line.verdict == Verdict::Slower, rows > 3, "{rows} rows: {line:?}");
    }
}

/// What could not have been seen is not the same, not even against itself.
#[test]
fn nothing_is_the_same_without_power() {
    let noisy = compared(&run(1, 0.3, unchanged), &run(2, 0.3, unchanged), 1.0);
    assert_eq!(noisy.outcome, Outcome::Inconclusive);
    let wide: Vec<Record> =
        run(1, 0.005, unchanged).into_iter().map(|record| timed(record, 1_000_000, 900_000)).collect();
    assert_eq!(compared(&wide, &wide, 1.0).outcome, Outcome::Inconclusive);
    let mut shaken = run(1, 0.005, unchanged);
    assert_eq!(compared(&shaken, &shaken, 1.0).outcome, Outcome::NoRegression);
    (shaken[0].drift_pct, shaken[1].drift_pct) = (Some(0.0), Some(788.0));
    assert_eq!(compared(&shaken, &shaken, 1.0).outcome, Outcome::Inconclusive);
}

/// However noisy two runs are, and whether they were confirmed: what is called the same could have been seen, and
/// does not look slower by more than matters.
#[test]
fn what_is_the_same_keeps_the_limits() {
    let confirmed = |records: Vec<Record>| -> Vec<Record> {
        let confirm = |(place, mut record): (usize, Record)| {
            record.confirmed_ns = record.steady.map(|time| time.median_ns).filter(|_| place % 16 < 4);
            (record.rounds, record.round_spread_pct) = (Some(9), Some(4.0));
            record
        };
        records.into_iter().enumerate().map(confirm).collect()
    };
    let (mut same, mut unclear) = (0, 0);
    for percent in [0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 20.0] {
        for seed in 0..12 {
            let runs = [0, 1].map(|night| run(2 * seed + night, percent / 100.0, unchanged));
            let runs = if seed % 3 == 0 { runs.map(confirmed) } else { runs };
            let found = compared(&runs[0], &runs[1], 1.0);
            let groups = found.judgement.groups.iter();
            let groups = groups.map(|group| (group.verdict, Some(group.change), group.limit, GROUP_LIMIT));
            let lines =
                found.deciding().map(|(_, line)| (line.verdict, line.change, line.limit, SINGLE_LIMIT));
            for (verdict, change, limit, allowed) in groups.chain(lines) {
                let is_seen = limit.is_some_and(|limit| limit <= allowed) && change.unwrap() <= 0.03;
                assert!(verdict != Verdict::Same || is_seen, "{percent} %: {change:?} {limit:?}");
                same += u32::from(verdict == Verdict::Same);
                unclear += u32::from(verdict == Verdict::Unclear);
            }
        }
    }
    assert!(same > 100 && unclear > 100, "{same} {unclear}");
}

#[test]
fn a_lone_row_decides_nothing() {
    // The winner is far ahead, and lost; the configs behind it did not.
    let ahead = |factor: f64| {
        move |n: u64, place: usize| match place {
            0 => 0.8 * if n == N { factor } else { 1.0 },
            _ => 1.0,
        }
    };
    let (base, new) = (run(1, 0.005, ahead(1.0)), run(2, 0.005, ahead(1.06)));
    let found = compared(&base, &new, 1.0);
    let there = found.ideal.iter().find(|change| change.n == N).unwrap();
    assert_eq!((there.verdict, found.outcome), (Verdict::Unclear, Outcome::Inconclusive));
    // It is told, and measured in rounds it decides.
    let told = found.configs.iter().filter(|config| config.verdict == Verdict::Slower).count();
    assert_eq!(told, 1);
    let confirmed = |records: Vec<Record>| -> Vec<Record> {
        let confirm = |mut record: Record| {
            record.confirmed_ns = record.steady.map(|time| time.median_ns);
            (record.rounds, record.round_spread_pct) = (Some(5), Some(1.0));
            record
        };
        records.into_iter().map(confirm).collect()
    };
    let found = compared(&confirmed(base), &confirmed(new), 1.0);
    let there = found.ideal.iter().find(|change| change.n == N).unwrap();
    assert_eq!((there.verdict, found.outcome), (Verdict::Slower, Outcome::Regression), "{there:?}");
    assert!(there.base.confirmed && there.new.as_ref().unwrap().confirmed);
    assert_eq!(found.guilty()[0].1.n, N);
}

#[test]
fn drift() {
    /// Everything takes `factor` times as long, copies `copy` times.
    fn check(factor: f64, copy: f64, removed: f64, outcome: Outcome) {
        let (base, new) = (run(1, 0.002, unchanged), run(2, 0.002, |_, _| factor));
        let found = compared(&base, &new, 1.0 / copy);
        let share = found.drift.removed.exp_m1();
        assert!((share - removed).abs() < 0.003, "{factor} {copy}: {:?}", found.drift);
        assert_eq!(found.outcome, outcome, "{factor} {copy}: {:?}", found.drift);
    }
    use Outcome::{Inconclusive, NoRegression, Regression};
    check(1.04, 1.04, 0.04, NoRegression);
    // So much that it may be more than the weather; and so much that it is.
    check(1.06, 1.06, 0.06, Inconclusive);
    check(1.1, 1.1, 0.1, Regression);
    check(0.94, 0.94, -0.06, NoRegression);
    // Copies are as they were: it is the scans.
    check(1.06, 1.0, 0.0, Regression);
    check(1.06, 1.02, 0.02, Regression);
    // The device is faster, and scans lost what it gained: nothing to see in a time, and not hidden.
    check(1.02, 0.96, 0.0, Inconclusive);
    // A copy that changed alone moves nothing.
    check(1.0, 1.2, 0.0, NoRegression);
    check(1.2, 1.2, 0.2, Regression);
    check(0.8, 0.8, -0.2, Inconclusive);

    // Without copies, scans of enough sizes tell drift; that it may be a loss is not hidden.
    let (base, new) = (run(1, 0.002, unchanged), run(2, 0.002, |_, _| 1.06));
    let found = compare(&source(&base), &source(&new), &asked(), None).unwrap();
    assert_eq!((found.drift.ceilings, found.outcome), (None, Inconclusive));
    let few = |records: &[Record]| -> Vec<Record> {
        records.iter().filter(|record| record.n_elements < N).cloned().collect()
    };
    let found = compare(&source(&few(&base)), &source(&few(&new)), &asked(), None).unwrap();
    assert_eq!((found.drift.removed, found.outcome), (0.0, Regression));
}

#[test]
fn what_is_missing_or_fails() {
    let (base, new) = (run(1, 0.005, unchanged), run(2, 0.005, unchanged));
    let at = |record: &Record| record.n_elements == N;
    // The size was not swept.
    let part: Vec<Record> = new.iter().filter(|record| !at(record)).cloned().collect();
    let found = compared(&base, &part, 1.0);
    let there = found.ideal.iter().find(|change| change.n == N).unwrap();
    assert_eq!(
        (there.verdict, there.lost_configs, found.outcome),
        (Verdict::Missing, 0, Outcome::Inconclusive)
    );
    // It was, in vain.
    let fail = |record: &Record| {
        if at(record) { failed(record.clone(), Status::WrongResult) } else { record.clone() }
    };
    let broken: Vec<Record> = new.iter().map(fail).collect();
    let found = compared(&base, &broken, 1.0);
    let there = found.ideal.iter().find(|change| change.n == N).unwrap();
    assert_eq!((there.verdict, there.lost_configs, found.outcome), (Verdict::Lost, 16, Outcome::Regression));
    assert_eq!(found.configs.iter().filter(|config| config.fails_now()).count(), 16);
    // Nothing at all.
    let found = compared(&[], &base, 1.0);
    assert_eq!(found.outcome, Outcome::Inconclusive);
    let found = compared(&base, &[], 1.0);
    assert_eq!(found.outcome, Outcome::Inconclusive);
}

/// How the leaders of a size are lost, and what the gate says then.
#[test]
fn a_lost_leader_is_never_the_same() {
    /// 16 configs, each 1 % behind the one before; at `N` the `count` fastest end like this, or have no row.
    fn check(status: Option<Status>, count: usize, is_cut: bool, expected: &[Outcome]) {
        let base = run(1, 0.001, unchanged);
        let mut new = run(2, 0.001, unchanged);
        let mut place = 0;
        new.retain_mut(|record| {
            let is_lost = record.n_elements == N && place < count;
            place += usize::from(record.n_elements == N);
            if let Some(status) = status.filter(|_| is_lost) {
                *record = failed(record.clone(), status);
            }
            !is_lost || status.is_some()
        });
        let (before, after) = (copies(1.0), copies(1.0));
        let base = RecordFile { ceiling_gbps: Some(&before), ..source(&base) };
        let new = RecordFile { ceiling_gbps: Some(&after), ..source(&new) };
        let found = compare(&base, &new, &CompareQuestion { new_is_cut: is_cut, ..asked() }, None).unwrap();
        let there = found.ideal.iter().find(|change| change.n == N).unwrap();
        assert!(
            expected.contains(&found.outcome),
            "{status:?}, {count} configs, cut {is_cut}: {:?}, {there:?}",
            found.outcome
        );
        assert!(
            !matches!(there.verdict, Verdict::Same | Verdict::Faster),
            "{status:?}, {count} configs, cut {is_cut}: {there:?}"
        );
        assert_eq!(there.gone.as_ref().unwrap().status, status);
    }
    use Outcome::{Inconclusive, Regression};
    for status in Status::ALL.into_iter().filter(|&status| status != Status::Ok) {
        let is_broken = !matches!(status, Status::Unsupported | Status::OutOfMemory);
        for count in [1, 2, 4, 8, 12, 16] {
            // 4 configs are worth 4 %, which is above the threshold; one is worth 1 %.
            let expected = if is_broken || count >= 4 { Regression } else { Inconclusive };
            check(Some(status), count, false, &[expected]);
            check(Some(status), count, true, &[expected]);
        }
    }
    for count in [1, 2, 4, 8, 12] {
        check(None, count, false, &[if count >= 4 { Regression } else { Inconclusive }]);
        // The run did not get there.
        check(None, count, true, &[Inconclusive]);
    }
    check(None, 16, false, &[Inconclusive]);
}

#[test]
fn what_breaks_is_a_regression_wherever_it_stands() {
    let slowest = format!("{}.wg256", crate::rows::D);
    for status in Status::ALL.into_iter().filter(|&status| status != Status::Ok) {
        let base = run(1, 0.001, unchanged);
        let broken: Vec<Record> = run(2, 0.001, unchanged)
            .into_iter()
            .map(|record| {
                let is_hit = record.n_elements == N && record.config_id == slowest;
                if is_hit { failed(record, status) } else { record }
            })
            .collect();
        let found = compared(&base, &broken, 1.0);
        // No memory, or a rule: nothing is broken, and it led nothing.
        let is_harmless = matches!(status, Status::Unsupported | Status::OutOfMemory);
        let expected = if is_harmless { Outcome::NoRegression } else { Outcome::Regression };
        assert_eq!(found.outcome, expected, "{status:?}");
        assert_eq!(found.broken().len(), usize::from(!is_harmless), "{status:?}");
    }
}

/// Wrong once is wrong until shown right, whichever row came later.
#[test]
fn what_was_wrong_is_no_leader_any_more() {
    let winner =
        |record: &&Record| record.n_elements == N && record.config_id == format!("{}.wg32", crate::rows::A);
    let base = run(1, 0.001, unchanged);
    let mut new = run(2, 0.001, unchanged);
    // It is wrong first, and `ok` a day later.
    let leader = new.iter().find(winner).unwrap().clone();
    new.insert(0, failed(leader, Status::WrongResult));
    for (place, record) in new.iter_mut().enumerate() {
        record.timestamp_utc = format!("2026-01-{:02}T00:00:00Z", 1 + usize::from(place > 0));
    }
    let found = compared(&base, &new, 1.0);
    assert_eq!((found.outcome, found.broken().len()), (Outcome::Regression, 1));
    // A run that was made for it has shown it right.
    let proof = new.iter_mut().rfind(|record| winner(&&**record)).unwrap();
    proof.proved_calls = Some(1000);
    let found = compared(&base, &new, 1.0);
    assert_eq!((found.outcome, found.broken().len()), (Outcome::NoRegression, 0));
}

#[test]
fn devices() {
    let base = run(1, 0.005, unchanged);
    let other: Vec<Record> = base.iter().map(|record| on(record.clone(), "d2")).collect();
    let refused = compare(&source(&base), &source(&other), &asked(), None);
    assert!(matches!(refused, Err(AnalysisError::OtherModel { .. })), "{refused:?}");
    let accepted = CompareQuestion { accept_device: true, ..asked() };
    let found = compare(&source(&base), &source(&other), &accepted, None).unwrap();
    let what: Vec<&str> = found.differences.iter().map(|difference| difference.what).collect();
    assert_eq!(what, ["device", "unit"]);
    let both = [base.clone(), other].concat();
    let refused = compare(&source(&base), &source(&both), &asked(), None);
    assert!(matches!(refused, Err(AnalysisError::SeveralDevices { .. })), "{refused:?}");
    // Units of one model are one: of each its latest row, and of several the one in the middle.
    let unit = |unit: &str, slower: f64| -> Vec<Record> {
        let scaled = run(1, 0.005, |_, _| slower).into_iter();
        scaled.map(|record| Record { device_uuid: unit.into(), ..record }).collect()
    };
    let three = [unit("u1", 1.0), unit("u2", 1.3), unit("u3", 0.9)].concat();
    let found = compare(&source(&base), &source(&three), &asked(), None).unwrap();
    assert_eq!(found.ideal, compare(&source(&base), &source(&base), &asked(), None).unwrap().ideal);
    let mut bad = base.clone();
    bad[3].config_id = "nonsense".into();
    assert!(matches!(
        compare(&source(&base), &source(&bad), &asked(), None),
        Err(AnalysisError::Label { row: 4, .. })
    ));
}

#[test]
fn an_unsteady_canary_widens_the_floor() {
    let base = run(1, 0.002, unchanged);
    let mut new = run(2, 0.002, |n, _| if n == N { 1.06 } else { 1.0 });
    assert_eq!(compared(&base, &new, 1.0).outcome, Outcome::Regression);
    new[0].drift_pct = Some(0.0);
    new[1].drift_pct = Some(20.0);
    let found = compared(&base, &new, 1.0);
    assert_eq!((found.canary, found.outcome), ([None, Some(0.2)], Outcome::Inconclusive));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The order of rows is no matter, a run is the same as itself, and what is slower one way is faster the other.
    #[test]
    fn symmetry(seed in 0u64..1000, percent in 5u32..30, at in 0usize..SIZES.len()) {
        let factor = 1.0 + f64::from(percent) / 100.0;
        let base = run(seed, 0.003, unchanged);
        let new = run(seed + 1, 0.003, |n, _| if n == SIZES[at] { factor } else { 1.0 });
        let there = |found: &Comparison| found.ideal[at].verdict;
        let forth = compared(&base, &new, 1.0);
        prop_assert_eq!(there(&forth), Verdict::Slower);
        prop_assert_eq!(there(&compared(&new, &base, 1.0)), Verdict::Faster);
        let mut turned = new.clone();
        turned.reverse();
        prop_assert_eq!(&compared(&base, &turned, 1.0), &forth);
        prop_assert_eq!(compared(&base, &base, 1.0).outcome, Outcome::NoRegression);
    }
}
