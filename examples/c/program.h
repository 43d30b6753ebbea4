/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program with Vulkan has before it has scanbox: a device, memory, a barrier. example.c is what is new. */

#ifndef EXAMPLE_PROGRAM_H
#define EXAMPLE_PROGRAM_H

#include <scanbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

/* Ends the program where Vulkan or scanbox says no. */
#define VK(call)                                                   \
    do {                                                           \
        VkResult result_ = (call);                                 \
        if (result_ != VK_SUCCESS) {                               \
            fprintf(stderr, "%s: VkResult %d\n", #call, result_);  \
            exit(1);                                               \
        }                                                          \
    } while (0)
#define SCANBOX(call)                                              \
    do {                                                           \
        if ((call) != SCANBOX_RESULT_SUCCESS) {                    \
            fprintf(stderr, "%s\n", scanbox_last_error());         \
            exit(1);                                               \
        }                                                          \
    } while (0)

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;

/* The program's own instance and device. The device enables what scanbox wants beside what else it needs. */
static void open_device(scanbox_features *features)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                          .pApplicationInfo = &application};
    VK(vkCreateInstance(&instance_info, NULL, &instance));
    uint32_t devices = 1;
    vkEnumeratePhysicalDevices(instance, &devices, &physical);
    if (devices == 0) {
        fprintf(stderr, "there is no Vulkan device\n");
        exit(1);
    }
    SCANBOX(scanbox_wanted(vkGetInstanceProcAddr, instance, physical, features));
    features->v12.pNext = &features->v13;
    if (features->uniform_control_flow.shaderSubgroupUniformControlFlow)
        features->v13.pNext = &features->uniform_control_flow;
    if (features->maximal_reconvergence.shaderMaximalReconvergence) {
        features->maximal_reconvergence.pNext = features->v13.pNext;
        features->v13.pNext = &features->maximal_reconvergence;
    }
    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue_info = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
    VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .pNext = &features->v12,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue_info,
                                      .enabledExtensionCount = features->extension_count,
                                      .ppEnabledExtensionNames = features->extensions,
                                      .pEnabledFeatures = &features->v10};
    VK(vkCreateDevice(physical, &device_info, NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
}

static VkCommandPool make_recordings(uint32_t count, VkCommandBuffer *recordings)
{
    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandPool pool;
    VK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    VkCommandBufferAllocateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               .commandPool = pool,
                                               .commandBufferCount = count};
    VK(vkAllocateCommandBuffers(device, &buffer_info, recordings));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    for (uint32_t i = 0; i < count; i++)
        VK(vkBeginCommandBuffer(recordings[i], &begin));
    return pool;
}

static void submit(uint32_t count, const VkCommandBuffer *recordings)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = count, .pCommandBuffers = recordings};
    VK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
    VK(vkQueueWaitIdle(queue));
}

/* Memory of the device, which the host sees too. */
typedef struct array {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint32_t *words;
    scanbox_range range;
} array;

static array make_array(VkDeviceSize bytes)
{
    array made;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes};
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    VK(vkCreateBuffer(device, &info, NULL, &made.buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, made.buffer, &needs);
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (!(needs.memoryTypeBits >> type & 1) || (types.memoryTypes[type].propertyFlags & visible) != visible)
        type++;
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocation = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags, needs.size, type};
    VK(vkAllocateMemory(device, &allocation, NULL, &made.memory));
    VK(vkBindBufferMemory(device, made.buffer, made.memory, 0));
    void *mapped;
    VK(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    made.words = mapped;
    VkBufferDeviceAddressInfo where = {VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, NULL, made.buffer};
    made.range = (scanbox_range){vkGetBufferDeviceAddress(device, &where), bytes};
    return made;
}

static void free_array(array made)
{
    vkDestroyBuffer(device, made.buffer, NULL);
    vkFreeMemory(device, made.memory, NULL);
}

static void barrier(VkCommandBuffer commands, scanbox_access from, scanbox_access to)
{
    VkMemoryBarrier2 memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, NULL, from.stages, from.access, to.stages, to.access};
    VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &memory};
    vkCmdPipelineBarrier2(commands, &dependency);
}

static void *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *content = malloc(*bytes);
    if (!content || fread(content, 1, *bytes, file) != *bytes)
        exit(1);
    fclose(file);
    return content;
}

#endif
