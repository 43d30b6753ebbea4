//! The log: what happens inside, for those who look for a cause. `-v` or `RUST_LOG` ask for it; it goes to stderr as
//! other lines do, that of a worker through its supervisor.

use std::io;
use std::sync::OnceLock;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, fmt};

use crate::notes::pass_on;

/// The variable that says what is logged.
pub const VARIABLE: &str = "RUST_LOG";

static FILTER: OnceLock<String> = OnceLock::new();

/// Logs what a filter lets through (`debug`, `scanbox_runner=trace,info`) from now on, in workers too.
///
/// # Errors
/// When it is not a filter.
pub fn begin(filter: &str) -> Result<(), String> {
    let targets: Targets =
        filter.parse().map_err(|error| format!("{VARIABLE}: `{filter}` is not a filter: {error}"))?;
    let layer = fmt::layer().with_ansi(false).with_writer(LogWriter).with_filter(targets);
    let subscriber = tracing_subscriber::registry().with(layer);
    // Whoever began before goes on.
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        let _ = FILTER.set(filter.to_owned());
    }
    Ok(())
}

/// The filter, where anything is logged.
pub fn filter() -> Option<&'static str> {
    FILTER.get().map(String::as_str)
}

/// Hands lines on to where all lines go.
struct LogWriter;

/// A line that is being written.
struct LogLine(Vec<u8>);

impl MakeWriter<'_> for LogWriter {
    type Writer = LogLine;

    fn make_writer(&self) -> LogLine {
        LogLine(Vec::new())
    }
}

impl io::Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogLine {
    fn drop(&mut self) {
        String::from_utf8_lossy(&self.0).lines().for_each(pass_on);
    }
}
