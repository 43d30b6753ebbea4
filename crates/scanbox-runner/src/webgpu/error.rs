//! Why there is no session with a device through WebGPU, in words that say what helps.

use scanbox_kernels::glsl::CompileError;

use crate::backend::Failure;
use crate::select::SelectError;

/// Why there is no session with a device.
#[derive(Debug, thiserror::Error)]
pub enum WebGpuError {
    /// wgpu finds nothing.
    #[error(
        "wgpu finds no adapter: `scanbox doctor` looks for Vulkan devices, which it stands on, and says what they need \
         (Debian, Ubuntu: mesa-vulkan-drivers has a software device)"
    )]
    NoAdapter,
    /// The selector names no single device.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The adapter misses what kernels need.
    #[error("{device} cannot be used through WebGPU: it {}", problems.join("; it "))]
    Unusable {
        /// Its name.
        device: String,
        /// See [`crate::select::Listed::problems`].
        problems: Vec<String>,
    },
    /// The adapter gives no device.
    #[error("{device} does not open through WebGPU: {reason}")]
    NoDevice {
        /// Its name.
        device: String,
        /// What wgpu says.
        reason: String,
    },
    /// A helper kernel does not compile.
    #[error("a kernel that every session needs does not compile: {0}")]
    Compile(#[from] CompileError),
    /// The device did not do what every session needs.
    #[error("{device} cannot be set up through WebGPU: {failure}")]
    Setup {
        /// Its name.
        device: String,
        /// What failed.
        failure: Failure,
    },
}

impl WebGpuError {
    /// Whether the machine has no device that could be used, as opposed to a wrong question.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        matches!(self, Self::NoAdapter | Self::Unusable { .. })
    }
}
