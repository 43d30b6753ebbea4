// SPDX-License-Identifier: MIT OR Apache-2.0
// The beginning of main of kernels that know subgroups: workgroup is the position of the workgroup.
@compute @workgroup_size(WORKGROUP_SIZE)
fn main(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
#if SUBGROUPS
    @builtin(subgroup_id) subgroup_: u32,
    @builtin(subgroup_invocation_id) lane_: u32,
    @builtin(subgroup_size) length_: u32,
    @builtin(num_subgroups) subgroups_: u32,
#else
    @builtin(local_invocation_index) index: u32,
#endif
) {
#if SUBGROUPS
    stand_in(subgroup_, lane_, length_, subgroups_);
#else
    stand_at(index);
#endif
    let workgroup = workgroup_rank(workgroup_id);
