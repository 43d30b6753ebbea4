//! Timers that come in steps: what a sample has to be so that its time can be trusted, on the replay device.

use scanbox_kernels::catalog::{self, CEILING_SHAPES};
use scanbox_kernels::plan::Plan;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::measure::{Measurement, Protocol, Timed, TimedPlan, block};
use scanbox_runner::replay::{Replay, Script};

/// That of a browser.
const STEP_NS: f64 = 1e5;

fn copy(replay: &Replay, n: u64) -> Plan {
    catalog::copy(&Problem::default(), n, CEILING_SHAPES[0], replay.profile())
}

/// The times of a copy of `n` words by a script; a call takes 2 us and a bit.
fn measured(script: &str, n: u64, estimate_ns: Option<f64>) -> Result<Measurement, (Status, String)> {
    let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
    let plan = copy(&replay, n);
    let mut timed = TimedPlan { backend: &mut replay, plan: &plan, cache: Cache::Hot };
    let samples = block(&mut timed, estimate_ns, &Protocol::default());
    samples.map(|samples| samples.measurement()).map_err(|failure| (failure.status, failure.reason))
}

fn with_steps(script: &str, step_ns: f64) -> String {
    format!("timer_resolution_ns = {step_ns:?}\n{script}")
}

/// The samples of a device with a fine clock, by a protocol for steps, rounded to them or not.
struct Stepped<'a> {
    fine: TimedPlan<'a>,
    rounds: bool,
    clock_ns: f64,
}

impl Timed for Stepped<'_> {
    fn resolution_ns(&self) -> f64 {
        STEP_NS
    }

    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
        let fine = self.fine.time(calls, samples)?;
        let mut stamp = |ns: f64| {
            let begin_ns = self.clock_ns;
            self.clock_ns += ns;
            let steps = (self.clock_ns / STEP_NS).floor() - (begin_ns / STEP_NS).floor();
            if self.rounds { steps * STEP_NS } else { ns }
        };
        Ok(fine.into_iter().map(&mut stamp).filter(|ns| *ns > 0.0).collect())
    }
}

#[test]
fn medians_of_rounded_samples_are_those_of_unrounded_ones() {
    let check = |script: &str, n: u64| {
        let medians = [false, true].map(|rounds| {
            let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
            let plan = copy(&replay, n);
            let fine = TimedPlan { backend: &mut replay, plan: &plan, cache: Cache::Hot };
            let mut timed = Stepped { fine, rounds, clock_ns: 12_345.0 };
            let samples = block(&mut timed, None, &Protocol::default()).unwrap();
            samples.measurement().steady.median_ns as f64
        });
        let [fine, rounded] = medians;
        assert!((fine - rounded).abs() <= 0.01 * fine, "{script} {n}: {fine} ns, rounded {rounded} ns");
    };
    for script in ["", "noise_ratio = 0.01\nseed = 3", "noise_ratio = 0.003\noutlier_share = 0.02\nrun = 5"] {
        for n in [1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28] {
            check(script, n);
        }
    }
}

/// The samples of a device that gets faster, as one whose other users have gone: by this factor, after so many samples.
struct Hurried<'a> {
    stepped: Stepped<'a>,
    slow_samples: u32,
    factor: f64,
}

impl Timed for Hurried<'_> {
    fn resolution_ns(&self) -> f64 {
        STEP_NS
    }

    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
        let times = self.stepped.fine.time(calls, samples)?;
        let mut sample = |ns: f64| {
            let factor = if self.slow_samples > 0 { self.factor } else { 1.0 };
            self.slow_samples = self.slow_samples.saturating_sub(1);
            ((factor * ns) / STEP_NS).round() * STEP_NS
        };
        Ok(times.into_iter().map(&mut sample).filter(|ns| *ns > 0.0).collect())
    }
}

#[test]
fn samples_are_long_enough_where_the_device_was_slower_before() {
    for (slow_samples, factor) in [(0, 1.0), (12, 3.0), (17, 8.0), (20, 30.0)] {
        let mut replay = Replay::new(toml::from_str::<Script>("").unwrap());
        let plan = copy(&replay, 1 << 16);
        let fine = TimedPlan { backend: &mut replay, plan: &plan, cache: Cache::Hot };
        let stepped = Stepped { fine, rounds: true, clock_ns: 0.0 };
        let mut timed = Hurried { stepped, slow_samples, factor };
        let samples = block(&mut timed, None, &Protocol::default()).unwrap();
        let sample_ns = samples.measurement().steady.median_ns as f64 * f64::from(samples.calls);
        assert!(sample_ns >= 200.0 * STEP_NS * 0.999, "{slow_samples} {factor}: {sample_ns} ns");
    }
}

