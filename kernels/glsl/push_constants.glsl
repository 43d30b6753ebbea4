// SPDX-License-Identifier: MIT OR Apache-2.0
// The push constants of a kernel, params. All begin with the shape of the dispatch, which plans do not list: a kernel
// declares what stands behind it, the addresses of its memory in the order of the plan's bindings, then words.
//
//   PUSH_CONSTANTS(
//       Address source_address;
//       uint n;  // elements
//   )
//
// The shape is not taken from gl_NumWorkGroups, with which the same dispatch takes 0.3 us longer on an NVIDIA H200 (2.1
// us become 2.4).
#define PUSH_CONSTANTS(members)                                    \
    layout(push_constant) uniform Params {                         \
        uint row_workgroups; /* workgroups in a row */             \
        uint workgroups;     /* workgroups in all its rows */      \
        members                                                    \
    } params;

// A member of push constants that is an address, and one that is a word.
#define ADDRESS(name) uvec2 name;
#define WORD(name) uint name;

// Words behind all others: what it begins with; or an address behind all others, where that stands.
#if !HAS_INIT
#define INITIAL_WORDS
#define INITIAL_ADDRESS
#elif INIT_FROM_MEMORY
#define INITIAL_WORDS
#define INITIAL_ADDRESS ADDRESS(initial_address)
#elif ELEMENT == ELEMENT_STRUCT12
#define INITIAL_WORDS WORD(initial_low) WORD(initial_high) WORD(initial_third)
#define INITIAL_ADDRESS
#elif ELEMENT == ELEMENT_STRUCT16
#define INITIAL_WORDS WORD(initial_low) WORD(initial_high) WORD(initial_third) WORD(initial_fourth)
#define INITIAL_ADDRESS
#else
#define INITIAL_WORDS WORD(initial_low) WORD(initial_high)
#define INITIAL_ADDRESS
#endif

// Behind the addresses of all other memory: where counts go.
#if defined(COUNTED) && COUNTED
#define COUNTS_ADDRESS ADDRESS(counts_address)
#else
#define COUNTS_ADDRESS
#endif

// And behind that, where the total of a scan goes.
#if WITH_TOTAL
#define TOTAL_ADDRESS ADDRESS(total_address)
#else
#define TOTAL_ADDRESS
#endif
