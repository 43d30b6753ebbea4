//! Why there is no session with a device, in words that say what helps.

use ash::vk;
use scanbox_kernels::glsl::CompileError;

use crate::backend::Failure;
use crate::select::SelectError;

/// Why there is no session with a device.
#[derive(Debug, thiserror::Error)]
pub enum VulkanError {
    /// No loader: Vulkan is not installed.
    #[error(
        "there is no Vulkan loader ({reason}): install it (Debian, Ubuntu: libvulkan1) and a driver \
         (the GPU vendor's, or mesa-vulkan-drivers, which has a software device too)"
    )]
    NoLoader {
        /// What the system says.
        reason: String,
    },
    /// A loader, but nothing behind it.
    #[error(
        "there is no Vulkan device, because the loader finds no driver that works: where VK_DRIVER_FILES is set, see that \
         it names one; where a driver is installed, VK_LOADER_DEBUG=error,warn says why it fails; where none is, there is \
         the GPU vendor's (Debian, Ubuntu: mesa-vulkan-drivers, which has a software device too; macOS: MoltenVK)"
    )]
    NoDevice,
    /// The validation layer was asked for.
    #[error("the Vulkan validation layer is not installed (Debian, Ubuntu: vulkan-validationlayers)")]
    NoValidationLayer,
    /// The selector names no single device.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The device misses what kernels need.
    #[error("{device} cannot be used: it {}", problems.join("; it "))]
    Unusable {
        /// Its name.
        device: String,
        /// See [`crate::select::Listed::problems`].
        problems: Vec<String>,
    },
    /// A call failed that has no reason to.
    #[error("{function}: {result:?}")]
    Call {
        /// The Vulkan function.
        function: &'static str,
        /// What it returned.
        result: vk::Result,
    },
    /// The memory allocator could not be made.
    #[error("the memory allocator: {0}")]
    Allocator(gpu_allocator::AllocationError),
    /// A helper kernel does not compile.
    #[error("a kernel that every session needs does not compile: {0}")]
    Compile(#[from] CompileError),
    /// The device did not do what every session needs.
    #[error("{device} cannot be set up: {failure}")]
    Setup {
        /// Its name.
        device: String,
        /// What failed.
        failure: Failure,
    },
}

impl VulkanError {
    pub(super) fn call(function: &'static str, result: vk::Result) -> Self {
        Self::Call { function, result }
    }

    /// Whether the machine has no device that could be used, as opposed to a wrong question.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        matches!(self, Self::NoLoader { .. } | Self::NoDevice | Self::Unusable { .. })
    }
}
