//! What wgpu finds, and what each adapter is and can do.

use scanbox_model::api::Api;
use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};
use scanbox_model::guarantee_probe::GuaranteeFacts;
use scanbox_model::timer::Timer;

use super::error::WebGpuError;
use crate::select::Listed;

/// The version of wgpu, which it does not tell itself; a test compares this with Cargo.lock.
pub const WGPU_VERSION: &str = "30.0.1";

/// Storage buffers that kernels bind.
const BINDINGS: u32 = 6;
/// Invocations of a workgroup that helpers need.
const HELPER_WORKGROUP_SIZE: u32 = 256;
/// Buffers that are as large as the input: more WebGPU does not tell of memory.
const LARGE_BUFFERS: u64 = 4;

/// What kernels use where an adapter has it.
pub(super) const FEATURES: wgpu::Features =
    wgpu::Features::SUBGROUP.union(wgpu::Features::SUBGROUP_BARRIER).union(wgpu::Features::TIMESTAMP_QUERY);

/// An adapter, and what the outside may know of it.
pub(super) struct FoundAdapter {
    pub raw: wgpu::Adapter,
    pub listed: Listed,
}

/// Every adapter, hardware first, then software, each in wgpu's order.
///
/// # Errors
/// When there is none.
pub(super) fn candidates() -> Result<Vec<FoundAdapter>, WebGpuError> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::PRIMARY,
        // What drivers print of validation is nothing for users, and costs time.
        flags: wgpu::InstanceFlags::empty(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let mut candidates: Vec<FoundAdapter> = adapters.into_iter().map(candidate).collect();
    candidates.sort_by_key(|candidate| candidate.listed.profile.kind != DeviceKind::Hardware);
    if candidates.is_empty() { Err(WebGpuError::NoAdapter) } else { Ok(candidates) }
}

fn candidate(raw: wgpu::Adapter) -> FoundAdapter {
    let (info, limits, features) = (raw.get_info(), raw.limits(), raw.features());
    let computes = raw.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS);
    let problems = [
        (!computes).then(|| "has no compute shaders".to_owned()),
        (limits.max_storage_buffers_per_shader_stage < BINDINGS).then(|| {
            let most = limits.max_storage_buffers_per_shader_stage;
            format!("binds {most} storage buffers, and {BINDINGS} are needed")
        }),
        (limits.max_compute_invocations_per_workgroup < HELPER_WORKGROUP_SIZE).then(|| {
            let most = limits.max_compute_invocations_per_workgroup;
            format!("has workgroups of {most} invocations, and {HELPER_WORKGROUP_SIZE} are needed")
        }),
    ];
    let profile = profile(&info, &limits, features);
    FoundAdapter { raw, listed: Listed { profile, problems: problems.into_iter().flatten().collect() } }
}

fn profile(info: &wgpu::AdapterInfo, limits: &wgpu::Limits, features: wgpu::Features) -> DeviceProfile {
    let subgroups = features.contains(wgpu::Features::SUBGROUP);
    let [least, most] = if subgroups {
        [info.subgroup_min_size, info.subgroup_max_size].map(|size| size.max(1))
    } else {
        [1; 2]
    };
    let has_timestamps = features.contains(wgpu::Features::TIMESTAMP_QUERY);
    DeviceProfile {
        api: Api::WebGpu,
        name: info.name.clone(),
        uuid: uuid(info),
        pci_address: (!info.device_pci_bus_id.is_empty()).then(|| info.device_pci_bus_id.clone()),
        vendor_id: info.vendor,
        device_id: info.device,
        kind: match info.device_type {
            wgpu::DeviceType::Cpu => DeviceKind::Software,
            _ => DeviceKind::Hardware,
        },
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        driver_build: String::new(),
        api_version: WGPU_VERSION.to_owned(),
        implementation: format!("wgpu {WGPU_VERSION} ({})", backend_name(info.backend)),
        robustness: Some(true),
        timer: if has_timestamps { Timer::Timestamps } else { Timer::Wall },
        timer_resolution_ns: 0.0,
        subgroup_size: least,
        min_subgroup_size: least,
        max_subgroup_size: most,
        pinned_subgroups: None,
        max_workgroup_size: limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x),
        max_workgroup_count: [limits.max_compute_workgroups_per_dimension; 3],
        max_shared_bytes: limits.max_compute_workgroup_storage_size,
        max_storage_buffer_bytes: binding_bytes(limits),
        max_allocation_bytes: limits.max_buffer_size,
        memory_bytes: limits.max_buffer_size.saturating_mul(LARGE_BUFFERS).min(i64::MAX as u64),
        compute_units: None,
        assumed_compute_units: None,
        buffer_addresses: false,
        int64_atomics: false,
        int64_elements: false,
        float64_elements: false,
        uniform_control_flow: false,
        maximal_reconvergence: false,
        timestamp_period_ns: 1.0,
        timestamp_valid_bits: 64,
        forced: Forced::default(),
        guarantees: Vec::new(),
        guarantee_facts: GuaranteeFacts::default(),
        residency: None,
        arguments_probe: None,
    }
}

/// The most that one binding shows.
pub(super) fn binding_bytes(limits: &wgpu::Limits) -> u64 {
    limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
}

/// The API below.
fn backend_name(backend: wgpu::Backend) -> &'static str {
    match backend {
        wgpu::Backend::Vulkan => "Vulkan",
        wgpu::Backend::Metal => "Metal",
        wgpu::Backend::Dx12 => "D3D12",
        wgpu::Backend::Gl => "OpenGL",
        wgpu::Backend::BrowserWebGpu => "browser",
        wgpu::Backend::Noop => "nothing",
    }
}

/// WebGPU tells no UUID: vendor, device, and where it stands on the PCI bus, in the form of one.
fn uuid(info: &wgpu::AdapterInfo) -> String {
    let digits: String = info.device_pci_bus_id.chars().filter(char::is_ascii_hexdigit).collect();
    let padded = format!("{digits:0>20}");
    let (vendor, device) = (info.vendor, info.device & 0xffff);
    format!("{vendor:08x}-{device:04x}-{}-{}-{}", &padded[..4], &padded[4..8], &padded[8..20])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_wgpu_is_the_one_of_the_lock_file() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
        let lock = std::fs::read_to_string(path).unwrap();
        let package =
            lock.split("[[package]]").find(|package| package.contains("\nname = \"wgpu\"\n")).unwrap();
        assert!(package.contains(&format!("\nversion = \"{WGPU_VERSION}\"\n")), "{package}");
    }
}
