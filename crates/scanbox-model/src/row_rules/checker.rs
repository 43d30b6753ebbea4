//! Holds rows against the table of rules.

use rustc_hash::FxHashMap;

use super::{Broken, Labelled, OWN_SUBJECT, RULES, RowView};
use crate::problem::Problem;
use crate::record::Record;

/// Checks rows, and remembers their labels.
#[derive(Default)]
pub struct Checker {
    labels: FxHashMap<String, Result<Labelled, String>>,
}

impl Checker {
    /// The first rule that a row breaks. `throughput` is the text of its column `throughput_gbps`, empty where there
    /// is none.
    ///
    /// # Errors
    /// The rule, the column to blame, and what is wrong.
    pub fn check(&mut self, record: &Record, throughput: &str) -> Result<(), Broken> {
        let own = record.subject == OWN_SUBJECT;
        // Two look-ups where it is new, and one where it is not: there are far more rows than labels.
        let known = self.labels.get(&record.config_id).filter(|_| own);
        if own && known.is_none() {
            self.labels.insert(record.config_id.clone(), Labelled::of(&record.config_id));
            return self.check(record, throughput);
        }
        let problem = own.then(|| Problem::of_row(record));
        let row = RowView { record, throughput, label: known, problem: problem.as_ref() };
        for rule in RULES {
            if let Err((column, reason)) = (rule.check)(&row) {
                return Err(Broken { rule: rule.name, column, reason });
            }
        }
        Ok(())
    }
}
