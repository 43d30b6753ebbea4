//! Scanners and scans: what is chosen, what scratch memory is made of, what is recorded, and what is refused.

use std::sync::Arc;

use ash::vk::Handle as _;
use ash::{khr, vk};
use scanbox_pack::layout::STATES_OFFSET;
use scanbox_pack::{CallUse, Pack, PackData, Promises, Reason, RecipePasses, ScanMode, ScanProblem};
use scanbox_vk::{
    Access, CallLength, DeviceRange, Features, HandOverError, NotSplit, Scan, ScanCall, Scanner, ScannerInfo,
    Wanted, wanted,
};

use crate::driver;
use crate::instance::{FakeDevice, instance};
use crate::packs::{ANY_ELEMENT, IN_LINE, KEPT, ON_DEVICE, OVERWRITTEN, data, sum};

const BARRIER: &str = "barrier COMPUTE_SHADER SHADER_STORAGE_READ | SHADER_STORAGE_WRITE > \
                       COMPUTE_SHADER SHADER_STORAGE_READ | SHADER_STORAGE_WRITE";

/// The pack of tests, with any build of the driver.
pub fn test_data() -> PackData {
    let mut data = data();
    data.device.driver_build = String::new();
    data
}

pub fn scanner_of(data: PackData, device: FakeDevice, on: &ash::Device) -> Result<Scanner, HandOverError> {
    let enabled = device.features;
    let instance = instance(device);
    let info = ScannerInfo {
        instance: &instance,
        physical: vk::PhysicalDevice::null(),
        device: on,
        enabled,
        pipeline_cache: vk::PipelineCache::null(),
        pack: Arc::new(Pack::new(data).unwrap()),
        promises: Promises::NONE,
    };
    // SAFETY: this instance and this device take everything.
    unsafe { Scanner::new(&info) }
}

pub fn scanner(data: PackData) -> Scanner {
    scanner_of(data, FakeDevice::default(), &driver::device()).unwrap()
}

pub fn scan(max_n: u64, call_use: CallUse) -> Scan {
    let scan = scanner(test_data()).scan(&sum(), max_n, call_use).unwrap();
    driver::commands();
    scan
}

pub const INPUT: u64 = 1 << 40;
pub const OUTPUT: u64 = 2 << 40;
pub const SCRATCH: u64 = 3 << 40;

/// A call with room for everything.
pub fn call(n: u64) -> ScanCall {
    let range = |address| DeviceRange { address, bytes: 1 << 36 };
    ScanCall {
        input: range(INPUT),
        output: range(OUTPUT),
        scratch: range(SCRATCH),
        n: CallLength::Host(n),
        init: None,
        total: None,
    }
}

/// What a call records.
pub fn recorded(scan: &Scan, call: &ScanCall) -> Result<Vec<String>, HandOverError> {
    driver::commands();
    // SAFETY: this device takes everything.
    let result = unsafe { scan.cmd_scan(vk::CommandBuffer::null(), call) };
    let commands = driver::commands();
    match result {
        Ok(()) => Ok(commands),
        Err(error) => {
            assert_eq!(commands, [""; 0], "{error}");
            Err(error)
        }
    }
}

fn prepared(scan: &Scan) -> Vec<String> {
    driver::commands();
    let scratch = DeviceRange { address: SCRATCH, bytes: scan.scratch().bytes };
    // SAFETY: this device takes everything.
    unsafe { scan.cmd_prepare(vk::CommandBuffer::null(), scratch) }.unwrap();
    driver::commands()
}

