//! What stands beside exported kernels: how to dispatch them, in words and numbers.

use std::fmt::Write as _;

use scanbox_model::units::size_label;
use scanbox_pack::{
    CallUse, ChoiceTable, FewSplit, GroupState, Launch, Pack, PackData, PackModule, PackRecipe, Place,
    PushWord, Recipe, RecipeWord, ScratchContent, Split, StatesBegin, Step,
};

use crate::grid::{Grid, GridColumn, Style};
use crate::pack::{percent, title};

/// A file name for a module: the beginning of its hash, which the JSON has whole.
#[must_use]
pub fn module_file(module: &PackModule) -> String {
    module.hash.to_string()[..12].to_owned()
}

/// The README beside the kernels of a pack whose arguments are pushed. `commit`: what the program was built from.
#[must_use]
pub fn readme(pack: &Pack, commit: &str) -> String {
    let data = pack.data();
    let mut text = String::new();
    let device = &data.device;
    let measured = match &*data.measured_utc {
        "" => "no times were measured".to_owned(),
        utc => format!("times of {utc}"),
    };
    // Writing to a text cannot fail.
    let _ = write!(
        text,
        "# Scan kernels\n\nWritten by {} ({commit}) for {}, driver {}; {measured}. Kernel sources: {}. Licence of \
         all files: {}.\n\n{RULES}",
        data.written_by, device.name, device.driver, data.kernel_hash, data.licence
    );
    for problem in &data.problems {
        let _ = write!(text, "\n## Which kernel: {}\n", title(&problem.scan));
        for table in &problem.measured {
            let _ = write!(text, "\n{}\n", choices(data, table));
        }
    }
    for (place, recipe) in data.recipes.iter().enumerate() {
        kernel(data, place, recipe, &mut text);
    }
    text
}

const RULES: &str = "\
`recipe.json` has all of this for programs. For each module there are `HASH.spv`, the code, and `HASH.comp`, the same as \
GLSL, which compiles to the same SPIR-V by `glslc -O --target-env=vulkan1.3`.

## What holds for all of them

- The device has Vulkan 1.3 and has enabled bufferDeviceAddress, vulkanMemoryModel, vulkanMemoryModelDeviceScope, \
subgroupSizeControl, computeFullSubgroups and maintenance4, beside what a kernel lists.
- A pipeline asks for the subgroup size of its kernel (`VkPipelineShaderStageRequiredSubgroupSizeCreateInfo`) where the \
device has several, and for full subgroups (`VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT`). It has no \
descriptor sets. The entry point is `main`.
- Push constants: at byte 0 the workgroups in a row, at byte 4 those in all rows, both 32 bits; from byte 8 on the \
addresses that a pass lists, 8 bytes each; behind them its words, 4 bytes each.
- `vkCmdDispatch(x, y, 1)` starts x workgroups in a row and y rows: the fewest rows with which x is at most \
`maxComputeWorkGroupCount[0]`, and x = ceil(workgroups / y). The first push constant is x, the second one x times y.
- Each pass depends on the one before: a barrier between them from `VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT` with \
`VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT` to the same stage with `VK_ACCESS_2_SHADER_STORAGE_READ_BIT` and \
`VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT`. The same stands between two calls that share scratch memory.
- Scratch memory begins at a multiple of 256 bytes. Calls share it if they use the same kernel, one after the other.
";

/// Which kernel runs from how many elements on, as Markdown.
fn choices(data: &PackData, table: &ChoiceTable) -> String {
    let mut grid = Grid::new([
        GridColumn::numbers("from n"),
        GridColumn::numbers("kernel"),
        GridColumn::words("label"),
        GridColumn::numbers("loss").unless_empty(),
    ]);
    for range in &table.breakpoints {
        let Some((place, recipe)) =
            range.ranked.first().and_then(|place| Some((place, data.recipes.get(usize::from(*place))?)))
        else {
            continue;
        };
        grid.push([
            range.from.to_string(),
            place.to_string(),
            recipe.label.clone(),
            percent(range.worst_loss_ppm),
        ]);
    }
    let call_use = CallUse { scratch_overwritten: false, ..table.call_use };
    let memory = if table.call_use.scratch_overwritten {
        ", where others overwrite the scratch memory between calls"
    } else {
        ""
    };
    format!(
        "Use: {call_use}{memory}. Needs of the device beyond what Vulkan promises: {}.\n\n{}",
        table.needs,
        grid.draw(Style::Markdown)
    )
}

