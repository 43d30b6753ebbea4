//! Recipes that are written by hand, and what they come to. Those of real kernels: `scanbox-kernels`.

use std::num::NonZero;

use scanbox_pack::layout::{FIRST_TURN, STATES_OFFSET, TICKET_BYTES};
use scanbox_pack::{
    ArgumentKind, CallSizes, FewSplit, FillRecipe, Formula, GroupState, LevelPasses, Place, Prepare,
    PushWord, Recipe, RecipePass, RecipePasses, RecipeWord, ScratchContent, ScratchPart, Split, StatesBegin,
    StatesFormula, Step, TicketRule, Tickets,
};

const TAGGED: ScratchContent = ScratchContent::Tagged { epoch_bits: 30 };

/// Tiles of 100 elements of 4 bytes.
fn formula(split: Split, states: Option<StatesFormula>) -> Formula {
    Formula {
        tile_elements: NonZero::new(100).unwrap(),
        element_bytes: 4,
        split,
        tickets: TicketRule::None,
        states,
    }
}

fn states(content: ScratchContent, groups: Option<GroupState>) -> StatesFormula {
    let begin = match content {
        ScratchContent::Anything => StatesBegin::BehindGroups,
        _ => StatesBegin::At(STATES_OFFSET as u32),
    };
    StatesFormula { content, bytes: 8, stride: 1, begin, groups }
}

/// Its module is the one called 7.
fn one_pass(formula: Formula) -> Recipe<u16> {
    let scratch = [ScratchPart::All, ScratchPart::Groups, ScratchPart::States].map(Place::Scratch);
    let pass = RecipePass {
        module: 7,
        places: [&[Place::Source, Place::Target], &scratch[..]].concat(),
        words: vec![RecipeWord::Elements, RecipeWord::Same(PushWord::Epoch)],
    };
    let all = Place::Scratch(ScratchPart::All);
    let words = vec![RecipeWord::Elements, RecipeWord::Same(PushWord::Value(0))];
    Recipe {
        formula,
        min_n: 1,
        max_n: 1_000_000,
        call_sizes: CallSizes::Told,
        alignment: 4,
        co_resident: false,
        arguments: ArgumentKind::Pushed,
        fill: Some(FillRecipe {
            pass: RecipePass { module: 8, places: vec![all], words },
            words_per_workgroup: 50,
        }),
        prepare: None,
        passes: RecipePasses::One(pass),
    }
}

fn levels(is_reduction: bool) -> Recipe<u16> {
    let pass = |module: u16, places: [Place<ScratchPart>; 2]| RecipePass {
        module,
        places: places.to_vec(),
        words: vec![RecipeWord::Elements],
    };
    let (level, above) = (Place::Scratch(ScratchPart::Level), Place::Scratch(ScratchPart::LevelAbove));
    let passes = LevelPasses {
        up: [pass(10, [Place::Source, above]), pass(11, [level, above])],
        last: [pass(20, [Place::Source, Place::Target]), pass(21, [level, level])],
        down: (!is_reduction).then(|| [pass(30, [Place::Target, above]), pass(31, [level, above])]),
    };
    let recipe = one_pass(formula(Split::ByLevels, None));
    Recipe { fill: None, passes: RecipePasses::ByLevels(Box::new(passes)), ..recipe }
}

/// Module, elements, workgroups, and places.
fn in_words(step: &Step<'_, u16>) -> String {
    let places: Vec<String> = step
        .places()
        .map(|place| match place {
            Place::Scratch(offset) => format!("+{offset}"),
            other => format!("{other:?}"),
        })
        .collect();
    let Some(PushWord::Value(n)) = step.words().next() else { panic!("the length comes first") };
    format!("{}: {n} by {}: {}", step.module(), step.workgroups, places.join(" "))
}

fn steps(recipe: &Recipe<u16>, n: u64) -> Vec<String> {
    recipe.at(n).unwrap().steps().map(|step| in_words(&step)).collect()
}

