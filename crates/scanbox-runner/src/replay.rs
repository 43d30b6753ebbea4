//! A scriptable device without hardware: answers from a model, and fails on demand. Every sweep, resume and gate test
//! runs on it.
//!
//! A script is TOML: the device, its speed, its noise, what is slower than it was, and a list of faults. The seed
//! decides how fast each config is; the run, together with the seed, decides the noise. So two scripts that differ in
//! `run` alone are one device on two days. Two processes of one run have the same noise, draw for draw: where a command
//! starts several to see how they differ, as `scanbox rerun` does, each needs a script of its own.
//!
//! ```toml
//! api = "webgpu"            # with `implementation` and `robustness`; left out: Vulkan
//! timer_resolution_ns = 1e5
//! launch_ns = 2000.0
//! bandwidth_gbps = 1000.0
//! noise_ratio = 0.015
//! waking_ns = 1e8
//! waking_ratio = 1.4
//! outlier_share = 0.01
//! block_noise_ratio = 0.008
//! drift_ratio = 0.02
//! run = 7
//!
//! [noise]                   # see `noise::NoiseModel`
//! small_ratio = 0.05
//! large_ratio = 0.003
//!
//! [[slow]]
//! factor = 1.05
//! config = "b4.vec4"        # as in a fault
//! n = 4096
//!
//! [[fault]]
//! kind = "wrong_element"
//! config = "b4.vec4"        # the beginning of a label; left out: every config. `load` is the load of an input, `pipeline`
//!                           # the making of a pipeline
//! n = 4096                  # left out: every size
//! share = 0.1               # of the points that match; left out: all
//! after = 2                 # how often it goes well first; left out: never
//! times = 1                 # how often in the life of this device; left out: always
//! ```

mod asked;
mod blocked;
mod faults;
pub mod noise;
mod script;

use std::sync::Arc;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scanbox_kernels::cases::Garbage;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::{GUARD_WORDS, Module, Plan, PlanKind};
use scanbox_model::config::Arguments;
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::problem::{Element, Problem};
use scanbox_model::record::{Cache, Status};

use self::asked::registers_of;
use self::blocked::{counts, hang, waits_for_ever};
use self::noise::{NoiseModel, RowNoise, Weather, factor, unit_interval};
pub use self::script::{Fault, FaultKind, ProbeScript, Script, ScriptError, Slow};
use crate::backend::{
    Backend, ElementComparison, Failure, Mismatch, PipelineInfo, ProbeAnswer, ProbeCall, RoundingError,
    TickInterval, cold_slots,
};
use crate::twin::{Checked, Course, TwinStep};
use scanbox_kernels::ledger::Ledger;

/// The device that a script describes.
#[derive(Debug)]
pub struct Replay {
    script: Script,
    profile: Arc<DeviceProfile>,
    noise: ChaCha8Rng,
    weather: Weather,
    row_noise: RowNoise,
    happened: Vec<u32>,
    loaded: u64,
    clock_ticks: u64,
    busy_ns: f64,
    throttle: f64,
    /// What the whole run has in common.
    drift: f64,
    /// What the measurement that goes on has in common, and what it measures.
    block: Option<(PlanKind, u64, f64)>,
    /// Whether it has samples: the call that is verified belongs to the block behind it.
    block_has_samples: bool,
    ledger: Ledger,
    /// Whether the scratch memory holds something else than the ledger says.
    spoiled: bool,
    /// Calls since the scratch memory was forgotten.
    calls: u64,
    lost: Option<Failure>,
}

