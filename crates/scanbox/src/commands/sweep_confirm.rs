//! The confirmation of a sweep: the leaders of each size once more, in alternating blocks.
//!
//! Of many configs that are measured once each, at different moments, the one that looks fastest was in part lucky. So
//! the leaders of each size run against each other, as in a benchmark, and their rows get the time of that. The file is
//! replaced after each size: whatever ends a confirmation, the sizes before are kept, and the next one begins with the
//! first size that has a leader without a confirmed time.

use std::collections::{BTreeMap, HashMap};

use scanbox_kernels::catalog::Variant;
use scanbox_model::record::{Cache, Clock, Record, Selection, Status};
use scanbox_runner::bench::Entrant;

use super::bench_task::{BenchTask, News};
use super::sweep_file::{Key, SweepFile, row_key};
use crate::process::Worker;
use crate::supervise::{Supervised, Supervision};
use crate::worker::BenchWork;

/// Blocks per leader, where the user does not say.
pub const ROUNDS: u32 = 5;

/// The leaders of each size that has one without a confirmed time: the `count` fastest rows.
pub fn unconfirmed(records: &[Record], count: usize) -> Vec<(u64, Vec<Entrant>)> {
    let mut sizes: BTreeMap<u64, Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.throughput_gbps(Clock::Steady).is_some()) {
        sizes.entry(record.n_elements).or_default().push(record);
    }
    let mut left = Vec::new();
    for (n, mut rows) in sizes {
        rows.sort_by_key(|row| (row.steady.map(|time| time.median_ns), row.config_id.clone()));
        rows.truncate(count);
        // One alone has nobody to be compared with.
        if rows.len() > 1 && rows.iter().any(|row| row.confirmed_ns.is_none()) {
            let entrant = |row: &&Record| Entrant {
                label: row.config_id.clone(),
                selection: vec![Selection::Named],
                variant: Variant::default(),
            };
            left.push((n, rows.iter().map(entrant).collect()));
        }
    }
    left
}

/// Confirms the leaders that are the subjects of this work.
pub fn confirm(
    supervision: &Supervision<'_>,
    worker: Worker,
    work: BenchWork,
    file: &mut SweepFile,
) -> anyhow::Result<Supervised> {
    let mut rows: HashMap<Key, Record> = HashMap::new();
    let sink = &mut |news: News| match news {
        News::Row(row) => {
            rows.insert(row_key(&row), *row);
            Ok(())
        }
        News::SizeFinished(n) => file.change(|records| {
            for record in records.iter_mut().filter(|record| record.n_elements == n) {
                take_over(record, rows.get(&row_key(record)));
            }
        }),
    };
    let mut task = BenchTask::new(work, sink);
    let supervised = supervision.run(worker, &mut task);
    task.end();
    supervised
}

/// What the confirmation of a size says about one of its rows; nothing about a row that is no leader any more.
fn take_over(record: &mut Record, confirmation: Option<&Record>) {
    (record.confirmed_ns, record.rounds, record.round_spread_pct) = (None, None, None);
    match confirmation {
        Some(row) if row.status == Status::Ok => {
            record.confirmed_ns = row.steady.map(|time| time.median_ns);
            (record.rounds, record.round_spread_pct) = (row.rounds, row.round_spread_pct);
        }
        // What fails when it runs again has no time that could be relied on.
        Some(row) => {
            record.status = row.status;
            record.reason = format!("in the confirmation: {}", row.reason);
            record.mismatches = row.mismatches.or(record.mismatches);
            record.first_mismatch = row.first_mismatch.or(record.first_mismatch);
        }
        None => {}
    }
}

/// The state of the buffers in sweeps and their confirmation.
pub const CACHES: [Cache; 1] = [Cache::Hot];
