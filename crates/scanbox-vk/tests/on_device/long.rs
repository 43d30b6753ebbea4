//! More elements than 32 bits count: on a device with 40 GiB of memory that binds it in pieces, by a pack of it
//! (`SCANBOX_PACK`), as
//! `SCANBOX_TEST_DEVICE=1 cargo test -p scanbox-vk --release on_device::long -- --ignored --nocapture`.

use std::time::Instant;

use ash::vk;
use scanbox_pack::{CallUse, Pack, ScanMode, ScanProblem};
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, CallLength, DeviceRange, ScanCall};

use super::gpu::TestGpu;

/// Elements: two parts of the most elements, and some more.
const N: u64 = (1 << 32) + 12_345;
/// Elements of one value in a row.
const RUN: u64 = 1 << 26;
/// Bytes of an allocation, and of what the host reads at a time.
const PIECE: u64 = 1 << 30;

/// A buffer of so many bytes, of several allocations where one may not have as many.
struct LargeBuffer<'a> {
    gpu: &'a TestGpu,
    raw: vk::Buffer,
    pieces: Vec<vk::DeviceMemory>,
    range: DeviceRange,
}

impl<'a> LargeBuffer<'a> {
    fn new(gpu: &'a TestGpu, bytes: u64) -> Self {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default()
            .flags(vk::BufferCreateFlags::SPARSE_BINDING)
            .size(bytes)
            .usage(usage);
        // SAFETY: the device has the feature, and outlives what is made here; all of the buffer is bound before it is
        // used.
        unsafe {
            let raw = gpu.device.create_buffer(&info, None).unwrap();
            let needs = gpu.device.get_buffer_memory_requirements(raw);
            assert_eq!(PIECE % needs.alignment, 0);
            let types = memory_types(gpu);
            let local = place(&types, needs.memory_type_bits, vk::MemoryPropertyFlags::DEVICE_LOCAL);
            let mut binds = Vec::new();
            let mut pieces = Vec::new();
            for begin in (0..needs.size).step_by(PIECE as usize) {
                let mut flags =
                    vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
                let size = PIECE.min(needs.size - begin);
                let info = vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(local);
                let memory = gpu.device.allocate_memory(&info.push_next(&mut flags), None).unwrap();
                binds.push(vk::SparseMemoryBind::default().resource_offset(begin).size(size).memory(memory));
                pieces.push(memory);
            }
            let of_buffer = [vk::SparseBufferMemoryBindInfo::default().buffer(raw).binds(&binds)];
            let bind = [vk::BindSparseInfo::default().buffer_binds(&of_buffer)];
            gpu.device.queue_bind_sparse(gpu.queues[0], &bind, vk::Fence::null()).unwrap();
            gpu.wait();
            let info = vk::BufferDeviceAddressInfo::default().buffer(raw);
            let address = gpu.device.get_buffer_device_address(&info);
            Self { gpu, raw, pieces, range: DeviceRange { address, bytes } }
        }
    }
}

impl Drop for LargeBuffer<'_> {
    fn drop(&mut self) {
        let device = &self.gpu.device;
        // SAFETY: all work was waited for.
        unsafe {
            device.destroy_buffer(self.raw, None);
            self.pieces.iter().for_each(|piece| device.free_memory(*piece, None));
        }
    }
}

fn memory_types(gpu: &TestGpu) -> Vec<vk::MemoryPropertyFlags> {
    // SAFETY: the device is one of the instance.
    let types = unsafe { gpu.instance.get_physical_device_memory_properties(gpu.physical) };
    types.memory_types_as_slice().iter().map(|of| of.property_flags).collect()
}

fn place(types: &[vk::MemoryPropertyFlags], allowed: u32, wanted: vk::MemoryPropertyFlags) -> u32 {
    let mut places = (0..).zip(types).filter(|(place, of)| allowed >> place & 1 == 1 && of.contains(wanted));
    places.next().expect("the device has such memory").0
}

/// The value of all elements of a run.
fn value(run: u64) -> u32 {
    (run as u32).wrapping_mul(0x9e37_79b9) | 1
}

/// The sum of the elements before this one.
fn sum_before(element: u64) -> u32 {
    let run = element / RUN;
    let whole = (0..run).fold(0u32, |sum, run| sum.wrapping_add(value(run).wrapping_mul(RUN as u32)));
    whole.wrapping_add(value(run).wrapping_mul((element % RUN) as u32))
}

