//! What a verification tries, as data: the sizes and inputs where scans go wrong, and what the memory holds before.
//!
//! Everything here is a function of configs, device and request, so that two processes agree on it.

mod circumstance;
mod pattern;

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::config::{Config, Family, Lookback, TileState};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::space::Rejection;
use serde::{Deserialize, Serialize};

use crate::catalog;
use crate::input::Input;
use crate::plan::GROUP_TILES;
use crate::rounding;

pub use self::circumstance::{Circumstance, Garbage};
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// How many.
    pub cases: u64,
    /// What the rule says about the first of them.
    pub example: String,
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
                        Err(rejection) => selection.leave_out(rejection),
                    }
                }
                selection.items.append(&mut items);
            }
        }
        selection
    }

    fn leave_out(&mut self, Rejection { rule, detail }: Rejection) {
        let left_out =
            self.left_out.entry(rule.into_owned()).or_insert(LeftOut { cases: 0, example: detail });
        left_out.cases += 1;
    }

    /// How many cases it has: sizes of configs on inputs.
    #[must_use]
    pub fn cases(&self) -> u64 {
        self.items.iter().map(|item| item.sizes.len() as u64).sum()
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
        _ => u64::from(device.subgroup_size * config.kernel.lookback_width) * tile,
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
    // Families that go level by level have another level from here on.
    let levels = match config.kernel.family {
        Family::ReduceThenScan | Family::ScanThenPropagate => {
            around(catalog::LAST_LEVEL_TILES * tile * tile).to_vec()
        }
        _ => Vec::new(),
    };
    let mut sizes = BTreeSet::from([1, 2, 3, largest]);
    sizes.extend([around(tile), around(2 * tile)].concat());
    sizes.extend([window, window + tile + 1]);
    sizes.extend([31, 1021, 4093, 65_521, 131_071]);
    sizes.extend([10, 12, 16, 17].map(|exponent| 1 << exponent));
    sizes.extend([10, 16, 17].map(|exponent| (1 << exponent) + 1));
    sizes.extend(levels);
    if thorough {
        sizes.extend(1..=4 * u64::from(device.subgroup_size));
        sizes.extend((1..=20).flat_map(|exponent| around(1 << exponent)));
        sizes.extend([3 * tile, window, 2 * window, 4 * window].into_iter().flat_map(around));
        sizes.extend([257, 8191, 32_749, 262_139, 524_287, 1_048_573]);
    }
    sizes.retain(|&n| n > 0 && n <= largest);
    // The size that a config of a space stands for belongs to it.
    sizes.extend(config.fixed_elements());
    sizes
}

#[cfg(test)]
mod tests {
    use scanbox_model::problem::{Element, Mode, Operator, Placement};
    use scanbox_model::safe_devices::Guarantee;

    use scanbox_testing::device::with_subgroups as device;

    use super::*;

    fn config(label: &str) -> Config {
        label.parse().unwrap()
    }

    fn request(patterns: &[Pattern], sizes: Option<&[u64]>) -> CaseRequest {
        CaseRequest {
            problem: Problem::default(),
            patterns: patterns.to_vec(),
            sizes: sizes.map(<[u64]>::to_vec),
            thorough: false,
            seed: 7,
        }
    }

    fn select(configs: &[Config], device: &DeviceProfile, request: &CaseRequest) -> CaseSelection {
        CaseSelection::new(configs, device, request, |_| Ok(()))
    }

    #[test]
    fn boundaries_are_those_of_the_config() {
        let config = config("b4.vec4.par.rake.wg256");
        let (tile, window) = (4096, 32 * 4096);
        let sizes = boundary_sizes(&config, &device(32, true), false);
        for n in [
            1,
            2,
            tile - 1,
            tile,
            tile + 1,
            2 * tile - 1,
            2 * tile + 1,
            window,
            window + tile + 1,
            1021,
            65_537,
        ] {
            assert!(sizes.contains(&n), "{n}");
        }
        assert!(!sizes.contains(&0));
        assert!(sizes.len() < 30, "{}", sizes.len());
        assert_eq!(sizes.last(), Some(&(window + tile + 1)), "one tile more than a window, and one element");
        let thorough = boundary_sizes(&config, &device(32, true), true);
        assert!(thorough.is_superset(&sizes) && thorough.len() > 3 * sizes.len());
    }

    #[test]
    fn windows_and_rounds_are_those_of_the_lookback() {
        let check = |label: &str, tiles: u64| {
            let (config, device) = (config(label), device(8, true));
            let tile = config.tile_elements();
            let sizes = boundary_sizes(&config, &device, false);
            assert_eq!(sizes.last(), Some(&((tiles + 1) * tile + 1)), "{label}");
        };
        check("b16.vec4.par.rake.wg256", 8);
        check("b16.vec4.par.rake.width3.wg256", 3 * 8);
        check("b16.vec4.two.rake.wg256", 32);
        // Other levels from 4 tiles of totals on.
        let levels = boundary_sizes(&config("rts.b1.scalar.none.rake.wg64"), &device(8, true), false);
        assert!((4 * 64 * 64 - 1..=4 * 64 * 64 + 1).all(|n| levels.contains(&n)));
        // Three rounds of two workgroups for each of 16 units.
        check("pers.b16.vec4.two.sub.early.wg256.u2", 3 * 2 * 16);
    }

