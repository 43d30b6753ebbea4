/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An exclusive prefix sum in a program's own command buffer, which is recorded once and submitted several times.
 *
 *     example [PACK]
 */

#include <scanbox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define N 1000000u

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

static VkPhysicalDevice physical;
static VkDevice device;

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

int main(int arguments, char **argument)
{
    /* The program's own instance and device. The device enables what scanbox wants beside what else it needs. */
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
    VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                          .pApplicationInfo = &application};
    VkInstance instance;
    VK(vkCreateInstance(&instance_info, NULL, &instance));
    uint32_t devices = 1;
    vkEnumeratePhysicalDevices(instance, &devices, &physical);
    if (devices == 0)
        return 1;
    scanbox_features features = {.size = sizeof features};
    SCANBOX(scanbox_wanted(vkGetInstanceProcAddr, instance, physical, &features));
    features.v12.pNext = &features.v13;
    if (features.uniform_control_flow.shaderSubgroupUniformControlFlow)
        features.v13.pNext = &features.uniform_control_flow;
    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue_info = {VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, NULL, 0, 0, 1, &priority};
    VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .pNext = &features.v12,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue_info,
                                      .enabledExtensionCount = features.extension_count,
                                      .ppEnabledExtensionNames = features.extensions,
                                      .pEnabledFeatures = &features.v10};
    VK(vkCreateDevice(physical, &device_info, NULL, &device));

    /* 1: a scanner, of the device and a pack. */
    scanbox_scanner_info scanner_info = {.size = sizeof scanner_info,
                                         .get_instance_proc_addr = vkGetInstanceProcAddr,
                                         .instance = instance,
                                         .physical_device = physical,
                                         .device = device,
                                         .enabled = &features};
    void *pack = read_file(arguments > 1 ? argument[1] : PACK, &scanner_info.pack_bytes);
    scanner_info.pack = pack;
    scanbox_scanner *scanner;
    SCANBOX(scanbox_scanner_create(&scanner_info, &scanner));
    free(pack);

    /* 2: a scan, which makes the pipelines. */
    scanbox_scan_info scan_info = {.size = sizeof scan_info,
                                   .mode = SCANBOX_MODE_EXCLUSIVE,
                                   .element = "u32",
                                   .operator_name = "add",
                                   .max_n = N};
    scanbox_scan *scan;
    SCANBOX(scanbox_scan_create(scanner, &scan_info, &scan));
    scanbox_chosen chosen = {.size = sizeof chosen};
    SCANBOX(scanbox_scan_chosen(scan, N, &chosen));
    scanbox_scratch scratch_needs = {.size = sizeof scratch_needs};
    SCANBOX(scanbox_scan_scratch(scan, &scratch_needs));
    scanbox_sync sync = {.size = sizeof sync};
    SCANBOX(scanbox_scan_sync(scan, &sync));

    array input = make_array(4 * N), output = make_array(4 * N);
    array scratch = make_array(scratch_needs.bytes ? scratch_needs.bytes : 4);

    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkCommandPool pool;
    VK(vkCreateCommandPool(device, &pool_info, NULL, &pool));
    VkCommandBufferAllocateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               .commandPool = pool,
                                               .commandBufferCount = 2};
    VkCommandBuffer recordings[2];
    VK(vkAllocateCommandBuffers(device, &buffer_info, recordings));
    VkCommandBuffer prepare = recordings[0], commands = recordings[1];
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    /* Once: the scratch memory is prepared. */
    VK(vkBeginCommandBuffer(prepare, &begin));
    SCANBOX(scanbox_cmd_prepare(scan, prepare, scratch.range));
    VK(vkEndCommandBuffer(prepare));

    /* 3: the scan, wherever the program needs it. What was before it on the same memory comes first. */
    VK(vkBeginCommandBuffer(commands, &begin));
    barrier(commands, sync.behind, sync.before);
    scanbox_call call = {
        .size = sizeof call, .input = input.range, .output = output.range, .scratch = scratch.range, .n = N};
    SCANBOX(scanbox_cmd_scan(scan, commands, &call));
    scanbox_access host = {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};
    barrier(commands, sync.behind, host);
    VK(vkEndCommandBuffer(commands));

    VkQueue queue;
    vkGetDeviceQueue(device, 0, 0, &queue);
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < N; i++)
            input.words[i] = (i + round) * 2654435761u;
        VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .commandBufferCount = round == 0 ? 2 : 1,
                               .pCommandBuffers = round == 0 ? recordings : &commands};
        VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
        VK(vkQueueWaitIdle(queue));
        uint32_t sum = 0;
        for (uint32_t i = 0; i < N; i++) {
            wrong += output.words[i] != sum;
            sum += input.words[i];
        }
    }
    printf("recorded once, submitted 5 times: %u of %u sums wrong, by %s (%s)\n", wrong, 5 * N, chosen.label,
           chosen.reason);

    scanbox_scan_destroy(scan);
    scanbox_scanner_destroy(scanner);
    vkDestroyCommandPool(device, pool, NULL);
    free_array(input);
    free_array(output);
    free_array(scratch);
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
    return wrong != 0;
}
