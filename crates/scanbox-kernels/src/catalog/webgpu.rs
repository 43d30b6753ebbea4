//! WebGPU: what of the kernels is there in WGSL, and plans as it takes them.
//!
//! A plan is made as for Vulkan and then adapted: its shaders are those of the same names in WGSL, each buffer is bound
//! once, and what takes the place of further addresses are words.

use scanbox_model::api::Api;
use scanbox_model::config::{
    Arguments, BackOff, BlockScan, Config, Family, Kernel, Lookback, Rendezvous, Reset, SubgroupScan,
    SubgroupSize, TileOrder,
};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Problem};
use scanbox_model::space::Rejection;

use super::resolve::{Resolved, passes_totals_on};
use crate::plan::{Binding, GUARD_WORDS, Pass, Plan, PushWord, Shader};
use crate::variant::Variant;

/// Defines of shaders in GLSL that those in WGSL have not: what they say is settled by a rule, or found out.
const WITHOUT: &[&str] = &[
    "SUBGROUP_SIZE",
    "RENDEZVOUS",
    "LOOKBACK_WIDTH",
    "BACK_OFF",
    "PAUSE_ROUNDS",
    "RESET",
    Shader::ARGUMENTS,
    "NVIDIA_REDUCTIONS_BESIDE_SHUFFLES",
    "INT64",
    "UNIFORM_FLOW",
    "ONE_ROW",
    "GROUP_STATE",
];

/// Invocations that rake without subgroups (`stages/block/raking.wgsl`).
const RAKERS: u32 = 32;

/// A plan as the device takes it.
pub(super) fn adapted(plan: Plan, device: &DeviceProfile) -> Plan {
    if device.api == Api::Vulkan {
        return plan;
    }
    let passes = plan.passes.into_iter().map(|pass| adapted_pass(pass, device)).collect();
    Plan { passes, ..plan }
}

fn adapted_pass(pass: Pass, device: &DeviceProfile) -> Pass {
    let has_states = pass.shader.defines.iter().any(|(name, _)| *name == "TILE_STATE");
    let Pass { mut words, .. } = pass;
    let mut bindings: Vec<Binding> = Vec::new();
    let mut states = 0;
    for binding in pass.bindings {
        match binding {
            // The ticket comes first; the states are found by a word.
            Binding::Scratch(offset) if has_states && offset > 0 => states = offset,
            binding if bindings.contains(&binding) => {}
            binding => bindings.push(binding),
        }
    }
    if has_states {
        words.push(PushWord::Value((states / 4) as u32));
    }
    Pass { shader: adapted_shader(pass.shader, device), bindings, words, ..pass }
}

/// The shader of the same name in the language of the device.
pub(super) fn adapted_shader(shader: Shader, device: &DeviceProfile) -> Shader {
    let Some(root) = root(shader.root).filter(|_| device.api == Api::WebGpu) else { return shader };
    let mut defines = shader.defines;
    defines.retain(|(name, _)| !WITHOUT.contains(name));
    defines.push(("SUBGROUPS", u32::from(device.has_subgroups())));
    defines.push(("SMALLEST_SUBGROUP", device.min_subgroup_size));
    Shader { root, defines, subgroup_size: 0, ..shader }
}

/// Its root file; none where there is none in WGSL.
fn root(glsl: &str) -> Option<&'static str> {
    Some(match glsl {
        "chained_scan.comp" => "chained_scan.wgsl",
        "persistent_scan.comp" => "persistent_scan.wgsl",
        "one_workgroup.comp" => "one_workgroup.wgsl",
        "recompute_scan.comp" => "recompute_scan.wgsl",
        "reduce_tiles.comp" => "reduce_tiles.wgsl",
        "downsweep_tiles.comp" => "downsweep_tiles.wgsl",
        "scan_tiles.comp" => "scan_tiles.wgsl",
        "propagate.comp" => "propagate.wgsl",
        "copy.comp" => "copy.wgsl",
        "read.comp" => "read.wgsl",
        "empty.comp" => "empty.wgsl",
        "fill.comp" => "fill.wgsl",
        "poison.comp" => "poison.wgsl",
        "compare.comp" => "compare.wgsl",
        "compare_sums.comp" => "compare_sums.wgsl",
        _ => return None,
    })
}

fn reject(rule: &'static str, detail: String) -> Result<(), Rejection> {
    Err(Rejection { rule: rule.into(), detail })
}

fn not_in_wgsl(what: String) -> Result<(), Rejection> {
    reject("not-in-wgsl", format!("{what}: there is no such kernel in WGSL"))
}

