//! The benchmark: few subjects against each other, at each size in alternating blocks.
//!
//! At each size every subject is verified once, every element of it. Then come rounds: in each of them every subject
//! has one block per cache state, a warm-up of its own and samples after it ([`crate::measure::block`]), in an order
//! that the seed decides and that is reversed from round to round, so that a device which changes its speed favours
//! nobody. Right after its last samples the timed path of a subject runs once more and is compared ([`crate::twin`]). Times are statistics over the samples of all rounds; how far the rounds lie apart is said beside them.
//!
//! Like the sweep it names no backend and writes no file: rows leave through an observer.

mod contestant;
mod empty;
mod entrant;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Cache, Ratio, Record, Selection, Status};
use serde::{Deserialize, Serialize};

use self::contestant::{Contestant, External, Own};
pub use self::empty::{EMPTY, EmptyCall};
pub use self::entrant::{Entrant, blank, ceilings, computation_of};
use self::entrant::{Plans, plain_record, plans_of};
use crate::backend::{Backend, Failure};
use crate::baseline::{Baseline, BaselineResult, BaselineSubject};
use crate::measure::{Protocol, Samples, block, median};
use crate::session::{End, Outcome, Session, Setup, shaders_of};
use crate::sweep::{Computation, Origin, now_utc};

/// What one run has to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// What is computed, and on which elements. Its seed is that of the order too.
    pub computation: Computation,
    /// The input of all subjects (see [`computation_of`]).
    pub input: Input,
    /// Sizes, and who takes part at each. Every subject of every baseline takes part at every size.
    pub sizes: Vec<(u64, Vec<Entrant>)>,
    /// Hot, cold, or both.
    pub caches: Vec<Cache>,
    /// Blocks per subject, size and cache state.
    pub rounds: u32,
    /// How the samples of a block are taken.
    pub protocol: Protocol,
    /// Whether an empty call of each side is measured first.
    #[serde(default)]
    pub empty_calls: bool,
    /// See [`crate::sweep::Job::one_by_one`].
    pub one_by_one: bool,
    /// What every row of the run says about its origin.
    pub origin: Origin,
}

/// What happens during a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something takes time before anything runs.
    Setup(Setup),
    /// A subject is about to be verified, or to have its next block.
    Started {
        /// The label of an entrant, or the name of a subject of a baseline.
        label: &'a str,
        /// At what size.
        n: u64,
        /// Whether it is a subject of a baseline, which sees to its own time-outs.
        external: bool,
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
    job: &Job,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<Outcome, E> {
    let session = Session::new(backend, compiler, job.computation.problem);
    let mut bench = Bench { session, baselines, job, stop, observer, rows: 0 };
    let end = bench.run()?;
    Ok(bench.session.outcome(end, BTreeMap::new()))
}

struct Bench<'a, E> {
    session: Session<'a>,
    baselines: &'a mut [Baseline],
    job: &'a Job,
    stop: &'a AtomicBool,
    observer: &'a mut dyn FnMut(Event<'_>) -> Result<(), E>,
    rows: u64,
}

/// Who a contestant is.
enum Who {
    /// Plans; `None` where there are none, which is a failure.
    Own { plans: Option<Box<Plans>> },
    /// A subject of the baseline with this place.
    External { baseline: usize },
}

/// One subject at one size.
struct Standing {
    who: Who,
    label: String,
    /// What its rows have in common.
    record: Record,
    call_ns: Option<f64>,
    failure: Option<Failure>,
    /// By cache state as in [`Job::caches`], one block per round.
    blocks: Vec<Vec<Samples>>,
    /// Calls of the twin, by cache state.
    twin_calls: Vec<Option<u32>>,
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
        let mut sizes: Vec<&(u64, Vec<Entrant>)> = self.job.sizes.iter().collect();
        sizes.sort_by_key(|(n, _)| *n);
        while let Some((too_large, failure)) =
            self.session.load(&self.job.input, &mut sizes, |(n, _)| *n, &mut |setup| {
                (self.observer)(Event::Setup(setup))
            })?
        {
            for (n, entrants) in too_large {
                for entrant in entrants {
                    let mut standing = self.standing(entrant, *n);
                    standing.failure = Some(failure.clone());
                    self.finish(&standing)?;
                }
                (self.observer)(Event::SizeFinished { n: *n })?;
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
        for (n, entrants) in sizes {
            match self.size(*n, entrants) {
                Ok(()) => (self.observer)(Event::SizeFinished { n: *n })?,
                Err(Cut::End(end)) => return Ok(end),
                Err(Cut::ByObserver(error)) => return Err(error),
            }
        }
        Ok(End::Complete)
    }

    /// Makes the pipelines of the job.
    fn prepare(&mut self) -> Result<(), E> {
        let Computation { problem, .. } = &self.job.computation;
        let ahead: &[(u64, Vec<Entrant>)] = if self.job.one_by_one { &[] } else { &self.job.sizes };
        let each = ahead.iter().flat_map(|(n, entrants)| entrants.iter().map(move |entrant| (entrant, *n)));
        let device = self.session.backend.profile();
        let plans = each
            .filter_map(|(entrant, n)| plans_of(entrant, problem, n, device).ok())
            .flat_map(|plans| std::iter::once(plans.timed).chain(plans.counted));
        let shaders = shaders_of(plans);
        self.session.prepare(shaders, &mut |setup| (self.observer)(Event::Setup(setup)))
    }

    /// Everything at one size.
    fn size(&mut self, n: u64, entrants: &[Entrant]) -> Result<(), Cut<E>> {
        let mut standings = self.externals(n)?;
        for entrant in entrants {
            if self.job.one_by_one {
                // Its pipelines are made now.
                self.announce(&entrant.name(), n, false)?;
            }
            let standing = self.standing(entrant, n);
            // A driver that loses the device over a shader has its culprit, who alone gets rows.
            if self.session.backend.lost().is_some() {
                self.finish(&standing)?;
                return Err(Cut::End(End::DeviceUnusable));
            }
            standings.push(standing);
        }
        for standing in &mut standings {
            self.verify(standing, n)?;
        }
        let caches = self.job.caches.len();
        let mut order: Vec<(usize, usize)> =
            (0..standings.len()).flat_map(|who| (0..caches).map(move |cache| (who, cache))).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(self.job.computation.seed ^ n));
        for round in 1..=self.job.rounds {
            for &(who, cache) in &order {
                self.block(&mut standings[who], n, cache, round == self.job.rounds)?;
            }
            order.reverse();
        }
        for standing in &standings {
            self.finish(standing)?;
        }
        Ok(())
    }

