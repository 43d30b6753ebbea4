/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prefix scans in command buffers of Vulkan. Made from crates/scanbox-vk-c/src by its tests: do not edit.
 *
 * Every structure begins with its size: set it to sizeof of it, and the rest to zero, before anything else. Functions
 * that may fail return a scanbox_result; scanbox_last_error() then says what is wrong and what to do. Handles are freed
 * by functions that take NULL too. Scanners and scans may be used by several threads at the same time; a command buffer
 * belongs to one. docs/use-in-your-program.md is the guide. */

#ifndef SCANBOX_H
#define SCANBOX_H

#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

// Older headers of Vulkan do not declare it, such as those of Debian 12.
#ifndef VK_KHR_shader_maximal_reconvergence
typedef struct VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR {
  VkStructureType sType;
  void *pNext;
  VkBool32 shaderMaximalReconvergence;
} VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR;
#endif

// Element i of the output combines elements 0 to i of the input.
#define SCANBOX_MODE_INCLUSIVE 0

// Element i of the output combines an initial value and elements 0 to i - 1 of the input.
#define SCANBOX_MODE_EXCLUSIVE 1

// The output is one element: all of the input combined.
#define SCANBOX_MODE_REDUCE 2

// Combined with one of these: elements are combined from the last one on, element i of an inclusive scan from element
// i to the last one, and an initial value stands behind that. Operands keep their order.
#define SCANBOX_MODE_REVERSE 16

// A promise: workgroups that have started make progress, whatever others wait for.
#define SCANBOX_PROMISE_PROGRESS 1

// A promise: workgroups start in the order of their numbers.
#define SCANBOX_PROMISE_WORKGROUP_ORDER 2

// A promise: subgroups of one workgroup make progress independently.
#define SCANBOX_PROMISE_SUBGROUP_PROGRESS 4

// A promise: as many workgroups as fit the device really run at the same time. Not so where anything else uses it.
#define SCANBOX_PROMISE_CO_RESIDENCY 8

// A use: only memory of the device says how many elements there are (scanbox_call.n_address).
#define SCANBOX_USE_N_ON_DEVICE 1

// A use: the total of all elements is stored beside the scan (scanbox_call.total_address).
#define SCANBOX_USE_TOTAL 2

// A use: memory says what an exclusive scan begins with (scanbox_call.init_address).
#define SCANBOX_USE_INIT_IN_MEMORY 4

// A use: others overwrite the scratch memory between calls, so that nobody has to prepare it.
#define SCANBOX_USE_SCRATCH_OVERWRITTEN 8

// A use: input and output may begin at any element, and not only where a vector may.
#define SCANBOX_USE_ANY_ELEMENT 16

// A use: arguments stand in memory that is bound once (scanbox_bound_create), and can be changed there.
#define SCANBOX_USE_LINE 32

// A use: arguments are constants of pipelines that are made for them (scanbox_bound_create).
#define SCANBOX_USE_BAKED 64

// Characters of a text within a structure, with the zero at its end. What is longer is cut.
#define SCANBOX_TEXT_CHARACTERS 192

// Extensions of devices that may be wanted at most.
#define SCANBOX_MOST_EXTENSIONS 4

// How a call ended. Where it did not succeed, nothing was recorded or made, and scanbox_last_error() has a text.
typedef enum scanbox_result {
  // It is done.
  SCANBOX_RESULT_SUCCESS = 0,
  // A pointer, a handle, a size word, a flag or a text of the program is wrong.
  SCANBOX_RESULT_INVALID_ARGUMENT = -1,
  // The pack is none, is cut or damaged, or is of a newer version.
  SCANBOX_RESULT_BAD_PACK = -2,
  // The device lacks something, or it is not enabled.
  SCANBOX_RESULT_LACKS = -3,
  // The pack has no kernel for this scan on this device.
  SCANBOX_RESULT_NO_KERNEL = -4,
  // There are more elements than the scan was made for.
  SCANBOX_RESULT_TOO_LARGE = -5,
  // An address is not aligned.
  SCANBOX_RESULT_MISALIGNED = -6,
  // Memory is too small.
  SCANBOX_RESULT_TOO_SMALL = -7,
  // Memory overlaps.
  SCANBOX_RESULT_OVERLAP = -8,
  // An argument that the use of the scan has is missing, or one that it does not have is there.
  SCANBOX_RESULT_OTHER_USE = -9,
  // A function of Vulkan failed.
  SCANBOX_RESULT_VULKAN = -10,
  // A fault of scanbox itself.
  SCANBOX_RESULT_INTERNAL = -11,
} scanbox_result;

