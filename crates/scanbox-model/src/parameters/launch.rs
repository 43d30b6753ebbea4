//! The parameters of launch shapes: the other entries of the table.

use super::table::Declaration;
use super::value::{Typed, Value, Values};

/// The largest maxComputeWorkGroupInvocations that any device reports so far.
pub const MAX_WORKGROUP_SIZE: u32 = 4096;
/// Workgroup counts are counted in 31 bits, as on NVIDIA's first dimension.
pub const MAX_WORKGROUPS: u32 = 1 << 30;
/// More workgroups than this run on no compute unit.
pub const MAX_WORKGROUPS_PER_UNIT: u32 = 64;

pub(super) const WORKGROUP_SIZE: Declaration = Declaration {
    values: Values::Numbers(1, MAX_WORKGROUP_SIZE),
    tag: "wg",
    unit: "invocations",
    column: Some(20),
    ..Declaration::new::<u32>(
        "workgroup_size",
        "Invocations per workgroup.",
        (
            |config| Value::Number(config.workgroup_size),
            |config, value| config.workgroup_size = u32::of(value).unwrap_or(config.workgroup_size),
        ),
        (|cells| cells.workgroup_size.value(), |cells, value| cells.workgroup_size = u32::of(value)),
    )
};

pub(super) const WORKGROUPS: Declaration = Declaration {
    values: Values::Numbers(1, MAX_WORKGROUPS),
    tag: "g",
    unit: "workgroups",
    default: Some(Value::Open),
    column: Some(21),
    ..Declaration::new::<Option<u32>>(
        "workgroups",
        "Workgroups per call, where the config fixes them; otherwise they follow from the input size.",
        (|config| config.workgroups.value(), |config, value| config.workgroups = u32::of(value)),
        (|cells| cells.workgroups.value(), |cells, value| cells.workgroups = u32::of(value)),
    )
};

pub(super) const WORKGROUPS_PER_UNIT: Declaration = Declaration {
    values: Values::Numbers(1, MAX_WORKGROUPS_PER_UNIT),
    tag: "u",
    unit: "workgroups",
    default: Some(Value::Open),
    column: Some(57),
    ..Declaration::new::<Option<u32>>(
        "workgroups_per_unit",
        "Workgroups per compute unit of the device, for kernels whose workgroups go from tile to tile.",
        (
            |config| config.workgroups_per_unit.value(),
            |config, value| config.workgroups_per_unit = u32::of(value),
        ),
        (
            |cells| cells.workgroups_per_unit.value(),
            |cells, value| cells.workgroups_per_unit = u32::of(value),
        ),
    )
};