/// Copies `range` of a buffer to the host, piece by piece.
fn read(large: &LargeBuffer<'_>, bytes: u64, mut each: impl FnMut(u64, &[u32])) {
    let LargeBuffer { gpu, raw, .. } = large;
    let device = &gpu.device;
    let info = vk::BufferCreateInfo::default().size(PIECE).usage(vk::BufferUsageFlags::TRANSFER_DST);
    // SAFETY: what is made is destroyed when all work was waited for; it is mapped, and within bounds.
    unsafe {
        let buffer = device.create_buffer(&info, None).unwrap();
        let needs = device.get_buffer_memory_requirements(buffer);
        let cached = vk::MemoryPropertyFlags::HOST_CACHED | vk::MemoryPropertyFlags::HOST_COHERENT;
        let of = place(&memory_types(gpu), needs.memory_type_bits, cached);
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(of);
        let memory = device.allocate_memory(&info, None).unwrap();
        device.bind_buffer_memory(buffer, memory, 0).unwrap();
        let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).unwrap();
        for begin in (0..bytes).step_by(PIECE as usize) {
            let size = PIECE.min(bytes - begin);
            gpu.once(|commands| {
                let copy = [vk::BufferCopy { src_offset: begin, dst_offset: 0, size }];
                barrier(device, commands, Access::COMPUTE, Access::TRANSFER);
                device.cmd_copy_buffer(commands, *raw, buffer, &copy);
                barrier(device, commands, Access::TRANSFER, Access::HOST);
            });
            each(begin / 4, std::slice::from_raw_parts(mapped.cast::<u32>(), size as usize / 4));
        }
        device.destroy_buffer(buffer, None);
        device.free_memory(memory, None);
    }
}

#[test]
#[ignore = "needs 40 GiB of memory of a device"]
#[allow(clippy::print_stderr, reason = "what ran is what somebody wants to know")]
fn more_than_32_bits_count() {
    let Some(gpu) = TestGpu::new() else { return };
    let path = std::env::var("SCANBOX_PACK").unwrap_or("../../packs/portable.scanpack".to_owned());
    let scanner = gpu.scanner(Pack::read(&std::fs::read(path).unwrap()).unwrap());
    let [input, output] = [0, 1].map(|_: u32| LargeBuffer::new(&gpu, 4 * N));
    gpu.once(|commands| {
        for run in 0..N.div_ceil(RUN) {
            let bytes = 4 * RUN.min(N - run * RUN);
            // SAFETY: it is being recorded, and within bounds.
            unsafe { gpu.device.cmd_fill_buffer(commands, input.raw, 4 * run * RUN, bytes, value(run)) };
        }
    });
    for mode in [ScanMode::Inclusive, ScanMode::Exclusive, ScanMode::Reduce] {
        gpu.forget();
        let is_reduction = mode == ScanMode::Reduce;
        let problem = ScanProblem::built_in(mode, "u32", "add").unwrap();
        let call_use = CallUse { total: !is_reduction, ..CallUse::default() };
        let scan = match scanner.scan(&problem, N, call_use) {
            Ok(scan) => scan,
            Err(error) => {
                eprintln!("{mode:?}: {error}");
                continue;
            }
        };
        let scratch = LargeBuffer::new(&gpu, scan.scratch().bytes.next_multiple_of(PIECE));
        let word = gpu.take(4, 0);
        let call = ScanCall {
            input: input.range,
            output: if is_reduction { word } else { output.range },
            scratch: DeviceRange { bytes: scan.scratch().bytes, ..scratch.range },
            n: CallLength::Host(N),
            init: None,
            total: call_use.total.then_some(word.address),
        };
        for turn in 0..3 {
            let begun = Instant::now();
            gpu.once(|commands| {
                // SAFETY: the memory is live until it has run; barriers stand between all that depends on each other.
                unsafe {
                    barrier(&gpu.device, commands, Access::TRANSFER, Access::COMPUTE);
                    gpu.device.cmd_fill_buffer(commands, output.raw, 0, vk::WHOLE_SIZE, 0xdead_beef);
                    if turn == 0 {
                        scan.cmd_prepare(commands, call.scratch).unwrap();
                    }
                    barrier(&gpu.device, commands, Access::ANYTHING, Access::COMPUTE);
                    scan.cmd_scan(commands, &call).unwrap();
                }
            });
            let ms = begun.elapsed().as_secs_f64() * 1e3;
            eprintln!("{mode:?}: {N} elements by {}, {ms:.1} ms with a fill", scan.chosen(N).label);
            assert_eq!(gpu.words(word)[0], sum_before(N), "{mode:?}: total");
            let mut compared = 0;
            let own = u64::from(mode == ScanMode::Inclusive);
            read(&output, if is_reduction { 0 } else { 4 * N }, |begin, words| {
                let mut expected = sum_before(begin + own);
                for (element, word) in (begin..).zip(words) {
                    assert_eq!(*word, expected, "{mode:?}: element {element}");
                    expected = expected.wrapping_add(value((element + own) / RUN));
                }
                compared += words.len() as u64;
            });
            eprintln!("{mode:?}: {compared} elements are right, and the total");
        }
    }
}
