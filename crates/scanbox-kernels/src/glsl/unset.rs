//! Shared memory that nobody has set: a GPU leaves there what the workgroup before had, and a software device zeros, or
//! what the same workgroup had in the call before. A kernel that reads a word before it is set, or where a barrier is
//! missing, is right by chance where that is what it looks for.

use std::collections::BTreeMap;

use super::spirv::{self, HEADER, code_of, constant, fresh, instructions, push};

/// What an unset word holds, in turns: as the number of a tile or of elements both are beyond all that there are, and
/// whatever is combined with them shows the one or the other. The upper half of a float is large, of either sign.
const GARBAGE: [u32; 2] = [0xDAC3_96B5, 0x5A3C_694B];

/// Numbers of a variable that are all given garbage: what subgroups tell each other is in few.
const MOST_NUMBERS: usize = 256;

/// Those of a larger one, which moves the elements of a tile: each store takes time to compile.
const SOME_NUMBERS: usize = 64;

/// The module whose shared variables hold garbage when it begins. One without a barrier of the workgroup shares
/// nothing.
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

/// What a type is made of.
enum Type {
    /// A number of so many bits.
    Number(u32),
    /// So many of another type, one after the other: a vector or an array.
    Row(u32, u32),
    /// One of each.
    Structure(Vec<u32>),
}

/// A module that is filled: its types, and what is declared beside them.
struct WithGarbage<'a> {
    made: &'a mut Vec<u32>,
    types: BTreeMap<u32, Type>,
    /// The type of indices.
    index: Option<u32>,
    indices: BTreeMap<u32, u32>,
    pointers: BTreeMap<u32, u32>,
    garbage: BTreeMap<(u32, usize), u32>,
}

impl WithGarbage<'_> {
    /// The numbers that a type is made of, each as the indices that lead to it and its type.
    fn numbers(&self, of: u32, at: &[u32], found: &mut Vec<(Vec<u32>, u32)>) {
        if found.len() > MOST_NUMBERS {
            return;
        }
        let mut part = |place: u32, of: u32| self.numbers(of, &[at, &[place]].concat(), found);
        match self.types.get(&of) {
            Some(Type::Number(_)) => found.push((at.to_vec(), of)),
            Some(Type::Row(of, length)) => (0..*length).for_each(|place| part(place, *of)),
            Some(Type::Structure(members)) => (0..).zip(members).for_each(|(place, of)| part(place, *of)),
            None => {}
        }
    }

    /// A number of garbage.
    fn garbage(&mut self, of: u32, turn: usize) -> u32 {
        let Self { made, types, garbage, .. } = self;
        let is_long = matches!(types.get(&of), Some(Type::Number(64)));
        *garbage.entry((of, turn)).or_insert_with(|| {
            let (name, word) = (fresh(made), GARBAGE[turn]);
            push(made, spirv::CONSTANT, &[&[of, name][..], &vec![word; 1 + usize::from(is_long)]].concat());
            name
        })
    }

    /// Stores garbage in all that a shared variable is made of.
    fn fill(&mut self, variable: u32, of: u32, stores: &mut Vec<u32>) {
        let mut numbers = Vec::new();
        self.numbers(of, &[], &mut numbers);
        if numbers.len() > MOST_NUMBERS {
            numbers.truncate(SOME_NUMBERS);
        }
        for (place, (at, of)) in numbers.into_iter().enumerate() {
            let value = self.garbage(of, place % GARBAGE.len());
            let pointer = if at.is_empty() { variable } else { self.pointer(variable, &at, of, stores) };
            push(stores, spirv::STORE, &[pointer, value, spirv::NON_PRIVATE]);
        }
    }

    /// A pointer to a part of a variable.
    fn pointer(&mut self, variable: u32, at: &[u32], of: u32, stores: &mut Vec<u32>) -> u32 {
        let Self { made, indices, pointers, index, .. } = self;
        let kind = *pointers.entry(of).or_insert_with(|| {
            let name = fresh(made);
            push(made, spirv::TYPE_POINTER, &[name, spirv::SHARED, of]);
            name
        });
        let index = index.unwrap_or_default();
        let mut chain = vec![kind, fresh(made), variable];
        for place in at {
            chain.push(*indices.entry(*place).or_insert_with(|| constant(made, index, *place)));
        }
        push(stores, spirv::ACCESS_CHAINS[0], &chain);
        chain[1]
    }
}

/// Declares what the stores of garbage need, and returns them.
fn declare(all: &[&[u32]], made: &mut Vec<u32>) -> Vec<u32> {
    let (mut constants, mut shared, mut variables) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    let (mut types, mut index) = (BTreeMap::new(), None);
    for one in all {
        match (code_of(one), &one[1..]) {
            (spirv::TYPE_INTEGER | spirv::TYPE_FLOAT, [name, bits @ (32 | 64), ..]) => {
                types.insert(*name, Type::Number(*bits));
                if code_of(one) == spirv::TYPE_INTEGER && *bits == 32 {
                    index = index.or(Some(*name));
                }
            }
            (spirv::TYPE_VECTOR, [name, of, length]) => {
                types.insert(*name, Type::Row(*of, *length));
            }
            (spirv::TYPE_ARRAY, [name, of, length]) => {
                types.insert(*name, Type::Row(*of, constants.get(length).copied().unwrap_or(0)));
            }
            (spirv::TYPE_STRUCTURE, [name, members @ ..]) => {
                types.insert(*name, Type::Structure(members.to_vec()));
            }
            (spirv::CONSTANT, [_, name, value, ..]) => {
                constants.insert(*name, *value);
            }
            (spirv::TYPE_POINTER, [name, spirv::SHARED, of]) => {
                shared.insert(*name, *of);
            }
            (spirv::VARIABLE, [kind, name, spirv::SHARED, ..]) => {
                variables.extend(shared.get(kind).map(|of| (*name, *of)));
            }
            _ => {}
        }
    }
    let mut module = WithGarbage {
        made,
        types,
        index,
        indices: BTreeMap::new(),
        pointers: BTreeMap::new(),
        garbage: BTreeMap::new(),
    };
    let mut stores = Vec::new();
    for (variable, of) in variables {
        module.fill(variable, of, &mut stores);
    }
    stores
}

