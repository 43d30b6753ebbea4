//! The making of scans: which of the kernels that may run do, and where their scratch memory is.

use std::sync::Arc;

use ash::vk;
use scanbox_pack::choose::Lack;
use scanbox_pack::{ArgumentKind, CallUse, NotChosen, Recipe, ScanMode, ScanProblem, Wish};

use crate::call::{CallRules, SCRATCH_ALIGNMENT};
use crate::hand_over_error::{HandOverError, NotSplit};
use crate::ranges::{RangeChoice, ranges};
use crate::scan::{LongScan, RangeKernel, Scan, ScanParts, ScanRange};
use crate::scanner::Scanner;
use crate::words::{described, not_there, pack_with};

/// Elements of a part at most: half of what 32 bits count, so that every kernel for large arrays takes them.
const MOST_OF_PART: u64 = 1 << 31;
/// Parts are multiples of so many elements, and so begin where vectors may if the array does.
const PART_STEP: u64 = 1 << 20;

impl Scanner {
    /// A scan of up to `max_n` elements, by the best kernels that the pack has for them on this device. Makes their
    /// pipelines, which other scans of the scanner share, and so may take a while. Where a pipeline cannot be made, the
    /// kernel that comes next in the pack takes its place, at last the portable one.
    ///
    /// More elements than a kernel takes (2^32 less one tile) are scanned in parts, where arguments are pushed, the
    /// host knows n, and the operator is one of scanbox's own, or a user's of which the pack says that it allows parts.
    /// The pack then needs kernels for the uses `total` and `total init-in-memory` (of reductions for
    /// `init-in-memory`).
    ///
    /// # Errors
    /// [`HandOverError::NoKernel`] where the pack has nothing that runs here, [`HandOverError::TooLargeForKernels`]
    /// where it has nothing for as many elements.
    pub fn scan(&self, problem: &ScanProblem, max_n: u64, call_use: CallUse) -> Result<Scan, HandOverError> {
        match self.scan_at_once(problem, max_n, call_use) {
            Err(HandOverError::TooLargeForKernels { max_n, most, .. }) => {
                self.scan_in_large_parts(problem, max_n, call_use, most)
            }
            outcome => outcome,
        }
    }

    /// A scan whose calls are calls of one kernel each.
    pub(crate) fn scan_at_once(
        &self,
        problem: &ScanProblem,
        max_n: u64,
        call_use: CallUse,
    ) -> Result<Scan, HandOverError> {
        let max_n = max_n.max(1);
        let choices = |any_element| {
            let wish = Wish {
                scan: problem,
                call_use: CallUse { any_element, ..call_use },
                promised: self.parts.promises,
            };
            ranges(&self.parts.pack, &wish, &self.parts.facts.seen(), max_n)
                .map_err(|why| self.refusal(problem, call_use, max_n, why))
        };
        let wanted = choices(call_use.any_element)?;
        let mut maker = ScanMaker::new(self, problem, max_n, call_use);
        if call_use.any_element {
            // Vectors are faster, where the addresses of a call allow them; a pack need not have them.
            if let Ok(aligned) = choices(false) {
                maker.add(&aligned).map_or_else(drop, |ranges| maker.set_aligned(ranges));
            }
            let ranges = maker.add(&wanted)?;
            maker.set_any_element(ranges);
        } else {
            let ranges = maker.add(&wanted)?;
            maker.set_aligned(ranges);
        }
        maker.finish(&wanted)
    }

    /// Why there is no scan, and what to do, for people.
    fn refusal(&self, problem: &ScanProblem, call_use: CallUse, max_n: u64, why: NotChosen) -> HandOverError {
        let [text, mend] = match why {
            NotChosen::OtherSize { most, .. } if most > 0 && most < max_n => {
                return HandOverError::TooLargeForKernels { max_n, most, why: NotSplit::FewElements };
            }
            NotChosen::OtherScan => not_there(self.parts.pack.data(), problem, call_use),
            NotChosen::OtherUse | NotChosen::NotPromised(_) => {
                [why.to_string(), pack_with(problem, call_use, None)]
            }
            NotChosen::Lacks(Lack::SubgroupSize(_)) => {
                let own = self.parts.facts.seen().subgroup_size;
                [why.to_string(), pack_with(problem, call_use, Some(own))]
            }
            // Their texts say what to do, and another pack does not help.
            NotChosen::OtherSize { .. } | NotChosen::Lacks(Lack::Features(_)) => {
                [why.to_string(), String::new()]
            }
            NotChosen::Lacks(Lack::WorkgroupSize(_) | Lack::SharedBytes(_)) => {
                [why.to_string(), pack_with(problem, call_use, None)]
            }
        };
        HandOverError::NoKernel { problem: described(problem, call_use), why: vec![text], mend }
    }
}

