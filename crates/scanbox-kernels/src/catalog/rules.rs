//! The rules: which config can solve which problem, on which device.

use std::ops::RangeInclusive;

use scanbox_model::call_form::CallForm;
use scanbox_model::config::{
    Arguments, BlockScan, Config, Family, Kernel, Lookback, Publish, Rendezvous, Reset, TileState,
};
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::ProbeVerdict;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Rejection;

use super::needs::not_given;
use super::resolve::{Resolved, device_counts, has_levels, launched_per_call, passes_totals_on};
use super::{subgroup_scans, webgpu};
use crate::input::{PACKED_MAX_TOTAL, decided_by_init};
use crate::plan::{BANK_WORDS, GUARD_WORDS, Plan};
use crate::variant::{LineUse, MAX_BLOCKING, Variant};

/// The comparison indexes words with 32 bits, those of the guard too.
const MOST_WORDS: u64 = u32::MAX as u64 - GUARD_WORDS;

/// One workgroup, or every workgroup going over everything before it, is out of the question for more than this.
const MOST_RECOMPUTED: u64 = 1 << 20;

type Legality = Result<(), Rejection>;

fn reject(rule: &'static str, detail: impl Into<String>) -> Legality {
    Err(Rejection { rule: rule.into(), detail: detail.into() })
}

