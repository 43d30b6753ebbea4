//! Scans in parts by operators of users' files, against the host: in all modes, from both ends, and with transforms.

use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_pack::CallUse;
use scanbox_testing::operator_files::{example, operator};
use scanbox_vk::{CallLength, DeviceRange, HandOverError, NotSplit, ScanCall};

use super::gpu::{TestGpu, in_pack, pack_of_uses};
use super::host_operators::{Affine, HostOperator, Matrix, TextPosition, drawn, elements, words};

const LABEL: &str = "b1.vec4.par.rake.turn.wg64";
/// Bytes behind an output that have to stay what they are.
const GUARD_BYTES: u64 = 1024;

/// The project's file of an operator, with more behind it.
fn with<T: HostOperator>(more: &str) -> OperatorFile {
    let [name, _] = T::NAMES;
    operator(name, &format!("{}\n{more}", example(name).source().text))
}

/// The uses of a scan in parts, itself first.
fn uses(mode: Mode, init_in_memory: bool) -> Vec<CallUse> {
    let plain = CallUse { init_in_memory, ..CallUse::default() };
    let first = CallUse { total: mode != Mode::Reduce, ..plain };
    let mut uses = vec![first, plain, CallUse { init_in_memory: true, ..first }];
    uses.sort_by_key(|one| (one.total, one.init_in_memory));
    uses.dedup();
    uses
}

/// What a call leaves, and its total: in the order in which elements are combined.
fn expected<T: HostOperator>(mode: Mode, inputs: impl Iterator<Item = T>, first: T) -> (Vec<T>, T) {
    let mut before = first;
    let mut scan: Vec<T> = inputs
        .map(|one| {
            let own = before;
            before = before.combine(one);
            if mode == Mode::Exclusive { own } else { before }
        })
        .collect();
    if mode == Mode::Reduce {
        scan = vec![before];
    }
    (scan, before)
}

/// Calls of all sizes of a problem in parts of two tiles. Returns whether there is such a kernel here.
fn check<T: HostOperator>(
    gpu: &TestGpu,
    (mode, is_reversed): (Mode, bool),
    has: [bool; 2],
    in_memory: bool,
) -> bool {
    gpu.forget();
    let [input_transform, output_transform] = T::TRANSFORMS;
    let more = [(has[0], input_transform), (has[1], output_transform)];
    let more: String = more.iter().filter(|(has, _)| *has).map(|(_, text)| *text).collect();
    let file = with::<T>(&more);
    let problem = Problem::of_user(mode, file.operator(), Placement::OutOfPlace).unwrap();
    let problem = if is_reversed { problem.reversed() } else { problem };
    let Some(pack) =
        pack_of_uses(&gpu.profile, (&problem, Some(&file)), &uses(mode, in_memory), &[(1, LABEL)])
    else {
        return false;
    };
    assert!(pack.data().problems[0].splittable, "{problem}");
    let part = 2 * pack.data().recipes[0].recipe.formula.tile_elements.get();
    let call_use = CallUse { total: mode != Mode::Reduce, init_in_memory: in_memory, ..CallUse::default() };
    let scan = gpu.scanner(pack).scan_in_parts(&in_pack(&problem), 4 * part, call_use, part).unwrap();
    let scratch = gpu.take(scan.scratch().bytes.max(4), 0);
    // SAFETY: the memory is live and stays until all is done.
    gpu.once(|commands| unsafe { scan.cmd_prepare(commands, scratch) }.unwrap());
    let bytes = size_of::<T>() as u64;
    let kept = gpu.take(4, 0).address;
    for n in [1, part - 1, part, part + 1, 3 * part + 5, 4 * part, 2 * part] {
        let what = format!("{problem} {n}");
        let [init, total] = [0, 1].map(|_: u32| gpu.take(bytes, 0));
        let input = gpu.take(n * bytes, 0);
        let outputs = if mode == Mode::Reduce { 1 } else { n };
        let output = gpu.take(outputs * bytes + GUARD_BYTES, 0);
        let inputs: Vec<T> = drawn(n, n);
        gpu.words(input).copy_from_slice(words(&inputs));
        let first = if in_memory { drawn(99, 1)[0] } else { T::IDENTITY };
        gpu.words(init).copy_from_slice(words(&[first]));
        let guard = gpu.words(output)[(outputs * bytes / 4) as usize..].to_vec();
        let call = ScanCall {
            input,
            output: DeviceRange { bytes: outputs * bytes, ..output },
            scratch,
            n: CallLength::Host(n),
            init: in_memory.then_some(init.address),
            total: call_use.total.then_some(total.address),
        };
        // SAFETY: as above.
        gpu.once(|commands| unsafe { scan.cmd_scan(commands, &call) }.unwrap());
        let inputs: Vec<T> = inputs.iter().map(|one| if has[0] { one.as_taken() } else { *one }).collect();
        // From the last element on, operands keep the order of the array: what comes later stands first.
        let (mut scan, all) = match is_reversed {
            true => expected_in_reverse(mode, &inputs, first),
            false => expected(mode, inputs.into_iter(), first),
        };
        scan.iter_mut().filter(|_| has[1]).for_each(|one| *one = one.as_given());
        let found = gpu.words(output);
        let (found, behind) = found.split_at((outputs * bytes / 4) as usize);
        let found: &[T] = elements(found);
        if let Some(at) = found.iter().zip(&scan).position(|(found, expected)| found != expected) {
            panic!("{what}: element {at} is {:?} and not {:?}", found[at], scan[at]);
        }
        assert_eq!(behind, guard, "{what}: behind the end");
        if call_use.total {
            assert_eq!(elements::<T>(gpu.words(total))[0], all, "{what}: total");
        }
        gpu.give_back(kept);
    }
    true
}

