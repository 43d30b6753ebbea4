//! Safe devices: which devices get which guarantees, what fits a compute unit, and what a wrong file gets for an
//! answer.

use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::safe_devices::{Guarantee, Residency, SafeDevices};
use scanbox_testing::device::example as device;

const BUILT_IN: &str = include_str!("../../../configs/safe_devices.toml");

fn h200() -> DeviceProfile {
    device("NVIDIA H200", 0x10DE, "NVIDIA 580.159.04")
}

fn read(text: &str) -> SafeDevices {
    SafeDevices::from_toml(text, "safe.toml").unwrap()
}

/// What a list says about a device.
fn told(safe: &SafeDevices, mut device: DeviceProfile) -> (Vec<Guarantee>, Option<Residency>) {
    safe.apply(&mut device);
    (device.guarantees, device.residency)
}

#[test]
fn a_device_has_the_guarantees_of_all_entries_that_match_it() {
    use Guarantee::{CoResidency, Progress, SubgroupProgress, WorkgroupOrder};
    let safe = read(BUILT_IN);
    let check = |device: DeviceProfile, guarantees: &[Guarantee], has_residency: bool| {
        let (found, residency) = told(&safe, device.clone());
        assert_eq!((&*found, residency.is_some()), (guarantees, has_residency), "{}", device.title());
    };
    check(h200(), &[Progress, WorkgroupOrder, SubgroupProgress, CoResidency], true);
    check(
        device("NVIDIA GeForce RTX 4090", 0x10DE, "NVIDIA 550.1"),
        &[Progress, WorkgroupOrder, SubgroupProgress],
        false,
    );
    // Mesa's driver for the same cards is another one: nobody has asked it. Its name must not begin like that either.
    check(device("NVIDIA GeForce GTX 960 (NVK GM206)", 0x10DE, "NVK Mesa 24.2.1"), &[], false);
    check(device("NVIDIA H200 (NVK GH100)", 0x10DE, "NVK Mesa 25.3.0"), &[], false);
    // Workgroups start in order if it has one thread, which the probe finds out.
    check(device("llvmpipe (LLVM 15.0.6)", 0x10005, "llvmpipe Mesa 22.3.6"), &[Progress], false);
    check(device("SwiftShader Device", 0x1AE0, "SwiftShader driver 5.0.0"), &[], false);
    check(device("H200", 1, "someone else's"), &[], false);
}

/// What a device is known not to give is not tried, unless the user says so.
#[test]
fn a_device_may_lack_a_guarantee() {
    use Guarantee::{CoResidency, Progress};
    let mut m1 = device("Apple M1 Max", 0x106b, "MoltenVK 1.2");
    read(BUILT_IN).apply(&mut m1);
    assert_eq!(
        (&*m1.guarantee_facts.lacks, m1.gives(Progress), m1.is_settled(Progress)),
        (&[Progress][..], false, true)
    );
    assert!(!m1.gives(CoResidency) && !m1.is_settled(CoResidency));
    read(BUILT_IN).assuming([Progress]).apply(&mut m1);
    assert!(m1.gives(Progress));
    // Another list, told to the same profile.
    read("").apply(&mut m1);
    assert!(m1.guarantee_facts.is_empty() && m1.gives(Progress));
}

#[test]
fn what_is_assumed_holds_on_every_device() {
    let unknown = || device("Example", 1, "Example 1.0");
    let assume = |guarantees: &[Guarantee]| read(BUILT_IN).assuming(guarantees.iter().copied());
    assert_eq!(told(&assume(&[]), unknown()).0, []);
    assert_eq!(told(&assume(&[Guarantee::CoResidency]), unknown()).0, [Guarantee::CoResidency]);
    assert_eq!(told(&assume(Guarantee::VALUES), unknown()), (Guarantee::VALUES.to_vec(), None));
    assert_eq!(told(&assume(&[Guarantee::WorkgroupOrder]), h200()), told(&assume(&[]), h200()), "once");
    // A profile that another list has told something else before.
    let before = DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..unknown() };
    assert_eq!(told(&assume(&[]), before).0, []);
    for guarantee in Guarantee::VALUES {
        assert_eq!(guarantee.to_string().parse(), Ok(*guarantee));
    }
    assert!(
        "luck".parse::<Guarantee>().unwrap_err().contains("progress, workgroup-order, subgroup-progress")
    );
}

