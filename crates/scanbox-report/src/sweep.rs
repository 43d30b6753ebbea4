//! What a sweep says at its end.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use scanbox_analysis::confirmed::TimeScale;
use scanbox_analysis::ideal::winner;
use scanbox_analysis::trust::Trust;
use scanbox_model::metadata::{Metadata, RunOutcome};
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::shard::ShardOf;
use scanbox_model::units::{plural, size_label};
use scanbox_runner::session::End;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::grid::{Grid, GridColumn, Style};
use crate::paste;
use crate::terminal::fold;
use crate::words::{ceiling_share, ceilings, set_up_words};

/// Rows that are not `ok` and are shown at the end.
const FAILED_SHOWN: usize = 5;

/// The lines of a terminal, less one for what the user types next. What goes to a file or a pipe has no limit.
const SCREEN: usize = 23;

/// Lines of a terminal for one row that is not `ok`.
const LINES_PER_FAILED: usize = 2;

/// Sizes that are shown in any case.
const SIZES_SHOWN: usize = 5;

/// How a sweep has left its files.
pub struct SweepEnding<'a> {
    /// Of the files.
    pub metadata: &'a Metadata,
    /// All rows.
    pub records: &'a [Record],
    /// Where they are.
    pub path: &'a Path,
    /// Points that were asked for.
    pub points: usize,
    /// Counts and exit code.
    pub outcome: RunOutcome,
    /// Why it ended.
    pub end: End,
    /// Whether the rows are where everybody sees them; else they are on this machine alone.
    pub is_published: bool,
    /// The command that merges all shards, without the program, once all of them are there.
    pub merge: Option<String>,
    /// What was measured; `None` where nothing was left to do.
    pub run: Option<RunCost>,
    /// Known issues that did not show, one sentence each.
    pub passed: Vec<String>,
    /// Whether `scanbox sweep` was asked for, and not a command that sweeps into a file of its own.
    pub is_of_sweep: bool,
}

/// What it took.
pub struct RunCost {
    /// What was going on when the run had to stop, where that was before its first config.
    pub set_up: Option<String>,
    /// Workers that were replaced.
    pub replaced: u32,
    /// By phase.
    pub seconds: BTreeMap<String, f64>,
}

impl Document for SweepEnding<'_> {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => write_table(self, width, out),
            Format::Json => write_json(out, &EndingJson::new(self)),
            other => other.missing("the end of a sweep"),
        }
    }
}

/// The end of a sweep, as JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EndingJson<'a> {
    device: String,
    driver: &'a str,
    space: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<&'a ShardOf>,
    points: usize,
    rows: usize,
    #[serde(flatten)]
    outcome: &'a RunOutcome,
    end: End,
    /// What was going on when the run had to stop, where that was before its first config.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_up: Option<&'a str>,
    workers_replaced: u32,
    seconds: BTreeMap<String, f64>,
    files: [PathBuf; 2],
}

impl<'a> EndingJson<'a> {
    fn new(ending: &'a SweepEnding<'_>) -> Self {
        let SweepEnding { metadata, records, path, points, outcome, end, run, .. } = ending;
        Self {
            device: metadata.device.title(),
            driver: &metadata.device.driver,
            space: &metadata.space.name,
            shard: metadata.shard.as_ref(),
            points: *points,
            rows: records.len(),
            outcome,
            end: *end,
            set_up: run.as_ref().and_then(|run| run.set_up.as_deref()),
            workers_replaced: run.as_ref().map_or(0, |run| run.replaced),
            seconds: run.as_ref().map(|run| run.seconds.clone()).unwrap_or_default(),
            files: [path.to_path_buf(), Metadata::path_beside(path)],
        }
    }
}

/// Best per size, counts by status, where the files are, what to do next. On a terminal all of it fits one screen.
fn write_table(ending: &SweepEnding<'_>, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let mut facts = Vec::new();
    write_facts(ending, width, &mut facts)?;
    let facts = String::from_utf8_lossy(&facts);
    let room = width.map(|width| {
        let lines = facts.lines().map(|line| line.chars().count().div_ceil(width).max(1));
        // The heading of the table takes two, and what is between it and the rest two more.
        SCREEN.saturating_sub(lines.sum::<usize>() + 4).max(SIZES_SHOWN)
    });
    let best = best_of_sizes(ending.records);
    // A table without a row says nothing.
    if !best.is_empty() {
        writeln!(out, "{}\n", best_per_size(ending, best, room, width))?;
    }
    out.write_all(facts.as_bytes())
}

