//! Packs that tests make: small, whole, and of every kind of thing that a pack can have.

use std::num::NonZero;

use proptest::prelude::{Strategy, any, prop};
use scanbox_pack::layout::{FIRST_TURN, STATES_OFFSET};
use scanbox_pack::{
    ArgumentKind, Breakpoint, CallSizes, CallUse, ChoiceTable, FeatureSet, FewSplit, FillRecipe, Formula,
    GroupState, LevelPasses, ModuleHash, Pack, PackData, PackDevice, PackModule, PackProblem, PackRecipe,
    PackTime, Place, Prepare, Promises, PushWord, Recipe, RecipePass, RecipePasses, RecipeWord, ScanMode,
    ScanProblem, ScratchContent, ScratchPart, SeenDevice, Split, StatesBegin, StatesFormula, TicketRule,
};

/// SPIR-V of a compute shader that does nothing, with these capabilities.
pub fn spirv(capabilities: &[u32], workgroup_size: u32) -> Vec<u32> {
    let mut words = vec![0x0723_0203, 0x0001_0600, 0, 9, 0];
    for capability in [&[1], capabilities].concat() {
        words.extend([2 << 16 | 17, capability]);
    }
    words.extend([5 << 16 | 15, 5, 4, u32::from_le_bytes(*b"main"), 0]);
    words.extend([6 << 16 | 16, 4, 17, workgroup_size, 1, 1]);
    words
}

pub fn module(number: u8, subgroup_size: u32, capabilities: &[u32], features: FeatureSet) -> PackModule {
    PackModule {
        hash: ModuleHash([number; 32]),
        subgroup_size,
        workgroup_size: 128,
        shared_bytes: 1024,
        features,
        words: spirv(capabilities, 128),
    }
}

/// An inclusive sum of words, out of place.
pub fn sum() -> ScanProblem {
    ScanProblem {
        mode: ScanMode::Inclusive,
        element: "u32".into(),
        element_bytes: 4,
        operator: "add".into(),
        operator_hash: String::new(),
        init: Vec::new(),
        in_place: false,
        reverse: false,
    }
}

pub const KEPT: CallUse = CallUse {
    n_on_device: false,
    total: false,
    init_in_memory: false,
    scratch_overwritten: false,
    arguments: ArgumentKind::Pushed,
    any_element: false,
};
pub const ON_DEVICE: CallUse = CallUse { n_on_device: true, ..KEPT };
pub const OVERWRITTEN: CallUse = CallUse { scratch_overwritten: true, ..KEPT };
pub const ANY_ELEMENT: CallUse = CallUse { any_element: true, ..KEPT };
pub const IN_LINE: CallUse = CallUse { arguments: ArgumentKind::Line, ..KEPT };

fn states(content: ScratchContent, begin: StatesBegin, groups: Option<GroupState>) -> StatesFormula {
    StatesFormula { content, bytes: 16, stride: 2, begin, groups }
}

fn pass(module: u16, places: &[Place<ScratchPart>], words: &[RecipeWord]) -> RecipePass<u16> {
    RecipePass { module, places: places.to_vec(), words: words.to_vec() }
}

/// What makes scratch memory with this content fit for a first call.
fn prepare(content: ScratchContent) -> Option<Prepare<u16>> {
    let value = |value| RecipeWord::Same(PushWord::Value(value));
    let zeros = pass(0, &[Place::Scratch(ScratchPart::All)], &[RecipeWord::Elements, value(0)]);
    let turn = pass(0, &[Place::Scratch(ScratchPart::Turn)], &[value(1), value(FIRST_TURN)]);
    let counts = matches!(content, ScratchContent::SelfTurning { .. });
    let zeros = FillRecipe { pass: zeros, words_per_workgroup: 4096 };
    (!content.is_stateless()).then(|| Prepare { zeros, turn: counts.then_some(turn) })
}

