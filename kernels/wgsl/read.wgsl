// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads the input and adds up its words, those of each workgroup's run by themselves: the traffic of a reduction and
// nothing else. The measured ceiling of reductions, as the copy is that of scans.
#if SUBGROUPS
enable subgroups;
#endif

struct Params {
    row_workgroups: u32,
    workgroups: u32,
    n: u32,  // words
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<vec4<u32>>;
// One word per run.
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;

const RUN_VECTORS = WORKGROUP_SIZE * BATCH_SIZE;
var<workgroup> shared_sum: atomic<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(
    @builtin(workgroup_id) workgroup_id: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
#if SUBGROUPS
    @builtin(subgroup_invocation_id) lane: u32,
#endif
) {
    let workgroup = workgroup_id.y * params.row_workgroups + workgroup_id.x;
    // Who drives the device may leave out that this memory begins with zeros.
    if (index == 0u) { atomicStore(&shared_sum, 0u); }
    workgroupBarrier();
    var sum = 0u;
#for k in 0..BATCH_SIZE
        let at = workgroup * RUN_VECTORS + k * WORKGROUP_SIZE + index;
        let first = at * 4u;
        if (first < params.n) {
            let v = source[at];
            let is_there = vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(params.n - first);
            let counted = select(vec4<u32>(), v, is_there);
            sum += (counted.x + counted.y) + (counted.z + counted.w);
        }
#endfor
#if SUBGROUPS
    sum = subgroupAdd(sum);
    if (lane == 0u) { atomicAdd(&shared_sum, sum); }
#else
    atomicAdd(&shared_sum, sum);
#endif
    workgroupBarrier();
    if (index == 0u && workgroup * RUN_VECTORS * 4u < params.n) { sums[workgroup] = atomicLoad(&shared_sum); }
}