// A scan that is bound to memory: see scanbox_bound_create.
typedef struct scanbox_bound scanbox_bound;

// A scan of up to so many elements: see scanbox_scan_create.
typedef struct scanbox_scan scanbox_scan;

// Makes scans for a device: see scanbox_scanner_create.
typedef struct scanbox_scanner scanbox_scanner;

// Features of a device: those that are wanted, then those that are enabled. Its structures can be chained into
// VkDeviceCreateInfo as they are; their pNext is the program's.
typedef struct scanbox_features {
  // sizeof(scanbox_features).
  size_t size;
  // Those of Vulkan 1.0.
  VkPhysicalDeviceFeatures v10;
  // Those of Vulkan 1.2.
  VkPhysicalDeviceVulkan12Features v12;
  // Those of Vulkan 1.3.
  VkPhysicalDeviceVulkan13Features v13;
  // That of VK_KHR_shader_subgroup_uniform_control_flow, to be chained where it is wanted.
  VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR uniform_control_flow;
  // That of VK_KHR_shader_maximal_reconvergence, to be chained where it is wanted.
  VkPhysicalDeviceShaderMaximalReconvergenceFeaturesKHR maximal_reconvergence;
  // How many extensions are to be enabled.
  uint32_t extension_count;
  // Their names, which live as long as the program.
  const char *extensions[SCANBOX_MOST_EXTENSIONS];
} scanbox_features;

// The device to scan on, and the pack to scan with.
typedef struct scanbox_scanner_info {
  // sizeof(scanbox_scanner_info).
  size_t size;
  // The loader's, with which the instance was made.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  // Made with apiVersion 1.3 or newer. Has to outlive the scanner, and everything made with it.
  VkInstance instance;
  // Of the instance.
  VkPhysicalDevice physical_device;
  // Has to outlive the scanner, and everything made with it.
  VkDevice device;
  // Makes pipelines faster the next time; VK_NULL_HANDLE where there is none. Has to outlive the scanner, which uses
  // it while it makes scans and binds them, from any thread: it has to be one that Vulkan synchronizes.
  VkPipelineCache pipeline_cache;
  // The features that were enabled as the device was made. Vulkan cannot be asked.
  const struct scanbox_features *enabled;
  // The bytes of a pack, which are copied.
  const void *pack;
  // How many.
  size_t pack_bytes;
  // What the program promises of the device beyond what Vulkan does: SCANBOX_PROMISE_...; 0 is right everywhere.
  uint32_t promises;
} scanbox_scanner_info;

// What to scan, how often it is called how.
typedef struct scanbox_scan_info {
  // sizeof(scanbox_scan_info).
  size_t size;
  // SCANBOX_MODE_...; | SCANBOX_MODE_REVERSE from the last element on.
  uint32_t mode;
  // SCANBOX_USE_..., combined.
  uint32_t uses;
  // The type of an element: "u32", "i32", "f32", "u64", "i64", "f64", or that of a user's operator.
  const char *element;
  // The operator: "add", "min", "max", "mul", "and", "or", "xor", or the name of a user's.
  const char *operator_name;
  // The bits of what it begins with, the lowest word first; NULL for the identity.
  const uint32_t *init;
  // How many words.
  size_t init_words;
  // Whether the output stands where the input stood.
  VkBool32 in_place;
  // The most elements of a call.
  uint64_t max_n;
} scanbox_scan_info;

