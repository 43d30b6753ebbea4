// SPDX-License-Identifier: MIT OR Apache-2.0
// Group state: every tile adds its total to the words of its group, one for each 32 bits of an element. One hop from a
// tile to all others.
//
// Bits 63..48 tiles that have added, 47..0 the sum of their 32 bits: the lower half of an element keeps its carries.
// For sums of integers only: no other operator and type has an atomic that counts beside it.

const uint GROUP_WORDS = ELEMENT_BYTES / 4u;  // of one group in a bank
const uint GROUP_COUNT_BIT = 48u;

#if ELEMENT_BYTES == 4
#define GroupWord uint64_t
#else
#define GroupWord u64vec2
#endif

#if BOUND_SCRATCH
#define GROUPS_ADDRESS scratch_address(TICKET_BYTES)
#else
#define GROUPS_ADDRESS params.groups_address
#endif

layout(buffer_reference, std430, buffer_reference_align = 8) buffer GroupStates {
    uint64_t at[];
};

uint group_place(const uint group, const uint part) {
    return BANK * BANK_WORDS + (GROUP_WORDS == 1u ? group : in_rows(group, part, GROUP_WORDS));
}

void add_to_group(const uint tile, const Element total) {
    GroupStates groups = GroupStates(GROUPS_ADDRESS);
    const uvec2 words = element_words(total);
    [[unroll]] for (uint part = 0u; part < GROUP_WORDS; ++part) {
        const uint64_t word = (uint64_t(1) << GROUP_COUNT_BIT) + uint64_t(words[part]);
        atomicAdd(groups.at[group_place(tile / GROUP_TILES, part)], word, gl_ScopeDevice, gl_StorageSemanticsNone,
                  gl_SemanticsRelaxed);
    }
}

bool ends_group(const uint tile) {
    return false;
}

void publish_group(const uint tile) {
}

uint published_group_count() {
    return 0u;
}

GroupWord no_group() {
    return GroupWord(0);
}

uint64_t load_group_word(const uint place) {
    GroupStates groups = GroupStates(GROUPS_ADDRESS);
#if LATE
    const uint64_t word = atomicLoad(groups.at[place], gl_ScopeDevice, gl_StorageSemanticsNone, POLLED);
    // Nobody has added, or half of the tiles have.
    const uint early = earliness(place);
    const uint64_t part = (word >> (GROUP_COUNT_BIT + 1u) << GROUP_COUNT_BIT) | uint64_t(EARLIER_VALUE);
    return early == 0u ? word : early == 1u ? uint64_t(0) : part;
#else
    return atomicLoad(groups.at[place], gl_ScopeDevice, gl_StorageSemanticsNone, POLLED);
#endif
}

#if ELEMENT_BYTES == 4

GroupWord load_group(const uint group) {
    return load_group_word(group_place(group, 0u));
}

bool group_is_whole(const GroupWord word) {
    return uint(word >> GROUP_COUNT_BIT) == GROUP_TILES;
}

Element group_total(const GroupWord word) {
    return element_of_word(uint(word));
}

#else

GroupWord load_group(const uint group) {
    return GroupWord(load_group_word(group_place(group, 0u)), load_group_word(group_place(group, 1u)));
}

bool group_is_whole(const GroupWord word) {
    return uint(word.x >> GROUP_COUNT_BIT) == GROUP_TILES && uint(word.y >> GROUP_COUNT_BIT) == GROUP_TILES;
}

Element group_total(const GroupWord word) {
    const uint64_t lower = word.x & ((uint64_t(1) << GROUP_COUNT_BIT) - 1u);
    return element_of_words(unpackUint2x32(lower + (word.y << 32)));
}

#endif
