//! What a baseline says first: what it is, what it can run, and which problems it has.

use std::collections::BTreeSet;

use scanbox_kernels::input::Input;
use scanbox_model::config::Config;
use scanbox_model::device_api::{DeviceApi, is_default};
use scanbox_model::problem::{Mode, Problem};
use scanbox_model::row_rules::OWN_SUBJECT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problems::ProblemKind;

/// The version of the protocol.
pub const PROTOCOL: u32 = 2;
/// The oldest version that is understood: of inclusive sums of u32, out of place, whatever a program is asked for.
const OLDEST_PROTOCOL: u32 = 1;

/// Characters of a name at most.
const NAME_MAX: usize = 200;
/// What the subjects of scanbox's own rows begin with.
const OWN_NAMES: [&str; 4] = [OWN_SUBJECT, "copy", "read", "empty"];

/// What a baseline says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Greeting {
    /// The version of the protocol that it speaks: [`PROTOCOL`], or an older one.
    pub protocol: u32,
    /// The implementation.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// The device that it runs on.
    #[serde(default)]
    pub device: String,
    /// The UUID of that device.
    #[serde(default)]
    pub device_uuid: String,
    /// The driver of that device.
    #[serde(default)]
    pub driver: String,
    /// Through what scanbox drives that device; another program's is not told.
    #[serde(flatten)]
    pub device_api: DeviceApi,
    /// The steps in nanoseconds in which its times come; 0: not known, and no matter.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timer_resolution_ns: u64,
    /// Whether it can be asked for the twin of what it has timed; programs from before there was one cannot.
    #[serde(default)]
    pub twins: bool,
    /// The problems that it has; programs of version 1 do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemKind>,
    /// What it can run.
    pub subjects: Vec<BaselineSubject>,
}

impl Greeting {
    pub(super) fn keep(&mut self, subjects: &[String]) {
        let keeps = |subject: &BaselineSubject| {
            subject.result == BaselineResult::Empty || subjects.contains(&subject.name)
        };
        self.subjects.retain(keeps);
    }

    /// Whether a subject of it has a problem on an input. A reduction writes one element, so no copy is a measure of
    /// it.
    #[must_use]
    pub fn has(&self, subject: &BaselineSubject, problem: &Problem, input: &Input) -> bool {
        match subject.result {
            BaselineResult::Empty => return true,
            BaselineResult::Copy if problem.mode() == Mode::Reduce => return false,
            BaselineResult::Copy | BaselineResult::Scan => {}
        }
        if self.protocol < PROTOCOL {
            return problem.is_default();
        }
        let kinds = subject.problems.as_ref().unwrap_or(&self.problems);
        kinds.iter().any(|kind| kind.has(problem, input))
    }

    /// Whether none of its scans has a problem on an input; of a program without any, none of its copies.
    #[must_use]
    pub fn lacks(&self, problem: &Problem, input: &Input) -> bool {
        let mut judged = self.judged();
        !judged.any(|subject| self.has(subject, problem, input))
    }

    /// What takes part in a benchmark of a problem on an input: the subjects that have it. Where it lacks the problem,
    /// what has a row that says so.
    #[must_use]
    pub fn taking_part(&self, problem: &Problem, input: &Input) -> Vec<&BaselineSubject> {
        if self.lacks(problem, input) {
            return self.judged().collect();
        }
        let rows = self.subjects.iter().filter(|subject| subject.result != BaselineResult::Empty);
        rows.filter(|subject| self.has(subject, problem, input)).collect()
    }

    /// Its scans; of a program without any, its copies.
    fn judged(&self) -> impl Iterator<Item = &BaselineSubject> {
        let scans = self.subjects.iter().any(|subject| subject.result == BaselineResult::Scan);
        let result = if scans { BaselineResult::Scan } else { BaselineResult::Copy };
        self.subjects.iter().filter(move |subject| subject.result == result)
    }

    /// What a greeting of its version has to say beside the words of it.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(OLDEST_PROTOCOL..=PROTOCOL).contains(&self.protocol) {
            return Err(format!(
                "it speaks protocol {}, this version of scanbox speaks {OLDEST_PROTOCOL} to {PROTOCOL}",
                self.protocol
            ));
        }
        let says = |subject: &BaselineSubject| subject.problems.is_some();
        if self.protocol == PROTOCOL && self.problems.is_empty() && !self.subjects.iter().any(says) {
            return Err(format!(
                "it speaks protocol {PROTOCOL} and does not say which `problems` it has (docs/baselines.md)"
            ));
        }
        Ok(())
    }

    /// Whether rows can have its names: each stands in a cell, on a line of a table, and names one subject.
    ///
    /// # Errors
    /// Which name cannot be one, and why.
    pub(super) fn check_names(&self) -> Result<(), String> {
        if self.subjects.is_empty() {
            return Err("it has no `subjects`: nothing could be measured".to_owned());
        }
        let subjects = self.subjects.iter().map(|subject| ("a subject", &subject.name));
        let others = [("`tool`", &self.tool), ("`version`", &self.version), ("`device`", &self.device)];
        let others =
            others.into_iter().chain([("`device_uuid`", &self.device_uuid), ("`driver`", &self.driver)]);
        for (what, name) in subjects.clone().chain(others) {
            if name.chars().any(char::is_control) || name.chars().count() > NAME_MAX {
                let shown: String = name.chars().take(40).flat_map(char::escape_debug).collect();
                return Err(format!(
                    "{what} is `{shown}`: names are one line of at most {NAME_MAX} characters"
                ));
            }
        }
        if self.tool.trim().is_empty() {
            return Err("its `tool` has no name".to_owned());
        }
        let mut known = BTreeSet::new();
        for (_, name) in subjects {
            if name.trim().is_empty() {
                return Err("a subject has no name".to_owned());
            }
            if name.parse::<Config>().is_ok() || OWN_NAMES.contains(&name.split('.').next().unwrap_or(name)) {
                return Err(format!("a subject is `{name}`: scanbox's own rows have such names"));
            }
            if !known.insert(name) {
                return Err(format!("two of its subjects are `{name}`"));
            }
        }
        Ok(())
    }
}

/// One thing that a baseline can run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineSubject {
    /// Its name, which stands in the rows: `cub-scan`.
    pub name: String,
    /// What it computes.
    pub result: BaselineResult,
    /// Its problems, where they are not those of the whole program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<ProblemKind>>,
}

/// What a baseline computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaselineResult {
    /// What a problem asks for: a scan, or a reduction.
    Scan,
    /// A copy of its input.
    Copy,
    /// Nothing: an empty call between the same events as others, which is timed once and has no rows.
    Empty,
}
