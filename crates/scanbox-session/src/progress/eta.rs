//! How long a sweep goes on, from what its rows took.
//!
//! Rows of a size differ by their configs, sizes by orders of magnitude. Points come in shuffled order, so the mean of
//! a size is right on average, and soon: but only where the size has been seen often enough. So the means of all sizes
//! are put on a line first, cost = a + b n, in which each counts by its relative error; a size then gets the mean of
//! its rows and of [`PRIOR`] rows of the cost that the line says.
//!
//! A row that leads at its size, or nearly so, has a twin of many calls (scanbox-runner, twin.rs). On a device that is
//! slow this is most of what the first rows take, and few rows behind them do: row k of a size is the fastest so far
//! with a probability of 1 / k. So these twins are taken out of the rows, and those that come are counted apart.
//!
//! In a mean later rows count more than earlier ones, which compile what later ones find. The first row of all says
//! nothing: shaders are compiled and the input is loaded before it ends, which comes once. A row that takes many times
//! as long as others of its size met something that will not come with every row, such as other load of the machine,
//! and counts for [`MOST`] of them. What happens beside rows (a worker that is replaced loads its input again) is
//! spread over the points.

use std::collections::BTreeMap;
use std::time::Duration;

use scanbox_model::record::Record;
use scanbox_model::space::Point;
use scanbox_runner::twin;

/// How many rows of a size the line of all sizes counts for.
const PRIOR: f64 = 3.0;

/// For how many times the median of its size a row counts at most.
const MOST: f64 = 4.0;

/// Rows of a size that have a median worth the name.
const ENOUGH: usize = 3;

/// How many rows have the twin of a leader, for each that is the fastest so far: those close behind it have one too.
const LEADERS: f64 = 1.6;

/// An estimate of the time that is left.
pub(super) struct Eta {
    sizes: BTreeMap<u64, SizeTimes>,
    /// Points with a row.
    seen: u64,
    /// Seconds of the first row, while it is the only one.
    first: f64,
    /// Seconds beside rows, since the first one.
    beside: f64,
}

/// What a row took.
#[derive(Debug, Clone, Copy)]
pub(super) struct TakenTime {
    /// From the row before it.
    pub seconds: f64,
    /// Nanoseconds of a call, and the calls of its twin; of a row that was measured.
    pub calls: Option<(u64, u32)>,
}

impl TakenTime {
    pub(super) fn of(record: &Record, time: Duration) -> Self {
        let calls =
            record.steady.as_ref().zip(record.twin_calls).map(|(steady, calls)| (steady.median_ns, calls));
        Self { seconds: time.as_secs_f64(), calls }
    }
}

/// Of one size.
#[derive(Default)]
struct SizeTimes {
    left: u64,
    /// Points with a row.
    seen: u64,
    /// Seconds of those that were seen, but for the first row of all, in their order, without the twins of leaders.
    seconds: Vec<f64>,
    /// Their mean, in which each counts by its place; 0 of none.
    mean: f64,
    /// Of the fastest one so far: nanoseconds of a call.
    best_ns: Option<u64>,
    /// Seconds of the twin of the last leader.
    leader: Option<f64>,
}

impl SizeTimes {
    /// A row came; the first one of all only tells what leads.
    fn push(&mut self, row: TakenTime, is_first: bool) {
        let mut seconds = row.seconds;
        if let Some((call_ns, calls)) = row.calls {
            if twin::contends(call_ns, self.best_ns) {
                // A clock that is not that of the calls decides what the row took.
                let twin = (f64::from(calls) * call_ns as f64 / 1e9).min(seconds);
                self.leader = Some(twin);
                seconds -= twin;
            }
            self.best_ns = Some(self.best_ns.unwrap_or(call_ns).min(call_ns));
        }
        if is_first {
            return;
        }
        self.seconds.push(seconds);
        let most = match self.seconds.len() {
            count if count < ENOUGH => f64::INFINITY,
            count => {
                let mut ordered = self.seconds.clone();
                MOST * *ordered.select_nth_unstable_by(count / 2, f64::total_cmp).1
            }
        };
        let weighted = self.seconds.iter().zip(1..).map(|(own, place)| own.min(most) * f64::from(place));
        let count = self.seconds.len() as f64;
        self.mean = weighted.sum::<f64>() / (count * (count + 1.0) / 2.0);
    }

    /// How many of the rows that are left will have the twin of a leader.
    fn leaders_left(&self) -> f64 {
        LEADERS * (self.seen + 1..=self.seen + self.left).map(|place| 1.0 / place as f64).sum::<f64>()
    }
}

impl Eta {
    pub(super) fn new(points: &[Point]) -> Self {
        let mut sizes: BTreeMap<u64, SizeTimes> = BTreeMap::new();
        for point in points {
            sizes.entry(point.n).or_default().left += 1;
        }
        Self { sizes, seen: 0, first: 0.0, beside: 0.0 }
    }

