//! What a pack leaves out, for who has it made: uses without a kernel, and fastest kernels that need more promises.

use std::collections::BTreeMap;

use scanbox_model::config::{Arguments, Config};
use scanbox_model::problem::Problem;
use scanbox_pack::{ArgumentKind, CallUse, Promises};

use super::draft::DraftTable;
use super::{Collected, ProblemPacker, uses};

/// The sizes of a problem whose fastest kernel is left out, as it needs promises that no set has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpromised {
    /// The problem.
    pub problem: Problem,
    /// So many sizes.
    pub sizes: usize,
    /// Of so many.
    pub of: usize,
    /// What these kernels need, each set once.
    pub needs: Vec<Promises>,
}

impl ProblemPacker<'_> {
    /// Says which ordinary uses no row is about.
    pub(super) fn warn_of_missing(&self, drafts: &[DraftTable], made: &mut Collected) {
        let problem = self.problem();
        let uses = self.wish.uses.uses(&problem).into_iter();
        for call_use in uses.filter(|&one| uses::is_ordinary(one, &problem)) {
            let word = match call_use.arguments {
                ArgumentKind::Pushed => Arguments::Push,
                ArgumentKind::Line => Arguments::Block,
                // Few sweeps bake arguments, and few programs can use what they find.
                ArgumentKind::Baked => continue,
            };
            let is_missing = |tier: &&Promises| {
                !drafts.iter().any(|draft| draft.call_use == call_use && tier.has(draft.needs))
            };
            let missing: Vec<String> =
                self.wish.tiers.iter().filter(is_missing).map(ToString::to_string).collect();
            if !missing.is_empty() {
                made.warnings.push(format!(
                    "{}: the pack has no kernel with arguments {word} for programs that promise {}, as no row is of one",
                    problem.title(),
                    missing.join(" or ")
                ));
            }
        }
    }

    /// The sizes at which the fastest kernel of all rows, as analyze names it, would be shipped with more promises.
    pub(super) fn unpromised(&self) -> Option<Unpromised> {
        let mut fastest: BTreeMap<u64, (f64, &Config)> = BTreeMap::new();
        for config in self.grid.configs() {
            for (n, time) in self.grid.times(config) {
                let best = fastest.entry(n).or_insert((time.ns, config));
                if time.ns < best.0 {
                    *best = (time.ns, config);
                }
            }
        }
        let problem = self.problem();
        let uses: Vec<CallUse> = self.wish.uses.uses(&problem);
        let is_for_us = |config: &Config| uses.iter().any(|one| self.shipped(config, *one).is_some());
        let is_promised = |needs: Promises| self.wish.tiers.iter().any(|tier| tier.has(needs));
        let needs =
            fastest.values().filter(|(_, config)| is_for_us(config)).map(|(_, config)| self.needs(config));
        let mut needs: Vec<Promises> = needs.filter(|needs| !is_promised(*needs)).collect();
        let (sizes, of) = (needs.len(), fastest.len());
        needs.sort_by_key(|needs| needs.bits());
        needs.dedup();
        (sizes > 0).then_some(Unpromised { problem, sizes, of, needs })
    }
}
