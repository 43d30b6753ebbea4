//! Features of devices: what kernels cannot do without, and what some of them need.

use std::borrow::Cow;
use std::ffi::CStr;

use ash::{khr, vk};
use scanbox_pack::{FeatureSet, spirv};

/// Features of a device, as it offers them, or as they are enabled: the same list for the question and the answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Features {
    /// Those of Vulkan 1.0.
    pub v10: vk::PhysicalDeviceFeatures,
    /// Those of Vulkan 1.2. Its chain is the caller's.
    pub v12: vk::PhysicalDeviceVulkan12Features<'static>,
    /// Those of Vulkan 1.3. Its chain is the caller's.
    pub v13: vk::PhysicalDeviceVulkan13Features<'static>,
    /// That of `VK_KHR_shader_subgroup_uniform_control_flow`. Its chain is the caller's.
    pub uniform_control_flow: vk::PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR<'static>,
    /// That of `VK_KHR_shader_maximal_reconvergence`. Its chain is the caller's.
    pub maximal_reconvergence: vk::PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR<'static>,
}

/// What only some kernels need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OptionalFeatures {
    /// Atomics on 64-bit integers in memory.
    pub int64_atomics: bool,
    /// 64-bit integers, also in subgroup operations.
    pub int64_elements: bool,
    /// 64-bit floats.
    pub float64_elements: bool,
}

impl Features {
    /// What a device of Vulkan 1.3 offers without extensions. All it has beside these is left out.
    ///
    /// # Safety
    ///
    /// The instance is valid, has the physical device, and both know Vulkan 1.3.
    #[must_use]
    pub unsafe fn of(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Self {
        let mut features = Self::default();
        let mut chain =
            vk::PhysicalDeviceFeatures2::default().push_next(&mut features.v12).push_next(&mut features.v13);
        // SAFETY: the caller sees to the device, which knows every structure in the chain.
        unsafe { instance.get_physical_device_features2(physical, &mut chain) };
        features.v10 = chain.features;
        // What they were chained by is gone.
        (features.v12.p_next, features.v13.p_next) = (std::ptr::null_mut(), std::ptr::null_mut());
        features
    }

    /// Finds out what the device offers by extensions, of which `has` says whether it has them.
    ///
    /// # Safety
    ///
    /// As for [`Features::of`], and the device has each extension of which `has` says so.
    pub unsafe fn ask_extensions(
        &mut self,
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        has: impl Fn(&CStr) -> bool,
    ) {
        let Self { uniform_control_flow, maximal_reconvergence, .. } = self;
        // Structures may only be in the chain of a device that knows them.
        let mut chain = vk::PhysicalDeviceFeatures2::default();
        if has(khr::shader_subgroup_uniform_control_flow::NAME) {
            chain = chain.push_next(uniform_control_flow);
        }
        if has(khr::shader_maximal_reconvergence::NAME) {
            chain = chain.push_next(maximal_reconvergence);
        }
        // SAFETY: the caller sees to the device, which knows every structure in the chain.
        unsafe { instance.get_physical_device_features2(physical, &mut chain) };
        (self.uniform_control_flow.p_next, self.maximal_reconvergence.p_next) =
            (std::ptr::null_mut(), std::ptr::null_mut());
    }

    /// The extensions that a device on which these features are enabled has to have enabled too.
    pub fn extensions(&self) -> impl Iterator<Item = &'static CStr> + use<> {
        [
            (
                self.uniform_control_flow.shader_subgroup_uniform_control_flow,
                khr::shader_subgroup_uniform_control_flow::NAME,
            ),
            (
                self.maximal_reconvergence.shader_maximal_reconvergence,
                khr::shader_maximal_reconvergence::NAME,
            ),
        ]
        .into_iter()
        .filter_map(|(on, name)| (on == vk::TRUE).then_some(name))
    }

