// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: counts. What the lookback of each workgroup did, in builds that are made to know it (COUNTED): looks in vain,
// tiles that its prefix is made of, tiles that it has added up itself, and those of them that nobody had published.
#if COUNTED
#if IN_PLACE
@group(0) @binding(3) var<storage, read_write> counts: array<vec4<u32>>;
#else
@group(0) @binding(4) var<storage, read_write> counts: array<vec4<u32>>;
#endif
var<private> private_counts: vec4<u32>;
fn count_spins(more: u32) { private_counts.x += more; }
fn count_tiles(more: u32) { private_counts.y += more; }
fn count_fallback(inserted: bool) {
    private_counts.y += 1u;
    private_counts.z += 1u;
    private_counts.w += select(0u, 1u, inserted);
}
fn write_counts(tile: u32) { counts[tile] = private_counts; }
#else
fn count_spins(more: u32) {}
fn count_tiles(more: u32) {}
fn count_fallback(inserted: bool) {}
fn write_counts(tile: u32) {}
#endif
