// SPDX-License-Identifier: MIT OR Apache-2.0
// Subgroup scan by exchange: sets of rows are scanned together, four in each, then two, then one that is left.
//
// As many invocations side by side as a set has rows exchange their shares, so that each has a run of one row. It scans
// the run alone. The scan over the invocations, of which every second or fourth has runs of the same row, then has a
// step or two less, for all rows of the set at once; and what comes before each share goes back the same way. For four
// rows of 32 invocations these are 16 shuffles, 15 combinations and 48 choices, in place of 28 shuffles and 28
// combinations: it pays where both take several instructions, as those of elements of 8 bytes and more do.

// How many rows are in the set of row k, and which of them is the first.
#define SET_ROWS(k) ((k) / 4u * 4u + 4u <= BATCH_SIZE ? 4u : (k) / 2u * 2u + 2u <= BATCH_SIZE ? 2u : 1u)
#define SET_BEGIN(k) ((k) / SET_ROWS(k) * SET_ROWS(k))

#if OPERATOR == OPERATOR_USER
#define SHUFFLED_XOR(value, distance) element_of_words(subgroupShuffleXor(element_words(value), distance))
#define SHUFFLED(value, from) element_of_words(subgroupShuffle(element_words(value), from))
#define CHOICE(is_first, first, second) element_of_words((is_first) ? element_words(first) : element_words(second))
#else
#define SHUFFLED_XOR(value, distance) subgroupShuffleXor(value, distance)
#define SHUFFLED(value, from) subgroupShuffle(value, from)
#define CHOICE(is_first, first, second) ((is_first) ? (first) : (second))
#endif

// What is kept between the two parts of a scan.
struct RowScan {
    // The inclusive scans of the invocation's runs, one in each set.
    Element runs[BATCH_SIZE];
    // Of each set, where its first row has its place: the inclusive scan of the runs of its row, and what comes before
    // the row.
    Element inclusive[BATCH_SIZE];
    Element before[BATCH_SIZE];
};

// Invocation j of as many side by side as a set has rows gets what all of them have in row j. Twice, and everything is
// where it was.
void exchange_rows(inout Element values[BATCH_SIZE]) {
    [[unroll]] for (uint bit = 1u; bit < 4u; bit *= 2u) {
        const bool is_later = (own_lane & bit) != 0u;
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            if ((k & bit) == 0u && bit < SET_ROWS(k)) {
                const Element given = CHOICE(is_later, values[k], values[k | bit]);
                const Element taken = SHUFFLED_XOR(given, bit);
                values[k] = CHOICE(is_later, taken, values[k]);
                values[k | bit] = CHOICE(is_later, values[k | bit], taken);
            }
        }
    }
}

#include "stages/subgroup/scan_step.glsl"

// The first part, behind which the total is known.
Element begin_scan(const Vector items[BATCH_SIZE], out RowScan scan) {
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        scan.runs[k] = vector_total(items[k]);
    }
    exchange_rows(scan.runs);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        if (k > SET_BEGIN(k)) {
            scan.runs[k] = combine(scan.runs[k - 1u], scan.runs[k]);
        }
        if (k + 1u == SET_BEGIN(k) + SET_ROWS(k)) {
            scan.inclusive[SET_BEGIN(k)] = scan.runs[k];
        }
    }
    [[unroll]] for (uint distance = 1u; distance < SUBGROUP_SIZE; distance *= 2u) {
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            if (k == SET_BEGIN(k) && distance >= SET_ROWS(k)) {
                scan.inclusive[k] = scan_step(scan.inclusive[k], distance);
            }
        }
    }
    Element running = identity();
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        const uint begin = SET_BEGIN(k);
        const uint row = k - begin;
        const uint own_row = own_lane % SET_ROWS(k);
        scan.before[begin] = row == 0u ? running : CHOICE(own_row == row, running, scan.before[begin]);
        const Element row_total = SHUFFLED(scan.inclusive[begin], SUBGROUP_SIZE - SET_ROWS(k) + row);
        running = k == 0u ? row_total : combine(running, row_total);
    }
    return running;
}

// The second part: turns the items into their inclusive scan.
void end_scan(inout Vector items[BATCH_SIZE], const RowScan scan) {
    Element before[BATCH_SIZE];
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        const uint begin = SET_BEGIN(k);
        if (k == begin) {
            const Element earlier = SHUFFLED_UP(scan.inclusive[begin], SET_ROWS(k));
            before[k] = combine(scan.before[begin], VALUE_IF(own_lane >= SET_ROWS(k), earlier));
        } else {
            before[k] = combine(before[begin], scan.runs[k - 1u]);
        }
    }
    exchange_rows(before);
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        Element running = before[k];
        [[unroll]] for (uint i = 0u; i < LANES; ++i) {
            running = combine(running, LANE(items[k], i));
            LANE(items[k], i) = running;
        }
    }
}
