// Stage: group state, the second level of a two-level lookback. GROUP_TILES successive tiles add their totals to one word.
//
// add_to_group(tile, total): one invocation per tile.
// load_group(group): the word of a group. Nothing is done with it yet, as with load_state.
// group_complete(word), group_total(word): whether all tiles of a full group have added theirs, and their sum.
//
// Bits 63..43 epoch, 42..37 tiles that have added, 36..0 their sum. A word of an older epoch is smaller than the empty word
// of this one, so the maximum clears it, whoever comes first; both atomics are of one invocation on one word, hence in
// order. The sum of 32 tiles has 37 bits; only its lower 32 count. For integer addition only: other operators have no
// atomic. Epochs have 21 bits here, which is why the call counter wraps there for all states.

const uint GROUP_TILES = 32u;
const uint GROUP_COUNT_BIT = 37u;
const uint GROUP_EPOCH_BIT = 43u;

layout(buffer_reference, std430, buffer_reference_align = 8) buffer GroupStates {
    uint64_t at[];
};

void add_to_group(const uint tile, const Element total) {
    GroupStates groups = GroupStates(params.groups_address);
    const uint group = tile / GROUP_TILES;
    const uint64_t empty = uint64_t(params.epoch) << GROUP_EPOCH_BIT;
    const uint64_t one = uint64_t(1) << GROUP_COUNT_BIT;
    atomicMax(groups.at[group], empty, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    atomicAdd(groups.at[group], one + uint64_t(total), gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

uint64_t load_group(const uint group) {
    GroupStates groups = GroupStates(params.groups_address);
    return atomicLoad(groups.at[group], gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

bool group_complete(const uint64_t word) {
    return uint(word >> GROUP_COUNT_BIT) == ((params.epoch << (GROUP_EPOCH_BIT - GROUP_COUNT_BIT)) | GROUP_TILES);
}

Element group_total(const uint64_t word) {
    return Element(word);
}