/// A recipe of one pass by this module, for words.
pub fn one_pass(module: u16, split: Split, states: Option<StatesFormula>) -> Recipe<u16> {
    let mut places = vec![Place::Source, Place::Target];
    if states.is_some() {
        places.extend([ScratchPart::All, ScratchPart::Groups, ScratchPart::States].map(Place::Scratch));
    }
    let formula = Formula {
        tile_elements: NonZero::new(512).unwrap(),
        element_bytes: 4,
        split,
        tickets: if states.is_some() { TicketRule::Workgroups } else { TicketRule::None },
        states,
    };
    Recipe {
        formula,
        min_n: 1,
        max_n: 1 << 30,
        call_sizes: CallSizes::Told,
        alignment: 16,
        co_resident: false,
        arguments: ArgumentKind::Pushed,
        fill: None,
        prepare: states.and_then(|states| prepare(states.content)),
        passes: RecipePasses::One(pass(module, &places, &[RecipeWord::Elements, RecipeWord::MostElements])),
    }
}

pub fn turning(module: u16) -> Recipe<u16> {
    let content = ScratchContent::SelfTurning { epoch_bits: 30 };
    let added = Some(GroupState::Added);
    let states = states(content, StatesBegin::At(STATES_OFFSET as u32), added);
    Recipe { min_n: 0, ..one_pass(module, Split::Tiles, Some(states)) }
}

pub fn filled(module: u16, fill: u16) -> Recipe<u16> {
    let states = states(ScratchContent::Anything, StatesBegin::BehindGroups, Some(GroupState::Published));
    let words =
        [RecipeWord::Elements, RecipeWord::Same(PushWord::Value(7)), RecipeWord::Same(PushWord::Epoch)];
    let fill = pass(fill, &[Place::Scratch(ScratchPart::All)], &words);
    let fill = Some(FillRecipe { pass: fill, words_per_workgroup: 4096 });
    Recipe { fill, ..one_pass(module, Split::Tiles, Some(states)) }
}

pub fn by_levels(module: u16) -> Recipe<u16> {
    let (level, above) = (Place::Scratch(ScratchPart::Level), Place::Scratch(ScratchPart::LevelAbove));
    let pass = |places: [Place<ScratchPart>; 2]| pass(module, &places, &[RecipeWord::Elements]);
    let passes = LevelPasses {
        up: [pass([Place::Source, above]), pass([level, above])],
        last: [pass([Place::Source, Place::Target]), pass([level, level])],
        down: Some([pass([Place::Target, above]), pass([level, above])]),
    };
    Recipe { passes: RecipePasses::ByLevels(Box::new(passes)), ..one_pass(module, Split::ByLevels, None) }
}

pub fn table(call_use: CallUse, needs: Promises, choices: &[(u64, &[u16])]) -> ChoiceTable {
    let breakpoints = choices.iter().map(|(from, ranked)| Breakpoint {
        from: *from,
        ranked: ranked.to_vec(),
        worst_loss_ppm: Some(12_345),
    });
    ChoiceTable { call_use, needs, breakpoints: breakpoints.collect() }
}

const DRIVER: &str = "NVIDIA 580.159.04";
const DRIVER_BUILD: &str = "91278100-0123";

