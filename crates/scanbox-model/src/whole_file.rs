//! Files that are written as a whole, or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place and renames it, so that nobody ever sees half of it. A link stays one: what it
/// leads to is replaced. What is no file (a pipe, a terminal, `/dev/null`, whatever `/dev/stdout` stands for) is
/// written to.
///
/// # Errors
/// What the system says. What was there before is there still.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if is_stream(path) {
        // Whoever gave us an open file may have written to it before: nothing of that goes away.
        let mut out = BufWriter::new(File::options().append(true).open(path)?);
        return write(&mut out).and_then(|()| out.flush());
    }
    let place = place(path);
    let folder = folder_of(&place);
    if !folder.is_dir() {
        return Err(missing(folder));
    }
    // A name that nobody has: what stands beside the file is left alone.
    let mut partial = tempfile::Builder::new();
    partial.prefix(".scanbox-").suffix(".partial");
    let permissions = fs::metadata(&place).ok().map(|metadata| metadata.permissions()).or_else(new_file);
    if let Some(permissions) = permissions {
        partial.permissions(permissions);
    }
    let mut partial = partial.tempfile_in(folder)?;
    let mut out = BufWriter::new(partial.as_file_mut());
    write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    partial.persist(&place)?;
    Ok(())
}

/// Whether [`replace`] could write this file, as far as that can be known before: nothing is left there.
/// `makes_folder`: whether its folder will be made, where there is none.
///
/// # Errors
/// What the system says.
pub fn try_place(path: &Path, makes_folder: bool) -> io::Result<()> {
    if is_stream(path) {
        return Ok(());
    }
    let place = place(path);
    let folder = folder_of(&place);
    if !folder.is_dir() && !makes_folder {
        return Err(missing(folder));
    }
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("."));
    tempfile::tempfile_in(there).map(drop).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("nothing can be written to {} ({})", there.display(), error.kind()),
        )
    })
}

fn missing(folder: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no folder {}", folder.display()))
}

/// The same with a text.
///
/// # Errors
/// As [`replace`].
pub fn replace_text(path: &Path, text: &str) -> io::Result<()> {
    replace(path, |out| out.write_all(text.as_bytes()))
}

/// The folder that a file is in, or is to be in.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a path is written to, and not replaced: what is there is no file, or it is the name of an open one.
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    path.exists() && !path.is_dir() && (!path.is_file() || is_open_file(path))
}

/// Whether a path names what a process has open, itself or through links: to rename another file to it would replace
/// the name, or a file that somebody goes on writing to.
fn is_open_file(path: &Path) -> bool {
    let names = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    let leads_on = |path: &PathBuf| {
        let target = fs::read_link(path).ok()?;
        Some(path.parent().map_or_else(|| target.clone(), |folder| folder.join(&target)))
    };
    let mut links = std::iter::successors(Some(path.to_owned()), leads_on).take(MOST_LINKS);
    links.any(|path| names.iter().any(|name| path.starts_with(name)))
}

/// Links of which one leads to the next, at most.
const MOST_LINKS: usize = 16;

/// Where the file is that a path leads to.
fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What a new file may be used for, before the user's mask.
#[cfg(unix)]
fn new_file() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn new_file() -> Option<Permissions> {
    None
}
