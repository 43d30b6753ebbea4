//! What a merge says: of what it made a file, what is missing there and what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use scanbox_analysis::merge::fleet::{UnitRatio, UnitsLeftOut};
use scanbox_analysis::merge::missing::Missing;
use scanbox_analysis::merge::rows::UnitedRows;
use scanbox_model::merged::{MergedFrom, MergedUnit};
use scanbox_model::metadata::Metadata;
use scanbox_model::units::{plural, size_label};
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::grid::{Grid, GridColumn, Style};
use crate::paste;
use crate::terminal::fold;

/// Missing parts that are shown; JSON has them all.
const MISSING_SHOWN: usize = 12;
/// Units that are shown with their anchors.
const UNITS_SHOWN: usize = 8;
/// Files that are shown.
const FILES_SHOWN: usize = 24;

/// What a merge has made.
pub struct MergeEnding<'a> {
    /// Of the merged file.
    pub metadata: &'a Metadata,
    /// What became of the rows.
    pub rows: &'a UnitedRows,
    /// Where the rows are.
    pub path: &'a Path,
    /// Points of the space.
    pub planned: u64,
    /// Those without a row.
    pub missing_points: u64,
    /// The same as arguments.
    pub missing: &'a [Missing],
    /// What goes before those arguments: the command that measures them.
    pub command: &'a [String],
    /// Sizes whose copy, or read, is still to be measured.
    pub copies_left: &'a BTreeSet<u64>,
    /// What goes behind the command to measure those.
    pub of_copies: &'a [String],
    /// Points that were wrong and that nobody has shown right since.
    pub wrong: u64,
    /// Sizes that have rows of several units.
    pub shared_sizes: &'a BTreeSet<u64>,
    /// How units stand to each other, and who is left out for it.
    pub fleet: &'a FleetRatios,
    /// What is wrong with files that are left out as they cannot be read.
    pub unreadable: &'a [String],
    /// How the process ends.
    pub exit_code: u8,
}

/// How units stand to each other by the anchors of their shards.
#[derive(Debug, Clone, Default)]
pub struct FleetRatios {
    /// Of each unit.
    pub ratios: Vec<UnitRatio>,
    /// Who is left out.
    pub left_out: UnitsLeftOut,
}

impl Document for MergeEnding<'_> {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => write_table(self, width, out),
            Format::Json => write_json(out, &MergeJson::new(self)),
            other => other.missing("a merge"),
        }
    }
}

/// A merge, as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MergeJson<'a> {
    device: String,
    driver: &'a str,
    space: &'a str,
    rows: usize,
    rows_by_status: &'a BTreeMap<scanbox_model::record::Status, u64>,
    repeated: u64,
    replaced: u64,
    failed_elsewhere: u64,
    points: u64,
    points_left: u64,
    missing: Vec<MissingJson<'a>>,
    copies_left: &'a BTreeSet<u64>,
    wrong: u64,
    units: BTreeSet<&'a MergedUnit>,
    sizes_of_several_units: &'a BTreeSet<u64>,
    anchors: Vec<RatioJson<'a>>,
    left_out: &'a [String],
    unreadable: &'a [String],
    merged: Option<&'a MergedFrom>,
    exit_code: u8,
    files: [PathBuf; 2],
}

/// A unit at the anchors.
#[derive(Serialize, JsonSchema)]
struct RatioJson<'a> {
    unit: &'a MergedUnit,
    ratio: f64,
    ratios: &'a BTreeMap<u64, f64>,
    is_off: bool,
}

impl<'a> RatioJson<'a> {
    fn new(of: &'a UnitRatio) -> Self {
        Self { unit: &of.unit, ratio: of.ratio, ratios: &of.ratios, is_off: of.is_off }
    }
}

/// What one command measures.
#[derive(Serialize, JsonSchema)]
struct MissingJson<'a> {
    arguments: &'a [String],
    points: u64,
}

