//! `config.glsl`: the part of the kernel sources that follows from the table of parameters, made when a compiler is.
//!
//! It has a number for each word of a parameter and of a problem, and refuses a shader that misses a define, has a
//! value that the parameter does not have, or combines what does not go together.

use std::fmt::Write;

use scanbox_model::parameters::{
    Declaration, Define, KERNEL_PARAMETERS, Needs, Parameter, Scope, Values, Word,
};
use scanbox_model::problem::{Element, Mode, Operator};

/// Its name among the sources.
pub(super) const NAME: &str = "config.glsl";

/// The text.
pub(super) fn text() -> String {
    let mut text = String::from("// Made from the table of parameters; there is no such file.\n");
    for (name, words) in [("MODE", Mode::WORDS), ("ELEMENT", Element::WORDS), ("OPERATOR", Operator::WORDS)] {
        for (place, word) in words.iter().enumerate() {
            line(&mut text, format_args!("#define {} {place}", define_of(name, word.word)));
        }
    }
    let defines = || KERNEL_PARAMETERS.iter().filter_map(|parameter| Some((parameter, parameter.define?)));
    for (parameter, define) in defines().filter(|(_, define)| define.numbers.is_empty()) {
        for (word, number) in numbers(parameter, &define) {
            line(&mut text, format_args!("#define {} {number}", define_of(define.name, word.word)));
        }
    }
    for (scope, required) in [
        (Scope::Always, None),
        (Scope::Scan, Some("REQUIRE_SCAN")),
        (Scope::TileStates, Some("REQUIRE_TILE_STATE")),
    ] {
        if let Some(required) = required {
            line(&mut text, format_args!("#ifdef {required}"));
        }
        for (parameter, define) in defines().filter(|(_, define)| define.scope == scope) {
            guard(&mut text, parameter, &define);
        }
        if required.is_some() {
            line(&mut text, format_args!("#endif"));
        }
    }
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a text takes every line");
}

/// `BLOCK_SCAN_KOGGE_STONE`.
fn define_of(name: &str, word: &str) -> String {
    format!("{name}_{}", word.replace('-', "_").to_uppercase())
}

/// The words of a parameter that shaders know, with their numbers.
fn numbers(parameter: &Declaration, define: &Define) -> Vec<(Word, u32)> {
    let Values::Words(words) = parameter.values else { return Vec::new() };
    let number = |(place, word): (usize, &Word)| Some((*word, define.number(words, place)?));
    words.iter().enumerate().filter_map(number).collect()
}

/// Refuses what the parameter is not.
fn guard(text: &mut String, parameter: &Declaration, define: &Define) {
    let name = define.name;
    let needs = parameter.needs.filter(|needs| defined(needs.parameter).is_some());
    if let Some(needs) = needs.filter(|needs| needs.else_open) {
        line(text, format_args!("#if {}", goes(&needs)));
    }
    let (wrong, what) = match parameter.values {
        Values::Numbers(least, most) => {
            (format!("{name} < {least} || {name} > {most}"), format!("from {least} to {most}"))
        }
        Values::Words(_) => {
            let numbers = numbers(parameter, define);
            let none = numbers.iter().map(|(_, number)| format!("{name} != {number}"));
            let what = match define.numbers {
                [] => format!("one of {name}_*"),
                given => {
                    format!("one of {}", given.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
                }
            };
            (none.collect::<Vec<_>>().join(" && "), what)
        }
    };
    line(text, format_args!("#if !defined({name})\n#error \"{name} must be defined\"\n#elif {wrong}"));
    line(text, format_args!("#error \"{name} must be {what}\"\n#endif"));
    match needs {
        Some(needs) if needs.else_open => line(text, format_args!("#endif")),
        Some(needs) => {
            if let Some(concerned) = concerned(parameter, define, &needs) {
                line(text, format_args!("#if {concerned} && !({})", goes(&needs)));
                line(text, format_args!("#error \"{}\"\n#endif", needs.rule));
            }
        }
        None => {}
    }
}

/// The parameter with this name and its define, where it has one.
fn defined(name: &str) -> Option<(&'static Declaration, Define)> {
    let parameter = scanbox_model::parameters::parameter(name)?;
    Some((parameter, parameter.define?))
}

/// When the other parameter is as it has to be.
fn goes(needs: &Needs) -> String {
    let Some((_, define)) = defined(needs.parameter) else { return String::new() };
    let one = |word: &&str| format!("{} == {}", define.name, define_of(define.name, word));
    needs.one_of.iter().map(one).collect::<Vec<_>>().join(" || ")
}

/// When the parameter needs another one to be so.
fn concerned(parameter: &Declaration, define: &Define, needs: &Needs) -> Option<String> {
    let name = define.name;
    if !needs.words.is_empty() {
        let one = |word: &&str| format!("{name} == {}", define_of(name, word));
        return Some(format!("({})", needs.words.iter().map(one).collect::<Vec<_>>().join(" || ")));
    }
    match (parameter.default?, parameter.values) {
        (default, Values::Numbers(..)) => Some(format!("{name} != {default}")),
        (default, Values::Words(_)) => Some(format!("{name} != {}", define_of(name, &default.to_string()))),
    }
}
