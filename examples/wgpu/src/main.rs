//! A prefix sum by scanbox between two compute passes of wgpu, in one submission of wgpu's.
//!
//!     cargo run            (in this folder; a Vulkan device is all it needs)
//!
//! wgpu has no addresses of buffers and enables none of what scanbox needs: so the program makes device and buffers
//! itself, with more switched on, and hands them to wgpu (`interop.rs`). From there on wgpu tracks them as its own.
//!
//! squares of 0, 1, 2, ... (wgpu) -> their prefix sums (scanbox) -> differences of neighbours (wgpu): squares again.

mod interop;
mod passes;

use std::error::Error;
use std::sync::Arc;

use ash::vk;
use scanbox_pack::{CallUse, Pack, Promises, ScanMode, ScanProblem};
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, CallLength, ScanCall, Scanner, ScannerInfo};
use wgpu::wgc::api::Vulkan;

use self::interop::{buffer, open};
use self::passes::compute;

const N: u32 = 1 << 20;
const BYTES: u64 = 4 * N as u64;

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> output: array<u32>;
@group(0) @binding(1) var<storage> sums: array<u32>;
@compute @workgroup_size(256) fn squares(@builtin(global_invocation_id) id: vec3u) {
    output[id.x] = id.x * id.x;
}
@compute @workgroup_size(256) fn differences(@builtin(global_invocation_id) id: vec3u) {
    output[id.x] = sums[id.x] - select(sums[id.x - 1], 0u, id.x == 0);
}";

fn main() -> Result<(), Box<dyn Error>> {
    let options = wgpu::RequestAdapterOptions::default();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::VULKAN,
        ..wgpu::InstanceDescriptor::new_without_display_handle_from_env()
    });
    let adapter = pollster::block_on(instance.request_adapter(&options))?;
    // SAFETY: everything is made from what was made before it, and lives until the queue is idle.
    let (device, queue, enabled) = unsafe { open(&adapter) }?;

    let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    // SAFETY: as above; scratch memory is prepared before it is used, and arrays are written before they are read.
    let (squares, squares_at) = unsafe { buffer(&device, BYTES, storage) }?;
    let (sums, sums_at) = unsafe { buffer(&device, BYTES, storage) }?;
    let scan = unsafe { device.as_hal::<Vulkan>() }.map(|hal| {
        let pack = Pack::read(include_bytes!("../../../packs/portable.scanpack"))?;
        let info = ScannerInfo {
            instance: hal.shared_instance().raw_instance(),
            physical: hal.raw_physical_device(),
            device: hal.raw_device(),
            enabled,
            pipeline_cache: vk::PipelineCache::null(),
            pack: Arc::new(pack),
            promises: Promises::NONE,
        };
        let sum = ScanProblem::built_in(ScanMode::Inclusive, "u32", "add").ok_or("there is no such scan")?;
        // SAFETY: the handles are wgpu's, which outlives the scan.
        let scanner = unsafe { Scanner::new(&info) }?;
        Ok::<_, Box<dyn Error>>(scanner.scan(&sum, N.into(), CallUse::default())?)
    });
    let scan = scan.ok_or("this is no Vulkan device")??;
    // SAFETY: as above.
    let (_scratch, scratch_at) = unsafe { buffer(&device, scan.scratch().bytes.max(256), storage) }?;
    let call = ScanCall {
        input: squares_at,
        output: sums_at,
        scratch: scratch_at,
        n: CallLength::Host(N.into()),
        init: None,
        total: None,
    };

    let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let result = wgpu::BufferDescriptor { label: None, size: BYTES, usage: read, mapped_at_creation: false };
    let result = device.create_buffer(&result);
    let [mut before, mut own, mut behind] =
        [(); 3].map(|()| device.create_command_encoder(&Default::default()));
    compute(&device, &mut before, SHADER, "squares", &[&squares], N / 256);
    // An encoder is wgpu's or one's own.
    // SAFETY: it records what the scan says it does, with barriers on both sides, since wgpu knows nothing of it; all
    // memory lives until the queue is idle.
    unsafe {
        own.as_hal_mut::<Vulkan, _, _>(|encoder| {
            let commands = encoder.ok_or("this is no Vulkan encoder")?.raw_handle();
            let hal = device.as_hal::<Vulkan>().ok_or("this is no Vulkan device")?;
            scan.cmd_prepare(commands, scratch_at)?;
            // Of wgpu's passes and of what is prepared.
            barrier(hal.raw_device(), commands, Access::COMPUTE, scan.sync().before);
            scan.cmd_scan(commands, &call)?;
            barrier(hal.raw_device(), commands, scan.sync().behind, Access::COMPUTE);
            Ok::<_, Box<dyn Error>>(())
        })?;
    }
    compute(&device, &mut behind, SHADER, "differences", &[&squares, &sums], N / 256);
    behind.copy_buffer_to_buffer(&squares, 0, &result, 0, BYTES);
    queue.submit([before, own, behind].map(wgpu::CommandEncoder::finish));

    result.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the memory can be read"));
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let words = result.get_mapped_range(..)?.to_vec();
    let words = words.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    let wrong = words.zip(0..N).filter(|(word, place)| *word != place.wrapping_mul(*place)).count();
    let chosen = scan.chosen(N.into()).label.to_owned();
    if wrong > 0 {
        return Err(format!("{wrong} of {N} differences of prefix sums are wrong, by {chosen}").into());
    }
    println!(
        "{N} prefix sums between two passes of wgpu are right, by {chosen} on {}",
        adapter.get_info().name
    );
    Ok(())
}
