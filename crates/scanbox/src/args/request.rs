//! What is asked of which files, by `analyze` and by `report`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rayon::prelude::*;
use scanbox_analysis::answers::{Preset, Question};
use scanbox_analysis::bandwidth::Peak;
use scanbox_analysis::coverage::Coverage;
use scanbox_analysis::grouping::{Builder, Runs};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::pool::Units;
use scanbox_analysis::shared::SharedMetric;
use scanbox_analysis::table::Tables;
use scanbox_analysis::weights::Weights;
use scanbox_model::record::{Clock, Status};
use scanbox_model::sizes::Sizes;
use scanbox_report::overview::PUBLISHED;
use scanbox_report::paste;
use scanbox_report::words::clock_word;

use super::words::clock;
use crate::exit::UsageError;
use crate::inputs::{KnownPlans, SweepInput, once};

/// What is asked of which files.
#[derive(Debug, Clone, clap::Args)]
pub struct AnalysisRequest {
    /// CSV files of `scanbox sweep`; the metadata beside each (x.csv: x.meta.json) describes the space
    #[arg(required = true, value_name = "FILES")]
    pub files: Vec<PathBuf>,

    /// A name for the unit of a file, for example for two machines with the same GPU, or for one before and after a
    /// change
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file)]
    pub name: Vec<(String, PathBuf)>,

    /// How a single kernel is judged against the best of each size: sum, absolute, squared, chebyshev, cosine, power:P
    #[arg(long, default_value = "squared", value_name = "METRIC")]
    pub metric: Metric,

    /// How one config for several devices is judged at a size: mean, max, mean-std, min, rank-sum, rank-product,
    /// distance, squared, power:P
    #[arg(long, default_value = "squared", value_name = "METRIC")]
    pub shared_metric: SharedMetric,

    /// The sizes over which kernels are compared: common (to all kernels), all, widest (those of the kernels with the
    /// most), a share of the kernels (0.8), or sizes (2^19..2^29) [default: common where that is at least half, else
    /// widest]
    #[arg(long, value_name = "COVERAGE")]
    pub coverage: Option<Coverage>,

    /// How much each size counts: uniform, large (every element alike), or a CSV file with `n_elements,weight`
    #[arg(long, default_value = "uniform", value_name = "WEIGHTS")]
    pub weights: String,

    /// Find the best sets of 1 to K kernels, of which the fastest runs at each size
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub portfolio: Option<u32>,

    /// Which time decides: many dependent calls back to back, or one call between timestamps
    #[arg(long, default_value = "steady", value_parser = PossibleValuesParser::new(["steady", "span"]).map(clock))]
    pub time: Clock,

    /// What throughput is divided by before a metric adds it up [default: none for the best kernel of one device,
    /// size-best across devices and for portfolios]
    #[arg(long, value_parser = PossibleValuesParser::new(Normalization::ALL.map(Normalization::word)).try_map(|word| word.parse::<Normalization>()))]
    pub normalize: Option<Normalization>,

    /// Bandwidth of the device in GB/s, or NAME=GBPS for one of several [default: the ceiling of the largest size,
    /// which is the fastest copy, or of a reduction the fastest read, measured there]
    #[arg(long, value_name = "GBPS")]
    pub peak_gbps: Vec<Peak>,

    /// Defaults as in the thesis: device-peak for means, none for distances across devices; coverage common
    #[arg(long, value_parser = PossibleValuesParser::new(["thesis"]))]
    pub preset: Option<String>,

    /// Which rows to use of a device that was swept with several drivers or versions
    #[arg(long, default_value = "latest", value_parser = PossibleValuesParser::new(["latest", "all"]).map(runs))]
    pub runs: Runs,

    /// How to treat units of one model with the same driver, version and kernels: pool (a point's time is the median
    /// over them) or each [default: pool where they complement each other, that is, none has nine tenths of the points
    /// that they have together; else each]
    #[arg(long, value_parser = PossibleValuesParser::new(["pool", "each"]).map(units))]
    pub units: Option<Units>,

    /// Include software devices in the answers across devices
    #[arg(long)]
    pub include_software: bool,
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

fn units(word: String) -> Units {
    if word == "pool" { Units::Pool } else { Units::Each }
}

fn runs(word: String) -> Runs {
    if word == "all" { Runs::All } else { Runs::Latest }
}

