//! A session with a page: times by a clock in steps of 100 us, as browsers show it to strangers, beside the one that it
//! is made of; and failures in the words of Dawn.

use scanbox_browser::driver::ExactSpans;
use scanbox_kernels::catalog::{self, CEILING_SHAPES};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::Plan;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::measure::{Protocol, Samples, Timed, TimedPlan, duration_ns, steady};
use scanbox_runner::webgpu::{self, WebGpu};

use super::{chromium, connection};

const STEP_NS: u32 = 100_000;
const RANDOM: Input = Input { kind: InputKind::Random, seed: 7 };

/// The samples of a plan by a clock that the page rounds, and what each was before.
struct Watched<'a> {
    timed: TimedPlan<'a>,
    exact: ExactSpans,
    /// Calls of a sample, and what a call took, exactly.
    taken: Vec<(u32, f64)>,
}

impl Timed for Watched<'_> {
    fn begin(&mut self) {
        self.timed.begin();
    }

    fn resolution_ns(&self) -> f64 {
        self.timed.resolution_ns()
    }

    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
        self.exact.borrow_mut().clear();
        let rounded = self.timed.time(calls, samples)?;
        let profile = self.timed.backend.profile();
        let exact = self.exact.borrow();
        let exact = exact.iter().filter_map(|span| duration_ns(*span, profile));
        self.taken.extend(exact.map(|ns| (calls, ns / f64::from(calls))));
        Ok(rounded)
    }
}

/// What WebGPU finds wrong is a failure in the words of Dawn, and no time.
#[test]
fn a_submission_that_dawn_refuses_is_a_failure_and_no_time() {
    if !chromium() {
        return;
    }
    let connection = connection();
    let listed = connection.listed.profile.clone();
    let compiler = Compiler::new(None, None).unwrap();
    let driver = connection.open().unwrap();
    let mut device = webgpu::drive(Box::new(driver), listed, &compiler).unwrap();
    let (problem, n) = (Problem::default(), 5000);
    let plan = catalog::copy(&problem, n, CEILING_SHAPES[0], &device.profile().clone());
    ready(&mut device, &compiler, &plan);
    device.load(&problem, &RANDOM, n).unwrap();
    // A buffer that is bound for reading and for writing in one pass.
    let mut twice = plan.clone();
    twice.passes[0].bindings[0] = twice.passes[0].bindings[1];
    for failure in [
        device.verify(&twice).map(drop).unwrap_err(),
        device.time(&twice, Cache::Hot, 3, 2).map(drop).unwrap_err(),
    ] {
        assert_eq!(failure.status, Status::RuntimeError, "{failure}");
        assert!(failure.reason.starts_with("Dawn") && failure.reason.contains("usage"), "{failure}");
    }
    assert_eq!(device.verify(&plan).unwrap().mismatches, 0);
}

/// Makes the pipelines of a plan.
fn ready(device: &mut WebGpu, compiler: &Compiler, plan: &Plan) {
    let shaders: Vec<_> = plan.passes.iter().map(|pass| pass.shader.clone()).collect();
    let modules: Vec<_> = compiler.compile_all(&shaders).into_iter().map(Result::unwrap).collect();
    device.create_pipelines(&modules).into_iter().for_each(|made| {
        made.unwrap();
    });
}

#[test]
fn medians_of_samples_that_the_page_rounds_are_those_of_the_same_samples_unrounded() {
    if !chromium() {
        return;
    }
    let connection = connection();
    let listed = connection.listed.profile.clone();
    let mut driver = connection.open().unwrap();
    let exact = driver.round_timestamps(STEP_NS).unwrap();
    let compiler = Compiler::new(None, None).unwrap();
    let mut device = webgpu::drive(Box::new(driver), listed, &compiler).unwrap();
    // It is found out, as in a browser that rounds by itself.
    let profile = device.profile().clone();
    let resolution_ns = profile.timer_resolution_ns;
    assert!((resolution_ns - f64::from(STEP_NS)).abs() < 1.0, "{resolution_ns} ns");
    let mut check = |plan: Plan, n: u64| {
        ready(&mut device, &compiler, &plan);
        device.load(&plan.problem, &RANDOM, n).unwrap();
        let timed = TimedPlan { backend: &mut device, plan: &plan, cache: Cache::Hot };
        let mut watched = Watched { timed, exact: exact.clone(), taken: Vec::new() };
        let (calls, rounded) = steady(&mut watched, None, &Protocol::default()).unwrap();
        // The last ones of so many calls, behind those of the warm-up.
        let same = watched.taken.iter().filter(|(of, _)| *of == calls).map(|(_, ns)| *ns);
        let same: Vec<f64> = same.collect();
        let exact = same[same.len() - rounded.len()..].to_vec();
        let [rounded, exact_ns] = [rounded, exact]
            .map(|steady| Samples { calls, steady, span: Vec::new() }.measurement().steady.median_ns as f64);
        assert!((rounded - exact_ns).abs() <= 0.01 * exact_ns, "{n}: {exact_ns} ns, rounded {rounded} ns");
        let sample_ns = exact_ns * f64::from(calls);
        assert!(sample_ns >= 200.0 * f64::from(STEP_NS), "{n}: {calls} calls in {sample_ns} ns");
    };
    let problem = Problem::default();
    for n in [1 << 10, 1 << 14, 1 << 18] {
        check(catalog::copy(&problem, n, CEILING_SHAPES[0], &profile), n);
        let config = "b4.vec4.fallback.sub.wg64".parse().unwrap();
        check(catalog::plan(&config, &problem, n, &profile).unwrap(), n);
    }
}
