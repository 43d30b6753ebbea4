//! How attempts end: the words of the column, and what each says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

documented! {
    /// How the attempt to run a config ended, the good way first.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
    )]
    pub enum Status {
        /// Every element is right and the time was taken.
        Ok = "ok",
        /// At least one element is wrong.
        WrongResult = "wrong_result",
        /// The source does not compile, or what workgroups pass on need not reach others by the memory model, whether a
        /// run on the device shows it or not: the reason says which.
        CompileError = "compile_error",
        /// The driver does not make a pipeline of it.
        PipelineError = "pipeline_error",
        /// It ran longer than the limit.
        Timeout = "timeout",
        /// The device was lost.
        DeviceLost = "device_lost",
        /// The buffers do not fit.
        OutOfMemory = "out_of_memory",
        /// The device cannot run it, found out on the attempt.
        Unsupported = "unsupported",
        /// Anything else that went wrong while it ran.
        RuntimeError = "runtime_error" #[default],
        /// It ended two workers before.
        Quarantined = "quarantined",
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}
