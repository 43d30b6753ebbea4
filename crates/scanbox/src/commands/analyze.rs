//! `scanbox analyze`: records in, answers out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rayon::prelude::*;
use scanbox_analysis::answers::{Preset, Question, answer};
use scanbox_analysis::bandwidth::Peak;
use scanbox_analysis::coverage::Coverage;
use scanbox_analysis::grouping::{Builder, FileFacts, FileRows, Runs};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::problem::Problem;
use scanbox_analysis::shared::SharedMetric;
use scanbox_analysis::table::Tables;
use scanbox_analysis::weights::Weights;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::sizes::Sizes;
use scanbox_model::space::Point;

use super::{UsageError, files};
use crate::args::format::ANSWERS;
use crate::args::words::words;
use scanbox_report::document::{Document, Format};
use scanbox_report::{Report, clock_word, terminal};

/// Finds the best config for each size, and the best single kernel.
#[derive(Debug, Clone, clap::Args)]
pub struct AnalyzeArgs {
    /// What is asked of which files
    #[command(flatten)]
    pub request: Request,

    /// Show what every metric chooses, what that loses, and where
    #[arg(long)]
    pub all_metrics: bool,

    /// Show for each answer the formula, the rows and the runner-up behind it
    #[arg(long)]
    pub explain: bool,

    /// How to write the answers
    #[arg(long, value_parser = words(ANSWERS), default_value = "table")]
    pub format: Format,
}

/// What is asked of which files: by `analyze` and by `report`.
#[derive(Debug, Clone, clap::Args)]
pub struct Request {
    /// CSV files of `scanbox sweep`; the metadata beside each (x.csv: x.meta.json) says which space was swept
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<PathBuf>,

    /// What the unit that a file is about is called: two machines with the same GPU, one of before and one of after a change
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file)]
    pub name: Vec<(String, PathBuf)>,

    /// How a single kernel is judged against the best of each size: sum, absolute, squared, chebyshev, cosine, power:P
    #[arg(long, default_value = "squared", value_name = "METRIC")]
    pub metric: Metric,

    /// How one config for several devices is judged at a size: mean, max, mean-std, min, rank-sum, rank-product,
    /// distance, squared, power:P
    #[arg(long, default_value = "squared", value_name = "METRIC")]
    pub shared_metric: SharedMetric,

    /// Over which sizes kernels are compared: common (to all kernels), all, widest (those of the kernels with the most),
    /// a share of the kernels (0.8), or sizes (2^19..2^29) [default: common where that is at least half, else widest]
    #[arg(long, value_name = "COVERAGE")]
    pub coverage: Option<Coverage>,

    /// How much each size counts: uniform, large (every element alike), or a CSV file with n_elements,weight
    #[arg(long, default_value = "uniform", value_name = "WEIGHTS")]
    pub weights: String,

    /// Find the best sets of 1 to K kernels, of which the fastest runs at each size
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub portfolio: Option<u32>,

    /// Which time decides: many dependent calls back to back, or one call between timestamps
    #[arg(long, default_value = "steady", value_parser = PossibleValuesParser::new(["steady", "span"]).map(clock))]
    pub time: Clock,

    /// What throughput is divided by before a metric adds it up [default: none for the best kernel of one device, size-best
    /// across devices and for portfolios]
    #[arg(long, value_parser = PossibleValuesParser::new(Normalization::ALL.map(Normalization::word)).try_map(|word| word.parse::<Normalization>()))]
    pub normalize: Option<Normalization>,

    /// Bandwidth of the device in GB/s, or NAME=GBPS for one of several [default: the measured copy of the largest size]
    #[arg(long, value_name = "GBPS")]
    pub peak_gbps: Vec<Peak>,

    /// Defaults as in the thesis: device-peak for means, none for distances across devices; coverage common
    #[arg(long, value_parser = PossibleValuesParser::new(["thesis"]))]
    pub preset: Option<String>,

    /// What to take of a device that was swept with several drivers or versions
    #[arg(long, default_value = "latest", value_parser = PossibleValuesParser::new(["latest", "all"]).map(runs))]
    pub runs: Runs,

    /// Let software devices enter the answers across devices beside hardware
    #[arg(long)]
    pub include_software: bool,
}

pub fn clock(word: String) -> Clock {
    if word == clock_word(Clock::Span) { Clock::Span } else { Clock::Steady }
}

/// `NAME=FILE`.
fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.trim().is_empty() && !file.is_empty() => {
            Ok((name.trim().to_owned(), PathBuf::from(file)))
        }
        _ => Err("it is NAME=FILE, where FILE is one of the files".to_owned()),
    }
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
    let request = &args.request;
    // A document for machines has everything.
    let everything = args.format == Format::Json;
    let question = Question {
        all_metrics: args.all_metrics || everything,
        distributions: everything,
        ..request.question()?
    };
    let (tables, mut warnings) = request.tables()?;
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
        clock: request.time,
        explain: args.explain,
        warnings: &warnings,
    };
    report.write(args.format, width, out).and_then(|()| out.flush()).context("standard output")
}

