//! Stream compaction on the GPU: of a million values those are kept that are multiples of three, in order, and the step
//! behind it runs on these alone, however many there are. The host never learns how many.
//!
//!     cargo run -p scanbox-vk --example compaction [PACK]
//!
//! What the program has without scanbox is in `gpu.rs`.
//!
//! mark (1 for what is kept) -> exclusive sum of the marks (where it goes) -> scatter -> a third of each.
//! One recording, submitted several times with other values; every result is checked.

#![allow(
    unsafe_code,
    unsafe_op_in_unsafe_fn,
    reason = "Vulkan is a C API; compact says why it is called rightly"
)]
#![allow(clippy::print_stdout, reason = "it is a program")]

mod gpu;

use std::error::Error;
use std::sync::Arc;

use ash::vk;
use scanbox_pack::{CallUse, Pack, Promises, ScanMode, ScanProblem};
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, CallLength, ScanCall, Scanner, ScannerInfo};

use self::gpu::{Gpu, free};

const N: u32 = 1 << 20;
/// What runs where the program is not told another pack.
pub const PORTABLE_PACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packs/portable.scanpack");

fn main() -> Result<(), Box<dyn Error>> {
    let pack = std::env::args().nth(1).unwrap_or_else(|| PORTABLE_PACK.to_owned());
    println!("{}", compact(&std::fs::read(pack)?)?);
    Ok(())
}

/// What it did with this pack, as a sentence.
///
/// # Errors
/// What Vulkan or the library says, or that a result is wrong.
pub fn compact(pack: &[u8]) -> Result<String, Box<dyn Error>> {
    // SAFETY: everything is made from what was made before it, is used by this thread alone, and lives until the queue
    // is idle; barriers stand between what depends on each other.
    unsafe { run(pack) }
}

unsafe fn run(pack: &[u8]) -> Result<String, Box<dyn Error>> {
    let gpu = Gpu::open()?;
    let device = &gpu.device;

    // 1: a scanner, of the device and a pack. 2: a scan, which makes the pipelines.
    let scanner = Scanner::new(&ScannerInfo {
        instance: &gpu.instance,
        physical: gpu.physical,
        device,
        enabled: gpu.enabled,
        pipeline_cache: vk::PipelineCache::null(),
        pack: Arc::new(Pack::read(pack)?),
        promises: Promises::NONE,
    })?;
    let sum = ScanProblem::built_in(ScanMode::Exclusive, "u32", "add").ok_or("no such scan")?;
    let scan = scanner.scan(&sum, N.into(), CallUse::default())?;

    let values = gpu.allocate(u64::from(N) * 4)?;
    let marks = gpu.allocate(u64::from(N) * 4)?;
    let places = gpu.allocate(u64::from(N) * 4)?;
    let kept = gpu.allocate(u64::from(N) * 4)?;
    let counts = gpu.allocate(16)?;
    // Memory of its own begins at multiples of far more than the 256 bytes that scratch memory asks for.
    let scratch = gpu.allocate(scan.scratch().bytes.max(1))?;
    let arrays =
        [values.range, marks.range, places.range, kept.range, counts.range].map(|range| range.address);

    let layout = gpu.layout(48)?;
    let mark = gpu.pipeline(layout, include_bytes!("shaders/mark.spv"))?;
    let scatter = gpu.pipeline(layout, include_bytes!("shaders/scatter.spv"))?;
    let third = gpu.pipeline(layout, include_bytes!("shaders/third.spv"))?;

    let (pool, commands) = gpu.recording()?;
    let mut words: Vec<u8> = arrays.iter().flat_map(|address| address.to_le_bytes()).collect();
    words.extend([N, 0].iter().flat_map(|word| word.to_le_bytes()));
    let push = |pipeline| {
        device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
        device.cmd_push_constants(commands, layout, vk::ShaderStageFlags::COMPUTE, 0, &words);
    };
    let sync = scan.sync();
    let indirect = Access {
        stages: vk::PipelineStageFlags2::COMPUTE_SHADER | vk::PipelineStageFlags2::DRAW_INDIRECT,
        memory: Access::COMPUTE.memory | vk::AccessFlags2::INDIRECT_COMMAND_READ,
    };

    scan.cmd_prepare(commands, scratch.range)?;
    push(mark);
    device.cmd_dispatch(commands, N.div_ceil(256), 1, 1);
    barrier(device, commands, Access::COMPUTE, sync.before);
    // 3: the scan, wherever the program needs it.
    let call = ScanCall {
        input: marks.range,
        output: places.range,
        scratch: scratch.range,
        n: CallLength::Host(N.into()),
        init: None,
        total: None,
    };
    scan.cmd_scan(commands, &call)?;
    barrier(device, commands, sync.behind, Access::COMPUTE);
    push(scatter);
    device.cmd_dispatch(commands, N.div_ceil(256), 1, 1);
    barrier(device, commands, Access::COMPUTE, indirect);
    push(third);
    device.cmd_dispatch_indirect(commands, counts.buffer, 0);
    barrier(device, commands, Access::COMPUTE, Access::HOST);
    device.end_command_buffer(commands)?;

    let mut most = 0;
    for round in 0..3_u32 {
        let random = |i: u32| (i + round * N).wrapping_mul(2_654_435_761) >> 7;
        values.words().iter_mut().zip(0..).for_each(|(value, i)| *value = random(i));
        gpu.submit(commands)?;
        let expected: Vec<u32> =
            (0..N).map(random).filter(|value| value % 3 == 0).map(|value| value / 3).collect();
        if counts.words()[3] as usize != expected.len() || kept.words()[..expected.len()] != expected {
            return Err(format!("round {round}: wrong, with {} values kept", counts.words()[3]).into());
        }
        most = expected.len().max(most);
    }
    let chosen = scan.chosen(N.into());
    let told =
        format!("right three times, up to {most} of {N} kept, by {} ({})", chosen.label, chosen.reason);

    drop((scan, scanner));
    for pipeline in [mark, scatter, third] {
        device.destroy_pipeline(pipeline, None);
    }
    device.destroy_pipeline_layout(layout, None);
    device.destroy_command_pool(pool, None);
    free(gpu, [values, marks, places, kept, counts, scratch]);
    Ok(told)
}
