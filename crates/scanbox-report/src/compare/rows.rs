//! Comparisons as JSON and as CSV. The structures here are the format: fields are only added within [`FORMAT`].

use std::io::{self, Write};

use scanbox_analysis::compare::{Comparison, ConfigChange, LineChange, Measured, Outcome, Verdict};
use scanbox_analysis::pairs::{self, GroupChange, SingleChange, SingleRole};
use scanbox_model::config::Parameter;
use scanbox_model::csv_file::writer_error;
use schemars::JsonSchema;
use serde::Serialize;

use super::{CompareReport, headline};
use crate::words::clock_word;

/// The version of the JSON format: within it fields are only added.
const FORMAT: u32 = 1;

#[derive(Serialize, JsonSchema)]
pub(crate) struct CompareJson<'a> {
    format: u32,
    tool_version: &'static str,
    /// `no_regression`, `regression` or `inconclusive`.
    outcome: &'static str,
    headline: String,
    base: &'a str,
    new: &'a str,
    clock: &'static str,
    metric: String,
    threshold_pct: f64,
    differences: Vec<DifferenceRow<'a>>,
    drift: DriftJson,
    device: DeviceChangeJson,
    /// Whether base and new were measured in turns, so that the pairs decide.
    paired: bool,
    /// Whether the new run may be the next base: faster somewhere, slower nowhere, on a device that is not slower.
    may_become_base: bool,
    groups: Vec<GroupRow<'a>>,
    singles: Vec<SingleRow<'a>>,
    failed: Vec<FailedRow<'a>>,
    /// Configs with a time in both sweeps that were not measured again tonight.
    unmeasured_configs: usize,
    canary_range_pct: CanaryJson,
    kernel: Option<&'a str>,
    ideal: Vec<LineChangeRow<'a>>,
    kernel_line: Vec<LineChangeRow<'a>>,
    configs: Vec<ConfigChangeRow<'a>>,
    winners: Vec<WinnerRow<'a>>,
    new_sizes: &'a [u64],
}

#[derive(Serialize, JsonSchema)]
struct DifferenceRow<'a> {
    what: &'static str,
    base: &'a str,
    new: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct DriftJson {
    copies_pct: Option<f64>,
    scans_pct: Option<f64>,
    removed_pct: f64,
}

#[derive(Serialize, JsonSchema)]
struct DeviceChangeJson {
    lost_pct: f64,
    kernels_pct: Option<f64>,
    copies_pct: Option<f64>,
    nights: usize,
    /// The loss from which on the device counts as slower: 7 %, or more where nights differ by more.
    limit_pct: f64,
    slower: bool,
}

/// Rows of a size together.
#[derive(Serialize, JsonSchema)]
struct GroupRow<'a> {
    n: u64,
    /// `all`, or a family.
    rows_of: &'a str,
    rows: usize,
    verdict: &'static str,
    change_pct: f64,
    /// The loss that would have been found in 95 of 100 nights.
    limit_pct: Option<f64>,
}

/// A config that decides alone.
#[derive(Serialize, JsonSchema)]
struct SingleRow<'a> {
    n: u64,
    /// `shipped` or `kernel`.
    role: &'static str,
    config: &'a str,
    verdict: &'static str,
    change_pct: Option<f64>,
    limit_pct: Option<f64>,
    rounds: usize,
}

/// A config that failed when base and new ran in turns.
#[derive(Serialize, JsonSchema)]
struct FailedRow<'a> {
    n: u64,
    config: &'a str,
    side: &'static str,
    status: &'static str,
    reason: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct CanaryJson {
    base: Option<f64>,
    new: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct LineChangeRow<'a> {
    n: u64,
    verdict: &'static str,
    change_pct: Option<f64>,
    floor_pct: Option<f64>,
    /// The loss that would have been found in 95 of 100 nights.
    limit_pct: Option<f64>,
    lost_configs: usize,
    /// The config that led the base, where the new run has no time of it.
    gone: Option<GoneJson<'a>>,
    base: MeasuredJson<'a>,
    new: Option<MeasuredJson<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct GoneJson<'a> {
    config: &'a str,
    /// How it ended; `null` where it has no row.
    status: Option<&'static str>,
    reason: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct MeasuredJson<'a> {
    config: &'a str,
    ns: u64,
    confirmed: bool,
}

