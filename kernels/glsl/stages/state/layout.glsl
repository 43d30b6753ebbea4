// SPDX-License-Identifier: MIT OR Apache-2.0
// Scratch memory of kernels whose tiles pass their totals on: the ticket and the turn, two banks of sums of groups,
// then the states of tiles, and behind them those of groups that are published. The plan lays it out by the same
// numbers (scanbox-kernels, plan.rs), which a test compares.

const uint TICKET_BYTES = 256u;
const uint GROUP_TILES = 32u;    // tiles whose totals one group has
const uint BANK_WORDS = 65536u;  // of 8 bytes, in each bank

// Where it begins, and where the states of tiles do.
#if BOUND_SCRATCH
const uint STATES_OFFSET = TICKET_BYTES + 2u * 8u * BANK_WORDS;

uvec2 scratch_address(const uint bytes) {
    uint carry;
    const uint low = uaddCarry(SCRATCH_LOW, bytes, carry);
    return uvec2(low, SCRATCH_HIGH + carry);
}

#define TICKET_ADDRESS SCRATCH_ADDRESS
#define STATES_ADDRESS scratch_address(STATES_OFFSET)
#else
#define TICKET_ADDRESS params.ticket_address
#define STATES_ADDRESS params.states_address
#endif

layout(buffer_reference, std430, buffer_reference_align = 4) buffer TicketLine {
    uint next_ticket;
    uint left;  // workgroups that have left, where the last one clears
};

layout(buffer_reference, std430, buffer_reference_align = 8) buffer GroupBanks {
    uvec2 ticket_line[TICKET_BYTES / 8u];
    uvec2 at[];
};

// Sums cannot carry an epoch, so that their words have to be zero before a call. There are two banks of them: a call
// uses one, and the other, which the call before has used, is cleared.
void clear_bank(const uint bank, const uint words, const uint first, const uint step) {
    GroupBanks banks = GroupBanks(TICKET_ADDRESS);
    for (uint word = first; word < words; word += step) {
        banks.at[bank * BANK_WORDS + word] = uvec2(0u);
    }
}

// Where word `part` of record `index` stands, if records have so many words: the words of ROW records in a row are a
// row each. What neighbours ask for at once stands together, and no two words of a record do: with these side by side,
// which a compiler may load as one vector, an NVIDIA H200 has waited for ever (NVIDIA_VECTOR_LOADS).
const uint ROW = 32u;

uint in_rows(const uint index, const uint part, const uint parts) {
#if NVIDIA_VECTOR_LOADS
    return (index / ROW * parts + part) * ROW + index % ROW;
#else
    return index * parts + part;
#endif
}

// Records of whole rows, of which so many are in use.
uint in_whole_rows(const uint records) {
    return (records + ROW - 1u) / ROW * ROW;
}
