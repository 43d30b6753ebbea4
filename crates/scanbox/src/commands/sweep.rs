//! `scanbox sweep`: enumerate, skip what is done, measure the rest, append row by row, sum up.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use scanbox_kernels::glsl::Compiler;
use scanbox_model::csv_file::Appender;
use scanbox_model::device::DeviceProfile;
use scanbox_model::metadata::{Metadata, Run};
use scanbox_model::record::{Clock, Record, SCHEMA, Status};
use scanbox_model::space::{Enumeration, Point, Space};
use scanbox_model::units::{size_label, slug};
use scanbox_runner::backend::Failure;
use scanbox_runner::measure::Protocol;
use scanbox_runner::sweep::{self, End, Event, Job, Origin, Outcome, now_utc};
use scanbox_runner::vulkan;

use super::progress::Progress;
use super::space::SpaceSelection;
use super::{Exit, UsageError, cache_folder, compiler, complain, device_profile, open_device};
use crate::cli::Cli;

/// Arguments of `scanbox sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The device: index (see `scanbox devices`), name or UUID
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    #[command(flatten)]
    selection: SpaceSelection,

    /// Stop after this time, for example 10m; the same command goes on later
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    budget: Option<Duration>,

    /// Give up on a config whose single submission takes longer
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30s")]
    timeout: Duration,

    /// The file to write, if it ends with .csv, else the folder for <device>.<space>.csv
    #[arg(long, value_name = "PATH", default_value = "results")]
    out: PathBuf,

    /// Seed of the order and of the input
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,

    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = text.parse().map_err(|_| format!("`{text}` is no time: write 90s, 10m or 2h"))?;
    Duration::try_from(span).map_err(|_| "a time is not negative".to_owned())
}

/// Sweeps.
pub fn run(args: &SweepArgs, cli: &Cli) -> anyhow::Result<Exit> {
    let space = args.selection.load()?;
    let device = device_profile(&args.device)?;
    let enumeration = args.selection.enumerate(&space, &device);
    if enumeration.points.is_empty() {
        let hint = "`scanbox space` with the same arguments shows which rules reject its configs";
        return Err(UsageError(format!("no config of space {} is left on {}; {hint}", space.name, device.title())).into());
    }
    let path = output_path(&args.out, &device, &space);
    if args.dry_run {
        return dry_run(&path, &device, &space, &enumeration);
    }

    let compiler = compiler(cli)?;
    let mut file = SweepFile::open(&path, &device, &space, &enumeration, &compiler.kernel_hash())?;
    let points = file.points_to_do(&enumeration);
    introduce(&device, &space, &enumeration, &points, &path);
    let outcome = if points.is_empty() {
        None
    } else {
        Some(measure_points(args, cli, &compiler, &mut file, points, &space)?)
    };
    summarise(&file, &path, outcome.as_ref())
}

/// `results/<device>.<space>.csv`, or the file that the user names.
fn output_path(out: &Path, device: &DeviceProfile, space: &Space) -> PathBuf {
    if out.extension().is_some_and(|extension| extension == "csv") {
        out.to_owned()
    } else {
        out.join(format!("{}.{}.csv", slug(&device.name), space.name))
    }
}

fn dry_run(path: &Path, device: &DeviceProfile, space: &Space, enumeration: &Enumeration) -> anyhow::Result<Exit> {
    let done: HashSet<(String, u64)> = match path.exists() {
        true => scanbox_model::csv_file::read(path)?.records.iter().map(row_key).collect(),
        false => HashSet::new(),
    };
    let to_do = enumeration.points.iter().filter(|point| !done.contains(&point_key(point))).count();
    let mut out = stdout().lock();
    writeln!(out, "device     {}", device.title())?;
    writeln!(out, "space      {}, {} configs, {} pipelines", space.name, enumeration.points.len(), enumeration.pipelines().len())?;
    writeln!(out, "to do      {to_do}")?;
    writeln!(out, "file       {}", path.display())?;
    Ok(Exit::Done)
}

fn introduce(device: &DeviceProfile, space: &Space, enumeration: &Enumeration, to_do: &[Point], path: &Path) {
    complain(&format!("{}, {}", device.title(), device.driver));
    if device.kind == scanbox_model::device::DeviceKind::Software {
        complain("a software device: right for correctness, its times mean nothing for GPUs");
    }
    let all = enumeration.points.len();
    let done = all - to_do.len();
    let resumed = if done == 0 { String::new() } else { format!(", {done} of them done before") };
    complain(&format!("space {}: {all} configs{resumed}; rows go to {}", space.name, path.display()));
}

