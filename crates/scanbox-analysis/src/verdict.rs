//! What became of a time from one run to another.

use scanbox_model::record::Status;

/// The smallest change that matters, in percent, of who says nothing.
pub const USUAL_PERCENT: &str = "3";

/// The metric of who says nothing: it chooses the kernel that is watched.
pub const USUAL_METRIC: &str = "squared";

/// What became of a line or a config at a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No change above the threshold.
    Same,
    /// Faster beyond threshold and noise.
    Faster,
    /// Slower beyond threshold and noise.
    Slower,
    /// A change above the threshold that may be noise.
    Unclear,
    /// There is no time in the new run, or none of the config that led the base.
    Missing,
    /// The new run has a time, but what leads alone was not measured again beside the base.
    Unmeasured,
    /// The config that led the base does not work any more.
    Lost,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 7] =
        [Self::Same, Self::Faster, Self::Slower, Self::Unclear, Self::Missing, Self::Unmeasured, Self::Lost];

    /// The word in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "SAME",
            Self::Faster => "FASTER",
            Self::Slower => "SLOWER",
            Self::Unclear => "UNCLEAR",
            Self::Missing => "MISSING",
            Self::Unmeasured => "UNMEASURED",
            Self::Lost => "LOST",
        }
    }
}

/// What the comparison as a whole says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No deciding line became slower.
    NoRegression,
    /// At least one did, or none of its configs works any more.
    Regression,
    /// That cannot be said.
    Inconclusive,
}

/// Whether a config that ends like this is broken, wherever it stands.
pub(crate) fn breaks(status: Status) -> bool {
    match status {
        Status::Ok | Status::OutOfMemory | Status::Unsupported => false,
        Status::WrongResult
        | Status::CompileError
        | Status::PipelineError
        | Status::Timeout
        | Status::DeviceLost
        | Status::RuntimeError
        | Status::Quarantined => true,
    }
}
