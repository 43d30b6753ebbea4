//! Kernels beside the scans: copies and reads, what poisons and compares an output, what clears scratch memory.

use std::collections::BTreeSet;

use scanbox_model::api::Api;
use scanbox_model::config::{Arguments, Config, Parameter, VectorWidth};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, ElementValue, Mode, Operator, Problem};
use scanbox_pack::{ArgumentKind, FillRecipe, Place, Prepare, RecipePass, RecipeWord, ScratchPart};

use super::constants::{GUARD_WORD, define, one_row, operator_defines, word};
use super::webgpu::adapted_shader;
use crate::plan::{
    Binding, CallFacts, CeilingShape, Expected, FIRST_TURN, GUARD_WORDS, Pass, Plan, PlanKind, PushWord,
    Scratch, ScratchContent, Shader, Tickets,
};

/// Vectors per invocation of the helper kernels, times four words: enough in flight, few enough workgroups.
const HELPER_BATCH_SIZE: u32 = 4;
const HELPER_WORKGROUP_SIZE: u32 = 256;

/// The launch shapes of copies and reads. The fastest of them at a size is the measured ceiling of that size.
pub const CEILING_SHAPES: &[CeilingShape] = &[
    CeilingShape::new(1, 256),
    CeilingShape::new(2, 256),
    CeilingShape::new(4, 256),
    CeilingShape::new(1, 1024),
    CeilingShape::new(8, 128),
];

/// The [`CEILING_SHAPES`] beside these configs: with pushed arguments, and with each other kind that a config has. (Who
/// does not wait for push constants is measured against a copy that does not either.)
#[must_use]
pub fn ceiling_shapes<'a>(configs: impl IntoIterator<Item = &'a Config>) -> Vec<CeilingShape> {
    let kinds = configs.into_iter().map(|config| config.kernel.arguments);
    let kinds: BTreeSet<Arguments> = kinds.chain([Arguments::Push]).collect();
    let of_kind = |arguments| CEILING_SHAPES.iter().map(move |shape| CeilingShape { arguments, ..*shape });
    kinds.into_iter().flat_map(of_kind).collect()
}

/// One of the [`CEILING_SHAPES`] with each kind of arguments: what calls of these differ by is what arguments cost.
#[must_use]
pub fn shapes_by_arguments() -> [CeilingShape; Arguments::VALUES.len()] {
    let shape = CEILING_SHAPES[0];
    std::array::from_fn(|place| CeilingShape { arguments: Arguments::VALUES[place], ..shape })
}

/// The plan that moves what a problem has to move at least, and does nothing else, in one of the [`CEILING_SHAPES`]:
/// of a scan a [`copy`], of a reduction a read. A read adds up the words of the input in runs, so that what it has
/// read can be verified; those sums are the only traffic that a reduction does not have (one word for 128 or more).
#[must_use]
pub fn ceiling(problem: &Problem, n: u64, shape: CeilingShape, device: &DeviceProfile) -> Plan {
    match problem.mode() {
        Mode::Reduce => read(problem, n, shape, device),
        Mode::Inclusive | Mode::Exclusive => copy(problem, n, shape, device),
    }
}

fn read(problem: &Problem, n: u64, shape: CeilingShape, device: &DeviceProfile) -> Plan {
    let shader = ceiling_shader("read.comp", shape, device);
    // By WebGPU the size of subgroups is not known before: workgroups have a run each.
    let run_invocations = match device.api {
        Api::Vulkan => device.subgroup_size,
        Api::WebGpu => shader.workgroup_size,
    };
    let run_words = shape.batch_size * VectorWidth::Vec4.lanes() * run_invocations;
    let words = n * problem.element_bytes() / 4;
    let runs_per_workgroup = u64::from(shader.workgroup_size / run_invocations);
    let kind = PlanKind::Read(CeilingShape { workgroup_size: shader.workgroup_size, ..shape });
    Plan {
        label: kind.to_string(),
        kind,
        problem: *problem,
        n,
        bytes_moved: problem.bytes_moved(n),
        result: Expected::Sums { run_words },
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass {
            bindings: vec![Binding::Input, Binding::Output],
            words: vec![word(words)],
            workgroups: words.div_ceil(u64::from(run_words)).div_ceil(runs_per_workgroup),
            tickets: Tickets::None,
            co_resident: false,
            shader,
        }],
    }
}

/// The shape of [`sum_input`]: the one of the [`CEILING_SHAPES`] with the longest runs.
const LONGEST_RUNS: CeilingShape = CeilingShape::new(8, 128);

