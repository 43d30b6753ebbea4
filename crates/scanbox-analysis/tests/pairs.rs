//! Verdicts on pairs made by hand: one row per rule. How often they are right under noise,
//! `crates/scanbox/tests/pairs.rs` counts.

use std::collections::BTreeMap;

use scanbox_analysis::compare::{Comparison, Night, Outcome, Verdict, compare};
use scanbox_analysis::grouping::RecordFile;
use scanbox_analysis::pairs::{
    Failed, GROUP_MIN, Judgement, Pairs, Quad, ROUNDS_OF_ALL, ROUNDS_OF_SUSPECTS, Roles, RowsOf, Side, judge,
    suspects,
};
use scanbox_model::record::{Record, Status};

use crate::compare::asked;
use crate::rows::{row, source, timed};

const KERNELS: [&str; 4] = [crate::rows::A, crate::rows::B, crate::rows::C, crate::rows::D];
const WORKGROUP_SIZES: [u32; 4] = [32, 64, 128, 256];
const SIZES: [u64; 4] = [1 << 12, 1 << 16, 1 << 20, 1 << 24];
const N: u64 = 1 << 16;

/// The labels of 16 configs; the first one is shipped.
fn labels() -> Vec<String> {
    KERNELS.iter().flat_map(|kernel| WORKGROUP_SIZES.map(|size| format!("{kernel}.wg{size}"))).collect()
}

fn shipped() -> String {
    labels()[0].clone()
}

/// From -1 to 1, and depends on what it is for.
fn wobble(seed: u64) -> f64 {
    let mut hash = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for _ in 0..3 {
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    }
    2.0 * (hash >> 40) as f64 / f64::from(1 << 24) - 1.0
}

/// A quad of a config: `factor` is what the new program takes times as long, `noise` how far a block is off at most,
/// `level` what both have in common.
fn quad(n: u64, config: &str, round: u32, factor: f64, noise: f64, level: f64) -> Quad {
    let salt =
        config.bytes().fold(n ^ u64::from(round) << 40, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte));
    let block = |place: u64| 1e6 * level * (1.0 + noise * wobble(salt.wrapping_add(place << 50)));
    Quad {
        n,
        config: config.to_owned(),
        round,
        base_ns: [block(1), block(2)],
        new_ns: [factor * block(3), factor * block(4)],
    }
}

/// What every row is measured in.
fn all(noise: f64, level: f64, factor: impl Fn(u64, &str) -> f64) -> Pairs {
    let mut pairs = Pairs::default();
    for round in 0..ROUNDS_OF_ALL {
        for n in SIZES {
            let quads = labels().into_iter().map(|config| {
                let factor = factor(n, &config);
                quad(n, &config, round, factor, noise, level)
            });
            pairs.quads.extend(quads);
        }
    }
    pairs
}

/// The same, and what is shipped at `N` measured again.
fn again(mut pairs: Pairs, noise: f64, factor: f64) -> Pairs {
    for round in ROUNDS_OF_ALL..ROUNDS_OF_ALL + ROUNDS_OF_SUSPECTS {
        pairs.quads.push(quad(N, &shipped(), round, factor, noise, 1.0));
    }
    pairs
}

fn roles() -> Roles {
    Roles { shipped: SIZES.iter().map(|&n| (n, shipped())).collect(), kernel: BTreeMap::new() }
}

fn slow_size(n: u64, _: &str) -> f64 {
    if n == N { 1.06 } else { 1.0 }
}

fn slow_shipped(n: u64, config: &str) -> f64 {
    if n == N && config == shipped() { 1.1 } else { 1.0 }
}

fn equal(_: u64, _: &str) -> f64 {
    1.0
}

