//! What a pack must not have in it.

use std::num::NonZero;

use scanbox_pack::{
    ArgumentKind, CallSizes, FeatureSet, FewSplit, Pack, PackData, Place, Prepare, Promises, Recipe,
    RecipePass, RecipePasses, RecipeWord, ScanMode, ScratchContent, ScratchPart, Split, StatesBegin,
    StatesFormula, TicketRule, spirv,
};

use crate::packs::{data, module, of_12_bytes, spirv as code};

#[track_caller]
fn refused(change: impl FnOnce(&mut PackData), expected: &str) {
    let mut data = data();
    change(&mut data);
    let error = Pack::new(data).expect_err(expected).to_string();
    assert!(error.contains(expected), "{error}\n{expected}");
}

#[track_caller]
fn refused_recipe(change: impl FnOnce(&mut Recipe<u16>), expected: &str) {
    refused(|data| change(&mut data.recipes[1].recipe), expected);
}

fn pass(recipe: &mut Recipe<u16>) -> &mut RecipePass<u16> {
    let RecipePasses::One(pass) = &mut recipe.passes else { panic!("it has one pass") };
    pass
}

fn prepare(recipe: &mut Recipe<u16>) -> &mut Prepare<u16> {
    recipe.prepare.as_mut().unwrap()
}

fn states(recipe: &mut Recipe<u16>) -> &mut StatesFormula {
    recipe.formula.states.as_mut().unwrap()
}

#[test]
fn formulas_stay_in_bounds() {
    refused_recipe(
        |recipe| recipe.max_n = 1 << 32,
        "recipe 1 (par) of the pack: it takes 0 to 4294967296 elements",
    );
    refused_recipe(|recipe| recipe.max_n = 0, "it takes 0 to 0 elements");
    refused_recipe(|recipe| recipe.min_n = 1 << 31, "it takes 2147483648 to 1073741824");
    refused_recipe(|recipe| recipe.alignment = 12, "an alignment of 12 bytes");
    refused_recipe(|recipe| recipe.formula.element_bytes = 0, "elements of 0 bytes");
    refused_recipe(
        |recipe| recipe.formula.tile_elements = NonZero::<u64>::MAX,
        "tiles of 18446744073709551615",
    );
    refused_recipe(
        |recipe| recipe.formula.tile_elements = NonZero::<u64>::MIN,
        "words of groups, and a bank has",
    );
    refused_recipe(|recipe| recipe.formula.split = Split::AtMost(0), "no workgroups");
    for (most, rows) in [(0, 8), (5, 0)] {
        let few = FewSplit { most, row_elements: NonZero::<u32>::MIN, rows };
        refused_recipe(|recipe| recipe.formula.split = Split::AtMostOrFew(few), "no workgroups");
    }
    refused_recipe(|recipe| recipe.co_resident = true, "all workgroups run at the same time, however many");
    refused_recipe(
        |recipe| {
            recipe.co_resident = true;
            recipe.formula.split = Split::AtMost(64);
            recipe.arguments = ArgumentKind::Baked;
        },
        "of which fewer fit with another number of elements baked",
    );
    refused_recipe(|recipe| states(recipe).bytes = 1 << 20, "tile states of 1048576 bytes");
    refused_recipe(|recipe| states(recipe).stride = 0, "0 as the stride");
    refused_recipe(|recipe| states(recipe).begin = StatesBegin::At(256), "and 1048832 bytes are others'");
    refused_recipe(
        |recipe| states(recipe).begin = StatesBegin::BehindGroups,
        "states that move with the size stay",
    );
    refused_recipe(
        |recipe| states(recipe).content = ScratchContent::Tagged { epoch_bits: 30 },
        "the host counts its calls, so that a recording is good for one submission",
    );
    refused_recipe(|recipe| states(recipe).content = ScratchContent::Overwritten, "with Overwritten");
    refused_recipe(|recipe| states(recipe).content = ScratchContent::Anything, "a fill false");
    refused(
        |data| data.recipes[4].recipe.formula.tile_elements = NonZero::<u64>::MIN,
        "recipe 4 (rts) of the pack: levels without end",
    );
    refused(
        |data| data.recipes[4].recipe.formula.tickets = TicketRule::Workgroups,
        "levels with tile states",
    );
    refused(|data| data.recipes[4].recipe.formula.split = Split::Tiles, "passes of another kind");
    refused_recipe(
        |recipe| recipe.prepare = None,
        "something in front of first calls false, where scratch memory has SelfTurning",
    );
    refused(
        |data| data.recipes[0].recipe.prepare = data.recipes[1].recipe.prepare.clone(),
        "recipe 0 (one) of the pack: something in front of first calls true, where scratch memory has None",
    );
    refused_recipe(|recipe| prepare(recipe).turn = None, "a first turn false, where");
    refused(
        |data| data.recipes[2].recipe.prepare = data.recipes[1].recipe.prepare.clone(),
        "recipe 2 (pers) of the pack: a first turn true, where scratch memory has Zeros",
    );
    let fill = |recipe: &mut Recipe<u16>| recipe.fill.as_mut().unwrap().words_per_workgroup = 0;
    refused(|data| fill(&mut data.recipes[3].recipe), "a fill that fills nothing");
    let other_subgroups = |data: &mut PackData| {
        data.recipes[3].recipe.fill.as_mut().unwrap().pass.module = 3;
    };
    refused(other_subgroups, "modules for subgroups of 32 and of 8");
}

