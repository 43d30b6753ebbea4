//! How long one call takes: warm-up until the clocks have settled, then samples until the spread is small.
//!
//! Two times, both per call, both with everything that the plan's reset costs: `steady` is one of many dependent calls
//! back to back, `span` is one call between two timestamps.
//!
//! Some timers come in steps: those of browsers in 100 us. A sample lasts 200 of them at least, so that its time is
//! known to half a percent; a call that is shorter than one has no `span`; and equal samples are no certain ones.

use std::time::{Duration, Instant};

use scanbox_kernels::plan::Plan;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Cache, Status, TimeStats};
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Failure, TickInterval, leaves_input};

/// Settings of the measurement. All times are device time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// Work of the same kernel right before the first sample, at least. Clocks fall as soon as a device idles.
    pub warm_up_ns_min: u64,
    /// The same, at most: then sampling starts, settled or not.
    pub warm_up_ns_max: u64,
    /// Two successive batches that differ by less than this share count as settled.
    pub settled_ratio: f64,
    /// A sample holds so many calls that it takes about this long: timestamps cost as much as a small kernel.
    pub sample_ns: u64,
    /// Samples at least.
    pub samples_min: u32,
    /// Samples at most.
    pub samples_max: u32,
    /// Sampling ends when the uncertainty of the median (interquartile range over median, over the square root of the
    /// number of samples) is below this share.
    pub spread_ratio: f64,
    /// Sampling ends after this time in any case, but not before `samples_min`.
    pub sampling_ns_max: u64,
    /// Samples of a single call at most.
    pub span_samples: u32,
    /// Time for them.
    pub span_ns_max: u64,
    /// Time for the untimed twin of the samples (see [`crate::twin`]).
    pub twin_ns_max: u64,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            warm_up_ns_min: 8_000_000,
            warm_up_ns_max: 30_000_000,
            settled_ratio: 0.01,
            sample_ns: 1_000_000,
            samples_min: 7,
            samples_max: 40,
            spread_ratio: 0.002,
            sampling_ns_max: 20_000_000,
            span_samples: 15,
            span_ns_max: 3_000_000,
            twin_ns_max: 4_000_000_000,
        }
    }
}

impl Protocol {
    /// The same for a supervisor that gives a config this long: its twin takes a quarter of that at most.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        let quarter_ns = u64::try_from(timeout.as_nanos() / 4).unwrap_or(u64::MAX);
        Self { twin_ns_max: self.twin_ns_max.min(quarter_ns), ..self }
    }

    /// The same for a device that idled so long since it was last timed: it warms up as long. A device raises its
    /// clocks by how busy it was of late: where each row begins with a long wait for its pipelines, a short warm-up
    /// leaves them low (an NVIDIA H200 that works for a quarter of the time runs at half its speed, for seconds).
    #[must_use]
    pub fn after(self, idle: Duration) -> Self {
        let idle_ns = u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX).min(IDLE_NS_MAX);
        Self {
            warm_up_ns_min: self.warm_up_ns_min.max(idle_ns),
            warm_up_ns_max: self.warm_up_ns_max.max(idle_ns),
            ..self
        }
    }

    /// The same with another warm-up and another number of samples at least; their limits move with them.
    #[must_use]
    pub fn with(self, warm_up: Duration, samples: u32) -> Self {
        let warm_up_ns_min = u64::try_from(warm_up.as_nanos()).unwrap_or(u64::MAX);
        Self {
            warm_up_ns_min,
            warm_up_ns_max: self.warm_up_ns_max.max(warm_up_ns_min.saturating_mul(2)),
            samples_min: samples,
            samples_max: self.samples_max.max(samples),
            ..self
        }
    }
}

/// A device that idled longer than this is warmed up no longer.
const IDLE_NS_MAX: u64 = 100_000_000;
/// Calls in one sample at most: recording them must not take longer than running them.
const CALLS_MAX: u64 = 1000;
/// Steps of the timer in a sample at least.
const SAMPLE_STEPS: f64 = 200.0;
/// By how much samples are planned longer than that, so that none is shorter.
const SPARE: f64 = 1.05;
/// Steps of the timer from which on a single sample says about how long a call takes.
const ESTIMATE_STEPS: f64 = 20.0;
/// A clock that shows nothing for calls which took this long shows nothing at all.
const SILENT_MAX: Duration = Duration::from_secs(1);
/// Samples in one request to the device.
const BATCH_SAMPLES: u32 = 5;
/// How often a sample with impossible timestamps is taken again.
const RETRIES: u32 = 3;

