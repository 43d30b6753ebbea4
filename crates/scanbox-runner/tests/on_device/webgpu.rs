//! WebGPU on a real device, through wgpu: kernels in WGSL are right in every circumstance, and what is wrong is found
//! and said in wgpu's words. Needs `SCANBOX_TEST_DEVICE=1`.

use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use scanbox_kernels::cases::{Builds, CaseRequest, CaseSelection, Circumstance, Pattern};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::{Code, Module, Pass, Plan};
use scanbox_model::api::Api;
use scanbox_model::config::Config;
use scanbox_model::parameters::Parameter;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::record::{Cache, Status};
use scanbox_model::safe_devices::{Guarantee, SafeDevices};
use scanbox_model::timer::Timer;
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::measure::duration_ns;
use scanbox_runner::twin::{self, Length};
use scanbox_runner::verify::{self, ItemVerdict, VerifyEvent, VerifyJob};
use scanbox_runner::webgpu::{self, WebGpu, WebGpuError, WebGpuOptions};

use super::harness::{RANDOM, compiler, device, turn};

mod late;

/// One of each family and stage that is there in WGSL.
const LABELS: &[&str] = &[
    "b1.scalar.seq.rake.wg64",
    "b4.vec4.par.rake.wg64",
    "b2.vec2.par.blelloch.wg128",
    "b2.vec4.par.sub.striped.early.split.wg64",
    "b4.vec4.fallback.sub.striped.split.wg64",
    "b1.scalar.fallback.ks.direct.split.wg64",
    "b4.vec2.gather.sub.direct.wgid.split.wg128",
    "b4.vec4.chain.sub.split.wg64",
    "rts.b2.vec4.none.sub.wg64",
    "stp.b2.vec4.none.sub.wg64",
    "redo.b2.vec4.none.sub.wg64",
    "one.b4.vec4.none.sub.wg256",
];

/// Devices whose workgroups start in order, so that kernels may rely on it. Those of `SwiftShader` do mostly, but not
/// on a busy machine: every sixteenth is of one thread.
const IN_ORDER: &str = r#"
[[device]]
match = { driver = "llvmpipe" }
guarantees = ["workgroup-order"]
why = "LP_NUM_THREADS=1"

[[device]]
match = { vendor_id = 0x10de }
guarantees = ["workgroup-order"]
why = "CUB relies on it"
"#;

/// A device whose workgroups are taken to make progress, for the time of one test.
struct WebGpuBench {
    device: WebGpu,
    compiler: Compiler,
    _turn: MutexGuard<'static, ()>,
}

fn options() -> WebGpuOptions {
    let elsewhere = Guarantee::VALUES.iter().copied().filter(|kept| *kept != Guarantee::WorkgroupOrder);
    let safe_devices = SafeDevices::from_toml(IN_ORDER, "IN_ORDER").unwrap().assuming(elsewhere);
    WebGpuOptions { timeout: Duration::from_secs(240), safe_devices, ..WebGpuOptions::default() }
}

fn bench() -> Option<WebGpuBench> {
    bench_with(&options())
}

fn bench_with(options: &WebGpuOptions) -> Option<WebGpuBench> {
    let turn = turn()?;
    let compiler = compiler();
    let device = webgpu::open("0", &compiler, options).unwrap_or_else(|error| panic!("{error}"));
    Some(WebGpuBench { device, compiler, _turn: turn })
}

impl WebGpuBench {
    /// The plan of a config, with its pipelines, of shaders that `change` has had its way with; none where a rule says
    /// no.
    #[allow(clippy::print_stderr, reason = "what was not tested must be said")]
    fn changed(
        &mut self,
        label: &str,
        problem: &Problem,
        n: u64,
        change: impl Fn(String) -> String,
    ) -> Option<Plan> {
        let config: Config = label.parse().unwrap_or_else(|error| panic!("{label}: {error}"));
        let plan = catalog::plan(&config, problem, n, self.device.profile());
        let plan = plan.map_err(|rejection| eprintln!("not tested: {label}: {rejection}")).ok()?;
        plan.passes
            .iter()
            .for_each(|pass| self.make(pass, &change).unwrap_or_else(|error| panic!("{label}: {error}")));
        Some(plan)
    }

