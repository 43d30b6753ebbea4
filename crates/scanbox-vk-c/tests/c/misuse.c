/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* misuse PACK: on the first device, what the interface does with packs that are damaged, with scans that there are not
 * and with calls that are wrong; and that right ones are recorded once, run several times and give the right sums. */

#include "device.h"

#define N 100003u
#define SLACK 64u

static scanbox_scanner *check_scanners(unsigned char *pack, size_t pack_bytes)
{
    scanbox_scanner *scanner = NULL;
    scanbox_scanner_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.get_instance_proc_addr = vkGetInstanceProcAddr;
    info.instance = instance;
    info.physical_device = physical;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_INVALID_ARGUMENT, "your device");
    info.device = device;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_INVALID_ARGUMENT, "scanbox_features is NULL");
    info.enabled = &features;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_INVALID_ARGUMENT, ".scanpack");
    info.pack = pack;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_BAD_PACK, "");
    info.pack_bytes = pack_bytes / 2;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_BAD_PACK, "bytes");
    info.pack_bytes = pack_bytes;
    pack[pack_bytes / 2] ^= 4;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_BAD_PACK, "");
    pack[pack_bytes / 2] ^= 4;
    pack[8] += 100; /* Its major version. */
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_BAD_PACK, "newer");
    pack[8] -= 100;
    pack[0]++;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_BAD_PACK, "");
    pack[0]--;
    info.promises = 1u << 30;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_INVALID_ARGUMENT, "promises are 0x40000000");
    info.promises = 0;
    features.v13.synchronization2 = VK_FALSE;
    EXPECT(scanbox_scanner_create(&info, &scanner), SCANBOX_RESULT_LACKS, "synchronization2");
    HOLDS(strstr(scanbox_last_error(), "scanbox_wanted") && strstr(scanbox_last_error(), "scanbox_scanner_info.enabled"));
    features.v13.synchronization2 = VK_TRUE;
    HOLDS(scanner == NULL);
    DONE(scanbox_scanner_create(&info, &scanner));
    HOLDS(scanner != NULL);
    return scanner;
}

static scanbox_scan *check_scans(const scanbox_scanner *scanner)
{
    scanbox_scan *scan = NULL;
    scanbox_scan_info info;
    memset(&info, 0, sizeof info);
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_scan_info)");
    struct {
        scanbox_scan_info info;
        unsigned char more[16];
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.info.size = sizeof newer;
    newer.more[15] = 1;
    EXPECT(scanbox_scan_create(scanner, &newer.info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "is not zero");
    newer.info.size = (size_t)1 << 40;
    EXPECT(scanbox_scan_create(scanner, &newer.info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_scan_info)");
    EXPECT(scanbox_scan_create(scanner, NULL, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "scanbox_scan_info is NULL");
    info.size = sizeof info;
    info.max_n = N;
    info.mode = 7;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "SCANBOX_MODE_");
    info.mode = SCANBOX_MODE_EXCLUSIVE;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "element is NULL");
    info.element = "u32";
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "operator_name is NULL");
    info.operator_name = "\xff";
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "UTF-8");
    info.operator_name = "plus";
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_NO_KERNEL, "it has add of u32");
    info.operator_name = "max";
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_NO_KERNEL, "u32 max");
    info.operator_name = "add";
    info.uses = SCANBOX_USE_LINE | SCANBOX_USE_BAKED;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "SCANBOX_USE_BAKED");
    info.uses = 1u << 31;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "uses are");
    info.uses = SCANBOX_USE_LINE;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_NO_KERNEL, "line");
    info.max_n = (uint64_t)1 << 40;
    info.uses = SCANBOX_USE_N_ON_DEVICE;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_TOO_LARGE, "1099511627776");
    // In parts, where the host knows n.
    info.uses = 0;
    DONE(scanbox_scan_create(scanner, &info, &scan));
    scanbox_scan_destroy(scan);
    scan = NULL;
    info.max_n = N;
    uint32_t words[2] = {1, 0};
    info.init = words;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "init_words is 0");
    info.init_words = 2;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "init_words is 2");
    info.init_words = 1;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_NO_KERNEL, "");
    info.mode = SCANBOX_MODE_INCLUSIVE;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_NO_KERNEL, "");
    info.mode = SCANBOX_MODE_INCLUSIVE | SCANBOX_MODE_REVERSE;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_NO_KERNEL, "from the last element on");
    info.mode = 0x20;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "mode is 32");
    info.mode = SCANBOX_MODE_EXCLUSIVE;
    info.init = NULL;
    EXPECT(scanbox_scan_create(scanner, &info, &scan), SCANBOX_RESULT_INVALID_ARGUMENT, "init is NULL");
    info.init_words = 0;
    HOLDS(scan == NULL);
    DONE(scanbox_scan_create(scanner, &info, &scan));
    return scan;
}

