//! Workgroups and subgroups: what a device can start, whether it can run kernels, and whether the size of its subgroups
//! has to be chosen.

use std::fmt;

use ash::vk;

/// What kernels use, in compute shaders.
const SUBGROUP_OPERATIONS: [(vk::SubgroupFeatureFlags, &str); 6] = [
    (vk::SubgroupFeatureFlags::BASIC, "basic"),
    (vk::SubgroupFeatureFlags::VOTE, "vote"),
    (vk::SubgroupFeatureFlags::ARITHMETIC, "arithmetic"),
    (vk::SubgroupFeatureFlags::BALLOT, "ballot"),
    (vk::SubgroupFeatureFlags::SHUFFLE, "shuffle"),
    (vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE, "shuffle relative"),
];

/// Kernels are written for these subgroup sizes.
const SUBGROUP_SIZES: std::ops::RangeInclusive<u32> = 4..=128;

/// What keeps a device whose subgroups have this size from running kernels, where they are concerned.
pub fn subgroup_problems(
    subgroup: &vk::PhysicalDeviceSubgroupProperties<'_>,
    size: u32,
) -> impl Iterator<Item = String> + use<> {
    let compute = subgroup.supported_stages.contains(vk::ShaderStageFlags::COMPUTE);
    let operations = subgroup.supported_operations;
    let no_compute = (!compute).then(|| "has no subgroup operations in compute shaders".to_owned());
    let wrong_size = (!SUBGROUP_SIZES.contains(&size)).then(|| {
        let (low, high) = (SUBGROUP_SIZES.start(), SUBGROUP_SIZES.end());
        format!("has subgroups of {size} invocations, and {low} to {high} are needed")
    });
    let missing = SUBGROUP_OPERATIONS
        .into_iter()
        .filter(move |(flag, _)| compute && !operations.contains(*flag))
        .map(|(_, name)| format!("lacks {name} subgroup operations"));
    no_compute.into_iter().chain(wrong_size).chain(missing)
}

/// The shape of a kernel's workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkgroupShape {
    /// Invocations of a workgroup.
    pub workgroup_size: u32,
    /// Those of a subgroup.
    pub subgroup_size: u32,
}

/// What workgroups a device can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeLimits {
    /// Invocations of a workgroup at most.
    pub max_workgroup_size: u32,
    /// Those of a subgroup, where nothing chooses. It is what every driver has tuned its compiler for.
    pub subgroup_size: u32,
    /// Those of the smallest subgroup.
    pub min_subgroup_size: u32,
    /// Those of the largest one.
    pub max_subgroup_size: u32,
    /// Whether the subgroup size of a compute pipeline can be chosen, and has to be: the device has several.
    pub pins_subgroup_size: bool,
    /// Subgroups of a workgroup at most, where the size is pinned.
    pub max_workgroup_subgroups: u32,
}

impl ShapeLimits {
    /// What a device says. One before Vulkan 1.3 has one size of subgroups only, and leaves the properties of that
    /// version as they are by default.
    #[must_use]
    pub fn of(
        limits: &vk::PhysicalDeviceLimits,
        subgroup: &vk::PhysicalDeviceSubgroupProperties<'_>,
        properties13: &vk::PhysicalDeviceVulkan13Properties<'_>,
    ) -> Self {
        let (min, max) = match properties13.max_subgroup_size {
            0 => (subgroup.subgroup_size, subgroup.subgroup_size),
            max => (properties13.min_subgroup_size, max),
        };
        let subgroup_size = subgroup.subgroup_size.clamp(min, max);
        // A device with one size needs no pinning, and is then not bound by the number of subgroups that a pinned
        // workgroup may have: lavapipe allows 32 of them, but 1,024 invocations in subgroups of 8.
        let pins_subgroup_size =
            min != max && properties13.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE);
        let max_workgroup_subgroups = properties13.max_compute_workgroup_subgroups;
        let mut max_workgroup_size =
            limits.max_compute_work_group_invocations.min(limits.max_compute_work_group_size[0]);
        if pins_subgroup_size {
            max_workgroup_size =
                max_workgroup_size.min(subgroup_size.saturating_mul(max_workgroup_subgroups));
        }
        Self {
            max_workgroup_size,
            subgroup_size,
            min_subgroup_size: min,
            max_subgroup_size: max,
            pins_subgroup_size,
            max_workgroup_subgroups,
        }
    }

    /// What a pipeline has to pin: nothing where the device has one size.
    #[must_use]
    pub fn pinned(&self, shape: WorkgroupShape) -> Option<u32> {
        self.pins_subgroup_size.then_some(shape.subgroup_size)
    }

    /// Whether the device can start workgroups of this shape.
    ///
    /// # Errors
    ///
    /// Why it cannot.
    pub fn check(&self, shape: WorkgroupShape) -> Result<(), WrongShape> {
        let (size, subgroup) = (shape.workgroup_size, shape.subgroup_size);
        if size > self.max_workgroup_size {
            return Err(WrongShape::Workgroup { size, limit: self.max_workgroup_size });
        }
        if self.pins_subgroup_size {
            if !(self.min_subgroup_size..=self.max_subgroup_size).contains(&subgroup) {
                return Err(WrongShape::Subgroup { size: subgroup });
            }
            let (count, limit) = (size.div_ceil(subgroup), self.max_workgroup_subgroups);
            if count > limit {
                return Err(WrongShape::Subgroups { count, limit });
            }
        } else if subgroup != self.subgroup_size {
            return Err(WrongShape::OneSubgroupSize { only: self.subgroup_size });
        }
        // Full subgroups (VUID-VkPipelineShaderStageCreateInfo-flags-02758 and 02759).
        let multiple = if self.pins_subgroup_size { subgroup } else { self.max_subgroup_size };
        if !size.is_multiple_of(multiple) {
            return Err(WrongShape::PartialSubgroups { size, multiple });
        }
        Ok(())
    }
}

/// Why a device cannot start workgroups of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongShape {
    /// Too many invocations.
    Workgroup {
        /// As many.
        size: u32,
        /// What the device allows.
        limit: u32,
    },
    /// It has no subgroups like that.
    Subgroup {
        /// Invocations of one.
        size: u32,
    },
    /// Too many subgroups.
    Subgroups {
        /// As many.
        count: u32,
        /// What the device allows.
        limit: u32,
    },
    /// Its subgroups have one size, and it is another one.
    OneSubgroupSize {
        /// That one.
        only: u32,
    },
    /// Not all subgroups would be full.
    PartialSubgroups {
        /// Invocations of the workgroup.
        size: u32,
        /// What they have to be a multiple of.
        multiple: u32,
    },
}

impl fmt::Display for WrongShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workgroup { size, limit } => {
                write!(formatter, "{size} invocations per workgroup, and the device allows {limit}")
            }
            Self::Subgroup { size } => write!(formatter, "the device has no subgroups of {size} invocations"),
            Self::Subgroups { count, limit } => {
                write!(formatter, "{count} subgroups per workgroup, and the device allows {limit}")
            }
            Self::OneSubgroupSize { only } => {
                write!(formatter, "the device only has subgroups of {only} invocations")
            }
            Self::PartialSubgroups { size, multiple } => {
                write!(formatter, "{size} invocations per workgroup are not a multiple of {multiple}")
            }
        }
    }
}

impl std::error::Error for WrongShape {}