fn kernel(data: &PackData, place: usize, packed: &PackRecipe, text: &mut String) {
    let PackRecipe { label, recipe } = packed;
    let formula = &recipe.formula;
    let tile = formula.tile_elements;
    let workgroups = match formula.split {
        Split::Tiles => format!("ceil(n / {tile})"),
        Split::AtMost(most) => format!("the smaller one of ceil(n / {tile}) and {most}"),
        Split::AtMostOrFew(FewSplit { most, row_elements, rows }) => format!(
            "the smaller one of ceil(n / {tile}) and {most}; of {} elements at most, ceil(n / {row_elements})",
            u64::from(rows) * u64::from(row_elements.get())
        ),
        Split::One => "1".to_owned(),
        Split::ByLevels => format!("ceil(elements of its level / {tile})"),
    };
    let _ = write!(
        text,
        "\n## Kernel {place}: {label}\n\n- Elements: {} to {}, of {} bytes; arrays begin at multiples of {} bytes.\n- \
         Workgroups of a call: {workgroups}.\n",
        recipe.min_n, recipe.max_n, formula.element_bytes, recipe.alignment
    );
    if recipe.co_resident {
        text.push_str("- All workgroups of a call have to run at the same time.\n");
    }
    text.push_str(&scratch(packed));
    let features: Vec<&str> = {
        let modules = recipe.modules().filter_map(|module| data.modules.get(usize::from(*module)));
        modules
            .fold(scanbox_pack::FeatureSet::NONE, |all, module| all.with(module.features))
            .words()
            .collect()
    };
    if !features.is_empty() {
        let _ = writeln!(text, "- Features beside those of all: {}.", features.join(", "));
    }
    let largest = recipe.max_n.min(1_000_000);
    if let Some(laid_out) = recipe.laid_out(largest).filter(|_| recipe.prepare.is_some()) {
        let _ = write!(
            text,
            "\nOnce before the first call, whatever stands in the scratch memory; here with room for {largest} \
             elements:\n\n{}\n",
            steps(data, recipe, laid_out.prepare())
        );
    }
    // Few elements, many, and as many as there may be have other passes where these go level by level.
    let mut sizes =
        if formula.split == Split::ByLevels { vec![1000, largest, recipe.max_n] } else { vec![largest] };
    sizes.dedup();
    for n in sizes {
        let Some(launch) = recipe.at(n) else { continue };
        let _ = write!(text, "\nA call of {n} elements:\n\n{}\n", steps(data, recipe, all_steps(&launch)));
    }
}

fn all_steps<'a>(launch: &Launch<'a, u16>) -> impl Iterator<Item = Step<'a, u16>> {
    launch.fill().into_iter().chain(launch.steps())
}

/// What scratch memory there is, and what it holds.
fn scratch(packed: &PackRecipe) -> String {
    let recipe = &packed.recipe;
    let formula = &recipe.formula;
    if formula.scratch_bytes(recipe.max_n) == 0 {
        return "- It has no scratch memory.\n".to_owned();
    }
    let Some(states) = formula.states else {
        let tile = formula.tile_elements;
        return format!(
            "- Scratch memory: the levels. Level 0 is the input; each further one has an element for each tile of {tile} of \
             the one before, and begins at the next multiple of 256 bytes; the first of them begins at 0. There are levels \
             until one has 4 tiles or fewer, 1 where it is the input. What stands there before a call makes no difference.\n"
        );
    };
    let tile = formula.tile_elements;
    let begin = match states.begin {
        StatesBegin::At(offset) => format!("at byte {offset}"),
        StatesBegin::BehindGroups => {
            "behind two banks of sums of groups of 32 tiles, at byte 256 + their bytes".to_owned()
        }
    };
    let groups = match states.groups {
        Some(GroupState::Published) => ", and behind them as many for groups of 32 tiles",
        Some(GroupState::Added) | None => "",
    };
    let content = match formula.content(recipe.max_n) {
        ScratchContent::SelfTurning { .. } => {
            "It is prepared once; from then on nobody else writes to it, and the device counts calls there"
        }
        ScratchContent::Zeros => "It holds zeros before the first call, and each call leaves zeros",
        _ => "What stands there before a call makes no difference: a pass clears it",
    };
    format!(
        "- Scratch memory: tickets in the first 256 bytes; states of {} bytes for each tile of {tile} elements, their number \
         rounded up to a multiple of 32, {begin}{groups}. {content}. Bytes for n elements: {} for 1,000, {} for 1,000,000.\n",
        states.bytes,
        formula.scratch_bytes(1000.min(recipe.max_n)),
        formula.scratch_bytes(1_000_000.min(recipe.max_n)),
    )
}

