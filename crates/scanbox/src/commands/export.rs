//! `scanbox export`: the rows of sweeps, as other programs read them, and the kernels that win them.

mod kernels;

use std::path::{Path, PathBuf};

use scanbox_model::csv_file;

use crate::answer::{answered, print};
use crate::args::format::ROWS;
use crate::args::shipping::RowArgs;
use crate::args::words::words;
use crate::exit::{Exit, UsageError};
use crate::inputs::{metadata_of, once, unreadable};
use crate::output::{OutputContent, Outputs};
use scanbox_report::document::{Document, Format};
use scanbox_report::records::{Exported, Exports};
use scanbox_session::notes::note;
use scanbox_session::tools::Tools;

/// Arguments of `scanbox export`.
#[derive(Debug, Clone, clap::Args)]
pub struct ExportArgs {
    /// CSV files of scanbox; the metadata beside each (x.csv: x.meta.json) describes the device
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,

    /// How to write the rows
    #[arg(long, value_parser = words(ROWS))]
    format: Format,

    /// The file to write [default: standard output]; of kernels, the folder
    #[arg(long, short, visible_alias = "out", value_name = "FILE", required_if_eq("format", "kernels"))]
    output: Option<PathBuf>,

    #[command(flatten)]
    rows: RowArgs,
}

/// Exports.
///
/// # Errors
/// When a file cannot be read or written.
pub fn run(args: &ExportArgs, tools: &Tools) -> anyhow::Result<Exit> {
    if let (Format::Kernels, Some(folder)) = (args.format, &args.output) {
        return kernels::write(&args.files, &args.rows, folder, tools);
    }
    if args.rows.is_given() {
        return Err(UsageError("--operator and --other-sources are for --format kernels".to_owned()).into());
    }
    let mut warnings = Vec::new();
    let paths = once(&args.files, &mut warnings);
    for warning in warnings {
        note(&format!("warning: {warning}"));
    }
    let content = match args.format {
        Format::T4 => OutputContent::T4,
        Format::Json => OutputContent::JsonRows,
        _ => OutputContent::CsvRows,
    };
    let mut outputs = Outputs::beside(&args.files);
    let output = args.output.as_ref().map(|path| outputs.claim("--output", path, content)).transpose()?;
    let files = paths.into_iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let rows = Exports(&files);
    match output {
        Some(output) => output.write(|out| rows.write(args.format, None, out))?,
        None => answered(print(&rows, args.format), ())?,
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> anyhow::Result<Exported> {
    let found = csv_file::read(path).map_err(|error| unreadable(path, error))?;
    let name = path.display().to_string();
    let mut warnings = found.warnings(&name);
    let metadata = metadata_of(path, &found.records, &mut warnings)?;
    for warning in warnings {
        note(&format!("warning: {warning}"));
    }
    Ok(Exported { name, records: found.records, metadata })
}
