//! What is said of a file that cannot be opened because it is not there, or is a folder: what it was to be, what makes
//! one, and which file has a name like it.

use std::io;
use std::path::Path;

use clap::ArgMatches;
use scanbox_model::metadata::Metadata;
use scanbox_model::nearest::nearest;

use crate::output::options::{PATHS, Use};

/// Why the system did not open what is there, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unopened {
    NotThere,
    Folder,
}

impl Unopened {
    /// What the system says; of what scanbox says itself nothing.
    fn of(cause: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let cause = cause.downcast_ref::<io::Error>().filter(|cause| cause.raw_os_error().is_some())?;
        match cause.kind() {
            io::ErrorKind::NotFound => Some(Self::NotThere),
            io::ErrorKind::IsADirectory => Some(Self::Folder),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NotThere => "there is no such file",
            Self::Folder => "this is a folder",
        }
    }
}

/// The message of an error; where it is about a file of the command line that cannot be opened, it says more.
pub fn with_use(error: &anyhow::Error, matches: &ArgMatches) -> String {
    more_of(error, matches).unwrap_or_else(|| format!("error: {error:#}"))
}

fn more_of(error: &anyhow::Error, matches: &ArgMatches) -> Option<String> {
    let (place, unopened) =
        error.chain().enumerate().find_map(|(place, cause)| Some((place, Unopened::of(cause)?)))?;
    let said = error.chain().take(place).map(ToString::to_string);
    let told: Vec<String> = said.chain([unopened.words().to_owned()]).collect();
    let head = format!("error: {}", told.join(": "));
    let (command, given) = matches.subcommand()?;
    for (of, option, purpose) in PATHS {
        let (what, is_rows) = match purpose {
            Use::Read(what) => (what, false),
            Use::ReadRows(what) => (what, true),
            Use::Cache | Use::Attempts | Use::Write(_) => continue,
        };
        if !of.is_empty() && *of != command {
            continue;
        }
        for path in given.try_get_raw(option).ok().flatten().into_iter().flatten().map(Path::new) {
            let is_named = |path: &Path| head.contains(&*path.to_string_lossy());
            let beside = Metadata::path_beside(path);
            if unopened == Unopened::Folder {
                if path.is_dir() && is_named(path) {
                    let rows = if is_rows { rows_in(path) } else { String::new() };
                    return Some(format!("{head}; it must be {what}{rows}"));
                }
                continue;
            }
            let shown = path.display();
            match (path.exists(), beside.exists()) {
                (false, _) if is_named(path) => {
                    return Some(format!("{head}; it must be {what}{}", near(path)));
                }
                (false, _) if is_named(&beside) => {
                    return Some(format!("{head}; {shown} must be {what}{}", near(path)));
                }
                (true, false) if is_named(&beside) => {
                    return Some(format!("{head}; it belongs to {shown}: copy it to the same folder"));
                }
                _ => {}
            }
        }
    }
    None
}

/// The rows in a folder, where there are some.
fn rows_in(folder: &Path) -> String {
    let mut there = folder.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let has_rows = there.any(|path| path.extension().is_some_and(|ending| ending == "csv"));
    if has_rows { format!("; did you mean `{}`?", folder.join("*.csv").display()) } else { String::new() }
}

/// A file of the same folder and kind whose name is like that of one that is not there.
fn near(path: &Path) -> String {
    let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { return String::new() };
    let folder = path.parent().unwrap_or(Path::new(""));
    let look_in = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let others = look_in.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let others = others.filter(|other| other.extension() == path.extension());
    // Without the ending, which all of them have.
    let names = others.filter_map(|other| other.file_stem()?.to_str().map(str::to_owned));
    let Some(near) = nearest(name, names, 1).pop() else { return String::new() };
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    format!("; did you mean `{}`?", folder.join(near + &ending).display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_what_the_system_says_is_told_in_other_words() {
        for (code, said) in [(2, Some(Unopened::NotThere)), (21, Some(Unopened::Folder)), (13, None)] {
            let of_system = io::Error::from_raw_os_error(code);
            assert_eq!(Unopened::of(&of_system), said, "{of_system}");
            // Its text alone says nothing, and what scanbox says itself stays as it is.
            assert_eq!(Unopened::of(&io::Error::new(of_system.kind(), of_system.to_string())), None);
        }
    }
}
