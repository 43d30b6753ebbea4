//! What can end a run before its end, as far as callers tell cases apart.

use std::io;

#[cfg(feature = "webgpu")]
use scanbox_browser::error::BrowserError;
use scanbox_model::record::Status;
use scanbox_runner::backend::Failure;
use scanbox_runner::select::SelectError;
use scanbox_runner::session::End;
use scanbox_runner::vulkan::VulkanError;
#[cfg(feature = "webgpu")]
use scanbox_runner::webgpu::WebGpuError;
use serde::{Deserialize, Serialize};

/// What kind of thing is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// There is no usable device.
    NoDevice,
    /// The selector names no single device.
    Selector,
    /// The operator of the user breaks a law.
    Operator,
    /// The run had to stop, or somebody else uses the device or the file: the same command goes on later.
    Postponed,
    /// Anything else: a file, the device, the system.
    Other,
}

impl Cause {
    /// The cause of an error of this crate, or of an error that passed through it.
    pub fn of(error: &anyhow::Error) -> Self {
        if let Some(error) = error.downcast_ref::<SessionError>() {
            return match error {
                SessionError::Stopped(_) | SessionError::InUse { .. } => Self::Postponed,
                SessionError::Worker { cause, .. } => *cause,
            };
        }
        if let Some(WorkerError::Operator(_)) = error.downcast_ref() {
            return Self::Operator;
        }
        #[cfg(feature = "webgpu")]
        match error.downcast_ref::<WebGpuError>() {
            Some(WebGpuError::Select(error)) => return Self::of_selector(error),
            Some(webgpu) if webgpu.is_no_device() => return Self::NoDevice,
            _ => {}
        }
        #[cfg(feature = "webgpu")]
        match error.downcast_ref::<BrowserError>() {
            Some(BrowserError::Select(error)) => return Self::of_selector(error),
            Some(browser) if browser.is_no_device() => return Self::NoDevice,
            _ => {}
        }
        match error.downcast_ref::<VulkanError>() {
            Some(VulkanError::Select(error)) => Self::of_selector(error),
            Some(vulkan) if vulkan.is_no_device() => Self::NoDevice,
            _ => error.downcast_ref().map_or(Self::Other, Self::of_selector),
        }
    }

    fn of_selector(error: &SelectError) -> Self {
        match error {
            SelectError::NotFound { .. } | SelectError::NoneGiven { .. } => Self::NoDevice,
            SelectError::Ambiguous { .. }
            | SelectError::NoSelector { .. }
            | SelectError::NotOneGiven { .. } => Self::Selector,
        }
    }
}

/// What ends a run on the side of its supervisor.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The run had to stop before anything could be measured: while its device was opened, or asked what it keeps.
    #[error("{}", stopped_text(*.0))]
    Stopped(End),
    /// Somebody else holds a lock.
    #[error("{what} ({holder}); {advice}")]
    InUse {
        /// What is locked, as a clause.
        what: String,
        /// Who has it.
        holder: String,
        /// What the user can do.
        advice: &'static str,
    },
    /// A worker could not do anything.
    #[error("{reason}")]
    Worker {
        /// Why.
        reason: String,
        /// What kind of thing is to blame.
        cause: Cause,
    },
}

/// What is said of a run that came no further than its set-up.
fn stopped_text(end: End) -> &'static str {
    match end {
        End::Budget => {
            "the budget ended in the set-up, while the device was opened or asked what it keeps: nothing was measured; run \
             the same command again with a longer --budget"
        }
        _ => {
            "interrupted in the set-up, before anything was measured; to continue, run the same command again"
        }
    }
}

/// What ends the work of a worker before its end.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The device, before any config.
    #[error("nothing could run: {0}")]
    Device(Failure),
    /// The operator of the user is none, so that nothing can be right.
    #[error("{0}")]
    Operator(String),
    /// Nobody is there any more.
    #[error("the supervisor went away: {0}")]
    Supervisor(#[from] io::Error),
}

impl From<Failure> for WorkerError {
    fn from(failure: Failure) -> Self {
        match failure.status {
            Status::WrongResult => Self::Operator(failure.reason),
            _ => Self::Device(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_named_well_is_told_from_one_that_is_not_there() {
        let text = || String::from("x");
        for (error, cause) in [
            (SelectError::NotFound { selector: text(), devices: text() }, Cause::NoDevice),
            (SelectError::Ambiguous { selector: text(), devices: text() }, Cause::Selector),
            (SelectError::NoSelector { devices: text() }, Cause::Selector),
            (SelectError::NoneGiven { reason: text() }, Cause::NoDevice),
            (SelectError::NotOneGiven { reason: text() }, Cause::Selector),
        ] {
            assert_eq!(Cause::of_selector(&error), cause);
            assert_eq!(Cause::of(&VulkanError::Select(error).into()), cause);
            // Also where a worker has found it out.
            assert_eq!(Cause::of(&SessionError::Worker { reason: text(), cause }.into()), cause);
        }
    }
}
