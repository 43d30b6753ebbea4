//! What a verification tries, as data: the sizes and inputs where scans go wrong, and what the memory holds before.
//!
//! Everything here is a function of configs, device and request, so that two processes agree on it.

mod circumstance;
pub mod covering;
mod pattern;
pub mod problem_pairs;

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::config::{Config, Family, Lookback, MOST_ROWS, TileState};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::space::Rejection;
use scanbox_model::units::{plural, size_label};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog;
use crate::input::Input;
use crate::plan::GROUP_TILES;
use crate::rounding;

pub use self::circumstance::{Builds, Circumstance, Garbage};
pub use self::pattern::Pattern;

/// What to try of each config.
#[derive(Debug, Clone)]
pub struct CaseRequest {
    /// What is computed.
    pub problem: Problem,
    /// The inputs.
    pub patterns: Vec<Pattern>,
    /// These sizes; where left out, those around the boundaries of each config.
    pub sizes: Option<Vec<u64>>,
    /// More boundaries, and larger sizes.
    pub thorough: bool,
    /// Seed of random words and of the order.
    pub seed: u64,
}

/// The cases of one config on one input: what a worker does between two words of its supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// The config, without a fixed workgroup count.
    pub config: Config,
    /// The input.
    pub input: Input,
    /// Input sizes, ascending.
    pub sizes: Vec<u64>,
}

/// What a request comes to on a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CaseSelection {
    /// What is tried.
    pub items: Vec<Item>,
    /// What is not, by rule.
    pub left_out: BTreeMap<String, LeftOut>,
}

/// Cases that a rule leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// How many.
    pub cases: u64,
    /// The label of the config of the first of them.
    pub config: String,
    /// The input size of the first of them, in elements.
    pub n: u64,
    /// What the rule says about the first of them.
    pub example: String,
}

impl LeftOut {
    /// What is left out by the rule: `3 cases by rule packed-total, such as b1.vec4.seq.rake.packed.wg64 at 2^20: ...`.
    #[must_use]
    pub fn sentence(&self, rule: &str) -> String {
        let cases = plural(usize::try_from(self.cases).unwrap_or(usize::MAX), "case");
        format!("{cases} by rule {rule}, such as {} at {}: {}", self.config, size_label(self.n), self.example)
    }
}

impl CaseSelection {
    /// The cases of these configs on a device. `allow` has the last word on each config.
    pub fn new(
        configs: &[Config],
        device: &DeviceProfile,
        request: &CaseRequest,
        allow: impl Fn(&Config) -> Result<(), Rejection>,
    ) -> Self {
        let mut selection = Self::default();
        // Labels with other workgroup counts, as rows of a sweep have them, are one config at more sizes.
        let mut sizes_of: BTreeMap<Config, BTreeSet<u64>> = BTreeMap::new();
        for &given in configs {
            sizes_of.entry(Config { workgroups: None, ..given }).or_default().extend(match &request.sizes {
                Some(sizes) => sizes.iter().copied().collect(),
                None => boundary_sizes(&given, device, request.thorough),
            });
        }
        for (config, sizes) in sizes_of {
            for &pattern in &request.patterns {
                let mut items: Vec<Item> = Vec::new();
                for &n in &sizes {
                    match allow(&config).and_then(|()| input_of(&config, pattern, n, device, request)) {
                        Ok(input) => match items.last_mut().filter(|item| item.input == input) {
                            Some(item) => item.sizes.push(n),
                            None => items.push(Item { config, input, sizes: vec![n] }),
                        },
                        Err(rejection) => selection.leave_out(&config, n, rejection),
                    }
                }
                selection.items.append(&mut items);
            }
        }
        selection
    }

    fn leave_out(&mut self, config: &Config, n: u64, Rejection { rule, detail }: Rejection) {
        let first = || LeftOut { cases: 0, config: config.to_string(), n, example: detail };
        self.left_out.entry(rule.into_owned()).or_insert_with(first).cases += 1;
    }

    /// How many cases it has: sizes of configs on inputs.
    #[must_use]
    pub fn cases(&self) -> u64 {
        self.items.iter().map(|item| item.sizes.len() as u64).sum()
    }

    /// The largest size of the cases that a config has with an input.
    #[must_use]
    pub fn largest(&self, config: &str, input: &Input) -> Option<u64> {
        let of_both = |item: &&Item| item.input == *input && item.config.to_string() == config;
        self.items.iter().filter(of_both).flat_map(|item| item.sizes.iter().copied()).max()
    }

    /// The different configs that have a case.
    #[must_use]
    pub fn configs(&self) -> BTreeSet<Config> {
        self.items.iter().map(|item| item.config).collect()
    }
}

