//! Which rows stay.
//!
//! Rows are of one point if unit (device, UUID, host, PCI address), driver, kernel sources, release, problem, config,
//! size and form of the calls agree. Of the rows of one point there stay:
//!
//! * every `wrong_result`: wrong once is wrong until shown right ([`crate::trust`]);
//! * the latest `ok` row, and the latest one that proves something: what analysis takes of several;
//! * where a confirmation has failed, that row, and no `ok` row before it;
//! * where none of these is there, one failure: rather one that was tried than `quarantined`, then the latest.
//!
//! So a failure of one attempt hides no `ok` row of another one, whenever that was measured, as `sweep --retry-failed`
//! has it; and `ok` hides no wrong row. Time stamps decide only between two rows of one point of one unit that are both
//! `ok`, both failed, or `ok` and the failure of a confirmation: the clocks of two hosts are never compared where rows
//! say their host. Each rule takes a maximum, so that merging in parts gives what merging at once gives.
//!
//! Other rows than those of points of a sweep (of benchmarks, of other subjects, with a reason to take part) all stay,
//! each once.

use std::cmp::Ordering;

use scanbox_model::problem::Problem;
use scanbox_model::record::{COLUMNS, Record, Status};
use scanbox_model::row_rules::OWN_SUBJECT;

use crate::confirmed::FAILED_IN_CONFIRMATION;
use crate::grouping::release;
use crate::trust::timestamp_key;

/// The rows that stay, and what became of the others.
#[derive(Debug, Clone, Default)]
pub struct UnitedRows {
    /// By unit, size, config and age.
    pub records: Vec<Record>,
    /// Rows that were there before, or in an earlier state.
    pub repeated: u64,
    /// Rows of points that have a later `ok` row of the same unit.
    pub replaced: u64,
    /// Failures of points that another attempt has a better row of.
    pub failed_elsewhere: u64,
}

/// Unites rows: the result does not depend on their order.
#[must_use]
pub fn unite(mut records: Vec<Record>) -> UnitedRows {
    records.sort_by(in_order);
    let mut united = UnitedRows::default();
    let before = records.len();
    records.dedup_by(|later, earlier| is_same(later, earlier));
    united.repeated = (before - records.len()) as u64;
    let mut left = records.into_iter().peekable();
    let mut of_point: Vec<Record> = Vec::new();
    while let Some(record) = left.next() {
        let ends = left.peek().is_none_or(|next| by_point(&record, next).is_ne());
        of_point.push(record);
        if ends {
            settle(&mut of_point, &mut united);
        }
    }
    united
}

/// Whether a row is the one of its point in a sweep; others say something beside that.
#[must_use]
pub fn is_of_point(record: &Record) -> bool {
    record.subject == OWN_SUBJECT && !record.is_of_benchmark() && record.selection.is_empty()
}

/// Takes the rows of one point, in order of age, to those that stay.
fn settle(rows: &mut Vec<Record>, united: &mut UnitedRows) {
    if rows.len() == 1 || !is_of_point(&rows[0]) {
        united.records.append(rows);
        return;
    }
    let last = |is: &dyn Fn(&Record) -> bool| rows.iter().rposition(is);
    let is_ok = |row: &Record| row.status == Status::Ok;
    let retracted = last(&is_retraction);
    let counts = |at: &usize| retracted.is_none_or(|retracted| is_later(&rows[*at], &rows[retracted]));
    let ok = last(&is_ok).filter(counts);
    let proof = last(&|row| is_ok(row) && row.proved_calls.is_some_and(|calls| calls > 0)).filter(counts);
    let stays = |at: usize| {
        let is_wrong = rows[at].status == Status::WrongResult;
        is_wrong || ok == Some(at) || proof == Some(at) || retracted == Some(at)
    };
    let mut stay: Vec<bool> = (0..rows.len()).map(stays).collect();
    if !stay.contains(&true) {
        let was_tried = |at: &usize| rows[*at].status != Status::Quarantined;
        let best = (0..rows.len()).max_by_key(|at| (was_tried(at), *at));
        best.into_iter().for_each(|at| stay[at] = true);
    }
    let mut kept: Option<&Record> = None;
    for (row, stays) in rows.iter().zip(&stay).rev() {
        if *stays {
            kept = Some(row);
        } else if kept.is_some_and(|kept| is_same_measurement(row, kept)) {
            united.repeated += 1;
        } else if is_ok(row) {
            united.replaced += 1;
        } else {
            united.failed_elsewhere += 1;
        }
    }
    let mut stay = stay.into_iter();
    united.records.extend(rows.drain(..).filter(|_| stay.next() == Some(true)));
}