impl<'a> MergeJson<'a> {
    fn new(ending: &'a MergeEnding<'_>) -> Self {
        let MergeEnding { metadata, rows, path, .. } = ending;
        let missing =
            |missing: &'a Missing| MissingJson { arguments: &missing.arguments, points: missing.points };
        Self {
            device: metadata.device.title(),
            driver: &metadata.device.driver,
            space: &metadata.space.name,
            rows: rows.records.len(),
            rows_by_status: &metadata.counts,
            repeated: rows.repeated,
            replaced: rows.replaced,
            failed_elsewhere: rows.failed_elsewhere,
            points: ending.planned,
            points_left: ending.missing_points,
            missing: ending.missing.iter().map(missing).collect(),
            copies_left: ending.copies_left,
            wrong: ending.wrong,
            units: units(metadata),
            sizes_of_several_units: ending.shared_sizes,
            anchors: ending.fleet.ratios.iter().map(RatioJson::new).collect(),
            left_out: &ending.fleet.left_out.reasons,
            unreadable: ending.unreadable,
            merged: metadata.merged.as_ref(),
            exit_code: ending.exit_code,
            files: [path.to_path_buf(), Metadata::path_beside(path)],
        }
    }
}

fn units(metadata: &Metadata) -> BTreeSet<&MergedUnit> {
    metadata.merged.iter().flat_map(|merged| &merged.inputs).flat_map(|input| &input.units).collect()
}

/// The files, counts, what is missing, what to do next.
fn write_table(ending: &MergeEnding<'_>, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let MergeEnding { metadata, rows, path, .. } = ending;
    writeln!(out, "{}\n", files(metadata, width))?;
    if !ending.fleet.ratios.is_empty() {
        writeln!(out, "{}\n", anchors(&ending.fleet.ratios, width))?;
    }
    let words: Vec<String> =
        metadata.counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    let units = units(metadata).len();
    let of_units = if units > 1 { format!(" of {units} units") } else { String::new() };
    writeln!(out, "rows       {}{of_units}{words}", rows.records.len())?;
    for (count, what) in [
        (rows.repeated, "were there twice"),
        (rows.replaced, "are left out for a later ok row of their unit"),
        (rows.failed_elsewhere, "are left out that failed where another attempt did not"),
    ] {
        if count > 0 {
            writeln!(out, "           {count} more {what}")?;
        }
    }
    writeln!(out, "points     {} of {}", ending.planned - ending.missing_points, ending.planned)?;
    write_missing(ending, width, out)?;
    if ending.wrong > 0 {
        let points = plural(ending.wrong as usize, "point");
        writeln!(out, "wrong      {points}, which nobody has shown right since")?;
    }
    let labels = |sizes: &BTreeSet<u64>| sizes.iter().map(|&n| size_label(n)).collect::<Vec<_>>().join(", ");
    if !ending.copies_left.is_empty() {
        let copy = metadata.problem.ceiling();
        let text = format!("the {copy} of {} is in none of the files", labels(ending.copies_left));
        writeln!(out, "{}", fold("left       ", &text, 11, width))?;
    }
    if !ending.shared_sizes.is_empty() {
        let text = format!(
            "{} have rows of several units: what differs between them there may be the unit",
            labels(ending.shared_sizes)
        );
        writeln!(out, "{}", fold("units      ", &text, 11, width))?;
    }
    for reason in ending.unreadable {
        writeln!(out, "{}", fold("unread     ", reason, 11, width))?;
    }
    writeln!(out, "files      {}", paste::path(path))?;
    writeln!(out, "           {}", paste::path(&Metadata::path_beside(path)))?;
    let program = paste::program();
    let measure = |arguments: &[String]| {
        let words = ending.command.iter().chain(arguments).map(String::as_str);
        paste::line(std::iter::once(program.as_str()).chain(words))
    };
    let mut next: Vec<String> =
        ending.missing.iter().take(MISSING_SHOWN).map(|missing| measure(&missing.arguments)).collect();
    if next.is_empty() && !ending.copies_left.is_empty() {
        next.push(measure(ending.of_copies));
    }
    if next.is_empty() {
        next.push(paste::line([program.as_str(), "analyze", &path.to_string_lossy(), "--metric", "squared"]));
    }
    // The sweeps of several tasks, or one after the other.
    for (index, line) in next.iter().enumerate() {
        writeln!(out, "{}{line}", if index == 0 { "next       " } else { "           " })?;
    }
    Ok(())
}

