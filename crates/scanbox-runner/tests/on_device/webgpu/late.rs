//! Kernels that are broken on purpose. Where workgroups run one after the other, nobody waits for a state and nobody
//! looks further than to the tile before its own: a verification finds them because a build of them has late
//! workgroups.

use std::fs;
use std::path::Path;

use super::*;

const PARALLEL: &str = "b2.vec4.par.sub.striped.early.split.wg64";
const SEQUENTIAL: &str = "b1.vec4.seq.rake.split.wg64";
const CHAIN: &str = "b4.vec4.chain.sub.split.wg64";
const GATHER: &str = "b2.vec4.gather.sub.direct.wgid.split.wg64";
const PERSISTENT: &str = "pers.b2.vec4.gather.sub.striped.early.split.wg64.u2";
const FALLBACK: &str = "b2.vec4.fallback.sub.striped.split.wg64";
const IMPATIENT: &str = "b1.scalar.fallback.ks.direct.spins0.split.wg64";

const STATE: &str = "stages/state/tile_state.wgsl";
const LOOKBACK: &str = "stages/lookback/lookback.wgsl";
const BY_WINDOW: &str = "stages/lookback/parallel.wgsl";
const BY_TILE: &str = "stages/lookback/sequential.wgsl";
const FALLS_BACK: &str = "stages/lookback/fallback.wgsl";

/// Which kernels, the file, what stands in it once, and what takes its place.
const BROKEN: &[(&[&str], &str, &str, &str)] = &[
    (
        &[PARALLEL, SEQUENTIAL, CHAIN, GATHER, PERSISTENT, FALLBACK],
        STATE,
        "(tag >> 2u) != params.epoch || ",
        "",
    ),
    (
        &[PARALLEL, SEQUENTIAL, CHAIN, GATHER, PERSISTENT, FALLBACK],
        STATE,
        "(high >> 16u) == tag && !vacant",
        "!vacant",
    ),
    (
        &[PARALLEL, SEQUENTIAL, FALLBACK],
        LOOKBACK,
        "publish(tile, select(AGGREGATE, INCLUSIVE, tile == 0u), total);",
        "publish(tile, INCLUSIVE, total);",
    ),
    (
        &[PARALLEL],
        BY_WINDOW,
        "combine(rest_of_window(window, first), prefix)",
        "rest_of_window(window, first)",
    ),
    (&[PARALLEL], BY_WINDOW, "end -= subgroup_length;", "end -= subgroup_length - 1u;"),
    (&[PARALLEL], BY_WINDOW, "window.last_invalid <= window.last_inclusive", "true"),
    (&[SEQUENTIAL], BY_TILE, "prefix = combine(seen.value, prefix);", "prefix = seen.value;"),
    (&[SEQUENTIAL], BY_TILE, "found = seen.state == INCLUSIVE;", "found = true;"),
    (&[GATHER], "stages/lookback/gather.wgsl", "seen.state != INVALID", "true"),
    (&[PERSISTENT], "persistent_scan.wgsl", "seen.state != INVALID", "true"),
    (
        &[FALLBACK],
        FALLS_BACK,
        "combine(rest_of_window(window, first), walk.prefix)",
        "rest_of_window(window, first)",
    ),
    (
        &[FALLBACK],
        FALLS_BACK,
        "combine(rest_of_window(window, window.last_invalid), walk.prefix)",
        "walk.prefix",
    ),
    (&[FALLBACK], FALLS_BACK, "select(AGGREGATE, INCLUSIVE, tile == 0u), total)", "INCLUSIVE, total)"),
    (&[FALLBACK], FALLS_BACK, "prefix = combine(element_of(outcome.x), prefix);", ""),
    (&[FALLBACK], FALLS_BACK, "select(0u, 1u, tile == 0u)", "1u"),
    (
        &[FALLBACK],
        FALLS_BACK,
        "tile * TILE_VECTORS + k * WORKGROUP_SIZE + rank",
        "tile * TILE_VECTORS + rank",
    ),
    (&[FALLBACK], FALLS_BACK, "end = control.x;", "end = control.x + 1u;"),
    (&[IMPATIENT], FALLS_BACK, "word_of(before.value), 1u", "word_of(before.value), 0u"),
];

/// The kernels of the repository with something else in one file.
fn changed(file: &str, from: &str, to: &str) -> Compiler {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/wgsl");
    let folder = tempfile::tempdir().unwrap();
    let mut folders = vec![root.clone()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).unwrap();
            let mut text = fs::read_to_string(&path).unwrap();
            if name == Path::new(file) {
                assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
                text = text.replace(from, to);
            }
            let target = folder.path().join(name);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, text).unwrap();
        }
    }
    Compiler::new(Some(folder.path()), None).unwrap()
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn kernels_that_are_wrong_where_somebody_is_late_are_found() {
    let Some(mut bench) = bench() else { return };
    let all = [PARALLEL, SEQUENTIAL, CHAIN, GATHER, PERSISTENT, FALLBACK, IMPATIENT];
    for verdict in bench.verdicts(&all, &Problem::default(), Some(vec![20_001])) {
        assert_eq!(verdict.failed, None, "{}", verdict.config);
    }
    // Where workgroups run side by side, what is broken may also wait until the device is lost, for all that follows.
    if bench.device.profile().driver.contains("SwiftShader") {
        eprintln!(
            "kernels that are broken on purpose: left out, because SwiftShader runs workgroups side by side"
        );
        return;
    }
    let mut missed = Vec::new();
    for (labels, file, from, to) in BROKEN {
        bench.compiler = changed(file, from, to);
        for verdict in bench.verdicts(labels, &Problem::default(), Some(vec![20_001])) {
            if verdict.status != Status::WrongResult {
                missed.push(format!("{} with `{to}` for `{from}`: {:?}", verdict.config, verdict.failed));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
