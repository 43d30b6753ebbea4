//! Kernels beside the scans: copies, what poisons and compares an output, what clears scratch memory.

use scanbox_model::config::VectorWidth;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Problem, Value};

use super::user_operator::operator_defines;
use super::{GUARD_WORD, define, word};
use crate::plan::{Binding, Expected, GUARD_WORDS, Pass, Plan, Scratch, Shader, Tickets, Word};

/// Vectors per invocation of the helper kernels, times four words: enough in flight, few enough workgroups.
const HELPER_BATCH_SIZE: u32 = 4;
const HELPER_WORKGROUP_SIZE: u32 = 256;

/// The launch shapes of the copy kernel: vectors of four per invocation, and workgroup size. The fastest of them at a
/// size is the measured copy of that size.
pub const COPY_SHAPES: &[(u32, u32)] = &[(1, 256), (2, 256), (4, 256), (1, 1024), (8, 128)];

/// The plan that copies the input of a problem to the output in one of the [`COPY_SHAPES`]: the ceiling of every scan.
#[must_use]
pub fn copy(problem: &Problem, n: u64, shape: (u32, u32), device: &DeviceProfile) -> Plan {
    let (batch_size, workgroup_size) = shape;
    let shader = helper_shader("copy.comp", batch_size, workgroup_size, device);
    let tile = u64::from(batch_size * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    let words = n * problem.element_bytes() / 4;
    Plan {
        label: format!("copy.b{batch_size}.wg{}", shader.workgroup_size),
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

/// The plan that fills the output of a plan with what it must not hold before a call.
#[must_use]
pub fn poison(plan: &Plan, device: &DeviceProfile) -> Plan {
    let output = plan.output_words();
    let words = vec![word(output), word(output + GUARD_WORDS), Word::Value(GUARD_WORD)];
    let bindings = vec![Binding::Expected, Binding::Output];
    helper("poison.comp", output + GUARD_WORDS, plan, bindings, words, device)
}

/// Words of the report of a comparison: how many elements are wrong (0 before); the index of the first of their words
/// (`u32::MAX` before); the bits of the largest error as a 32-bit float (0 before).
pub const REPORT_WORDS: u64 = 3;

/// The plan that compares every element of the output of a plan, and the guard behind it. `error_bound` is what counts as right
/// (see [`Plan::error_bound`]).
#[must_use]
pub fn compare(plan: &Plan, error_bound: f64, device: &DeviceProfile) -> Plan {
    let output = plan.output_words();
    // Of an initial value below zero, what its magnitude is more.
    let initial = plan.problem.init().and_then(Value::float).map_or(0.0, |initial| (-2.0 * initial).max(0.0));
    let words = vec![
        word(output),
        word(output + GUARD_WORDS),
        Word::Value(GUARD_WORD),
        Word::Value((error_bound as f32).to_bits()),
        Word::Value((initial as f32).to_bits()),
    ];
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

/// The comparison of elements of a user's operator that has a tolerance; others are compared word by word.
pub(super) fn compare_operator_shader(problem: &Problem, device: &DeviceProfile) -> Option<Shader> {
    let user = problem.user().filter(|_| problem.rounds())?;
    let mut shader = compare_shader(problem.element(), device);
    shader.defines.extend(operator_defines(&user));
    Some(shader)
}

fn compare_shader(element: Element, device: &DeviceProfile) -> Shader {
    let mut shader = helper_shader("compare.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device);
    shader.defines.push(("ELEMENT", define(element)));
    shader
}

/// The plan that fills the scratch memory of a plan with zeros: the reset of plans that need one.
#[must_use]
pub fn fill(plan: &Plan, device: &DeviceProfile) -> Plan {
    let words = plan.scratch.bytes.div_ceil(4);
    helper("fill.comp", words, plan, vec![Binding::Scratch(0)], vec![word(words), Word::Value(0)], device)
}

/// A plan of a helper that works on this many words around a call of `of`.
fn helper(
    root: &'static str,
    words: u64,
    of: &Plan,
    bindings: Vec<Binding>,
    constants: Vec<Word>,
    device: &DeviceProfile,
) -> Plan {
    let shader = helper_shader(root, HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE, device);
    let tile = u64::from(HELPER_BATCH_SIZE * VectorWidth::Vec4.lanes() * shader.workgroup_size);
    Plan {
        label: root.trim_end_matches(".comp").to_owned(),
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
    Shader {
        root,
        defines: vec![
            ("WORKGROUP_SIZE", workgroup_size),
            ("SUBGROUP_SIZE", device.subgroup_size),
            ("BATCH_SIZE", batch_size),
            ("LANES", VectorWidth::Vec4.lanes()),
        ],
        workgroup_size,
        subgroup_size: device.subgroup_size,
    }
}

/// The shaders that every session needs beside those of its configs: fill, poison, compare and the copies.
#[must_use]
pub fn helper_shaders(device: &DeviceProfile) -> Vec<Shader> {
    let helper = |root, batch_size, workgroup_size| helper_shader(root, batch_size, workgroup_size, device);
    let mut shaders = vec![
        helper("fill.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE),
        helper("poison.comp", HELPER_BATCH_SIZE, HELPER_WORKGROUP_SIZE),
        compare_shader(Element::U32, device),
        compare_shader(Element::F32, device),
    ];
    if device.float64_elements {
        shaders.push(compare_shader(Element::F64, device));
    }
    shaders.extend(COPY_SHAPES.iter().map(|&(batch, size)| helper("copy.comp", batch, size)));
    shaders.sort();
    shaders.dedup();
    shaders
}