/// Of points that have several rows: that they were measured again, and whether because a result was wrong.
fn measured_again<'a>(
    points: impl Iterator<Item = &'a Vec<&'a Record>>,
    more: usize,
    not_shown_right: u64,
) -> String {
    let wrong_once = points
        .filter(|rows| rows.len() > 1 && rows.iter().any(|row| row.status == Status::WrongResult))
        .count();
    let again = format!("{} of points that were measured again", plural(more, "more row"));
    match wrong_once {
        0 => again,
        _ => {
            format!("{again}; {} wrong once, {not_shown_right} not shown right", plural(wrong_once, "point"))
        }
    }
}

/// What is said below the table.
fn write_facts(ending: &SweepEnding<'_>, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let SweepEnding { metadata, records, path, outcome, end, run, passed, .. } = ending;
    let words: Vec<String> =
        outcome.rows_by_status.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    let mut rows_of = BTreeMap::<_, Vec<&Record>>::new();
    for row in *records {
        rows_of.entry((&row.config_id, row.n_elements)).or_default().push(row);
    }
    let points = rows_of.len();
    writeln!(out, "rows       {points} of {}{words}", metadata.points)?;
    if records.len() > points {
        let text = measured_again(rows_of.values(), records.len() - points, outcome.wrong);
        writeln!(out, "{}", fold("           ", &text, 11, width))?;
    }
    if outcome.points_left > 0 {
        let wrong = match outcome.wrong {
            0 => String::new(),
            wrong => format!("; {wrong} of the rows that are there are wrong"),
        };
        writeln!(out, "left       {} points{wrong}", outcome.points_left)?;
    }
    let copies = ceilings(&metadata.problem);
    for (head, sizes, what) in [
        ("left       ", &outcome.copies_left, format!("{copies} not measured yet: ")),
        ("wrong      ", &outcome.wrong_copies, format!("wrong {copies}, with which nothing is compared: ")),
    ] {
        if !sizes.is_empty() {
            let sizes: Vec<String> = sizes.iter().map(|&n| size_label(n)).collect();
            writeln!(out, "{}", fold(head, &format!("{what}{}", sizes.join(", ")), 11, width))?;
        }
    }
    if let Some(pct) = metadata.shard.as_ref().and_then(ShardOf::drifted_pct) {
        let text = format!(
            "{pct:+.1} % from the start of the shard to the last one: the device did not keep its speed, so these times do not \
             count; to measure them again, run this command again"
        );
        writeln!(out, "{}", fold("anchors    ", &text, 11, width))?;
    }
    if let Some(text) = confirmed(records) {
        writeln!(out, "confirmed  {text}")?;
    }
    if let Some(run) = run {
        let total = run.seconds.get("total").copied().unwrap_or(0.0);
        // A worker that was ended before its own end has not said how long the device worked.
        let worked = run.seconds.get("device_busy").map_or_else(String::new, |busy| {
            format!(", of which the device worked {:.0} %", 100.0 * busy / total.max(1e-9))
        });
        writeln!(out, "time       {total:.1} s{worked}")?;
        if run.replaced > 0 {
            writeln!(out, "workers    {} replaced", run.replaced)?;
        }
    }
    writeln!(out, "files      {}", paste::path(path))?;
    writeln!(out, "           {}", paste::path(&Metadata::path_beside(path)))?;
    write_failed(records, width, out)?;
    for text in passed {
        writeln!(out, "{}", fold("passed     ", text, 11, width))?;
    }
    if let (None, Some(newest)) = (run, records.iter().map(|row| &row.timestamp_utc).max()) {
        let text = format!("nothing was left to measure; these times are of {newest}");
        writeln!(out, "{}", fold("measured   ", &text, 11, width))?;
        // The file of another command has the name that it gives.
        if ending.is_of_sweep && metadata.shard.is_none() && ending.is_published {
            let (again, compare) = again(path);
            let why = "to measure again, and to compare, run:";
            writeln!(
                out,
                "{}\n           {again}\n           {compare}",
                fold("again      ", why, 11, width)
            )?;
        }
    }
    let during = set_up_words(run.as_ref().and_then(|run| run.set_up.as_deref()));
    let (program, this) = (paste::program(), paste::this_command());
    let (why, command) = match end {
        _ if !ending.is_published => {
            ("to publish these rows once there is room, run on this machine:".to_owned(), this)
        }
        End::Complete if outcome.drifted_pct.is_some() => {
            ("the anchors drifted; to measure again, run:".to_owned(), this)
        }
        End::Complete if ending.merge.is_some() => {
            let merge = ending.merge.as_deref().unwrap_or_default();
            (String::new(), format!("{} {merge}", paste::quoted(&program)))
        }
        End::Complete => {
            let words = [program.as_str(), "analyze", &path.to_string_lossy(), "--metric", "squared"];
            (String::new(), paste::line(words))
        }
        // A set-up that takes longer than the budget ends it again.
        End::Budget if !during.is_empty() => {
            (format!("the budget is spent{during}; a longer --budget measures more; to continue, run:"), this)
        }
        End::Budget => ("the budget is spent; to continue, run:".to_owned(), this),
        End::Interrupted => (format!("interrupted{during}; to continue, run:"), this),
        End::DeviceUnusable => (format!("{program} doctor; then, to continue, run:"), this),
    };
    writeln!(out, "{}", with_command("next       ", &why, &command, width))
}