#[test]
fn a_recipe_takes_its_sizes_and_no_others() {
    let recipe = Recipe { min_n: 201, max_n: 300, ..one_pass(formula(Split::Tiles, None)) };
    for (n, takes) in [(0, false), (200, false), (201, true), (300, true), (301, false), (u64::MAX, false)] {
        assert_eq!((recipe.takes(n), recipe.at(n).is_some()), (takes, takes), "{n}");
        assert_eq!(recipe.laid_out(n).is_some(), takes, "{n}");
    }
    let laid_out = recipe.laid_out(250).unwrap();
    assert!(laid_out.at(250).is_some() && laid_out.at(201).is_some());
    assert!(laid_out.at(251).is_none() && laid_out.at(200).is_none());
    let same = Recipe { call_sizes: CallSizes::Same, ..recipe.clone() };
    assert!(same.at(250).is_some() && same.laid_out(250).unwrap().at(249).is_none());
    let from_memory = Recipe { call_sizes: CallSizes::InMemory, ..recipe };
    let laid_out = from_memory.laid_out(250).unwrap();
    for (n, told) in [(0, 0), (250, 250), (251, 251), (u64::MAX, u32::MAX)] {
        let steps: Vec<String> = laid_out.at(n).unwrap().steps().map(|step| in_words(&step)).collect();
        // As many workgroups as the most elements need, which no call can have more than.
        assert_eq!(steps, [format!("7: {told} by 3: Source Target +0 +256 +0")]);
    }
}

#[test]
fn workgroups_and_tickets_follow_from_the_size() {
    let check = |split, rule, n: u64, workgroups: u64, tickets: Tickets| {
        let formula = Formula { tickets: rule, ..formula(split, None) };
        let recipe = one_pass(formula);
        let step = recipe.at(n).unwrap().steps().next().unwrap();
        assert_eq!((step.workgroups, step.tickets), (workgroups, tickets), "{split:?} {rule:?} {n}");
    };
    let per_workgroup = |more| Tickets::PerWorkgroup { more };
    check(Split::Tiles, TicketRule::None, 101, 2, Tickets::None);
    check(Split::Tiles, TicketRule::Workgroups, 200, 2, per_workgroup(0));
    check(Split::One, TicketRule::None, 12_345, 1, Tickets::None);
    check(Split::AtMost(5), TicketRule::WorkgroupsAndFullTiles, 99, 1, per_workgroup(0));
    check(Split::AtMost(5), TicketRule::WorkgroupsAndFullTiles, 1199, 5, per_workgroup(11));
    check(Split::AtMost(5), TicketRule::FullTilesBehindFirst, 500, 5, Tickets::Exactly(0));
    check(Split::AtMost(5), TicketRule::FullTilesBehindFirst, 501, 5, Tickets::Exactly(5));
    check(Split::AtMost(5), TicketRule::FullTilesBehindFirst, 600, 5, Tickets::Exactly(6));
    // Rows of 20 elements, up to 160 of them; then tiles of 100.
    let few = Split::AtMostOrFew(FEW);
    for (n, workgroups) in [(1, 1), (20, 1), (21, 2), (100, 5), (160, 8), (161, 2), (500, 5)] {
        check(few, TicketRule::FullTilesBehindFirst, n, workgroups, Tickets::Exactly(0));
    }
    check(few, TicketRule::FullTilesBehindFirst, 600, 5, Tickets::Exactly(6));
}

const FEW: FewSplit = FewSplit { most: 5, row_elements: NonZero::new(20).unwrap(), rows: 8 };

/// Workgroups that have rows wait for nobody, so that it does not matter how many fit.
#[test]
fn rows_of_few_elements_need_not_run_at_the_same_time() {
    let recipe = Recipe { co_resident: true, ..one_pass(formula(Split::AtMostOrFew(FEW), None)) };
    for (n, co_resident) in [(1, false), (160, false), (161, true), (500, true)] {
        let step = recipe.at(n).unwrap().steps().next().unwrap();
        assert_eq!(step.co_resident, co_resident, "{n}");
    }
    // One that finds in memory how many it has may have as many as it was recorded for.
    let from_memory = Recipe { call_sizes: CallSizes::InMemory, ..recipe };
    for (most, n, workgroups, co_resident) in [(160, 3, 8, false), (161, 3, 2, true), (161, 161, 2, true)] {
        let step = from_memory.laid_out(most).unwrap().at(n).unwrap().steps().next().unwrap();
        assert_eq!((step.workgroups, step.co_resident), (workgroups, co_resident), "{n} of {most}");
    }
}

