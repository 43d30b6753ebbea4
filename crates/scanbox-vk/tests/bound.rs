//! Bound scans: pipelines of their own, lines that are told, and what is refused.

use ash::vk;
use ash::vk::Handle as _;
use scanbox_pack::layout::N_WORD;
use scanbox_pack::{ArgumentKind, CallSizes, CallUse, PackData};
use scanbox_vk::{Bound, CallLength, DeviceRange, HandOverError, LineBuffer, Operand, Scan, ScanCall};

use crate::driver;
use crate::packs::{IN_LINE, KEPT, sum};
use crate::scanner::{OUTPUT, SCRATCH, call, scanner, test_data};

const LINES: u64 = 4 << 40;

fn lines() -> LineBuffer {
    let range = DeviceRange { address: LINES, bytes: 128 };
    LineBuffer { buffer: vk::Buffer::from_raw(5), offset: 512, range }
}

fn scan_of(data: PackData, call_use: CallUse) -> Scan {
    let scan = scanner(data).scan(&sum(), 10_000, call_use).unwrap();
    driver::commands();
    scan
}

fn bind(scan: &Scan, lines: Option<LineBuffer>, call: &ScanCall) -> Result<Bound, HandOverError> {
    // SAFETY: this device takes everything.
    unsafe { scan.bind(lines, call) }
}

/// What is recorded of calls.
fn called(bound: &Bound) -> Vec<String> {
    driver::commands();
    // SAFETY: this device takes everything.
    unsafe { bound.cmd_scan(vk::CommandBuffer::null()) };
    driver::commands()
}

/// What is recorded of what they are told.
fn told(bound: &Bound, call: &ScanCall) -> Result<Vec<String>, HandOverError> {
    driver::commands();
    // SAFETY: this device takes everything.
    let result = unsafe { bound.cmd_set(vk::CommandBuffer::null(), call) };
    let commands = driver::commands();
    if result.is_err() {
        assert_eq!(commands, [""; 0]);
    }
    result.map(|()| commands)
}

/// Calls in lines whose number of elements the device knows.
const ON_DEVICE: CallUse = CallUse { n_on_device: true, ..IN_LINE };

/// The pack of tests, whose recipe with lines is for this use.
pub fn data_for(call_use: CallUse) -> PackData {
    let mut data = test_data();
    let recipe = &mut data.recipes[7].recipe;
    recipe.arguments = call_use.arguments;
    recipe.call_sizes = if call_use.n_on_device { CallSizes::InMemory } else { CallSizes::Same };
    let table =
        data.problems[0].measured.iter_mut().find(|table| table.breakpoints[0].ranked == [7]).unwrap();
    table.call_use = call_use;
    // The one with pushed arguments for that use would be it twice.
    data.problems[0].measured.retain(|table| !table.breakpoints.iter().any(|one| one.ranked.contains(&6)));
    data
}

/// A line, without the zeros at its end.
const WORDS: &str = "0, 256, 0, 512, 5000, 10, 0, 0, 0, 768, 256, 768, 1048832, 768, 10, 5000, 0";

#[test]
fn lines_are_told_and_calls_find_them() {
    let scan = scan_of(data_for(IN_LINE), IN_LINE);
    assert_eq!((scan.line_needs().bytes, scan.line_needs().alignment), (128, 128));
    let bound = bind(&scan, Some(lines()), &call(5000)).unwrap();
    let made = driver::commands();
    let pipeline = made.iter().find(|command| command.starts_with("pipeline")).unwrap();
    let zeros = "0, ".repeat(24);
    assert!(pipeline.ends_with(&format!("[{zeros}0, 1024, 0, 768, 0]")), "{pipeline}");
    assert_eq!((bound.n(), bound.length_address()), (5000, None));
    assert_eq!(called(&bound), ["bind 28", "dispatch 10 1 1"]);
    let commands = told(&bound, &call(5000)).unwrap();
    assert_eq!(commands.len(), 3);
    assert!(commands[0].starts_with("barrier COMPUTE_SHADER ") && commands[0].contains("> ALL_TRANSFER"));
    assert!(commands[1].starts_with(&format!("update 5 512 [{WORDS}, ")), "{commands:?}");
    assert!(commands[2].starts_with("barrier ALL_TRANSFER ") && commands[2].contains("> COMPUTE_SHADER"));
    // Other arrays.
    let mut other = call(5000);
    other.output.address += 64;
    assert!(told(&bound, &other).unwrap()[1].starts_with("update 5 512 [0, 256, 64, 512, 5000,"));
    // What is bound stays.
    let elsewhere = |what| Err(HandOverError::BoundToOther { what });
    let mut other = call(5000);
    other.scratch.address += 256;
    assert_eq!(told(&bound, &other), elsewhere(Operand::Scratch));
    assert_eq!(told(&bound, &call(4999)), elsewhere(Operand::Length));
    let n = CallLength::Device { address: LINES + 16 };
    assert_eq!(told(&bound, &ScanCall { n, ..call(0) }), elsewhere(Operand::Length));
    other = call(5000);
    other.input.address += 4;
    let misaligned =
        HandOverError::Misaligned { what: Operand::Input, address: other.input.address, needed: 16 };
    assert_eq!(told(&bound, &other), Err(misaligned));
    assert_eq!(
        told(&bound, &ScanCall { total: Some(64), ..call(5000) }),
        Err(HandOverError::Unexpected { what: Operand::Total })
    );
    drop(bound);
    assert_eq!(driver::commands(), ["no pipeline 28"]);
}