/// The input of a case, if the config can run it.
fn input_of(
    config: &Config,
    pattern: Pattern,
    n: u64,
    device: &DeviceProfile,
    request: &CaseRequest,
) -> Result<Input, Rejection> {
    let problem = &request.problem;
    catalog::legal(config, problem, n, device)?;
    let packed = catalog::resolved(config, device).kernel.tile_state == TileState::Packed;
    let input = pattern.input(problem, packed, n, request.seed);
    if packed && !input.fits_packed(n) {
        let detail = format!(
            "{config}: the packed tile state carries totals below 2^30, not that of {n} elements of input {input}"
        );
        return Err(Rejection { rule: "packed-total".into(), detail });
    }
    if pattern == Pattern::Real && !Pattern::of_problem(problem).contains(&pattern) {
        let detail = format!("input real of {problem}: it is for sums of floats, which alone are rounded");
        return Err(Rejection { rule: "real-needs-float-sum".into(), detail });
    }
    if !pattern.shows_something(problem) {
        let detail = format!(
            "input {input} of {problem}: its answer is one and the same element, whatever a kernel loses"
        );
        return Err(Rejection { rule: "input-shows-nothing".into(), detail });
    }
    if problem.user().is_some() && !Pattern::of_problem(problem).contains(&pattern) {
        let detail = format!(
            "input {input} of {problem}: it is made of numbers, and elements of a structure are what its file draws: random, \
             spike"
        );
        return Err(Rejection { rule: "input-needs-numbers".into(), detail });
    }
    if problem.user().is_none() && pattern != Pattern::Real && !input.is_exact(problem, n) {
        let detail =
            format!("{problem}: sums of {n} elements of input {input} are rounded; real is for that");
        return Err(Rejection { rule: "input-not-exact".into(), detail });
    }
    if pattern == Pattern::Real {
        rounding::tells(problem, n, catalog::plan(config, problem, n, device)?.error_bound)?;
    }
    Ok(input)
}

/// Sizes around every boundary of a config: one element, tiles, windows of a lookback, powers of two; and primes, that
/// are at no boundary.
///
/// The largest is about 2^17, or a little more than one window of tiles.
#[must_use]
pub fn boundary_sizes(config: &Config, device: &DeviceProfile, thorough: bool) -> BTreeSet<u64> {
    let around = |n: u64| [n - 1, n, n + 1];
    let tile = config.tile_elements();
    // Tiles that a parallel lookback sees at a time, or that make up a group of a two-level one.
    let window = match config.kernel.lookback {
        Lookback::TwoLevel => GROUP_TILES * tile,
        _ => u64::from(device.subgroup_size_of(&config.kernel) * config.kernel.lookback_width) * tile,
    };
    // Workgroups that go from tile to tile: three rounds and a bit.
    let rounds = 3 * u64::from(catalog::launched_per_call(config, device).unwrap_or(0)) * tile;
    let largest = if thorough {
        (4 * window + tile + 1).max((1 << 20) + 1)
    } else {
        // Many workgroups cost time, and tell no more than some.
        (window + tile + 1).max(((1 << 17) + 1).min(1024 * tile))
    };
    let largest = largest.max(rounds + tile + 1);
    // Families that go level by level have another level from here on, also where that is further than anything else.
    let most = 1 << if thorough { 24 } else { 20 };
    let level = catalog::LAST_LEVEL_TILES * tile * tile;
    let levels = match config.kernel.family {
        Family::ReduceThenScan | Family::ScanThenPropagate if level <= most => around(level).to_vec(),
        _ => Vec::new(),
    };
    // Few elements: more rows than half of those that there may be, all of them, and one element too many.
    let row = u64::from(config.workgroup_size * config.kernel.vector_width.lanes().min(2));
    let most_rows = u64::from(MOST_ROWS) * row;
    let few = if config.scans_few() { vec![most_rows / 2 + 1, most_rows, most_rows + 1] } else { Vec::new() };
    let mut sizes = BTreeSet::from([1, 2, 3, largest]);
    sizes.extend([around(tile), around(2 * tile)].concat());
    sizes.extend([window, window + tile + 1]);
    sizes.extend([31, 1021, 4093, 65_521, 131_071]);
    sizes.extend([10, 12, 16, 17].map(|exponent| 1 << exponent));
    sizes.extend([10, 16, 17].map(|exponent| (1 << exponent) + 1));
    if thorough {
        sizes.extend(1..=4 * u64::from(device.subgroup_size_of(&config.kernel)));
        sizes.extend((1..=20).flat_map(|exponent| around(1 << exponent)));
        sizes.extend([3 * tile, window, 2 * window, 4 * window].into_iter().flat_map(around));
        sizes.extend([257, 8191, 32_749, 262_139, 524_287, 1_048_573]);
    }
    sizes.extend(few);
    sizes.retain(|&n| n > 0 && n <= largest);
    sizes.extend(levels);
    // The size that a config of a space stands for belongs to it.
    sizes.extend(config.fixed_elements());
    sizes
}
