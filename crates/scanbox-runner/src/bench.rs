//! The benchmark: few subjects against each other, at each size in alternating blocks.
//!
//! At each size every subject is verified once, every element of it. Then come rounds: in each of them every subject
//! has one block per cache state, a warm-up of its own and samples after it ([`crate::measure::block`]), in an order
//! that the seed decides and that is reversed from round to round, so that a device which changes its speed favours
//! nobody. Times are statistics over the samples of all rounds; how far the rounds lie apart is said beside them.
//!
//! Like the sweep it names no backend and writes no file: rows leave through an observer.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{Plan, Shader};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Ratio, Record, SCHEMA, Selection, Selections, Status};
use scanbox_model::space::Point;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Comparison, Counts, Error, Failure};
use crate::baseline::{Baseline, BaselineResult, BaselineSubject};
use crate::measure::{Protocol, Samples, Timed, TimedPlan, block, duration_ns, median};
use crate::prepare::Pipelines;
use crate::sweep::{Computation, End, Origin, Outcome, blank_record, now_utc};
use crate::verify::{describe, verify};

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
    /// See [`crate::sweep::Job::one_by_one`].
    pub one_by_one: bool,
    /// What every row of the run says about its origin.
    pub origin: Origin,
}

/// A subject of scanbox's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrant {
    /// The label of a config, or of a ceiling (see [`ceilings`]).
    pub label: String,
    /// Why it takes part.
    pub selection: Selections,
    /// Which build of the config it is. Where it is one that counts, the counts are those of such a build, and the times
    /// those of the same build without them.
    #[serde(default)]
    pub variant: Variant,
}

impl Entrant {
    /// What it is called: no two entrants of a size have the same name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}{}", self.label, Variant::blocked(self.variant.blocking))
    }
}

/// The ceiling of a problem ([`catalog::ceiling`]) in all its launch shapes: the fastest of them at a size counts.
#[must_use]
pub fn ceilings(problem: &Problem, device: &DeviceProfile) -> Vec<Entrant> {
    let entrant = |&shape: &(u32, u32)| Entrant {
        label: catalog::ceiling(problem, 1, shape, device).label,
        selection: vec![Selection::Copy],
        variant: Variant::default(),
    };
    let mut ceilings: Vec<Entrant> = Vec::new();
    for ceiling in catalog::CEILING_SHAPES.iter().map(entrant) {
        // On a device with small workgroups two shapes may be one.
        if !ceilings.contains(&ceiling) {
            ceilings.push(ceiling);
        }
    }
    ceilings
}

/// What happens during a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Shaders are about to be compiled.
    Compiling {
        /// How many.
        shaders: usize,
    },
    /// Input and reference are about to be made and uploaded.
    Loading {
        /// Elements.
        n: u64,
    },
    /// A subject is about to be verified, or to have its next block.
    Started {
        /// The label of an entrant, or the name of a subject of a baseline.
        label: &'a str,
        /// At what size.
        n: u64,
        /// Whether it is a subject of a baseline, which sees to its own time-outs.
        external: bool,
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

/// What can take part at a size: a plan on this device, or a subject of a baseline.
trait Contestant {
    /// Runs once and compares every element.
    fn verify(&mut self) -> Result<Verified, Failure>;

    /// The same with its calls on these buffers.
    fn timed(&mut self, cache: Cache) -> Box<dyn Timed + '_>;
}

/// The outcome of a verification.
struct Verified {
    error: Option<Error>,
    mismatches: u64,
    first: Option<u64>,
    /// What is wrong, in words.
    reason: Option<String>,
    call_ns: Option<f64>,
    counts: Option<Counts>,
}

/// A plan on this device.
struct Own<'a> {
    backend: &'a mut dyn Backend,
    plan: &'a Plan,
    /// The same in the build that counts.
    counted: Option<&'a Plan>,
}

impl Contestant for Own<'_> {
    fn verify(&mut self) -> Result<Verified, Failure> {
        let mut comparison = verify(self.backend, self.plan)?;
        let call_ns = duration_ns(comparison.call, self.backend.profile());
        if let Some(counted) = self.counted.filter(|_| comparison.mismatches == 0) {
            comparison = verify(self.backend, counted)?;
        }
        Ok(Verified {
            counts: comparison.counts,
            error: comparison.error,
            mismatches: comparison.mismatches,
            first: comparison.first.map(|first| first.index),
            reason: describe(&comparison, self.plan.outputs()),
            call_ns,
        })
    }

    fn timed(&mut self, cache: Cache) -> Box<dyn Timed + '_> {
        Box::new(TimedPlan { backend: self.backend, plan: self.plan, cache })
    }
}

/// A subject of a baseline.
struct External<'a> {
    baseline: &'a mut Baseline,
    subject: &'a str,
    n: u64,
}