#[test]
fn workgroups_that_fit_a_unit() {
    let residency = told(&read(BUILT_IN), h200()).1.unwrap();
    let check = |workgroup_size: u32, registers: u32, shared_bytes: u64, expected: u32| {
        let found = residency.workgroups_per_unit(workgroup_size, 32, registers, shared_bytes);
        assert_eq!(
            found, expected,
            "{workgroup_size} invocations, {registers} registers, {shared_bytes} bytes"
        );
    };
    // By registers: 16,384 per partition, and a subgroup takes 32 times as many as an invocation, rounded up to 8.
    check(256, 64, 0, 4);
    check(128, 96, 0, 5);
    check(128, 97, 0, 4);
    check(128, 104, 0, 4);
    check(1024, 64, 0, 1);
    check(1024, 65, 0, 0);
    // By subgroups: 64 per unit, and 16 per partition.
    check(1024, 16, 0, 2);
    check(256, 16, 0, 8);
    check(160, 16, 0, 8);
    check(128, 1, 0, 16);
    // One subgroup leaves three partitions to nobody: at least so many fit.
    check(32, 8, 0, 16);
    // By shared memory: 33 KiB, and one KiB for each workgroup beside its own.
    check(128, 32, 7 << 10, 4);
    check(128, 32, 10 << 10, 3);
    check(128, 32, (10 << 10) + 1, 2);
    check(128, 32, 32 << 10, 1);
    check(128, 32, 33 << 10, 0);
    check(128, 32, u64::from(u32::MAX) << 10, 0);
    // By workgroups.
    let few = Residency { workgroups: 3, ..residency };
    assert_eq!(few.workgroups_per_unit(256, 32, 64, 0), 3);
}

#[test]
fn a_wrong_file_gets_an_answer() {
    const ENTRY: &str =
        "[[device]]\nmatch = { vendor_id = 1 }\nguarantees = [\"workgroup-order\"]\nwhy = \"it was seen\"\n";
    #[track_caller]
    fn check(from: &str, to: &str, parts: &[&str]) {
        assert!(ENTRY.contains(from));
        let error = SafeDevices::from_toml(&ENTRY.replace(from, to), "safe.toml").unwrap_err();
        for part in parts.iter().chain(&["safe.toml"]) {
            assert!(error.contains(part), "{error}");
        }
    }
    assert_eq!(told(&read(ENTRY), device("Example", 1, "")).0, [Guarantee::WorkgroupOrder]);
    assert_eq!(read(""), SafeDevices::default());
    check("{ vendor_id = 1 }", "{}", &["device 1", "`match`", "every device"]);
    check("it was seen", " ", &["device 1", "`why`"]);
    check("why = \"it was seen\"", "", &["why"]);
    check("workgroup-order", "luck", &["line 3", "luck", "workgroup-order"]);
    check("guarantees", "promises", &["line 3", "promises"]);
    let both = "lacks = [\"workgroup-order\"]\nwhy";
    check("why", both, &["device 1", "`lacks`", "gives and lacks workgroup-order"]);
    let none = "residency = { partitions = 0, registers = 1, register_step = 1, subgroups = 1, workgroups = 1, \
                shared_bytes = 1, shared_overhead = 1 }\nwhy";
    check("why", none, &["device 1", "`residency`"]);
    check("why", "residency = { partitions = 4 }\nwhy", &["line 4", "registers"]);
}
