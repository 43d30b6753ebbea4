//! How the program speaks: colours, how much it says, progress, the log.

use std::ffi::OsString;
use std::io::{IsTerminal, stderr, stdout};

use clap::{Args, ColorChoice};
use scanbox_report::paint::paint_stdout;
use scanbox_report::terminal;
use scanbox_session::event::ProgressForm;
use scanbox_session::log;
use scanbox_session::notes::{Voice, note};

use super::words::{HelpWord, words};

/// When to use colours.
const COLOUR: &[HelpWord<ColorChoice>] = &[
    (
        "auto",
        "On a terminal, unless NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE=1: everywhere",
        ColorChoice::Auto,
    ),
    ("always", "Also in files and pipes", ColorChoice::Always),
    ("never", "", ColorChoice::Never),
];

/// How progress is shown on stderr.
const PROGRESS: &[HelpWord<ProgressForm>] = &[
    ("auto", "A bar on a terminal, else a line every 30 seconds", ProgressForm::Auto),
    ("bar", "A bar on a terminal, also with --quiet", ProgressForm::Bar),
    ("plain", "A line every 30 seconds", ProgressForm::Plain),
    (
        "json",
        "A line of JSON about once a second, as all of stderr (`scanbox explain --schema progress`)",
        ProgressForm::Json,
    ),
    ("none", "", ProgressForm::None),
];

/// How the program speaks.
#[derive(Debug, Clone, Args)]
pub struct SpeechArgs {
    /// When to use colours
    #[arg(help_heading = super::FOR_ALL, long, global = true, value_name = "WHEN", value_parser = words(COLOUR), default_value = "auto")]
    color: ColorChoice,

    /// How progress is shown on stderr
    #[arg(help_heading = super::FOR_ALL, long, global = true, value_name = "FORM", value_parser = words(PROGRESS), default_value = "auto")]
    progress: ProgressForm,

    /// Print only errors and the answer
    #[arg(help_heading = super::FOR_ALL, short, long, global = true)]
    quiet: bool,

    /// Log what the program does; twice: also with its values; three times: everything; `RUST_LOG` chooses by part
    /// (`RUST_LOG=scanbox_session=debug`)
    #[arg(help_heading = super::FOR_ALL, short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl SpeechArgs {
    /// Whether nothing but errors is said.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Has this process speak so.
    pub fn begin(&self) {
        let filter = match self.verbose {
            0 => std::env::var(log::VARIABLE).ok().filter(|filter| !filter.is_empty()),
            1 => Some("scanbox=info".to_owned()),
            2 => Some("scanbox=debug".to_owned()),
            _ => Some("scanbox=trace".to_owned()),
        };
        let colour = has_colour(self.color, stderr().is_terminal());
        Voice {
            quiet: self.quiet,
            colour,
            logs: filter.is_some(),
            progress: self.progress,
            wrap: Some(wrapped),
        }
        .set();
        paint_stdout(has_colour(self.color, stdout().is_terminal()));
        if let Some(Err(error)) = filter.map(|filter| log::begin(&filter)) {
            note(&format!("warning: {error}"));
        }
    }
}

/// A message with line breaks where the terminal of stderr ends, if it is one.
pub fn wrapped(message: &str) -> String {
    terminal::width_of_errors().map_or_else(|| message.to_owned(), |width| terminal::wrapped(message, width))
}

/// Whether a stream has colours.
pub fn has_colour(choice: ColorChoice, is_terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR").is_some() => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        ColorChoice::Auto => is_terminal && set("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// What a command line says of colours, for help and errors that come before it is understood.
pub fn colour_of(line: &[OsString]) -> ColorChoice {
    let words: Vec<&str> =
        line.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--").collect();
    let given = (0..words.len()).rev().find_map(|at| match words[at] {
        "--color" => words.get(at + 1).copied(),
        word => word.strip_prefix("--color="),
    });
    let choice = COLOUR.iter().find(|(word, ..)| Some(*word) == given);
    choice.map_or(ColorChoice::Auto, |(_, _, choice)| *choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_has_the_colours_of_its_command_line() {
        let check = |line: &str, expected| {
            let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(colour_of(&line), expected);
        };
        check("scanbox --color never --help", ColorChoice::Never);
        check("scanbox sweep --color=always --help", ColorChoice::Always);
        check("scanbox --color never sweep --color always", ColorChoice::Always);
        check("scanbox --color", ColorChoice::Auto);
        check("scanbox -- --color=never", ColorChoice::Auto);
    }
}