    /// A row of this size came. `is_new`: it is the first of its point.
    pub(super) fn finished(&mut self, n: u64, row: TakenTime, is_new: bool) {
        match self.sizes.get_mut(&n).filter(|_| is_new) {
            Some(size) => {
                size.left = size.left.saturating_sub(1);
                size.seen += 1;
                self.seen += 1;
                if self.seen == 1 {
                    self.first = row.seconds;
                }
                size.push(row, self.seen == 1);
            }
            None => self.beside(row.seconds),
        }
    }

    /// So many seconds went by without a row.
    pub(super) fn beside(&mut self, seconds: f64) {
        // What comes before the first row comes once.
        if self.seen > 0 {
            self.beside += seconds;
        }
    }

    /// The time that is left; `None` before the first row.
    pub(super) fn left(&self) -> Option<Duration> {
        let row = match self.sizes.values().any(|size| !size.seconds.is_empty()) {
            true => self.line(|size| (!size.seconds.is_empty()).then_some((size.mean, size.seconds.len()))),
            false => (self.seen > 0).then_some((self.first, 0.0)),
        }?;
        let leader = self.line(|size| size.leader.map(|seconds| (seconds, 1))).unwrap_or((0.0, 0.0));
        let on = |(a, b): (f64, f64), n: u64| a + b * n as f64;
        let of_size = |(&n, size): (&u64, &SizeTimes)| {
            let seen = size.seconds.len() as f64;
            let ordinary = (PRIOR * on(row, n) + seen * size.mean) / (PRIOR + seen);
            let twin = size.leader.unwrap_or_else(|| on(leader, n));
            size.left as f64 * ordinary + size.leaders_left() * twin
        };
        let rows: f64 = self.sizes.iter().map(of_size).sum();
        let left: u64 = self.sizes.values().map(|size| size.left).sum();
        let beside = self.beside / self.seen as f64 * left as f64;
        Duration::try_from_secs_f64(rows + beside).ok()
    }

