// SPDX-License-Identifier: MIT OR Apache-2.0
// Where an invocation stands: in its subgroup, its workgroup, the dispatch. No other file names the built-in variables.

// A subgroup that enters a branch or a loop together leaves it together: subgroup operations stand behind branches on
// one lane, which work is done by. Where a device promises it, it is asked to.
#if defined(UNIFORM_FLOW) && UNIFORM_FLOW
#extension GL_EXT_subgroup_uniform_control_flow : require
#define MAIN [[subgroup_uniform_control_flow]] void main()
#else
#define MAIN void main()
#endif

layout(local_size_x = WORKGROUP_SIZE) in;

const uint SUBGROUPS = WORKGROUP_SIZE / SUBGROUP_SIZE;

// Where subgroups run one after the other, as software devices have them, a barrier that is missing shows in one order
// of them, if at all: builds with LATE have the other order in calls of an odd number of workgroups. (By the number of
// the workgroup, SwiftShader hangs at times.) The difference may wrap; the sum is right.
#if defined(LATE) && LATE
#define SUBGROUP_IN_ORDER (gl_SubgroupID + (gl_NumWorkGroups.x & 1u) * (SUBGROUPS - 1u - 2u * gl_SubgroupID))
#else
#define SUBGROUP_IN_ORDER gl_SubgroupID
#endif

// The subgroup of the invocation, and its place there. Kernels for few tiles have them read once, at their beginning
// (HOLDS_PLACE): read wherever they are used they take an NVIDIA H200 2 to 4 % of a call at 2^14. Where registers count
// they are read where they are used.
#if defined(HOLDS_PLACE) && HOLDS_PLACE
uint own_subgroup = SUBGROUP_IN_ORDER;
uint own_lane = gl_SubgroupInvocationID;
#else
#define own_subgroup SUBGROUP_IN_ORDER
#define own_lane gl_SubgroupInvocationID
#endif

// Position of the invocation in the workgroup. Not gl_LocalInvocationIndex: Vulkan does not say how local invocations
// map to subgroups, and the stages need subgroup s to own the s-th part of the tile.
uint invocation_rank() {
    return own_subgroup * SUBGROUP_SIZE + own_lane;
}

// The same for kernels that have no subgroups: any numbering will do.
#define invocation_index gl_LocalInvocationIndex

// Position of the workgroup in a dispatch, which is spread over two dimensions where there are too many for one.
#if defined(ONE_ROW) && ONE_ROW
#define workgroup_rank() gl_WorkGroupID.x
#else
#define workgroup_rank() (gl_WorkGroupID.y * params.row_workgroups + gl_WorkGroupID.x)
#endif
