//! Kernels that only users' operators need: what makes their input and their answer on the device, and proves the
//! answer. The CPU knows no operator but scanbox's own.

use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Operator, Placement, Problem};
use scanbox_model::user_operator::UserOperator;

use super::constants::{
    define, direction_defines, init_define, initial_words, operator_defines, transform_defines, word,
};
use crate::input::{Input, InputKind};
use crate::plan::{Binding, Expected, Pass, Plan, PlanKind, PushWord, Scratch, Shader, Tickets};

const WORKGROUP_SIZE: u32 = 256;

/// Chunks that the answer is made in at most: as many invocations as a device has work for. The last step but one
/// goes through all of them one by one, the others through the elements of one; none of them makes 65,535 rounds,
/// where lavapipe ends loops.
const MOST_CHUNKS: u64 = 1 << 14;
const FEWEST_CHUNK_ELEMENTS: u64 = 64;

/// No element: all of the input is drawn.
const NOWHERE: u32 = u32::MAX;

/// A law that an operator has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Law {
    /// Its bit in the first word of a report (`laws.glsl`, `operator_check.comp`, `operator_laws.comp`).
    pub bit: u32,
    /// What is wrong where it does not hold.
    pub broken: &'static str,
    /// What must be.
    pub must: &'static str,
    /// What to change in the file.
    pub mend: &'static str,
}

const IDENTITY: Law = Law {
    bit: 4,
    broken: "identity() is not the identity of combine",
    must: "combine(identity(), x) and combine(x, identity()) must be x",
    mend: "have identity() make the element that changes no other one, or change combine",
};
const ASSOCIATIVE: Law = Law {
    bit: 2,
    broken: "combine is not associative",
    must: "combine(combine(a, b), c) and combine(a, combine(b, c)) must be the same",
    mend: "change combine; where only the rounding of floats differs, write a larger tolerance = T in place of exact = yes",
};
const COMMUTATIVE: Law = Law {
    bit: 8,
    broken: "combine is not commutative, as the file says it is",
    must: "combine(a, b) and combine(b, a) must be the same",
    mend: "write commutative = no in the file, or change combine",
};

/// A law as it is checked along an input and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorLaw {
    /// The law.
    pub law: Law,
    /// The elements that broke it where the check failed at an element: what each is called, whether it is of the
    /// answer, and how many places before that element it stands.
    pub elements: &'static [(&'static str, bool, u64)],
}

/// What [`operator_load`] finds out of an input and its answer. The first one that fails explains the others.
pub const OPERATOR_LAWS: [OperatorLaw; 4] = [
    OperatorLaw { law: IDENTITY, elements: &[("x", false, 0)] },
    OperatorLaw { law: ASSOCIATIVE, elements: &[("a", true, 2), ("b", false, 1), ("c", false, 0)] },
    OperatorLaw { law: COMMUTATIVE, elements: &[("a", true, 1), ("b", false, 0)] },
    OperatorLaw {
        law: Law {
            bit: 1,
            broken: "combine is not associative over many elements, or two calls of combine(a, b) differ",
            must: "all elements one by one must give what they give in chunks",
            mend: "have combine depend on its two elements alone; if sums of floats grow, allow a larger tolerance = T",
        },
        elements: &[("a", true, 1), ("b", false, 0)],
    },
];

/// A law as it is tried on elements that the file draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriedLaw {
    /// The law.
    pub law: Law,
    /// What the elements of a sample that broke it are called, and their places among those that are shown.
    pub elements: &'static [(&'static str, u64)],
    /// What came of them, in the same way.
    pub results: &'static [(&'static str, u64)],
}

/// What [`operator_laws`] tries. The first one that fails explains the others.
pub const TRIED_LAWS: [TriedLaw; 5] = [
    TriedLaw {
        law: Law {
            bit: 16,
            broken: "draw() makes an element that is not a number",
            must: "each field must be a number: everything behind another one would be none, and no error would show",
            mend: "have draw() make numbers of its random bits, not take these bits as a float",
        },
        elements: &[("x", 0)],
        results: &[],
    },
    TriedLaw {
        law: IDENTITY,
        elements: &[("x", 9)],
        results: &[("combine(identity(), x)", 7), ("combine(x, identity())", 8)],
    },
    TriedLaw {
        law: Law {
            bit: 32,
            broken: "combine of elements that draw() makes is not a number",
            must: "each field of what elements combine to must be a number",
            mend: "have draw() make elements that combine to numbers, or change combine",
        },
        elements: &[("a", 0), ("b", 1), ("c", 2)],
        results: &[("combine(combine(a, b), c)", 3)],
    },
    TriedLaw {
        law: ASSOCIATIVE,
        elements: &[("a", 0), ("b", 1), ("c", 2)],
        results: &[("combine(combine(a, b), c)", 3), ("combine(a, combine(b, c))", 4)],
    },
    TriedLaw {
        law: COMMUTATIVE,
        elements: &[("a", 0), ("b", 1)],
        results: &[("combine(a, b)", 5), ("combine(b, a)", 6)],
    },
];

