/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bound PACK: scans whose arguments stand in a line, or are constants: what is wrong is refused, and what is right is
 * recorded once, told other arrays by another recording, and gives the right sums. */

#include "device.h"

#define N 70001u

static scanbox_scanner *scanner;
static uint32_t *arrays[3];
static VkDeviceAddress at[3], scratch_at, line_at;
static VkBuffer line_buffer;

static scanbox_scan *make_scan(uint32_t uses)
{
    scanbox_scan_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    info.mode = SCANBOX_MODE_INCLUSIVE;
    info.uses = uses;
    info.element = "u32";
    info.operator_name = "add";
    info.max_n = N;
    scanbox_scan *scan = NULL;
    DONE(scanbox_scan_create(scanner, &info, &scan));
    return scan;
}

/* From an array into another one. */
static scanbox_call call_of(const scanbox_scan *scan, int from, int to)
{
    scanbox_scratch scratch = {sizeof scratch, 0, 0};
    DONE(scanbox_scan_scratch(scan, &scratch));
    scanbox_call call;
    memset(&call, 0, sizeof call);
    call.size = sizeof call;
    call.input = (scanbox_range){at[from], N * 4};
    call.output = (scanbox_range){at[to], N * 4};
    call.scratch = (scanbox_range){scratch_at, scratch.bytes};
    call.n = N;
    return call;
}

static const scanbox_access host = {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};

static void record_call(const scanbox_scan *scan, const scanbox_bound *bound)
{
    scanbox_sync sync;
    memset(&sync, 0, sizeof sync);
    sync.size = sizeof sync;
    DONE(scanbox_scan_sync(scan, &sync));
    begin();
    DONE(scanbox_bound_cmd_scan(bound, commands));
    barrier(sync.behind.stages, sync.behind.access, host);
    VK(vkEndCommandBuffer(commands));
}

static void check_sums(int from, int to)
{
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < N; i++)
            arrays[from][i] = (i + round) * 2654435761u;
        memset(arrays[to], 0xa5, N * 4);
        submit();
        uint32_t sum = 0, wrong = 0;
        for (uint32_t i = 0; i < N; i++)
            wrong += arrays[to][i] != (sum += arrays[from][i]);
        HOLDS(wrong == 0);
    }
}

static void check_line(void)
{
    scanbox_scan *scan = make_scan(SCANBOX_USE_LINE);
    scanbox_line_needs needs = {0, 0, 0};
    EXPECT(scanbox_scan_line_needs(scan, &needs), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_line_needs)");
    needs.size = sizeof needs;
    DONE(scanbox_scan_line_needs(scan, &needs));
    HOLDS(needs.bytes > 0 && needs.bytes <= 4096 && needs.alignment >= 4);
    scanbox_call call = call_of(scan, 0, 1);
    EXPECT(scanbox_cmd_scan(scan, commands, &call), SCANBOX_RESULT_OTHER_USE, "scanbox_bound_create");

    scanbox_bound *bound = NULL;
    scanbox_line line;
    memset(&line, 0, sizeof line);
    EXPECT(scanbox_bound_create(scan, NULL, &call, &bound), SCANBOX_RESULT_OTHER_USE, "lines of arguments");
    EXPECT(scanbox_bound_create(scan, &line, &call, &bound), SCANBOX_RESULT_INVALID_ARGUMENT, "sizeof(scanbox_line)");
    line.size = sizeof line;
    line.buffer = line_buffer;
    line.memory = (scanbox_range){line_at, needs.bytes - 1};
    EXPECT(scanbox_bound_create(scan, &line, &call, &bound), SCANBOX_RESULT_TOO_SMALL, "lines of arguments");
    line.memory = (scanbox_range){line_at + 4, needs.bytes};
    EXPECT(scanbox_bound_create(scan, &line, &call, &bound), SCANBOX_RESULT_MISALIGNED, "lines of arguments");
    line.memory = (scanbox_range){line_at, needs.bytes};
    EXPECT(scanbox_bound_create(scan, &line, NULL, &bound), SCANBOX_RESULT_INVALID_ARGUMENT, "scanbox_call is NULL");
    HOLDS(bound == NULL);
    DONE(scanbox_bound_create(scan, &line, &call, &bound));
    EXPECT(scanbox_bound_cmd_scan(bound, VK_NULL_HANDLE), SCANBOX_RESULT_INVALID_ARGUMENT, "command buffer");
    EXPECT(scanbox_bound_cmd_set(bound, VK_NULL_HANDLE, &call), SCANBOX_RESULT_INVALID_ARGUMENT, "command buffer");
    VkDeviceAddress address = 1;
    EXPECT(scanbox_bound_length_address(bound, NULL), SCANBOX_RESULT_INVALID_ARGUMENT, "the address goes to is NULL");
    DONE(scanbox_bound_length_address(bound, &address));
    HOLDS(address == 0);

    for (int to = 1; to < 3; to++) {
        call = call_of(scan, 0, to);
        begin();
        if (to == 1) {
            scanbox_access next = {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                   VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT};
            DONE(scanbox_cmd_prepare(scan, commands, call.scratch));
            barrier(next.stages, next.access, next);
            scanbox_call fewer = call;
            fewer.n--;
            EXPECT(scanbox_bound_cmd_set(bound, commands, &fewer), SCANBOX_RESULT_OTHER_USE, "bound");
        }
        DONE(scanbox_bound_cmd_set(bound, commands, &call));
        VK(vkEndCommandBuffer(commands));
        submit();
        record_call(scan, bound);
        check_sums(0, to);
    }
    scanbox_bound_destroy(bound);
    scanbox_scan_destroy(scan);
}

static void check_baked(void)
{
    scanbox_scan *scan = make_scan(SCANBOX_USE_BAKED);
    scanbox_call call = call_of(scan, 2, 0);
    scanbox_bound *bound = NULL;
    scanbox_line line = {sizeof line, line_buffer, 0, {line_at, 4096}};
    EXPECT(scanbox_bound_create(scan, &line, &call, &bound), SCANBOX_RESULT_OTHER_USE, "lines of arguments");
    call.output.bytes = 4;
    EXPECT(scanbox_bound_create(scan, NULL, &call, &bound), SCANBOX_RESULT_TOO_SMALL, "output");
    call.output.bytes = N * 4;
    HOLDS(bound == NULL);
    DONE(scanbox_bound_create(scan, NULL, &call, &bound));
    EXPECT(scanbox_bound_cmd_set(bound, commands, &call), SCANBOX_RESULT_OTHER_USE, "");
    record_call(scan, bound);
    check_sums(2, 0);
    scanbox_bound_destroy(bound);
    scanbox_scan_destroy(scan);
}

int main(int arguments, char **argument)
{
    if (arguments != 2)
        return 2;
    make_device();
    scanner = make_scanner(argument[1]);
    if (!scanner)
        return 1;
    for (int i = 0; i < 3; i++)
        arrays[i] = allocate(N * 4, &at[i], NULL);
    allocate(1 << 22, &scratch_at, NULL);
    allocate(4096, &line_at, &line_buffer);
    check_line();
    check_baked();
    scanbox_scanner_destroy(scanner);
    printf("%d failures\n", failures);
    return failures != 0;
}