impl AnalysisRequest {
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
                let message = format!("--name {name}={}: it is not one of the files", file.display());
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
        let (mut tables, warnings, anchors) = read_tables(self)?;
        if tables.devices.iter().all(|table| table.sizes.is_empty()) {
            bail!(nothing_usable(self, &tables, anchors));
        }
        tables.set_peaks(&self.peak_gbps).context("--peak-gbps")?;
        // What the user has measured comes before examples.
        tables.devices.sort_by_key(|table| table.files.iter().all(|file| is_published(Path::new(file))));
        Ok((tables, warnings))
    }

    /// What is said where published examples are among several files; nothing where there are none.
    pub fn published(&self) -> Option<String> {
        let (published, own): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.files.iter().partition(|file| is_published(file));
        if published.is_empty() || self.files.len() < 2 {
            return None;
        }
        let names: Vec<String> = published.iter().map(|file| file.display().to_string()).collect();
        let own = match own.is_empty() {
            true => format!("; {} sweep --device 0 measures this machine", paste::quoted(&paste::program())),
            false => "; your own files come first".to_owned(),
        };
        Some(format!("published examples of other machines: {}{own}", names.join(", ")))
    }
}

/// Whether a file came with the sources of scanbox.
fn is_published(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PUBLISHED))
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
    let text = std::fs::read(path)?;
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).from_reader(&text[..]);
    let header = reader.headers()?.clone();
    if header.iter().ne(["n_elements", "weight"]) {
        bail!("the first line must be `n_elements,weight`");
    }
    let mut weights = BTreeMap::new();
    for row in reader.records() {
        let row = row?;
        let line = row.position().map_or(0, ::csv::Position::line);
        let size = row[0].parse::<Sizes>().ok().filter(|sizes| sizes.iter().count() == 1);
        let Some(n) = size.map(|size| size.largest()) else {
            bail!("line {line}: `{}` is not a size (1024, 2^20)", &row[0]);
        };
        let weight = row[1].parse().ok().filter(|weight: &f64| *weight >= 0.0 && weight.is_finite());
        let Some(weight) = weight else {
            bail!("line {line}: `{}` is not a weight: a number, 0 or above", &row[1]);
        };
        if weights.insert(n, weight).is_some() {
            bail!("line {line}: {n} elements are there twice");
        }
    }
    Ok(Weights::Listed(weights))
}

/// Files that are read before what they hold is put together: what each has of its own is in memory for so many.
const AT_A_TIME: usize = 64;

/// Reads all files, several at the same time; what is kept of each is numbers. Also says how many rows are anchors.
fn read_tables(request: &AnalysisRequest) -> anyhow::Result<(Tables, Vec<String>, u64)> {
    let (mut warnings, mut anchors) = (Vec::new(), 0);
    let mut builder = Builder::new(request.time).with_units(request.units.unwrap_or_default());
    let paths = once(&request.files, &mut warnings);
    let labels = request.labels(&paths)?;
    let plans = KnownPlans::default();
    let read = |path: &&PathBuf| SweepInput::read_with(path, request.time, &plans);
    for (paths, labels) in paths.chunks(AT_A_TIME).zip(labels.chunks(AT_A_TIME)) {
        let files: Vec<anyhow::Result<SweepInput>> = paths.par_iter().map(read).collect();
        for (file, label) in files.into_iter().zip(labels) {
            let file = file?;
            anchors += file.anchors();
            file.add_to(&mut builder, label, &mut warnings);
        }
    }
    let (tables, more) = builder.finish(request.runs);
    warnings.extend(more.iter().map(ToString::to_string));
    Ok((tables, warnings, anchors))
}

/// Why there is no answer at all.
fn nothing_usable(request: &AnalysisRequest, tables: &Tables, anchors: u64) -> String {
    let files: Vec<String> = request.files.iter().map(|path| path.display().to_string()).collect();
    let mut counts: Vec<String> = Vec::new();
    for status in Status::ALL {
        let rows: u64 = tables.devices.iter().filter_map(|table| table.summary.by_status.get(&status)).sum();
        if rows > 0 {
            counts.push(format!("{rows} {status}"));
        }
    }
    counts.extend(tables.other_subjects.iter().map(|(subject, rows)| format!("{rows} of {subject}")));
    if anchors > 0 {
        counts.push(format!("{anchors} of anchors, which say how units differ and are not points"));
    }
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
