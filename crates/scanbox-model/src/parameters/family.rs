//! What each family is, and what it may be combined with: one entry each.

use super::words::{BlockScan, Family, Lookback, Publish, Rendezvous, TileOrder};
use super::{Config, KERNEL_PARAMETERS, Scope};

/// How workgroups come by the totals of the tiles before their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Totals {
    /// Each by itself: nobody waits.
    Alone,
    /// They pass them on through memory, in tile states.
    PassedOn,
    /// From the pass before: they are an array that is scanned in between. Passes wait for each other, workgroups do
    /// not.
    ByLevels,
}

/// What a family is.
#[derive(Debug, Clone, Copy)]
pub struct FamilyEntry {
    /// The root shader; of one that goes level by level, that which scans tiles.
    pub shader: &'static str,
    /// How its workgroups come by totals.
    pub totals: Totals,
    /// The lookbacks that it goes with.
    pub lookbacks: &'static [Lookback],
    /// The tile orders that it goes with. Where nobody waits the order is of no importance: the default is written.
    pub tile_orders: &'static [TileOrder],
    /// Whether workgroups go from tile to tile. Then there are some for each unit, and they publish before the scan, by
    /// subgroups.
    pub persistent: bool,
    /// Why it makes no reduction, if it does not.
    pub no_reduction: Option<&'static str>,
}

impl FamilyEntry {
    /// What most families without tile states have in common.
    const PLAIN: Self = Self {
        shader: "",
        totals: Totals::Alone,
        lookbacks: &[Lookback::None],
        tile_orders: &[TileOrder::Ticket],
        persistent: false,
        no_reduction: None,
    };
}

const ITS_TILES_WAIT_FOR_NOBODY: Option<&str> =
    Some("its tiles wait for nobody, and one of them has all the work");

impl Family {
    /// What it is.
    #[must_use]
    pub const fn entry(self) -> FamilyEntry {
        match self {
            Self::ChainedScan => FamilyEntry {
                shader: "chained_scan.comp",
                totals: Totals::PassedOn,
                lookbacks: &[
                    Lookback::Sequential,
                    Lookback::Parallel,
                    Lookback::Gather,
                    Lookback::TwoLevel,
                    Lookback::Chain,
                    Lookback::Fallback,
                    Lookback::GatherFallback,
                ],
                tile_orders: &[TileOrder::Ticket, TileOrder::WorkgroupId],
                ..FamilyEntry::PLAIN
            },
            Self::Persistent => FamilyEntry {
                shader: "persistent_scan.comp",
                totals: Totals::PassedOn,
                lookbacks: &[Lookback::Gather, Lookback::TwoLevel, Lookback::GatherFallback],
                tile_orders: &[TileOrder::Ticket, TileOrder::WorkgroupId, TileOrder::RoundRobin],
                persistent: true,
                no_reduction: ITS_TILES_WAIT_FOR_NOBODY,
            },
            Self::OneWorkgroup => FamilyEntry { shader: "one_workgroup.comp", ..FamilyEntry::PLAIN },
            Self::Recompute => FamilyEntry {
                shader: "recompute_scan.comp",
                no_reduction: ITS_TILES_WAIT_FOR_NOBODY,
                ..FamilyEntry::PLAIN
            },
            Self::ReduceThenScan => {
                FamilyEntry { shader: "downsweep_tiles.comp", totals: Totals::ByLevels, ..FamilyEntry::PLAIN }
            }
            Self::ScanThenPropagate => FamilyEntry {
                shader: "scan_tiles.comp",
                totals: Totals::ByLevels,
                no_reduction: Some(
                    "it scans all tiles first, which a reduction needs none of: reduce-then-scan does not",
                ),
                ..FamilyEntry::PLAIN
            },
        }
    }
}

/// A rule that says no, and what it says.
type BrokenRule = (&'static str, String);

impl Config {
    /// Whether its values go together, on any device.
    ///
    /// # Errors
    /// The name of the first rule that says no, and what it says.
    pub fn check_combination(&self) -> Result<(), BrokenRule> {
        let Self { kernel, .. } = self;
        let family = kernel.family;
        let entry = family.entry();
        if !entry.lookbacks.contains(&kernel.lookback) {
            return Err(("family-lookback", format!("family {family} with lookback {}", kernel.lookback)));
        }
        // Rules about single words come first: rejections are counted by the first rule that says no.
        let by_word = |about_words: bool| {
            KERNEL_PARAMETERS.iter().filter(move |parameter| {
                parameter.needs.is_some_and(|needs| !needs.words.is_empty()) == about_words
            })
        };
        by_word(true).chain(by_word(false)).try_for_each(|parameter| parameter.check(self))?;
        self.check_persistence(entry.persistent)?;
        if !entry.tile_orders.contains(&kernel.tile_order) {
            return Err((
                "family-tile-order",
                format!("family {family} with tile order {}", kernel.tile_order),
            ));
        }
        let of_states = KERNEL_PARAMETERS.iter().filter(|parameter| {
            parameter.default.is_some()
                && parameter.define.is_some_and(|define| define.scope == Scope::TileStates)
        });
        if entry.totals != Totals::PassedOn
            && of_states.into_iter().any(|parameter| Some((parameter.get)(self)) != parameter.default)
        {
            let detail = format!("parameters of tile states with family {family}, which has none");
            return Err(("family-without-states", detail));
        }
        Ok(())
    }

    fn check_persistence(&self, persistent: bool) -> Result<(), BrokenRule> {
        let Self { kernel, .. } = self;
        let family = kernel.family;
        if persistent && (kernel.block_scan != BlockScan::Subgroup || kernel.publish != Publish::BeforeScan) {
            let detail = format!(
                "block scan {}, published {}: a persistent kernel publishes before the scan, by subgroups",
                kernel.block_scan, kernel.publish
            );
            return Err(("persistent-publishes-before-scan", detail));
        }
        if !persistent && kernel.rendezvous != Rendezvous::Barrier {
            return Err(("flags-need-persistent", format!("rendezvous flags with family {family}")));
        }
        if kernel.rendezvous == Rendezvous::Flags && kernel.lookback.falls_back() {
            let detail =
                "rendezvous flags with a fallback: all subgroups together add a tile up, between barriers";
            return Err(("fallback-needs-barriers", detail.to_owned()));
        }
        if persistent && kernel.lookback.falls_back() && kernel.tile_order == TileOrder::WorkgroupId {
            let detail = "tile order workgroup-id of a persistent kernel with a fallback: how many tickets a call takes depends \
                          on how many workgroups start, which is fixed where all of them have to run at the same time";
            return Err(("persistent-fallback-order", detail.to_owned()));
        }
        if persistent != self.workgroups_per_unit.is_some() {
            let detail = match persistent {
                true => "a persistent kernel is launched with some workgroups per unit (.u4)".to_owned(),
                false => format!("workgroups per unit with family {family}"),
            };
            return Err(("persistent-has-workgroups-per-unit", detail));
        }
        Ok(())
    }
}
