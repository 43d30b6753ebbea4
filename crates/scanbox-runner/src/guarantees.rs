//! Asks a device for what no specification promises and kernels may need: waits that end, in many rounds, alone and
//! beside other work.
//!
//! A guarantee is refuted by one round in which somebody waited in vain, or something else was seen that it rules out.
//! Rounds in which nothing was seen refute nothing, and prove nothing. No wait is longer than `GIVE_UP_NS`, and
//! whoever gives up first ends the round for all, so that a device which keeps nothing is done as soon as one that
//! keeps all.

mod residents;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use scanbox_kernels::glsl::{ProbeShader, compile_probe};
use scanbox_kernels::plan::Shader;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::guarantee_probe::{GuaranteeFinding, ProbeVerdict, ResidentShape};
use scanbox_model::record::Status;
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::units::plural;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Failure, PROBE_WORDS, ProbeAnswer, ProbeCall};
use crate::row::now_utc;

/// The words of `kernels/probes/probe.glsl`.
pub(crate) const GAVE_UP: usize = 1;
pub(crate) const WHO: usize = 2;
pub(crate) const AWAITED: usize = 3;
pub(crate) const AHEAD: usize = 4;
pub(crate) const COUNTED: usize = 5;
pub(crate) const ENDED: usize = 6;
pub(crate) const WORDS_READ: usize = PROBE_WORDS;
/// Where the flags begin.
const FLAGS: u64 = 64;

/// How long a wait takes that is in vain, about; of software devices, whose threads may lose their cores. One that
/// ends loops early gives up early.
const GIVE_UP_NS: [f64; 2] = [50e6, 500e6];
/// After so long without news nobody else is expected to start.
const QUIET_NS: [f64; 2] = [1e6, 10e6];
/// Rounds, half of them beside other work.
const ROUNDS: [u32; 2] = [40, 8];
/// Rounds that there are of different kinds: they come first, whatever they take.
const KINDS_OF_ROUNDS: u32 = 8;
/// When no further round begins.
const LIMIT: Duration = Duration::from_secs(4);
/// Rows of workgroups, where kernels may be launched in several.
const ROWS: u32 = 4;
/// From so many workgroups in a row on, no kernel is launched in several: there are fewer than 2^32 elements, and a
/// tile has at least 4.
const ONE_ROW: u32 = 1 << 30;
/// Words that the other work reads and writes.
const LOAD_WORDS: [u32; 2] = [1 << 24, 1 << 14];
/// Rounds of a wait at most; of a device that ends a loop silently after 65,535.
const ROUNDS_OF_WAIT_MAX: f64 = 1e9;
const ROUNDS_OF_WAIT_LLVMPIPE: f64 = 60_000.0;
/// Rounds of the wait whose time is taken.
const TIMED_ROUNDS: u32 = 512;
/// No device takes less for a round, in which it looks 32 times: who says so tells no times.
const ROUND_NS_LEAST: f64 = 10.0;
/// Times as many workgroups are launched as are there at the same time.
const OVERSUBSCRIBED: u32 = 8;
/// How many times as many may be there at the same time as were counted: a count may have come too early.
const COUNTED_TOO_FEW: u32 = 2;
/// Workgroups of a round at least and at most; of a software device, where workgroups run one after the other.
const WORKGROUPS: [(u32, u32); 2] = [(1024, 1 << 15), (64, 512)];

/// What was found about a guarantee, and which shapes of workgroups were counted on the way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// What was found.
    pub finding: GuaranteeFinding,
    /// Of co-residency, how many workgroups of each shape are there at the same time.
    pub residents: Vec<ResidentShape>,
    /// Whether there is nothing more to be found out: what was cut short is asked again.
    pub is_whole: bool,
}

/// What happens while a device is asked. Between two of these it may hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEvent {
    /// So many shaders are about to be compiled.
    Compiling {
        /// How many.
        shaders: usize,
    },
    /// A call begins, whose waits all end.
    Calling,
}

/// Asks the device for a guarantee.
///
/// # Errors
/// When a probe does not run to its end: then nobody knows.
pub fn find(
    backend: &mut dyn Backend,
    guarantee: Guarantee,
    observer: &mut dyn FnMut(AskEvent),
) -> Result<Found, Failure> {
    let mut asking = Asking::new(backend, observer)?;
    let (outcome, residents) = match guarantee {
        Guarantee::WorkgroupOrder => (asking.order()?, Vec::new()),
        Guarantee::SubgroupProgress => (asking.subgroups()?, Vec::new()),
        Guarantee::Progress => (asking.progress()?, Vec::new()),
        Guarantee::CoResidency => asking.co_residency()?,
    };
    let (verdict, detail) = match outcome {
        AskedOutcome::Refuted(detail) => (ProbeVerdict::Refuted, detail),
        AskedOutcome::NotRefuted(detail) => (ProbeVerdict::NotRefuted, detail),
        AskedOutcome::Unknown(detail) => (ProbeVerdict::Unknown, detail),
    };
    let finding = GuaranteeFinding { guarantee, verdict, calls: asking.calls, detail, date: now_utc() };
    Ok(Found { finding, residents, is_whole: true })
}