fn expected_in_reverse<T: HostOperator>(mode: Mode, inputs: &[T], first: T) -> (Vec<T>, T) {
    let mut behind = first;
    let mut scan: Vec<T> = inputs
        .iter()
        .rev()
        .map(|one| {
            let own = behind;
            behind = one.combine(behind);
            if mode == Mode::Exclusive { own } else { behind }
        })
        .collect();
    scan.reverse();
    if mode == Mode::Reduce {
        scan = vec![behind];
    }
    (scan, behind)
}

#[test]
fn parts_begin_with_the_total_before() {
    fn check_all<T: HostOperator>(gpu: &TestGpu) -> u32 {
        let mut tried = 0;
        for mode in [Mode::Inclusive, Mode::Exclusive, Mode::Reduce] {
            for is_reversed in [false, true] {
                let both = mode != Mode::Reduce;
                for (has, in_memory) in [
                    ([false, false], false),
                    ([false, false], true),
                    ([true, false], false),
                    ([true, both], true),
                ] {
                    tried += u32::from(check::<T>(gpu, (mode, is_reversed), has, in_memory));
                }
            }
        }
        tried
    }
    let Some(gpu) = TestGpu::new() else { return };
    assert_eq!(check_all::<Affine>(&gpu), 24);
    assert_eq!(check_all::<TextPosition>(&gpu), 24);
    assert_eq!(check_all::<Matrix>(&gpu), 24);
}

/// The next part of a reduction would begin with what the output transform has made of the total.
#[test]
fn files_that_allow_no_parts_are_refused() {
    let Some(gpu) = TestGpu::new() else { return };
    let indexed = "Element transform_input(const Element value, const uint index) {\n\
                   return Element(value.scale | 1u, value.offset + index);\n}\n";
    let [unindexed, output] = Affine::TRANSFORMS;
    for (mode, more, is_allowed) in [
        (Mode::Inclusive, "", true),
        (Mode::Exclusive, unindexed, true),
        (Mode::Reduce, unindexed, true),
        (Mode::Inclusive, output, true),
        (Mode::Reduce, output, false),
        (Mode::Inclusive, indexed, false),
        (Mode::Reduce, indexed, false),
    ] {
        let file = with::<Affine>(more);
        let problem = Problem::of_user(mode, file.operator(), Placement::OutOfPlace).unwrap();
        let pack =
            pack_of_uses(&gpu.profile, (&problem, Some(&file)), &uses(mode, false), &[(1, LABEL)]).unwrap();
        let made = gpu.scanner(pack).scan(&in_pack(&problem), 1 << 33, CallUse::default());
        let is_reduction = mode == Mode::Reduce;
        match made {
            Ok(scan) => assert!(is_allowed && scan.max_n() == 1 << 33, "{mode} {more}"),
            Err(error) => {
                let why = NotSplit::Operator { is_reduction };
                let is_that =
                    matches!(error, HandOverError::TooLargeForKernels { why: found, .. } if found == why);
                assert!(!is_allowed && is_that, "{mode} {more}: {error}");
                let text = error.to_string();
                assert_eq!(text.contains("the file may have an output transform"), is_reduction, "{text}");
            }
        }
    }
}
