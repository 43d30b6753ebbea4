//! The benchmark: few subjects against each other, at each size in alternating blocks.
//!
//! At each size every subject is verified once, every element of it. Then come rounds: in each of them every subject
//! has one block per cache state, a warm-up of its own and samples after it ([`crate::measure::block`]), in an order
//! that the seed decides and that is reversed from round to round, so that a device which changes its speed favours
//! nobody. Right after its last samples the timed path of a subject runs once more and is compared ([`crate::twin`]).
//! Times are statistics over the samples of all rounds; how far the rounds lie apart is said beside them.
//!
//! Like the sweep it names no backend and writes no file: rows leave through an observer.

mod empty;
mod external;
mod measurable;
mod selected;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Cache, Clock, Ratio, Record, RoundMedians, Status};
use serde::{Deserialize, Serialize};

pub use self::empty::{EmptyBeside, EmptyCall};
pub use self::external::external_row;
use self::external::possible;
use self::measurable::{Measurable, MeasurableExternal, MeasurablePlan};
use self::selected::{Plans, plans_of};
pub use self::selected::{Selected, behind_ceilings, blank, by_arguments, computation_of};
use crate::backend::{Backend, Failure};
use crate::baseline::Baseline;
use crate::measure::{Protocol, Samples, median};
use crate::row::{Computation, Origin, now_utc};
use crate::session::{End, RunSummary, Session, Setup, tells};
use crate::subject::Subject;

/// What one run has to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BenchJob {
    /// What is computed, and on which elements. Its seed is that of the order too.
    pub computation: Computation,
    /// The input of all subjects (see [`computation_of`]).
    pub input: Input,
    /// Sizes, and what takes part at each. Every subject of every baseline takes part at every size.
    pub sizes: Vec<(u64, Vec<Selected>)>,
    /// Hot, cold, or both.
    pub caches: Vec<Cache>,
    /// Blocks per subject, size and cache state.
    pub rounds: u32,
    /// Whether each round makes the pipelines anew, in its order: where a driver puts their code is then another place
    /// in each round, and times do not hang on one.
    #[serde(default)]
    pub renews_pipelines: bool,
    /// How the samples of a block are taken.
    pub protocol: Protocol,
    /// Whether an empty call of each side is measured first.
    #[serde(default)]
    pub empty_calls: bool,
    /// See [`crate::sweep::SweepJob::one_by_one`].
    pub one_by_one: bool,
    /// What every row of the run says about its origin.
    pub origin: Origin,
}

/// What happens during a run.
#[derive(Debug)]
pub enum BenchEvent<'a> {
    /// Something takes time before anything runs.
    Setup(Setup),
    /// A subject is about to be verified, or to have its next block.
    Started {
        /// Which.
        subject: &'a Subject,
        /// At what size.
        n: u64,
    },
    /// An empty call was measured.
    EmptyCall {
        /// Of whom, and how long it takes; or why that is not known. Spans are then not set against others.
        call: Result<EmptyCall, String>,
    },
    /// A row is finished.
    Finished {
        /// The row.
        record: &'a Record,
    },
    /// All rows of a size are finished.
    SizeFinished {
        /// The size.
        n: u64,
    },
}

/// Runs a job. The observer gets each event and may fail: that ends the run.
///
/// # Errors
/// What the observer returns; or a failure of the device before any subject could be tried.
pub fn run<E: From<Failure>>(
    backend: &mut dyn Backend,
    baselines: &mut [Baseline],
    compiler: &Compiler,
    job: &BenchJob,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(BenchEvent<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    let session = Session::new(backend, compiler, job.computation.problem);
    let mut bench = Bench { session, baselines, job, stop, observer, rows: 0 };
    let end = bench.run()?;
    Ok(bench.session.outcome(end, BTreeMap::new()))
}

struct Bench<'a, E> {
    session: Session<'a>,
    baselines: &'a mut [Baseline],
    job: &'a BenchJob,
    stop: &'a AtomicBool,
    observer: &'a mut dyn FnMut(BenchEvent<'_>) -> Result<(), E>,
    rows: u64,
}

/// What runs a subject.
enum RunBy {
    /// The device, by these plans; `None` where there are none, which is a failure.
    Device { plans: Option<Box<Plans>> },
    /// The baseline with this place.
    Baseline { place: usize },
}

/// One subject at one size.
struct SubjectAtSize {
    subject: Subject,
    run_by: RunBy,
    /// What its rows have in common.
    record: Record,
    call_ns: Option<f64>,
    failure: Option<Failure>,
    /// By cache state as in [`BenchJob::caches`], one block per round.
    blocks: Vec<Vec<Samples>>,
    /// Calls of the twin, by cache state.
    twin_calls: Vec<Option<u32>>,
}

