//! Kernels that pass something on in a way which need not reach others are refused: no device has to show it.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups;
use scanbox_testing::folder::copy_folder;

const FLAGS: &str = "pers.b1.vec4.gather.sub.early.flags.wg128.u1";
/// Every stage with atomic operations, and a kernel that has it.
const STAGES: [(&str, &str); 8] = [
    ("block/rendezvous_flags.glsl", FLAGS),
    ("lookback/back_off.glsl", "b1.vec4.par.rake.pause.wg64"),
    ("state/group_added.glsl", "b1.vec4.two.sub.word64.wg64"),
    ("state/leave.glsl", "b1.vec4.par.rake.clean.wg64"),
    ("state/tile_parts.glsl", "b1.vec4.par.rake.split.wg64"),
    ("state/tile_state.glsl", "b1.vec4.par.rake.word64.wg64"),
    ("state/turn.glsl", "b1.vec4.fallback.sub.word64.turn.wg64"),
    ("tile/tile_order.glsl", "b1.vec4.par.rake.word64.wg64"),
];

const OF_DEVICE: &str =
    "the scope of an atomic operation on memory of the device leaves out other workgroups";
const OF_SHARED: &str = "the scope of an atomic operation on shared memory is smaller than the workgroup";
const ONCE: &str = "an atomic load in a loop is not volatile: it may be made once for all rounds";
const ACQUIRED: &str = "what is acquired of a shared variable was never released";
const HALF: &str = "what an atomic operation finds is used, but it releases and does not acquire";
const OF_OTHERS: &str = "an atomic operation acquires or releases, but not memory of its own kind";
const UNPOLLED: &str = "no loop reads from a buffer by an atomic operation, but workgroups wait for others";
const UNTAKEN: &str = "no atomic operation takes a ticket: two workgroups may get the same one";
const PLAINLY_READ: &str =
    "a plain load reads what atomic operations write: it may see a part, or an old value for ever";
const PLAINLY_WRITTEN: &str =
    "a plain store writes what atomic operations load: others may see a part of it, or nothing";
const UNKNOWN: &str = "the workgroup that clears does not acquire what the others released";
const RELEASED: &str = "what is released in a shared variable is never acquired";

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/glsl")
}

/// What the compiler says of a kernel, of sources where some words in a stage are others.
fn said(label: &str, stage: &str, from: &str, to: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&sources(), folder.path());
    let path = folder.path().join("stages").join(stage);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{stage} has no `{from}`");
    fs::write(path, text.replace(from, to)).unwrap();
    let device = DeviceProfile {
        guarantees: Guarantee::VALUES.to_vec(),
        compute_units: Some(7),
        ..with_subgroups(32, true)
    };
    let config: Config = label.parse().unwrap();
    let plan = catalog::plan(&config, &Problem::default(), 1 << 20, &device).unwrap();
    let compiler = Compiler::new(Some(folder.path()), None).unwrap();
    compiler.compile(&plan.passes[0].shader).err().map(|error| error.to_string())
}

#[track_caller]
fn refused(label: &str, stage: &str, from: &str, to: &str, reason: &str) {
    let said = said(label, stage, from, to).unwrap_or_else(|| panic!("{label} is taken with {to}"));
    assert!(said.starts_with(&format!("{reason} (")), "{label} with {to}: {said}");
}

#[test]
fn smaller_scopes_and_loads_that_may_be_made_once_are_refused_in_every_stage() {
    let changes = [
        ("gl_ScopeDevice", "gl_ScopeWorkgroup", OF_DEVICE),
        ("gl_ScopeWorkgroup", "gl_ScopeSubgroup", OF_SHARED),
        (" | gl_SemanticsVolatile", "", ONCE),
    ];
    let mut refusals = 0;
    for (stage, label) in STAGES {
        let text = fs::read_to_string(sources().join("stages").join(stage)).unwrap();
        for (from, to, reason) in changes.iter().filter(|(from, ..)| text.contains(from)) {
            refused(label, stage, from, to, reason);
            refusals += 1;
        }
    }
    assert_eq!(refusals, 10);
}

