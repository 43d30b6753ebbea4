//! `scanbox tune`: from a device to a pack, for who does not care how.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, FromArgMatches};
use scanbox_model::config::{Arguments, Parameter};
use scanbox_model::device::DeviceKind;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Record, Status};
use scanbox_model::sizes::Sizes;
use scanbox_model::units::{size_label, slug};
use scanbox_pack::{CallTrait, Promises};
use scanbox_report::document::Format;
use scanbox_report::pack_tried::{PackTried, TriedCounts};
use scanbox_report::paste;
use scanbox_session::device::{profile, replay_script};
use scanbox_session::notes::note;
use scanbox_session::pack::{PackWish, UseSet};
use scanbox_session::signals::is_asked_to_stop;
use scanbox_session::store::rows_before;
use scanbox_session::tools::Tools;

use super::pack::{PackTold, exit_of, finish, report, tried};
use super::sweep::{self, SweepArgs};
use crate::args::format::TABLE_OR_JSON;
use crate::args::problem::ProblemArgs;
use crate::args::sharing::SharingArgs;
use crate::args::shipping::{ALL_USES, PORTABLE, RowArgs, made, problem, promises, subgroup_size, use_word};
use crate::args::time::parse_limit;
use crate::args::words::words;
use crate::exit::Exit;
use crate::output::{OutputContent, Outputs};

/// Configs of each size that are confirmed.
const CONFIRMED: &str = "8";

/// What is measured of a space on software devices, where nobody says anything else: memory for the largest sizes, and
/// their first calls, would take such a device all of the time.
const SOFTWARE_SIZES: &str = "2^10..2^20";

/// What is measured with a budget of less than [`ALL_SIZES`]: every second size of the space `handover`, whose 2,300
/// points and confirmation take an H200 150 s.
const FEW_SIZES: &str = "2^10,2^12,2^14,2^16,2^18,2^20,2^22,2^24,2^26,2^28,2^29";
const ALL_SIZES: Duration = Duration::from_secs(240);

/// How long a kernel may take in one use while the pack is tried.
const TRIAL: Duration = Duration::from_secs(60);