impl Request {
    /// Every file that it reads.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let weights = Path::new(&self.weights);
        self.files.iter().map(PathBuf::as_path).chain(weights.exists().then_some(weights))
    }

    /// What the user asks.
    pub fn question(&self) -> anyhow::Result<Question> {
        let preset = if self.preset.is_some() { Preset::Thesis } else { Preset::Scanbox };
        let coverage = match preset {
            Preset::Scanbox => Coverage::Auto,
            Preset::Thesis => Coverage::Common,
        };
        Ok(Question {
            metric: self.metric,
            shared_metric: self.shared_metric,
            normalization: self.normalize,
            preset,
            coverage: self.coverage.clone().unwrap_or(coverage),
            weights: weights(&self.weights)?,
            portfolio: self.portfolio.map(|most| most as usize),
            all_metrics: false,
            distributions: false,
            include_software: self.include_software,
        })
    }

    /// What the user calls each of these files; empty: nothing.
    fn labels(&self, paths: &[&PathBuf]) -> anyhow::Result<Vec<String>> {
        let place = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let mut labels = vec![String::new(); paths.len()];
        for (name, file) in &self.name {
            let Some(at) = paths.iter().position(|path| place(path) == place(file)) else {
                let message = format!("--name {name}={}: that is none of the files", file.display());
                return Err(UsageError(message).into());
            };
            if !labels[at].is_empty() {
                let message =
                    format!("--name {name}={}: it is called {} already", file.display(), labels[at]);
                return Err(UsageError(message).into());
            }
            labels[at].clone_from(name);
        }
        Ok(labels)
    }

    /// What the files hold, and what is to be said about them.
    pub fn tables(&self) -> anyhow::Result<(Tables, Vec<String>)> {
        let (mut tables, warnings) = read_tables(self)?;
        if tables.devices.iter().all(|table| table.sizes.is_empty()) {
            bail!(nothing_usable(self, &tables));
        }
        tables.set_peaks(&self.peak_gbps).context("--peak-gbps")?;
        Ok((tables, warnings))
    }
}

/// `uniform`, `large`, or what a file says.
fn weights(text: &str) -> anyhow::Result<Weights> {
    match text {
        "uniform" => Ok(Weights::Uniform),
        "large" => Ok(Weights::Large),
        file => listed_weights(Path::new(file))
            .with_context(|| format!("--weights {file}: neither uniform nor large nor a file of weights")),
    }
}

/// The weights of a CSV file with the columns `n_elements` and `weight`.
fn listed_weights(path: &Path) -> anyhow::Result<Weights> {
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).from_path(path)?;
    let header = reader.headers()?.clone();
    if header.iter().ne(["n_elements", "weight"]) {
        bail!("the first line has to be `n_elements,weight`");
    }
    let mut weights = BTreeMap::new();
    for row in reader.records() {
        let row = row?;
        let line = row.position().map_or(0, ::csv::Position::line);
        let size = row[0].parse::<Sizes>().ok().filter(|sizes| sizes.iter().count() == 1);
        let Some(n) = size.map(|size| size.largest()) else {
            bail!("line {line}: `{}` is no size (1024, 2^20)", &row[0]);
        };
        let weight = row[1].parse().ok().filter(|weight: &f64| *weight >= 0.0 && weight.is_finite());
        let Some(weight) = weight else {
            bail!("line {line}: `{}` is no weight: a number, 0 or above", &row[1]);
        };
        if weights.insert(n, weight).is_some() {
            bail!("line {line}: {n} elements are there twice");
        }
    }
    Ok(Weights::Listed(weights))
}

/// The files, each of them once.
pub fn once<'a>(files: &'a [PathBuf], warnings: &mut Vec<String>) -> Vec<&'a PathBuf> {
    let mut seen = BTreeSet::new();
    let mut paths = Vec::new();
    for path in files {
        if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            paths.push(path);
        } else {
            warnings.push(format!("{}: named twice; it is read once", path.display()));
        }
    }
    paths
}

/// Reads all files, several at the same time; what is kept of each is numbers.
fn read_tables(request: &Request) -> anyhow::Result<(Tables, Vec<String>)> {
    let mut warnings = Vec::new();
    let mut builder = Builder::new(request.time);
    let paths = once(&request.files, &mut warnings);
    let labels = request.labels(&paths)?;
    let files: Vec<anyhow::Result<File>> =
        paths.par_iter().map(|path| File::read(path, request.time)).collect();
    for (file, label) in files.into_iter().zip(&labels) {
        file?.add_to(&mut builder, label, &mut warnings);
    }
    let (tables, more) = builder.finish(request.runs);
    warnings.extend(more.iter().map(ToString::to_string));
    Ok((tables, warnings))
}

