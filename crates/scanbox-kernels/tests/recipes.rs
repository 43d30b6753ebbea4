//! Recipes: what they come to is what is measured, at every size that they take.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseError;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::plan::{
    Binding, FIRST_TURN, Pass, Plan, PushWord, ScratchContent, Shader, TURN_WORD, Tickets,
};
use scanbox_model::config::{Arguments, Config, Parameter, Reset};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::{Rejection, Space};
use scanbox_pack::{CallSizes, Launch, Place, Recipe};
use scanbox_testing::covering::NumbersTried;
use scanbox_testing::device::with_subgroups;

use crate::problems::all_problems;

const FULL: &str = include_str!("../../../configs/full.toml");

/// What plans come to, as text. Made by the test that compares it, with `UPDATE_PLANS=1`.
const PLANS: &str = include_str!("plans.txt");

/// A device of 7 units that guarantees everything, and takes `row` workgroups in a row.
fn willing(subgroup_size: u32, int64_atomics: bool, row: u32) -> DeviceProfile {
    DeviceProfile {
        guarantees: Guarantee::VALUES.to_vec(),
        compute_units: Some(7),
        max_workgroup_count: [row, 65_535, 65_535],
        ..with_subgroups(subgroup_size, int64_atomics)
    }
}

fn devices() -> Vec<DeviceProfile> {
    let short = DeviceProfile { max_workgroup_count: [1024, 64, 1], ..willing(8, true, 1024) };
    let forgetful =
        DeviceProfile { compute_units: None, memory_bytes: 1 << 50, ..willing(32, true, 1 << 31) };
    vec![willing(16, false, 65_535), short, forgetful]
}

/// Configs of all stages that go together, and those of the largest space with each kind of arguments, legal or not;
/// some of them for one size each.
fn configs(device: &DeviceProfile) -> Vec<Config> {
    let numbers = NumbersTried {
        batch_sizes: vec![1, 3, 4, 12],
        workgroup_sizes: [1, 3, 8, 32].map(|subgroups| subgroups * device.subgroup_size).to_vec(),
        lookback_widths: vec![1, 3],
        state_strides: vec![1, 16],
        workgroups_per_unit: vec![1, 3],
    };
    let candidates = numbers.candidates(device, 1, |_| true);
    let mut configs: BTreeSet<Config> = candidates.into_iter().map(|values| numbers.config(values)).collect();
    for bytes in Element::ALL_BYTES {
        let space = Space::from_toml(FULL, "full").unwrap().for_elements(bytes).unwrap();
        let mut points = space.enumerate(device, |_, _, _| Ok(())).points;
        points.dedup_by_key(|point| point.config);
        for arguments in Arguments::VALUES {
            configs.extend(points.iter().map(|point| {
                let mut config = point.config;
                config.kernel.arguments = *arguments;
                config
            }));
        }
    }
    let fixed: Vec<Config> = configs
        .iter()
        .step_by(20)
        .filter(|config| config.workgroups_per_unit.is_none())
        .map(|config| Config { workgroups: Some(37), ..*config })
        .collect();
    configs.extend(fixed);
    configs.into_iter().collect()
}

fn variants() -> Vec<Variant> {
    let plain = Variant::default();
    vec![
        plain,
        plain.at_any_element(),
        plain.with_total(),
        plain.counted().with_total(),
        plain.with_init_in_memory(),
        Variant::up_to(0).with_init_in_memory().with_total(),
        Variant::blocked(Some(3)),
        Variant::up_to(0),
        Variant::up_to(0).at_any_element().with_total(),
        Variant::up_to(0).counted(),
    ]
}

/// Sizes at which something begins anew: tiles, groups of tiles, rounds of persistent workgroups, levels, 32 bits.
fn borders(config: &Config, device: &DeviceProfile) -> Vec<u64> {
    let tile = config.tile_elements();
    let launched = u64::from(catalog::launched_per_call(config, device).unwrap_or(1));
    let last = u64::from(u32::MAX) - 256;
    let around = [
        1,
        tile,
        2 * tile,
        32 * tile,
        33 * tile,
        37 * tile,
        1024 * tile,
        launched * tile,
        32 * launched * tile,
        tile * tile,
        4 * tile * tile,
        (4 * tile).saturating_mul(tile * tile),
        1 << 20,
        1 << 30,
        1 << 31,
        last,
        last - tile,
        last - (1 + launched) * tile,
    ];
    around.into_iter().flat_map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]).collect()
}