    /// Makes the input of every baseline for all sizes. One that cannot says so again at each size, or not: it may have
    /// the memory for the smaller ones.
    fn load_baselines(&mut self, largest_n: u64) -> Result<(), Cut<E>> {
        for baseline in 0..self.baselines.len() {
            let tool = self.baselines[baseline].greeting().tool.clone();
            self.announce(&tool, largest_n, true)?;
            let _ = self.baselines[baseline].load(largest_n, self.job.computation.seed);
        }
        Ok(())
    }

    /// Makes the input of every baseline for a size, where it has none yet; its subjects.
    fn externals(&mut self, n: u64) -> Result<Vec<Standing>, Cut<E>> {
        let mut standings = Vec::new();
        for baseline in 0..self.baselines.len() {
            let tool = self.baselines[baseline].greeting().tool.clone();
            self.announce(&tool, n, true)?;
            let failure = self.baselines[baseline].load(n, self.job.computation.seed).err();
            let greeting = self.baselines[baseline].greeting();
            let with_rows = |subject: &&BaselineSubject| subject.result != BaselineResult::Empty;
            for BaselineSubject { name, result } in greeting.subjects.iter().filter(with_rows) {
                let or = |text: &str, other: &str| if text.is_empty() { other } else { text }.to_owned();
                let device = self.session.backend.profile();
                let record = Record {
                    device: or(&greeting.device, &device.name),
                    device_uuid: or(&greeting.device_uuid, &device.uuid),
                    driver: or(&greeting.driver, &device.driver),
                    subject: name.clone(),
                    subject_version: format!("{} {}", greeting.tool, greeting.version),
                    config_id: name.clone(),
                    kernel_id: name.clone(),
                    selection: match result {
                        BaselineResult::Scan => vec![Selection::Baseline],
                        BaselineResult::Copy | BaselineResult::Empty => {
                            vec![Selection::Copy, Selection::Baseline]
                        }
                    },
                    ..plain_record(n, &self.job.computation, &self.job.input, device, &self.job.origin)
                };
                standings.push(Standing {
                    who: Who::External { baseline },
                    label: name.clone(),
                    record,
                    call_ns: None,
                    failure: failure.clone(),
                    blocks: vec![Vec::new(); self.job.caches.len()],
                    twin_calls: vec![None; self.job.caches.len()],
                });
            }
        }
        Ok(standings)
    }

    /// An entrant with its plan and pipelines, or with why it has none.
    fn standing(&mut self, entrant: &Entrant, n: u64) -> Standing {
        let device = Arc::clone(self.session.backend.profile());
        let mut record = blank(entrant, n, &self.job.computation, &self.job.input, &device, &self.job.origin);
        let (plans, failure) = match self.plans(entrant, n, &device, &mut record) {
            Ok(plans) => (Some(Box::new(plans)), None),
            Err(failure) => (None, Some(failure)),
        };
        Standing {
            who: Who::Own { plans },
            label: entrant.name(),
            record,
            call_ns: None,
            failure,
            blocks: vec![Vec::new(); self.job.caches.len()],
            twin_calls: vec![None; self.job.caches.len()],
        }
    }

