//! More elements than 32 bits count, by the operators that packs have of sums of u32, affine.glsl and matrix2x2.glsl:
//! on a device with memory for both arrays, which it binds in pieces, by a pack of it (`SCANBOX_PACK`), as
//! `SCANBOX_TEST_DEVICE=1 cargo test -p scanbox-vk --release on_device::long -- --ignored --nocapture`.
//!
//! `SCANBOX_LONG_N` is another number of elements, and `SCANBOX_LONG_PART` how many of them a part has.

use std::time::Instant;

use ash::vk;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_pack::{CallUse, Pack, ScanMode, ScanProblem};
use scanbox_testing::operator_files::example;
use scanbox_vk::record::barrier;
use scanbox_vk::{Access, CallLength, DeviceRange, ScanCall, Scanner};

use super::gpu::{TestGpu, pack_of_uses};
use super::host_operators::{Affine, HostOperator, Matrix, Sum, drawn, elements, words};
use super::replayed::sum;

/// Elements: two parts of the most elements, and some more.
const N: u64 = (1 << 32) + 12_345;
/// Elements of the input that are drawn; those behind them are the same again.
const DRAWN: u64 = 1 << 24;
/// Bytes of an allocation, and of what the host reads at a time.
const PIECE: u64 = 1 << 30;
/// Elements that are compared before anybody looks at the outcome.
const BLOCK: usize = 1 << 12;

/// A buffer of so many bytes, of several allocations where one may not have as many.
struct LargeBuffer<'a> {
    gpu: &'a TestGpu,
    raw: vk::Buffer,
    pieces: Vec<vk::DeviceMemory>,
    range: DeviceRange,
}

impl<'a> LargeBuffer<'a> {
    /// One in memory of the device. Where it binds no memory in pieces, it is one allocation.
    fn new(gpu: &'a TestGpu, bytes: u64) -> Self {
        // SAFETY: the device has what it says; all of the buffer is bound before it is used.
        unsafe {
            let is_sparse =
                gpu.instance.get_physical_device_features(gpu.physical).sparse_binding == vk::TRUE;
            let flags = if is_sparse {
                vk::BufferCreateFlags::SPARSE_BINDING
            } else {
                vk::BufferCreateFlags::empty()
            };
            let mut buffer = Self::without_memory(gpu, bytes, flags);
            let needs = gpu.device.get_buffer_memory_requirements(buffer.raw);
            let piece = if is_sparse { PIECE } else { needs.size };
            assert!(!is_sparse || piece.is_multiple_of(needs.alignment));
            let local = place(gpu, needs.memory_type_bits, vk::MemoryPropertyFlags::DEVICE_LOCAL);
            let mut binds = Vec::new();
            for begin in (0..needs.size).step_by(piece as usize) {
                let size = piece.min(needs.size - begin);
                let memory = buffer.allocate(size, local);
                binds.push(vk::SparseMemoryBind::default().resource_offset(begin).size(size).memory(memory));
            }
            if is_sparse {
                let of_buffer = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer.raw).binds(&binds)];
                let bind = [vk::BindSparseInfo::default().buffer_binds(&of_buffer)];
                gpu.device.queue_bind_sparse(gpu.queues[0], &bind, vk::Fence::null()).unwrap();
                gpu.wait();
            } else {
                gpu.device.bind_buffer_memory(buffer.raw, buffer.pieces[0], 0).unwrap();
            }
            let info = vk::BufferDeviceAddressInfo::default().buffer(buffer.raw);
            buffer.range.address = gpu.device.get_buffer_device_address(&info);
            buffer
        }
    }

    unsafe fn without_memory(gpu: &'a TestGpu, bytes: u64, flags: vk::BufferCreateFlags) -> Self {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().flags(flags).size(bytes).usage(usage);
        // SAFETY: the device outlives it.
        let raw = unsafe { gpu.device.create_buffer(&info, None) }.unwrap();
        Self { gpu, raw, pieces: Vec::new(), range: DeviceRange { address: 0, bytes } }
    }

    unsafe fn allocate(&mut self, bytes: u64, memory_type: u32) -> vk::DeviceMemory {
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default().allocation_size(bytes).memory_type_index(memory_type);
        // SAFETY: there is such a type; it is freed with the buffer.
        let memory = unsafe { self.gpu.device.allocate_memory(&info.push_next(&mut flags), None) }.unwrap();
        self.pieces.push(memory);
        memory
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

/// A buffer that the host reads and writes.
struct HostBuffer<'a> {
    buffer: LargeBuffer<'a>,
    mapped: *mut u32,
}

