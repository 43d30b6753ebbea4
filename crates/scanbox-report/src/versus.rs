//! What a benchmark says of scanbox against the fastest of other implementations: the table of the README, the other
//! views, and where it loses, all from the same lines ([`scanbox_analysis::versus`]).

pub mod arguments;
pub mod devices;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use scanbox_analysis::bench::Heat;
use scanbox_analysis::versus::{RatedSubject, RatioSummary, Versus, lines, shown, verdict};
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Record, Selection};
use scanbox_model::units::size_label;
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Format, csv_cell, write_json};
use super::grid::{Grid, GridColumn, Style};
use super::terminal::fold;
use super::words::{ceiling_share, subject_title};

/// What is shown of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersusView {
    /// A line per size: time, both ratios, share of the fastest copy; and where it loses
    Ratios,
    /// The table of [`VersusView::Ratios`] alone
    Table,
    /// Every ratio and every time by its own name, on hot and on cold buffers
    Views,
    /// Every ratio, each with the interval that holds it at 95 %
    Intervals,
    /// Each config against itself with push constants
    Arguments,
    /// Only how many times as fast it is, and where it loses
    Loses,
    /// A line per size with two columns for each device: time, and times as fast as the fastest baseline
    Devices,
}

impl VersusView {
    /// Whether it shows hot and cold buffers, one below the other; the others show what was measured first of them.
    fn has_every_cache(self) -> bool {
        matches!(self, Self::Views | Self::Intervals)
    }
}

/// A line for machines.
#[derive(Serialize, JsonSchema)]
pub struct VersusRow<'a> {
    n_elements: u64,
    cache: Cache,
    baseline: Option<SubjectJson<'a>>,
    kept: Option<SubjectJson<'a>>,
    same_contract: Option<SubjectJson<'a>>,
    one_kernel: Option<SubjectJson<'a>>,
    one_kernel_same_contract: Option<SubjectJson<'a>>,
}

/// One of its subjects.
#[derive(Serialize, JsonSchema)]
struct SubjectJson<'a> {
    subject: &'a str,
    version: &'a str,
    median_ns: u64,
    ratio: Option<f64>,
    copy_pct: Option<f64>,
    /// The interval that holds `ratio` at 95 %: its lower end.
    ratio_low: Option<f64>,
    /// Its upper end.
    ratio_high: Option<f64>,
}

impl<'a> SubjectJson<'a> {
    fn new(side: &RatedSubject<'a>) -> Self {
        let rounded = |value: f64| (value * 10_000.0).round() / 10_000.0;
        Self {
            subject: &side.record.config_id,
            version: &side.record.subject_version,
            median_ns: side.median_ns,
            ratio: side.ratio.map(rounded),
            copy_pct: side.ceiling_pct.map(rounded),
            ratio_low: side.interval.map(|interval| rounded(interval.low)),
            ratio_high: side.interval.map(|interval| rounded(interval.high)),
        }
    }
}

/// What is shown of the rows of a benchmark.
pub struct VersusReport<'a> {
    /// Which part.
    pub view: VersusView,
    /// The rows.
    pub heats: &'a [Heat<'a>],
    /// What is computed.
    pub problem: &'a Problem,
}

impl Document for VersusReport<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        let Self { view, heats, problem } = self;
        if *view == VersusView::Arguments {
            return arguments::write(heats, format, width, out);
        }
        match format {
            Format::Table | Format::Markdown => write(*view, heats, problem, format.style(width), &mut out),
            Format::Json => write_json(out, &machine(heats)),
            Format::Csv => write_csv_lines([("", &lines(heats)[..])].into_iter(), &mut out),
            other => other.missing("a summary"),
        }
    }
}

/// Every line, for machines.
pub fn machine<'a>(heats: &[Heat<'a>]) -> Vec<VersusRow<'a>> {
    lines(heats).iter().map(machine_line).collect()
}

fn machine_line<'a>(line: &Versus<'a>) -> VersusRow<'a> {
    let subject = |side: &Option<RatedSubject<'a>>| side.as_ref().map(SubjectJson::new);
    VersusRow {
        n_elements: line.n,
        cache: line.cache,
        baseline: subject(&line.baseline),
        kept: subject(&line.kept),
        same_contract: subject(&line.same_contract),
        one_kernel: subject(&line.one_kernel),
        one_kernel_same_contract: subject(&line.one_kernel_same_contract),
    }
}

