//! Input and reference of a user's operator, which the device makes: the CPU does not know it.

use gpu_allocator::MemoryLocation;
use scanbox_kernels::catalog::{
    Law, OPERATOR_LAWS, OperatorLaw, SEEN_DIFFERENT, SHOWN_ELEMENTS, TRIED_LAWS, TriedLaw, operator_check,
    operator_finish, operator_laws, operator_load,
};
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_kernels::plan::Plan;
use scanbox_model::problem::{Mode, Problem};
use scanbox_model::record::Status;
use scanbox_model::user_operator::{Tolerance, UserOperator};
use scanbox_vk::Access;

use super::buffer::{Buffer, WORD_BYTES};
use super::timing::{VulkanSession, fetch_report};
use crate::backend::{Failure, Mismatch};
use crate::comparison_report::NO_MISMATCH;
use scanbox_kernels::ledger::Turn;

/// The check that each element of the answer is the one before it combined with an element of the input.
const DEFINITION: u32 = 1;

/// Elements that an operator which rounds combines before anything else is asked of it.
const GROWING_ELEMENTS: u64 = 1 << 22;

impl VulkanSession {
    /// Tries the laws of a user's operator on elements that its file draws. One that rounds also combines so many
    /// elements of a random input that sums which grow show: another one was tried on what many equal elements
    /// combine to.
    ///
    /// # Errors
    /// With the status `wrong_result`, when the operator is not what its file says: the reason has the elements that
    /// show it.
    pub(super) fn prove_operator(&mut self, problem: &Problem, file: &OperatorFile) -> Result<(), Failure> {
        let user = file.operator();
        self.operator = Some(file.clone());
        self.memory.reserve(problem, SHOWN_ELEMENTS)?;
        self.memory.forget();
        let every = TRIED_LAWS.iter().fold(0, |bits, tried| bits | tried.law.bit);
        let (found, _) = self.report_of(&operator_laws(&user, every, None, &self.gpu.profile))?;
        if let Some(tried) = TRIED_LAWS.iter().find(|tried| found & tried.law.bit != 0) {
            let [elements, results] = self.sample(problem, &user, tried)?;
            return Err(broken(&user, &tried.law, &elements, &results));
        }
        if found & SEEN_DIFFERENT == 0 {
            let [x, _] = self.sample(problem, &user, &TRIED_LAWS[0])?;
            let (who, remedy) = if user.transforms.input {
                ("transform_input() of what draw() makes is", "keep what is random")
            } else {
                ("draw() makes", "have draw() use its random bits")
            };
            let reason = format!(
                "operator {}: {who} {} every time, and combining changes nothing: no error would show; {remedy}",
                user.name,
                x.join(", ")
            );
            return Err(Failure::new(Status::WrongResult, reason));
        }
        if user.tolerance == Tolerance::EXACT {
            return Ok(());
        }
        let input = Input { kind: InputKind::Random, seed: 0 };
        self.load_by_operator(problem, &user, &input, GROWING_ELEMENTS).or_else(|failure| {
            match failure.status {
                Status::OutOfMemory => Ok(()),
                _ => Err(failure),
            }
        })
    }

    /// The elements of the first sample that breaks a law, or of the first one, and what came of them.
    fn sample(
        &mut self,
        problem: &Problem,
        user: &UserOperator,
        tried: &TriedLaw,
    ) -> Result<[Vec<String>; 2], Failure> {
        let bit = tried.law.bit;
        let (_, first) = self.report_of(&operator_laws(user, bit, None, &self.gpu.profile))?;
        let first = if first == u32::MAX { 0 } else { first };
        self.report_of(&operator_laws(user, bit, Some(first), &self.gpu.profile))?;
        let mut shown = Vec::new();
        for &(name, place) in tried.elements.iter().chain(tried.results) {
            shown.push(format!("{name} = {}", self.element(problem, true, place)?));
        }
        let results = shown.split_off(tried.elements.len());
        Ok([shown, results])
    }

    /// Fills input and reference memory with the first `n` elements of the input of a user's operator and their
    /// answer, and sees on the device that it is the answer. All of them anew: they take less time than anything that
    /// follows.
    ///
    /// # Errors
    /// When the memory does not fit; with the status `wrong_result`, when the operator is not what its file says: the
    /// reason has the elements that show it.
    pub(super) fn load_by_operator(
        &mut self,
        problem: &Problem,
        user: &UserOperator,
        input: &Input,
        n: u64,
    ) -> Result<(), Failure> {
        if self.memory.holds(problem, input, n) {
            return Ok(());
        }
        self.memory.reserve(problem, n)?;
        self.memory.forget();
        let (failed, _) = self.report_of(&operator_load(problem, user, input, n, &self.gpu.profile))?;
        if let Some(checked) = OPERATOR_LAWS.iter().find(|checked| failed & checked.law.bit != 0) {
            // Where this one fails, not any of them.
            let check = operator_check(problem, user, n, checked.law.bit, &self.gpu.profile);
            let (_, first) = self.report_of(&check)?;
            let (mut shown, at) = self.breaking(problem, checked, n, u64::from(first))?;
            shown.push(format!("at element {at} of input {input}"));
            return Err(broken(user, &checked.law, &shown, &[]));
        }
        if let Some(finish) = operator_finish(problem, user, n, &self.gpu.profile) {
            self.report_of(&finish)?;
        }
        self.memory.made(problem, input, n);
        Ok(())
    }