impl<'a> HostBuffer<'a> {
    fn new(gpu: &'a TestGpu, bytes: u64) -> Self {
        // SAFETY: it is bound before it is used, and mapped until its memory is freed.
        unsafe {
            let mut buffer = LargeBuffer::without_memory(gpu, bytes, vk::BufferCreateFlags::empty());
            let needs = gpu.device.get_buffer_memory_requirements(buffer.raw);
            let cached = vk::MemoryPropertyFlags::HOST_CACHED | vk::MemoryPropertyFlags::HOST_COHERENT;
            let memory = buffer.allocate(needs.size, place(gpu, needs.memory_type_bits, cached));
            gpu.device.bind_buffer_memory(buffer.raw, memory, 0).unwrap();
            let mapped =
                gpu.device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()).unwrap();
            Self { buffer, mapped: mapped.cast() }
        }
    }

    fn bytes(&self) -> u64 {
        self.buffer.range.bytes
    }

    /// The words that the device has left. No work is pending.
    fn words(&self) -> &[u32] {
        // SAFETY: it is mapped, and has so many.
        unsafe { std::slice::from_raw_parts(self.mapped, self.bytes() as usize / 4) }
    }

    fn words_mut(&mut self) -> &mut [u32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.mapped, self.bytes() as usize / 4) }
    }
}

/// The first type of memory with this among those that are allowed.
fn place(gpu: &TestGpu, allowed: u32, wanted: vk::MemoryPropertyFlags) -> u32 {
    // SAFETY: the device is one of the instance.
    let types = unsafe { gpu.instance.get_physical_device_memory_properties(gpu.physical) };
    let mut places = (0..)
        .zip(types.memory_types_as_slice())
        .filter(|(place, of)| allowed >> place & 1 == 1 && of.property_flags.contains(wanted));
    places.next().expect("the device has such memory").0
}

