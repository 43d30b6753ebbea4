//! What a verification says at its end, and of each config that failed.

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_kernels::cases::{Builds, Circumstance, LeftOut};
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_runner::session::End;
use scanbox_runner::verify::Tally;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::words::set_up_words;

/// Failures that the table has room for; JSON has them all.
const FAILURES_SHOWN: usize = 20;

/// What came of a verification.
#[derive(Serialize, JsonSchema)]
pub struct VerifyEnding {
    /// The device, as its profile calls it.
    pub device: String,
    /// Its driver.
    pub driver: String,
    /// Invocations per subgroup.
    pub subgroup_size: u32,
    /// What is computed.
    pub problem: Problem,
    /// 1 in 2^K tiles never publishes its total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocking: Option<u32>,
    /// Which builds of each config, of calls without simulated blocking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builds: Option<Builds>,
    /// Configs that were asked for.
    pub configs: usize,
    /// How they ended.
    pub configs_by_status: BTreeMap<Status, u64>,
    /// Configs that were not tried to their end.
    pub configs_unfinished: usize,
    /// Cases that were asked for.
    pub cases_planned: u64,
    /// What was verified.
    #[serde(flatten)]
    pub tally: Tally,
    /// Cases that were left out, by rule.
    pub left_out: BTreeMap<String, LeftOut>,
    /// Where the time went, by phase.
    pub seconds: BTreeMap<String, f64>,
    /// Workers that were replaced.
    pub workers_replaced: u32,
    /// Those of them that crashed while no config ran, behind one that had come to its end and may have left something
    /// broken.
    pub workers_crashed: u32,
    /// Why it ended.
    pub end: End,
    /// The exit code of the command.
    pub exit_code: u8,
    /// What was going on when the run had to stop, where that was before its first config.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_up: Option<String>,
    /// Why no worker could go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Configs that failed, in the order in which they were found.
    pub failures: Vec<FailedConfig>,
}

/// A config that failed.
#[derive(Serialize, JsonSchema)]
pub struct FailedConfig {
    /// The label.
    pub config: String,
    /// How it ended.
    pub status: Status,
    /// Size in elements.
    pub n: u64,
    /// The input.
    pub input: String,
    /// Which call of the case.
    pub circumstance: Option<Circumstance>,
    /// The first element that is wrong.
    pub first_mismatch: Option<u64>,
    /// Its right value.
    pub expected: Option<serde_json::Value>,
    /// Its value.
    pub got: Option<serde_json::Value>,
    /// Why.
    pub reason: String,
    /// The command that runs the case again.
    pub repeat: String,
}

impl Document for VerifyEnding {
    fn write(&self, format: Format, _: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_table(out),
            Format::Json => write_json(out, self),
            other => other.missing("a verification"),
        }
    }
}

impl VerifyEnding {
    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        for failure in self.failures.iter().take(FAILURES_SHOWN) {
            writeln!(out, "{failure}\n")?;
        }
        if self.failures.len() > FAILURES_SHOWN {
            writeln!(
                out,
                "and {} more (--format json has them all)\n",
                self.failures.len() - FAILURES_SHOWN
            )?;
        }
        let mut statuses: Vec<String> =
            self.configs_by_status.iter().map(|(status, count)| format!("{count} {status}")).collect();
        if self.configs_unfinished > 0 {
            statuses.push(format!("{} not finished", self.configs_unfinished));
        }
        writeln!(out, "device     {}, subgroups of {}", self.device, self.subgroup_size)?;
        if !self.problem.is_default() {
            writeln!(out, "problem    {}", self.problem)?;
        }
        if let Some(k) = self.blocking {
            writeln!(out, "blocked    1 in {} tiles", 1u64 << k)?;
        }
        if self.builds == Some(Builds::Swept) {
            writeln!(out, "builds     those that sweeps time, alone")?;
        }
        writeln!(out, "configs    {}: {}", self.configs, statuses.join(", "))?;
        writeln!(
            out,
            "cases      {} of {}, {} calls",
            self.tally.cases, self.cases_planned, self.tally.calls
        )?;
        writeln!(out, "elements   {} compared", self.tally.elements)?;
        if self.tally.repeats > 0 {
            let repeats = self.tally.repeats;
            writeln!(
                out,
                "same bits  {repeats} calls of deterministic kernels, as in the first of their case"
            )?;
        }
        for (rule, left_out) in &self.left_out {
            writeln!(out, "left out   {}", left_out.sentence(rule))?;
        }
        writeln!(out, "time       {:.1} s", self.seconds.get("total").copied().unwrap_or(0.0))?;
        if self.workers_replaced > 0 {
            let crashed = match self.workers_crashed {
                0 => String::new(),
                crashed => format!(", {crashed} of them crashed between configs"),
            };
            writeln!(out, "workers    {} replaced{crashed}", self.workers_replaced)?;
        }
        let during = set_up_words(self.set_up.as_deref());
        match self.end {
            End::Budget => writeln!(out, "ended      the budget is spent before all was verified{during}"),
            End::DeviceUnusable => writeln!(out, "ended      before all was verified: no worker could go on"),
            End::Interrupted if self.failures.is_empty() || self.configs_unfinished > 0 => {
                writeln!(out, "ended      before all was verified{during}")
            }
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for FailedConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { config, status, n, input, reason, repeat, .. } = self;
        let circumstance =
            self.circumstance.map_or(String::new(), |circumstance| format!(", {circumstance}"));
        writeln!(f, "{status}: {config} at {n} elements, input {input}{circumstance}")?;
        writeln!(f, "  {reason}")?;
        write!(f, "  repeat: {repeat}")
    }
}
