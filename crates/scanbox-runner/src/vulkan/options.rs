//! How devices are opened.

use std::path::PathBuf;
use std::time::Duration;

use scanbox_model::known_issues::KnownIssues;
use scanbox_model::safe_devices::SafeDevices;

/// How to open devices.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long one submission may take before the device counts as hung.
    pub timeout: Duration,
    /// The folder where pipelines are cached between sessions.
    pub pipeline_cache: Option<PathBuf>,
    /// Whether the validation layer checks every call, synchronisation included.
    pub validation: bool,
    /// The library file of the Vulkan loader, instead of the system's.
    pub loader: Option<PathBuf>,
    /// What may be forced on a device.
    pub known_issues: KnownIssues,
    /// What devices keep beyond what Vulkan promises.
    pub safe_devices: SafeDevices,
}

impl Default for Options {
    /// 30 seconds, no cache, no validation, the system's loader, no known issues.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            pipeline_cache: None,
            validation: false,
            loader: None,
            known_issues: KnownIssues::default(),
            safe_devices: SafeDevices::default(),
        }
    }
}