/// Records copies, behind what was copied before.
fn copy(
    gpu: &TestGpu,
    (from, from_at): (&LargeBuffer<'_>, u64),
    (to, at): (&LargeBuffer<'_>, u64),
    size: u64,
) {
    gpu.once(|commands| {
        let piece = |begin: u64| vk::BufferCopy {
            src_offset: from_at + begin,
            dst_offset: at + begin,
            size: PIECE.min(size - begin),
        };
        let copies: Vec<_> = (0..size).step_by(PIECE as usize).map(piece).collect();
        // SAFETY: it is being recorded, and within bounds.
        unsafe {
            barrier(&gpu.device, commands, Access::ANYTHING, Access::TRANSFER);
            gpu.device.cmd_copy_buffer(commands, from.raw, to.raw, &copies);
            barrier(&gpu.device, commands, Access::TRANSFER, Access::HOST);
        }
    });
}

/// An input and what its elements come to.
struct LongInput<T> {
    /// The elements that it has again and again.
    drawn: Vec<T>,
    n: u64,
}

impl<T: HostOperator> LongInput<T> {
    /// All elements combined.
    fn total(&self) -> T {
        let all = |elements: &[T]| elements.iter().fold(T::IDENTITY, |before, one| before.combine(*one));
        let drawn = self.drawn.len() as u64;
        let whole = all(&self.drawn);
        let many = (0..self.n / drawn).fold(T::IDENTITY, |before, _| before.combine(whole));
        many.combine(all(&self.drawn[..(self.n % drawn) as usize]))
    }

    /// The first element of an output that is wrong, where those found begin at `begin`, behind `before`: each has to
    /// be the one before it, which is right, combined with an element of the input. `late`: how many places behind that
    /// it stands, 1 in an exclusive scan.
    fn first_wrong(&self, late: u64, begin: u64, before: Option<T>, found: &[T]) -> Option<u64> {
        let own = |place: usize| ((begin + place as u64 - late) % self.drawn.len() as u64) as usize;
        let first = match before {
            Some(before) => before.combine(self.drawn[own(0)]),
            None if late == 1 => T::IDENTITY,
            None => self.drawn[0],
        };
        if first.differs(found[0]) != 0 {
            return Some(begin);
        }
        let mut place = 1;
        while place < found.len() {
            let inputs = &self.drawn[own(place)..];
            let count = BLOCK.min(inputs.len()).min(found.len() - place);
            let [befores, founds] = [place - 1, place].map(|from| &found[from..from + count]);
            let differ = |((before, input), found): ((&T, &T), &T)| before.combine(*input).differs(*found);
            let all = || befores.iter().zip(&inputs[..count]).zip(founds);
            if all().fold(0, |wrong, one| wrong | differ(one)) != 0 {
                let at = all().position(|one| differ(one) != 0).unwrap_or(0);
                return Some(begin + (place + at) as u64);
            }
            place += count;
        }
        None
    }

    /// The same by all cores.
    fn first_wrong_of_many(&self, late: u64, begin: u64, before: Option<T>, found: &[T]) -> Option<u64> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let each = found.len().div_ceil(cores).max(BLOCK);
        std::thread::scope(|scope| {
            let parts: Vec<_> = (0..found.len())
                .step_by(each)
                .map(|from| {
                    let before = if from == 0 { before } else { Some(found[from - 1]) };
                    let part = &found[from..found.len().min(from + each)];
                    scope.spawn(move || self.first_wrong(late, begin + from as u64, before, part))
                })
                .collect();
            // The first part that has one.
            let wrong: Vec<_> = parts.into_iter().map(|part| part.join().unwrap()).collect();
            wrong.into_iter().flatten().next()
        })
    }
}

/// The memory of scans of one operator.
struct LongScans<'a, T> {
    gpu: &'a TestGpu,
    input: LongInput<T>,
    source: LargeBuffer<'a>,
    target: LargeBuffer<'a>,
    host: HostBuffer<'a>,
    turns: u32,
}

impl<'a, T: HostOperator> LongScans<'a, T> {
    fn new(gpu: &'a TestGpu, n: u64, turns: u32) -> Self {
        let bytes = n * size_of::<T>() as u64;
        let input = LongInput { drawn: drawn(1, DRAWN.min(n)), n };
        let [source, target] = [0, 1].map(|_: u32| LargeBuffer::new(gpu, bytes));
        let mut host = HostBuffer::new(gpu, PIECE.min(bytes));
        let drawn = words(&input.drawn);
        host.words_mut()[..drawn.len()].copy_from_slice(drawn);
        let mut there = 4 * drawn.len() as u64;
        copy(gpu, (&host.buffer, 0), (&source, 0), there);
        // Twice as many each time.
        while there < bytes {
            let size = there.min(bytes - there);
            copy(gpu, (&source, 0), (&source, there), size);
            there += size;
        }
        Self { gpu, input, source, target, host, turns }
    }

