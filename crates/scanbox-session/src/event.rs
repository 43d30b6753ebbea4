//! Progress for programs: what stands in the lines of `--progress json`.

use std::collections::BTreeMap;

use scanbox_model::record::Status;
use schemars::JsonSchema;
use serde::Serialize;

/// The version of these lines: fields and events are only added within it.
pub const PROGRESS_FORMAT: u32 = 1;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgressForm {
    /// As suits the terminal, or the lack of one.
    #[default]
    Auto,
    /// A bar that moves.
    Bar,
    /// A line now and then.
    Plain,
    /// A line of JSON about once a second.
    Json,
    /// Not at all.
    None,
}

/// A line of `--progress json` on stderr.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ProgressEvent {
    /// A task begins. A run may have several, one after the other: the sweep, then its confirmation.
    Begin {
        /// Version of this format.
        format: u32,
        /// The version of scanbox.
        tool_version: String,
        /// What is done: `sweep`, `anchors`, `confirm`, `verify`, `bench`, `compile` or `rerun`.
        task: String,
        /// Steps: configs at sizes in a sweep, configs on inputs in a verification, sizes in a benchmark.
        total: u64,
    },
    /// What happens before or between steps.
    Phase {
        /// In words.
        text: String,
    },
    /// Steps are done: about once a second, and after the last one.
    Progress(StepsDone),
    /// A task is over, or had to stop.
    End(StepsDone),
    /// Something is said.
    Note {
        /// How bad it is.
        level: NoteLevel,
        /// In words.
        text: String,
    },
}

/// How far a task is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct StepsDone {
    /// Steps that are done.
    pub done: u64,
    /// Steps in all.
    pub total: u64,
    /// Rows, or verdicts, of this task by status; empty where it counts none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rows_by_status: BTreeMap<Status, u64>,
    /// Seconds since the task began.
    pub elapsed_s: f64,
    /// Seconds that are left, about; `null`: not known yet. A confirmation that follows is not in it.
    pub eta_s: Option<f64>,
    /// The highest throughput so far, in GB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_gbps: Option<f64>,
    /// The config that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_config: Option<String>,
}

/// How bad it is what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// Good to know.
    Info,
    /// Something may be wrong.
    Warning,
    /// Something failed.
    Error,
}

impl NoteLevel {
    /// Of a line: what it begins with says so.
    pub(crate) fn of(line: &str) -> Self {
        match line.split_once(':') {
            Some(("error", _)) => Self::Error,
            Some(("warning", _)) => Self::Warning,
            _ => Self::Info,
        }
    }

    /// What begins its colour on a terminal.
    pub(crate) fn colour(self) -> Option<&'static str> {
        match self {
            Self::Info => None,
            Self::Warning => Some("\u{1b}[1;33m"),
            Self::Error => Some("\u{1b}[1;31m"),
        }
    }
}