#[test]
fn passes_name_what_is_there() {
    refused_recipe(|recipe| pass(recipe).module = 4, "it names module 4, and there are 4");
    refused_recipe(|recipe| pass(recipe).places.push(Place::Counts), "a pass works on Counts");
    refused_recipe(|recipe| pass(recipe).places.push(Place::Elements), "a pass works on Elements");
    refused_recipe(|recipe| pass(recipe).places.push(Place::Scratch(ScratchPart::Level)), "Scratch(Level)");
    let states = Place::Scratch(ScratchPart::States);
    refused(|data| pass(&mut data.recipes[0].recipe).places.push(states), "works on Scratch(States)");
    refused_recipe(|recipe| pass(recipe).words.resize(21, RecipeWord::Elements), "132 bytes of arguments");
    refused_recipe(|recipe| pass(recipe).places.push(Place::Scratch(ScratchPart::Turn)), "Scratch(Turn)");
    refused_recipe(|recipe| prepare(recipe).zeros.pass.module = 4, "it names module 4");
    refused_recipe(
        |recipe| prepare(recipe).zeros.pass.places = vec![Place::Target],
        "a fill of something else than the scratch memory",
    );
    refused_recipe(|recipe| prepare(recipe).zeros.words_per_workgroup = 0, "a fill that fills nothing");
    refused_recipe(
        |recipe| prepare(recipe).zeros.pass.words.swap(0, 1),
        "something else than zeros in front of first calls",
    );
    let turn = |change: fn(&mut RecipePass<u16>), expected| {
        refused_recipe(|recipe| change(prepare(recipe).turn.as_mut().unwrap()), expected);
    };
    turn(|turn| turn.module = 4, "it names module 4");
    turn(|turn| turn.words.swap(0, 1), "a first turn that is another one, or elsewhere");
    turn(|turn| turn.places = vec![Place::Scratch(ScratchPart::All)], "a first turn that is another one");
    let line = |data: &mut PackData| pass(&mut data.recipes[7].recipe).words.resize(11, RecipeWord::Elements);
    refused(line, "recipe 7 (par.block) of the pack: 25 words of a line, and there may be 24");
    refused(|data| pass(&mut data.recipes[7].recipe).words.clear(), "a line without source");
}

#[test]
fn tables_name_recipes_for_their_use() {
    let table = "problem 0, measured table 0 of the pack: ";
    let name =
        |place| move |data: &mut PackData| data.problems[0].measured[0].breakpoints[1].ranked[0] = place;
    refused(name(99), &format!("{table}it names recipe 99, and there are 9"));
    refused(name(6), "has a length in memory");
    refused(
        |data| data.problems[0].measured[0].breakpoints[1].from = 1 << 31,
        "does not take 2147483648 elements",
    );
    refused(|data| data.problems[0].measured[0].breakpoints[1].from = 1, "its breakpoints do not ascend");
    refused(|data| data.problems[0].measured[0].breakpoints[0].from = 0, "does not take 0 elements");
    refused(|data| data.problems[0].measured[0].breakpoints.clear(), "it has no breakpoints");
    refused(
        |data| data.problems[0].measured[0].breakpoints[0].ranked.clear(),
        "no recipe from 1 elements on",
    );
    refused(
        |data| data.problems[0].measured[0].needs = Promises::PROGRESS,
        "pers needs co-residency, which the table",
    );
    refused(
        |data| data.problems[0].portable[1].needs = Promises::PROGRESS,
        "problem 0, portable table 1 of the pack: it is said to run on any device, and needs progress",
    );
    refused(|data| data.problems[0].measured[0].call_use.total = true, "one lacks a place for the total");
    refused(|data| data.problems[0].measured[2].call_use.n_on_device = true, "fill lacks a length in memory");
    refused(
        |data| {
            data.problems[0].measured[1].call_use.scratch_overwritten = true;
            data.problems[0].measured[1].breakpoints.remove(0);
        },
        "par needs what it has left in the scratch memory",
    );
    refused(
        |data| data.problems[0].measured[3].call_use.arguments = ArgumentKind::Baked,
        "par, n in memory finds its arguments elsewhere: Pushed, and Baked is asked for",
    );
    refused(name(7), "par.block finds its arguments elsewhere: Line, and Pushed is asked for");
    refused(
        |data| data.problems[0].measured[3].call_use.any_element = true,
        "par, n in memory has arrays that begin at multiples of 16 bytes",
    );
    refused(
        |data| {
            of_12_bytes(data);
            data.recipes[8].recipe.alignment = 8;
        },
        "par at any element has arrays that begin at multiples of 8 bytes",
    );
    refused(|data| data.problems[0].scan.element_bytes = 20, "elements of 20 bytes");
    refused(|data| data.problems[0].scan.in_place = true, "has a source beside the target");
    refused(|data| data.problems[0].scan.mode = ScanMode::Reduce, "rts is not for this mode");
    refused(
        |data| data.problems[0].scan.mode = ScanMode::Exclusive,
        "an initial value of 0 words, where 1 are",
    );
    refused(|data| data.problems[0].scan.element_bytes = 8, "is for elements of 4 bytes");
    refused(|data| data.problems.push(data.problems[0].clone()), "problem 1 of the pack: it is there twice");
    refused(|data| data.times[0].recipe = 9, "time 0 of the pack: it names recipe 9, and there are 9");
    refused(|data| data.times[0].n = 0, "one does not take 0 elements");
    refused(
        |data| data.recipes[1].label = "\x1b[2J".into(),
        "the label of recipe 1 of the pack: the label has control",
    );
    refused(|data| data.licence = "x".repeat(1 << 16), "65536 bytes of the licence");
    refused(|data| data.recipes[6].recipe.call_sizes = CallSizes::Told, "lacks a length in memory");
}

