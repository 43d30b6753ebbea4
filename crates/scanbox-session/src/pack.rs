//! Packs from rows: which kernels are shipped for which use, range of sizes and set of promises, and the pack of them.
//!
//! Every use of a problem has a table for each set of promises that was asked for: the best that the rows show among
//! kernels that need no more. Times are those of ordinary calls; of builds that no row is about (arrays at any element,
//! a total beside the scan, a value in memory) a table says no loss, but those times choose and order its kernels all
//! the same. A use that is not ordinary has a few kernels at most, and one where only the device knows how many
//! elements there are; and more promises give it a table of its own only where they are worth it.

mod bytes;
mod chosen;
mod draft;
pub mod fresh;
mod left_out;
mod portable;
mod uses;

use std::collections::BTreeMap;

use anyhow::bail;
use scanbox_analysis::ranges::{ChoiceLoss, SizeRange, TimeGrid};
use scanbox_analysis::table::{Catalog, DeviceTable};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::packing::{
    PackBuilder, PackOrigin, PackingError, family_of, is_splittable, pack_device, scan_problem,
};
use scanbox_kernels::plan::Shader;
use scanbox_model::config::{Arguments, Config, Parameter, Reset};
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::{
    ArgumentKind, Breakpoint, CallUse, ChoiceTable, Pack, PackProblem, PackTime, Promises, Recipe,
    ScratchContent,
};

use crate::device::inform;

use self::draft::DraftTable;

pub use self::bytes::bytes_of;
pub use self::chosen::chosen;
pub use self::left_out::Unpromised;
pub use self::uses::UseSet;

/// What goes level by level, and needs nothing.
const BY_LEVELS: &str = "rts.b4.vec4.none.rake";
const BY_LEVELS_SHAPE: &str = "wg256";

/// What a pack is to have.
#[derive(Debug, Clone)]
pub struct PackWish {
    /// Sets of promises; each use has the best kernels for each of them.
    pub tiers: Vec<Promises>,
    /// Kernels of a table at most.
    pub most: Option<usize>,
    /// Which uses.
    pub uses: UseSet,
    /// Subgroup sizes that get kernels which run on any device.
    pub portable: Vec<u32>,
}

/// The rows of one problem, and what they were measured with.
#[derive(Debug, Clone, Copy)]
pub struct PackRows<'a> {
    /// What the numbers of configs stand for.
    pub catalog: &'a Catalog,
    /// The rows.
    pub table: &'a DeviceTable,
    /// The device, as it was then.
    pub device: &'a DeviceProfile,
    /// Of these kernels, and of the operator if it is a user's.
    pub compiler: &'a Compiler,
    /// Whether the rows are of other sources than the kernels: they choose, and nothing else is said of them.
    pub other_sources: bool,
    /// Whether most points of their sweep have no row: what those would have been worth is not known.
    pub is_partial: bool,
}

/// A pack, and what is to be said of how it came about.
#[derive(Debug)]
pub struct PackMade {
    /// The pack.
    pub pack: Pack,
    /// What ordinary calls lose in each set of promises.
    pub tiers: Vec<TierLoss>,
    /// What more promises would ship.
    pub unpromised: Vec<Unpromised>,
    /// What whoever asked for it should know: what rows of more kernels would change.
    pub warnings: Vec<String>,
    /// What its modules were compiled from, by their places.
    pub shaders: Vec<Shader>,
}

/// What the ordinary calls of a problem lose in a set of promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierLoss {
    /// The problem.
    pub problem: Problem,
    /// Where calls find their arguments.
    pub arguments: ArgumentKind,
    /// The promises.
    pub tier: Promises,
    /// Against the fastest of all that was measured; `None` where it was not.
    pub loss: Option<ChoiceLoss>,
    /// At each size, where it was measured.
    pub sizes: Vec<SizeLoss>,
}

/// What a call loses at a size, in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeLoss {
    /// Elements.
    pub n: u64,
    /// Against the fastest kernel, whatever it needs, that finds its arguments in the same place and can be shipped.
    pub of_kind_ppm: u32,
    /// Against the fastest of all that was measured.
    pub of_all_ppm: u32,
}