/// Reads a file into `builder`, with the metadata beside it.
pub fn add_file(builder: &mut Builder, path: &Path, warnings: &mut Vec<String>) -> anyhow::Result<()> {
    File::read(path, builder.clock())?.add_to(builder, "", warnings);
    Ok(())
}

/// One file with what the metadata beside it says.
struct File {
    rows: FileRows,
    metadata: Option<Metadata>,
    planned: Option<Vec<Point>>,
    warnings: Vec<String>,
}

impl File {
    fn read(path: &Path, clock: Clock) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let mut warnings = Vec::new();
        let metadata = metadata_beside(path)?;
        let (mut empty, mut belongs) = (true, false);
        let mut rows = FileRows::new(&name, clock);
        let shape = csv_file::for_each(path, |record: &Record| -> anyhow::Result<()> {
            empty = false;
            belongs = belongs || metadata.as_ref().is_some_and(|metadata| is_about(metadata, record));
            Ok(rows.push(record)?)
        })
        .map_err(|error| match error.downcast() {
            Ok(unreadable) => files::unreadable(path, unreadable),
            Err(other) => other,
        })?;
        warnings.extend(shape.warnings(&name));
        let metadata = metadata.filter(|other| empty || belongs || disown(other, path, &mut warnings));
        let planned = |metadata: &Metadata| {
            let legal =
                |config: &_, n, device: &_| scanbox_kernels::legal(config, &metadata.problem, n, device);
            metadata.space.enumerate(&metadata.device, legal).points
        };
        Ok(Self { planned: metadata.as_ref().map(planned), rows, metadata, warnings })
    }

    fn add_to(self, builder: &mut Builder, label: &str, warnings: &mut Vec<String>) {
        warnings.extend(self.warnings);
        let facts = FileFacts {
            planned: self.planned.as_deref(),
            problem: self.metadata.as_ref().map_or_else(Problem::default, |metadata| metadata.problem),
            kind: self.metadata.as_ref().map(|metadata| metadata.device.kind),
            copy_gbps: self.metadata.as_ref().map(|metadata| &metadata.copy_gbps),
            label,
        };
        builder.add_rows(self.rows, &facts);
    }
}

fn metadata_beside(path: &Path) -> anyhow::Result<Option<Metadata>> {
    let beside = Metadata::path_beside(path);
    if beside.exists() { Ok(Some(Metadata::read(&beside)?)) } else { Ok(None) }
}

fn is_about(metadata: &Metadata, record: &Record) -> bool {
    record.device_uuid == metadata.device.uuid && record.device == metadata.device.name
}

/// Says that the metadata beside a file is about a device that is not in it. Returns: that it is not to be used.
fn disown(metadata: &Metadata, path: &Path, warnings: &mut Vec<String>) -> bool {
    warnings.push(format!(
        "{}: it is about {}, which has no row in {}; it is not used",
        Metadata::path_beside(path).display(),
        metadata.device.title(),
        path.display()
    ));
    false
}

/// The metadata beside a file; `None` where there is none, or where it is about a device that is not in the file.
pub fn metadata_of(
    path: &Path,
    records: &[Record],
    warnings: &mut Vec<String>,
) -> anyhow::Result<Option<Metadata>> {
    let belongs = |metadata: &Metadata| records.iter().any(|record| is_about(metadata, record));
    let metadata = metadata_beside(path)?;
    Ok(metadata.filter(|other| records.is_empty() || belongs(other) || disown(other, path, warnings)))
}

/// Why there is no answer at all.
fn nothing_usable(request: &Request, tables: &Tables) -> String {
    let files: Vec<String> = request.files.iter().map(|path| path.display().to_string()).collect();
    let mut counts: Vec<String> = Vec::new();
    for status in Status::ALL {
        let rows: u64 = tables.devices.iter().filter_map(|table| table.summary.by_status.get(&status)).sum();
        if rows > 0 {
            counts.push(format!("{rows} {status}"));
        }
    }
    counts.extend(tables.other_subjects.iter().map(|(subject, rows)| format!("{rows} of {subject}")));
    let found = if counts.is_empty() { "no rows".to_owned() } else { counts.join(", ") };
    let hint = match tables.devices.is_empty() && !tables.other_subjects.is_empty() {
        true => {
            "; name a file of `scanbox sweep`, files of `scanbox bench` and `scanbox import` go beside one"
        }
        false => "",
    };
    format!(
        "{}: no row of a sweep is ok and has a {} time ({found}){hint}",
        files.join(", "),
        clock_word(request.time)
    )
}
