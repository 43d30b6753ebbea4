//! Pipelines of kernels, and what is constant in them.

use ash::vk;
use scanbox_pack::layout::ARGUMENT_WORDS;

use crate::line::halves;
use crate::push::PUSH_BYTES;

/// Constants of a kernel that reads no push constants.
pub const CONSTANTS: usize = ARGUMENT_WORDS + 5;

/// The constants of a kernel that reads no push constants: its arguments, where they are baked; the addresses of its
/// line and of the scratch memory; and the largest n, where calls have their own (otherwise 0).
#[must_use]
pub fn constants(
    arguments: Option<&[u32; ARGUMENT_WORDS]>,
    line: u64,
    scratch: u64,
    max_n: u32,
) -> [u32; CONSTANTS] {
    let mut constants = [0; CONSTANTS];
    let (words, rest) = constants.split_at_mut(ARGUMENT_WORDS);
    if let Some(arguments) = arguments {
        words.copy_from_slice(arguments);
    }
    rest[..2].copy_from_slice(&halves(line));
    rest[2..4].copy_from_slice(&halves(scratch));
    rest[4] = max_n;
    constants
}

/// The layout that pipelines of all kernels share: no descriptors, and all push constants there may be.
///
/// # Errors
///
/// Those of `vkCreatePipelineLayout`.
///
/// # Safety
///
/// The device is valid. Whoever gets the layout destroys it before the device.
pub unsafe fn create_layout(device: &ash::Device) -> Result<vk::PipelineLayout, vk::Result> {
    let range =
        [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(PUSH_BYTES as u32)];
    let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&range);
    // SAFETY: the caller sees to the device; the range is within the limit of every one.
    unsafe { device.create_pipeline_layout(&info, None) }
}

/// What a pipeline is made of.
#[derive(Debug, Clone, Copy)]
pub struct PipelineSource<'a> {
    /// The module, whose entry point is `main`.
    pub spirv: &'a [u32],
    /// Invocations of a subgroup, where that has to be pinned ([`crate::shape::ShapeLimits::pinned`]).
    pub pinned: Option<u32>,
    /// The values of its specialisation constants 0, 1 and so on, whether it knows them or not.
    pub constants: &'a [u32],
    /// How it is made.
    pub flags: vk::PipelineCreateFlags,
}

/// Makes a pipeline.
///
/// # Errors
///
/// Those of `vkCreateShaderModule` and `vkCreateComputePipelines`.
///
/// # Safety
///
/// - The device has what the module needs enabled, and can start workgroups of its shape
///   ([`crate::shape::ShapeLimits::check`]).
/// - The layout is one of [`create_layout`]; the cache is null or of this device, and not synchronised by its owner.
/// - Whoever gets the pipeline destroys it before the device.
pub unsafe fn create(
    device: &ash::Device,
    layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
    source: &PipelineSource<'_>,
) -> Result<vk::Pipeline, vk::Result> {
    let module_info = vk::ShaderModuleCreateInfo::default().code(source.spirv);
    // SAFETY: the caller sees to the module.
    let module = unsafe { device.create_shader_module(&module_info, None) }?;
    let entries: Vec<_> = (0..source.constants.len() as u32)
        .map(|id| {
            let entry = vk::SpecializationMapEntry::default().constant_id(id).size(size_of::<u32>());
            entry.offset(id * size_of::<u32>() as u32)
        })
        .collect();
    let bytes: Vec<u8> = source.constants.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&bytes);
    let mut stage = vk::PipelineShaderStageCreateInfo::default()
        .specialization_info(&specialization)
        .flags(vk::PipelineShaderStageCreateFlags::REQUIRE_FULL_SUBGROUPS)
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(c"main");
    let mut pinned = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
        .required_subgroup_size(source.pinned.unwrap_or(0));
    if source.pinned.is_some() {
        stage = stage.push_next(&mut pinned);
    }
    let info = [vk::ComputePipelineCreateInfo::default().flags(source.flags).stage(stage).layout(layout)];
    // SAFETY: the module is valid, and the caller sees to its shape, to layout and cache; each constant has a word of
    // the data, whose number the shader may know or not.
    let created = unsafe { device.create_compute_pipelines(cache, &info, None) };
    // SAFETY: a pipeline does not need the module it was made of.
    unsafe { device.destroy_shader_module(module, None) };
    let made = created.map_err(|(_, result)| result)?;
    Ok(made[0])
}