/// What came of all rounds, and what there is to tell about it.
enum AskedOutcome {
    Refuted(String),
    NotRefuted(String),
    Unknown(String),
}

/// A device that is being asked.
struct Asking<'a> {
    backend: &'a mut dyn Backend,
    observer: &'a mut dyn FnMut(AskEvent),
    device: DeviceProfile,
    /// Which of the two values of constants: those of chips, or of programs.
    kind: usize,
    /// Of a wait that is in vain.
    max_rounds: u32,
    /// Until nobody else is expected.
    quiet_rounds: u32,
    /// What a round takes.
    round_ns: f64,
    /// Calls that asked for what is to be found.
    calls: u32,
    load: Shader,
    /// The shaders that have pipelines, with their registers, where the driver tells.
    made: HashMap<Shader, Option<u32>>,
}

/// One round.
#[derive(Clone, Copy)]
struct AskedRound {
    number: u32,
    of: u32,
}

impl Found {
    /// What is told where a probe did not come to its end. `hung`: the device did not survive it, and nobody has to try
    /// that again.
    #[must_use]
    pub fn nothing(guarantee: Guarantee, why: String, hung: bool) -> Self {
        let verdict = if hung { ProbeVerdict::Hung } else { ProbeVerdict::Unknown };
        let finding = GuaranteeFinding { guarantee, verdict, calls: 0, detail: why, date: now_utc() };
        Self { finding, residents: Vec::new(), is_whole: hung }
    }
}

/// Of any two of these each pair is among the first [`KINDS_OF_ROUNDS`].
impl AskedRound {
    fn has_load(self) -> bool {
        self.number % 2 == 1
    }

    /// Which of the two sizes of workgroups.
    fn size(self) -> usize {
        self.number as usize / 2 % 2
    }

    /// Which of two things that a probe asks.
    fn variation(self) -> u32 {
        self.number / 4 % 2
    }

    /// Whether workgroups stand in several rows.
    fn has_rows(self) -> bool {
        self.size() as u32 != self.variation()
    }

    fn told(self) -> String {
        let beside = if self.has_load() { ", beside other work" } else { "" };
        format!("round {} of {}{beside}", self.number + 1, self.of)
    }
}

impl<'a> Asking<'a> {
    fn new(backend: &'a mut dyn Backend, observer: &'a mut dyn FnMut(AskEvent)) -> Result<Self, Failure> {
        let device = backend.profile().as_ref().clone();
        let kind = usize::from(device.kind == DeviceKind::Software);
        let size = fitting(&device, 256);
        let load = ProbeShader::Load.shader(size, device.subgroup_size);
        let max_rounds = TIMED_ROUNDS;
        let mut asking = Self {
            backend,
            observer,
            device,
            kind,
            max_rounds,
            quiet_rounds: 1,
            round_ns: 0.0,
            calls: 0,
            load: load.clone(),
            made: HashMap::new(),
        };
        asking.make(&[load])?;
        let speed = asking.shader(ProbeShader::Speed, asking.device.subgroup_size)?;
        // The first call may wake the device.
        let mut round_ns = 0.0;
        for _ in 0..2 {
            let began = Instant::now();
            let answer = asking.ask(&speed, [1, 1], 0, FLAGS + 1, false)?;
            if answer.words[GAVE_UP] != 1 {
                return Err(Failure::new(
                    Status::WrongResult,
                    "a wait for what never comes did not end as one",
                ));
            }
            // A device may tell no times; then waits are shorter by what a call takes beside its work.
            let of_round = |ns: f64| ns / f64::from(TIMED_ROUNDS);
            round_ns = Some(of_round(answer.busy_ns))
                .filter(|told| *told >= ROUND_NS_LEAST)
                .unwrap_or_else(|| of_round(began.elapsed().as_nanos() as f64).max(ROUND_NS_LEAST));
        }
        let rounds = |ns: f64, most: f64| (ns / round_ns).clamp(16.0, most.max(16.0)) as u32;
        let ends_loops = asking.device.driver.contains("llvmpipe");
        let most = if ends_loops { ROUNDS_OF_WAIT_LLVMPIPE } else { ROUNDS_OF_WAIT_MAX };
        asking.max_rounds = rounds(GIVE_UP_NS[kind], most);
        asking.quiet_rounds = rounds(QUIET_NS[kind], f64::from(asking.max_rounds) / 4.0);
        (asking.round_ns, asking.calls) = (round_ns, 0);
        Ok(asking)
    }

