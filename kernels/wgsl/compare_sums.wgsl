// SPDX-License-Identifier: MIT OR Apache-2.0
// Compares the sums that a read has left, and the guard behind them, with what they have to be: each invocation adds up
// one run, word by word. Counts the wrong ones and finds the first.
struct Params {
    row_workgroups: u32,
    workgroups: u32,
    n: u32,             // words
    run_words: u32,     // words of a run
    guarded_runs: u32,  // runs and guard words
    guard_word: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<u32>;
// Mismatches (0 before), index of the first of them (0xffffffff before).
@group(0) @binding(3) var<storage, read_write> report: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let workgroup = workgroup_id.y * params.row_workgroups + workgroup_id.x;
    let run = workgroup * WORKGROUP_SIZE + index;
    if (run >= params.guarded_runs) { return; }
    let runs = (params.n - 1u) / params.run_words + 1u;
    var right = params.guard_word;
    if (run < runs) {
        let begin = run * params.run_words;
        right = 0u;
        for (var i = 0u; i < min(params.run_words, params.n - begin); i++) {
            right += source[begin + i];
        }
    }
    if (sums[run] != right) {
        atomicAdd(&report[0], 1u);
        atomicMin(&report[1], run);
    }
}
