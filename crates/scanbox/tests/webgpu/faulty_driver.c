// A driver for Vulkan in front of another one, REAL, with faults: a queue without timestamps (NO_TIMESTAMPS), a device
// without subgroups (NO_SUBGROUPS), and the loss of the device in the process that finds the file LOSES with a
// submission, which takes it away.
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))

static PFN_vkGetDeviceProcAddr of_device;
static PFN_vkGetPhysicalDeviceQueueFamilyProperties queues;
static PFN_vkGetPhysicalDeviceProperties2 properties;
static PFN_vkQueueSubmit submit;

static void *real(const char *name) {
    static void *library;
    if (!library) library = dlopen(REAL, RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}

static void faulty_queues(VkPhysicalDevice device, uint32_t *count, VkQueueFamilyProperties *found) {
    queues(device, count, found);
#ifdef NO_TIMESTAMPS
    for (uint32_t at = 0; found && at < *count; at++) found[at].timestampValidBits = 0;
#endif
}

static void faulty_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *found) {
    properties(device, found);
#ifdef NO_SUBGROUPS
    for (VkBaseOutStructure *more = found->pNext; more; more = more->pNext) {
        if (more->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) {
            ((VkPhysicalDeviceSubgroupProperties *)more)->supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
        }
    }
#endif
}

static VkResult faulty_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
#ifdef LOSES
    static int is_lost;
    is_lost |= unlink(LOSES) == 0;
    if (is_lost) return VK_ERROR_DEVICE_LOST;
#endif
    return submit(queue, count, infos, fence);
}

static PFN_vkVoidFunction of_faulty_device(VkDevice device, const char *name);

// What takes the place of a function.
static PFN_vkVoidFunction faulty(const char *name, PFN_vkVoidFunction found) {
#define TAKES(NAME, OWN, REAL_ONE)                \
    if (found && strcmp(name, NAME) == 0) {       \
        REAL_ONE = (__typeof__(REAL_ONE))found;   \
        return (PFN_vkVoidFunction)OWN;           \
    }
    TAKES("vkGetDeviceProcAddr", of_faulty_device, of_device)
    TAKES("vkGetPhysicalDeviceQueueFamilyProperties", faulty_queues, queues)
    TAKES("vkGetPhysicalDeviceProperties2", faulty_properties, properties)
    TAKES("vkGetPhysicalDeviceProperties2KHR", faulty_properties, properties)
    TAKES("vkQueueSubmit", faulty_submit, submit)
    return found;
}

static PFN_vkVoidFunction of_faulty_device(VkDevice device, const char *name) {
    return faulty(name, of_device(device, name));
}

EXPORT PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char *name) {
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)real("vk_icdGetInstanceProcAddr");
    return faulty(name, get(instance, name));
}

EXPORT PFN_vkVoidFunction vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name) {
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)real("vk_icdGetPhysicalDeviceProcAddr");
    return get ? faulty(name, get(instance, name)) : NULL;
}

EXPORT VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
    VkResult (*negotiate)(uint32_t *) = (VkResult(*)(uint32_t *))real("vk_icdNegotiateLoaderICDInterfaceVersion");
    return negotiate(version);
}