impl Scanner {
    /// A scan in parts of so many elements, a multiple of what its kernels want vectors to begin at.
    ///
    /// # Errors
    /// As [`Scanner::scan`]. The pack needs kernels that store a total, and kernels that begin with a value in memory.
    #[doc(hidden)]
    pub fn scan_in_parts(
        &self,
        problem: &ScanProblem,
        max_n: u64,
        call_use: CallUse,
        part: u64,
    ) -> Result<Scan, HandOverError> {
        let is_reduction = problem.mode == ScanMode::Reduce;
        let first_use = CallUse { total: call_use.total || !is_reduction, ..call_use };
        let other_use = CallUse { init_in_memory: true, ..first_use };
        let scans =
            [self.scan_at_once(problem, part, first_use)?, self.scan_at_once(problem, part, other_use)?];
        let scan = self.scan_at_once(problem, part, call_use)?;
        let mut end = scan.scratch().bytes.next_multiple_of(SCRATCH_ALIGNMENT);
        let mut take = |bytes: u64| {
            let begin = end;
            end += bytes.next_multiple_of(SCRATCH_ALIGNMENT);
            begin
        };
        let offsets = [0, 1].map(|place: usize| take(scans[place].scratch().bytes));
        let totals = [(); 2].map(|()| take(problem.element_bytes.into()));
        let mut parts = Arc::into_inner(scan.parts).expect("nobody else has the scan yet");
        parts.long = Some(LongScan { part, scans, offsets, totals, reverse: problem.reverse });
        (parts.rules.max_n, parts.rules.scratch_bytes) = (max_n.max(1), end);
        Ok(Scan { parts: Arc::new(parts) })
    }

    /// A scan in the largest parts that its kernels take; `most`: of one of them.
    pub(crate) fn scan_in_large_parts(
        &self,
        problem: &ScanProblem,
        max_n: u64,
        call_use: CallUse,
        most: u64,
    ) -> Result<Scan, HandOverError> {
        let too_large = |why| Err(HandOverError::TooLargeForKernels { max_n, most, why });
        let is_reduction = problem.mode == ScanMode::Reduce;
        if call_use.n_on_device {
            return too_large(NotSplit::LengthOnDevice);
        }
        if call_use.arguments != ArgumentKind::Pushed {
            return too_large(NotSplit::BoundArguments);
        }
        if !self.splits(problem) {
            return too_large(NotSplit::Operator { is_reduction });
        }
        let mut part = MOST_OF_PART.min(most / PART_STEP * PART_STEP);
        loop {
            if part == 0 {
                return too_large(NotSplit::FewElements);
            }
            match self.scan_in_parts(problem, max_n, call_use, part) {
                Err(HandOverError::TooLargeForKernels { most, .. }) if most < part => {
                    part = most / PART_STEP * PART_STEP;
                }
                // Of what it lacks nobody has asked for.
                Err(HandOverError::NoKernel { .. }) => return too_large(NotSplit::Uses { is_reduction }),
                outcome => return outcome,
            }
        }
    }

    /// Whether calls in parts leave what one call leaves. Of a user's operator the pack knows it, which was made of its
    /// file; whoever asks for the scan need not.
    fn splits(&self, problem: &ScanProblem) -> bool {
        let mut packed = self.parts.pack.data().problems.iter();
        problem.operator_hash.is_empty() || packed.any(|packed| packed.splittable && packed.scan == *problem)
    }
}

/// A scan that is being made.
struct ScanMaker<'a> {
    scanner: &'a Scanner,
    problem: &'a ScanProblem,
    max_n: u64,
    call_use: CallUse,
    lists: [Vec<ScanRange>; 2],
    kernels: Vec<RangeKernel>,
}

impl<'a> ScanMaker<'a> {
    fn new(scanner: &'a Scanner, problem: &'a ScanProblem, max_n: u64, call_use: CallUse) -> Self {
        Self { scanner, problem, max_n, call_use, lists: Default::default(), kernels: Vec::new() }
    }

