//! `scanbox bench --show`: what earlier benchmarks have measured, one by itself or several devices beside each other.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scanbox_analysis::bench::{Heat, heats, timed_forms};
use scanbox_analysis::device_lines::{DeviceBenchmark, by_device, common_cache};
use scanbox_analysis::identity::DeviceIdentity;
use scanbox_analysis::library::library_differences;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::ProblemDifference;
use scanbox_model::record::{Clock, Record};
use scanbox_model::sizes::Sizes;
use scanbox_report::bench::BenchReport;
use scanbox_report::document::Format;
use scanbox_report::paste;
use scanbox_report::versus::devices::DevicesReport;
use scanbox_report::versus::{VersusReport, VersusView};
use scanbox_runner::baseline::Greeting;
use scanbox_runner::session::End;
use scanbox_session::notes::note;

use super::file::others;
use super::pictures::{Pictures, draw};
use super::{BenchArgs, dispatch};
use crate::answer::{answered, print};
use crate::exit::{Exit, UsageError};
use crate::inputs::{expect, once};
use crate::output::Kind;

/// What only a run has that measures, and --show would not heed.
pub(super) const MEASURING: [&str; 35] = [
    "configs",
    "device",
    "from",
    "kernel",
    "against_push",
    "blocking",
    "prove",
    "plots",
    "call_forms",
    "pack",
    "uses",
    "promises",
    "op",
    "element",
    "operator",
    "mode",
    "in_place",
    "input",
    "init",
    "reverse",
    "total",
    "init_in_memory",
    "scratch",
    "rounds",
    "renew_pipelines",
    "warm_up",
    "samples",
    "baseline",
    "baseline_subjects",
    "out",
    "seed",
    "wait",
    "share_device",
    "budget",
    "timeout",
];

/// What runs have measured, from the files that they wrote.
pub(super) fn show(args: &BenchArgs, files: &[PathBuf]) -> anyhow::Result<Exit> {
    match (files, args.summary) {
        (_, Some(view @ VersusView::Devices)) => devices(args, files, view),
        ([file], _) => one(args, file),
        (_, Some(view @ VersusView::Loses)) => devices(args, files, view),
        _ => {
            let message = "--show takes several files only with --summary devices or --summary loses";
            Err(UsageError(message.to_owned()).into())
        }
    }
}

/// A file of a benchmark and the metadata beside it; its rows at some sizes.
fn read(file: &Path, sizes: Option<&Sizes>) -> anyhow::Result<(Metadata, Vec<Record>)> {
    expect(file, "--show", &[Kind::Benchmark], "it shows what `scanbox bench` has measured")?;
    if file.extension().is_some_and(|extension| extension == "partial") {
        let message = "it has the rows of a benchmark that was cut short, which `scanbox export` reads";
        return Err(UsageError(format!("--show {}: {message}", file.display())).into());
    }
    let metadata = Metadata::read(&Metadata::path_beside(file))?;
    let found = csv_file::read(file)?;
    for warning in found.warnings(&file.display().to_string()) {
        note(&format!("warning: {warning}"));
    }
    let mut records = found.records;
    if let Some(sizes) = sizes {
        records.retain(|record| sizes.contains(record.n_elements));
    }
    Ok((metadata, records))
}

fn one(args: &BenchArgs, file: &Path) -> anyhow::Result<Exit> {
    let places = Pictures::claim(args)?;
    let (metadata, mut records) = read(file, args.sizes.as_ref())?;
    let (sizes, api) = (&metadata.space.sizes, metadata.device.device_api());
    let others = others(&args.with, sizes, &args.caches(), &metadata.problem, &api)?;
    let at_sizes = |row: &Record| args.sizes.as_ref().is_none_or(|sizes| sizes.contains(row.n_elements));
    records.extend(others.into_iter().filter(at_sizes));
    if records.is_empty() && args.sizes.is_some() {
        return Err(UsageError(format!("{} has none of these sizes; it has {sizes}", file.display())).into());
    }
    let settings = metadata.runs.iter().map(|run| &run.settings["baselines"]);
    let baselines: Vec<Greeting> = settings
        .filter_map(|all| serde_json::from_value::<Vec<Greeting>>(all.clone()).ok())
        .flatten()
        .collect();
    conclude(args, &records, &[], &metadata, &baselines, End::Complete, Some(file), &places)?;
    Ok(Exit::Done)
}

