// SPDX-License-Identifier: MIT OR Apache-2.0
// Fills memory with one word: the reset of tile states.
struct Params {
    row_workgroups: u32,
    workgroups: u32,
    n: u32,  // words
    word: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;

const WORDS = WORKGROUP_SIZE * BATCH_SIZE * LANES;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let workgroup = workgroup_id.y * params.row_workgroups + workgroup_id.x;
    for (var k = 0u; k < BATCH_SIZE * LANES; k++) {
        let at = workgroup * WORDS + k * WORKGROUP_SIZE + index;
        if (at < params.n) { words[at] = params.word; }
    }
}
