//! What is special about each call of a case: what the scratch memory holds before it, and how many workgroups start.

use std::fmt;

use scanbox_model::api::Api;
use scanbox_model::config::{Arguments, Config, TileState};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::{self, Resolved, Variant};
use crate::ledger::Ledger;
use crate::plan::{FIRST_TURN, Plan, ScratchContent};

/// Which builds of a config are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Builds {
    /// The one that sweeps time, one that takes calls which that one does not, and one whose workgroups are late.
    #[default]
    All,
    /// The one that sweeps time, alone: half or a third of what is compiled otherwise, which is most of what a
    /// verification on a software device takes.
    Swept,
}

/// What is special about one of the calls of a case. They follow each other in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Circumstance {
    /// Nothing: the scratch memory is as other plans left it.
    First,
    /// The same plan again.
    Again,
    /// The scratch memory holds what looks like good states: anywhere for a plan that fills its memory or writes
    /// before it reads, of an older epoch for one that does not.
    Garbage,
    /// The scratch memory is new, and happens to hold what looks like states of the epoch to come.
    NewMemory,
    /// More workgroups start than there are tiles.
    Surplus,
    /// Many calls in a row, as they are timed, on two inputs that alternate. Where the device counts its calls, the
    /// count comes to its end among those that are compared.
    InARow,
    /// Input and output stand elsewhere, each between guards, at addresses that are no rounder than they have to be.
    BetweenGuards,
    /// Workgroups are late beyond all measure, in a build of its own, with garbage as in `Garbage`: where workgroups
    /// run one after the other, nobody waits for a state, and nobody looks further than to the tile before its own.
    /// Subgroups are apart in it, in either order, so that a barrier that is missing shows.
    Late,
    /// The device has written that there are no elements.
    NoElements,
    /// The device has written how many elements there are, fewer than the call was recorded for, and one
    /// of the arrays or both begin where no vector may.
    AnyElement,
    /// The device has written more elements than the call was recorded for.
    BeyondMaximum,
    /// The count of calls comes to its end, and the device has written ever fewer elements: the states of larger calls
    /// have to be gone when their turn comes again.
    AcrossTheEnd,
}

impl Circumstance {
    /// Those of calls of the build that is verified, in order. After `Garbage` comes `NewMemory`, which it needs (see
    /// [`Garbage::Unnoticed`]).
    pub const ALL: [Self; 6] =
        [Self::First, Self::Again, Self::Garbage, Self::NewMemory, Self::Surplus, Self::InARow];

    /// Those of calls which ordinary builds do not take, behind all others: the scratch memory is as the one before has
    /// left it.
    pub const VARIED: [Self; 4] =
        [Self::NoElements, Self::AnyElement, Self::BeyondMaximum, Self::AcrossTheEnd];

    /// Every one, in order.
    pub const EVERY: [Self; 12] = [
        Self::First,
        Self::Again,
        Self::Garbage,
        Self::NewMemory,
        Self::Surplus,
        Self::InARow,
        Self::BetweenGuards,
        Self::Late,
        Self::NoElements,
        Self::AnyElement,
        Self::BeyondMaximum,
        Self::AcrossTheEnd,
    ];

