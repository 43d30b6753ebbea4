// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: counts. What the lookback of each workgroup did, in builds that are made to know it (COUNTED); nothing in
// others.
//
// count_spins(more): looks that found a state INVALID which the lookback cannot go on without.
// count_tiles(more): tiles whose total, or inclusive prefix, has become a part of the prefix: the length of the
//   lookback.
// count_fallbacks(more), count_insertions(more): tiles that the workgroup has added up itself, and those of them whose
//   state was INVALID when it published them.
// write_counts(tile): writes them. Called by one invocation, at the end of its lookback; it is the one whose counts
//   count.
// Shared bytes: 0. Barriers: 0.

#if defined(COUNTED) && COUNTED

layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Counts {
    uvec4 at[];
};

uvec4 private_counts = uvec4(0u);

void count_spins(const uint more) {
    private_counts.x += more;
}

void count_tiles(const uint more) {
    private_counts.y += more;
}

void count_fallbacks(const uint more) {
    private_counts.z += more;
}

void count_insertions(const uint more) {
    private_counts.w += more;
}

void write_counts(const uint tile) {
    Counts counts = Counts(params.counts_address);
    counts.at[tile] = private_counts;
}

#else

void count_spins(const uint more) {
}

void count_tiles(const uint more) {
}

void count_fallbacks(const uint more) {
}

void count_insertions(const uint more) {
}

void write_counts(const uint tile) {
}

#endif
