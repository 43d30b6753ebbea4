// SPDX-License-Identifier: MIT OR Apache-2.0
// The arguments of a kernel: which memory it works on, and how many elements. They are members of `params`, whatever
// place ARGUMENTS gives them:
//
// ARGUMENTS_PUSH: push constants. A dispatch behind a barrier waits for them: some 0.5 us on an NVIDIA H200.
// ARGUMENTS_BLOCK: a line of memory, whose address is a constant of the pipeline. What was recorded stays as it is when
//   the arguments change: they are written to the line.
// ARGUMENTS_BAKED: constants of the pipeline, all of them. It belongs to these arrays and this size.
//
// A kernel names what it has beside source, target and n, and includes this file:
//
//   #define MORE_ADDRESSES ADDRESS(totals_address)
//   #define MORE_WORDS WORD(initial_low) WORD(initial_high)
//   #include "arguments.glsl"
//
// read_arguments(): the first statement of MAIN.
// pass_on_arguments(): the last one.
//
// A line may name a record: source, target and n of the next call, and the record behind that. Lines stand in pairs,
// and the first workgroup of a call copies the record to the other line of its pair, where the next call finds it.
// Nobody reads that line meanwhile, so that nobody has to be waited for.
//
// ELEMENTS: how many elements there are. Where N_FROM_MEMORY is 1, whoever comes before a dispatch may write that, the
// device too: in the line or, where arguments are pushed, in the word whose address they have. It is from 0 to MAX_N,
// which the plan was made for; more counts as that.

#if ARGUMENTS != ARGUMENTS_PUSH

// The line in memory; crates/scanbox-kernels/src/plan.rs has the same numbers, which a test compares.
const uint ARGUMENT_WORDS = 24u;
const uint NEXT_WORD = 6u;
const uint RECORD_QUADS = 2u;  // of four words, at the beginning of a line and in a chain
const uint LINE_BYTES = 128u;  // from one line of a pair to the other

// Constants of the pipeline, behind those that are arguments: where the line is, and the scratch memory that is bound
// to it.
layout(constant_id = 24) const uint LINE_LOW = 0u;
layout(constant_id = 25) const uint LINE_HIGH = 0u;
layout(constant_id = 26) const uint SCRATCH_LOW = 0u;
layout(constant_id = 27) const uint SCRATCH_HIGH = 0u;
#if N_FROM_MEMORY
layout(constant_id = 28) const uint MAX_N = 0u;
#endif
#define ELEMENTS params.n
#define LINE_ADDRESS uvec2(LINE_LOW, LINE_HIGH)
#define OTHER_LINE_ADDRESS uvec2(LINE_LOW ^ LINE_BYTES, LINE_HIGH)
#define SCRATCH_ADDRESS uvec2(SCRATCH_LOW, SCRATCH_HIGH)

#define ADDRESS(name) uvec2 name;
#define WORD(name) uint name;
struct Params {
    Address source_address;
    Address target_address;
    uint n;  // elements
    uint workgroups;
    uvec2 next_record;
    MORE_ADDRESSES
    uint row_workgroups;
    MORE_WORDS
};
#undef ADDRESS
#undef WORD

Params params;

// From the words of a line: eight, and behind them what the kernel names. Compilers know each place.
void take_arguments(const uint words[ARGUMENT_WORDS]) {
    params.source_address = address_of(uvec2(words[0], words[1]));
    params.target_address = address_of(uvec2(words[2], words[3]));
#if N_FROM_MEMORY
    params.n = min(words[4], MAX_N);
#else
    params.n = words[4];
#endif
    params.workgroups = words[5];
    params.next_record = uvec2(words[6], words[7]);
    uint at = 8u;
#define ADDRESS(name)                               \
    params.name = uvec2(words[at], words[at + 1u]); \
    at += 2u;
#define WORD(name)           \
    params.name = words[at]; \
    at += 1u;
    MORE_ADDRESSES
    WORD(row_workgroups)
    MORE_WORDS
#undef ADDRESS
#undef WORD
}

#elif !N_FROM_MEMORY

// Behind n, where calls are of different size: the most that there may be.
#if N_VARIES
#define MAX_N_WORD WORD(max_n)
#define MAX_N params.max_n
#else
#define MAX_N_WORD
#endif

PUSH_CONSTANTS(
    Address source_address;
    Address target_address;
    MORE_ADDRESSES
    uint n;  // elements
    MAX_N_WORD
    MORE_WORDS
)

#define ELEMENTS params.n

void read_arguments() {
}

#else

PUSH_CONSTANTS(
    Address source_address;
    Address target_address;
    MORE_ADDRESSES
    uvec2 n_address;
    uint max_n;
    MORE_WORDS
)

#define MAX_N params.max_n

layout(buffer_reference, std430, buffer_reference_align = 4) restrict readonly buffer ElementCount {
    uint value;
};

uint private_n;
#define ELEMENTS private_n

// It is under way until somebody asks for it: behind the ticket, where there is one.
void read_arguments() {
    ElementCount count = ElementCount(params.n_address);
    private_n = min(count.value, MAX_N);
}

#endif

#if ARGUMENTS != ARGUMENTS_BLOCK