/// Opens the device, runs the job, keeps file and metadata up to date.
fn measure_points(
    args: &SweepArgs,
    cli: &Cli,
    compiler: &Compiler,
    file: &mut SweepFile,
    points: Vec<Point>,
    space: &Space,
) -> anyhow::Result<Outcome> {
    let options = vulkan::Options {
        timeout: args.timeout,
        pipeline_cache: cache_folder(cli).map(|folder| folder.join("pipelines")),
        ..vulkan::Options::default()
    };
    let mut backend = open_device(&args.device, compiler, options)?;
    let stop = stop_on_signals()?;
    let protocol = Protocol::default();
    let origin = Origin {
        run_id: run_id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_hash: compiler.kernel_hash(),
    };
    file.begin_run(&origin.run_id, args.seed, &protocol)?;
    let mut progress = Progress::new(&points);
    let job = Job {
        largest_n: space.sizes.largest(),
        copy_sizes: file.sizes_without_copy(&points),
        points,
        seed: args.seed,
        protocol,
        budget: args.budget,
        origin,
    };
    let result = sweep::run(backend.as_mut(), compiler, &job, &stop, &mut |event| -> Result<(), RunError> {
        match event {
            Event::Compiling { shaders } => progress.phase(&format!("compiling {shaders} shaders")),
            Event::Loading { n } => progress.phase(&format!("loading {n} elements")),
            Event::Copied { n, gbps } => {
                progress.phase(&format!("copy of {} elements: {gbps:.0} GB/s", size_label(n)));
                file.metadata.copy_gbps.insert(n, (gbps * 10.0).round() / 10.0);
            }
            Event::Started { .. } => {}
            Event::Finished { record } => {
                file.append(record)?;
                progress.finished(record);
            }
        }
        Ok(())
    });
    progress.end();
    let outcome = result.map_err(anyhow::Error::from).with_context(|| format!("sweep of {}", args.device));
    file.end_run(outcome.as_ref().ok())?;
    outcome
}

/// What ends a run before its end.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error("the device failed before any config could run: {0}")]
    Device(#[from] Failure),
    #[error(transparent)]
    File(#[from] anyhow::Error),
}

/// The first Ctrl-C or SIGTERM asks to stop after the row in flight, the second ends the process.
fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// An identity for the rows of a run: when it started, and which process it was.
fn run_id() -> String {
    format!("{}-{}", now_utc().replace([':', '-'], ""), std::process::id())
}

fn row_key(record: &Record) -> (String, u64) {
    (record.config_id.clone(), record.n_elements)
}

fn point_key(point: &Point) -> (String, u64) {
    (point.config.to_string(), point.n)
}

/// The CSV of a sweep, its metadata, and the lock on both.
struct SweepFile {
    appender: Appender,
    records: Vec<Record>,
    metadata: Metadata,
    metadata_path: PathBuf,
    /// Held until the end; the system lets go of it when the process ends, however it ends.
    _lock: File,
}

impl SweepFile {
    /// Opens or creates the files. What they hold must be of the same device, driver, kernels and schema.
    fn open(
        path: &Path,
        device: &DeviceProfile,
        space: &Space,
        enumeration: &Enumeration,
        kernel_hash: &str,
    ) -> anyhow::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(|| format!("output folder {}; choose another with --out", folder.display()))?;
        let lock = lock(path)?;
        let metadata_path = Metadata::path_beside(path);
        let known = if metadata_path.exists() { Some(Metadata::read(&metadata_path)?) } else { None };
        if let Some(known) = &known {
            check_provenance(path, &known.device, &known.kernel_hash, device, kernel_hash)?;
        }
        let (appender, records) = Appender::open(path)?;
        if let Some(line) = records.torn_line {
            complain(&format!("{}: line {line} was cut off and is measured again", path.display()));
        }
        if let Some(record) = records.records.first() {
            let before = DeviceProfile {
                name: record.device.clone(),
                uuid: record.device_uuid.clone(),
                driver: record.driver.clone(),
                ..device.clone()
            };
            check_provenance(path, &before, &record.kernel_hash, device, kernel_hash)?;
        }
        let runs = known.as_ref().map_or_else(Vec::new, |known| known.runs.clone());
        let copy_gbps = known.map_or_else(BTreeMap::new, |known| known.copy_gbps);
        let metadata = Metadata {
            schema: SCHEMA,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            tool_commit: env!("SCANBOX_COMMIT").to_owned(),
            device: device.clone(),
            kernel_hash: kernel_hash.to_owned(),
            space: space.clone(),
            points: enumeration.points.len() as u64,
            rejections: enumeration.rejections.clone(),
            counts: BTreeMap::new(),
            copy_gbps,
            runs,
        };
        Ok(Self { appender, records: records.records, metadata, metadata_path, _lock: lock })
    }

    fn points_to_do(&self, enumeration: &Enumeration) -> Vec<Point> {
        let done: HashSet<(String, u64)> = self.records.iter().map(row_key).collect();
        enumeration.points.iter().filter(|point| !done.contains(&point_key(point))).copied().collect()
    }

    fn sizes_without_copy(&self, points: &[Point]) -> BTreeSet<u64> {
        points.iter().map(|point| point.n).filter(|n| !self.metadata.copy_gbps.contains_key(n)).collect()
    }

    fn begin_run(&mut self, run_id: &str, seed: u64, protocol: &Protocol) -> anyhow::Result<()> {
        self.metadata.runs.push(Run {
            run_id: run_id.to_owned(),
            arguments: std::env::args().skip(1).collect(),
            seed,
            settings: serde_json::to_value(protocol)?,
            started_utc: now_utc(),
            ended_utc: None,
            rows: 0,
            seconds: BTreeMap::new(),
        });
        self.write_metadata()
    }

    fn append(&mut self, record: &Record) -> anyhow::Result<()> {
        self.appender.append(record)?;
        self.records.push(record.clone());
        if let Some(run) = self.metadata.runs.last_mut() {
            run.rows += 1;
        }
        Ok(())
    }

    fn end_run(&mut self, outcome: Option<&Outcome>) -> anyhow::Result<()> {
        if let Some(run) = self.metadata.runs.last_mut() {
            run.ended_utc = Some(now_utc());
            let seconds = outcome.map(|outcome| outcome.seconds.clone()).unwrap_or_default();
            run.seconds =
                seconds.into_iter().map(|(phase, time)| (phase.to_owned(), (time * 100.0).round() / 100.0)).collect();
        }
        self.write_metadata()
    }

    fn write_metadata(&mut self) -> anyhow::Result<()> {
        self.metadata.counts = counts(&self.records);
        Ok(self.metadata.write(&self.metadata_path)?)
    }
}

