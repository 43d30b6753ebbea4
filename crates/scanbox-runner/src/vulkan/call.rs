//! One call of a plan: its dispatches with everything resolved that stays the same from call to call.

use ash::vk;
use scanbox_kernels::plan::{Binding, Pass, Plan, PushWord, Scratch, Tickets};
use scanbox_model::config::Arguments;
use scanbox_model::record::Status;
use scanbox_vk::line::line_addresses;
use scanbox_vk::push::{PUSH_BYTES, spread};
use scanbox_vk::{Access, Dispatch, Push, Told};

use super::commands::Recorder;
use super::library::LibraryCall;
use super::line::{Chain, Line};
use super::memory::{INITIAL_OFFSET, Memory, N_OFFSET};
use super::pipeline::Pipelines;
use crate::backend::{Failure, PipelineInfo};
use scanbox_kernels::ledger::{Ledger, Turn};

/// What changes in push constants from call to call.
#[derive(Default)]
struct PushPlaces {
    /// Words, and where they are in bytes.
    words: Vec<(usize, PushWord)>,
    /// Where addresses are, in bytes.
    data: Vec<(Binding, usize)>,
}

impl PushPlaces {
    /// The push constants of a pass as well. `shape`: workgroups in a row, and in all rows.
    fn of(pass: &Pass, shape: [u32; 2], plan: &Plan, memory: &Memory) -> Result<(Self, Push), Failure> {
        let (mut places, mut push) = (Self::default(), Push::new(shape));
        let too_many = || {
            let reason = format!("{} has more than {PUSH_BYTES} bytes of push constants", plan.label);
            Failure::new(Status::Unsupported, reason)
        };
        for binding in &pass.bindings {
            let place = push.add_address(memory.address(*binding, plan)?).ok_or_else(too_many)?;
            if let Binding::Input | Binding::Output | Binding::Expected | Binding::Report = binding {
                places.data.push((*binding, place));
            }
        }
        for &word in &pass.words {
            let (value, changes) = match word {
                PushWord::Value(value) => (value, false),
                PushWord::Epoch | PushWord::TicketBase | PushWord::Bank | PushWord::StaleGroups => (0, true),
            };
            let place = push.add_word(value).ok_or_else(too_many)?;
            if changes {
                places.words.push((place, word));
            }
        }
        Ok((places, push))
    }

    fn take(&self, turn: &Turn, push: &mut Push) {
        for &(place, word) in &self.words {
            let value = match word {
                PushWord::Value(value) => value,
                PushWord::Epoch => turn.epoch,
                PushWord::TicketBase => turn.ticket_base,
                PushWord::Bank => turn.bank,
                PushWord::StaleGroups => turn.stale_groups,
            };
            push.set_word(place, value);
        }
    }

    fn aim(&self, binding: Binding, address: vk::DeviceAddress, push: &mut Push) {
        for (_, place) in self.data.iter().filter(|(other, _)| *other == binding) {
            push.set_address(*place, address);
        }
    }
}

/// A call that can be recorded any number of times.
pub(super) struct Call {
    passes: Vec<PreparedPass>,
    layout: vk::PipelineLayout,
    scratch: Scratch,
    /// Tickets that a call takes.
    tickets: u32,
    /// What stands in memory beside arguments until it has been told: where, in bytes, and what.
    untold: Vec<(u64, Vec<u32>)>,
    /// Which lines the next call that is recorded finds its arguments in: the first of each pair, or the second.
    lines: usize,
    /// What the driver told about its pipelines.
    info: PipelineInfo,
    /// What records it in place of all that, where that is the library which programs have.
    library: Option<LibraryCall>,
}

struct PreparedPass {
    dispatch: Dispatch,
    /// Of its push constants, where it has any.
    places: PushPlaces,
    /// What it is told in memory.
    line: Option<Line>,
}

