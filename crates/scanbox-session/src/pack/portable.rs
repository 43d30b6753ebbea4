//! Kernels for devices that nobody has measured: they need no promise, no 64-bit atomics, and no more of a workgroup
//! than every device with Vulkan 1.3 has.

use scanbox_kernels::catalog;
use scanbox_kernels::packing::{PackBuilder, PackingError};
use scanbox_model::config::Config;
use scanbox_model::device::{DeviceProfile, Forced};
use scanbox_pack::{ArgumentKind, Breakpoint, CallUse, ChoiceTable, Promises};

use super::{PackRows, PackWish, uses};

/// What takes most uses comes last. The first one goes level by level, in one pass where there is one tile; the last
/// but one clears its memory and falls back; the last one is for what neither can do in place.
const LABELS: [&str; 4] = [
    "rts.b4.vec4.none.rake.wg128",
    "rts.b4.scalar.none.rake.wg128",
    "b4.scalar.fallback.rake.split.fill.wg128",
    "one.b4.scalar.none.rake.wg128",
];

/// The tables for each subgroup size. Uses with lines and baked arguments gain by what was measured, and have none.
pub(super) fn tables(
    builder: &mut PackBuilder,
    rows: &PackRows<'_>,
    wish: &PackWish,
) -> Result<Vec<ChoiceTable>, PackingError> {
    let problem = rows.table.problem;
    let pushed = |call_use: &CallUse| call_use.arguments == ArgumentKind::Pushed;
    let uses: Vec<CallUse> = wish.uses.uses(&problem).into_iter().filter(pushed).collect();
    let mut tables = Vec::new();
    for &subgroup_size in &wish.portable {
        let device = any_device(rows.device, subgroup_size);
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
        let places = builder.add_all(rows.compiler, recipes)?;
        tables.extend(uses.into_iter().zip(from).zip(places).map(|((call_use, from), place)| {
            let breakpoints = vec![Breakpoint { from, ranked: vec![place], worst_loss_ppm: None }];
            ChoiceTable { call_use, needs: Promises::NONE, breakpoints }
        }));
    }
    Ok(tables)
}

/// Any device with subgroups of this size: the smallest limits that Vulkan 1.3 allows, and the element types of one
/// that was measured.
fn any_device(measured: &DeviceProfile, subgroup_size: u32) -> DeviceProfile {
    DeviceProfile {
        subgroup_size,
        min_subgroup_size: subgroup_size,
        max_subgroup_size: subgroup_size,
        max_workgroup_size: 128,
        max_workgroup_count: [65_535; 3],
        max_shared_bytes: 16 << 10,
        compute_units: None,
        int64_atomics: false,
        uniform_control_flow: false,
        forced: Forced::default(),
        guarantees: Vec::new(),
        residency: None,
        arguments_probe: None,
        ..measured.clone()
    }
}