// The scratch memory that calls of a scan need. A buffer with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT and
// VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT.
typedef struct scanbox_scratch {
  // sizeof(scanbox_scratch).
  size_t size;
  // Bytes at least; 0 where none is needed.
  VkDeviceSize bytes;
  // What its address is a multiple of.
  VkDeviceSize alignment;
} scanbox_scratch;

// What runs for a number of elements.
typedef struct scanbox_chosen {
  // sizeof(scanbox_chosen).
  size_t size;
  // What the addresses of input and output are multiples of, in bytes.
  VkDeviceSize alignment;
  // The median time of a call of measured_n elements on the device of the pack, in nanoseconds; 0 where this is no
  // such device, or nothing was measured.
  double nanoseconds;
  // The size that was measured, the nearest one.
  uint64_t measured_n;
  // The label of its config.
  char label[SCANBOX_TEXT_CHARACTERS];
  // On what ground it was chosen.
  char reason[SCANBOX_TEXT_CHARACTERS];
  // The label of what runs at addresses that are multiples of an element alone; empty where that is the same, or
  // the scan was not made for them (SCANBOX_USE_ANY_ELEMENT).
  char unaligned_label[SCANBOX_TEXT_CHARACTERS];
} scanbox_chosen;

// One side of a barrier.
typedef struct scanbox_access {
  // Which work.
  VkPipelineStageFlags2 stages;
  // What it does with memory.
  VkAccessFlags2 access;
} scanbox_access;

// For the barriers of a program, in front of a call and behind it.
typedef struct scanbox_sync {
  // sizeof(scanbox_sync).
  size_t size;
  // The destination of a barrier that is recorded before a call.
  struct scanbox_access before;
  // The source of a barrier that is recorded behind a call.
  struct scanbox_access behind;
} scanbox_sync;

// Memory of the device.
typedef struct scanbox_range {
  // Where it begins.
  VkDeviceAddress address;
  // Its bytes.
  VkDeviceSize bytes;
} scanbox_range;

// One call of a scan.
typedef struct scanbox_call {
  // sizeof(scanbox_call).
  size_t size;
  // What is scanned.
  struct scanbox_range input;
  // Where the scan goes. In place, the input.
  struct scanbox_range output;
  // Memory that is prepared, and that no other call uses at the same time.
  struct scanbox_range scratch;
  // How many elements; with SCANBOX_USE_N_ON_DEVICE 0, but where arguments are bound: there as many as are told.
  uint64_t n;
  // With SCANBOX_USE_N_ON_DEVICE: a 32-bit word that says how many. What is beyond max_n counts as max_n.
  VkDeviceAddress n_address;
  // With SCANBOX_USE_INIT_IN_MEMORY: the element that an exclusive scan begins with.
  VkDeviceAddress init_address;
  // With SCANBOX_USE_TOTAL: where the total goes.
  VkDeviceAddress total_address;
} scanbox_call;

// The memory that arguments of a scan need which are bound.
typedef struct scanbox_line_needs {
  // sizeof(scanbox_line_needs).
  size_t size;
  // Bytes at least; 0 where none is needed.
  VkDeviceSize bytes;
  // What its address is a multiple of.
  VkDeviceSize alignment;
} scanbox_line_needs;

// Memory for arguments that are bound. Its buffer has VK_BUFFER_USAGE_TRANSFER_DST_BIT beside what scratch memory has.
typedef struct scanbox_line {
  // sizeof(scanbox_line).
  size_t size;
  // The buffer.
  VkBuffer buffer;
  // Where its memory for arguments begins, in bytes.
  VkDeviceSize offset;
  // The same memory, by its address.
  struct scanbox_range memory;
} scanbox_line;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What the last call of this thread that failed had to say: what is wrong, and what to do. Empty where none has
// failed. It is valid until another call of this thread fails.
const char *scanbox_last_error(void);