    /// A shader with its pipeline.
    fn shader(&mut self, probe: ProbeShader, workgroup_size: u32) -> Result<Shader, Failure> {
        let shader = probe.shader(workgroup_size, self.device.subgroup_size);
        self.make(std::slice::from_ref(&shader))?;
        Ok(shader)
    }

    /// Makes pipelines. Returns the registers of an invocation of each, where the driver tells.
    fn make(&mut self, shaders: &[Shader]) -> Result<Vec<Option<u32>>, Failure> {
        let new: Vec<&Shader> = shaders.iter().filter(|shader| !self.made.contains_key(*shader)).collect();
        if !new.is_empty() {
            (self.observer)(AskEvent::Compiling { shaders: new.len() });
        }
        let compile = |shader: &Shader| {
            compile_probe(shader).map_err(|error| Failure::new(Status::RuntimeError, error.to_string()))
        };
        let modules: Vec<_> = new.into_par_iter().map(compile).collect::<Result<_, _>>()?;
        for (module, made) in modules.iter().zip(self.backend.create_pipelines(&modules)) {
            self.made.insert(module.shader.clone(), made?.registers);
        }
        Ok(shaders.iter().map(|shader| self.made.get(shader).copied().flatten()).collect())
    }

    fn ask(
        &mut self,
        shader: &Shader,
        groups: [u32; 2],
        variation: u32,
        words: u64,
        has_load: bool,
    ) -> Result<ProbeAnswer, Failure> {
        let arguments = [self.max_rounds, self.quiet_rounds, variation, 0];
        let load = has_load.then_some((&self.load, LOAD_WORDS[self.kind]));
        let call = ProbeCall { shader, groups, arguments, words, load };
        (self.observer)(AskEvent::Calling);
        let answer = self.backend.ask(&call)?;
        self.calls += 1;
        let (ended, workgroups) = (answer.words[ENDED], call.workgroups());
        if ended != workgroups {
            let reason = format!("{ended} of {workgroups} workgroups finished");
            return Err(Failure::new(Status::WrongResult, reason));
        }
        Ok(answer)
    }

    /// Sizes of workgroups that are asked: the smallest, and a usual one.
    fn sizes(&self) -> [u32; 2] {
        [self.device.subgroup_size, fitting(&self.device, 256)]
    }

    /// The rounds that there is time for.
    fn rounds(&self) -> impl Iterator<Item = AskedRound> + use<> {
        rounds(ROUNDS[self.kind], LIMIT)
    }

    /// Who gave up on whom, if somebody did.
    fn in_vain(&self, answer: &ProbeAnswer, what: &str) -> Option<String> {
        let words = &answer.words;
        let (who, awaited) = (words[WHO].wrapping_sub(1), words[AWAITED].wrapping_sub(1));
        (words[GAVE_UP] > 0).then(|| {
            format!("{what} {who} waited {:.0} ms without success for {what} {awaited}", self.give_up_ms())
        })
    }

    /// How long a wait takes that is in vain.
    fn give_up_ms(&self) -> f64 {
        f64::from(self.max_rounds) * self.round_ns / 1e6
    }

    /// More workgroups than are there at the same time.
    fn too_many(&self, resident: u32) -> u32 {
        let (least, most) = WORKGROUPS[self.kind];
        resident.saturating_mul(OVERSUBSCRIBED).clamp(least, most).min(self.device.max_workgroup_count[0])
    }

    /// So many workgroups, or a few less, as kernels are launched in this round: in rows where the device has no room
    /// for all of a kernel's in one.
    fn groups(&self, workgroups: u32, round: AskedRound) -> [u32; 2] {
        let has_rows = round.has_rows() && self.device.max_workgroup_count[0] < ONE_ROW && workgroups >= ROWS;
        if has_rows { [workgroups / ROWS, ROWS] } else { [workgroups, 1] }
    }

