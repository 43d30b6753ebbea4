//! What kernels do for drivers only: each is a switch, each switch is a known issue, and the way without it compiles.

use std::collections::BTreeSet;

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::known_issues::KnownIssues;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups;
use scanbox_testing::operator_files;

const WORKAROUNDS: &str = include_str!("../../../kernels/glsl/workarounds.glsl");
const KNOWN_ISSUES: &str = include_str!("../../../configs/known_issues.toml");

/// The switches: what is defined as 1 or 0.
fn switches() -> BTreeSet<String> {
    let define = |line: &str| {
        let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
        matches!(value, "0" | "1").then(|| name.to_owned())
    };
    WORKAROUNDS.lines().filter_map(define).collect()
}

#[test]
fn each_switch_is_a_known_issue_and_the_other_way_round() {
    let issues = KnownIssues::from_toml(KNOWN_ISSUES, "known_issues.toml").unwrap();
    assert_eq!(switches(), issues.workarounds().collect());
}

/// The shader of a config for the operator `argmax`, with a switch off.
fn without(switch: &'static str, label: &str) -> Vec<u32> {
    let operator = operator_files::example("argmax");
    let problem = Problem::of_user(Mode::Inclusive, operator.operator(), Placement::OutOfPlace).unwrap();
    let device = DeviceProfile { max_shared_bytes: 48 << 10, ..with_subgroups(4, true) };
    let plan = catalog::plan(&label.parse().unwrap(), &problem, 1000, &device).unwrap();
    let shader = plan.passes[0].shader.clone();
    let off = Shader { defines: [&shader.defines[..], &[(switch, 0)]].concat(), ..shader.clone() };
    let compiler = Compiler::new(None, None).unwrap().with_operator(operator);
    let [with, without] =
        [shader, off].map(|shader| compiler.compile(&shader).unwrap().code.spirv().unwrap());
    assert_ne!(with, without, "{switch} changes nothing in {label}");
    without.to_vec()
}

#[test]
fn kernels_compile_without_them() {
    let checked = [
        ("LAVAPIPE_SHARED_LOOPS", "b1.vec4.par.rake.wg64"),
        ("LAVAPIPE_SHUFFLES_AT_RENDEZVOUS", "pers.b1.vec4.gather.sub.early.wg64.u1"),
        ("NVIDIA_REDUCTIONS_BESIDE_SHUFFLES", "b1.vec4.par.rake.wg64"),
        ("NVIDIA_REDUCTIONS_BESIDE_SHUFFLES", "b1.vec4.par.rake.width2.wg64"),
        ("NVIDIA_REDUCTIONS_BESIDE_SHUFFLES", "b1.vec4.gatherfall.rake.wg4"),
        ("NVIDIA_VECTOR_LOADS", "b1.vec4.par.rake.wg64"),
        ("SWIFTSHADER_BRANCHES_AROUND_READS", "b1.vec4.par.sub.wg64"),
        ("SWIFTSHADER_REFERENCE_CASTS", "b1.vec4.par.rake.wg64"),
    ];
    for (switch, label) in checked {
        assert!(!without(switch, label).is_empty());
    }
    let all: BTreeSet<String> = checked.map(|(switch, _)| switch.to_owned()).into_iter().collect();
    assert_eq!(all, switches());
}

/// How many instructions of a module reduce the integers of a subgroup to their sum.
fn sums_of_subgroups(words: &[u32]) -> usize {
    const SUM: u32 = 349; // OpGroupNonUniformIAdd: result type, result, scope, operation, value
    const REDUCE: u32 = 0;
    let (mut at, mut sums) = (5, 0);
    while at < words.len() {
        let (length, code) = (words[at] >> 16, words[at] & 0xffff);
        sums += usize::from(code == SUM && words[at + 4] == REDUCE);
        at += length as usize;
    }
    sums
}

#[test]
fn persistent_kernels_that_nvidia_gets_wrong_reduce_by_shuffles_there_alone() {
    const NVIDIA: u32 = 0x10de;
    let compiler = Compiler::new(None, None).unwrap();
    let rows = [
        ("pers.b4.vec4.two.sub.shuffle.striped.wgid.early.baked.wg64.u2", true),
        ("pers.b4.vec4.gather.sub.shuffle.striped.wgid.early.baked.wg64.u2", true),
        ("pers.b4.vec4.gatherfall.sub.shuffle.striped.early.block.wg64.u2", true),
        ("pers.b4.vec4.two.sub.shuffle.striped.wgid.early.block.wg64.u2", false),
        ("pers.b4.vec4.gather.sub.shuffle.striped.wgid.early.wg64.u2", false),
    ];
    for (label, goes_round) in rows {
        for vendor_id in [NVIDIA, 0x1002] {
            let guarantees = Guarantee::VALUES.to_vec();
            let device = DeviceProfile { vendor_id, guarantees, ..with_subgroups(32, true) };
            let plan = catalog::plan(&label.parse().unwrap(), &Problem::default(), 1024, &device).unwrap();
            let module = compiler.compile(&plan.passes[0].shader).unwrap();
            let sums = sums_of_subgroups(&module.code.spirv().unwrap());
            assert_eq!(sums == 0, goes_round && vendor_id == NVIDIA, "{label}, {vendor_id:#x}: {sums}");
        }
    }
}
