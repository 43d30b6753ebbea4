//! Progress on stderr: a bar on a terminal, lines of JSON for programs, else a plain line every half minute.

mod eta;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::space::Point;
use scanbox_model::units::size_label;

use self::eta::{Eta, TakenTime};
use crate::event::{PROGRESS_FORMAT, ProgressEvent, ProgressForm, StepsDone};
use crate::notes::{self, Voice, note};

/// Between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(30);

/// Between two lines of JSON.
const JSON_INTERVAL: Duration = Duration::from_secs(1);

/// A line that says how far something is.
pub struct ProgressLine {
    form: ProgressForm,
    bar: Option<ProgressBar>,
    began: Instant,
    /// When a line was last said.
    last_line: Option<Instant>,
    last: StepsDone,
}

impl ProgressLine {
    /// A line for a task of this name with this many steps.
    pub fn new(task: &str, total: u64) -> Self {
        let form = Voice::get().progress();
        let bar = (form == ProgressForm::Bar).then(|| {
            let style = ProgressStyle::with_template("{bar:18} {pos}/{len} {wide_msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style)
        });
        notes::set_bar(bar.clone());
        notes::event(&ProgressEvent::Begin {
            format: PROGRESS_FORMAT,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            task: task.to_owned(),
            total,
        });
        let last = StepsDone { total, ..StepsDone::default() };
        Self { form, bar, began: Instant::now(), last_line: None, last }
    }

    /// Says what happens beside the steps.
    pub fn phase(&mut self, what: &str) {
        match self.form {
            ProgressForm::Bar => self.aside(|| what.to_owned()),
            ProgressForm::Plain => note(what),
            ProgressForm::Json => notes::event(&ProgressEvent::Phase { text: what.to_owned() }),
            ProgressForm::Auto | ProgressForm::None => {}
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
        self.steps(StepsDone { done, total, ..StepsDone::default() }, message);
    }

    /// The same with what else is known. The line itself knows how long it took.
    pub fn steps(&mut self, steps: StepsDone, message: impl FnOnce() -> String) {
        let is_over = |interval| self.last_line.unwrap_or(self.began).elapsed() >= interval;
        match self.form {
            ProgressForm::Bar => {
                if let Some(bar) = &self.bar {
                    bar.set_length(steps.total);
                    bar.set_position(steps.done);
                    bar.set_message(message());
                }
            }
            ProgressForm::Plain if is_over(PLAIN_INTERVAL) => {
                note(&format!("{}/{} {}", steps.done, steps.total, message()));
                self.last_line = Some(Instant::now());
            }
            ProgressForm::Json
                if self.last_line.is_none() || is_over(JSON_INTERVAL) || steps.done == steps.total =>
            {
                let steps = self.timed(steps.clone());
                notes::event(&ProgressEvent::Progress(steps));
                self.last_line = Some(Instant::now());
            }
            _ => {}
        }
        self.last = steps;
    }

    fn timed(&self, steps: StepsDone) -> StepsDone {
        let milliseconds = |seconds: f64| (1e3 * seconds).round() / 1e3;
        StepsDone {
            elapsed_s: milliseconds(self.began.elapsed().as_secs_f64()),
            eta_s: steps.eta_s.map(milliseconds),
            ..steps
        }
    }

    /// Says something that stays, above the bar.
    pub fn remark(&self, what: &str) {
        note(what);
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        notes::set_bar(None);
        notes::event(&ProgressEvent::End(self.timed(self.last.clone())));
    }
}

/// What a sweep shows while it runs.
pub struct Progress {
    line: ProgressLine,
    eta: Eta,
    total: u64,
    done: u64,
    rows_by_status: BTreeMap<Status, u64>,
    best: Option<(f64, String)>,
    last_row: Instant,
}

impl Progress {
    /// Progress over the points that are still to do.
    pub fn new(points: &[Point]) -> Self {
        let total = points.len() as u64;
        let (line, eta) = (ProgressLine::new("sweep", total), Eta::new(points));
        let rows_by_status = BTreeMap::new();
        Self { line, eta, total, done: 0, rows_by_status, best: None, last_row: Instant::now() }
    }

    /// Goes on after something else had its own progress.
    pub fn go_on(&mut self) {
        self.line = ProgressLine::new("sweep", self.total);
        self.last_row = Instant::now();
    }

    /// Says what happens beside rows.
    pub fn phase(&mut self, what: &str) {
        self.line.phase(what);
        self.beside();
    }

    /// Says what the ceiling of a size is.
    pub fn ceiling(&mut self, n: u64, gbps: f64) {
        self.line.aside(|| format!("ceiling at {} elements: {gbps:.1} GB/s", size_label(n)));
        self.beside();
    }

    /// Another worker, or something that is no row, has taken the time until now.
    fn beside(&mut self) {
        self.eta.beside(self.last_row.elapsed().as_secs_f64());
        self.last_row = Instant::now();
    }

    /// Says something that stays.
    pub fn remark(&self, text: &str) {
        self.line.remark(text);
    }

    /// Counts a finished row. `is_new`: it is the first of its point in this run.
    pub fn finished(&mut self, record: &Record, is_new: bool) {
        self.eta.finished(record.n_elements, TakenTime::of(record, self.last_row.elapsed()), is_new);
        self.last_row = Instant::now();
        if is_new {
            self.done += 1;
            *self.rows_by_status.entry(record.status).or_default() += 1;
        }
        if let Some(gbps) = record.throughput_gbps(Clock::Steady)
            && self.best.as_ref().is_none_or(|(best, _)| gbps > *best)
        {
            self.best = Some((gbps, record.config_id.clone()));
        }
        let steps = StepsDone {
            done: self.done,
            total: self.total,
            rows_by_status: self.rows_by_status.clone(),
            eta_s: self.eta.left().map(|left| left.as_secs_f64()),
            best_gbps: self.best.as_ref().map(|(gbps, _)| *gbps),
            best_config: self.best.as_ref().map(|(_, config)| config.clone()),
            ..StepsDone::default()
        };
        // Behind a bar a label would be cut at 80 columns.
        let message = self.message(self.line.form != ProgressForm::Bar);
        self.line.steps(steps, || message);
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.line.end();
    }

    fn message(&self, with_label: bool) -> String {
        let left = match self.eta.left() {
            Some(left) => format!("{} left", HumanDuration(left)),
            None => "estimating".to_owned(),
        };
        let ok = self.rows_by_status.get(&Status::Ok).copied().unwrap_or(0);
        let not_ok = if self.done == ok { String::new() } else { format!(", {} not ok", self.done - ok) };
        let best = match &self.best {
            Some((gbps, config)) if with_label => format!(", best {} GB/s {config}", three_digits(*gbps)),
            Some((gbps, _)) => format!(", best {} GB/s", three_digits(*gbps)),
            None => String::new(),
        };
        format!("{left}{not_ok}{best}")
    }
}

/// A throughput that is not rounded to nothing.
fn three_digits(gbps: f64) -> String {
    match gbps {
        100.0.. => format!("{gbps:.0}"),
        1.0.. => format!("{gbps:.1}"),
        _ => format!("{gbps:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bar takes 18 columns, the counts at most 13, and a time at most 10.
    #[test]
    fn what_stands_behind_a_bar_has_room_at_80_columns() {
        let config = "b8.vec4.gather.sub.shuffle.striped.wgid.early.wg256".to_owned();
        for gbps in [0.001, 9.99, 2750.0] {
            for not_ok in [0, 1234] {
                let mut progress = Progress::new(&[]);
                progress.best = Some((gbps, config.clone()));
                progress.done = not_ok;
                assert!(progress.message(true).ends_with(&config));
                let shown = progress.message(false).replace("estimating", "59 minutes left");
                assert!(18 + 1 + 13 + 1 + shown.len() <= 80, "{shown}");
            }
        }
    }
}
