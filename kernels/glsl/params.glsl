// Every define that a shader of scanbox may be compiled with. There are no defaults: a shader states what it uses by
// REQUIRE_<NAME> before it includes this file, and does not compile when a value is missing or not one of these.
//
// define             values                     set from
// WORKGROUP_SIZE     multiple of SUBGROUP_SIZE  config
// SUBGROUP_SIZE      4 to 128, power of two     device
// UNIFORM_FLOW       0, 1                       device: whether it promises that subgroups come together again
// ONE_ROW            0, 1                       device: whether any dispatch is one row of workgroups; 0 where left out
// BATCH_SIZE         1 to 64                    config: vectors per invocation and tile
// LANES              1, 2, 4                    config: elements per vector
// INT64              0, 1                       device: whether shaders have 64-bit integers; 0 where left out
// MODE               MODE_*                     problem
// ELEMENT            ELEMENT_*                  problem; of the comparison: how elements are compared
// OPERATOR           OPERATOR_*                 problem
// OPERATOR_HASH      a word                     problem, of a user's operator: hash of its file
// OPERATOR_COMMUTATIVE 0, 1                     problem, of a user's operator: whether order makes no difference
// SUBGROUP_TOTAL     SUBGROUP_TOTAL_*           device, of a user's operator: how a subgroup combines its elements
// IN_PLACE           0, 1                       problem: whether the output stands where the input stood
// LOAD_LAYOUT        LOAD_LAYOUT_*              config
// TRANSPOSE_ROUNDS   1 to BATCH_SIZE            shared memory of the device (stages/tile/load_store.glsl)
// BLOCK_SCAN         BLOCK_SCAN_*               config
// SUBGROUP_SCAN      SUBGROUP_SCAN_*            config
// REFERENCE_STEP     REFERENCE_STEP_*           pass, where the answer to a user's operator is made
// and where tiles pass their totals on (REQUIRE_TILE_STATE)
// LOOKBACK           LOOKBACK_*                 config
// LOOKBACK_WIDTH     1 to 8                     config: states that an invocation looks at at once
// TILE_ORDER         TILE_ORDER_*               config
// PUBLISH            PUBLISH_*                  config
// RENDEZVOUS         RENDEZVOUS_*               config
// BACK_OFF           BACK_OFF_*                 config
// TILE_STATE         TILE_STATE_*               config, device where it is auto
// STATE_STRIDE       1 to 16                    config: words from one tile state to the next
// RESET              RESET_*                    config, tile state where it is auto
// GROUP_STATE        GROUP_STATE_*              problem and tile state: how a two-level lookback comes by its groups
// MAX_SPINS          0 to 65536                 config: of LOOKBACK_FALLBACK, how often it looks again at a tile
// BLOCKING           1 to 31                    variant: 1 in 2^BLOCKING tiles keeps its total to itself; 0 where left out
// COUNTED            0, 1                       variant: whether workgroups count what their lookback does; 0 where left out

#define MODE_INCLUSIVE 0
#define MODE_EXCLUSIVE 1
#define MODE_REDUCE 2
#define ELEMENT_U32 0
#define ELEMENT_I32 1
#define ELEMENT_F32 2
#define ELEMENT_U64 3
#define ELEMENT_I64 4
#define ELEMENT_F64 5
#define ELEMENT_STRUCT4 6
#define ELEMENT_STRUCT8 7
#define ELEMENT_STRUCT16 8
#define OPERATOR_ADD 0
#define OPERATOR_MIN 1
#define OPERATOR_MAX 2
#define OPERATOR_MUL 3
#define OPERATOR_AND 4
#define OPERATOR_OR 5
#define OPERATOR_XOR 6
#define OPERATOR_USER 7
#define SUBGROUP_TOTAL_SHUFFLE 0
#define SUBGROUP_TOTAL_SHARED_MEMORY 1
#define REFERENCE_STEP_TOTALS 0
#define REFERENCE_STEP_PREFIXES 1
#define REFERENCE_STEP_SCAN 2

