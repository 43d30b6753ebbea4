//! Several kernels on one scratch memory, several threads, several calls at the same time.

use ash::vk;
use scanbox_model::problem::Mode;
use scanbox_pack::CallUse;
use scanbox_vk::{CallLength, DeviceRange, Scan, ScanCall};

use super::gpu::{PackWish, TestGpu, in_pack, pack};
use super::replayed::{check, drawn, fill, submissions, sum};

/// Kernels of every kind, one behind the other, as far as the device has them.
fn mixed(gpu: &TestGpu) -> Scan {
    let problem = sum(Mode::Inclusive);
    let call_use = CallUse::default();
    let labels = [
        "one.b1.vec4.none.rake.wg64",
        "b1.vec4.two.sub.striped.early.split.turn.wg64",
        "b1.vec4.par.rake.turn.wg64",
        "b1.vec4.two.sub.striped.early.split.fill.wg64",
        "b1.vec4.two.sub.striped.early.turn.wg64",
        "b1.vec2.seq.rake.split.turn.wg64",
        "rts.b1.vec4.none.rake.wg64",
        "b1.vec4.fallback.sub.striped.early.split.turn.wg64",
    ];
    let runs = |label: &&str| {
        let wish = PackWish { problem, call_use, choices: &[(1, *label)] };
        pack(&gpu.profile, &wish).is_some()
    };
    let from = [1, 400, 1000, 2100, 3500, 6000, 9000, 14_000];
    let choices: Vec<(u64, &str)> = from.into_iter().zip(labels.into_iter().filter(runs)).collect();
    assert!(choices.len() >= 5, "{choices:?}");
    let pack = pack(&gpu.profile, &PackWish { problem, call_use, choices: &choices }).unwrap();
    let scan = gpu.scanner(pack).scan(&in_pack(&problem), 20_000, call_use).unwrap();
    for (from, label) in &choices {
        assert_eq!(scan.chosen(*from).label, *label);
    }
    scan
}

fn prepared(gpu: &TestGpu, scan: &Scan) -> DeviceRange {
    let scratch = gpu.take(scan.scratch().bytes, 0);
    // SAFETY: the memory is live and stays until all is done.
    gpu.once(|commands| unsafe { scan.cmd_prepare(commands, scratch) }.unwrap());
    scratch
}

/// Calls of these sizes, each with an output of its own.
fn calls(gpu: &TestGpu, scratch: DeviceRange, input: DeviceRange, sizes: &[u64]) -> Vec<ScanCall> {
    let call = |n: &u64| ScanCall {
        input,
        output: gpu.take(4 * n + 256, 0),
        scratch,
        n: CallLength::Host(*n),
        init: None,
        total: None,
    };
    sizes.iter().map(call).collect()
}

fn record_all(gpu: &TestGpu, scan: &Scan, commands: vk::CommandBuffer, calls: &[ScanCall]) {
    for call in calls {
        // SAFETY: the memory is live and stays until all is done; calls wait for each other.
        unsafe { scan.cmd_scan(commands, call) }.unwrap();
        gpu.between(commands);
    }
}

/// Compares what all calls have left.
fn check_all(gpu: &TestGpu, calls: &[ScanCall], answer: &[u32], what: &str) {
    for call in calls {
        let CallLength::Host(n) = call.n else { panic!("the host says how many") };
        let guard = n as usize..call.output.bytes as usize / 4;
        check(gpu, call.output, &answer[..n as usize], guard, &format!("{what}, {n} elements"));
    }
}

const MOST: u64 = 20_000;

#[test]
fn kernels_of_all_sizes_take_turns_on_one_scratch_memory() {
    let Some(gpu) = TestGpu::new() else { return };
    let scan = mixed(&gpu);
    let scratch = prepared(&gpu, &scan);
    let input = gpu.take(4 * MOST, 0);
    let sizes: Vec<u64> = (0..40).map(|turn| drawn(turn, [500, 4000, MOST][turn as usize % 3]) + 1).collect();
    let calls = calls(&gpu, scratch, input, &sizes);
    let pool = gpu.pool();
    let commands = gpu.record(pool, |commands| record_all(&gpu, &scan, commands, &calls));
    for turn in 0..submissions(8) {
        let answer = fill(&gpu, &sum(Mode::Inclusive), input, 100 + turn, MOST);
        calls.iter().for_each(|call| gpu.spoil(call.output));
        gpu.submit(&[commands]);
        check_all(&gpu, &calls, &answer, &format!("submission {turn}"));
    }
    gpu.drop_pool(pool);
}

