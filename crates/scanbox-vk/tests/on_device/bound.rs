//! Bound scans on a device: lines that are told, by the host and by the device, and constants.

use scanbox_model::problem::Mode;
use scanbox_pack::{ArgumentKind, CallUse};
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, Bound, CallLength, DeviceRange, LineBuffer, Scan, ScanCall};

use super::gpu::{PackWish, TestGpu, in_pack, pack};
use super::replayed::{check, drawn, fill, size, submissions, sum};

/// A scan that is to be bound, with memory for it.
struct Unbound<'a> {
    gpu: &'a TestGpu,
    scan: Scan,
    call: ScanCall,
    lines: Option<LineBuffer>,
    tile: u64,
    label: &'a str,
}

impl<'a> Unbound<'a> {
    fn new(gpu: &'a TestGpu, label: &'a str, call_use: CallUse) -> Option<Self> {
        gpu.forget();
        let problem = sum(Mode::Inclusive);
        let pack = pack(&gpu.profile, &PackWish { problem, call_use, choices: &[(1, label)] })?;
        let tile = pack.data().recipes[0].recipe.formula.tile_elements.get();
        let scan = gpu.scanner(pack).scan(&in_pack(&problem), 67 * tile + 7, call_use).unwrap();
        let needs = scan.line_needs();
        let lines = (needs.bytes > 0).then(|| {
            let range = gpu.take(needs.bytes, 128);
            LineBuffer { buffer: gpu.buffer, offset: gpu.offset(range.address), range }
        });
        let scratch = gpu.take(scan.scratch().bytes.max(4), 0);
        let bytes = 4 * scan.max_n();
        let (input, output) = (gpu.take(bytes, 0), gpu.take(bytes + 1024, 0));
        let total = call_use.total.then(|| gpu.take(4, 0).address);
        let n = CallLength::Host(scan.max_n());
        let call = ScanCall { input, output, scratch, n, init: None, total };
        Some(Self { gpu, scan, call, lines, tile, label })
    }

    fn bound(&self, n: u64) -> Bound {
        let Self { gpu, scan, call, lines, .. } = self;
        // SAFETY: the memory is live and stays until all is done.
        unsafe {
            gpu.once(|commands| scan.cmd_prepare(commands, call.scratch).unwrap());
            scan.bind(*lines, &ScanCall { n: CallLength::Host(n), ..*call }).unwrap()
        }
    }

    /// What a submission of `n` elements leaves.
    fn check(&self, n: u64, seed: u64, submit: impl FnOnce()) {
        let Self { gpu, call, label, .. } = self;
        let answer = fill(gpu, &sum(Mode::Inclusive), call.input, seed, n);
        gpu.spoil(call.output);
        if let Some(address) = call.total {
            gpu.spoil(DeviceRange { address, bytes: 4 });
        }
        submit();
        let what = format!("{label}, {n} elements, seed {seed}");
        check(gpu, call.output, &answer, answer.len()..call.output.bytes as usize / 4, &what);
        if let Some(address) = call.total {
            let total = gpu.words(DeviceRange { address, bytes: 4 })[0];
            assert_eq!(total, answer.last().copied().unwrap_or(0), "{what}: total");
        }
    }
}

const IN_LINE: CallUse = CallUse {
    n_on_device: false,
    total: false,
    init_in_memory: false,
    scratch_overwritten: false,
    arguments: ArgumentKind::Line,
    any_element: false,
};

/// One recording of a call, told now and then where its arrays are.
#[test]
fn lines_stay_as_they_were_told() {
    let Some(gpu) = TestGpu::new() else { return };
    let mut tried = 0;
    for (label, scratch_overwritten) in [
        ("b1.vec4.two.sub.striped.early.block.wg64", false),
        ("b1.vec2.seq.rake.split.block.wg64", false),
        ("b1.vec4.two.sub.striped.early.split.fill.block.wg64", true),
        ("one.b1.vec4.none.rake.block.wg64", true),
        ("rts.b1.vec4.none.rake.block.wg64", true),
    ] {
        let call_use = CallUse { scratch_overwritten, ..IN_LINE };
        let Some(mut unbound) = Unbound::new(&gpu, label, call_use) else { continue };
        tried += 1;
        for n in [1, unbound.tile, 40 * unbound.tile + 3, unbound.scan.max_n()] {
            let bound = unbound.bound(n);
            let other = gpu.take(unbound.call.output.bytes, 0);
            let pool = gpu.pool();
            // SAFETY: the memory is live and stays until all is done; calls wait for each other.
            let commands = gpu.record(pool, |commands| unsafe { bound.cmd_scan(commands) });
            for turn in 0..4 {
                // Nothing is told twice.
                if turn % 2 == 0 {
                    unbound.call.output = if turn == 0 { unbound.call.output } else { other };
                    let call = ScanCall { n: CallLength::Host(n), ..unbound.call };
                    // SAFETY: as above.
                    gpu.once(|commands| unsafe { bound.cmd_set(commands, &call) }.unwrap());
                }
                if scratch_overwritten {
                    gpu.spoil(unbound.call.scratch);
                }
                unbound.check(n, 10 * n + turn, || gpu.submit(&[commands]));
            }
            gpu.drop_pool(pool);
            gpu.give_back(other.address);
            unbound.call.output = gpu.take(other.bytes, 0);
        }
    }
    assert!(tried >= 3, "{tried}");
}

