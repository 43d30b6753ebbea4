//! Statistics of single rows, by hand.

use scanbox_analysis::stats::{deviation_of_range, median_deviation, median_interval, relative_step};

#[test]
fn the_notch_is_that_of_mcgill() {
    let interval = median_interval(1000, 900, 1100, 25);
    assert!((interval.low - (1000.0 - 62.8)).abs() < 1e-9 && (interval.high - 1062.8).abs() < 1e-9);
    let alone = median_interval(1000, 1000, 1000, 0);
    assert_eq!((alone.low, alone.high), (1000.0, 1000.0));
    // Just apart, and just not.
    assert!(!interval.overlaps(&median_interval(1126, 1026, 1226, 25)));
    assert!(interval.overlaps(&median_interval(1125, 1025, 1225, 25)));
}

#[test]
fn deviations_follow_from_quartiles_and_ranges() {
    let found = median_deviation(1000, 900, 1100, 25);
    assert!((found - 0.2 * 1.25 / 1.35 / 5.0).abs() < 1e-12, "{found}");
    assert_eq!(deviation_of_range(3.0 * 1.128, 2), Some(3.0));
    assert_eq!(deviation_of_range(1.0, 1), None);
    assert_eq!(deviation_of_range(1.0, 50), deviation_of_range(1.0, 10));
}

#[test]
fn no_interval_is_narrower_than_a_step_of_the_timer() {
    let narrow = median_interval(1000, 1000, 1000, 25);
    let step = narrow.at_least(1000, 5.0);
    assert_eq!((step.low, step.high), (995.0, 1005.0));
    assert!(!narrow.overlaps(&median_interval(1010, 1010, 1010, 25)));
    assert!(step.overlaps(&median_interval(1010, 1010, 1010, 25).at_least(1010, 5.0)));
    // What is wider stays, and without steps everything does.
    let wide = median_interval(1000, 900, 1100, 25);
    assert_eq!(wide.at_least(1000, 5.0), wide);
    assert_eq!(wide.at_least(1000, 0.0), wide);
    assert_eq!((relative_step(1000, 5.0), relative_step(1000, 0.0)), (0.005, 0.0));
}
