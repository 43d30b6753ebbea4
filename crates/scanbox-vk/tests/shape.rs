//! Shapes of workgroups that devices can start.

use ash::vk;
use scanbox_vk::shape::{ShapeLimits, WorkgroupShape, WrongShape, subgroup_problems};

/// What a device says: its subgroup size, the smallest and largest one, and subgroups of a workgroup at most.
fn limits(size: u32, [min, max]: [u32; 2], subgroups: u32) -> ShapeLimits {
    let limits = vk::PhysicalDeviceLimits {
        max_compute_work_group_invocations: 1024,
        max_compute_work_group_size: [2048, 1, 1],
        ..Default::default()
    };
    let subgroup = vk::PhysicalDeviceSubgroupProperties { subgroup_size: size, ..Default::default() };
    let properties13 = vk::PhysicalDeviceVulkan13Properties {
        min_subgroup_size: min,
        max_subgroup_size: max,
        required_subgroup_size_stages: vk::ShaderStageFlags::COMPUTE,
        max_compute_workgroup_subgroups: subgroups,
        ..Default::default()
    };
    ShapeLimits::of(&limits, &subgroup, &properties13)
}

#[test]
fn only_a_device_with_several_sizes_is_pinned() {
    let check = |said: ShapeLimits, [size, min, max, workgroup]: [u32; 4], pins: bool| {
        let sizes = [said.subgroup_size, said.min_subgroup_size, said.max_subgroup_size];
        assert_eq!((sizes, said.max_workgroup_size), ([size, min, max], workgroup));
        let shape = WorkgroupShape { workgroup_size: 64, subgroup_size: size };
        assert_eq!((said.pins_subgroup_size, said.pinned(shape)), (pins, pins.then_some(size)));
    };
    check(limits(32, [32, 32], 16), [32, 32, 32, 1024], false);
    check(limits(32, [0, 0], 0), [32, 32, 32, 1024], false);
    check(limits(32, [8, 32], 32), [32, 8, 32, 1024], true);
    check(limits(8, [8, 32], 32), [8, 8, 32, 256], true);
    // A default that pinning does not offer.
    check(limits(4, [8, 32], 32), [8, 8, 32, 256], true);
    check(limits(64, [32, 32], 16), [32, 32, 32, 1024], false);
}

#[test]
fn a_shape_fits_or_says_why_not() {
    let check = |limits: ShapeLimits, [workgroup_size, subgroup_size]: [u32; 2], wrong: Option<&str>| {
        let checked = limits.check(WorkgroupShape { workgroup_size, subgroup_size });
        assert_eq!(checked.map_err(|wrong| wrong.to_string()).err().as_deref(), wrong);
    };
    let one = limits(32, [32, 32], 16);
    check(one, [1024, 32], None);
    check(one, [1056, 32], Some("1056 invocations per workgroup, and the device allows 1024"));
    check(one, [64, 16], Some("the device only has subgroups of 32 invocations"));
    check(one, [48, 32], Some("48 invocations per workgroup are not a multiple of 32"));
    let several = limits(32, [8, 32], 32);
    check(several, [1024, 32], None);
    check(several, [256, 8], None);
    check(several, [40, 8], None);
    check(several, [512, 8], Some("64 subgroups per workgroup, and the device allows 32"));
    check(several, [64, 64], Some("the device has no subgroups of 64 invocations"));
    check(several, [64, 4], Some("the device has no subgroups of 4 invocations"));
    check(several, [40, 16], Some("40 invocations per workgroup are not a multiple of 16"));
    assert_eq!(
        several.check(WorkgroupShape { workgroup_size: 4096, subgroup_size: 32 }),
        Err(WrongShape::Workgroup { size: 4096, limit: 1024 })
    );
}

#[test]
fn subgroups_have_what_kernels_use() {
    let all = vk::SubgroupFeatureFlags::from_raw(u32::MAX);
    let check = |stages, operations, size, problems: &[&str]| {
        let subgroup = vk::PhysicalDeviceSubgroupProperties {
            supported_stages: stages,
            supported_operations: operations,
            ..Default::default()
        };
        assert!(subgroup_problems(&subgroup, size).eq(problems.iter().copied()), "{problems:?}");
    };
    let compute = vk::ShaderStageFlags::COMPUTE;
    check(compute, all, 4, &[]);
    check(compute, all, 128, &[]);
    check(compute, all, 2, &["has subgroups of 2 invocations, and 4 to 128 are needed"]);
    check(vk::ShaderStageFlags::VERTEX, all, 32, &["has no subgroup operations in compute shaders"]);
    let no_shuffle = all & !vk::SubgroupFeatureFlags::SHUFFLE;
    check(compute, no_shuffle, 32, &["lacks shuffle subgroup operations"]);
}