/// One recording of what is told and of the call, with other sizes: by the host in it, or by whoever writes the line.
#[test]
fn lines_say_how_many_elements_there_are() {
    let Some(gpu) = TestGpu::new() else { return };
    let call_use = CallUse { n_on_device: true, total: true, ..IN_LINE };
    let mut tried = 0;
    for label in [
        "b1.vec4.two.sub.striped.early.block.wg64",
        "b1.vec4.two.sub.striped.early.split.block.wg64",
        "b1.vec4.fallback.sub.striped.early.split.block.wg64",
        "pers.b1.vec4.gather.sub.striped.early.block.wg64.u1",
        "one.b1.vec4.none.rake.block.wg64",
    ] {
        let Some(unbound) = Unbound::new(&gpu, label, call_use) else { continue };
        tried += 1;
        let bound = unbound.bound(5);
        let (max_n, pool) = (unbound.scan.max_n(), gpu.pool());
        // In one recording: told, called, told, called.
        let sizes = [0, 1, unbound.tile - 1, unbound.tile, unbound.tile + 1, max_n];
        let others: Vec<DeviceRange> = sizes.iter().map(|n| gpu.take(4 * n + 64, 0)).collect();
        let commands = gpu.record(pool, |commands| {
            for (n, output) in sizes.into_iter().zip(&others) {
                let call = ScanCall { n: CallLength::Host(n), output: *output, ..unbound.call };
                // SAFETY: the memory is live and stays until all is done; calls wait for each other.
                unsafe {
                    bound.cmd_set(commands, &call).unwrap();
                    bound.cmd_scan(commands);
                }
            }
        });
        for turn in 0..2 {
            let answer = fill(&gpu, &sum(Mode::Inclusive), unbound.call.input, turn, max_n);
            others.iter().for_each(|output| gpu.spoil(*output));
            gpu.submit(&[commands]);
            for (n, output) in sizes.into_iter().zip(&others) {
                let guard = n as usize..output.bytes as usize / 4;
                check(&gpu, *output, &answer[..n as usize], guard, &format!("{label}, told {n}"));
            }
        }
        // Whoever writes the word, as a shader or a copy would.
        let address = bound.length_address().unwrap();
        let call = ScanCall { n: CallLength::Device { address }, ..unbound.call };
        // SAFETY: as above.
        gpu.once(|commands| unsafe { bound.cmd_set(commands, &call) }.unwrap());
        let commands = gpu.record(pool, |commands| {
            // SAFETY: as above.
            unsafe {
                barrier(&gpu.device, commands, Access::TRANSFER, Access::COMPUTE);
                bound.cmd_scan(commands);
            }
        });
        for turn in 0..submissions(40) {
            let told = size(drawn(turn, 1000), unbound.tile, max_n);
            gpu.words(DeviceRange { address, bytes: 4 })[0] = told as u32;
            unbound.check(told.min(max_n), turn, || gpu.submit(&[commands]));
        }
        gpu.drop_pool(pool);
    }
    assert!(tried >= 3, "{tried}");
}

#[test]
fn constants_are_arguments() {
    let Some(gpu) = TestGpu::new() else { return };
    let mut tried = 0;
    for (label, scratch_overwritten) in [
        ("b1.vec4.two.sub.striped.early.baked.wg64", false),
        ("b1.vec4.two.sub.striped.early.split.baked.wg64", false),
        ("b1.vec4.two.sub.striped.early.split.fill.baked.wg64", true),
        ("rts.b1.vec4.none.rake.baked.wg64", true),
    ] {
        let call_use = CallUse { arguments: ArgumentKind::Baked, scratch_overwritten, ..IN_LINE };
        let Some(unbound) = Unbound::new(&gpu, label, call_use) else { continue };
        tried += 1;
        assert!(unbound.lines.is_none());
        for n in [1, unbound.tile + 1, unbound.scan.max_n()] {
            let bound = unbound.bound(n);
            let pool = gpu.pool();
            // SAFETY: the memory is live and stays until all is done.
            let commands = gpu.record(pool, |commands| unsafe { bound.cmd_scan(commands) });
            for turn in 0..5 {
                unbound.check(n, n + turn, || gpu.submit(&[commands]));
            }
            gpu.drop_pool(pool);
        }
    }
    assert!(tried >= 3, "{tried}");
}

/// What is bound to no elements stores what they come to, and a wish of it is no error.
#[test]
fn nothing_can_be_bound() {
    let Some(gpu) = TestGpu::new() else { return };
    let mut tried = 0;
    for (label, arguments) in [
        ("b1.vec4.two.sub.striped.early.split.block.wg64", ArgumentKind::Line),
        ("b1.vec4.fallback.sub.striped.early.split.block.wg64", ArgumentKind::Line),
        ("redo.b1.vec4.none.sub.striped.block.wg64", ArgumentKind::Line),
        ("pers.b1.vec4.gatherfall.sub.striped.early.split.baked.wg64.u1", ArgumentKind::Baked),
        ("b1.vec4.two.sub.striped.early.split.clean.baked.wg64", ArgumentKind::Baked),
    ] {
        let call_use = CallUse { total: true, arguments, ..IN_LINE };
        let Some(unbound) = Unbound::new(&gpu, label, call_use) else { continue };
        tried += 1;
        let bound = unbound.bound(0);
        let pool = gpu.pool();
        // SAFETY: the memory is live and stays until all is done; calls wait for each other.
        let commands = gpu.record(pool, |commands| unsafe { bound.cmd_scan(commands) });
        if arguments == ArgumentKind::Line {
            let call = ScanCall { n: CallLength::Host(0), ..unbound.call };
            // SAFETY: as above.
            gpu.once(|commands| unsafe { bound.cmd_set(commands, &call) }.unwrap());
        }
        for turn in 0..3 {
            unbound.check(0, turn, || gpu.submit(&[commands]));
        }
        gpu.drop_pool(pool);
    }
    assert!(tried >= 4, "{tried}");
}