/// Dispatches in their order, as Markdown.
fn steps<'a>(data: &PackData, recipe: &Recipe<u16>, steps: impl Iterator<Item = Step<'a, u16>>) -> String {
    let mut grid = Grid::new([
        GridColumn::words("module"),
        GridColumn::numbers("subgroup size"),
        GridColumn::numbers("workgroup size"),
        GridColumn::numbers("workgroups"),
        GridColumn::words("addresses"),
        GridColumn::words("words"),
    ]);
    for step in steps {
        let Some(module) = data.modules.get(usize::from(*step.module())) else { continue };
        let places: Vec<String> = step.places().map(place_text).collect();
        let meanings = meanings(recipe, *step.module());
        let words = step.words().enumerate().map(|(place, word)| {
            let meaning = meanings.get(place).copied().unwrap_or_default();
            format!("{meaning}{}", word_text(word))
        });
        let words: Vec<String> = words.collect();
        grid.push([
            format!("`{}`", module_file(module)),
            module.subgroup_size.to_string(),
            module.workgroup_size.to_string(),
            step.workgroups.to_string(),
            places.join(", "),
            words.join(", "),
        ]);
    }
    grid.draw(Style::Markdown)
}

fn place_text(place: Place) -> String {
    match place {
        Place::Source => "input".to_owned(),
        Place::Target => "output".to_owned(),
        Place::Scratch(0) => "scratch".to_owned(),
        Place::Scratch(offset) => format!("scratch + {offset}"),
        Place::Counts => "counts".to_owned(),
        Place::Total => "total".to_owned(),
        Place::Initial => "initial value".to_owned(),
        Place::Elements => "number of elements".to_owned(),
    }
}

/// What the words of passes with this module are, in front of their values.
fn meanings(recipe: &Recipe<u16>, module: u16) -> Vec<&'static str> {
    let pass = recipe.all_passes().find(|pass| pass.module == module);
    let by_levels = recipe.formula.split == Split::ByLevels;
    let meaning = |word: &RecipeWord| match word {
        RecipeWord::Elements if by_levels => "elements of the level = ",
        RecipeWord::Elements => "n = ",
        RecipeWord::MostElements => "largest n that the scratch memory has room for = ",
        RecipeWord::Same(_) => "",
    };
    pass.map_or_else(Vec::new, |pass| pass.words.iter().map(meaning).collect())
}

/// A word of calls that the host does not count.
fn word_text(word: PushWord) -> String {
    match word {
        PushWord::Value(value) => value.to_string(),
        PushWord::Epoch => "1".to_owned(),
        PushWord::TicketBase | PushWord::Bank | PushWord::StaleGroups => "0".to_owned(),
    }
}

/// What stands in front of a shader: whose it is and what it is for.
#[must_use]
pub fn head(data: &PackData, module: usize, commit: &str) -> Vec<String> {
    let of_module = |recipe: &&PackRecipe| recipe.recipe.modules().any(|place| usize::from(*place) == module);
    let mut labels: Vec<&str> =
        data.recipes.iter().filter(of_module).map(|recipe| recipe.label.as_str()).collect();
    labels.dedup();
    let problems: Vec<String> = data.problems.iter().map(|problem| title(&problem.scan)).collect();
    let times = data
        .times
        .iter()
        .filter(|time| data.recipes.get(usize::from(time.recipe)).is_some_and(|recipe| of_module(&recipe)));
    let fastest = times
        .min_by_key(|time| time.n)
        .map(|time| format!("{} ns at n = {}", time.picoseconds.div_ceil(1000), size_label(time.n)));
    vec![
        format!("SPDX-License-Identifier: {}", data.licence),
        format!("{}, commit {commit}, kernel sources {}", data.written_by, data.kernel_hash),
        format!("Scan: {}", problems.join("; ")),
        format!("Kernel: {}", labels.join(", ")),
        format!(
            "Measured on {}, driver {}: {}",
            data.device.name,
            data.device.driver,
            fastest.as_deref().unwrap_or("no")
        ),
    ]
}