impl Contestant for External<'_> {
    fn verify(&mut self) -> Result<Verified, Failure> {
        let found = self.baseline.verify(self.subject, self.n)?;
        if found.compared < self.n {
            let reason = format!("only {} of {} elements were compared", found.compared, self.n);
            return Err(Failure::new(Status::RuntimeError, reason));
        }
        let comparison = Comparison {
            compared: found.compared,
            mismatches: found.mismatches,
            first: found.first,
            ..Comparison::default()
        };
        Ok(Verified {
            counts: None,
            error: None,
            mismatches: found.mismatches,
            first: found.first.map(|first| first.index),
            reason: describe(&comparison, self.n),
            call_ns: found.call_ns.filter(|ns| ns.is_finite() && *ns > 0.0),
        })
    }

    fn timed(&mut self, cache: Cache) -> Box<dyn Timed + '_> {
        Box::new(TimedExternal { baseline: self.baseline, subject: self.subject, n: self.n, cache })
    }
}

struct TimedExternal<'a> {
    baseline: &'a mut Baseline,
    subject: &'a str,
    n: u64,
    cache: Cache,
}

impl Timed for TimedExternal<'_> {
    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
        self.baseline.time(self.subject, self.n, self.cache, calls, samples)
    }
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
    let started = Instant::now();
    let mut bench =
        Bench { backend, baselines, compiler, job, stop, observer, pipelines: Pipelines::default(), rows: 0 };
    let end = bench.run()?;
    let seconds =
        [("total", started.elapsed().as_secs_f64()), ("device_busy", bench.backend.busy_ns() / 1e9)];
    Ok(Outcome { end, seconds: seconds.into() })
}

/// What all subjects compute at these sizes, and the input that all can run on. It is one for all, because they alternate: any random
/// elements, unless some config needs smaller ones.
#[must_use]
pub fn computation_of(
    sizes: &[(u64, Vec<Entrant>)],
    problem: Problem,
    real: bool,
    seed: u64,
    device: &DeviceProfile,
) -> (Computation, Input) {
    let largest_n = sizes.iter().map(|(n, _)| *n).max().unwrap_or(1);
    let computation = Computation { problem, real, largest_n, seed };
    let entrants = sizes.iter().flat_map(|(_, entrants)| entrants);
    let configs = entrants.filter_map(|entrant| entrant.label.parse::<Config>().ok());
    let any = if real { InputKind::Real } else { InputKind::Random };
    let special = configs.map(|config| computation.input(&config, device)).find(|input| input.kind != any);
    (computation, special.unwrap_or(Input { kind: any, seed }))
}

struct Bench<'a, E> {
    backend: &'a mut dyn Backend,
    baselines: &'a mut [Baseline],
    compiler: &'a Compiler,
    job: &'a Job,
    stop: &'a AtomicBool,
    observer: &'a mut dyn FnMut(Event<'_>) -> Result<(), E>,
    pipelines: Pipelines,
    rows: u64,
}

/// The plans of an entrant.
struct Plans {
    timed: Plan,
    /// The same in the build that counts, if that is asked for.
    counted: Option<Plan>,
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
        while let Some((n, entrants)) = sizes.last() {
            (self.observer)(Event::Loading { n: *n })?;
            match self.backend.load(&self.job.computation.problem, &self.job.input, *n) {
                Ok(()) => break,
                Err(failure) if failure.status == Status::OutOfMemory => {
                    for entrant in entrants {
                        let mut standing = self.standing(entrant, *n);
                        standing.failure = Some(failure.clone());
                        self.finish(&standing)?;
                    }
                    (self.observer)(Event::SizeFinished { n: *n })?;
                    sizes.pop();
                }
                Err(failure) => return Err(failure.into()),
            }
        }
        if let Some((largest, _)) = sizes.last() {
            match self.load_baselines(*largest) {
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

    /// Compiles the shaders and creates the pipelines of the job.
    fn prepare(&mut self) -> Result<(), E> {
        let device = self.backend.profile();
        let mut shaders: BTreeSet<Shader> = catalog::helper_shaders(device).into_iter().collect();
        shaders.extend(catalog::operator_shaders(&self.job.computation.problem, device));
        if !self.job.one_by_one {
            for (n, entrants) in &self.job.sizes {
                let plans = entrants
                    .iter()
                    .filter_map(|entrant| plans_of(entrant, &self.job.computation.problem, *n, device).ok())
                    .flat_map(|plans| std::iter::once(plans.timed).chain(plans.counted));
                shaders.extend(plans.flat_map(|plan| plan.passes).map(|pass| pass.shader));
            }
        }
        (self.observer)(Event::Compiling { shaders: shaders.len() })?;
        self.pipelines.make(self.backend, self.compiler, &shaders.into_iter().collect::<Vec<_>>());
        Ok(())
    }

    /// Everything at one size.
    fn size(&mut self, n: u64, entrants: &[Entrant]) -> Result<(), Cut<E>> {
        let mut standings = self.externals(n)?;
        standings.extend(entrants.iter().map(|entrant| self.standing(entrant, n)));
        for standing in &mut standings {
            self.verify(standing, n)?;
        }
        let caches = self.job.caches.len();
        let mut order: Vec<(usize, usize)> =
            (0..standings.len()).flat_map(|who| (0..caches).map(move |cache| (who, cache))).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(self.job.computation.seed ^ n));
        for _ in 0..self.job.rounds {
            for &(who, cache) in &order {
                self.block(&mut standings[who], n, cache)?;
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
            for BaselineSubject { name, result } in &greeting.subjects {
                let or = |text: &str, other: &str| if text.is_empty() { other } else { text }.to_owned();
                let device = self.backend.profile();
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
                        BaselineResult::Copy => vec![Selection::Copy, Selection::Baseline],
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
                });
            }
        }
        Ok(standings)
    }

