// SPDX-License-Identifier: MIT OR Apache-2.0
// Subgroup scan by exchange: sets of rows, two or four each, are scanned together.
//
// As many invocations side by side as a set has rows exchange their shares, so that each has a run of one row. It scans
// the run alone. The scan over the invocations, of which every second or fourth has runs of the same row, then has a
// step or two less, for all rows of the set at once; and what comes before each share goes back the same way. For four
// rows of 32 invocations these are 16 shuffles, 15 combinations and 48 choices, in place of 28 shuffles and 28
// combinations: it pays where both take several instructions, as those of elements of 8 bytes and more do.

#if BATCH_SIZE % 4 == 0
#define SET_ROWS 4
#else
#define SET_ROWS 2
#endif
const uint ROW_SETS = BATCH_SIZE / SET_ROWS;

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
    // Of each set: the inclusive scan of the runs of its row, and what comes before the row.
    Element inclusive[ROW_SETS];
    Element before[ROW_SETS];
};

// Invocation j of as many side by side as a set has rows gets what all of them have in row j. Twice, and everything is
// where it was.
void exchange_rows(inout Element values[BATCH_SIZE]) {
    [[unroll]] for (uint bit = 1u; bit < SET_ROWS; bit *= 2u) {
        const bool is_later = (own_lane & bit) != 0u;
        [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
            if ((k & bit) == 0u) {
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
        if (k % SET_ROWS > 0u) {
            scan.runs[k] = combine(scan.runs[k - 1u], scan.runs[k]);
        }
        if (k % SET_ROWS == SET_ROWS - 1u) {
            scan.inclusive[k / SET_ROWS] = scan.runs[k];
        }
    }
    [[unroll]] for (uint distance = SET_ROWS; distance < SUBGROUP_SIZE; distance *= 2u) {
        [[unroll]] for (uint set = 0u; set < ROW_SETS; ++set) {
            scan.inclusive[set] = scan_step(scan.inclusive[set], distance);
        }
    }
    const uint own_row = own_lane % SET_ROWS;
    Element running = identity();
    [[unroll]] for (uint k = 0u; k < BATCH_SIZE; ++k) {
        const uint set = k / SET_ROWS;
        const uint row = k % SET_ROWS;
        scan.before[set] = row == 0u ? running : CHOICE(own_row == row, running, scan.before[set]);
        const Element row_total = SHUFFLED(scan.inclusive[set], SUBGROUP_SIZE - SET_ROWS + row);
        running = k == 0u ? row_total : combine(running, row_total);
    }
    return running;
}

// The second part: turns the items into their inclusive scan.
void end_scan(inout Vector items[BATCH_SIZE], const RowScan scan) {
    Element before[BATCH_SIZE];
    [[unroll]] for (uint set = 0u; set < ROW_SETS; ++set) {
        const Element earlier = SHUFFLED_UP(scan.inclusive[set], SET_ROWS);
        const uint first = set * SET_ROWS;
        before[first] = combine(scan.before[set], VALUE_IF(own_lane >= SET_ROWS, earlier));
        [[unroll]] for (uint i = 1u; i < SET_ROWS; ++i) {
            before[first + i] = combine(before[first], scan.runs[first + i - 1u]);
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
