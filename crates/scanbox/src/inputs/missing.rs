//! What is said of a file that is not there: what it was to be, what makes one, and which file has a name like it.

use std::io;
use std::path::Path;

use clap::ArgMatches;
use scanbox_model::metadata::Metadata;
use scanbox_model::nearest::nearest;

use crate::output::options::{PATHS, Use};

/// `ENOENT`, and `ERROR_FILE_NOT_FOUND` of Windows.
const NOT_THERE: i32 = 2;

/// The message of an error; where it is about a file of the command line that is not there, it says more.
pub fn with_use(message: &str, matches: &ArgMatches) -> String {
    let by_system = io::Error::from_raw_os_error(NOT_THERE).to_string();
    let Some((command, given)) = matches.subcommand().filter(|_| message.contains(&by_system)) else {
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
            let head = message.replace(&by_system, "there is no such file");
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
