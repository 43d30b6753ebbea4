//! What failed, and the command that tries it again.

use std::collections::BTreeMap;

use scanbox_model::api::Api;
use scanbox_model::record::Status;
use scanbox_model::units::size_label;

use super::{HtmlCell, HtmlColumn, Piece, Section, Sources, Table, printable};
use crate::analysis::text::count;

/// Rows in the page; the CSV has all.
const SHOWN: usize = 60;

/// The section; nothing where nothing failed.
pub fn section(sources: &Sources<'_>) -> Option<Section> {
    // Wrong results first: what is wrong is worse than what does not run.
    let mut failures: BTreeMap<(bool, usize, Status, &str, &str), Vec<u64>> = BTreeMap::new();
    for failure in &sources.evidence.failures {
        let tables = sources.report.answers.devices.iter().map(|device| device.table);
        let Some(device) = tables.into_iter().position(|table| failure.run.is_of(table)) else { continue };
        let right = failure.status != Status::WrongResult;
        let key = (right, device, failure.status, failure.config.as_str(), failure.reason.as_str());
        failures.entry(key).or_default().push(failure.n);
    }
    if failures.is_empty() {
        return None;
    }
    let attempts: usize = failures.values().map(Vec::len).sum();
    let rows = failures.into_iter().map(|((_, device, status, config, reason), mut sizes)| {
        sizes.sort_unstable();
        sizes.dedup();
        let listed =
            |separator: &str| sizes.iter().map(|&n| size_label(n)).collect::<Vec<_>>().join(separator);
        let table = sources.report.answers.devices[device].table;
        let api = match table.device.api.api {
            Api::Vulkan => String::new(),
            api => format!(" --api {api}"),
        };
        let name = quoted(&table.device.name);
        let mut command = format!("scanbox verify {config}{api} --device {name} --sizes {}", listed(","));
        for flag in table.problem.flags() {
            command += " ";
            command += &flag;
        }
        vec![
            HtmlCell::text(sources.titles[device].clone()),
            HtmlCell::text(status.word()),
            HtmlCell::code(config),
            HtmlCell::text(listed(", ")),
            HtmlCell::text(printable(reason)),
            HtmlCell::code(printable(&command)),
        ]
    });
    let columns = ["device", "status", "config", "sizes", "reason", "to try it again"];
    let table = Table {
        caption: "Rows that are not ok, by config and reason.".into(),
        columns: columns.map(HtmlColumn::words).into(),
        rows: rows.collect(),
        name: "failures".into(),
        shown: Some(SHOWN),
    };
    let says = format!(
        "{} of a config at a size did not end ok. None of them takes part in any answer.",
        count(attempts, "attempt")
    );
    let pieces = vec![Piece::Says(says), Piece::Table(table)];
    Some(Section { id: "failures".into(), heading: "Failures".into(), pieces })
}

/// A name as one word for a POSIX shell.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word() {
        assert_eq!(quoted("NVIDIA H200"), "'NVIDIA H200'");
        assert_eq!(quoted("a'; rm -rf b"), r"'a'\''; rm -rf b'");
    }
}