#[test]
fn scratch_memory_has_states_and_groups() {
    // 33 tiles: 64 records of 8 bytes in rows, and two groups.
    let n = 3300;
    let offset = STATES_OFFSET;
    let check = |content, groups, bytes: u64, places: [u64; 2], bank_words| {
        let recipe = one_pass(formula(Split::Tiles, Some(states(content, groups))));
        let launch = recipe.at(n).unwrap();
        let scratch = launch.scratch();
        assert_eq!((scratch.bytes, scratch.content, scratch.bank_words), (bytes, content, bank_words));
        assert_eq!((scratch.tiles, scratch.state_stride, launch.tiles()), (33, 1, 33));
        assert_eq!(
            steps(&recipe, n),
            [format!("7: 3300 by 33: Source Target +0 +{} +{}", places[0], places[1])]
        );
    };
    let (added, published) = (Some(GroupState::Added), Some(GroupState::Published));
    check(TAGGED, None, offset + 512, [TICKET_BYTES, offset], 0);
    check(TAGGED, added, offset + 512, [TICKET_BYTES, offset], 2);
    check(TAGGED, published, offset + 512 + 256, [offset + 512, offset], 0);
    check(ScratchContent::Anything, None, 256 + 512, [256, 256], 0);
    check(ScratchContent::Anything, added, 256 + 16 + 512, [256, 256 + 16], 2);
    check(ScratchContent::Anything, published, 256 + 512 + 256, [256 + 512, 256], 0);
    let wide = Formula { element_bytes: 8, ..formula(Split::Tiles, Some(states(TAGGED, added))) };
    assert_eq!(wide.bank_words(n), 64, "a row of groups, and two words for each");
    let none = one_pass(formula(Split::Tiles, None)).at(n).unwrap().scratch();
    assert_eq!((none.bytes, none.content, none.tiles), (0, ScratchContent::None, 0));
}

/// What earlier calls have left stays where it was, whatever the size of a call is; what is cleared or written first
/// need not.
#[test]
fn calls_of_any_size_share_the_layout_of_the_largest() {
    let published = Some(GroupState::Published);
    let groups_of = |content, n: u64| {
        let recipe = one_pass(formula(Split::Tiles, Some(states(content, published))));
        let laid_out = recipe.laid_out(3300).unwrap();
        let launch = laid_out.at(n).unwrap();
        let step = launch.steps().next().unwrap();
        assert!(launch.scratch().bytes <= laid_out.scratch_bytes());
        assert_eq!(step.workgroups, n.div_ceil(100), "as many as this call needs");
        let Some(Place::Scratch(at)) = step.places().nth(3) else { panic!("groups stand there") };
        (at, launch.scratch().bytes, launch.fill().map(|fill| in_words(&fill)))
    };
    let (at, bytes, _) = groups_of(TAGGED, 3300);
    assert_eq!((at, bytes), (STATES_OFFSET + 512, STATES_OFFSET + 512 + 256));
    let (at, bytes, _) = groups_of(TAGGED, 100);
    assert_eq!((at, bytes), (STATES_OFFSET + 512, STATES_OFFSET + 512 + 256));
    let (at, bytes, fill) = groups_of(ScratchContent::Anything, 3300);
    assert_eq!((at, bytes, fill), (256 + 512, 1024, Some("8: 256 by 6: +0".into())));
    let (at, bytes, fill) = groups_of(ScratchContent::Anything, 100);
    assert_eq!((at, bytes, fill), (256 + 256, 256 + 256 + 256, Some("8: 192 by 4: +0".into())));
}

/// Whatever stands in the memory is gone, and the device begins to count.
#[test]
fn a_first_call_finds_zeros_and_a_turn() {
    let recipe = one_pass(formula(Split::Tiles, Some(states(TAGGED, None))));
    let zeros = recipe.fill.clone().unwrap();
    let words = vec![RecipeWord::Same(PushWord::Value(1)), RecipeWord::Same(PushWord::Value(FIRST_TURN))];
    let turn = RecipePass { module: 8, places: vec![Place::Scratch(ScratchPart::Turn)], words };
    let prepared = |turn| {
        let prepare = Some(Prepare { zeros: zeros.clone(), turn });
        let recipe = Recipe { prepare, ..recipe.clone() };
        let laid_out = recipe.laid_out(3300).unwrap();
        assert_eq!(laid_out.scratch_bytes(), STATES_OFFSET + 512);
        laid_out.prepare().map(|step| in_words(&step)).collect::<Vec<_>>()
    };
    // All of the memory of the largest call, 50 words a workgroup.
    let all = format!("8: {} by 5247: +0", (STATES_OFFSET + 512) / 4);
    assert_eq!(prepared(Some(turn)), [&all, "8: 1 by 1: +128"]);
    assert_eq!(prepared(None), [all]);
    assert_eq!(recipe.laid_out(3300).unwrap().prepare().count(), 0);
}

