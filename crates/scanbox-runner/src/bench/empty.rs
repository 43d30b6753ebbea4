//! What a call costs that does nothing, on each side: beside it the spans of two interfaces can be read.
//!
//! A span is the time between two timestamps, or two events, around one call, and these cost something themselves: on
//! CUDA's side others than on Vulkan's. So spans of two sides are not set against each other without the span of an
//! empty call of each.

use scanbox_kernels::catalog;
use scanbox_model::record::Cache;
use scanbox_model::units::size_label;
use serde::{Deserialize, Serialize};

use super::measurable::{Measurable, MeasurableExternal};
use super::{Bench, BenchEvent, Cut, SubjectAtSize, pooled, round_medians};
use crate::backend::Failure;
use crate::measure::{Measurement, TimedPlan, block};
use crate::session::End;
use crate::subject::Subject;

/// Whose scanbox's own are.
const OWN: &str = "scanbox";

/// An empty call of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyCall {
    /// `scanbox`, or the baseline as in the rows of its subjects: `CUB 3.5.0`.
    pub of: String,
    /// Median time of one of many dependent calls, in nanoseconds.
    pub steady_ns: u64,
    /// Median time between timestamps around one call, in nanoseconds.
    pub span_ns: u64,
    /// First and third quartile of it.
    pub span_quartiles_ns: [u64; 2],
    /// Of one that took turns with the subjects of a size, in as many workgroups as a copy has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<EmptyBeside>,
}

/// What an empty call is known by that took turns with the subjects of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyBeside {
    /// The size.
    pub n: u64,
    /// First and third quartile of the time of one of many dependent calls.
    pub steady_quartiles_ns: [u64; 2],
    /// The lowest and the highest median of a round.
    pub rounds_ns: [u64; 2],
    /// Rounds.
    pub rounds: u32,
}

impl EmptyCall {
    /// That of these times, or why there is none.
    fn new(of: String, measured: &Measurement) -> Result<Self, String> {
        let Some(span) = &measured.span else {
            let call = if of == OWN { "an empty call".to_owned() } else { format!("an empty call of {of}") };
            return Err(format!("{call} cannot be measured: it is shorter than a step of the timer"));
        };
        Ok(Self {
            of,
            steady_ns: measured.steady.median_ns,
            span_ns: span.median_ns,
            span_quartiles_ns: [span.q1_ns, span.q3_ns],
            beside: None,
        })
    }
}

impl<E: From<Failure>> Bench<'_, E> {
    /// Takes an empty call of each side that has one, between the same timestamps and events as the calls of its
    /// subjects.
    pub(super) fn empty_calls(&mut self) -> Result<(), Cut<E>> {
        let n = self.job.sizes.iter().map(|(n, _)| *n).min().unwrap_or(1);
        let plan = catalog::empty(&self.job.computation.problem, self.session.backend.profile());
        self.announce(&Subject::Empty, n)?;
        let own = self.session.pipelines_of(&plan).map(|_| ()).and_then(|()| {
            let mut timed = TimedPlan { backend: self.session.backend, plan: &plan, cache: Cache::Hot };
            block(&mut timed, None, &self.job.protocol)
        });
        match own {
            Ok(samples) => self.found(EmptyCall::new(OWN.to_owned(), &samples.measurement()))?,
            Err(failure) => {
                let is_fatal = failure.is_fatal();
                self.found(Err(format!("an empty call cannot be measured: {}", failure.reason)))?;
                if is_fatal {
                    return Err(Cut::End(End::DeviceUnusable));
                }
            }
        }
        for place in 0..self.baselines.len() {
            let Some(name) = self.baselines[place].empty().map(str::to_owned) else { continue };
            self.announce(&Subject::External { name: name.clone() }, n)?;
            let baseline = &mut self.baselines[place];
            let of = format!("{} {}", baseline.greeting().tool, baseline.greeting().version);
            let mut external = MeasurableExternal { baseline, subject: &name, n };
            let samples = external.block(Cache::Hot, None, &self.job.protocol);
            let found = match samples {
                Ok(samples) => EmptyCall::new(of, &samples.measurement()),
                Err(failure) => Err(format!("an empty call of {of} cannot be measured: {}", failure.reason)),
            };
            self.found(found)?;
        }
        Ok(())
    }

    /// Tells of an empty call that took turns with the subjects of a size, in place of its rows: what does nothing
    /// cannot be verified.
    pub(super) fn finish_empty(&mut self, subject: &SubjectAtSize) -> Result<(), E> {
        let n = subject.record.n_elements;
        let call = match &subject.failure {
            Some(failure) => {
                let at = size_label(n);
                Err(format!("an empty call beside those of {at} cannot be measured: {}", failure.reason))
            }
            None => {
                let blocks = &subject.blocks[0];
                let measured = pooled(blocks).measurement();
                let beside = EmptyBeside {
                    n,
                    steady_quartiles_ns: [measured.steady.q1_ns, measured.steady.q3_ns],
                    rounds_ns: round_medians(blocks).map(|ns| ns.round() as u64),
                    rounds: blocks.len() as u32,
                };
                EmptyCall::new(OWN.to_owned(), &measured)
                    .map(|call| EmptyCall { beside: Some(beside), ..call })
            }
        };
        (self.observer)(BenchEvent::EmptyCall { call })
    }

    fn found(&mut self, call: Result<EmptyCall, String>) -> Result<(), Cut<E>> {
        (self.observer)(BenchEvent::EmptyCall { call })?;
        Ok(())
    }
}
