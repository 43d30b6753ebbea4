//! Which config is taken in which range of sizes.

use proptest::prelude::*;
use scanbox_analysis::ranges::{NEAR_PPM, SizeRange, TimeGrid};
use scanbox_model::config::Config;
use scanbox_model::record::Record;

use crate::rows::*;

/// Rows of kernel and size in elements, with their times in ns.
fn grid(times: &[(&str, u64, u64)]) -> TimeGrid {
    let rows: Vec<Record> =
        times.iter().map(|&(kernel, n, ns)| timed(row(kernel, 64, n, 8), ns, 5)).collect();
    let tables = tables(&rows);
    TimeGrid::of(&tables.catalog, &tables.devices[0])
}

/// Each range as its beginning, its kernel and its worst loss.
fn told(ranges: &[SizeRange]) -> Vec<(u64, String, Option<u32>)> {
    ranges.iter().map(|range| (range.from, range.config.kernel.to_string(), range.worst_loss_ppm)).collect()
}

fn check(times: &[(&str, u64, u64)], most: Option<usize>, expected: &[(u64, &str, Option<u32>)]) {
    let expected: Vec<_> =
        expected.iter().map(|&(from, kernel, loss)| (from, kernel.to_owned(), loss)).collect();
    assert_eq!(told(&grid(times).ranges(most)), expected);
}

#[test]
fn a_config_stays_while_it_is_near_the_best() {
    // B wins at 200 by less than 2 %, and at 300 by more.
    let times =
        [(A, 100, 1000), (B, 100, 1100), (A, 200, 1010), (B, 200, 1000), (A, 300, 1300), (B, 300, 1000)];
    // At 200 A is 10 ns behind, at 300 it is 300 behind: B is near the best at 200 too, but A had begun.
    check(&times, None, &[(1, A, Some(10_000)), (201, B, Some(0))]);
    // B at 100 is 10 % slower: one config is the one that loses least at worst.
    check(&times, Some(1), &[(1, B, Some(100_000))]);
    check(&times, Some(2), &[(1, A, Some(10_000)), (201, B, Some(0))]);
    let nothing = grid(&times).only(|_| None);
    assert!(nothing.ranges(None).is_empty() && nothing.one_for_all().is_none());
}

#[test]
fn of_near_ones_the_one_that_lasts_is_taken() {
    // C wins at 100 and only there, by 1 %: A is as good and lasts.
    let times =
        [(A, 100, 1010), (C, 100, 1000), (A, 200, 1000), (C, 200, 1500), (A, 300, 1000), (C, 300, 1500)];
    check(&times, None, &[(1, A, Some(10_000))]);
    let ranges = grid(&times).ranges(None);
    assert_eq!(ranges[0].others.len(), 1, "another kernel stands in for the only one");
}

#[test]
fn ranges_change_where_the_lines_meet() {
    // 1000 + 10 x against 1200 + 2 x behind 100: they meet 25 behind it.
    check(
        &[(A, 100, 1000), (B, 100, 1200), (A, 200, 2000), (B, 200, 1400)],
        None,
        &[(1, A, Some(0)), (125, B, Some(0))],
    );
    // What is known at both ends is taken in between; where nothing is, the nearer one.
    check(&[(A, 100, 1000), (A, 200, 2000), (B, 200, 1400)], None, &[(1, A, Some(0)), (200, B, Some(0))]);
    check(&[(A, 100, 1000), (B, 100, 1200), (B, 200, 1400)], None, &[(1, A, Some(0)), (101, B, Some(0))]);
    check(&[(A, 100, 1000), (B, 201, 1400)], None, &[(1, A, Some(0)), (151, B, Some(0))]);
}

