//! The probe on the replay device, whose script says what arguments cost: what follows, and how it fails.

use scanbox_kernels::glsl::Compiler;
use scanbox_model::config::Arguments;
use scanbox_model::probe::ArgumentsProbe;
use scanbox_model::record::Status;
use scanbox_runner::backend::Failure;
use scanbox_runner::probe;
use scanbox_runner::replay::{Replay, Script};

fn probed(script: &str) -> Result<ArgumentsProbe, Failure> {
    let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
    probe::arguments(&mut replay, &Compiler::new(None, None).unwrap())
}

#[test]
fn what_arguments_cost_decides() {
    let check = |costs: [f64; 3], noise: &str, expected: Arguments| {
        let probe = probed(&format!("arguments_ns = {costs:?}\n{noise}")).unwrap();
        assert_eq!(probe.arguments, expected, "{costs:?}, {noise}: {probe:?}");
        assert_eq!(probe.sizes.iter().map(|size| size.n).collect::<Vec<_>>(), [1 << 10, 1 << 14, 1 << 18]);
        for size in probe.sizes {
            let gain = costs[0] - costs[1];
            assert!((size.push_ns - size.block_ns - gain).abs() < 25.0, "{costs:?}, {noise}: {size:?}");
        }
    };
    let noise =
        "noise_ratio = 0.01\noutlier_share = 0.02\nwaking_ns = 2e7\nwaking_ratio = 0.4\ndrift_ratio = 0.02";
    for noise in ["", noise] {
        check([450.0, 190.0, 0.0], noise, Arguments::Block);
        check([190.0, 450.0, 0.0], noise, Arguments::Push);
        check([0.0, 0.0, 0.0], noise, Arguments::Push);
    }
    // A hundredth of 4 us is more than 30 ns.
    check([0.0, 0.0, 0.0], "launch_ns = 4000.0", Arguments::Push);
    check([60.0, 0.0, 0.0], "launch_ns = 4000.0", Arguments::Block);
    check([35.0, 0.0, 0.0], "launch_ns = 4000.0", Arguments::Push);
    // Whatever baked arguments cost.
    check([450.0, 450.0, 0.0], "", Arguments::Push);
}

#[test]
fn a_copy_that_fails_decides_nothing() {
    let check = |kind: &str, config: &str, status: Status| {
        let script = format!(
            "arguments_ns = [450.0, 190.0, 0.0]\n[[fault]]\nkind = \"{kind}\"\nconfig = \"{config}\""
        );
        let failure = probed(&script).unwrap_err();
        assert_eq!(failure.status, status, "{kind} of {config}: {failure}");
    };
    check("wrong_element", "copy.b1.block", Status::WrongResult);
    check("wrong_last", "copy.b1.wg256", Status::WrongResult);
    check("zero_timestamps", "copy.b1.block", Status::RuntimeError);
    check("out_of_memory", "load", Status::OutOfMemory);
    check("device_lost", "copy.b1.wg256", Status::DeviceLost);
    check("device_lost", "pipeline", Status::DeviceLost);
}