#[derive(Serialize, JsonSchema)]
struct ConfigChangeRow<'a> {
    n: u64,
    config: &'a str,
    verdict: &'static str,
    change_pct: Option<f64>,
    floor_pct: Option<f64>,
    base_ns: u64,
    new_ns: Option<u64>,
    /// How it ended in the new run; `null` where it was not tried.
    status: Option<&'static str>,
    reason: &'a str,
}

#[derive(Serialize, JsonSchema)]
struct WinnerRow<'a> {
    n: u64,
    base: &'a str,
    new: &'a str,
}

/// Percent, to four digits behind the point.
fn percent(share: f64) -> f64 {
    (1e6 * share).round() / 1e4
}

/// Everything, for programs.
pub fn json(report: &CompareReport<'_>, out: &mut impl Write) -> io::Result<()> {
    let CompareReport { comparison, question, .. } = report;
    let log = |log: f64| percent(log.exp_m1());
    let document = CompareJson {
        format: FORMAT,
        tool_version: env!("CARGO_PKG_VERSION"),
        outcome: outcome_word(comparison.outcome),
        headline: headline(comparison, question),
        base: report.base,
        new: report.new,
        clock: clock_word(question.clock),
        metric: question.metric.to_string(),
        threshold_pct: percent(question.threshold),
        differences: comparison
            .differences
            .iter()
            .map(|found| DifferenceRow { what: found.what, base: &found.base, new: &found.new })
            .collect(),
        drift: DriftJson {
            copies_pct: comparison.drift.ceilings.map(log),
            scans_pct: comparison.drift.scans.map(log),
            removed_pct: log(comparison.drift.removed),
        },
        device: DeviceChangeJson {
            lost_pct: log(comparison.device.lost),
            kernels_pct: comparison.device.kernels.map(log),
            copies_pct: comparison.device.ceilings.map(log),
            nights: comparison.device.nights,
            limit_pct: log(comparison.device.limit()),
            slower: comparison.device.is_slower(),
        },
        paired: comparison.is_paired,
        may_become_base: comparison.may_become_base(question.threshold),
        groups: comparison.judgement.groups.iter().map(group).collect(),
        singles: comparison.judgement.singles.iter().map(single).collect(),
        failed: comparison
            .failed
            .iter()
            .map(|failed| FailedRow {
                n: failed.n,
                config: &failed.config,
                side: failed.side.word(),
                status: failed.status.word(),
                reason: &failed.reason,
            })
            .collect(),
        unmeasured_configs: comparison.unmeasured,
        canary_range_pct: CanaryJson {
            base: comparison.canary[0].map(percent),
            new: comparison.canary[1].map(percent),
        },
        kernel: comparison.kernel.as_deref(),
        ideal: comparison.ideal.iter().map(line).collect(),
        kernel_line: comparison.kernel_line.iter().map(line).collect(),
        configs: comparison.configs.iter().map(config).collect(),
        winners: comparison
            .winners
            .iter()
            .map(|change| WinnerRow { n: change.n, base: &change.base, new: &change.new })
            .collect(),
        new_sizes: &comparison.new_sizes,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::NoRegression => "no_regression",
        Outcome::Regression => "regression",
        Outcome::Inconclusive => "inconclusive",
    }
}

fn group_word(group: &GroupChange) -> &'static str {
    match group.group {
        pairs::RowsOf::All => "all",
        pairs::RowsOf::Family(family) => family.word(),
    }
}

fn group(group: &GroupChange) -> GroupRow<'_> {
    GroupRow {
        n: group.n,
        rows_of: group_word(group),
        rows: group.rows,
        verdict: group.verdict.word(),
        change_pct: percent(group.change),
        limit_pct: group.limit.map(percent),
    }
}

fn role_word(role: SingleRole) -> &'static str {
    match role {
        SingleRole::Shipped => "shipped",
        SingleRole::Kernel => "kernel",
    }
}

