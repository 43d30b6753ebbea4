//! The untimed twin of the timed path: what is timed is right, and not only the one call that was verified before.
//!
//! Right after the samples of a plan the same calls run once more: the same plan, cache state and scratch memory,
//! epochs and tickets counting on, one call after another in one command buffer with the barriers of the timed path.
//! The output is poisoned before two calls in a row in the middle and before the last one, and each of the three is
//! compared; on cold memory so is the last call of every slot. What a kernel loses from call to call (a ticket, a
//! bank, a state) it has lost in the samples too, so that a few calls behind them show it.
//!
//! How many calls a twin has is a matter of time: see [`Length::new`].

use scanbox_kernels::plan::{GUARD_WORDS, Plan};
use scanbox_model::device::DeviceKind;
use scanbox_model::record::{Cache, Ratio, Record, Status};

use crate::backend::{Backend, Failure, cold_slots};
use crate::measure::Protocol;

/// Calls of a whole twin at least; as many as a sample has, where that has more.
const CALLS: u32 = 128;
/// Calls of any twin at least: two in a row and the last one.
const COMPARED: u32 = 3;
/// What the twin of a config that is not among the fastest may take, in nanoseconds: twice a sample. With it the
/// twins take the thesis sweep on an NVIDIA H200 some 18 s instead of 313 s, and the one of the full space 25 s
/// instead of 91 s.
const SHORT_NS: f64 = 2e6;
/// A config whose time is at most this many times the fastest one's so far is among the fastest.
const CONTENDER_RATIO: f64 = 1.02;
/// What the twin of a case of a verification may take, of which a config has dozens.
const ALONE_NS: f64 = 1e8;
/// The same on a software device, whose workgroups run one after another or nearly so: what goes wrong from call to
/// call there goes wrong in few.
const ALONE_IN_SOFTWARE_NS: f64 = 2e7;
/// What one submission takes at most, roughly, where a sample takes less: other programs want the device too, and
/// drivers end what takes seconds.
const SUBMISSION_NS: f64 = 1e9;

/// How many calls a twin has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// Calls; cold memory with more slots has one for each slot.
    pub calls: u32,
    /// Calls in one submission at most.
    pub per_submission: u32,
}

impl Length {
    /// The length of a twin of calls that take `call_ns`, of which a sample has `sample_calls`.
    ///
    /// A whole twin has as many calls as a sample and at least 128, or as many as fit into [`Protocol::twin_ns_max`]. A
    /// benchmark has whole ones only. A sweep has them for whatever may win, which is all that a table names: a
    /// config that is among the fastest so far at its size. The twin of any other config has as many calls as fit
    /// into 2 ms, and at least three: all 128 calls of each would take a sweep longer than all its measurements.
    #[must_use]
    pub fn new(sample_calls: u32, call_ns: f64, whole: bool, protocol: &Protocol) -> Self {
        let fitting = |ns: f64| (ns / call_ns.max(1.0)) as u32;
        let most_ns =
            if whole { protocol.twin_ns_max as f64 } else { SHORT_NS.min(protocol.twin_ns_max as f64) };
        Self {
            calls: sample_calls.max(CALLS).min(fitting(most_ns)).max(COMPARED),
            per_submission: sample_calls.max(fitting(SUBMISSION_NS)).max(1),
        }
    }
}

impl Length {
    /// The length of a twin that has so many calls, however long they take.
    #[must_use]
    pub fn of(calls: u32, call_ns: u64) -> Self {
        Self { calls, per_submission: ((SUBMISSION_NS / call_ns.max(1) as f64) as u32).max(1) }
    }

    /// The length of a twin without samples, of calls that take `call_ns` as far as is known: 128, or as many as fit
    /// into 0.1 s, on a software device 0.02 s.
    #[must_use]
    pub fn alone(call_ns: Option<f64>, device: DeviceKind) -> Self {
        let call_ns = call_ns.unwrap_or(1.0).max(1.0);
        let most_ns = if device == DeviceKind::Software { ALONE_IN_SOFTWARE_NS } else { ALONE_NS };
        Self {
            calls: CALLS.min((most_ns / call_ns) as u32).max(COMPARED),
            per_submission: ((SUBMISSION_NS / call_ns) as u32).max(1),
        }
    }

    /// How many calls are ahead of one that is followed by two of which at least one is compared, both where inputs
    /// alternate; an even number.
    #[must_use]
    pub fn ahead_of_compared(self) -> u32 {
        (self.calls / 2).saturating_sub(1) & !1
    }
}

