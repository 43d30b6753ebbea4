//! Types of Vulkan by the names that they have in C, where `vulkan_core.h` declares them.

use ash::vk;

/// `VkInstance`.
pub type VkInstance = vk::Instance;
/// `VkPhysicalDevice`.
pub type VkPhysicalDevice = vk::PhysicalDevice;
/// `VkDevice`.
pub type VkDevice = vk::Device;
/// `VkCommandBuffer`.
pub type VkCommandBuffer = vk::CommandBuffer;
/// `VkPipelineCache`.
pub type VkPipelineCache = vk::PipelineCache;
/// `VkBuffer`.
pub type VkBuffer = vk::Buffer;
/// `VkDeviceAddress`.
pub type VkDeviceAddress = vk::DeviceAddress;
/// `VkDeviceSize`.
pub type VkDeviceSize = vk::DeviceSize;
/// `VkBool32`.
pub type VkBool32 = vk::Bool32;
/// `VkPipelineStageFlags2`.
pub type VkPipelineStageFlags2 = vk::PipelineStageFlags2;
/// `VkAccessFlags2`.
pub type VkAccessFlags2 = vk::AccessFlags2;
/// `VkPhysicalDeviceFeatures`.
pub type VkPhysicalDeviceFeatures = vk::PhysicalDeviceFeatures;
/// `VkPhysicalDeviceVulkan12Features`.
pub type VkPhysicalDeviceVulkan12Features = vk::PhysicalDeviceVulkan12Features<'static>;
/// `VkPhysicalDeviceVulkan13Features`.
pub type VkPhysicalDeviceVulkan13Features = vk::PhysicalDeviceVulkan13Features<'static>;
/// `VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR`.
pub type VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR =
    vk::PhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR<'static>;
/// `VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR`, which the header of scanbox declares where `vulkan_core.h`
/// is too old to.
pub type VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR =
    vk::PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR<'static>;
/// `PFN_vkGetInstanceProcAddr`, which C may leave null.
#[expect(non_camel_case_types, reason = "its name in C")]
pub type PFN_vkGetInstanceProcAddr = Option<vk::PFN_vkGetInstanceProcAddr>;
