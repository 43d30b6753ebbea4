//! Which of scanbox's own files a command can do something with.

use std::path::Path;

use anyhow::{Context, anyhow};
use scanbox_model::csv_file::CsvError;

use super::UsageError;
use crate::output::Kind;

/// Whether an input is of one of these kinds; `why` is what the command does with it.
///
/// # Errors
/// When it is of another kind: what it is, and what it is for.
pub fn expect(path: &Path, option: &str, kinds: &[Kind], why: &str) -> anyhow::Result<()> {
    let kind = Kind::of(path).with_context(|| path.display().to_string())?;
    // Whoever reads it says more about these.
    if kinds.contains(&kind) || matches!(kind, Kind::Nothing | Kind::Stream | Kind::BrokenRows | Kind::Folder)
    {
        return Ok(());
    }
    let option = if option.is_empty() { String::new() } else { format!("{option} ") };
    let message = format!("{option}{} is {}; {why}{}", path.display(), kind.describe(), use_of(kind));
    Err(UsageError(message).into())
}

/// Why a file of rows cannot be read; of one of another kind, what it is.
pub fn unreadable(path: &Path, error: CsvError) -> anyhow::Error {
    let kind = match &error {
        CsvError::NoHeader { .. } | CsvError::MissingColumn { .. } | CsvError::Row { .. } => {
            Kind::of(path).ok()
        }
        _ => None,
    };
    match kind {
        Some(kind) if !matches!(kind, Kind::BrokenRows | Kind::Bytes | Kind::Foreign) => {
            anyhow!("{} is {}, and has no rows{}", path.display(), kind.describe(), use_of(kind))
        }
        _ => error.into(),
    }
}

/// What a file is for.
fn use_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Sweep | Kind::NoRows => ": `scanbox analyze`, `report` and `compare` read it",
        Kind::Benchmark => ": `scanbox bench --show` shows it, `scanbox report` takes it beside a sweep",
        Kind::Import => ": `scanbox bench --with` shows it, `scanbox report` takes it beside a sweep",
        Kind::Pairs => ": `scanbox compare --pairs` reads it",
        Kind::SweepMetadata | Kind::BenchmarkMetadata | Kind::TornMetadata | Kind::Journal | Kind::Lock => {
            ": name the .csv that it stands beside"
        }
        _ => "",
    }
}