/// The same as CSV: a row per size and cache state, the columns of a subject behind each other; in front of them the
/// device, where its lines have a title.
///
/// # Errors
/// When the writer fails.
fn write_csv_lines<'a, 'b: 'a>(
    devices: impl Iterator<Item = (&'a str, &'a [Versus<'b>])>,
    out: &mut impl Write,
) -> io::Result<()> {
    let names = ["baseline", "kept", "same_contract", "one_kernel", "one_kernel_same_contract"];
    let columns = names.map(|name| {
        format!(
            "{name},{name}_version,{name}_ns,{name}_ratio,{name}_copy_pct,{name}_ratio_low,{name}_ratio_high"
        )
    });
    for (index, (title, lines)) in devices.enumerate() {
        if index == 0 {
            let device = if title.is_empty() { "" } else { "device," };
            writeln!(out, "{device}n_elements,cache,{}", columns.join(","))?;
        }
        for line in lines.iter().map(machine_line) {
            let sides = [
                line.baseline,
                line.kept,
                line.same_contract,
                line.one_kernel,
                line.one_kernel_same_contract,
            ];
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let cells = sides.map(|side| match side {
                None => ",,,,,,".to_owned(),
                Some(SubjectJson { subject, version, median_ns, ratio, copy_pct, ratio_low, ratio_high }) => {
                    let numbers = [ratio, copy_pct, ratio_low, ratio_high].map(number);
                    format!("{subject},{version},{median_ns},{}", numbers.join(","))
                }
            });
            if !title.is_empty() {
                write!(out, "{},", csv_cell(title))?;
            }
            writeln!(out, "{},{},{}", line.n_elements, line.cache.word(), cells.join(","))?;
        }
    }
    Ok(())
}

/// For people.
///
/// # Errors
/// When the writer fails.
fn write(
    view: VersusView,
    heats: &[Heat<'_>],
    problem: &Problem,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let tool = tool(heats);
    let first = Cache::ALL.into_iter().find(|&cache| heats.iter().any(|heat| heat.cache == cache));
    for cache in Cache::ALL {
        let of_cache: Vec<Heat<'_>> = heats.iter().filter(|heat| heat.cache == cache).cloned().collect();
        if of_cache.is_empty() || (!view.has_every_cache() && Some(cache) != first) {
            continue;
        }
        let all = lines(&of_cache);
        if view.has_every_cache() && Some(cache) != first {
            writeln!(out)?;
        }
        match view {
            VersusView::Table => writeln!(out, "{}", ratios(&all, &tool, problem).draw(style))?,
            VersusView::Ratios => writeln!(out, "{}\n", ratios(&all, &tool, problem).draw(style))?,
            // Of several devices: `devices::DevicesReport`.
            VersusView::Loses | VersusView::Devices | VersusView::Arguments => {}
            VersusView::Intervals => {
                writeln!(
                    out,
                    "{}, times as fast as the fastest {tool}, and what holds that at 95 %:\n",
                    heading(cache)
                )?;
                write_fitted(intervals(&all), style, out)?;
            }
            VersusView::Views => {
                writeln!(out, "{}, times as fast as the fastest {tool}:\n", heading(cache))?;
                write_fitted(all_ratios(&all, &tool), style, out)?;
                writeln!(out, "{}, us:\n", heading(cache))?;
                write_fitted(times(&of_cache, &all), style, out)?;
            }
        }
        if view == VersusView::Table {
            continue;
        }
        for sentence in sentences(&all, &tool, view) {
            match style {
                Style::Markdown => writeln!(out, "- {sentence}")?,
                Style::Text { width } => writeln!(out, "{}", fold("", &sentence, 2, width))?,
            }
        }
    }
    Ok(())
}

/// A grid, and the columns that had no room in the line.
fn write_fitted(grid: Grid, style: Style, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}\n", grid.draw(style))
}

/// Where both contracts lose, for people: nothing without another implementation.
///
/// # Errors
/// When it cannot be written.
pub fn write_loses(heats: &[Heat<'_>], width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    write(VersusView::Loses, heats, &Problem::default(), Style::Text { width }, out)
}

fn heading(cache: Cache) -> &'static str {
    match cache {
        Cache::Hot => "Hot buffers",
        Cache::Cold => "Cold buffers",
    }
}

/// What the other implementations are called together: the tool, where it is one.
fn tool(heats: &[Heat<'_>]) -> String {
    tool_of(heats.iter().filter_map(|heat| Some(heat.baseline?.subject_version.as_str())))
}

/// The tool of these versions (`CUB` of `CUB 3.5.0`), where they have one, or a word for all of them.
fn tool_of<'a>(versions: impl Iterator<Item = &'a str>) -> String {
    let tools: BTreeSet<&str> = versions.filter_map(|version| version.split(' ').next()).collect();
    match tools.iter().next() {
        Some(tool) if tools.len() == 1 && !tool.is_empty() => (*tool).to_owned(),
        _ => "baseline".to_owned(),
    }
}

/// Microseconds with four digits or so.
fn micros(ns: u64) -> String {
    let us = ns as f64 / 1e3;
    match us {
        us if us < 100.0 => format!("{us:.2}"),
        us if us < 1000.0 => format!("{us:.1}"),
        us => format!("{us:.0}"),
    }
}

fn ratio(side: Option<&RatedSubject<'_>>) -> String {
    side.and_then(|side| side.ratio).map_or_else(String::new, |ratio| format!("{:.2}", shown(ratio)))
}

fn time(side: Option<&RatedSubject<'_>>) -> String {
    side.map_or_else(String::new, |side| micros(side.median_ns))
}

fn ratios(all: &[Versus<'_>], tool: &str, problem: &Problem) -> Grid {
    let mut grid = Grid::new([
        GridColumn::numbers("n"),
        GridColumn::numbers("us"),
        GridColumn::numbers_of(format!("x {tool}, scratch kept")),
        GridColumn::numbers_of(format!("x {tool}, same contract")),
        GridColumn::numbers(ceiling_share(problem)),
    ]);
    for line in all {
        let copy_pct = line.kept.and_then(|side| side.ceiling_pct);
        grid.push([
            size_label(line.n),
            time(line.kept.as_ref()),
            ratio(line.kept.as_ref()),
            ratio(line.same_contract.as_ref()),
            copy_pct.map_or_else(String::new, |pct| format!("{pct:.0}")),
        ]);
    }
    grid
}

fn all_ratios(all: &[Versus<'_>], tool: &str) -> Grid {
    let mut grid = Grid::new([
        GridColumn::numbers("n"),
        GridColumn::words_of(format!("the fastest {tool}")),
        GridColumn::numbers("scratch kept"),
        GridColumn::numbers("same contract"),
        GridColumn::numbers("one kernel, kept").expendable(1),
        GridColumn::numbers("one kernel, same contract").expendable(2),
    ]);
    for line in all {
        grid.push([
            size_label(line.n),
            line.baseline.map_or_else(String::new, |side| subject_title(side.record)),
            ratio(line.kept.as_ref()),
            ratio(line.same_contract.as_ref()),
            ratio(line.one_kernel.as_ref()),
            ratio(line.one_kernel_same_contract.as_ref()),
        ]);
    }
    grid
}

/// Every ratio with its interval.
fn intervals(all: &[Versus<'_>]) -> Grid {
    let mut grid = Grid::new([
        GridColumn::numbers("n"),
        GridColumn::numbers("scratch kept"),
        GridColumn::numbers("same contract"),
        GridColumn::numbers("one kernel, kept").expendable(1),
        GridColumn::numbers("one kernel, same contract").expendable(2),
    ]);
    let with_interval = |side: &Option<RatedSubject<'_>>| {
        let interval = side.and_then(|side| side.interval);
        let interval = interval.map(|interval| format!(" ({:.2} to {:.2})", interval.low, interval.high));
        ratio(side.as_ref()) + &interval.unwrap_or_default()
    };
    for line in all {
        let sides = [&line.kept, &line.same_contract, &line.one_kernel, &line.one_kernel_same_contract];
        grid.push_row(std::iter::once(size_label(line.n)).chain(sides.map(with_interval)).collect());
    }
    grid
}

/// Every scan of another implementation by its own name, and the fastest ceiling of each side.
fn times(heats: &[Heat<'_>], all: &[Versus<'_>]) -> Grid {
    let other = |record: &Record| record.selection.contains(&Selection::Baseline);
    let mut others: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    // By whether they are another implementation's.
    let mut ceilings: BTreeMap<(bool, u64), u64> = BTreeMap::new();
    for heat in heats {
        for subject in &heat.subjects {
            if subject.is_ceiling() {
                ceilings.entry((other(subject.record), heat.n)).or_insert(subject.median_ns);
            } else if other(subject.record) {
                others.entry(subject_title(subject.record)).or_default().insert(heat.n, subject.median_ns);
            }
        }
    }
    let mut columns = vec![
        GridColumn::numbers("n"),
        GridColumn::numbers("scratch kept"),
        GridColumn::numbers("same contract"),
        GridColumn::numbers("one kernel, kept").expendable(1),
        GridColumn::numbers("one kernel, same contract").expendable(2),
    ];
    columns.extend(others.keys().map(|name| GridColumn::numbers_of(name.clone()).expendable(4)));
    columns.extend([GridColumn::numbers("copy"), GridColumn::numbers("copy of a baseline").expendable(3)]);
    let mut grid = Grid::new(columns);
    for line in all {
        let sides = [line.kept, line.same_contract, line.one_kernel, line.one_kernel_same_contract];
        let optional = |ns: Option<&u64>| ns.map_or_else(String::new, |&ns| micros(ns));
        let mut row = vec![size_label(line.n)];
        row.extend(sides.iter().map(|side| time(side.as_ref())));
        row.extend(others.values().map(|of_size| optional(of_size.get(&line.n))));
        row.extend([false, true].map(|other| optional(ceilings.get(&(other, line.n)))));
        grid.push_row(row);
    }
    grid
}

/// How many times as fast, and where it loses, in words.
fn sentences(all: &[Versus<'_>], tool: &str, view: VersusView) -> Vec<String> {
    type Pick = for<'a, 'b> fn(&'b Versus<'a>) -> Option<&'b RatedSubject<'a>>;
    let kernel = all.iter().find_map(|line| line.one_kernel.as_ref()?.record.config());
    let kernel = kernel.map_or_else(String::new, |config| config.kernel.to_string());
    let of: [(String, Pick); 4] = [
        ("Scratch kept".to_owned(), |line| line.kept.as_ref()),
        ("Same contract".to_owned(), |line| line.same_contract.as_ref()),
        (format!("One kernel ({kernel}), scratch kept"), |line| line.one_kernel.as_ref()),
        ("One kernel, same contract".to_owned(), |line| line.one_kernel_same_contract.as_ref()),
    ];
    let shown = if view.has_every_cache() { 4 } else { 2 };
    let sentence = |(what, pick): &(String, Pick)| {
        let ratios: Vec<(u64, Option<f64>)> =
            all.iter().map(|line| (line.n, pick(line).and_then(|side| side.ratio))).collect();
        let RatioSummary { range, loses, loses_range } = verdict(&ratios);
        let (low, high) = range?;
        let measured = ratios.iter().filter(|(_, ratio)| ratio.is_some()).count();
        let part = match measured == ratios.len() {
            true => String::new(),
            false => format!(" (measured at {measured} of {} sizes)", ratios.len()),
        };
        let where_it_loses = match loses_range {
            None => "nowhere slower".to_owned(),
            Some((low, high)) => format!("slower at {} ({low:.2} to {high:.2})", runs(&loses)),
        };
        Some(format!(
            "{what}{part}: {low:.2} to {high:.2} times as fast as the fastest {tool}; {where_it_loses}."
        ))
    };
    of[..shown].iter().filter_map(sentence).collect()
}

/// `2^10, 2^14 to 2^16`.
fn runs(runs: &[(u64, u64)]) -> String {
    let run = |&(from, to): &(u64, u64)| match from == to {
        true => size_label(from),
        false => format!("{} to {}", size_label(from), size_label(to)),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}
