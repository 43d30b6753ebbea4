//! The words that options of commands take.

use std::collections::BTreeMap;

use clap::builder::PossibleValue;
use clap::{Arg, Command};
use scanbox_report::explained::Meaning;

/// An option that takes words, the words that it takes, and the commands that have it.
struct OptionOfWords {
    name: String,
    help: String,
    values: Vec<PossibleValue>,
    commands: Vec<String>,
}

/// Every option that takes words. Commands that have one of the same name, text and words share it.
fn options(program: &Command) -> Vec<OptionOfWords> {
    let mut options: BTreeMap<(String, String, Vec<String>), OptionOfWords> = BTreeMap::new();
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let (Some(name), values) = (arg.get_long(), values_of(arg)) else { continue };
            if values.is_empty() {
                continue;
            }
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let words = values.iter().map(|value| value.get_name().to_owned()).collect();
            let option = options.entry((name.to_owned(), help.clone(), words)).or_insert_with(|| {
                OptionOfWords { name: name.to_owned(), help, values, commands: Vec::new() }
            });
            option.commands.push(command.get_name().to_owned());
        }
    }
    options.into_values().collect()
}

fn values_of(arg: &Arg) -> Vec<PossibleValue> {
    let takes_values = arg.get_action().takes_values();
    arg.get_possible_values().into_iter().filter(|value| takes_values && !value.is_hide_set()).collect()
}

/// What the option says of a value.
fn text_of(option: &OptionOfWords, value: &PossibleValue) -> String {
    value.get_help().map_or_else(|| option.help.clone(), ToString::to_string)
}

/// Every option that takes words: its name, its words, and what it is for.
pub fn list(program: &Command) -> Vec<[String; 3]> {
    let mut list: Vec<[String; 3]> = Vec::new();
    for option in options(program) {
        let words: Vec<&str> = option.values.iter().map(PossibleValue::get_name).collect();
        if !list.iter().any(|[name, ..]| *name == option.name) {
            list.push([option.name.clone(), words.join(", "), option.help.clone()]);
        }
    }
    list
}

/// All words that options take.
pub fn words(program: &Command) -> Vec<String> {
    let of_option = |option: OptionOfWords| {
        let words: Vec<String> = option.values.iter().map(|value| value.get_name().to_owned()).collect();
        words
    };
    options(program).into_iter().flat_map(of_option).collect()
}

/// What a word means as a value of options.
pub fn meanings(subject: &str, program: &Command) -> Vec<Meaning> {
    let mut meanings = Vec::new();
    for option in options(program) {
        let Some(value) = option.values.iter().find(|value| value.get_name() == subject) else { continue };
        meanings.push(Meaning {
            kind: format!("value of --{}", option.name),
            text: text_of(&option, value),
            facts: vec![("commands".to_owned(), option.commands.join(", "))],
            ..Meaning::default()
        });
    }
    meanings
}
