// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback: fallback. When it has looked MAX_SPINS times again at a tile that has published nothing, all invocations of
// the workgroup add that tile up themselves, and publish its total for everybody: it needs no progress of others. Who
// publishes what is said in kernels/glsl/stages/lookback/fallback.glsl. A subgroup looks at a window; without subgroups
// one invocation looks at one tile after another.
// Source: Smith, Levien and Owens, "Decoupled Fallback: A Portable Single-Pass GPU Scan" (2025).
//
// What decides about barriers comes from workgroupUniformLoad, which is all that uniformity analysis accepts.
const NO_TILE = 0xffffffffu;
// Tile to add up or NO_TILE, and the bits of the prefix so far.
var<workgroup> shared_control: vec2<u32>;
// The bits of what the tile that was added up stands for; 1 if that is everything before it too.
var<workgroup> shared_outcome: vec2<u32>;

struct Walk {
    found: bool,
    // Everything from this tile on is in the prefix.
    end: u32,
    prefix: Element,
}

#include "stages/block/shares.wgsl"

#if SUBGROUPS
#include "stages/lookback/window.wgsl"

// Looks back until an inclusive prefix is found, or until a tile has to be added up: the one before its end.
fn walk_back(from_: Walk) -> Walk {
    var walk = from_;
    var spins = 0u;
    var blocking = 0u;
    var patient = true;
    while (!walk.found && patient) {
        let window = look_at_window(walk.end);
        if (window.last_invalid <= window.last_inclusive) {
            let first = max(window.last_inclusive, 1u) - 1u;
            walk.prefix = combine(rest_of_window(window, first), walk.prefix);
            walk.found = window.last_inclusive != 0u;
            count_tiles(subgroup_length - first);
            walk.end -= subgroup_length;
            spins = 0u;
            blocking = 0u;
        } else {
            count_spins(1u);
            // Patience is with one tile.
            spins = select(1u, spins + 1u, window.last_invalid == blocking);
            blocking = window.last_invalid;
            patient = spins <= MAX_SPINS;
            if (!patient) {
                // The tiles behind it are there: what is left begins with it.
                walk.prefix = combine(rest_of_window(window, window.last_invalid), walk.prefix);
                count_tiles(subgroup_length - window.last_invalid);
                walk.end = walk.end + window.last_invalid - subgroup_length;
            }
        }
    }
    return walk;
}
#else
fn walk_back(from_: Walk) -> Walk {
    var walk = from_;
    var spins = 0u;
    var patient = true;
    while (!walk.found && patient) {
        let seen = load_state(walk.end - 1u);
        if (seen.state != INVALID) {
            walk.prefix = combine(seen.value, walk.prefix);
            walk.found = seen.state == INCLUSIVE;
            walk.end -= 1u;
            count_tiles(1u);
            spins = 0u;
        } else {
            count_spins(1u);
            spins += 1u;
            patient = spins <= MAX_SPINS;
        }
    }
    return walk;
}
#endif

// The total of a full tile, from the input.
fn total_of_tile(tile: u32) -> Element {
    var share = identity();
#for k in 0..BATCH_SIZE
        share = combine(share, vector_total(source_at(tile * TILE_VECTORS + k * WORKGROUP_SIZE + rank)));
#endfor
    return shares_combined(share);
}

// Inserts the total of a tile that was added up, and finds what that tile stands for. Called by one invocation.
fn take_over(tile: u32, total: Element) -> vec2<u32> {
    let before = insert(tile, select(AGGREGATE, INCLUSIVE, tile == 0u), total);
    count_fallback(before.vacant);
    // Its owner was only late, and has more to say.
    if (before.state == INCLUSIVE) { return vec2<u32>(word_of(before.value), 1u); }
    return vec2<u32>(word_of(total), select(0u, 1u, tile == 0u));
}

fn lookback(tile: u32, total: Element) -> Element {
    var prefix = identity();
    var end = tile;
    var inclusive = tile == 0u;
    // No return in the loop: naga wants one behind it, Tint warns of that one.
    loop {
#if SUBGROUPS
        if (own_subgroup == 0u) {
#else
        if (rank == 0u) {
#endif
            var walk = Walk(inclusive, end, prefix);
            walk = walk_back(walk);
            if (rank == 0u) {
                if (walk.found) {
                    if (tile != 0u) { publish_prefix(tile, combine(walk.prefix, total)); }
                    write_counts(tile);
                }
                shared_control = vec2<u32>(select(walk.end - 1u, NO_TILE, walk.found), word_of(walk.prefix));
            }
        }
        let control = workgroupUniformLoad(&shared_control);
        prefix = element_of(control.y);
        if (control.x == NO_TILE) { break; }
        let missing = total_of_tile(control.x);
        if (rank == 0u) { shared_outcome = take_over(control.x, missing); }
        let outcome = workgroupUniformLoad(&shared_outcome);
        prefix = combine(element_of(outcome.x), prefix);
        inclusive = outcome.y != 0u;
        end = control.x;
    }
    return prefix;
}
