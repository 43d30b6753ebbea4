//! The canary of a sweep: a copy that is timed between rows, to see whether the device changes its speed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scanbox_kernels::catalog;
use scanbox_kernels::plan::Plan;
use scanbox_model::device::DeviceKind;
use scanbox_model::record::Status;
use scanbox_model::space::Point;
use scanbox_model::units::size_label;

use super::{Sweep, SweepEvent};
use crate::backend::Failure;

/// Rows between two measurements of the canary.
const CANARY_INTERVAL: u64 = 100;
/// Time between them: a device that waits a lot for pipelines has changed its speed long before so many rows.
const CANARY_TIME: Duration = Duration::from_secs(2);
/// The canary is a copy of at most this many elements: large enough to show throttling, small enough to be quick.
const CANARY_ELEMENTS: u64 = 1 << 26;
/// A canary that differs from the first by more than this share: rows from before and after cannot be compared.
const DRIFT_MAX: f64 = 0.05;
/// How often the canary is timed in a row, at most, until the device is back at its speed.
const WAKES: u32 = 20;

/// A copy that is timed again and again, to see whether the device changes its speed.
pub(super) struct Canary {
    plan: Plan,
    first_ns: u64,
    last_ns: u64,
    timed: Instant,
    /// Whether the device was waited for in vain, and has been at another speed since.
    given_up: bool,
}

impl<E: From<Failure>> Sweep<'_, E> {
    /// Whether the canary is due: before the first row of a process, then after so many rows or so much time.
    pub(super) fn is_canary_due(&self) -> bool {
        let is_late = |canary: &Canary| canary.timed.elapsed() > CANARY_TIME;
        self.order_index == self.job.order_start
            || self.order_index.is_multiple_of(CANARY_INTERVAL)
            || self.is_hardware() && self.canary.as_ref().is_some_and(is_late)
    }

    /// Times of software devices mean nothing: theirs differ all the time, and nothing is measured again for that.
    fn is_hardware(&self) -> bool {
        self.session.backend.profile().kind == DeviceKind::Hardware
    }

    /// Times the canary behind points, of which those from `since` on were measured after the one before. Where the
    /// device ran at another speed than at first, before these or behind, they are to be measured again, and the canary
    /// is timed until the device is back, or does not come back.
    ///
    /// A device that stays faster was not awake at first: its speed is this one, and all points are to be measured
    /// again.
    pub(super) fn watch(
        &mut self,
        points: &[Point],
        since: usize,
        again: Option<&mut Vec<Point>>,
    ) -> Result<(), E> {
        let before = self.drift().unwrap_or(0.0);
        self.time_canary()?;
        let behind = self.drift().unwrap_or(0.0);
        if !self.is_hardware() {
            return Ok(());
        }
        // A device that did not come back is looked at, and not waited for at each canary.
        let waited = self.canary.as_ref().is_some_and(|canary| canary.given_up);
        let mut wakes = 0;
        while self.is_off() && !waited && wakes < WAKES && !self.should_stop() {
            self.time_canary()?;
            wakes += 1;
        }
        let is_off = self.is_off();
        if let Some(canary) = &mut self.canary {
            canary.given_up = is_off;
        }
        let late = &points[since..];
        if before.abs().max(behind.abs()) <= DRIFT_MAX || late.is_empty() {
            return Ok(());
        }
        let drift = 100.0 * if before.abs() > behind.abs() { before } else { behind };
        let Some(again) = again else {
            return self.tell_speed(drift, waited, &format!("{} rows stay as they are", late.len()));
        };
        if let Some(canary) = self.canary.as_mut().filter(|canary| is_off && canary.last_ns < canary.first_ns)
        {
            canary.first_ns = canary.last_ns;
            canary.given_up = false;
            again.clear();
            again.extend_from_slice(points);
            let text = format!(
                "the device has become faster than at first: a copy takes {drift:+.0} %; {} rows are measured once more \
                 at the end",
                points.len()
            );
            return (self.observer)(SweepEvent::Remark { text: &text });
        }
        again.extend_from_slice(late);
        let rows = if is_off { "rows until it is back".into() } else { format!("{} rows", late.len()) };
        self.tell_speed(drift, waited, &format!("{rows} are measured once more at the end"))
    }

    /// Tells that the device runs at another speed: once, until it is back.
    fn tell_speed(&mut self, drift: f64, told: bool, then: &str) -> Result<(), E> {
        if told {
            return Ok(());
        }
        let goes_on = if self.is_off() { ", and goes on so" } else { "" };
        let text = format!(
            "the device runs at another speed than at first: a copy takes {drift:+.0} %{goes_on}; {then}"
        );
        (self.observer)(SweepEvent::Remark { text: &text })
    }

    /// Those that were measured at another speed, where the device is as fast as at first again; else none, and that is
    /// told.
    pub(super) fn worth_measuring_again(&mut self, points: Vec<Point>) -> Result<Vec<Point>, E> {
        if points.is_empty() || !self.is_off() {
            return Ok(points);
        }
        let text = format!(
            "the device runs at another speed than at first: {} rows stay as they are (column drift_pct); measure them \
             in a new file when it is back",
            points.len()
        );
        (self.observer)(SweepEvent::Remark { text: &text })?;
        Ok(Vec::new())
    }

    fn is_off(&self) -> bool {
        self.drift().is_some_and(|drift| drift.abs() > DRIFT_MAX)
    }

    /// Times the canary: before the first row, also that of a process that goes on for another one, between rows,
    /// and after the last.
    fn time_canary(&mut self) -> Result<(), E> {
        let start = Instant::now();
        let device = Arc::clone(self.session.backend.profile());
        let n = self.session.backend.loaded_elements().min(CANARY_ELEMENTS);
        let what = format!("the copy of {} that watches for drift was measured", size_label(n));
        let before = self.canary.take().filter(|canary| canary.plan.n == n);
        let plan = match &before {
            Some(canary) => canary.plan.clone(),
            None => catalog::copy(&self.job.computation.problem, n, catalog::CEILING_SHAPES[0], &device),
        };
        let time = self.time_plan(&plan, &what)?;
        if time == Err(Status::WrongResult) {
            (self.observer)(SweepEvent::NoCeiling { n, wrong: true })?;
        }
        self.canary = match (before, time) {
            (Some(canary), Ok(ns)) => Some(Canary { last_ns: ns, timed: Instant::now(), ..canary }),
            (None, Ok(ns)) => {
                Some(Canary { plan, first_ns: ns, last_ns: ns, timed: Instant::now(), given_up: false })
            }
            (before, Err(_)) => before,
        };
        self.spend("canary", start);
        Ok(())
    }

    /// How much longer the canary takes than at first, as a share.
    pub(super) fn drift(&self) -> Option<f64> {
        self.canary.as_ref().map(|canary| canary.last_ns as f64 / canary.first_ns as f64 - 1.0)
    }
}