    /// Its word in answers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Again => "again",
            Self::Garbage => "garbage",
            Self::NewMemory => "new_memory",
            Self::Surplus => "surplus",
            Self::InARow => "in_a_row",
            Self::BetweenGuards => "between_guards",
            Self::Late => "late",
            Self::NoElements => "no_elements",
            Self::AnyElement => "any_element",
            Self::BeyondMaximum => "beyond_maximum",
            Self::AcrossTheEnd => "across_the_end",
        }
    }

    /// What it means, and what a kernel that is wrong in it alone does wrong most likely.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::First => {
                "The first call of a case. The scratch memory is as the calls of other sizes left it."
            }
            Self::Again => {
                "The same call once more. Where only this one is wrong, the first one left its scratch memory, or an \
                 answer in the output, that it took for its own."
            }
            Self::Garbage => {
                "The scratch memory holds what looks like good states of an older call. A kernel that takes one for its \
                 own does not check to which call a state belongs, or does not clear what it must."
            }
            Self::NewMemory => {
                "The scratch memory is new, and happens to hold what looks like states of the call to come. What must \
                 be zero is not made so."
            }
            Self::Surplus => {
                "More workgroups start than there are tiles. Those that have no tile must leave without a trace."
            }
            Self::InARow => {
                "Many calls in one submission, as they are timed, on two inputs that alternate. What is wrong here alone \
                 depends on what the call before left."
            }
            Self::BetweenGuards => {
                "Input and output stand elsewhere, each between words that no call may change, and begin where a vector \
                 may, but at no rounder address: the kernel writes outside its output, or to an address of an earlier \
                 call, or expects more of addresses."
            }
            Self::Late => {
                "A build in which some workgroups are late, and the subgroups of a workgroup run one after the other, in \
                 either order. A barrier is missing, or workgroups do not wait for all that they must."
            }
            Self::NoElements => {
                "The device has written that there are no elements: nothing but the total may be written."
            }
            Self::AnyElement => {
                "The device has written how many elements there are, and the arrays begin where no vector may."
            }
            Self::BeyondMaximum => {
                "The device has written more elements than the call was recorded for, which counts as that many."
            }
            Self::AcrossTheEnd => {
                "The count of calls begins anew, while calls become smaller: a state that an earlier, larger call left \
                 counts as one of this call, unless it was cleared."
            }
        }
    }

    /// Whether a config can be called on arrays of another place: these have addresses, which it is told.
    #[must_use]
    pub fn may_be_between_guards(config: &Config, device: &DeviceProfile) -> bool {
        device.api == Api::Vulkan && config.kernel.arguments != Arguments::Baked
    }

    /// The build that takes them, for as many elements as this, of a config that has it on a device.
    #[must_use]
    pub fn varied(config: &Config, problem: &Problem, max_n: u64, device: &DeviceProfile) -> Option<Variant> {
        // What is bound begins where vectors may, and no kernel in WGSL finds n in memory.
        if device.api != Api::Vulkan {
            return None;
        }
        let variant = Variant::up_to(max_n).at_any_element();
        let variant = if problem.mode() == Mode::Reduce { variant } else { variant.with_total() };
        let variant = if problem.init_words().is_some() { variant.with_init_in_memory() } else { variant };
        catalog::variant_legal(config, variant).is_ok().then_some(variant)
    }

    /// The build whose workgroups are late, of a config that has it on a device.
    #[must_use]
    pub fn late(config: &Config, problem: &Problem, n: u64, device: &DeviceProfile) -> Option<Variant> {
        let variant = Variant::of_late_workgroups();
        catalog::plan_variant(config, variant, problem, n, device).is_ok().then_some(variant)
    }

    /// How many elements memory says that one of these calls has, if there is such a call on `n` elements. Those across
    /// the end of the count are several ([`Circumstance::across_the_end`]).
    #[must_use]
    pub fn told(self, n: u64, max_n: u64) -> Option<u64> {
        match self {
            Self::NoElements => Some(0),
            Self::AnyElement => Some(n),
            Self::BeyondMaximum => (n == max_n).then_some(u32::MAX.into()),
            _ => None,
        }
    }

    /// The calls across the end of the count: how many elements memory says, and the turn that each of them has. Few
    /// elements take no turn, and calls of a tile need none.
    #[must_use]
    pub fn across_the_end(
        config: &Config,
        problem: &Problem,
        max_n: u64,
        epoch_bits: u32,
        device: &DeviceProfile,
    ) -> Option<[(u64, u32); 4]> {
        let tiles = config.tiles(max_n);
        let [fewer, fewest] = [tiles * 2 / 3, tiles / 3].map(|tiles| tiles * config.tile_elements());
        let take_turns = tiles >= 9 && !Resolved::new(config, problem, fewest, device).is_few();
        let last = (1 << epoch_bits) - 1;
        take_turns.then_some([
            (max_n, last - 1),
            (fewer, last),
            (fewest, FIRST_TURN),
            (max_n, FIRST_TURN + 1),
        ])
    }

    /// At which elements the arrays of one of these calls begin, source and target, of a plan.
    #[must_use]
    pub fn begin(self, plan: &Plan) -> [u64; 2] {
        let drawn = plan.n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        match self {
            // One of all pairs but [0, 0]; sizes around powers of two and tiles have nearly all of them.
            Self::AnyElement => {
                let pair = 1 + drawn % 15;
                [pair % 4, pair / 4]
            }
            // Odd multiples of what a vector may begin at: a kernel that expects more is wrong there.
            Self::BetweenGuards => {
                let (alignment, element) = (plan.alignment(), plan.problem.element_bytes());
                let least = (1..=alignment).find(|elements| (elements * element).is_multiple_of(alignment));
                [drawn % 4, drawn / 4 % 4].map(|odd| (2 * odd + 1) * least.unwrap_or(0))
            }
            _ => [0; 2],
        }
    }

    /// What the scratch memory is given before the call.
    #[must_use]
    pub fn garbage(self, plan: &Plan) -> Option<Garbage> {
        // Older than all epochs but constant ones.
        const OLD: u32 = 1;
        // The first one on new memory.
        const COMING: u32 = 2;
        match self {
            // A count that comes to its end with the second call from here.
            Self::InARow | Self::AcrossTheEnd => match plan.scratch.content {
                ScratchContent::SelfTurning { epoch_bits } => {
                    Some(Garbage::TurnInZeros((1 << epoch_bits) - 2))
                }
                _ => None,
            },
            Self::NewMemory if plan.scratch.content != ScratchContent::None => {
                Some(Garbage::InNewMemory(good_state(plan, COMING)))
            }
            Self::Late | Self::Garbage => match plan.scratch.content {
                // No new memory comes behind it.
                ScratchContent::Anything | ScratchContent::Overwritten if self == Self::Late => None,
                ScratchContent::Anything | ScratchContent::Overwritten => {
                    Some(Garbage::Unnoticed(good_state(plan, OLD)))
                }
                ScratchContent::Tagged { .. } | ScratchContent::SelfTurning { .. } => {
                    Some(Garbage::InTileStates { word: good_state(plan, OLD), from: plan.states_offset() })
                }
                // Zeros have to be zeros.
                ScratchContent::Zeros | ScratchContent::None => None,
            },
            _ => None,
        }
    }

    /// The plan of the call.
    #[must_use]
    pub fn plan(self, plan: &Plan, device: &DeviceProfile) -> Plan {
        match self {
            // A prime number, so that it fills no dimension.
            Self::Surplus => with_surplus(plan, 13, device),
            _ => plan.clone(),
        }
    }

    /// The plan whose subgroups have the other order, where the build has subgroups apart: with one workgroup more in
    /// each pass (place.glsl). Without one where the number of workgroups is what waiting depends on.
    #[must_use]
    pub fn in_other_order(plan: &Plan, device: &DeviceProfile) -> Option<Plan> {
        let other = with_surplus(plan, 1, device);
        let is_same = other.passes.iter().zip(&plan.passes).all(|(a, b)| a.workgroups == b.workgroups);
        (!is_same).then_some(other)
    }
}

