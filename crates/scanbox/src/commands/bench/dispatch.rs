//! `scanbox bench --dispatch`: what a dispatch costs that waits for the one before it, by where its kernel finds its
//! arguments.
//!
//! It is a benchmark like others: what differs is who takes part, and how the rows are shown. What takes part has no
//! choice: one shape, so that arguments are all that differs.

use clap::Args;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::Record;
use scanbox_report::dispatch::DispatchReport;
use scanbox_runner::session::End;

use crate::exit::UsageError;

/// Sizes where none are named: from where a call takes nothing but a dispatch to where its work hides the difference.
pub const DEFAULT_SIZES: &str = "2^10,2^12,2^14,2^16,2^18,2^20,2^22";

/// What `scanbox bench` is asked about dispatches.
#[derive(Debug, Args)]
pub struct DispatchArgs {
    /// Measure what a dependent dispatch costs: a kernel that does nothing, and a copy whose arguments are push
    /// constants, in memory, or baked into its pipeline; in every --format [default sizes: 2^10 to 2^22 in steps of 4
    /// times]
    #[arg(
        long,
        conflicts_with_all = [
            "configs", "from", "kernel", "blocking", "op", "element", "operator", "mode", "init", "in_place",
            "reverse", "total", "init_in_memory", "input", "buffers", "scratch", "baseline", "with", "plot", "summary",
            // What needs --blocking is not refused for that where something else is at odds with it.
            "prove", "plots", "baseline_subjects",
        ]
    )]
    dispatch: bool,
}

impl DispatchArgs {
    /// Whether this is a benchmark of dispatches.
    pub fn is_asked_for(&self) -> bool {
        self.dispatch
    }
}

/// What is made of the rows.
///
/// # Errors
/// When they are of another benchmark.
pub fn report<'a>(
    metadata: &'a Metadata,
    records: &'a [Record],
    end: End,
) -> Result<DispatchReport<'a>, UsageError> {
    let message =
        "these rows have no copies with each kind of arguments: `scanbox bench --dispatch` measures them";
    DispatchReport::new(metadata, records, end).ok_or_else(|| UsageError(message.to_owned()))
}
