// Group state: every tile adds its total to the word of its group. One hop from a tile to all others.
//
// Bits 63..48 tiles that have added, 47..0 their sum, of which only the lower 32 bits count. For sums of 32-bit integers only:
// no other operator and type has an atomic that counts beside it. A sum cannot carry an epoch, so words have to be zero
// before a call. There are two banks of them: a call uses one and clears the other, which the call before has used (the host
// knows how much of it).

#define GroupWord uint64_t

const uint GROUP_WORDS = 65536u;  // of one bank
const uint GROUP_COUNT_BIT = 48u;

layout(buffer_reference, std430, buffer_reference_align = 8) buffer GroupStates {
    uint64_t at[];
};

void clear_stale_groups() {
    GroupStates groups = GroupStates(params.groups_address);
    const uint other = (1u - params.bank) * GROUP_WORDS;
    const uint first = workgroup_rank() * WORKGROUP_SIZE + invocation_rank();
    for (uint group = first; group < params.stale_groups; group += workgroups() * WORKGROUP_SIZE) {
        atomicStore(groups.at[other + group], uint64_t(0), gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}

void add_to_group(const uint tile, const Element total) {
    GroupStates groups = GroupStates(params.groups_address);
    const uint64_t word = (uint64_t(1) << GROUP_COUNT_BIT) + uint64_t(element_word(total));
    atomicAdd(groups.at[params.bank * GROUP_WORDS + tile / GROUP_TILES], word, gl_ScopeDevice, gl_StorageSemanticsNone,
              gl_SemanticsRelaxed);
}

bool closes_group(const uint tile) {
    return false;
}

void close_group(const uint tile, const Element total) {
}

GroupWord no_group() {
    return uint64_t(0);
}

GroupWord load_group(const uint group) {
    GroupStates groups = GroupStates(params.groups_address);
    return atomicLoad(groups.at[params.bank * GROUP_WORDS + group], gl_ScopeDevice, gl_StorageSemanticsNone,
                      POLLED);
}

bool group_complete(const GroupWord word) {
    return uint(word >> GROUP_COUNT_BIT) == GROUP_TILES;
}

Element group_total(const GroupWord word) {
    return element_of_word(uint(word));
}