/// Arguments of `scanbox tune`.
#[derive(Debug, Clone, Args)]
pub struct TuneArgs {
    /// The device: index (see `scanbox devices`), name, UUID or PCI address
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// What is computed, as TYPE:OPERATOR:MODE with :in-place, :reverse, :init=VALUE, :total or :init-in-memory behind,
    /// for example u32:add:exclusive
    #[arg(
        long,
        value_name = "PROBLEM",
        value_parser = problem,
        conflicts_with_all = [
            "op", "element", "operator", "mode", "init", "in_place", "reverse", "total", "init_in_memory",
        ]
    )]
    problem: Option<Problem>,

    #[command(flatten)]
    parts: ProblemArgs,

    /// Stop measuring and confirming after three quarters of this time, and pack the rows so far; the same command
    /// continues later. The rest is for compiling the pack and trying each of its kernels: nothing stops these two, so
    /// the whole command may take longer. With less than 4 min, every second size is measured. The exit code of a spent
    /// budget is 0 if it left a pack, and 4 if nothing was measured
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "2m")]
    budget: Duration,

    /// The kernels to try: a space, as in `scanbox sweep`
    #[arg(long, default_value = "handover", value_name = "NAME|FILE")]
    space: String,

    /// Only these input sizes, as of `scanbox sweep` [default: those of the space, or by --budget; on software devices
    /// up to 2^20]
    #[arg(long, value_name = "SIZES")]
    sizes: Option<Sizes>,

    /// Sets of promises that programs may make, as in `scanbox pack`
    #[arg(long, value_name = "SETS", value_delimiter = ',', value_parser = promises, default_value = "none,progress")]
    promises: Vec<Promises>,

    /// Uses, as in `scanbox pack`
    #[arg(long, value_name = "WORDS", value_delimiter = ',', value_parser = use_word, default_value = ALL_USES)]
    uses: Vec<CallTrait>,

    /// Subgroup sizes that get kernels for devices that nobody has measured, or none
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = subgroup_size, default_value = PORTABLE)]
    portable: Vec<Option<u32>>,

    /// The folder for the pack and its rows [default: the user's data folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,

    /// How long a config may take while it is measured, and a kernel in one use while the pack is tried [default: 30s
    /// and 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_limit)]
    timeout: Option<Duration>,

    #[command(flatten)]
    sharing: SharingArgs,

    /// How to write what is in the pack
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Measures, confirms, packs, and tries the pack.
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
    // Rows of other kernels are no beginning of these, nor are those of another text of an operator.
    let mut hash = tools.compiler()?.kernel_hash().to_owned();
    if let Some(user) = problem.user() {
        hash = format!("{hash}.{}", user.hash_text());
    }
    let (rows, pack) = (folder.join(format!("{name}.{hash}.csv")), folder.join(format!("{name}.scanpack")));
    let space = Path::new(&args.space);
    let inputs = args.parts.input().into_iter().chain(space.exists().then_some(space));
    let mut outputs = Outputs::beside(inputs.chain(replay_script(&args.device)));
    let output = outputs.claim("--folder", &pack, OutputContent::Pack)?;
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let sizes = args.sizes.as_ref().map(ToString::to_string);
    // A space of the user's own has the sizes that he wants.
    let by_us = || if space.exists() { None } else { sizes_of(device.kind, args.budget) };
    let sizes = sizes.or_else(|| by_us().map(str::to_owned));
    let began = Instant::now();
    let swept = sweep::run(&sweep_args(args, &problem, &rows, sizes.as_deref())?, tools, &Vec::new)?;
    if !matches!(swept, Exit::Done | Exit::WrongResult | Exit::Incomplete) {
        return Ok(swept);
    }
    let records = rows_before(&rows)?;
    let sizes = sizes_measured(&records);
    let measured = began.elapsed();
    let ended = (swept == Exit::Incomplete).then(|| TuneEnd::of(measured, args.budget));
    let of_plan = Planned::of(&rows, &records, &sizes);
    if let Some(ended) = ended.filter(|_| sizes.is_empty()) {
        let place = match ended == TuneEnd::Budget && records.is_empty() {
            true => "in the set-up, before any config was measured, so there is no pack",
            false => "before any config was ok, so there is no pack",
        };
        note(&ended.told(place));
        return Ok(swept);
    }
    if let Some(text) = of_plan.nothing_at().filter(|_| ended.is_none()) {
        note(&format!("warning: {text}"));
    }
    let wish = PackWish {
        tiers: args.promises.clone(),
        most: None,
        uses: UseSet::new(&args.uses),
        portable: args.portable.iter().flatten().copied().collect(),
    };
    let operator = args.parts.input().map(Path::to_owned);
    let helps = match ended {
        Some(TuneEnd::Budget) => "; a longer --budget measures some",
        Some(_) => "; the same command, run again, measures some",
        None => "",
    };
    let of_rows = RowArgs { operator, other_sources: false, of_own: Some(helps) };
    let made = made(std::slice::from_ref(&rows), &of_rows, &wish, tools)?;
    finish(&made.pack, &output, &pack, &PackTold::of(&made, &args.promises), args.format)?;
    if let Some(ended) = ended {
        note(&ended.told(&format!("{}; the pack has the best of what was measured", of_plan.place())));
    }
    // Rows are of kernels as they were swept; the pack has other builds, which nobody has run so far.
    let tried =
        if replay_script(&args.device).is_none() { try_pack(&pack, args, tools)? } else { Exit::Done };
    note(&times_told(args.budget, measured, began.elapsed()));
    if let Some(command) = at_size(&rows, &sizes) {
        note(&format!("to see what to use at a size, run: {command}"));
    }
    // What was wrong in the sweep is in no pack, and still something that the user has to hear of.
    Ok(if swept == Exit::WrongResult { swept } else { tried })
}

/// How long it took, and what of that the budget covers.
fn times_told(budget: Duration, measured: Duration, all: Duration) -> String {
    let seconds = |time: Duration| format!("{:.0} s", time.as_secs_f64());
    let (whole, packed) = (seconds(all), seconds(all.saturating_sub(measured)));
    let told = format!(
        "{whole}: {} to measure and confirm, {packed} to compile and try the pack",
        seconds(measured)
    );
    match all > budget {
        true => format!("it took {told}, which --budget does not stop"),
        false => format!("it took {told}"),
    }
}

/// The sizes at which something is ok.
fn sizes_measured(records: &[Record]) -> BTreeSet<u64> {
    records.iter().filter(|row| row.status == Status::Ok).map(|row| row.n_elements).collect()
}

