//! What to do where nothing could be told: the commands that measure both versions again in turns, and compare them.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_analysis::compare::{Outcome, USUAL_METRIC, USUAL_PERCENT};
use scanbox_model::api::Api;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::problem::{Operator, Problem};
use scanbox_model::record::Record;

use super::{CompareReport, headline, percent};
use crate::paste;

/// The name of the base's program beside its rows, as `scripts/nightly` keeps it.
const KEPT_PROGRAM: &str = "scanbox";

/// What stands for it where there is none.
const ANY_PROGRAM: &str = "PROGRAM";

/// The commands, and what to do with them.
pub(super) struct Again {
    /// What they are for; where the program of the base is not known, what takes its place.
    pub why: String,
    /// They follow each other.
    pub commands: [String; 2],
}

/// The commands that measure again what could not be told; `None` where something could, and where the base cannot be
/// measured again.
pub(super) fn again(report: &CompareReport<'_>) -> Option<Again> {
    let CompareReport { comparison, question, base, new, records, base_tool } = report;
    // What has no row in the new run would have none in pairs.
    let is_missing = headline(comparison, question).starts_with("MISSING");
    let row = records[1].first().filter(|row| runs_again(row))?;
    if comparison.outcome != Outcome::Inconclusive || is_missing {
        return None;
    }
    let what = "to measure both again in turns, and to compare, ";
    let (program, why) = if let Some(kept) = kept_program(Path::new(base)) {
        (kept.to_string_lossy().into_owned(), format!("{what}run:"))
    } else {
        let tool = base_tool.map_or_else(String::new, |tool| format!(" ({tool})"));
        let path = format!("the path of the scanbox that made the base{tool}");
        (ANY_PROGRAM.to_owned(), format!("{what}put {path} in place of {ANY_PROGRAM}, and run:"))
    };
    // The file of pairs must not be there, so that another run of it has another name.
    let pairs = Path::new("pairs.csv");
    let pairs = if pairs.exists() { paste::numbered(pairs) } else { pairs.to_owned() };
    let pairs = pairs.to_string_lossy();
    let mut rerun = vec![paste::program(), "rerun".to_owned(), (*base).to_owned(), (*new).to_owned()];
    rerun.extend(["--program".to_owned(), program]);
    rerun.extend(selector(row).into_iter().flat_map(|device| ["--device".to_owned(), device.to_owned()]));
    let (percent, metric) = (percent(question), question.metric.to_string());
    for (flag, value, usual) in [("--threshold", percent, USUAL_PERCENT), ("--metric", metric, USUAL_METRIC)]
    {
        if value != usual {
            rerun.extend([flag.to_owned(), value]);
        }
    }
    rerun.extend(["--out".to_owned(), pairs.to_string()]);
    let rerun = paste::line(rerun.iter().map(String::as_str));
    Some(Again { why, commands: [rerun, paste::this_command_with("--pairs", &pairs)] })
}

/// Whether a base can be measured again beside a row: through Vulkan, and without a file that says what is computed.
fn runs_again(row: &Record) -> bool {
    let is_built_in = Problem::of_row(row).is_ok_and(|problem| problem.operator() != Operator::User);
    is_built_in && DeviceApi::of(row).api == Api::Vulkan
}

/// The program that is kept beside a base. This one, which may stand there too, is the new version.
fn kept_program(base: &Path) -> Option<PathBuf> {
    let kept = base.with_file_name(KEPT_PROGRAM);
    let own = std::env::current_exe().and_then(fs::canonicalize).ok();
    let is_other = fs::canonicalize(&kept).is_ok_and(|path| path.is_file() && Some(path) != own);
    is_other.then_some(kept)
}

/// What chooses the device of a row.
fn selector(row: &Record) -> Option<&str> {
    [&row.device_uuid, &row.device].into_iter().map(String::as_str).find(|text| !text.is_empty())
}
