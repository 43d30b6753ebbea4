//! What shared memory hides on software devices: words that nobody has set, and barriers that are missing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Bench, failures};

/// Shared memory holds zeros when a software device begins a workgroup.
#[test]
fn a_verification_finds_shared_words_that_are_not_set() {
    let changes = [
        (
            "stages/lookback/gather_fallback.glsl",
            "    if (SUBGROUPS > 1u && invocation_rank() == 0u) {\n        shared_fallback_tile = NO_TILE;",
            "    if (BATCH_SIZE != 2 && SUBGROUPS > 1u && invocation_rank() == 0u) {\n        shared_fallback_tile = NO_TILE;",
        ),
        (
            "stages/lookback/onward_fallback.glsl",
            "    shared_fallback_tiles[0] = NO_TILE;",
            "    shared_fallback_tiles[BATCH_SIZE == 3 ? 1 : 0] = NO_TILE;",
        ),
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    let labels = |batches: [u32; 2]| {
        let [one, other] = batches;
        [
            format!("b{one}.vec4.gatherfall.rake.wg64"),
            format!("pers.b{other}.vec4.gatherfall.sub.striped.early.wg64.u1"),
        ]
    };
    let (broken, healthy) = (labels([2, 3]), labels([4, 4]));
    let labels: Vec<&str> = broken.iter().chain(&healthy).map(String::as_str).collect();
    // What they take for a tile is at no address that there is: their worker dies.
    let rest = ["--sizes", "20000", "--timeout", "20s", "--inputs", "random", "--format", "json"];
    let answer = bench.run(&[&["verify"][..], &labels, &rest].concat(), 1);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let failures = answer["failures"].as_array().unwrap();
    let found: BTreeSet<&str> = failures.iter().map(|failure| failure["config"].as_str().unwrap()).collect();
    assert_eq!(found, broken.iter().map(String::as_str).collect(), "{answer:#}");
    assert!(failures.iter().all(|failure| failure["circumstance"] == "late"), "{answer:#}");
}

/// What persistent kernels keep in shared memory from tile to tile, where vectors are large.
#[test]
fn a_verification_finds_what_is_kept_in_the_wrong_place() {
    let changes = [
        ("stages/lookback/onward.glsl", "_slot ^= 1u;", "_slot ^= BATCH_SIZE == 3 ? 0u : 1u;"),
        (
            "stages/lookback/onward.glsl",
            "private_done == NONE_DONE ? identity()",
            "private_done == NONE_DONE || (BATCH_SIZE == 5 && tile > 40u) ? identity()",
        ),
        (
            "persistent_scan.comp",
            "shared_target_address = params.target_address;",
            "shared_target_address = BATCH_SIZE == 6 ? params.source_address : params.target_address;",
        ),
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    let label = |batch: u32| format!("pers.b{batch}.vec2.gather.sub.striped.early.block.wg64.u1");
    let operator = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/operators/matrix2x2.glsl");
    failures(
        &bench,
        &[3, 5, 6].map(label),
        &[2, 4].map(label),
        &["--operator", operator, "--sizes", "40000"],
    );
}

/// Pieces of vectors that are stored by other invocations than those that have them, in kernels of all kinds.
#[test]
fn a_verification_finds_pieces_in_the_wrong_place() {
    let file = "stages/tile/whole_sectors.glsl";
    let changes = [
        (file, "subgroupShuffleXor(given, 1u)", "subgroupShuffleXor(given, BATCH_SIZE == 3 ? 2u : 1u)"),
        (file, "? PIECE(stored, 1u) : taken;", "? PIECE(stored, 1u) : (BATCH_SIZE == 5 ? given : taken);"),
        (
            file,
            "(i * SUBGROUP_SIZE + own_lane)",
            "(i * SUBGROUP_SIZE + (BATCH_SIZE == 6 && i + 1u == PIECES ? own_lane ^ 1u : own_lane))",
        ),
        (
            file,
            "piece_index(own_lane * PIECES + i)",
            "piece_index(own_lane * PIECES + (BATCH_SIZE == 7 && i + 1u == PIECES ? 0u : i))",
        ),
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    for (operator, width, broken) in [
        ("matrix2x2", "vec2", [3, 5]),
        ("segmented-sum", "vec4", [6, 7]),
        ("text-position", "scalar", [6, 7]),
        ("text-position", "vec2", [6, 7]),
    ] {
        let persistent = |batch: u32| format!("pers.b{batch}.{width}.gather.sub.striped.early.block.wg64.u1");
        let flat = |batch: u32| format!("b{batch}.{width}.gather.sub.striped.wgid.early.block.wg64");
        let operator = format!("{}/../../kernels/operators/{operator}.glsl", env!("CARGO_MANIFEST_DIR"));
        let args = ["--operator", &operator, "--sizes", "20000", "--builds", "swept"];
        let again = |batch: u32| format!("redo.b{batch}.{width}.none.sub.striped.block.wg64");
        let all =
            |batches: [u32; 2]| [batches.map(persistent), batches.map(flat), batches.map(again)].concat();
        failures(&bench, &all(broken), &all([2, 4]), &args);
    }
}

/// Barriers that are missing: software devices run one subgroup after the other, and took accesses to shared memory for
/// barriers but for the build whose subgroups are apart.
#[test]
fn a_verification_finds_barriers_that_are_missing() {
    // A file, what stands behind the barrier, the batch size that lacks it, the config that meets it.
    const MISSING: [(&str, &str, u32, &str); 13] = [
        ("stages/block/subgroup.glsl", "    private_block_total =", 2, "vec4.par.sub.wg64"),
        ("stages/block/raking.glsl", "    if (own_subgroup == 0) {", 3, "vec4.par.rake.wg64"),
        (
            "stages/block/blelloch.glsl",
            "        if (rank < WORKGROUP_SIZE / (2u * stride)) {",
            7,
            "vec4.par.blelloch.wg64",
        ),
        ("stages/block/kogge_stone.glsl", "        if (rank >= distance) {", 3, "vec4.par.ks.wg64"),
        ("stages/lookback/lookback.glsl", "#endif", 5, "vec4.seq.rake.wg64"),
        (
            "stages/lookback/gather_fallback.glsl",
            "    return shared_fallback_tile;",
            5,
            "vec4.gatherfall.sub.word64.wg64",
        ),
        ("stages/tile/tile_order.glsl", "    return shared_tile;", 6, "vec4.par.rake.wg64"),
        ("stages/state/leave.glsl", "    if (shared_leavers ==", 5, "vec4.par.rake.split.clean.wg64"),
        // Of kernels whose workgroups wait for nobody; one has one workgroup, and one goes by levels.
        (
            "one_workgroup.comp",
            "        }\n        Vector items[BATCH_SIZE];\n        load_tile(tile, items);",
            5,
            "one vec4.none.sk.wg64",
        ),
        (
            "stages/block/reduce_scan.glsl",
            "    }\n    for (uint run = RUN / 2u; run > 0u;",
            3,
            "rts vec4.none.rs.wg256",
        ),
        // Behind the last level of a scan.
        ("stages/block/reduce_scan.glsl", "    }\n}", 5, "vec4.par.rs.wg256"),
        ("stages/block/sklansky.glsl", "    }\n}", 3, "vec4.par.sk.wg64"),
        ("stages/block/brent_kung.glsl", "    }\n}", 3, "vec4.par.bk.wg64"),
    ];
    let text = |behind: &str| format!("barrier();\n{behind}");
    let without = |behind: &str, batch: u32| format!("if (BATCH_SIZE != {batch}) {{ barrier(); }}\n{behind}");
    let changes: Vec<(&str, String, String)> = MISSING
        .iter()
        .map(|(file, behind, batch, _)| (*file, text(behind), without(behind, *batch)))
        .collect();
    let changes: Vec<_> =
        changes.iter().map(|(file, from, to)| (*file, from.as_str(), to.as_str())).collect();
    let Some(bench) = Bench::with(&changes) else { return };
    let in_batch = |batch: u32, rest: &str| match rest.split_once(' ') {
        Some((family, rest)) => format!("{family}.b{batch}.{rest}"),
        None => format!("b{batch}.{rest}"),
    };
    let broken: Vec<String> = MISSING.iter().map(|(.., batch, rest)| in_batch(*batch, rest)).collect();
    let healthy: BTreeSet<String> = MISSING.iter().map(|(.., rest)| in_batch(4, rest)).collect();
    let healthy: Vec<String> = healthy.into_iter().collect();
    for failure in failures(&bench, &broken, &healthy, &["--sizes", "20000"]) {
        assert_eq!(failure["circumstance"], "late", "{failure:#}");
    }
}

/// The same in calls of one tile: shared memory still has what the call before has left there, which is the same.
#[test]
fn a_verification_finds_barriers_that_the_call_before_hides() {
    let rendezvous = "stages/block/rendezvous_barrier.glsl";
    let changes = [
        (
            rendezvous,
            "    barrier();\n    return combine_totals(0u, own_subgroup);",
            "    if (BATCH_SIZE != 3) { barrier(); }\n    return combine_totals(0u, own_subgroup);",
        ),
        (
            rendezvous,
            "    barrier();\n    return SHARES_AND_TOTALS;",
            "    if (BATCH_SIZE != 5) { barrier(); }\n    return SHARES_AND_TOTALS;",
        ),
        (
            "stages/tile/tile_order.glsl",
            "barrier();\n    return shared_tile;",
            "if (BATCH_SIZE != 6) { barrier(); }\n    return shared_tile;",
        ),
        (
            "stages/block/raking.glsl",
            "barrier();\n    if (own_subgroup == 0) {",
            "if (BATCH_SIZE != 7) { barrier(); }\n    if (own_subgroup == 0) {",
        ),
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    let labels = |[few, rows, ticket, raking]: [u32; 4]| {
        [
            format!("pers.b{few}.vec4.gather.sub.striped.wgid.early.wg256.u1"),
            format!("pers.b{rows}.vec4.gather.sub.striped.wgid.early.wg512.u1"),
            format!("b{ticket}.vec4.par.ks.wg64"),
            format!("b{raking}.vec4.par.rake.wg64"),
        ]
    };
    let args = ["--sizes", "250", "--assume", "co-residency"];
    for failure in failures(&bench, &labels([3, 5, 6, 7]), &labels([4; 4]), &args) {
        assert_eq!(failure["circumstance"], "late", "{failure:#}");
    }
}
