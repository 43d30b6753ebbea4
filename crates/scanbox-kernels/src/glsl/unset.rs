//! Shared memory that nobody has set: a GPU leaves there what the workgroup before had, and a software device zeros. A
//! kernel that reads a word before it is set is right by chance where there are zeros.

use std::collections::BTreeMap;

use super::spirv::{self, HEADER, code_of, constant, fresh, instructions, push};

/// What an unset word holds: as the number of a tile or of elements it is beyond all that there are.
const GARBAGE: u32 = 0xA5C3_96B5;

/// Words of an array that are given garbage: what workgroups agree on is in few.
const MOST_WORDS: u32 = 64;

/// The module whose shared variables of 32-bit integers, and arrays of such, hold garbage when it begins. One without a
/// barrier of the workgroup shares nothing.
pub(super) fn with_garbage(words: &[u32]) -> Vec<u32> {
    let all = instructions(words);
    let is_of_workgroup = |name: u32| {
        let is_it = |one: &&[u32]| code_of(one) == spirv::CONSTANT && one[2..] == [name, spirv::WORKGROUP];
        all.iter().any(is_it)
    };
    let is_barrier = |one: &&&[u32]| code_of(one) == spirv::CONTROL_BARRIER && is_of_workgroup(one[1]);
    let Some(barrier) = all.iter().find(is_barrier) else { return words.to_vec() };
    let Some(function) = all.iter().position(|one| code_of(one) == spirv::FUNCTION) else {
        return words.to_vec();
    };
    // Its variables come first in it.
    const HEAD: [u16; 4] = [spirv::FUNCTION, spirv::PARAMETER, spirv::LABEL, spirv::VARIABLE];
    let is_head = |one: &&&[u32]| HEAD.contains(&code_of(one));
    let (before, rest) = all.split_at(function);
    let (head, body) = rest.split_at(rest.iter().take_while(is_head).count());
    let mut made = [&words[..HEADER], &before.concat()].concat();
    let stores = declare(&all, &mut made);
    if stores.is_empty() {
        return words.to_vec();
    }
    made.extend([&head.concat(), &stores, *barrier, &body.concat()].concat());
    made
}

/// Declares what the stores of garbage need, and returns them.
fn declare(all: &[&[u32]], made: &mut Vec<u32>) -> Vec<u32> {
    let (mut integers, mut lengths) = (Vec::new(), BTreeMap::new());
    let (mut constants, mut pointers, mut variables) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for one in all {
        match (code_of(one), &one[1..]) {
            (spirv::TYPE_INTEGER, [name, 32, _]) => integers.push(*name),
            (spirv::CONSTANT, [_, name, value]) => {
                constants.insert(*name, *value);
            }
            (spirv::TYPE_ARRAY, [name, of, length]) => {
                lengths.insert(*name, (*of, constants.get(length).copied().unwrap_or(0)));
            }
            (spirv::TYPE_POINTER, [name, spirv::SHARED, of]) => {
                pointers.insert(*name, *of);
            }
            (spirv::VARIABLE, [kind, name, spirv::SHARED, ..]) => {
                variables.extend(pointers.get(kind).map(|of| (*name, *of)));
            }
            _ => {}
        }
    }
    let mut stores = Vec::new();
    let mut garbage = BTreeMap::new();
    for (variable, of) in variables {
        let (word, length) = match lengths.get(&of) {
            Some((word, length)) => (*word, Some((*length).min(MOST_WORDS))),
            None => (of, None),
        };
        if !integers.contains(&word) {
            continue;
        }
        let value = *garbage.entry(word).or_insert_with(|| constant(made, word, GARBAGE));
        let Some(length) = length else {
            push(&mut stores, spirv::STORE, &[variable, value, spirv::NON_PRIVATE]);
            continue;
        };
        let kind = fresh(made);
        push(made, spirv::TYPE_POINTER, &[kind, spirv::SHARED, word]);
        for place in 0..length {
            let (index, pointer) = (constant(made, word, place), fresh(made));
            push(&mut stores, spirv::ACCESS_CHAINS[0], &[kind, pointer, variable, index]);
            push(&mut stores, spirv::STORE, &[pointer, value, spirv::NON_PRIVATE]);
        }
    }
    stores
}

#[cfg(test)]
mod tests {
    use super::super::spirv::written::{instruction, module};
    use super::{GARBAGE, with_garbage};

    // Names: 1 uint, 2 float, 3 an array of two uint, 4 to 6 pointers to these where they are shared, 10 and 11
    // constants, 20 to 22 shared variables, 23 one of the function.
    fn head() -> Vec<Vec<u32>> {
        vec![
            instruction(21, &[1, 32, 0]),
            instruction(22, &[2, 32]),
            instruction(43, &[1, 10, 2]),
            instruction(43, &[1, 11, 0x108]),
            instruction(28, &[3, 1, 10]),
            instruction(32, &[4, 4, 1]),
            instruction(32, &[5, 4, 2]),
            instruction(32, &[6, 4, 3]),
            instruction(59, &[4, 20, 4]),
            instruction(59, &[5, 21, 4]),
            instruction(59, &[6, 22, 4]),
        ]
    }

    #[test]
    fn words_that_are_shared_hold_garbage_when_a_module_begins() {
        let begin =
            vec![instruction(54, &[7, 9, 0, 8]), instruction(248, &[24]), instruction(59, &[4, 23, 7])];
        let barrier = instruction(224, &[10, 10, 11]);
        let body = vec![instruction(61, &[1, 25, 20]), barrier.clone(), instruction(253, &[])];
        let before = module(30, &[head(), begin.clone(), body.clone()].concat());
        let declared = vec![
            instruction(43, &[1, 30, GARBAGE]),
            instruction(32, &[31, 4, 1]),
            instruction(43, &[1, 32, 0]),
            instruction(43, &[1, 34, 1]),
        ];
        let stores = vec![
            instruction(62, &[20, 30, 0x20]),
            instruction(65, &[31, 33, 22, 32]),
            instruction(62, &[33, 30, 0x20]),
            instruction(65, &[31, 35, 22, 34]),
            instruction(62, &[35, 30, 0x20]),
            barrier,
        ];
        let after = module(36, &[head(), declared, begin, stores, body].concat());
        assert_eq!(with_garbage(&before), after);
        // Of a workgroup without a barrier, nothing changes.
        let alone =
            module(30, &[head(), vec![instruction(54, &[7, 9, 0, 8]), instruction(248, &[24])]].concat());
        assert_eq!(with_garbage(&alone), alone);
    }
}