#[test]
fn no_stage_with_atomic_operations_is_left_out() {
    let mut found: Vec<String> = Vec::new();
    let stages = sources().join("stages");
    for folder in fs::read_dir(&stages).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if fs::read_to_string(&path).unwrap().contains("gl_Scope") {
                found.push(path.strip_prefix(&stages).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort_unstable();
    let known = STAGES.map(|(stage, _)| stage);
    assert_eq!(found, known);
}

/// Flags that say that something is there, and do not see to it.
#[test]
fn flags_without_order_are_refused() {
    let stage = STAGES[0].0;
    let [raise, read] =
        ["ScopeWorkgroup, gl_StorageSemanticsShared, RELEASE)", "gl_StorageSemanticsShared, ACQUIRE)"];
    for (from, to, reason) in [
        (raise, raise.replace("RELEASE", "RELAXED"), ACQUIRED),
        (read, read.replace("ACQUIRE", "RELAXED"), RELEASED),
        ("ACQUIRE_RELEASE);", "RELAXED);".to_owned(), ACQUIRED),
        ("ACQUIRE_RELEASE);", "RELEASE);".to_owned(), HALF),
        ("ACQUIRE_RELEASE);", "ACQUIRE);".to_owned(), ACQUIRED),
        ("gl_StorageSemanticsShared", "gl_StorageSemanticsBuffer".to_owned(), OF_OTHERS),
    ] {
        refused(FLAGS, stage, from, &to, reason);
    }
    assert_eq!(said(FLAGS, stage, "const uint SLOTS = 4u;", "const uint SLOTS = 8u;"), None);
}

/// Macros in front of a stage make its atomic operations plain ones.
#[test]
fn states_that_are_read_or_written_plainly_are_refused() {
    let stage = "state/tile_state.glsl";
    for label in
        ["b1.vec4.par.rake.word64.wg64", "b1.vec4.par.rake.split.wg64", "b1.vec4.fallback.sub.word64.wg64"]
    {
        for (macro_text, reason) in [
            ("atomicLoad(place, scope, storage, order) place", PLAINLY_READ),
            ("atomicStore(place, value, scope, storage, order) place = value", PLAINLY_WRITTEN),
        ] {
            let from = "#define POLLED ";
            refused(label, stage, from, &format!("#define {macro_text}\n{from}"), reason);
        }
    }
}

/// With no atomic operation left that would tell the memory from any other.
#[test]
fn what_is_plain_everywhere_is_refused() {
    let stage = "state/tile_state.glsl";
    let all_plain = "#define atomicLoad(place, scope, storage, order) place\n\
                     #define atomicStore(place, value, scope, storage, order) place = value\n#define POLLED ";
    for label in [
        "b1.vec4.par.rake.word64.wg64",
        "b1.vec4.par.rake.split.wg64",
        "b1.vec4.seq.rake.packed.fill.wg64",
        "b4.vec4.gather.sub.striped.early.wg64",
        "pers.b4.vec4.gather.sub.striped.early.wg64.u1",
    ] {
        refused(label, stage, "#define POLLED ", all_plain, UNPOLLED);
    }
    let taken =
        "atomicAdd(line.next_ticket, 1u, gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);";
    let plainly = "line.next_ticket;\n    line.next_ticket = taken + 1u;";
    refused("b1.vec4.par.rake.word64.wg64", "tile/tile_order.glsl", taken, plainly, UNTAKEN);
}

/// The last workgroup clears what the others may still read, unless it has seen that they have left.
#[test]
fn who_clears_has_to_see_that_all_others_have_left() {
    let (stage, label) = STAGES[3];
    for order in ["gl_SemanticsRelaxed", "gl_SemanticsAcquire", "gl_SemanticsRelease"] {
        let reason = if order == "gl_SemanticsRelease" { HALF } else { UNKNOWN };
        refused(label, stage, "gl_SemanticsAcquireRelease", order, reason);
    }
    refused(label, stage, "gl_StorageSemanticsBuffer", "gl_StorageSemanticsShared", OF_OTHERS);
    let counted =
        "atomicAdd(line.left, 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease);";
    refused(label, stage, counted, "line.left;\n        line.left = shared_leavers + 1u;", UNKNOWN);
}
