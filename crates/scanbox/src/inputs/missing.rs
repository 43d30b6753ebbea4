//! What is said of a file that cannot be opened because it is not there, or is a folder: what it was to be, what makes
//! one, and which file has a name like it.

use std::io;
use std::path::Path;

use clap::ArgMatches;
use scanbox_model::metadata::Metadata;
use scanbox_model::nearest::nearest;

use crate::output::options::{PATHS, Use};

/// `ENOENT`, and `ERROR_FILE_NOT_FOUND` of Windows.
const NOT_THERE: i32 = 2;

/// `EISDIR`.
const IS_FOLDER: i32 = 21;

/// The message of an error; where it is about a file of the command line that cannot be opened, it says more.
pub fn with_use(message: &str, matches: &ArgMatches) -> String {
    let of_system = |code| io::Error::from_raw_os_error(code).to_string();
    let (not_there, is_folder) = (of_system(NOT_THERE), of_system(IS_FOLDER));
    let is_meant = message.contains(&not_there) || message.contains(&is_folder);
    let Some((command, given)) = matches.subcommand().filter(|_| is_meant) else {
        return message.to_owned();
    };
    for (of, option, purpose) in PATHS {
        let Use::Read(what) = purpose else { continue };
        if !of.is_empty() && *of != command {
            continue;
        }
        for path in given.try_get_raw(option).ok().flatten().into_iter().flatten().map(Path::new) {
            let is_named = |path: &Path| message.contains(&*path.to_string_lossy());
            let beside = Metadata::path_beside(path);
            if message.contains(&is_folder) {
                if path.is_dir() && is_named(path) {
                    let head = message.replace(&is_folder, "this is a folder");
                    return format!("{head}; it must be {what}{}", rows_in(path, what));
                }
                continue;
            }
            let head = message.replace(&not_there, "there is no such file");
            let shown = path.display();
            match (path.exists(), beside.exists()) {
                (false, _) if is_named(path) => return format!("{head}; it must be {what}{}", near(path)),
                (false, _) if is_named(&beside) => {
                    return format!("{head}; {shown} must be {what}{}", near(path));
                }
                (true, false) if is_named(&beside) => {
                    return format!("{head}; it belongs to {shown}: copy it to the same folder");
                }
                _ => {}
            }
        }
    }
    message.to_owned()
}

/// The rows in a folder, where rows are wanted and there are some.
fn rows_in(folder: &Path, what: &str) -> String {
    let mut there = folder.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let has_rows = there.any(|path| path.extension().is_some_and(|ending| ending == "csv"));
    if what.starts_with("rows of") && has_rows {
        format!("; did you mean `{}`?", folder.join("*.csv").display())
    } else {
        String::new()
    }
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