#define LOAD_LAYOUT_TRANSPOSED 0
#define LOAD_LAYOUT_DIRECT 1
#define LOAD_LAYOUT_STRIPED 2
#define BLOCK_SCAN_RAKING 0
#define BLOCK_SCAN_BLELLOCH 1
#define BLOCK_SCAN_SUBGROUP 2
#define BLOCK_SCAN_KOGGE_STONE 3
#define BLOCK_SCAN_SKLANSKY 4
#define BLOCK_SCAN_BRENT_KUNG 5
#define BLOCK_SCAN_REDUCE_SCAN 6
#define SUBGROUP_SCAN_OPERATION 0
#define SUBGROUP_SCAN_SHUFFLE 1
#define LOOKBACK_SEQUENTIAL 0
#define LOOKBACK_PARALLEL 1
#define LOOKBACK_GATHER 2
#define LOOKBACK_TWO_LEVEL 3
// 4 is none, which no shader has.
#define LOOKBACK_CHAIN 5
#define LOOKBACK_FALLBACK 6
#define TILE_ORDER_TICKET 0
#define TILE_ORDER_WORKGROUP_ID 1
#define TILE_ORDER_ROUND_ROBIN 2
#define PUBLISH_AFTER_SCAN 0
#define PUBLISH_BEFORE_SCAN 1
#define RENDEZVOUS_BARRIER 0
#define RENDEZVOUS_FLAGS 1
#define BACK_OFF_NONE 0
#define BACK_OFF_FIXED 1
#define BACK_OFF_EXPONENTIAL 2
#define TILE_STATE_WORD64 0
#define TILE_STATE_PACKED 1
#define TILE_STATE_SPLIT 2
#define GROUP_STATE_ADDED 0
#define GROUP_STATE_PUBLISHED 1
#define RESET_FILL 0
#define RESET_EPOCH 1
#define RESET_CLEAN 2

#if !defined(WORKGROUP_SIZE) || !defined(SUBGROUP_SIZE)
#error "WORKGROUP_SIZE and SUBGROUP_SIZE must be defined"
#elif WORKGROUP_SIZE % SUBGROUP_SIZE != 0 || SUBGROUP_SIZE < 4 || SUBGROUP_SIZE > 128
#error "WORKGROUP_SIZE must be a multiple of SUBGROUP_SIZE, and that from 4 to 128"
#endif

#if !defined(BATCH_SIZE) || !defined(LANES)
#error "BATCH_SIZE and LANES must be defined"
#elif LANES != 1 && LANES != 2 && LANES != 4
#error "LANES must be 1, 2 or 4"
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
#if OPERATOR == OPERATOR_USER && \
    (!defined(SUBGROUP_TOTAL) || SUBGROUP_TOTAL < SUBGROUP_TOTAL_SHUFFLE || SUBGROUP_TOTAL > SUBGROUP_TOTAL_SHARED_MEMORY)
#error "SUBGROUP_TOTAL must be one of SUBGROUP_TOTAL_*"
#endif
#if !defined(IN_PLACE) || IN_PLACE < 0 || IN_PLACE > 1
#error "IN_PLACE must be 0 or 1"
#endif
#if !defined(LOAD_LAYOUT) || LOAD_LAYOUT < LOAD_LAYOUT_TRANSPOSED || LOAD_LAYOUT > LOAD_LAYOUT_STRIPED
#error "LOAD_LAYOUT must be one of LOAD_LAYOUT_*"
#endif
#if !defined(TRANSPOSE_ROUNDS) || BATCH_SIZE % TRANSPOSE_ROUNDS != 0
#error "TRANSPOSE_ROUNDS must divide BATCH_SIZE"
#endif
#if !defined(BLOCK_SCAN) || BLOCK_SCAN < BLOCK_SCAN_RAKING || BLOCK_SCAN > BLOCK_SCAN_REDUCE_SCAN
#error "BLOCK_SCAN must be one of BLOCK_SCAN_*"
#endif
#if !defined(SUBGROUP_SCAN) || SUBGROUP_SCAN < SUBGROUP_SCAN_OPERATION || SUBGROUP_SCAN > SUBGROUP_SCAN_SHUFFLE
#error "SUBGROUP_SCAN must be one of SUBGROUP_SCAN_*"
#endif
#if SUBGROUP_SCAN == SUBGROUP_SCAN_SHUFFLE && BLOCK_SCAN != BLOCK_SCAN_SUBGROUP
#error "SUBGROUP_SCAN_SHUFFLE needs BLOCK_SCAN_SUBGROUP"
#endif
#if LOAD_LAYOUT == LOAD_LAYOUT_STRIPED && BLOCK_SCAN != BLOCK_SCAN_SUBGROUP
#error "LOAD_LAYOUT_STRIPED needs BLOCK_SCAN_SUBGROUP"
#endif
#endif

