//! `scanbox analyze`: records in, answers out.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use scanbox_analysis::answers::{Question, answer};
use scanbox_analysis::grouping::{Builder, Runs, Source};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::table::Tables;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::space::Point;

use crate::report::grid::Style;
use crate::report::{Report, clock_word, csv, json, terminal, text};

/// Finds the best config for each size, and the best single kernel.
#[derive(Debug, Clone, clap::Args)]
pub struct AnalyzeArgs {
    /// CSV files of `scanbox sweep`; the metadata beside each (x.csv: x.meta.json) says which space was swept
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<PathBuf>,

    /// How a single kernel is judged against the best of each size: sum, absolute, squared, chebyshev, cosine, power:P
    #[arg(long, default_value = "squared", value_name = "METRIC")]
    pub metric: Metric,

    /// Which time decides: many dependent calls back to back, or one call between timestamps
    #[arg(long, default_value = "steady", value_parser = PossibleValuesParser::new(["steady", "span"]).map(clock))]
    pub time: Clock,

    /// What throughput is divided by before a metric adds it up [default: none for one device, size-best across devices]
    #[arg(long, value_parser = PossibleValuesParser::new(Normalization::ALL.map(Normalization::word)).try_map(|word| word.parse::<Normalization>()))]
    pub normalize: Option<Normalization>,

    /// What to take of a device that was swept with several drivers or versions
    #[arg(long, default_value = "latest", value_parser = PossibleValuesParser::new(["latest", "all"]).map(runs))]
    pub runs: Runs,

    /// Let software devices enter the answers across devices beside hardware
    #[arg(long)]
    pub include_software: bool,

    /// How to write the answers
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// How the answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// Tables for a terminal
    #[default]
    Table,
    /// One JSON document with everything
    Json,
    /// One row per device and size
    Csv,
    /// Tables in Markdown
    Md,
}

pub fn clock(word: String) -> Clock {
    if word == clock_word(Clock::Span) { Clock::Span } else { Clock::Steady }
}

fn runs(word: String) -> Runs {
    if word == "all" { Runs::All } else { Runs::Latest }
}

/// Runs the command on the real standard streams.
///
/// # Errors
/// When a file cannot be read or holds nothing to analyse, or when nobody reads the output.
pub fn run(args: &AnalyzeArgs) -> anyhow::Result<ExitCode> {
    let mut out = BufWriter::new(io::stdout().lock());
    analyze(args, terminal::width(), &mut out, &mut io::stderr().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the answers to `out` and the warnings to `err`. Lines of tables have at most `width` characters.
fn analyze(
    args: &AnalyzeArgs,
    width: Option<usize>,
    out: &mut impl Write,
    err: &mut impl Write,
) -> anyhow::Result<()> {
    let (tables, mut warnings) = read_tables(args)?;
    if tables.devices.iter().all(|table| table.sizes.is_empty()) {
        bail!(nothing_usable(args, &tables));
    }
    let question = Question {
        metric: args.metric,
        normalization: args.normalize,
        include_software: args.include_software,
    };
    let (answers, more) = answer(&tables, &question);
    warnings.extend(more.iter().map(ToString::to_string));
    for warning in &warnings {
        // A closed stderr must not cost the answer.
        let _ = writeln!(err, "warning: {warning}");
    }
    let report = Report {
        tables: &tables,
        answers: &answers,
        question: &question,
        clock: args.time,
        warnings: &warnings,
    };
    let written = match args.format {
        Format::Table => text::write(&report, Style::Text { width }, out),
        Format::Md => text::write(&report, Style::Markdown, out),
        Format::Json => json::write(&report, out),
        Format::Csv => csv::write(&report, out),
    };
    written.and_then(|()| out.flush()).context("standard output")
}

/// Reads one file after the other; what is kept of each is numbers.
fn read_tables(args: &AnalyzeArgs) -> anyhow::Result<(Tables, Vec<String>)> {
    let mut warnings = Vec::new();
    let mut builder = Builder::new(args.time);
    let mut seen = BTreeSet::new();
    for path in &args.files {
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            warnings.push(format!("{}: named twice; it is read once", path.display()));
            continue;
        }
        add_file(&mut builder, path, &mut warnings)?;
    }
    let (tables, more) = builder.finish(args.runs);
    warnings.extend(more.iter().map(ToString::to_string));
    Ok((tables, warnings))
}

/// Reads a file into `builder`, with the metadata beside it.
pub fn add_file(builder: &mut Builder, path: &Path, warnings: &mut Vec<String>) -> anyhow::Result<()> {
    let file = csv_file::read(path)?;
    let name = path.display().to_string();
    if let Some(line) = file.torn_line {
        warnings.push(format!("{name}: line {line} is torn (it has no line break) and is left out"));
    }
    let metadata = metadata_of(path, &file.records, warnings)?;
    let planned: Option<Vec<Point>> = metadata
        .as_ref()
        .map(|metadata| metadata.space.enumerate(&metadata.device, scanbox_kernels::legal).points);
    builder.add(&Source {
        name: &name,
        records: &file.records,
        planned: planned.as_deref(),
        kind: metadata.as_ref().map(|metadata| metadata.device.kind),
        copy_gbps: metadata.as_ref().map(|metadata| &metadata.copy_gbps),
    })?;
    Ok(())
}

/// The metadata beside a file; `None` where there is none, or where it is about a device that is not in the file.
pub fn metadata_of(
    path: &Path,
    records: &[Record],
    warnings: &mut Vec<String>,
) -> anyhow::Result<Option<Metadata>> {
    let beside = Metadata::path_beside(path);
    if !beside.exists() {
        return Ok(None);
    }
    let metadata = Metadata::read(&beside)?;
    let belongs =
        |record: &Record| record.device_uuid == metadata.device.uuid && record.device == metadata.device.name;
    if records.is_empty() || records.iter().any(belongs) {
        return Ok(Some(metadata));
    }
    warnings.push(format!(
        "{}: it is about {}, which has no row in {}; it is not used",
        beside.display(),
        metadata.device.title(),
        path.display()
    ));
    Ok(None)
}

/// Why there is no answer at all.
fn nothing_usable(args: &AnalyzeArgs, tables: &Tables) -> String {
    let files: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let mut counts: Vec<String> = Vec::new();
    for status in Status::ALL {
        let rows: u64 = tables.devices.iter().filter_map(|table| table.summary.by_status.get(&status)).sum();
        if rows > 0 {
            counts.push(format!("{rows} {status}"));
        }
    }
    counts.extend(tables.other_subjects.iter().map(|(subject, rows)| format!("{rows} of {subject}")));
    let found = if counts.is_empty() { "no rows".to_owned() } else { counts.join(", ") };
    format!(
        "{}: no row of scanbox is ok and has a {} time ({found})",
        files.join(", "),
        clock_word(args.time)
    )
}