static void check_facts(const scanbox_scan *scan, scanbox_scratch *scratch, scanbox_sync *sync)
{
    memset(scratch, 0, sizeof *scratch);
    EXPECT(scanbox_scan_scratch(scan, NULL), SCANBOX_RESULT_INVALID_ARGUMENT, "scanbox_scratch is NULL");
    EXPECT(scanbox_scan_scratch(scan, scratch), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_scratch)");
    scratch->size = sizeof *scratch;
    DONE(scanbox_scan_scratch(scan, scratch));
    HOLDS(scratch->bytes > 0 && scratch->bytes < 1 << 20 && scratch->alignment == 256);

    memset(sync, 0, sizeof *sync);
    EXPECT(scanbox_scan_sync(scan, sync), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_sync)");
    sync->size = sizeof *sync;
    DONE(scanbox_scan_sync(scan, sync));
    HOLDS(sync->before.stages == VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
    HOLDS(sync->behind.access & VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);

    scanbox_chosen chosen;
    memset(&chosen, 0, sizeof chosen);
    EXPECT(scanbox_scan_chosen(scan, N, &chosen), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_chosen)");
    chosen.size = sizeof chosen;
    DONE(scanbox_scan_chosen(scan, N, &chosen));
    /* The pack is of no device that there is. */
    HOLDS(strstr(chosen.label, "rts.") == chosen.label && strstr(chosen.reason, "portable choice"));
    HOLDS(chosen.nanoseconds == 0.0 && chosen.alignment == 16 && chosen.unaligned_label[0] == 0);
}

static void check_calls(const scanbox_scan *scan, const scanbox_scratch *scratch, const scanbox_sync *sync)
{
    VkDeviceAddress input_at, output_at, scratch_at;
    uint32_t *input = allocate((N + SLACK) * 4, &input_at, NULL);
    uint32_t *output = allocate((N + SLACK) * 4, &output_at, NULL);
    allocate(scratch->bytes + 256, &scratch_at, NULL);
    const scanbox_range room = {scratch_at, scratch->bytes};
    scanbox_call call;
    memset(&call, 0, sizeof call);

    EXPECT(scanbox_cmd_scan(scan, VK_NULL_HANDLE, &call), SCANBOX_RESULT_INVALID_ARGUMENT, "command buffer");
    EXPECT(scanbox_cmd_prepare(scan, VK_NULL_HANDLE, room), SCANBOX_RESULT_INVALID_ARGUMENT, "command buffer");
    begin();
    EXPECT(scanbox_cmd_scan(scan, commands, NULL), SCANBOX_RESULT_INVALID_ARGUMENT, "scanbox_call is NULL");
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_call)");
    call.size = sizeof call;
    call.n = N;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OTHER_USE, "the address of input is 0");
    call.input.address = input_at;
    call.input.bytes = N * 4;
    call.output.address = output_at;
    call.output.bytes = N * 4;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OTHER_USE, "scratch");

    scanbox_range small = {room.address, room.bytes - 1}, odd = {room.address + 4, room.bytes};
    call.scratch = small;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_TOO_SMALL, "scanbox_scan_scratch");
    EXPECT(scanbox_cmd_prepare(scan, commands, small), SCANBOX_RESULT_TOO_SMALL, "scratch");
    call.scratch = odd;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_MISALIGNED, "256");
    EXPECT(scanbox_cmd_prepare(scan, commands, odd), SCANBOX_RESULT_MISALIGNED, "256");
    call.scratch = room;

    call.output.bytes--;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_TOO_SMALL, "output");
    call.output.bytes++;
    call.input.address += 4;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_MISALIGNED, "SCANBOX_USE_ANY_ELEMENT");
    call.input.address = output_at + 16;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OVERLAP, "input");
    call.input.address = output_at;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OVERLAP, "in place");
    call.input.address = input_at;
    call.scratch.address = (output_at + 4 * N - 4) / 256 * 256;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OVERLAP, "apart, since one of them is");
    call.scratch = room;
    call.n = N + 1;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_TOO_LARGE, "100004");
    call.n_address = input_at;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_INVALID_ARGUMENT, "n_address");
    call.n = 0;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OTHER_USE, "pass scanbox_call.n, or");
    call.n = N;
    call.n_address = 0;
    call.total_address = input_at;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OTHER_USE, "total");
    call.total_address = 0;
    call.init_address = input_at;
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OTHER_USE, "initial value");
    call.init_address = 0;

    /* One recording, three submissions, other inputs each time. Nothing of what was refused is in it. */
    DONE(scanbox_cmd_prepare(scan, commands, room));
    barrier(sync->behind.stages, sync->behind.access, sync->before);
    DONE(scanbox_cmd_scan(scan, commands, &call));
    scanbox_access host = {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};
    barrier(sync->behind.stages, sync->behind.access, host);
    VK(vkEndCommandBuffer(commands));
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < N; i++)
            input[i] = (i + round) * 2654435761u;
        submit();
        uint32_t sum = 0, wrong = 0;
        for (uint32_t i = 0; i < N; i++) {
            wrong += output[i] != sum;
            sum += input[i];
        }
        for (uint32_t i = N; i < N + SLACK; i++)
            wrong += output[i] != 0xa5a5a5a5u;
        HOLDS(wrong == 0);
    }
}

int main(int arguments, char **argument)
{
    if (arguments != 2)
        return 2;
    size_t pack_bytes;
    unsigned char *pack = read_file(argument[1], &pack_bytes);
    make_device();
    scanbox_scanner *scanner = check_scanners(pack, pack_bytes);
    if (!scanner)
        return 1;
    /* The scanner has its own. */
    memset(pack, 0, pack_bytes);
    free(pack);
    scanbox_scan *scan = check_scans(scanner);
    scanbox_scanner_destroy(scanner);
    if (!scan)
        return 1;
    scanbox_scratch scratch;
    scanbox_sync sync;
    check_facts(scan, &scratch, &sync);
    check_calls(scan, &scratch, &sync);
    scanbox_scan_destroy(scan);
    printf("%d failures\n", failures);
    return failures != 0;
}