    /// Scans by the pack, in parts of so many elements or as the library has them, and compares every element.
    #[allow(clippy::print_stderr, reason = "what ran is what somebody wants to know")]
    fn check(&mut self, scanner: &Scanner, problem: &ScanProblem, part: Option<u64>) -> bool {
        let (gpu, n, name) = (self.gpu, self.input.n, format!("{} {:?}", T::NAMES[0], problem.mode));
        gpu.forget();
        let is_reduction = problem.mode == ScanMode::Reduce;
        let call_use = CallUse { total: !is_reduction, ..CallUse::default() };
        let scan = match part {
            Some(part) => scanner.scan_in_parts(problem, n, call_use, part),
            None => scanner.scan(problem, n, call_use),
        };
        let scan = match scan {
            Ok(scan) => scan,
            Err(error) => {
                eprintln!("{name}: {error}");
                return false;
            }
        };
        let bytes = scan.scratch().bytes;
        let scratch = LargeBuffer::new(gpu, bytes.max(4));
        let total = gpu.take(size_of::<T>() as u64, 0);
        let call = ScanCall {
            input: self.source.range,
            output: if is_reduction { total } else { self.target.range },
            scratch: DeviceRange { bytes, ..scratch.range },
            n: CallLength::Host(n),
            init: None,
            total: call_use.total.then_some(total.address),
        };
        let expected_total = self.input.total();
        for turn in 0..self.turns {
            gpu.once(|commands| {
                // SAFETY: the memory is live until it has run.
                unsafe {
                    gpu.device.cmd_fill_buffer(commands, self.target.raw, 0, vk::WHOLE_SIZE, 0xdead_beef);
                    if turn == 0 {
                        scan.cmd_prepare(commands, call.scratch).unwrap();
                    }
                    barrier(&gpu.device, commands, Access::ANYTHING, Access::COMPUTE);
                }
            });
            let begun = Instant::now();
            gpu.once(|commands| {
                // SAFETY: as above; what it depends on was waited for.
                unsafe {
                    barrier(&gpu.device, commands, Access::ANYTHING, Access::COMPUTE);
                    scan.cmd_scan(commands, &call).unwrap();
                }
            });
            let ms = begun.elapsed().as_secs_f64() * 1e3;
            eprintln!("{name}: {n} elements by {}, {ms:.1} ms from submission to end", scan.chosen(n).label);
            assert_eq!(elements::<T>(gpu.words(total))[0], expected_total, "{name}: total");
            if is_reduction {
                eprintln!("{name}: the total is right");
                continue;
            }
            let begun = Instant::now();
            let (compared, seconds) = self.compare(problem.mode, &name);
            eprintln!(
                "{name}: {compared} elements are right, and the total, in {:.1} s, {seconds:.1} s of which on the host \
                 ({:.0} M elements/s)",
                begun.elapsed().as_secs_f64(),
                compared as f64 / seconds.max(1e-9) / 1e6
            );
        }
        true
    }

    /// Compares the output, piece by piece. Returns the elements, and for how many seconds the host compared.
    fn compare(&self, mode: ScanMode, name: &str) -> (u64, f64) {
        let late = u64::from(mode == ScanMode::Exclusive);
        let piece = self.host.bytes() / size_of::<T>() as u64;
        let (mut before, mut seconds) = (None, 0.0);
        for begin in (0..self.input.n).step_by(piece as usize) {
            let count = piece.min(self.input.n - begin);
            let bytes = |elements: u64| elements * size_of::<T>() as u64;
            copy(self.gpu, (&self.target, bytes(begin)), (&self.host.buffer, 0), bytes(count));
            let found = elements::<T>(&self.host.words()[..bytes(count) as usize / 4]);
            let begun = Instant::now();
            if let Some(at) = self.input.first_wrong_of_many(late, begin, before, found) {
                panic!("{name}: element {at} is {:?}", found[(at - begin) as usize]);
            }
            seconds += begun.elapsed().as_secs_f64();
            before = found.last().copied();
        }
        (self.input.n, seconds)
    }
}

/// Scans by all problems of a pack that are of an operator, out of place, from the first element on and with its
/// identity. Returns how many.
fn check_all<T: HostOperator>(gpu: &TestGpu, pack: &Pack, n: u64, part: Option<u64>, turns: u32) -> usize {
    let [operator, element] = T::NAMES;
    let is_plain = |scan: &&ScanProblem| {
        let begins = match ScanProblem::built_in(scan.mode, element, operator) {
            Some(usual) => usual.init != scan.init,
            // Zeros stand for the identity of a file.
            None => scan.init.iter().any(|word| *word != 0),
        };
        (&*scan.operator, &*scan.element) == (operator, element) && !scan.in_place && !scan.reverse && !begins
    };
    let scans = pack.data().problems.iter().map(|problem| &problem.scan).filter(is_plain);
    let scans: Vec<_> = scans.collect();
    if scans.is_empty() {
        return 0;
    }
    let scanner = gpu.scanner(pack.clone());
    let mut memory = LongScans::<T>::new(gpu, n, turns);
    scans.into_iter().filter(|scan| memory.check(&scanner, scan, part)).count()
}

