//! What a sweep says at its end: as a table, as JSON, in its metadata, and by its exit code.

use std::collections::{BTreeMap, HashSet};
use std::io::{Write, stdout};
use std::path::PathBuf;

use scanbox_analysis::confirmed::Scale;
use scanbox_analysis::ideal::winner;
use scanbox_analysis::trust::Trust;
use scanbox_model::metadata::{Metadata, RunOutcome};
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::space::Enumeration;
use scanbox_model::units::size_label;
use scanbox_runner::session::End;
use serde::Serialize;

use super::{Exit, Format, answered, complain, paste, write_json};
use crate::exit::{Standing, nothing_ok};
use scanbox_report::ceiling_share;
use scanbox_report::grid::{Column, Grid, Style};
use scanbox_report::terminal;
use scanbox_session::device::known_issues;
use scanbox_session::store::{Key, SweepFile, counts, point_key, row_key};
use scanbox_session::supervise::{Supervised, set_up_words};

/// Rows that are not `ok` and are shown at the end.
const FAILED_SHOWN: usize = 5;

/// The end of a sweep, as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    device: String,
    driver: &'a str,
    space: &'a str,
    points: usize,
    rows: usize,
    #[serde(flatten)]
    outcome: RunOutcome,
    end: End,
    /// What was going on when the run had to stop, where that was before its first config.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_up: Option<&'a str>,
    workers_replaced: u32,
    seconds: BTreeMap<String, f64>,
    files: [PathBuf; 2],
}

/// Says how a sweep ended; its exit code does not depend on whether anybody reads that.
pub fn summarise(
    format: Format,
    file: &mut SweepFile,
    enumeration: &Enumeration,
    unconfirmed: bool,
    supervised: Option<&Supervised>,
) -> anyhow::Result<Exit> {
    let left = file.points_to_do(enumeration).len();
    let end = match supervised {
        Some(supervised) if left > 0 || unconfirmed => supervised.end,
        // Whatever ended the run, it came too late to matter.
        _ => End::Complete,
    };
    let asked: HashSet<Key> = enumeration.points.iter().map(point_key).collect();
    let judged = || file.records.iter().filter(|record| asked.contains(&row_key(record)));
    let trouble = supervised.filter(|_| end != End::Complete).and_then(Supervised::trouble);
    let standing = Standing {
        left: end != End::Complete,
        stuck: trouble.is_some() && supervised.is_some_and(|supervised| supervised.finished == 0),
        wrong: file.distrusted(),
        ok: judged().filter(|record| record.status == Status::Ok).count() as u64,
    };
    let exit = standing.exit();
    let nothing_ok =
        nothing_ok("no config became ok", judged().map(|record| (record.status, record.reason.as_str())));
    let outcome = RunOutcome {
        exit_code: exit as u8,
        rows_by_status: counts(&file.records),
        points_left: left as u64,
        wrong: standing.wrong,
        trouble: trouble.clone(),
    };
    if supervised.is_some() {
        file.conclude(outcome.clone())?;
    }
    let mut out = stdout().lock();
    let written = match format {
        Format::Table => write_summary(&mut out, file, supervised, end, &outcome),
        Format::Json => {
            let answer = Answer {
                device: file.metadata.device.title(),
                driver: &file.metadata.device.driver,
                space: &file.metadata.space.name,
                points: enumeration.points.len(),
                rows: file.records.len(),
                outcome,
                end,
                set_up: supervised.and_then(|supervised| supervised.set_up.as_deref()),
                workers_replaced: supervised.map_or(0, |supervised| supervised.replaced),
                seconds: supervised.map(|supervised| supervised.seconds.clone()).unwrap_or_default(),
                files: [file.path().to_owned(), Metadata::path_beside(file.path())],
            };
            write_json(&mut out, &answer)
        }
    };
    for error in trouble.into_iter().chain(nothing_ok) {
        complain(&format!("error: {error}"));
    }
    answered(written, exit)
}