#[test]
fn verdicts_of_rows_together_and_of_one_alone() {
    fn check(what: &str, pairs: &Pairs, threshold: f64, rows: Verdict, alone: Verdict) {
        let found: Judgement = judge(pairs, &roles(), threshold);
        let single = found.singles.iter().find(|single| single.n == N).unwrap();
        let group = found.at(N).map(|group| group.verdict);
        assert_eq!((group, single.verdict), (Some(rows), alone), "{what}: {found:?}");
        // Other sizes say nothing about it.
        for n in SIZES.into_iter().filter(|&n| n != N) {
            let same = [Same, Unclear].contains(&found.at(n).unwrap().verdict);
            assert!(same, "{what}: {found:?}");
        }
    }
    use Verdict::{Faster, Same, Slower, Unclear, Unmeasured};
    check("nothing", &all(0.01, 1.0, equal), 0.03, Same, Same);
    // One that looks slower and was not measured again is neither.
    check("a size", &all(0.01, 1.0, slow_size), 0.03, Slower, Unclear);
    check("a size, again", &again(all(0.01, 1.0, slow_size), 0.01, 1.06), 0.03, Slower, Slower);
    check("below the threshold", &again(all(0.01, 1.0, slow_size), 0.01, 1.06), 0.1, Same, Same);
    check("one alone", &again(all(0.01, 1.0, slow_shipped), 0.01, 1.1), 0.03, Same, Slower);
    // It was in its slower mode when all were measured.
    check("one, once", &again(all(0.01, 1.0, slow_shipped), 0.01, 1.0), 0.03, Same, Same);
    let faster = |n: u64, _: &str| if n == N { 0.9 } else { 1.0 };
    check("faster", &all(0.01, 1.0, faster), 0.03, Faster, Same);
    // Both are slower by the same: that is the device.
    check("both", &all(0.01, 1.2, equal), 0.03, Same, Same);
    // What could not have been seen is not the same.
    check("noise", &all(0.3, 1.0, equal), 0.03, Unclear, Unclear);
    let mut gone = all(0.01, 1.0, equal);
    gone.quads.retain(|quad| quad.n != N || quad.config != shipped());
    check("not measured", &gone, 0.03, Same, Unmeasured);
}

#[test]
fn few_rows_tell_no_noise() {
    let mut pairs = all(0.01, 1.0, equal);
    pairs.quads.retain(|quad| quad.n == N && quad.config == shipped());
    let found = judge(&pairs, &roles(), 0.03);
    let verdicts: Vec<Verdict> = found.verdicts().collect();
    assert!(!verdicts.contains(&Verdict::Same) && !verdicts.contains(&Verdict::Slower), "{found:?}");
    assert_eq!(judge(&Pairs::default(), &Roles::default(), 0.03), Judgement::default());
}

/// Few rows decide by rounds of their own, in which each that looks slower was measured again.
#[test]
fn few_rows_decide_by_rounds_of_their_own() {
    use Verdict::{Same, Slower, Unclear};
    let few = |rows: usize, factor: f64| {
        let mut pairs = all(0.01, 1.0, |n, _| if n == N { factor } else { 1.0 });
        pairs.quads.retain(|quad| quad.n != N || labels()[..rows].contains(&quad.config));
        pairs
    };
    let measured = |mut pairs: Pairs, rows: usize, factors: &dyn Fn(usize) -> f64| {
        for round in ROUNDS_OF_ALL..ROUNDS_OF_ALL + ROUNDS_OF_SUSPECTS {
            let again = labels().into_iter().take(rows).enumerate();
            pairs
                .quads
                .extend(again.map(|(place, config)| quad(N, &config, round, factors(place), 0.01, 1.0)));
        }
        pairs
    };
    let check = |what: &str, pairs: &Pairs, expected: Verdict| {
        let found = judge(pairs, &roles(), 0.03);
        assert_eq!(found.at(N).unwrap().verdict, expected, "{what}: {:?}", found.at(N));
    };
    for rows in [1, 2, 3, GROUP_MIN - 1] {
        let what = |text: &str| format!("{rows} rows, {text}");
        check(&what("equal"), &few(rows, 1.0), Same);
        check(&what("once"), &few(rows, 1.1), Unclear);
        check(&what("again"), &measured(few(rows, 1.1), rows, &|_| 1.1), Slower);
        check(&what("by chance"), &measured(few(rows, 1.1), rows, &|_| 1.0), Same);
        // All of them are measured again, not what is shipped alone.
        assert_eq!(suspects(&few(rows, 1.1), &roles(), 0.03).len(), rows);
        assert_eq!(suspects(&few(rows, 1.0), &roles(), 0.03), []);
    }
    // Two of three were slow by chance.
    check("one of three", &measured(few(3, 1.1), 3, &|place| if place == 0 { 1.1 } else { 1.0 }), Same);
    // A stopped run has not measured the second one again.
    check("cut", &measured(few(2, 1.1), 1, &|_| 1.1), Unclear);
    check("enough rows", &few(GROUP_MIN, 1.1), Slower);
}