    #[test]
    fn every_config_has_more_tiles_than_a_window() {
        for subgroup_size in [4, 8, 16, 32, 64, 128] {
            for label in ["b1.scalar.par.rake.wg128", "b16.vec4.seq.blelloch.wg1024"] {
                let config = config(label);
                let largest = *boundary_sizes(&config, &device(subgroup_size, true), false).last().unwrap();
                assert!(
                    config.tiles(largest) > u64::from(subgroup_size),
                    "{label}, subgroups of {subgroup_size}"
                );
                assert!(largest <= (1 << 17) + 1 || config.tiles(largest) <= u64::from(subgroup_size) + 2);
            }
        }
    }

    #[test]
    fn a_config_of_a_space_keeps_its_size() {
        let fixed = config("b4.vec4.par.rake.wg256.g1024");
        assert!(boundary_sizes(&fixed, &device(32, true), false).contains(&(1 << 22)));
        let selection = select(&[fixed], &device(32, true), &request(&[Pattern::Ones], None));
        assert_eq!(selection.items[0].config, config("b4.vec4.par.rake.wg256"));
        assert_eq!(selection.items[0].sizes.last(), Some(&(1 << 22)));
    }

    #[test]
    fn the_packed_state_gets_what_it_can_carry() {
        let config = config("b4.vec4.par.rake.packed.wg256");
        let sizes = [46_341, 46_342, 1 << 20];
        let selection = select(
            &[config],
            &device(32, true),
            &request(&Pattern::of_problem(&Problem::default()), Some(&sizes)),
        );
        let inputs: Vec<String> =
            selection.items.iter().map(|item| format!("{} {:?}", item.input, item.sizes)).collect();
        let expected = [
            "bounded [46341, 46342, 1048576]",
            "ones [46341, 46342, 1048576]",
            "ramp [46341]",
            "bounded-spike [46341, 46342, 1048576]",
        ];
        assert_eq!(inputs, expected);
        // The ramp at two sizes, and the maximum at three.
        assert_eq!(selection.left_out["packed-total"].cases, 5);
        for item in &selection.items {
            for &n in &item.sizes {
                let total: u64 =
                    (0..n).map(|index| item.input.element(&Problem::default(), index).bits).sum();
                assert!(total < 1 << 30, "{} at {n}: {total}", item.input);
            }
        }
    }

    #[test]
    fn what_the_rules_reject_is_counted() {
        let configs = [config("b1.vec4.par.rake.word64.wg64"), config("b1.vec4.par.rake.wg64")];
        let request = request(&[Pattern::Ones, Pattern::Random], Some(&[1000, 1 << 33]));
        let selection = select(&configs, &device(32, false), &request);
        assert_eq!(selection.left_out["word64-needs-int64-atomics"].cases, 4);
        assert_eq!(selection.left_out["index-32-bit"].cases, 2);
        assert_eq!(selection.cases(), 2);
        assert_eq!(selection.configs().into_iter().collect::<Vec<_>>(), [configs[1]]);
    }

    #[test]
    fn a_repeated_case_has_the_same_elements() {
        let config = config("b1.vec4.par.rake.packed.wg64");
        let all = select(&[config], &device(8, true), &request(&[Pattern::Random], None));
        let one = select(&[config], &device(8, true), &request(&[Pattern::Random], Some(&[1021])));
        assert_eq!(all.items[0].input, one.items[0].input);
        assert_eq!(all.items.len(), 1);
    }

