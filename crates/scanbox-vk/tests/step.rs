//! Steps of recipes as dispatches.

use std::num::NonZero;

use ash::vk;
use scanbox_pack::{
    ArgumentKind, CallSizes, FillRecipe, Formula, Place, PushWord, Recipe, RecipePass, RecipePasses,
    RecipeWord, ScratchContent, ScratchPart, Split, StatesBegin, StatesFormula, TicketRule,
};
use scanbox_vk::Told;
use scanbox_vk::step::{CallMemory, in_line, pushed};

const MEMORY: CallMemory = CallMemory {
    source: 1 << 40,
    target: 2 << 40,
    scratch: 3 << 40,
    counts: 4 << 40,
    total: 5 << 40,
    initial: 6 << 40,
    elements: 7 << 40,
};

/// Tiles of 100 elements, whose states stand at 512 behind what a fill clears.
fn recipe(places: &[Place<ScratchPart>], words: &[PushWord]) -> Recipe<u16> {
    let states = StatesFormula {
        content: ScratchContent::Anything,
        bytes: 8,
        stride: 1,
        begin: StatesBegin::At(512),
        groups: None,
    };
    let formula = Formula {
        tile_elements: NonZero::new(100).unwrap(),
        element_bytes: 4,
        split: Split::Tiles,
        tickets: TicketRule::None,
        states: Some(states),
    };
    let words = [RecipeWord::Elements].into_iter().chain(words.iter().copied().map(RecipeWord::Same));
    let all = Place::Scratch(ScratchPart::All);
    let fill = RecipePass { module: 8, places: vec![all], words: vec![RecipeWord::Elements] };
    Recipe {
        formula,
        min_n: 1,
        max_n: 1_000_000,
        call_sizes: CallSizes::Told,
        alignment: 4,
        co_resident: false,
        arguments: ArgumentKind::Pushed,
        fill: Some(FillRecipe { pass: fill, words_per_workgroup: 50 }),
        prepare: None,
        passes: RecipePasses::One(RecipePass { module: 7, places: places.to_vec(), words: words.collect() }),
    }
}

const PLACES: [Place<ScratchPart>; 7] = [
    Place::Source,
    Place::Target,
    Place::Scratch(ScratchPart::States),
    Place::Counts,
    Place::Total,
    Place::Initial,
    Place::Elements,
];

const WORDS: [PushWord; 5] =
    [PushWord::Epoch, PushWord::TicketBase, PushWord::Bank, PushWord::StaleGroups, PushWord::Value(9)];

fn address(kind: u32, offset: u32) -> [u32; 2] {
    [offset, kind << 8]
}

#[test]
fn a_step_pushes_its_shape_addresses_and_words() {
    let recipe = recipe(&PLACES, &WORDS);
    let launch = recipe.at(20_050).unwrap();
    let check = |step, expected: &[u32], groups| {
        let dispatch = pushed(&step, vk::Pipeline::null(), &MEMORY, [150, 2, 1]).unwrap();
        let Told::Pushed(push) = dispatch.told else { panic!("it is told otherwise") };
        let words = push.bytes().chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap()));
        assert_eq!((words.collect::<Vec<_>>(), dispatch.groups), (expected.to_vec(), groups));
    };
    let [source, target, counts, total] = [1, 2, 4, 5].map(|kind| address(kind, 0));
    let [initial, elements] = [6, 7].map(|kind| address(kind, 0));
    let addresses = [source, target, address(3, 512), counts, total, initial, elements].concat();
    // 201 tiles are two rows of 101.
    check(
        launch.steps().next().unwrap(),
        &[&[101, 202], &addresses[..], &[20_050, 1, 0, 0, 0, 9]].concat(),
        [101, 2],
    );
    // 512 bytes and 224 states of 8.
    check(launch.fill().unwrap(), &[12, 12, 0, 3 << 8, 576], [12, 1]);
}

#[test]
fn a_step_is_told_in_a_line_by_the_same_words() {
    let recipe = recipe(&PLACES[..4], &WORDS);
    let launch = recipe.at(20_050).unwrap();
    let step = launch.steps().next().unwrap();
    let (line, groups) = in_line(&step, &MEMORY, [150, 2, 1]).unwrap();
    let [source, target, states, counts] = [address(1, 0), address(2, 0), address(3, 512), address(4, 0)];
    let expected =
        [&source[..], &target, &[20_050, 202, 0, 0], &states, &counts, &[101, 1, 0, 0, 0, 9]].concat();
    assert_eq!((&line.words()[..expected.len()], groups), (&expected[..], [101, 2]));
    assert!(line.words()[expected.len()..].iter().all(|word| *word == 0));
}

#[test]
fn what_does_not_fit_is_none() {
    let check = |places: &[Place<ScratchPart>], words: &[PushWord], max, fits: [bool; 2]| {
        let recipe = recipe(places, words);
        let step = recipe.at(20_050).unwrap().steps().next().unwrap();
        let dispatch = pushed(&step, vk::Pipeline::null(), &MEMORY, max);
        assert_eq!(
            [dispatch.is_some(), in_line(&step, &MEMORY, max).is_some()],
            fits,
            "{places:?} {words:?}"
        );
    };
    check(&PLACES[..2], &[], [150, 2, 1], [true, true]);
    check(&PLACES[..2], &[], [150, 1, 1], [false, false]);
    check(&PLACES[..1], &[], [150, 2, 1], [true, false]);
    check(&[Place::Source; 14], &[], [150, 2, 1], [true, false]);
    check(&[Place::Source; 15], &[], [150, 2, 1], [false, false]);
    check(&PLACES[..2], &[PushWord::Bank; 16], [150, 2, 1], [true, false]);
    check(&PLACES[..2], &[PushWord::Bank; 26], [150, 2, 1], [false, false]);
}
