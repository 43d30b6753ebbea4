//! The answers as JSON. The structures here are the format: fields are only added within [`FORMAT`].
//!
//! Throughput is in GB/s, times are in nanoseconds, sizes in elements, `*_pct` in percent. A kernel or config is its
//! label. Numbers are rounded to nine significant digits, so that they are the same on every machine.

mod across;
mod device;
mod kernels;

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_analysis::problem::Problem;
use scanbox_analysis::table::{Catalog, ConfigIndex, KernelIndex};
use scanbox_analysis::weights::Weights;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use self::across::AcrossJson;
use self::device::DeviceJson;
use super::AnalysisReport;
use crate::words::clock_word;

/// The version of this format.
pub const FORMAT: u32 = 2;

/// The whole document.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnalysisJson<'a> {
    format: u32,
    tool_version: &'static str,
    clock: &'static str,
    metric: String,
    normalization: &'static str,
    normalization_across: &'static str,
    normalization_portfolio: &'static str,
    shared_metric: String,
    normalization_shared: &'static str,
    /// As it was asked for; each comparison says what decided.
    coverage: String,
    weights: WeightsJson,
    warnings: &'a [String],
    /// Rows of implementations other than scanbox; they enter no answer but `baseline`.
    other_subjects: &'a BTreeMap<String, u64>,
    /// By problem, device and run.
    devices: Vec<DeviceJson>,
    /// By problem; none of one with fewer than two devices.
    across: Vec<AcrossJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WeightsJson {
    Uniform,
    Large,
    Listed(BTreeMap<u64, NineDigits>),
}

/// What was scanned.
#[derive(Debug, Serialize, JsonSchema)]
struct ProblemJson {
    mode: String,
    element: String,
    op: String,
    /// Of a user's operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator_hash: Option<String>,
    /// What it begins with: of an exclusive scan always, of others where somebody said so.
    init: Option<String>,
    placement: String,
    /// `reverse` where elements are combined from the last one on.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<String>,
    /// `stored` where the total of all elements is stored beside the scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<String>,
    /// `memory` where calls find what they begin with there.
    #[serde(skip_serializing_if = "Option::is_none")]
    init_source: Option<String>,
}

/// A number that is written with nine significant digits.
#[derive(Debug, Clone, Copy, JsonSchema)]
struct NineDigits(f64);

impl Serialize for NineDigits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(format!("{:.8e}", self.0).parse().unwrap_or(self.0))
    }
}

/// Writes the document.
///
/// # Errors
/// When the writer fails.
pub fn write(report: &AnalysisReport<'_>, out: &mut impl Write) -> io::Result<()> {
    let labels = Labeller(&report.tables.catalog);
    let document = AnalysisJson {
        format: FORMAT,
        tool_version: env!("CARGO_PKG_VERSION"),
        clock: clock_word(report.clock),
        metric: report.question.metric.to_string(),
        normalization: report.question.normalization_alone().word(),
        normalization_across: report.question.normalization_across().word(),
        normalization_portfolio: report.question.normalization_portfolio().word(),
        shared_metric: report.question.shared_metric.to_string(),
        normalization_shared: report.question.normalization_shared(report.question.shared_metric).word(),
        coverage: report.question.coverage.to_string(),
        weights: match &report.question.weights {
            Weights::Uniform => WeightsJson::Uniform,
            Weights::Large => WeightsJson::Large,
            Weights::Listed(listed) => {
                WeightsJson::Listed(listed.iter().map(|(&n, &weight)| (n, NineDigits(weight))).collect())
            }
        },
        warnings: report.warnings,
        other_subjects: &report.tables.other_subjects,
        devices: report.answers.devices.iter().map(|device| labels.device(device, report)).collect(),
        across: report
            .answers
            .across
            .iter()
            .map(|across| labels.across(across, &report.answers.devices))
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// Turns answers about numbers into rows about labels.
struct Labeller<'a>(&'a Catalog);

impl Labeller<'_> {
    fn kernel(&self, kernel: KernelIndex) -> String {
        self.0.kernel(kernel).to_string()
    }

    fn config(&self, config: ConfigIndex) -> String {
        self.0.config(config).to_string()
    }

    fn kernels(&self, kernels: &[KernelIndex]) -> Vec<String> {
        kernels.iter().map(|&kernel| self.kernel(kernel)).collect()
    }
}

fn scanned(problem: Problem) -> ProblemJson {
    ProblemJson {
        mode: problem.mode().to_string(),
        element: problem.element().to_string(),
        op: problem.operator_name().to_string(),
        operator_hash: problem.user().map(|user| user.hash_text()),
        init: Some(problem.init_text()).filter(|init| !init.is_empty()),
        placement: problem.placement().to_string(),
        direction: problem.is_reversed().then(|| problem.direction().to_string()),
        total: problem.has_total().then(|| problem.total().to_string()),
        init_source: problem.reads_init().then(|| problem.init_source().to_string()),
    }
}
