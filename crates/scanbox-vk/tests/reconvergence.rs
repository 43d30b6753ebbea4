//! Maximal reconvergence: wanted of devices that have it, and asked for by modules where a program has enabled it.

use ash::{khr, vk};
use scanbox_pack::{ArgumentKind, CallUse};
use scanbox_vk::{Wanted, wanted};

use crate::bound::data_for;
use crate::driver;
use crate::instance::{FakeDevice, instance};
use crate::packs::{KEPT, sum};
use crate::scanner::{call, reconverging, scanner_of};

/// It is wanted only where the device has both the extension and its feature, and without the chain of the question.
#[test]
fn maximal_reconvergence_is_wanted_where_it_is() {
    let ask = |device: FakeDevice| {
        let instance = instance(device);
        // SAFETY: this instance takes any device.
        let Wanted { features, extensions } =
            unsafe { wanted(&instance, vk::PhysicalDevice::null()) }.unwrap();
        let asked = features.maximal_reconvergence;
        assert!(asked.p_next.is_null() && features.uniform_control_flow.p_next.is_null());
        (asked.shader_maximal_reconvergence == vk::TRUE, extensions)
    };
    let [uniform, maximal] =
        [khr::shader_subgroup_uniform_control_flow::NAME, khr::shader_maximal_reconvergence::NAME];
    assert_eq!(ask(reconverging()), (true, vec![uniform, maximal]));
    assert_eq!(ask(FakeDevice { extensions: vec![maximal], ..reconverging() }), (true, vec![maximal]));
    assert_eq!(ask(FakeDevice { extensions: vec![uniform], ..reconverging() }), (false, vec![uniform]));
    let features = FakeDevice::default().features;
    assert_eq!(ask(FakeDevice { features, ..reconverging() }), (false, vec![uniform]));
}

/// Pipelines are made of modules that ask for it if the program has enabled it, and of the pack's own otherwise: of
/// scans, and of what is bound.
#[test]
fn modules_ask_for_maximal_reconvergence_where_it_is_enabled() {
    let modules = |device: FakeDevice, call_use: CallUse| -> Vec<u32> {
        let made = scanner_of(data_for(call_use), device, &driver::device()).unwrap();
        driver::commands();
        let scan = made.scan(&sum(), 1 << 20, call_use).unwrap();
        if call_use.arguments == ArgumentKind::Baked {
            // SAFETY: this device takes everything.
            drop(unsafe { scan.bind(None, &call(1 << 10)) }.unwrap());
        }
        let sizes = driver::commands();
        sizes.iter().filter_map(|made| made.strip_prefix("module of ")?.parse().ok()).collect()
    };
    for arguments in [ArgumentKind::Pushed, ArgumentKind::Baked] {
        let call_use = CallUse { arguments, ..KEPT };
        let plain = modules(FakeDevice::default(), call_use);
        assert!(!plain.is_empty());
        // An extension of 9 words, and a mode of 3.
        let expected: Vec<u32> = plain.iter().map(|words| words + 12).collect();
        assert_eq!(modules(reconverging(), call_use), expected);
    }
}