/// The pack of these rows.
///
/// # Errors
/// When nothing can be shipped, a shader does not compile, or there is too much.
pub fn pack(rows: &[PackRows<'_>], wish: &PackWish) -> anyhow::Result<PackMade> {
    let Some(first) = rows.first() else { bail!("there are no rows") };
    let mut builder = PackBuilder::new();
    let mut made = Collected::default();
    let problems: Vec<Problem> = rows.iter().map(|rows| rows.table.problem).collect();
    for rows in rows {
        let packed = ProblemPacker::new(*rows, wish).pack(&problems, &mut builder, &mut made)?;
        uses::join(&mut made.problems, packed);
    }
    let Collected { problems, times, tiers, unpromised, warnings } = made;
    let newest = rows.iter().map(|rows| &rows.table.newest_utc).max();
    let origin = PackOrigin {
        kernel_hash: first.compiler.kernel_hash(),
        measured_utc: newest.filter(|_| !times.is_empty()).cloned().unwrap_or_default(),
        device: pack_device(&known(first.device)?, family_of(first.device)),
    };
    let shaders = builder.shaders();
    let pack = builder.pack(origin, problems, times)?;
    Ok(PackMade { pack, tiers, unpromised, warnings, shaders })
}

/// A pack of kernels that run on any device with subgroups of one of the sizes that are wished for. Nothing in it was
/// measured.
///
/// # Errors
/// When a use of a problem has no such kernel, or a shader does not compile.
pub fn for_any_device(problems: &[Problem], compiler: &Compiler, wish: &PackWish) -> anyhow::Result<Pack> {
    let (mut builder, device) = (PackBuilder::new(), portable::nobodys());
    let mut packed = Vec::new();
    for &problem in problems {
        let tables = portable::tables(&mut builder, compiler, problem, &device, wish, true)?;
        if tables.is_empty() {
            bail!(
                "{problem}: no kernel for any device has one of these uses: kernels for any device take pushed \
                 arguments only (--uses pushed); for line and baked, tune this device: `scanbox tune`"
            );
        }
        let (scan, splittable) = (scan_problem(&problem), is_splittable(&problem));
        uses::join(&mut packed, PackProblem { scan, splittable, measured: Vec::new(), portable: tables });
    }
    let origin = PackOrigin {
        kernel_hash: compiler.kernel_hash(),
        measured_utc: String::new(),
        device: pack_device(&device, Vec::new()),
    };
    Ok(builder.pack(origin, packed, Vec::new())?)
}

/// A device with what is known of it now, and nothing that was assumed of it when it was measured.
///
/// # Errors
/// When the lists of known issues or safe devices cannot be read.
pub fn known(device: &DeviceProfile) -> anyhow::Result<DeviceProfile> {
    let mut known = device.clone();
    inform(&mut known, &[])?;
    // What a probe did not refute opens nothing that is shipped; what it refuted closes it.
    let facts = &mut known.guarantee_facts;
    facts.probe = facts.probe.as_ref().and_then(GuaranteesProbe::refuted);
    let kept: Vec<_> = known.guarantees.iter().copied().filter(|guarantee| known.gives(*guarantee)).collect();
    known.guarantees = kept;
    Ok(known)
}

/// What the problems of a pack come to.
#[derive(Debug, Default)]
struct Collected {
    problems: Vec<PackProblem>,
    times: Vec<PackTime>,
    tiers: Vec<TierLoss>,
    unpromised: Vec<Unpromised>,
    warnings: Vec<String>,
}

/// Packs one problem.
struct ProblemPacker<'a> {
    rows: PackRows<'a>,
    wish: &'a PackWish,
    /// The device, of which nothing is too much to ask: what its kernels need is in the tables.
    device: DeviceProfile,
    grid: TimeGrid,
    /// Whether rows show no kernel with pushed arguments whose calls the device counts.
    takes_twins: bool,
}

