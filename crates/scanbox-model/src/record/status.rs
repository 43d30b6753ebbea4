//! How attempts end: the words of the column, and what each says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the attempt to run a config ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every element is right and the time was taken.
    Ok,
    /// At least one element is wrong.
    WrongResult,
    /// The source does not compile.
    CompileError,
    /// The driver does not make a pipeline of it.
    PipelineError,
    /// It ran longer than the limit.
    Timeout,
    /// The device was lost.
    DeviceLost,
    /// The buffers do not fit.
    OutOfMemory,
    /// The device cannot run it, found out on the attempt.
    Unsupported,
    /// Anything else that went wrong while it ran.
    #[default]
    RuntimeError,
    /// It ended two workers before.
    Quarantined,
}

impl Status {
    /// Every status, the good one first.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::WrongResult,
        Self::CompileError,
        Self::PipelineError,
        Self::Timeout,
        Self::DeviceLost,
        Self::OutOfMemory,
        Self::Unsupported,
        Self::RuntimeError,
        Self::Quarantined,
    ];

    /// What it says of a config, in words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "Every element is right and the time was taken.",
            Self::WrongResult => "At least one element is wrong.",
            Self::CompileError => "The source does not compile.",
            Self::PipelineError => "The driver does not make a pipeline of it.",
            Self::Timeout => "It ran longer than the limit.",
            Self::DeviceLost => "The device was lost.",
            Self::OutOfMemory => "The buffers do not fit.",
            Self::Unsupported => "The device cannot run it, found out on the attempt.",
            Self::RuntimeError => "Anything else that went wrong while it ran.",
            Self::Quarantined => "It ended two workers before.",
        }
    }

    /// The word in CSV.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::WrongResult => "wrong_result",
            Self::CompileError => "compile_error",
            Self::PipelineError => "pipeline_error",
            Self::Timeout => "timeout",
            Self::DeviceLost => "device_lost",
            Self::OutOfMemory => "out_of_memory",
            Self::Unsupported => "unsupported",
            Self::RuntimeError => "runtime_error",
            Self::Quarantined => "quarantined",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