#[test]
fn each_call_may_have_another_number_of_elements() {
    let scan = scan_of(data_for(ON_DEVICE), ON_DEVICE);
    let bound = bind(&scan, Some(lines()), &call(5000)).unwrap();
    let made = driver::commands();
    let pipeline = made.iter().find(|command| command.starts_with("pipeline")).unwrap();
    assert!(pipeline.ends_with("0, 1024, 0, 768, 10000]"), "{pipeline}");
    assert_eq!(bound.n(), 10_000);
    assert_eq!(called(&bound), ["bind 28", "dispatch 20 1 1"]);
    for n in [0, 1, 10_000] {
        let commands = told(&bound, &call(n)).unwrap();
        assert!(commands[1].starts_with(&format!("update 5 512 [0, 256, 0, 512, {n}, 20,")), "{commands:?}");
    }
    assert_eq!(told(&bound, &call(10_001)), Err(HandOverError::TooLarge { n: 10_001, max: 10_000 }));
    // The device writes the word itself: everything else is told.
    let address = bound.length_address().unwrap();
    assert_eq!(address, LINES + 4 * N_WORD as u64);
    let commands = told(&bound, &ScanCall { n: CallLength::Device { address }, ..call(0) }).unwrap();
    assert_eq!(commands[1], "update 5 512 [0, 256, 0, 512]");
    assert!(commands[2].starts_with("update 5 532 [20, 0, 0, 0, 768,"), "{commands:?}");
}

#[test]
fn what_is_baked_is_in_the_pipeline() {
    let baked = CallUse { arguments: ArgumentKind::Baked, ..KEPT };
    let scan = scan_of(data_for(baked), baked);
    assert_eq!(scan.line_needs().bytes, 0);
    let bound = bind(&scan, None, &call(5000)).unwrap();
    let made = driver::commands();
    let pipeline = made.iter().find(|command| command.starts_with("pipeline")).unwrap();
    assert!(
        pipeline.contains(&format!("[{WORDS}, ")) && pipeline.ends_with("0, 0, 0, 768, 0]"),
        "{pipeline}"
    );
    assert_eq!(called(&bound), ["bind 28", "dispatch 10 1 1"]);
    let refused = told(&bound, &call(5000));
    assert_eq!(refused, Err(HandOverError::OtherArguments { arguments: ArgumentKind::Baked }));
    // A call without elements has nothing to do.
    let bound = bind(&scan, None, &call(0)).unwrap();
    assert_eq!(called(&bound), [""; 0]);
}

#[test]
fn what_cannot_be_bound_is_said() {
    let scan = scan_of(data_for(IN_LINE), IN_LINE);
    let check = |lines, call: &ScanCall, expected: HandOverError| {
        assert_eq!(bind(&scan, lines, call).map(drop), Err(expected));
        let made = driver::commands();
        assert!(made.iter().all(|command| !command.starts_with("pipeline")), "{made:?}");
    };
    let what = Operand::Lines;
    check(None, &call(5000), HandOverError::Missing { what });
    let mut moved = lines();
    moved.range.address += 64;
    let misaligned = HandOverError::Misaligned { what, address: LINES + 64, needed: 128 };
    check(Some(moved), &call(5000), misaligned);
    let mut small = lines();
    small.range.bytes = 127;
    check(Some(small), &call(5000), HandOverError::TooSmall { what, bytes: 127, needed: 128 });
    let odd = LineBuffer { offset: 514, ..lines() };
    check(Some(odd), &call(5000), HandOverError::Misaligned { what, address: 514, needed: 4 });
    check(Some(lines()), &call(10_001), HandOverError::TooLarge { n: 10_001, max: 10_000 });
    let mut misplaced = call(5000);
    misplaced.output.address += 4;
    let misaligned = HandOverError::Misaligned { what: Operand::Output, address: OUTPUT + 4, needed: 16 };
    check(Some(lines()), &misplaced, misaligned);
    let mut overlapping = call(5000);
    overlapping.scratch.address = OUTPUT;
    let overlap = HandOverError::Overlap { one: Operand::Scratch, other: Operand::Output };
    check(Some(lines()), &overlapping, overlap);
    // Vulkan fails, and what was made goes again.
    driver::refuse(24);
    let failed = bind(&scan, Some(lines()), &call(5000)).map(drop).unwrap_err();
    let result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
    assert_eq!(failed, HandOverError::Vulkan { call: "vkCreateComputePipelines", result });
    driver::refuse(0);
    let pushed = scan_of(test_data(), KEPT);
    let refused = bind(&pushed, None, &call(5000)).map(drop);
    assert_eq!(refused, Err(HandOverError::OtherArguments { arguments: ArgumentKind::Pushed }));
    assert_eq!(pushed.line_needs().bytes, 0);
    assert_eq!(SCRATCH, call(1).scratch.address);
}