/// Whether a row was `ok` until it failed in the confirmation: then no time of it before that counts.
fn is_retraction(row: &Record) -> bool {
    row.status != Status::Ok && row.reason.starts_with(FAILED_IN_CONFIRMATION)
}

fn is_later(row: &Record, than: &Record) -> bool {
    timestamp_key(&row.timestamp_utc) > timestamp_key(&than.timestamp_utc)
}

/// Whether two rows of a point are one measurement: a confirmation changes rows that are there.
fn is_same_measurement(a: &Record, b: &Record) -> bool {
    (&a.run_id, a.order_index, &a.timestamp_utc) == (&b.run_id, b.order_index, &b.timestamp_utc)
}

/// The order of rows in a merged file.
fn in_order(a: &Record, b: &Record) -> Ordering {
    by_point(a, b).then_with(|| by_age(a, b)).then_with(|| by_text(a, b))
}

fn is_same(a: &Record, b: &Record) -> bool {
    a == b || in_order(a, b).is_eq()
}

/// By what tells points apart, those of a unit together.
fn by_point(a: &Record, b: &Record) -> Ordering {
    fn origin(row: &Record) -> [&str; 8] {
        let version = release(&row.subject_version);
        let unit = [&row.device, &row.device_uuid, &row.host, &row.pci_address].map(String::as_str);
        let [device, uuid, host, pci] = unit;
        [&row.subject, device, uuid, host, pci, &row.driver, &row.kernel_hash, version]
    }
    fn api(row: &Record) -> impl Ord + '_ {
        (row.api, &row.implementation, row.robustness)
    }
    // Rows of before there was a choice do not say what they compute.
    fn problem(row: &Record) -> Option<Problem> {
        Problem::of_row(row).ok()
    }
    fn call(row: &Record) -> impl Ord + '_ {
        (row.blocking, row.call_form, row.cache, &row.selection)
    }
    origin(a)
        .cmp(&origin(b))
        .then_with(|| api(a).cmp(&api(b)))
        .then_with(|| a.n_elements.cmp(&b.n_elements))
        .then_with(|| a.config_id.cmp(&b.config_id))
        .then_with(|| problem(a).cmp(&problem(b)))
        .then_with(|| call(a).cmp(&call(b)))
}

/// The later row comes last, as analysis has it ([`crate::grouping`]); of two states of one measurement the confirmed
/// one.
fn by_age(a: &Record, b: &Record) -> Ordering {
    let age = |row: &Record| {
        let times = row.steady.map(|time| (time.median_ns, time.q1_ns, time.q3_ns));
        let state = (row.confirmed_ns, row.rounds);
        (timestamp_key(&row.timestamp_utc), row.order_index, times, row.samples, row.bytes_moved, state)
    };
    age(a).cmp(&age(b))
}

/// The last resort, so that the order is one.
fn by_text(a: &Record, b: &Record) -> Ordering {
    let known =
        COLUMNS.iter().map(|column| column.write(a).cmp(&column.write(b))).find(|order| order.is_ne());
    let unknown = |row: &Record| -> Vec<(String, String)> {
        let mut cells: Vec<_> =
            row.unknown.iter().map(|cell| (cell.column.to_string(), cell.text.clone())).collect();
        cells.retain(|(_, text)| !text.is_empty());
        cells.sort();
        cells
    };
    known.unwrap_or_else(|| unknown(a).cmp(&unknown(b)))
}
