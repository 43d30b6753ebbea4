//! The instructions of a module in SPIR-V, and the numbers of its specification.

use std::ops::RangeInclusive;

/// Words before the first instruction.
pub(super) const HEADER: usize = 5;
/// The one of them that says how many names there are.
pub(super) const BOUND: usize = 3;

// Instructions.
pub(super) const NAME: u16 = 5;
pub(super) const STRING: u16 = 7;
pub(super) const LINE: u16 = 8;
pub(super) const TYPE_INTEGER: u16 = 21;
pub(super) const TYPE_FLOAT: u16 = 22;
pub(super) const TYPE_VECTOR: u16 = 23;
pub(super) const TYPE_ARRAY: u16 = 28;
pub(super) const TYPE_STRUCTURE: u16 = 30;
pub(super) const TYPE_POINTER: u16 = 32;
pub(super) const CONSTANT: u16 = 43;
pub(super) const FUNCTION: u16 = 54;
pub(super) const PARAMETER: u16 = 55;
pub(super) const FUNCTION_END: u16 = 56;
pub(super) const CALL: u16 = 57;
pub(super) const VARIABLE: u16 = 59;
pub(super) const LOAD: u16 = 61;
pub(super) const STORE: u16 = 62;
pub(super) const COPY_MEMORY: u16 = 63;
/// Those that lead on from a base.
pub(super) const ACCESS_CHAINS: [u16; 3] = [65, 66, 67];
pub(super) const POINTERS_OF_NUMBERS: [u16; 2] = [120, 121];
pub(super) const CONTROL_BARRIER: u16 = 224;
pub(super) const MEMORY_BARRIER: u16 = 225;
pub(super) const ATOMIC_LOAD: u16 = 227;
pub(super) const ATOMIC_STORE: u16 = 228;
/// Atomic operations that read and write: exchanges, numbers and bits; then floats.
pub(super) const ATOMIC_CHANGES: [RangeInclusive<u16>; 3] = [229..=242, 5614..=5615, 6035..=6035];
pub(super) const LOOP_MERGE: u16 = 246;
pub(super) const LABEL: u16 = 248;
/// Of images, of emitting, barriers and atomics, of subgroups.
pub(super) const BEYOND_ARGUMENTS: [RangeInclusive<u16>; 4] = [86..=107, 218..=242, 333..=366, 4416..=6100];

// Storage classes: what the invocations of a workgroup share, what a function has for itself, and memory of the device.
pub(super) const SHARED: u32 = 4;
pub(super) const IN_FUNCTION: u32 = 7;
pub(super) const BUFFERS: [u32; 2] = [12, 5349];

// Scopes: of a workgroup; those of more are of all devices, of this one, and of the queues of a family.
pub(super) const WORKGROUP: u32 = 2;
pub(super) const BEYOND_WORKGROUPS: [u32; 3] = [0, 1, 5];

// Bits of memory operands; those that make available or visible are followed by a scope each.
pub(super) const ALIGNED: u32 = 0x2;
pub(super) const MAKE_POINTER_AVAILABLE: u32 = 0x8;
pub(super) const MAKE_POINTER_VISIBLE: u32 = 0x10;
pub(super) const NON_PRIVATE: u32 = 0x20;

// Bits of memory semantics.
pub(super) const ACQUIRE: u32 = 0x2;
pub(super) const RELEASE: u32 = 0x4;
pub(super) const ACQUIRE_AND_RELEASE: u32 = 0x8 | 0x10;
pub(super) const BUFFER_MEMORY: u32 = 0x40;
pub(super) const SHARED_MEMORY: u32 = 0x100;
pub(super) const MAKE_AVAILABLE: u32 = 0x2000;
pub(super) const MAKE_VISIBLE: u32 = 0x4000;
pub(super) const VOLATILE: u32 = 0x8000;

/// The instructions of a module, each with its first word.
pub(super) fn instructions(words: &[u32]) -> Vec<&[u32]> {
    let mut rest = words.get(HEADER..).unwrap_or_default();
    let mut found = Vec::new();
    while let Some((one, behind)) =
        rest.first().and_then(|first| rest.split_at_checked(((first >> 16) as usize).max(1)))
    {
        found.push(one);
        rest = behind;
    }
    found
}

/// Its number in the specification.
pub(super) fn code_of(instruction: &[u32]) -> u16 {
    instruction[0] as u16
}

/// A name that nothing else has in a module that is being made.
pub(super) fn fresh(made: &mut [u32]) -> u32 {
    made[BOUND] += 1;
    made[BOUND] - 1
}

/// Declares a constant of a type in a module that is being made. Returns its name.
pub(super) fn constant(made: &mut Vec<u32>, kind: u32, value: u32) -> u32 {
    let name = fresh(made);
    push(made, CONSTANT, &[kind, name, value]);
    name
}

/// Writes an instruction by its number and operands.
pub(super) fn push(to: &mut Vec<u32>, code: u16, operands: &[u32]) {
    to.push((operands.len() as u32 + 1) << 16 | u32::from(code));
    to.extend(operands);
}

/// What tests write modules with.
#[cfg(test)]
pub(super) mod written {
    use super::super::SPIRV_MAGIC;

    /// An instruction by its number and operands.
    pub(in super::super) fn instruction(code: u32, operands: &[u32]) -> Vec<u32> {
        [&[(operands.len() as u32 + 1) << 16 | code][..], operands].concat()
    }

    /// A module whose names are below `bound`.
    pub(in super::super) fn module(bound: u32, all: &[Vec<u32>]) -> Vec<u32> {
        [&[SPIRV_MAGIC, 0x0001_0600, 0, bound, 0][..], &all.concat()].concat()
    }
}
