#version 460
// SPDX-License-Identifier: MIT OR Apache-2.0
// Workgroups and subgroups that wait for each other, each for a while.
//
// QUESTION_SPEED: how long a round of a wait takes, which is of one workgroup, for what never comes.
// QUESTION_ORDER: whether workgroups start in the order of their numbers. Each takes a ticket, says that it is there,
//   and waits for the one before it to be there; with variation 1 it says so behind its wait, as who passes a total on.
// QUESTION_SUBGROUPS: whether subgroups of a workgroup make progress independently. Each waits for the one before it to
//   be done with its own wait; with variation 1 for the one behind it.
// QUESTION_PROGRESS: whether workgroups that have started make progress while others wait. Each takes a ticket and
//   waits for the ticket before it to be done: for somebody who has started, whatever the order. With variation 1 all
//   invocations wait, not one.

#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#include "probe.glsl"

const uint QUESTION_SPEED = 0u;
const uint QUESTION_ORDER = 1u;
const uint QUESTION_SUBGROUPS = 2u;
const uint QUESTION_PROGRESS = 3u;

shared uint shared_ticket;

void ask_order(const uint workgroup) {
    const uint ticket = ADD(ARRIVED, 1u);
    if (workgroup > ticket) {
        atomicMax(params.words.at[AHEAD], workgroup - ticket, gl_ScopeDevice, gl_StorageSemanticsNone,
                  gl_SemanticsRelaxed);
    }
    if (params.variation == 0u) {
        PUT(FLAGS + workgroup, 1u);
    }
    if (workgroup > 0u) {
        wait_for(FLAGS + workgroup - 1u, 1u, workgroup, workgroup - 1u);
    }
    if (params.variation != 0u) {
        PUT(FLAGS + workgroup, 1u);
    }
}

// Not gl_NumSubgroups: lavapipe (Mesa 22.3.6) says one for each four invocations, whatever the size of its subgroups,
// and with that number flags of 8 and 16 invocations stand behind the memory that the host has for them.
const uint SUBGROUPS = WORKGROUP_SIZE / SUBGROUP_SIZE;

void ask_subgroups(const uint workgroup) {
    if (gl_SubgroupID >= SUBGROUPS) {
        return;  // of a driver whose subgroups are smaller than it told
    }
    const uint first = workgroup * SUBGROUPS;
    const uint place = params.variation == 0u ? gl_SubgroupID : SUBGROUPS - 1u - gl_SubgroupID;
    if (place > 0u) {
        wait_for(FLAGS + first + place - 1u, 1u, gl_SubgroupID,
                 params.variation == 0u ? gl_SubgroupID - 1u : gl_SubgroupID + 1u);
    }
    PUT(FLAGS + first + place, 1u);
}

void ask_progress() {
    if (gl_LocalInvocationIndex == 0u) {
        shared_ticket = ADD(ARRIVED, 1u);
    }
    barrier();
    const uint ticket = shared_ticket;
    // Some have more barriers before them than others: who waits at one has started, and may be passed over.
    for (uint turn = 0u; turn < (ticket * 5u + 3u) % 4u; ++turn) {
        barrier();
    }
    if (ticket > 0u && (params.variation != 0u || gl_LocalInvocationIndex == 0u)) {
        wait_for(FLAGS + ticket - 1u, 1u, ticket, ticket - 1u);
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        PUT(FLAGS + ticket, 1u);
    }
}

void main() {
    // As kernels number them that are launched in several rows.
    const uint workgroup = gl_WorkGroupID.y * params.row_workgroups + gl_WorkGroupID.x;
    if (QUESTION == QUESTION_SPEED) {
        if (gl_LocalInvocationIndex == 0u) {
            wait_for(FLAGS, 1u, 0u, 0u);
        }
    } else if (QUESTION == QUESTION_ORDER) {
        if (gl_LocalInvocationIndex == 0u) {
            ask_order(workgroup);
        }
        barrier();
    } else if (QUESTION == QUESTION_SUBGROUPS) {
        ask_subgroups(workgroup);
    } else {
        ask_progress();
    }
    if (gl_LocalInvocationIndex == 0u) {
        ADD(ENDED, 1u);
    }
}