impl<'a> ProblemPacker<'a> {
    fn new(rows: PackRows<'a>, wish: &'a PackWish) -> Self {
        let device = DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..rows.device.clone() };
        let grid = TimeGrid::of(rows.catalog, rows.table);
        let turns = |config: &Config| {
            config.kernel.arguments == Arguments::Push && config.kernel.reset == Reset::Turn
        };
        let takes_twins = !grid.configs().any(turns);
        Self { rows, wish, device, grid, takes_twins }
    }

    fn problem(&self) -> Problem {
        self.rows.table.problem
    }

    /// `all`: the problems of the pack, each of which alone is asked about the uses that it was measured for.
    fn pack(
        self,
        all: &[Problem],
        builder: &mut PackBuilder,
        made: &mut Collected,
    ) -> anyhow::Result<PackProblem> {
        let problem = self.problem();
        let mut drafts = Vec::new();
        let mut twins = false;
        let is_own = |one: &CallUse| uses::whose(*one, &problem, all) == problem;
        for call_use in self.wish.uses.uses(&problem).into_iter().filter(is_own) {
            let mut of_use: Vec<DraftTable> = Vec::new();
            for &tier in &self.wish.tiers {
                let Some(draft) = self.draft(call_use, tier) else { continue };
                twins = twins || draft.configs().any(|config| self.is_twin(config));
                if uses::is_ordinary(call_use, &problem) {
                    let (arguments, loss, sizes) = (call_use.arguments, draft.loss, draft.sizes.clone());
                    made.tiers.push(TierLoss { problem, arguments, tier, loss, sizes });
                }
                if !of_use.iter().any(|other| other.breakpoints == draft.breakpoints) {
                    of_use.push(draft);
                }
            }
            let worse = |loss: Option<ChoiceLoss>| loss.map_or(u32::MAX, |loss| loss.mean_ppm);
            of_use.sort_by_key(|draft| (worse(draft.of_kernels), draft.needs.bits()));
            // Further promises need not bring kernels that need them: the better table of a set stays.
            let mut found: Vec<(Promises, u32)> = Vec::new();
            of_use.retain(|draft| {
                let is_new = !found.iter().any(|(needs, _)| *needs == draft.needs);
                found.extend(is_new.then_some((draft.needs, worse(draft.of_kernels))));
                is_new
            });
            // What asks for fewer promises and is nearly as fast does for both.
            let gain = uses::worth_ppm(call_use, &problem);
            of_use.retain(|draft| {
                let does = |&(needs, mean): &(Promises, u32)| {
                    needs != draft.needs
                        && draft.needs.has(needs)
                        && mean <= worse(draft.of_kernels).saturating_add(gain)
                };
                gain == 0 || !found.iter().any(does)
            });
            drafts.append(&mut of_use);
        }
        if drafts.is_empty() {
            bail!(self.why_nothing());
        }
        if twins {
            made.warnings.push(format!(
                "{}: the host counts the calls of kernels with pushed arguments in these rows, and of a recording that \
                 stays nobody does: their twins with reset turn are shipped, whose times nobody has measured",
                problem.title()
            ));
        }
        self.warn_of_missing(&drafts, made);
        made.unpromised.extend(self.unpromised());
        let measured = self.add(builder, made, drafts)?;
        let portable =
            portable::tables(builder, self.rows.compiler, problem, self.rows.device, self.wish, false)?;
        let (scan, splittable) = (scan_problem(&problem), is_splittable(&problem));
        Ok(PackProblem { scan, splittable, measured, portable })
    }

    /// What a config is shipped as; `None` where it is for another use.
    fn shipped(&self, config: &Config, call_use: CallUse) -> Option<Config> {
        let of_use = match config.kernel.arguments {
            Arguments::Push => ArgumentKind::Pushed,
            Arguments::Block => ArgumentKind::Line,
            Arguments::Baked => ArgumentKind::Baked,
        };
        if of_use != call_use.arguments {
            return None;
        }
        let variant = uses::variant(call_use);
        let content = |config: &Config| {
            let recipe = self.recipe(config, variant).ok()?;
            Some(recipe.formula.content(recipe.max_n))
        };
        // The rules of a build with n in memory refuse what the host counts, too.
        let plain = self.recipe(config, Variant::default()).ok()?;
        // With another n in it such a kernel may take more registers, so that fewer of its workgroups fit.
        if plain.co_resident && call_use.arguments == ArgumentKind::Baked {
            return None;
        }
        let counted = matches!(plain.formula.content(plain.max_n), ScratchContent::Tagged { .. });
        let mut shipped = *config;
        if counted {
            if !self.takes_twins {
                return None;
            }
            shipped.kernel.reset = Reset::Turn;
        }
        let content = content(&shipped)?;
        (!call_use.scratch_overwritten || content.is_stateless()).then_some(shipped)
    }

    /// Whether something is shipped that no row is about.
    fn is_twin(&self, config: &Config) -> bool {
        self.takes_twins && config.kernel.reset == Reset::Turn
    }

    fn recipe(
        &self,
        config: &Config,
        variant: Variant,
    ) -> Result<Recipe<Shader>, scanbox_model::space::Rejection> {
        catalog::recipe(config, variant, &self.problem(), &self.device)
    }

    fn needs(&self, config: &Config) -> Promises {
        catalog::needs(config, &self.device)
    }

    /// The best for a use among what needs no more than these promises.
    fn draft(&self, call_use: CallUse, tier: Promises) -> Option<DraftTable> {
        let grid = self
            .grid
            .only(|config| if tier.has(self.needs(config)) { self.shipped(config, call_use) } else { None });
        let problem = self.problem();
        let mut ranges = if call_use.n_on_device {
            grid.one_for_all().into_iter().collect()
        } else if uses::only_continues(call_use, &problem) {
            grid.shortest_of_largest().into_iter().collect()
        } else {
            grid.ranges([uses::most_kernels(call_use, &problem), self.wish.most].into_iter().flatten().min())
        };
        if ranges.is_empty() {
            return None;
        }
        ranges.extend(self.beyond(&grid, call_use));
        // Rows are about builds that differ in nothing from ordinary ones but in whose memory they are given.
        let is_measured =
            uses::is_measured(call_use, &problem) && !self.rows.other_sources && !self.rows.is_partial;
        let is_known = |range: &SizeRange| is_measured && !self.is_twin(&range.config);
        let of_kernels = grid.loss_of(&ranges);
        let loss = of_kernels.filter(|_| ranges.iter().all(is_known));
        let is_told = uses::is_ordinary(call_use, &problem) && loss.is_some();
        let sizes = if is_told { self.size_losses(&ranges, call_use) } else { Vec::new() };
        let breakpoints = self.breakpoints(&ranges, call_use, is_known);
        let configs = breakpoints.iter().flat_map(|(_, ranked, _)| ranked);
        let needs = configs.fold(Promises::NONE, |needs, config| needs.with(self.needs(config)));
        Some(DraftTable { call_use, needs, of_kernels, loss, sizes, breakpoints })
    }

    /// What these ranges lose at each size.
    fn size_losses(&self, ranges: &[SizeRange], call_use: CallUse) -> Vec<SizeLoss> {
        let kind = self.grid.only(|config| self.shipped(config, call_use));
        let of_all = kind.losses_of(ranges);
        let of_kind = kind.among_themselves().losses_of(ranges);
        let both = of_kind.into_iter().zip(of_all);
        both.map(|((n, of_kind_ppm), (_, of_all_ppm))| SizeLoss { n, of_kind_ppm, of_all_ppm }).collect()
    }

    /// What runs beyond the largest size that a set of promises has a row of, where others have rows: kernels that are
    /// made for few elements would take many all the same, in a time that grows with the square of their number.
    fn beyond(&self, grid: &TimeGrid, call_use: CallUse) -> Option<SizeRange> {
        let largest = grid.largest().filter(|largest| grid.sizes().last() > Some(largest))?;
        let tag = match call_use.arguments {
            ArgumentKind::Pushed => "",
            ArgumentKind::Line => ".block",
            ArgumentKind::Baked => ".baked",
        };
        let config: Config = format!("{BY_LEVELS}{tag}.{BY_LEVELS_SHAPE}").parse().ok()?;
        let config = self.shipped(&config, call_use)?;
        Some(SizeRange { from: largest + 1, config, others: Vec::new(), worst_loss_ppm: None })
    }

    fn breakpoints(
        &self,
        ranges: &[SizeRange],
        call_use: CallUse,
        is_known: impl Fn(&SizeRange) -> bool,
    ) -> Vec<(u64, Vec<Config>, Option<u32>)> {
        let variant = uses::variant(call_use);
        let takes =
            |config: &Config, n: u64| self.recipe(config, variant).is_ok_and(|recipe| recipe.takes(n));
        let most = |config: &Config| self.recipe(config, variant).map_or(0, |recipe| recipe.max_n);
        let mut from = 1;
        let mut breakpoints = Vec::new();
        for (place, range) in ranges.iter().enumerate() {
            let others = range.others.iter().filter(|other| takes(other, from));
            let ranked = std::iter::once(&range.config).chain(others).copied().collect();
            breakpoints.push((from, ranked, range.worst_loss_ppm.filter(|_| is_known(range))));
            // A kernel for few elements ends where it does.
            from = ranges.get(place + 1).map_or(from, |next| next.from.min(most(&range.config) + 1));
        }
        breakpoints
    }

    /// Tables of drafts, with places of recipes, and the times of those recipes.
    fn add(
        &self,
        builder: &mut PackBuilder,
        made: &mut Collected,
        drafts: Vec<DraftTable>,
    ) -> Result<Vec<ChoiceTable>, PackingError> {
        let mut wanted: Vec<(Config, Variant)> = drafts
            .iter()
            .flat_map(|draft| draft.configs().map(|config| (*config, uses::variant(draft.call_use))))
            .collect();
        wanted.sort();
        wanted.dedup();
        let recipes = wanted
            .into_iter()
            .filter_map(|(config, variant)| Some(((config, variant), self.recipe(&config, variant).ok()?)));
        let (wanted, recipes): (Vec<_>, Vec<_>) = recipes.unzip();
        let labelled = wanted.iter().map(|(config, _)| config.to_string()).zip(recipes);
        let places = builder.add_all(self.rows.compiler, labelled)?;
        let places: BTreeMap<(Config, Variant), u16> = wanted.into_iter().zip(places).collect();
        for ((config, variant), &place) in &places {
            let is_ordinary = *variant == Variant::default().of_problem(&self.problem());
            if !is_ordinary || self.is_twin(config) || self.rows.other_sources {
                continue;
            }
            made.times.extend(self.grid.times(config).map(|(n, time)| PackTime {
                recipe: place,
                n,
                picoseconds: (time.ns * 1000.0).round() as u64,
                confirmed: time.confirmed,
            }));
        }
        let table = |draft: DraftTable| {
            let DraftTable { call_use, needs, breakpoints, .. } = draft;
            let variant = uses::variant(call_use);
            let breakpoints = breakpoints.into_iter().map(|(from, ranked, worst_loss_ppm)| {
                let ranked = ranked.into_iter().map(|config| places[&(config, variant)]).collect();
                Breakpoint { from, ranked, worst_loss_ppm }
            });
            ChoiceTable { call_use, needs, breakpoints: breakpoints.collect() }
        };
        Ok(drafts.into_iter().map(table).collect())
    }

    /// Why not one kernel of the rows can be shipped, and what to do.
    fn why_nothing(&self) -> String {
        let problem = self.problem().title();
        let mut why: BTreeMap<String, usize> = BTreeMap::new();
        for config in self.grid.configs() {
            let needs = self.needs(config);
            let reason = if let Err(rejection) = self.recipe(config, Variant::default()) {
                rejection.detail
            } else if self.wish.tiers.iter().any(|tier| tier.has(needs)) {
                format!("arguments {} are for no use that was asked for", config.kernel.arguments)
            } else {
                format!("it needs {needs}, and --promises has no such set")
            };
            *why.entry(reason).or_insert(0) += 1;
        }
        let Some((reason, count)) = why.into_iter().max_by_key(|(_, count)| *count) else {
            return format!("{problem}: no row is ok and has a time, so that nothing can be shipped");
        };
        format!(
            "{problem}: nothing of it can be shipped; of most configs ({count}): {reason}; `scanbox sweep --space handover` \
             measures kernels to ship"
        )
    }
}
