//! `scanbox analyze`: records in, answers out.

use std::process::ExitCode;

use scanbox_analysis::answers::{Question, answer};
use scanbox_model::sizes::Sizes;
use scanbox_report::analysis::AnalysisReport;
use scanbox_report::document::Format;
use scanbox_session::notes::note;

use crate::answer::{answered, print};
use crate::args::format::ANSWERS;
use crate::args::request::AnalysisRequest;
use crate::args::words::words;

/// Finds the best config for each size, and the best single kernel.
#[derive(Debug, Clone, clap::Args)]
pub struct AnalyzeArgs {
    /// What is asked of which files
    #[command(flatten)]
    pub request: AnalysisRequest,

    /// Say at the end what to launch at these sizes, measured or not: config, workgroups, time, loss
    #[arg(long, value_name = "SIZES")]
    pub at: Option<Sizes>,

    /// Show the choice of every metric, its loss, and where it loses
    #[arg(long)]
    pub all_metrics: bool,

    /// Show for each answer the formula, the rows and the runner-up behind it
    #[arg(long)]
    pub explain: bool,

    /// How to write the answers
    #[arg(long, value_parser = words(ANSWERS), default_value = "table")]
    pub format: Format,
}

/// Runs the command on the real standard streams.
///
/// # Errors
/// When a file cannot be read or holds nothing to analyse, or when nobody reads the output.
pub fn run(args: &AnalyzeArgs) -> anyhow::Result<ExitCode> {
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
    if let Some(text) = request.published() {
        note(&text);
    }
    for warning in &warnings {
        note(&format!("warning: {warning}"));
    }
    let at: Vec<u64> = args.at.iter().flat_map(Sizes::iter).collect();
    let report = AnalysisReport {
        at: &at,
        tables: &tables,
        answers: &answers,
        question: &question,
        clock: request.time,
        explain: args.explain,
        warnings: &warnings,
    };
    answered(print(&report, args.format), ExitCode::SUCCESS)
}