impl Call {
    /// Resolves the passes of `plans`, which make up one call together. The memory they need is there already.
    pub fn prepare<'a>(
        plans: impl IntoIterator<Item = &'a Plan>,
        scratch: Scratch,
        memory: &Memory,
        pipelines: &Pipelines,
        max_workgroup_count: [u32; 3],
    ) -> Result<Self, Failure> {
        let mut call = Self { scratch, ..Self::of_nothing(pipelines) };
        for plan in plans {
            for (place, pass) in (0..).zip(&plan.passes) {
                let groups = spread(pass.workgroups, max_workgroup_count);
                let too_many = || {
                    let (label, count) = (&plan.label, pass.workgroups);
                    Failure::new(
                        Status::Unsupported,
                        format!("{label} needs {count} workgroups per dispatch"),
                    )
                };
                let groups = groups.ok_or_else(too_many)?;
                let started = groups[0] * groups[1];
                let taken = match pass.tickets {
                    Tickets::None => Some(0),
                    Tickets::PerWorkgroup { more } => started.checked_add(more),
                    Tickets::Exactly(tickets) => Some(tickets),
                };
                let all_taken = taken.and_then(|taken| call.tickets.checked_add(taken));
                call.tickets = all_taken.ok_or_else(too_many)?;
                let shape = [groups[0], started];
                call.untold.extend(pass.bindings.iter().filter_map(|binding| match binding {
                    Binding::Elements(n) => Some((N_OFFSET, vec![*n])),
                    Binding::Initial(words) => Some((INITIAL_OFFSET, words.to_vec())),
                    _ => None,
                }));
                let line = || Line::new(pass, place, shape, plan, memory);
                let [first, second] = line_addresses(memory.lines().address(), place);
                let mut places = PushPlaces::default();
                let mut in_memory = None;
                let (of_lines, told) = match pass.shader.arguments() {
                    Arguments::Push => {
                        let push;
                        (places, push) = PushPlaces::of(pass, shape, plan, memory)?;
                        ([pipelines.pushed(&pass.shader)?; 2], Told::Pushed(push))
                    }
                    Arguments::Block => {
                        let bound = |address| pipelines.bound(&pass.shader, address, None, plan.max_n());
                        let pair = [bound(first)?, bound(second)?];
                        in_memory = Some(line()?);
                        (pair, Told::Line)
                    }
                    Arguments::Baked => {
                        let words = *line()?.words();
                        ([pipelines.bound(&pass.shader, first, Some(words), None)?; 2], Told::Baked)
                    }
                };
                let [own, _] = of_lines;
                call.info = call.info.and(own.1);
                let dispatch = Dispatch { pipelines: of_lines.map(|(raw, _)| raw), told, groups };
                call.passes.push(PreparedPass { dispatch, places, line: in_memory });
            }
        }
        Ok(call)
    }

    /// A call that the library records.
    pub fn by_library(library: LibraryCall, pipelines: &Pipelines) -> Self {
        Self { library: Some(library), ..Self::of_nothing(pipelines) }
    }

    fn of_nothing(pipelines: &Pipelines) -> Self {
        Self {
            passes: Vec::new(),
            layout: pipelines.layout(),
            scratch: Scratch::NONE,
            tickets: 0,
            untold: Vec::new(),
            lines: 0,
            info: PipelineInfo::default(),
            library: None,
        }
    }

    /// What the driver told about its pipelines; of the library's nothing is known.
    pub fn info(&self) -> PipelineInfo {
        self.info
    }

    /// Whether all that was recorded of it may be submitted.
    pub fn check(&mut self) -> Result<(), Failure> {
        self.library.as_mut().map_or(Ok(()), LibraryCall::check)
    }

    /// Dispatches of one call.
    pub fn dispatches(&self) -> usize {
        self.library.as_ref().map_or(self.passes.len(), |library| library.dispatches)
    }

    /// The turns of `count` calls in a row (see [`Ledger::turns`]).
    pub fn turns(&self, count: u32, ledger: &mut Ledger) -> Vec<Turn> {
        ledger.turns(count, &self.scratch, self.tickets)
    }

    /// Makes the calls that are recorded from now on find this binding here: input, output, what is expected, or the
    /// report. Of calls with lines, those behind the next [`Call::tell`]; those that are baked stay where they are.
    pub fn aim(&mut self, binding: Binding, address: vk::DeviceAddress) {
        if let Some(library) = &mut self.library {
            library.aim(binding, address);
        }
        for PreparedPass { dispatch, places, line } in &mut self.passes {
            if let Told::Pushed(push) = &mut dispatch.told {
                places.aim(binding, address, push);
            }
            if let Some(line) = line {
                line.aim(binding, address);
            }
        }
    }

    /// Its lines, pass by pass.
    pub fn lines(&mut self) -> impl Iterator<Item = &mut Line> {
        self.passes.iter_mut().filter_map(|pass| pass.line.as_mut())
    }

    /// Records what the lines of the call are told, and the words beside them, where that has changed: behind what was
    /// recorded, and before what will be. Within a time that is taken only where that is what is timed.
    pub fn tell(&mut self, recorder: &mut Recorder<'_>, memory: &Memory) {
        if let Some(library) = &mut self.library {
            return library.tell(recorder, memory);
        }
        let untold = std::mem::take(&mut self.untold);
        if untold.is_empty() && self.lines().all(|line| line.is_told()) {
            return;
        }
        recorder.barrier(Access::COMPUTE, Access::TRANSFER);
        for (offset, words) in untold {
            recorder.update(memory.lines(), offset, &words);
        }
        self.lines().for_each(|line| line.tell(recorder, memory));
        recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        self.lines = 0;
    }

    /// Has the next [`Call::tell`] write all lines, whatever they have.
    pub fn forget_lines(&mut self) {
        if let Some(library) = &mut self.library {
            library.forget_line();
        }
        self.lines().for_each(Line::forget);
    }

    /// The words of the records of a chain, of all lines of the call.
    pub fn records(&mut self, chain: &Chain) -> Vec<u32> {
        let mut records = Vec::new();
        for (place, line) in (0..).zip(self.lines()) {
            for slot in 0..chain.slots() {
                line.enter(chain, place, slot);
                records.extend(line.record());
            }
        }
        records
    }

    /// Lets the next call that is recorded have the pair of this slot, and those behind it what follows in the chain.
    /// Takes effect by [`Call::tell`].
    pub fn enter(&mut self, chain: &Chain, slot: u64) {
        (0..).zip(self.lines()).for_each(|(place, line)| line.enter(chain, place, slot));
    }

    /// Records one call: its dispatches, each after the one before. Its lines have been told.
    pub fn record(&mut self, recorder: &mut Recorder<'_>, turn: &Turn) {
        if let Some(library) = &mut self.library {
            return library.record(recorder);
        }
        for PreparedPass { dispatch, places, .. } in &mut self.passes {
            if let Told::Pushed(push) = &mut dispatch.told {
                places.take(turn, push);
            }
        }
        recorder.call(self.layout, self.passes.iter().map(|pass| &pass.dispatch), self.lines);
        let follows = self.lines().any(|line| line.follows());
        // It has written the arguments of the next one to the other lines.
        self.lines ^= usize::from(follows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of `n` that workgroups of `part` words each touch, by the arithmetic of the helper kernels
    /// (poison.comp and others), in 32 bits: none outside, and all of the last ones once.
    #[test]
    fn helpers_stay_within_memory_up_to_the_last_index() {
        let most = u32::MAX - 256;
        for n in [1, 4095, 4096, 4097, 1 << 31, u32::MAX - 5 * 4096, most - 4096, most - 1, most, u32::MAX] {
            for (part, row) in
                [(4096u32, 65_535), (4096, 1024), (1024, 65_535), (8192, 1 << 30), (4096, 100_000)]
            {
                let needed = u64::from(n).div_ceil(part.into());
                let Some([row, rows]) = spread(needed, [row, u32::MAX, 1]) else { continue };
                let started = u64::from(row) * u64::from(rows);
                let mut touched = 0;
                for rank in needed.saturating_sub(3)..started {
                    let rank = u32::try_from(rank).unwrap();
                    // What the kernels say.
                    if rank > (n - 1) / part {
                        continue;
                    }
                    let begin = rank.wrapping_mul(part);
                    let left = n.wrapping_sub(begin);
                    let count = u64::from(left.min(part));
                    assert!(u64::from(rank) * u64::from(part) + count <= u64::from(n), "{n} {part} {rank}");
                    touched += count;
                }
                let first = needed.saturating_sub(3) * u64::from(part);
                assert_eq!(touched, u64::from(n) - first, "{n} in parts of {part}, rows of {row}");
            }
        }
        // The kernels that have this arithmetic have this line, and nothing that wraps instead of it.
        for (kernel, line) in [
            ("poison.comp", "if (workgroup_rank() > (params.guarded_n - 1u) / WORDS) {"),
            ("compare.comp", "if (workgroup_rank() > (params.guarded_n - 1u) / WORDS) {"),
            ("fill.comp", "if (workgroup_rank() > (params.n - 1u) / WORDS) {"),
            ("read.comp", "if (run <= (params.n - 1u) / (RUN_VECTORS * LANES)) {"),
            ("copy.comp", "} else if (tile == full_tiles) {"),
        ] {
            let path =
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/glsl").join(kernel);
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.contains(line) && !text.contains("begin + at <"), "{kernel}");
        }
    }
}
