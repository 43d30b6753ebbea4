//! `scanbox export`: the rows of sweeps, as other programs read them.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use scanbox_model::csv_file;

use super::{Exit, analyze, answered, complain, files};
use crate::output::{Content, Outputs};
use scanbox_report::records::{self, Exported};
use scanbox_report::t4;

/// Arguments of `scanbox export`.
#[derive(Debug, Clone, clap::Args)]
pub struct ExportArgs {
    /// CSV files of scanbox; the metadata beside each (x.csv: x.meta.json) says where it was measured
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,

    /// How to write the rows
    #[arg(long, value_enum)]
    format: Format,

    /// The file to write [default: standard output]
    #[arg(long, short, visible_alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Formats of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A results format of autotuners, valid by the schema that Kernel Tuner ships (T4, version 1.0.0)
    T4,
    /// One JSON array with an object per row; cells without a value are left out
    Json,
    /// One CSV of all files, with every column of this version
    Csv,
}

/// Exports.
///
/// # Errors
/// When a file cannot be read or written.
pub fn run(args: &ExportArgs) -> anyhow::Result<Exit> {
    let mut warnings = Vec::new();
    let paths = analyze::once(&args.files, &mut warnings);
    for warning in warnings {
        complain(&format!("warning: {warning}"));
    }
    let content = match args.format {
        Format::T4 => Content::T4,
        Format::Json => Content::JsonRows,
        Format::Csv => Content::CsvRows,
    };
    let mut outputs = Outputs::beside(&args.files);
    let output = args.output.as_ref().map(|path| outputs.claim("--output", path, content)).transpose()?;
    let files = paths.into_iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let write = |out: &mut dyn Write| match args.format {
        Format::T4 => t4::write(&files, out),
        Format::Json => records::json(&files, out),
        Format::Csv => records::csv(&files, out),
    };
    match output {
        Some(output) => output.write(write)?,
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            answered(write(&mut out).and_then(|()| out.flush()), ())?;
        }
    }
    Ok(Exit::Done)
}

fn read(path: &Path) -> anyhow::Result<Exported> {
    let found = csv_file::read(path).map_err(|error| files::unreadable(path, error))?;
    let name = path.display().to_string();
    let mut warnings = found.warnings(&name);
    let metadata = analyze::metadata_of(path, &found.records, &mut warnings)?;
    for warning in warnings {
        complain(&format!("warning: {warning}"));
    }
    Ok(Exported { name, records: found.records, metadata })
}