#ifdef REQUIRE_TILE_STATE
#if !defined(LOOKBACK) || LOOKBACK < LOOKBACK_SEQUENTIAL || LOOKBACK == 4 || LOOKBACK > LOOKBACK_FALLBACK
#error "LOOKBACK must be one of LOOKBACK_*"
#endif
#if LOOKBACK == LOOKBACK_FALLBACK && (!defined(MAX_SPINS) || MAX_SPINS < 0 || MAX_SPINS > 65536)
#error "MAX_SPINS must be from 0 to 65536"
#endif
#if LOOKBACK == LOOKBACK_FALLBACK && IN_PLACE
#error "LOOKBACK_FALLBACK reads the input of other tiles, which is gone in place"
#endif
#if defined(BLOCKING) && (BLOCKING < 0 || BLOCKING > 31)
#error "BLOCKING must be from 0 to 31"
#endif
#if defined(COUNTED) && (COUNTED < 0 || COUNTED > 1)
#error "COUNTED must be 0 or 1"
#endif
#if !defined(LOOKBACK_WIDTH) || LOOKBACK_WIDTH < 1 || LOOKBACK_WIDTH > 8
#error "LOOKBACK_WIDTH must be from 1 to 8"
#endif
#if !defined(TILE_ORDER) || TILE_ORDER < TILE_ORDER_TICKET || TILE_ORDER > TILE_ORDER_ROUND_ROBIN
#error "TILE_ORDER must be one of TILE_ORDER_*"
#endif
#if !defined(PUBLISH) || PUBLISH < PUBLISH_AFTER_SCAN || PUBLISH > PUBLISH_BEFORE_SCAN
#error "PUBLISH must be one of PUBLISH_*"
#endif
#if PUBLISH == PUBLISH_BEFORE_SCAN && BLOCK_SCAN != BLOCK_SCAN_SUBGROUP
#error "PUBLISH_BEFORE_SCAN needs BLOCK_SCAN_SUBGROUP"
#endif
#if !defined(RENDEZVOUS) || RENDEZVOUS < RENDEZVOUS_BARRIER || RENDEZVOUS > RENDEZVOUS_FLAGS
#error "RENDEZVOUS must be one of RENDEZVOUS_*"
#endif
#if !defined(BACK_OFF) || BACK_OFF < BACK_OFF_NONE || BACK_OFF > BACK_OFF_EXPONENTIAL
#error "BACK_OFF must be one of BACK_OFF_*"
#endif
#if !defined(TILE_STATE) || TILE_STATE < TILE_STATE_WORD64 || TILE_STATE > TILE_STATE_SPLIT
#error "TILE_STATE must be one of TILE_STATE_*"
#elif TILE_STATE == TILE_STATE_PACKED && (ELEMENT != ELEMENT_U32 || OPERATOR != OPERATOR_ADD)
#error "TILE_STATE_PACKED is for sums of ELEMENT_U32"
#endif
#if !defined(GROUP_STATE) || GROUP_STATE < GROUP_STATE_ADDED || GROUP_STATE > GROUP_STATE_PUBLISHED
#error "GROUP_STATE must be one of GROUP_STATE_*"
#elif GROUP_STATE == GROUP_STATE_ADDED && LOOKBACK == LOOKBACK_TWO_LEVEL && \
    (ELEMENT == ELEMENT_F32 || ELEMENT >= ELEMENT_F64 || OPERATOR != OPERATOR_ADD || TILE_STATE != TILE_STATE_WORD64)
#error "GROUP_STATE_ADDED is for sums of integers beside 64-bit words"
#endif
#if !defined(STATE_STRIDE) || STATE_STRIDE < 1 || STATE_STRIDE > 16
#error "STATE_STRIDE must be from 1 to 16"
#endif
#if !defined(RESET) || RESET < RESET_FILL || RESET > RESET_CLEAN
#error "RESET must be one of RESET_*"
#endif
#endif
