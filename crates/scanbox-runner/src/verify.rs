//! Whether plans give the right answer: every element, on the device.
//!
//! [`verify`] is one call, as a sweep makes it before it takes a time. [`run`] is a verification without times: each
//! config on many sizes and inputs ([`crate::cases`]), each of those in several circumstances. Where results round, those of
//! deterministic kernels have to have the same bits in all of them. Like the sweep it names no backend and no kernel family, and
//! prints nothing: verdicts leave through an observer.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::{Plan, Shader};
use scanbox_model::config::Config;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::units::size_label;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Comparison, Failure, Garbage, Mismatch};
use crate::cases::{Circumstance, Item};
use crate::measure::duration_ns;
use crate::prepare::Pipelines;
use crate::sweep::{End, Outcome};
use crate::twin::{self, Length};

/// Runs a plan once on poisoned output and compares every element.
///
/// # Errors
/// When the plan does not run; a wrong element is no error but [`Comparison::mismatches`].
pub fn verify(backend: &mut dyn Backend, plan: &Plan) -> Result<Comparison, Failure> {
    let comparison = backend.verify(plan)?;
    if comparison.compared < plan.outputs() {
        let reason = format!("only {} of {} elements were compared", comparison.compared, plan.outputs());
        return Err(Failure::new(Status::RuntimeError, reason));
    }
    Ok(comparison)
}

/// What a comparison of `n` elements of output found wrong, in words; `None` where nothing is.
#[must_use]
pub fn describe(comparison: &Comparison, n: u64) -> Option<String> {
    if comparison.mismatches == 0 {
        return None;
    }
    let count = comparison.mismatches;
    Some(match comparison.first {
        Some(first) if first.index >= n => {
            format!(
                "{count} words behind the output were written; the first {} past its end",
                first.index - n
            )
        }
        Some(first) => {
            // Elements of several words are compared word by word, unless they are floats that round.
            let words = first.element.bytes() / 4;
            let at_least = if words > 1 { "at least " } else { "" };
            format!(
                "{at_least}{} of {n} elements are wrong; the first is element {}: expected {}, got {}",
                count.div_ceil(words.into()),
                first.index,
                first.expected(),
                first.got()
            )
        }
        None => format!("{count} of {n} elements are wrong"),
    })
}

/// What differs between an output of `n` elements and that of an earlier call of the same plan, in words; `None` where nothing
/// does.
#[must_use]
pub fn describe_difference(comparison: &Comparison, n: u64) -> Option<String> {
    if comparison.mismatches == 0 {
        return None;
    }
    let words = comparison.mismatches;
    let first = comparison.first.map_or(String::new(), |first| {
        let Mismatch { index, expected, got, .. } = first;
        let (before, now) = (first.expected(), first.got());
        format!("; the first is element {index}: {before} ({expected:#x}) then, {now} ({got:#x}) now")
    });
    Some(format!(
        "{words} words of {n} elements differ from those of the first call, and the kernel is deterministic{first}"
    ))
}

/// What one verification has to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// What is computed.
    pub problem: Problem,
    /// What is to be tried.
    pub items: Vec<Item>,
    /// Which build of each config.
    pub variant: Variant,
    /// Seed of the order.
    pub seed: u64,
    /// See [`crate::sweep::Job::one_by_one`].
    pub one_by_one: bool,
}

/// What happens during a verification.
#[derive(Debug)]
pub enum Event<'a> {
    /// Shaders are about to be compiled.
    Compiling {
        /// How many.
        shaders: usize,
    },
    /// So many of them have become pipelines, or have not.
    Compiled {
        /// How many.
        done: usize,
        /// Of how many.
        shaders: usize,
    },
    /// Input and reference are about to be made and uploaded.
    Loading {
        /// Elements.
        n: u64,
    },
    /// A config is about to run on an input.
    Started {
        /// Which.
        item: &'a Item,
    },
    /// One call of it is about to run.
    Calling {
        /// Its size.
        n: u64,
        /// What is special about it.
        circumstance: Circumstance,
    },
    /// A config has run on an input.
    Finished {
        /// How that went.
        verdict: &'a Verdict,
    },
}