#[cfg(test)]
mod tests {
    use super::super::spirv::written::{instruction, module};
    use super::{GARBAGE, MOST_NUMBERS, SOME_NUMBERS, with_garbage};

    const EVEN: u32 = GARBAGE[0];
    const ODD: u32 = GARBAGE[1];
    const SHARED: u32 = 4;

    /// Names: 1 uint, 2 float, 3 ulong; 10 and 11 constants; 40 a shared variable of type 20, which `types` make.
    fn check(types: &[Vec<u32>], declared: &[Vec<u32>], stores: &[Vec<u32>]) {
        let head = [
            &[
                instruction(21, &[1, 32, 0]),
                instruction(22, &[2, 32]),
                instruction(21, &[3, 64, 0]),
                instruction(43, &[1, 10, 2]),
                instruction(43, &[1, 11, 0x108]),
            ][..],
            types,
            &[instruction(32, &[30, SHARED, 20]), instruction(59, &[30, 40, SHARED])],
        ]
        .concat();
        let begin =
            [instruction(54, &[7, 9, 0, 8]), instruction(248, &[24]), instruction(59, &[4, 23, 7])].to_vec();
        let barrier = instruction(224, &[10, 10, 11]);
        let body = vec![instruction(61, &[1, 25, 20]), barrier.clone(), instruction(253, &[])];
        let names = declared.iter().chain(stores).filter(|one| one[0] as u16 != 62).count() as u32;
        let before = module(50, &[head.clone(), begin.clone(), body.clone()].concat());
        let filled = [head.clone(), declared.to_vec(), begin.clone(), stores.to_vec(), vec![barrier], body];
        assert_eq!(with_garbage(&before), module(50 + names, &filled.concat()));
        // Of a workgroup without a barrier, nothing changes.
        let alone = module(50, &[head, begin].concat());
        assert_eq!(with_garbage(&alone), alone);
    }

    #[test]
    fn what_is_shared_holds_garbage_when_a_module_begins() {
        let store = |pointer: u32, value: u32| instruction(62, &[pointer, value, 0x20]);
        let chain = |kind: u32, name: u32, at: &[u32]| instruction(65, &[&[kind, name, 40], at].concat());
        // A number: the variable itself.
        check(&[instruction(21, &[20, 32, 1])], &[instruction(43, &[20, 50, EVEN])], &[store(40, 50)]);
        // An array of two, whose numbers are long: both words are garbage, and the second another one.
        check(
            &[instruction(28, &[20, 3, 10])],
            &[
                instruction(43, &[3, 50, EVEN, EVEN]),
                instruction(32, &[51, SHARED, 3]),
                instruction(43, &[1, 53, 0]),
                instruction(43, &[3, 54, ODD, ODD]),
                instruction(43, &[1, 56, 1]),
            ],
            &[chain(51, 52, &[53]), store(52, 50), chain(51, 55, &[56]), store(55, 54)],
        );
        // An array of structures of a float and a vector of two: all that is in them.
        check(
            &[
                instruction(43, &[1, 12, 1]),
                instruction(23, &[13, 1, 2]),
                instruction(30, &[14, 2, 13]),
                instruction(28, &[20, 14, 12]),
            ],
            &[
                instruction(43, &[2, 50, EVEN]),
                instruction(32, &[51, SHARED, 2]),
                instruction(43, &[1, 53, 0]),
                instruction(43, &[1, 54, ODD]),
                instruction(32, &[55, SHARED, 1]),
                instruction(43, &[1, 57, 1]),
                instruction(43, &[1, 58, EVEN]),
            ],
            &[
                chain(51, 52, &[53, 53]),
                store(52, 50),
                chain(55, 56, &[53, 57, 53]),
                store(56, 54),
                chain(55, 59, &[53, 57, 57]),
                store(59, 58),
            ],
        );
    }

    #[test]
    fn of_a_large_array_the_first_numbers_are_garbage() {
        let stores = |length: u32| {
            let of = [
                instruction(21, &[1, 32, 0]),
                instruction(43, &[1, 10, 2]),
                instruction(43, &[1, 11, length]),
                instruction(28, &[20, 1, 11]),
                instruction(32, &[30, SHARED, 20]),
                instruction(59, &[30, 40, SHARED]),
                instruction(54, &[7, 9, 0, 8]),
                instruction(248, &[24]),
                instruction(224, &[10, 10, 11]),
            ];
            let made = with_garbage(&module(50, &of));
            super::instructions(&made).iter().filter(|one| one[0] as u16 == 62).count()
        };
        let most = MOST_NUMBERS as u32;
        assert_eq!([3, most, most + 1].map(stores), [3, MOST_NUMBERS, SOME_NUMBERS]);
    }
}
