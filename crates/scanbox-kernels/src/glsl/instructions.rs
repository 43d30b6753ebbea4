//! The instructions of a module in SPIR-V.

/// Words before the first instruction.
pub(super) const HEADER: usize = 5;

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