/// Single calls of about a step fall between two at times. That is no fault of the clock.
#[test]
fn calls_of_about_a_step_are_measured() {
    let mut told = [0, 0];
    for quarters in 72..=108 {
        let n = (f64::from(quarters) / 4.0).exp2() as u64;
        let script = "noise_ratio = 0.5\nseed = 3";
        let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
        let plan = copy(&replay, n);
        let fine = TimedPlan { backend: &mut replay, plan: &plan, cache: Cache::Hot };
        let mut timed = Stepped { fine, rounds: true, clock_ns: 12_345.0 };
        let samples = block(&mut timed, None, &Protocol::default());
        let samples = samples.unwrap_or_else(|failure| panic!("{n}: {failure}"));
        told[usize::from(samples.measurement().span.is_some())] += 1;
    }
    assert!(told[0] > 0 && told[1] > 0, "{told:?}");
}

#[test]
fn a_sample_has_200_steps_and_a_call_below_one_has_no_span() {
    let check = |n: u64, step_ns: f64| {
        let fine = measured("", n, None).unwrap();
        // What the first call says is of no use: it took no time, or a step.
        for estimate_ns in [None, Some(step_ns)] {
            let rounded = measured(&with_steps("", step_ns), n, estimate_ns).unwrap();
            let [a, b] = [fine.steady, rounded.steady].map(|time| time.median_ns as f64);
            assert!((a - b).abs() <= 0.01 * a, "{n}: {a} ns, {b} ns in steps of {step_ns}");
            let sample_ns = f64::from(rounded.calls) * a;
            assert!(sample_ns >= 200.0 * step_ns, "{n}: {} calls are {sample_ns} ns", rounded.calls);
            assert_eq!(rounded.span.is_some(), b >= step_ns, "{n}");
        }
        assert!(fine.span.is_some());
    };
    for n in [1 << 10, 1 << 20, 1 << 24, 1 << 28] {
        check(n, STEP_NS);
        check(n, 1e3);
    }
}

#[test]
fn a_timer_without_known_steps_changes_nothing() {
    let plain = measured("noise_ratio = 0.01", 1 << 16, None).unwrap();
    assert_eq!(measured("noise_ratio = 0.01\ntimer_resolution_ns = 0.0", 1 << 16, None).unwrap(), plain);
    assert!(plain.calls <= 1000, "{}", plain.calls);
    // Nor do steps that are nothing beside a sample, but in what they round.
    let fine = measured(&with_steps("noise_ratio = 0.001", 10.0), 1 << 16, Some(2500.0)).unwrap();
    assert!(fine.calls.abs_diff(plain.calls) <= plain.calls / 50, "{} {}", fine.calls, plain.calls);
}

#[test]
fn equal_samples_of_a_coarse_timer_are_not_certain() {
    let protocol = Protocol::default();
    let samples = |step_ns: f64| {
        let script = with_steps("", step_ns);
        // So that nothing but certainty ends it before the most samples.
        let patient = Protocol { sampling_ns_max: u64::MAX, ..protocol };
        let mut replay = Replay::new(toml::from_str::<Script>(&script).unwrap());
        let plan = copy(&replay, 1 << 10);
        let mut timed = TimedPlan { backend: &mut replay, plan: &plan, cache: Cache::Hot };
        block(&mut timed, None, &patient).unwrap().measurement().samples
    };
    assert_eq!(samples(0.0), protocol.samples_min);
    assert!(samples(STEP_NS) >= protocol.samples_max);
}

#[test]
fn a_clock_that_shows_nothing_is_a_failure_in_words() {
    let fault = "[[fault]]\nkind = \"zero_timestamps\"\n";
    let (status, reason) = measured(&with_steps(fault, STEP_NS), 1 << 10, None).unwrap_err();
    assert_eq!(status, Status::RuntimeError);
    assert!(reason.contains("took no time by the device's clock"), "{reason}");
    assert!(reason.contains("steps of 100000 ns"), "{reason}");
    let (status, reason) = measured(fault, 1 << 10, None).unwrap_err();
    assert_eq!(status, Status::RuntimeError);
    assert!(reason.contains("zero or negative"), "{reason}");
}
