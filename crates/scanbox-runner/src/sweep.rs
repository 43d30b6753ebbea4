//! The sweep: every point of a space on one device, each verified, then timed, then handed out as a record.
//!
//! [`run`] is the whole pipeline. It names no backend, no kernel family and no parameter of one, and it writes no file:
//! records leave through an observer, row by row.

mod canary;
mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::Plan;
use scanbox_model::record::{Cache, Ratio, Record, Status};
use scanbox_model::space::Point;
use scanbox_model::units::{size_label, throughput_gbps};
use serde::{Deserialize, Serialize};

use self::canary::Canary;
use self::order::in_order;
use crate::backend::{Backend, Failure, TickInterval};
use crate::measure::{Measurement, Protocol, measure};
use crate::row::{Computation, Origin, blank_record, now_utc};
use crate::session::{End, RunSummary, Session, Setup, tells};
use crate::twin::{self, Length, Twin};
use crate::verify::{describe, verify};
use scanbox_kernels::cases::Circumstance;

/// Calls in a row that a config which was wrong once has to get right.
const PROOF_CALLS: u32 = 1000;

/// What one run has to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepJob {
    /// What is computed, and on which elements.
    pub computation: Computation,
    /// Points to measure; none where only ceilings are left.
    pub points: Vec<Point>,
    /// Those of them that were wrong once: their rows say `ok` only with the calls that show them right
    /// ([`Record::proved_calls`]).
    pub prove: BTreeSet<Point>,
    /// Sizes whose ceiling is still to be measured.
    pub ceiling_sizes: BTreeSet<u64>,
    /// Seed of the order.
    pub seed: u64,
    /// How times are taken.
    pub protocol: Protocol,
    /// Position of the first row in the order of the run: not 0 where another process began it.
    pub order_start: u64,
    /// Make each pipeline right before its config runs, not all of them first: slower, but a driver that dies of a
    /// shader dies with a culprit.
    pub one_by_one: bool,
    /// Measure sizes in turns: wherever the run has to stop, each size has about as many rows as any other.
    pub in_turns: bool,
    /// What every row of the run says about its origin.
    pub origin: Origin,
}

/// What happens during a run.
#[derive(Debug)]
pub enum SweepEvent<'a> {
    /// Something takes time before anything runs.
    Setup(Setup),
    /// Something that is no config is about to run on the device.
    Doing {
        /// What, as a clause: `the copy of 2^13 was measured`.
        what: &'a str,
    },
    /// Something that is no config went wrong, and the run goes on without it.
    Remark {
        /// What went wrong.
        text: &'a str,
    },
    /// The ceiling of one size was measured (see [`catalog::ceiling`]): the fastest of its shapes.
    Ceiling {
        /// Elements.
        n: u64,
        /// Throughput in GB/s.
        gbps: f64,
    },
    /// The ceiling of one size could not be measured, or a copy gave a wrong result: the size has none, whatever was
    /// said of it before.
    NoCeiling {
        /// Elements.
        n: u64,
        /// Whether a result was wrong.
        wrong: bool,
    },
    /// A config is about to run.
    Started {
        /// Which, and at what size.
        point: &'a Point,
    },
    /// A row is finished.
    Finished {
        /// The row.
        record: &'a Record,
    },
}

/// Runs a job. The observer gets each event and may fail (a full disk): that ends the run.
///
/// # Errors
/// What the observer returns; or a failure of the device that is no config's: before any could be tried, or of a
/// copy. One that is fatal ([`Failure::is_fatal`]) says what was going on, and leaves the rest to another process.
pub fn run<E: From<Failure>>(
    backend: &mut dyn Backend,
    compiler: &Compiler,
    job: &SweepJob,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(SweepEvent<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    let mut sweep = Sweep {
        session: Session::new(backend, compiler, job.computation.problem),
        job,
        stop,
        observer,
        seconds: BTreeMap::new(),
        canary: None,
        timed: None,
        best_ns: BTreeMap::new(),
        told: BTreeSet::new(),
        ceilings: job.ceiling_sizes.clone(),
        order_index: job.order_start,
    };
    let end = sweep.run()?;
    let Sweep { session, mut seconds, .. } = sweep;
    seconds.insert("compile", session.spent.compiling.as_secs_f64());
    seconds.insert("pipelines", session.spent.creating.as_secs_f64());
    Ok(session.outcome(end, seconds))
}

struct Sweep<'a, E> {
    session: Session<'a>,
    job: &'a SweepJob,
    stop: &'a AtomicBool,
    observer: &'a mut dyn FnMut(SweepEvent<'_>) -> Result<(), E>,
    seconds: BTreeMap<&'static str, f64>,
    canary: Option<Canary>,
    /// When something was last timed, and how long the device had worked by then.
    timed: Option<(Instant, f64)>,
    /// The fastest right time of this process, by size.
    best_ns: BTreeMap<u64, u64>,
    /// What has been told to fail.
    told: BTreeSet<String>,
    /// Sizes whose ceiling is still to be measured.
    ceilings: BTreeSet<u64>,
    order_index: u64,
}

