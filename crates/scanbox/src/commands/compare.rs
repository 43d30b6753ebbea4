//! `scanbox compare`: whether a new sweep is slower than the one before, in words and as an exit code.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use scanbox_analysis::AnalysisError;
use scanbox_analysis::compare::{CompareQuestion, Night, Outcome, USUAL_METRIC, USUAL_PERCENT, compare};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::pairs;
use scanbox_model::pair_file::{self, PairFileError, PairRow};
use scanbox_model::record::{Clock, Record};

use crate::answer::{answered, print};
use crate::args::format::ANSWERS;
use crate::args::words::{clock, threshold, words};
use crate::exit::{Exit, UsageError};
use crate::inputs::{JudgedSweep, pairs_of};
use scanbox_report::compare::CompareReport;
use scanbox_report::document::Format;
use scanbox_session::notes::note;

/// Arguments of `scanbox compare`.
#[derive(Debug, Clone, clap::Args)]
pub struct CompareArgs {
    /// The sweep before: its CSV, with the metadata beside it
    #[arg(value_name = "BASE")]
    pub base: PathBuf,

    /// The sweep to judge
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    /// The smallest loss that matters, in percent; a loss that noise explains is never reported, however small this is
    #[arg(long, default_value = USUAL_PERCENT, value_name = "PERCENT", value_parser = threshold)]
    pub threshold: f64,

    /// Choose the kernel of BASE to watch beside the ideal line, as in `scanbox analyze`
    #[arg(long, default_value = USUAL_METRIC, value_name = "METRIC")]
    pub metric: Metric,

    /// Which time decides: many dependent calls back to back, or one call between timestamps
    #[arg(long, default_value = "steady", value_parser = PossibleValuesParser::new(["steady", "span"]).map(clock))]
    pub time: Clock,

    /// Compare two models of devices anyway
    #[arg(long)]
    pub accept_device: bool,

    /// What both versions measured tonight in turns (`scanbox rerun`); it then decides, and not the two sweeps
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,

    /// The same of earlier nights with this base, the first one first: tells what the device lost
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub earlier: Vec<PathBuf>,

    /// How to write the answer: md for a comment on a change, json and csv for programs
    #[arg(long, value_parser = words(ANSWERS), default_value = "table")]
    pub format: Format,
}

/// Compares, and says by the exit code what came of it.
///
/// # Errors
/// When a file cannot be read, the two are not of one model, or nobody reads the output.
pub fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    if !args.base.exists() {
        let base = args.base.display();
        note(&format!("no base: {base} is not there; keep a sweep under that name to compare with it"));
        return Ok(Exit::Inconclusive);
    }
    let [base, new] = [JudgedSweep::read(&args.base)?, JudgedSweep::read(&args.new)?];
    // Rows that were copied or changed by hand: whatever comes out says nothing of another night.
    let run = |sweep: &JudgedSweep| sweep.records.first().map(|row| row.run_id.clone());
    if let Some(run) = run(&base).filter(|id| !id.is_empty() && run(&new).as_ref() == Some(id)) {
        note(&format!("warning: both files are of the run {run}: nothing was measured a second time"));
    }
    let night = args
        .pairs
        .as_ref()
        .map(|path| Nights::read(path, &args.earlier, [&base.records, &new.records]))
        .transpose()?;
    let night = night.as_ref().map(|night| Night { pairs: &night.tonight, earlier: &night.earlier });
    let question = CompareQuestion {
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
    let base_tool = base.tool();
    let report = CompareReport {
        comparison: &comparison,
        question: &question,
        base: &base.name,
        new: &new.name,
        records: [&base.records, &new.records],
        base_tool: base_tool.as_deref(),
    };
    answered(print(&report, args.format), exit)
}

/// Pairs of tonight, and of earlier nights with the same base.
struct Nights {
    tonight: pairs::Pairs,
    earlier: Vec<pairs::Pairs>,
}

impl Nights {
    /// Those of tonight have to be of these sweeps, base and new: of others they would say that nothing is slower.
    fn read(path: &Path, earlier: &[PathBuf], [base, new]: [&[Record]; 2]) -> anyhow::Result<Self> {
        let run = base.first().map_or("", |row| row.run_id.as_str());
        let is_of_base = |rows: &[PairRow]| rows.iter().all(|row| row.base_run == run);
        let tonight = pair_file::read(path)?;
        if !is_of_base(&tonight) {
            let message = format!("{} has pairs of another base", path.display());
            return Err(UsageError(message).into());
        }
        let is_of_new = |row: &PairRow, new: &Record| {
            let same_run = row.new_run.is_empty() || row.new_run == new.run_id;
            let unit = (&row.device, &row.device_uuid, &row.driver);
            same_run && unit == (&new.device, &new.device_uuid, &new.driver)
        };
        if let Some(new) = new.first().filter(|new| !tonight.iter().all(|row| is_of_new(row, new))) {
            let path = path.display();
            let message = format!(
                "{path} has pairs beside another sweep, or of another device or driver, than {}",
                new.run_id
            );
            return Err(UsageError(message).into());
        }
        let mut nights = Vec::new();
        for path in earlier {
            match pair_file::read(path) {
                Ok(rows) if is_of_base(&rows) => nights.push(pairs_of(&rows)),
                // Of another base, or of a night in which nothing could be measured: no reference.
                Ok(_) | Err(PairFileError::NoRows { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self { tonight: pairs_of(&tonight), earlier: nights })
    }
}
