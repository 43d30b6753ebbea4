//! How the kernels of a pack did on a device.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use scanbox_model::record::Status;
use scanbox_model::units::plural;
use scanbox_runner::packed::PackVerdict;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::terminal::fold;

/// What became of the kernels of a pack.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PackTried<'a> {
    /// The file.
    pub pack: &'a str,
    /// The device.
    pub device: String,
    /// By kernel and use.
    pub verdicts: &'a [PackVerdict],
    /// Why not all of them were tried, if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'a str>,
}

/// How many kernels did how, each use counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TriedCounts {
    /// All that they wrote was right.
    pub right: u64,
    /// Something was wrong.
    pub wrong: u64,
    /// They did not come to their end.
    pub failed: u64,
    /// The device cannot run them.
    pub not_tried: u64,
}

impl PackTried<'_> {
    /// How many did how.
    #[must_use]
    pub fn counts(&self) -> TriedCounts {
        let mut counts = TriedCounts::default();
        for verdict in self.verdicts {
            *match verdict.status {
                Status::Ok => &mut counts.right,
                Status::WrongResult => &mut counts.wrong,
                Status::Unsupported => &mut counts.not_tried,
                _ => &mut counts.failed,
            } += 1;
        }
        counts
    }

    /// Why kernels were not tried, and how many for each reason; all subgroup sizes that the device lacks are one.
    fn left_out(&self) -> BTreeMap<String, usize> {
        let (mut sizes, mut of_sizes) = (BTreeSet::new(), 0);
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for verdict in self.verdicts.iter().filter(|verdict| verdict.status == Status::Unsupported) {
            match verdict.lacks_subgroups_of {
                Some(size) => {
                    sizes.insert(size);
                    of_sizes += 1;
                }
                None => *reasons.entry(verdict.reason.clone()).or_default() += 1,
            }
        }
        let mut sizes: Vec<String> = sizes.into_iter().map(|size| size.to_string()).collect();
        if let Some(last) = sizes.pop() {
            let last = if sizes.is_empty() { last } else { format!("{} or {last}", sizes.join(", ")) };
            reasons.insert(format!("the device has no subgroups of {last}"), of_sizes);
        }
        reasons
    }

    fn table(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let TriedCounts { right, wrong, failed, .. } = self.counts();
        let (calls, elements) = self
            .verdicts
            .iter()
            .fold((0, 0), |(calls, elements), verdict| (calls + verdict.calls, elements + verdict.elements));
        writeln!(out, "{} on {}", self.pack, self.device)?;
        let kernels = |count: u64| plural(usize::try_from(count).unwrap_or(usize::MAX), "kernel");
        writeln!(
            out,
            "{} right, each use counted: {calls} calls, {elements} elements compared",
            kernels(right)
        )?;
        for (count, what) in [(wrong, "wrong"), (failed, "failed")] {
            if count > 0 {
                writeln!(out, "{} {what}", kernels(count))?;
            }
        }
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let tried = |verdict: &&PackVerdict| !matches!(verdict.status, Status::Ok | Status::Unsupported);
        for verdict in self.verdicts.iter().filter(tried) {
            reasons.entry(&verdict.reason).or_default().push(&verdict.what);
        }
        for (reason, what) in reasons {
            let first = what.first().copied().unwrap_or_default();
            let more = if what.len() > 1 { format!(" and {} more", what.len() - 1) } else { String::new() };
            writeln!(out, "{}", fold("  ", &format!("{first}{more}: {reason}"), 4, width))?;
        }
        for (reason, count) in self.left_out() {
            writeln!(out, "{}", fold("", &format!("{count} not tried: {reason}"), 2, width))?;
        }
        match self.trouble {
            Some(trouble) => {
                writeln!(out, "{}", fold("", &format!("not all was tried: {trouble}"), 2, width))
            }
            None => Ok(()),
        }
    }
}

impl Document for PackTried<'_> {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.table(width, out),
            Format::Json => write_json(out, self),
            other => other.missing("a pack that was tried"),
        }
    }
}