#[test]
fn a_family_is_seen_beside_the_others() {
    // Eight rows of 24: they move no median.
    let mut pairs = all(0.005, 1.0, equal);
    for round in 0..ROUNDS_OF_ALL {
        for (batch, count) in [2, 6].into_iter().flat_map(|batch| [2, 3, 4, 7].map(|count| (batch, count))) {
            let label = format!("pers.b{batch}.vec4.gather.sub.shuffle.striped.wgid.early.wg256.u{count}");
            pairs.quads.push(quad(N, &label, round, 1.1, 0.005, 1.0));
        }
    }
    let found = judge(&pairs, &roles(), 0.03);
    let slower: Vec<_> = found.groups.iter().filter(|group| group.verdict == Verdict::Slower).collect();
    assert_eq!(slower.len(), 1, "{found:?}");
    assert!(slower.iter().all(|group| matches!(group.group, RowsOf::Family(_)) && group.n == N));
}

#[test]
fn suspects_decide_alone_and_look_slower() {
    assert_eq!(suspects(&all(0.01, 1.0, equal), &roles(), 0.03), []);
    assert_eq!(suspects(&all(0.01, 1.0, slow_shipped), &roles(), 0.03), [(N, shipped())]);
    assert_eq!(suspects(&all(0.01, 1.0, slow_shipped), &roles(), 0.2), []);
    // Another row does not decide alone.
    let other = |n: u64, config: &str| if n == N && config == labels()[3] { 1.2 } else { 1.0 };
    assert_eq!(suspects(&all(0.01, 1.0, other), &roles(), 0.03), []);
}

/// A sweep in which the first config is the fastest.
fn sweep() -> Vec<Record> {
    let configs = || KERNELS.iter().flat_map(|kernel| WORKGROUP_SIZES.map(|size| (kernel, size)));
    let rows =
        SIZES.iter().flat_map(|&n| configs().enumerate().map(move |(place, config)| (n, place, config)));
    let record = |(n, place, (kernel, size)): (u64, usize, (&&str, u32))| Record {
        bytes_moved: 8 * n,
        ..timed(row(kernel, size, n, 1), 1_000_000 + 10_000 * place as u64, 1000)
    };
    rows.map(record).collect()
}

fn judged(pairs: &Pairs, earlier: &[Pairs]) -> Comparison {
    let sweep = sweep();
    let copies: BTreeMap<u64, f64> = SIZES.iter().map(|&n| (n, 1000.0)).collect();
    let source = RecordFile { ceiling_gbps: Some(&copies), ..source(&sweep) };
    compare(&source, &source, &asked(), Some(&Night { pairs, earlier })).unwrap()
}

