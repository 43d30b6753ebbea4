//! A space file with a comment on everything that it may have: what a newcomer starts from.

use std::fmt::Write;

use crate::parameters::{Declaration, KERNEL_PARAMETERS, Value, Values};

/// What stands in the template of parameters that have no default, or whose default rarely wins.
const EXAMPLES: &[(&str, &str)] = &[
    ("family", r#"["chained-scan"]"#),
    ("batch_size", "[4, 8]"),
    ("vector_width", r#"["vec4"]"#),
    ("lookback", r#"["parallel", "gather"]"#),
    ("block_scan", r#"["subgroup"]"#),
    ("load_layout", r#"["striped"]"#),
    ("publish", r#"["before-scan"]"#),
];

const BEGIN: &str = r#"# A space: which kernels are tried at which sizes. It is a union of blocks, and a block is every combination of its lists.
#
#   scanbox space --space FILE    counts its points on a device, and says which rule rejects what
#   scanbox sweep --space FILE    measures them
#
# Lines such as `# sizes = ...` are optional: without them, a block has the value that stands there or that their comment names.

# A word for the names of files.
name = "mine"

# What the space is for, in a sentence.
description = "A space of my own"

# Input sizes in elements, joined by commas: numbers (1000, 2^20), powers of two (2^10..2^28), several sizes per octave
# (2^20..2^24/4: four), or random ones with a seed (random:40:2^10..2^30:1).
sizes = "2^10..2^28"

[[block]]
"#;

const LAUNCH: &str = r#"
# Invocations per workgroup: numbers, or the powers of two of a range, such as "64..512" or "subgroup..device" (from the
# subgroup size to the limit of the device).
workgroup_size = [128, 256]

# Workgroups per call, as numbers or as a range ("16..device"). Each config then stands for the one size that follows from it, as
# in the thesis. Without it, workgroups follow from the size.
# workgroups = "16..device"

# Workgroups per compute unit of the device, for family persistent.
# workgroups_per_unit = [1, 2]

# Bytes of the elements that the block is for (4, 8, 12, 16). Without it, the block is for all of them.
# element_bytes = [4]

# Sizes of this block alone. Without it, it has those of the space.
# sizes = "2^10..2^20"

# A random part of the points: so many of each size, always the same ones for a seed. Without it, all of them.
# sample = { per_size = 10, seed = 1 }
"#;

/// The text of the template: a space file that works as it is.
#[must_use]
pub fn template() -> String {
    let mut text = BEGIN.to_owned();
    for (place, parameter) in KERNEL_PARAMETERS.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        describe(&mut text, parameter);
        let example = EXAMPLES.iter().find(|(name, _)| *name == parameter.name);
        let line = match (example, parameter.default) {
            (Some((name, example)), _) => format!("{name} = {example}"),
            (None, Some(Value::Word { word, .. })) => format!("# {} = [\"{word}\"]", parameter.name),
            (None, Some(value)) => format!("# {} = [{value}]", parameter.name),
            (None, None) => unreachable!("a test finds a parameter without default and example"),
        };
        writeln!(text, "{line}").expect("a text takes every line");
    }
    text + LAUNCH
}

/// What a parameter says, and what it may be, as comments.
fn describe(text: &mut String, parameter: &Declaration) {
    comment(text, "# ", parameter.meaning);
    match parameter.values {
        Values::Numbers(least, most) => {
            let unit = if parameter.unit.is_empty() { "" } else { " " };
            comment(text, "#   ", &format!("{least} to {most}{unit}{}", parameter.unit));
        }
        Values::Words(words) => {
            for word in words {
                comment(text, "#   ", &format!("{}: {}", word.word, word.meaning.trim()));
            }
        }
    }
    if parameter.found {
        comment(text, "#   ", "auto: what a probe finds to be best on the device");
    }
    if parameter.offered {
        comment(text, "#   ", "all: every one that the device offers");
    }
    if let Some(needs) = parameter.needs {
        let values =
            if needs.words.is_empty() { "All but the default".to_owned() } else { needs.words.join(", ") };
        comment(
            text,
            "# ",
            &format!("{values}: with {} {} alone.", needs.parameter, needs.one_of.join(", ")),
        );
    }
}

/// Adds a comment, broken between words; lines that go on are indented.
fn comment(text: &mut String, head: &str, says: &str) {
    const WIDTH: usize = 110;
    let mut line = head.trim_end().to_owned();
    let mut indent = " ".repeat(head.len() - line.len());
    for word in says.split_whitespace() {
        if line.len() + indent.len() + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = head.to_owned() + " ";
            indent = " ".to_owned();
        }
        line.push_str(&indent);
        line.push_str(word);
        indent = " ".to_owned();
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;

    fn reads(text: &str) -> Space {
        Space::from_toml(text, "template").unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn the_template_is_a_space_with_and_without_each_of_its_optional_lines() {
        let text = template();
        reads(&text);
        let mut optional = 0;
        for (place, line) in text.lines().enumerate() {
            let Some(set) = line.strip_prefix("# ").filter(|line| line.contains(" = ")) else { continue };
            let is_key = |key: &str| key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
            if !set.split(' ').next().is_some_and(is_key) {
                continue;
            }
            let with: Vec<&str> =
                text.lines().enumerate().map(|(at, line)| if at == place { set } else { line }).collect();
            reads(&with.join("\n"));
            optional += 1;
        }
        assert_eq!(optional, KERNEL_PARAMETERS.len() - EXAMPLES.len() + 5);
    }

    #[test]
    fn every_parameter_and_value_stands_in_the_template() {
        let text = template();
        for parameter in KERNEL_PARAMETERS {
            assert!(
                text.contains(&format!("\n{} = ", parameter.name))
                    || text.contains(&format!("\n# {} = ", parameter.name))
            );
            let Values::Words(words) = parameter.values else { continue };
            for word in words {
                assert!(text.contains(&format!("#   {}: ", word.word)), "{}", word.word);
            }
        }
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
    }
}