/// The commands that measure the same again into a file beside this one, and compare the two.
fn again(path: &Path) -> (String, String) {
    let other = paste::numbered(path);
    let (program, old, new) = (paste::program(), path.to_string_lossy(), other.to_string_lossy());
    (paste::this_command_into(&other), paste::line([program.as_str(), "compare", &old, &new]))
}

/// A reason and a command: on one line if they fit, else the command is whole on a line of its own, to be pasted.
fn with_command(head: &str, why: &str, command: &str, width: Option<usize>) -> String {
    if why.is_empty() {
        return format!("{head}{command}");
    }
    let one = format!("{head}{why} {command}");
    match width {
        Some(width) if one.chars().count() > width => {
            format!("{}\n{}{command}", fold(head, why, 11, Some(width)), " ".repeat(11))
        }
        _ => one,
    }
}

/// The first rows that are not `ok`, the wrong ones before all others.
fn write_failed(records: &[Record], width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let mut failed: Vec<&Record> = records.iter().filter(|record| record.status != Status::Ok).collect();
    failed.sort_by_key(|record| record.status != Status::WrongResult);
    for record in failed.iter().take(FAILED_SHOWN) {
        let (config, size) = (&record.config_id, size_label(record.n_elements));
        let head = format!("{:<10} ", record.status.word());
        let mut text = format!("{config} at {size}: {}", record.reason);
        let room = width.map(|width| (LINES_PER_FAILED * width).saturating_sub(2 * 11 + 8));
        if let Some(room) = room.filter(|room| text.chars().count() > *room) {
            text = text.chars().take(room).chain("...".chars()).collect();
        }
        writeln!(out, "{}", fold(&head, &text, 11, width))?;
    }
    match failed.len().saturating_sub(FAILED_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "           and {more} more that are not ok"),
    }
}

/// What the confirmation has changed.
fn confirmed(records: &[Record]) -> Option<String> {
    let rows = records.iter().filter(|record| record.confirmed_ns.is_some()).count();
    let best = best_of_sizes(records);
    let sizes = best.values().filter(|best| best.record.confirmed_ns.is_some()).count();
    let other = best.values().filter(|best| best.record.config_id != best.fastest.config_id).count();
    (rows > 0).then(|| {
        format!(
            "{} of {}; at {other} of them another config won than in the sweep",
            plural(rows, "row"),
            plural(sizes, "size")
        )
    })
}

/// The rows that are the best of a size.
struct BestRow<'a> {
    /// The one that won.
    record: &'a Record,
    /// Its throughput in GB/s: by its confirmation, where there is one.
    gbps: f64,
    /// The one that the sweep alone shows as the fastest.
    fastest: &'a Record,
}