impl Replay {
    /// A device that follows the script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        // The first run of a seed is the stream of the seed itself.
        let mut noise = ChaCha8Rng::seed_from_u64(script.seed);
        noise.set_stream(script.run);
        let night = script.night.unwrap_or(script.run);
        let mut of_night = ChaCha8Rng::seed_from_u64(!script.seed);
        of_night.set_stream(night);
        let drift = if script.drift_ratio > 0.0 { factor(&mut of_night, script.drift_ratio) } else { 1.0 };
        Self {
            noise,
            weather: Weather::new(script.noise, script.seed.wrapping_mul(31).wrapping_add(night)),
            row_noise: RowNoise::new(script.noise, script.seed, script.run),
            happened: vec![0; script.faults.len()],
            profile: Arc::new(script.profile()),
            loaded: 0,
            // Close to the end of 48 bits, so that every session sees timestamps wrap.
            clock_ticks: (1 << 48) - 1_000_000,
            busy_ns: 0.0,
            throttle: 1.0,
            drift,
            block: None,
            block_has_samples: false,
            ledger: Ledger::default(),
            spoiled: false,
            calls: 0,
            lost: None,
            script,
        }
    }

    /// The profile, for what is known of the device beside what the script says.
    pub fn profile_mut(&mut self) -> &mut DeviceProfile {
        Arc::make_mut(&mut self.profile)
    }

    /// How long a call of this plan takes on the device without noise.
    fn model_ns(&self, plan: &Plan) -> f64 {
        let is_ceiling = plan.is_ceiling();
        let efficiency = if is_ceiling {
            1.0
        } else {
            0.5 + 0.45 * unit_interval(&format!("speed {} {}", self.script.seed, plan.label))
        };
        let transfer_ns = plan.bytes_moved as f64 / self.script.bandwidth_gbps / efficiency;
        let hit = |slow: &&Slow| {
            let named =
                if slow.config.is_empty() { !is_ceiling } else { plan.label.starts_with(&slow.config) };
            named && slow.n.is_none_or(|n| n == plan.n)
        };
        let slower: f64 = self.script.slow.iter().filter(hit).map(|slow| slow.factor).product();
        let waking = if self.busy_ns < self.script.waking_ns { 1.0 + self.script.waking_ratio } else { 1.0 };
        (self.script.call_ns(plan) + transfer_ns)
            * slower
            * waking
            * self.throttle
            * self.drift
            * (1.0 + self.script.slowdown_ratio)
    }

    /// A sample around the model: with the noise of the measurement, noise of its own, and outliers.
    fn sample_ns(&mut self, plan: &Plan) -> f64 {
        let block = self.block_factor(plan);
        let own = factor(&mut self.noise, self.script.noise_ratio);
        let outlier = if self.noise.random::<f64>() < self.script.outlier_share { 2.0 } else { 1.0 };
        self.model_ns(plan) * block * own * outlier
    }

    /// What the measurement that goes on has in common; another plan begins another one, and so does another block.
    fn block_factor(&mut self, plan: &Plan) -> f64 {
        if self.script.block_noise_ratio == 0.0 && self.script.noise == NoiseModel::default() {
            return 1.0;
        }
        match &self.block {
            Some((kind, n, factor)) if *kind == plan.kind && *n == plan.n => *factor,
            _ => {
                let blocks = self.weather.next_block() + self.row_noise.next_block(&plan.label, plan.n);
                let factor = factor(&mut self.noise, self.script.block_noise_ratio) * blocks.exp();
                self.block = Some((plan.kind.clone(), plan.n, factor));
                self.block_has_samples = false;
                factor
            }
        }
    }

    fn interval(&mut self, ns: f64) -> TickInterval {
        let mask = (1 << 48) - 1;
        let begin = self.clock_ticks;
        self.clock_ticks = self.clock_ticks.wrapping_add(ns.round().max(1.0) as u64) & mask;
        self.busy_ns += ns;
        // A tick is a nanosecond.
        let step = (self.script.timer_resolution_ns as u64).max(1);
        TickInterval { begin: begin - begin % step, end: self.clock_ticks - self.clock_ticks % step }
    }

    /// Takes the turn of a call. Returns whether it finds its scratch memory as it expects it.
    fn finds_scratch(&mut self, plan: &Plan) -> bool {
        let turn = self.ledger.turn(&plan.scratch, 1);
        self.spoiled &= !turn.adopt;
        plan.scratch.content.is_stateless() || !self.spoiled
    }

    fn alive(&self) -> Result<(), Failure> {
        self.lost.clone().map_or(Ok(()), Err)
    }
}

impl Backend for Replay {
    fn profile(&self) -> &Arc<DeviceProfile> {
        &self.profile
    }

    fn learn(&mut self, found: GuaranteesProbe) {
        self.profile_mut().guarantee_facts.probe = Some(found);
    }

    fn ask(&mut self, call: &ProbeCall<'_>) -> Result<ProbeAnswer, Failure> {
        self.answer(call)
    }

    fn create_pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineInfo, Failure>> {
        let one = |module: &Module| {
            let registers = Some(registers_of(&module.shader));
            self.fail_at("pipeline", 0).map(|()| PipelineInfo { registers, ..PipelineInfo::default() })
        };
        modules.iter().map(one).collect()
    }

    fn as_run(&mut self, plan: &Plan) -> Result<Option<PipelineInfo>, Failure> {
        let bakes = plan.passes.iter().any(|pass| pass.shader.arguments() == Arguments::Baked);
        let is_late = plan.build().is_some_and(|build| build.variant.late);
        let late = self.script.late_registers.filter(|_| is_late);
        let registers = late.or(self.script.baked_registers.filter(|_| bakes));
        Ok(registers.map(|_| PipelineInfo { registers, ..PipelineInfo::default() }))
    }

