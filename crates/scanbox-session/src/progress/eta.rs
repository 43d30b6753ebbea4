//! How long a sweep goes on, from what its rows took.
//!
//! Rows of a size differ by their configs, sizes by orders of magnitude. Points come in shuffled order, so the mean of
//! a size is right on average, and soon: but only where the size has been seen often enough. So the means of all sizes
//! are put on a line first, cost = a + b n, in which each counts by its relative error; a size then gets the mean of
//! its rows and of [`PRIOR`] rows of the cost that the line says. In a mean later rows count more than earlier ones:
//! the first ones are dear, because a config that comes close to the best of its size is tried longer, and at first
//! nearly all do. The first row of all says nothing: shaders are compiled and the input is loaded before it ends, which
//! comes once. A row that takes many times as long as others of its size met something that will not come with every
//! row, such as other load of the machine, and counts for [`MOST`] of them. What happens beside rows (a worker that is
//! replaced loads its input again) is spread over the points.

use std::collections::BTreeMap;
use std::time::Duration;

use scanbox_model::space::Point;

/// How many rows of a size the line of all sizes counts for.
const PRIOR: f64 = 3.0;

/// For how many times the median of its size a row counts at most.
const MOST: f64 = 4.0;

/// Rows of a size that have a median worth the name.
const ENOUGH: usize = 3;

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

/// Of one size.
#[derive(Default)]
struct SizeTimes {
    left: u64,
    /// Seconds of those that were seen, but for the first row of all, in their order.
    seconds: Vec<f64>,
    /// Their mean, in which each counts by its place; 0 of none.
    mean: f64,
}

impl SizeTimes {
    fn seen(&self) -> f64 {
        self.seconds.len() as f64
    }