#[test]
fn a_base_that_was_confirmed_is_judged_by_the_leader_that_it_ships() {
    let sweep = sweep();
    let mut confirmed = sweep.clone();
    // The second of each size won the confirmation; the new run was not confirmed.
    for (place, row) in confirmed.iter_mut().enumerate() {
        row.confirmed_ns = match place % labels().len() {
            0 => Some(1_100_000),
            1 => Some(1_000_000),
            _ => None,
        };
    }
    let night = Night { pairs: &all(0.004, 1.0, equal), earlier: &[] };
    let comparison = compare(&source(&confirmed), &source(&sweep), &asked(), Some(&night)).unwrap();
    assert!(!comparison.ideal.is_empty());
    for change in &comparison.ideal {
        assert_eq!((change.base.config.as_str(), change.verdict), (labels()[1].as_str(), Verdict::Same));
    }
}

/// Pairs at the times of [`sweep`], times `level`.
fn at(level: f64) -> Pairs {
    let sweep = sweep();
    let mut pairs = all(0.004, level, equal);
    for quad in &mut pairs.quads {
        let row =
            sweep.iter().find(|row| (row.n_elements, &row.config_id) == (quad.n, &quad.config)).unwrap();
        let scale = row.steady.unwrap().median_ns as f64 / 1e6;
        quad.base_ns = quad.base_ns.map(|ns| ns * scale);
        quad.new_ns = quad.new_ns.map(|ns| ns * scale);
    }
    pairs
}

#[test]
fn the_device_is_held_against_its_first_nights() {
    fn check(tonight: f64, earlier: &[f64], expected: Outcome, nights: usize) {
        let earlier: Vec<Pairs> = earlier.iter().map(|&level| at(level)).collect();
        let found = judged(&at(tonight), &earlier);
        assert_eq!((found.outcome, found.device.nights), (expected, nights), "{tonight}: {:?}", found.device);
        let may = expected == NoRegression && found.is_faster();
        assert_eq!(found.may_become_base(0.03), may);
    }
    use Outcome::{Inconclusive, NoRegression, Regression};
    check(1.0, &[], NoRegression, 1);
    check(1.04, &[], NoRegression, 1);
    check(1.06, &[], Inconclusive, 1);
    check(1.1, &[], Regression, 1);
    check(0.8, &[], NoRegression, 1);
    // The base was measured in a fast night.
    check(1.06, &[1.03, 1.04, 1.03], NoRegression, 4);
    // Nights that were slow themselves are no reference, and many of them do not make one.
    check(1.1, &[1.1, 1.1, 1.1, 1.1], Regression, 1);
    check(1.1, &[1.0; 20], Regression, 9);
    // A machine that others use: by four errors of a night it is no chance.
    let noisy = [1.05, 0.97, 1.04, 0.95, 1.06, 0.98];
    check(1.1, &noisy, NoRegression, 7);
    check(1.25, &noisy, Inconclusive, 7);
    check(1.45, &noisy, Regression, 7);
    // Too few nights tell nothing of noise, and a step is none.
    check(1.1, &noisy[..2], Regression, 3);
    check(1.1, &[1.0, 1.0, 1.0, 1.1, 1.1, 1.1], Regression, 4);
}

#[test]
fn what_fails_beside_the_base() {
    fn check(side: Side, status: Status, config: String, expected: Outcome) {
        let mut pairs = at(1.0);
        pairs.quads.retain(|quad| quad.n != N || quad.config != config);
        let reason = "made up".to_owned();
        pairs.failed.push(Failed { n: N, config: config.clone(), round: 0, side, status, reason });
        let found = judged(&pairs, &[]);
        assert_eq!(found.outcome, expected, "{side:?} {status:?} {config}");
    }
    use Outcome::{Inconclusive, NoRegression, Regression};
    let other = labels()[9].clone();
    check(Side::New, Status::WrongResult, other.clone(), Regression);
    check(Side::New, Status::Timeout, shipped(), Regression);
    check(Side::New, Status::OutOfMemory, other.clone(), NoRegression);
    check(Side::New, Status::OutOfMemory, shipped(), Inconclusive);
    // The old program could not run it: that is no fault of the new one, and nothing was measured.
    check(Side::Base, Status::WrongResult, other, NoRegression);
    check(Side::Base, Status::WrongResult, shipped(), Inconclusive);
}
