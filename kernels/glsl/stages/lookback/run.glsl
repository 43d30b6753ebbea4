// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback, part of: which of the totals from `first` to `end` a member takes, of `members` who together take them all.
//
// The one at RUN_BEGIN(...), and the next ones at distances of RUN_STEP(end, members), as long as they are before
// RUN_END(...). Members next to each other take totals next to each other, so that their loads are one access. Where
// elements have to be combined in their order, each takes a run of successive ones, and later members later runs.
//
// In builds with LATE, three members take all where `end` is odd. So each takes several, as in an input of more tiles
// than there are members, which would be too large to try on software.

#if LATE
#define TAKERS(end, members) ((end) % 2u == 0u ? (members) : min(members, 3u))
#else
#define TAKERS(end, members) (members)
#endif

#if IN_ORDER

uint run_length(const uint first, const uint end, const uint members) {
    return (end - first + members - 1u) / members;
}

#define RUN_BEGIN(first, end, member, members) ((first) + (member) * run_length(first, end, TAKERS(end, members)))
#define RUN_END(first, end, member, members) \
    min((first) + ((member) + 1u) * run_length(first, end, TAKERS(end, members)), end)
#define RUN_STEP(end, members) 1u

#else

#if LATE
#define RUN_BEGIN(first, end, member, members) ((member) < TAKERS(end, members) ? (first) + (member) : (end))
#else
#define RUN_BEGIN(first, end, member, members) ((first) + (member))
#endif
#define RUN_END(first, end, member, members) (end)
#define RUN_STEP(end, members) TAKERS(end, members)

#endif
