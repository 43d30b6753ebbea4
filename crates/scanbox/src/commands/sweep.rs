//! `scanbox sweep`: enumerate, skip what is done, measure the rest, append row by row, sum up.

mod ending;
mod estimate;
mod many;
mod place;
mod split;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use scanbox_model::device::DeviceKind;
use scanbox_model::known_issues::DeviceIssues;
use scanbox_model::problem::Problem;
use scanbox_model::shard::ShardOf;
use scanbox_model::space::{Point, Space};
use scanbox_model::units::{plural, printable};
use scanbox_runner::measure::Protocol;

use self::ending::summarise;
use self::estimate::{TimeEstimate, duration, estimate};
use self::many::DeviceSweep;
pub use self::many::SweepsJson;
use self::place::{SweepPlace, check_folder, file_stem, is_file};
use crate::args::attempt::AttemptArgs;
use crate::args::budget::parse_budget;
use crate::args::format::TABLE_OR_JSON;
use crate::args::problem::Elements;
use crate::args::shard::AskedSpace;
use crate::args::sharing::SharingArgs;
use crate::args::space::SpaceSelection;
use crate::args::time::{parse_duration, parse_limit};
use crate::args::words::words;
use crate::exit::{Exit, UsageError};
use crate::output::{OutputContent, Outputs};
use scanbox_report::document::Format;
use scanbox_report::words::ceilings as ceilings_word;
use scanbox_report::{paste, terminal};
use scanbox_session::anchors::{Anchors, any_due};
use scanbox_session::confirm::ROUNDS;
use scanbox_session::device::{remembered, replay_script};
use scanbox_session::failure::{Cause, SessionError};
use scanbox_session::lock::check_free;
use scanbox_session::notes::note;
use scanbox_session::probe::{self, guarantees};
use scanbox_session::process::{RunLimits, Worker, WorkerCommand};
use scanbox_session::signals::stop_with_parent;
use scanbox_session::store::{
    Before, FileSubject, Resume, RowKey, SweepFile, device_before, guarantees_before, point_key, row_key,
    sizes_without_ceiling, stays, wrong_before,
};
use scanbox_session::sweep::{self, Asked};
use scanbox_session::system::may_read_and_write;
use scanbox_session::tools::{Tools, try_operator};

/// Arguments of `scanbox sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The device: index (see `scanbox devices`), name, UUID or PCI address; `auto`: the one that a batch system
    /// gave to this process; given more than once, or `all`: several at the same time
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: Vec<String>,

    /// Share the space among several equal devices: each sweeps a shard (whole sizes) at the same time, and the rows
    /// are merged at the end
    #[arg(long, conflicts_with_all = ["shard", "shard_by"])]
    split: bool,

    #[command(flatten)]
    selection: SpaceSelection,

    /// The elements
    #[arg(long, value_name = "INPUT", value_enum, default_value_t = Elements::Random)]
    input: Elements,

    /// Stop after this time, for example 10m, or in time before a moment: until-job-end (of Slurm),
    /// until-2026-12-01T08:00:00Z; the same command continues later
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,

    /// Give up on a config that takes longer: its worker process is killed and replaced
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "30s")]
    timeout: Duration,

    /// Minimum time for which the same kernel runs right before its first sample: clocks fall when a device idles
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "8ms")]
    warm_up: Duration,

    /// Minimum number of samples per config; more are taken while their spread is large
    #[arg(long, value_name = "NUMBER", default_value_t = Protocol::default().samples_min, value_parser = clap::value_parser!(u32).range(3..=1000))]
    samples: u32,

    /// After the sweep, measure this many of the fastest configs of each size again, in alternating blocks, and with
    /// them what the answers name (runner-up, best kernel, portfolios). The winner of a size is then the fastest of
    /// these
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=1000))]
    confirm: Option<u32>,

    /// Blocks of each of them
    #[arg(long, value_name = "NUMBER", default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// The file to write, if it ends with .csv, else the folder for DEVICE.SPACE.csv
    #[arg(long, value_name = "PATH", default_value = "results")]
    out: PathBuf,

    /// Seed of the order and of the input
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,

    /// Continue on another unit of the same model and driver
    #[arg(long)]
    accept_device: bool,

    /// Continue with another space, or another definition of it, than that of the rows in the file: the file then
    /// belongs to the space of this run
    #[arg(long)]
    accept_space: bool,

    /// Measure the rows of the file again that are not ok; a wrong row stays in the file, and only an ok row with
    /// --prove outweighs it
    #[arg(long)]
    retry_failed: bool,

    /// With --retry-failed: measure a wrong config again with 1,000 calls of the timed path, compare each of 1,000 more
    /// calls, and verify every circumstance of `verify`. Only then its ok row counts. It may take 20 times --timeout
    #[arg(long)]
    prove: bool,

    #[command(flatten)]
    sharing: SharingArgs,

    #[command(flatten)]
    attempt: AttemptArgs,

    /// Print what the command would do, and do nothing
    #[arg(long)]
    dry_run: bool,

    /// How the summary is printed on stdout: as a table, or as one JSON object with rows by status, points left, wrong
    /// results, exit code and files
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table", conflicts_with = "dry_run")]
    format: Format,

    /// Whether it is a step of another command, which names the file.
    #[arg(skip)]
    pub is_step: bool,
}