#[test]
fn losses_are_against_all_that_was_measured() {
    let all = grid(&[(A, 100, 1000), (B, 100, 1300), (A, 200, 1000), (B, 200, 1100), (D, 300, 1000)]);
    let only = |kernel: &'static str| {
        all.only(move |config| (config.kernel.to_string() == kernel).then_some(*config)).ranges(None)
    };
    // B has no time at 300, so that its loss there is not known.
    assert_eq!(told(&only(B)), [(1, B.to_owned(), None)]);
    let loss = all.loss_of(&only(B)).unwrap();
    assert_eq!((loss.mean_ppm, loss.worst_ppm, loss.worst_at, loss.sizes), (200_000, 300_000, 100, 2));
    assert_eq!(all.loss_of(&[]), None);
    assert_eq!(all.losses_of(&only(B)), [(100, 300_000), (200, 100_000)]);
    // Among themselves, A has no time at 300 either, and D is no rival.
    let few = all.only(|config| (config.kernel.to_string() != A).then_some(*config)).among_themselves();
    assert_eq!(few.losses_of(&only(B)), [(100, 0), (200, 0)]);
    assert_eq!(few.losses_of(&few.ranges(None)), [(100, 0), (200, 0), (300, 0)]);
    // Under another name the time is the same.
    let renamed: Config = format!("{C}.wg128").parse().unwrap();
    let ranges = all.only(|config| (config.kernel.to_string() == A).then_some(renamed)).ranges(None);
    assert_eq!(ranges.iter().map(|range| range.config).collect::<Vec<_>>(), [renamed]);
}

#[test]
fn stand_ins_are_those_of_other_ranges_by_what_they_lose() {
    let all = grid(&[
        (A, 100, 1000),
        (B, 100, 2000),
        (C, 100, 3000),
        (D, 100, 1500),
        (A, 200, 3000),
        (B, 200, 1000),
        (C, 200, 2000),
        (D, 200, 1500),
        (A, 300, 3000),
        (B, 300, 2000),
        (C, 300, 1000),
        (D, 300, 1500),
    ]);
    let others: Vec<Vec<String>> = all
        .ranges(None)
        .iter()
        .map(|range| range.others.iter().map(|config| config.kernel.to_string()).collect())
        .collect();
    assert_eq!(others, [[B, C], [C, A], [B, A]], "D is in no range");
}

/// Who is fair everywhere is the best of all alone, and not of two: those that are good in places take its place.
#[test]
fn the_first_of_few_gives_way_to_the_later_ones() {
    let times = [
        (A, 100, 1000),
        (A, 200, 1000),
        (A, 300, 2000),
        (A, 400, 2000),
        (B, 100, 2000),
        (B, 200, 2000),
        (B, 300, 1000),
        (B, 400, 1000),
        (C, 100, 1500),
        (C, 200, 1500),
        (C, 300, 1500),
        (C, 400, 1500),
    ];
    check(&times, Some(1), &[(1, C, Some(500_000))]);
    check(&times, Some(2), &[(1, A, Some(0)), (250, B, Some(0))]);
}

#[test]
fn one_kernel_for_any_size_starts_no_more_workgroups_than_it_needs() {
    const ONE: &str = "one.b4.vec4.none.rake";
    const PERSISTENT: &str = "pers.b4.vec4.two.sub.early.turn";
    let label = |kernel: &str| if kernel == PERSISTENT { "wg64.u2" } else { "wg64" };
    let grid = |times: &[(&str, u64, u64)]| {
        let rows = times.iter().map(|&(kernel, n, ns)| {
            let mut row = timed(row(A, 64, n, 8), ns, 5);
            row.config_id = format!("{kernel}.{}", label(kernel));
            row.kernel_id = kernel.to_owned();
            row
        });
        let rows: Vec<Record> = rows.collect();
        let tables = tables(&rows);
        TimeGrid::of(&tables.catalog, &tables.devices[0])
    };
    let chosen = |times: &[(&str, u64, u64)]| {
        let range = grid(times).one_for_all().unwrap();
        (range.config.kernel.to_string(), range.worst_loss_ppm)
    };
    let times = [
        (A, 100, 1000),
        (ONE, 100, 900),
        (PERSISTENT, 100, 1300),
        (A, 200, 1000),
        (ONE, 200, 5000),
        (PERSISTENT, 200, 1100),
    ];
    assert_eq!(chosen(&times), (PERSISTENT.to_owned(), Some(444_445)));
    // Who ends before the others do is for no call of any size.
    let more = [&times[..5], &[(A, 300, 1000)][..]].concat();
    assert_eq!(chosen(&more), (A.to_owned(), None));
    assert_eq!(grid(&more).largest(), Some(300));
    // What it starts in vain is in no row.
    assert_eq!(chosen(&times[..1]), (A.to_owned(), None));
}