/// Both times of one plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// Calls of a sample behind `steady`.
    pub calls: u32,
    /// Samples behind `steady`.
    pub samples: u32,
    /// One of many dependent calls.
    pub steady: TimeStats,
    /// One call on its own; `None` of a call that is shorter than a step of the timer, always or at times.
    pub span: Option<TimeStats>,
}

/// Samples in nanoseconds per call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples {
    /// Calls of a sample behind `steady`; of several blocks, of the last one.
    pub calls: u32,
    /// One of many dependent calls.
    pub steady: Vec<f64>,
    /// One call on its own; none of a call that is shorter than a step of the timer.
    pub span: Vec<f64>,
}

impl Samples {
    /// Their statistics; there is at least one behind `steady`.
    #[must_use]
    pub fn measurement(&self) -> Measurement {
        Measurement {
            calls: self.calls,
            samples: self.steady.len() as u32,
            steady: statistics(&self.steady),
            span: (!self.span.is_empty()).then(|| statistics(&self.span)),
        }
    }
}

/// Something whose calls can be timed.
pub trait Timed {
    /// A block of samples begins (see [`Backend::begin_block`]).
    fn begin(&mut self) {}

    /// The steps in nanoseconds in which its times come; 0: not known, and no matter.
    fn resolution_ns(&self) -> f64 {
        0.0
    }

    /// Takes `samples` samples of `calls` dependent calls back to back, in nanoseconds per sample. Impossible ones are
    /// left out.
    ///
    /// # Errors
    /// When it does not run to its end.
    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure>;
}

/// A plan on a device.
pub struct TimedPlan<'a> {
    /// The device.
    pub backend: &'a mut dyn Backend,
    /// The plan.
    pub plan: &'a Plan,
    /// Which buffers its calls work on.
    pub cache: Cache,
}

impl Timed for TimedPlan<'_> {
    fn begin(&mut self) {
        self.backend.begin_block();
    }

    fn resolution_ns(&self) -> f64 {
        self.backend.profile().timer_resolution_ns
    }

    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
        let intervals = self.backend.time(self.plan, self.cache, calls, samples)?;
        let profile = self.backend.profile();
        Ok(intervals.into_iter().filter_map(|interval| duration_ns(interval, profile)).collect())
    }
}

/// Measures a plan that has just been verified; `first_call` is the time of that run, if the device knows it.
///
/// # Errors
/// When the plan stops working, or the timestamps stay impossible. A twin has to follow where it does not fail: that
/// sees whether the plan writes to its input.
pub fn measure(
    backend: &mut dyn Backend,
    plan: &Plan,
    first_call: TickInterval,
    protocol: &Protocol,
) -> Result<Measurement, Failure> {
    let estimate_ns = duration_ns(first_call, backend.profile());
    let samples = block(&mut TimedPlan { backend, plan, cache: Cache::Hot }, estimate_ns, protocol);
    // Behind what fails there is no twin.
    let samples = if samples.is_err() { leaves_input(backend, plan, samples) } else { samples };
    Ok(samples?.measurement())
}

/// One block of samples: warm-up, then samples of both kinds. `estimate_ns` is what one call takes, as far as is known.
///
/// # Errors
/// As [`measure`].
pub fn block(
    timed: &mut dyn Timed,
    estimate_ns: Option<f64>,
    protocol: &Protocol,
) -> Result<Samples, Failure> {
    let (calls, steady) = steady(timed, estimate_ns, protocol)?;
    let per_call = median(&mut steady.clone());
    let span_samples =
        (protocol.span_ns_max as f64 / per_call).clamp(3.0, f64::from(protocol.span_samples)) as u32;
    let step_ns = timed.resolution_ns();
    let span = if per_call < step_ns {
        Vec::new()
    } else if per_call < ESTIMATE_STEPS * step_ns {
        // A call may be shorter than others and fall between two steps. Without it the others would be no fair sample.
        let times = take(timed, 1, span_samples)?;
        if times.len() < span_samples as usize { Vec::new() } else { times }
    } else {
        sample(timed, 1, span_samples)?
    };
    Ok(Samples { calls, steady, span })
}

