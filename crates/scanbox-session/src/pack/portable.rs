//! Kernels for devices that nobody has measured: they need no promise, no 64-bit atomics, and no more of a workgroup
//! than every device with Vulkan 1.3 has.

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::packing::{PackBuilder, PackingError};
use scanbox_model::api::Api;
use scanbox_model::config::Config;
use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};
use scanbox_model::guarantee_probe::GuaranteeFacts;
use scanbox_model::problem::Problem;
use scanbox_model::timer::Timer;
use scanbox_pack::{ArgumentKind, Breakpoint, CallUse, ChoiceTable, Promises};

use super::{PackWish, uses};

/// What takes most uses comes last. The first one goes level by level, in one pass where there is one tile; the last
/// but one clears its memory and falls back; the last one is for what neither can do in place.
const LABELS: [&str; 4] = [
    "rts.b4.vec4.none.rake.wg128",
    "rts.b4.scalar.none.rake.wg128",
    "b4.scalar.fallback.rake.split.fill.wg128",
    "one.b4.scalar.none.rake.wg128",
];

/// The tables of a problem for each subgroup size, with the element types of a device. Uses with lines and baked
/// arguments gain by what was measured, and have none. `is_whole`: whether the pack has nothing else. Beside what was
/// measured it is for devices that it was not measured on, and has no parts of long scans.
pub(super) fn tables(
    builder: &mut PackBuilder,
    compiler: &Compiler,
    problem: Problem,
    types_of: &DeviceProfile,
    wish: &PackWish,
    is_whole: bool,
) -> Result<Vec<ChoiceTable>, PackingError> {
    let pushed = |call_use: &CallUse| call_use.arguments == ArgumentKind::Pushed;
    let is_worth = |call_use: &CallUse| is_whole || !uses::only_continues(*call_use, &problem);
    let uses: Vec<CallUse> = wish.uses.uses(&problem).into_iter().filter(pushed).filter(is_worth).collect();
    let mut tables = Vec::new();
    for &subgroup_size in &wish.portable {
        let device = any_device(types_of, subgroup_size);
        let recipes = uses.iter().filter_map(|&call_use| {
            let variant = uses::variant(call_use);
            LABELS.iter().find_map(|label| {
                let config: Config = label.parse().ok()?;
                // Whose vectors have one element begins anywhere as it is.
                let scalar = config.kernel.vector_width.lanes() == 1;
                let variant = catalog::Variant { any_element: call_use.any_element && !scalar, ..variant };
                let fits = call_use.any_element <= scalar;
                let recipe = catalog::recipe(&config, variant, &problem, &device).ok().filter(|_| fits)?;
                Some((call_use, ((*label).to_owned(), recipe)))
            })
        });
        let (uses, recipes): (Vec<CallUse>, Vec<_>) = recipes.unzip();
        let from: Vec<u64> = recipes.iter().map(|(_, recipe)| recipe.min_n.max(1)).collect();
        let places = builder.add_all(compiler, recipes)?;
        tables.extend(uses.into_iter().zip(from).zip(places).map(|((call_use, from), place)| {
            let breakpoints = vec![Breakpoint { from, ranked: vec![place], worst_loss_ppm: None }];
            ChoiceTable { call_use, needs: Promises::NONE, breakpoints }
        }));
    }
    Ok(tables)
}

/// A device that nobody has, for packs without a measured one.
pub(super) fn nobodys() -> DeviceProfile {
    DeviceProfile {
        name: "any device".to_owned(),
        uuid: String::new(),
        pci_address: None,
        vendor_id: 0,
        device_id: 0,
        kind: DeviceKind::Hardware,
        driver: String::new(),
        driver_build: String::new(),
        api_version: "1.3.0".to_owned(),
        subgroup_size: 32,
        min_subgroup_size: 32,
        max_subgroup_size: 32,
        pinned_subgroups: None,
        max_workgroup_size: 128,
        max_workgroup_count: [65_535; 3],
        max_shared_bytes: 16 << 10,
        max_storage_buffer_bytes: 1 << 27,
        max_allocation_bytes: 1 << 30,
        memory_bytes: 1 << 30,
        compute_units: None,
        assumed_compute_units: None,
        buffer_addresses: true,
        int64_atomics: false,
        int64_elements: true,
        float64_elements: true,
        uniform_control_flow: false,
        maximal_reconvergence: false,
        timestamp_period_ns: 1.0,
        timestamp_valid_bits: 0,
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
    }
}

/// Any device with subgroups of this size: the smallest limits that Vulkan 1.3 allows, and the element types of one
/// that was measured.
pub(super) fn any_device(measured: &DeviceProfile, subgroup_size: u32) -> DeviceProfile {
    DeviceProfile {
        subgroup_size,
        min_subgroup_size: subgroup_size,
        max_subgroup_size: subgroup_size,
        pinned_subgroups: None,
        max_workgroup_size: 128,
        max_workgroup_count: [65_535; 3],
        max_shared_bytes: 16 << 10,
        compute_units: None,
        assumed_compute_units: None,
        int64_atomics: false,
        uniform_control_flow: false,
        maximal_reconvergence: false,
        forced: Forced::default(),
        guarantees: Vec::new(),
        guarantee_facts: GuaranteeFacts::default(),
        residency: None,
        arguments_probe: None,
        ..measured.clone()
    }
}