/// What ended measuring before everything was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TuneEnd {
    Budget,
    User,
    /// Something that the sweep has named.
    Trouble,
}

impl TuneEnd {
    fn of(measured: Duration, budget: Duration) -> Self {
        match is_asked_to_stop() {
            true => Self::User,
            false if measured >= measuring(budget) => Self::Budget,
            false => Self::Trouble,
        }
    }

    /// That it ended there, what helps, and how to go on.
    fn told(self, place: &str) -> String {
        let (what, helps) = match self {
            Self::Budget => ("the budget", "; a longer --budget measures more"),
            Self::User => ("you", ""),
            Self::Trouble => ("the sweep", ""),
        };
        let how = if self == Self::User { "stopped measuring" } else { "ended" };
        format!("{what} {how} {place}{helps}; to continue, run: {}", paste::this_command())
    }
}

/// How much of what was planned has rows.
#[derive(Debug, Default)]
struct Planned {
    measured: u64,
    points: u64,
    /// Sizes at which nothing is ok.
    without: Vec<String>,
}

impl Planned {
    fn of(rows: &Path, records: &[Record], measured: &BTreeSet<u64>) -> Self {
        let Ok(metadata) = Metadata::read(&Metadata::path_beside(rows)) else { return Self::default() };
        let points: BTreeSet<_> = records.iter().map(|row| (&row.config_id, row.n_elements)).collect();
        let without = metadata.space.sizes.iter().filter(|n| !measured.contains(n)).map(size_label);
        Self { measured: points.len() as u64, points: metadata.points, without: without.collect() }
    }

    /// At which sizes nothing was measured, where there are some.
    fn nothing_at(&self) -> Option<String> {
        let sizes = self.without.join(", ");
        (!sizes.is_empty()).then(|| format!("nothing was measured at {sizes}"))
    }

    /// How far measuring came.
    fn place(&self) -> String {
        let Self { measured, points, .. } = self;
        if measured >= points {
            return "before the leaders of all sizes were measured again".to_owned();
        }
        let without = self.nothing_at().map_or_else(String::new, |text| format!(", and {text}"));
        format!("after {measured} of {points} points{without}")
    }
}

/// The command that says what to use at a size, as at the middle one of those that were measured.
fn at_size(rows: &Path, measured: &BTreeSet<u64>) -> Option<String> {
    let n = measured.iter().nth(measured.len() / 2)?;
    let (program, rows, n) = (paste::program(), rows.to_string_lossy(), n.to_string());
    Some(paste::line([program.as_str(), "analyze", &rows, "--at", &n]))
}

/// Which sizes of a space are measured, where not all are.
fn sizes_of(kind: DeviceKind, budget: Duration) -> Option<&'static str> {
    match kind {
        DeviceKind::Software => Some(SOFTWARE_SIZES),
        _ if budget < ALL_SIZES => Some(FEW_SIZES),
        _ => None,
    }
}

/// Runs every kernel of the pack in every use, and says how that went.
fn try_pack(path: &Path, args: &TuneArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let limits = (args.timeout.unwrap_or(TRIAL), args.sharing.sharing());
    let checked = tried(path, &args.device, args.parts.input(), limits, tools)?;
    let name = path.display().to_string();
    let report = report(&name, &checked);
    let TriedCounts { right, wrong, failed, not_tried } = report.counts();
    let trouble = checked.trouble.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    note(&format!(
        "the kernels of the pack, each in each use, through the library: {right} right, {wrong} wrong, {failed} failed, \
         {not_tried} that this device cannot run{trouble}"
    ));
    let exit = exit_of(&report);
    if exit != Exit::Done {
        note(&after_trial(&name, args.parts.input(), &report));
    }
    Ok(exit)
}

/// What to do with a pack of which not every kernel was right.
fn after_trial(name: &str, operator: Option<&Path>, report: &PackTried<'_>) -> String {
    let is_slow = report.verdicts.iter().any(|verdict| verdict.status == Status::Timeout);
    let is_bad = |status| !matches!(status, Status::Ok | Status::Unsupported | Status::Timeout);
    let operator = operator.map_or_else(String::new, |path| format!(" --operator {}", paste::path(path)));
    let file = format!("{}{operator}", paste::quoted(name));
    match report.verdicts.iter().any(|verdict| is_bad(verdict.status)) {
        false if is_slow => format!(
            "not every kernel of {name} was tried: `scanbox pack --check {file} --timeout 10m` gives each one longer"
        ),
        _ => format!("do not ship {name}: `scanbox pack --check {file}` says more"),
    }
}