    /// The features at the end of the chain of a device that is being made, in front of which nothing of them stands.
    pub fn enable<'a>(&'a mut self, info: vk::DeviceCreateInfo<'a>) -> vk::DeviceCreateInfo<'a> {
        let Self { v10, v12, v13, uniform_control_flow, maximal_reconvergence } = self;
        let mut info = info.enabled_features(v10).push_next(v12).push_next(v13);
        // Only with its extension may each be in the chain.
        if uniform_control_flow.shader_subgroup_uniform_control_flow == vk::TRUE {
            info = info.push_next(uniform_control_flow);
        }
        if maximal_reconvergence.shader_maximal_reconvergence == vk::TRUE {
            info = info.push_next(maximal_reconvergence);
        }
        info
    }

    /// The module that runs where these features are enabled: with maximal reconvergence, if that is one of them. A
    /// module is made and packed without it, for devices with and without.
    ///
    /// # Errors
    ///
    /// Why the module cannot ask for it.
    pub fn adapted<'a>(&self, module: &'a [u32]) -> Result<Cow<'a, [u32]>, String> {
        match self.maximal_reconvergence.shader_maximal_reconvergence {
            vk::FALSE => Ok(Cow::Borrowed(module)),
            _ => match spirv::reconverging(module) {
                Ok(asks) => Ok(Cow::Owned(asks)),
                Err(why) => Err(format!("it cannot ask for maximal reconvergence: {why}")),
            },
        }
    }

    /// As packs name them.
    #[must_use]
    pub fn set(&self) -> FeatureSet {
        [
            (self.v10.shader_int64, FeatureSet::INT64),
            (self.v12.shader_buffer_int64_atomics, FeatureSet::INT64_ATOMICS),
            (self.v10.shader_float64, FeatureSet::FLOAT64),
            (self.v12.shader_subgroup_extended_types, FeatureSet::EXTENDED_TYPES),
            (
                self.uniform_control_flow.shader_subgroup_uniform_control_flow,
                FeatureSet::UNIFORM_CONTROL_FLOW,
            ),
        ]
        .into_iter()
        .filter(|(on, _)| *on == vk::TRUE)
        .fold(FeatureSet::NONE, |set, (_, feature)| set.with(feature))
    }

    /// What is enabled on a device that misses nothing.
    #[must_use]
    pub fn to_enable(optional: OptionalFeatures) -> Self {
        let OptionalFeatures { int64_atomics, int64_elements, float64_elements } = optional;
        let mut features = Self::default();
        features.required().into_iter().for_each(|(feature, _)| *feature = vk::TRUE);
        features.v10.shader_int64 = vk::Bool32::from(int64_atomics || int64_elements);
        features.v10.shader_float64 = vk::Bool32::from(float64_elements);
        features.v12.shader_buffer_int64_atomics = vk::Bool32::from(int64_atomics);
        features.v12.shader_subgroup_extended_types = vk::Bool32::from(int64_elements);
        features
    }

    /// What cannot be done without.
    fn required(&mut self) -> [(&mut vk::Bool32, &'static str); 7] {
        [
            (&mut self.v12.buffer_device_address, "bufferDeviceAddress"),
            (&mut self.v12.vulkan_memory_model, "vulkanMemoryModel"),
            (&mut self.v12.vulkan_memory_model_device_scope, "vulkanMemoryModelDeviceScope"),
            (&mut self.v13.subgroup_size_control, "subgroupSizeControl"),
            (&mut self.v13.compute_full_subgroups, "computeFullSubgroups"),
            (&mut self.v13.synchronization2, "synchronization2"),
            (&mut self.v13.maintenance4, "maintenance4"),
        ]
    }

    /// What is not there and cannot be done without, in Vulkan's words.
    pub fn missing(mut self) -> impl Iterator<Item = &'static str> {
        self.required().map(|(feature, name)| (*feature == vk::FALSE).then_some(name)).into_iter().flatten()
    }

    /// What is there of what only some kernels need.
    #[must_use]
    pub fn optional(&self) -> OptionalFeatures {
        let has_int64 = self.v10.shader_int64 == vk::TRUE;
        OptionalFeatures {
            int64_atomics: has_int64 && self.v12.shader_buffer_int64_atomics == vk::TRUE,
            int64_elements: has_int64 && self.v12.shader_subgroup_extended_types == vk::TRUE,
            float64_elements: self.v10.shader_float64 == vk::TRUE,
        }
    }
}