    fn order(&mut self) -> Result<AskedOutcome, Failure> {
        let mut asked = Vec::new();
        for size in self.sizes() {
            let resident = self.resident_of(size)?;
            asked.push((self.shader(ProbeShader::Order, size)?, resident));
        }
        self.calls = 0;
        let mut ahead = 0;
        for round in self.rounds() {
            let (shader, resident) = &asked[round.size()];
            let groups = self.groups(self.too_many(*resident), round);
            let words = FLAGS + u64::from(groups[0]) * u64::from(groups[1]);
            let answer = self.ask(shader, groups, round.variation(), words, round.has_load())?;
            let told = round.told();
            if let Some(who) = self.in_vain(&answer, "workgroup") {
                return Ok(AskedOutcome::Refuted(format!("{told}: {who}")));
            }
            // Those that have started without a ticket are there at that moment.
            if answer.words[AHEAD] / COUNTED_TOO_FEW > *resident {
                let detail = format!(
                    "{told}: a workgroup began before {} with lower numbers, where {resident} are there at the same time",
                    answer.words[AHEAD]
                );
                return Ok(AskedOutcome::Refuted(detail));
            }
            ahead = ahead.max(answer.words[AHEAD]);
        }
        Ok(AskedOutcome::NotRefuted(match ahead {
            0 => "no workgroup was late".to_owned(),
            1 => "at most 1 workgroup with a lower number was late".to_owned(),
            ahead => format!("at most {ahead} workgroups with lower numbers were late"),
        }))
    }

    fn progress(&mut self) -> Result<AskedOutcome, Failure> {
        let mut asked = Vec::new();
        for size in self.sizes() {
            let workgroups = self.resident_of(size).map(|resident| self.too_many(resident))?;
            asked.push((self.shader(ProbeShader::Progress, size)?, workgroups));
        }
        self.calls = 0;
        for round in self.rounds() {
            let (shader, workgroups) = &asked[round.size()];
            let words = FLAGS + u64::from(*workgroups);
            let answer = self.ask(shader, [*workgroups, 1], round.variation(), words, round.has_load())?;
            if let Some(who) = self.in_vain(&answer, "ticket") {
                return Ok(AskedOutcome::Refuted(format!("{}: {who}, which had started", round.told())));
            }
        }
        let most = asked.iter().map(|(_, workgroups)| *workgroups).max().unwrap_or(0);
        Ok(AskedOutcome::NotRefuted(format!("up to {}", plural(most as usize, "workgroup"))))
    }

    fn subgroups(&mut self) -> Result<AskedOutcome, Failure> {
        let one = self.device.subgroup_size;
        let most = fitting(&self.device, 1024);
        if most < 2 * one {
            return Ok(AskedOutcome::Unknown("a workgroup has one subgroup".to_owned()));
        }
        if self.device.chosen_by_driver().is_some() {
            // Words are counted for subgroups of one size.
            return Ok(AskedOutcome::Unknown("the driver chooses the size of subgroups".to_owned()));
        }
        let mut asked = Vec::new();
        for size in [2 * one, most] {
            let resident = self.resident_of(size)?;
            asked.push((self.shader(ProbeShader::Subgroups, size)?, resident));
        }
        self.calls = 0;
        for round in self.rounds() {
            let (shader, resident) = &asked[round.size()];
            let words = FLAGS + u64::from(*resident) * u64::from(shader.workgroup_size / one);
            let answer = self.ask(shader, [*resident, 1], round.variation(), words, round.has_load())?;
            if let Some(who) = self.in_vain(&answer, "subgroup") {
                return Ok(AskedOutcome::Refuted(format!("{}: {who}", round.told())));
            }
        }
        Ok(AskedOutcome::NotRefuted(format!("up to {} subgroups", most / one)))
    }
}

/// So many rounds, where they begin within this time; but all kinds of them.
fn rounds(of: u32, limit: Duration) -> impl Iterator<Item = AskedRound> {
    let started = Instant::now();
    let rounds = (0..of).map(move |number| AskedRound { number, of });
    rounds.take_while(move |round| round.number < KINDS_OF_ROUNDS || started.elapsed() < limit)
}

/// The largest size of whole subgroups that the device has, up to this one.
fn fitting(device: &DeviceProfile, size: u32) -> u32 {
    let most = size.min(device.max_workgroup_size).max(device.subgroup_size);
    most - most % device.subgroup_size.max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Where there is time for few rounds, each two of what rounds differ in are there in all four ways.
    #[test]
    fn slow_devices_are_asked_all_there_is() {
        for of in ROUNDS {
            let asked: Vec<[u32; 4]> = rounds(of, Duration::ZERO)
                .map(|round| {
                    [
                        u32::from(round.has_load()),
                        round.size() as u32,
                        round.variation(),
                        u32::from(round.has_rows()),
                    ]
                })
                .collect();
            assert_eq!(asked.len(), 8);
            for (one, other) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
                let ways: BTreeSet<_> = asked.iter().map(|round| (round[one], round[other])).collect();
                assert_eq!(ways.len(), 4, "{one} and {other}");
            }
        }
    }
}
