//! Two programs on one device in turns: the one that made a base, and a new one.
//!
//! In a round both are started, verify a config at a size, and time it in four blocks: base, new, new, base, or the
//! other way round. So each block has a neighbour of the other program, and what changes slowly, or hits both,
//! cancels. The first rounds take every row in an order of their own; whoever watches then says which rows are worth
//! more of them. Every round has processes of its own, because where a process has its memory may cost a row some
//! percent for as long as it lives.
//!
//! It names no backend: a [`PairProgram`] is whatever verifies and times.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_kernels::input::{Input, InputKind};
pub use scanbox_model::pair_file::Side;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use scanbox_runner::backend::Failure;
use scanbox_runner::baseline::Baseline;
use scanbox_runner::measure::{Protocol, Timed, median, steady};
use scanbox_runner::verify::check_whole;

/// A config at a size.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabelledPoint {
    /// Input size in elements.
    pub n: u64,
    /// Its label.
    pub config: String,
}

/// A program that runs configs on the device. It ends when this is dropped.
pub trait PairProgram {
    /// Makes the input of the largest size of a round.
    ///
    /// # Errors
    /// When there is no memory for it, say.
    fn load(&mut self, n: u64) -> Result<(), Failure>;

    /// Runs a row once and compares every element. Returns what the call took in nanoseconds, if it knows it.
    ///
    /// # Errors
    /// When it does not run, or is wrong.
    fn verify(&mut self, row: &LabelledPoint) -> Result<Option<f64>, Failure>;

    /// The median of a block of samples, in nanoseconds per call. `call_ns` is what one takes, as far as is known.
    ///
    /// # Errors
    /// When it does not run to its end.
    fn block(&mut self, row: &LabelledPoint, call_ns: Option<f64>) -> Result<f64, Failure>;
}

/// What happens during a run.
#[derive(Debug)]
pub enum PairsEvent<'a> {
    /// Both programs are about to be started.
    Round {
        /// Which round, from 0.
        round: u32,
        /// Rows that are left in it.
        rows: usize,
    },
    /// Both are about to run a row.
    Started {
        /// Which.
        row: &'a LabelledPoint,
    },
    /// Four blocks are finished.
    Quad {
        /// Of which row.
        row: &'a LabelledPoint,
        /// In which round.
        round: u32,
        /// Of the base, in nanoseconds per call.
        base_ns: [f64; 2],
        /// Of the new program, each next to the one of the base at the same place.
        new_ns: [f64; 2],
    },
    /// A row has no times in this round, and none from here on.
    Failed {
        /// Which.
        row: &'a LabelledPoint,
        /// In which round.
        round: u32,
        /// Which program could not run it.
        side: Side,
        /// How it ended.
        failure: &'a Failure,
    },
}

/// The rows of a round, and how often each takes its four blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Which.
    pub rows: Vec<LabelledPoint>,
    /// How often.
    pub quads: u32,
}

/// Who takes part, and until when.
pub struct PairsJob<'a, E> {
    /// Starts a program. It is called once per round and side, and again where a program has ended.
    pub start: &'a mut dyn FnMut(Side) -> Result<Box<dyn PairProgram>, Failure>,
    /// The rows of each round, by what was measured so far; `None` where nothing is left.
    pub next: &'a mut dyn FnMut(u32) -> Option<Round>,
    /// Gets each event and may fail: that ends the run.
    pub observer: &'a mut dyn FnMut(PairsEvent<'_>) -> Result<(), E>,
    /// Whether the run is to end before the next row.
    pub is_over: &'a dyn Fn() -> bool,
    /// Seed of the order.
    pub seed: u64,
}

/// Starts of one program in one round at most: more say that it is the device.
const STARTS_MAX: u32 = 7;
/// How often a row is tried whose program ends.
const ATTEMPTS: u32 = 2;

