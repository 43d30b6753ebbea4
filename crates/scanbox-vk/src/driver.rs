//! The names of drivers, as sweeps and packs have them.

use std::ffi::CStr;
use std::fmt::Write as _;

use ash::vk;

/// A driver and its version: `driverName` and `driverInfo`, with a space.
#[must_use]
pub fn driver_name(driver: &vk::PhysicalDeviceDriverProperties<'_>) -> String {
    let text = |name: Result<&CStr, _>| name.unwrap_or_default().to_string_lossy().into_owned();
    let (name, info) = (text(driver.driver_name_as_c_str()), text(driver.driver_info_as_c_str()));
    format!("{name} {info}").trim().to_owned()
}

/// What tells builds of a driver apart that give themselves the same name: the version as a number, and what its
/// pipeline caches are only good for.
#[must_use]
pub fn driver_build(properties: &vk::PhysicalDeviceProperties) -> String {
    let mut text = format!("{:08x}-", properties.driver_version);
    for byte in properties.pipeline_cache_uuid {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
