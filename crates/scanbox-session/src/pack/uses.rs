//! Uses of a scan: which there are, and which build of a kernel is for one.

use scanbox_analysis::ranges::NEAR_PPM;
use scanbox_kernels::catalog::Variant;
use scanbox_kernels::packing::scan_problem;
use scanbox_model::config::Arguments;
use scanbox_model::problem::{Mode, Problem};
use scanbox_pack::{ArgumentKind, CallTrait, CallUse, PackProblem};

/// Which uses a pack is for: those that have nothing beside these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UseSet(Vec<CallTrait>);

impl UseSet {
    /// Uses of these traits; of any arguments where no trait says which.
    #[must_use]
    pub fn new(traits: &[CallTrait]) -> Self {
        let mut traits = traits.to_vec();
        let kinds = [CallTrait::Pushed, CallTrait::Line, CallTrait::Baked];
        if !kinds.iter().any(|kind| traits.contains(kind)) {
            traits.extend(kinds);
        }
        Self(traits)
    }

    /// The uses of a problem: with pushed arguments and with a line any combination, as far as the problem has it; with
    /// baked ones those that are told how many elements there are. All of them have the total and the initial value in
    /// memory that the problem has, named or not.
    pub fn uses(&self, problem: &Problem) -> Vec<CallUse> {
        let mut uses = Vec::new();
        for arguments in [ArgumentKind::Pushed, ArgumentKind::Line, ArgumentKind::Baked] {
            for bits in 0..32u32 {
                let has = |bit: u32| bits >> bit & 1 == 1;
                let call_use = CallUse {
                    arguments,
                    any_element: has(0),
                    total: has(1),
                    n_on_device: has(2),
                    init_in_memory: has(3),
                    scratch_overwritten: has(4),
                };
                let goes = (!call_use.total || problem.mode() != Mode::Reduce)
                    && (!call_use.init_in_memory
                        || problem.init_words().is_some()
                        || only_continues(call_use, problem))
                    && (!call_use.n_on_device || arguments != ArgumentKind::Baked)
                    && call_use.total >= problem.has_total()
                    && call_use.init_in_memory >= problem.reads_init();
                if goes && CallTrait::of(beside_problem(call_use, problem)).all(|what| self.0.contains(&what))
                {
                    uses.push(call_use);
                }
            }
        }
        uses
    }

    /// The arguments of the kernels that these uses can take.
    pub fn arguments(&self) -> impl Iterator<Item = Arguments> {
        let kinds = [
            (CallTrait::Pushed, Arguments::Push),
            (CallTrait::Line, Arguments::Block),
            (CallTrait::Baked, Arguments::Baked),
        ];
        kinds.into_iter().filter(|(what, _)| self.has(*what)).map(|(_, arguments)| arguments)
    }

    /// Whether a use is among them, whatever the problem is.
    #[must_use]
    pub fn has(&self, what: CallTrait) -> bool {
        self.0.contains(&what)
    }
}

/// Whether the calls of a use are just parts of calls of more elements than a kernel takes, which begin with the total
/// of the part before them: nobody said an initial value. They have as many elements as there may be.
pub(super) fn only_continues(call_use: CallUse, problem: &Problem) -> bool {
    let is_scan = problem.mode() != Mode::Reduce;
    let part = CallUse { total: is_scan, init_in_memory: true, ..CallUse::default() };
    call_use == part && problem.init_words().is_none() && problem.splits()
}

/// The problem that a use is packed for, of those whose rows there are of the same scan: the one that has most of what
/// the use has in memory.
pub(super) fn whose(call_use: CallUse, problem: &Problem, all: &[Problem]) -> Problem {
    let scan = scan_problem(problem);
    let more = |other: &Problem| {
        let beside = beside_problem(call_use, other);
        usize::from(beside.total) + usize::from(beside.init_in_memory)
    };
    let goes = |other: &&Problem| {
        call_use.total >= other.has_total()
            && call_use.init_in_memory >= other.reads_init()
            && scan_problem(other) == scan
    };
    all.iter().filter(goes).min_by_key(|other| (more(other), **other)).copied().unwrap_or(*problem)
}

/// Adds a problem. Those that differ in what stands in memory beside the arrays are one scan in several uses.
pub(super) fn join(packed: &mut Vec<PackProblem>, new: PackProblem) {
    let Some(scan) = packed.iter_mut().find(|other| other.scan == new.scan) else {
        packed.push(new);
        return;
    };
    // Of rows of one file, older ones do not know it.
    scan.splittable |= new.splittable;
    scan.measured.extend(new.measured);
    for table in new.portable {
        if !scan.portable.contains(&table) {
            scan.portable.push(table);
        }
    }
}

/// What a use has beside what its problem has.
fn beside_problem(call_use: CallUse, problem: &Problem) -> CallUse {
    let total = call_use.total && !problem.has_total();
    let init_in_memory = call_use.init_in_memory && !problem.reads_init();
    CallUse { total, init_in_memory, ..call_use }
}

/// The build of a kernel for a use.
pub(super) fn variant(call_use: CallUse) -> Variant {
    let CallUse { n_on_device, total, init_in_memory, any_element, .. } = call_use;
    Variant { max_n: n_on_device.then_some(0), total, init_in_memory, any_element, ..Variant::default() }
}

/// Whether it is the use that sweeps of a problem measure: calls that are told everything.
pub(super) fn is_ordinary(call_use: CallUse, problem: &Problem) -> bool {
    beside_problem(call_use, problem) == CallUse { arguments: call_use.arguments, ..CallUse::default() }
}

/// How many traits a use has beside where its arguments are, and beside its problem.
fn more_traits(call_use: CallUse, problem: &Problem) -> usize {
    CallTrait::of(beside_problem(call_use, problem)).skip(1).count()
}

/// How many kernels a set of promises has for a use at most. Each is a build of its own, and few that are good in
/// different places are nearly as fast as all; those that clear their memory are good in fewer places. Of uses with
/// many traits there are many, and few programs have one.
pub(super) fn most_kernels(call_use: CallUse, problem: &Problem) -> Option<usize> {
    match more_traits(call_use, problem) {
        0 => None,
        1 if call_use.scratch_overwritten => Some(4),
        1 | 2 => Some(3),
        _ => Some(1),
    }
}

/// By how much more promises have to make a use faster on average to be worth a table, in parts per million: what is
/// nearer is chance, and of uses with many traits there are many.
pub(super) fn worth_ppm(call_use: CallUse, problem: &Problem) -> u32 {
    match more_traits(call_use, problem) {
        0 => 0,
        1 => NEAR_PPM,
        _ => 5 * NEAR_PPM,
    }
}

/// Whether rows are about its calls: its kernels are built as those that were measured, or find in memory alone how
/// many elements there are.
pub(super) fn is_measured(call_use: CallUse, problem: &Problem) -> bool {
    let more = beside_problem(call_use, problem);
    !more.total && !more.init_in_memory && !more.any_element
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_take_kernels_with_their_arguments() {
        let check = |traits: &[CallTrait], expected: &[Arguments]| {
            assert_eq!(UseSet::new(traits).arguments().collect::<Vec<_>>(), expected, "{traits:?}");
        };
        check(&[CallTrait::Pushed, CallTrait::NOnDevice], &[Arguments::Push]);
        check(&[CallTrait::Baked, CallTrait::Line], &[Arguments::Block, Arguments::Baked]);
        check(&[CallTrait::Total], &[Arguments::Push, Arguments::Block, Arguments::Baked]);
    }
}