/// Sweeps. `given` are the arguments without the devices.
pub fn run(args: &SweepArgs, tools: &Tools, given: &dyn Fn() -> Vec<OsString>) -> anyhow::Result<Exit> {
    stop_with_parent();
    let all = args.device.iter().any(|device| device == many::ALL);
    let devices = if all { many::all_devices(tools)? } else { args.device.clone() };
    if args.split && devices.len() < 2 {
        note(
            "--split: there is one device, which sweeps the whole space into a file of its own; nothing is merged",
        );
    }
    match devices.as_slice() {
        [device] => sweep_one(device, args, tools),
        // Without any usable device, opening the first one says why.
        [] => sweep_one("0", args, tools),
        several if args.attempt.folders().is_some() => {
            let message = format!(
                "an attempt has one device, and here are {}; give each a sweep of its own",
                several.len()
            );
            Err(UsageError(message).into())
        }
        several if args.split => {
            many::check_distinct(several, tools)?;
            split::run(several, args, &given(), tools)
        }
        several if is_file(&args.out) => {
            let message = format!(
                "{} is one file for {} devices; give --out a folder",
                args.out.display(),
                several.len()
            );
            Err(UsageError(message).into())
        }
        several => {
            many::check_distinct(several, tools)?;
            let given = given();
            let sweep = |device: &String| DeviceSweep { device: device.clone(), arguments: given.clone() };
            many::run(&several.iter().map(sweep).collect::<Vec<_>>(), None, args.format)
        }
    }
}

impl SweepArgs {
    /// `results/<device>.<space>.csv`, or the file that the user names. Another unit of the same model has its number;
    /// a problem that is not the default, an input that is not, and a shard have their names too.
    fn path(&self, worker: &Worker, space: &Space, problem: &Problem, real: bool) -> PathBuf {
        if is_file(&self.out) {
            return self.out.clone();
        }
        // Attempts go on wherever there is a unit of the model.
        let unit = if self.attempt.folders().is_some() { 0 } else { worker.unit };
        let shard = self.selection.shard.file_word().map_or_else(String::new, |word| format!(".{word}"));
        let stem = file_stem(&worker.profile, unit, space, problem, real);
        self.out.join(format!("{stem}{shard}.csv"))
    }

    fn asked(&self, real: bool, anchors: Anchors, first: Option<HashSet<Point>>) -> Asked {
        Asked {
            real,
            seed: self.seed,
            protocol: Protocol::default().with(self.warm_up, self.samples).within(self.timeout),
            timeout: self.timeout,
            prove: self.prove,
            confirm: self.confirm,
            rounds: self.rounds,
            shared_device: self.sharing.sharing().share_device,
            anchors,
            first,
        }
    }
}

/// Says how to go on after an error that came when rows were there.
fn goes_on(rows: usize, path: &Path) {
    let path = paste::path(path);
    note(&format!(
        "{rows} rows were written to {path}; to continue from there, run: {}",
        paste::this_command()
    ));
}

