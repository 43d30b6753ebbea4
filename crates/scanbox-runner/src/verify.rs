//! Whether plans give the right answer: every element, on the device.
//!
//! [`verify`] is one call, as a sweep makes it before it takes a time. [`run`] is a verification without times: each
//! config on many sizes and inputs ([`scanbox_kernels::cases`]), each of those in several circumstances. Where results
//! round, those of deterministic kernels have to have the same bits in all of them. Like the sweep it names no
//! backend and no kernel family, and prints nothing: verdicts leave through an observer.

mod left_behind;
mod other_calls;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_kernels::catalog::{Resolved, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::Plan;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::units::size_label;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, ElementComparison, Failure, Mismatch};
use crate::measure::duration_ns;
use crate::session::{End, RunSummary, Session, Setup};
use crate::twin::{self, Length};
use scanbox_kernels::cases::Garbage;
use scanbox_kernels::cases::{Builds, Circumstance, Item};

/// Runs a plan once on poisoned output and compares every element.
///
/// # Errors
/// When the plan does not run; a wrong element is no error but [`ElementComparison::mismatches`].
pub fn verify(backend: &mut dyn Backend, plan: &Plan) -> Result<ElementComparison, Failure> {
    let comparison = backend.verify(plan)?;
    check_whole(comparison.compared, plan.outputs())?;
    Ok(comparison)
}

/// Sees that a comparison was one of all `outputs` elements.
///
/// # Errors
/// `runtime_error`, where it was not: it says nothing then.
pub fn check_whole(compared: u64, outputs: u64) -> Result<(), Failure> {
    if compared < outputs {
        let reason = format!("only {compared} of {outputs} elements were compared");
        return Err(Failure::new(Status::RuntimeError, reason));
    }
    Ok(())
}

/// What a comparison of `n` elements of output found wrong, in words; `None` where nothing is.
#[must_use]
pub fn describe(comparison: &ElementComparison, n: u64) -> Option<String> {
    if comparison.mismatches == 0 {
        return None;
    }
    let count = comparison.mismatches;
    if let Some(total) = comparison.total {
        return Some(match total.index {
            0 => format!("the total is wrong: expected {}, got {}", total.expected(), total.got()),
            past => {
                format!("{count} words behind the total were written; the first {} past its end", past - 1)
            }
        });
    }
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
                // Words behind the output may be among them.
                count.div_ceil(words.into()).min(n),
                first.index,
                first.expected(),
                first.got()
            )
        }
        None => format!("{count} of {n} elements are wrong"),
    })
}

/// What differs between an output of `n` elements and that of an earlier call of the same plan, in words; `None`
/// where nothing does.
#[must_use]
pub fn describe_difference(comparison: &ElementComparison, n: u64) -> Option<String> {
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerifyJob {
    /// What is computed.
    pub problem: Problem,
    /// What is to be tried.
    pub items: Vec<Item>,
    /// Which build of each config.
    pub variant: Variant,
    /// Which builds beside it; one that sweeps do not time has none.
    pub builds: Builds,
    /// Seed of the order.
    pub seed: u64,
    /// See [`crate::sweep::SweepJob::one_by_one`].
    pub one_by_one: bool,
}

/// What happens during a verification.
#[derive(Debug)]
pub enum VerifyEvent<'a> {
    /// Something takes time before anything runs.
    Setup(Setup),
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
        verdict: &'a ItemVerdict,
    },
}

/// How a config did on one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ItemVerdict {
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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

impl ItemVerdict {
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
    job: &VerifyJob,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(VerifyEvent<'_>) -> Result<(), E>,
) -> Result<RunSummary, E> {
    let mut verification = Verification {
        session: Session::new(backend, compiler, job.problem),
        job,
        stop,
        observer,
        given_up: HashSet::new(),
        alternates: false,
    };
    let end = verification.run()?;
    Ok(verification.session.outcome(end, BTreeMap::new()))
}

/// Why a case has not come to its end.
enum Ended<E> {
    ByFailure(Status, FailedCase),
    ByObserver(E),
}

impl<E> Ended<E> {
    /// A call has come to no answer.
    fn because(
        failure: &Failure,
        device: &DeviceProfile,
        n: u64,
        circumstance: Option<Circumstance>,
    ) -> Self {
        let reason = failure.reason_on(device);
        Self::ByFailure(failure.status, FailedCase { n, circumstance, reason, mismatch: None })
    }

