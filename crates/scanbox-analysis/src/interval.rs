//! How sure a comparison of two rows of one benchmark is: the interval that holds it at 95 %.
//!
//! It comes from two sources, of which the larger one counts: the spread of the samples of both rows, and what the
//! rounds say, which have the drift of the device in them. Rounds alternate, so both rows share the drift: where a file
//! keeps the median of each round, each round compares the two once, and the spread of these comparisons counts, with
//! Student's factor for so few. Older files keep only how far the medians lie apart; it is then taken for independent
//! on both sides, which makes the interval wider than it had to be.
//!
//! A difference in nanoseconds is the mean of the comparisons of all rounds. Times of two pipelines may have two or
//! three values, by where a driver has put their code, and a median of them jumps from one to the other when hardly
//! anything has changed.

use scanbox_model::record::{Clock, Record};

use crate::stats::{ConfidenceInterval, deviation_of_range, median_deviation};

/// Standard deviations on each side of an interval that holds 95 % of what is normal.
const SIDES: f64 = 1.96;
/// The same of the mean of few values, by how many there are from 2 on (Student's t).
const SIDES_OF_FEW: [f64; 29] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
];
/// The standard deviation of a median over that of a mean.
const MEDIAN: f64 = 1.25;

/// What is known of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// By the medians of all samples; of a difference whose rounds alternated, the mean of theirs.
    pub value: f64,
    /// What holds it at 95 %.
    pub interval: ConfidenceInterval,
}

/// How many times as fast as another row a row is.
#[must_use]
pub fn times_as_fast(record: &Record, other: &Record) -> Option<Estimate> {
    let [own, others] = [RowTime::of(record)?, RowTime::of(other)?];
    let value = others.median / own.median;
    let pairs = RoundPairs::of(record, other, |own, other| (other / own).ln());
    let half_of_median = pairs.map(|pairs| MEDIAN * pairs.half_of_mean);
    let half = half(&own, &others, half_of_median, [1.0 / own.median, 1.0 / others.median]);
    let factor = half.exp();
    Some(Estimate { value, interval: ConfidenceInterval { low: value / factor, high: value * factor } })
}

/// By how many nanoseconds a row takes longer than another one.
#[must_use]
pub fn longer_ns(record: &Record, other: &Record) -> Option<Estimate> {
    let [own, others] = [RowTime::of(record)?, RowTime::of(other)?];
    let pairs = RoundPairs::of(record, other, |own, other| own - other);
    let value = pairs.as_ref().map_or(own.median - others.median, |pairs| pairs.mean);
    let half = half(&own, &others, pairs.map(|pairs| pairs.half_of_mean), [1.0, 1.0]);
    Some(Estimate { value, interval: ConfidenceInterval { low: value - half, high: value + half } })
}

/// The same as a share of the other row's time, in percent: of the mean of its rounds, or of the medians where rounds
/// did not alternate.
#[must_use]
pub fn longer_percent(record: &Record, other: &Record) -> Option<f64> {
    let [own, others] = [RowTime::of(record)?, RowTime::of(other)?];
    let (difference, time) = match RoundPairs::of(record, other, |own, other| own - other) {
        Some(pairs) => {
            let rounds = &other.round_medians_ns.0;
            (pairs.mean, rounds.iter().sum::<f64>() / rounds.len() as f64)
        }
        None => (own.median - others.median, others.median),
    };
    Some(100.0 * difference / time)
}

/// Whether an interval has in it what changes from block to block: it takes two rounds to see that.
#[must_use]
pub fn knows_rounds(record: &Record, other: &Record) -> bool {
    [record, other].iter().all(|row| row.rounds.is_none_or(|rounds| rounds > 1))
}

/// The times of a row, in nanoseconds.
struct RowTime {
    median: f64,
    /// The standard deviation of the median, by its samples.
    by_samples: f64,
    /// The same by how far the rounds lie apart, where there are two.
    by_rounds: Option<f64>,
}

impl RowTime {
    fn of(record: &Record) -> Option<Self> {
        let time = record.time(Clock::Steady).filter(|time| time.median_ns > 0)?;
        let median = time.median_ns as f64;
        let by_samples = median_deviation(time.median_ns, time.q1_ns, time.q3_ns, record.samples) * median;
        let by_rounds = record.round_spread_pct.zip(record.rounds).and_then(|(spread, rounds)| {
            let deviation = deviation_of_range(spread / 100.0 * median, rounds)?;
            Some(MEDIAN * deviation / f64::from(rounds).sqrt())
        });
        Some(Self { median, by_samples: by_samples.max(record.resolution_ns(Clock::Steady)), by_rounds })
    }
}

/// Half the interval of a comparison of two times, by what a nanosecond of each comes to in it. `by_pairs`: what the
/// comparisons round by round say, where there are any.
fn half(own: &RowTime, other: &RowTime, by_pairs: Option<f64>, worth: [f64; 2]) -> f64 {
    let both = |own: f64, other: f64| (own * worth[0]).hypot(other * worth[1]);
    let by_samples = SIDES * both(own.by_samples, other.by_samples);
    let by_rounds = || SIDES * both(own.by_rounds.unwrap_or(0.0), other.by_rounds.unwrap_or(0.0));
    by_samples.max(by_pairs.unwrap_or_else(by_rounds))
}

