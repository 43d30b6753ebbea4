//! Holds rows against the table of rules.

use super::{Broken, Labelled, OWN_SUBJECT, RULES, RowView};
use crate::problem::Problem;
use crate::record::Record;

/// The first rule that a row breaks. `throughput` is the text of its column `throughput_gbps`, empty where there is
/// none.
///
/// # Errors
/// The rule, the column to blame, and what is wrong.
pub fn check(record: &Record, throughput: &str) -> Result<(), Broken> {
    let own = record.subject == OWN_SUBJECT;
    let label = own.then(|| Labelled::of(&record.config_id));
    let problem = own.then(|| Problem::of_row(record));
    let row = RowView { record, throughput, label: label.as_ref(), problem: problem.as_ref() };
    for rule in RULES {
        if let Err((column, reason)) = (rule.check)(&row) {
            return Err(Broken { rule: rule.name, column, reason });
        }
    }
    Ok(())
}