#[test]
fn a_device_is_asked_for_what_it_has() {
    let ask = |device: FakeDevice| {
        let instance = instance(device);
        // SAFETY: this instance takes any device.
        unsafe { wanted(&instance, vk::PhysicalDevice::null()) }
    };
    let full = FakeDevice::default();
    let Wanted { features, extensions } = ask(full.clone()).unwrap();
    assert_eq!((features.set(), extensions.len()), (full.features.set(), 1));
    assert_eq!(features.missing().count(), 0);
    // The extension is asked for only where it is there.
    let Wanted { features, extensions } = ask(FakeDevice { extensions: vec![], ..full.clone() }).unwrap();
    assert_eq!(
        (features.uniform_control_flow.shader_subgroup_uniform_control_flow, extensions.len()),
        (0, 0)
    );
    // A driver that stands on another interface wants that to be said.
    let portable = FakeDevice { extensions: vec![khr::portability_subset::NAME], ..full.clone() };
    assert_eq!(ask(portable).unwrap().extensions, [khr::portability_subset::NAME]);
    let mut few = full.clone();
    few.features.v10.shader_int64 = vk::FALSE;
    few.features.uniform_control_flow.shader_subgroup_uniform_control_flow = vk::FALSE;
    let Wanted { features, extensions } = ask(few).unwrap();
    assert_eq!(features.v12.shader_buffer_int64_atomics, vk::FALSE, "half a feature");
    assert_eq!((features.v10.shader_float64, extensions.len()), (vk::TRUE, 0));
    let mut lacking = full.clone();
    lacking.features.v12.buffer_device_address = vk::FALSE;
    let lacks = |feature| HandOverError::NotOffered { feature };
    let missing = ask(lacking).unwrap_err();
    assert_eq!(missing, lacks("bufferDeviceAddress"));
    // An instance of an older version shows less than the device has; and who asked `wanted` is not sent there.
    let text = missing.to_string();
    assert!(text.contains("was the instance made for Vulkan 1.3") && !text.contains("`wanted`"), "{text}");
    let old = FakeDevice { api_version: vk::API_VERSION_1_2, ..full };
    assert_eq!(ask(old).unwrap_err(), lacks("Vulkan 1.3"));
}

/// What `enable` puts into the chain of a device, by type.
#[test]
fn what_is_wanted_gets_into_the_chain_of_a_device() {
    let chain = |mut features: Features| {
        let info = features.enable(vk::DeviceCreateInfo::default());
        let mut types = Vec::new();
        let mut next = info.p_next.cast::<vk::BaseInStructure<'_>>();
        // SAFETY: the chain is of structures that live here.
        while let Some(one) = unsafe { next.as_ref() } {
            types.push(one.s_type);
            next = one.p_next;
        }
        assert!(!info.p_enabled_features.is_null());
        types.len()
    };
    assert_eq!(chain(FakeDevice::default().features), 3);
    assert_eq!(chain(reconverging().features), 4);
    assert_eq!(chain(Features::default()), 2);
}

/// A device that has maximal reconvergence beside the rest.
pub fn reconverging() -> FakeDevice {
    let mut device = FakeDevice::default();
    device.extensions.push(khr::shader_maximal_reconvergence::NAME);
    device.features.maximal_reconvergence.shader_maximal_reconvergence = vk::TRUE;
    device
}

#[test]
fn scanners_need_what_kernels_cannot_do_without() {
    let make = |device: FakeDevice| scanner_of(test_data(), device, &driver::device()).map(drop).unwrap_err();
    let mut device = FakeDevice::default();
    device.features.v13.maintenance4 = vk::FALSE;
    assert_eq!(make(device), HandOverError::Lacks { feature: "maintenance4" });
    let operations = vk::SubgroupFeatureFlags::VOTE;
    let device = FakeDevice { operations, ..FakeDevice::default() };
    assert_eq!(
        make(device),
        HandOverError::Lacks { feature: "basic subgroup operations in compute shaders" }
    );
    let device = FakeDevice { api_version: vk::API_VERSION_1_1, ..FakeDevice::default() };
    assert_eq!(make(device), HandOverError::Lacks { feature: "Vulkan 1.3" });
}

