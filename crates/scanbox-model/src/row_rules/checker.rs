//! Holds rows against the table of rules.

use std::rc::Rc;

use super::{Broken, Labelled, OWN_SUBJECT, RULES, RowView};
use crate::problem::Problem;
use crate::record::Record;

/// Checks rows one after the other, most of which have the problem of the row before.
#[derive(Debug, Default)]
pub struct Checker {
    /// What the label of the last row says, if that is scanbox's own.
    label: Option<Result<Rc<Labelled>, String>>,
    /// Its problem.
    problem: Option<Result<Problem, String>>,
}

impl Checker {
    /// Of scanbox's own rows, what the label says and the problem; or the first rule that the row breaks. `throughput`
    /// is the text of its column `throughput_gbps`, empty where there is none; `has_same_setting`, whether the columns
    /// of [`crate::csv_file::SETTING`] are those of the row before.
    ///
    /// # Errors
    /// The rule, the column to blame, and what is wrong.
    pub fn check(
        &mut self,
        record: &Record,
        throughput: &str,
        has_same_setting: bool,
    ) -> Result<Option<(&Labelled, &Problem)>, Broken> {
        let own = record.subject == OWN_SUBJECT;
        self.label = own.then(|| Labelled::of(&record.config_id));
        if !has_same_setting {
            self.problem = own.then(|| Problem::of_row(record));
        }
        let (label, problem) = (self.label.as_ref(), self.problem.as_ref());
        let row = RowView { record, throughput, label, problem };
        for rule in RULES {
            if let Err((column, reason)) = (rule.check)(&row) {
                return Err(Broken { rule: rule.name, column, reason });
            }
        }
        let label = label.and_then(|label| label.as_ref().ok()).map(Rc::as_ref);
        Ok(label.zip(problem.and_then(|problem| problem.as_ref().ok())))
    }
}

/// The first rule that a row breaks; `throughput` as in [`Checker::check`].
///
/// # Errors
/// As there.
pub fn check(record: &Record, throughput: &str) -> Result<(), Broken> {
    Checker::default().check(record, throughput, false).map(|_| ())
}
