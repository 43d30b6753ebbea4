//! The confirmation of a sweep: the leaders of each size once more, in alternating blocks.
//!
//! Of many configs that are measured once each, at different moments, the one that looks fastest was in part lucky. So
//! the leaders of each size run against each other, as in a benchmark, and their rows get the time of that. What the
//! answers name beside them runs with them: the runner-up, the config of the best kernel, those of portfolios.
//!
//! Confirmed times may make the answers name others, so it goes on until everything that they name is confirmed,
//! [`PASSES`] times at most. Later passes do not measure everybody again: who is new runs beside the fastest of those
//! that are confirmed, and gets the time of that one times the ratio of the two (`Anchor`). So all confirmed times of
//! a size are on one scale, whatever the device's speed was at each pass.
//!
//! The file is replaced after each size: whatever ends a confirmation, the sizes before are kept, and the next one
//! begins with the first size that has one of these without a confirmed time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use scanbox_analysis::answers::{Question, answer};
use scanbox_analysis::confirmed::FAILED_IN_CONFIRMATION;
use scanbox_analysis::grouping::{Builder, RecordFile, Runs};
use scanbox_analysis::lines::Lines;
use scanbox_analysis::trust::Trust;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Clock, Record, Selection, Status};
use scanbox_runner::bench::Selected;
use scanbox_runner::subject::Subject;

use crate::bench::{BenchTask, News};
use crate::process::Worker;
use crate::protocol::BenchWork;
use crate::store::{RowKey, SweepFile, row_key};
use crate::supervise::{Supervised, Supervision};

/// Blocks per leader, where the user does not say.
pub const ROUNDS: u32 = 5;

/// How often a confirmation follows answers that have changed by it.
pub const PASSES: usize = 4;

/// Kernels of the largest portfolio that is confirmed: as many as a report shows.
const PORTFOLIO: usize = 6;

/// Of each size that has somebody to confirm: who takes part. These are the `count` fastest rows, and where `named`
/// what the answers name; of those that are confirmed only the fastest, which the others are set against.
///
/// # Errors
/// When what the answers name cannot be worked out.
pub fn unconfirmed(
    records: &[Record],
    count: usize,
    named: bool,
) -> anyhow::Result<Vec<(u64, Vec<Selected>)>> {
    let trust = Trust::of(records);
    let counts = |record: &&Record| record.throughput_gbps(Clock::Steady).is_some() && trust.trusts(record);
    let mut sizes: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    // A config that was retried until it was proved has several rows: it takes part once, with the latest.
    let latest: HashMap<RowKey, &Record> =
        records.iter().filter(counts).map(|row| (row_key(row), row)).collect();
    for record in latest.into_values() {
        sizes.entry(record.n_elements).or_default().push(record);
    }
    let named = if named { named_by_answers(records)? } else { BTreeSet::new() };
    let mut left = Vec::new();
    for (n, mut rows) in sizes {
        rows.sort_by_key(|row| (row.steady.map(|time| time.median_ns), row.config_id.clone()));
        let is_wanted =
            |(place, row): &(usize, &Record)| *place < count || named.contains(&(n, row.config_id.clone()));
        let wanted = rows.iter().copied().enumerate().filter(is_wanted).map(|(_, row)| row);
        let mut taking_part: Vec<&Record> = wanted.filter(|row| row.confirmed_ns.is_none()).collect();
        if taking_part.is_empty() {
            continue;
        }
        let confirmed = rows.iter().filter(|row| row.confirmed_ns.is_some());
        taking_part.extend(confirmed.min_by_key(|row| row.confirmed_ns));
        // One alone has nobody to be compared with.
        if taking_part.len() > 1 {
            let selected = |row: &Record| {
                let subject = Subject::config(row.config()?);
                Some(Selected { subject, selection: vec![Selection::Named] })
            };
            left.push((n, taking_part.into_iter().filter_map(selected).collect()));
        }
    }
    Ok(left)
}

/// The configs that the answers about these rows name, with their sizes: the best two, those of the best kernel and of
/// portfolios.
fn named_by_answers(records: &[Record]) -> anyhow::Result<BTreeSet<(u64, String)>> {
    let mut builder = Builder::new(Clock::Steady);
    builder.add(&RecordFile {
        name: "the sweep",
        records,
        planned: None,
        problem: Problem::default(),
        kind: None,
        ceiling_gbps: None,
    })?;
    let (tables, _) = builder.finish(Runs::Latest);
    let question = Question { portfolio: Some(PORTFOLIO), include_software: true, ..Question::default() };
    let (answers, _) = answer(&tables, &question);
    let mut named = BTreeSet::new();
    let mut name = |n, config| named.insert((n, tables.catalog.config(config).to_string()));
    for device in &answers.devices {
        for point in &device.ideal.points {
            for cell in std::iter::once(point.best).chain(point.runner_up) {
                name(point.n, cell.config);
            }
        }
        for line in device.choice.iter().flat_map(|choice| &choice.lines) {
            line.points.iter().filter(|point| point.in_choice).for_each(|point| {
                name(point.n, point.best.config);
            });
        }
        let lines = Lines::new(&tables.catalog, device.table);
        for set in device.portfolio.iter().flat_map(|portfolio| &portfolio.sets) {
            for &n in &device.eligibility.sizes {
                let cells = set.kernels.iter().filter_map(|&kernel| lines.best(kernel, n));
                if let Some(cell) = cells.max_by(|a, b| a.gbps.total_cmp(&b.gbps)) {
                    name(n, cell.config);
                }
            }
        }
    }
    Ok(named)
}