#[test]
fn confirmed_times_and_workgroup_counts_are_as_in_other_answers() {
    let mut rows: Vec<Record> = [(A, 100, 1000), (B, 100, 1050)]
        .iter()
        .map(|&(kernel, n, ns)| timed(row(kernel, 64, n, 8), ns, 5))
        .collect();
    rows[0].confirmed_ns = Some(1200);
    rows[1].confirmed_ns = Some(1000);
    rows[1].config_id.push_str(".g4");
    let tables = tables(&rows);
    let grid = TimeGrid::of(&tables.catalog, &tables.devices[0]);
    let ranges = grid.ranges(None);
    assert_eq!(told(&ranges), [(1, B.to_owned(), Some(0))]);
    assert_eq!(ranges[0].config.workgroups, None);
    let times: Vec<_> = grid.times(&ranges[0].config).map(|(n, time)| (n, time.ns, time.confirmed)).collect();
    assert_eq!(times, [(100, 1000.0, true)]);
    assert_eq!(grid.configs().count(), 2);
    assert_eq!(grid.sizes(), [100]);
}

proptest! {
    /// Whatever the times are: ranges ascend from 1, each size has a config that was measured there, within 2 % of the
    /// best, and what is said of the loss is so.
    #[test]
    fn every_size_is_near_its_best(times in prop::collection::btree_map((0usize..4, 1u64..9), 900u64..1100, 1..30)) {
        let kernels = [A, B, C, D];
        let times: Vec<_> = times.into_iter().map(|((kernel, n), ns)| (kernels[kernel], 100 * n, ns)).collect();
        let grid = grid(&times);
        let ranges = grid.ranges(None);
        prop_assert!(ranges[0].from == 1 && ranges.is_sorted_by(|a, b| a.from < b.from));
        let near = 1.0 + f64::from(NEAR_PPM) / 1e6;
        for &n in grid.sizes() {
            let range = &ranges[ranges.partition_point(|range| range.from <= n) - 1];
            let best = times.iter().filter(|time| time.1 == n).map(|time| time.2).min().unwrap();
            let kernel = range.config.kernel.to_string();
            let own = times.iter().find(|time| time.1 == n && time.0 == kernel).map(|time| time.2);
            prop_assert!(own.is_some_and(|own| own as f64 <= best as f64 * near), "{n}");
            let loss = own.unwrap() as f64 / best as f64 - 1.0;
            prop_assert!(f64::from(range.worst_loss_ppm.unwrap()) + 1e-3 >= loss * 1e6);
        }
        prop_assert!(grid.loss_of(&ranges).unwrap().worst_ppm <= NEAR_PPM);
prop_assert_eq!(grid.ranges(Some(1)).len(), 1);
    }
}

#[test]
fn the_largest_calls_take_the_shortest_code_that_is_near_the_best() {
    let chosen = |times: &[(&str, u64, u64)]| {
        let range = grid(times).shortest_of_largest()?;
        assert!(range.from == 1 && range.others.is_empty());
        Some(range.config.kernel.to_string())
    };
    let [one, four, eight] = ["b1.vec4.par.rake", "b4.vec4.par.rake", "b8.vec4.par.rake"];
    let small = [(one, 100, 10), (four, 100, 90), (eight, 100, 90)];
    let with = |large: &[(&'static str, u64, u64)]| [&small[..], large].concat();
    // Near the best are those within 2 %, at the largest size alone.
    assert_eq!(chosen(&with(&[(one, 200, 1021), (four, 200, 1019), (eight, 200, 1000)])).unwrap(), four);
    assert_eq!(chosen(&with(&[(one, 200, 1020), (four, 200, 1019), (eight, 200, 1000)])).unwrap(), one);
    // Who has no time there is not for it.
    assert_eq!(chosen(&with(&[(eight, 200, 1000)])).unwrap(), eight);
    assert_eq!(grid(&small).only(|_| None).shortest_of_largest().map(|range| range.from), None);
}
