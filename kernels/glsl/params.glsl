// SPDX-License-Identifier: MIT OR Apache-2.0
// Every define that a shader of scanbox may be compiled with. There are no defaults: a shader states what it uses by
// REQUIRE_<NAME> before it includes this file, and does not compile when a value is missing or not one of these.
//
// Parameters of a config have those of their table (crates/scanbox-model/src/parameters/table.rs), which config.glsl is
// made from. The others:
//
// define             values                     set from
// WORKGROUP_SIZE     multiple of SUBGROUP_SIZE  config
// SUBGROUP_SIZE      4 to 128, power of two     device
// UNIFORM_FLOW       0, 1                       device: whether it promises that subgroups come together again
// ONE_ROW            0, 1                       device: whether any dispatch is one row of workgroups; 0 where left out
// INT64              0, 1                       device: whether shaders have 64-bit integers; 0 where left out
// MODE               MODE_*                     problem
// ELEMENT            ELEMENT_*                  problem; of the comparison: how elements are compared
// OPERATOR           OPERATOR_*                 problem
// OPERATOR_HASH      a word                     problem, of a user's operator: hash of its file
// OPERATOR_COMMUTATIVE 0, 1                     problem, of a user's operator: whether order makes no difference
// IN_PLACE           0, 1                       problem: whether the output stands where the input stood
// TRANSPOSE_ROUNDS   1 to BATCH_SIZE            shared memory of the device (stages/tile/load_store.glsl)
// REFERENCE_STEP     REFERENCE_STEP_*           pass, where the answer to a user's operator is made
// and where tiles pass their totals on (REQUIRE_TILE_STATE)
// GROUP_STATE        GROUP_STATE_*              problem and tile state: how a two-level lookback comes by its groups
// BLOCKING           1 to 31                    variant: 1 in 2^BLOCKING tiles keeps its total; 0 where left out
// ARGUMENTS          ARGUMENTS_*                of copies, reads and fills: as the parameter; push where left out
// COUNTED            0, 1                       variant: whether lookbacks count what they do; 0 where left out
// N_FROM_MEMORY      0, 1                       variant: whether n stands in memory, for each call; 0 where left out
// ANY_ELEMENT        0, 1                       variant: whether arrays begin at any element; 0 where left out
// INIT_FROM_MEMORY   0, 1                       variant: whether the initial value stands in memory; 0 where left out
// WITH_TOTAL         0, 1                       variant: whether a scan stores its total too; 0 where left out
// WITH_INIT          0, 1                       problem, variant: whether it begins with a value, where that is not so
//                                               anyway: exclusive scans of scanbox's own; 0 where left out
// REVERSE            0, 1                       problem: whether the last element comes first; 0 where left out
// TRANSFORM_INPUT    0, 1                       problem: whether a file transforms what is loaded; 0 where left out
// TRANSFORM_OUTPUT   0, 1                       problem: whether it transforms what is stored; 0 where left out
// SWAPPED            0, 1                       problem: whether a user's operator gets what comes earlier as its later
//                                               operand; 0 where left out

// Push where left out.
#ifndef ARGUMENTS
#define ARGUMENTS 0
#endif
#ifndef N_FROM_MEMORY
#define N_FROM_MEMORY 0
#endif
#ifndef ANY_ELEMENT
#define ANY_ELEMENT 0
#endif
#ifndef INIT_FROM_MEMORY
#define INIT_FROM_MEMORY 0
#endif
#ifndef WITH_TOTAL
#define WITH_TOTAL 0
#endif
#ifndef WITH_INIT
#define WITH_INIT 0
#endif
#ifndef REVERSE
#define REVERSE 0
#endif
#ifndef SWAPPED
#define SWAPPED 0
#endif
#ifndef TRANSFORM_INPUT
#define TRANSFORM_INPUT 0
#endif
#ifndef TRANSFORM_OUTPUT
#define TRANSFORM_OUTPUT 0
#endif

#include "config.glsl"

#define REFERENCE_STEP_TOTALS 0
#define REFERENCE_STEP_PREFIXES 1
#define REFERENCE_STEP_SCAN 2
#define REFERENCE_STEP_TRANSFORM 3

#define GROUP_STATE_ADDED 0
#define GROUP_STATE_PUBLISHED 1

#if !defined(WORKGROUP_SIZE) || !defined(SUBGROUP_SIZE)
#error "WORKGROUP_SIZE and SUBGROUP_SIZE must be defined"
#elif WORKGROUP_SIZE % SUBGROUP_SIZE != 0 || SUBGROUP_SIZE < 4 || SUBGROUP_SIZE > 128
#error "WORKGROUP_SIZE must be a multiple of SUBGROUP_SIZE, and that from 4 to 128"
#endif