impl<E: From<Failure>> Sweep<'_, E> {
    fn run(&mut self) -> Result<End, E> {
        self.prepare()?;
        for (input, points) in self.points_by_input() {
            let points = self.load(input, points)?;
            self.measure_ceilings()?;
            let points = in_order(points, self.job);
            let mut again = Vec::new();
            if let Some(end) = self.measure_points(&points, input, Some(&mut again))? {
                return Ok(end);
            }
            // Once, and only if the device is back.
            let again = self.worth_measuring_again(again)?;
            let again = in_order(again, self.job);
            if let Some(end) = self.measure_points(&again, input, None)? {
                return Ok(end);
            }
        }
        Ok(End::Complete)
    }

    /// Measures points, with a canary between them; `again` gets those that were measured while the device ran at
    /// another speed than at first. Returns how the run ended, where it does.
    fn measure_points(
        &mut self,
        points: &[Point],
        input: Input,
        mut again: Option<&mut Vec<Point>>,
    ) -> Result<Option<End>, E> {
        let mut since_canary = 0;
        for (place, point) in points.iter().enumerate() {
            if self.should_stop() {
                return Ok(Some(End::Interrupted));
            }
            if self.is_canary_due() {
                self.watch(&points[..place], since_canary, again.as_deref_mut())?;
                since_canary = place;
            }
            self.session.check_device("no config was in flight")?;
            (self.observer)(SweepEvent::Started { point })?;
            // The observer may have been the one who asked to stop.
            if self.should_stop() {
                return Ok(Some(End::Interrupted));
            }
            let (record, fatal) = self.attempt(point, input);
            (self.observer)(SweepEvent::Finished { record: &record })?;
            if fatal {
                return Ok(Some(End::DeviceUnusable));
            }
        }
        if self.should_stop() {
            return Ok(Some(End::Interrupted));
        }
        if since_canary < points.len() {
            self.watch(points, since_canary, again)?;
        }
        Ok(None)
    }

    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Makes the pipelines of the job, before anything is timed.
    fn prepare(&mut self) -> Result<(), E> {
        let ahead: &[Point] = if self.job.one_by_one { &[] } else { &self.job.points };
        let plans = ahead.iter().map(|point| self.session.plan(&point.config, Variant::default(), point.n));
        let ahead = plans.flatten().collect();
        self.session.prepare(ahead, &mut |setup| (self.observer)(SweepEvent::Setup(setup)))
    }

    fn spend(&mut self, phase: &'static str, since: Instant) {
        *self.seconds.entry(phase).or_default() += since.elapsed().as_secs_f64();
    }

    /// The points by the input that they run on: the largest group first.
    fn points_by_input(&self) -> Vec<(Input, Vec<Point>)> {
        let device = self.session.backend.profile();
        let mut groups: Vec<(Input, Vec<Point>)> = Vec::new();
        for &point in &self.job.points {
            let input = self.job.computation.input(&point.config, device);
            match groups.iter_mut().find(|(other, _)| *other == input) {
                Some((_, points)) => points.push(point),
                None => groups.push((input, vec![point])),
            }
        }
        groups.sort_by_key(|(_, points)| std::cmp::Reverse(points.len()));
        if groups.is_empty() && !self.ceilings.is_empty() {
            // What is copied does not matter.
            groups.push((Input { kind: InputKind::Random, seed: self.job.computation.seed }, Vec::new()));
        }
        groups
    }

    /// Loads the input for the largest size that fits, of a point or of a ceiling that is still to be measured; points
    /// above it get their row at once.
    fn load(&mut self, input: Input, points: Vec<Point>) -> Result<Vec<Point>, E> {
        let start = Instant::now();
        let of_points = points.into_iter().map(|point| (point.n, Some(point)));
        let mut items: Vec<(u64, Option<Point>)> =
            of_points.chain(self.ceilings.iter().map(|&n| (n, None))).collect();
        while let Some((too_large, failure)) =
            self.session.load(&input, &mut items, |(n, _)| *n, &mut |setup| {
                (self.observer)(SweepEvent::Setup(setup))
            })?
        {
            for (n, point) in too_large {
                match point {
                    Some(point) => {
                        let record = self.failed(self.blank_record(&point, input), &failure);
                        (self.observer)(SweepEvent::Finished { record: &record })?;
                    }
                    None => (self.observer)(SweepEvent::NoCeiling { n, wrong: false })?,
                }
            }
        }
        self.spend("load", start);
        Ok(items.into_iter().filter_map(|(_, point)| point).collect())
    }

    /// Measures the ceiling of each size of the job that has none yet. A size where a copy is wrong has none: how fast
    /// a device copies that does it wrongly says nothing.
    fn measure_ceilings(&mut self) -> Result<(), E> {
        let start = Instant::now();
        let problem = self.job.computation.problem;
        let loaded = self.session.backend.loaded_elements();
        let mut best: BTreeMap<u64, f64> = BTreeMap::new();
        let shapes = catalog::ceiling_shapes(self.job.points.iter().map(|point| &point.config));
        let mut wrong: BTreeSet<u64> = BTreeSet::new();
        let sizes = std::mem::take(&mut self.ceilings);
        // The largest first: an idle device raises its clocks on it. It may take longer for that than any warm-up, so
        // that one comes again at the end.
        let descending: Vec<u64> = sizes.into_iter().rev().filter(|&n| n <= loaded).collect();
        for n in descending.iter().chain(descending.first()).copied() {
            if self.should_stop() {
                break;
            }
            let device = Arc::clone(self.session.backend.profile());
            for &shape in &shapes {
                let what = format!("the {} of {} was measured", problem.ceiling(), size_label(n));
                match self.time_plan(&catalog::ceiling(&problem, n, shape, &device), &what)? {
                    Ok(ns) => {
                        let gbps = throughput_gbps(problem.bytes_moved(n), ns).unwrap_or(0.0);
                        let best = best.entry(n).or_insert(gbps);
                        *best = best.max(gbps);
                    }
                    Err(Status::WrongResult) => drop(wrong.insert(n)),
                    Err(_) => {}
                }
            }
            let wrong = wrong.contains(&n);
            (self.observer)(match best.get(&n).filter(|gbps| **gbps > 0.0 && !wrong) {
                Some(&gbps) => SweepEvent::Ceiling { n, gbps },
                None => SweepEvent::NoCeiling { n, wrong },
            })?;
        }
        self.spend("ceilings", start);
        Ok(())
    }

    /// The time of a copy or a read, or how it failed; what keeps it from being taken is told. A failure that ends the
    /// session ends the run, under the name of what was going on: the configs that come next have nothing to do with
    /// it.
    fn time_plan(&mut self, plan: &Plan, what: &str) -> Result<Result<u64, Status>, E> {
        (self.observer)(SweepEvent::Doing { what })?;
        match self.try_plan(plan) {
            Ok(ns) => Ok(Ok(ns)),
            Err(failure) if failure.is_fatal() => Err(failure.amid(what).into()),
            Err(failure) => {
                let status = failure.status;
                let text = format!("{} ({})", failure.amid(what).reason, plan.label);
                // All shapes of a ceiling, and the canary, tend to fail alike.
                if self.told.insert(what.to_owned()) {
                    (self.observer)(SweepEvent::Remark { text: &text })?;
                }
                Ok(Err(status))
            }
        }
    }

    fn try_plan(&mut self, plan: &Plan) -> Result<u64, Failure> {
        self.session.pipelines_of(plan)?;
        let comparison = verify(self.session.backend, plan)?;
        if let Some(reason) = describe(&comparison, plan.outputs()) {
            return Err(Failure::new(Status::WrongResult, reason));
        }
        let measured = self.measured(plan, comparison.call)?;
        match self.twin(plan, &measured, false)?.reason {
            Some(reason) => Err(Failure::new(Status::WrongResult, reason)),
            None => Ok(measured.steady.median_ns),
        }
    }

    /// The times of a plan, with as much warm-up as the device idled since the last ones.
    fn measured(&mut self, plan: &Plan, first_call: TickInterval) -> Result<Measurement, Failure> {
        let busy = self.session.backend.busy_ns();
        // Before the first, it has idled for as long as its process took to begin.
        let idle = self.timed.map_or(Duration::MAX, |(then, busy_then)| {
            then.elapsed().saturating_sub(Duration::from_nanos((busy - busy_then) as u64))
        });
        let measured = measure(self.session.backend, plan, first_call, &self.job.protocol.after(idle));
        self.timed = Some((Instant::now(), self.session.backend.busy_ns()));
        measured
    }

    /// One point: plan, verify, measure, record. The second value says that the device cannot be used any more.
    fn attempt(&mut self, point: &Point, input: Input) -> (Record, bool) {
        tracing::debug!(config = %point.config, n = point.n, "attempts a point");
        let mut record = self.blank_record(point, input);
        let failure = match self.try_point(point, input, &mut record) {
            Ok(measured) => {
                record.status = Status::Ok;
                record.samples = measured.samples;
                record.steady = Some(measured.steady);
                record.span = measured.span;
                record.sample_calls = Some(measured.calls);
                return (self.finished(record), false);
            }
            Err(failure) => failure,
        };
        let fatal = failure.is_fatal();
        (self.failed(record, &failure), fatal)
    }

    fn try_point(
        &mut self,
        point: &Point,
        input: Input,
        record: &mut Record,
    ) -> Result<Measurement, Failure> {
        let plan = self.session.plan(&point.config, Variant::default(), point.n)?;
        tells(&plan, &input)?;
        let (info, compile_ms) = self.session.pipelines_as_run(&plan)?;
        info.describe(self.session.backend.profile(), record);
        record.compile_ms = Some(compile_ms);
        self.session.check_resident(&plan, info)?;
        // Whatever other configs have left, this one answers for itself alone.
        self.session.backend.forget_scratch();
        let start = Instant::now();
        let comparison = verify(self.session.backend, &plan);
        self.spend("verify", start);
        let comparison = comparison?;
        record.mismatches = Some(comparison.mismatches);
        record.first_mismatch = comparison.first.map(|first| first.index);
        record.max_error = comparison.error.map(|error| Ratio(error.max));
        record.error_bound = comparison.error.map(|error| Ratio(error.bound));
        if let Some(reason) = describe(&comparison, plan.outputs()) {
            return Err(Failure::new(Status::WrongResult, reason));
        }
        let start = Instant::now();
        let measured = self.measured(&plan, comparison.call);
        self.spend("measure", start);
        let measured = measured?;
        let call_ns = measured.steady.median_ns;
        let best_ns = self.best_ns.get(&point.n).copied();
        let whole = twin::contends(call_ns, best_ns);
        let start = Instant::now();
        let twin = self.twin(&plan, &measured, whole);
        self.spend("twin", start);
        twin?.judge(record)?;
        if self.job.prove.contains(point) {
            let start = Instant::now();
            let proved = self.prove(&plan, input, call_ns, record);
            self.spend("prove", start);
            record.proved_calls = Some(proved?);
        }
        self.best_ns.insert(point.n, best_ns.unwrap_or(call_ns).min(call_ns));
        Ok(measured)
    }

    /// Shows that a config which was wrong once is right: in every circumstance of a verification, in many calls of
    /// the timed path from unknown scratch memory, with one input and with two that alternate, and in as many calls
    /// that are compared one by one. Returns: the calls that were compared.
    fn prove(
        &mut self,
        plan: &Plan,
        input: Input,
        call_ns: u64,
        record: &mut Record,
    ) -> Result<u32, Failure> {
        let mut calls = 0;
        for circumstance in Circumstance::ALL.into_iter().filter(|one| *one != Circumstance::InARow) {
            if let Some(garbage) = circumstance.garbage(plan) {
                self.session.backend.scribble_scratch(garbage)?;
            }
            let plan = circumstance.plan(plan, self.session.backend.profile());
            let comparison = verify(self.session.backend, &plan)?;
            if let Some(reason) = describe(&comparison, plan.outputs()) {
                record.mismatches = Some(comparison.mismatches);
                record.first_mismatch = comparison.first.map(|first| first.index);
                return Err(Failure::new(Status::WrongResult, format!("{circumstance}: {reason}")));
            }
            calls += 1;
        }
        let length = Length::of(PROOF_CALLS, call_ns);
        let alternates = self.session.load_another(input, plan.n)?;
        let mut compared = 0;
        for way in 0..3 {
            self.session.backend.forget_scratch();
            let found = match way {
                0 => twin::run(self.session.backend, plan, Cache::Hot, length),
                1 => twin::run_alone(self.session.backend, plan, length, alternates),
                _ => twin::run_each(self.session.backend, plan, length),
            }?;
            // How many calls the twin of the samples had stays what it was.
            let calls = record.twin_calls;
            found.judge(record)?;
            record.twin_calls = calls;
            compared += found.compared;
        }
        Ok(calls + u32::try_from(compared).unwrap_or(u32::MAX))
    }

    /// The timed path once more, to see that it is right.
    fn twin(&mut self, plan: &Plan, measured: &Measurement, whole: bool) -> Result<Twin, Failure> {
        let call_ns = measured.steady.median_ns as f64;
        let length = Length::new(measured.calls, call_ns, whole, &self.job.protocol);
        twin::run(self.session.backend, plan, Cache::Hot, length)
    }

    fn failed(&mut self, mut record: Record, failure: &Failure) -> Record {
        record.status = failure.status;
        record.reason = failure.reason_on(self.session.backend.profile());
        self.finished(record)
    }

    fn finished(&mut self, mut record: Record) -> Record {
        record.order_index = self.order_index;
        self.order_index += 1;
        record.drift_pct = self.drift().map(|drift| 100.0 * drift);
        record.timestamp_utc = now_utc();
        record
    }

    fn blank_record(&self, point: &Point, input: Input) -> Record {
        blank_record(point, &self.job.computation, &input, self.session.backend.profile(), &self.job.origin)
    }
}
