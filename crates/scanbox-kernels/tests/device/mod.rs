//! A device for tests that need none.

use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};

/// A device with these subgroups; 64-bit atomics and 64-bit integers come together.
pub fn device(subgroup_size: u32, int64_atomics: bool) -> DeviceProfile {
    DeviceProfile {
        name: "test".into(),
        uuid: String::new(),
        vendor_id: 0,
        device_id: 0,
        kind: DeviceKind::Software,
        driver: String::new(),
        api_version: "1.3.0".into(),
        subgroup_size,
        min_subgroup_size: subgroup_size,
        max_subgroup_size: subgroup_size,
        max_workgroup_size: 1024,
        max_workgroup_count: [65_535; 3],
        max_shared_bytes: 32 << 10,
        max_storage_buffer_bytes: 1 << 30,
        max_allocation_bytes: 1 << 30,
        memory_bytes: 64 << 30,
        buffer_addresses: true,
        int64_atomics,
        int64_elements: int64_atomics,
        float64_elements: true,
        timestamp_period_ns: 1.0,
        timestamp_valid_bits: 64,
        forced: Forced::default(),
        guarantees: Vec::new(),
        residency: None,
        compute_units: None,
        uniform_control_flow: false,
    }
}