    fn make(&mut self, pass: &Pass, change: &dyn Fn(String) -> String) -> Result<(), Failure> {
        let module = self.compiler.compile(&pass.shader).unwrap_or_else(|error| panic!("{error}"));
        let text = change(module.code.wgsl().unwrap().to_string());
        let module = Module { code: Code::Wgsl(text.into()), ..module };
        self.device.create_pipelines(&[module]).remove(0).map(drop)
    }

    fn plan(&mut self, label: &str, problem: &Problem, n: u64) -> Option<Plan> {
        self.changed(label, problem, n, |text| text)
    }

    fn copy(&mut self, n: u64, change: impl Fn(String) -> String) -> Plan {
        let shape = catalog::CEILING_SHAPES[0];
        let plan = catalog::copy(&Problem::default(), n, shape, self.device.profile());
        self.make(&plan.passes[0], &change).unwrap();
        self.device.load(&Problem::default(), &RANDOM, n).unwrap();
        plan
    }

    /// Every circumstance of a verification. `changed`: what becomes of the text of shaders.
    fn verdicts(&mut self, labels: &[&str], problem: &Problem, sizes: Option<Vec<u64>>) -> Vec<ItemVerdict> {
        let configs: Vec<Config> = labels.iter().map(|label| label.parse().unwrap()).collect();
        let request = CaseRequest {
            problem: *problem,
            patterns: Pattern::of_problem(problem).into_iter().take(1).collect(),
            sizes,
            thorough: false,
            seed: 3,
        };
        let cases = CaseSelection::new(&configs, self.device.profile(), &request, |_| Ok(()));
        let job = VerifyJob {
            problem: *problem,
            items: cases.items,
            variant: Variant::default(),
            builds: Builds::All,
            seed: 3,
            one_by_one: false,
        };
        let mut verdicts = Vec::new();
        let observer = &mut |event: VerifyEvent<'_>| -> Result<(), Failure> {
            if let VerifyEvent::Finished { verdict } = event {
                verdicts.push(verdict.clone());
            }
            Ok(())
        };
        verify::run(&mut self.device, &self.compiler, &job, &AtomicBool::new(false), observer).unwrap();
        verdicts
    }
}

fn problem(mode: Mode, element: Element, operator: Operator, placement: Placement) -> Problem {
    Problem::new(mode, element, operator, None, placement).unwrap()
}

fn of_type(element: Element, operator: Operator) -> Problem {
    problem(Mode::Inclusive, element, operator, Placement::OutOfPlace)
}

/// A few sizes around boundaries, and one of many tiles.
fn sizes() -> Option<Vec<u64>> {
    Some(vec![1, 255, 1024, 1025, 70_001])
}

#[test]
fn every_kernel_is_right_in_every_circumstance() {
    let Some(mut bench) = bench() else { return };
    let verdicts = bench.verdicts(LABELS, &Problem::default(), sizes());
    assert!(verdicts.len() >= 9, "{} configs", verdicts.len());
    for verdict in verdicts {
        assert_eq!(verdict.failed, None, "{}", verdict.config);
        let least = sizes().unwrap().len() as u64;
        // One size alone is one workgroup's.
        assert!(
            verdict.tally.cases >= least.min(3) && verdict.tally.calls > verdict.tally.cases,
            "{verdict:?}"
        );
    }
}

