//! What SPIR-V says of itself: enough to know that it is SPIR-V, and what a device must have for it. And what can be
//! asked of a device that has it ([`reconverging`]).
//!
//! This is no validation of code. Who loads a pack runs what is in it.

mod reconvergence;

use std::collections::HashMap;

use crate::promises::FeatureSet;

pub use reconvergence::reconverging;

/// The first word of every module.
pub const MAGIC: u32 = 0x0723_0203;

/// Words before the first instruction.
const HEADER_WORDS: usize = 5;

/// SPIR-V 1.6, the newest that Vulkan 1.3 takes.
const NEWEST: u32 = 0x0001_0600;

// Numbers of the specification of SPIR-V.
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_TYPE_BOOL: u32 = 20;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_TYPE_VECTOR: u32 = 23;
const OP_TYPE_ARRAY: u32 = 28;
const OP_TYPE_STRUCT: u32 = 30;
const OP_TYPE_POINTER: u32 = 32;
const OP_CONSTANT: u32 = 43;
const OP_VARIABLE: u32 = 59;
/// From the first operation of subgroups on to the last one that has a value for a result.
const GROUP_OPERATIONS: std::ops::RangeInclusive<u32> = 333..=366;
const SHARED: u32 = 4;
const OP_EXECUTION_MODE_ID: u32 = 331;
const GL_COMPUTE: u32 = 5;
const LOCAL_SIZE: u32 = 17;
const LOCAL_SIZE_ID: u32 = 38;
const SUBGROUP_UNIFORM_CONTROL_FLOW: u32 = 4421;

/// What a module says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModuleFacts {
    /// Features by its capabilities and modes.
    pub features: FeatureSet,
    /// Invocations per workgroup.
    pub workgroup_size: u32,
    /// Bytes of shared memory of a workgroup, each variable at a multiple of 16.
    pub shared_bytes: u64,
}

/// Types and constants of a module, by their ids, as far as they are needed.
#[derive(Default)]
struct DeclaredTypes {
    /// Bytes of a value of a type, nothing between its members.
    bytes: HashMap<u32, u64>,
    /// Types made of 64-bit integers.
    wide_integers: Vec<u32>,
    /// What pointers to shared memory point to.
    shared: HashMap<u32, u32>,
    constants: HashMap<u32, u32>,
}

impl DeclaredTypes {
    /// Takes a declaration in; other instructions are left alone. What is used is declared before.
    fn declare(&mut self, code: u32, instruction: &[u32]) {
        let bytes = |id: &u32| self.bytes.get(id).copied().unwrap_or(0);
        match (code, instruction) {
            (OP_TYPE_BOOL, [id]) => {
                self.bytes.insert(*id, 4);
            }
            (OP_TYPE_INT | OP_TYPE_FLOAT, [id, bits, ..]) => {
                self.bytes.insert(*id, u64::from(*bits / 8));
                if code == OP_TYPE_INT && *bits == 64 {
                    self.wide_integers.push(*id);
                }
            }
            (OP_TYPE_VECTOR, [id, of, count]) => {
                let all = bytes(of).saturating_mul((*count).into());
                self.bytes.insert(*id, all);
                if self.wide_integers.contains(of) {
                    self.wide_integers.push(*id);
                }
            }
            (OP_TYPE_ARRAY, [id, of, length]) => {
                let count = self.constants.get(length).copied().unwrap_or(0);
                let all = bytes(of).saturating_mul(count.into());
                self.bytes.insert(*id, all);
            }
            (OP_TYPE_STRUCT, [id, members @ ..]) => {
                let all = members.iter().map(bytes).fold(0, u64::saturating_add);
                self.bytes.insert(*id, all);
            }
            (OP_TYPE_POINTER, [id, SHARED, of]) => {
                self.shared.insert(*id, *of);
            }
            (OP_CONSTANT, [_, id, value]) => {
                self.constants.insert(*id, *value);
            }
            _ => {}
        }
    }

    /// Bytes of shared memory of a variable of this type.
    fn shared_bytes(&self, pointer: u32) -> u64 {
        let bytes = self.shared.get(&pointer).and_then(|of| self.bytes.get(of)).copied().unwrap_or(0);
        bytes.checked_next_multiple_of(16).unwrap_or(u64::MAX)
    }
}

/// The features that a capability stands for; `None` where no kernel has it.
fn features(capability: u32) -> Option<FeatureSet> {
    Some(match capability {
        // Shader, GroupNonUniform, VulkanMemoryModel, its device scope, PhysicalStorageBufferAddresses.
        1 | 61 | 5345..=5347 => FeatureSet::NONE,
        10 => FeatureSet::FLOAT64,
        11 => FeatureSet::INT64,
        12 => FeatureSet::INT64_ATOMICS,
        62 => FeatureSet::VOTE,
        63 => FeatureSet::ARITHMETIC,
        64 => FeatureSet::BALLOT,
        65 => FeatureSet::SHUFFLE,
        66 => FeatureSet::SHUFFLE_RELATIVE,
        67 => FeatureSet::CLUSTERED,
        68 => FeatureSet::QUAD,
        _ => return None,
    })
}