impl SubjectAtSize {
    fn new(subject: Subject, run_by: RunBy, record: Record, failure: Option<Failure>, caches: usize) -> Self {
        let (blocks, twin_calls) = (vec![Vec::new(); caches], vec![None; caches]);
        Self { subject, run_by, record, call_ns: None, failure, blocks, twin_calls }
    }

    /// Why it has no times in this cache state, where it has some in others.
    fn unfit_for(&self, cache: Cache) -> Option<Failure> {
        let RunBy::Device { plans: Some(plans) } = &self.run_by else { return None };
        (cache == Cache::Cold && plans.timed.keeps_its_arrays()).then(|| {
            let reason = "its arguments stay, and cold calls have another input and output each";
            Failure::new(Status::Unsupported, reason)
        })
    }
}

/// Why a size has no end.
enum Cut<E> {
    /// The run ends.
    End(End),
    ByObserver(E),
}

impl<E> From<E> for Cut<E> {
    fn from(error: E) -> Self {
        Self::ByObserver(error)
    }
}

impl<E: From<Failure>> Bench<'_, E> {
    fn run(&mut self) -> Result<End, E> {
        self.prepare()?;
        let mut sizes: Vec<&(u64, Vec<Selected>)> = self.job.sizes.iter().collect();
        sizes.sort_by_key(|(n, _)| *n);
        while let Some((too_large, failure)) =
            self.session.load(&self.job.input, &mut sizes, |(n, _)| *n, &mut |setup| {
                (self.observer)(BenchEvent::Setup(setup))
            })?
        {
            for (n, selected) in too_large {
                for one in selected {
                    let mut subject = self.at_size(one, *n);
                    subject.failure = Some(failure.clone());
                    self.finish(&subject)?;
                }
                (self.observer)(BenchEvent::SizeFinished { n: *n })?;
            }
        }
        if let Some((largest, _)) = sizes.last() {
            let loaded = self.load_baselines(*largest);
            match loaded.and_then(|()| if self.job.empty_calls { self.empty_calls() } else { Ok(()) }) {
                Ok(()) => {}
                Err(Cut::End(end)) => return Ok(end),
                Err(Cut::ByObserver(error)) => return Err(error),
            }
        }
        for (n, selected) in sizes {
            match self.size(*n, selected) {
                Ok(()) => (self.observer)(BenchEvent::SizeFinished { n: *n })?,
                Err(Cut::End(end)) => return Ok(end),
                Err(Cut::ByObserver(error)) => return Err(error),
            }
        }
        Ok(End::Complete)
    }

    /// Makes the pipelines of the job.
    fn prepare(&mut self) -> Result<(), E> {
        let Computation { problem, .. } = &self.job.computation;
        let ahead: &[(u64, Vec<Selected>)] = if self.job.one_by_one { &[] } else { &self.job.sizes };
        let each = ahead.iter().flat_map(|(n, selected)| selected.iter().map(move |one| (&one.subject, *n)));
        let device = self.session.backend.profile();
        let plans = each
            .filter_map(|(subject, n)| plans_of(subject, problem, n, device).ok())
            .flat_map(|plans| std::iter::once(plans.timed).chain(plans.counted));
        let ahead = plans.collect();
        self.session.prepare(ahead, &mut |setup| (self.observer)(BenchEvent::Setup(setup)))
    }

    /// Everything at one size.
    fn size(&mut self, n: u64, selected: &[Selected]) -> Result<(), Cut<E>> {
        let mut subjects = self.externals(n)?;
        for one in selected {
            if self.job.one_by_one {
                // Its pipelines are made now.
                self.announce(&one.subject, n)?;
            }
            let subject = self.at_size(one, n);
            self.end_if_lost(&subject)?;
            subjects.push(subject);
        }
        for subject in &mut subjects {
            self.verify(subject, n)?;
        }
        let caches = self.job.caches.len();
        let mut order: Vec<(usize, usize)> =
            (0..subjects.len()).flat_map(|place| (0..caches).map(move |cache| (place, cache))).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(self.job.computation.seed ^ n));
        for round in 1..=self.job.rounds {
            if self.job.renews_pipelines {
                self.session.renew_pipelines().map_err(|failure| Cut::ByObserver(failure.into()))?;
            }
            for &(place, cache) in &order {
                self.renew_pipelines(&mut subjects[place])?;
                self.block(&mut subjects[place], n, cache, round == self.job.rounds)?;
            }
            order.reverse();
        }
        for subject in &subjects {
            self.finish(subject)?;
        }
        Ok(())
    }

    /// A subject of scanbox's own with its plans and pipelines, or with why it has none.
    fn at_size(&mut self, selected: &Selected, n: u64) -> SubjectAtSize {
        let device = Arc::clone(self.session.backend.profile());
        let BenchJob { computation, input, origin, .. } = self.job;
        let mut record = blank(selected, n, computation, input, &device, origin);
        let (plans, failure) = match self.plans(&selected.subject, n, &device, &mut record) {
            Ok(plans) => (Some(Box::new(plans)), None),
            Err(failure) => (None, Some(failure)),
        };
        let caches = self.job.caches.len();
        SubjectAtSize::new(selected.subject.clone(), RunBy::Device { plans }, record, failure, caches)
    }

    fn plans(
        &mut self,
        subject: &Subject,
        n: u64,
        device: &DeviceProfile,
        record: &mut Record,
    ) -> Result<Plans, Failure> {
        let plans = plans_of(subject, &self.job.computation.problem, n, device)?;
        for plan in plans.counted.iter().chain([&plans.timed]) {
            tells(plan, &self.job.input)?;
            let (info, compile_ms) = self.session.pipelines_as_run(plan)?;
            self.session.check_resident(plan, info)?;
            // The last one is that which is timed, and what the row is about.
            info.describe(device, record);
            record.compile_ms = Some(compile_ms);
        }
        Ok(plans)
    }

    /// Says what is about to run.
    fn announce(&mut self, subject: &Subject, n: u64) -> Result<(), Cut<E>> {
        (self.observer)(BenchEvent::Started { subject, n })?;
        // The observer may have been the one who asked to stop.
        if self.stop.load(Ordering::Relaxed) { Err(Cut::End(End::Interrupted)) } else { Ok(()) }
    }

    fn verify(&mut self, subject: &mut SubjectAtSize, n: u64) -> Result<(), Cut<E>> {
        if subject.subject == Subject::Empty {
            return Ok(());
        }
        let verified = self.with(subject, n, |measurable, _| measurable.verify())?;
        if let Some(verified) = verified {
            subject.record.mismatches = Some(verified.mismatches);
            subject.record.first_mismatch = verified.first;
            subject.record.max_error = verified.error.map(|error| Ratio(error.max));
            subject.record.error_bound = verified.error.map(|error| Ratio(error.bound));
            subject.call_ns = verified.call_ns;
            if let Some(counts) = verified.counts {
                subject.record.spins_sum = Some(counts.spins);
                subject.record.lookback_length_sum = Some(counts.lookback_length);
                subject.record.fallbacks_sum = Some(counts.fallbacks);
                subject.record.insertions_sum = Some(counts.insertions);
            }
            subject.failure = verified.reason.map(|reason| Failure::new(Status::WrongResult, reason));
        }
        Ok(())
    }

    /// Makes those of a subject that are not there, where rounds have new ones. A failure is the subject's.
    fn renew_pipelines(&mut self, subject: &mut SubjectAtSize) -> Result<(), Cut<E>> {
        let RunBy::Device { plans: Some(plans) } = &subject.run_by else { return Ok(()) };
        if !self.job.renews_pipelines || subject.failure.is_some() {
            return Ok(());
        }
        subject.failure = self.session.pipelines_as_run(&plans.timed).err();
        self.end_if_lost(subject)
    }

    /// A driver that loses the device over a shader has its culprit, who alone gets rows.
    fn end_if_lost(&mut self, subject: &SubjectAtSize) -> Result<(), Cut<E>> {
        if self.session.backend.lost().is_some() {
            self.finish(subject)?;
            return Err(Cut::End(End::DeviceUnusable));
        }
        Ok(())
    }

    /// One block of samples; behind the last one, the twin.
    fn block(&mut self, subject: &mut SubjectAtSize, n: u64, cache: usize, last: bool) -> Result<(), Cut<E>> {
        let (protocol, state) = (self.job.protocol, self.job.caches[cache]);
        if subject.unfit_for(state).is_some() {
            return Ok(());
        }
        // What does nothing has nothing to repeat.
        let repeats = last && subject.subject != Subject::Empty;
        let done = self.with(subject, n, |measurable, call_ns| {
            let samples = measurable.block(state, call_ns, &protocol)?;
            let twin = if repeats { measurable.twin(state, &samples, &protocol)? } else { None };
            Ok((samples, twin))
        })?;
        let Some((samples, twin)) = done else { return Ok(()) };
        subject.blocks[cache].push(samples);
        if let Some(twin) = twin {
            subject.failure = twin.judge(&mut subject.record).err();
            subject.twin_calls[cache] = subject.record.twin_calls.take();
        }
        Ok(())
    }

    /// Does something with a subject, unless it has failed before. A failure is kept; one that leaves the device
    /// unusable ends the run.
    fn with<T>(
        &mut self,
        subject: &mut SubjectAtSize,
        n: u64,
        act: impl FnOnce(&mut dyn Measurable, Option<f64>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Cut<E>> {
        if subject.failure.is_some() {
            return Ok(None);
        }
        self.announce(&subject.subject, n)?;
        let done = match &subject.run_by {
            RunBy::Device { plans: Some(plans) } => {
                let Plans { timed: plan, counted, .. } = &**plans;
                let backend = &mut *self.session.backend;
                act(&mut MeasurablePlan { backend, plan, counted: counted.as_ref() }, subject.call_ns)
            }
            RunBy::Device { plans: None } => return Ok(None),
            RunBy::Baseline { place } => {
                let (baseline, name) = (&mut self.baselines[*place], subject.subject.label());
                let problem = &self.job.computation.problem;
                act(&mut MeasurableExternal { baseline, subject: &name, problem, n }, subject.call_ns)
            }
        };
        match done {
            Ok(done) => Ok(Some(done)),
            Err(failure) => {
                let unusable = failure.is_fatal() && !subject.subject.is_external();
                subject.failure = Some(failure);
                if unusable {
                    self.finish(subject)?;
                    return Err(Cut::End(End::DeviceUnusable));
                }
                Ok(None)
            }
        }
    }

    /// The rows of a subject at a size: one per cache state.
    fn finish(&mut self, subject: &SubjectAtSize) -> Result<(), E> {
        if subject.subject == Subject::Empty {
            return self.finish_empty(subject);
        }
        for (place, &cache) in self.job.caches.iter().enumerate() {
            let (blocks, twin_calls) = (&subject.blocks[place], subject.twin_calls[place]);
            let mut record = Record { cache: Some(cache), twin_calls, ..subject.record.clone() };
            match subject.failure.clone().or_else(|| subject.unfit_for(cache)) {
                Some(failure) => {
                    record.status = failure.status;
                    record.reason = failure.reason_on(self.session.backend.profile());
                }
                None => {
                    let measured = pooled(blocks).measurement();
                    record.status = Status::Ok;
                    record.samples = measured.samples;
                    record.steady = Some(measured.steady);
                    record.span = measured.span;
                    record.sample_calls = Some(measured.calls);
                    record.rounds = Some(blocks.len() as u32);
                    // Rounds that agree to the last step of a timer differ by one, for all that is known.
                    let step_ns = record.resolution_ns(Clock::Steady);
                    let step_pct = 100.0 * step_ns / measured.steady.median_ns as f64;
                    record.round_spread_pct = Some(round_spread_pct(blocks).max(step_pct));
                    // As the file has them.
                    let tenths = |ns: f64| ((ns * 10.0).round() / 10.0).max(0.1);
                    let of_rounds = blocks.iter().map(|block| tenths(median(&mut block.steady.clone())));
                    record.round_medians_ns = RoundMedians(of_rounds.collect());
                }
            }
            record.order_index = self.rows;
            record.timestamp_utc = now_utc();
            if subject.subject.is_external() {
                record = possible(record);
            }
            self.rows += 1;
            (self.observer)(BenchEvent::Finished { record: &record })?;
        }
        Ok(())
    }
}

fn pooled(blocks: &[Samples]) -> Samples {
    let mut all = Samples::default();
    for block in blocks {
        all.calls = block.calls;
        all.steady.extend(&block.steady);
        all.span.extend(&block.span);
    }
    all
}

/// The lowest and the highest median of a round.
fn round_medians(blocks: &[Samples]) -> [f64; 2] {
    let medians = blocks.iter().map(|block| median(&mut block.steady.clone()));
    medians.fold([f64::INFINITY, 0.0], |[low, high], ns| [low.min(ns), high.max(ns)])
}

/// The highest less the lowest median of a round, in percent of their median.
fn round_spread_pct(blocks: &[Samples]) -> f64 {
    let mut medians: Vec<f64> = blocks.iter().map(|block| median(&mut block.steady.clone())).collect();
    // It sorts them.
    let middle = median(&mut medians);
    match (medians.first(), medians.last()) {
        (Some(lowest), Some(highest)) => 100.0 * (highest - lowest) / middle,
        _ => 0.0,
    }
}