/// No law: set once an element is not the first that was drawn.
pub const SEEN_DIFFERENT: u32 = 64;

/// Samples of three elements that laws are tried on.
pub const LAW_SAMPLES: u64 = 1 << 18;

/// Elements that are shown of a sample: so many have to be in the memory of the reference.
pub const SHOWN_ELEMENTS: u64 = 10;

/// The plan that tries laws with these bits on elements that the file draws, whatever the problem. It leaves the
/// elements of the sample `shown` in the memory of the reference.
#[must_use]
pub fn operator_laws(user: &UserOperator, laws: u32, shown: Option<u32>, device: &DeviceProfile) -> Plan {
    let problem =
        Problem::of_user(Mode::Inclusive, *user, Placement::OutOfPlace).expect("a scan can be anywhere");
    let shader = operator_shader("operator_laws.comp", &problem, user, device);
    let tolerance = user.tolerance.share().to_bits();
    let words = [LAW_SAMPLES as u32, tolerance, laws, shown.unwrap_or(NOWHERE)];
    let check = operator_check(&problem, user, 1, 0, device);
    let pass = Pass {
        workgroups: LAW_SAMPLES.div_ceil(shader.workgroup_size.into()),
        tickets: Tickets::None,
        co_resident: false,
        shader,
        bindings: vec![Binding::Reference, Binding::Report],
        words: words.into_iter().map(PushWord::Value).collect(),
    };
    Plan { passes: vec![pass], ..check }
}

/// A shader of one element per invocation that includes the file of a problem's operator.
pub(super) fn operator_shader(
    root: &'static str,
    problem: &Problem,
    user: &UserOperator,
    device: &DeviceProfile,
) -> Shader {
    let workgroup_size = WORKGROUP_SIZE.min(device.max_workgroup_size);
    let [hash, commutative] = operator_defines(user);
    let begins = problem.init_words().and_then(|_| init_define(problem));
    let transforms = transform_defines(problem, true, true);
    let more = direction_defines(problem, true).chain(begins).chain(transforms);
    Shader {
        root,
        defines: [
            ("WORKGROUP_SIZE", workgroup_size),
            ("SUBGROUP_SIZE", device.subgroup_size),
            ("BATCH_SIZE", 1),
            ("LANES", 1),
            ("INT64", u32::from(device.int64_atomics)),
            ("MODE", define(problem.mode())),
            ("ELEMENT", define(problem.element())),
            ("OPERATOR", define(Operator::User)),
            hash,
            commutative,
        ]
        .into_iter()
        .chain(more)
        .collect(),
        workgroup_size,
        subgroup_size: device.subgroup_size,
        operator_file: true,
    }
}

/// What the answer begins with, where somebody said so.
fn first_words(problem: &Problem) -> impl Iterator<Item = PushWord> + use<> {
    problem.init_words().map(|words| initial_words(problem, words)).into_iter().flatten()
}

/// The shaders that a session about this problem needs beside [`super::helper_shaders`]: none for scanbox's own
/// operators.
#[must_use]
pub fn operator_shaders(problem: &Problem, device: &DeviceProfile) -> Vec<Shader> {
    let Some(user) = problem.user() else { return Vec::new() };
    let input = Input { kind: InputKind::Random, seed: 0 };
    let plan = operator_load(problem, &user, &input, 1, device);
    let finish = operator_finish(problem, &user, 1, device);
    let laws = operator_laws(&user, 0, None, device);
    let passes = plan.passes.into_iter().chain(finish.into_iter().flat_map(|plan| plan.passes));
    let passes = passes.chain(laws.passes);
    let mut shaders: Vec<Shader> = passes.map(|pass| pass.shader).collect();
    shaders.extend(super::copy_and_check::compare_operator_shader(problem, device));
    shaders
}