#[test]
fn every_problem_is_solved() {
    let Some(mut bench) = bench() else { return };
    for problem in [
        problem(Mode::Exclusive, Element::U32, Operator::Add, Placement::OutOfPlace),
        problem(Mode::Inclusive, Element::U32, Operator::Add, Placement::InPlace),
        problem(Mode::Reduce, Element::U32, Operator::Add, Placement::OutOfPlace),
        of_type(Element::I32, Operator::Min),
        of_type(Element::U32, Operator::Max),
        of_type(Element::F32, Operator::Add),
        problem(Mode::Exclusive, Element::F32, Operator::Max, Placement::OutOfPlace),
    ] {
        let labels = [
            "b4.vec4.fallback.sub.striped.split.wg64",
            "rts.b2.vec4.none.sub.wg64",
            "b4.vec4.par.rake.split.wg64",
        ];
        let verdicts = bench.verdicts(&labels, &problem, Some(vec![3, 1025, 20_001]));
        assert!(!verdicts.is_empty(), "{problem}");
        for verdict in verdicts {
            assert_eq!(verdict.failed, None, "{problem} {}", verdict.config);
        }
    }
}

/// Integers are compared with one reference, bit by bit: what both solve they solve alike.
#[test]
fn kernels_in_both_languages_give_the_same_bits() {
    let n = 70_001;
    let Some(mut vulkan) = device() else { return };
    let mut labels = Vec::new();
    for label in LABELS {
        let plan = catalog::plan(&label.parse().unwrap(), &Problem::default(), n, vulkan.device().profile());
        let Ok(plan) = plan else { continue };
        vulkan.prepare(&plan);
        vulkan.check_plan(&plan, &RANDOM);
        labels.push(*label);
    }
    drop(vulkan);
    assert!(labels.len() >= 9, "{labels:?}");
    let Some(mut bench) = bench() else { return };
    for label in labels {
        let Some(plan) = bench.plan(label, &Problem::default(), n) else { continue };
        bench.device.load(&Problem::default(), &RANDOM, n).unwrap();
        let comparison = bench.device.verify(&plan).unwrap_or_else(|failure| panic!("{label}: {failure}"));
        assert_eq!((comparison.mismatches, comparison.first), (0, None), "{label}");
        bench.device.keep(&plan).unwrap();
        assert_eq!(bench.device.compare_with_kept(&plan).unwrap().mismatches, 0, "{label}");
    }
}

#[test]
fn samples_take_time_and_their_calls_are_right() {
    let Some(mut bench) = bench() else { return };
    for label in ["b4.vec4.fallback.sub.striped.split.wg64", "rts.b2.vec4.none.sub.wg64"] {
        for cache in [Cache::Hot, Cache::Cold] {
            let n = 1 << 20;
            let Some(plan) = bench.plan(label, &Problem::default(), n) else { continue };
            bench.device.load(&Problem::default(), &RANDOM, n).unwrap();
            let intervals = bench.device.time(&plan, cache, 2, 3).unwrap();
            assert_eq!(intervals.len(), 3, "{label}");
            for interval in intervals {
                assert!(
                    duration_ns(interval, bench.device.profile()).is_some_and(|ns| ns > 1000.0),
                    "{interval:?}"
                );
            }
            let length = Length { calls: 9, per_submission: 4 };
            let twin = twin::run(&mut bench.device, &plan, cache, length).unwrap();
            assert_eq!((twin.wrong_calls, twin.reason), (0, None), "{label} {cache:?}");
        }
    }
    assert!(bench.device.busy_ns() > 0.0);
}

#[test]
fn a_device_says_through_what_it_is_driven_and_how_fine_its_clock_is() {
    for robustness in [true, false] {
        let Some(mut bench) = bench_with(&WebGpuOptions { robustness, ..options() }) else { return };
        let profile = bench.device.profile().clone();
        assert_eq!((profile.api, profile.robustness), (Api::WebGpu, Some(robustness)));
        assert!(profile.implementation.starts_with("wgpu 30."), "{}", profile.implementation);
        assert_eq!(profile.timer, Timer::Timestamps);
        assert!(profile.timer_resolution_ns > 0.0 && profile.timer_resolution_ns < 1e6, "{profile:?}");
        // Right without the checks too.
        let verdicts = bench.verdicts(&LABELS[4..5], &Problem::default(), Some(vec![20_001]));
        assert!(verdicts.iter().all(|verdict| verdict.failed.is_none()), "{verdicts:?}");
    }
}