// Sets what a device has to have enabled to VK_TRUE, and what of it makes more kernels run, where the device has it;
// all else in the structures stays as it is, but for sType. Sets extensions and extension_count too.
enum scanbox_result scanbox_wanted(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                   VkInstance instance,
                                   VkPhysicalDevice physical_device,
                                   struct scanbox_features *features);

// Makes a scanner from a device of the program and a pack.
enum scanbox_result scanbox_scanner_create(const struct scanbox_scanner_info *info,
                                           struct scanbox_scanner **scanner);

// Frees a scanner. Scans that were made with it stay as they are. NULL is fine.
void scanbox_scanner_destroy(struct scanbox_scanner *scanner);

// Makes a scan. Its pipelines are made here, which may take a while; recording makes none.
enum scanbox_result scanbox_scan_create(const struct scanbox_scanner *scanner,
                                        const struct scanbox_scan_info *info,
                                        struct scanbox_scan **scan);

// Frees a scan, when nothing that was recorded with it will run any more. NULL is fine.
void scanbox_scan_destroy(struct scanbox_scan *scan);

// The scratch memory that calls need. Each call that may run at the same time as another one needs its own.
enum scanbox_result scanbox_scan_scratch(const struct scanbox_scan *scan, struct scanbox_scratch *scratch);

// What runs for so many elements, 0 standing for 1.
enum scanbox_result scanbox_scan_chosen(const struct scanbox_scan *scan,
                                        uint64_t n,
                                        struct scanbox_chosen *chosen);

// What the program's barriers have on their side of a call, or of scanbox_cmd_prepare.
enum scanbox_result scanbox_scan_sync(const struct scanbox_scan *scan, struct scanbox_sync *sync);

// Records what makes scratch memory fit for calls: once before the first call on it, and after somebody else has
// written there. A barrier has to stand between this and a call.
enum scanbox_result scanbox_cmd_prepare(const struct scanbox_scan *scan,
                                        VkCommandBuffer command_buffer,
                                        struct scanbox_range scratch);

// Records one call. Binds a compute pipeline and pushes constants; neither locks nor allocates. The recording may be
// submitted any number of times. Where this fails, nothing was recorded.
enum scanbox_result scanbox_cmd_scan(const struct scanbox_scan *scan,
                                     VkCommandBuffer command_buffer,
                                     const struct scanbox_call *call_info);

// The memory that arguments of a scan need which was made with SCANBOX_USE_LINE.
enum scanbox_result scanbox_scan_line_needs(const struct scanbox_scan *scan,
                                            struct scanbox_line_needs *needs);

// Binds a scan that was made with SCANBOX_USE_LINE or SCANBOX_USE_BAKED to the scratch memory and the number of
// elements of a call; where arguments are constants, to all of the call. Makes pipelines, which takes milliseconds.
// line is NULL where arguments are constants. One call at a time may run of what is bound.
enum scanbox_result scanbox_bound_create(const struct scanbox_scan *scan,
                                         const struct scanbox_line *line,
                                         const struct scanbox_call *call_info,
                                         struct scanbox_bound **bound);

// Frees what was bound, and its pipelines, when nothing that was recorded with it will run any more. NULL is fine.
void scanbox_bound_destroy(struct scanbox_bound *bound);

// The address of the word that says how many elements the next call has, where the scan was made with
// SCANBOX_USE_N_ON_DEVICE too: the device may write it, with barriers. 0 where there is none.
enum scanbox_result scanbox_bound_length_address(const struct scanbox_bound *bound, VkDeviceAddress *address);

// Records what the next calls are told, with barriers on both sides: before the first one, and where arrays or, where
// the device says how many, elements are others.
enum scanbox_result scanbox_bound_cmd_set(const struct scanbox_bound *bound,
                                          VkCommandBuffer command_buffer,
                                          const struct scanbox_call *call_info);

// Records one call, of what was told last.
enum scanbox_result scanbox_bound_cmd_scan(const struct scanbox_bound *bound, VkCommandBuffer command_buffer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SCANBOX_H */