/// The plan that makes the first `n` elements of an input of a user's operator, and their answer, and proves it: the
/// report says what failed ([`OPERATOR_LAWS`]), and the first element where something did. The totals of chunks stand
/// in the output meanwhile.
#[must_use]
pub fn operator_load(
    problem: &Problem,
    user: &UserOperator,
    input: &Input,
    n: u64,
    device: &DeviceProfile,
) -> Plan {
    let shader = |root, more: &[(&'static str, u32)]| {
        let mut shader = operator_shader(root, problem, user, device);
        shader.defines.extend_from_slice(more);
        shader
    };
    let pass = |shader: Shader, bindings: &[Binding], words: Vec<PushWord>, invocations: u64| Pass {
        workgroups: invocations.div_ceil(shader.workgroup_size.into()),
        tickets: Tickets::None,
        co_resident: false,
        shader,
        bindings: bindings.to_vec(),
        words,
    };
    let spike_at = match input.kind {
        InputKind::Spike { at } => u32::try_from(at).unwrap_or(NOWHERE),
        _ => NOWHERE,
    };
    let drawn = [input.seed as u32, (input.seed >> 32) as u32, spike_at].map(PushWord::Value);
    let chunk_elements = chunk_elements(n);
    let chunks = n.div_ceil(chunk_elements);
    let step = |step: u32, invocations: u64| {
        let bindings = [Binding::Input, Binding::Reference, Binding::Output];
        let shader = shader("operator_reference.comp", &[("REFERENCE_STEP", step)]);
        let words = [word(n), word(chunk_elements)].into_iter().chain(first_words(problem)).collect();
        pass(shader, &bindings, words, invocations)
    };
    let every = OPERATOR_LAWS.iter().fold(0, |bits, one| bits | one.law.bit);
    let mut check = operator_check(problem, user, n, every, device);
    let mut passes = vec![
        pass(
            shader("operator_input.comp", &[]),
            &[Binding::Input],
            [word(n)].into_iter().chain(drawn).collect(),
            n,
        ),
        step(0, chunks),
        step(1, 1),
        step(2, chunks),
    ];
    passes.append(&mut check.passes);
    Plan { passes, ..check }
}

/// The plan that makes of the answer what the file of an operator makes of it as it is stored, once it is proved;
/// `None` where it is stored as it is.
#[must_use]
pub fn operator_finish(
    problem: &Problem,
    user: &UserOperator,
    n: u64,
    device: &DeviceProfile,
) -> Option<Plan> {
    if !user.transforms.output {
        return None;
    }
    let mut shader = operator_shader("operator_reference.comp", problem, user, device);
    shader.defines.push(("REFERENCE_STEP", 3));
    let chunk_elements = chunk_elements(n);
    let words = [word(n), word(chunk_elements)].into_iter().chain(first_words(problem)).collect();
    let bindings = vec![Binding::Input, Binding::Reference, Binding::Output];
    let (workgroups, check) = (
        n.div_ceil(chunk_elements).div_ceil(shader.workgroup_size.into()),
        operator_check(problem, user, n, 0, device),
    );
    let pass = Pass { workgroups, tickets: Tickets::None, co_resident: false, shader, bindings, words };
    Some(Plan { passes: vec![pass], ..check })
}

fn chunk_elements(n: u64) -> u64 {
    n.div_ceil(MOST_CHUNKS).max(FEWEST_CHUNK_ELEMENTS)
}

/// The plan that checks the laws with these bits once more, on what a plan of [`operator_load`] has left.
#[must_use]
pub fn operator_check(
    problem: &Problem,
    user: &UserOperator,
    n: u64,
    laws: u32,
    device: &DeviceProfile,
) -> Plan {
    let shader = operator_shader("operator_check.comp", problem, user, device);
    let tolerance = PushWord::Value(user.tolerance.share().to_bits());
    let kind = PlanKind::Operator(*user);
    Plan {
        label: kind.to_string(),
        kind,
        problem: *problem,
        n,
        bytes_moved: 0,
        result: Expected::Scan,
        error_bound: 0.0,
        scratch: Scratch::NONE,
        passes: vec![Pass {
            workgroups: n.div_ceil(shader.workgroup_size.into()),
            tickets: Tickets::None,
            co_resident: false,
            shader,
            bindings: vec![Binding::Input, Binding::Reference, Binding::Report],
            words: [word(n), tolerance, PushWord::Value(laws)]
                .into_iter()
                .chain(first_words(problem))
                .collect(),
        }],
    }
}
