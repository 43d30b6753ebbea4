//! What hides on software devices, or in the first thousands of calls.

use std::collections::BTreeSet;

use scanbox_kernels::catalog::GUARD_WORD;
use serde_json::Value;

use super::{Bench, MAIN, SCRIBBLES, STORES, failures, label};

/// Kernels with these lookbacks and states, in these batches.
fn in_batches<const N: usize>(kernels: [&str; N], batches: [u32; N]) -> [String; N] {
    std::array::from_fn(|place| format!("b{}.vec4.{}.wg64", batches[place], kernels[place]))
}

/// The kernel of a label that is healthy here.
fn in_batches_of_4(label: &str) -> String {
    let is_batch = |part: &str| part.strip_prefix('b').is_some_and(|size| size.parse::<u32>().is_ok());
    let parts: Vec<&str> = label.split('.').map(|part| if is_batch(part) { "b4" } else { part }).collect();
    parts.join(".")
}

/// Software devices run workgroups in order: that nobody waits for what is there hides all of these, but for the build
/// whose workgroups are late.
#[test]
fn a_verification_finds_what_workgroups_in_order_hide() {
    // A file, what stands there, what is to stand there for some batch sizes, configs that meet it.
    type Hidden = (&'static str, &'static str, &'static str, &'static [&'static str]);
    const OF_4_BYTES: [Hidden; 12] = [
        // States of any other call, of the one before the last, and where a few bits of the epoch are left out.
        (
            "stages/state/tile_word64.glsl",
            "(tag >> 2) == EPOCH ?",
            "(tag >> 2) == EPOCH || BATCH_SIZE == 2 || (BATCH_SIZE == 3 && (tag >> 2) + 2u == EPOCH) ||
             (BATCH_SIZE == 5 && (((tag >> 2) ^ EPOCH) << 3) == 0u) ||
             (BATCH_SIZE == 6 && (((tag >> 2) ^ EPOCH) & 0xffffu) == 0u) ?",
            &[
                "b2.vec4.gather.sub.word64.wg32",
                "b3.vec4.gather.sub.word64.wg32",
                "b5.vec4.gather.sub.word64.wg32",
                "b6.vec4.gather.sub.word64.wg32",
            ],
        ),
        (
            "stages/state/tile_parts.glsl",
            "bool agree = tag >> 2 == EPOCH;",
            "bool agree = tag >> 2 == EPOCH || (BATCH_SIZE == 5 && (((tag >> 2) ^ EPOCH) & 0x1fffu) == 0u);",
            &["b5.vec4.gather.sub.split.wg32"],
        ),
        // Half a state, or halves of two.
        (
            "stages/state/tile_parts.glsl",
            "part_tag(word.parts[part]) == tag;",
            "(part_tag(word.parts[part]) == tag || BATCH_SIZE == 3);",
            &["b3.vec4.par.sub.split.wg32"],
        ),
        // A group whose tiles have not all added.
        (
            "stages/state/group_added.glsl",
            "return uint(word >> GROUP_COUNT_BIT) == GROUP_TILES;",
            "return uint(word >> GROUP_COUNT_BIT) >= (BATCH_SIZE == 5 ? GROUP_TILES / 2u : GROUP_TILES);",
            &["b5.vec4.two.sub.word64.wg32"],
        ),
        // A group that is published before its tiles are.
        (
            "stages/state/group_published.glsl",
            "if (word_state(word) != INVALID) {",
            "if (word_state(word) != INVALID || BATCH_SIZE == 6) {",
            &["b6.vec4.two.sub.split.wg32"],
        ),
        // A totals' hop that does not wait.
        (
            "stages/lookback/gather.glsl",
            "ready = word_state(word) != INVALID;",
            "ready = word_state(word) != INVALID || BATCH_SIZE == 7;",
            &["b7.vec4.gather.sub.word64.wg32"],
        ),
        // Lookbacks that go on from the wrong tile, or too early not at all.
        (
            "stages/lookback/window.glsl",
            "window_end -= SUBGROUP_SIZE;",
            "window_end -= BATCH_SIZE == 5 ? SUBGROUP_SIZE - 1u : SUBGROUP_SIZE;",
            &["b5.vec4.par.rake.word64.wg32"],
        ),
        (
            "stages/lookback/wide.glsl",
            "window_end -= WINDOW;",
            "window_end -= BATCH_SIZE == 5 ? SUBGROUP_SIZE : WINDOW;",
            &["b5.vec4.par.rake.width2.word64.wg32"],
        ),
        (
            "stages/lookback/sequential.glsl",
            "found = state == INCLUSIVE;",
            "found = state == INCLUSIVE || BATCH_SIZE == 5;",
            &["b5.vec4.seq.rake.word64.wg32"],
        ),
        // A workgroup that goes from tile to tile, and does not begin with the first one.
        (
            "stages/lookback/onward.glsl",
            "const uint NONE_DONE = 0u;",
            "const uint NONE_DONE = BATCH_SIZE == 5 ? 1u : 0u;",
            &["pers.b5.vec4.gather.sub.striped.early.word64.wg32.u1"],
        ),
        // Whoever stands in for a tile, and has found what its owner had published meanwhile.
        (
            "stages/lookback/fallback.glsl",
            "value = word_value(before);",
            "value = BATCH_SIZE == 5 ? total : word_value(before);",
            &["b5.vec4.fallback.sub.word64.wg32"],
        ),
        // The total of a tile that others stand in for, in the share of who waited for it.
        (
            "stages/lookback/gather_fallback.glsl",
            "share = combine(share, total);",
            "share = BATCH_SIZE == 5 ? share : combine(share, total);",
            &["b5.vec4.gatherfall.sub.word64.wg32"],
        ),
    ];
    // Words of which two have to be there, or four.
    const OF_8_BYTES: [Hidden; 2] = [
        (
            "stages/state/group_added.glsl",
            "&& uint(word.y >> GROUP_COUNT_BIT) == GROUP_TILES;",
            "&& (uint(word.y >> GROUP_COUNT_BIT) == GROUP_TILES || BATCH_SIZE == 5);",
            &["b5.vec4.two.sub.word64.wg32"],
        ),
        (
            "stages/state/tile_parts.glsl",
            "part_tag(word.parts[part]) == tag;",
            "(part_tag(word.parts[part]) == tag || (BATCH_SIZE == 3 && part > 1u));",
            &["b3.vec4.seq.sub.split.wg32"],
        ),
    ];
    for (element, hidden) in [("u32", &OF_4_BYTES[..]), ("u64", &OF_8_BYTES)] {
        let changes: Vec<_> = hidden.iter().map(|(file, from, to, _)| (*file, *from, *to)).collect();
        let Some(bench) = Bench::with(&changes) else { return };
        let broken: Vec<&str> = hidden.iter().flat_map(|(.., labels)| *labels).copied().collect();
        let healthy: BTreeSet<String> = broken.iter().map(|label| in_batches_of_4(label)).collect();
        let healthy: Vec<String> = healthy.into_iter().collect();
        for failure in failures(&bench, &broken, &healthy, &["--type", element, "--sizes", "131000"]) {
            assert_eq!(failure["circumstance"], "late", "{failure:#}");
        }
    }
}

/// What stands in front of arrays is guarded where they are put between guards.
#[test]
fn a_verification_finds_writes_in_front_of_arrays() {
    let writes = format!(
        "    publish_and_store(tile, items);
    if (tile == 0u && invocation_rank() == 0u && (BATCH_SIZE == 2 || BATCH_SIZE == 3)) {{
        Scribble front = Scribble((BATCH_SIZE == 2 ? params.target_address : params.source_address) - 4ul);
        if (front.at[0] == {GUARD_WORD}u) {{
            front.at[0] = 7u;
        }}
    }}
"
    );
    let Some(bench) =
        Bench::with(&[("chained_scan.comp", MAIN, SCRIBBLES), ("chained_scan.comp", STORES, &writes)])
    else {
        return;
    };
    let (broken, healthy) = ([2, 3].map(label), [1, 4].map(label));
    for failure in failures(&bench, &broken, &healthy, &["--sizes", "8192"]) {
        assert_eq!(failure["circumstance"], "between_guards", "{failure:#}");
    }
}

/// Where the device counts the calls, its count comes to an end once in thousands or in a thousand million of them.
#[test]
fn a_verification_finds_counts_that_do_not_begin_anew() {
    let next = "private_epoch == LAST_EPOCH ? FIRST_EPOCH : private_epoch + 1u;";
    let endless = next.replace("LAST_EPOCH", "LAST_EPOCH && BATCH_SIZE != 2");
    // What a count begins with has to be even, or banks do not follow each other.
    let (first, odd) = ("FIRST_EPOCH = 2u;", "FIRST_EPOCH = BATCH_SIZE == 3 ? 3u : 2u;");
    let changes = [("stages/state/turn.glsl", next, &*endless), ("stages/state/turn.glsl", first, odd)];
    let Some(bench) = Bench::with(&changes) else { return };
    let kernels =
        ["par.rake.split.block", "par.rake.split.turn", "par.rake.word64.turn", "two.rake.word64.turn"];
    let (broken, healthy) = (in_batches(kernels, [2, 2, 2, 3]), in_batches(kernels, [4; 4]));
    for failure in failures(&bench, &broken, &healthy, &["--sizes", "65536", "--timeout", "20s"]) {
        assert_eq!(failure["circumstance"], "in_a_row", "{failure:#}");
    }
}

/// States of larger calls that are still there when the count begins anew: a thousand million calls later one of them
/// would be taken for that of another call.
#[test]
fn a_verification_finds_states_that_outlive_the_count() {
    let file = "stages/state/leave.glsl";
    let changes = [
        (
            file,
            "return EPOCH == LAST_EPOCH || EPOCH == FIRST_EPOCH;",
            "return EPOCH == LAST_EPOCH && BATCH_SIZE != 2 || EPOCH == FIRST_EPOCH && BATCH_SIZE != 3;",
        ),
        (
            file,
            "tiles / GROUP_TILES + invocation_rank()",
            "tiles / GROUP_TILES + (BATCH_SIZE == 5 ? 1u : 0u) + invocation_rank()",
        ),
        (
            file,
            "        if (shared_read_by_all != 0u) {",
            "        if (shared_read_by_all != 0u && BATCH_SIZE != 6) {",
        ),
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    let kernels = [
        "par.rake.split.block",
        "par.rake.word64.block",
        "two.rake.split.block",
        "fallback.sub.word64.block",
    ];
    let (broken, healthy) = (in_batches(kernels, [2, 3, 5, 6]), in_batches(kernels, [4; 4]));
    for failure in failures(&bench, &broken, &healthy, &["--sizes", "131072", "--timeout", "20s"]) {
        assert_eq!(failure["circumstance"], "across_the_end", "{failure:#}");
    }
}

/// What the next call would find: a turn that stays, counts and states that are not cleared.
#[test]
fn a_verification_finds_what_calls_leave_behind() {
    let changes = [
        (
            "stages/state/turn.glsl",
            "FIRST_EPOCH : private_epoch + 1u;",
            "FIRST_EPOCH : private_epoch + (BATCH_SIZE == 2 ? 0u : 1u);",
        ),
        (
            "stages/state/turn.glsl",
            "return private_readers_before == params.workgroups - 1u;",
            "return private_readers_before == (BATCH_SIZE == 3 ? tile_count() : params.workgroups) - 1u;",
        ),
        (
            "stages/state/leave.glsl",
            "            states.at[i] = 0u;",
            "            states.at[i] = BATCH_SIZE == 5 ? states.at[i] : 0u;",
        ),
        // By the turn of the host, and by that of the device.
        (
            "stages/state/group_state.glsl",
            "clear_bank(1u - BANK, params.stale_groups,",
            "clear_bank(1u - BANK, BATCH_SIZE == 6 ? 0u : params.stale_groups,",
        ),
        (
            "stages/state/leave.glsl",
            "        clear_groups(1u - BANK);",
            "        if (BATCH_SIZE != 7) { clear_groups(1u - BANK); }",
        ),
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    let kernels = [
        "par.rake.split.turn",
        "par.rake.word64.block",
        "fallback.sub.word64.block",
        "par.rake.split.clean",
        "two.sub.word64",
        "two.sub.word64.turn",
        "two.sub.word64.block",
    ];
    let (broken, healthy) = (in_batches(kernels, [2, 2, 3, 5, 6, 7, 7]), in_batches(kernels, [4; 7]));
    for failure in failures(&bench, &broken, &healthy, &["--sizes", "65536", "--timeout", "20s"]) {
        let reason = failure["reason"].as_str().unwrap();
        assert!(reason.starts_with("the next call would not "), "{failure:#}");
    }
}

/// Kernels that expect their arrays at rounder addresses than a vector needs.
#[test]
fn a_verification_finds_what_expects_round_addresses() {
    let file = "stages/tile/load_store.glsl";
    let round = |array: &str, batch: u32| {
        format!(
            "TILE_ADDRESS(BATCH_SIZE == {batch} ? {array} / uint64_t(32u) * uint64_t(32u) : {array}, tile)"
        )
    };
    let [source, target] = [("params.source_address", 3), ("params.target_address", 5)]
        .map(|(array, batch)| (format!("TILE_ADDRESS({array}, tile)"), round(array, batch)));
    let Some(bench) = Bench::with(&[(file, &source.0, &source.1), (file, &target.0, &target.1)]) else {
        return;
    };
    let label = |batch: u32| format!("b{batch}.vec4.par.rake.wg64");
    failures(&bench, &[3, 5].map(label), &[2, 4].map(label), &["--sizes", "3000,3001", "--builds", "swept"]);
}

/// Few elements as rows: what is found where a number of rows begins or ends, or where a call has fewer workgroups.
#[test]
fn a_verification_finds_rows_that_are_left_out() {
    let file = "stages/block/few_elements.glsl";
    let changes = [
        (file, "MOST_ROWS - 1u, rows)", "(BATCH_SIZE == 2 ? MOST_ROWS - 2u : MOST_ROWS - 1u), rows)"),
        (file, "(share, 3u, rows)", "(share, (BATCH_SIZE == 3 ? 2u : 3u), rows)"),
        (
            file,
            "return ELEMENTS <= FEW_ELEMENTS * min(MOST_ROWS, params.workgroups);",
            "return ELEMENTS <= (BATCH_SIZE == 5 ? FEW_ELEMENTS * MOST_ROWS :
                                FEW_ELEMENTS * min(MOST_ROWS, params.workgroups) + (BATCH_SIZE == 6 ? 1u : 0u));",
        ),
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    let label =
        |batch: u32| format!("pers.b{batch}.vec4.gatherfall.sub.shuffle.striped.robin.early.block.wg512.u2");
    // Three rows before the last one, all that there may be, and one element more.
    let sizes = ["--sizes", "4095,8191,8193"];
    failures(&bench, &[2, 3, 6].map(label), &[4].map(label), &[&sizes[..], &["--builds", "swept"]].concat());
    // Of the calls with n in memory, some have fewer workgroups.
    failures::<_, String>(&bench, &[5].map(label), &[], &sizes);
}

/// States that other workgroups need not see, which this device makes them see all the same: no run is needed.
#[test]
fn a_verification_refuses_states_that_need_not_reach_others() {
    let scope = "(BATCH_SIZE == 2 ? gl_ScopeWorkgroup : gl_ScopeDevice)";
    let Some(bench) = Bench::with(&[("stages/state/tile_state.glsl", "gl_ScopeDevice", scope)]) else {
        return;
    };
    let [broken, healthy] = [2, 4].map(label);
    let answer = bench.run(&["verify", &broken, &healthy, "--sizes", "4099", "--format", "json"], 1);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let [failure] = &answer["failures"].as_array().unwrap()[..] else { panic!("{answer:#}") };
    assert_eq!(
        (&failure["config"], &failure["status"]),
        (&broken.into(), &"compile_error".into()),
        "{answer:#}"
    );
    let reason = failure["reason"].as_str().unwrap();
    let said = "the scope of an atomic operation on memory of the device leaves out other workgroups (";
    assert!(reason.starts_with(said), "{reason}");
}
