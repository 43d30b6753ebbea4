//! A label, part by part; what it comes to on a device.

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_model::api::Api;
use scanbox_model::config::{Config, Kernel, Reset, TileState};
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::{KERNEL_PARAMETERS, LabelPart, PARAMETERS, Value, Values};
use scanbox_model::problem::Problem;
use scanbox_model::space::Rejection;
use scanbox_model::units::size_label;
use scanbox_report::explained::{ListOfWords, Meaning};
use scanbox_session::device;
use scanbox_session::tools::Tools;

use super::kinds::fact;
use super::{ExplainArgs, costs};
use crate::inputs::profile_of;

/// What the label of a kernel, or of a config with it, means.
///
/// # Errors
/// When the device, a file or a shader that it is asked about cannot be read.
pub fn meanings(
    kernel: &Kernel,
    config: Option<&Config>,
    args: &ExplainArgs,
    tools: &Tools,
) -> anyhow::Result<Vec<Meaning>> {
    let mut meanings = vec![parts(kernel, config)];
    if let Some(device) = device_of(args, tools)? {
        meanings.push(on_device(kernel, config, &device, tools)?);
    }
    meanings.extend(costs::meanings(kernel, config, &args.from)?);
    Ok(meanings)
}

/// The device that the user asks about.
fn device_of(args: &ExplainArgs, tools: &Tools) -> anyhow::Result<Option<DeviceProfile>> {
    Ok(match (&args.profile, &args.device) {
        (Some(path), _) => {
            let mut profile = profile_of(path)?;
            device::inform(&mut profile, &tools.assume)?;
            Some(profile)
        }
        (None, Some(selector)) => Some(device::profile(selector, tools)?),
        (None, None) => None,
    })
}

/// Each part of the label, and what follows from it on any device.
fn parts(kernel: &Kernel, config: Option<&Config>) -> Meaning {
    let parts: Vec<LabelPart> = match config {
        Some(config) => LabelPart::of_config(config).collect(),
        None => LabelPart::of_kernel(kernel).collect(),
    };
    let words = parts.iter().map(of_part);
    let of = if config.is_some() { PARAMETERS } else { KERNEL_PARAMETERS };
    let defaults: Vec<String> = of
        .iter()
        .filter(|parameter| !parts.iter().any(|part| part.parameter.name == parameter.name))
        .filter_map(|parameter| {
            let value = parameter.default.filter(|value| *value != Value::Open)?;
            Some(format!("{} {value}", parameter.name))
        })
        .collect();
    let mut facts = vec![fact("defaults", defaults.join(", "))];
    if let Some(config) = config {
        let (vectors, lanes) = (kernel.batch_size, kernel.vector_width.lanes());
        facts.push(fact(
            "tile",
            format!(
                "{} elements: {} invocations x {vectors} vectors x {lanes}",
                config.tile_elements(),
                config.workgroup_size
            ),
        ));
        if let Some(n) = config.fixed_elements() {
            facts.push(fact("size", format!("{} elements: it fixes its workgroups", size_label(n))));
        }
    }
    let results = if kernel.is_deterministic() {
        "the same bits on every run"
    } else {
        "of floats, bits may differ from run to run: totals are combined as they come"
    };
    facts.push(fact("results", results.to_owned()));
    facts.push(fact("source", format!("kernels/glsl/{}", kernel.family.entry().shader)));
    let refusal = config.and_then(|config| config.check_combination().err());
    Meaning {
        kind: if config.is_some() { "a config" } else { "a kernel" }.to_owned(),
        text: refusal.map_or_else(String::new, |(rule, detail)| {
            format!("No device runs it: {detail}, by rule {rule}.")
        }),
        facts,
        list: Some(ListOfWords { headings: ["part", "parameter", "meaning"], words: words.collect() }),
    }
}

/// A part, its parameter, and what that means.
fn of_part(part: &LabelPart) -> [String; 3] {
    let meaning = match (part.value, part.parameter.values) {
        (Value::Word { place, .. }, Values::Words(words)) => words[place].meaning,
        _ => part.parameter.meaning,
    };
    [part.tag.clone(), format!("{} {}", part.parameter.name, part.value), meaning.trim().to_owned()]
}

/// What several parts of a label mean, such as `wg64.u1`; nothing where one of them is none.
pub fn meanings_of_parts(subject: &str) -> Option<Vec<Meaning>> {
    let mut words = Vec::new();
    for tag in subject.split('.') {
        let mut parts = LabelPart::of_tag(tag).peekable();
        parts.peek()?;
        words.extend(parts.map(|part| of_part(&part)));
    }
    let list = ListOfWords { headings: ["part", "parameter", "meaning"], words };
    let text = match subject.parse::<Kernel>() {
        Ok(_) => String::new(),
        Err(error) => format!("A whole label has more, or another order: {}.", error.reason),
    };
    Some(vec![Meaning { kind: "parts of a label".to_owned(), text, list: Some(list), ..Meaning::default() }])
}

