//! What shaders are told: the numbers behind the names of their defines, and push constants.

use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::ElementValue;
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

/// The push constants of the initial value of an exclusive scan; none of other scans.
pub(super) fn initial_words(init: Option<ElementValue>) -> impl Iterator<Item = PushWord> {
    init.into_iter().flat_map(|init| [init.bits as u32, (init.bits >> 32) as u32].map(PushWord::Value))
}
