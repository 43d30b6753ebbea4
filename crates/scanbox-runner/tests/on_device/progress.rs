//! What does not come to its end on some device, so that tests leave it out there (known issue
//! `swiftshader-no-progress`).

use scanbox_model::config::{Config, Family};
use scanbox_model::device::DeviceProfile;

/// Whether a config does not come to its end here. On `SwiftShader` no persistent kernel with several subgroups per
/// workgroup does, and the threads that it keeps are missed by whatever runs after it. Why is not known.
pub fn hangs(config: &Config, device: &DeviceProfile) -> bool {
    let several = config.workgroup_size > device.subgroup_size;
    config.kernel.family == Family::Persistent && several && device.driver.contains("SwiftShader")
}