    /// `a` and `b`, neither below 0, of the line through a mean of each size, and how many it is of; `None` where no
    /// size has one.
    fn line(&self, mean: impl Fn(&SizeTimes) -> Option<(f64, usize)>) -> Option<(f64, f64)> {
        let seen: Vec<(f64, f64, f64)> = self
            .sizes
            .iter()
            .filter_map(|(&n, size)| {
                let (mean, count) = mean(size)?;
                Some((n as f64, mean, count as f64 / mean.max(1e-6).powi(2)))
            })
            .collect();
        let sum = |term: fn(&(f64, f64, f64)) -> f64| seen.iter().map(term).sum::<f64>();
        let (w, wn, wnn) = (sum(|s| s.2), sum(|s| s.2 * s.0), sum(|s| s.2 * s.0 * s.0));
        let (wy, wny) = (sum(|s| s.2 * s.1), sum(|s| s.2 * s.0 * s.1));
        if seen.is_empty() {
            return None;
        }
        let flat = (wy / w, 0.0);
        let determinant = w * wnn - wn * wn;
        if determinant <= 1e-9 * w * wnn {
            return Some(flat);
        }
        let (a, b) = ((wy * wnn - wn * wny) / determinant, (w * wny - wn * wy) / determinant);
        Some(match (a < 0.0, b < 0.0) {
            (_, true) => flat,
            (true, false) => (0.0, wny / wnn),
            (false, false) => (a, b),
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use scanbox_model::csv_file;

    use super::*;

    /// Rows in the order in which they came: size, and time.
    type Rows = Vec<(u64, TakenTime)>;

    /// A tenth of the work.
    const SHARE: f64 = 0.1;

    /// By how much the estimate is off when a tenth of the rows is there: 0.1 is 10 % of what is left.
    fn off(rows: &Rows) -> f64 {
        let config = "b4.vec4.par.rake.wg64".parse().unwrap();
        let points: Vec<Point> = rows.iter().map(|&(n, _)| Point { config, n }).collect();
        let mut eta = Eta::new(&points);
        assert_eq!(eta.left(), None);
        let (seen, left) = rows.split_at((rows.len() as f64 * SHARE).ceil() as usize);
        seen.iter().for_each(|&(n, row)| eta.finished(n, row, true));
        let left: f64 = left.iter().map(|(_, row)| row.seconds).sum();
        eta.left().unwrap().as_secs_f64() / left - 1.0
    }

    /// A sweep whose rows cost `fixed` seconds and `each` per element, times a factor of its config that is up to
    /// `spread` in either direction, and as many calls of a twin as leaders have; `stray`: one row in fifty takes so
    /// many times as long, and the first one as long as a fiftieth of all.
    fn made(configs: usize, sizes: &[u32], costs: [f64; 3], spread: f64, stray: f64, seed: u64) -> Rows {
        let [fixed, each, call] = costs;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let factors: Vec<f64> = (0..configs).map(|_| spread.powf(random.random_range(-1.0..1.0))).collect();
        let mut rows: Vec<(u64, f64)> = Vec::new();
        for power in sizes {
            rows.extend(factors.iter().map(|factor| (1_u64 << power, *factor)));
        }
        rows.shuffle(&mut random);
        let mut best = BTreeMap::new();
        let mut time = |(n, factor): (u64, f64)| {
            let call_ns = (1e9 * factor * call * n as f64) as u64;
            let calls = if twin::contends(call_ns, best.get(&n).copied()) { 128 } else { 3 };
            best.entry(n).and_modify(|best: &mut u64| *best = call_ns.min(*best)).or_insert(call_ns);
            let seconds = factor * (fixed + each * n as f64) + f64::from(calls) * call_ns as f64 / 1e9;
            let seconds = seconds * if random.random_bool(0.02) { stray } else { 1.0 };
            (n, TakenTime { seconds, calls: Some((call_ns, calls)) })
        };
        let mut rows: Rows = rows.into_iter().map(&mut time).collect();
        if stray > 1.0 {
            rows[0].1.seconds += rows.iter().map(|(_, row)| row.seconds).sum::<f64>() / 50.0;
        }
        rows
    }

    /// The worst of seeds: sweeps of other orders and other configs.
    #[test]
    fn after_a_tenth_of_the_work_the_estimate_is_right_within_a_fifth() {
        let check = |configs, sizes: &[u32], costs, spread, stray| {
            let off = |seed| off(&made(configs, sizes, costs, spread, stray, seed)).abs();
            let mut worst: Vec<f64> = (0..40).map(off).collect();
            worst.sort_by(f64::total_cmp);
            // One order in twenty may be unlucky.
            assert!(worst[37] <= 0.2, "{configs} configs, {costs:?}, {spread}: {worst:?}");
        };
        let all: Vec<u32> = (10..=29).collect();
        // A GPU: rows of small sizes cost their overhead, those of large ones their verification.
        let gpu = [8e-3, 4e-10, 3e-12];
        check(180, &all, gpu, 2.0, 1.0);
        check(600, &all, gpu, 4.0, 1.0);
        // lavapipe: the elements are all there is.
        check(172, &[10, 11, 12, 13, 14, 15, 16], [2e-3, 2e-6, 5e-8], 2.0, 1.0);
        // The same while other programs use the machine.
        check(180, &all, gpu, 2.0, 6.0);
        check(172, &[10, 11, 12, 13, 14, 15, 16, 17, 18], [2e-3, 2e-6, 5e-8], 2.0, 4.0);
    }

    /// A sweep of 176 rows, a third of whose time are the twins of some forty leaders: each seed has another order.
    #[test]
    fn of_a_device_where_leaders_take_long_it_is_right_too() {
        let path = format!("{}/tests/lavapipe_rows.csv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let mut sweeps: BTreeMap<u64, Rows> = BTreeMap::new();
        for line in text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())) {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |at: usize| cells[at].parse::<u64>().unwrap();
            let row =
                TakenTime { seconds: cells[2].parse().unwrap(), calls: Some((number(3), number(4) as u32)) };
            sweeps.entry(number(0)).or_default().push((number(1), row));
        }
        assert_eq!(sweeps.len(), 8);
        let mut off: Vec<f64> = sweeps.values().map(|rows| off(rows).abs()).collect();
        off.sort_by(f64::total_cmp);
        // In one order the fastest of a size happen to come one behind the other.
        assert!(off[6] <= 0.2 && off[7] <= 0.25, "{off:?}");
    }

    /// The rows of published sweeps, of GPUs and of lavapipe, with the seconds in which they came.
    #[test]
    fn of_published_sweeps_it_is_right_too() {
        let names = [
            "nvidia-h200.thesis",
            "nvidia-h200.full",
            "nvidia-h100.thesis",
            "nvidia-h100.full",
            "llvmpipe.quick",
        ];
        for name in names {
            let path = format!("{}/../../results/published.{name}.csv", env!("CARGO_MANIFEST_DIR"));
            let records = csv_file::read(std::path::Path::new(&path)).unwrap().records;
            let run = &records[0].run_id;
            let mut rows: Vec<_> = records.iter().filter(|row| row.run_id == *run).collect();
            rows.sort_by_key(|row| row.order_index);
            let second = |row: usize| rows[row].timestamp_utc.parse::<jiff::Timestamp>().unwrap().as_second();
            let mut times: Rows = Vec::new();
            let mut before = second(0) - 1;
            while times.len() < rows.len() {
                let at = times.len();
                // Rows share the time since the second before.
                let count = (at..rows.len()).take_while(|&row| second(row) == second(at)).count();
                let each = Duration::from_secs_f64((second(at) - before) as f64 / count as f64);
                times.extend(
                    rows[at..at + count].iter().map(|row| (row.n_elements, TakenTime::of(row, each))),
                );
                before = second(at);
            }
            assert!(times.len() > 150, "{name}: {}", times.len());
            assert!(off(&times).abs() <= 0.2, "{name}: {}", off(&times));
        }
    }
}