#[test]
fn states_of_an_older_epoch_are_none() {
    let Some(mut bench) = bench() else { return };
    let (problem, n) = (Problem::default(), 70_001);
    let label = "b4.vec4.fallback.sub.striped.split.wg64";
    let replaced = |text: String, from: &str, to: &str| {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to)
    };
    // Every second tile says nothing for good: where workgroups run one after the other, nobody meets a state of
    // another call otherwise.
    let silent = |text: String| {
        let publish = "fn publish(tile: u32, state: u32, value: Element) {";
        replaced(text, publish, &format!("{publish}\n    if (tile % 2u == 1u) {{ return; }}"))
    };
    // Any epoch will do: what the call before has left is a state.
    let ignored = |text: String| replaced(silent(text), "(tag >> 2u) != params.epoch", "(tag >> 2u) == 0u");
    bench.device.load(&problem, &RANDOM, n).unwrap();
    bench.device.load_other(&problem, &Input { seed: 8, ..RANDOM }, n).unwrap();
    for (is_wrong, plan) in [
        (false, bench.changed(label, &problem, n, silent).unwrap()),
        (true, bench.changed(label, &problem, n, ignored).unwrap()),
    ] {
        let change: &dyn Fn(String) -> String = if is_wrong { &ignored } else { &silent };
        plan.passes.iter().for_each(|pass| bench.make(pass, change).unwrap());
        assert_eq!(bench.device.verify(&plan).unwrap().mismatches, 0, "on cleared memory");
        bench.device.scribble_scratch(Circumstance::Garbage.garbage(&plan).unwrap()).unwrap();
        let with_garbage = bench.device.verify(&plan).unwrap();
        assert_eq!(with_garbage.mismatches > 0, is_wrong, "{with_garbage:?}");
        let length = Length { calls: 9, per_submission: 100 };
        let twin = twin::run_alone(&mut bench.device, &plan, length, true).unwrap();
        assert_eq!(twin.wrong_calls > 0, is_wrong, "{twin:?}");
    }
}

/// Where workgroups run one after the other, no tile is ever missing: three of four say nothing for good, so that what
/// stands in for them is all there is, and each way of getting that wrong shows.
#[test]
fn what_stands_in_for_silent_tiles_is_right_and_else_found() {
    let Some(mut bench) = bench() else { return };
    let (problem, n) = (Problem::default(), 70_001);
    let silent = |text: String| {
        let publish = "fn publish(tile: u32, state: u32, value: Element) {";
        assert_eq!(text.matches(publish).count(), 1, "{publish}");
        text.replace(publish, &format!("{publish}\n    if (tile % 4u != 3u) {{ return; }}"))
    };
    bench.device.load(&problem, &RANDOM, n).unwrap();
    for (from, to) in [
        ("", ""),
        // A total stands for everything before it.
        ("select(0u, 1u, tile == 0u));\n}", "1u);\n}"),
        // A part of the tile is added up again and again.
        ("tile * TILE_VECTORS + k * WORKGROUP_SIZE + rank", "tile * TILE_VECTORS + rank"),
        // What others find of it has half of its bits.
        ("], part_word(state, word >> 16u));\n    return", "], part_word(state, word));\n    return"),
        // It is forgotten.
        ("prefix = combine(element_of(outcome.x), prefix);", ""),
    ] {
        let is_wrong = from != to;
        let change = |text: String| {
            // What is in a loop is there once for each of its four rounds.
            let times = if from.contains("k *") { 4 } else { 1 };
            assert!(!is_wrong || text.matches(from).count() == times, "{from}");
            silent(if is_wrong { text.replace(from, to) } else { text })
        };
        let plan = bench.changed("b4.vec4.fallback.sub.striped.split.wg64", &problem, n, change).unwrap();
        let comparison = bench.device.verify(&plan).unwrap();
        assert_eq!(comparison.mismatches > 0, is_wrong, "{from} {comparison:?}");
    }
}