    #[test]
    fn garbage_is_what_the_reset_has_to_bear() {
        let device = device(32, true);
        let plan = |label| catalog::plan(&config(label), &Problem::default(), 1000, &device).unwrap();
        let garbage = |label| Circumstance::Garbage.garbage(&plan(label));
        assert_eq!(garbage("b1.vec4.par.rake.wg64"), Some(Garbage::InTileStates(6)));
        assert_eq!(garbage("b1.vec4.par.rake.fill.wg64"), Some(Garbage::Unnoticed(6)));
        assert_eq!(garbage("b1.vec4.par.rake.packed.wg64"), Some(Garbage::Unnoticed(0x8000_0001)));
        assert_eq!(garbage("b1.vec4.par.rake.split.wg64"), Some(Garbage::InTileStates(0x0006_0006)));
        assert_eq!(garbage("b1.vec4.par.rake.split.fill.wg64"), Some(Garbage::Unnoticed(0x0006_0006)));
        assert_eq!(garbage("b1.vec4.two.sub.wg64"), Some(Garbage::InTileStates(6)));
        assert_eq!(garbage("b1.vec4.two.sub.block.wg64"), Some(Garbage::InTileStates(6)));
        assert_eq!(garbage("b1.vec4.par.rake.clean.wg64"), None);
        assert_eq!(garbage("b1.vec4.par.rake.packed.clean.wg64"), None);
        for levels in ["rts.b1.vec4.none.rake.wg64", "stp.b1.vec4.none.rake.wg64"] {
            assert_eq!(garbage(levels), Some(Garbage::Unnoticed(6)));
        }
        for stateless in ["one.b1.vec4.none.rake.wg64", "redo.b1.vec4.none.rake.wg64"] {
            assert_eq!(garbage(stateless), None);
            assert_eq!(Circumstance::NewMemory.garbage(&plan(stateless)), None);
        }
        let plan = plan("b1.vec4.par.rake.wg64");
        assert_eq!(Circumstance::NewMemory.garbage(&plan), Some(Garbage::InNewMemory(10)));
        assert_eq!(Circumstance::Again.garbage(&plan), None);
        assert_eq!(Circumstance::Surplus.plan(&plan, &device).passes[0].workgroups, 4 + 13);
        assert_eq!(Circumstance::Garbage.plan(&plan, &device), plan);
        // Where all workgroups have to run at the same time there are no more than fit.
        let device = DeviceProfile { guarantees: vec![Guarantee::CoResidency], ..device };
        for (order, more) in [("", 13), ("robin.", 0)] {
            let label = format!("pers.b1.vec4.two.sub.{order}early.wg64.u1");
            let plan = catalog::plan(&config(&label), &Problem::default(), 1000, &device).unwrap();
            assert_eq!(Circumstance::Surplus.plan(&plan, &device).passes[0].workgroups, 4 + more, "{label}");
        }
    }

    #[test]
    fn inputs_that_show_nothing_are_left_out() {
        let problem = |element, operator| {
            Problem::new(Mode::Exclusive, element, operator, None, Placement::OutOfPlace).unwrap()
        };
        for (problem, words) in [
            (problem(Element::F32, Operator::Max), "random ramp spikes"),
            (problem(Element::U32, Operator::And), "random ramp spikes"),
            (problem(Element::I32, Operator::Mul), "random ramp maximum spike"),
            (problem(Element::F32, Operator::Mul), "random ramp spike"),
            (problem(Element::U32, Operator::Xor), "random ones ramp maximum spike"),
        ] {
            let request = CaseRequest { problem, ..request(&Pattern::ALL, Some(&[1000])) };
            let selection = select(&[config("b1.vec4.par.rake.wg64")], &device(32, true), &request);
            let inputs: Vec<String> = selection.items.iter().map(|item| item.input.to_string()).collect();
            assert_eq!(inputs.join(" "), words, "{problem}");
            let count = Pattern::ALL.len() - 1 - selection.items.len();
            let left_out = selection.left_out.get("input-shows-nothing").map_or(0, |left_out| left_out.cases);
            assert_eq!(left_out, count as u64, "{problem}");
            assert_eq!(Pattern::of_problem(&problem).len(), selection.items.len(), "{problem}");
        }
    }

    /// Where an initial value, or the bound itself, decides what is right, there is no case.
    #[test]
    fn what_would_always_be_right_is_no_case() {
        let rule = |element, operator, init, pattern, n| {
            let problem =
                Problem::new(Mode::Exclusive, element, operator, Some(init), Placement::OutOfPlace).unwrap();
            let request = CaseRequest { problem, ..request(&[pattern], Some(&[n])) };
            let selection = select(&[config("b1.scalar.par.rake.wg32")], &device(32, true), &request);
            assert_eq!(selection.cases(), 0, "{problem}");
            selection.left_out.into_keys().next().unwrap()
        };
        let random = Pattern::Random;
        assert_eq!(rule(Element::U32, Operator::And, "0", random, 1000), "initial-value-decides");
        assert_eq!(rule(Element::F32, Operator::Add, "0.1", random, 1000), "input-not-exact");
        assert_eq!(
            rule(Element::F32, Operator::Add, "1e9", Pattern::Real, 1000),
            "bound-hides-what-is-wrong"
        );
        assert_eq!(
            rule(Element::F32, Operator::Add, "0", Pattern::Real, 1 << 27),
            "bound-hides-what-is-wrong"
        );
    }

    #[test]
    fn words_of_inputs_parse() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.word().parse(), Ok(pattern));
            for packed in [false, true] {
                let input = pattern.input(&Problem::default(), packed, 1000, 1);
                assert_eq!(Pattern::of(&input), pattern);
            }
        }
        assert!("zeros".parse::<Pattern>().unwrap_err().contains("random, real, ones"));
    }
}
