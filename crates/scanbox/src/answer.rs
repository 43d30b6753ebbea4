//! How an answer gets to its reader.

use std::io::{self, BufWriter, Write, stdout};

use anyhow::Context;
use scanbox_model::units::printable;
use scanbox_report::document::{Document, Format};
use scanbox_report::{paint, terminal};

/// Whether whoever read our output went away: no error, there is just nobody to talk to.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// How a command ends that has written its answer to stdout: where whoever read it went away, as it would have
/// otherwise.
///
/// # Errors
/// What else kept the answer from being written.
pub fn answered<T>(written: io::Result<()>, exit: T) -> anyhow::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit),
        written => Ok(written.map(|()| exit).context("standard output")?),
    }
}

/// Writes an answer to stdout. What people read may hold names from files: nothing in them speaks to the terminal.
///
/// # Errors
/// When stdout fails.
pub fn print(answer: &dyn Document, format: Format) -> io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    match format {
        Format::Table | Format::Markdown => {
            let mut text = Vec::new();
            answer.write(format, terminal::width(), &mut text)?;
            let text = printable(&String::from_utf8_lossy(&text)).into_owned();
            let text = if format == Format::Table { paint::for_stdout(text) } else { text };
            out.write_all(text.as_bytes())?;
        }
        _ => answer.write(format, terminal::width(), &mut out)?,
    }
    out.flush()
}