    fn load(&mut self, problem: &Problem, _input: &Input, n: u64) -> Result<(), Failure> {
        let bytes = 3 * n * problem.element_bytes();
        if bytes > self.profile.memory_bytes {
            let reason = format!("{bytes} bytes, where the device has {}", self.profile.memory_bytes);
            return Err(Failure::new(Status::OutOfMemory, reason));
        }
        self.fail_at("load", n)?;
        self.loaded = n;
        Ok(())
    }

    fn load_other(&mut self, problem: &Problem, _input: &Input, n: u64) -> Result<(), Failure> {
        let bytes = 5 * n * problem.element_bytes();
        if bytes > self.profile.memory_bytes {
            return Err(Failure::new(Status::OutOfMemory, "no memory for another input"));
        }
        Ok(())
    }

    fn lost(&self) -> Option<&Failure> {
        self.lost.as_ref()
    }

    fn loaded_elements(&self) -> u64 {
        self.loaded
    }

    fn busy_ns(&self) -> f64 {
        self.busy_ns
    }

    fn verify(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        use FaultKind as F;
        self.alive()?;
        std::thread::sleep(Duration::from_millis(self.script.wall_ms_per_config));
        let ns = self.sample_ns(plan);
        let good = ElementComparison {
            compared: plan.outputs() + GUARD_WORDS,
            mismatches: 0,
            first: None,
            total: None,
            error: plan
                .problem
                .rounds()
                .then_some(RoundingError { max: plan.error_bound / 8.0, bound: plan.error_bound }),
            call: self.interval(ns),
            counts: plan.counted_tiles().map(|tiles| counts(plan, tiles)),
        };
        if waits_for_ever(plan) {
            hang();
        }
        let wrong = |index| ElementComparison {
            mismatches: 1,
            first: Some(Mismatch { index, expected: 1, got: 2, element: Element::U32, ..<_>::default() }),
            ..good
        };
        let kinds = [
            F::WrongElement,
            F::WrongLast,
            F::WriteBehind,
            F::WrongTotal,
            F::LosesTickets,
            F::DeviceLost,
            F::Hang,
            F::Crash,
            F::OutOfMemory,
            F::PipelineError,
            F::Throttle,
            F::Recover,
        ];
        let finds_scratch = self.finds_scratch(plan);
        let found = match self.fault(plan, &kinds) {
            Some(F::WrongElement) => Ok(wrong(0)),
            Some(F::LosesTickets) => {
                self.spoiled = true;
                Ok(wrong(0))
            }
            Some(F::WrongLast) => Ok(wrong(plan.outputs() - 1)),
            Some(F::WriteBehind) => Ok(wrong(plan.outputs())),
            Some(F::WrongTotal) if plan.stores_total() => {
                let ElementComparison { first, .. } = wrong(0);
                Ok(ElementComparison { first: None, total: first, ..wrong(0) })
            }
            Some(F::OutOfMemory) => Err(Failure::new(Status::OutOfMemory, "scripted")),
            Some(F::PipelineError) => Err(Failure::new(Status::PipelineError, "scripted")),
            Some(F::DeviceLost) => Err(self.lose()),
            Some(F::Crash) => std::process::abort(),
            Some(F::Hang) => hang(),
            Some(kind @ (F::Throttle | F::Recover)) => {
                self.throttle = if kind == F::Throttle { 2.0 } else { 1.0 };
                Ok(good)
            }
            _ if !finds_scratch => Ok(wrong(0)),
            _ => Ok(good),
        };
        if found.as_ref().map_or(true, |comparison| comparison.mismatches > 0) {
            self.ledger.forget();
        }
        found
    }

    fn keep(&mut self, _plan: &Plan) -> Result<(), Failure> {
        self.alive()
    }

    fn compare_with_kept(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        self.alive()?;
        let element = plan.problem.element();
        let other = self.fault(plan, &[FaultKind::OtherBits]).is_some();
        Ok(ElementComparison {
            compared: plan.outputs() + GUARD_WORDS,
            mismatches: u64::from(other),
            first: other.then_some(Mismatch { element, expected: 1, got: 2, ..Mismatch::default() }),
            ..ElementComparison::default()
        })
    }

