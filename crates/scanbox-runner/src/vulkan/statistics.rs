//! What drivers tell of pipelines (`VK_KHR_pipeline_executable_properties`), in one vocabulary.

use ash::vk;
use scanbox_model::device::DeviceProfile;
use schemars::JsonSchema;
use serde::Serialize;

use super::device::Gpu;

/// What a driver tells of a pipeline; nothing where it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct PipelineStatistics {
    /// Invocations of a subgroup, as the driver says.
    #[serde(rename = "made_for")]
    pub subgroup_size: Option<u32>,
    /// Registers per invocation.
    pub registers: Option<u32>,
    /// Registers per subgroup, of devices that have such.
    pub scalar_registers: Option<u32>,
    /// Registers per invocation for which there was no room.
    pub spilled_registers: Option<u32>,
    /// The same per subgroup.
    pub spilled_scalar_registers: Option<u32>,
    /// Memory that stands in for registers and arrays, in bytes. Of an invocation or of a subgroup, as the driver has
    /// it: 0 says that there is none.
    pub scratch_bytes: Option<u32>,
    /// Shared memory of a workgroup.
    pub shared_bytes: Option<u32>,
    /// Subgroups that one SIMD unit holds at a time.
    pub subgroups_per_simd: Option<u32>,
    /// The program.
    pub code_bytes: Option<u32>,
    /// Its instructions.
    pub instructions: Option<u32>,
}

/// Where a statistic goes.
type StatisticPlace = fn(&mut PipelineStatistics) -> &mut Option<u32>;

/// What drivers call them: NVIDIA, RADV, AMDVLK, ANV and Turnip.
const STATISTICS: &[(&[&str], StatisticPlace)] = &[
    (&["Register Count", "VGPRs", "numUsedVgprs", "GRF registers", "Registers used"], |told| {
        &mut told.registers
    }),
    (&["SGPRs", "numUsedSgprs"], |told| &mut told.scalar_registers),
    (&["Spilled VGPRs", "Spill count", "Spill Count"], |told| &mut told.spilled_registers),
    (&["Spilled SGPRs"], |told| &mut told.spilled_scalar_registers),
    (&["Scratch size", "scratchMemUsageInBytes", "Scratch Memory Size", "Local Memory Size"], |told| {
        &mut told.scratch_bytes
    }),
    (&["LDS size", "ldsUsageSizeInBytes", "Workgroup Memory Size"], |told| &mut told.shared_bytes),
    (&["Subgroups per SIMD", "Max Waves Per Core"], |told| &mut told.subgroups_per_simd),
    (&["Code size", "Binary Size", "Code Size"], |told| &mut told.code_bytes),
    (&["Instructions", "Instruction Count"], |told| &mut told.instructions),
];

impl PipelineStatistics {
    /// Those of a pipeline that was made to be asked.
    pub(super) fn of(gpu: &Gpu, pipeline: vk::Pipeline) -> Self {
        Self::told(gpu, pipeline).unwrap_or_default()
    }

    /// What is wrong with a pipeline of a kernel that was built for subgroups of this size, where the driver has chosen
    /// another one.
    pub(super) fn other_subgroup_size(&self, device: &DeviceProfile, built_for: u32) -> Option<String> {
        device.chosen_by_driver()?;
        let chosen = self.subgroup_size.filter(|chosen| *chosen != built_for)?;
        Some(format!("the driver has chosen subgroups of {chosen}, and the kernel is built for {built_for}"))
    }

    fn told(gpu: &Gpu, pipeline: vk::Pipeline) -> Option<Self> {
        let functions = gpu.statistics.as_ref()?;
        let pipeline_info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        // SAFETY: the extension and its feature are enabled; the pipeline is valid.
        let executables = unsafe { functions.get_pipeline_executable_properties(&pipeline_info) }.ok()?;
        // A compute pipeline has one executable; where a driver tells of none there is nothing to ask for.
        let executable = executables.first()?;
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
        // SAFETY: as above; there is an executable with this index, and the pipeline was created with
        // CAPTURE_STATISTICS.
        let statistics = unsafe { functions.get_pipeline_executable_statistics(&info) }.ok()?;
        let subgroup_size = Some(executable.subgroup_size).filter(|size| *size > 0);
        let mut told = Self { subgroup_size, ..Self::default() };
        for statistic in &statistics {
            let name = statistic.name_as_c_str().ok().and_then(|name| name.to_str().ok()).unwrap_or_default();
            let Some((_, place)) = STATISTICS.iter().find(|(names, _)| names.contains(&name)) else {
                continue;
            };
            *place(&mut told) = number(statistic);
        }
        Some(told)
    }
}

/// The value of a statistic that is a whole number.
fn number(statistic: &vk::PipelineExecutableStatisticKHR<'_>) -> Option<u32> {
    // SAFETY: the format says which member of the union was written.
    unsafe {
        match statistic.format {
            vk::PipelineExecutableStatisticFormatKHR::UINT64 => u32::try_from(statistic.value.u64).ok(),
            vk::PipelineExecutableStatisticFormatKHR::INT64 => u32::try_from(statistic.value.i64).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Script;

    #[test]
    fn a_driver_that_chooses_another_subgroup_size_is_found_out() {
        let device = |subgroup_sizes, pinned_subgroups| {
            Script { subgroup_sizes, pinned_subgroups, ..Script::default() }.profile()
        };
        let told = |subgroup_size| PipelineStatistics { subgroup_size, ..PipelineStatistics::default() };
        let chooses = device(Some([4, 32]), None);
        let wrong = told(Some(16)).other_subgroup_size(&chooses, 32).unwrap();
        assert!(wrong.contains("subgroups of 16") && wrong.contains("for 32"), "{wrong}");
        assert_eq!(told(Some(32)).other_subgroup_size(&chooses, 32), None);
        assert_eq!(told(None).other_subgroup_size(&chooses, 32), None);
        // Where it is told, or has no choice, what it says of executables may be something else.
        assert_eq!(told(Some(16)).other_subgroup_size(&device(Some([4, 32]), Some(32)), 32), None);
        assert_eq!(told(Some(16)).other_subgroup_size(&device(None, None), 32), None);
    }
}