/// Whether there is a kernel for WebGPU, where the device is driven by that.
pub(super) fn is_there(resolved: &Resolved<'_>) -> Result<(), Rejection> {
    let &Resolved { config, runs: Config { kernel, .. }, ref problem, device, .. } = resolved;
    if device.api != Api::WebGpu {
        return Ok(());
    }
    problem_is_there(problem)?;
    kernel_is_there(&kernel)?;
    if kernel.lookback == Lookback::Fallback && problem.rounds() {
        return not_in_wgsl(format!("{problem} with a fallback, which has to get the bits of the owner"));
    }
    if kernel.lookback == Lookback::Parallel && !device.has_subgroups() {
        let detail =
            "lookback parallel, where the device has no subgroups: sequential and fallback need none";
        return reject("needs-subgroups", detail.to_owned());
    }
    if kernel.subgroup_scan == SubgroupScan::Exchange {
        return not_in_wgsl("subgroup scan exchange".to_owned());
    }
    if kernel.subgroup_scan == SubgroupScan::Shuffle && !device.has_subgroups() {
        return reject(
            "needs-subgroups",
            "subgroup scan by shuffles, where the device has no subgroups".into(),
        );
    }
    let workgroup_size = config.workgroup_size;
    // Whichever size a pipeline gets, all of its subgroups are full.
    if !workgroup_size.is_multiple_of(device.max_subgroup_size) {
        let most = device.max_subgroup_size;
        return reject(
            "full-subgroups",
            format!("a workgroup of {workgroup_size}, where subgroups have up to {most}"),
        );
    }
    let rakes = kernel.block_scan == BlockScan::Raking && !device.has_subgroups();
    if rakes && workgroup_size > RAKERS && !workgroup_size.is_multiple_of(RAKERS) {
        return reject(
            "full-subgroups",
            format!("a workgroup of {workgroup_size}, which {RAKERS} invocations rake"),
        );
    }
    Ok(())
}

fn problem_is_there(problem: &Problem) -> Result<(), Rejection> {
    let has_element = matches!(problem.element(), Element::U32 | Element::I32 | Element::F32);
    let has_operator = matches!(problem.operator(), Operator::Add | Operator::Min | Operator::Max);
    let begins = problem.init().is_some() && problem.mode() != Mode::Exclusive;
    let has_operands = problem.has_total() || problem.reads_init();
    if has_element && has_operator && !begins && !problem.is_reversed() && !has_operands {
        return Ok(());
    }
    let detail = "it has add, min and max of u32, i32 and f32, forward, without a total, and initial values of exclusive \
                  scans among the arguments";
    reject("not-in-wgsl", format!("{problem}: there is no such kernel in WGSL; {detail}"))
}

fn kernel_is_there(kernel: &Kernel) -> Result<(), Rejection> {
    let missing = |what: &str, value: &dyn std::fmt::Display| not_in_wgsl(format!("{what} {value}"));
    if kernel.family == Family::Persistent && kernel.tile_order != TileOrder::Ticket {
        return missing("persistent workgroups with tile order", &kernel.tile_order);
    }
    if kernel.rendezvous != Rendezvous::Barrier {
        return missing("rendezvous", &kernel.rendezvous);
    }
    match kernel.lookback {
        Lookback::TwoLevel | Lookback::GatherFallback => return missing("lookback", &kernel.lookback),
        Lookback::Sequential
        | Lookback::Parallel
        | Lookback::Gather
        | Lookback::None
        | Lookback::Chain
        | Lookback::Fallback => {}
    }
    match kernel.block_scan {
        BlockScan::Sklansky | BlockScan::BrentKung | BlockScan::ReduceScan => {
            return missing("block scan", &kernel.block_scan);
        }
        BlockScan::Raking | BlockScan::Blelloch | BlockScan::Subgroup | BlockScan::KoggeStone => {}
    }
    if kernel.subgroup_size != SubgroupSize::Device {
        return missing("subgroup size", &kernel.subgroup_size);
    }
    if kernel.arguments != Arguments::Push {
        return missing("arguments", &kernel.arguments);
    }
    if kernel.lookback_width != 1 {
        return missing("lookback width", &kernel.lookback_width);
    }
    if kernel.back_off != BackOff::None {
        return missing("back-off", &kernel.back_off);
    }
    if passes_totals_on(kernel.family) && !matches!(kernel.reset, Reset::Epoch | Reset::Fill) {
        return missing("reset", &kernel.reset);
    }
    Ok(())
}

/// Whether there is a variant for WebGPU, where the device is driven by that.
pub(super) fn variant_is_there(
    config: &Config,
    variant: Variant,
    device: &DeviceProfile,
) -> Result<(), Rejection> {
    let Variant { blocking, counted, .. } = variant;
    // In WGSL barriers alone order what is shared. Nothing is left of lateness where nobody waits.
    let late = variant.late && passes_totals_on(config.kernel.family);
    let has = Variant { blocking, counted, late, ..Variant::default() };
    if device.api != Api::WebGpu || variant == has {
        return Ok(());
    }
    not_in_wgsl(format!("the variant{variant}"))
}

/// Recipes are for programs that drive Vulkan.
pub(super) fn has_no_recipe(device: &DeviceProfile) -> Result<(), Rejection> {
    if device.api == Api::WebGpu { not_in_wgsl("a recipe for packs".to_owned()) } else { Ok(()) }
}

/// Whether every buffer of a call of so many elements can be bound as a whole.
pub(super) fn bindings_fit(resolved: &Resolved<'_>) -> Result<(), Rejection> {
    let &Resolved { problem, n, device, .. } = resolved;
    if device.api != Api::WebGpu {
        return Ok(());
    }
    let array =
        n.saturating_mul(problem.element_bytes()).saturating_add(4 * GUARD_WORDS).next_multiple_of(16);
    let most = device.max_storage_buffer_bytes;
    for (what, bytes) in [("an array", array), ("scratch memory", resolved.formula().scratch_bytes(n))] {
        if bytes > most {
            return reject(
                "binding-size",
                format!("{what} of {bytes} bytes, where a binding has {most} at most"),
            );
        }
    }
    Ok(())
}
