//! Calls that ordinary builds do not take: of arrays that begin at any element, of an n that the device has written,
//! with a total beside the scan.

use ash::vk;
use scanbox_kernels::catalog::{self, GUARD_WORD};
use scanbox_kernels::plan::{Binding, Expected, GUARD_WORDS, N_WORD, Plan, PushWord};
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_vk::Access;

use super::buffer::{BufferOffset, WORD_BYTES};
use super::call::Call;
use super::commands::Recorder;
use super::memory::{GUARD_BYTES, Memory, N_OFFSET, OF_NONE_OFFSET};
use super::timing::{VulkanSession, adopt, fetch_report};
use super::total::total_of;
use crate::backend::Failure;
use crate::comparison_report::NO_MISMATCH;
use crate::session::unsupported;
use scanbox_kernels::ledger::Turn;

/// Something that a call leaves, and how it is compared.
pub(super) struct Check {
    /// For messages.
    what: &'static str,
    pub poison: Call,
    pub compare: Call,
}

impl VulkanSession {
    /// See [`crate::backend::Backend::verify_at`].
    pub fn verify_at(&mut self, plan: &Plan, begin: [u64; 2]) -> Result<u64, Failure> {
        if plan.is_baked() {
            let reason = format!("{} has baked arguments: its arrays stay where they are", plan.label);
            return Err(Failure::new(Status::Unsupported, reason));
        }
        let mut call = self.prepare(plan)?;
        let bytes = plan.n * plan.problem.element_bytes();
        let offsets = begin.map(|element| GUARD_BYTES + element * plan.problem.element_bytes());
        // A reduction of no elements has one, too.
        let room = bytes.max(plan.outputs() * plan.problem.element_bytes());
        self.memory.reserve_elsewhere(offsets[0].max(offsets[1]) + room + GUARD_BYTES)?;
        self.memory.reserve_total()?;
        let [source, target] = elsewhere(&self.memory, offsets)?.map(|place| place.address());
        for address in [source, target] {
            plan.check_address(address).map_err(unsupported)?;
        }
        call.aim(Binding::Input, source);
        call.aim(Binding::Output, target);
        let mut checks = self.checks(plan, false, target)?;
        if plan.n > 0 && !plan.in_place() {
            checks.extend(self.source_checks(plan, source)?);
        }
        let turn = call.turns(1, &mut self.ledger)[0];

        let Self { commands, memory, limit, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        adopt(&mut recorder, memory, &turn);
        for buffer in memory.elsewhere().into_iter().flatten().chain(memory.total()) {
            recorder.fill(buffer, 0, GUARD_WORD);
        }
        recorder.barrier(Access::TRANSFER, Access::TRANSFER);
        tell_of_none(&mut recorder, memory, &plan.problem);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        checks.iter_mut().for_each(|check| check.poison.record(&mut recorder, &Turn::NONE));
        recorder.barrier(Access::COMPUTE, Access::TRANSFER);
        if plan.n > 0 {
            let [input, _] = memory.input_and_expected(plan, false)?;
            let to = elsewhere(memory, offsets)?[usize::from(plan.in_place())];
            recorder.copy((input.buffer, input.offset), (to.buffer, to.offset), bytes);
        }
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        call.tell(&mut recorder, memory);
        if let Some((offset, n)) = n_in_memory(plan) {
            // Last, and not with the line, which has said something else: as by a dispatch before it.
            recorder.barrier(Access::COMPUTE, Access::TRANSFER);
            recorder.update(memory.lines(), offset, &[!n]);
            recorder.barrier(Access::TRANSFER, Access::TRANSFER);
            recorder.update(memory.lines(), offset, &[n]);
            recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        }
        call.record(&mut recorder, &turn);
        recorder.barrier(Access::COMPUTE, Access::COMPUTE);
        checks.iter_mut().for_each(|check| check.compare.record(&mut recorder, &Turn::NONE));
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        commands.wait(*limit)?;
        let [wrong, first, ..] = self.memory.read_back();
        if wrong > 0 {
            let what: Vec<_> = checks.iter().map(|check| check.what).collect();
            let what = what.join(", ");
            let reason = format!(
                "{wrong} wrong words among {what}; the first of one of these is word {first}, of {} that the output has",
                plan.output_words()
            );
            return Err(Failure::new(Status::WrongResult, reason));
        }
        Ok(plan.outputs() + GUARD_WORDS)
    }

    /// How to compare the copy of the input at `source`, which a call must not change, and the guards around it.
    fn source_checks(&self, plan: &Plan, source: vk::DeviceAddress) -> Result<[Check; 2], Failure> {
        let expected = self.memory.input_and_expected(plan, false)?[0].address();
        let [copy, guard] = [plan.n, 0].map(|n| Plan { n, result: Expected::Copy, ..plan.clone() });
        Ok([
            self.check("the input and the guard behind it", &copy, 0.0, expected, source)?,
            self.check("the guard in front of the input", &guard, 0.0, expected, source - GUARD_BYTES)?,
        ])
    }

    /// How to compare what is at `place`, where `part` says how much of it there is.
    fn check(
        &self,
        what: &'static str,
        part: &Plan,
        bound: f64,
        expected: vk::DeviceAddress,
        place: vk::DeviceAddress,
    ) -> Result<Check, Failure> {
        let mut check = Check {
            what,
            poison: self.helper(&catalog::poison(part, &self.gpu.profile))?,
            compare: self.helper(&catalog::compare(part, bound, &self.gpu.profile))?,
        };
        for helper in [&mut check.poison, &mut check.compare] {
            helper.aim(Binding::Expected, expected);
            helper.aim(Binding::Output, place);
        }
        Ok(check)
    }

    /// How to compare what a call of this plan leaves, on the input that is loaded or the other one: its output at
    /// `target`, the guards around it, and its total where it has one. What a user's operator makes of no elements is
    /// known to the kernel alone, unless somebody said what it begins with.
    pub fn checks(&self, plan: &Plan, other: bool, target: vk::DeviceAddress) -> Result<Vec<Check>, Failure> {
        let Self { memory, .. } = self;
        let missing = || Failure::new(Status::RuntimeError, "there is no place for a total");
        let total = memory.total().ok_or_else(missing)?.address();
        let of_none = total + OF_NONE_OFFSET;
        let is_known = plan.n > 0 || plan.problem.first_words().is_some();
        let check = |what, part: &Plan, target| -> Result<Check, Failure> {
            let expected = match plan.n.min(part.n) {
                0 => of_none,
                _ => memory.input_and_expected(part, other)?[1].address(),
            };
            self.check(what, part, self.error_bound(part), expected, target)
        };
        let mut checks = Vec::new();
        if is_known || plan.result != Expected::Total {
            checks.push(check("the output and the guard behind it", plan, target)?);
        }
        if let Some(part) = total_of(plan, memory.loaded()).filter(|_| is_known) {
            checks.push(check("the total and the guard behind it", &part, total)?);
        }
        let guard = Plan { n: 0, result: Expected::Scan, ..plan.clone() };
        checks.push(check("the guard in front of the output", &guard, target - GUARD_BYTES)?);
        Ok(checks)
    }
}

/// Where the n of calls of a plan stands among the lines, in bytes, and what the plan says that it is; of plans whose
/// calls find it there.
pub(super) fn n_in_memory(plan: &Plan) -> Option<(u64, u32)> {
    let pass = plan.passes.first().filter(|_| plan.max_n().is_some())?;
    match (pass.bindings.last(), pass.words.first()) {
        (Some(Binding::Elements(n)), _) => Some((N_OFFSET, *n)),
        (_, Some(PushWord::Value(n))) => Some((N_WORD as u64 * WORD_BYTES, *n)),
        _ => None,
    }
}

/// Where source and target are, this many bytes behind the beginnings of their memory.
pub(super) fn elsewhere(memory: &Memory, offsets: [u64; 2]) -> Result<[BufferOffset<'_>; 2], Failure> {
    let missing = || Failure::new(Status::RuntimeError, "there is no other input and output");
    let [input, output] = memory.elsewhere().ok_or_else(missing)?;
    let place = |buffer, offset| BufferOffset { buffer, offset };
    Ok([place(input, offsets[0]), place(output, offsets[1])])
}

/// Records the writing of what a call leaves that finds no elements.
pub(super) fn tell_of_none(recorder: &mut Recorder<'_>, memory: &Memory, problem: &Problem) {
    let (Some(words), Some(total)) = (problem.first_words(), memory.total()) else { return };
    recorder.update(total, OF_NONE_OFFSET, &words);
}