pub fn data() -> PackData {
    let one = one_pass(0, Split::One, None);
    let resident = Recipe { co_resident: true, ..one_pass(1, Split::AtMost(264), one_states()) };
    let from_memory = Recipe { call_sizes: CallSizes::InMemory, ..turning(1) };
    let line = Recipe { arguments: ArgumentKind::Line, call_sizes: CallSizes::Same, ..turning(1) };
    let recipes = [
        ("one", Recipe { max_n: 1 << 20, ..one }),
        ("par", turning(1)),
        ("pers", resident),
        ("fill", filled(1, 0)),
        ("rts", by_levels(2)),
        ("rts", by_levels(3)),
        ("par, n in memory", from_memory),
        ("par.block", line),
        ("par at any element", Recipe { alignment: 4, ..turning(1) }),
    ];
    let recipes = recipes.map(|(label, recipe)| PackRecipe { label: label.to_owned(), recipe });
    let measured = vec![
        table(KEPT, Promises::CO_RESIDENCY.with(Promises::PROGRESS), &[(1, &[0, 1]), (5000, &[2, 1])]),
        table(KEPT, Promises::PROGRESS, &[(1, &[0, 1]), (5000, &[1])]),
        table(OVERWRITTEN, Promises::PROGRESS, &[(2, &[3])]),
        table(ON_DEVICE, Promises::PROGRESS, &[(1, &[6])]),
        table(IN_LINE, Promises::PROGRESS, &[(1, &[7])]),
        table(ANY_ELEMENT, Promises::PROGRESS, &[(1, &[8])]),
    ];
    let portable = vec![table(KEPT, Promises::NONE, &[(1, &[4])]), table(KEPT, Promises::NONE, &[(1, &[5])])];
    PackData {
        written_by: "scanbox 0.2.0".into(),
        kernel_hash: "4f9175169dfc0081".into(),
        licence: "MIT OR Apache-2.0".into(),
        measured_utc: "2026-11-22T15:40:51Z".into(),
        device: PackDevice {
            name: "NVIDIA H200".into(),
            driver: DRIVER.into(),
            driver_build: DRIVER_BUILD.into(),
            vendor_id: 0x10de,
            device_id: 0x2335,
            units: 132,
            family: vec![0x2330, 0x2331],
            keeps: Promises::PROGRESS.with(Promises::CO_RESIDENCY),
        },
        problems: vec![PackProblem { scan: sum(), splittable: false, measured, portable }],
        recipes: recipes.to_vec(),
        times: vec![
            PackTime { recipe: 0, n: 1024, picoseconds: 2_056_000, confirmed: true },
            PackTime { recipe: 2, n: 1 << 30, picoseconds: u64::MAX, confirmed: false },
        ],
        modules: vec![
            module(0, 32, &[], FeatureSet::NONE),
            module(
                1,
                32,
                &[11, 12, 63],
                FeatureSet::INT64.with(FeatureSet::INT64_ATOMICS).with(FeatureSet::ARITHMETIC),
            ),
            module(2, 32, &[61, 63], FeatureSet::ARITHMETIC),
            module(3, 8, &[], FeatureSet::NONE),
        ],
    }
}

/// Makes it one of structures of 12 bytes, whose groups nobody adds up atomically.
pub fn of_12_bytes(data: &mut PackData) {
    data.problems[0].scan.element_bytes = 12;
    for formula in data.recipes.iter_mut().map(|one| &mut one.recipe.formula) {
        formula.element_bytes = 12;
        if let Some(states) = &mut formula.states {
            states.groups = states.groups.map(|_| GroupState::Published);
        }
    }
}

fn one_states() -> Option<StatesFormula> {
    Some(states(ScratchContent::Zeros, StatesBegin::At(256), None))
}

pub fn pack() -> Pack {
    Pack::new(data()).unwrap()
}

/// The device of the pack, with all features.
pub fn device() -> SeenDevice<'static> {
    SeenDevice {
        vendor_id: 0x10de,
        device_id: 0x2335,
        driver: DRIVER,
        driver_build: DRIVER_BUILD,
        subgroup_size: 32,
        min_subgroup_size: 32,
        max_subgroup_size: 32,
        max_workgroup_size: 1024,
        max_workgroup_subgroups: 32,
        max_shared_bytes: 1 << 15,
        features: FeatureSet::ALL,
    }
}

