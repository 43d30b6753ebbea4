// SPDX-License-Identifier: MIT OR Apache-2.0
// Where an invocation stands: in its subgroup and its workgroup. main sets it once, by BUILT_IN.
//
// Without subgroups (SUBGROUPS 0) the whole workgroup counts as one: lane is rank, and what subgroups do goes through
// shared memory. Positions are private variables, and so not uniform for a compiler: barriers stand behind branches on
// parameters, uniforms and workgroupUniformLoad alone.
#if SUBGROUPS
enable subgroups;
// Branches and loops depend on results of subgroup operations: uniform in the subgroup, which compilers do not see.
diagnostic(off, subgroup_uniformity);
#endif

// So few that each invocation combines what they have one after the other, and not by a subgroup operation.
#define FEW_SUBGROUPS 8

// Position in the workgroup; subgroup s has the s-th part of it.
var<private> rank: u32;
var<private> lane: u32;
var<private> own_subgroup: u32;
var<private> subgroup_length: u32;
var<private> subgroups: u32;

#if SUBGROUPS
// A workgroup has no more subgroups than of the smallest size.
#define MOST_SUBGROUPS WORKGROUP_SIZE / SMALLEST_SUBGROUP
#else
#define MOST_SUBGROUPS 1
#endif

fn stand_at(index: u32) {
    rank = index;
    lane = index;
    own_subgroup = 0u;
    subgroup_length = WORKGROUP_SIZE;
    subgroups = 1u;
}

#if SUBGROUPS
fn stand_in(subgroup: u32, lane_: u32, length: u32, count: u32) {
    rank = subgroup * length + lane_;
    lane = lane_;
    own_subgroup = subgroup;
    subgroup_length = length;
    subgroups = count;
}
#endif

// Position of the workgroup in a dispatch, which is spread over two dimensions where there are too many for one.
fn workgroup_rank(id: vec3<u32>) -> u32 {
    return id.y * params.row_workgroups + id.x;
}