/// Several devices beside each other.
fn devices(args: &BenchArgs, files: &[PathBuf], view: VersusView) -> anyhow::Result<Exit> {
    if args.pictures.is_asked_for() || !args.with.is_empty() {
        let message =
            "--plot and --with are of one benchmark: not with --summary devices, nor with several files";
        return Err(UsageError(message.to_owned()).into());
    }
    let mut warnings = Vec::new();
    let files = once(files, &mut warnings);
    warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    let read = files.iter().map(|file| Ok((*file, read(file, args.sizes.as_ref())?)));
    let read: Vec<(&PathBuf, (Metadata, Vec<Record>))> = read.collect::<anyhow::Result<_>>()?;
    if let [(first, (one, _)), others @ ..] = &read[..] {
        for (file, (other, _)) in others {
            if let Some(ProblemDifference { column, own, others, .. }) =
                one.problem.difference(&other.problem)
            {
                let (first, file) = (first.display(), file.display());
                let message =
                    format!("{first} has {column} `{own}`, {file} has `{others}`: show them one by one");
                return Err(UsageError(message).into());
            }
        }
    }
    let mut benchmarks = Vec::new();
    for (file, (metadata, records)) in &read {
        let heats = heats(records, Clock::Steady);
        let file = file.display().to_string();
        // Files of one device may each have some of the sizes.
        if heats.is_empty() && args.sizes.is_none() {
            let message = format!("{file} has no rows of ordinary calls, which --summary compares");
            return Err(UsageError(message).into());
        }
        benchmarks.push(DeviceBenchmark { file, device: identity(metadata, records), heats });
    }
    answered(print_devices(benchmarks, view, args.format)?, Exit::Done)
}

/// What a run has just measured, as one of the devices of `--summary devices`.
pub(super) fn print_device(
    place: &Path,
    metadata: &Metadata,
    records: &[Record],
    heats: Vec<Heat<'_>>,
    format: Format,
) -> anyhow::Result<io::Result<()>> {
    let file = place.display().to_string();
    let benchmark = DeviceBenchmark { file, device: identity(metadata, records), heats };
    print_devices(vec![benchmark], VersusView::Devices, format)
}

fn print_devices(
    benchmarks: Vec<DeviceBenchmark<'_>>,
    view: VersusView,
    format: Format,
) -> anyhow::Result<io::Result<()>> {
    let devices = by_device(benchmarks).map_err(|error| UsageError(error.to_string()))?;
    if common_cache(&devices).is_none() {
        let message = "these benchmarks have no size on buffers in the same state, hot or cold: nothing can be compared";
        return Err(UsageError(message.to_owned()).into());
    }
    Ok(print(&DevicesReport { view, devices: &devices }, format))
}

/// The device of a file: as its metadata describe it, on the host that its rows name.
fn identity(metadata: &Metadata, records: &[Record]) -> DeviceIdentity {
    let of_row = records.iter().find(|row| !row.host.is_empty()).map(DeviceIdentity::of).unwrap_or_default();
    DeviceIdentity {
        name: metadata.device.name.clone(),
        label: String::new(),
        api: metadata.device.device_api(),
        uuid: metadata.device.uuid.clone(),
        ..of_row
    }
}

/// Prints and draws the rows. That nobody reads them is no error.
#[expect(clippy::too_many_arguments, reason = "what a run was, and what came of it")]
pub(super) fn conclude(
    args: &BenchArgs,
    records: &[Record],
    proof: &[Record],
    metadata: &Metadata,
    baselines: &[Greeting],
    end: End,
    place: Option<&Path>,
    places: &Pictures,
) -> anyhow::Result<()> {
    let heats = heats(records, Clock::Steady);
    let forms = timed_forms(records, Clock::Steady);
    let library = library_differences(records);
    let report = BenchReport { metadata, baselines, heats: &heats, forms: &forms, library: &library, end };
    let written = if args.blocking.is_asked_for() {
        print(&args.blocking.report(records, proof, metadata, end, &places.plots)?, args.format)
    } else if args.dispatch.is_asked_for() {
        print(&dispatch::report(metadata, records, end)?, args.format)
    } else if args.summary == Some(VersusView::Devices) {
        print_device(place.unwrap_or(Path::new("")), metadata, records, heats.clone(), args.format)?
    } else if let Some(view) = args.summary {
        print(&VersusReport { view, heats: &heats, problem: &metadata.problem }, args.format)
    } else {
        print(&report, args.format)
    };
    let why = match end {
        End::Complete => None,
        End::Budget => Some("the budget is spent"),
        _ => Some("interrupted"),
    };
    let place = place.map(paste::path);
    note(&match (why, place) {
        (None, place) => format!("rows in {}", place.unwrap_or_default()),
        (Some(why), None) => format!("{why}; no size was finished"),
        (Some(why), Some(place)) => format!(
            "{why}; the rows of the sizes that were finished are in {place}, for `scanbox export`; the same command \
             measures all sizes again"
        ),
    });
    if let Some(output) = &places.plot {
        draw(output, metadata, &heats).context("--plot")?;
    }
    answered(written, ())
}
