//! What shaders are told: the numbers behind the names of their defines, and push constants.

use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Problem};
use scanbox_model::user_operator::UserOperator;

use crate::operator_file::hash_word;
use crate::plan::PushWord;

/// What stands behind the last element of the output before a call, and must still stand there afterwards.
pub const GUARD_WORD: u32 = 0x5CA7_B0C5;

/// Whether every dispatch is one row of workgroups: there are fewer than 2^32 elements, and a tile has at least 4.
pub(super) fn one_row(device: &DeviceProfile) -> bool {
    device.max_workgroup_count[0] >= 1 << 30
}

/// The number of a value of a problem: its place.
pub(super) fn define<P: Parameter>(value: P) -> u32 {
    value.place() as u32
}

/// What a shader has to be compiled with that includes a user's file.
pub(super) fn operator_defines(user: &UserOperator) -> [(&'static str, u32); 2] {
    [("OPERATOR_HASH", hash_word(user)), ("OPERATOR_COMMUTATIVE", u32::from(user.commutative))]
}

/// A push constant with a number of elements, which the rules have checked to have 32 bits.
pub(super) fn word(n: u64) -> PushWord {
    PushWord::Value(u32::try_from(n).expect("sizes are checked against 32-bit indices"))
}

/// The push constants of an initial value.
pub(super) fn initial_words(problem: &Problem, words: [u32; 4]) -> impl Iterator<Item = PushWord> + use<> {
    let count = match problem.element() {
        Element::Struct16 => 4,
        Element::Struct12 => 3,
        _ => 2,
    };
    words.into_iter().take(count).map(PushWord::Value)
}

/// What a shader has to be compiled with that begins with an initial value. An exclusive scan of scanbox's own
/// operators always does.
pub(super) fn init_define(problem: &Problem) -> Option<(&'static str, u32)> {
    let always = problem.mode() == Mode::Exclusive && problem.user().is_none();
    (!always).then_some(("WITH_INIT", 1))
}

/// Whether a user's operator has to get what comes earlier as its later operand.
fn swaps(problem: &Problem) -> bool {
    problem.is_reversed() && !problem.commutes()
}

/// What a shader has to be compiled with so that a user's file transforms what it loads of the input, and what it
/// stores of the output.
pub(super) fn transform_defines(
    problem: &Problem,
    input: bool,
    output: bool,
) -> impl Iterator<Item = (&'static str, u32)> + use<> {
    let has = problem.user().map(|user| user.transforms).unwrap_or_default();
    let defines = [("TRANSFORM_INPUT", has.input && input), ("TRANSFORM_OUTPUT", has.output && output)];
    defines.into_iter().filter(|(_, has)| *has).map(|(name, _)| (name, 1))
}

/// What a shader has to be compiled with so that elements are combined in the direction of a problem. `of_array`:
/// whether it goes over the array; over totals it goes forward whatever the direction is, with the same operands.
pub(super) fn direction_defines(
    problem: &Problem,
    of_array: bool,
) -> impl Iterator<Item = (&'static str, u32)> + use<> {
    let defines = [("REVERSE", problem.is_reversed() && of_array), ("SWAPPED", swaps(problem))];
    defines.into_iter().filter(|(_, has)| *has).map(|(name, _)| (name, 1))
}
