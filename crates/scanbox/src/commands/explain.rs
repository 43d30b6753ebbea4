//! `scanbox explain`: what a label, a metric, a parameter, a column or a rule means.

mod costs;
mod glossary;
mod kinds;
mod label;
mod options;
mod schemas;

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::{Args, Command};
use scanbox_model::config::{Config, Kernel};
use scanbox_report::document::{Format, write_json};
use scanbox_report::explained::{Explanation, Meaning};
use scanbox_session::tools::Tools;

use crate::answer::{answered, print};
use crate::args::format::TABLE_MARKDOWN_OR_JSON;
use crate::args::words::words;
use crate::exit::{Exit, UsageError};

/// Arguments of `scanbox explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A label, or parts of one; a parameter, value, metric, column, status, rule, guarantee, space, command, option,
    /// or word or column of an answer; or all of a kind: parameters, metrics, normalisations, columns, statuses,
    /// exits, circumstances, inputs, selections, forms, fleets, rules, guarantees, spaces, commands, options, words
    /// [default: which kinds there are]
    #[arg(value_name = "WORD")]
    subject: Option<String>,

    /// For a label: what it needs on this device: index, name, UUID or PCI address
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,

    /// Of a label: what it comes to on the device of this metadata file (results/*.meta.json), which need not be here
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    profile: Option<PathBuf>,

    /// Of a label: what it cost in this sweep: time, registers, shared memory
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    /// The JSON schema (Draft 2020-12) of a file or an answer, as of docs/schemas: sweep, analyze, row, progress and
    /// others; `list`: their names
    #[arg(long, value_name = "NAME", conflicts_with_all = ["subject", "device", "profile", "from", "format"])]
    schema: Option<String>,

    /// Output format
    #[arg(long, value_parser = words(TABLE_MARKDOWN_OR_JSON), default_value = "table")]
    format: Format,
}

impl ExplainArgs {
    /// Whether it looks for a device.
    pub fn asks_a_device(&self) -> bool {
        self.device.is_some()
    }
}

/// Explains the word. `program`: scanbox with its commands.
pub fn run(args: &ExplainArgs, tools: &Tools, program: &Command) -> anyhow::Result<Exit> {
    if let Some(name) = &args.schema {
        return schema(name);
    }
    let Some(subject) = args.subject.as_deref() else {
        return answered(print(&kinds::all(program), args.format), Exit::Done);
    };
    let of_label = |kernel: &Kernel, config: Option<&Config>| label::meanings(kernel, config, args, tools);
    let meanings = if let Ok(config) = subject.parse::<Config>() {
        of_label(&config.kernel, Some(&config))?
    } else if let Ok(kernel) = subject.parse::<Kernel>() {
        of_label(&kernel, None)?
    } else {
        if args.device.is_some() || args.profile.is_some() || !args.from.is_empty() {
            let message = format!(
                "`{subject}` is not the label of a kernel or config, and --device, --profile and --from are about one"
            );
            return Err(UsageError(message).into());
        }
        known(subject, program)?
    };
    answered(print(&Explanation::new(subject, meanings), args.format), Exit::Done)
}

/// What a word that is no label means: as it is written, with the other of `-` and `_`, or part by part.
fn known(subject: &str, program: &Command) -> Result<Vec<Meaning>, UsageError> {
    let spellings = [subject.to_owned(), subject.replace('-', "_"), subject.replace('_', "-")];
    let found = spellings.iter().map(|subject| kinds::meanings(subject, program));
    if let Some(meanings) = found.into_iter().find(|meanings| !meanings.is_empty()) {
        return Ok(meanings);
    }
    if let Some(exit) = kinds::of_exit_code(subject) {
        return Ok(vec![exit]);
    }
    label::meanings_of_parts(subject).ok_or_else(|| unknown(subject, program))
}

/// Prints a schema, or the names of all.
fn schema(name: &str) -> anyhow::Result<Exit> {
    if name == "list" {
        let lines = schemas::all().into_iter().map(|schema| format!("{:<16}{}\n", schema.name, schema.of));
        return answered(stdout().write_all(lines.collect::<String>().as_bytes()), Exit::Done);
    }
    let Some(found) = schemas::named(name) else {
        let names: Vec<&str> = schemas::all().iter().map(|schema| schema.name).collect();
        let message = format!("no schema is called `{name}`; there are {}", names.join(", "));
        return Err(UsageError(message).into());
    };
    answered(write_json(&mut stdout().lock(), &found.schema), Exit::Done)
}

/// What is said of a word that has no meaning: what its writer may have meant.
fn unknown(subject: &str, program: &Command) -> UsageError {
    // A label is long: what is wrong with it is the better answer.
    if subject.contains('.') {
        let why = subject.parse::<Config>().err().map_or_else(String::new, |error| error.to_string());
        return UsageError(why);
    }
    let shown: String = subject.chars().take(40).collect();
    let near = kinds::near(subject, program);
    let like = if near.is_empty() { String::new() } else { format!(" (like {})", near.join(", ")) };
    UsageError(format!(
        "nothing is called `{shown}`{like}; `scanbox explain` alone says which words have a meaning"
    ))
}