fn single(single: &SingleChange) -> SingleRow<'_> {
    SingleRow {
        n: single.n,
        role: role_word(single.role),
        config: &single.config,
        verdict: single.verdict.word(),
        change_pct: single.change.map(percent),
        limit_pct: single.limit.map(percent),
        rounds: single.rounds,
    }
}

fn side(measured: &Measured) -> MeasuredJson<'_> {
    MeasuredJson { config: &measured.config, ns: measured.ns, confirmed: measured.confirmed }
}

fn line(change: &LineChange) -> LineChangeRow<'_> {
    LineChangeRow {
        n: change.n,
        verdict: change.verdict.word(),
        change_pct: change.change.map(percent),
        floor_pct: change.floor.map(percent),
        limit_pct: change.limit.map(percent),
        lost_configs: change.lost_configs,
        gone: change.gone.as_ref().map(|gone| GoneJson {
            config: &gone.config,
            status: gone.status.map(|status| status.word()),
            reason: &gone.reason,
        }),
        base: side(&change.base),
        new: change.new.as_ref().map(side),
    }
}

fn config(change: &ConfigChange) -> ConfigChangeRow<'_> {
    ConfigChangeRow {
        n: change.n,
        config: &change.config,
        verdict: change.verdict.word(),
        change_pct: change.change.map(percent),
        floor_pct: change.floor.map(percent),
        base_ns: change.base_ns,
        new_ns: change.new_ns,
        status: change.status.map(|status| status.word()),
        reason: &change.reason,
    }
}

/// One row per line or config and size.
pub fn csv(report: &CompareReport<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    write_rows(report.comparison, &mut writer).map_err(writer_error)?;
    writer.flush()
}

fn write_rows(comparison: &Comparison, writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
    writer.write_record([
        "what",
        "n_elements",
        "verdict",
        "change_pct",
        "floor_pct",
        "base_config",
        "base_ns",
        "new_config",
        "new_ns",
        "status",
        "reason",
    ])?;
    let number = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.4}", 100.0 * share));
    for (is_ideal, change) in comparison.deciding() {
        let new = |text: &dyn Fn(&Measured) -> String| change.new.as_ref().map_or_else(String::new, text);
        writer.write_record([
            if is_ideal { "ideal" } else { "kernel" }.to_owned(),
            change.n.to_string(),
            change.verdict.word().to_owned(),
            number(change.change),
            number(change.floor),
            change.base.config.clone(),
            change.base.ns.to_string(),
            new(&|new| new.config.clone()),
            new(&|new| new.ns.to_string()),
            String::new(),
            String::new(),
        ])?;
    }
    let judged = &comparison.judgement;
    for group in &judged.groups {
        let what = format!("rows:{}", group_word(group));
        let limit = number(group.limit);
        writer.write_record(judged_row(
            what,
            group.n,
            group.verdict,
            number(Some(group.change)),
            limit,
            "",
        ))?;
    }
    for single in &judged.singles {
        let what = format!("single:{}", role_word(single.role));
        let (change, limit) = (number(single.change), number(single.limit));
        writer.write_record(judged_row(what, single.n, single.verdict, change, limit, &single.config))?;
    }
    for change in &comparison.configs {
        writer.write_record([
            "config".to_owned(),
            change.n.to_string(),
            change.verdict.word().to_owned(),
            number(change.change),
            number(change.floor),
            change.config.clone(),
            change.base_ns.to_string(),
            change.new_ns.map_or_else(String::new, |_| change.config.clone()),
            change.new_ns.map_or_else(String::new, |ns| ns.to_string()),
            change.status.map_or_else(String::new, |status| status.word().to_owned()),
            change.reason.clone(),
        ])?;
    }
    Ok(())
}

/// A row of what was judged; its floor is the loss that would have been found.
fn judged_row(
    what: String,
    n: u64,
    verdict: Verdict,
    change: String,
    limit: String,
    config: &str,
) -> [String; 11] {
    let none = String::new;
    let config = config.to_owned();
    [
        what,
        n.to_string(),
        verdict.word().to_owned(),
        change,
        limit,
        config.clone(),
        none(),
        config,
        none(),
        none(),
        none(),
    ]
}
