//! Subgroups apart: modules whose accesses to shared memory are ordered by barriers alone.
//!
//! What is compiled in the Vulkan memory model makes each store to shared memory available, and each load visible. A
//! software device that runs one subgroup after the other takes either for a barrier: a barrier that is missing hides
//! there. Here the barriers do both, as the memory model has it for all that comes before and after them.

use std::collections::{BTreeMap, BTreeSet};

use super::spirv::{self, HEADER, code_of, instructions};

/// The module with barriers that make what is shared available and visible, and accesses that do not.
pub(super) fn subgroups_apart(words: &[u32]) -> Vec<u32> {
    let all = instructions(words);
    let mut pointers = BTreeSet::new();
    let mut shared = BTreeSet::new();
    let mut constants = BTreeMap::new();
    for one in &all {
        match (code_of(one), &one[1..]) {
            (spirv::TYPE_POINTER, [name, spirv::SHARED, ..]) => {
                pointers.insert(*name);
            }
            (spirv::CONSTANT, [kind, name, value]) => {
                constants.insert(*name, (*kind, *value));
            }
            // Of what has a type and a name, they come first.
            (code, [kind, name, ..]) if code != spirv::STORE && pointers.contains(kind) => {
                shared.insert(*name);
            }
            _ => {}
        }
    }
    let mut made = words[..HEADER].to_vec();
    let mut full = BTreeMap::new();
    for one in &all {
        if code_of(one) == spirv::FUNCTION && full.is_empty() {
            full = full_semantics(&all, &constants, &mut made);
        }
        match (code_of(one), &one[1..]) {
            (spirv::LOAD, [_, _, pointer, ..]) if shared.contains(pointer) => push_plain(&mut made, one, 4),
            (spirv::STORE, [pointer, ..]) if shared.contains(pointer) => push_plain(&mut made, one, 3),
            (spirv::CONTROL_BARRIER | spirv::MEMORY_BARRIER, [.., semantics]) => {
                made.extend(&one[..one.len() - 1]);
                made.push(*full.get(semantics).unwrap_or(semantics));
            }
            _ => made.extend(*one),
        }
    }
    made
}

/// Declares what the semantics of barriers become, and returns it by what they are.
fn full_semantics(
    all: &[&[u32]],
    constants: &BTreeMap<u32, (u32, u32)>,
    made: &mut Vec<u32>,
) -> BTreeMap<u32, u32> {
    let mut full = BTreeMap::new();
    for one in all {
        let (spirv::CONTROL_BARRIER | spirv::MEMORY_BARRIER, Some(semantics)) = (code_of(one), one.last())
        else {
            continue;
        };
        let Some((kind, value)) = constants.get(semantics) else { continue };
        if value & spirv::SHARED_MEMORY != 0 && !full.contains_key(semantics) {
            let value = value | spirv::MAKE_AVAILABLE | spirv::MAKE_VISIBLE;
            full.insert(*semantics, spirv::constant(made, *kind, value));
        }
    }
    full
}

/// A load or a store, whose memory operands begin at a place, without those that order it.
fn push_plain(made: &mut Vec<u32>, one: &[u32], place: usize) {
    let begin = made.len();
    made.extend(&one[..place.min(one.len())]);
    if let Some((mask, operands)) = one.get(place..).and_then(|rest| rest.split_first()) {
        made.push(mask & !(spirv::MAKE_POINTER_AVAILABLE | spirv::MAKE_POINTER_VISIBLE));
        let alignments = usize::from(mask & spirv::ALIGNED != 0);
        made.extend(&operands[..alignments.min(operands.len())]);
    }
    made[begin] = ((made.len() - begin) as u32) << 16 | (one[0] & 0xffff);
}

#[cfg(test)]
mod tests {
    use super::super::spirv::written::{instruction, module};
    use super::subgroups_apart;

    #[test]
    fn barriers_alone_order_what_is_shared() {
        // Names: 1 uint, 2 a pointer to what is shared, 3 one to a buffer, 4 semantics, 5 others, 8 a scope.
        let head = [
            instruction(32, &[2, 4, 1]),
            instruction(32, &[3, 12, 1]),
            instruction(43, &[1, 4, 0x108]),
            instruction(43, &[1, 5, 0x48]),
            instruction(43, &[1, 8, 2]),
            instruction(59, &[2, 6, 4]),
            instruction(59, &[3, 7, 12]),
        ];
        let begin = instruction(54, &[1, 9, 0, 1]);
        let body = [
            instruction(65, &[2, 10, 6, 4]),
            instruction(62, &[10, 4, 0x2a, 4, 8]),
            instruction(224, &[8, 8, 4]),
            instruction(61, &[1, 11, 10, 0x30, 8]),
            instruction(61, &[1, 12, 6]),
            instruction(61, &[1, 13, 7, 0x30, 8]),
            instruction(225, &[8, 5]),
            instruction(225, &[8, 4]),
        ];
        let apart = [
            instruction(65, &[2, 10, 6, 4]),
            instruction(62, &[10, 4, 0x22, 4]),
            instruction(224, &[8, 8, 14]),
            instruction(61, &[1, 11, 10, 0x20]),
            instruction(61, &[1, 12, 6]),
            instruction(61, &[1, 13, 7, 0x30, 8]),
            instruction(225, &[8, 5]),
            instruction(225, &[8, 14]),
        ];
        let before = module(14, &[&head[..], std::slice::from_ref(&begin), &body].concat());
        let full = instruction(43, &[1, 14, 0x6108]);
        let after = module(15, &[&head[..], &[full, begin], &apart].concat());
        assert_eq!(subgroups_apart(&before), after);
    }
}
