//! The shader of a config: its root file and its defines.

use scanbox_model::config::Arguments;
use scanbox_model::parameters::{KERNEL_PARAMETERS, Scope};

use super::constants::{define, one_row, operator_defines};
use super::resolve::{Resolved, passes_totals_on};
use crate::plan::Shader;

/// The vendor whose driver gets reductions beside shuffles wrong (`configs/known_issues.toml`).
const NVIDIA: u32 = 0x10de;

/// The shader of a config for a problem on a device; of a family that goes level by level, that which scans tiles.
pub(super) fn shader(resolved: &Resolved<'_>) -> Shader {
    let Resolved { config, problem, device, .. } = resolved;
    let kernel = &config.kernel;
    let root = kernel.family.entry().shader;
    let mut defines = vec![
        ("WORKGROUP_SIZE", config.workgroup_size),
        ("SUBGROUP_SIZE", resolved.subgroup_size()),
        ("MODE", define(problem.mode())),
        ("ELEMENT", define(problem.element())),
        ("OPERATOR", define(problem.operator())),
        ("IN_PLACE", define(problem.placement())),
        ("TRANSPOSE_ROUNDS", resolved.transpose_rounds().unwrap_or(1)),
    ];
    let states = passes_totals_on(kernel.family);
    let parameters = KERNEL_PARAMETERS.iter().filter(|parameter| {
        states || parameter.define.is_some_and(|define| define.scope != Scope::TileStates)
    });
    defines.extend(parameters.filter_map(|parameter| parameter.define_of(&resolved.runs)));
    defines.extend(problem.user().iter().flat_map(operator_defines));
    // NVIDIA's way round is one that lavapipe goes wrong on: shuffles at a rendezvous.
    let goes_round = kernel.lookback.falls_back() || kernel.arguments == Arguments::Baked;
    if kernel.family.entry().persistent && goes_round && device.vendor_id != NVIDIA {
        defines.push(("NVIDIA_REDUCTIONS_BESIDE_SHUFFLES", 0));
    }
    defines.push(("INT64", u32::from(device.int64_atomics)));
    defines.push(("UNIFORM_FLOW", u32::from(device.uniform_control_flow)));
    defines.push(("ONE_ROW", u32::from(one_row(device))));
    if states {
        defines.push(("GROUP_STATE", resolved.group_state().map_or(0, |state| state as u32)));
    }
    Shader {
        root,
        defines,
        workgroup_size: config.workgroup_size,
        subgroup_size: resolved.subgroup_size(),
        operator_file: problem.user().is_some(),
    }
}
