// SPDX-License-Identifier: MIT OR Apache-2.0
// Arguments of every kernel whose tiles pass their totals on.

#if HOST_TURNS
// What the host knows of earlier calls on the same memory.
#define CALL_WORDS                                                   \
    WORD(epoch)        /* differs from call to call */               \
    WORD(ticket_base)  /* value of the ticket before it */           \
    WORD(bank)         /* which of the two banks it uses */          \
    WORD(stale_groups) /* words of the other bank that were used */
#else
#define CALL_WORDS
#endif

#define MORE_ADDRESSES      \
    ADDRESS(ticket_address) \
    ADDRESS(groups_address) \
    ADDRESS(states_address) \
    COUNTS_ADDRESS          \
    TOTAL_ADDRESS           \
    INITIAL_ADDRESS
#define MORE_WORDS \
    CALL_WORDS     \
    INITIAL_WORDS
#include "arguments.glsl"