#[test]
fn what_is_not_written_and_what_is_written_behind_the_end_is_found() {
    let Some(mut bench) = bench() else { return };
    let n = 5000;
    let check = |bench: &mut WebGpuBench, from: &str, to: &str, first: u64| {
        let plan = bench.copy(n, |text| {
            assert!(text.contains(from), "{text}");
            text.replace(from, to)
        });
        let comparison = bench.device.verify(&plan).unwrap();
        assert!(comparison.mismatches > 0, "{to}");
        assert_eq!(comparison.first.unwrap().index, first, "{to}");
    };
    check(&mut bench, "words[at] = source[at];", "", 0);
    check(&mut bench, "words[at] = source[at];", "words[at] = source[at]; words[1250u + at % 8u].x = 1u;", n);
}

/// The states of a wrong kernel do no harm to the next one.
#[test]
fn what_is_wrong_with_a_shader_is_said_in_words_of_wgpu() {
    let Some(mut bench) = bench() else { return };
    let n = 5000;
    let plan = bench.copy(n, |text| text);
    let refused =
        bench.make(&plan.passes[0], &|text| text.replace("fn main(", "fn main(nonsense ")).unwrap_err();
    assert_eq!(refused.status, Status::CompileError);
    assert!(refused.reason.contains("wgpu") && refused.reason.contains("nonsense"), "{refused}");
    // What the layout has not is found when the pipeline is made; more workgroups than there may be, by the submission.
    let mut large = plan.clone();
    let row = bench.device.profile().max_workgroup_count[0];
    large.passes[0].workgroups = u64::from(row) * u64::from(row) * 2;
    assert_eq!(bench.device.verify(&large).unwrap_err().status, Status::Unsupported);
    let mut short = plan.clone();
    short.passes[0].bindings.pop();
    let failure = bench.device.verify(&short).unwrap_err();
    assert_eq!(failure.status, Status::RuntimeError, "{failure}");
    assert!(bench.device.time(&short, Cache::Hot, 1, 1).is_err());
    // The session goes on.
    assert_eq!(bench.device.verify(&plan).unwrap().mismatches, 0);
}

/// A buffer that is bound for reading and for writing in one pass: WebGPU says no when work is submitted.
#[test]
fn a_submission_that_wgpu_refuses_is_a_failure_and_no_time() {
    let Some(mut bench) = bench() else { return };
    let plan = bench.copy(5000, |text| text);
    let mut twice = plan.clone();
    twice.passes[0].bindings[0] = twice.passes[0].bindings[1];
    for failure in [
        bench.device.verify(&twice).map(drop).unwrap_err(),
        bench.device.time(&twice, Cache::Hot, 3, 2).map(drop).unwrap_err(),
    ] {
        assert_eq!(failure.status, Status::RuntimeError, "{failure}");
        assert!(failure.reason.contains("wgpu: ") && failure.reason.contains("usage"), "{failure}");
    }
    assert_eq!(bench.device.verify(&plan).unwrap().mismatches, 0);
}

#[test]
fn devices_are_named_as_by_vulkan() {
    let Some(bench) = bench() else { return };
    let devices = webgpu::devices(&options()).unwrap();
    assert_eq!(devices[0].profile.name, bench.device.profile().name);
    let open = |selector: &str| webgpu::open(selector, &bench.compiler, &options()).map(drop);
    assert!(open(&devices[0].profile.name).is_ok() || devices.len() > 1);
    for selector in ["99", "no such device", ""] {
        assert!(matches!(open(selector), Err(WebGpuError::Select(_))), "{selector}");
    }
}