/// Runs a job. Returns whether it came to its end.
///
/// # Errors
/// What the observer returns; or why a program cannot be started.
pub fn run<E: From<Failure>>(job: &mut PairsJob<'_, E>) -> Result<bool, E> {
    let mut broken: Vec<LabelledPoint> = Vec::new();
    let mut number = 0;
    while let Some(mut round) = (job.next)(number) {
        round.rows.retain(|row| !broken.contains(row));
        round.rows.shuffle(&mut ChaCha8Rng::seed_from_u64(job.seed.wrapping_add(number.into())));
        if !round.rows.is_empty() && !self::round(job, number, &round, &mut broken)? {
            return Ok(false);
        }
        number += 1;
    }
    Ok(true)
}

fn round<E: From<Failure>>(
    job: &mut PairsJob<'_, E>,
    number: u32,
    round: &Round,
    broken: &mut Vec<LabelledPoint>,
) -> Result<bool, E> {
    (job.observer)(PairsEvent::Round { round: number, rows: round.rows.len() })?;
    let largest_n = round.rows.iter().map(|row| row.n).max().unwrap_or(1);
    let mut base = RunningProgram::new(Side::Base, largest_n);
    let mut new = RunningProgram::new(Side::New, largest_n);
    for (place, row) in round.rows.iter().enumerate() {
        if (job.is_over)() {
            return Ok(false);
        }
        (job.observer)(PairsEvent::Started { row })?;
        // Who comes first changes from row to row and from round to round.
        let first = place as u32 + number;
        let mut failure = None;
        // A program that was ended from outside says nothing about its row: only what fails twice counts.
        for _ in 0..ATTEMPTS {
            failure = self::row(job, [&mut base, &mut new], row, round.quads, number, first)?.err();
            if failure.as_ref().is_none_or(|(_, failure)| is_answer(failure)) {
                break;
            }
            if (job.is_over)() {
                return Ok(false);
            }
        }
        if let Some((side, failure)) = failure {
            (job.observer)(PairsEvent::Failed { row, round: number, side, failure: &failure })?;
            broken.push(row.clone());
        }
    }
    Ok(true)
}