/// The rules: whether this config can solve the problem for `n` elements on this device, known without trying.
///
/// # Errors
/// The first rule that says no, with its numbers.
pub fn legal(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Legality {
    check(&Resolved::new(config, problem, n, device))
}

/// [`legal`] of what is resolved already.
pub(super) fn check(resolved: &Resolved<'_>) -> Legality {
    combination(&resolved.config)?;
    computes(resolved)?;
    operands(resolved)?;
    webgpu::is_there(resolved)?;
    session_inputs(resolved)?;
    modes_and_places(resolved)?;
    tile_states(resolved)?;
    size_of_states(resolved)?;
    guarantees(&resolved.config, resolved.device)?;
    shape(resolved)?;
    session_words(resolved)?;
    size(resolved)?;
    webgpu::bindings_fit(resolved)?;
    session_memory(resolved)
}

/// The sizes at which a config can solve the problem on this device, whatever a session needs beside: from the fewest
/// elements to the most.
///
/// # Errors
/// The first rule that says no to any size, or to the smallest one.
pub(super) fn sizes(
    config: &Config,
    problem: &Problem,
    device: &DeviceProfile,
) -> Result<RangeInclusive<u64>, Rejection> {
    let tiles_before = config.workgroups.map_or(0, |workgroups| u64::from(workgroups).saturating_sub(1));
    let least = tiles_before * config.tile_elements() + 1;
    let resolved = Resolved::new(config, problem, least, device);
    combination(config)?;
    computes(&resolved)?;
    operands(&resolved)?;
    modes_and_places(&resolved)?;
    tile_states(&resolved)?;
    guarantees(config, device)?;
    shape(&resolved)?;
    let check = |n| {
        let resolved = Resolved { n, ..resolved };
        size_of_states(&resolved).and_then(|()| size(&resolved))
    };
    check(least)?;
    // Whatever says no to a size says no to all larger ones.
    let (mut takes, mut refuses) = (least, 1 << 32);
    while refuses - takes > 1 {
        let middle = takes.midpoint(refuses);
        *(if check(middle).is_ok() { &mut takes } else { &mut refuses }) = middle;
    }
    Ok(least..=takes)
}

/// Which values go together, on any device.
fn combination(config: &Config) -> Legality {
    config.check_combination().map_err(|(rule, detail)| Rejection { rule: rule.into(), detail })
}

/// What kernels and devices can compute.
fn computes(resolved: &Resolved<'_>) -> Legality {
    let Resolved { config, problem, device, .. } = resolved;
    let element = problem.element();
    let missing = match element {
        Element::U64 | Element::I64 => !device.int64_elements,
        Element::F64 => !device.float64_elements,
        Element::U32 | Element::I32 | Element::F32 => false,
        Element::Struct4 | Element::Struct8 | Element::Struct12 | Element::Struct16 => false,
    };
    if missing {
        return reject("element-needs-64-bit", format!("the device has no type {element} in shaders"));
    }
    subgroup_scans::is_there(config, problem)
}

/// What a problem has in memory beside its arrays: a total, an initial value.
fn operands(Resolved { config, problem, .. }: &Resolved<'_>) -> Legality {
    variant_of_problem(config, Variant::default().of_problem(problem), problem)
}

/// Whether a session knows the totals of a problem: they are elements of its answer. A file transforms those, and not
/// the total; and the one of an exclusive scan is the next element of the answer to a longer input, in which elements
/// of this one have other indices from the last one on.
#[must_use]
pub fn total_is_known(problem: &Problem) -> bool {
    let transforms = problem.user().map(|user| user.transforms).unwrap_or_default();
    let is_beyond = problem.mode() == Mode::Exclusive && problem.is_reversed();
    !(transforms.output || (transforms.input && is_beyond))
}

/// What a session can verify: an input whose scan says something, and a total that is known.
fn session_inputs(Resolved { problem, n, .. }: &Resolved<'_>) -> Legality {
    if problem.has_total() && !total_is_known(problem) {
        let detail =
            format!("{problem}: the answer as its file transforms it does not say what the total is");
        return reject("total-not-known", detail);
    }
    decided_by_init(problem, *n).map_or(Ok(()), |detail| reject("initial-value-decides", detail))
}

/// Which modes and placements kernels have.
fn modes_and_places(resolved: &Resolved<'_>) -> Legality {
    let Resolved { config: Config { kernel, .. }, problem, .. } = resolved;
    if problem.mode() == Mode::Reduce {
        if let Some(why_not) = kernel.family.entry().no_reduction {
            return reject("family-reduce", format!("a reduction with family {}: {why_not}", kernel.family));
        }
        if passes_totals_on(kernel.family)
            && kernel.block_scan == BlockScan::Subgroup
            && kernel.publish != Publish::BeforeScan
        {
            let detail = "a reduction scans nothing: by subgroups, totals are published at once (.early)";
            return reject("reduce-publishes-before-scan", detail);
        }
    }
    if problem.placement() == Placement::InPlace && kernel.lookback.falls_back() {
        let detail = "in place, the owner of a tile may have overwritten what a fallback has to read";
        return reject("fallback-in-place", detail);
    }
    if problem.placement() == Placement::InPlace && kernel.family == Family::Recompute {
        let detail = "in place, other workgroups overwrite what each of them has to read";
        return reject("recompute-in-place", detail);
    }
    Ok(())
}

/// What tile states can carry.
fn tile_states(resolved: &Resolved<'_>) -> Legality {
    let &Resolved { runs: Config { kernel, .. }, problem, device, .. } = resolved;
    let Kernel { tile_state, reset, .. } = kernel;
    if !passes_totals_on(kernel.family) {
        return Ok(());
    }
    if kernel.rendezvous == Rendezvous::Flags && reset == Reset::Clean {
        let detail = "rendezvous flags with reset clean: a barrier, which flags do without, is what the last workgroup has to know \
                      that all totals of its tile are published before it clears them";
        return reject("flags-with-clean", detail);
    }
    if tile_state == TileState::Word64 && !device.int64_atomics {
        return reject("word64-needs-int64-atomics", "the device has no 64-bit atomics on buffers");
    }
    if tile_state == TileState::Packed
        && (problem.element(), problem.operator()) != (Element::U32, Operator::Add)
    {
        let detail = format!("the packed tile state carries sums of u32 below 2^30, not {problem}");
        return reject("packed-needs-u32-sum", detail);
    }
    if tile_state == TileState::Packed && matches!(reset, Reset::Epoch | Reset::Turn) {
        let detail = "the packed tile state has no bits for an epoch: use reset fill or clean";
        return reject("packed-has-no-epoch", detail);
    }
    Ok(())
}

/// How many elements tile states and groups can carry.
fn size_of_states(resolved: &Resolved<'_>) -> Legality {
    let &Resolved { runs: Config { kernel, .. }, n, .. } = resolved;
    if !passes_totals_on(kernel.family) {
        return Ok(());
    }
    if kernel.tile_state == TileState::Packed && n > PACKED_MAX_TOTAL {
        let detail =
            format!("the packed tile state carries totals below 2^30: not even ones over {n} elements");
        return reject("packed-total", detail);
    }
    let bank_words = resolved.formula().bank_words(n);
    if bank_words > BANK_WORDS {
        let detail = format!("groups of tiles take {bank_words} words, where there is room for {BANK_WORDS}");
        return reject("group-words", detail);
    }
    Ok(())
}

/// What the device has to keep beyond what Vulkan promises.
fn guarantees(config: &Config, device: &DeviceProfile) -> Legality {
    let Some(guarantee) = not_given(config, device) else { return Ok(()) };
    let facts = &device.guarantee_facts;
    let against = facts.finding(guarantee).filter(|finding| finding.verdict.is_against());
    let why = match against.map(|finding| (finding.verdict, &finding.detail)) {
        Some((ProbeVerdict::Hung, detail)) => {
            format!("did not survive being asked for the guarantee {guarantee} ({detail})")
        }
        Some((_, detail)) => format!("was seen not to give the guarantee {guarantee} ({detail})"),
        None if facts.lacks.contains(&guarantee) => {
            format!("is known not to give the guarantee {guarantee} (configs/safe_devices.toml)")
        }
        None => {
            format!("is not known to give the guarantee {guarantee} (configs/safe_devices.toml, or a probe)")
        }
    };
    let detail = format!("{} {why}; --assume {guarantee} runs it all the same", device.title());
    Err(Rejection { rule: format!("needs-{guarantee}").into(), detail })
}

/// Whether the device can start such workgroups.
fn shape(resolved: &Resolved<'_>) -> Legality {
    let Resolved { config, device, .. } = resolved;
    let workgroup_size = config.workgroup_size;
    if workgroup_size > device.max_workgroup_size {
        let detail = format!(
            "a workgroup of {workgroup_size}, where the device has {} invocations at most",
            device.max_workgroup_size
        );
        return reject("workgroup-size-limit", detail);
    }
    let subgroup_size = resolved.subgroup_size();
    if !device.offered_subgroup_sizes().contains(&subgroup_size) && subgroup_size != device.subgroup_size {
        let those = device.offered_subgroup_sizes().iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let detail = format!(
            "subgroups of {subgroup_size}, where a kernel can be built for {those} (the device has {} to {})",
            device.min_subgroup_size, device.max_subgroup_size
        );
        return reject("subgroup-size-limit", detail);
    }
    if workgroup_size == 0 || !workgroup_size.is_multiple_of(subgroup_size) {
        let detail =
            format!("a workgroup of {workgroup_size} is not a multiple of the subgroup size {subgroup_size}");
        return reject("full-subgroups", detail);
    }
    let subgroups = workgroup_size / subgroup_size;
    if let Some(most) = device.pinned_subgroups.filter(|most| subgroups > *most) {
        let detail = format!(
            "{subgroups} subgroups of {subgroup_size} per workgroup, where the device has {most} at most of a size that is \
             chosen"
        );
        return reject("subgroups-per-workgroup", detail);
    }
    if config.kernel.block_scan == BlockScan::Blelloch && !workgroup_size.is_power_of_two() {
        let detail = format!("the Blelloch block scan with a workgroup of {workgroup_size}");
        return reject("blelloch-power-of-two", detail);
    }
    let Some(shared_bytes) = resolved.shared_bytes() else {
        let detail =
            format!("no way to transpose through {} bytes of shared memory", device.max_shared_bytes);
        return reject("shared-memory", detail);
    };
    if shared_bytes > u64::from(device.max_shared_bytes) {
        let detail = format!(
            "{shared_bytes} bytes of shared memory, where the device has {}",
            device.max_shared_bytes
        );
        return reject("shared-memory", detail);
    }
    Ok(())
}

/// What a session can compare.
fn session_words(&Resolved { problem, n, .. }: &Resolved<'_>) -> Legality {
    if n.saturating_mul(problem.element_bytes() / 4) > MOST_WORDS {
        return index_32_bit(n);
    }
    Ok(())
}

fn index_32_bit(n: u64) -> Legality {
    reject("index-32-bit", format!("{n} elements, where kernels index with 32 bits"))
}

/// Whether the device can take so many elements.
fn size(resolved: &Resolved<'_>) -> Legality {
    let &Resolved { config, n, device, .. } = resolved;
    if n == 0 {
        return reject("no-elements", "a scan has at least one element");
    }
    // Tiles behind the last one are counted too: by tickets, and round robin.
    let beyond = config.tile_elements() * (1 + u64::from(launched_per_call(&config, device).unwrap_or(0)));
    if n > u64::from(u32::MAX) - GUARD_WORDS - beyond.min(1 << 31) {
        return index_32_bit(n);
    }
    let scratch_bytes = resolved.formula().scratch_bytes(n);
    if u32::try_from(scratch_bytes).is_err() {
        let detail =
            format!("{scratch_bytes} bytes of scratch memory, where kernels count the bytes with 32 bits");
        return reject("index-32-bit", detail);
    }
    if config.workgroups.is_some_and(|workgroups| u64::from(workgroups) != config.tiles(n)) {
        let detail =
            format!("{config} stands for {} elements, not {n}", config.fixed_elements().unwrap_or(0));
        return reject("workgroups-fix-size", detail);
    }
    let family = config.kernel.family;
    if matches!(family, Family::OneWorkgroup | Family::Recompute) && n > MOST_RECOMPUTED {
        return reject(
            "family-size",
            format!("{n} elements with family {family}: {MOST_RECOMPUTED} at most"),
        );
    }
    let most_workgroups = device.most_workgroups();
    let workgroups = resolved.workgroups();
    if workgroups > most_workgroups {
        let detail = format!("{workgroups} workgroups, where a dispatch has {most_workgroups}");
        return reject("workgroup-count-limit", detail);
    }
    Ok(())
}

/// What a session has in memory.
fn session_memory(resolved: &Resolved<'_>) -> Legality {
    let (bytes, device) = (resolved.memory_bytes(), resolved.device);
    if bytes > device.memory_bytes {
        let detail = format!(
            "{bytes} bytes for input, output, reference and scratch, where the device has {}",
            device.memory_bytes
        );
        return reject("device-memory", detail);
    }
    Ok(())
}

/// Whether a config has a variant for this problem.
pub(super) fn variant_of_problem(config: &Config, variant: Variant, problem: &Problem) -> Legality {
    variant_legal(config, variant)?;
    if variant.total && problem.mode() == Mode::Reduce {
        let detail = "the total beside a reduction: it is what a reduction stores";
        return reject("total-needs-scan", detail);
    }
    Ok(())
}

/// Whether a config has a variant, at any size and on any device.
///
/// # Errors
/// The rule about variants that says no (see [`super::plan_variant`]).
pub fn variant_legal(config: &Config, variant: Variant) -> Legality {
    let Config { kernel, .. } = config;
    if let Some(k) = variant.blocking {
        if kernel.family != Family::ChainedScan {
            let detail = format!(
                "simulated blocking of family {}: only tiles of a chained scan are blocked",
                kernel.family
            );
            return reject("blocking-needs-chained-scan", detail);
        }
        // Its blocked tiles never get a state of their own, and states of others are worth nothing behind a wrap.
        if kernel.lookback == Lookback::GatherFallback && device_counts(kernel.reset, kernel.arguments) {
            let detail = "simulated blocking of lookback gather-fallback where the device counts the calls: use arguments \
                          push, or reset fill";
            return reject("blocking-without-owner", detail);
        }
        if !(1..=MAX_BLOCKING).contains(&k) {
            let detail = format!("1 in 2^{k} tiles blocked: the exponent is from 1 to {MAX_BLOCKING}");
            return reject("blocking-rate", detail);
        }
    }
    let walks = matches!(kernel.lookback, Lookback::Sequential | Lookback::Parallel | Lookback::Fallback);
    if variant.counted && !walks {
        let detail =
            format!("counts of lookback {}: those that go from tile to tile have them", kernel.lookback);
        return reject("counts-need-walk", detail);
    }
    let has_levels = has_levels(kernel.family);
    if variant.max_n.is_some() && kernel.arguments == Arguments::Baked {
        let detail = "n from memory with arguments baked: with block a line says how many elements there are";
        return reject("n-from-memory-needs-block", detail);
    }
    if variant.max_n.is_some() && !CallForm::Max(1).goes_with(kernel) {
        let detail = "n from memory with arguments push: the host counts calls whose elements it knows, with reset turn \
                      the device counts them";
        return reject("n-from-memory-needs-turn", detail);
    }
    if variant.line != LineUse::Rewritten && kernel.arguments != Arguments::Block {
        let detail = format!("a line of arguments {}: block alone has one", kernel.arguments);
        return reject("line-needs-block", detail);
    }
    if variant.max_n.is_some() && has_levels {
        let detail = format!(
            "n from memory with family {}: the host works out how many elements each of its levels has",
            kernel.family
        );
        return reject("n-from-memory-needs-one-pass", detail);
    }
    if variant.total && has_levels {
        let detail = format!("the total with family {}: one pass alone stores it", kernel.family);
        return reject("total-needs-one-pass", detail);
    }
    Ok(())
}

/// Whether whoever runs a plan knows what is in memory.
pub(super) fn init_is_known(variant: Variant, problem: &Problem) -> Legality {
    if variant.init_in_memory && problem.first_words().is_none() {
        let detail = format!(
            "{problem} with an initial value in memory: --init says one; the identity is known to the file of the operator alone"
        );
        return reject("init-needs-value", detail);
    }
    Ok(())
}

/// The rule for plans whose workgroups all have to run at the same time, once the driver has told the registers that an
/// invocation takes.
///
/// # Errors
/// When fewer workgroups fit the device than are launched, or it is not known how many fit.
pub fn resident(plan: &Plan, device: &DeviceProfile, registers: Option<u32>) -> Legality {
    let waits = plan.passes.iter().find(|pass| pass.co_resident);
    let (Some(build), Some(pass)) = (plan.build(), waits) else { return Ok(()) };
    let launched = pass.workgroups;
    if launched == 1 {
        return Ok(());
    }
    let shared_bytes = build.shared_bytes;
    let workgroup_size = build.config.workgroup_size;
    let facts = &device.guarantee_facts;
    let subgroup_size = device.subgroup_size_of(&build.config.kernel);
    let (counted, other_size) = (facts.probe.as_ref(), device.other_subgroup_size(subgroup_size));
    let seen = counted.and_then(|probe| probe.resident(other_size, workgroup_size, registers, shared_bytes));
    let at_most = counted.map_or(u64::MAX, |probe| {
        probe.resident_at_most(other_size, workgroup_size, registers, shared_bytes)
    });
    let computed = || {
        let (residency, units) = (device.residency?, device.units()?);
        let per_unit = residency.workgroups_per_unit(workgroup_size, subgroup_size, registers?, shared_bytes);
        Some((u64::from(per_unit) * u64::from(units)).min(at_most))
    };
    let registers = registers.map_or_else(|| "unknown".to_owned(), |registers| registers.to_string());
    let shape = format!("{registers} registers per invocation, {shared_bytes} bytes of shared memory");
    // Shapes were counted in steps, between which the maker may know better; but not against what was counted.
    match seen.max(computed()) {
        Some(fit) if launched <= fit => Ok(()),
        Some(fit) => {
            let detail =
                format!("{launched} workgroups that have to run at the same time, where {fit} fit: {shape}");
            reject("residency", detail)
        }
        // Who assumes it takes the consequences: what hangs costs its row.
        None if facts.assumed.contains(&Guarantee::CoResidency) => Ok(()),
        None => {
            let detail = format!(
                "how many workgroups fit the device is not known ({shape}; configs/safe_devices.toml, or a probe)"
            );
            reject("residency-unknown", detail)
        }
    }
}