/// An instruction: its place among the words of its module, its code, and its words behind the first one.
type SpirvInstruction<'a> = (usize, u32, &'a [u32]);

/// The instructions of a module.
fn instructions(words: &[u32]) -> Result<impl Iterator<Item = Result<SpirvInstruction<'_>, String>>, String> {
    let [magic, version, _, _, 0, ..] = words else {
        return Err(format!("{} words without the header of SPIR-V", words.len()));
    };
    if *magic != MAGIC {
        return Err(format!("it begins with {magic:#010x}, and SPIR-V begins with {MAGIC:#010x}"));
    }
    if *version > NEWEST {
        return Err(format!("SPIR-V version {version:#x}, and Vulkan 1.3 takes {NEWEST:#x} and older"));
    }
    let mut rest = &words[HEADER_WORDS..];
    Ok(std::iter::from_fn(move || {
        let [first, ..] = rest else { return None };
        let (length, code) = ((first >> 16) as usize, first & 0xffff);
        let place = words.len() - rest.len();
        let Some(instruction) = rest.get(1..length) else {
            let left = std::mem::take(&mut rest).len();
            let reason = format!("the instruction at word {place} has {length} words, and {left} are left");
            return Some(Err(reason));
        };
        rest = &rest[length..];
        Some(Ok((place, code, instruction)))
    }))
}

/// What a module says of itself.
///
/// # Errors
/// Why it is no SPIR-V of a kernel.
pub fn facts(words: &[u32]) -> Result<ModuleFacts, String> {
    let mut found = ModuleFacts::default();
    let mut has_entry = false;
    let mut types = DeclaredTypes::default();
    let mut sizes: Option<[SizeConstant; 3]> = None;
    for instruction in instructions(words)? {
        let (place, code, instruction) = instruction?;
        types.declare(code, instruction);
        match (code, instruction) {
            (OP_CAPABILITY, [capability]) => {
                let features = features(*capability)
                    .ok_or_else(|| format!("capability {capability}, which no kernel has"))?;
                found.features = found.features.with(features);
            }
            (OP_CAPABILITY, _) => return Err(format!("word {place} is not a capability")),
            (OP_ENTRY_POINT, [GL_COMPUTE, _, name @ ..]) if name.starts_with(&main_name()) && !has_entry => {
                has_entry = true;
            }
            (OP_ENTRY_POINT, _) => return Err("another entry point than one compute shader, main".to_owned()),
            (OP_EXECUTION_MODE, [_, LOCAL_SIZE, x, y, z]) if sizes.is_none() => {
                sizes = Some([*x, *y, *z].map(|value| SizeConstant { id: None, value }));
            }
            (OP_EXECUTION_MODE_ID, [_, LOCAL_SIZE_ID, x, y, z]) if sizes.is_none() => {
                sizes = Some([*x, *y, *z].map(|id| SizeConstant { id: Some(id), value: 0 }));
            }
            (OP_EXECUTION_MODE, [_, LOCAL_SIZE, ..]) | (OP_EXECUTION_MODE_ID, [_, LOCAL_SIZE_ID, ..]) => {
                return Err("two workgroup sizes".to_owned());
            }
            (OP_CONSTANT, [_, id, value]) => {
                let named = sizes.iter_mut().flatten().filter(|size| size.id == Some(*id));
                named.for_each(|size| size.value = *value);
            }
            (OP_VARIABLE, [pointer, _, SHARED, ..]) => {
                found.shared_bytes = found.shared_bytes.saturating_add(types.shared_bytes(*pointer));
            }
            // No capability says so.
            (code, [result, ..])
                if GROUP_OPERATIONS.contains(&code) && types.wide_integers.contains(result) =>
            {
                found.features = found.features.with(FeatureSet::EXTENDED_TYPES);
            }
            (OP_EXECUTION_MODE, [_, SUBGROUP_UNIFORM_CONTROL_FLOW]) => {
                found.features = found.features.with(FeatureSet::UNIFORM_CONTROL_FLOW);
            }
            _ => {}
        }
    }
    if !has_entry {
        return Err("no entry point".to_owned());
    }
    // A size that is a constant of the pipeline is not there either.
    match sizes.map(|sizes| sizes.map(|size| size.value)) {
        Some([workgroup_size, 1, 1]) if workgroup_size > 0 => Ok(ModuleFacts { workgroup_size, ..found }),
        Some([0, ..] | [_, 0, _] | [_, _, 0]) | None => Err("no workgroup size".to_owned()),
        Some(_) => Err("workgroups of more than one dimension".to_owned()),
    }
}

/// A workgroup size in one dimension: a number, or a constant that stands further behind.
struct SizeConstant {
    id: Option<u32>,
    value: u32,
}

/// `main`, and the zeros that end it.
fn main_name() -> [u32; 2] {
    [u32::from_le_bytes(*b"main"), 0]
}