/// What of a budget is for measuring; the rest is for compiling the pack and trying it.
fn measuring(budget: Duration) -> Duration {
    (budget * 3 / 4).max(Duration::from_millis(1))
}

/// The sweep that a user would have asked for.
fn sweep_args(
    args: &TuneArgs,
    problem: &Problem,
    rows: &Path,
    sizes: Option<&str>,
) -> anyhow::Result<SweepArgs> {
    let budget = format!("{}ms", measuring(args.budget).as_millis());
    let mut line: Vec<OsString> =
        ["sweep", "--device", &args.device, "--space", &args.space].map(Into::into).into();
    line.extend(["--confirm", CONFIRMED, "--budget", &budget, "--out"].map(OsString::from));
    line.push(rows.into());
    line.extend(sizes.into_iter().flat_map(|sizes| ["--sizes", sizes]).map(OsString::from));
    if let Some(timeout) = args.timeout {
        line.extend(["--timeout".into(), format!("{}ms", timeout.as_millis()).into()]);
    }
    // What no use can take is not measured.
    let arguments: Vec<&str> = UseSet::new(&args.uses).arguments().map(Parameter::word).collect();
    if arguments.len() < Arguments::VALUES.len() {
        line.extend(["--filter".into(), format!("arguments={}", arguments.join("|")).into()]);
    }
    line.extend(args.sharing.flags().into_iter().map(OsString::from));
    let flags = if args.problem.is_some() { problem.flags() } else { args.parts.flags(problem) };
    line.extend(flags.into_iter().map(OsString::from));
    let command = SweepArgs::augment_args(clap::Command::new("sweep"));
    let mut swept = SweepArgs::from_arg_matches(&command.try_get_matches_from(line)?)?;
    swept.is_step = true;
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_budget_does_not_stop_is_told() {
        let told =
            |all| times_told(Duration::from_secs(10), Duration::from_secs(8), Duration::from_secs(all));
        let both = "8 s to measure and confirm, 41 s to compile and try the pack";
        assert_eq!(told(49), format!("it took 49 s: {both}, which --budget does not stop"));
        assert!(told(9).ends_with("1 s to compile and try the pack"), "{}", told(9));
    }

    #[test]
    fn what_ended_measuring_is_told_with_what_helps() {
        let check = |end: TuneEnd, planned: Planned, said: &str| {
            let told = end.told(&planned.place());
            let (told, _) = told.split_once("; to continue, run: ").unwrap();
            assert_eq!(told, said);
        };
        let planned = |measured, without: &[&str]| Planned {
            measured,
            points: 24,
            without: without.iter().map(|&size| size.to_owned()).collect(),
        };
        check(
            TuneEnd::Budget,
            planned(12, &["2^20", "2^22"]),
            "the budget ended after 12 of 24 points, and nothing was measured at 2^20, 2^22; a longer --budget measures more",
        );
        let more = "the budget ended after 12 of 24 points; a longer --budget measures more";
        check(TuneEnd::Budget, planned(12, &[]), more);
        check(TuneEnd::User, planned(3, &[]), "you stopped measuring after 3 of 24 points");
        let end = "the sweep ended before the leaders of all sizes were measured again";
        check(TuneEnd::Trouble, planned(24, &[]), end);
        let second = Duration::from_secs(1);
        assert_eq!(TuneEnd::of(second * 3 / 4, second), TuneEnd::Budget);
        assert_eq!(TuneEnd::of(second / 2, second), TuneEnd::Trouble);
    }

    #[test]
    fn a_small_budget_is_for_every_second_size() {
        let default = Duration::from_secs(120);
        assert_eq!(sizes_of(DeviceKind::Hardware, default), Some(FEW_SIZES));
        assert_eq!(sizes_of(DeviceKind::Hardware, ALL_SIZES), None);
        assert_eq!(sizes_of(DeviceKind::Software, ALL_SIZES), Some(SOFTWARE_SIZES));
        for sizes in [FEW_SIZES, SOFTWARE_SIZES] {
            assert!(sizes.parse::<Sizes>().is_ok(), "{sizes}");
        }
    }
}