/// The plan that adds up the words of the first `n` elements of the input in runs. Sums of the same input that differ
/// later show that it was written to ([`compare_input_sums`]).
#[must_use]
pub fn sum_input(problem: &Problem, n: u64, device: &DeviceProfile) -> Plan {
    read(problem, n, LONGEST_RUNS, device)
}

/// The plan that compares the sums of an input ([`sum_input`], at [`Binding::Output`]) with earlier ones,
/// at [`Binding::Expected`].
#[must_use]
pub fn compare_input_sums(sums: &Plan, device: &DeviceProfile) -> Plan {
    let runs = sums.output_words();
    // No guard, and no error.
    let words = compare_words(runs, 0, 0.0, [0; 2]);
    let bindings = vec![Binding::Expected, Binding::Output, Binding::Report];
    let mut helper = helper("compare.comp", runs, sums, bindings, words, device);
    helper.passes[0].shader = compare_shader(Element::U32, device);
    helper
}

/// The plan that copies the input of a problem to the output in one of the [`CEILING_SHAPES`].
#[must_use]
pub fn copy(problem: &Problem, n: u64, shape: CeilingShape, device: &DeviceProfile) -> Plan {
    let shader = ceiling_shader("copy.comp", shape, device);
    let tile = u64::from(shape.batch_size * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    let words = n * problem.element_bytes() / 4;
    let kind = PlanKind::Copy(CeilingShape { workgroup_size: shader.workgroup_size, ..shape });
    Plan {
        label: kind.to_string(),
        kind,
        problem: *problem,
        n,
        bytes_moved: 2 * n * problem.element_bytes(),
        result: Expected::Copy,
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass {
            bindings: vec![Binding::Input, Binding::Output],
            words: vec![word(words)],
            workgroups: words.div_ceil(tile),
            tickets: Tickets::None,
            co_resident: false,
            shader,
        }],
    }
}

/// The plan of a call that does nothing: one dispatch of one subgroup. Its span is what a call costs without its work.
#[must_use]
pub fn empty(problem: &Problem, device: &DeviceProfile) -> Plan {
    let shader = helper_shader("empty.comp", 1, device.subgroup_size, device);
    Plan {
        label: PlanKind::Empty.to_string(),
        kind: PlanKind::Empty,
        problem: *problem,
        n: 1,
        bytes_moved: 0,
        result: Expected::Copy,
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass {
            bindings: Vec::new(),
            words: Vec::new(),
            workgroups: 1,
            tickets: Tickets::None,
            co_resident: false,
            shader,
        }],
    }
}

/// The plan of a call that does nothing in as many workgroups as a call of `other` has, and of their size: what that
/// costs before it reads anything.
#[must_use]
pub fn empty_beside(other: &Plan, device: &DeviceProfile) -> Plan {
    let mut empty = empty(&other.problem, device);
    for (pass, like) in empty.passes.iter_mut().zip(&other.passes) {
        pass.shader = helper_shader("empty.comp", 1, like.shader.workgroup_size, device);
        pass.workgroups = like.workgroups;
    }
    empty
}

/// The plan that fills the output of a plan with what it must not hold before a call.
#[must_use]
pub fn poison(plan: &Plan, device: &DeviceProfile) -> Plan {
    let output = plan.output_words();
    let words = vec![word(output), word(output + GUARD_WORDS), PushWord::Value(GUARD_WORD)];
    let bindings = vec![Binding::Expected, Binding::Output];
    helper("poison.comp", output + GUARD_WORDS, plan, bindings, words, device)
}

/// Words of the report of a comparison: how many elements are wrong (0 before); the index of the first of their words
/// (`u32::MAX` before); the bits of the largest error as a 32-bit float (0 before).
pub const REPORT_WORDS: u64 = 3;

/// The plan that compares every element of the output of a plan, and the guard behind it. `error_bound` is what
/// counts as right (see [`Plan::error_bound`]).
#[must_use]
pub fn compare(plan: &Plan, error_bound: f64, device: &DeviceProfile) -> Plan {
    if let Expected::Sums { run_words } = plan.result {
        return compare_sums(plan, run_words, device);
    }
    let output = plan.output_words();
    let words = compare_words(output, GUARD_WORDS, error_bound, quarter_beside(&plan.problem));
    let bindings = vec![Binding::Expected, Binding::Output, Binding::Report];
    let mut helper = helper("compare.comp", output + GUARD_WORDS, plan, bindings, words, device);
    // A copy is compared word by word, as integers are.
    let floats = plan.result != Expected::Copy && plan.problem.element().is_float();
    let element = if floats { plan.problem.element() } else { Element::U32 };
    helper.passes[0].shader = match compare_operator_shader(&plan.problem, device) {
        Some(shader) if plan.result != Expected::Copy => shader,
        _ => compare_shader(element, device),
    };
    helper
}

