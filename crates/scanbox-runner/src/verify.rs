//! Whether a plan gives the right answer: every element, on the device.

use scanbox_kernels::plan::Plan;
use scanbox_model::record::Status;

use crate::backend::{Backend, Comparison, Failure};

/// Runs a plan once on poisoned output and compares every element.
///
/// # Errors
/// When the plan does not run; a wrong element is no error but [`Comparison::mismatches`].
pub fn verify(backend: &mut dyn Backend, plan: &Plan) -> Result<Comparison, Failure> {
    let comparison = backend.verify(plan)?;
    if comparison.compared < plan.n {
        let reason = format!("only {} of {} elements were compared", comparison.compared, plan.n);
        return Err(Failure::new(Status::RuntimeError, reason));
    }
    Ok(comparison)
}

/// What a comparison found wrong, in words; `None` where nothing is.
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
        Some(first) => format!(
            "{count} of {n} elements are wrong; the first is element {}: expected {}, got {}",
            first.index, first.expected, first.got
        ),
        None => format!("{count} of {n} elements are wrong"),
    })
}
