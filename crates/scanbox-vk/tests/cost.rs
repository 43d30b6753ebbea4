//! What recording costs: no memory, and little time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::time::Instant;

use ash::vk;
use scanbox_vk::{DeviceRange, LineBuffer};

use crate::instance::FakeDevice;
use crate::packs::{ANY_ELEMENT, IN_LINE, KEPT, sum};
use crate::scanner::{SCRATCH, call, scanner_of, test_data};
use crate::silent;

/// Counts what this thread allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is the system's; a number is counted beside, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often it allocates.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn recording_allocates_nothing() {
    let scanner = scanner_of(test_data(), FakeDevice::default(), &silent::device()).unwrap();
    let scan = scanner.scan(&sum(), 1 << 20, ANY_ELEMENT).unwrap();
    let scratch = DeviceRange { address: SCRATCH, bytes: scan.scratch().bytes };
    let commands = vk::CommandBuffer::null();
    assert!(allocations(|| drop(black_box(vec![1_u8]))) > 0, "it counts");
    // SAFETY: this device takes everything.
    let counted = allocations(|| unsafe {
        scan.cmd_prepare(commands, scratch).unwrap();
        for n in [0, 1, 100, 5000, 1 << 20] {
            scan.cmd_scan(commands, &call(n)).unwrap();
            let mut elsewhere = call(n);
            elsewhere.input.address += 4;
            scan.cmd_scan(commands, &elsewhere).unwrap();
        }
        assert!(scan.cmd_scan(commands, &call(u64::MAX)).is_err());
        black_box(scan.clone().chosen(5000));
    });
    assert_eq!(counted, 0);
}

#[test]
fn telling_what_is_bound_allocates_nothing() {
    let scanner = scanner_of(test_data(), FakeDevice::default(), &silent::device()).unwrap();
    let scan = scanner.scan(&sum(), 1 << 20, IN_LINE).unwrap();
    let range = DeviceRange { address: 1 << 30, bytes: 128 };
    let lines = LineBuffer { buffer: vk::Buffer::null(), offset: 0, range };
    let commands = vk::CommandBuffer::null();
    // SAFETY: this device takes everything.
    let counted = unsafe {
        let bound = scan.bind(Some(lines), &call(5000)).unwrap();
        allocations(|| {
            bound.cmd_set(commands, &call(5000)).unwrap();
            bound.cmd_scan(commands);
            assert!(bound.cmd_set(commands, &call(5001)).is_err());
        })
    };
    assert_eq!(counted, 0);
}

/// The time that a program pays, with optimisation (`cargo test -p scanbox-vk --release cost::`), is 300 ns at most;
/// the bound for builds without is a generous one.
#[test]
#[expect(clippy::print_stderr, reason = "the time is what somebody may want to know")]
fn recording_takes_little_time() {
    let scanner = scanner_of(test_data(), FakeDevice::default(), &silent::device()).unwrap();
    let scan = scanner.scan(&sum(), 1 << 20, KEPT).unwrap();
    let commands = vk::CommandBuffer::null();
    let mut best = f64::INFINITY;
    for _ in 0..50 {
        let began = Instant::now();
        for turn in 0..1000 {
            // SAFETY: this device takes everything.
            unsafe { scan.cmd_scan(commands, black_box(&call(5000 + turn))) }.unwrap();
        }
        best = best.min(began.elapsed().as_nanos() as f64 / 1000.0);
    }
    eprintln!("recording a call takes {best:.0} ns");
    let most = if cfg!(debug_assertions) { 3000.0 } else { 300.0 };
    assert!(best < most, "{best} ns");
}
