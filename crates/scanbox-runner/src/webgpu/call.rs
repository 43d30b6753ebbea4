//! One call of a plan: its dispatches with everything resolved that stays the same from call to call.

use std::collections::HashMap;
use std::sync::Arc;

use scanbox_kernels::ledger::{Ledger, Turn};
use scanbox_kernels::plan::{Binding, Pass, Plan, PushWord, Scratch, Shader, Tickets};
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;
use scanbox_vk::push::spread;

use super::memory::{BoundMemory, GUARD_BYTES, shown};
use super::work::{BINDING_ALIGNMENT, BoundDispatch, ByteRange, PipelineKey, SLOT_WORDS, WORD_BYTES};
use crate::backend::Failure;

/// The pipelines of a session, by shader.
pub(super) type PipelineKeys = HashMap<Shader, PipelineKey>;

/// What calls are made of.
#[derive(Clone, Copy)]
pub(super) struct CallMeans<'a> {
    pub memory: &'a BoundMemory,
    pub pipelines: &'a PipelineKeys,
    pub profile: &'a DeviceProfile,
    /// The most that one binding shows, in bytes.
    pub binding_bytes: u64,
}

/// A call that can be put into work any number of times.
pub(super) struct BoundCall {
    passes: Vec<BoundPass>,
    scratch: Scratch,
    /// Tickets that a call takes.
    tickets: u32,
    binding_bytes: u64,
}

struct BoundPass {
    pipeline: PipelineKey,
    bindings: Vec<Binding>,
    ranges: Arc<[ByteRange]>,
    words: Vec<PushWord>,
    groups: [u32; 2],
}

impl BoundCall {
    /// Resolves the passes of `plans`, which make up one call together. The memory they need is there already.
    pub fn prepare<'a>(
        plans: impl IntoIterator<Item = &'a Plan>,
        scratch: Scratch,
        means: CallMeans<'_>,
    ) -> Result<Self, Failure> {
        let mut call = Self { passes: Vec::new(), scratch, tickets: 0, binding_bytes: means.binding_bytes };
        for plan in plans {
            for pass in &plan.passes {
                call.add(pass, plan, means)?;
            }
        }
        Ok(call)
    }

    fn add(&mut self, pass: &Pass, plan: &Plan, means: CallMeans<'_>) -> Result<(), Failure> {
        let refused = |why: String| Failure::new(Status::Unsupported, format!("{}: {why}", plan.label));
        let too_many = || refused(format!("needs {} workgroups per dispatch", pass.workgroups));
        let groups = spread(pass.workgroups, means.profile.max_workgroup_count).ok_or_else(too_many)?;
        let started = groups[0] * groups[1];
        let taken = match pass.tickets {
            Tickets::None => Some(0),
            Tickets::PerWorkgroup { more } => started.checked_add(more),
            Tickets::Exactly(tickets) => Some(tickets),
        };
        let all_taken = taken.and_then(|taken| self.tickets.checked_add(taken));
        self.tickets = all_taken.ok_or_else(too_many)?;
        if pass.words.len() + 2 > SLOT_WORDS {
            return Err(refused(format!("has more than {SLOT_WORDS} words")));
        }
        let missing = || Failure::new(Status::RuntimeError, format!("{} has no pipeline", pass.shader));
        let pipeline = *means.pipelines.get(&pass.shader).ok_or_else(missing)?;
        let ranges: Result<Vec<ByteRange>, Failure> =
            pass.bindings.iter().map(|&binding| range_of(binding, pass, plan, means)).collect();
        self.passes.push(BoundPass {
            pipeline,
            bindings: pass.bindings.clone(),
            ranges: ranges?.into(),
            words: pass.words.clone(),
            groups,
        });
        Ok(())
    }

    /// Dispatches of one call.
    pub fn dispatches(&self) -> usize {
        self.passes.len()
    }

    /// The turns of `count` calls in a row (see [`Ledger::turns`]).
    pub fn turns(&self, count: u32, ledger: &mut Ledger) -> Vec<Turn> {
        ledger.turns(count, &self.scratch, self.tickets)
    }

    /// Makes the calls from now on find this binding here: input, output, what is expected, or the report.
    pub fn aim(&mut self, binding: Binding, range: ByteRange) {
        let range = shown(range, self.binding_bytes);
        for pass in &mut self.passes {
            let is_there = |(at, other): (usize, &Binding)| (*other == binding).then_some(at);
            let places: Vec<usize> = pass.bindings.iter().enumerate().filter_map(is_there).collect();
            if places.iter().any(|&at| pass.ranges[at] != range) {
                let mut ranges = pass.ranges.to_vec();
                places.into_iter().for_each(|at| ranges[at] = range);
                pass.ranges = ranges.into();
            }
        }
    }

    /// The dispatches of one call.
    pub fn at(&self, turn: &Turn) -> impl Iterator<Item = BoundDispatch> {
        self.passes.iter().map(|pass| pass.at(turn))
    }
}

impl BoundPass {
    fn at(&self, turn: &Turn) -> BoundDispatch {
        let value = |word: &PushWord| match *word {
            PushWord::Value(value) => value,
            PushWord::Epoch => turn.epoch,
            PushWord::TicketBase => turn.ticket_base,
            PushWord::Bank => turn.bank,
            PushWord::StaleGroups => turn.stale_groups,
        };
        // The shape comes first, as in push constants.
        let shape = [self.groups[0], self.groups[0] * self.groups[1]];
        BoundDispatch {
            pipeline: self.pipeline,
            bindings: Arc::clone(&self.ranges),
            words: shape.into_iter().chain(self.words.iter().map(value)).collect(),
            groups: self.groups,
        }
    }
}

/// What a binding of a pass shows.
fn range_of(binding: Binding, pass: &Pass, plan: &Plan, means: CallMeans<'_>) -> Result<ByteRange, Failure> {
    let mut range = means.memory.resolve(binding, plan)?;
    let refused = |why: String| Failure::new(Status::Unsupported, format!("{}: {why}", plan.label));
    if let Binding::Scratch(offset) = binding {
        if !offset.is_multiple_of(BINDING_ALIGNMENT) {
            return Err(refused(format!(
                "scratch memory from byte {offset}, no multiple of {BINDING_ALIGNMENT}"
            )));
        }
        // Ranges of one buffer that a pass writes to do not overlap.
        let next = pass.bindings.iter().filter_map(|other| match other {
            Binding::Scratch(other) if *other > offset => Some(*other),
            _ => None,
        });
        if let Some(next) = next.min() {
            range.bytes = range.bytes.min(next - offset);
        }
    }
    let input = plan.n * plan.problem.element_bytes();
    let needed = match binding {
        Binding::Input => input,
        Binding::Output | Binding::Kept => plan.output_words() * WORD_BYTES + GUARD_BYTES,
        Binding::Expected | Binding::Reference => plan.output_words() * WORD_BYTES,
        Binding::Scratch(offset) => plan.scratch.bytes.saturating_sub(offset).min(range.bytes),
        _ => 0,
    };
    if needed > means.binding_bytes {
        let most = means.binding_bytes;
        return Err(refused(format!("{binding:?} has {needed} bytes, and a binding shows {most}")));
    }
    Ok(shown(range, means.binding_bytes))
}
