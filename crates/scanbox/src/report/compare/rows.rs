//! Comparisons as JSON and as CSV. The structures here are the format: fields are only added within [`FORMAT`].

use std::io::{self, Write};

use scanbox_analysis::compare::{Comparison, ConfigChange, LineChange, Measured, Outcome};
use scanbox_model::csv_file::writer_error;
use serde::Serialize;

use super::{Report, headline};
use crate::report::clock_word;

/// The version of the JSON format: within it fields are only added.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
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
    differences: Vec<Difference<'a>>,
    drift: Drift,
    canary_range_pct: Canary,
    kernel: Option<&'a str>,
    ideal: Vec<Line<'a>>,
    kernel_line: Vec<Line<'a>>,
    configs: Vec<Config<'a>>,
    winners: Vec<Winner<'a>>,
    new_sizes: &'a [u64],
}

#[derive(Serialize)]
struct Difference<'a> {
    what: &'static str,
    base: &'a str,
    new: &'a str,
}

#[derive(Serialize)]
struct Drift {
    copies_pct: Option<f64>,
    scans_pct: Option<f64>,
    removed_pct: f64,
}

#[derive(Serialize)]
struct Canary {
    base: Option<f64>,
    new: Option<f64>,
}

#[derive(Serialize)]
struct Line<'a> {
    n: u64,
    verdict: &'static str,
    change_pct: Option<f64>,
    floor_pct: Option<f64>,
    lost_configs: usize,
    /// The config that led the base, where the new run has no time of it.
    gone: Option<Gone<'a>>,
    base: Side<'a>,
    new: Option<Side<'a>>,
}

#[derive(Serialize)]
struct Gone<'a> {
    config: &'a str,
    /// How it ended; `null` where it has no row.
    status: Option<&'static str>,
    reason: &'a str,
}

#[derive(Serialize)]
struct Side<'a> {
    config: &'a str,
    ns: u64,
    confirmed: bool,
}

#[derive(Serialize)]
struct Config<'a> {
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

#[derive(Serialize)]
struct Winner<'a> {
    n: u64,
    base: &'a str,
    new: &'a str,
}

/// Percent, to four digits behind the point.
fn percent(share: f64) -> f64 {
    (1e6 * share).round() / 1e4
}

/// Everything, for programs.
pub fn json(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let Report { comparison, question, .. } = report;
    let log = |log: f64| percent(log.exp_m1());
    let document = Document {
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
            .map(|found| Difference { what: found.what, base: &found.base, new: &found.new })
            .collect(),
        drift: Drift {
            copies_pct: comparison.drift.copies.map(log),
            scans_pct: comparison.drift.scans.map(log),
            removed_pct: log(comparison.drift.removed),
        },
        canary_range_pct: Canary {
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
            .map(|change| Winner { n: change.n, base: &change.base, new: &change.new })
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

fn side(measured: &Measured) -> Side<'_> {
    Side { config: &measured.config, ns: measured.ns, confirmed: measured.confirmed }
}

fn line(change: &LineChange) -> Line<'_> {
    Line {
        n: change.n,
        verdict: change.verdict.word(),
        change_pct: change.change.map(percent),
        floor_pct: change.floor.map(percent),
        lost_configs: change.lost_configs,
        gone: change.gone.as_ref().map(|gone| Gone {
            config: &gone.config,
            status: gone.status.map(|status| status.word()),
            reason: &gone.reason,
        }),
        base: side(&change.base),
        new: change.new.as_ref().map(side),
    }
}

fn config(change: &ConfigChange) -> Config<'_> {
    Config {
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
pub fn csv(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
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
