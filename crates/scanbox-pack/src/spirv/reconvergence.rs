//! Maximal reconvergence: invocations of a subgroup that have diverged come together again where the structure of the
//! code says so (SPIR-V extension `SPV_KHR_maximal_reconvergence`).
//!
//! Whether a device has it is known only there, so modules are compiled and packed without it.

use std::collections::BTreeSet;

use super::{OP_CAPABILITY, OP_ENTRY_POINT, OP_EXECUTION_MODE, OP_EXECUTION_MODE_ID, instructions};

/// The extension.
const EXTENSION: &str = "SPV_KHR_maximal_reconvergence";

// Numbers of the specification of SPIR-V, and of the extension.
const OP_EXTENSION: u32 = 10;
const OP_EXT_INST_IMPORT: u32 = 11;
const OP_MEMORY_MODEL: u32 = 14;
const OP_LOOP_MERGE: u32 = 246;
const OP_SELECTION_MERGE: u32 = 247;
const OP_LABEL: u32 = 248;
const OP_BRANCH: u32 = 249;
const OP_BRANCH_CONDITIONAL: u32 = 250;
const OP_SWITCH: u32 = 251;
const MAXIMALLY_RECONVERGES: u32 = 6023;

/// The module, whose entry point asks for maximal reconvergence; one that does is left as it is.
///
/// # Errors
/// Why it cannot ask: it is no SPIR-V, its parts are not in the order of SPIR-V, it has not exactly one entry point, or
/// its control flow has a join that the extension does not allow.
pub fn reconverging(words: &[u32]) -> Result<Vec<u32>, String> {
    let extension = extension();
    let mut entry_point = None;
    let mut has_extension = false;
    let mut modes = Vec::new();
    // Where the parts of a module end that new instructions go to: extensions, and execution modes.
    let mut ends = [None; 2];
    let mut part = 0;
    let mut flow = ControlFlow::default();
    for instruction in instructions(words)? {
        let (place, code, instruction) = instruction?;
        let before = std::mem::replace(&mut part, part_of(code));
        if part < before {
            return Err(format!("the instruction at word {place} stands too far behind: code {code}"));
        }
        for (end, last) in ends.iter_mut().zip([EXTENSIONS, EXECUTION_MODES]) {
            if part > last {
                end.get_or_insert(place);
            }
        }
        match (code, instruction) {
            (OP_EXTENSION, name) => has_extension |= name == extension,
            (OP_ENTRY_POINT, [_, id, ..]) if entry_point.is_none() => entry_point = Some(*id),
            (OP_ENTRY_POINT, _) => return Err("more than one entry point".to_owned()),
            (OP_EXECUTION_MODE, [of, MAXIMALLY_RECONVERGES]) => modes.push(*of),
            _ => flow.take(code, instruction)?,
        }
    }
    let entry_point = entry_point.ok_or("no entry point")?;
    flow.check()?;
    let [end_of_extensions, end_of_modes] = ends.map(|end| end.unwrap_or(words.len()));
    let mut made = words[..end_of_extensions].to_vec();
    if !has_extension {
        put(&mut made, OP_EXTENSION, &extension);
    }
    made.extend(&words[end_of_extensions..end_of_modes]);
    if !modes.contains(&entry_point) {
        put(&mut made, OP_EXECUTION_MODE, &[entry_point, MAXIMALLY_RECONVERGES]);
    }
    made.extend(&words[end_of_modes..]);
    Ok(made)
}

// The parts of a module, in their order (SPIR-V, "Logical Layout of a Module").
const EXTENSIONS: u32 = 1;
const EXECUTION_MODES: u32 = 5;

fn part_of(code: u32) -> u32 {
    match code {
        OP_CAPABILITY => 0,
        OP_EXTENSION => EXTENSIONS,
        OP_EXT_INST_IMPORT => 2,
        OP_MEMORY_MODEL => 3,
        OP_ENTRY_POINT => 4,
        OP_EXECUTION_MODE | OP_EXECUTION_MODE_ID => EXECUTION_MODES,
        _ => 6,
    }
}

/// The name of the extension as words hold it: with a zero at its end, filled up with zeros.
fn extension() -> Vec<u32> {
    let mut bytes = EXTENSION.as_bytes().to_vec();
    bytes.resize((bytes.len() + 1).next_multiple_of(4), 0);
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn put(words: &mut Vec<u32>, code: u32, operands: &[u32]) {
    words.push((operands.len() as u32 + 1) << 16 | code);
    words.extend(operands);
}

/// Where blocks join: with the execution mode a block that several others branch to begins a loop, or is named by a
/// merge instruction or a switch.
#[derive(Default)]
struct ControlFlow {
    /// The block that the next instruction stands in.
    block: u32,
    /// Branches: the block that each goes to, and the one that it comes from.
    branches: BTreeSet<(u32, u32)>,
    /// Blocks that others may join in.
    joins: BTreeSet<u32>,
}

impl ControlFlow {
    fn take(&mut self, code: u32, instruction: &[u32]) -> Result<(), String> {
        let block = self.block;
        match (code, instruction) {
            (OP_LABEL, [id]) => self.block = *id,
            (OP_LOOP_MERGE, [merge, next, ..]) => self.joins.extend([*merge, *next, block]),
            (OP_SELECTION_MERGE, [merge, ..]) => self.joins.extend([*merge]),
            // Its literals too: how long they are says a type. One that is the id of a block by chance lets that pass.
            (OP_SWITCH, [_, targets @ ..]) => self.joins.extend(targets),
            (OP_BRANCH, [to]) => self.branches.extend([(*to, block)]),
            (OP_BRANCH_CONDITIONAL, [_, yes, no, ..]) if yes == no => {
                return Err(format!("a branch that goes to block {yes} in both cases"));
            }
            (OP_BRANCH_CONDITIONAL, [_, yes, no, ..]) => self.branches.extend([(*yes, block), (*no, block)]),
            _ => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let targets: Vec<u32> = self.branches.iter().map(|(to, _)| *to).collect();
        let twice = targets.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        match twice.into_iter().find(|block| !self.joins.contains(block)) {
            Some(block) => Err(format!("block {block}, which several branch to, is where no branches merge")),
            None => Ok(()),
        }
    }
}