fn sweep_one(selector: &str, args: &SweepArgs, tools: &Tools) -> anyhow::Result<Exit> {
    if args.confirm.is_some() && args.selection.shard.splits_sizes() {
        let message = "--confirm measures the leaders of a size against each other, and a shard by pipeline has only some \
                       configs of each: sweep all shards, merge them, then sweep the merged file with --confirm";
        return Err(UsageError(message.to_owned()).into());
    }
    let (problem, operator) = args.selection.problem.problem()?;
    let real = args.input.real(&problem)?;
    let mut space = args.selection.load(&problem)?;
    tools.warn_of_cache();
    let compiler = tools.compiler()?;
    let limits = RunLimits::of_run(args.budget)?;
    let folders = args.attempt.folders();
    if let Some(folders) = &folders {
        folders.check()?;
    }
    let mut command = WorkerCommand::new(selector, operator.as_ref(), tools);
    let mut worker = command.start(&limits)?;
    command.stay_with(&worker);
    let in_place = |worker: &Worker, space: &Space| {
        SweepPlace::of(args.path(worker, space, &problem, real), folders.as_ref(), args.dry_run, &limits)
    };
    let mut place = in_place(&worker, &space)?;
    let mut path = place.path().to_owned();
    let asks = args.selection.asks_device(&space);
    let mut other = place.other_command();
    let before = place.check(|csv| device_before(csv, asks, place.elsewhere(&other)))?;
    let others = place.other_shards();
    let began = before.is_some();
    let of_others = others.device(&worker.profile);
    let adopted = before.is_none() && of_others.is_some();
    match before.as_ref().or(of_others) {
        Some(before) => worker.profile.arguments_probe.clone_from(&before.arguments_probe),
        // It does nothing, so that nothing is measured either.
        None if asks && args.dry_run => {
            worker.profile.arguments_probe = probe::kept(&worker.profile, tools);
        }
        None if asks => worker = probe::inform(worker, &command, &args.sharing.sharing(), &limits)?,
        None => {}
    }
    let everything = args.selection.enumerate(&space, &problem, &guarantees::with_all(&worker.profile))?;
    let version = remembered::version(&worker.profile, tools);
    let found = guarantees_before(&path, &worker.profile, &version);
    if let Some(before) = found.or_else(|| others.guarantees(&worker.profile, &version)) {
        let before = match &worker.profile.guarantee_facts.probe {
            // What was seen since closes points all the same.
            Some(kept) => before.refuted_by(kept),
            None => before,
        };
        guarantees::tell(&mut worker, &mut command, before);
    } else if !args.dry_run {
        let configs = everything.points.iter().map(|point| &point.config);
        worker = guarantees::inform_for(configs, worker, &mut command, &args.sharing.sharing(), &limits)?;
    }
    if let Some(safe) = args.selection.instead(&space, &problem, &worker.profile)? {
        note(&format!(
            "every kernel of space {} waits for others, and the workgroups of this device make no progress meanwhile: space {} \
             takes its place; --assume progress tries them all the same",
            space.name, safe.name
        ));
        space = safe;
        place = in_place(&worker, &space)?;
        other = place.other_command();
        path = place.path().to_owned();
    }
    match asks {
        true if began => probe::tell_of_sweep(&worker.profile, "as when this file began"),
        true if adopted => probe::tell_of_sweep(&worker.profile, "as in the other shards"),
        true => probe::tell(&worker.profile),
        false => {}
    }
    let device = worker.profile.clone();
    let enumeration = args.selection.enumerate(&space, &problem, &device)?;
    if enumeration.points.is_empty() {
        return Err(args.selection.why_none(&space, &problem, &device, tools.flags_on(selector))?.into());
    }
    if let Some(text) = args.selection.sizes_without_config(&enumeration) {
        note(&format!("warning: {text}"));
    }
    let AskedSpace { enumeration, shard, anchors } = args.selection.shard.part(enumeration, &problem)?;
    shard.as_ref().map_or(Ok(()), |shard| others.check(shard))?;
    let inputs = args.selection.inputs().chain(replay_script(selector));
    Outputs::beside(inputs).claim("--out", &path, OutputContent::Sweep)?;
    let resume = Resume {
        // Attempts go on wherever there is a unit of the model; rows say which one it was.
        accept_device: args.accept_device || folders.is_some(),
        retry_failed: args.retry_failed,
        prove: args.prove,
        accept_space: args.accept_space,
    };
    let kernel_hash = compiler.kernel_hash_of(device.api);
    try_operator(compiler, operator.as_ref(), &problem, &device)?;
    let subject = FileSubject {
        device: &device,
        space: &space,
        enumeration: &enumeration,
        shard: shard.as_ref(),
        kernel_hash: &kernel_hash,
        problem: &problem,
        real,
        seed: Some(args.seed).filter(|_| folders.is_some() || shard.is_some()),
        elsewhere: place.elsewhere(&other),
    };
    if args.dry_run {
        let before = place.check(|csv| Before::check(csv, &subject, resume))?;
        return dry_run(args, &place, &subject, &before, &anchors);
    }
    if folders.is_some() {
        place.check(|csv| Before::check(csv, &subject, resume))?;
    }
    let sharing = args.sharing.sharing();
    let lock = place.lock(&sharing, &limits)?;
    let (worker, occupied) = sharing.occupy(worker, &mut command, &limits)?;
    let mut file = SweepFile::open(&path, &subject, resume, lock)?;
    file.occupied = Some(occupied);
    introduce(&subject, &file.issues, &file.points_to_do(&enumeration), &path);
    let ceilings = file.sizes_without_ceiling(&enumeration).len();
    if file.points_to_do(&enumeration).is_empty() && ceilings > 0 {
        note(&format!("{} not measured yet: {}", ceilings_word(&problem), plural(ceilings, "size")));
    }
    let points_left = !file.points_to_do(&enumeration).is_empty();
    if let Some(reason) = place.off(&device).filter(|_| points_left) {
        return Err(SessionError::Worker { reason, cause: Cause::NoDevice }.into());
    }
    let anchors_left = any_due(&anchors, points_left, &file.anchors, &device);
    place.begin(points_left || ceilings > 0 || anchors_left || args.confirm.is_some());
    let first = match args.budget {
        Some(_) => Some(args.selection.promising(&space, &problem, &device, &enumeration.points)?),
        None => None,
    };
    let asked = args.asked(real, anchors, first);
    let shown = place.shown();
    let goes_on = |file: &SweepFile| goes_on(file.records.len(), &shown);
    let ran = sweep::run(&asked, command, worker, limits, &enumeration, &mut file, &goes_on)?;
    summarise(args, &mut file, place, &device, &enumeration, &ran)
}

