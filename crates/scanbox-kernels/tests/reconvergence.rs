//! Kernels as they run where a device has maximal reconvergence.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::{Compiler, ProbeShader, compile_probe};
use scanbox_kernels::plan::Module;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::spirv::reconverging;
use scanbox_testing::device::with_subgroups;

/// A module can ask for it: its branches join where the extension allows it.
#[track_caller]
pub fn can_ask(module: &Module) {
    let words = module.code.spirv().unwrap();
    let asks = reconverging(&words).unwrap_or_else(|reason| panic!("{}: {reason}", module.shader));
    // The extension has 9 words, the mode 3.
    assert_eq!(asks.len(), words.len() + 12, "{}", module.shader);
}

/// What `spirv-val` says of a module; `None` where there is no such program.
fn validated(folder: &Path, words: &[u32]) -> Option<(ExitStatus, String)> {
    let file = folder.join("kernel.spv");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(&file, bytes).unwrap();
    let output = Command::new("spirv-val").args(["--target-env", "vulkan1.3"]).arg(&file).output().ok()?;
    Some((output.status, String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// One of Debian 12 knows no such mode, and refuses nothing else.
#[test]
fn validators_take_kernels_that_ask() {
    let device = DeviceProfile {
        guarantees: Guarantee::VALUES.to_vec(),
        compute_units: Some(7),
        uniform_control_flow: true,
        ..with_subgroups(32, true)
    };
    let folder = tempfile::tempdir().unwrap();
    for label in [
        "b4.vec4.par.rake.wg64",
        "b4.vec4.fallback.sub.clean.wg64",
        "pers.b4.vec4.gather.sub.wgid.early.turn.wg64.u2",
        "rts.b1.vec4.none.rake.block.wg32",
    ] {
        let config: Config = label.parse().unwrap();
        let plan = catalog::plan(&config, &Problem::default(), 1 << 20, &device).unwrap();
        let module = Compiler::new(None, None).unwrap().compile(&plan.passes[0].shader).unwrap();
        can_ask(&module);
        let words = module.code.spirv().unwrap();
        let asks = reconverging(&words).unwrap();
        let Some((before, said)) = validated(folder.path(), &words) else { return };
        assert!(before.success(), "{label}: {said}");
        let (after, said) = validated(folder.path(), &asks).unwrap();
        assert!(after.success() || said.contains("Invalid execution mode operand: 6023"), "{label}: {said}");
    }
}

#[test]
fn probes_can_ask() {
    use ProbeShader::{Load, Order, Progress, Residents, Speed, Subgroups};
    let residents = Residents { held: 8, shared_words: 16 };
    for probe in [Speed, Order, Subgroups, Progress, residents, Load] {
        can_ask(&compile_probe(&probe.shader(64, 32)).unwrap());
    }
}