/// The push constants of `compare.comp` behind the addresses: an output of so many words, and a guard behind it.
fn compare_words(output: u64, guard: u64, error_bound: f64, beside: [u32; 2]) -> Vec<PushWord> {
    let [low, high] = beside.map(PushWord::Value);
    let bound = PushWord::Value((error_bound as f32).to_bits());
    vec![word(output), word(output + guard), PushWord::Value(GUARD_WORD), bound, low, high]
}

/// A quarter of what the sum of the magnitudes of a sum's terms exceeds the sum by, where an initial value is all that
/// is below zero: the bits of a 32-bit float and a zero, or those of a 64-bit float, the lower word first.
fn quarter_beside(problem: &Problem) -> [u32; 2] {
    let initial =
        problem.init().filter(|_| problem.operator() == Operator::Add).and_then(ElementValue::float);
    let quarter = initial.map_or(0.0, |initial| (-0.5 * initial).max(0.0));
    match problem.element() {
        Element::F64 => [quarter.to_bits() as u32, (quarter.to_bits() >> 32) as u32],
        _ => [(quarter as f32).to_bits(), 0],
    }
}

fn compare_sums(plan: &Plan, run_words: u32, device: &DeviceProfile) -> Plan {
    let guarded = plan.output_words() + GUARD_WORDS;
    let words = vec![
        word(plan.n * plan.problem.element_bytes() / 4),
        PushWord::Value(run_words),
        word(guarded),
        PushWord::Value(GUARD_WORD),
    ];
    let bindings = vec![Binding::Input, Binding::Output, Binding::Report];
    let mut helper = helper("compare_sums.comp", guarded, plan, bindings, words, device);
    let shader = compare_sums_shader(device);
    helper.passes[0].workgroups = guarded.div_ceil(shader.workgroup_size.into());
    helper.passes[0].shader = shader;
    helper
}

fn compare_sums_shader(device: &DeviceProfile) -> Shader {
    helper_shader("compare_sums.comp", 1, HELPER_WORKGROUP_SIZE, device)
}

/// The plan that compares every word of the output of a plan, and the guard behind it, with what was kept of an
/// earlier call.
#[must_use]
pub fn compare_with_kept(plan: &Plan, device: &DeviceProfile) -> Plan {
    let mut helper = compare(plan, 0.0, device);
    helper.passes[0].bindings[0] = Binding::Kept;
    // Word by word, whatever the type is.
    helper.passes[0].shader = compare_shader(Element::U32, device);
    helper
}

/// The comparison of elements of a user's operator that has a tolerance; others are compared word by word.
pub(super) fn compare_operator_shader(problem: &Problem, device: &DeviceProfile) -> Option<Shader> {
    let user = problem.user().filter(|_| problem.rounds())?;
    let mut shader = compare_shader(problem.element(), device);
    shader.defines.extend(operator_defines(&user));
    shader.operator_file = true;
    Some(shader)
}

fn compare_shader(element: Element, device: &DeviceProfile) -> Shader {
    let mut shader = helper_shader("compare.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device);
    shader.defines.push(("ELEMENT", define(element)));
    shader
}

/// The plan that fills the scratch memory of a plan with zeros: the reset of plans that need one. Its arguments are
/// pushed where those of the plan are, and constants elsewhere: what it fills never changes.
#[must_use]
pub fn fill(plan: &Plan, device: &DeviceProfile) -> Plan {
    let is_pushed = plan.passes.iter().all(|pass| pass.shader.arguments() == Arguments::Push);
    let recipe = fill_recipe(if is_pushed { ArgumentKind::Pushed } else { ArgumentKind::Baked }, device);
    let kind = PlanKind::Helper("fill");
    Plan {
        label: kind.to_string(),
        kind,
        bytes_moved: 0,
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass::of_step(&recipe.step(plan.scratch.bytes), &CallFacts::default())],
        ..*plan
    }
}

