//! Progress of a sweep on stderr: a bar on a terminal, else a plain line every half minute.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::space::Point;
use scanbox_model::units::size_label;

use crate::notes::note;

/// Between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(30);

/// A line that says how far something is: a bar on a terminal, else a plain line now and then.
pub struct ProgressLine {
    bar: Option<ProgressBar>,
    last_plain: Instant,
}

impl ProgressLine {
    /// A line for something with this many steps.
    pub fn new(total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style)
        });
        Self { bar, last_plain: Instant::now() }
    }

    /// Says what happens beside the steps.
    pub fn phase(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(what.to_owned()),
            None => note(what),
        }
    }

    /// Says what only a bar has room for.
    pub fn aside(&self, what: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(what());
        }
    }

    /// Says how many steps are done.
    pub fn step(&mut self, done: u64, total: u64, message: impl FnOnce() -> String) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(done);
                bar.set_message(message());
            }
            None if self.last_plain.elapsed() >= PLAIN_INTERVAL => {
                note(&format!("{done}/{total} {}", message()));
                self.last_plain = Instant::now();
            }
            None => {}
        }
    }

    /// Says something that stays, above the bar.
    pub fn remark(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(what)),
            None => note(what),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What a sweep shows while it runs.
pub struct Progress {
    line: ProgressLine,
    eta: Eta,
    total: u64,
    done: u64,
    not_ok: u64,
    best: Option<(f64, String)>,
    last_row: Instant,
}

impl Progress {
    /// Progress over the points that are still to do.
    pub fn new(points: &[Point]) -> Self {
        let total = points.len() as u64;
        let (line, eta) = (ProgressLine::new(total), Eta::new(points));
        Self { line, eta, total, done: 0, not_ok: 0, best: None, last_row: Instant::now() }
    }

    /// Says what happens before the first row.
    pub fn phase(&mut self, what: &str) {
        self.line.phase(what);
        self.last_row = Instant::now();
    }

    /// Says what the ceiling of a size is.
    pub fn ceiling(&mut self, n: u64, gbps: f64) {
        self.line.aside(|| format!("ceiling at {} elements: {gbps:.0} GB/s", size_label(n)));
        self.last_row = Instant::now();
    }

    /// Says something that stays.
    pub fn remark(&self, text: &str) {
        self.line.remark(text);
    }

    /// Counts a finished row.
    pub fn finished(&mut self, record: &Record) {
        self.done += 1;
        self.eta.finished(record.n_elements, self.last_row.elapsed());
        self.last_row = Instant::now();
        if record.status != Status::Ok {
            self.not_ok += 1;
        }
        if let Some(gbps) = record.throughput_gbps(Clock::Steady)
            && self.best.as_ref().is_none_or(|(best, _)| gbps > *best)
        {
            self.best = Some((gbps, record.config_id.clone()));
        }
        let message = self.message();
        self.line.step(self.done, self.total, || message);
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.line.end();
    }

    fn message(&self) -> String {
        let left = match self.eta.left() {
            Some(left) => format!("{} left", HumanDuration(left)),
            None => "estimating".to_owned(),
        };
        let not_ok = if self.not_ok == 0 { String::new() } else { format!(", {} not ok", self.not_ok) };
        let best = match &self.best {
            Some((gbps, config)) => format!(", best {gbps:.0} GB/s {config}"),
            None => String::new(),
        };
        format!("{left}{not_ok}{best}")
    }
}

/// An estimate of the time left. A row costs more at a larger size, so each size has its own mean; a size that has
/// not been seen yet gets the mean of the nearest one that has.
struct Eta {
    sizes: BTreeMap<u64, SizeTimes>,
}

#[derive(Default)]
struct SizeTimes {
    left: u32,
    seen: u32,
    time: Duration,
}

impl Eta {
    fn new(points: &[Point]) -> Self {
        let mut sizes: BTreeMap<u64, SizeTimes> = BTreeMap::new();
        for point in points {
            sizes.entry(point.n).or_default().left += 1;
        }
        Self { sizes }
    }

    fn finished(&mut self, n: u64, time: Duration) {
        if let Some(size) = self.sizes.get_mut(&n) {
            size.left = size.left.saturating_sub(1);
            size.seen += 1;
            size.time += time;
        }
    }

    fn left(&self) -> Option<Duration> {
        let mean_at = |n: u64| {
            let seen = self.sizes.iter().filter(|(_, size)| size.seen > 0);
            let distance = |other: u64| (other as f64 / n as f64).ln().abs();
            seen.min_by(|a, b| distance(*a.0).total_cmp(&distance(*b.0)))
                .map(|(_, size)| size.time / size.seen)
        };
        self.sizes
            .iter()
            .filter(|(_, size)| size.left > 0)
            .map(|(&n, size)| mean_at(n).map(|mean| mean * size.left))
            .sum()
    }
}
