//! The rules by name, for people: what each one says, and what to do about it.

use scanbox_model::config::Parameter;
use scanbox_model::known_issues::RULE_PREFIX;
use scanbox_model::parameters::PARAMETERS;
use scanbox_model::safe_devices::Guarantee;

/// A rule that can reject a config at a size, a variant of it, or an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleEntry {
    /// Its name, as `scanbox space` counts rejections.
    pub name: String,
    /// What it says.
    pub meaning: String,
    /// What whoever meets it can do; empty where there is nothing to do.
    pub remedy: String,
}

/// Name, meaning and remedy of the rules that are neither needs of parameters nor guarantees.
type RuleText = (&'static str, &'static str, &'static str);

const OF_SPACES: &[RuleText] = &[
    (
        "size-outside-space",
        "A config that fixes its workgroup count stands for one size, and that is not among the sizes of the space.",
        "Name other sizes with --sizes.",
    ),
    (
        "not-in-sample",
        "The config could run, but the sample of its block leaves it out.",
        "Raise `per_size` of the sample in the space file.",
    ),
];

const OF_KERNELS: &[RuleText] = &[
    ("element-needs-64-bit", "The device has no 64-bit integers, or no 64-bit floats, in shaders.", ""),
    (
        "shuffle-is-operation",
        "A user's operator has no subgroup operation, so both subgroup scans are the same kernel where a tile has \
         one row.",
        "",
    ),
    (
        "exchange-needs-rows",
        "Subgroup scan `exchange` takes several rows of a striped layout at a time.",
        "Use `load_layout = striped` and a batch size of at least 2.",
    ),
    (
        "exchange-without-fallback",
        "A fallback combines a tile as the other subgroup scans do, and floats would have other last bits.",
        "Use `subgroup_scan = shuffle`.",
    ),
    (
        "initial-value-decides",
        "The initial value alone decides every element, so a verification would find nothing.",
        "Choose another initial value.",
    ),
    ("family-reduce", "The family has no reduction.", "Use another family for --mode reduce."),
    (
        "reduce-publishes-before-scan",
        "A reduction scans nothing, so by subgroups it publishes totals at once.",
        "Use `publish = before-scan` (.early).",
    ),
    (
        "fallback-in-place",
        "In place, the owner of a tile may have overwritten the elements that a fallback has to read.",
        "Use a lookback without fallback, or two arrays.",
    ),
    (
        "recompute-in-place",
        "In place, other workgroups overwrite the elements that each workgroup has to read.",
        "Use another family, or two arrays.",
    ),
    (
        "flags-with-clean",
        "The last workgroup clears the tile states, and without a barrier it does not know that all are published.",
        "Use `rendezvous = barrier`, or another reset.",
    ),
    (
        "word64-needs-int64-atomics",
        "The device has no 64-bit atomics on buffers.",
        "Use `tile_state = split`.",
    ),
    (
        "packed-needs-u32-sum",
        "A packed tile state carries sums of u32 below 2^30, and nothing else.",
        "Use another tile state.",
    ),
    ("packed-has-no-epoch", "A packed tile state has no bits for an epoch.", "Use reset fill or clean."),
    ("packed-total", "A packed tile state carries totals below 2^30.", "Use fewer or smaller elements."),
    (
        "group-words",
        "The groups of tiles take more words than the scratch memory has for them.",
        "Use larger tiles.",
    ),
    (
        "workgroup-size-limit",
        "The workgroup has more invocations than the device takes.",
        "Use a smaller workgroup.",
    ),
    (
        "subgroup-size-limit",
        "The device offers no subgroups of that size.",
        "`scanbox devices` lists the sizes that it offers.",
    ),
    ("full-subgroups", "The workgroup size is not a multiple of the subgroup size.", ""),
    (
        "subgroups-per-workgroup",
        "The device allows fewer subgroups per workgroup when their size is chosen.",
        "Use a smaller workgroup.",
    ),
    (
        "blelloch-power-of-two",
        "The Blelloch block scan needs a power of two of invocations.",
        "Use another workgroup size or block scan.",
    ),
    (
        "shared-memory",
        "The workgroup needs more shared memory than the device has.",
        "Use smaller tiles or a smaller workgroup.",
    ),
    (
        "index-32-bit",
        "Kernels index elements and scratch memory with 32 bits, and there are more of them.",
        "Use fewer elements.",
    ),
    ("no-elements", "A sweep measures scans of at least one element.", ""),
    (
        "workgroups-fix-size",
        "The config fixes its workgroup count, so it stands for another number of elements.",
        "Leave the workgroup count out of the label.",
    ),
    (
        "family-size",
        "The family reads everything before a tile, so it is out of the question for so many elements.",
        "Use another family.",
    ),
    ("workgroup-count-limit", "The device takes fewer workgroups per dispatch.", "Use larger tiles."),
    (
        "device-memory",
        "Input, output, reference and scratch memory together exceed the memory of the device.",
        "Use fewer elements.",
    ),
    (
        "residency",
        "All workgroups have to run at the same time, and fewer of them fit the device.",
        "Use fewer workgroups per unit.",
    ),
    (
        "residency-unknown",
        "All workgroups have to run at the same time, and nobody knows how many fit the device.",
        "`scanbox devices --probe` counts them; --assume co-residency runs the kernels all the same.",
    ),
    (
        "not-in-wgsl",
        "The device is driven by WebGPU, and there is no such kernel in its language.",
        "Use another kernel, or drive the device by Vulkan, which has all of them.",
    ),
    (
        "needs-subgroups",
        "The kernel needs subgroups, which the device does not have by WebGPU.",
        "Use lookback sequential or fallback.",
    ),
    (
        "binding-size",
        "By WebGPU memory is bound, and an array or the scratch memory is larger than a binding may be.",
        "Use fewer elements.",
    ),
    (
        "vector-alignment",
        "The array begins where a vector must not.",
        "Use the variant for any element, or vectors of one element.",
    ),
];

const OF_VARIANTS: &[RuleText] = &[
    (
        "sharing-needs-turn",
        "Calls of several sizes share scratch memory, and only reset turn lets them take turns.",
        "Use `reset = turn`.",
    ),
    ("total-needs-scan", "A reduction has no total beside its result: the total is the result.", ""),
    (
        "init-needs-value",
        "A verification must know the initial value in memory, and the identity of a user's operator is in its file.",
        "Say it with --init.",
    ),
    ("blocking-needs-chained-scan", "Only tiles of a chained scan can be blocked.", ""),
    (
        "blocking-without-owner",
        "A blocked tile of gather-fallback never gets a state of its own, which the device's count of calls needs.",
        "Use arguments push, or reset fill.",
    ),
    ("blocking-rate", "The exponent of the share of blocked tiles is out of range.", ""),
    ("counts-need-walk", "Only lookbacks that go from tile to tile count what they meet.", ""),
    (
        "n-from-memory-needs-block",
        "With baked arguments the number of elements is part of the pipeline.",
        "Use `arguments = block`.",
    ),
    (
        "n-from-memory-needs-turn",
        "With pushed arguments the host counts calls whose number of elements it knows.",
        "Use `reset = turn`, or arguments block.",
    ),
    (
        "line-needs-block",
        "Only arguments block have a line of arguments in memory.",
        "Use `arguments = block`.",
    ),
    (
        "n-from-memory-needs-one-pass",
        "The host works out how many elements each level has, so it has to know their number.",
        "Use a family of one pass.",
    ),
    ("total-needs-one-pass", "Only families of one pass store the total beside a scan.", ""),
];

const OF_INPUTS: &[RuleText] = &[
    (
        "real-needs-float-sum",
        "Input real is for sums of floats: nothing else is rounded.",
        "Use input random.",
    ),
    (
        "input-shows-nothing",
        "On this input the answer is the same element everywhere, whatever a kernel loses.",
        "Use input random.",
    ),
    (
        "input-needs-numbers",
        "The input is made of numbers, and elements of a structure are what its file draws.",
        "Use input random or spike.",
    ),
    (
        "total-not-known",
        "A verification takes the total from the answer, and the file of the operator transforms that.",
        "Leave out --total, or use an operator without transforms.",
    ),
    ("input-not-exact", "Sums of so many elements of this input are rounded.", "Use input real."),
    (
        "bound-hides-what-is-wrong",
        "The bound on rounding is so wide that a result without most of its elements would pass.",
        "Use fewer elements.",
    ),
];

/// Every rule, by name.
#[must_use]
pub fn rules() -> Vec<RuleEntry> {
    let lines = [OF_SPACES, OF_KERNELS, OF_VARIANTS, OF_INPUTS].into_iter().flatten();
    let mut rules: Vec<RuleEntry> = lines
        .map(|&(name, meaning, remedy)| RuleEntry {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            remedy: remedy.to_owned(),
        })
        .collect();
    rules.extend(PARAMETERS.iter().filter_map(|parameter| {
        let needs = parameter.needs?;
        let values =
            if needs.words.is_empty() { "other than the default".to_owned() } else { needs.words.join(", ") };
        let wanted = format!("`{} = {}`", needs.parameter, needs.one_of.join("` or `"));
        Some(RuleEntry {
            name: needs.rule.to_owned(),
            meaning: format!("`{}` {values} needs {wanted}.", parameter.name),
            remedy: format!("Use {wanted}, or leave `{}` at its default.", parameter.name),
        })
    }));
    rules.extend(Guarantee::VALUES.iter().map(|guarantee| RuleEntry {
        name: format!("needs-{guarantee}"),
        meaning: match guarantee {
            Guarantee::Progress => {
                "The kernel needs the guarantee progress, which the device was seen, or is known, not to give; by \
                 WebGPU also where nobody knows."
                    .to_owned()
            }
            _ => format!("The kernel needs the guarantee {guarantee}, and nobody knows that the device gives it."),
        },
        remedy: format!(
            "`scanbox devices --probe` asks the device; --assume {guarantee} runs the kernel all the same."
        ),
    }));
    rules.push(RuleEntry {
        name: format!("{RULE_PREFIX}ID"),
        meaning: "A driver is known to get such kernels wrong, so they are not tried.".to_owned(),
        remedy: "configs/known_issues.toml has the issue of this id, and why.".to_owned(),
    });
    rules.sort_by(|one, other| one.name.cmp(&other.name));
    rules
}
