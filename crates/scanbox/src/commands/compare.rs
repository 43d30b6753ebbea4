//! `scanbox compare`: whether a new sweep is slower than the one before, in words and as an exit code.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use scanbox_analysis::AnalysisError;
use scanbox_analysis::compare::{Night, Outcome, Question, compare};
use scanbox_analysis::grouping::Source;
use scanbox_analysis::metric::Metric;
use scanbox_analysis::pairs::{self, Failed, Quad, Side};
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::pair_file::{self, PairRow};
use scanbox_model::problem::Problem;
use scanbox_model::record::{Clock, Record, Status};

use super::analyze::{clock, metadata_of};
use super::{Exit, UsageError, answered, complain, files, print};
use crate::args::format::ANSWERS;
use crate::args::words::words;
use crate::output::Kind;
use scanbox_report::compare as report;
use scanbox_report::document::Format;

/// Arguments of `scanbox compare`.
#[derive(Debug, Clone, clap::Args)]
pub struct CompareArgs {
    /// The sweep before: its CSV, with the metadata beside it
    #[arg(value_name = "BASE")]
    pub base: PathBuf,

    /// The sweep to judge
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// The smallest loss that matters, in percent; what noise can do is never told, however small this is
    #[arg(long, default_value = "3", value_name = "PERCENT", value_parser = threshold)]
    pub threshold: f64,

    /// Chooses the kernel of BASE whose line is watched beside the ideal line, as in `scanbox analyze`
    #[arg(long, default_value = "squared", value_name = "METRIC")]
    pub metric: Metric,

    /// Which time decides: many dependent calls back to back, or one call between timestamps
    #[arg(long, default_value = "steady", value_parser = PossibleValuesParser::new(["steady", "span"]).map(clock))]
    pub time: Clock,

    /// Compare two models of devices all the same
    #[arg(long)]
    pub accept_device: bool,

    /// What both versions measured tonight in turns (`scanbox rerun`): then that decides, and not the two nights
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,

    /// The same of earlier nights with this base, the first one first: tells what the device lost
    #[arg(long, value_name = "FILE", requires = "pairs", num_args = 1..)]
    pub earlier: Vec<PathBuf>,

    /// How to write the answer: md for a comment on a change, json and csv for programs
    #[arg(long, value_parser = words(ANSWERS), default_value = "table")]
    pub format: Format,
}

/// A share from a number of percent.
pub(super) fn threshold(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end();
    let percent: f64 = number.parse().map_err(|_| format!("`{text}` is no number of percent"))?;
    if percent > 0.0 && percent < 100.0 {
        Ok(percent / 100.0)
    } else {
        Err("a threshold is above 0 and below 100 percent".to_owned())
    }
}

/// Compares, and says by the exit code what came of it.
///
/// # Errors
/// When a file cannot be read, the two are not of one model, or nobody reads the output.
pub fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    if !args.base.exists() {
        let base = args.base.display();
        complain(&format!("no base: {base} is not there; keep a sweep under that name to compare with it"));
        return Ok(Exit::Inconclusive);
    }
    let [base, new] = [File::read(&args.base)?, File::read(&args.new)?];
    let night =
        args.pairs.as_ref().map(|path| Pairs::read(path, &args.earlier, &base.records)).transpose()?;
    let night = night.as_ref().map(|night| Night { pairs: &night.tonight, earlier: &night.earlier });
    let question = Question {
        metric: args.metric,
        clock: args.time,
        threshold: args.threshold,
        accept_device: args.accept_device,
        new_is_cut: new.is_cut(),
    };
    let comparison =
        compare(&base.source(), &new.source(), &question, night.as_ref()).map_err(|error| match error {
            AnalysisError::OtherModel { .. } | AnalysisError::OtherProblem { .. } => {
                UsageError(error.to_string()).into()
            }
            error => anyhow::Error::from(error),
        })?;
    let exit = match comparison.outcome {
        Outcome::NoRegression => Exit::Done,
        Outcome::Regression => Exit::Regression,
        Outcome::Inconclusive => Exit::Inconclusive,
    };
    let report = report::Report {
        comparison: &comparison,
        question: &question,
        base: &base.name,
        new: &new.name,
        records: [&base.records, &new.records],
    };
    answered(print(&report, args.format), exit)
}

/// Pairs of tonight, and of earlier nights with the same base.
struct Pairs {
    tonight: pairs::Pairs,
    earlier: Vec<pairs::Pairs>,
}

impl Pairs {
    fn read(path: &Path, earlier: &[PathBuf], base: &[Record]) -> anyhow::Result<Self> {
        let run = base.first().map_or("", |row| row.run_id.as_str());
        let is_of_base = |rows: &[PairRow]| rows.iter().all(|row| row.base_run == run);
        let tonight = pair_file::read(path)?;
        if !is_of_base(&tonight) {
            let message = format!("{} has pairs of another base", path.display());
            return Err(UsageError(message).into());
        }
        let mut nights = Vec::new();
        for path in earlier {
            let rows = pair_file::read(path)?;
            if is_of_base(&rows) && !rows.is_empty() {
                nights.push(pairs_of(&rows));
            }
        }
        Ok(Self { tonight: pairs_of(&tonight), earlier: nights })
    }
}

/// The rows of a file of pairs as what is judged.
pub(super) fn pairs_of(rows: &[PairRow]) -> pairs::Pairs {
    let mut pairs = pairs::Pairs::default();
    for row in rows {
        let (n, config, round) = (row.n_elements, row.config_id.clone(), row.round);
        match row.times().filter(|_| row.status == Status::Ok) {
            Some([base_ns, new_ns]) => pairs.quads.push(Quad { n, config, round, base_ns, new_ns }),
            None => {
                let side = if row.failed == Side::Base.word() { Side::Base } else { Side::New };
                let (status, reason) = (row.status, row.reason.clone());
                pairs.failed.push(Failed { n, config, round, side, status, reason });
            }
        }
    }
    pairs
}

/// A file and its metadata.
pub(super) struct File {
    name: String,
    pub(super) records: Vec<Record>,
    metadata: Option<Metadata>,
}

impl File {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let found = csv_file::read(path).map_err(|error| files::unreadable(path, error))?;
        files::expect(path, "", &[Kind::Sweep, Kind::NoRows], "`compare` judges one sweep by another")?;
        let mut warnings = found.warnings(&name);
        let metadata = metadata_of(path, &found.records, &mut warnings)?;
        if metadata.is_none() {
            warnings.push(format!(
                "{name}: there is no metadata beside it, so no copies tell drift from a slow-down of all scans"
            ));
        }
        for warning in warnings {
            complain(&format!("warning: {warning}"));
        }
        Ok(Self { name, records: found.records, metadata })
    }

    /// Whether the run ended before its space did.
    fn is_cut(&self) -> bool {
        let points = self.metadata.as_ref().map_or(0, |metadata| metadata.points);
        (self.records.len() as u64) < points
    }

    pub(super) fn source(&self) -> Source<'_> {
        Source {
            name: &self.name,
            records: &self.records,
            planned: None,
            problem: self.metadata.as_ref().map_or_else(Problem::default, |metadata| metadata.problem),
            kind: self.metadata.as_ref().map(|metadata| metadata.device.kind),
            copy_gbps: self.metadata.as_ref().map(|metadata| &metadata.copy_gbps),
        }
    }
}