    /// A call has come to a wrong one.
    fn unless_right(
        comparison: &ElementComparison,
        plan: &Plan,
        n: u64,
        circumstance: Circumstance,
    ) -> Result<(), Self> {
        let Some(reason) = describe(comparison, plan.outputs()) else { return Ok(()) };
        let failed = FailedCase { n, circumstance: Some(circumstance), reason, mismatch: comparison.first };
        Err(Self::ByFailure(Status::WrongResult, failed))
    }
}

struct Verification<'a, E> {
    session: Session<'a>,
    job: &'a VerifyJob,
    stop: &'a AtomicBool,
    observer: &'a mut dyn FnMut(VerifyEvent<'_>) -> Result<(), E>,
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
            self.load_another(input, &items)?;
            for item in self.shuffled(items) {
                if self.given_up.contains(&item.config) {
                    continue;
                }
                self.session.check_device("memory was put in order after a config that failed")?;
                (self.observer)(VerifyEvent::Started { item })?;
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

    /// Makes the pipelines of the job.
    fn prepare(&mut self) -> Result<(), E> {
        let ahead: &[Item] = if self.job.one_by_one { &[] } else { &self.job.items };
        let smallest = |item: &Item| item.sizes.first().copied().unwrap_or(1);
        let plans = ahead.iter().flat_map(|item| {
            let plain = self.session.plan(&item.config, self.job.variant, smallest(item));
            let varied = self.varied(item).map(|variant| self.session.plan(&item.config, variant, 0));
            let late = self.late(item, smallest(item));
            let late = late.map(|variant| self.session.plan(&item.config, variant, smallest(item)));
            [Some(plain), varied, late]
        });
        let ahead = plans.flatten().flatten().collect();
        self.session.prepare(ahead, &mut |setup| (self.observer)(VerifyEvent::Setup(setup)))
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
        let largest = |item: &&Item| item.sizes.iter().copied().max().unwrap_or(0);
        items.retain(|item| !self.given_up.contains(&item.config));
        while let Some((too_large, failure)) =
            self.session
                .load(&input, &mut items, largest, &mut |setup| (self.observer)(VerifyEvent::Setup(setup)))?
        {
            for item in too_large {
                let reason = failure.reason.clone();
                let failed = FailedCase { n: largest(&item), circumstance: None, reason, mismatch: None };
                self.finish(item, &ItemVerdict::failed(&item.config, input, failure.status, failed))?;
            }
        }
        Ok(items)
    }

    /// Loads the input that twins alternate with.
    fn load_another(&mut self, input: Input, items: &[&Item]) -> Result<(), E> {
        let Some(n) = items.iter().flat_map(|item| &item.sizes).copied().max() else { return Ok(()) };
        let what = || format!("another {} elements were loaded", size_label(n));
        self.alternates =
            self.session.load_another(input, n).map_err(|failure| match failure.is_fatal() {
                true => failure.amid(&what()),
                false => failure,
            })?;
        Ok(())
    }

    /// In an order that depends on the seed and the items alone: what a budget leaves out favours no config.
    fn shuffled<T>(&self, mut items: Vec<T>) -> Vec<T> {
        items.shuffle(&mut ChaCha8Rng::seed_from_u64(self.job.seed));
        items
    }

    fn finish(&mut self, item: &Item, verdict: &ItemVerdict) -> Result<(), E> {
        if verdict.status != Status::Ok {
            self.given_up.insert(item.config);
        }
        (self.observer)(VerifyEvent::Finished { verdict })
    }

    /// All cases of an item, until one goes wrong. Sizes are shuffled, so that larger calls come before smaller ones.
    fn attempt(&mut self, item: &Item) -> Result<ItemVerdict, E> {
        let mut verdict = ItemVerdict {
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
                    let _ = self.session.backend.scribble_scratch(Garbage::InNewMemory(0));
                    break;
                }
                Err(Ended::ByObserver(error)) => return Err(error),
            }
        }
        Ok(verdict)
    }

    /// One case in all circumstances.
    fn case(&mut self, item: &Item, n: u64, tally: &mut Tally) -> Result<(), Ended<E>> {
        let device = Arc::clone(self.session.backend.profile());
        let failed = |failure: Failure, circumstance| Ended::because(&failure, &device, n, circumstance);
        let plan = self.session.ready(&item.config, self.job.variant, n);
        let plan = plan.map_err(|failure| failed(failure, None))?;
        // Where there is one right answer, every call has been compared with it.
        let repeats = item.config.kernel.is_deterministic() && !item.input.is_exact(&self.job.problem, n);
        let is_few = Resolved::new(&item.config, &self.job.problem, n, &device).is_few();
        let (mut call_ns, mut turn) = (None, None);
        for circumstance in Circumstance::ALL {
            (self.observer)(VerifyEvent::Calling { n, circumstance }).map_err(Ended::ByObserver)?;
            if circumstance == Circumstance::InARow {
                let length = Length::alone(call_ns, device.kind);
                let garbage =
                    circumstance.garbage(&plan).map(|garbage| garbage.earlier(length.ahead_of_compared()));
                let twin = self
                    .scribble(garbage)
                    .and_then(|()| twin::run_alone(self.session.backend, &plan, length, self.alternates))
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
            call_ns = duration_ns(comparison.call, self.session.backend.profile()).or(call_ns);
            tally.calls += 1;
            tally.elements += comparison.compared;
            Ended::unless_right(&comparison, &plan, n, circumstance)?;
            // Few elements may take no turn, and new memory begins with the first one.
            let counts = circumstance != Circumstance::NewMemory && item.config.tiles(n) > 1 && !is_few;
            let before = turn.take().filter(|_| counts);
            turn = left_behind::check(self.session.backend, &plan, before)
                .map_err(|failure| failed(failure, Some(circumstance)))?;
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
        self.other_calls(item, n, &plan, tally)
    }

    /// Keeps the output of the first call; compares those of the others with it.
    fn repeat(
        &mut self,
        plan: &Plan,
        circumstance: Circumstance,
    ) -> Result<Option<ElementComparison>, Failure> {
        match circumstance {
            Circumstance::First => self.session.backend.keep(plan).map(|()| None),
            _ => self.session.backend.compare_with_kept(plan).map(Some),
        }
    }

    fn scribble(&mut self, garbage: Option<Garbage>) -> Result<(), Failure> {
        garbage.map_or(Ok(()), |garbage| self.session.backend.scribble_scratch(garbage))
    }

    fn call(&mut self, plan: &Plan, circumstance: Circumstance) -> Result<ElementComparison, Failure> {
        self.scribble(circumstance.garbage(plan))?;
        let plan = circumstance.plan(plan, self.session.backend.profile());
        verify(self.session.backend, &plan)
    }
}
