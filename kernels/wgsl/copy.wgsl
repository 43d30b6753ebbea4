// SPDX-License-Identifier: MIT OR Apache-2.0
// Copies the input to the output, one tile per workgroup: the same traffic as a scan and nothing else. The measured
// ceiling.
struct Params {
    row_workgroups: u32,
    workgroups: u32,
    n: u32,  // words
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> words: array<vec4<u32>>;

const TILE_VECTORS = WORKGROUP_SIZE * BATCH_SIZE;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let workgroup = workgroup_id.y * params.row_workgroups + workgroup_id.x;
#for k in 0..BATCH_SIZE
        let at = workgroup * TILE_VECTORS + k * WORKGROUP_SIZE + index;
        let first = at * 4u;
        if (first + 4u <= params.n) {
            words[at] = source[at];
        } else if (first < params.n) {
            let v = source[at];
            words[at].x = v.x;
            if (first + 1u < params.n) { words[at].y = v.y; }
            if (first + 2u < params.n) { words[at].z = v.z; }
        }
#endfor
}