/// The first half of a [`block`]: warm-up, then samples of calls back to back. Returns how many calls a sample has,
/// and the samples in nanoseconds per call.
///
/// # Errors
/// As [`measure`].
pub fn steady(
    timed: &mut dyn Timed,
    estimate_ns: Option<f64>,
    protocol: &Protocol,
) -> Result<(u32, Vec<f64>), Failure> {
    timed.begin();
    let length = SampleLength::new(timed.resolution_ns(), protocol);
    let estimate = match estimate_ns.filter(|&ns| length.is_known(ns)) {
        Some(ns) => ns,
        None if length.resolution_ns == 0.0 => median(&mut sample(timed, 1, 1)?),
        None => estimate(timed, &length)?,
    };
    let calls = length.calls(estimate);
    let (mut calls, mut sample_ns) = warm_up(timed, calls, &length, protocol)?;
    let mut taken = 0;
    loop {
        let samples = sample_until_narrow(timed, calls, sample_ns, protocol)?;
        taken += 1;
        if taken > RETRIES || length.is_enough(median(&mut samples.clone()) * f64::from(calls)) {
            return Ok((calls, samples));
        }
        // The device was slower while the length of samples was found: others used it too, or its clocks were low.
        let shortest_ns = samples.iter().copied().fold(f64::INFINITY, f64::min);
        calls = length.calls(shortest_ns);
        sample_ns = shortest_ns * f64::from(calls);
    }
}

/// How long a sample is to be.
struct SampleLength {
    /// In nanoseconds.
    sample_ns: f64,
    /// Calls at most.
    calls_max: f64,
    /// The steps of the timer in nanoseconds; 0: not known.
    resolution_ns: f64,
}

impl SampleLength {
    fn new(resolution_ns: f64, protocol: &Protocol) -> Self {
        let least_ns = SPARE * SAMPLE_STEPS * resolution_ns;
        let times = (least_ns / protocol.sample_ns as f64).max(1.0);
        Self {
            sample_ns: times * protocol.sample_ns as f64,
            calls_max: (times * CALLS_MAX as f64).ceil().min(f64::from(u32::MAX)),
            resolution_ns,
        }
    }

    /// Calls of a sample, where one takes this long.
    fn calls(&self, call_ns: f64) -> u32 {
        (self.sample_ns / call_ns).ceil().clamp(1.0, self.calls_max) as u32
    }

    /// Whether samples of this length have as many steps of the timer as they should.
    fn is_enough(&self, sample_ns: f64) -> bool {
        sample_ns >= SAMPLE_STEPS * self.resolution_ns
    }

    /// Whether steps of the timer leave much of a time like this.
    fn is_known(&self, ns: f64) -> bool {
        ns >= ESTIMATE_STEPS * self.resolution_ns
    }
}

/// About what a call takes where one alone may be shorter than a step of the timer: by more and more calls.
fn estimate(timed: &mut dyn Timed, length: &SampleLength) -> Result<f64, Failure> {
    let mut calls: u32 = 1;
    loop {
        let started = Instant::now();
        let ns = timed.time(calls, 1)?.first().copied().unwrap_or(0.0);
        let last = f64::from(calls) >= length.calls_max || started.elapsed() > SILENT_MAX;
        if length.is_known(ns) || (last && ns > 0.0) {
            return Ok(ns / f64::from(calls));
        }
        if last {
            let step = length.resolution_ns;
            let reason = format!(
                "{calls} calls in a row took no time by the device's clock, which has steps of {step} ns; it cannot be used"
            );
            return Err(Failure::new(Status::RuntimeError, reason));
        }
        calls = f64::from(calls.saturating_mul(4)).min(length.calls_max) as u32;
    }
}

/// Runs batches until two successive ones agree. Returns the calls per sample for the settled speed, and the time of a
/// sample.
fn warm_up(
    timed: &mut dyn Timed,
    mut calls: u32,
    length: &SampleLength,
    protocol: &Protocol,
) -> Result<(u32, f64), Failure> {
    let mut spent = 0.0;
    let mut previous: Option<f64> = None;
    loop {
        let mut batch = sample(timed, calls, BATCH_SAMPLES.min(protocol.samples_min))?;
        spent += batch.iter().sum::<f64>() * f64::from(calls);
        let now = median(&mut batch);
        let settled = previous.is_some_and(|before| (now - before).abs() <= protocol.settled_ratio * before);
        // The first call is slower than the rest: what it promised may be far off.
        calls = length.calls(now);
        if (settled && spent >= protocol.warm_up_ns_min as f64) || spent >= protocol.warm_up_ns_max as f64 {
            return Ok((calls, now * f64::from(calls)));
        }
        previous = Some(now);
    }
}