/// Whether a config with this time may be the fastest one of its size, where the fastest so far has `best_ns`.
#[must_use]
pub fn contends(call_ns: u64, best_ns: Option<u64>) -> bool {
    best_ns.is_none_or(|best_ns| call_ns as f64 <= best_ns as f64 * CONTENDER_RATIO)
}

/// What a backend has to go through.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// Which buffers its calls work on.
    pub cache: Cache,
    /// What happens.
    pub steps: &'a [TwinStep],
    /// Calls in one submission at most.
    pub per_submission: u32,
    /// Whether every second call has the other input ([`Backend::load_other`]); on hot memory alone.
    pub alternates: bool,
}

/// What a twin consists of. Calls are counted from 0; call i works on slot i, modulo the number of slots, behind the
/// one that the last sample came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TwinStep {
    /// The output of this call is poisoned; where the plan works in place its input is put there.
    Poison(u64),
    /// This call runs.
    Call(u64),
    /// The output of this call is compared.
    Compare(u64),
}

/// The steps of a twin of so many calls on memory with so many slots (1: hot).
///
/// The last calls, one for each slot, have nothing between them but what the timed path has between its calls. Where
/// the call before has `other_answers` for its input and leaves them in the output, the call behind the pair is
/// compared without poison: a kernel that keeps what it finds there is right on poison alone.
#[must_use]
pub fn steps(calls: u32, slots: u64, other_answers: bool) -> Vec<TwinStep> {
    let calls = u64::from(calls).max(slots);
    let last = calls - slots;
    let middle = calls / 2;
    let pair = if middle >= 1 && middle < last { middle - 1..middle + 1 } else { 0..0 };
    let mut steps = Vec::new();
    for call in 0..last {
        if pair.contains(&call) {
            steps.extend([TwinStep::Poison(call), TwinStep::Call(call), TwinStep::Compare(call)]);
        } else {
            steps.push(TwinStep::Call(call));
            if other_answers && call == pair.end && call > 0 {
                steps.push(TwinStep::Compare(call));
            }
        }
    }
    steps.extend((last..calls).map(TwinStep::Poison));
    steps.extend((last..calls).map(TwinStep::Call));
    steps.extend((last..calls).map(TwinStep::Compare));
    steps
}

/// The comparison of one call of a twin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked {
    /// Which call.
    pub call: u64,
    /// Wrong elements, counted as [`crate::backend::ElementComparison::mismatches`].
    pub mismatches: u64,
    /// The index of the first wrong element; at or above the size of the output, a word behind it.
    pub first: Option<u64>,
    /// Whether the output is right, and what is wrong is the total beside it, or a word behind that.
    pub of_total: bool,
    /// See [`crate::backend::RoundingError::max`].
    pub max_error: f64,
}

/// What a twin came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Twin {
    /// Calls that ran.
    pub calls: u32,
    /// Calls that were compared.
    pub compared: u64,
    /// Elements that were compared, guards included.
    pub elements: u64,
    /// The largest error of a right element, as in [`crate::backend::RoundingError`].
    pub max_error: f64,
    /// How many of the compared calls were wrong.
    pub wrong_calls: u64,
    /// The first wrong one.
    pub wrong: Option<Checked>,
    /// What is wrong, in words.
    pub reason: Option<String>,
}

/// Runs the twin of a plan that has just been timed.
///
/// # Errors
/// When it does not run to its end. A wrong call is no error here but [`Twin::wrong`].
pub fn run(backend: &mut dyn Backend, plan: &Plan, cache: Cache, length: Length) -> Result<Twin, Failure> {
    go(backend, plan, cache, length, false)
}

/// The same without samples before it, on hot memory; every second call has the other input, where `alternates` says
/// so.
///
/// # Errors
/// As [`run`].
pub fn run_alone(
    backend: &mut dyn Backend,
    plan: &Plan,
    length: Length,
    alternates: bool,
) -> Result<Twin, Failure> {
    go(backend, plan, Cache::Hot, length, alternates)
}

fn go(
    backend: &mut dyn Backend,
    plan: &Plan,
    cache: Cache,
    length: Length,
    alternates: bool,
) -> Result<Twin, Failure> {
    let slots = match cache {
        Cache::Hot => 1,
        Cache::Cold => cold_slots(plan.n * plan.problem.element_bytes()),
    };
    // A call in place finds its input there, and not what the call before has left.
    let other_answers = alternates && !plan.in_place();
    let steps = steps(length.calls, slots, other_answers);
    follow(backend, plan, cache, &steps, length.per_submission, alternates)
}

