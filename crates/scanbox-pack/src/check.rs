//! What a pack has to be like so that whatever is done with it stays within it.

use std::collections::HashSet;

use crate::contents::{
    Breakpoint, CallUse, ChoiceTable, PackData, PackModule, PackProblem, PackRecipe, ScanMode, ScanProblem,
};
use crate::error::PackError;
use crate::formula::Split;
use crate::promises::Promises;
use crate::recipe::{CallSizes, Place, Recipe, RecipePass};
use crate::spirv;

mod recipe;

/// Bytes of a text at most.
const MOST_TEXT: usize = u16::MAX as usize;
/// Entries of a list at most.
const MOST_ENTRIES: usize = 1 << 20;
/// Recipes and modules at most: places among them are words of 16 bits.
const MOST_NAMED: usize = 1 << 16;
/// Words of a module at most.
const MOST_WORDS: usize = 1 << 24;

type Soundness = Result<(), String>;

/// Fails with the text unless it holds.
fn ensure(holds: bool, wrong: impl FnOnce() -> String) -> Soundness {
    if holds { Ok(()) } else { Err(wrong()) }
}

fn within(what: &str, count: usize, most: usize) -> Soundness {
    ensure(count <= most, || format!("{count} {what}, and there may be {most}"))
}

/// A text that can be shown as it is.
fn text(what: &str, text: &str) -> Soundness {
    within(&format!("bytes of the {what}"), text.len(), MOST_TEXT)?;
    ensure(!text.contains(char::is_control), || format!("the {what} has control characters: {text:?}"))
}

pub(crate) fn pack(data: &PackData) -> Result<(), PackError> {
    let PackData {
        written_by,
        kernel_hash,
        licence,
        measured_utc,
        device,
        problems,
        recipes,
        times,
        modules,
    } = data;
    let part = |part: &str, outcome: Soundness| outcome.map_err(|wrong| PackError::malformed(part, wrong));
    let texts = [
        ("program", written_by),
        ("kernel hash", kernel_hash),
        ("licence", licence),
        ("time of measuring", measured_utc),
    ];
    for (what, value) in texts {
        part("the origin", text(what, value))?;
    }
    for (what, value) in
        [("name", &device.name), ("driver", &device.driver), ("build of the driver", &device.driver_build)]
    {
        part("the device", text(what, value))?;
    }
    part("the device", within("device ids", device.family.len(), MOST_ENTRIES))?;
    part("the table of modules", within("modules", modules.len(), MOST_NAMED))?;
    for (place, one) in modules.iter().enumerate() {
        part(&format!("module {place} ({})", one.hash), module(one))?;
    }
    part("the recipes", within("recipes", recipes.len(), MOST_NAMED))?;
    for (place, one) in recipes.iter().enumerate() {
        part(&format!("the label of recipe {place}"), text("label", &one.label))?;
        part(&format!("recipe {place} ({})", one.label), recipe::recipe(&one.recipe, modules.len()))?;
        part(&format!("recipe {place} ({})", one.label), one_subgroup_size(&one.recipe, modules))?;
    }
    part("the times", within("times", times.len(), MOST_ENTRIES))?;
    for (place, time) in times.iter().enumerate() {
        let outcome = named(recipes, time.recipe).and_then(|of| {
            ensure(of.recipe.takes(time.n), || format!("{} does not take {} elements", of.label, time.n))
        });
        part(&format!("time {place}"), outcome)?;
    }
    part("the problems", within("problems", problems.len(), MOST_ENTRIES))?;
    let mut seen = HashSet::new();
    for (place, one) in problems.iter().enumerate() {
        let name = format!("problem {place}");
        part(&name, scan(&one.scan))?;
        let is_of_file = !one.scan.operator_hash.is_empty();
        part(
            &name,
            ensure(is_of_file || !one.splittable, || {
                "it says that calls may be in parts, as only operators of files do".to_owned()
            }),
        )?;
        part(&name, ensure(seen.insert(&one.scan), || "it is there twice".to_owned()))?;
        problem(one, recipes)
            .map_err(|(table, wrong)| PackError::malformed(format!("{name}, {table}"), wrong))?;
    }
    Ok(())
}

/// Modules of one recipe run on one device.
fn one_subgroup_size(recipe: &Recipe<u16>, modules: &[PackModule]) -> Soundness {
    let beside = recipe.fill.iter().map(|fill| &fill.pass);
    let sizes = recipe.all_passes().chain(beside).filter_map(|pass| modules.get(usize::from(pass.module)));
    let mut sizes = sizes.map(|module| module.subgroup_size);
    let first = sizes.next();
    match sizes.find(|size| Some(*size) != first) {
        None => Ok(()),
        Some(other) => Err(format!("it has modules for subgroups of {} and of {other}", first.unwrap_or(0))),
    }
}

fn module(module: &PackModule) -> Soundness {
    let PackModule { subgroup_size, workgroup_size, shared_bytes, features, words, .. } = module;
    within("words", words.len(), MOST_WORDS)?;
    let facts = spirv::facts(words)?;
    ensure(facts.workgroup_size == *workgroup_size, || {
        format!("its code has workgroups of {}, and the table says {workgroup_size}", facts.workgroup_size)
    })?;
    ensure(subgroup_size.is_power_of_two() && *subgroup_size <= 128, || {
        format!("no device has subgroups of {subgroup_size}")
    })?;
    ensure(*shared_bytes <= 1 << 20, || format!("no device has {shared_bytes} bytes of shared memory"))?;
    ensure(facts.shared_bytes <= u64::from(*shared_bytes), || {
        format!(
            "its code has {} bytes of shared memory, and the table says {shared_bytes}",
            facts.shared_bytes
        )
    })?;
    ensure(features.has(facts.features), || {
        format!("its code needs {}, which the table does not say", facts.features.without(*features))
    })
}

