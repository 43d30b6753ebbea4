#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// How many workgroups are there at the same time: occupancy discovery without a fence or a lock.
//
// Variation 0: each workgroup counts itself in one word, unless that is closed, and waits for news. When none has come
//   for a while, whoever notices closes the word. All that were counted are there at that moment, because none of them
//   leaves before.
// Any other variation: so many workgroups were launched, and meet: each waits until all have counted themselves.
//
// HELD registers of each invocation are taken from the beginning to the end (held.glsl, which the host writes), and
// SHARED_WORDS words of shared memory.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "probe.glsl"

const uint CLOSED = 0x80000000u;

shared uint shared_words[SHARED_WORDS];
shared uint shared_counted;

// Each from a place of its own: loads of one word may be taken for one.
#define HOLD(at) LOOK(FLAGS + (gl_LocalInvocationIndex & 7u) + at)
#include "held.glsl"

void meet(const uint workgroup) {
    if (params.variation != 0u) {
        wait_for(ARRIVED, params.variation, workgroup, workgroup);
        return;
    }
    uint last = 0u;
    uint quiet = 0u;
    for (uint round = 0u; round < params.max_rounds; ++round) {
        // As long as a round of a wait, whose speed the host knows.
        const uint same = LOOKS(ARRIVED, last);
        const uint now = LOOK(ARRIVED);
        if (now >= CLOSED) {
            return;
        }
        quiet = now == last && same == 32u ? quiet + 1u : 0u;
        last = now;
        if (quiet >= params.quiet_rounds) {
            break;
        }
    }
    const uint counted = atomicOr(params.words.at[ARRIVED], CLOSED, gl_ScopeDevice, gl_StorageSemanticsNone,
                                  gl_SemanticsRelaxed);
    if (counted < CLOSED) {
        PUT(COUNTED, counted);
    }
}

void main() {
    const uint at = gl_LocalInvocationIndex;
    if (at == 0u) {
        shared_counted = ADD(ARRIVED, 1u);
    }
    for (uint place = at; place < SHARED_WORDS; place += WORKGROUP_SIZE) {
        shared_words[place] = place + params.variation;
    }
    hold();
    barrier();
    if (shared_counted < CLOSED) {
        if (at == 0u) {
            meet(shared_counted);
        }
        barrier();
    }
    // Whatever is held is used here. Nobody knows beforehand that it is not stored.
    const uint all = release(shared_words[(at * 31u) % SHARED_WORDS]);
    if (all == 0x9e3779b9u) {
        PUT(SINK, all);
    }
    if (at == 0u) {
        ADD(ENDED, 1u);
    }
}