    /// The kernels of these ranges.
    ///
    /// # Errors
    /// Where all kernels of one cannot be had.
    fn add(&mut self, choices: &[RangeChoice]) -> Result<Vec<ScanRange>, HandOverError> {
        let mut ranges: Vec<ScanRange> = Vec::new();
        let before = self.kernels.len();
        for choice in choices {
            let first = self.scanner.parts.first_that_works(choice, self.call_use.n_on_device);
            let (place, reason, recipe) = first.map_err(|why| {
                self.kernels.truncate(before);
                self.no_kernel(why)
            })?;
            let best = choice.ranked.first().is_some_and(|(best, _)| *best == place);
            let range = ScanRange {
                from: choice.from,
                kernel: self.kernel(place, recipe, choice.to),
                reason,
                worst_loss_ppm: choice.worst_loss_ppm.filter(|_| best),
            };
            ranges.push(range);
        }
        Ok(ranges)
    }

    fn set_aligned(&mut self, ranges: Vec<ScanRange>) {
        self.lists[0] = ranges;
    }

    fn set_any_element(&mut self, ranges: Vec<ScanRange>) {
        self.lists[1] = ranges;
    }

    fn no_kernel(&self, why: Vec<String>) -> HandOverError {
        let mend = pack_with(self.problem, self.call_use, None);
        HandOverError::NoKernel { problem: described(self.problem, self.call_use), why, mend }
    }

    /// The kernel of a recipe, for as many elements too.
    fn kernel(&mut self, place: u16, recipe: Recipe<vk::Pipeline>, max_n: u64) -> usize {
        match self.kernels.iter().position(|kernel| kernel.place == place) {
            Some(at) => {
                let known = &mut self.kernels[at].max_n;
                *known = max_n.max(*known);
                at
            }
            None => {
                self.kernels.push(RangeKernel { place, recipe, max_n, offset: 0 });
                self.kernels.len() - 1
            }
        }
    }

    /// Adds a kernel for calls without elements, which have to store something, where there is none yet and one could
    /// be.
    fn add_empty(&mut self, choices: &[RangeChoice]) {
        if self.kernels.iter().any(|kernel| kernel.recipe.min_n == 0) {
            return;
        }
        let parts = &self.scanner.parts;
        let ranked =
            choices.iter().flat_map(|choice| choice.ranked.iter().map(|(place, _)| (*place, choice.to)));
        // What is portable needs no promise.
        let problem = parts.pack.data().problems.iter().find(|problem| problem.scan == *self.problem);
        let portable = problem.into_iter().flat_map(|problem| &problem.portable);
        let portable =
            portable.filter(|table| table.call_use == self.call_use).flat_map(|table| &table.breakpoints);
        let portable = portable.flat_map(|breakpoint| &breakpoint.ranked).map(|place| (*place, self.max_n));
        let ranked = ranked.chain(portable);
        let mut found =
            ranked.filter(|(place, _)| parts.recipe(*place).min_n == 0).filter_map(|(place, to)| {
                let most = if self.call_use.n_on_device { to } else { 1 };
                let groups = parts.facts.max_groups;
                Some((place, parts.try_recipe(place, most, self.call_use.n_on_device, groups).ok()?, most))
            });
        if let Some((place, recipe, most)) = found.next() {
            self.kernel(place, recipe, most);
        }
    }

    /// The scan. `choices`: those for all calls.
    fn finish(mut self, choices: &[RangeChoice]) -> Result<Scan, HandOverError> {
        let mut rules = CallRules {
            mode: self.problem.mode,
            in_place: self.problem.in_place,
            element_bytes: self.problem.element_bytes.into(),
            call_use: self.call_use,
            max_n: self.max_n,
            scratch_bytes: 0,
        };
        if rules.stores_one() {
            self.add_empty(choices);
        }
        // Kernels that clear or write what they read share their memory; each of the others has its own, since what one
        // leaves would be wrong for another. That for the most elements comes first.
        let shared = self.kernels.iter().filter(|kernel| !kernel.remembers());
        let shared = shared.map(RangeKernel::scratch_bytes).max().unwrap_or(0);
        let mut end = shared.next_multiple_of(SCRATCH_ALIGNMENT);
        for kernel in self.kernels.iter_mut().rev() {
            if kernel.remembers() {
                kernel.offset = end;
                end += kernel.scratch_bytes().next_multiple_of(SCRATCH_ALIGNMENT);
            }
        }
        rules.scratch_bytes = end;
        let Self { scanner, problem, lists, kernels, .. } = self;
        let parts = ScanParts {
            scanner: scanner.clone(),
            rules,
            problem: problem.clone(),
            lists,
            kernels,
            long: None,
        };
        Ok(Scan { parts: Arc::new(parts) })
    }
}