/// A number that a variable of the environment has.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
#[ignore = "needs 40 GiB of memory of a device for elements of 4 bytes, 140 GB for those of 16"]
fn more_than_32_bits_count() {
    let Some(gpu) = TestGpu::new() else { return };
    let path = std::env::var("SCANBOX_PACK").unwrap_or("../../packs/portable.scanpack".to_owned());
    let pack = Pack::read(&std::fs::read(path).unwrap()).unwrap();
    let (n, part) = (number("SCANBOX_LONG_N").unwrap_or(N), number("SCANBOX_LONG_PART"));
    let tried = check_all::<Sum>(&gpu, &pack, n, part, 3)
        + check_all::<Affine>(&gpu, &pack, n, part, 1)
        + check_all::<Matrix>(&gpu, &pack, n, part, 1);
    assert!(tried > 0, "the pack has no scan that this is about");
}

/// The same with small parts, on any device: it finds what is wrong.
#[test]
fn few_elements_are_compared_alike() {
    let Some(gpu) = TestGpu::new() else { return };
    let label = "b1.vec4.par.rake.turn.wg64";
    let mut tried = 0;
    for mode in [Mode::Inclusive, Mode::Exclusive, Mode::Reduce] {
        let first = CallUse { total: mode != Mode::Reduce, ..CallUse::default() };
        let mut uses = vec![CallUse::default(), first, CallUse { init_in_memory: true, ..first }];
        uses.dedup();
        let (n, part) = (20_011, Some(6 * 1024));
        let pack = pack_of_uses(&gpu.profile, (&sum(mode), None), &uses, &[(1, label)]);
        tried += pack.map_or(0, |pack| check_all::<Sum>(&gpu, &pack, n, part, 2));
        let of_file = |name: &str| {
            let file = example(name);
            let problem = Problem::of_user(mode, file.operator(), Placement::OutOfPlace).unwrap();
            pack_of_uses(&gpu.profile, (&problem, Some(&file)), &uses, &[(1, label)])
        };
        tried += of_file("affine").map_or(0, |pack| check_all::<Affine>(&gpu, &pack, n, part, 2));
        tried += of_file("matrix2x2").map_or(0, |pack| check_all::<Matrix>(&gpu, &pack, n, part, 2));
    }
    assert_eq!(tried, 9);
}

#[test]
fn each_wrong_element_is_found() {
    fn check<T: HostOperator>() {
        let n = 3 * BLOCK as u64 + 77;
        let input = LongInput { drawn: drawn::<T>(3, BLOCK as u64 + 5), n };
        let all = |count: u64| (0..count).map(|place| input.drawn[place as usize % input.drawn.len()]);
        let inclusive: Vec<T> = all(n)
            .scan(T::IDENTITY, |before, one| {
                *before = before.combine(one);
                Some(*before)
            })
            .collect();
        assert_eq!(inclusive.last(), Some(&input.total()));
        let exclusive = [&[T::IDENTITY], &inclusive[..inclusive.len() - 1]].concat();
        for (late, mut found) in [(0, inclusive), (1, exclusive)] {
            let wrong = |found: &[T]| {
                let whole = input.first_wrong_of_many(late, 0, None, found);
                // In two pieces, as a long one comes.
                let (front, rest) = found.split_at(BLOCK + 9);
                let of_rest = input.first_wrong(late, front.len() as u64, front.last().copied(), rest);
                assert_eq!(whole, input.first_wrong(late, 0, None, front).or(of_rest));
                whole
            };
            assert_eq!(wrong(&found), None);
            for place in [0, 1, BLOCK, BLOCK + 8, BLOCK + 9, found.len() - 1] {
                let right = found[place];
                found[place] = right.combine(T::drawn([place as u32 | 8, 12_345]));
                assert_eq!(wrong(&found), Some(place as u64));
                found[place] = right;
            }
        }
    }
    check::<Sum>();
    check::<Affine>();
    check::<Matrix>();
}