/// Counts by status, best per size, where the files are, what to do next.
fn write_summary(
    out: &mut impl Write,
    file: &SweepFile,
    supervised: Option<&Supervised>,
    end: End,
    outcome: &RunOutcome,
) -> std::io::Result<()> {
    let path = file.path();
    let words: Vec<String> =
        outcome.rows_by_status.iter().map(|(status, count)| format!("{count} {status}")).collect();
    writeln!(out, "{}\n", best_per_size(&file.records, &file.metadata))?;
    let words = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    let points = file.records.iter().map(row_key).collect::<HashSet<_>>().len();
    writeln!(out, "rows       {points} of {}{words}", file.metadata.points)?;
    if file.records.len() > points {
        let (more, wrong) = (file.records.len() - points, outcome.wrong);
        writeln!(
            out,
            "           {more} rows more of points that were wrong once; {wrong} points are not shown right"
        )?;
    }
    if outcome.points_left > 0 {
        let wrong = match outcome.wrong {
            0 => String::new(),
            wrong => format!("; {wrong} of the rows that are there are wrong"),
        };
        writeln!(out, "left       {} points{wrong}", outcome.points_left)?;
    }
    if let Some(text) = confirmed(&file.records) {
        writeln!(out, "confirmed  {text}")?;
    }
    if let Some(supervised) = supervised {
        let seconds = |phase: &str| supervised.seconds.get(phase).copied().unwrap_or(0.0);
        writeln!(
            out,
            "time       {:.1} s, of which the device worked {:.0} %",
            seconds("total"),
            100.0 * seconds("device_busy") / seconds("total").max(1e-9)
        )?;
        if supervised.replaced > 0 {
            writeln!(out, "workers    {} replaced", supervised.replaced)?;
        }
    }
    writeln!(out, "files      {}", paste::path(path))?;
    writeln!(out, "           {}", paste::path(&Metadata::path_beside(path)))?;
    write_failed(out, &file.records)?;
    for (issue, rows) in file.issues.passed(&file.records) {
        let text = known_issues::unexpected_pass(issue, rows);
        writeln!(out, "{}", terminal::fold("passed     ", &text, 11, terminal::width()))?;
    }
    let during = set_up_words(supervised.and_then(|supervised| supervised.set_up.as_deref()));
    let (program, this) = (paste::program(), paste::this_command());
    let next = match end {
        End::Complete => {
            paste::line([program.as_str(), "analyze", &path.to_string_lossy(), "--metric", "squared"])
        }
        End::Budget => format!("the budget is spent{during}; the same command goes on: {this}"),
        End::Interrupted => format!("interrupted{during}; the same command goes on: {this}"),
        End::DeviceUnusable => format!("{program} doctor; then the same command goes on: {this}"),
    };
    writeln!(out, "next       {next}")
}

/// The first rows that are not `ok`, the wrong ones before all others.
fn write_failed(out: &mut impl Write, records: &[Record]) -> std::io::Result<()> {
    let mut failed: Vec<&Record> = records.iter().filter(|record| record.status != Status::Ok).collect();
    failed.sort_by_key(|record| record.status != Status::WrongResult);
    for record in failed.iter().take(FAILED_SHOWN) {
        let (config, size) = (&record.config_id, size_label(record.n_elements));
        let head = format!("{:<10} ", record.status.word());
        let text = format!("{config} at {size}: {}", record.reason);
        writeln!(out, "{}", terminal::fold(&head, &text, 11, terminal::width()))?;
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
        format!("{rows} rows of {sizes} sizes; at {other} of them another config won than in the sweep")
    })
}

/// The rows that are the best of a size.
struct Best<'a> {
    /// The one that won.
    record: &'a Record,
    /// Its throughput in GB/s: by its confirmation, where there is one.
    gbps: f64,
    /// The one that the sweep alone shows as the fastest.
    fastest: &'a Record,
}

fn best_of_sizes(records: &[Record]) -> BTreeMap<u64, Best<'_>> {
    let trust = Trust::of(records);
    let mut sizes: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    let counts = |record: &&Record| record.throughput_gbps(Clock::Steady).is_some() && trust.trusts(record);
    for record in records.iter().filter(counts) {
        sizes.entry(record.n_elements).or_default().push(record);
    }
    let sweep_ns = |record: &Record| record.steady.map_or(u64::MAX, |time| time.median_ns);
    let mut best = BTreeMap::new();
    for (n, rows) in sizes {
        let scale = Scale::of(rows.iter().map(|row| (sweep_ns(row), row.confirmed_ns)));
        let time_ns = |row: &Record| scale.time_ns(sweep_ns(row), row.confirmed_ns);
        // The first of equal ones.
        let fastest = rows.iter().copied().min_by_key(|row| sweep_ns(row));
        if let Some(fastest) = fastest {
            let record = winner(fastest, rows, |row| row.confirmed_ns.filter(|_| scale.is_confirmed()));
            best.insert(n, Best { record, gbps: record.bytes_moved as f64 / time_ns(record), fastest });
        }
    }
    best
}

fn best_per_size(records: &[Record], metadata: &Metadata) -> String {
    let mut grid = Grid::new([
        Column::numbers("size"),
        Column::numbers("GB/s"),
        Column::numbers(ceiling_share(&metadata.problem)).expendable(1),
        Column::words("best config"),
    ]);
    for (n, Best { record, gbps, .. }) in best_of_sizes(records) {
        // A copy that rounds to nothing is no measure.
        let copy = metadata.copy_gbps.get(&n).filter(|copy| **copy > 0.0);
        let share = copy.map_or_else(String::new, |copy| format!("{:.0}", 100.0 * gbps / copy));
        grid.push([size_label(n), format!("{gbps:.1}"), share, record.config_id.clone()]);
    }
    grid.draw(Style::Text { width: terminal::width() })
}
