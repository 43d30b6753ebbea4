//! Two queues: calls that follow each other by semaphores, and calls at the same time.

use ash::vk;
use scanbox_model::problem::Mode;
use scanbox_pack::CallUse;
use scanbox_vk::{CallLength, DeviceRange, Scan, ScanCall};

use super::gpu::{PackWish, TestGpu, in_pack, pack};
use super::replayed::{check, fill, submissions, sum};

const N: u64 = 40_003;
const LABEL: &str = "b1.vec4.fallback.sub.striped.early.split.turn.wg64";

#[allow(clippy::print_stderr, reason = "what was not tested must be said")]
fn scan(gpu: &TestGpu) -> Scan {
    if !gpu.has_two_queues() {
        eprintln!("the device has one queue, which plays both");
    }
    let (problem, call_use) = (sum(Mode::Inclusive), CallUse::default());
    let pack = pack(&gpu.profile, &PackWish { problem, call_use, choices: &[(1, LABEL)] }).unwrap();
    gpu.scanner(pack).scan(&in_pack(&problem), N, call_use).unwrap()
}

fn prepared(gpu: &TestGpu, scan: &Scan) -> DeviceRange {
    let scratch = gpu.take(scan.scratch().bytes, 0);
    // SAFETY: the memory is live and stays until all is done.
    gpu.once(|commands| unsafe { scan.cmd_prepare(commands, scratch) }.unwrap());
    scratch
}

fn call(input: DeviceRange, output: DeviceRange, scratch: DeviceRange) -> ScanCall {
    ScanCall { input, output, scratch, n: CallLength::Host(N), init: None, total: None }
}

/// There and back between two arrays, each way on a queue of its own, on one scratch memory: what orders them is a
/// semaphore.
#[test]
fn calls_follow_each_other_over_two_queues() {
    let Some(gpu) = TestGpu::new() else { return };
    let scan = scan(&gpu);
    let scratch = prepared(&gpu, &scan);
    let (here, there) = (gpu.take(4 * N, 0), gpu.take(4 * N + 256, 0));
    let pool = gpu.pool();
    let ways = [call(here, there, scratch), call(there, here, scratch)];
    let rounds = submissions(24);
    let recordings: Vec<_> = ways
        .iter()
        .cycle()
        .take(rounds as usize)
        .map(|call| {
            // SAFETY: the memory is live and stays until all is done.
            gpu.record(pool, |commands| unsafe { scan.cmd_scan(commands, call) }.unwrap())
        })
        .collect();
    // SAFETY: the device is there until both are destroyed.
    let semaphore =
        || unsafe { gpu.device.create_semaphore(&vk::SemaphoreCreateInfo::default(), None) }.unwrap();
    let semaphores = [semaphore(), semaphore()];
    let mut answer = fill(&gpu, &sum(Mode::Inclusive), here, 1, N);
    for round in 0..rounds as usize {
        let (queue, other) = (round % 2, 1 - round % 2);
        let waits = if round == 0 { &[][..] } else { &semaphores[other..=other] };
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(waits)
            .wait_dst_stage_mask(&[vk::PipelineStageFlags::ALL_COMMANDS][..waits.len()])
            .command_buffers(&recordings[round..=round])
            .signal_semaphores(&semaphores[queue..=queue]);
        gpu.submit_to(queue, &[submit]);
    }
    gpu.wait();
    for _ in 1..rounds {
        let mut sum = 0_u32;
        answer.iter_mut().for_each(|element| {
            sum = sum.wrapping_add(*element);
            *element = sum;
        });
    }
    let (output, guard) =
        if rounds.is_multiple_of(2) { (here, 0..0) } else { (there, N as usize..there.bytes as usize / 4) };
    check(&gpu, output, &answer, guard, "there and back");
    // SAFETY: nothing is pending.
    semaphores.iter().for_each(|one| unsafe { gpu.device.destroy_semaphore(*one, None) });
    gpu.drop_pool(pool);
}

/// Calls on both queues at the same time, each on scratch memory of its own.
#[test]
fn two_queues_scan_at_once() {
    let Some(gpu) = TestGpu::new() else { return };
    let scan = scan(&gpu);
    let input = gpu.take(4 * N, 0);
    let calls = [(); 2].map(|()| call(input, gpu.take(4 * N + 256, 0), prepared(&gpu, &scan)));
    let pool = gpu.pool();
    let recordings = calls.each_ref().map(|call| {
        gpu.record(pool, |commands| {
            for _ in 0..4 {
                // SAFETY: the memory is live and stays until all is done.
                unsafe { scan.cmd_scan(commands, call) }.unwrap();
                gpu.between(commands);
            }
        })
    });
    for turn in 0..submissions(6) {
        let answer = fill(&gpu, &sum(Mode::Inclusive), input, 40 + turn, N);
        calls.iter().for_each(|call| gpu.spoil(call.output));
        for (queue, recording) in recordings.iter().enumerate() {
            gpu.submit_to(
                queue,
                &[vk::SubmitInfo::default().command_buffers(std::slice::from_ref(recording))],
            );
        }
        gpu.wait();
        for call in &calls {
            check(&gpu, call.output, &answer, N as usize..call.output.bytes as usize / 4, "at once");
        }
    }
    gpu.drop_pool(pool);
}