#[test]
fn breakpoints_become_kernels_with_scratch_memory_of_their_own() {
    let scan = scan(1 << 20, KEPT);
    let chosen = |n| {
        let chosen = scan.chosen(n);
        (chosen.label, chosen.reason, chosen.alignment)
    };
    for n in [0, 1, 4999] {
        assert_eq!(chosen(n), ("one", Reason::SameDriver, 16));
    }
    for n in [5000, 1 << 20, u64::MAX] {
        assert_eq!(chosen(n), ("pers", Reason::SameDriver, 16));
    }
    assert_eq!(scan.chosen(1000).measured.unwrap().nanoseconds, 2056.0);
    assert_eq!((scan.chosen(1).worst_loss_ppm, scan.chosen(1).unaligned), (Some(12_345), None));
    // One remembers nothing; 2,048 states of 16 bytes at 256 are the other's.
    assert_eq!(scan.scratch().bytes, 256 + 2048 * 16);
    assert_eq!((scan.scratch().alignment, scan.max_n()), (256, 1 << 20));
    assert_eq!(prepared(&scan), ["push 0 [3, 3, 0, 768, 8256, 0]", "bind 22", "dispatch 3 1 1"]);
    let [one, pers] = [100, 5000].map(|n| recorded(&scan, &call(n)).unwrap());
    assert_eq!(one, ["push 0 [1, 1, 0, 256, 0, 512, 100, 100]", "bind 22", "dispatch 1 1 1"]);
    assert_eq!(
        pers,
        [
            "push 0 [10, 10, 0, 256, 0, 512, 0, 768, 256, 768, 256, 768, 5000, 1048576]",
            "bind 28",
            "dispatch 10 1 1"
        ]
    );
    // Exactly as much as it says it needs.
    let small = ScanCall {
        input: DeviceRange { address: INPUT, bytes: 20_000 },
        output: DeviceRange { address: OUTPUT, bytes: 20_000 },
        scratch: DeviceRange { address: SCRATCH, bytes: 256 + 2048 * 16 },
        ..call(5000)
    };
    assert_eq!(recorded(&scan, &small).unwrap(), pers);
    // Neither a word nor a byte of anything where there is nothing to do.
    let nothing = DeviceRange::default();
    let none = ScanCall { input: nothing, output: nothing, ..call(0) };
    assert_eq!(recorded(&scan, &none), Ok(vec![]));
    let sync = scan.sync();
    assert_eq!(sync.before, Access::COMPUTE);
    assert_eq!(sync.behind.memory, vk::AccessFlags2::SHADER_STORAGE_WRITE);
}

/// Two kernels that count their calls never see each other's memory, and those that clear theirs share it.
#[test]
fn kernels_that_remember_do_not_share() {
    let mut data = test_data();
    data.recipes[0] = data.recipes[1].clone();
    data.recipes[0].label = "other".to_owned();
    // Another recipe, by a word.
    let passes = &mut data.recipes[0].recipe.passes;
    let RecipePasses::One(pass) = passes else { panic!("it has one pass") };
    pass.words.push(pass.words[0]);
    data.problems[0].measured[0].breakpoints[1].ranked = vec![1];
    let scan = scanner(data).scan(&sum(), 10_000, KEPT).unwrap();
    let part = STATES_OFFSET + 32 * 16;
    let first = (STATES_OFFSET + 32 * 16).next_multiple_of(256);
    assert_eq!((scan.chosen(1).label, scan.chosen(5000).label), ("other", "par"));
    assert_eq!(scan.scratch().bytes, first + part.next_multiple_of(256));
    let scratch = |n| recorded(&scan, &call(n)).unwrap()[0].split(", ").nth(6).unwrap().to_owned();
    // That for the most elements comes first.
    assert_eq!([scratch(100), scratch(5000)], [first.to_string(), "0".to_owned()]);
    // Zeros and a turn for each, behind each other.
    let prepared = prepared(&scan);
    assert_eq!(prepared.len(), 2 * 6);
    let turn = format!("push 0 [1, 1, {}, 768, 1, 2]", first + 128);
    assert_eq!(&prepared[3..6], [BARRIER.to_owned(), turn, "dispatch 1 1 1".to_owned()]);
    assert_eq!(prepared.last_chunk::<2>().unwrap()[0], "push 0 [1, 1, 128, 768, 1, 2]");
}

#[test]
fn memory_that_others_overwrite_needs_no_preparation() {
    let mut data = test_data();
    data.problems[0].measured[2].breakpoints[0].from = 1;
    let scan = scanner(data).scan(&sum(), 1000, OVERWRITTEN).unwrap();
    assert_eq!(prepared(&scan), [""; 0]);
    let commands = recorded(&scan, &call(600)).unwrap();
    assert_eq!(commands.len(), 7, "a fill, a barrier and a scan: {commands:?}");
    assert_eq!((&commands[3][..], &commands[6][..]), (BARRIER, "dispatch 2 1 1"));
}

/// What a table leaves out, below its first breakpoint, has what is next to it.
#[test]
fn sizes_that_a_table_leaves_out_are_filled() {
    let scan = scan(1000, OVERWRITTEN);
    assert_eq!((scan.chosen(1).label, scan.chosen(1).worst_loss_ppm), ("fill", None));
    assert_eq!(scan.chosen(2).worst_loss_ppm, Some(12_345));
    assert_eq!(recorded(&scan, &call(1)).unwrap().len(), 7);
}

