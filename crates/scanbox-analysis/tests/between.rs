//! What runs at a size between two measured ones.

use crate::rows::*;
use scanbox_analysis::between::{at_size, between};
use scanbox_model::record::Record;

/// Rows of kernel and size in elements, with their times in ns.
fn measured(times: &[(&str, u64, u64)]) -> Vec<Record> {
    times.iter().map(|&(kernel, n, ns)| timed(row(kernel, 64, n, 8), ns, 5)).collect()
}

fn check(rows: &[Record], n: u64, suits: impl Fn(&str) -> bool, expected: Option<&str>) {
    let tables = tables(rows);
    let suits = |config: &scanbox_model::config::Config| suits(&config.kernel.to_string());
    let chosen = between(&tables.catalog, &tables.devices[0], n, suits);
    assert_eq!(chosen.map(|config| config.kernel.to_string()).as_deref(), expected, "{n}");
}

#[test]
fn the_times_at_both_sizes_decide() {
    // A wins at 100 and jumps before 200, where B wins; D is the fastest of all, at one size.
    let rows = measured(&[(A, 100, 1000), (B, 100, 1100), (A, 200, 2000), (B, 200, 1200), (D, 200, 10)]);
    let any = |_: &str| true;
    // 1000 + 0.05 * 1000 against 1100 + 0.05 * 100.
    check(&rows, 105, any, Some(A));
    // As good on the line, and without the jump.
    check(&rows, 110, any, Some(B));
    check(&rows, 112, any, Some(B));
    check(&rows, 199, any, Some(B));
    check(&rows, 199, |kernel| kernel != B, Some(A));
    check(&rows, 199, |kernel| kernel == D, None);
    // Measured sizes have winners, and beyond them nothing is known.
    for n in [1, 99, 100, 200, 201, u64::MAX] {
        check(&rows, n, any, None);
    }
}

#[test]
fn confirmed_times_count_more() {
    let mut rows = measured(&[(A, 100, 1000), (B, 100, 1100), (A, 200, 2000), (B, 200, 2100)]);
    check(&rows, 150, |_| true, Some(A));
    // The confirmation of a size counts where it has the fastest row of the sweep.
    rows[1].confirmed_ns = Some(800);
    check(&rows, 150, |_| true, Some(A));
    rows[0].confirmed_ns = Some(1000);
    check(&rows, 150, |_| true, Some(B));
}

#[test]
fn a_workgroup_count_is_that_of_the_nearer_size() {
    let of = |count: u32, n, ns| {
        let mut record = timed(row(A, 64, n, 8), ns, 5);
        record.config_id.push_str(&format!(".g{count}"));
        record
    };
    let tables = tables(&[of(4, 100, 1000), of(8, 200, 2000)]);
    let chosen = |n| between(&tables.catalog, &tables.devices[0], n, |_| true).unwrap().workgroups;
    assert_eq!((chosen(120), chosen(180)), (Some(4), Some(8)));
}

#[test]
fn every_size_has_a_config_to_launch() {
    let rows = measured(&[(A, 100, 1000), (B, 100, 1100), (A, 200, 2000), (B, 200, 1200), (D, 200, 10)]);
    let tables = tables(&rows);
    // Kernel, time, the sizes behind it, and what it loses there: of B at 200, where D is fastest.
    let check = |n: u64, kernel: &str, ns: Option<f64>, measured: &[u64], loss: Option<f64>| {
        let found = at_size(&tables.catalog, &tables.devices[0], n).unwrap();
        assert_eq!((found.config.kernel.to_string().as_str(), found.n), (kernel, n));
        assert_eq!((found.time_ns, found.measured.as_slice()), (ns, measured), "{n}");
        let thousandths = |loss: f64| (loss * 1000.0).round();
        assert_eq!(found.worst_loss_pct.map(thousandths), loss.map(thousandths), "{n}: {found:?}");
    };
    check(100, A, Some(1000.0), &[100], Some(0.0));
    check(200, D, Some(10.0), &[200], Some(0.0));
    check(150, B, Some(1150.0), &[100, 200], Some(100.0 * (1.0 - 10.0 / 1200.0)));
    check(101, A, Some(1010.0), &[100, 200], Some(100.0 * (1.0 - 10.0 / 2000.0)));
    check(1, A, None, &[100], None);
    check(1 << 30, D, None, &[200], None);
}

/// Steps of a space are finer than octaves: of several sizes near by, the size itself is the nearest.
#[test]
fn a_measured_size_has_its_own_winner() {
    let sizes = [1000, 1189, 1414, 1682, 2000, 2378, 2828, 4000];
    let kernels = [A, B, C, D];
    let winner = |at: usize| kernels[at % kernels.len()];
    let time = |kernel: &str, at: usize| if kernel == winner(at) { 1000 } else { 1100 + at as u64 };
    let all =
        sizes.iter().enumerate().flat_map(|(at, &n)| kernels.map(|kernel| (kernel, n, time(kernel, at))));
    let tables = tables(&measured(&all.collect::<Vec<_>>()));
    for (at, &n) in sizes.iter().enumerate() {
        let found = at_size(&tables.catalog, &tables.devices[0], n).unwrap();
        assert_eq!(found.config.kernel.to_string(), winner(at), "{n}");
        assert_eq!((found.measured, found.time_ns, found.worst_loss_pct), (vec![n], Some(1000.0), Some(0.0)));
    }
    // Nothing in common on both sides: the nearer one, by its ratio.
    let lone = tables_of_lone();
    for (n, expected) in [(141, 100), (142, 200), (199, 200), (201, 200), (99, 100), (10_000, 200)] {
        let found = at_size(&lone.catalog, &lone.devices[0], n).unwrap();
        assert_eq!((found.measured, found.worst_loss_pct), (vec![expected], None), "{n}");
    }
}

fn tables_of_lone() -> scanbox_analysis::table::Tables {
    tables(&measured(&[(A, 100, 1000), (B, 200, 1000)]))
}
