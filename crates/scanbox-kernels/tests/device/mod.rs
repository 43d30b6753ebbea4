//! A device for tests that need none.

#[path = "../../../scanbox-model/tests/device/mod.rs"]
mod example;

use scanbox_model::device::DeviceProfile;

/// A device with these subgroups; 64-bit atomics and 64-bit integers come together.
pub fn device(subgroup_size: u32, int64_atomics: bool) -> DeviceProfile {
    DeviceProfile {
        subgroup_size,
        min_subgroup_size: subgroup_size,
        max_subgroup_size: subgroup_size,
        int64_atomics,
        int64_elements: int64_atomics,
        ..example::device("test", 0, "")
    }
}