#[test]
fn a_pipeline_that_cannot_be_made_gives_way_to_the_next() {
    // That of module 1, of which "pers" and "par" are: what is portable comes last.
    driver::refuse(24);
    let scan = scanner(test_data()).scan(&sum(), 10_000, KEPT).unwrap();
    let chosen = [4999, 5000].map(|n| (scan.chosen(n).label, scan.chosen(n).reason));
    assert_eq!(chosen, [("one", Reason::SameDriver), ("rts", Reason::Portable)]);
    assert_eq!((scan.chosen(5000).worst_loss_ppm, scan.chosen(5000).measured), (None, None));
    let mut alone = test_data();
    alone.problems[0].portable.clear();
    let scanner = scanner(alone);
    let refused = scanner.scan(&sum(), 10_000, KEPT).unwrap_err();
    let HandOverError::NoKernel { problem, why, .. } = &refused else { panic!("{refused}") };
    assert_eq!((&problem[..], why.len()), ("u32 add inclusive", 2));
    assert_eq!(why[0], "pers: its pipeline cannot be made: A host memory allocation has failed");
    assert!(refused.to_string().contains("device: `scanbox tune --problem u32:add:inclusive`"), "{refused}");
    // A smaller scan has no need of it.
    let scan = scanner.scan(&sum(), 4999, KEPT).unwrap();
    assert_eq!(scan.chosen(4999).label, "one");
    driver::refuse(0);
    assert_eq!(scanner.scan(&sum(), 10_000, KEPT).unwrap().chosen(10_000).label, "pers");
    // "one" is of module 0, which all the others need in front of their first call: but "rts" does not.
    let mut data = test_data();
    data.problems[0].measured[0].breakpoints[0].ranked = vec![0, 4];
    driver::refuse(18);
    let scan = self::scanner(data).scan(&sum(), 4999, KEPT).unwrap();
    assert_eq!((scan.chosen(9).label, scan.chosen(9).worst_loss_ppm), ("rts", None));
    driver::refuse(0);
}

#[test]
fn pipelines_are_made_once_and_go_with_the_last_scan() {
    let scanner = scanner(test_data());
    driver::commands();
    let made = |scanner: &Scanner, call_use| {
        let scan = scanner.scan(&sum(), 10_000, call_use).unwrap();
        let commands = driver::commands();
        (scan, commands.iter().filter(|command| command.starts_with("pipeline")).count())
    };
    let (first, pipelines) = made(&scanner, KEPT);
    assert_eq!(pipelines, 2);
    let (_, pipelines) = made(&scanner.clone(), ANY_ELEMENT);
    assert_eq!(pipelines, 0, "of the same modules");
    drop(scanner);
    assert_eq!(driver::commands(), [""; 0]);
    assert_eq!(recorded(&first, &call(5000)).unwrap().len(), 3);
    drop(first);
    let mut gone = driver::commands();
    gone.sort();
    assert_eq!(gone, ["no layout", "no pipeline 22", "no pipeline 28"]);
}

