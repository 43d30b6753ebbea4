// Scratch memory of kernels whose tiles pass their totals on: a line with the ticket, two banks of sums of groups, then
// the states of tiles, and behind them those of groups that are published. The plan lays it out by the same numbers
// (scanbox-kernels, plan.rs), which a test compares.

const uint TICKET_BYTES = 256u;
const uint GROUP_TILES = 32u;    // tiles whose totals one group has
const uint BANK_WORDS = 65536u;  // of 8 bytes, in each bank

layout(buffer_reference, std430, buffer_reference_align = 4) buffer TicketLine {
    uint next_ticket;
    uint left;  // workgroups that have left, where the last one clears
};

layout(buffer_reference, std430, buffer_reference_align = 8) buffer GroupBanks {
    uvec2 ticket_line[TICKET_BYTES / 8u];
    uvec2 at[];
};

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
