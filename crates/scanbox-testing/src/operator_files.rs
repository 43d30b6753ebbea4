//! Operators of users for tests: the examples that come with scanbox, and one of 4 bytes.

use std::path::Path;

use scanbox_kernels::operator_file::{OperatorFile, OperatorSource};
use scanbox_model::user_operator::UserOperator;

/// The last element that is not zero: not commutative.
const LAST: &str = include_str!("operators/last.glsl");

/// Permutations of eight things, four bits for where each goes: that of the earlier element comes first. Hardly two of
/// them commute, and none loses anything of what is before it.
const PERMUTATION: &str = include_str!("operators/permutation.glsl");

/// An example that comes with scanbox.
pub fn example(name: &str) -> OperatorFile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/operators");
    OperatorFile::read(&folder.join(format!("{name}.glsl"))).unwrap()
}

/// An operator from a text, under a name.
pub fn operator(name: &str, text: &str) -> OperatorFile {
    OperatorFile::new(OperatorSource { path: format!("{name}.glsl"), text: text.to_owned() }).unwrap()
}

/// One of each kind: every size, commutative and not, exact and not.
pub fn all() -> Vec<OperatorFile> {
    let examples = ["affine", "affine-f32", "matrix2x2", "segmented-sum", "argmax", "text-position"];
    examples
        .into_iter()
        .map(example)
        .chain([operator("last", LAST), operator("permutation", PERMUTATION)])
        .collect()
}

/// The file of an operator.
pub fn of(user: &UserOperator) -> OperatorFile {
    all().into_iter().find(|file| file.operator() == *user).unwrap()
}