fn counts(records: &[Record]) -> BTreeMap<Status, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.status).or_insert(0) += 1;
    }
    counts
}

/// Takes the lock of a sweep file, or says who holds it.
fn lock(csv: &Path) -> anyhow::Result<File> {
    let path = csv.with_extension("lock");
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| format!("{}; choose another place with --out", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            bail!("{} is being written by another sweep ({}); wait for it, or choose another file with --out", csv.display(), holder.trim());
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("lock {}", path.display())),
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}, since {}", std::process::id(), now_utc())?;
    Ok(file)
}

/// Rows of another device, driver or kernel source do not belong into one file.
fn check_provenance(
    path: &Path,
    before: &DeviceProfile,
    hash_before: &str,
    now: &DeviceProfile,
    hash_now: &str,
) -> anyhow::Result<()> {
    let fields = [
        ("device", before.name.as_str(), now.name.as_str()),
        ("device_uuid", before.uuid.as_str(), now.uuid.as_str()),
        ("driver", before.driver.as_str(), now.driver.as_str()),
        ("kernel_hash", hash_before, hash_now),
    ];
    for (field, before, now) in fields {
        if before != now {
            bail!("{}: its rows have {field} `{before}`, this run has `{now}`; write to another place with --out", path.display());
        }
    }
    Ok(())
}

/// The end of a sweep: counts by status, best per size, where the files are, what to do next.
fn summarise(file: &SweepFile, path: &Path, outcome: Option<&Outcome>) -> anyhow::Result<Exit> {
    let mut out = stdout().lock();
    let counts = counts(&file.records);
    let words: Vec<String> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    writeln!(out, "{}\n", best_per_size(&file.records, &file.metadata.copy_gbps))?;
    writeln!(out, "rows       {} of {}: {}", file.records.len(), file.metadata.points, words.join(", "))?;
    if let Some(outcome) = outcome {
        let seconds = |phase: &str| outcome.seconds.get(phase).copied().unwrap_or(0.0);
        writeln!(
            out,
            "time       {:.1} s, of which the device worked {:.0} %",
            seconds("total"),
            100.0 * seconds("device_busy") / seconds("total").max(1e-9)
        )?;
    }
    writeln!(out, "files      {}", path.display())?;
    writeln!(out, "           {}", file.metadata_path.display())?;
    let failed: Vec<&Record> = file.records.iter().filter(|record| record.status != Status::Ok).take(5).collect();
    for record in &failed {
        writeln!(out, "{:<10} {} at {}: {}", record.status, record.config_id, size_label(record.n_elements), record.reason)?;
    }
    let end = outcome.map_or(End::Complete, |outcome| outcome.end);
    let next = match end {
        End::Complete => format!("scanbox analyze {} --metric squared", path.display()),
        End::Budget => "the budget is spent; the same command goes on".to_owned(),
        End::Interrupted => "interrupted; the same command goes on".to_owned(),
        End::DeviceUnusable => "the device cannot be used in this process any more; the same command goes on".to_owned(),
    };
    writeln!(out, "next       {next}")?;
    let wrong = file.records.iter().any(|record| record.status == Status::WrongResult);
    Ok(match end {
        _ if wrong => Exit::WrongResult,
        End::Complete => Exit::Done,
        _ => Exit::Incomplete,
    })
}

fn best_per_size(records: &[Record], copy_gbps: &BTreeMap<u64, f64>) -> Table {
    let mut best: BTreeMap<u64, (f64, &Record)> = BTreeMap::new();
    for record in records {
        if let Some(gbps) = record.throughput_gbps(Clock::Steady) {
            let entry = best.entry(record.n_elements).or_insert((gbps, record));
            if gbps > entry.0 {
                *entry = (gbps, record);
            }
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["size", "GB/s", "% of copy", "best config"]);
    for (&n, (gbps, record)) in &best {
        let share = copy_gbps.get(&n).map_or_else(String::new, |copy| format!("{:.0}", 100.0 * gbps / copy));
        table.add_row([size_label(n), format!("{gbps:.1}"), share, record.config_id.clone()]);
    }
    for index in 0..3 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