void load_next_record() {
}

void load_record_of_few() {
}

void pass_on_record_of_few() {
}

void pass_on_arguments() {
}

#else

const uint LINE_QUADS = ARGUMENT_WORDS / 4u;

layout(buffer_reference, std430, buffer_reference_align = 128) restrict readonly buffer Line {
    uvec4 quads[LINE_QUADS];
};

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Record {
    uvec4 quads[RECORD_QUADS];
};

uvec2 next_record() {
#ifdef PERSISTENT
    // Read when it is asked for, at the end: held all the time it would take registers of a loop that has none to
    // spare.
    Line line = Line(LINE_ADDRESS);
    const uvec4 last = line.quads[RECORD_QUADS - 1u];
    return last.zw;
#else
    return params.next_record;
#endif
}

// Whether the invocation is the one that passes something on.
bool passes_on() {
    const uvec2 next = next_record();
    return (next.x | next.y) != 0u && workgroup_rank() == 0u && invocation_rank() == 0u;
}

// Of that invocation: what it passes on. It is under way while the workgroup works.
uvec4 private_record[RECORD_QUADS];

#define LOAD_RECORD(address)                                          \
    {                                                                 \
        Record next = Record(address);                                \
        [[unroll]] for (uint quad = 0u; quad < RECORD_QUADS; ++quad) { \
            private_record[quad] = next.quads[quad];                  \
        }                                                             \
    }

void load_next_record() {
    if (passes_on()) {
        LOAD_RECORD(next_record())
    }
}

void read_arguments() {
    Line line = Line(LINE_ADDRESS);
    uint words[ARGUMENT_WORDS];
    [[unroll]] for (uint quad = 0u; quad < LINE_QUADS; ++quad) {
        const uvec4 four = line.quads[quad];
        words[4u * quad] = four.x;
        words[4u * quad + 1u] = four.y;
        words[4u * quad + 2u] = four.z;
        words[4u * quad + 3u] = four.w;
    }
    take_arguments(words);
#ifndef PERSISTENT
    load_next_record();
#endif
}

#define STORE_RECORD                                                   \
    {                                                                  \
        Record other = Record(OTHER_LINE_ADDRESS);                     \
        [[unroll]] for (uint quad = 0u; quad < RECORD_QUADS; ++quad) { \
            other.quads[quad] = private_record[quad];                  \
        }                                                              \
    }

void pass_on_arguments() {
#ifdef PERSISTENT
    load_next_record();
#endif
    if (passes_on()) {
        STORE_RECORD
    }
}

#if defined(PERSISTENT) && SCANS_FEW
// In their place, for few elements (stages/block/few_elements.glsl): what the line says of the record is there still.
bool passes_on_few() {
    const uvec2 next = params.next_record;
    return (next.x | next.y) != 0u && workgroup_rank() == 0u && invocation_rank() == 0u;
}

void load_record_of_few() {
    if (passes_on_few()) {
        LOAD_RECORD(params.next_record)
    }
}

void pass_on_record_of_few() {
    if (passes_on_few()) {
        STORE_RECORD
    }
}
#endif

#endif

#if ARGUMENTS == ARGUMENTS_BAKED

layout(constant_id = 0) const uint BAKED_0 = 0u;
layout(constant_id = 1) const uint BAKED_1 = 0u;
layout(constant_id = 2) const uint BAKED_2 = 0u;
layout(constant_id = 3) const uint BAKED_3 = 0u;
layout(constant_id = 4) const uint BAKED_4 = 0u;
layout(constant_id = 5) const uint BAKED_5 = 0u;
layout(constant_id = 8) const uint BAKED_8 = 0u;
layout(constant_id = 9) const uint BAKED_9 = 0u;
layout(constant_id = 10) const uint BAKED_10 = 0u;
layout(constant_id = 11) const uint BAKED_11 = 0u;
layout(constant_id = 12) const uint BAKED_12 = 0u;
layout(constant_id = 13) const uint BAKED_13 = 0u;
layout(constant_id = 14) const uint BAKED_14 = 0u;
layout(constant_id = 15) const uint BAKED_15 = 0u;
layout(constant_id = 16) const uint BAKED_16 = 0u;
layout(constant_id = 17) const uint BAKED_17 = 0u;
layout(constant_id = 18) const uint BAKED_18 = 0u;
layout(constant_id = 19) const uint BAKED_19 = 0u;
layout(constant_id = 20) const uint BAKED_20 = 0u;
layout(constant_id = 21) const uint BAKED_21 = 0u;
layout(constant_id = 22) const uint BAKED_22 = 0u;
layout(constant_id = 23) const uint BAKED_23 = 0u;

void read_arguments() {
    const uint words[ARGUMENT_WORDS] =
        uint[](BAKED_0, BAKED_1, BAKED_2, BAKED_3, BAKED_4, BAKED_5, 0u, 0u, BAKED_8, BAKED_9, BAKED_10, BAKED_11,
               BAKED_12, BAKED_13, BAKED_14, BAKED_15, BAKED_16, BAKED_17, BAKED_18, BAKED_19, BAKED_20, BAKED_21,
               BAKED_22, BAKED_23);
    take_arguments(words);
}

#endif
