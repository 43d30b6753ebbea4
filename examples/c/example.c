/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An exclusive prefix sum in a program's own command buffer, which is recorded once and submitted several times. What
 * the program has without scanbox is in program.h.
 *
 *     example [PACK]
 */

#include "program.h"

#define N 1000000u

int main(int arguments, char **argument)
{
    scanbox_features features = {.size = sizeof features};
    open_device(&features);

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

    /* 2: a scan, which makes the pipelines; what memory and which barriers it needs. */
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

    VkCommandBuffer recordings[2];
    VkCommandPool pool = make_recordings(2, recordings);
    VkCommandBuffer prepare = recordings[0], commands = recordings[1];

    /* Once: the scratch memory is prepared. */
    SCANBOX(scanbox_cmd_prepare(scan, prepare, scratch.range));
    VK(vkEndCommandBuffer(prepare));

    /* 3: the scan, wherever the program needs it. What was before it on the same memory comes first. */
    barrier(commands, sync.behind, sync.before);
    scanbox_call call = {
        .size = sizeof call, .input = input.range, .output = output.range, .scratch = scratch.range, .n = N};
    SCANBOX(scanbox_cmd_scan(scan, commands, &call));
    scanbox_access host = {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};
    barrier(commands, sync.behind, host);
    VK(vkEndCommandBuffer(commands));

    uint32_t wrong = 0;
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < N; i++)
            input.words[i] = (i + round) * 2654435761u;
        submit(round == 0 ? 2 : 1, round == 0 ? recordings : &commands);
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
