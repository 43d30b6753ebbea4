/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* structures PACK: a scan of structures of 12 bytes by a user's operator, which stand in arrays of C as they are, and
 * begin at any of them. */

#include "device.h"

#define N 5003u
#define BEFORE 1u

/* That of kernels/operators/text-position.glsl. */
typedef struct position {
    uint32_t lines, column, bytes;
} position;

static position combine(position earlier, position later)
{
    uint32_t before = later.lines ? 0 : earlier.column;
    return (position){earlier.lines + later.lines, before + later.column, earlier.bytes + later.bytes};
}

int main(int arguments, char **argument)
{
    if (arguments != 2)
        return 2;
    make_device();
    scanbox_scanner *scanner = make_scanner(argument[1]);
    if (!scanner)
        return 1;
    scanbox_scan_info wish;
    memset(&wish, 0, sizeof wish);
    wish.size = sizeof wish;
    wish.mode = SCANBOX_MODE_INCLUSIVE;
    wish.uses = SCANBOX_USE_ANY_ELEMENT;
    wish.element = "struct12";
    wish.operator_name = "text-position";
    wish.max_n = N;
    scanbox_scan *scan = NULL;
    DONE(scanbox_scan_create(scanner, &wish, &scan));
    if (!scan)
        return 1;
    VkDeviceAddress at[3];
    position *input = (position *)allocate((N + BEFORE) * sizeof(position), &at[0], NULL) + BEFORE;
    position *output = (position *)allocate((N + BEFORE) * sizeof(position), &at[1], NULL) + BEFORE;
    scanbox_scratch scratch = {sizeof scratch, 0, 0};
    DONE(scanbox_scan_scratch(scan, &scratch));
    allocate(scratch.bytes ? scratch.bytes : 4, &at[2], NULL);
    for (uint32_t i = 0; i < N; i++)
        input[i] = (position){i * 2654435761u >> 29 == 0, i % 13, 1 + i % 29};
    memset(output - BEFORE, 0xa5, (N + BEFORE) * sizeof(position));
    scanbox_call call;
    memset(&call, 0, sizeof call);
    call.size = sizeof call;
    call.n = N;
    call.input = (scanbox_range){at[0] + BEFORE * sizeof(position), N * sizeof(position)};
    call.output = (scanbox_range){at[1] + BEFORE * sizeof(position), N * sizeof(position)};
    call.scratch = (scanbox_range){at[2], scratch.bytes};
    begin();
    scanbox_call inside = call;
    inside.input.address += 2;
    EXPECT(scanbox_cmd_scan(scan, commands, &inside), SCANBOX_RESULT_MISALIGNED, "a multiple of 4 bytes");
    inside = call;
    inside.input.bytes -= 1;
    EXPECT(scanbox_cmd_scan(scan, commands, &inside), SCANBOX_RESULT_TOO_SMALL, "input");
    DONE(scanbox_cmd_prepare(scan, commands, call.scratch));
    scanbox_sync sync;
    memset(&sync, 0, sizeof sync);
    sync.size = sizeof sync;
    DONE(scanbox_scan_sync(scan, &sync));
    scanbox_access host = {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};
    barrier(sync.behind.stages, sync.behind.access, sync.before);
    DONE(scanbox_cmd_scan(scan, commands, &call));
    barrier(sync.behind.stages, sync.behind.access, host);
    VK(vkEndCommandBuffer(commands));
    submit();
    position expected = {0, 0, 0};
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < N; i++) {
        expected = combine(expected, input[i]);
        wrong += memcmp(&output[i], &expected, sizeof expected) != 0;
    }
    HOLDS(wrong == 0);
    HOLDS(expected.lines > 100);
    HOLDS(output[-1].lines == 0xa5a5a5a5u && output[-1].bytes == 0xa5a5a5a5u);
    scanbox_scan_destroy(scan);
    scanbox_scanner_destroy(scanner);
    printf("%d failures\n", failures);
    return failures != 0;
}
