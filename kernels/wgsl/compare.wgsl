// SPDX-License-Identifier: MIT OR Apache-2.0
// Compares the output with the expected one, and the guard behind it with the guard word. Counts the wrong elements and
// finds the first. ELEMENT_F32 compares floats, of which those count as right that differ by no more than error_bound
// times the sum of the magnitudes that make up the element; all others word by word.
struct Params {
    row_workgroups: u32,
    workgroups: u32,
    n: u32,            // words
    guarded_n: u32,    // words and guard words
    guard_word: u32,
    error_bound: f32,
    beside: f32,       // a quarter of what the sum of the magnitudes exceeds the expected value by
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> expected: array<u32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;
// Mismatches (0 before), index of the first of them (0xffffffff before), bits of the largest error (0 before).
@group(0) @binding(3) var<storage, read_write> report: array<atomic<u32>>;

const WORDS = WORKGROUP_SIZE * BATCH_SIZE * LANES;

struct Verdict { right: bool, error: u32 }

#if ELEMENT == ELEMENT_F32
fn is_finite(word: u32) -> bool { return (word & 0x7f800000u) != 0x7f800000u; }

fn verdict(right: u32, found: u32) -> Verdict {
    // As bits: a device that flushes subnormal numbers finds floats equal that are not. Zero has two signs.
    if (right == found || ((right << 1u) == 0u && (found << 1u) == 0u)) { return Verdict(true, 0u); }
    // Quarters, so that no sum of two is infinite: whatever is finite would be within any bound of that.
    let quarter = abs(0.25 * bitcast<f32>(right));
    let off = abs(0.25 * bitcast<f32>(found) - 0.25 * bitcast<f32>(right));
    let error = bitcast<u32>(off / (quarter + params.beside));
    // Neither is negative, so that their bits are in the same order; those of a NaN are above every bound.
    let within = error <= bitcast<u32>(params.error_bound) && params.error_bound != 0.0;
    return Verdict(within && is_finite(right) && is_finite(found), error);
}
#else
fn verdict(right: u32, found: u32) -> Verdict { return Verdict(right == found, 0u); }
#endif

var<workgroup> shared_mismatches: atomic<u32>;
var<workgroup> shared_later: atomic<u32>;
var<workgroup> shared_error: atomic<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let workgroup = workgroup_id.y * params.row_workgroups + workgroup_id.x;
    // Who drives the device may leave out that this memory begins with zeros.
    if (index == 0u) {
        atomicStore(&shared_mismatches, 0u);
        atomicStore(&shared_later, 0u);
        atomicStore(&shared_error, 0u);
    }
    workgroupBarrier();
    for (var k = 0u; k < BATCH_SIZE * LANES; k++) {
        let at = workgroup * WORDS + k * WORKGROUP_SIZE + index;
        if (at < params.guarded_n) {
            var outcome = Verdict(words[at] == params.guard_word, 0u);
            if (at < params.n) { outcome = verdict(expected[at], words[at]); }
            if (!outcome.right) {
                atomicAdd(&shared_mismatches, 1u);
                // The first one is the largest complement.
                atomicMax(&shared_later, ~at);
            } else if (outcome.error != 0u) {
                atomicMax(&shared_error, outcome.error);
            }
        }
    }
    workgroupBarrier();
    if (index == 0u) {
        let mismatches = atomicLoad(&shared_mismatches);
        if (mismatches != 0u) {
            atomicAdd(&report[0], mismatches);
            atomicMin(&report[1], ~atomicLoad(&shared_later));
        }
        let error = atomicLoad(&shared_error);
        if (error != 0u) { atomicMax(&report[2], error); }
    }
}