/// Confirms the leaders that are the subjects of this work.
///
/// # Errors
/// What ends the run, as of [`Supervision`].
pub fn confirm(
    supervision: &Supervision<'_>,
    worker: Worker,
    work: BenchWork,
    file: &mut SweepFile,
) -> anyhow::Result<Supervised> {
    let mut rows: HashMap<RowKey, Record> = HashMap::new();
    let sink = &mut |news: News| match news {
        News::Row(row) => {
            rows.insert(row_key(&row), *row);
            Ok(())
        }
        News::SizeFinished(n) => file.change(|records| {
            let anchor = Anchor::of(records.iter().filter(|record| record.n_elements == n), &rows);
            let mut seen = HashSet::new();
            // Rows that are not `ok` stay what they are, and of several that are the latest gets the time.
            let of_size = |record: &&mut Record| record.n_elements == n && record.status == Status::Ok;
            for record in records.iter_mut().rev().filter(of_size) {
                let key = row_key(record);
                if let Some(row) = rows.get(&key) {
                    take_over(record, row, &anchor, seen.insert(key));
                }
            }
        }),
    };
    let mut task = BenchTask::new("confirm", work, sink);
    let supervised = supervision.run(worker, &mut task);
    task.end();
    supervised
}

/// What the times of a pass are set against.
enum Anchor {
    /// Nobody of this size was confirmed before: they stand for themselves.
    Itself,
    /// Times of this pass become times on the scale of the first one when they are multiplied by this.
    Ratio(f64),
    /// The one that was confirmed before has failed, so nobody can be set against it. The next pass has another.
    Lost,
}

impl Anchor {
    /// Of the rows of a size: the one that took part although it is confirmed.
    fn of<'a>(mut of_size: impl Iterator<Item = &'a Record>, rows: &HashMap<RowKey, Record>) -> Self {
        let both = of_size.find_map(|record| Some((record.confirmed_ns?, rows.get(&row_key(record))?)));
        match both {
            None => Self::Itself,
            Some((before_ns, row)) => confirmed_ns(row)
                .map_or(Self::Lost, |now_ns| Self::Ratio(before_ns as f64 / now_ns.max(1) as f64)),
        }
    }
}

/// The time of a row of the confirmation.
fn confirmed_ns(row: &Record) -> Option<u64> {
    row.steady.filter(|_| row.status == Status::Ok).map(|time| time.median_ns)
}

/// What the confirmation of a size says about an `ok` row of it, which may be the latest of its config.
fn take_over(record: &mut Record, row: &Record, anchor: &Anchor, is_latest: bool) {
    match confirmed_ns(row) {
        Some(_) if !is_latest => {}
        Some(now_ns) => {
            record.twin_calls = record.twin_calls.max(row.twin_calls);
            let ratio = match anchor {
                Anchor::Itself => 1.0,
                Anchor::Ratio(ratio) => *ratio,
                Anchor::Lost => return,
            };
            if record.confirmed_ns.is_none() {
                record.confirmed_ns = Some(((now_ns as f64 * ratio).round() as u64).max(1));
                (record.rounds, record.round_spread_pct) = (row.rounds, row.round_spread_pct);
            }
        }
        // What fails when it runs again has no time that could be relied on, in none of its rows. It failed now: a
        // proof that is older than that takes nothing back.
        None => {
            record.run_id.clone_from(&row.run_id);
            record.timestamp_utc.clone_from(&row.timestamp_utc);
            (record.confirmed_ns, record.rounds, record.round_spread_pct) = (None, None, None);
            record.status = row.status;
            record.reason = format!("{FAILED_IN_CONFIRMATION}{}", row.reason);
            record.mismatches = row.mismatches.or(record.mismatches);
            record.first_mismatch = row.first_mismatch.or(record.first_mismatch);
            record.twin_calls = row.twin_calls.or(record.twin_calls);
        }
    }
}

/// The state of the buffers in sweeps and their confirmation.
pub const CACHES: [Cache; 1] = [Cache::Hot];