#[test]
fn code_is_spirv_whose_features_are_declared() {
    let wrong = |words: Vec<u32>, expected: &str| {
        refused(
            |data| {
                data.modules[2].words = words;
                data.modules[2].features = FeatureSet::ALL;
            },
            expected,
        );
    };
    wrong(
        Vec::new(),
        "(0202020202020202020202020202020202020202020202020202020202020202) of the pack: 0 words",
    );
    wrong(
        vec![0x0302_2307, 0x0001_0600, 0, 9, 0],
        "begins with 0x03022307, and SPIR-V begins with 0x07230203",
    );
    wrong(vec![0x0723_0203, 0x0002_0000, 0, 9, 0], "SPIR-V version 0x20000");
    wrong(code(&[], 128)[..7].to_vec(), "no entry point");
    wrong(code(&[5], 128), "capability 5, which no kernel has");
    wrong(code(&[], 64), "its code has workgroups of 64, and the table says 128");
    wrong([code(&[], 128), vec![17]].concat(), "the instruction at word 18 has 0 words, and 1 are left");
    wrong([code(&[], 128), vec![u32::MAX]].concat(), "has 65535 words, and 1 are left");
    wrong([code(&[], 128), vec![1 << 16 | 17]].concat(), "word 18 is not a capability");
    wrong([code(&[], 128), code(&[], 128)[7..12].to_vec()].concat(), "another entry point");
    wrong([code(&[], 128), vec![6 << 16 | 16, 4, 17, 128, 1, 1]].concat(), "two workgroup sizes");
    // The last instruction is the size: as a number, or by constants that come behind.
    let sized = |sizes: &[u32]| [&code(&[], 128)[..12], sizes].concat();
    wrong(sized(&[]), "no workgroup size");
    wrong(sized(&[6 << 16 | 16, 4, 17, 128, 2, 1]), "workgroups of more than one dimension");
    wrong(sized(&[6 << 16 | 16, 4, 17, 0, 1, 1]), "no workgroup size");
    let by_ids = [6 << 16 | 331, 4, 38, 7, 8, 8];
    wrong(
        sized(&[&by_ids[..], &[4 << 16 | 50, 6, 7, 128], &[4 << 16 | 43, 6, 8, 1]].concat()),
        "no workgroup size",
    );
    let by_ids = sized(&[&by_ids[..], &[4 << 16 | 43, 6, 7, 96], &[4 << 16 | 43, 6, 8, 1]].concat());
    assert_eq!(spirv::facts(&by_ids).unwrap().workgroup_size, 96);
    refused(
        |data| data.modules[1].features = FeatureSet::INT64,
        "its code needs shaderBufferInt64Atomics, subgroup arithmetic, which the table does not say",
    );
    refused(|data| data.modules[0].subgroup_size = 24, "no device has subgroups of 24");
    refused(|data| data.modules[0].shared_bytes = 1 << 21, "2097152 bytes of shared memory");
    let mode = [code(&[62], 128), vec![3 << 16 | 16, 4, 4421]].concat();
    let facts = spirv::facts(&mode).unwrap();
    assert_eq!(facts.features, FeatureSet::VOTE.with(FeatureSet::UNIFORM_CONTROL_FLOW));
    assert_eq!(module(0, 8, &[], FeatureSet::NONE).words, code(&[], 128));
}