/// How a config did on one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The label of the config.
    pub config: String,
    /// The input.
    pub input: Input,
    /// `ok`, or what went wrong first. After that the config is not tried any more.
    pub status: Status,
    /// Where and how it went wrong.
    pub failed: Option<FailedCase>,
    /// What was done.
    pub tally: Tally,
}

/// The case and the call that went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedCase {
    /// Its size; 0 where no call was made.
    pub n: u64,
    /// What was special about the call; `None` where none was made.
    pub circumstance: Option<Circumstance>,
    /// What went wrong.
    pub reason: String,
    /// The first wrong element, if that is what went wrong.
    pub mismatch: Option<Mismatch>,
}

/// How much was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Configs on inputs at sizes, in all circumstances.
    pub cases: u64,
    /// Calls that were compared.
    pub calls: u64,
    /// Elements compared, guards included.
    pub elements: u64,
    /// Calls whose bits were compared with those of the first call of their case.
    #[serde(default)]
    pub repeats: u64,
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.calls += other.calls;
        self.elements += other.elements;
        self.repeats += other.repeats;
    }
}

impl Verdict {
    /// The verdict on an item that went wrong before it was finished.
    #[must_use]
    pub fn failed(config: &Config, input: Input, status: Status, failed: FailedCase) -> Self {
        Self { config: config.to_string(), input, status, failed: Some(failed), tally: Tally::default() }
    }
}

/// Verifies the items of a job. The observer gets each event and may fail: that ends the run.
///
/// # Errors
/// What the observer returns; or a failure of the device before any config could be tried.
pub fn run<E: From<Failure>>(
    backend: &mut dyn Backend,
    compiler: &Compiler,
    job: &Job,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<Outcome, E> {
    let started = Instant::now();
    let mut verification = Verification {
        backend,
        compiler,
        job,
        stop,
        observer,
        pipelines: Pipelines::default(),
        given_up: HashSet::new(),
        alternates: false,
    };
    let end = verification.run()?;
    let seconds =
        [("total", started.elapsed().as_secs_f64()), ("device_busy", verification.backend.busy_ns() / 1e9)];
    Ok(Outcome { end, seconds: seconds.into() })
}

/// Why a case has not come to its end.
enum Ended<E> {
    ByFailure(Status, FailedCase),
    ByObserver(E),
}

struct Verification<'a, E> {
    backend: &'a mut dyn Backend,
    compiler: &'a Compiler,
    job: &'a Job,
    stop: &'a AtomicBool,
    observer: &'a mut dyn FnMut(Event<'_>) -> Result<(), E>,
    pipelines: Pipelines,
    /// Configs that went wrong.
    given_up: HashSet<Config>,
    /// Whether another input is loaded.
    alternates: bool,
}

