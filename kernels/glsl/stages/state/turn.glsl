// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: turn. What tells a call from those before it on the same scratch memory.
//
// EPOCH: in the states of this call, and in no other state that is there. BANK: the bank of group words that it uses.
// read_turn(): called by all invocations at their beginning; share_turn(): behind the loads that are to be under way
//   with it, and before a barrier; know_turn(): behind that, before anything of this stage is used.
// end_turn(): called by one invocation, when nobody who needs the turn has still to read it; the next call has the next
//   one.
// count_reader(): called by all invocations of every workgroup, once, behind know_turn. It counts where FALLS_BACK.
// read_by_all(): whether the workgroup was the last one to be counted. Valid in the first invocation.
//
// The host counts (HOST_TURNS), or the device does (SELF_TURNING), so that what was recorded is right however often it
// is submitted: the turn stands in the scratch memory, and the call itself moves it on. A call that finds zeros needs
// no turn. A relaxed atomic is enough: pipeline barriers stand between calls.

#if HOST_TURNS

#define EPOCH params.epoch
#define BANK params.bank

void read_turn() {
}

void share_turn() {
}

void know_turn() {
}

void end_turn() {
}

#elif !SELF_TURNING

#define EPOCH 1u
#define BANK 0u

void read_turn() {
}

void share_turn() {
}

void know_turn() {
}

void end_turn() {
}

#else

#define EPOCH private_epoch
#define BANK (private_epoch & 1u)

// As plan.rs has them.
const uint FIRST_EPOCH = 2u;  // 0 is what cleared memory has, 1 what calls have that find it
const uint LAST_EPOCH = (1u << (TILE_STATE == TILE_STATE_SPLIT ? 14u : 30u)) - 1u;

// Apart from the ticket, which others write.
const uint TURN_WORD = 32u;
const uint READERS_WORD = 16u;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer TurnLine {
    uint at[TICKET_BYTES / 4u];
};

// What the first invocation has loaded. One subgroup asks for the workgroup: atomic loads go past the nearest cache,
// and all workgroups ask for the same word.
shared uint shared_epoch;
uint private_epoch;

void read_turn() {
    if (own_subgroup == 0) {
        TurnLine line = TurnLine(TICKET_ADDRESS);
        private_epoch = atomicLoad(line.at[TURN_WORD], gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}

void share_turn() {
    if (SUBGROUPS > 1u && invocation_rank() == 0u) {
        shared_epoch = private_epoch;
    }
}

void know_turn() {
    if (SUBGROUPS > 1u) {
        private_epoch = shared_epoch;
    }
}

#if FALLS_BACK

// Of the first invocation: how many workgroups were counted before this one.
uint private_readers_before = 0xffffffffu;

void count_reader() {
#if WORKGROUP_SIZE == SUBGROUP_SIZE
    // Each invocation has loaded its own.
    const uint epoch = subgroupMin(EPOCH);
#else
    // The others have it from the first one.
#define epoch EPOCH
#endif
    if (invocation_rank() == 0u) {
        TurnLine line = TurnLine(TICKET_ADDRESS);
        // 1, which nobody knows before the turn has come: the count must not overtake that load.
        const uint one = min(epoch, 1u);
        private_readers_before = atomicAdd(line.at[READERS_WORD], one, gl_ScopeDevice, gl_StorageSemanticsNone,
                                           gl_SemanticsRelaxed);
    }
}

#undef epoch

bool read_by_all() {
    return private_readers_before == params.workgroups - 1u;
}

#endif

void end_turn() {
    TurnLine line = TurnLine(TICKET_ADDRESS);
#if FALLS_BACK
    atomicStore(line.at[READERS_WORD], 0u, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
#endif
    const uint next = private_epoch == LAST_EPOCH ? FIRST_EPOCH : private_epoch + 1u;
    atomicStore(line.at[TURN_WORD], next, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}

#endif

#if !(SELF_TURNING && FALLS_BACK)

void count_reader() {
}

#endif