    fn reserve_scratch(&mut self, _bytes: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// There is no memory to put it into, but an account of it.
    fn scribble_scratch(&mut self, garbage: Garbage) -> Result<(), Failure> {
        garbage.tell(&mut self.ledger);
        self.alive()
    }

    fn forget_scratch(&mut self) {
        self.ledger.forget();
        self.calls = 0;
    }

    fn begin_block(&mut self) {
        if std::mem::take(&mut self.block_has_samples) {
            self.block = None;
        }
    }

    fn time(
        &mut self,
        plan: &Plan,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<TickInterval>, Failure> {
        use FaultKind as F;
        self.alive()?;
        let ratio = match cache {
            Cache::Hot => 1.0,
            Cache::Cold => self.script.cold_ratio,
        };
        if plan.kind == PlanKind::Empty {
            // It is never verified, where others meet these.
            match self.fault(plan, &[F::DeviceLost, F::Hang, F::Crash]) {
                Some(F::DeviceLost) => return Err(self.lose()),
                Some(F::Hang) => hang(),
                Some(F::Crash) => std::process::abort(),
                _ => {}
            }
        }
        // One turn stands for all: only the first of them may clear the memory.
        self.finds_scratch(plan);
        self.calls += u64::from(calls) * u64::from(samples);
        let mut intervals: Vec<TickInterval> = (0..samples)
            .map(|_| {
                let ns = self.sample_ns(plan) * f64::from(calls) * ratio;
                self.interval(ns)
            })
            .collect();
        self.block_has_samples = true;
        match self.fault(plan, &[F::ZeroTimestamps, F::BackwardTimestamps, F::ZeroTimestampOnce]) {
            Some(F::ZeroTimestamps) => intervals.fill(TickInterval::default()),
            Some(F::BackwardTimestamps) => {
                for interval in &mut intervals {
                    std::mem::swap(&mut interval.begin, &mut interval.end);
                }
            }
            Some(F::ZeroTimestampOnce) => intervals[0] = TickInterval::default(),
            _ => {}
        }
        Ok(intervals)
    }

    fn twin(&mut self, plan: &Plan, course: &Course<'_>) -> Result<Vec<Checked>, Failure> {
        use FaultKind as F;
        let &Course { cache, steps, alternates, .. } = course;
        self.alive()?;
        let slots = match cache {
            Cache::Hot => 1,
            Cache::Cold => cold_slots(plan.n * plan.problem.element_bytes()),
        };
        let kinds = [
            F::WrongTimed,
            F::WrongSecond,
            F::WrongLate,
            F::WrongStale,
            F::WrongCold,
            F::KeepsAnswer,
            F::WrongTimedTotal,
        ];
        let fault = self.fault(plan, &kinds).filter(|fault| match fault {
            F::WrongStale | F::KeepsAnswer => alternates,
            F::WrongTimedTotal => plan.stores_total(),
            _ => true,
        });
        let (mut right, mut poisoned) = (true, None);
        let mut checked = Vec::new();
        for step in steps {
            match *step {
                TwinStep::Poison(call) => poisoned = Some(call),
                TwinStep::Call(call) => {
                    self.calls += 1;
                    let finds_scratch = self.finds_scratch(plan);
                    // What it finds is poison, or the answer to the other input.
                    let keeps = fault == Some(F::KeepsAnswer) && poisoned != Some(call);
                    right = finds_scratch && !keeps && is_right(fault, call, call % slots, self.calls);
                    let ns = self.model_ns(plan);
                    self.interval(ns);
                }
                TwinStep::Compare(call) => {
                    // Calls on cold memory all come before the first comparison.
                    let right =
                        if slots > 1 { is_right(fault, call, call % slots, self.calls) } else { right };
                    let of_total = right && fault == Some(F::WrongTimedTotal);
                    checked.push(Checked {
                        call,
                        mismatches: u64::from(!right || of_total),
                        first: (!right).then_some(0),
                        of_total,
                        max_error: plan.error_bound / 8.0,
                    });
                }
            }
        }
        if checked.iter().any(|one| one.mismatches > 0) {
            self.ledger.forget();
        }
        self.check_input(plan)?;
        Ok(checked)
    }

    fn check_input(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.alive()?;
        let fault = self.fault(plan, &[FaultKind::WritesInput]);
        fault.map_or(Ok(()), |_| Err(Failure::new(Status::WrongResult, "it writes to its input: scripted")))
    }
}

/// Whether a call of a twin is right, on this slot, after so many calls.
fn is_right(fault: Option<FaultKind>, call: u64, slot: u64, calls: u64) -> bool {
    match fault {
        Some(FaultKind::WrongTimed | FaultKind::WrongStale) => false,
        Some(FaultKind::WrongSecond) => call.is_multiple_of(2),
        Some(FaultKind::WrongLate) => calls <= 100,
        Some(FaultKind::WrongCold) => slot == 0,
        _ => true,
    }
}
