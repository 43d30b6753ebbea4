//! What invocations do that have the totals of several tiles. As an input is swept, those have thousands of tiles
//! before them, and a million elements and more.

use super::{Bench, failures};

/// In the batch of this size.
fn swapped(batch: u32, share: &str, value: &str) -> (String, String) {
    let right = format!("{share} = combine({share}, {value});");
    let wrong =
        format!("{share} = BATCH_SIZE == {batch} ? combine({value}, {share}) : combine({share}, {value});");
    (right, wrong)
}

fn check(changes: &[(&str, (String, String))], broken: &[&str], healthy: &[&str], problem: &[&str]) {
    let changes: Vec<_> =
        changes.iter().map(|(file, (from, to))| (*file, from.as_str(), to.as_str())).collect();
    let Some(bench) = Bench::with(&changes) else { return };
    for failure in failures(&bench, broken, healthy, &[problem, &["--sizes", "131000"]].concat()) {
        // Persistent workgroups look at groups by one subgroup, which is a small one here: that shows without.
        let is_small = failure["config"].as_str().is_some_and(|config| config.contains("pers.b3.vec2.two"));
        assert!(failure["circumstance"] == "late" || is_small, "{failure:#}");
    }
}

#[test]
fn a_verification_finds_totals_of_tiles_in_the_wrong_order() {
    let operator = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/operators/affine.glsl");
    check(
        &[
            ("stages/lookback/gather.glsl", swapped(3, "share", "value")),
            ("stages/lookback/gather_fallback.glsl", swapped(3, "share", "word_value(word)")),
            ("stages/lookback/onward.glsl", swapped(3, "share", "word_value(word)")),
            ("stages/lookback/onward.glsl", swapped(5, "share", "word_value(word_behind)")),
            ("stages/lookback/onward.glsl", swapped(3, "share", "word_value(tile_word)")),
            ("stages/lookback/onward.glsl", swapped(5, "groups_share", "group_total(group_word)")),
            ("stages/lookback/onward_fallback.glsl", swapped(3, "share", "word_value(word)")),
            ("stages/lookback/onward_fallback.glsl", swapped(5, "share", "word_value(word_behind)")),
        ],
        &[
            "b3.vec2.gather.sub.striped.early.wg256",
            "b3.vec2.two.sub.striped.early.wg128",
            "b3.vec2.gatherfall.sub.striped.early.wg256",
            "pers.b3.vec2.gather.sub.striped.early.wg64.u1",
            "pers.b5.vec2.gather.sub.striped.early.wg64.u1",
            "pers.b3.vec2.two.sub.striped.early.wg64.u1",
            "pers.b5.vec2.two.sub.striped.early.wg64.u1",
            "pers.b3.vec2.gatherfall.sub.striped.early.wg64.u1",
            "pers.b5.vec2.gatherfall.sub.striped.early.wg64.u1",
        ],
        &[
            "b4.vec2.gather.sub.striped.early.wg256",
            "b4.vec2.two.sub.striped.early.wg128",
            "b4.vec2.gatherfall.sub.striped.early.wg256",
            "pers.b4.vec2.gather.sub.striped.early.wg64.u1",
            "pers.b4.vec2.two.sub.striped.early.wg64.u1",
            "pers.b4.vec2.gatherfall.sub.striped.early.wg64.u1",
        ],
        &["--operator", operator],
    );
}

#[test]
fn a_verification_finds_steps_to_the_wrong_tile() {
    let step = |batch: u32, members: &str| {
        let right = format!("next += RUN_STEP(end, {members});");
        let wrong = format!("next += RUN_STEP(end, {members}) + (BATCH_SIZE == {batch} ? 1u : 0u);");
        (right, wrong)
    };
    check(
        &[
            ("stages/lookback/gather.glsl", step(3, "WORKGROUP_SIZE")),
            ("stages/lookback/gather_fallback.glsl", step(3, "WORKGROUP_SIZE")),
            ("stages/lookback/onward.glsl", step(3, "members")),
            ("stages/lookback/onward_fallback.glsl", step(3, "WORKGROUP_SIZE")),
        ],
        &[
            "b3.vec2.gather.sub.striped.early.wg256",
            "b3.vec2.two.sub.striped.early.wg128",
            "b3.vec2.gatherfall.sub.striped.early.wg256",
            "pers.b3.vec2.gather.sub.striped.early.wg64.u1",
            "pers.b3.vec2.gatherfall.sub.striped.early.wg64.u1",
        ],
        &[
            "b4.vec2.gather.sub.striped.early.wg256",
            "b4.vec2.two.sub.striped.early.wg128",
            "b4.vec2.gatherfall.sub.striped.early.wg256",
            "pers.b4.vec2.gather.sub.striped.early.wg64.u1",
            "pers.b4.vec2.gatherfall.sub.striped.early.wg64.u1",
        ],
        &[],
    );
}
