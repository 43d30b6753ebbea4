/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the interface says to a program that passes nothing, or the wrong size. Needs no device. */

#include "scanbox.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int failures;

/* The call gives this result, and the text has the part. */
#define EXPECT(call, expected, part)                                                                   \
    do {                                                                                               \
        scanbox_result result_ = (call);                                                               \
        if (result_ != (expected) || !strstr(scanbox_last_error(), part)) {                            \
            printf("line %d: %s: %d, \"%s\"\n", __LINE__, #call, (int)result_, scanbox_last_error()); \
            failures++;                                                                                \
        }                                                                                              \
    } while (0)
#define REFUSED(call, part) EXPECT(call, SCANBOX_RESULT_INVALID_ARGUMENT, part)

static void *fail_elsewhere(void *unused)
{
    (void)unused;
    REFUSED(scanbox_scan_chosen(NULL, 1, NULL), "the scan is NULL");
    return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL no_function(VkInstance instance, const char *name)
{
    (void)instance;
    (void)name;
    return NULL;
}

int main(void)
{
    scanbox_scanner *scanner = NULL;
    scanbox_scan *scan = NULL;
    scanbox_range nowhere = {0, 0};
    VkInstance no_instance = VK_NULL_HANDLE;

    if (strcmp(scanbox_last_error(), "") != 0) {
        printf("an error before anything was called: %s\n", scanbox_last_error());
        failures++;
    }

    REFUSED(scanbox_wanted(no_function, no_instance, VK_NULL_HANDLE, NULL), "scanbox_features is NULL");
    scanbox_features features;
    memset(&features, 0, sizeof features);
    REFUSED(scanbox_wanted(no_function, no_instance, VK_NULL_HANDLE, &features), "sizeof(scanbox_features)");
    features.size = sizeof features - 1;
    REFUSED(scanbox_wanted(no_function, no_instance, VK_NULL_HANDLE, &features), "sizeof(scanbox_features)");
    features.size = sizeof features;
    REFUSED(scanbox_wanted(NULL, no_instance, VK_NULL_HANDLE, &features), "get_instance_proc_addr");
    REFUSED(scanbox_wanted(no_function, no_instance, VK_NULL_HANDLE, &features), "VK_NULL_HANDLE");

    scanbox_scanner_info info;
    memset(&info, 0, sizeof info);
    REFUSED(scanbox_scanner_create(&info, NULL), "the handle goes to is NULL");
    REFUSED(scanbox_scanner_create(NULL, &scanner), "scanbox_scanner_info is NULL");
    REFUSED(scanbox_scanner_create(&info, &scanner), "scanbox_scanner_info.size is 0");
    info.size = sizeof info;
    REFUSED(scanbox_scanner_create(&info, &scanner), "get_instance_proc_addr");
    info.get_instance_proc_addr = no_function;
    REFUSED(scanbox_scanner_create(&info, &scanner), "VK_NULL_HANDLE");
    union {
        char bytes[sizeof(scanbox_scanner_info) + 8];
        scanbox_scanner_info aligned;
    } memory;
    memset(&memory, 0, sizeof memory);
    void *odd = memory.bytes + 1;
    REFUSED(scanbox_scanner_create(odd, &scanner), "not aligned");

    scanbox_scan_info scan_info;
    memset(&scan_info, 0, sizeof scan_info);
    scan = (scanbox_scan *)&scan_info;
    REFUSED(scanbox_scan_create(NULL, &scan_info, &scan), "the scanner is NULL");
    if (scan != NULL) {
        printf("a handle was left where none was made\n");
        failures++;
    }
    REFUSED(scanbox_scan_create(NULL, &scan_info, NULL), "the handle goes to is NULL");
    scanbox_scratch scratch = {sizeof scratch, 0, 0};
    REFUSED(scanbox_scan_scratch(NULL, &scratch), "the scan is NULL");
    scanbox_sync sync;
    REFUSED(scanbox_scan_sync(NULL, &sync), "the scan is NULL");
    REFUSED(scanbox_cmd_prepare(NULL, VK_NULL_HANDLE, nowhere), "the scan is NULL");
    REFUSED(scanbox_cmd_scan(NULL, VK_NULL_HANDLE, NULL), "the scan is NULL");

    scanbox_bound *bound = NULL;
    scanbox_call call;
    memset(&call, 0, sizeof call);
    scanbox_line_needs needs = {sizeof needs, 0, 0};
    REFUSED(scanbox_scan_line_needs(NULL, &needs), "the scan is NULL");
    REFUSED(scanbox_bound_create(NULL, NULL, &call, &bound), "the scan is NULL");
    REFUSED(scanbox_bound_create(NULL, NULL, &call, NULL), "the handle goes to is NULL");
    REFUSED(scanbox_bound_length_address(NULL, NULL), "what is bound is NULL");
    REFUSED(scanbox_bound_cmd_set(NULL, VK_NULL_HANDLE, &call), "what is bound is NULL");
    REFUSED(scanbox_bound_cmd_scan(NULL, VK_NULL_HANDLE), "what is bound is NULL");

    scanbox_bound_destroy(NULL);
    scanbox_scan_destroy(NULL);
    scanbox_scanner_destroy(NULL);

    /* Each thread has a text of its own. */
    REFUSED(scanbox_cmd_scan(NULL, VK_NULL_HANDLE, NULL), "the scan is NULL");
    REFUSED(scanbox_scan_create(NULL, &scan_info, &scan), "the scanner is NULL");
    pthread_t thread;
    if (pthread_create(&thread, NULL, fail_elsewhere, NULL) != 0 || pthread_join(thread, NULL) != 0)
        failures++;
    if (!strstr(scanbox_last_error(), "the scanner is NULL")) {
        printf("another thread changed the text: %s\n", scanbox_last_error());
        failures++;
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
