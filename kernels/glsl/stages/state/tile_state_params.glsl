// Push constants of every kernel whose tiles pass their totals on.

PUSH_CONSTANTS(
    Address source_address;
    Address target_address;
    uvec2 ticket_address;
    uvec2 groups_address;
    uvec2 states_address;
    COUNTS_ADDRESS
    uint n;            // elements
    uint epoch;        // differs from call to call on the same memory
    uint ticket_base;  // value of the ticket before this call
    uint bank;         // which of the two banks of group words this call uses
    uint stale_groups; // words of the other bank that an earlier call has left
    INITIAL_WORDS
)