/// Calls in a row on hot memory, each of them on poisoned output and compared: what is wrong once in many calls
/// shows, where a twin that compares a few would have to be lucky.
///
/// # Errors
/// As [`run`].
pub fn run_each(backend: &mut dyn Backend, plan: &Plan, length: Length) -> Result<Twin, Failure> {
    let call = |call| [TwinStep::Poison(call), TwinStep::Call(call), TwinStep::Compare(call)];
    let steps: Vec<TwinStep> = (0..u64::from(length.calls)).flat_map(call).collect();
    follow(backend, plan, Cache::Hot, &steps, length.per_submission, false)
}

fn follow(
    backend: &mut dyn Backend,
    plan: &Plan,
    cache: Cache,
    steps: &[TwinStep],
    per_submission: u32,
    alternates: bool,
) -> Result<Twin, Failure> {
    let course = Course { cache, steps, per_submission, alternates };
    let checked = backend.twin(plan, &course)?;
    let due = steps.iter().filter(|step| matches!(step, TwinStep::Compare(_))).count() as u64;
    let compared = checked.len() as u64;
    if compared < due {
        let reason = format!("only {compared} of {due} calls of the timed path were compared");
        return Err(Failure::new(Status::RuntimeError, reason));
    }
    let calls = steps.iter().filter(|step| matches!(step, TwinStep::Call(_))).count() as u32;
    let wrong_calls = checked.iter().filter(|one| one.mismatches > 0).count() as u64;
    let wrong = checked.iter().find(|one| one.mismatches > 0).copied();
    Ok(Twin {
        calls,
        compared,
        elements: compared * (plan.outputs() + GUARD_WORDS),
        max_error: checked.iter().map(|one| one.max_error).fold(0.0, f64::max),
        wrong_calls,
        wrong,
        reason: wrong.map(|wrong| describe(&wrong, wrong_calls, compared, calls, cache, plan.outputs())),
    })
}

impl Twin {
    /// Writes into the row of the plan what the twin says about it.
    ///
    /// # Errors
    /// `wrong_result`, where a call was wrong.
    pub fn judge(&self, record: &mut Record) -> Result<(), Failure> {
        record.twin_calls = Some(self.calls);
        if let Some(Ratio(error)) = &mut record.max_error {
            *error = error.max(self.max_error);
        }
        let (Some(wrong), Some(reason)) = (&self.wrong, &self.reason) else { return Ok(()) };
        record.mismatches = Some(wrong.mismatches);
        record.first_mismatch = wrong.first;
        Err(Failure::new(Status::WrongResult, reason.clone()))
    }
}

