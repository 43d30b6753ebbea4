//! Options that mean something beside another one alone.
//!
//! They are not declared to clap: it drops such a need where something on the command line is at odds with the option
//! that is needed, so that `pack FILES --again` would do something else than it says.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// A command, one of its options, and the one that this needs.
const NEEDS: &[[&str; 3]] = &[
    ["bench", "kernel", "from"],
    ["bench", "baseline_subjects", "baseline"],
    ["bench", "uses", "pack"],
    ["bench", "promises", "pack"],
    ["bench", "prove", "blocking"],
    ["bench", "plots", "blocking"],
    ["compare", "earlier", "pairs"],
    ["pack", "again", "show"],
    ["pack", "device", "check"],
    ["pack", "timeout", "check"],
    ["report", "style", "plots"],
    ["space", "shard_by", "shard"],
    ["space", "subgroup_sizes", "compile"],
    ["sweep", "scratch", "publish"],
    ["sweep", "publish", "scratch"],
    ["sweep", "publish_every", "publish"],
    ["sweep", "shard_by", "shard"],
    ["sweep", "rounds", "confirm"],
    ["sweep", "prove", "retry_failed"],
];

/// Whether all options have what they need.
///
/// # Errors
/// The first one that has not.
pub fn check(matches: &ArgMatches, root: &mut Command) -> Result<(), clap::Error> {
    let Some((name, given)) = matches.subcommand() else { return Ok(()) };
    let source = |id: &str| given.value_source(id).filter(|source| *source != ValueSource::DefaultValue);
    let lacks = NEEDS.iter().find(|[command, option, needed]| {
        *command == name && source(option) == Some(ValueSource::CommandLine) && source(needed).is_none()
    });
    let Some([_, option, needed]) = lacks else { return Ok(()) };
    let message = format!("{} needs {}", flag(option), flag(needed));
    root.build();
    let command = root.find_subcommand_mut(name).expect("its arguments were read");
    Err(command.error(ErrorKind::MissingRequiredArgument, message))
}

fn flag(id: &str) -> String {
    format!("--{}", id.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// A name that is none of an option would never be missed.
    #[test]
    fn needs_are_of_options_that_there_are() {
        let root = Cli::command();
        for [name, options @ ..] in NEEDS {
            let command = root.find_subcommand(name).unwrap();
            for option in options {
                let found = command.get_arguments().find(|argument| argument.get_id() == option);
                let long = found.and_then(clap::Arg::get_long);
                assert_eq!(long.map(|long| format!("--{long}")), Some(flag(option)), "{name} {option}");
            }
        }
    }

    /// Also where what is given is at odds with what is needed.
    #[test]
    fn what_is_needed_is_missed() {
        for (line, message) in [
            ("bench a.csv --show a.csv", None),
            ("bench --pack a.scanpack --prove", Some("--prove needs --blocking")),
            ("bench --from a.csv --plots plots", Some("--plots needs --blocking")),
            (
                "bench b4.vec4.par.rake.wg256 --blocking --baseline-subjects a",
                Some("--baseline-subjects needs"),
            ),
            ("bench --dispatch --uses pushed", Some("--uses needs --pack")),
            ("bench --pack a.scanpack --uses pushed --promises none", None),
            ("pack a.csv -o a.scanpack --again", Some("--again needs --show")),
            ("pack a.csv -o a.scanpack --device 1", Some("--device needs --check")),
            ("pack --check a.scanpack --device 1 --timeout 3s", None),
            ("space --profile rtx4090 --subgroup-sizes 8", Some("--subgroup-sizes needs --compile")),
            ("sweep --scratch a --publish b --prove", Some("--prove needs --retry-failed")),
            ("sweep --publish b", Some("--publish needs --scratch")),
            ("sweep --shard 0/2 --shard-by size --confirm 8 --rounds 3", None),
        ] {
            let words = std::iter::once("scanbox").chain(line.split(' '));
            let Ok(matches) = Cli::command().try_get_matches_from(words) else {
                assert_eq!(message, None, "{line}");
                continue;
            };
            let found = check(&matches, &mut Cli::command()).map_err(|error| error.to_string());
            let holds = match (message, &found) {
                (None, Ok(())) => true,
                (Some(message), Err(found)) => found.contains(message) && found.contains("Usage: "),
                _ => false,
            };
            assert!(holds, "{line}: {found:?}");
        }
    }
}