#[test]
fn what_there_is_no_kernel_for_is_said() {
    let scanner = scanner(test_data());
    let refused = |problem: &ScanProblem, max_n, call_use| {
        let error = scanner.scan(problem, max_n, call_use).unwrap_err();
        (error.to_string(), error)
    };
    // What `main` prints of an error that it returns is what helps.
    let (text, error) = refused(&ScanProblem { operator: "max".into(), ..sum() }, 100, KEPT);
    assert_eq!(format!("{error:?}"), text);
    let any_device = |word| format!("`scanbox pack --any-device {word} -o my.scanpack`");
    let exclusive = ScanProblem::built_in(ScanMode::Exclusive, "u32", "add").unwrap();
    let of_user = ScanProblem { operator: "mine".into(), operator_hash: "77".into(), ..sum() };
    let halves =
        ScanProblem::built_in(ScanMode::Reduce, "f32", "max").unwrap().begin_with(&[0.5_f32.to_bits()]);
    for (problem, named, mend) in [
        (
            ScanProblem { operator: "max".into(), ..sum() },
            "u32 max inclusive",
            any_device("u32:max:inclusive"),
        ),
        (
            sum().begin_with(&[7]),
            "u32 add inclusive with initial value 7",
            any_device("u32:add:inclusive:init=7"),
        ),
        (exclusive.clone(), "u32 add exclusive", any_device("u32:add:exclusive")),
        (
            exclusive.in_place().reversed(),
            "u32 add exclusive in place from the last element on",
            any_device("u32:add:exclusive:in-place:reverse"),
        ),
        (halves, "f32 max reduce with initial value 0.5", any_device("f32:max:reduce:init=0.5")),
        (
            of_user.begin_with(&[7]),
            "u32 mine inclusive with initial value 7",
            "`scanbox pack --operator FILE`".into(),
        ),
    ] {
        let (text, _) = refused(&problem, 100, KEPT);
        let said = format!(
            "no kernel for {named} that runs here: the pack has no such scan; it has u32 add inclusive; make a pack"
        );
        assert!(text.contains(&said) && text.ends_with(&mend), "{text}");
    }
    let wide = ScanProblem::built_in(ScanMode::Inclusive, "i64", "min").unwrap();
    for (problem, said) in [
        (sum().begin_with(&[7, 0]), "of u32 has 4 bytes, and the initial value has 8; pass all words"),
        (ScanProblem { mode: ScanMode::Exclusive, ..sum() }, "and the initial value has 0; pass all words"),
        (wide.clone().begin_with(&[u32::MAX; 2]), "with initial value -1 that runs here"),
        (wide.begin_with(&[u32::MAX, u32::MAX >> 1]), "changes nothing; leave it out"),
    ] {
        let (text, _) = refused(&problem, 100, KEPT);
        assert!(text.contains(said), "{text}");
    }
    // A pack with that initial value, and many others, does not have the scan without one.
    let mut data = test_data();
    data.problems[0].scan = sum().begin_with(&[7]);
    for operator in ["min", "max", "and", "or", "xor"] {
        let mut other = data.problems[0].clone();
        other.scan = ScanProblem { operator: operator.into(), ..sum() };
        data.problems.push(other);
    }
    let text = self::scanner(data).scan(&sum(), 100, KEPT).unwrap_err().to_string();
    let has = "it has u32 add inclusive with initial value 7, u32 min inclusive, u32 max inclusive, u32 and inclusive, \
               2 more;";
    assert!(text.contains(has), "{text}");
    let (text, _) = refused(&sum(), 100, CallUse { total: true, n_on_device: true, ..KEPT });
    assert!(text.contains("number of elements on the device, total beside"), "{text}");
    assert!(text.ends_with(&any_device("u32:add:inclusive")), "{text}");
    // Kernels for any device take pushed arguments alone.
    let (text, _) = refused(&sum(), 100, CallUse { total: true, ..IN_LINE });
    assert!(text.ends_with("device: `scanbox tune --problem u32:add:inclusive`"), "{text}");
    let (text, error) = refused(&sum(), (1 << 30) + 1, KEPT);
    let why = NotSplit::Uses { is_reduction: false };
    assert_eq!(error, HandOverError::TooLargeForKernels { max_n: (1 << 30) + 1, most: 1 << 30, why });
    let said = "make the scan for 1073741824, and scan in parts. The library does not split this scan itself: the pack has \
                no kernels for both of the uses";
    assert!(text.contains(said), "{text}");
    // Where a feature is not enabled, another pack does not help; where there are other subgroups, one with them does.
    let mut off = FakeDevice::default();
    off.features.v10.shader_int64 = vk::FALSE;
    let scanner = scanner_of(test_data(), off, &driver::device()).unwrap();
    let text = scanner.scan(&sum(), 100, ON_DEVICE).unwrap_err().to_string();
    assert!(text.contains("shaderInt64") && text.ends_with("enable it where the device has it"), "{text}");
    let other = FakeDevice { device_id: 1, subgroups: [4, 4, 4], ..FakeDevice::default() };
    let scanner = scanner_of(test_data(), other, &driver::device()).unwrap();
    let text = scanner.scan(&sum(), 100, KEPT).unwrap_err().to_string();
    assert!(text.ends_with(&any_device("u32:add:inclusive --portable 4")), "{text}");
    // A device that starts few workgroups has none for many elements.
    let few = FakeDevice { max_groups: [10, 1, 1], ..FakeDevice::default() };
    let scanner = scanner_of(test_data(), few, &driver::device()).unwrap();
    let text = scanner.scan(&sum(), 1 << 20, KEPT).unwrap_err().to_string();
    assert!(text.contains("pers: more workgroups or arguments than the device takes"), "{text}");
    // "par" is not chosen, and "pers" starts as many as fit.
    assert_eq!(scanner.scan(&sum(), 5120, KEPT).unwrap().chosen(5120).label, "pers");
}