/// Memory of a session that a place of a recipe is.
fn binding(place: Place, problem: &Problem, tiles: u64, told: u64) -> Binding {
    match place {
        Place::Source => Binding::Input,
        Place::Target => Binding::Output,
        Place::Scratch(offset) => Binding::Scratch(offset),
        Place::Counts => Binding::Counts(tiles),
        Place::Total => Binding::Total,
        Place::Initial => Binding::Initial(problem.first_words().unwrap()),
        Place::Elements => Binding::Elements(u32::try_from(told).unwrap_or(u32::MAX)),
    }
}

fn passes(launch: &Launch<'_, Shader>, problem: &Problem, tiles: u64, told: u64) -> Vec<Pass> {
    let pass = |step: scanbox_pack::Step<'_, Shader>| Pass {
        shader: step.module().clone(),
        bindings: step.places().map(|place| binding(place, problem, tiles, told)).collect(),
        words: step.words().collect(),
        workgroups: step.workgroups,
        tickets: step.tickets,
        co_resident: step.co_resident,
    };
    launch.steps().map(pass).collect()
}

/// Whether a session alone refuses this: kernels could do it. A call without elements is none that is measured.
fn is_of_sessions(rejection: &Rejection, problem: &Problem, n: u64) -> bool {
    match &*rejection.rule {
        "device-memory" | "initial-value-decides" | "init-needs-value" | "no-elements" => true,
        "index-32-bit" => n * problem.element_bytes() / 4 > u64::from(u32::MAX) - 256,
        _ => false,
    }
}

/// One recipe against the plan of each of these sizes.
fn check(
    config: &Config,
    variant: Variant,
    problem: &Problem,
    device: &DeviceProfile,
    sizes: &[u64],
) -> Result<usize, TestCaseError> {
    let recipe = catalog::recipe(config, variant, problem, device);
    let mut plans = 0;
    for &n in sizes {
        let what = format!("{config}{variant}, {problem}, {n}");
        let variant = Variant { max_n: variant.max_n.map(|_| n), ..variant };
        let told = if variant.max_n.is_some() { [0, n / 2, n, n + 7][(n % 4) as usize] } else { n };
        let plan = catalog::plan_variant(config, variant, problem, told, device);
        let (recipe, plan) = match (&recipe, plan) {
            (Ok(recipe), Ok(plan)) => (recipe, plan),
            (Ok(recipe), Err(rejection)) => {
                let takes = recipe.takes(n);
                prop_assert_eq!(
                    takes,
                    takes && is_of_sessions(&rejection, problem, n),
                    "{}: {:?}",
                    what,
                    rejection
                );
                continue;
            }
            (Err(rejection), plan) => {
                prop_assert!(plan.is_err(), "{what}: {rejection:?}");
                continue;
            }
        };
        plans += 1;
        let launch = recipe.laid_out(n).and_then(|laid_out| laid_out.at(told));
        let Some(launch) = launch else {
            return Err(TestCaseError::fail(format!(
                "{what}: not within {}..={}",
                recipe.min_n, recipe.max_n
            )));
        };
        prop_assert_eq!(launch.scratch(), plan.scratch, "{}", what);
        prop_assert_eq!(&passes(&launch, problem, config.tiles(n), told), &plan.passes, "{}", what);
        prop_assert_eq!(u64::from(recipe.alignment), plan.alignment(), "{}", what);
        prop_assert_eq!(launch.tiles(), config.tiles(n), "{}", what);
        let fill = launch.fill().map(|fill| (fill.module().clone(), fill.workgroups, fill.words().collect()));
        let clears = plan.scratch.content == ScratchContent::Anything;
        let of_plan = clears.then(|| {
            let pass = catalog::fill(&plan, device).passes.remove(0);
            (pass.shader, pass.workgroups, pass.words)
        });
        prop_assert_eq!(fill, of_plan, "{}", what);
        prepares(recipe, n, &plan, device, &what)?;
        shares_memory(recipe, n, &what)?;
        if config.kernel.reset == Reset::Turn && variant == Variant::default() {
            shares_with_smaller(recipe, config, problem, device, n)?;
        }
    }
    Ok(plans)
}