fn describe(
    wrong: &Checked,
    wrong_calls: u64,
    compared: u64,
    calls: u32,
    cache: Cache,
    outputs: u64,
) -> String {
    let buffers = if cache == Cache::Cold { " on cold buffers" } else { "" };
    let call = wrong.call + 1;
    let what = match wrong.first {
        _ if wrong.of_total => "the total is wrong, or a word behind it was written".to_owned(),
        Some(first) if first >= outputs => {
            format!(
                "{} words behind the output were written; the first {} past its end",
                wrong.mismatches,
                first - outputs
            )
        }
        Some(first) => {
            format!("{} of {outputs} elements are wrong; the first is element {first}", wrong.mismatches)
        }
        None => format!("{} of {outputs} elements are wrong", wrong.mismatches),
    };
    format!(
        "right when called once, wrong in call {call} of {calls} in a row{buffers} (the timed path): {what} ({wrong_calls} of {compared} \
         calls that were compared are wrong)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_calls_and_the_fastest_have_a_whole_twin() {
        let protocol = Protocol::default();
        let check = |sample_calls, call_ns, whole, calls| {
            let length = Length::new(sample_calls, call_ns, whole, &protocol);
            assert_eq!(length.calls, calls, "{sample_calls} calls of {call_ns} ns, {whole}");
            assert!(length.per_submission >= sample_calls.max(1));
        };
        for whole in [false, true] {
            check(1000, 1000.0, whole, 1000);
            check(500, 2000.0, whole, 500);
            check(100, 10_000.0, whole, 128);
        }
        check(50, 20_000.0, true, 128);
        check(50, 20_000.0, false, 100);
        check(1, 1.5e6, true, 128);
        check(1, 1.5e6, false, 3);
        // A device that takes 100 ms or a minute for a call: what fits, and what a twin needs.
        check(1, 1e8, true, 40);
        check(1, 6e10, true, 3);
        // Of a time that cannot be.
        check(1, 0.0, true, 128);
        let hasty = Protocol { twin_ns_max: 1_000_000, ..protocol };
        assert_eq!(Length::new(1, 1e5, true, &hasty).calls, 10);
    }

    #[test]
    fn long_twins_are_several_submissions() {
        let protocol = Protocol::default();
        assert_eq!(Length::new(1, 1e6, true, &protocol).per_submission, 1000);
        assert_eq!(Length::new(1, 3e8, true, &protocol).per_submission, 3);
        assert_eq!(Length::new(1, 5e9, true, &protocol).per_submission, 1);
        assert_eq!(Length::new(7, 5e9, true, &protocol).per_submission, 7);
    }

    #[test]
    fn a_verification_has_as_many_calls_as_are_quick() {
        for (call_ns, on_gpu, in_software) in [
            (None, 128, 128),
            (Some(5e3), 128, 128),
            (Some(7e5), 128, 28),
            (Some(1e7), 10, 3),
            (Some(1e9), 3, 3),
        ] {
            assert_eq!(Length::alone(call_ns, DeviceKind::Hardware).calls, on_gpu, "{call_ns:?}");
            assert_eq!(Length::alone(call_ns, DeviceKind::Software).calls, in_software, "{call_ns:?}");
        }
    }

    #[test]
    fn contenders_are_the_fastest_so_far() {
        for (call_ns, best_ns, expected) in
            [(5, None, true), (99, Some(100), true), (102, Some(100), true), (103, Some(100), false)]
        {
            assert_eq!(contends(call_ns, best_ns), expected, "{call_ns} {best_ns:?}");
        }
    }

    #[test]
    fn two_calls_in_a_row_and_the_last_are_compared() {
        let compared = |calls, slots| -> Vec<u64> {
            let steps = steps(calls, slots, false);
            let ran = steps.iter().filter(|step| matches!(step, TwinStep::Call(_))).count() as u64;
            assert_eq!(ran, u64::from(calls).max(slots));
            for (at, step) in steps.iter().enumerate() {
                // Poisoned before it runs, compared after it.
                if let TwinStep::Compare(call) = step {
                    let place = |step| steps.iter().position(|other| *other == step).unwrap();
                    assert!(
                        place(TwinStep::Poison(*call)) < place(TwinStep::Call(*call))
                            && place(TwinStep::Call(*call)) < at
                    );
                }
            }
            let poisoned = steps.iter().filter(|step| matches!(step, TwinStep::Poison(_))).count();
            let compared: Vec<u64> = steps
                .iter()
                .filter_map(|step| if let TwinStep::Compare(call) = step { Some(*call) } else { None })
                .collect();
            assert_eq!(poisoned, compared.len());
            compared
        };
        assert_eq!(compared(128, 1), [63, 64, 127]);
        assert_eq!(compared(500, 1), [249, 250, 499]);
        assert_eq!(compared(3, 1), [0, 1, 2]);
        assert_eq!(compared(1, 1), [0]);
        // Every slot; where few, the middle too.
        assert_eq!(compared(128, 2), [63, 64, 126, 127]);
        assert_eq!(compared(128, 3), [63, 64, 125, 126, 127]);
        assert_eq!(compared(128, 100), (28..128).collect::<Vec<_>>());
        assert_eq!(compared(3, 2), [1, 2]);
        assert_eq!(compared(128, 1000), (0..1000).collect::<Vec<_>>());
    }

    /// Its input is the other one of the pair's last call, whose output it finds.
    #[test]
    fn one_call_is_compared_without_poison_where_answers_differ() {
        for (calls, expected) in
            [(128, Some(65)), (500, Some(251)), (5, Some(3)), (4, None), (3, None), (1, None)]
        {
            let steps = steps(calls, 1, true);
            let at = |step| steps.iter().position(|other| *other == step);
            let bare: Vec<u64> = steps
                .iter()
                .filter_map(|step| if let TwinStep::Compare(call) = step { Some(*call) } else { None })
                .filter(|&call| at(TwinStep::Poison(call)).is_none())
                .collect();
            assert_eq!(bare, Vec::from_iter(expected), "{calls}");
            for call in bare {
                let place = at(TwinStep::Call(call)).unwrap();
                let around = [steps[place - 1], steps[place + 1]];
                assert_eq!(around, [TwinStep::Compare(call - 1), TwinStep::Compare(call)], "{calls}");
            }
        }
    }

    #[test]
    fn cold_slots_are_each_compared_once() {
        for (calls, slots) in [(128, 2), (128, 7), (5, 7), (1000, 129), (3, 2)] {
            let mut hit = vec![0; slots as usize];
            for step in steps(calls, slots, false) {
                if let TwinStep::Compare(call) = step {
                    hit[(call % slots) as usize] += 1;
                }
            }
            assert!(hit.iter().all(|&times| times >= 1), "{calls} {slots}: {hit:?}");
        }
    }
}