fn sample_until_narrow(
    timed: &mut dyn Timed,
    calls: u32,
    sample_ns: f64,
    protocol: &Protocol,
) -> Result<Vec<f64>, Failure> {
    let step_ns = timed.resolution_ns() / f64::from(calls);
    let mut samples = Vec::new();
    let mut batch = protocol.samples_min;
    loop {
        samples.extend(sample(timed, calls, batch)?);
        let stats = Quartiles::of(&mut samples.clone());
        let spread_ns = (stats.q3 - stats.q1) / (samples.len() as f64).sqrt();
        // More samples do not make the steps of a timer smaller.
        let uncertainty = spread_ns.max(step_ns) / stats.median;
        let spent = samples.len() as f64 * sample_ns;
        if uncertainty <= protocol.spread_ratio
            || spent >= protocol.sampling_ns_max as f64
            || samples.len() >= protocol.samples_max as usize
        {
            return Ok(samples);
        }
        batch = BATCH_SAMPLES;
    }
}

/// Samples in nanoseconds per call. Impossible ones are taken again.
fn sample(timed: &mut dyn Timed, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
    let times = take(timed, calls, samples)?;
    if times.len() < samples as usize {
        let reason = format!(
            "the device's timestamps were zero or negative {} times; its clock cannot be used",
            RETRIES + 1
        );
        return Err(Failure::new(Status::RuntimeError, reason));
    }
    Ok(times.into_iter().map(|ns| ns / f64::from(calls)).collect())
}

/// So many samples, in nanoseconds per sample. Impossible ones are taken again; where they stay so there are fewer.
///
/// # Errors
/// When it does not run to its end.
pub(crate) fn take(timed: &mut dyn Timed, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
    let mut times = Vec::with_capacity(samples as usize);
    for _ in 0..=RETRIES {
        let missing = samples.saturating_sub(times.len() as u32);
        if missing == 0 {
            break;
        }
        times.extend(timed.time(calls, missing)?);
    }
    // A program that answers with more than it was asked for has its say no more often than others.
    times.truncate(samples as usize);
    Ok(times)
}

/// The length of an interval in nanoseconds. Timestamps count modulo `2^valid_bits`; `None` where the second is not
/// after the first (a difference of more than half the range is a negative one).
#[must_use]
pub fn duration_ns(interval: TickInterval, profile: &DeviceProfile) -> Option<f64> {
    let bits = profile.timestamp_valid_bits;
    if bits == 0 {
        return None;
    }
    let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let ticks = interval.end.wrapping_sub(interval.begin) & mask;
    (ticks != 0 && ticks <= mask / 2).then(|| ticks as f64 * f64::from(profile.timestamp_period_ns))
}

/// Quartiles by linear interpolation between order statistics (type 7 of Hyndman and Fan 1996).
struct Quartiles {
    q1: f64,
    median: f64,
    q3: f64,
}

impl Quartiles {
    fn of(samples: &mut [f64]) -> Self {
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let position = share * (samples.len() - 1) as f64;
            let (below, above) = (samples[position.floor() as usize], samples[position.ceil() as usize]);
            below + (above - below) * position.fract()
        };
        Self { q1: at(0.25), median: at(0.5), q3: at(0.75) }
    }
}

/// The median; sorts the samples, of which there is at least one.
pub fn median(samples: &mut [f64]) -> f64 {
    Quartiles::of(samples).median
}

/// The statistics of a row, rounded to whole nanoseconds and never to zero.
fn statistics(samples: &[f64]) -> TimeStats {
    let quartiles = Quartiles::of(&mut samples.to_vec());
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let round = |ns: f64| (ns.round() as u64).max(1);
    TimeStats {
        median_ns: round(quartiles.median),
        min_ns: round(samples.iter().copied().fold(f64::INFINITY, f64::min)),
        mean_ns: round(mean),
        q1_ns: round(quartiles.q1),
        q3_ns: round(quartiles.q3),
        stddev_ns: variance.sqrt().round() as u64,
    }
}
