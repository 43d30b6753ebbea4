//! `scanbox tune`: from a device to a pack, for who does not care how.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, FromArgMatches};
use scanbox_model::device::DeviceKind;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::sizes::Sizes;
use scanbox_model::units::slug;
use scanbox_pack::{CallTrait, Promises};
use scanbox_report::document::Format;
use scanbox_report::paste;
use scanbox_session::device::{profile, replay_script};
use scanbox_session::notes::note;
use scanbox_session::pack::{PackWish, UseSet};
use scanbox_session::store::rows_before;
use scanbox_session::tools::Tools;

use super::pack::finish;
use super::sweep::{self, SweepArgs};
use crate::args::format::TABLE_OR_JSON;
use crate::args::problem::ProblemArgs;
use crate::args::sharing::SharingArgs;
use crate::args::shipping::{ALL_USES, PORTABLE, RowArgs, made, problem, promises, subgroup_size};
use crate::args::time::parse_limit;
use crate::args::words::words;
use crate::exit::Exit;
use crate::output::{OutputContent, Outputs};

/// Configs of each size that are confirmed.
const CONFIRMED: &str = "8";

/// What is measured of a space on software devices, where nobody says anything else.
const SOFTWARE_SIZES: &str = "2^10..2^20";

/// Arguments of `scanbox tune`.
#[derive(Debug, Clone, Args)]
pub struct TuneArgs {
    /// The device: index (see `scanbox devices`), name, UUID or PCI address
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// What is computed, as TYPE:OPERATOR:MODE with :in-place behind, for example u32:add:exclusive
    #[arg(
        long,
        value_name = "PROBLEM",
        value_parser = problem,
        conflicts_with_all = ["op", "element", "operator", "mode", "init", "in_place"]
    )]
    problem: Option<Problem>,

    #[command(flatten)]
    parts: ProblemArgs,

    /// Stop measuring after this time, and pack the rows so far; the same command continues later
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "2m")]
    budget: Duration,

    /// The kernels to try: a space, as in `scanbox sweep`
    #[arg(long, default_value = "handover", value_name = "NAME|FILE")]
    space: String,

    /// Only these input sizes, as of `scanbox sweep` [default: those of the space; on software devices up to 2^20]
    #[arg(long, value_name = "SIZES")]
    sizes: Option<Sizes>,

    /// Sets of promises that programs may make, as in `scanbox pack`
    #[arg(long, value_name = "SETS", value_delimiter = ',', value_parser = promises, default_value = "none,progress")]
    promises: Vec<Promises>,

    /// Uses, as in `scanbox pack`
    #[arg(long, value_name = "WORDS", value_delimiter = ',', default_value = ALL_USES)]
    uses: Vec<CallTrait>,

    /// Subgroup sizes that get kernels for devices that nobody has measured, or none
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = subgroup_size, default_value = PORTABLE)]
    portable: Vec<Option<u32>>,

    /// The folder for the pack and its rows [default: the user's data folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    sharing: SharingArgs,

    /// How to write what is in the pack
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Measures, confirms and packs.
///
/// # Errors
/// When there is no such device, something else stands where a file belongs, or nothing can be shipped.
pub fn run(args: &TuneArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let parts = match args.problem {
        Some(_) => None,
        None => Some(args.parts.problem()?.0),
    };
    let problem = args.problem.or(parts).unwrap_or_default();
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => directories::ProjectDirs::from("", "", "scanbox")
            .map(|folders| folders.data_dir().to_owned())
            .context("the system names no data folder: choose one with --folder")?,
    };
    let device = profile(&args.device, tools)?;
    let name = format!("{}.{problem}", slug(&device.name));
    // Rows of other kernels are no beginning of these.
    let hash = tools.compiler()?.kernel_hash();
    let (rows, pack) = (folder.join(format!("{name}.{hash}.csv")), folder.join(format!("{name}.scanpack")));
    let space = Path::new(&args.space);
    let inputs = args.parts.input().into_iter().chain(space.exists().then_some(space));
    let mut outputs = Outputs::beside(inputs.chain(replay_script(&args.device)));
    let output = outputs.claim("--folder", &pack, OutputContent::Pack)?;
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let sizes = args.sizes.as_ref().map(ToString::to_string);
    // Memory for the largest sizes, and their first calls, would take a software device all of the time.
    let few = device.kind == DeviceKind::Software && !space.exists();
    let sizes = sizes.or_else(|| few.then(|| SOFTWARE_SIZES.to_owned()));
    let swept = sweep::run(&sweep_args(args, &problem, &rows, sizes.as_deref())?, tools, &Vec::new)?;
    if !matches!(swept, Exit::Done | Exit::WrongResult | Exit::Incomplete) {
        return Ok(swept);
    }
    if swept == Exit::Incomplete && !rows_before(&rows)?.iter().any(|row| row.status == Status::Ok) {
        note(&format!(
            "the budget ended before any config was measured, so there is no pack; to continue, run: {}",
            paste::this_command()
        ));
        return Ok(swept);
    }
    let wish = PackWish {
        tiers: args.promises.clone(),
        most: None,
        uses: UseSet::new(&args.uses),
        portable: args.portable.iter().flatten().copied().collect(),
    };
    let of_rows = RowArgs { operator: args.parts.input().map(Path::to_owned), other_sources: false };
    let made = made(&[rows], &of_rows, &wish, tools)?;
    finish(&made.pack, &output, &pack, &made.tiers, args.format)?;
    if swept == Exit::Incomplete {
        note(&format!(
            "not everything was measured in this time; the pack has the best of what was; to continue, run: {}",
            paste::this_command()
        ));
    }
    // What was wrong is in no pack, and still something that the user has to hear of.
    Ok(if swept == Exit::WrongResult { swept } else { Exit::Done })
}

/// The sweep that a user would have asked for.
fn sweep_args(
    args: &TuneArgs,
    problem: &Problem,
    rows: &Path,
    sizes: Option<&str>,
) -> anyhow::Result<SweepArgs> {
    let budget = format!("{}ms", args.budget.as_millis());
    let mut line: Vec<OsString> =
        ["sweep", "--device", &args.device, "--space", &args.space].map(Into::into).into();
    line.extend(["--confirm", CONFIRMED, "--budget", &budget, "--out"].map(OsString::from));
    line.push(rows.into());
    line.extend(sizes.into_iter().flat_map(|sizes| ["--sizes", sizes]).map(OsString::from));
    line.extend(args.sharing.flags().into_iter().map(OsString::from));
    let flags = if args.problem.is_some() { problem.flags() } else { args.parts.flags(problem) };
    line.extend(flags.into_iter().map(OsString::from));
    let command = SweepArgs::augment_args(clap::Command::new("sweep"));
    Ok(SweepArgs::from_arg_matches(&command.try_get_matches_from(line)?)?)
}