/// Says what a run would do. Whatever that would refuse has been refused before, by the same checks.
fn dry_run(
    args: &SweepArgs,
    place: &SweepPlace,
    subject: &FileSubject<'_>,
    before: &Before,
    anchors: &Anchors,
) -> anyhow::Result<Exit> {
    let &FileSubject { device, space, enumeration, shard, problem, .. } = subject;
    let path = place.path();
    check_free(path)?;
    check_folder(path)?;
    if path.exists() && !may_read_and_write(path) {
        anyhow::bail!("{} cannot be written; choose another place with --out", path.display());
    }
    let resume = Resume { retry_failed: args.retry_failed, prove: args.prove, ..Resume::default() };
    let again = wrong_before(&before.rows, &before.anchors, resume);
    let kept = before.rows.iter().filter(|record| !args.retry_failed || stays(record));
    let done: HashSet<RowKey> = kept.map(row_key).filter(|key| !again.contains(key)).collect();
    let to_do = enumeration.points.iter().filter(|point| !done.contains(&point_key(point)));
    let to_do: Vec<Point> = to_do.copied().collect();
    let ceilings = sizes_without_ceiling(enumeration, &to_do, &before.rows, before.metadata.as_ref());
    let sizes: Vec<u64> = to_do.iter().map(|point| point.n).collect();
    let to_do = to_do.len();
    let mut out = stdout().lock();
    writeln!(out, "device     {}", printable(&device.title()))?;
    writeln!(
        out,
        "space      {}, {} configs, {} pipelines",
        space.name,
        enumeration.points.len(),
        enumeration.pipelines().len()
    )?;
    if let Some(shard) = shard {
        writeln!(out, "shard      {}", shard_words(shard))?;
    }
    let mut beside = String::new();
    if to_do == 0 && !ceilings.is_empty() {
        beside += &format!(", and the {} of {}", problem.ceiling(), plural(ceilings.len(), "size"));
    }
    if any_due(anchors, to_do > 0, &before.anchors, device) {
        beside += ", and anchors";
    }
    writeln!(out, "to do      {to_do}{beside}")?;
    if let Some(TimeEstimate { seconds, basis }) =
        estimate(&sizes, problem.element().bytes(), path, before.metadata.as_ref(), device)
    {
        let about = if seconds < 1.0 { "" } else { "about " };
        let mut text = format!("{about}{} ({basis})", duration(seconds));
        if let Some(budget) = args.budget.filter(|budget| budget.as_secs_f64() < seconds) {
            text += &format!("; --budget ends it after {}", duration(budget.as_secs_f64()));
        }
        if args.confirm.is_some() {
            text += "; then the confirmation, which is not in this";
        }
        writeln!(out, "{}", terminal::fold("time       ", &text, 11, terminal::width()))?;
    }
    writeln!(out, "file       {}", paste::path(&place.shown()))?;
    Ok(Exit::Done)
}

/// Which part of a space, for people.
fn shard_words(shard: &ShardOf) -> String {
    let ShardOf { index, count, by, of_points, .. } = shard;
    format!("{index} of {count} by {}, of {of_points} configs in all", by.word())
}

fn introduce(subject: &FileSubject<'_>, issues: &DeviceIssues, to_do: &[Point], path: &Path) {
    let &FileSubject { device, space, enumeration, shard, .. } = subject;
    note(&format!("{}, {}", device.title(), device.driver));
    if device.kind == DeviceKind::Software {
        note("a software device: right for correctness, its times mean nothing for GPUs");
    }
    for issue in &issues.active {
        note(&format!("known issue {}: {}", issue.id, issue.why));
    }
    let all = enumeration.points.len();
    let done = all - to_do.len();
    let resumed = if done == 0 { String::new() } else { format!(", {done} of them done before") };
    if let Some(shard) = shard {
        note(&format!("shard {}", shard_words(shard)));
    }
    note(&format!("space {}: {all} configs{resumed}; rows go to {}", space.name, path.display()));
}