    fn plans(
        &mut self,
        entrant: &Entrant,
        n: u64,
        device: &DeviceProfile,
        record: &mut Record,
    ) -> Result<Plans, Failure> {
        let plans = plans_of(entrant, &self.job.computation.problem, n, device)?;
        for plan in plans.counted.iter().chain([&plans.timed]) {
            let (info, _) = self.session.pipelines_of(plan)?;
            if let Some(config) = &plans.config {
                self.session.check_resident(config, n, info)?;
            }
        }
        // The row is about the one that is timed.
        let (info, compile_ms) = self.session.pipelines_of(&plans.timed)?;
        record.registers = info.registers;
        record.compile_ms = Some(compile_ms);
        Ok(plans)
    }

    /// Says what is about to run.
    fn announce(&mut self, label: &str, n: u64, external: bool) -> Result<(), Cut<E>> {
        (self.observer)(Event::Started { label, n, external })?;
        // The observer may have been the one who asked to stop.
        if self.stop.load(Ordering::Relaxed) { Err(Cut::End(End::Interrupted)) } else { Ok(()) }
    }

    fn verify(&mut self, standing: &mut Standing, n: u64) -> Result<(), Cut<E>> {
        let verified = self.with(standing, n, |contestant, _| contestant.verify())?;
        if let Some(verified) = verified {
            standing.record.mismatches = Some(verified.mismatches);
            standing.record.first_mismatch = verified.first;
            standing.record.max_error = verified.error.map(|error| Ratio(error.max));
            standing.record.error_bound = verified.error.map(|error| Ratio(error.bound));
            standing.call_ns = verified.call_ns;
            if let Some(counts) = verified.counts {
                standing.record.spins_sum = Some(counts.spins);
                standing.record.lookback_length_sum = Some(counts.lookback_length);
                standing.record.fallbacks_sum = Some(counts.fallbacks);
                standing.record.insertions_sum = Some(counts.insertions);
            }
            standing.failure = verified.reason.map(|reason| Failure::new(Status::WrongResult, reason));
        }
        Ok(())
    }

    /// One block of samples; behind the last one, the twin.
    fn block(&mut self, standing: &mut Standing, n: u64, cache: usize, last: bool) -> Result<(), Cut<E>> {
        let (protocol, state) = (self.job.protocol, self.job.caches[cache]);
        let done = self.with(standing, n, |contestant, call_ns| {
            let samples = block(contestant.timed(state).as_mut(), call_ns, &protocol)?;
            let twin = if last { contestant.twin(state, &samples, &protocol)? } else { None };
            Ok((samples, twin))
        })?;
        let Some((samples, twin)) = done else { return Ok(()) };
        standing.blocks[cache].push(samples);
        if let Some(twin) = twin {
            standing.failure = twin.judge(&mut standing.record).err();
            standing.twin_calls[cache] = standing.record.twin_calls.take();
        }
        Ok(())
    }

    /// Does something with a contestant, unless it has failed before. A failure is kept; one that leaves the device
    /// unusable ends the run.
    fn with<T>(
        &mut self,
        standing: &mut Standing,
        n: u64,
        act: impl FnOnce(&mut dyn Contestant, Option<f64>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Cut<E>> {
        if standing.failure.is_some() {
            return Ok(None);
        }
        let external = matches!(standing.who, Who::External { .. });
        self.announce(&standing.label, n, external)?;
        let done = match &standing.who {
            Who::Own { plans: Some(plans) } => {
                let Plans { timed: plan, counted, .. } = &**plans;
                let mut own = Own { backend: self.session.backend, plan, counted: counted.as_ref() };
                act(&mut own, standing.call_ns)
            }
            Who::Own { plans: None } => return Ok(None),
            Who::External { baseline } => {
                let baseline = &mut self.baselines[*baseline];
                act(&mut External { baseline, subject: &standing.label, n }, standing.call_ns)
            }
        };
        match done {
            Ok(done) => Ok(Some(done)),
            Err(failure) => {
                let unusable = failure.is_fatal() && !external;
                standing.failure = Some(failure);
                if unusable {
                    self.finish(standing)?;
                    return Err(Cut::End(End::DeviceUnusable));
                }
                Ok(None)
            }
        }
    }

    /// The rows of a subject at a size: one per cache state.
    fn finish(&mut self, standing: &Standing) -> Result<(), E> {
        for (place, &cache) in self.job.caches.iter().enumerate() {
            let (blocks, twin_calls) = (&standing.blocks[place], standing.twin_calls[place]);
            let mut record = Record { cache: Some(cache), twin_calls, ..standing.record.clone() };
            match &standing.failure {
                Some(failure) => {
                    record.status = failure.status;
                    record.reason = failure.reason.replace(['\n', '\r'], " ");
                }
                None => {
                    let measured = pooled(blocks).measurement();
                    record.status = Status::Ok;
                    record.samples = measured.samples;
                    record.steady = Some(measured.steady);
                    record.span = Some(measured.span);
                    record.rounds = Some(blocks.len() as u32);
                    record.round_spread_pct = Some(round_spread_pct(blocks));
                }
            }
            record.order_index = self.rows;
            record.timestamp_utc = now_utc();
            self.rows += 1;
            (self.observer)(Event::Finished { record: &record })?;
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
