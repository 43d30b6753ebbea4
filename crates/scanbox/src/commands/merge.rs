//! `scanbox merge`: the sweeps of shards and attempts become one.

mod plan;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::bail;
use clap::Args;
use scanbox_analysis::merge::differences::{Acceptable, differences};
use scanbox_analysis::merge::fleet::{self, UnitsLeftOut};
use scanbox_analysis::merge::rows::{UnitedRows, is_of_point, unite};
use scanbox_analysis::merge::{MergeSource, missing, origin, wrong_points};
use scanbox_model::csv_file;
use scanbox_model::merged::{MergedInput, MergedUnit};
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};
use scanbox_model::units::plural;
use scanbox_report::document::Format;
use scanbox_report::merge::{FleetRatios, MergeEnding};
use scanbox_session::lock;
use scanbox_session::notes::note;
use scanbox_session::process::RunLimits;
use scanbox_session::store::{RowKey, counts, point_key, row_key, rows_before};

use self::plan::MergePlan;
use crate::answer::{answered, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::words::words;
use crate::exit::{Completion, Exit, UsageError, nothing_ok};
use crate::inputs::once;
use crate::output::{Output, OutputContent, Outputs};

/// Arguments of `scanbox merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Duplicate rows count once. Of different rows of one point of one unit the latest ok row stays, and every \
wrong one; a failure stays where nothing else does. Rows of different units all stay. The order of the files does not matter, \
and a merged file can be merged again with further ones. Exit code 4: something is missing, and stdout says which arguments \
of `scanbox sweep` measure it; 5: everything is there, and some of it was wrong; 1: everything is there, \
and a file was left out that cannot be read."
)]
pub struct MergeArgs {
    /// CSV files of `scanbox sweep` and `scanbox merge`, the metadata beside each: shards, and attempts at them
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,

    /// The file to write; only a merged file is replaced, by one that has all its rows
    #[arg(short, long, visible_alias = "output", value_name = "FILE.csv")]
    out: PathBuf,

    /// Merge although files differ in this: kernels, driver, version, space, seed
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    accept: Vec<Acceptable>,

    /// Keep the rows of units that are off at the anchors of their shards, and of shards whose anchors drifted
    #[arg(long)]
    keep_units: bool,

    /// How the result is printed on stdout
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Merges.
///
/// # Errors
/// When a file cannot be read or written, and when files do not belong together.
pub fn run(args: &MergeArgs) -> anyhow::Result<Exit> {
    let output = Outputs::beside(&args.files).claim("--out", &args.out, OutputContent::Merged)?;
    if args.out.extension().is_none_or(|ending| ending != "csv") {
        return Err(UsageError(format!("--out {}: rows stand in a .csv", args.out.display())).into());
    }
    let mut warnings = Vec::new();
    let read::MergeFiles { mut sources, unreadable } =
        read::sources(&once(&args.files, &mut warnings), &mut warnings)?;
    for warning in &warnings {
        note(&format!("warning: {warning}"));
    }
    let points = plan::points_by_source(&sources)?;
    refuse(differences(&sources, &points), &args.accept)?;
    let inputs = origin::inputs(&sources);
    let drifted = |rows: &mut Vec<Record>| match args.keep_units {
        true => UnitsLeftOut::default(),
        false => fleet::leave_out_drifted(rows, &inputs),
    };
    let mut records: Vec<Record> = sources.iter_mut().flat_map(|source| take(&mut source.records)).collect();
    let left_out = drifted(&mut records);
    let mut rows = unite(records);
    let output = Claimed::new(&output, &args.out)?;
    output.check(&rows.records, &inputs)?;
    let ratios = fleet::ratios(&rows.records, &inputs);
    let left_out = match args.keep_units {
        true => left_out,
        false => left_out.and(fleet::leave_out_units(&mut rows.records, &ratios, &inputs)),
    };
    for reason in &left_out.reasons {
        note(&format!("warning: {reason}; --keep-units keeps them"));
    }
    let Some(mut metadata) = origin::metadata(&sources, inputs, &rows.records, args.keep_units) else {
        bail!(
            "no metadata stands beside any of the files (x.csv: x.meta.json): nothing says which space they are of; bring \
             the one of a file"
        )
    };
    let plan = MergePlan::of(&metadata, &sources, &rows.records)?;
    if let Some(doubt) = &plan.doubt {
        note(&format!("warning: {}: {doubt}", args.out.display()));
    }
    describe(&mut metadata, &plan, &rows.records);
    output.write(&rows, &metadata)?;
    let fleet = FleetRatios { ratios, left_out };
    tell(args, &metadata, &rows, &plan, &sources, &fleet, &unreadable)
}

/// Stops a merge of files that differ in what nobody has accepted.
fn refuse(
    differences: Vec<scanbox_analysis::merge::differences::Difference>,
    accepted: &[Acceptable],
) -> anyhow::Result<()> {
    let (taken, refused): (Vec<_>, Vec<_>) =
        differences.into_iter().partition(|one| one.acceptable.is_some_and(|one| accepted.contains(&one)));
    for one in taken {
        note(&format!("warning: the files do not belong together, and are merged all the same: {one}"));
    }
    if refused.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
    let flags: Option<BTreeSet<&str>> = refused.iter().map(|one| Some(one.acceptable?.word())).collect();
    let way = match flags {
        Some(flags) => {
            let flags = flags.into_iter().collect::<Vec<_>>().join(",");
            format!("leave out what does not belong there, or merge all the same with --accept {flags}")
        }
        None => "leave out what does not belong there: one file cannot hold both".to_owned(),
    };
    bail!("the files do not belong together: {}; {way}", lines.join("; "))
}

/// Fills in what follows from the points.
fn describe(metadata: &mut Metadata, plan: &MergePlan, records: &[Record]) {
    let mut keys: BTreeSet<RowKey> = plan.points.iter().map(point_key).collect();
    keys.extend(records.iter().filter(|row| is_of_point(row)).map(row_key));
    metadata.points = keys.len() as u64;
    metadata.rejections.clone_from(&plan.rejections);
    metadata.counts = counts(records);
}

/// A place for rows that has none which these rows lack, and nobody else writes there.
struct Claimed<'a> {
    output: &'a Output,
    path: &'a Path,
    _lock: Option<File>,
}

