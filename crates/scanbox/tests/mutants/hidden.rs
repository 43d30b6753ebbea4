//! What hides on software devices, or in the first thousands of calls.

use std::collections::BTreeSet;

use scanbox_kernels::catalog::GUARD_WORD;
use serde_json::Value;

use super::{Bench, MAIN, SCRIBBLES, STORES, label};

/// Software devices run workgroups in order: that nobody waits for what is there hides all of these, but for the build
/// whose workgroups are late.
#[test]
fn a_verification_finds_what_workgroups_in_order_hide() {
    // A file, what stands there, what is to stand there for some batch sizes, configs that meet it.
    type Hidden = (&'static str, &'static str, &'static str, &'static [&'static str]);
    const OF_4_BYTES: [Hidden; 11] = [
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
        let healthy: BTreeSet<String> = broken.iter().map(|label| format!("b4{}", &label[2..])).collect();
        let labels: Vec<&str> = broken.iter().copied().chain(healthy.iter().map(String::as_str)).collect();
        let cases = ["--type", element, "--sizes", "131000", "--inputs", "random", "--format", "json"];
        let answer = bench.run(&[&["verify"][..], &labels, &cases].concat(), 5);
        let answer: Value = serde_json::from_str(&answer.out).unwrap();
        let failures = answer["failures"].as_array().unwrap();
        let found = |label: &str| failures.iter().find(|failure| failure["config"] == label);
        for label in &broken {
            let failure = found(label).unwrap_or_else(|| panic!("{label} is not found: {answer:#}"));
            assert_eq!(failure["status"], "wrong_result", "{failure:#}");
            assert_eq!(failure["circumstance"], "late", "{failure:#}");
        }
        assert_eq!(failures.len(), broken.len(), "{answer:#}");
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
    let labels = [1, 2, 3, 4].map(label);
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let cases = ["--sizes", "8192", "--inputs", "random", "--format", "json"];
    let answer = bench.run(&[&["verify"][..], &labels, &cases].concat(), 5);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let failures = answer["failures"].as_array().unwrap();
    let mut found: Vec<&str> = failures.iter().map(|failure| failure["config"].as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, labels[1..3], "{answer:#}");
    assert!(failures.iter().all(|failure| failure["circumstance"] == "between_guards"), "{answer:#}");
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
    let of = |batches: [u32; 4]| {
        let states =
            ["par.rake.split.block", "par.rake.split.turn", "par.rake.word64.turn", "two.rake.word64.turn"];
        batches
            .into_iter()
            .zip(states)
            .map(|(batch, states)| format!("b{batch}.vec4.{states}.wg64"))
            .collect()
    };
    let (broken, healthy): (Vec<String>, Vec<String>) = (of([2, 2, 2, 3]), of([4; 4]));
    let labels: Vec<&str> = broken.iter().chain(&healthy).map(String::as_str).collect();
    let cases = ["--sizes", "65536", "--inputs", "random", "--timeout", "20s", "--format", "json"];
    let answer = bench.run(&[&["verify"][..], &labels, &cases].concat(), 5);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let failures = answer["failures"].as_array().unwrap();
    let mut found: Vec<&str> = failures.iter().map(|failure| failure["config"].as_str().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, broken, "{answer:#}");
    assert!(failures.iter().all(|failure| failure["circumstance"] == "in_a_row"), "{answer:#}");
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
    ];
    let Some(bench) = Bench::with(&changes) else { return };
    let of = |batches: [u32; 4]| {
        let states = [
            "par.rake.split.turn",
            "par.rake.word64.block",
            "fallback.sub.word64.block",
            "par.rake.split.clean",
        ];
        batches
            .into_iter()
            .zip(states)
            .map(|(batch, states)| format!("b{batch}.vec4.{states}.wg64"))
            .collect()
    };
    let (broken, healthy): (Vec<String>, Vec<String>) = (of([2, 2, 3, 5]), of([4; 4]));
    let labels: Vec<&str> = broken.iter().chain(&healthy).map(String::as_str).collect();
    let cases = ["--sizes", "65536", "--inputs", "random", "--timeout", "20s", "--format", "json"];
    let answer = bench.run(&[&["verify"][..], &labels, &cases].concat(), 5);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let failures = answer["failures"].as_array().unwrap();
    let mut found: Vec<&str> = failures.iter().map(|failure| failure["config"].as_str().unwrap()).collect();
    found.sort_unstable();
    let mut all = broken.clone();
    all.sort_unstable();
    assert_eq!(found, all, "{answer:#}");
    for failure in failures {
        let reason = failure["reason"].as_str().unwrap();
        assert!(reason.starts_with("the next call would not "), "{failure:#}");
    }
}
