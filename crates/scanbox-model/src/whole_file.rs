//! Files that are written as a whole, or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place and renames it, so that nobody ever sees half of it. What is no file (a pipe, a
/// terminal, `/dev/null`) is written to, not replaced.
///
/// # Errors
/// What the system says. What was there before is there still.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if path.exists() && !path.is_file() {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        return write(&mut out).and_then(|()| out.flush());
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written = File::create(&partial)
        .and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        })
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // On a full disk, half a file is in the way.
        let _ = fs::remove_file(&partial);
    }
    written
}

/// The same with a text.
///
/// # Errors
/// As [`replace`].
pub fn replace_text(path: &Path, text: &str) -> io::Result<()> {
    replace(path, |out| out.write_all(text.as_bytes()))
}