/// Two rows, compared round by round.
struct RoundPairs {
    mean: f64,
    /// Half the interval that holds the mean at 95 %.
    half_of_mean: f64,
}

impl RoundPairs {
    /// `None` where the rounds of the two did not alternate, or of one.
    fn of(own: &Record, other: &Record, compare: impl Fn(f64, f64) -> f64) -> Option<Self> {
        let [rounds, others] = [&own.round_medians_ns.0, &other.round_medians_ns.0];
        let alternated =
            own.run_id == other.run_id && own.cache == other.cache && own.n_elements == other.n_elements;
        if !alternated || rounds.len() != others.len() || rounds.len() < 2 {
            return None;
        }
        let pairs: Vec<f64> = rounds.iter().zip(others).map(|(&own, &other)| compare(own, other)).collect();
        let count = pairs.len() as f64;
        let mean = pairs.iter().sum::<f64>() / count;
        let variance = pairs.iter().map(|pair| (pair - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let sides = SIDES_OF_FEW.get(pairs.len() - 2).copied().unwrap_or(SIDES + 2.4 / (count - 1.0));
        Some(Self { mean, half_of_mean: sides * (variance / count).sqrt() })
    }
}

#[cfg(test)]
mod tests {
    use scanbox_model::record::{RoundMedians, TimeStats};

    use super::*;

    fn row(run_id: &str, median_ns: u64, rounds: &[f64], spread_pct: f64) -> Record {
        let steady = TimeStats { median_ns, q1_ns: median_ns, q3_ns: median_ns, ..TimeStats::default() };
        Record {
            run_id: run_id.to_owned(),
            steady: Some(steady),
            samples: 100,
            rounds: Some(9),
            round_spread_pct: Some(spread_pct),
            round_medians_ns: RoundMedians(rounds.to_vec()),
            ..Record::default()
        }
    }

    /// Times of two values, of which one row has the lower one in five of nine rounds, the other in four: the medians
    /// are 100 ns apart, and the rows 11.
    #[test]
    fn a_difference_does_not_jump_where_times_have_two_values() {
        let rounds =
            |low: usize| std::array::from_fn::<f64, 9, _>(|place| if place < low { 2000.0 } else { 2100.0 });
        let [own, other] = [row("a", 2100, &rounds(4), 5.0), row("a", 2000, &rounds(5), 5.0)];
        let difference = longer_ns(&own, &other).unwrap();
        assert!((difference.value - 100.0 / 9.0).abs() < 0.1, "{difference:?}");
        assert!(difference.interval.low < 0.0 && difference.interval.high < 40.0, "{difference:?}");
        // Of the mean of five times 2000 and four times 2100.
        let percent = longer_percent(&own, &other).unwrap();
        assert!((percent - 100.0 * (100.0 / 9.0) / (2000.0 + 400.0 / 9.0)).abs() < 1e-9, "{percent}");
    }

    #[test]
    fn rounds_that_drift_together_say_more_than_their_spread() {
        fn check(what: &str, own: &Record, other: &Record, difference_half: f64) {
            let close =
                |found: f64, expected: f64| (found - expected).abs() <= 0.02 * expected.abs().max(1e-3);
            let difference = longer_ns(own, other).unwrap();
            assert!(close(difference.value, -250.0), "{what}: {difference:?}");
            let half = difference.interval.high - difference.value;
            assert!(close(half, difference_half), "{what}: {difference:?}");
            assert!(
                close(difference.value - difference.interval.low, difference_half),
                "{what}: {difference:?}"
            );
            let ratio = times_as_fast(own, other).unwrap();
            assert!(close(ratio.value, 1.25), "{what}: {ratio:?}");
            let low = ratio.value / ratio.interval.low;
            assert!(close(ratio.interval.high / ratio.value, low), "{what}: {ratio:?}");
        }
        let drift = [1000.0, 1010.0, 1020.0, 1030.0, 1040.0, 1050.0, 1060.0, 1070.0, 1080.0];
        let slower = drift.map(|ns| ns + 250.0);
        let [own, other] = [row("a", 1000, &drift, 8.0), row("a", 1250, &slower, 6.4)];
        check("the same drift", &own, &other, 0.0);
        // 80 ns between nine medians are 26.9 ns of standard deviation, 11.2 ns of their median, twice over.
        let unpaired = 1.96 * 1.25 * 80.0 / 2.970 / 3.0 * std::f64::consts::SQRT_2;
        check("of an older file", &row("a", 1000, &[], 8.0), &row("a", 1250, &[], 6.4), unpaired);
        check("of another run", &row("b", 1000, &drift, 8.0), &other, unpaired);
        // Differences of 240 and 260 in turns, and one of 250: a standard deviation of 10 ns.
        let mut apart = slower;
        for (place, ns) in apart[..8].iter_mut().enumerate() {
            *ns += if place % 2 == 0 { 10.0 } else { -10.0 };
        }
        check("apart", &own, &row("a", 1250, &apart, 6.4), 2.306 * 10.0 / 3.0);
        let coarse = Record { timer_resolution_ns: Some(20.0), ..own };
        check("a step of the timer", &coarse, &other, 1.96 * 20.0);
        assert_eq!(longer_ns(&Record::default(), &other), None, "it has no time");
    }
}