    /// Runs a plan that fills the report, and returns its first two words.
    fn report_of(&mut self, plan: &Plan) -> Result<(u32, u32), Failure> {
        let mut call = self.helper(plan)?;
        let Self { commands, memory, .. } = self;
        let mut recorder = commands.begin()?;
        recorder.update(memory.report(), 0, &NO_MISMATCH);
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        call.record(&mut recorder, &Turn::NONE);
        fetch_report(&mut recorder, memory);
        recorder.submit()?;
        commands.wait(self.limit)?;
        let [failed, first, ..] = memory.read_back();
        Ok((failed, first))
    }

    /// The elements of `n` that break a law at element `at`, as text. From the last element on, `at` counts from there,
    /// and what comes before it stands behind it. Also the place of that element.
    fn breaking(
        &mut self,
        problem: &Problem,
        law: &OperatorLaw,
        n: u64,
        at: u64,
    ) -> Result<(Vec<String>, u64), Failure> {
        let place = |index: u64| if problem.is_reversed() { n - 1 - index } else { index };
        let mut names: Vec<&str> = law.elements.iter().map(|(name, ..)| *name).collect();
        if problem.is_reversed() {
            names.reverse();
        }
        let mut shown = Vec::new();
        for (name, &(_, of_answer, before)) in names.into_iter().zip(law.elements) {
            // What an exclusive scan has combined at last stands one place before its result.
            let earlier = law.law.bit == DEFINITION && problem.mode() == Mode::Exclusive && !of_answer;
            shown.push(match at.checked_sub(before + u64::from(earlier)) {
                Some(index) => format!("{name} = {}", self.element(problem, of_answer, place(index))?),
                None => format!("{name} = identity()"),
            });
        }
        Ok((shown, place(at)))
    }

    /// An element of the input, or of the answer, as text.
    fn element(&mut self, problem: &Problem, of_answer: bool, index: u64) -> Result<String, Failure> {
        let words = self.element_words(problem, of_answer, index)?;
        if let Some(file) = &self.operator {
            return Ok(file.shown(words));
        }
        let [got, got_rest] =
            [0, 2].map(|place: usize| u64::from(words[place]) | u64::from(words[place + 1]) << 32);
        Ok(Mismatch { element: problem.element(), got, got_rest, ..Mismatch::default() }.got())
    }

    /// The words of an element of the input, or of the answer, with zeros behind them.
    pub(super) fn element_words(
        &mut self,
        problem: &Problem,
        of_answer: bool,
        index: u64,
    ) -> Result<[u32; 4], Failure> {
        let Self { gpu, commands, memory, .. } = self;
        let nothing = || Failure::new(Status::RuntimeError, "no input is loaded");
        let buffer = memory.input_and_reference().ok_or_else(nothing)?[usize::from(of_answer)];
        let bytes = problem.element_bytes();
        let mut copy = Buffer::new(gpu, "element", bytes, MemoryLocation::GpuToCpu)?;
        let mut recorder = commands.begin()?;
        recorder.copy((buffer, index * bytes), (&copy, 0), bytes);
        recorder.barrier(Access::TRANSFER, Access::HOST);
        recorder.submit()?;
        commands.wait(self.limit)?;
        let mut words = [0; 4];
        words
            .iter_mut()
            .zip(copy.words())
            .take((bytes / WORD_BYTES) as usize)
            .for_each(|(to, from)| *to = *from);
        Ok(words)
    }
}

/// That an operator breaks a law: which, for which elements, what these gave, and what to change, each on lines of its
/// own.
fn broken(user: &UserOperator, law: &Law, elements: &[String], results: &[String]) -> Failure {
    let mut reason = format!("operator {}: {}", user.name, law.broken);
    let must = [law.must.to_owned()];
    let mend = [law.mend.to_owned()];
    for (head, lines) in [("law", &must[..]), ("for", elements), ("gave", results), ("to do", &mend)] {
        for (place, line) in lines.iter().enumerate() {
            reason += &format!("\n  {:<6} {line}", if place == 0 { head } else { "" });
        }
    }
    Failure::new(Status::WrongResult, reason)
}