    fn push(&mut self, seconds: f64) {
        self.seconds.push(seconds);
        let most = match self.seconds.len() {
            count if count < ENOUGH => f64::INFINITY,
            count => {
                let mut ordered = self.seconds.clone();
                MOST * *ordered.select_nth_unstable_by(count / 2, f64::total_cmp).1
            }
        };
        let weighted = self.seconds.iter().zip(1..).map(|(own, place)| own.min(most) * f64::from(place));
        self.mean = weighted.sum::<f64>() / (self.seen() * (self.seen() + 1.0) / 2.0);
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

    /// A row of this size came after this time. `is_new`: it is the first of its point.
    pub(super) fn finished(&mut self, n: u64, time: Duration, is_new: bool) {
        match self.sizes.get_mut(&n).filter(|_| is_new) {
            Some(size) => {
                size.left = size.left.saturating_sub(1);
                self.seen += 1;
                match self.seen {
                    1 => self.first = time.as_secs_f64(),
                    _ => size.push(time.as_secs_f64()),
                }
            }
            None => self.beside(time),
        }
    }

    /// This time went by without a row.
    pub(super) fn beside(&mut self, time: Duration) {
        // What comes before the first row comes once.
        if self.seen > 0 {
            self.beside += time.as_secs_f64();
        }
    }

    /// The time that is left; `None` before the first row.
    pub(super) fn left(&self) -> Option<Duration> {
        let (a, b) = self.line()?;
        let of_size = |(n, size): (&u64, &SizeTimes)| {
            let said = a + b * *n as f64;
            size.left as f64 * (PRIOR * said + size.seen() * size.mean) / (PRIOR + size.seen())
        };
        let rows: f64 = self.sizes.iter().map(of_size).sum();
        let left: u64 = self.sizes.values().map(|size| size.left).sum();
        let beside = self.beside / self.seen as f64 * left as f64;
        Duration::try_from_secs_f64(rows + beside).ok()
    }

    /// `a` and `b`, neither below 0, of the line through the means of the sizes.
    fn line(&self) -> Option<(f64, f64)> {
        let seen: Vec<(f64, f64, f64)> = self
            .sizes
            .iter()
            .filter(|(_, size)| !size.seconds.is_empty())
            .map(|(&n, size)| (n as f64, size.mean, size.seen() / size.mean.max(1e-6).powi(2)))
            .collect();
        let sum = |term: fn(&(f64, f64, f64)) -> f64| seen.iter().map(term).sum::<f64>();
        let (w, wn, wnn) = (sum(|s| s.2), sum(|s| s.2 * s.0), sum(|s| s.2 * s.0 * s.0));
        let (wy, wny) = (sum(|s| s.2 * s.1), sum(|s| s.2 * s.0 * s.1));
        if seen.is_empty() {
            return (self.seen > 0).then_some((self.first, 0.0));
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

    /// Rows in the order in which they came: size, and seconds.
    type Rows = Vec<(u64, f64)>;

    /// By how much the estimate is off when this share of the time is over: 0.1 is 10 % of what is left.
    fn off(rows: &Rows, share: f64) -> f64 {
        let config = "b4.vec4.par.rake.wg64".parse().unwrap();
        let points: Vec<Point> = rows.iter().map(|&(n, _)| Point { config, n }).collect();
        let mut eta = Eta::new(&points);
        assert_eq!(eta.left(), None);
        let total: f64 = rows.iter().map(|(_, seconds)| seconds).sum();
        let mut spent = 0.0;
        for &(n, seconds) in rows {
            eta.finished(n, Duration::from_secs_f64(seconds), true);
            spent += seconds;
            if spent >= share * total {
                break;
            }
        }
        (eta.left().unwrap().as_secs_f64() / (total - spent) - 1.0).abs()
    }

    /// A sweep whose rows cost `fixed` seconds and `each` per element, times a factor of its config that is up to
    /// `spread` in either direction; `stray`: one row in fifty takes so many times as long, and the first one as long
    /// as a fiftieth of all.
    fn made(
        configs: usize,
        sizes: &[u32],
        fixed: f64,
        each: f64,
        spread: f64,
        stray: f64,
        seed: u64,
    ) -> Rows {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let factors: Vec<f64> = (0..configs).map(|_| spread.powf(random.random_range(-1.0..1.0))).collect();
        let mut rows: Rows = Vec::new();
        for power in sizes {
            let n = 1_u64 << power;
            rows.extend(factors.iter().map(|factor| (n, factor * (fixed + each * n as f64))));
        }
        rows.shuffle(&mut random);
        for row in &mut rows {
            row.1 *= if random.random_bool(0.02) { stray } else { 1.0 };
        }
        if stray > 1.0 {
            rows[0].1 += rows.iter().map(|row| row.1).sum::<f64>() / 50.0;
        }
        rows
    }

    /// The worst of seeds: sweeps of other orders and other configs.
    #[test]
    fn after_a_tenth_of_the_work_the_estimate_is_right_within_a_fifth() {
        let check = |configs, sizes: &[u32], fixed, each, spread, stray| {
            let off = |seed| off(&made(configs, sizes, fixed, each, spread, stray, seed), 0.1);
            let mut worst: Vec<f64> = (0..40).map(off).collect();
            worst.sort_by(f64::total_cmp);
            // One order in twenty may be unlucky.
            assert!(worst[37] <= 0.2, "{configs} configs, {spread}: {worst:?}");
        };
        let all: Vec<u32> = (10..=29).collect();
        // A GPU: rows of small sizes cost their overhead, those of large ones their verification.
        check(180, &all, 8e-3, 4e-10, 2.0, 1.0);
        check(600, &all, 8e-3, 4e-10, 4.0, 1.0);
        // lavapipe: the elements are all there is.
        check(172, &[10, 11, 12, 13, 14, 15, 16], 2e-3, 2e-6, 2.0, 1.0);
        // The same while other programs use the machine.
        check(180, &all, 8e-3, 4e-10, 2.0, 6.0);
        check(172, &[10, 11, 12, 13, 14, 15, 16, 17, 18], 2e-3, 2e-6, 2.0, 4.0);
    }

    /// The rows of published sweeps, of GPUs and of lavapipe, with the seconds in which they came.
    #[test]
    fn of_published_sweeps_it_is_right_too() {
        for name in ["published.nvidia-h200.thesis", "published.nvidia-h200.full", "published.llvmpipe.quick"]
        {
            let path = format!("{}/../../results/{name}.csv", env!("CARGO_MANIFEST_DIR"));
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
                let each = (second(at) - before) as f64 / count as f64;
                times.extend(rows[at..at + count].iter().map(|row| (row.n_elements, each)));
                before = second(at);
            }
            assert!(times.len() > 150, "{name}: {}", times.len());
            assert!(off(&times, 0.1) <= 0.2, "{name}: {}", off(&times, 0.1));
        }
    }
}