/// A recipe of any kind, with any numbers that fit together.
fn any_recipe() -> impl Strategy<Value = Recipe<u16>> {
    let few = FewSplit { most: 3, row_elements: NonZero::new(100).unwrap(), rows: 8 };
    let most = Split::AtMost(u32::MAX);
    let split = [Split::Tiles, Split::One, Split::AtMost(3), most, Split::AtMostOrFew(few)];
    let split = prop::sample::select(split.to_vec());
    let sizes = (0..=u64::from(u32::MAX), 1..=u64::from(u32::MAX));
    let constants = (1..=u64::from(u32::MAX), prop::sample::select(vec![4u32, 8, 12, 16]), 2u32..=8);
    let words = prop::collection::vec(any::<u32>(), 0..6);
    (0u16..4, split, sizes, constants, 0..7, words).prop_map(
        |(module, split, sizes, constants, kind, words)| {
            let (min_n, max_n) = (sizes.0.min(sizes.1), sizes.0.max(sizes.1));
            let (tile, element_bytes, log) = constants;
            let mut recipe = match kind {
                0 => turning(module),
                1 => filled(module, module),
                2 => by_levels(module),
                3 => Recipe { call_sizes: CallSizes::InMemory, ..turning(module) },
                4 => Recipe { arguments: ArgumentKind::Baked, ..turning(module) },
                5 => one_pass(module, split, one_states()),
                _ => one_pass(module, split, None),
            };
            let formula = &mut recipe.formula;
            // Groups that are added up have to find room in their banks.
            let least = if matches!(kind, 0 | 3 | 4) { 1 << 16 } else { 2 };
            formula.tile_elements = NonZero::new(tile.max(least)).unwrap();
            formula.element_bytes = element_bytes;
            recipe.co_resident = matches!(formula.split, Split::AtMost(_) | Split::AtMostOrFew(_));
            recipe.alignment = 1 << log;
            if let RecipePasses::One(pass) = &mut recipe.passes {
                pass.words.extend(words.into_iter().map(|word| RecipeWord::Same(PushWord::Value(word))));
            }
            Recipe { min_n, max_n, ..recipe }
        },
    )
}

/// Packs of any recipes, texts and tables.
pub fn any_pack() -> impl Strategy<Value = Pack> {
    let recipes = prop::collection::vec(("[ -~]{0,12}", any_recipe()), 1..6);
    let texts = ("\\PC{0,8}", "\\PC{0,8}", "\\PC{0,8}");
    let numbers = (any::<[u32; 3]>(), prop::collection::vec(any::<u32>(), 0..4), 0u32..16);
    (recipes, texts, numbers, any::<u64>()).prop_map(|(recipes, texts, numbers, time)| {
        let mut data = data();
        (data.written_by, data.licence, data.device.name) = texts;
        let (ids, family, keeps) = numbers;
        let [vendor_id, device_id, units] = ids;
        let (name, driver, driver_build) = (data.device.name.clone(), String::new(), String::new());
        let keeps = Promises::from_bits(keeps).unwrap();
        data.device = PackDevice { name, driver, driver_build, vendor_id, device_id, units, family, keeps };
        let first = data.recipes.len() as u16;
        let recipes = recipes.into_iter().map(|(label, recipe)| PackRecipe { label, recipe });
        data.recipes.extend(recipes);
        for (place, PackRecipe { recipe, .. }) in data.recipes.iter().enumerate().skip(first.into()) {
            let place = place as u16;
            data.times.push(PackTime {
                recipe: place,
                n: recipe.max_n,
                picoseconds: time,
                confirmed: time % 2 == 0,
            });
            let scan = ScanProblem {
                element: format!("e{place}"),
                element_bytes: recipe.formula.element_bytes,
                operator_hash: if time % 5 < 3 { String::new() } else { "77".to_owned() },
                ..sum()
            };
            let n_on_device = recipe.call_sizes == CallSizes::InMemory;
            let any_element = recipe.formula.element_bytes.is_multiple_of(recipe.alignment) && time % 3 == 0;
            let call_use = CallUse { n_on_device, arguments: recipe.arguments, any_element, ..KEPT };
            let needs = if recipe.co_resident { Promises::CO_RESIDENCY } else { Promises::NONE };
            let choices = (recipe.min_n.max(1), &[place, place][..]);
            let measured = vec![table(call_use, needs, &[choices])];
            let splittable = place.is_multiple_of(2) && !scan.operator_hash.is_empty();
            data.problems.push(PackProblem { scan, splittable, measured, portable: Vec::new() });
        }
        Pack::new(data).unwrap()
    })
}