    /// An entrant with its plan and pipelines, or with why it has none.
    fn standing(&mut self, entrant: &Entrant, n: u64) -> Standing {
        let device = self.backend.profile().clone();
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
            let missing = self.pipelines.missing(plan);
            if !missing.is_empty() {
                self.pipelines.make(self.backend, self.compiler, &missing);
            }
            self.pipelines.of_plan(plan)?;
        }
        // The row is about the one that is timed.
        let (info, compile_ms) = self.pipelines.of_plan(&plans.timed)?;
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

    fn block(&mut self, standing: &mut Standing, n: u64, cache: usize) -> Result<(), Cut<E>> {
        let (protocol, state) = (self.job.protocol, self.job.caches[cache]);
        let samples = self.with(standing, n, |contestant, call_ns| {
            block(contestant.timed(state).as_mut(), call_ns, &protocol)
        })?;
        standing.blocks[cache].extend(samples);
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
                let Plans { timed: plan, counted } = &**plans;
                let mut own = Own { backend: self.backend, plan, counted: counted.as_ref() };
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
        for (blocks, &cache) in standing.blocks.iter().zip(&self.job.caches) {
            let mut record = Record { cache: Some(cache), ..standing.record.clone() };
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

/// The record of an entrant before it ran.
#[must_use]
pub fn blank(
    entrant: &Entrant,
    n: u64,
    computation: &Computation,
    input: &Input,
    device: &DeviceProfile,
    origin: &Origin,
) -> Record {
    let mut record = match entrant.label.parse::<Config>() {
        Ok(config) => blank_record(&Point { n, config }, computation, input, device, origin),
        Err(_) => Record {
            subject: computation.problem.ceiling().to_owned(),
            bytes_moved: computation.problem.bytes_moved(n),
            subject_version: origin.version.clone(),
            config_id: entrant.label.clone(),
            kernel_id: entrant.label.clone(),
            ..plain_record(n, computation, input, device, origin)
        },
    };
    record.selection.clone_from(&entrant.selection);
    record.blocking = entrant.variant.blocking;
    record
}

/// What rows of anything but a config have in common.
fn plain_record(
    n: u64,
    computation: &Computation,
    input: &Input,
    device: &DeviceProfile,
    origin: &Origin,
) -> Record {
    Record {
        schema: SCHEMA,
        run_id: origin.run_id.clone(),
        device: device.name.clone(),
        device_uuid: device.uuid.clone(),
        driver: device.driver.clone(),
        kernel_hash: origin.kernel_hash.clone(),
        n_elements: n,
        element_bytes: computation.problem.element().bytes(),
        bytes_moved: 2 * computation.problem.element_bytes() * n,
        input: input.to_string(),
        ..Record::default()
    }
}

fn plans_of(entrant: &Entrant, problem: &Problem, n: u64, device: &DeviceProfile) -> Result<Plans, Failure> {
    let Entrant { label, variant, .. } = entrant;
    let unsupported = |reason: String| Failure::new(Status::Unsupported, reason);
    let mut ceilings =
        catalog::CEILING_SHAPES.iter().map(|&shape| catalog::ceiling(problem, 1, shape, device));
    if let Some(place) = ceilings.position(|plan| plan.label == *label) {
        // Kernels index with 32 bits, these too, and the guard lies behind the last element.
        if u32::try_from(n * problem.element_bytes() / 4 + (1 << 20)).is_err() {
            return Err(unsupported(format!("{n} elements, where kernels index with 32 bits")));
        }
        let timed = catalog::ceiling(problem, n, catalog::CEILING_SHAPES[place], device);
        return Ok(Plans { timed, counted: None });
    }
    let config: Config = label.parse().map_err(|error| unsupported(format!("{error}")))?;
    let plan = |variant| {
        catalog::plan_variant(&config, variant, problem, n, device)
            .map_err(|rejection| unsupported(rejection.to_string()))
    };
    let timed = plan(Variant::blocked(variant.blocking))?;
    let counted = if variant.counted { Some(plan(*variant)?) } else { None };
    Ok(Plans { timed, counted })
}

fn pooled(blocks: &[Samples]) -> Samples {
    let mut all = Samples::default();
    for block in blocks {
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