/// What a thread may have that records.
struct OwnPool(vk::CommandPool, Vec<vk::CommandBuffer>);

#[test]
fn two_threads_record_one_scan_at_once() {
    let Some(gpu) = TestGpu::new() else { return };
    let scan = mixed(&gpu);
    let input = gpu.take(4 * MOST, 0);
    let work: Vec<_> = (0..2)
        .map(|thread| {
            let sizes: Vec<u64> = (0..12).map(|turn| drawn(50 * thread + turn, MOST) + 1).collect();
            calls(&gpu, prepared(&gpu, &scan), input, &sizes)
        })
        .collect();
    let (device, between) = (&gpu.device, scan.sync());
    let pools = [gpu.pool(), gpu.pool()];
    let recorded: Vec<OwnPool> = std::thread::scope(|scope| {
        let threads: Vec<_> = work
            .iter()
            .zip(pools)
            .map(|(calls, pool)| {
                let scan = scan.clone();
                scope.spawn(move || {
                    let record = |call: &ScanCall| {
                        let info = vk::CommandBufferAllocateInfo::default()
                            .command_pool(pool)
                            .command_buffer_count(1);
                        // SAFETY: the pool is this thread's, and the memory is live until all is done.
                        unsafe {
                            let commands = device.allocate_command_buffers(&info).unwrap()[0];
                            device.begin_command_buffer(commands, &Default::default()).unwrap();
                            scan.cmd_scan(commands, call).unwrap();
                            // One recording in vain, as a program may end none.
                            let wrong = ScanCall { n: CallLength::Host(u64::MAX), ..*call };
                            assert!(scan.cmd_scan(commands, &wrong).is_err());
                            scanbox_vk::record::barrier(device, commands, between.behind, between.before);
                            device.end_command_buffer(commands).unwrap();
                            commands
                        }
                    };
                    OwnPool(pool, calls.iter().map(record).collect())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for turn in 0..3 {
        let answer = fill(&gpu, &sum(Mode::Inclusive), input, 200 + turn, MOST);
        work.iter().flatten().for_each(|call| gpu.spoil(call.output));
        // In turn, as they come.
        let both = recorded[0].1.iter().zip(&recorded[1].1);
        let commands: Vec<_> = both.flat_map(|(one, other)| [*one, *other]).collect();
        gpu.submit(&commands);
        work.iter().for_each(|calls| check_all(&gpu, calls, &answer, &format!("submission {turn}")));
    }
    recorded.into_iter().for_each(|OwnPool(pool, _)| gpu.drop_pool(pool));
}

/// Nothing stands between calls that have scratch memory each.
#[test]
fn three_frames_are_in_flight() {
    let Some(gpu) = TestGpu::new() else { return };
    let scan = mixed(&gpu);
    let input = gpu.take(4 * MOST, 0);
    let pool = gpu.pool();
    let mut frames = Vec::new();
    let mut all = Vec::new();
    for frame in 0..3 {
        let sizes: Vec<u64> = (0..6).map(|turn| drawn(1000 + 10 * frame + turn, MOST) + 1).collect();
        let calls = calls(&gpu, prepared(&gpu, &scan), input, &sizes);
        frames.push(gpu.record(pool, |commands| record_all(&gpu, &scan, commands, &calls)));
        all.extend(calls);
    }
    for turn in 0..submissions(10) {
        let answer = fill(&gpu, &sum(Mode::Inclusive), input, 300 + turn, MOST);
        all.iter().for_each(|call| gpu.spoil(call.output));
        gpu.submit(&frames);
        check_all(&gpu, &all, &answer, &format!("frame {turn}"));
    }
    gpu.drop_pool(pool);
}