impl<'a> Claimed<'a> {
    /// Takes the place.
    ///
    /// # Errors
    /// When somebody writes it.
    fn new(output: &'a Output, path: &'a Path) -> anyhow::Result<Self> {
        let limits = RunLimits { stop: &AtomicBool::new(false), deadline: None };
        let lock = lock::results_file(path, None, &limits)?;
        output.check()?;
        Ok(Self { output, path, _lock: lock })
    }

    /// Whether these rows, of `inputs`, may replace what is there. Rows of shards that drifted are nothing to keep: the
    /// shard may have been measured again since.
    ///
    /// # Errors
    /// When a merged file is there with other rows.
    fn check(&self, records: &[Record], inputs: &[MergedInput]) -> anyhow::Result<()> {
        let path = self.path;
        let mut before = rows_before(path)?;
        let told = Metadata::read(&Metadata::path_beside(path)).ok().and_then(|told| told.merged);
        let inputs_before = told.map(|merged| merged.inputs).unwrap_or_default();
        before.retain(|row| !fleet::is_of_drifted(row, inputs) && !fleet::is_of_drifted(row, &inputs_before));
        if !before.is_empty() {
            let together = unite(before.into_iter().chain(records.iter().cloned()).collect()).records;
            if together != records {
                let more = together.iter().filter(|row| !records.contains(row)).count();
                bail!(
                    "{} has {} that these files do not have, and stays as it is; choose another place with --out, and name it \
                     among the files",
                    path.display(),
                    plural(more, "row")
                );
            }
        }
        Ok(())
    }

    /// Writes metadata and rows. The metadata comes first: a merged file is known by it, and a merge that was cut off
    /// between the two can be run again.
    fn write(&self, rows: &UnitedRows, metadata: &Metadata) -> anyhow::Result<()> {
        self.output.check()?;
        metadata.write(&Metadata::path_beside(self.path))?;
        csv_file::replace(self.path, &rows.records)?;
        Ok(())
    }
}

/// Says what came of it.
fn tell(
    args: &MergeArgs,
    metadata: &Metadata,
    rows: &UnitedRows,
    plan: &MergePlan,
    sources: &[MergeSource],
    fleet: &FleetRatios,
    unreadable: &[String],
) -> anyhow::Result<Exit> {
    let records = &rows.records;
    let left = missing::without_row(&plan.points, records);
    if !left.is_empty() && !args.keep_units && fleet.ratios.iter().any(|unit| unit.is_off) {
        note(
            "a sweep on another unit measures again what is missing: with --publish beside those files, without it after \
             they were moved away",
        );
    }
    let parts = plan.missing(&left);
    let copies = plan.copies(metadata, sources, &left, records);
    let of_points = || records.iter().filter(|row| is_of_point(row));
    let wrong = wrong_points(records);
    let completion = Completion {
        left: !left.is_empty() || !copies.left.is_empty(),
        stuck: false,
        wrong: wrong + copies.wrong.len() as u64,
        nothing_ok: !of_points().any(|row| row.status == Status::Ok),
    };
    // What such a file says, wrong results too, nobody knows: somebody has to look.
    let exit = match completion.exit() {
        Exit::Incomplete => Exit::Incomplete,
        exit if unreadable.is_empty() => exit,
        _ => Exit::Operational,
    };
    let ending = MergeEnding {
        metadata,
        rows,
        path: &args.out,
        planned: plan.points.len() as u64,
        missing_points: left.len() as u64,
        missing: &parts,
        command: &plan.command,
        copies_left: &copies.left,
        of_copies: &plan.of_copies(&copies.left, &args.out),
        wrong,
        shared_sizes: &shared_sizes(records),
        fleet,
        unreadable,
        exit_code: exit as u8,
    };
    let written = print(&ending, args.format);
    let outcomes = of_points().map(|row| (row.status, row.reason.as_str()));
    if let Some(error) = nothing_ok("no config became ok", outcomes) {
        note(&format!("error: {error}"));
    }
    for reason in unreadable {
        note(&format!("error: {reason}; the file is left out: mend it, or move it away, and merge again"));
    }
    answered(written, exit)
}

/// The sizes with rows of several units.
fn shared_sizes(records: &[Record]) -> BTreeSet<u64> {
    let mut units: BTreeMap<u64, BTreeSet<MergedUnit>> = BTreeMap::new();
    for row in records.iter().filter(|row| is_of_point(row)) {
        units.entry(row.n_elements).or_default().insert(MergedUnit::of(row));
    }
    units.into_iter().filter(|(_, units)| units.len() > 1).map(|(n, _)| n).collect()
}