#[test]
fn levels_go_up_and_down() {
    let recipe = levels(false);
    assert_eq!(steps(&recipe, 100), ["20: 100 by 1: Source Target"]);
    assert_eq!(
        steps(&recipe, 101),
        ["10: 101 by 2: Source +0", "21: 2 by 1: +0 +0", "30: 101 by 2: Target +0"]
    );
    // Totals of four tiles at most are left to one workgroup.
    assert_eq!(steps(&recipe, 40_000).len(), 3);
    assert_eq!(
        steps(&recipe, 40_001),
        [
            "10: 40001 by 401: Source +0",
            "11: 401 by 5: +0 +1792",
            "21: 5 by 1: +1792 +1792",
            "31: 401 by 5: +0 +1792",
            "30: 40001 by 401: Target +0",
        ]
    );
    let scratch = recipe.at(40_001).unwrap().scratch();
    assert_eq!((scratch.bytes, scratch.content), (1792 + 256, ScratchContent::Overwritten));
    assert_eq!(recipe.at(100).unwrap().scratch().content, ScratchContent::None);
    // No elements are scanned by nobody, and what they come to is stored by one.
    let of_none = Recipe { min_n: 0, ..levels(true) };
    assert_eq!(steps(&of_none, 0), ["20: 0 by 1: Source Target"]);
    assert_eq!(
        steps(&levels(true), 40_001),
        ["10: 40001 by 401: Source +0", "11: 401 by 5: +0 +1792", "21: 5 by 1: +1792 +1792"]
    );
}

/// Tiles of one element would be levels without end, and those of two are the most levels.
#[test]
fn small_tiles_have_an_end() {
    for tile_elements in [1, 2, 3] {
        let formula =
            Formula { tile_elements: NonZero::new(tile_elements).unwrap(), ..formula(Split::ByLevels, None) };
        let recipe = Recipe { formula, max_n: u32::MAX.into(), ..levels(false) };
        let launch = recipe.at(u32::MAX.into()).unwrap();
        let count = launch.steps().count();
        assert_eq!((count % 2, count <= 63), (1, true), "{tile_elements}: {count}");
        assert!(launch.scratch().bytes < 1 << 36);
    }
}

#[test]
fn modules_get_other_names() {
    let name = |module: u16| format!("m{module}");
    let recipe = one_pass(formula(Split::Tiles, Some(states(TAGGED, None))));
    let named = recipe.clone().map(name);
    let (launch, before) = (named.at(3300).unwrap(), recipe.at(3300).unwrap());
    assert_eq!(launch.fill().unwrap().module(), "m8");
    let modules: Vec<&String> = launch.steps().map(|step| step.module()).collect();
    assert_eq!(modules, ["m7"]);
    assert_eq!(launch.scratch(), before.scratch());
    let pass = recipe.fill.clone().unwrap().pass;
    let zeros = FillRecipe { pass: pass.clone(), words_per_workgroup: 9 };
    let prepare = Prepare { zeros, turn: Some(RecipePass { module: 9, ..pass }) };
    let prepared = Recipe { prepare: Some(prepare), ..recipe.clone() };
    let named = prepared.clone().map(name);
    assert!(named.modules().eq(["m7", "m8", "m8", "m9"]));
    assert_eq!(named.map(|name| name[1..].parse::<u16>().unwrap()), prepared);
    let named = levels(false).map(name);
    let modules: Vec<&String> = named.at(40_001).unwrap().steps().map(|step| step.module()).collect();
    assert_eq!(modules, ["m10", "m11", "m21", "m31", "m30"]);
    let back = named.map(|name| name[1..].parse::<u16>().unwrap());
    assert_eq!(back, levels(false));
}
