//! The table of the parameters for people: `docs/parameters.md`.

use std::fmt::Write;

use super::{Declaration, PARAMETERS, Value, Values};

/// The text of `docs/parameters.md`.
#[must_use]
pub fn document() -> String {
    let mut text = String::from(
        "# Parameters

Made from `crates/scanbox-model/src/parameters/table.rs`; a test compares the two. A label has a tag for each parameter
that is not at its default, in this order; space files, filters and columns have its name. A number stands behind its
tag, a word has its own.

| name | tag | values | default | unit | define | needs | meaning |
| --- | --- | --- | --- | --- | --- | --- | --- |
",
    );
    for parameter in PARAMETERS {
        let cells = [
            format!("`{}`", parameter.name),
            code(parameter.tag),
            values(parameter),
            parameter.default.map_or_else(|| "always said".to_owned(), default),
            parameter.unit.to_owned(),
            code(parameter.define.map_or("", |define| define.name)),
            parameter.needs.map_or_else(String::new, |needs| {
                let these = if needs.words.is_empty() {
                    "all but the default".to_owned()
                } else {
                    needs.words.join(", ")
                };
                format!("{these}: `{}` {}", needs.parameter, needs.one_of.join(", "))
            }),
            parameter.meaning.trim().to_owned(),
        ];
        row(&mut text, &cells);
    }
    for parameter in PARAMETERS {
        let Values::Words(words) = parameter.values else { continue };
        text.push_str(&format!(
            "\n## `{}`\n\n| word | tag | meaning |\n| --- | --- | --- |\n",
            parameter.name
        ));
        for word in words {
            row(&mut text, &[format!("`{}`", word.word), code(word.tag), word.meaning.trim().to_owned()]);
        }
        if parameter.found {
            text.push_str(
                "\nLists in space files, and filters, may say `auto` beside these: what a probe found to be best \
                 on\nthe device ([dispatch](dispatch.md)). Labels and rows have the value that it stands for.\n",
            );
        }
    }
    text
}

fn row(text: &mut String, cells: &[String]) {
    writeln!(text, "| {} |", cells.join(" | ")).expect("a text takes every line");
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn values(parameter: &Declaration) -> String {
    match parameter.values {
        Values::Words(words) => words.iter().map(|word| word.word).collect::<Vec<_>>().join(", "),
        Values::Numbers(least, most) => format!("{least} to {most}"),
    }
}

fn default(value: Value) -> String {
    if value == Value::Open { "none".to_owned() } else { value.to_string() }
}
