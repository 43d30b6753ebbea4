//! Modules that ask for maximal reconvergence.

use scanbox_pack::spirv::{facts, reconverging};

use crate::packs::spirv as code;

/// An instruction.
fn op(code: u32, operands: &[u32]) -> Vec<u32> {
    [&[(operands.len() as u32 + 1) << 16 | code], operands].concat()
}

/// `OpExtension "SPV_KHR_maximal_reconvergence"`, and `OpExecutionMode %4 MaximallyReconvergesKHR`.
fn asked() -> [Vec<u32>; 2] {
    let name = b"SPV_KHR_maximal_reconvergence\0\0\0";
    let name: Vec<u32> =
        name.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    [op(10, &name), op(16, &[4, 6023])]
}

/// The instructions of a kernel, part by part.
struct Parts {
    header: Vec<u32>,
    capabilities: Vec<u32>,
    extensions: Vec<u32>,
    /// Instruction sets, the memory model, the entry point.
    between: Vec<u32>,
    modes: Vec<u32>,
    /// A name, a function.
    rest: Vec<u32>,
}

impl Parts {
    fn new() -> Self {
        let [main, zero] = [u32::from_le_bytes(*b"main"), 0];
        let between = [op(11, &[1, main, zero]), op(14, &[5348, 3]), op(15, &[5, 4, main, zero])];
        Self {
            header: vec![0x0723_0203, 0x0001_0600, 0, 30, 0],
            capabilities: [op(17, &[1]), op(17, &[61])].concat(),
            extensions: op(10, &[u32::from_le_bytes(*b"SPV_"), zero]),
            between: between.concat(),
            modes: [op(16, &[4, 17, 128, 1, 1]), op(331, &[4, 38, 7, 8, 8]), op(16, &[4, 4421])].concat(),
            rest: [op(5, &[4, main, zero]), op(248, &[20]), op(253, &[]), op(56, &[])].concat(),
        }
    }

    /// The module, with these instructions behind its extensions and behind its modes.
    fn module(&self, [extension, mode]: [&[u32]; 2]) -> Vec<u32> {
        let Self { header, capabilities, extensions, between, modes, rest } = self;
        [header, capabilities, extensions, extension, between, modes, mode, rest].concat()
    }
}

/// What `spirv-opt --modify-maximal-reconvergence=add` makes of a module.
#[test]
fn extension_and_mode_stand_behind_others_of_their_kind() {
    let [extension, mode] = asked();
    let check = |parts: &Parts| {
        let expected = parts.module([&extension, &mode]);
        assert_eq!(reconverging(&parts.module([&[], &[]])).unwrap(), expected);
        // What is there already stays, and is not there twice.
        for known in [[&extension[..], &mode], [&extension, &[]], [&[], &mode]] {
            assert_eq!(reconverging(&parts.module(known)).unwrap(), expected);
        }
    };
    let all = Parts::new();
    check(&all);
    check(&Parts { extensions: Vec::new(), ..Parts::new() });
    // Nothing stands behind the modes, and there are none.
    check(&Parts { rest: Vec::new(), ..Parts::new() });
    check(&Parts { modes: Vec::new(), rest: Vec::new(), ..Parts::new() });
    // That of another function is none of the entry point's.
    let other = op(16, &[5, 6023]);
    let expected = all.module([&extension, &[other.clone(), mode.clone()].concat()]);
    assert_eq!(reconverging(&all.module([&[], &other])).unwrap(), expected);
    // It asks for no other device otherwise.
    let asks = reconverging(&code(&[62], 128)).unwrap();
    assert_eq!(facts(&asks), facts(&code(&[62], 128)));
}

#[track_caller]
fn refused(words: &[u32], expected: &str) {
    let error = reconverging(words).expect_err(expected);
    assert!(error.contains(expected), "{error}\n{expected}");
}

#[test]
fn what_is_no_kernel_is_refused() {
    let whole = Parts::new().module([&[], &[]]);
    refused(&[], "0 words without the header");
    refused(&[&[1], &whole[1..]].concat(), "it begins with 0x00000001");
    refused(&whole[..whole.len() - 3], "has 2 words, and 1 are left");
    refused(&[&whole[..], &[0]].concat(), "has 0 words, and 1 are left");
    refused(&[&whole[..], &[9 << 16 | 10]].concat(), "has 9 words, and 1 are left");
    refused(&Parts { between: op(14, &[5348, 3]), ..Parts::new() }.module([&[], &[]]), "no entry point");
    let two = [op(15, &[5, 4, 0]), op(15, &[5, 9, 0])].concat();
    refused(&Parts { between: two, ..Parts::new() }.module([&[], &[]]), "more than one entry point");
    // A capability behind an extension, a mode behind a function.
    for (late, at) in [(op(17, &[62]), 12), (op(16, &[4, 4421]), whole.len())] {
        let words = [&whole[..at], &late, &whole[at..]].concat();
        refused(&words, &format!("the instruction at word {at} stands too far behind"));
    }
}

/// A kernel with these instructions in its function.
fn with_blocks(blocks: &[Vec<u32>]) -> Vec<u32> {
    Parts { rest: blocks.concat(), ..Parts::new() }.module([&[], &[]])
}

/// Blocks 20 to 22 branch to block 23: after a selection (header 20), unless `merge` names another block.
fn joined(merge: Vec<u32>, branch: Vec<u32>) -> Vec<u32> {
    let [label, to] = [|id| op(248, &[id]), |id| op(249, &[id])];
    let ends = [label(24), op(253, &[])].concat();
    with_blocks(&[label(20), merge, branch, label(21), to(23), label(22), to(23), label(23), to(24), ends])
}

/// The rule of the extension, as `spirv-val` has it.
#[test]
fn branches_join_where_something_merges_them() {
    let selects = || op(250, &[9, 21, 22]);
    assert!(reconverging(&joined(op(247, &[23, 0]), selects())).is_ok());
    assert!(reconverging(&joined(op(246, &[23, 24, 0]), selects())).is_ok());
    assert!(reconverging(&joined(op(246, &[24, 23, 0]), selects())).is_ok());
    assert!(reconverging(&joined(op(247, &[24, 0]), op(251, &[9, 21, 0, 22, 1, 23]))).is_ok());
    refused(&joined(op(247, &[24, 0]), selects()), "block 23, which several branch to");
    refused(
        &joined(op(247, &[23, 0]), op(250, &[9, 21, 21])),
        "a branch that goes to block 21 in both cases",
    );
    // A loop is begun from outside and from its end.
    let [label, to] = [|id| op(248, &[id]), |id| op(249, &[id])];
    let repeated = |merge: Vec<u32>| {
        with_blocks(&[
            label(20),
            to(21),
            label(21),
            merge,
            op(250, &[9, 22, 23]),
            label(22),
            to(21),
            label(23),
        ])
    };
    assert!(reconverging(&repeated(op(246, &[23, 22, 0]))).is_ok());
    refused(&repeated(Vec::new()), "block 21, which several branch to");
}