/// What it comes to on a device: whether it runs, what it needs, and the sources that it is made of there.
fn on_device(
    kernel: &Kernel,
    config: Option<&Config>,
    device: &DeviceProfile,
    tools: &Tools,
) -> anyhow::Result<Meaning> {
    let problem = Problem::default();
    let mut meaning = Meaning { kind: format!("on {}", device.title()), ..Meaning::default() };
    let Some(config) = config else {
        meaning.text = "A kernel has no workgroup size. Give the label of a config, such as \
                        `KERNEL.wg256`, to see what it comes to on a device."
            .replace("KERNEL", &kernel.to_string());
        return Ok(meaning);
    };
    let resolved = catalog::resolved(config, device);
    let needs: Vec<String> = catalog::needed(config, device)
        .map(|guarantee| {
            let given = if device.gives(guarantee) { "given" } else { "not known to be given" };
            format!("{guarantee} ({given})")
        })
        .collect();
    let api = device.api.title();
    let needs =
        if needs.is_empty() { format!("nothing beyond what {api} promises") } else { needs.join(", ") };
    meaning.facts.push(fact("needs", needs));
    if kernel.tile_state == TileState::Auto && resolved.kernel.tile_state != TileState::Auto {
        meaning.facts.push(fact("tile_state", format!("auto is {}", resolved.kernel.tile_state)));
    }
    if kernel.reset == Reset::Auto && resolved.kernel.reset != Reset::Auto {
        meaning.facts.push(fact("reset", format!("auto is {}", resolved.kernel.reset)));
    }
    meaning.facts.push(fact("subgroups", format!("of {} invocations", device.subgroup_size_of(kernel))));
    let shaders = match shaders(config, &problem, device) {
        Ok((text, shaders)) => {
            meaning.text = text;
            shaders
        }
        Err(rejection) => {
            meaning.text = format!("It does not run: {}, by rule {}.", rejection.detail, rejection.rule);
            return Ok(meaning);
        }
    };
    let compiler = Compiler::new(tools.kernels.as_deref(), tools.cache.clone())?;
    let mut words: Vec<[String; 3]> = Vec::new();
    for shader in shaders {
        for file in compiler.files(&shader)? {
            if !words.iter().any(|[known, ..]| *known == file) {
                let says = compiler.source(&file).map(first_sentence).unwrap_or_default();
                words.push([file, String::new(), says]);
            }
        }
    }
    let headings = match device.api {
        Api::Vulkan => ["source in kernels/glsl", "", "what it does"],
        Api::WebGpu => ["source in kernels/wgsl", "", "what it does"],
    };
    meaning.list = Some(ListOfWords { headings, words });
    Ok(meaning)
}

/// What a config does on a device, in a sentence, and by which shaders.
fn shaders(
    config: &Config,
    problem: &Problem,
    device: &DeviceProfile,
) -> Result<(String, Vec<Shader>), Rejection> {
    // Recipes, which tell sizes, are for programs that drive Vulkan.
    if device.api == Api::WebGpu {
        let n = config.fixed_elements().unwrap_or_else(|| 2 * config.tile_elements());
        let plan = catalog::plan(config, problem, n, device)?;
        let shaders = plan.passes.into_iter().map(|pass| pass.shader).collect();
        return Ok((format!("It runs, for example on {} elements of {problem}.", size_label(n)), shaders));
    }
    let recipe = catalog::recipe(config, Variant::default(), problem, device)?;
    let text = format!("It scans {} to {} elements of {problem}.", recipe.min_n, size_label(recipe.max_n));
    Ok((text, recipe.all_passes().map(|pass| pass.module.clone()).collect()))
}

/// The first sentence of the comment that a source begins with, behind its licence.
fn first_sentence(source: &str) -> String {
    let comment = source
        .lines()
        .filter(|line| !line.starts_with("#version"))
        .take_while(|line| line.starts_with("//"))
        .filter(|line| !line.contains("SPDX"))
        .map(|line| line.trim_start_matches('/').trim())
        .take_while(|line| !line.is_empty());
    let text = comment.collect::<Vec<_>>().join(" ");
    // "Stage: lookback. Publishes ...": what the stage does stands behind its name.
    let text = match text.strip_prefix("Stage: ").and_then(|text| text.split_once(". ")) {
        Some((_, text)) => text,
        None => &text,
    };
    text.split_once(". ").map_or_else(|| text.to_owned(), |(sentence, _)| format!("{sentence}."))
}
