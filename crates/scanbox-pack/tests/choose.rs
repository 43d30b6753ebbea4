//! What is chosen for which device, and what is said of it.

use scanbox_pack::choose::Lack;
use scanbox_pack::{CallUse, FeatureSet, NotChosen, Pack, Promises, Reason, ScanProblem, SeenDevice, Wish};

use crate::packs::{ANY_ELEMENT, IN_LINE, KEPT, ON_DEVICE, OVERWRITTEN, data, device, pack, sum};

fn choose(
    call_use: CallUse,
    promised: Promises,
    device: &SeenDevice<'_>,
    n: u64,
) -> Result<(u16, Reason), NotChosen> {
    let (pack, scan) = (pack(), sum());
    let wish = Wish { scan: &scan, call_use, promised };
    pack.choose(&wish, device, n).map(|chosen| (chosen.recipe, chosen.reason))
}

#[test]
fn breakpoints_decide_on_the_device_of_the_pack() {
    let choose = |call_use, n| choose(call_use, Promises::NONE, &device(), n);
    for (n, recipe) in [(0, 0), (1, 0), (4999, 0), (5000, 2), (1 << 30, 2)] {
        assert_eq!(choose(KEPT, n), Ok((recipe, Reason::SameDriver)), "{n}");
    }
    assert_eq!(choose(ON_DEVICE, 1 << 20), Ok((6, Reason::SameDriver)));
    assert_eq!(choose(IN_LINE, 1), Ok((7, Reason::SameDriver)));
    assert_eq!(choose(ANY_ELEMENT, 1), Ok((8, Reason::SameDriver)));
    assert_eq!(choose(OVERWRITTEN, 2), Ok((3, Reason::SameDriver)));
    // No breakpoint is below.
    assert_eq!(choose(OVERWRITTEN, 1), Err(NotChosen::OtherSize { n: 1, most: 0 }));
    let most = 1 << 30;
    let too_many = choose(KEPT, most + 1).unwrap_err();
    assert_eq!(too_many, NotChosen::OtherSize { n: most + 1, most });
    assert!(too_many.to_string().ends_with("the most that one takes is 1073741824: scan in parts"));
    let (pack, scan) = (pack(), sum());
    let wish = Wish { scan: &scan, call_use: KEPT, promised: Promises::NONE };
    let chosen = pack.choose(&wish, &device(), 5000).unwrap();
    assert_eq!((chosen.others, chosen.breakpoint.worst_loss_ppm), (&[1][..], Some(12_345)));
    assert_eq!(chosen.table.needs, Promises::PROGRESS.with(Promises::CO_RESIDENCY));
}

#[test]
fn the_ladder_goes_from_the_same_driver_to_portable() {
    let (none, all) = (Promises::NONE, Promises::ALL);
    let updated = SeenDevice { driver: "NVIDIA 581.1", ..device() };
    let sister = SeenDevice { device_id: 0x2331, ..updated };
    let stranger = SeenDevice { device_id: 0x1234, ..device() };
    let other_vendor = SeenDevice { vendor_id: 0x1002, ..device() };
    let check = |device: &SeenDevice<'_>, promised, expected| {
        assert_eq!(choose(KEPT, promised, device, 5000), Ok(expected), "{device:?}");
    };
    check(&device(), none, (2, Reason::SameDriver));
    // A build that nobody knows may be the same; one that is known to be another is not.
    check(&SeenDevice { driver_build: "", ..device() }, none, (2, Reason::SameDriver));
    check(&SeenDevice { driver_build: "91278101-0123", ..device() }, none, (4, Reason::Portable));
    // What is known of the device is known of it with that driver; a program may promise it.
    check(&updated, none, (4, Reason::Portable));
    check(&updated, Promises::PROGRESS, (1, Reason::SameDevice));
    check(&updated, all, (2, Reason::SameDevice));
    // How many workgroups run at the same time is known of the device itself alone.
    check(&sister, none, (4, Reason::Portable));
    check(&sister, all, (1, Reason::SameFamily));
    check(&stranger, all, (4, Reason::Portable));
    check(&other_vendor, all, (4, Reason::Portable));
    assert_eq!(pack().likeness(&updated), Reason::SameDevice);
    assert_eq!(Reason::SameDevice.to_string(), "by measurements on this device with another driver");
    // A table that needs nothing is taken from the sister device.
    let mut data = data();
    data.problems[0].measured[1].needs = none;
    let (pack, scan) = (Pack::new(data).unwrap(), sum());
    let wish = Wish { scan: &scan, call_use: KEPT, promised: none };
    let chosen = pack.choose(&wish, &sister, 5000).unwrap();
    assert_eq!((chosen.recipe, chosen.reason), (1, Reason::SameFamily));
}

