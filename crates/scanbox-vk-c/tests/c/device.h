/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs of these tests have in common: checks, the first device, memory, one command buffer. */

#include "scanbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

static int failures;

#define EXPECT(call, expected, part)                                                                   \
    do {                                                                                               \
        scanbox_result result_ = (call);                                                               \
        if (result_ != (expected) || (result_ && !strstr(scanbox_last_error(), part))) {               \
            printf("line %d: %s: %d, \"%s\"\n", __LINE__, #call, (int)result_, scanbox_last_error()); \
            failures++;                                                                                \
        }                                                                                              \
    } while (0)
#define DONE(call) EXPECT(call, SCANBOX_RESULT_SUCCESS, "")
#define HOLDS(condition)                                       \
    do {                                                       \
        if (!(condition)) {                                    \
            printf("line %d: not %s\n", __LINE__, #condition); \
            failures++;                                        \
        }                                                      \
    } while (0)
#define VK(call)                                                              \
    do {                                                                      \
        VkResult result_ = (call);                                            \
        if (result_ != VK_SUCCESS) {                                          \
            printf("line %d: %s: %d\n", __LINE__, #call, (int)result_);       \
            exit(2);                                                          \
        }                                                                     \
    } while (0)

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandBuffer commands;
static scanbox_features features;

static inline void make_device(void)
{
    VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "misuse", 0, NULL, 0, VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance_info = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, NULL, 0, &application, 0, NULL, 0, NULL};
    VK(vkCreateInstance(&instance_info, NULL, &instance));
    uint32_t count = 1;
    VkResult listed = vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (count == 0 || (listed != VK_SUCCESS && listed != VK_INCOMPLETE))
        exit(2);

    memset(&features, 0, sizeof features);
    features.size = sizeof features;
    /* What the program has asked for itself stays. */
    features.v10.robustBufferAccess = VK_TRUE;
    DONE(scanbox_wanted(vkGetInstanceProcAddr, instance, physical, &features));
    HOLDS(features.v10.robustBufferAccess && features.v12.bufferDeviceAddress && features.v13.maintenance4);
    HOLDS(features.extension_count <= SCANBOX_MOST_EXTENSIONS);
    HOLDS(features.v12.sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    features.v10.robustBufferAccess = VK_FALSE;
    features.v12.pNext = &features.v13;
    if (features.uniform_control_flow.shaderSubgroupUniformControlFlow)
        features.v13.pNext = &features.uniform_control_flow;
    if (features.maximal_reconvergence.shaderMaximalReconvergence) {
        features.maximal_reconvergence.pNext = features.v13.pNext;
        features.v13.pNext = &features.maximal_reconvergence;
    }

    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue_info = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
    VkDeviceCreateInfo device_info;
    memset(&device_info, 0, sizeof device_info);
    device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device_info.pNext = &features.v12;
    device_info.queueCreateInfoCount = 1;
    device_info.pQueueCreateInfos = &queue_info;
    device_info.enabledExtensionCount = features.extension_count;
    device_info.ppEnabledExtensionNames = features.extensions;
    device_info.pEnabledFeatures = &features.v10;
    VK(vkCreateDevice(physical, &device_info, NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
                                         VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, 0};
    VkCommandPool pool;
    VK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    VkCommandBufferAllocateInfo buffer_info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
                                               VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    VK(vkAllocateCommandBuffers(device, &buffer_info, &commands));
}

/* Memory that host and device see. */
static inline uint32_t *allocate(VkDeviceSize bytes, VkDeviceAddress *address, VkBuffer *made)
{
    VkBufferCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkBuffer buffer;
    VK(vkCreateBuffer(device, &info, NULL, &buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    VkPhysicalDeviceMemoryProperties memory_types;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory_types);
    VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (!(needs.memoryTypeBits >> type & 1) || (memory_types.memoryTypes[type].propertyFlags & wanted) != wanted)
        type++;
    VkMemoryAllocateFlagsInfo flags = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, NULL,
                                       VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, 0};
    VkMemoryAllocateInfo allocation = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, needs.size, type};
    VkDeviceMemory memory;
    VK(vkAllocateMemory(device, &allocation, NULL, &memory));
    VK(vkBindBufferMemory(device, buffer, memory, 0));
    VkBufferDeviceAddressInfo where = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL, buffer};
    *address = vkGetBufferDeviceAddress(device, &where);
    void *mapped;
    VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    memset(mapped, 0xa5, bytes);
    if (made)
        *made = buffer;
    return mapped;
}

static inline void begin(void)
{
    VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL, 0, NULL};
    VK(vkBeginCommandBuffer(commands, &info));
}

static inline void submit(void)
{
    VkSubmitInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    VK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(queue));
}

static inline void barrier(VkPipelineStageFlags2 from, VkAccessFlags2 written, scanbox_access to)
{
    VkMemoryBarrier2 memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, NULL, from, written, to.stages, to.access};
    VkDependencyInfo dependency;
    memset(&dependency, 0, sizeof dependency);
    dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    dependency.memoryBarrierCount = 1;
    dependency.pMemoryBarriers = &memory;
    vkCmdPipelineBarrier2(commands, &dependency);
}

static inline unsigned char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        exit(2);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *content = malloc(*bytes);
    if (!content || fread(content, 1, *bytes, file) != *bytes)
        exit(2);
    fclose(file);
    return content;
}

/* The scanner of a pack in a file, on the device; NULL where there is none. */
static inline scanbox_scanner *make_scanner(const char *path)
{
    size_t pack_bytes;
    unsigned char *pack = read_file(path, &pack_bytes);
    scanbox_scanner_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.get_instance_proc_addr = vkGetInstanceProcAddr;
    info.instance = instance;
    info.physical_device = physical;
    info.device = device;
    info.enabled = &features;
    info.pack = pack;
    info.pack_bytes = pack_bytes;
    scanbox_scanner *scanner = NULL;
    DONE(scanbox_scanner_create(&info, &scanner));
    free(pack);
    return scanner;
}