#if N_FROM_MEMORY && ARGUMENTS == ARGUMENTS_BAKED
#error "N_FROM_MEMORY is not for ARGUMENTS_BAKED"
#endif

#ifdef REQUIRE_SCAN
#if !defined(MODE) || MODE < MODE_INCLUSIVE || MODE > MODE_REDUCE
#error "MODE must be one of MODE_*"
#endif
#if !defined(ELEMENT) || ELEMENT < ELEMENT_U32 || ELEMENT > ELEMENT_STRUCT16
#error "ELEMENT must be one of ELEMENT_*"
#endif
#if !defined(OPERATOR) || OPERATOR < OPERATOR_ADD || OPERATOR > OPERATOR_USER
#error "OPERATOR must be one of OPERATOR_*"
#elif OPERATOR >= OPERATOR_AND && (ELEMENT == ELEMENT_F32 || ELEMENT == ELEMENT_F64)
#error "OPERATOR_AND, OPERATOR_OR and OPERATOR_XOR are for integers"
#elif (OPERATOR == OPERATOR_USER) != (ELEMENT >= ELEMENT_STRUCT4)
#error "OPERATOR_USER is for ELEMENT_STRUCT*, and no other operator is"
#endif
#if !defined(IN_PLACE) || IN_PLACE < 0 || IN_PLACE > 1
#error "IN_PLACE must be 0 or 1"
#endif
#if !defined(TRANSPOSE_ROUNDS) || BATCH_SIZE % TRANSPOSE_ROUNDS != 0
#error "TRANSPOSE_ROUNDS must divide BATCH_SIZE"
#endif
#endif

#ifdef REQUIRE_TILE_STATE
#if LOOKBACK == LOOKBACK_NONE
#error "tiles that pass their totals on have a lookback"
#endif
#define FALLS_BACK (LOOKBACK == LOOKBACK_FALLBACK || LOOKBACK == LOOKBACK_GATHER_FALLBACK)
#if FALLS_BACK && IN_PLACE
#error "a fallback reads the input of other tiles, which is gone in place"
#endif
#if defined(BLOCKING) && (BLOCKING < 0 || BLOCKING > 31)
#error "BLOCKING must be from 0 to 31"
#endif
#if defined(COUNTED) && (COUNTED < 0 || COUNTED > 1)
#error "COUNTED must be 0 or 1"
#endif
#ifndef LATE
#define LATE 0
#elif LATE < 0 || LATE > 1
#error "LATE must be 0 or 1"
#endif
#if TILE_STATE == TILE_STATE_PACKED && (ELEMENT != ELEMENT_U32 || OPERATOR != OPERATOR_ADD)
#error "TILE_STATE_PACKED is for sums of ELEMENT_U32"
#endif
#if !defined(GROUP_STATE) || GROUP_STATE < GROUP_STATE_ADDED || GROUP_STATE > GROUP_STATE_PUBLISHED
#error "GROUP_STATE must be one of GROUP_STATE_*"
#elif GROUP_STATE == GROUP_STATE_ADDED && LOOKBACK == LOOKBACK_TWO_LEVEL && \
    (ELEMENT == ELEMENT_F32 || ELEMENT >= ELEMENT_F64 || OPERATOR != OPERATOR_ADD || TILE_STATE != TILE_STATE_WORD64)
#error "GROUP_STATE_ADDED is for sums of integers beside 64-bit words"
#endif
#if N_FROM_MEMORY && ARGUMENTS == ARGUMENTS_PUSH && RESET == RESET_EPOCH
#error "N_FROM_MEMORY is not for calls that the host counts"
#endif
#endif

// Whether it begins with a value: an exclusive scan of scanbox's own operators with the identity at least.
#if defined(MODE) && ((MODE == MODE_EXCLUSIVE && OPERATOR != OPERATOR_USER) || WITH_INIT)
#define HAS_INIT 1
#else
#define HAS_INIT 0
#endif

#ifdef REQUIRE_TILE_STATE
// Who counts the calls (stages/state/turn.glsl). Where arguments are pushed the host does unless it is told not to.
// Elsewhere the device does, wherever states are told apart by that, and the scratch memory belongs to the pipeline,
// which knows its address.
#define HOST_TURNS (ARGUMENTS == ARGUMENTS_PUSH && RESET != RESET_TURN)
#define BOUND_SCRATCH (ARGUMENTS != ARGUMENTS_PUSH && RESET == RESET_EPOCH)
#define SELF_TURNING (BOUND_SCRATCH || RESET == RESET_TURN)
#endif

// Whether calls on the same scratch memory may have other numbers of elements each, up to MAX_N.
#define N_VARIES N_FROM_MEMORY
#ifdef REQUIRE_TILE_STATE
#if RESET == RESET_TURN
#undef N_VARIES
#define N_VARIES 1
#endif
#endif