fn best_of_sizes(records: &[Record]) -> BTreeMap<u64, BestRow<'_>> {
    let trust = Trust::of(records);
    let mut sizes: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    let counts = |record: &&Record| record.throughput_gbps(Clock::Steady).is_some() && trust.trusts(record);
    for record in records.iter().filter(counts) {
        sizes.entry(record.n_elements).or_default().push(record);
    }
    let sweep_ns = |record: &Record| record.steady.map_or(u64::MAX, |time| time.median_ns);
    let mut best = BTreeMap::new();
    for (n, rows) in sizes {
        let scale = TimeScale::of(rows.iter().map(|row| (sweep_ns(row), row.confirmed_ns)));
        let time_ns = |row: &Record| scale.time_ns(sweep_ns(row), row.confirmed_ns);
        // The first of equal ones.
        let fastest = rows.iter().copied().min_by_key(|row| sweep_ns(row));
        if let Some(fastest) = fastest {
            let record = winner(fastest, rows, |row| row.confirmed_ns.filter(|_| scale.is_confirmed()));
            best.insert(n, BestRow { record, gbps: record.bytes_moved as f64 / time_ns(record), fastest });
        }
    }
    best
}

/// A table with the best config of each size: of so many, where that is said, with the first, the last, and others
/// between them.
fn best_per_size(
    ending: &SweepEnding<'_>,
    best: BTreeMap<u64, BestRow<'_>>,
    room: Option<usize>,
    width: Option<usize>,
) -> String {
    let SweepEnding { metadata, path, .. } = ending;
    let mut grid = Grid::new([
        GridColumn::numbers("size"),
        GridColumn::numbers("GB/s"),
        GridColumn::numbers(ceiling_share(&metadata.problem)).expendable(1),
        GridColumn::words("best config"),
    ]);
    let count = best.len();
    let shown = room.unwrap_or(count).min(count);
    let places: HashSet<usize> = match shown {
        0 | 1 => (0..shown).collect(),
        _ => (0..shown).map(|place| place * (count - 1) / (shown - 1)).collect(),
    };
    for (place, (n, BestRow { record, gbps, .. })) in best.into_iter().enumerate() {
        if !places.contains(&place) {
            continue;
        }
        // A ceiling that rounds to nothing is no measure.
        let ceiling = metadata.ceiling_gbps.get(&n).filter(|gbps| **gbps > 0.0);
        let share = ceiling.map_or_else(String::new, |ceiling| format!("{:.0}", 100.0 * gbps / ceiling));
        grid.push([size_label(n), format!("{gbps:.1}"), share, record.config_id.clone()]);
    }
    let table = grid.draw(Style::Text { width });
    match count - shown {
        0 => table,
        more => {
            let analyze = paste::line([paste::program().as_str(), "analyze", &path.to_string_lossy()]);
            let text = format!("and {}: {analyze} has all", plural(more, "other size"));
            format!("{table}\n{}", fold("", &text, 2, width))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a device that became faster than at first, or a wrong result, leaves them.
    #[test]
    fn rows_of_points_that_were_measured_again_say_why() {
        let row = |status| Record { status, ..Record::default() };
        let [ok, wrong] = [Status::Ok, Status::WrongResult].map(row);
        let check = |points: &[&[&Record]], not_shown_right, expected: &str| {
            let points: Vec<Vec<&Record>> = points.iter().map(|rows| rows.to_vec()).collect();
            let more = points.iter().map(|rows| rows.len() - 1).sum();
            assert_eq!(measured_again(points.iter(), more, not_shown_right), expected);
        };
        check(&[&[&ok, &ok], &[&ok]], 0, "1 more row of points that were measured again");
        check(&[&[&ok, &ok], &[&ok, &ok, &ok]], 0, "3 more rows of points that were measured again");
        check(
            &[&[&wrong, &ok], &[&ok, &ok], &[&wrong]],
            1,
            "2 more rows of points that were measured again; 1 point wrong once, 1 not shown right",
        );
    }

    #[test]
    fn a_command_is_never_broken() {
        let check = |why: &str, width: Option<usize>, expected: &str| {
            assert_eq!(with_command("next  ", why, "scanbox tune --budget 2m", width), expected);
        };
        check("", Some(20), "next  scanbox tune --budget 2m");
        check("to continue, run:", None, "next  to continue, run: scanbox tune --budget 2m");
        check("to continue, run:", Some(60), "next  to continue, run: scanbox tune --budget 2m");
        let broken = "next  to continue, run:\n           scanbox tune --budget 2m";
        check("to continue, run:", Some(40), broken);
    }
}