fn write_missing(ending: &MergeEnding<'_>, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    for (index, missing) in ending.missing.iter().take(MISSING_SHOWN).enumerate() {
        let head = if index == 0 { "missing    " } else { "           " };
        let arguments = paste::line(missing.arguments.iter().map(String::as_str));
        let text = format!("{arguments} ({})", plural(missing.points as usize, "point"));
        writeln!(out, "{}", fold(head, &text, 11, width))?;
    }
    match ending.missing.len().saturating_sub(MISSING_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "           and {more} more; --format json has them all"),
    }
}

/// The times of units at the anchors over those of all: a line for each size, and one for all.
fn anchors(ratios: &[UnitRatio], width: Option<usize>) -> String {
    let shown = &ratios[..ratios.len().min(UNITS_SHOWN)];
    let title = |unit: &UnitRatio| {
        let MergedUnit { host, pci_address, uuid } = &unit.unit;
        let words: Vec<&str> =
            [host, pci_address].map(String::as_str).into_iter().filter(|word| !word.is_empty()).collect();
        if words.is_empty() { uuid.clone() } else { words.join(" ") }
    };
    let columns = shown.iter().map(|unit| GridColumn::numbers_of(title(unit)));
    let mut grid =
        Grid::new(std::iter::once(GridColumn::numbers("anchors")).chain(columns).collect::<Vec<_>>());
    let sizes: BTreeSet<u64> = shown.iter().flat_map(|unit| unit.ratios.keys().copied()).collect();
    for n in sizes {
        let cell =
            |unit: &UnitRatio| unit.ratios.get(&n).map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        grid.push_row(std::iter::once(size_label(n)).chain(shown.iter().map(cell)).collect());
    }
    let all = |unit: &UnitRatio| format!("{:.3}{}", unit.ratio, if unit.is_off { " off" } else { "" });
    grid.push_row(std::iter::once("all".to_owned()).chain(shown.iter().map(all)).collect());
    let more = match ratios.len() - shown.len() {
        0 => String::new(),
        more => format!("\nand {more} more units; --format json has them all"),
    };
    format!("{}{more}", grid.draw(Style::Text { width }))
}

/// A line for each file that rows are of.
fn files(metadata: &Metadata, width: Option<usize>) -> String {
    let mut grid = Grid::new([
        GridColumn::words("file"),
        GridColumn::words("shard").unless_empty(),
        GridColumn::numbers("rows"),
        GridColumn::words("host").expendable(1),
        GridColumn::words("at").expendable(2),
    ]);
    let inputs = metadata.merged.iter().flat_map(|merged| &merged.inputs);
    let shard = |shard: &scanbox_model::shard::ShardOf| format!("{}/{}", shard.index, shard.count);
    for input in inputs.clone().take(FILES_SHOWN) {
        let of_units = |part: fn(&MergedUnit) -> &String| {
            let parts: BTreeSet<&str> = input.units.iter().map(|unit| part(unit).as_str()).collect();
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
        };
        grid.push([
            input.name.clone(),
            input.shard.as_ref().map_or_else(String::new, shard),
            input.rows.to_string(),
            of_units(|unit| &unit.host),
            of_units(|unit| &unit.pci_address),
        ]);
    }
    let more = match inputs.count().saturating_sub(FILES_SHOWN) {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    format!("{}{more}", grid.draw(Style::Text { width }))
}
