//! What calls cost that a program records by the library, against the same config as scanbox records it, in one
//! benchmark.
//!
//! How sure a difference is: [`crate::interval`].

use std::collections::BTreeMap;

use scanbox_model::call_form::CallForm;
use scanbox_model::config::{Arguments, Config};
use scanbox_model::record::{Cache, Clock, Record};

use crate::grouping::OWN_SUBJECT;
use crate::interval::{Estimate, knows_rounds, longer_ns, longer_percent};

/// What is set against something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryCost {
    /// A call by the library, against one of the same config with the same arguments by scanbox itself.
    Recording,
    /// A line that is written before each call, against one that stays, both by the library.
    Setting,
    /// The number of elements in memory, against the library's choice where the host knows it.
    Length,
    /// The number of elements in memory, against the same config as scanbox records it, where the host knows it.
    LengthAlone,
}

/// What the library costs somewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LibraryDifference<'a> {
    /// Of what.
    pub cost: LibraryCost,
    /// The row of the library.
    pub record: &'a Record,
    /// What it is held against.
    pub other: &'a Record,
    /// Medians of a call, in nanoseconds: of the row, and of the other one.
    pub ns: [f64; 2],
    /// By how many nanoseconds the row takes longer.
    pub longer_ns: Estimate,
}

impl LibraryDifference<'_> {
    /// By how much the row takes longer, in nanoseconds.
    #[must_use]
    pub fn more_ns(&self) -> f64 {
        self.longer_ns.value
    }

    /// The same as a share of the other row's time, in percent.
    #[must_use]
    pub fn more_percent(&self) -> f64 {
        longer_percent(self.record, self.other).unwrap_or(0.0)
    }

    /// By how much it takes longer at most: the upper end of the interval. `None` after one round, which does not say
    /// what changes from block to block.
    #[must_use]
    pub fn most_ns(&self) -> Option<f64> {
        Some(self.longer_ns.interval.high).filter(|_| knows_rounds(self.record, self.other))
    }
}

/// A row by which others are found: size, buffers, form.
type RowPlace<'a> = (&'a str, u64, Option<Cache>, Option<CallForm>);

/// Every difference of a benchmark, in the order of its rows.
#[must_use]
pub fn library_differences<'a>(records: &'a [Record]) -> Vec<LibraryDifference<'a>> {
    let mut by_config: BTreeMap<(RowPlace<'a>, &str), &'a Record> = BTreeMap::new();
    // The library's choice where the host knows how many elements there are, by its kind of arguments.
    let mut known: Vec<(Arguments, &'a Record)> = Vec::new();
    for record in records {
        if record.subject != OWN_SUBJECT || record.blocking.is_some() || timed(record).is_none() {
            continue;
        }
        let form = record.call_form;
        let place = (&*record.run_id, record.n_elements, record.cache, form);
        by_config.insert((place, &record.config_id), record);
        if let (Some(CallForm::Library), Some(arguments)) = (form, arguments(record)) {
            known.push((arguments, record));
        }
    }
    let same = |record: &Record, form: Option<CallForm>| {
        let place = (&*record.run_id, record.n_elements, record.cache, form);
        by_config.get(&(place, &*record.config_id)).copied()
    };
    let mut differences = Vec::new();
    for record in records {
        let Some(form) = record.call_form.filter(|form| form.is_of_library()) else { continue };
        let mut add = |cost, other: Option<&'a Record>| {
            let Some(other) = other else { return };
            let (Some(own), Some(others)) = (timed(record), timed(other)) else { return };
            let Some(longer_ns) = longer_ns(record, other) else { return };
            differences.push(LibraryDifference { cost, record, other, ns: [own, others], longer_ns });
        };
        match form {
            CallForm::Library => {
                // Where its arguments stand in a line, that stays.
                let unchanged = same(record, Some(CallForm::UnchangedLine));
                add(LibraryCost::Recording, unchanged.or_else(|| same(record, None)));
            }
            CallForm::LibraryUpdated => {
                add(LibraryCost::Recording, same(record, Some(CallForm::UpdatedLine)));
                add(LibraryCost::Setting, same(record, Some(CallForm::Library)));
            }
            _ => {
                let is_beside = |other: &&(Arguments, &Record)| {
                    let place = |record: &Record| (record.run_id.clone(), record.n_elements, record.cache);
                    Some(other.0) == arguments(record) && place(other.1) == place(record)
                };
                add(LibraryCost::Length, known.iter().find(is_beside).map(|(_, other)| *other));
                add(LibraryCost::LengthAlone, same(record, None));
            }
        }
    }
    differences
}

fn arguments(record: &Record) -> Option<Arguments> {
    Some(record.config_id.parse::<Config>().ok()?.kernel.arguments)
}

/// The median of a row, in nanoseconds.
fn timed(record: &Record) -> Option<f64> {
    Some(record.time(Clock::Steady)?.median_ns as f64)
}

#[cfg(test)]
mod tests {
    use scanbox_model::record::{Status, TimeStats};

    use super::*;

    fn row(config: &str, form: Option<CallForm>, median_ns: u64) -> Record {
        let steady = TimeStats {
            median_ns,
            min_ns: median_ns,
            mean_ns: median_ns,
            q1_ns: median_ns,
            q3_ns: median_ns,
            stddev_ns: 0,
        };
        Record {
            subject: OWN_SUBJECT.to_owned(),
            config_id: config.to_owned(),
            n_elements: 1024,
            cache: Some(Cache::Hot),
            call_form: form,
            status: Status::Ok,
            steady: Some(steady),
            samples: 100,
            rounds: Some(9),
            round_spread_pct: Some(1.0),
            ..Record::default()
        }
    }

    #[test]
    fn each_row_of_the_library_is_held_against_its_own_kind() {
        let (push, block) = ("b4.vec4.gather.sub.wg64", "b4.vec4.gather.sub.block.wg64");
        let rows = [
            row(push, None, 1000),
            row(push, Some(CallForm::Library), 1010),
            row(block, None, 900),
            row(block, Some(CallForm::UnchangedLine), 700),
            row(block, Some(CallForm::UpdatedLine), 1700),
            row(block, Some(CallForm::Library), 710),
            row(block, Some(CallForm::LibraryUpdated), 1710),
            row("b8.vec4.gather.sub.wg64", None, 1250),
            row("b8.vec4.gather.sub.wg64", Some(CallForm::LibraryLength), 1300),
            // That of another benchmark is none of this one.
            Record { run_id: "another".to_owned(), ..row(push, Some(CallForm::Library), 5000) },
        ];
        let found: Vec<_> =
            library_differences(&rows).into_iter().map(|one| (one.cost, one.more_ns())).collect();
        let expected = [
            (LibraryCost::Recording, 10.0),
            (LibraryCost::Recording, 10.0),
            (LibraryCost::Recording, 10.0),
            (LibraryCost::Setting, 1000.0),
            (LibraryCost::Length, 290.0),
            (LibraryCost::LengthAlone, 50.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_interval_has_the_spread_of_the_rounds_in_it() {
        let rows = [
            row("b4.vec4.gather.sub.wg64", None, 1000),
            row("b4.vec4.gather.sub.wg64", Some(CallForm::Library), 1000),
        ];
        let one = library_differences(&rows)[0];
        // 10 ns between nine medians are 3.37 ns of standard deviation, 1.40 ns of their median, twice over.
        let most = one.most_ns().unwrap();
        assert!((most - 1.96 * 1.40 * std::f64::consts::SQRT_2).abs() < 0.02, "{most}");
    }
}
