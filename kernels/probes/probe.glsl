// SPDX-License-Identifier: MIT OR Apache-2.0
// What all probes of guarantees share: memory, and a wait that ends.
//
// A probe asks a device something that no specification promises, so nothing in it may wait for ever: every loop has a
// bound, and whoever gives up says so to all others, which then give up too.

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = WORKGROUP_SIZE) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words {
    uint at[];
};

layout(push_constant) uniform Params {
    uint row_workgroups;
    uint workgroups;
    Words words;        // zeros before the call
    uint max_rounds;    // of a wait; lavapipe ends a loop silently after 65,535
    uint quiet_rounds;  // without news, after which nobody else is expected
    uint variation;     // what each probe says
    uint load_words;    // of the memory that is read and written for load
} params;

// The words that the host reads; crates/scanbox-runner/src/guarantees.rs names them too.
const uint ARRIVED = 0u;   // workgroups that have started, in the order of their tickets
const uint GAVE_UP = 1u;   // waits that gave up first
const uint WHO = 2u;       // 1 + who gave up first
const uint AWAITED = 3u;   // 1 + whom that one waited for
const uint AHEAD = 4u;     // the most workgroups that had a lower number than one, and no ticket yet
const uint COUNTED = 5u;   // workgroups that were there at the same time
const uint ENDED = 6u;     // workgroups that came to their end
const uint SINK = 7u;      // what nobody reads
const uint FLAGS = 64u;    // a word for each that is waited for

// Volatile, because a driver may move relaxed accesses, or take several for one.
#define RELAXED (gl_SemanticsRelaxed | gl_SemanticsVolatile)
#define LOOK(place) atomicLoad(params.words.at[place], gl_ScopeDevice, gl_StorageSemanticsNone, RELAXED)
#define PUT(place, value) \
    atomicStore(params.words.at[place], value, gl_ScopeDevice, gl_StorageSemanticsNone, RELAXED)
#define ADD(place, value) \
    atomicAdd(params.words.at[place], value, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed)

// How many of 32 looks at a word see this value. A round of a loop has so many, because there are few rounds.
#define SEES(place, value) uint(LOOK(place) == value)
#define SEES4(place, value) (SEES(place, value) + SEES(place, value) + SEES(place, value) + SEES(place, value))
#define SEES16(place, value) (SEES4(place, value) + SEES4(place, value) + SEES4(place, value) + SEES4(place, value))
#define LOOKS(place, value) (SEES16(place, value) + SEES16(place, value))

// Waits until a word has this value. False: it gave up, or somebody else did before.
bool wait_for(const uint place, const uint value, const uint who, const uint awaited) {
    for (uint round = 0u; round < params.max_rounds; ++round) {
        const uint looks = LOOKS(place, value);
        if (looks != 0u) {
            return true;
        }
        if (LOOK(GAVE_UP) != 0u) {
            return false;
        }
    }
    if (ADD(GAVE_UP, 1u) == 0u) {
        PUT(WHO, who + 1u);
        PUT(AWAITED, awaited + 1u);
    }
    return false;
}