impl<'a, E: From<Failure>> Verification<'a, E> {
    fn run(&mut self) -> Result<End, E> {
        self.prepare()?;
        for (input, items) in self.items_by_input() {
            let items = self.load(input, items)?;
            let items = self.load_other(input, items)?;
            for item in self.shuffled(items) {
                if self.given_up.contains(&item.config) {
                    continue;
                }
                self.check_device("memory was put in order after a config that failed")?;
                (self.observer)(Event::Started { item })?;
                // The observer may have been the one who asked to stop.
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(End::Interrupted);
                }
                let verdict = self.attempt(item)?;
                self.finish(item, &verdict)?;
                if matches!(verdict.status, Status::Timeout | Status::DeviceLost) {
                    return Ok(End::DeviceUnusable);
                }
            }
        }
        Ok(End::Complete)
    }

    /// Compiles the shaders and creates the pipelines of the job.
    fn prepare(&mut self) -> Result<(), E> {
        let device = self.backend.profile();
        let mut shaders: BTreeSet<Shader> = catalog::helper_shaders(device).into_iter().collect();
        shaders.extend(catalog::operator_shaders(&self.job.problem, device));
        if !self.job.one_by_one {
            let smallest = |item: &Item| item.sizes.first().copied().unwrap_or(1);
            let plans = self.job.items.iter().map(|item| {
                let Job { problem, variant, .. } = self.job;
                catalog::plan_variant(&item.config, *variant, problem, smallest(item), device)
            });
            shaders.extend(plans.flatten().flat_map(|plan| plan.passes).map(|pass| pass.shader));
        }
        let shaders: Vec<Shader> = shaders.into_iter().collect();
        (self.observer)(Event::Compiling { shaders: shaders.len() })?;
        let Self { backend, pipelines, observer, .. } = self;
        let progress = &mut |done| observer(Event::Compiled { done, shaders: shaders.len() });
        pipelines.make_all(*backend, self.compiler, &shaders, progress)?;
        self.check_device("pipelines were made")
    }

    /// Only a config that ran may be blamed for the loss of the device, so none is announced after it.
    fn check_device(&self, what: &str) -> Result<(), E> {
        self.backend.lost().map_or(Ok(()), |failure| Err(failure.clone().amid(what).into()))
    }

    /// The items by their input, because making one anew for each config would cost more than the calls. Inputs are
    /// in the order of the job.
    fn items_by_input(&self) -> Vec<(Input, Vec<&'a Item>)> {
        let mut groups: Vec<(Input, Vec<&'a Item>)> = Vec::new();
        for item in &self.job.items {
            match groups.iter_mut().find(|(input, _)| *input == item.input) {
                Some((_, items)) => items.push(item),
                None => groups.push((item.input, vec![item])),
            }
        }
        groups
    }

    /// Loads the input for the largest size that fits. Items with larger ones get their verdict at once.
    fn load(&mut self, input: Input, mut items: Vec<&'a Item>) -> Result<Vec<&'a Item>, E> {
        let largest = |item: &Item| item.sizes.iter().copied().max().unwrap_or(0);
        items.retain(|item| !self.given_up.contains(&item.config));
        while let Some(n) = items.iter().map(|item| largest(item)).max() {
            (self.observer)(Event::Loading { n })?;
            let failure = match self.backend.load(&self.job.problem, &input, n) {
                Ok(()) => break,
                Err(failure) if failure.status == Status::OutOfMemory => failure,
                Err(failure) if failure.is_fatal() => {
                    return Err(failure.amid(&format!("{} elements were loaded", size_label(n))).into());
                }
                // Also an operator that is none, which no kernel can do right: it is told once.
                Err(failure) => return Err(failure.into()),
            };
            let (too_large, rest) = items.into_iter().partition(|item| largest(item) == n);
            let too_large: Vec<&Item> = too_large;
            for item in too_large {
                let failed =
                    FailedCase { n, circumstance: None, reason: failure.reason.clone(), mismatch: None };
                self.finish(item, &Verdict::failed(&item.config, input, failure.status, failed))?;
            }
            items = rest;
        }
        Ok(items)
    }

    /// Loads another input, which twins alternate with. Where there is no memory for it they do not.
    fn load_other(&mut self, input: Input, items: Vec<&'a Item>) -> Result<Vec<&'a Item>, E> {
        let Some(n) = items.iter().flat_map(|item| &item.sizes).copied().max() else { return Ok(items) };
        let another = input.another(&self.job.problem, n);
        let loaded = self.backend.load_other(&self.job.problem, &another, n);
        self.alternates = loaded.is_ok();
        match loaded {
            Ok(()) => Ok(items),
            Err(failure) if failure.status == Status::OutOfMemory => Ok(items),
            Err(failure) if failure.is_fatal() => {
                Err(failure.amid(&format!("another {} elements were loaded", size_label(n))).into())
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// In an order that depends on the seed and the items alone: what a budget leaves out favours no config.
    fn shuffled<T>(&self, mut items: Vec<T>) -> Vec<T> {
        items.shuffle(&mut ChaCha8Rng::seed_from_u64(self.job.seed));
        items
    }

    fn finish(&mut self, item: &Item, verdict: &Verdict) -> Result<(), E> {
        if verdict.status != Status::Ok {
            self.given_up.insert(item.config);
        }
        (self.observer)(Event::Finished { verdict })
    }

    /// All cases of an item, until one goes wrong. Sizes are shuffled, so that larger calls come before smaller ones.
    fn attempt(&mut self, item: &Item) -> Result<Verdict, E> {
        let mut verdict = Verdict {
            config: item.config.to_string(),
            input: item.input,
            status: Status::Ok,
            failed: None,
            tally: Tally::default(),
        };
        for n in self.shuffled(item.sizes.clone()) {
            match self.case(item, n, &mut verdict.tally) {
                Ok(()) => verdict.tally.cases += 1,
                Err(Ended::ByFailure(status, failed)) => {
                    verdict.status = status;
                    verdict.failed = Some(failed);
                    // What it left in the scratch memory is nobody else's concern. A device that fails here is found
                    // before the next config.
                    let _ = self.backend.litter(Garbage::InNewMemory(0));
                    break;
                }
                Err(Ended::ByObserver(error)) => return Err(error),
            }
        }
        Ok(verdict)
    }

    /// One case in all circumstances.
    fn case(&mut self, item: &Item, n: u64, tally: &mut Tally) -> Result<(), Ended<E>> {
        let failed = |failure: Failure, circumstance| {
            let failed = FailedCase { n, circumstance, reason: failure.reason, mismatch: None };
            Ended::ByFailure(failure.status, failed)
        };
        let plan = self.plan(item, n).map_err(|failure| failed(failure, None))?;
        // Where there is one right answer, every call has been compared with it.
        let repeats = item.config.kernel.is_deterministic() && !item.input.is_exact(&self.job.problem, n);
        let mut call_ns = None;
        for circumstance in Circumstance::ALL {
            (self.observer)(Event::Calling { n, circumstance }).map_err(Ended::ByObserver)?;
            if circumstance == Circumstance::InARow {
                let twin = twin::run_alone(self.backend, &plan, Length::alone(call_ns), self.alternates)
                    .map_err(|failure| failed(failure, Some(circumstance)))?;
                tally.calls += twin.compared;
                tally.elements += twin.elements;
                if let Some(reason) = twin.reason {
                    let reason = Failure::new(Status::WrongResult, reason);
                    return Err(failed(reason, Some(circumstance)));
                }
                continue;
            }
            let comparison =
                self.call(&plan, circumstance).map_err(|failure| failed(failure, Some(circumstance)))?;
            call_ns = duration_ns(comparison.call, self.backend.profile()).or(call_ns);
            tally.calls += 1;
            tally.elements += comparison.compared;
            if let Some(reason) = describe(&comparison, plan.outputs()) {
                let mismatch = comparison.first;
                let failed = FailedCase { n, circumstance: Some(circumstance), reason, mismatch };
                return Err(Ended::ByFailure(Status::WrongResult, failed));
            }
            if !repeats {
                continue;
            }
            let difference =
                self.repeat(&plan, circumstance).map_err(|failure| failed(failure, Some(circumstance)))?;
            let Some(comparison) = difference else { continue };
            tally.repeats += 1;
            if let Some(reason) = describe_difference(&comparison, plan.outputs()) {
                let mismatch = comparison.first;
                let failed = FailedCase { n, circumstance: Some(circumstance), reason, mismatch };
                return Err(Ended::ByFailure(Status::WrongResult, failed));
            }
        }
        Ok(())
    }

    /// The plan of a case, with its pipelines.
    fn plan(&mut self, item: &Item, n: u64) -> Result<Plan, Failure> {
        let Job { problem, variant, .. } = self.job;
        let plan = catalog::plan_variant(&item.config, *variant, problem, n, self.backend.profile())
            .map_err(|rejection| Failure::new(Status::Unsupported, rejection.to_string()))?;
        let missing = self.pipelines.missing(&plan);
        if !missing.is_empty() {
            self.pipelines.make(self.backend, self.compiler, &missing);
        }
        let (info, _) = self.pipelines.of_plan(&plan)?;
        catalog::resident(&item.config, problem, n, self.backend.profile(), info.registers)
            .map_err(|rejection| Failure::new(Status::Unsupported, rejection.to_string()))?;
        Ok(plan)
    }

    /// Keeps the output of the first call; compares those of the others with it.
    fn repeat(&mut self, plan: &Plan, circumstance: Circumstance) -> Result<Option<Comparison>, Failure> {
        match circumstance {
            Circumstance::First => self.backend.keep(plan).map(|()| None),
            _ => self.backend.compare_with_kept(plan).map(Some),
        }
    }

    fn call(&mut self, plan: &Plan, circumstance: Circumstance) -> Result<Comparison, Failure> {
        if let Some(garbage) = circumstance.garbage(plan) {
            self.backend.litter(garbage)?;
        }
        let plan = circumstance.plan(plan, self.backend.profile());
        verify(self.backend, &plan)
    }
}
