//! Every row of a size has one time, on the scale of the confirmation where there is one.

use crate::rows::*;
use scanbox_model::record::Record;

fn confirmed(record: Record, ns: u64) -> Record {
    Record { confirmed_ns: Some(ns), ..record }
}

/// The best config of size 100 and its lead, of rows whose own times are 1000 to 1030 ns.
fn check(rows: &[Record], kernel: &str, runner_up: &str, margin_pct: f64) {
    let tables = tables(rows);
    let answers = answers(&tables, "power:1.25");
    let point = &answers.devices[0].ideal.points[0];
    let label = |config| tables.catalog.config(config).kernel.to_string();
    assert_eq!(label(point.best.config), kernel);
    assert_eq!(label(point.runner_up.unwrap().config), runner_up);
    assert!((point.margin_pct.unwrap() - margin_pct).abs() < 0.01, "{:?}", point.margin_pct);
    // No kernel line lies above the ideal one, so that every metric has a score.
    if let Some(choice) = &answers.devices[0].choice {
        assert!(choice.ranking.winner.score.is_finite());
        assert!(choice.lines[0].points.iter().all(|point| point.loss_pct >= 0.0));
    }
}

#[test]
fn the_smallest_confirmed_time_wins_where_the_fastest_row_has_one() {
    let a = timed(row(A, 64, 100, 8), 1000, 5);
    let b = timed(row(B, 64, 100, 8), 1010, 5);
    let c = timed(row(C, 64, 100, 8), 1030, 5);
    check(&[a.clone(), b.clone(), c.clone()], A, B, 1.0);
    // What was not confirmed is on the same scale: 1000 / 1010 of its time in the sweep, which is above that of the
    // winner.
    check(&[confirmed(a.clone(), 1040), confirmed(b.clone(), 1000), c.clone()], B, C, 1.98);
    check(&[confirmed(a.clone(), 1015), confirmed(b.clone(), 1000), c.clone()], B, A, 1.5);
    // Of equal ones the faster row.
    check(&[confirmed(a.clone(), 1000), confirmed(b.clone(), 1000), c.clone()], A, B, 0.0);
    // Rows that came after the confirmation are as good as they look.
    check(&[a, confirmed(b, 1020), confirmed(c, 1000)], A, B, 1.0);
}
