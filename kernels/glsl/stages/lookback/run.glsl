// SPDX-License-Identifier: MIT OR Apache-2.0
// Lookback, part of: which of the totals from `first` to `end` a member takes, of `members` who together take them all.
//
// The one at RUN_BEGIN(...), and the next ones at distances of RUN_STEP(members), as long as they are before
// RUN_END(...). Members next to each other take totals next to each other, so that their loads are one access. Where
// elements have to be combined in their order, each takes a run of successive ones, and later members later runs.

#if IN_ORDER

uint run_length(const uint first, const uint end, const uint members) {
    return (end - first + members - 1u) / members;
}

#define RUN_BEGIN(first, end, member, members) ((first) + (member) * run_length(first, end, members))
#define RUN_END(first, end, member, members) min((first) + ((member) + 1u) * run_length(first, end, members), end)
#define RUN_STEP(members) 1u

#else

#define RUN_BEGIN(first, end, member, members) ((first) + (member))
#define RUN_END(first, end, member, members) (end)
#define RUN_STEP(members) (members)

#endif