/// What makes the memory fit for a first call, where what calls leave is of use to the next one: the fill of a session
/// whose memory is new, and the turn where the device counts.
fn prepares(
    recipe: &Recipe<Shader>,
    n: u64,
    plan: &Plan,
    device: &DeviceProfile,
    what: &str,
) -> Result<(), TestCaseError> {
    let prepared: Vec<_> = recipe
        .laid_out(n)
        .expect("it has taken this size")
        .prepare()
        .map(|step| {
            (
                step.module().clone(),
                step.workgroups,
                step.words().collect::<Vec<_>>(),
                step.places().collect(),
            )
        })
        .collect();
    let mut expected = Vec::new();
    if !plan.scratch.content.is_stateless() {
        let pushed = Plan { passes: Vec::new(), ..plan.clone() };
        let zeros = catalog::fill(&pushed, device).passes.remove(0);
        let turn = (zeros.shader.clone(), 1, [1, FIRST_TURN].map(PushWord::Value).to_vec());
        expected.push((zeros.shader, zeros.workgroups, zeros.words, vec![Place::Scratch(0)]));
        if matches!(plan.scratch.content, ScratchContent::SelfTurning { .. }) {
            expected.push((turn.0, turn.1, turn.2, vec![Place::Scratch(4 * TURN_WORD)]));
        }
    }
    prop_assert_eq!(prepared, expected, "{}", what);
    Ok(())
}

/// Smaller calls stay within the scratch memory of the largest, and find what others have left where it was.
fn shares_memory(recipe: &Recipe<Shader>, max_n: u64, what: &str) -> Result<(), TestCaseError> {
    let laid_out = recipe.laid_out(max_n).expect("it has taken this size");
    let states = |launch: Launch<'_, Shader>| {
        let scratch = launch.scratch();
        let places: Vec<Place> = launch.steps().flat_map(|step| step.places()).collect();
        (scratch.bytes, places, scratch.content.is_stateless())
    };
    let (bytes, places, _) = states(laid_out.at(max_n).expect("it has taken this size"));
    prop_assert_eq!(bytes, laid_out.scratch_bytes(), "{}", what);
    for n in [recipe.min_n, max_n / 3, max_n - 1].into_iter().filter(|n| (recipe.min_n..max_n).contains(n)) {
        if recipe.call_sizes == CallSizes::Same && n > 0 {
            prop_assert!(laid_out.at(n).is_none(), "{what}: {n}");
            continue;
        }
        let (own, own_places, is_stateless) = states(laid_out.at(n).expect("it is no more than the most"));
        prop_assert!(own <= bytes, "{what}: {own} bytes for {n}, and {bytes} for more");
        prop_assert!(is_stateless || (own, &own_places) == (bytes, &places), "{what}: {n}");
    }
    Ok(())
}

/// Where the device counts calls, those of all sizes have the plans that share memory.
fn shares_with_smaller(
    recipe: &Recipe<Shader>,
    config: &Config,
    problem: &Problem,
    device: &DeviceProfile,
    max_n: u64,
) -> Result<(), TestCaseError> {
    for n in [0, 1, max_n / 2, max_n] {
        let what = format!("{config}, {problem}, {n} of {max_n}");
        let launch = recipe.laid_out(max_n).and_then(|laid_out| laid_out.at(n));
        match (launch, catalog::plan_up_to(config, max_n, problem, n, device)) {
            (Some(launch), Ok(plan)) => {
                prop_assert_eq!(launch.scratch(), plan.scratch, "{}", what);
                prop_assert_eq!(passes(&launch, problem, launch.tiles(), n), plan.passes, "{}", what);
            }
            (launch, Err(rejection)) => prop_assert!(launch.is_none(), "{what}: {rejection:?}"),
            (None, Ok(_)) => prop_assert!(false, "{what}: within {}..={}", recipe.min_n, recipe.max_n),
        }
    }
    Ok(())
}

/// Every config and every problem come up, each with some of the others.
#[test]
fn recipes_are_the_plans_of_all_sizes() {
    let (problems, variants) = (all_problems(), variants());
    let mut plans = 0;
    for device in devices() {
        let mut turn = 0;
        for (place, config) in configs(&device).iter().enumerate() {
            let borders = borders(config, &device);
            for problem in problems.iter().skip(place % 7).step_by(7) {
                turn += 1;
                let sizes: Vec<u64> = borders.iter().copied().skip(turn % 11).step_by(11).collect();
                let variant = variants[turn % variants.len()];
                plans += check(config, variant, problem, &device, &sizes).unwrap();
            }
        }
    }
    assert!(plans > 100_000, "{plans}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recipes_are_the_plans_of_random_sizes(
        device in select(devices()),
        problem in select(all_problems()),
        variant in select(variants()),
        config in any::<Index>(),
        bits in 1u32..33,
        random in proptest::collection::vec(any::<u32>(), 8),
    ) {
        thread_local! {
            static CONFIGS: Vec<Vec<Config>> = devices().iter().map(configs).collect();
        }
        let place = devices().iter().position(|other| *other == device).unwrap();
        let config = CONFIGS.with(|configs| *config.get(&configs[place]));
        let sizes: Vec<u64> = random.iter().map(|n| u64::from(n >> (32 - bits)).max(1)).collect();
        check(&config, variant, &problem, &device, &sizes)?;
    }
}

