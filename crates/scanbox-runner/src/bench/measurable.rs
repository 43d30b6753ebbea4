//! What a benchmark verifies and times at a size: a plan on this device, or a subject of a baseline.

use scanbox_kernels::plan::Plan;
use scanbox_model::problem::Problem;
use scanbox_model::record::Cache;

use crate::backend::{
    Backend, ElementComparison, Failure, LookbackCounts, Mismatch, RoundingError, leaves_input,
};
use crate::baseline::{Baseline, BaselineComparison};
use crate::measure::{Protocol, Samples, Timed, TimedPlan, block, duration_ns};
use crate::twin::{self, Checked, Length, Twin};
use crate::verify::{check_whole, describe, verify};

/// What can be verified and timed: a plan on this device, or a subject of a baseline.
pub(super) trait Measurable {
    /// Runs once and compares every element.
    fn verify(&mut self) -> Result<Verified, Failure>;

    /// One block of samples on these buffers; `call_ns` is what a call takes, as far as is known.
    fn block(&mut self, cache: Cache, call_ns: Option<f64>, protocol: &Protocol) -> Result<Samples, Failure>;

    /// The untimed twin of the calls that were timed last, and whether it is right; none of what is not ours to repeat.
    fn twin(&mut self, cache: Cache, samples: &Samples, protocol: &Protocol)
    -> Result<Option<Twin>, Failure>;
}

/// The outcome of a verification.
pub(super) struct Verified {
    pub error: Option<RoundingError>,
    pub mismatches: u64,
    pub first: Option<u64>,
    /// What is wrong, in words.
    pub reason: Option<String>,
    pub call_ns: Option<f64>,
    pub counts: Option<LookbackCounts>,
}

/// A plan on this device.
pub(super) struct MeasurablePlan<'a> {
    pub backend: &'a mut dyn Backend,
    pub plan: &'a Plan,
    /// The same in the build that counts.
    pub counted: Option<&'a Plan>,
}

impl Measurable for MeasurablePlan<'_> {
    fn verify(&mut self) -> Result<Verified, Failure> {
        self.backend.forget_scratch();
        let mut comparison = verify(self.backend, self.plan)?;
        let call_ns = duration_ns(comparison.call, self.backend.profile());
        if let Some(counted) = self.counted.filter(|_| comparison.mismatches == 0) {
            comparison = verify(self.backend, counted)?;
        }
        // What such calls do beside, on arrays that no ordinary call could have.
        let variant = self.plan.build().map(|build| build.variant).unwrap_or_default();
        // What the problem has, ordinary calls have.
        let problem = &self.plan.problem;
        let has_operand =
            (variant.total && !problem.has_total()) || (variant.init_in_memory && !problem.reads_init());
        // `scanbox pack --check` does so with kernels of packs.
        let is_varied =
            (variant.any_element || has_operand || variant.max_n.is_some()) && !variant.by_library;
        if comparison.mismatches == 0 && is_varied {
            let begin = if variant.any_element { [1, 2] } else { [0, 0] };
            self.backend.verify_at(self.plan, begin)?;
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

    fn block(&mut self, cache: Cache, call_ns: Option<f64>, protocol: &Protocol) -> Result<Samples, Failure> {
        // Whatever others have left in their blocks, this one answers for itself alone.
        self.backend.forget_scratch();
        let mut timed = TimedPlan { backend: self.backend, plan: self.plan, cache };
        let samples = block(&mut timed, call_ns, protocol);
        // Behind every block, not only behind the twin of the last one: others have theirs in between.
        leaves_input(self.backend, self.plan, samples)
    }

    fn twin(
        &mut self,
        cache: Cache,
        samples: &Samples,
        protocol: &Protocol,
    ) -> Result<Option<Twin>, Failure> {
        let measured = samples.measurement();
        let length = Length::new(measured.calls, measured.steady.median_ns as f64, true, protocol);
        twin::run(self.backend, self.plan, cache, length).map(Some)
    }
}

/// A subject of a baseline.
pub(super) struct MeasurableExternal<'a> {
    pub baseline: &'a mut Baseline,
    pub subject: &'a str,
    pub problem: &'a Problem,
    pub n: u64,
}

impl Measurable for MeasurableExternal<'_> {
    fn verify(&mut self) -> Result<Verified, Failure> {
        let found = self.baseline.verify(self.subject, self.n)?;
        let comparison = self.whole(&found)?;
        Ok(Verified {
            counts: None,
            error: comparison.error,
            mismatches: found.mismatches,
            first: found.first.map(|first| first.index),
            reason: describe(&comparison, self.outputs()),
            call_ns: found.call_ns,
        })
    }

    fn block(&mut self, cache: Cache, call_ns: Option<f64>, protocol: &Protocol) -> Result<Samples, Failure> {
        let Self { baseline, subject, n, .. } = self;
        block(&mut TimedExternal { baseline, subject, n: *n, cache }, call_ns, protocol)
    }

    /// What a program says of the calls that it has timed, if it can.
    fn twin(
        &mut self,
        cache: Cache,
        samples: &Samples,
        protocol: &Protocol,
    ) -> Result<Option<Twin>, Failure> {
        if !self.baseline.greeting().twins {
            return Ok(None);
        }
        let measured = samples.measurement();
        let length = Length::new(measured.calls, measured.steady.median_ns as f64, true, protocol);
        let found = self.baseline.twin(self.subject, self.n, cache, length.calls)?;
        let comparison = self.whole(&found)?;
        let wrong = Checked {
            call: 0,
            mismatches: found.mismatches,
            first: found.first.map(|first| first.index),
            of_total: false,
            max_error: 0.0,
        };
        let calls = length.calls;
        let reason = |what: String| {
            format!("right when called once, wrong within {calls} calls in a row (the timed path): {what}")
        };
        Ok(Some(Twin {
            calls,
            compared: found.compared / self.outputs(),
            elements: found.compared,
            max_error: comparison.error.map_or(0.0, |error| error.max),
            wrong_calls: u64::from(found.mismatches > 0),
            wrong: (found.mismatches > 0).then_some(wrong),
            reason: describe(&comparison, self.outputs()).map(reason),
        }))
    }
}

impl MeasurableExternal<'_> {
    /// A comparison of at least every element.
    fn whole(&self, found: &BaselineComparison) -> Result<ElementComparison, Failure> {
        check_whole(found.compared, self.outputs())?;
        let element = self.problem.element();
        let error = |bound| RoundingError { max: found.max_error.unwrap_or(0.0), bound };
        Ok(ElementComparison {
            compared: found.compared,
            // Words, as of scanbox's own.
            mismatches: found.mismatches.saturating_mul(u64::from(element.bytes() / 4)),
            first: found.first.map(|first| Mismatch { element, ..first }),
            error: found.error_bound.map(error),
            ..ElementComparison::default()
        })
    }

    /// Elements of its output.
    fn outputs(&self) -> u64 {
        self.problem.outputs(self.n)
    }
}

struct TimedExternal<'a> {
    baseline: &'a mut Baseline,
    subject: &'a str,
    n: u64,
    cache: Cache,
}

impl Timed for TimedExternal<'_> {
    fn resolution_ns(&self) -> f64 {
        self.baseline.greeting().timer_resolution_ns as f64
    }

    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
        self.baseline.time(self.subject, self.n, self.cache, calls, samples)
    }
}
