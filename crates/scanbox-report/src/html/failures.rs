//! What failed, and the command that tries it again.

use std::collections::{BTreeMap, BTreeSet};

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
    // By rule where one says no, which may do so for many configs; else by config and reason.
    let mut failures: BTreeMap<(bool, usize, Status, &str, &str), FailedTogether<'_>> = BTreeMap::new();
    for failure in &sources.evidence.failures {
        let tables = sources.report.answers.devices.iter().map(|device| device.table);
        let Some(device) = tables.into_iter().position(|table| failure.run.is_of(table)) else { continue };
        let right = failure.status != Status::WrongResult;
        let (config, reason) = (failure.config.as_str(), failure.reason.as_str());
        let key = match rule_of(reason) {
            Some(rule) => (right, device, failure.status, "", rule),
            None => (right, device, failure.status, config, reason),
        };
        let failed = failures.entry(key).or_insert_with(|| FailedTogether {
            config,
            reason,
            ..FailedTogether::default()
        });
        failed.configs.insert(config);
        failed.sizes.push(failure.n);
    }
    if failures.is_empty() {
        return None;
    }
    let attempts: usize = failures.values().map(|failed| failed.sizes.len()).sum();
    let rows = failures.into_iter().map(|((_, device, status, ..), failed)| {
        let FailedTogether { config, reason, configs, mut sizes } = failed;
        let more = configs.len() - 1;
        sizes.sort_unstable();
        sizes.dedup();
        let listed =
            |separator: &str| sizes.iter().map(|&n| size_label(n)).collect::<Vec<_>>().join(separator);
        let (configs, reason) = match more {
            0 => (HtmlCell::code(config), printable(reason)),
            more => (
                HtmlCell::text(format!("{config} and {}", count(more, "other config"))),
                format!("for example: {}", printable(reason)),
            ),
        };
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
            configs,
            HtmlCell::text(listed(", ")),
            HtmlCell::text(reason),
            HtmlCell::code(printable(&command)),
        ]
    });
    let columns = ["device", "status", "config", "sizes", "reason", "to try it again"];
    let table = Table {
        caption: "Rows that are not ok: by rule where one forbids configs, else by config and reason.".into(),
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

/// What has failed for one reason: the first config with its reason, all configs, and the sizes.
#[derive(Default)]
struct FailedTogether<'a> {
    config: &'a str,
    reason: &'a str,
    configs: BTreeSet<&'a str>,
    sizes: Vec<u64>,
}

/// The rule that a reason ends with, in brackets.
fn rule_of(reason: &str) -> Option<&str> {
    let (_, rule) = reason.strip_suffix(']')?.rsplit_once('[')?;
    let is_name = |c: char| c.is_ascii_lowercase() || c == '-' || c == ':';
    (!rule.is_empty() && rule.chars().all(is_name)).then_some(rule)
}

/// A name as one word for a POSIX shell.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_a_rule_or_none() {
        let check = |reason: &str, rule: Option<&str>| assert_eq!(rule_of(reason), rule, "{reason}");
        check("1024 workgroups, where 924 fit [residency]", Some("residency"));
        check("it is slow [known-issue:x-y]", Some("known-issue:x-y"));
        check("wrong at [12]", None);
        check("device lost", None);
        check("[]", None);
    }

    #[test]
    fn a_name_is_one_word() {
        assert_eq!(quoted("NVIDIA H200"), "'NVIDIA H200'");
        assert_eq!(quoted("a'; rm -rf b"), r"'a'\''; rm -rf b'");
    }
}