/// Plans of these kernels, on a device with subgroups of 32 and 64-bit atomics.
const LABELS: &[&str] = &[
    "b4.vec4.par.rake.wg64",
    "b4.vec4.seq.rake.wgid.wg64",
    "b4.vec4.two.sub.split.wg64",
    "b4.vec4.two.sub.stride16.wg64",
    "b4.vec4.two.sub.fill.wg64",
    "b4.vec4.par.rake.packed.fill.wg64",
    "b4.vec4.fallback.sub.clean.wg64",
    "b4.vec4.two.sub.turn.wg64",
    "b4.vec4.par.rake.turn.wg64",
    "b4.vec4.two.sub.block.wg64",
    "b4.vec4.par.rake.baked.wg64",
    "b4.vec4.par.rake.fill.block.wg64",
    "pers.b4.vec4.two.sub.early.wg64.u1",
    "pers.b4.vec4.gather.sub.wgid.early.wg64.u2",
    "pers.b3.vec4.two.sub.striped.robin.early.wg96.u4",
    "one.b4.vec4.none.rake.wg64",
    "redo.b4.vec4.none.sub.striped.wg64",
    "rts.b1.vec4.none.rake.wg32",
    "stp.b1.vec4.none.rake.wg32",
];

/// A plan in a line.
fn in_words(plan: &Plan) -> String {
    let scratch = &plan.scratch;
    let mut line = format!(
        "{} {:?} banks {} tiles {} stride {}",
        scratch.bytes, scratch.content, scratch.bank_words, scratch.tiles, scratch.state_stride
    );
    for Pass { shader, bindings, words, workgroups, tickets, co_resident } in &plan.passes {
        write!(line, " | {} by {workgroups}:", shader.root).unwrap();
        for binding in bindings {
            match binding {
                Binding::Scratch(offset) => write!(line, " +{offset}").unwrap(),
                other => write!(line, " {other:?}").unwrap(),
            }
        }
        for word in words {
            match word {
                PushWord::Value(value) => write!(line, " {value}").unwrap(),
                other => write!(line, " {other:?}").unwrap(),
            }
        }
        match tickets {
            Tickets::None => {}
            Tickets::PerWorkgroup { more } => write!(line, " tickets {more} more").unwrap(),
            Tickets::Exactly(tickets) => write!(line, " tickets {tickets}").unwrap(),
        }
        line += if *co_resident { " co-resident" } else { "" };
    }
    line
}

/// What kernels find in memory, and are told, changes on purpose only.
#[test]
fn plans_are_what_they_were() {
    let device = willing(32, true, 1 << 31);
    let problem =
        |mode, element, init, placement| Problem::new(mode, element, Operator::Add, init, placement).unwrap();
    let [scan, exclusive, reduce] = [
        problem(Mode::Inclusive, Element::U32, None, Placement::OutOfPlace),
        problem(Mode::Exclusive, Element::I64, Some("-2"), Placement::InPlace),
        problem(Mode::Reduce, Element::F32, None, Placement::OutOfPlace),
    ];
    let plain = Variant::default();
    let mut text = String::new();
    for label in LABELS {
        let config: Config = label.parse().unwrap();
        let tile = config.tile_elements();
        let (groups, levels) = (33 * tile, 5 * tile * tile);
        for (problem, n, variant) in [
            (scan, 1, plain),
            (scan, tile + 1, plain.with_total().at_any_element()),
            (scan, groups, Variant::up_to(groups)),
            (scan, levels, plain),
            (scan, levels, plain.counted()),
            (exclusive, tile + 1, plain.with_init_in_memory()),
            (exclusive, levels, plain),
            (reduce, groups, plain),
        ] {
            if let Ok(plan) = catalog::plan_variant(&config, variant, &problem, n, &device) {
                writeln!(text, "{} {problem} {n}: {}", plan.label, in_words(&plan)).unwrap();
            }
        }
    }
    if std::env::var_os("UPDATE_PLANS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plans.txt"), &text).unwrap();
    }
    for (line, expected) in text.lines().zip(PLANS.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(text.lines().count(), PLANS.lines().count());
}