/// Another driver may take fewer workgroups in a row than the one that code was compiled for, which may count on one
/// row.
#[test]
fn other_drivers_run_one_row_of_workgroups_at_most() {
    let refused = |driver: &str, max_n| {
        let mut data = test_data();
        data.device.driver = driver.to_owned();
        data.problems[0].measured.drain(..1);
        data.problems[0].measured[0].needs = Promises::NONE;
        data.problems[0].measured[0].breakpoints[0].ranked = vec![1];
        data.problems[0].portable.clear();
        let device = FakeDevice { max_groups: [70, 70, 1], ..FakeDevice::default() };
        let scanner = scanner_of(data, device, &driver::device()).unwrap();
        scanner.scan(&sum(), max_n, KEPT).map(|scan| scan.chosen(1).reason)
    };
    assert_eq!(refused("NVIDIA 580.159.04", 71 * 512), Ok(Reason::SameDriver));
    assert_eq!(refused("NVIDIA 581.1", 70 * 512), Ok(Reason::SameDevice));
    let text = refused("NVIDIA 581.1", 70 * 512 + 1).unwrap_err().to_string();
    assert!(text.contains("more workgroups or arguments than the device takes"), "{text}");
}

/// What may run with subgroups of another size than it was compiled for does not run.
#[test]
fn a_device_with_several_subgroup_sizes_can_be_asked_for_one() {
    let made = |subgroups, pinned_stages| {
        let device = FakeDevice { subgroups, pinned_stages, ..FakeDevice::default() };
        scanner_of(test_data(), device, &driver::device()).map(drop)
    };
    let (compute, others) = (vk::ShaderStageFlags::COMPUTE, vk::ShaderStageFlags::FRAGMENT);
    assert_eq!(made([8, 32, 64], compute), Ok(()));
    assert_eq!(made([32, 32, 32], others), Ok(()));
    let feature = "a choice of the subgroup size in compute shaders";
    assert_eq!(made([8, 32, 64], others), Err(HandOverError::Lacks { feature }));
}

/// On another device there is what needs no promise, in the subgroup size that it can be asked for.
#[test]
fn other_devices_have_portable_kernels() {
    let other = FakeDevice { device_id: 1, subgroups: [8, 64, 64], ..FakeDevice::default() };
    let scanner = scanner_of(test_data(), other, &driver::device()).unwrap();
    let scan = scanner.scan(&sum(), 10_000, KEPT).unwrap();
    let pinned = driver::commands().into_iter().find(|command| command.starts_with("pipeline")).unwrap();
    assert!(pinned.contains("pinned Some(32)"), "{pinned}");
    assert_eq!((scan.chosen(1).label, scan.chosen(1).reason), ("rts", Reason::Portable));
    assert_eq!(scan.chosen(1).measured, None);
    // Two levels of totals, which nobody has to clear: 20 tiles.
    assert_eq!((scan.scratch().bytes, prepared(&scan).len()), (256, 0));
    let commands = recorded(&scan, &call(10_000)).unwrap();
    assert_eq!(commands.iter().filter(|command| command.starts_with("dispatch")).count(), 3);
}

#[test]
fn everything_may_be_shared_between_threads() {
    fn check<T: Clone + Send + Sync>() {}
    check::<Scanner>();
    check::<Scan>();
    check::<HandOverError>();
    check::<Features>();
    let scan = scan(10_000, KEPT);
    let commands = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| recorded(&scan, &call(5000)).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!((commands[0].len(), &commands[0]), (3, &commands[1]));
    // A null handle is printed as one.
    assert!(format!("{:?}", scan.clone()).contains("one_device") || scan.max_n() == 10_000);
    assert_eq!(vk::Pipeline::null().as_raw(), 0);
}