/// What fills scratch memory with zeros in front of calls that find their arguments there.
pub(super) fn fill_recipe(arguments: ArgumentKind, device: &DeviceProfile) -> FillRecipe<Shader> {
    let all = Place::Scratch(ScratchPart::All);
    let (module, places) = match arguments {
        ArgumentKind::Pushed => {
            (helper_shader("fill.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device), vec![all])
        }
        // Baked arguments begin with source and target.
        ArgumentKind::Line | ArgumentKind::Baked => (baked_fill_shader(device), vec![all; 2]),
    };
    let words_per_workgroup = HELPER_BATCH_SIZE * VectorWidth::Vec4.lanes() * module.workgroup_size;
    let words = vec![RecipeWord::Elements, RecipeWord::Same(PushWord::Value(0))];
    FillRecipe { pass: RecipePass { module, places, words }, words_per_workgroup }
}

/// What makes scratch memory of unknown content one that a first call finds what it expects in.
pub(super) fn prepare_recipe(content: ScratchContent, device: &DeviceProfile) -> Option<Prepare<Shader>> {
    if content.is_stateless() {
        return None;
    }
    let zeros = fill_recipe(ArgumentKind::Pushed, device);
    // The same shader, which fills one word.
    let turn = matches!(content, ScratchContent::SelfTurning { .. }).then(|| RecipePass {
        module: zeros.pass.module.clone(),
        places: vec![Place::Scratch(ScratchPart::Turn)],
        words: [1, FIRST_TURN].map(|value| RecipeWord::Same(PushWord::Value(value))).to_vec(),
    });
    Some(Prepare { zeros, turn })
}

fn baked_fill_shader(device: &DeviceProfile) -> Shader {
    let mut shader = helper_shader("fill.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device);
    shader.defines.push((Shader::ARGUMENTS, define(Arguments::Baked)));
    shader
}

/// A plan of a helper that works on this many words around a call of `of`.
fn helper(
    root: &'static str,
    words: u64,
    of: &Plan,
    bindings: Vec<Binding>,
    constants: Vec<PushWord>,
    device: &DeviceProfile,
) -> Plan {
    let shader = helper_shader(root, HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device);
    let tile = u64::from(HELPER_BATCH_SIZE * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    let kind = PlanKind::Helper(root.trim_end_matches(".comp"));
    Plan {
        label: kind.to_string(),
        kind,
        problem: of.problem,
        n: of.n,
        bytes_moved: 0,
        result: of.result,
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass {
            workgroups: words.div_ceil(tile),
            tickets: Tickets::None,
            co_resident: false,
            shader,
            bindings,
            words: constants,
        }],
    }
}

fn helper_shader(root: &'static str, batch_size: u32, workgroup_size: u32, device: &DeviceProfile) -> Shader {
    let workgroup_size = workgroup_size.min(device.max_workgroup_size);
    let shader = Shader {
        root,
        defines: vec![
            ("WORKGROUP_SIZE", workgroup_size),
            ("SUBGROUP_SIZE", device.subgroup_size),
            ("BATCH_SIZE", batch_size),
            ("LANES", VectorWidth::Vec4.lanes()),
            ("ONE_ROW", u32::from(one_row(device))),
        ],
        workgroup_size,
        subgroup_size: device.subgroup_size,
        operator_file: false,
    };
    adapted_shader(shader, device)
}

fn ceiling_shader(root: &'static str, shape: CeilingShape, device: &DeviceProfile) -> Shader {
    let mut shader = helper_shader(root, shape.batch_size, shape.workgroup_size, device);
    if shape.arguments != Arguments::Push {
        shader.defines.push((Shader::ARGUMENTS, define(shape.arguments)));
    }
    shader
}

/// The shaders that every session needs beside those of its configs: nothing, fill, poison, the comparisons, copies
/// and reads.
#[must_use]
pub fn helper_shaders(device: &DeviceProfile) -> Vec<Shader> {
    let helper = |root, batch_size, workgroup_size| helper_shader(root, batch_size, workgroup_size, device);
    let mut shaders = vec![
        helper("empty.comp", 1, device.subgroup_size),
        helper("fill.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE),
        helper("poison.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE),
        compare_shader(Element::U32, device),
        compare_shader(Element::F32, device),
    ];
    if device.api == Api::Vulkan {
        shaders.push(baked_fill_shader(device));
    }
    if device.float64_elements {
        shaders.push(compare_shader(Element::F64, device));
    }
    shaders.push(compare_sums_shader(device));
    for root in ["copy.comp", "read.comp"] {
        shaders.extend(CEILING_SHAPES.iter().map(|&shape| ceiling_shader(root, shape, device)));
    }
    shaders.sort();
    shaders.dedup();
    shaders
}