#[test]
fn portable_recipes_go_by_subgroup_size() {
    let own = |size| SeenDevice {
        vendor_id: 5,
        subgroup_size: size,
        min_subgroup_size: size,
        max_subgroup_size: size,
        ..device()
    };
    let check = |device: &SeenDevice<'_>| choose(KEPT, Promises::NONE, device, 100);
    assert_eq!(check(&own(8)), Ok((5, Reason::Portable)));
    assert_eq!(check(&own(32)), Ok((4, Reason::Portable)));
    // A size that can be asked for, where there is nothing for its own.
    let wide = SeenDevice { min_subgroup_size: 8, max_subgroup_size: 64, ..own(64) };
    assert_eq!(check(&wide), Ok((4, Reason::Portable)));
    assert_eq!(check(&SeenDevice { subgroup_size: 8, ..wide }), Ok((5, Reason::Portable)));
    let none = check(&own(64)).unwrap_err();
    assert_eq!(none.to_string(), "the device has no subgroups of 32");
    let module = &data().modules[0];
    assert_eq!(module.subgroup_size, 32);
    for (has, lacks) in
        [(32..=32, None), (8..=32, None), (32..=64, None), (33..=64, Some(32)), (8..=31, Some(32))]
    {
        assert_eq!(module.lacks_subgroups_of(&has), lacks, "{has:?}");
    }
}

#[test]
fn what_a_device_lacks_is_said() {
    let atomics = FeatureSet::INT64.with(FeatureSet::INT64_ATOMICS);
    let lacking = SeenDevice { features: FeatureSet::ALL.without(atomics), ..device() };
    // The recipe that is best needs them; the one of the portable table does not.
    assert_eq!(choose(KEPT, Promises::NONE, &lacking, 5000), Ok((4, Reason::Portable)));
    let missing = choose(ON_DEVICE, Promises::NONE, &lacking, 5000).unwrap_err();
    assert_eq!(missing, NotChosen::Lacks(Lack::Features(atomics)));
    assert_eq!(
        missing.to_string(),
        "shaderInt64, shaderBufferInt64Atomics is missing: enable it where the device has it"
    );
    let lack = |change: fn(&mut SeenDevice<'_>)| {
        let mut device = device();
        change(&mut device);
        choose(KEPT, Promises::NONE, &device, 100).unwrap_err()
    };
    assert_eq!(lack(|device| device.max_shared_bytes = 1023), NotChosen::Lacks(Lack::SharedBytes(1024)));
    // What runs in front of the first call counts too: here the first module is that alone.
    let turning = choose(ON_DEVICE, Promises::NONE, &SeenDevice { max_shared_bytes: 1023, ..device() }, 100);
    assert_eq!(turning, Err(NotChosen::Lacks(Lack::SharedBytes(1024))));
    assert_eq!(lack(|device| device.max_workgroup_size = 64), NotChosen::Lacks(Lack::WorkgroupSize(128)));
    assert_eq!(lack(|device| device.max_workgroup_subgroups = 3), NotChosen::Lacks(Lack::WorkgroupSize(128)));
    let updated = SeenDevice { driver: "NVIDIA 581.1", ..device() };
    let unpromised = choose(ON_DEVICE, Promises::NONE, &updated, 5000).unwrap_err();
    assert_eq!(unpromised, NotChosen::NotPromised(Promises::PROGRESS));
    assert!(unpromised.to_string().contains("needs progress, which nobody promises"));
}

#[test]
fn other_scans_and_uses_are_told_apart() {
    let (pack, scan) = (pack(), ScanProblem { operator: "max".into(), ..sum() });
    let wish = |scan, call_use| Wish { scan, call_use, promised: Promises::ALL };
    assert_eq!(pack.choose(&wish(&scan, KEPT), &device(), 1), Err(NotChosen::OtherScan));
    let total = CallUse { total: true, ..KEPT };
    assert_eq!(pack.choose(&wish(&sum(), total), &device(), 1), Err(NotChosen::OtherUse));
}
