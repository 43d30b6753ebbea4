//! Profiles of devices for tests that need no device.

use scanbox_model::api::Api;
use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};
use scanbox_model::guarantee_probe::GuaranteeFacts;
use scanbox_model::timer::Timer;

/// A device with subgroups of 32 and 64-bit atomics that promises nothing beyond what Vulkan does.
pub fn example(name: &str, vendor_id: u32, driver: &str) -> DeviceProfile {
    DeviceProfile {
        name: name.into(),
        uuid: format!("uuid of {name}"),
        pci_address: None,
        vendor_id,
        device_id: 0,
        kind: DeviceKind::Hardware,
        driver: driver.into(),
        driver_build: String::new(),
        api_version: "1.3.0".into(),
        subgroup_size: 32,
        min_subgroup_size: 32,
        max_subgroup_size: 32,
        pinned_subgroups: None,
        max_workgroup_size: 1024,
        max_workgroup_count: [65_535; 3],
        max_shared_bytes: 32 << 10,
        max_storage_buffer_bytes: 1 << 32,
        max_allocation_bytes: 1 << 36,
        memory_bytes: 1 << 37,
        buffer_addresses: true,
        int64_atomics: true,
        int64_elements: true,
        float64_elements: true,
        timestamp_period_ns: 1.0,
        timestamp_valid_bits: 64,
        api: Api::Vulkan,
        implementation: String::new(),
        robustness: None,
        timer: Timer::Timestamps,
        timer_resolution_ns: 0.0,
        forced: Forced::default(),
        guarantees: Vec::new(),
        guarantee_facts: GuaranteeFacts::default(),
        residency: None,
        arguments_probe: None,
        compute_units: None,
        assumed_compute_units: None,
        uniform_control_flow: false,
        maximal_reconvergence: false,
    }
}

/// A device with subgroups of this size; 64-bit atomics and 64-bit integers come together.
pub fn with_subgroups(subgroup_size: u32, int64_atomics: bool) -> DeviceProfile {
    DeviceProfile {
        subgroup_size,
        min_subgroup_size: subgroup_size,
        max_subgroup_size: subgroup_size,
        int64_atomics,
        int64_elements: int64_atomics,
        ..example("test", 0, "")
    }
}
