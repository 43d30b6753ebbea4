// Stage: group state, the second level of a two-level lookback: one word for the totals of GROUP_TILES successive tiles.
//
// clear_stale_groups(): called by all invocations, once per workgroup, at any time.
// add_to_group(tile, total): one invocation per tile.
// closes_group(tile), close_group(tile, total): whether a workgroup with this tile has to complete its group; called by one
//   whole subgroup then, behind the publication of the tile's total, which it waits for those of the group's other tiles.
// load_group(group): the word of a group. Nothing is done with it yet, as with load_state.
// no_group(): some word, for places where nothing is loaded.
// group_complete(word), group_total(word): whether it has the totals of all tiles of the group, and these combined.
//
// GROUP_STATE_ADDED: an atomic sum, for sums of 32-bit integers. GROUP_STATE_PUBLISHED: by the last tile, for all others.

const uint GROUP_TILES = 32u;

#if GROUP_STATE == GROUP_STATE_ADDED
#include "group_state_added.glsl"
#else
#include "group_state_published.glsl"
#endif