fn named(recipes: &[PackRecipe], place: u16) -> Result<&PackRecipe, String> {
    let named = recipes.get(usize::from(place));
    named.ok_or_else(|| format!("it names recipe {place}, and there are {}", recipes.len()))
}

fn element_bytes(bytes: u32) -> Soundness {
    ensure([4, 8, 12, 16].contains(&bytes), || format!("elements of {bytes} bytes"))
}

fn scan(scan: &ScanProblem) -> Soundness {
    let ScanProblem { mode, element, element_bytes, operator, operator_hash, init, .. } = scan;
    text("element", element)?;
    text("operator", operator)?;
    text("hash of the operator", operator_hash)?;
    self::element_bytes(*element_bytes)?;
    let words = *element_bytes as usize / 4;
    let has_none = init.is_empty() && *mode != ScanMode::Exclusive;
    ensure(has_none || init.len() == words, || {
        format!("an initial value of {} words, where {words} are", init.len())
    })
}

/// The table in which something is wrong, and what.
fn problem(problem: &PackProblem, recipes: &[PackRecipe]) -> Result<(), (String, String)> {
    let PackProblem { scan, measured, portable, .. } = problem;
    for (kind, tables) in [("measured", measured), ("portable", portable)] {
        within("tables", tables.len(), MOST_ENTRIES)
            .map_err(|wrong| (format!("the {kind} tables"), wrong))?;
        for (place, one) in tables.iter().enumerate() {
            let outcome = ensure(kind == "measured" || one.needs == Promises::NONE, || {
                format!("it is said to run on any device, and needs {}", one.needs)
            });
            outcome
                .and_then(|()| table(one, scan, recipes))
                .map_err(|wrong| (format!("{kind} table {place}"), wrong))?;
        }
    }
    Ok(())
}

fn table(table: &ChoiceTable, scan: &ScanProblem, recipes: &[PackRecipe]) -> Soundness {
    let ChoiceTable { call_use, needs, breakpoints } = table;
    within("breakpoints", breakpoints.len(), MOST_ENTRIES)?;
    ensure(!breakpoints.is_empty(), || "it has no breakpoints".to_owned())?;
    ensure(breakpoints.is_sorted_by(|a, b| a.from < b.from), || "its breakpoints do not ascend".to_owned())?;
    for Breakpoint { from, ranked, .. } in breakpoints {
        within("recipes of a breakpoint", ranked.len(), MOST_NAMED)?;
        ensure(!ranked.is_empty(), || format!("no recipe from {from} elements on"))?;
        for place in ranked {
            let PackRecipe { label, recipe } = named(recipes, *place)?;
            ensure(*from > 0 && recipe.takes(*from), || format!("{label} does not take {from} elements"))?;
            ensure(!recipe.co_resident || needs.has(Promises::CO_RESIDENCY), || {
                format!("{label} needs {}, which the table does not say", Promises::CO_RESIDENCY)
            })?;
            serves(recipe, scan, *call_use).map_err(|wrong| format!("{label} {wrong}"))?;
        }
    }
    Ok(())
}

/// Whether a recipe is one for this use of this scan, as far as its places tell.
fn serves(recipe: &Recipe<u16>, scan: &ScanProblem, call_use: CallUse) -> Soundness {
    let has = |place| recipe.all_passes().any(|pass: &RecipePass<u16>| pass.places.contains(&place));
    let same = |what: &str, has: bool, wanted: bool| {
        ensure(has == wanted, || format!("{} {what}", if has { "has" } else { "lacks" }))
    };
    let CallUse { n_on_device, total, init_in_memory, scratch_overwritten, arguments, any_element } =
        call_use;
    let bytes = recipe.formula.element_bytes;
    ensure(bytes == scan.element_bytes, || format!("is for elements of {bytes} bytes"))?;
    same("a source beside the target", has(Place::Source), !scan.in_place)?;
    same("a target", has(Place::Target), true)?;
    same("a place for the total", has(Place::Total), total)?;
    same("a place for the initial value", has(Place::Initial), init_in_memory)?;
    same("a length in memory", recipe.call_sizes == CallSizes::InMemory, n_on_device)?;
    ensure(recipe.arguments == arguments, || {
        format!("finds its arguments elsewhere: {:?}, and {arguments:?} is asked for", recipe.arguments)
    })?;
    ensure(!any_element || bytes.is_multiple_of(recipe.alignment), || {
        format!("has arrays that begin at multiples of {} bytes", recipe.alignment)
    })?;
    let by_levels = recipe.formula.split == Split::ByLevels;
    ensure(!by_levels || recipe.goes_down() == (scan.mode != ScanMode::Reduce), || {
        "is not for this mode".to_owned()
    })?;
    ensure(!total || scan.mode != ScanMode::Reduce, || "stores the total of a reduction twice".to_owned())?;
    ensure(!scratch_overwritten || recipe.formula.content(recipe.max_n).is_stateless(), || {
        "needs what it has left in the scratch memory".to_owned()
    })
}