/// Both programs on one row: verified, then timed.
fn row<E: From<Failure>>(
    job: &mut PairsJob<'_, E>,
    [base, new]: [&mut RunningProgram; 2],
    row: &LabelledPoint,
    quads: u32,
    round: u32,
    first: u32,
) -> Result<OfSide<()>, E> {
    for side in [&mut *base, &mut *new] {
        if let Err(failure) = side.verify(job, row)? {
            return Ok(Err((side.side, failure)));
        }
    }
    // Half a row is none: it would be told twice where it is tried again.
    let mut times = Vec::new();
    for quad in 0..quads {
        match self::quad(job, [&mut *base, &mut *new], row, (first + quad) % 2 == 1)? {
            Ok(quad) => times.push(quad),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    for [base_ns, new_ns] in times {
        (job.observer)(PairsEvent::Quad { row, round, base_ns, new_ns })?;
    }
    Ok(Ok(()))
}

/// Whether a program has said what is wrong with a row, and not just ended.
fn is_answer(failure: &Failure) -> bool {
    matches!(failure.status, Status::WrongResult | Status::Unsupported | Status::CompileError)
}

/// What one program may not have given: who, and why.
type OfSide<T> = Result<T, (Side, Failure)>;

/// Four blocks. The times of the base, and those of the new program.
fn quad<E: From<Failure>>(
    job: &mut PairsJob<'_, E>,
    sides: [&mut RunningProgram; 2],
    row: &LabelledPoint,
    is_new_first: bool,
) -> Result<OfSide<[[f64; 2]; 2]>, E> {
    let mut times = [[0.0; 2]; 2];
    let outer = usize::from(is_new_first);
    for (place, side) in [(0, outer), (0, 1 - outer), (1, 1 - outer), (1, outer)] {
        match sides[side].block(job, row)? {
            Ok(ns) => times[side][place] = ns,
            Err(failure) => return Ok(Err((sides[side].side, failure))),
        }
    }
    Ok(Ok(times))
}

/// A program through a round: started when it is needed, and again after it has ended.
struct RunningProgram {
    side: Side,
    largest_n: u64,
    program: Option<Box<dyn PairProgram>>,
    starts: u32,
    /// What a call of the row that goes on takes.
    call_ns: Option<f64>,
}

impl RunningProgram {
    fn new(side: Side, largest_n: u64) -> Self {
        Self { side, largest_n, program: None, starts: 0, call_ns: None }
    }

    fn program<E: From<Failure>>(
        &mut self,
        job: &mut PairsJob<'_, E>,
    ) -> Result<&mut dyn PairProgram, Failure> {
        if self.program.is_none() {
            self.starts += 1;
            if self.starts > STARTS_MAX {
                let reason = format!("it was started {STARTS_MAX} times in one round");
                return Err(Failure::new(Status::RuntimeError, reason));
            }
            let mut program = (job.start)(self.side)?;
            program.load(self.largest_n)?;
            self.program = Some(program);
        }
        Ok(self.program.as_mut().expect("it has just been started").as_mut())
    }

    fn verify<E: From<Failure>>(
        &mut self,
        job: &mut PairsJob<'_, E>,
        row: &LabelledPoint,
    ) -> Result<Result<(), Failure>, E> {
        // What cannot even be started is no fault of the row.
        let verified = self.program(job)?.verify(row);
        Ok(self.outcome(verified).map(|call_ns| self.call_ns = call_ns))
    }

    fn block<E: From<Failure>>(
        &mut self,
        job: &mut PairsJob<'_, E>,
        row: &LabelledPoint,
    ) -> Result<Result<f64, Failure>, E> {
        let call_ns = self.call_ns;
        let timed = self.program(job)?.block(row, call_ns);
        Ok(self.outcome(timed))
    }

    /// A program that gave no answer is not asked again: the next row starts another one.
    fn outcome<T>(&mut self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        if outcome.as_ref().is_err_and(|failure| !is_answer(failure)) {
            self.program = None;
        }
        outcome
    }
}

/// How a block of a program is measured: shorter than a row of a sweep, because there are many of them.
#[must_use]
pub fn protocol() -> Protocol {
    Protocol {
        warm_up_ns_min: 2_000_000,
        warm_up_ns_max: 8_000_000,
        sample_ns: 400_000,
        samples_min: 5,
        samples_max: 10,
        sampling_ns_max: 4_000_000,
        ..Protocol::default()
    }
}

/// A program that speaks the protocol of baselines, with configs as its subjects.
pub struct Speaking {
    /// It.
    pub baseline: Baseline,
    /// What it computes.
    pub problem: Problem,
    /// Seed of the input.
    pub seed: u64,
}

impl PairProgram for Speaking {
    fn load(&mut self, n: u64) -> Result<(), Failure> {
        let input = Input { kind: InputKind::Random, seed: self.seed };
        self.baseline.load(n, &self.problem, &input)
    }

    fn verify(&mut self, row: &LabelledPoint) -> Result<Option<f64>, Failure> {
        let found = self.baseline.verify(&row.config, row.n)?;
        let outputs = self.problem.outputs(row.n);
        if found.mismatches > 0 {
            let first =
                found.first.map_or_else(String::new, |first| format!("; the first is {}", first.index));
            let reason = format!("{} words of {outputs} elements are wrong{first}", found.mismatches);
            return Err(Failure::new(Status::WrongResult, reason));
        }
        check_whole(found.compared, outputs)?;
        Ok(found.call_ns)
    }

    fn block(&mut self, row: &LabelledPoint, call_ns: Option<f64>) -> Result<f64, Failure> {
        let mut timed = TimedRow { baseline: &mut self.baseline, row };
        let (_, mut samples) = steady(&mut timed, call_ns, &protocol())?;
        Ok(median(&mut samples))
    }
}

struct TimedRow<'a> {
    baseline: &'a mut Baseline,
    row: &'a LabelledPoint,
}

impl Timed for TimedRow<'_> {
    fn begin(&mut self) {
        self.baseline.begin_block();
    }

    fn resolution_ns(&self) -> f64 {
        self.baseline.greeting().timer_resolution_ns as f64
    }

    fn time(&mut self, calls: u32, samples: u32) -> Result<Vec<f64>, Failure> {
        self.baseline.time(&self.row.config, self.row.n, Cache::Hot, calls, samples)
    }
}