/// The plan with more workgroups than it needs, where that makes no difference.
fn with_surplus(plan: &Plan, surplus: u64, device: &DeviceProfile) -> Plan {
    let mut plan = plan.clone();
    for pass in plan.passes.iter_mut().filter(|pass| !pass.co_resident) {
        pass.workgroups = (pass.workgroups + surplus).min(device.most_workgroups());
    }
    plan
}

/// A word that, in all words of a tile state of the plan, is an inclusive prefix of this epoch
/// (stages/state/tile_*.glsl).
fn good_state(plan: &Plan, epoch: u32) -> u32 {
    const INCLUSIVE: u32 = 2;
    let tag = epoch << 2 | INCLUSIVE;
    match plan.build().and_then(|build| build.tile_state) {
        Some(TileState::Packed) => INCLUSIVE << 30 | epoch,
        Some(TileState::Split) => tag << 16 | tag,
        _ => tag,
    }
}

impl fmt::Display for Circumstance {
    /// For messages: `on the first call`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "on the first call",
            Self::Again => "on the second call in a row",
            Self::Garbage => "with garbage in the scratch memory",
            Self::NewMemory => "on new scratch memory with garbage",
            Self::Surplus => "with more workgroups than tiles",
            Self::InARow => "in many calls in a row",
            Self::BetweenGuards => "on arrays between guards",
            Self::Late => "while workgroups are late, and subgroups apart",
            Self::NoElements => "with n in memory, of no elements",
            Self::AnyElement => "with n in memory, on arrays that begin at any element",
            Self::BeyondMaximum => "with n in memory, beyond the maximum",
            Self::AcrossTheEnd => "with n in memory, across the end of the count",
        })
    }
}

/// What the scratch memory may hold before a call without harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// This word everywhere, in memory that counts as new: no harm to any plan, because who uses it first clears it.
    InNewMemory(u32),
    /// This word everywhere, behind the back of the backend: no harm to a plan that fills its memory before each
    /// call, or reads nothing that it has not written. Other plans have to be given new memory afterwards.
    Unnoticed(u32),
    /// A word in every tile state, behind the back of the backend: no harm to a plan whose states carry epochs, as long
    /// as the epoch in the word is an old one.
    InTileStates {
        /// The word.
        word: u32,
        /// Where the states begin, in bytes.
        from: u64,
    },
    /// Zeros and this turn, behind the back of the backend: no harm to a plan whose calls the device counts, as new
    /// memory is given to it with a turn as even as this one.
    TurnInZeros(u32),
}

impl Garbage {
    /// Tells the bookkeeping of the memory what it may know of this.
    pub fn tell(self, ledger: &mut Ledger) {
        if matches!(self, Self::InNewMemory(_)) {
            ledger.forget();
        }
    }

    /// The word.
    #[must_use]
    pub fn word(self) -> u32 {
        match self {
            Self::InNewMemory(word) | Self::Unnoticed(word) | Self::InTileStates { word, .. } => word,
            Self::TurnInZeros(_) => 0,
        }
    }

    /// The turn that the memory has then, where it has another one than before.
    #[must_use]
    pub fn turn(self) -> Option<u32> {
        if let Self::TurnInZeros(turn) = self { Some(turn) } else { None }
    }

    /// The same, so many calls before; an even number.
    #[must_use]
    pub fn earlier(self, calls: u32) -> Self {
        match self {
            Self::TurnInZeros(turn) => Self::TurnInZeros(turn - calls),
            garbage => garbage,
        }
    }

    /// The first byte of the scratch memory that has it; those behind it have it too.
    #[must_use]
    pub fn from(self) -> u64 {
        if let Self::InTileStates { from, .. } = self { from } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Circumstance;

    #[test]
    fn every_circumstance_has_the_word_of_answers() {
        let schema = schemars::schema_for!(Circumstance);
        let words: Vec<&str> = schema.as_value()["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["const"].as_str().unwrap())
            .collect();
        assert_eq!(words, Circumstance::EVERY.map(Circumstance::word));
    }
}
