//! Known issues of devices: which driver does what wrong, and what is done about it.
//!
//! Issues are data (`configs/known_issues.toml`), and everything here is a pure function of them. An issue matches a
//! device by what it gives of vendor, name, driver and driver version; all of it has to match. It acts by
//!
//! - `environment`: variables that the process which runs kernels gets, unless the user has set them. Where they have
//!   these values the issue is remedied, and its other actions rest;
//! - `skip`: configs that are not tried, with the rule `known-issue:ID`;
//! - `force`: what `auto` stands for on the device, and whether kernels ask it for maximal reconvergence;
//! - `expect`: the failure that configs end with. A row keeps its status; the reason names the issue;
//! - `workaround`: a switch of its name in `kernels/glsl/workarounds.glsl`, by which the kernels go round it on every
//!   device. An
//!   issue that does nothing else concerns nobody who runs them, and no device has it.
//!
//! Filters see a config as its label has it, and with the values that `auto` stands for; one of the two has to match.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::api::Api;
use crate::config::{Config, Kernel, Reset, TileState};
use crate::device::{DeviceProfile, Forced};
use crate::filter::Filter;
use crate::record::{Record, Status};
use crate::space::{Rejection, RejectionCount};
use crate::units::slug;

/// What the names of rules begin with that skip configs for a known issue: its id stands behind.
pub const RULE_PREFIX: &str = "known-issue:";

/// All issues that are known.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownIssues(Vec<Issue>);

/// One issue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issue {
    /// A word for rules and reasons.
    pub id: String,
    /// The devices that have it.
    #[serde(rename = "match")]
    pub device: DeviceMatch,
    /// What goes wrong, and why the actions help.
    pub why: String,
    /// Where and when it was seen, and what says so.
    pub seen: String,
    /// Variables that remedy it.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Configs that are not tried.
    pub skip: Option<Filter>,
    /// What `auto` stands for.
    #[serde(default)]
    pub force: Forced,
    /// How configs end.
    pub expect: Option<Expect>,
    /// Whether the kernels have a switch of its name, by which they go round it.
    #[serde(default)]
    pub workaround: bool,
}

/// Which devices an issue is about: those that have everything that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceMatch {
    /// PCI (or Khronos) vendor id.
    pub vendor_id: Option<u32>,
    /// The interface through which it is driven.
    pub api: Option<Api>,
    /// A part of the name of the device.
    pub device: Option<String>,
    /// A part of the name of the driver.
    pub driver: Option<String>,
    /// Versions of the driver.
    pub driver_version: Option<VersionRange>,
}

/// Versions of a driver, as the first number in the driver's own description has them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionRange {
    /// The first version that has the issue.
    pub from: Option<Version>,
    /// The first version after it that has not.
    pub before: Option<Version>,
}

/// A version: numbers with dots between them, compared number by number. `22.3` and `22.3.0` are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Version(Vec<u32>);

/// A failure that is expected.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// One of these.
    pub status: Vec<Status>,
    /// Of these configs; left out, of all.
    #[serde(default)]
    pub filter: Filter,
    /// It comes and goes: a pass says nothing.
    #[serde(default)]
    pub sporadic: bool,
}

/// Why a text is no list of known issues.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnownIssuesError {
    /// The text is not the TOML of known issues.
    #[error("{path}: {reason}")]
    Syntax {
        /// The file.
        path: String,
        /// What the TOML reader says, with line and column.
        reason: String,
    },
    /// A value makes no sense.
    #[error("{path}: issue {number} (`{id}`): `{key}`: {reason}")]
    Value {
        /// The file.
        path: String,
        /// The number of the issue, from 1.
        number: usize,
        /// Its id.
        id: String,
        /// The key.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// The file as TOML has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownIssuesFile {
    #[serde(default, rename = "issue")]
    issues: Vec<Issue>,
}

/// The issues of one device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceIssues {
    /// Those that take effect.
    pub active: Vec<Issue>,
    /// Those that the environment remedies.
    pub remedied: Vec<Issue>,
}

/// What the issues of a device say about how a config ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expectation<'a> {
    /// Nothing.
    None,
    /// It failed as this issue says.
    Failed(&'a Issue),
    /// It passed, although this issue says that it fails.
    Passed(&'a Issue),
}

impl KnownIssues {
    /// Reads issues from TOML; `path` is for messages.
    ///
    /// # Errors
    /// When the text is not TOML of issues, or a value makes no sense.
    pub fn from_toml(text: &str, path: &str) -> Result<Self, KnownIssuesError> {
        let file: KnownIssuesFile = toml::from_str(text).map_err(|error| KnownIssuesError::Syntax {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        let mut ids = BTreeSet::new();
        for (index, issue) in file.issues.iter().enumerate() {
            let unique = match ids.insert(&issue.id) {
                true => Ok(()),
                false => Err(("id", "another issue has it".to_owned())),
            };
            unique.and_then(|()| issue.check()).map_err(|(key, reason)| KnownIssuesError::Value {
                path: path.to_owned(),
                number: index + 1,
                id: issue.id.clone(),
                key,
                reason,
            })?;
        }
        Ok(Self(file.issues))
    }

    /// The issues of a device. `variable` reads the environment of the user; what is not set there gets the value of
    /// the first issue that names it ([`KnownIssues::environment`]).
    pub fn on(&self, device: &DeviceProfile, variable: impl Fn(&str) -> Option<String>) -> DeviceIssues {
        let matching = self.0.iter().filter(|issue| issue.acts() && issue.device.matches(device)).cloned();
        let (remedied, active) = matching.partition(|issue| {
            let has_value = |(name, value): (&String, &String)| match variable(name) {
                Some(set) => set == *value,
                None => self.default_of(name) == Some(value),
            };
            !issue.environment.is_empty() && issue.environment.iter().all(has_value)
        });
        DeviceIssues { active, remedied }
    }

    /// Those that configs were skipped for which these rejections count: of a run that was made before, wherever that
    /// was.
    #[must_use]
    pub fn that_skipped(&self, rejections: &[RejectionCount]) -> DeviceIssues {
        let skipped = |issue: &&Issue| {
            rejections.iter().any(|rejection| rejection.rule.strip_prefix(RULE_PREFIX) == Some(&issue.id))
        };
        DeviceIssues { active: self.0.iter().filter(skipped).cloned().collect(), remedied: Vec::new() }
    }

    /// The variables of a process that runs kernels, whatever its device: those of all issues, without what the user
    /// has set. Each concerns one driver, and the others do not know it.
    pub fn environment(&self, variable: impl Fn(&str) -> Option<String>) -> BTreeMap<&str, &str> {
        let names = self.0.iter().flat_map(|issue| issue.environment.keys());
        let unset = names.filter(|name| variable(name).is_none());
        unset.filter_map(|name| Some((name.as_str(), self.default_of(name)?.as_str()))).collect()
    }

    /// The switches of the kernels that have an issue each: its id as a define has it.
    pub fn workarounds(&self) -> impl Iterator<Item = String> {
        let issues = self.0.iter().filter(|issue| issue.workaround);
        issues.map(|issue| issue.id.to_uppercase().replace('-', "_"))
    }

    fn default_of(&self, name: &str) -> Option<&String> {
        self.0.iter().find_map(|issue| issue.environment.get(name))
    }
}

impl Issue {
    /// Checks what TOML cannot say.
    fn check(&self) -> Result<(), (&'static str, String)> {
        let refuse = |key, reason: &str| Err((key, reason.to_owned()));
        if self.id.is_empty() || self.id != slug(&self.id) {
            return refuse("id", "it is a word of lower-case letters, digits and dashes");
        }
        if self.device == DeviceMatch::default() {
            return refuse("match", "it would match every device");
        }
        if self.device.driver_version == Some(VersionRange::default()) {
            return refuse("match", "a range of driver versions has `from`, `before` or both");
        }
        if self.why.trim().is_empty() {
            return refuse("why", "it is empty");
        }
        if self.seen.trim().is_empty() {
            return refuse("seen", "it is empty");
        }
        if self.environment.keys().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return refuse("environment", "the name of a variable has at least one letter and no `=`");
        }
        if self.force.tile_state == Some(TileState::Auto) || self.force.reset == Some(Reset::Auto) {
            return refuse("force", "`auto` is what is replaced");
        }
        if self.force.reset == Some(Reset::Turn) {
            return refuse("force", "reset `turn` is of pushed arguments alone: a config asks for it");
        }
        if self.force.maximal_reconvergence == Some(true) {
            return refuse(
                "force",
                "kernels ask for maximal reconvergence wherever a device has it: `false` is the other case",
            );
        }
        let filters = [("skip", self.skip.as_ref()), ("expect", self.expect.as_ref().map(|one| &one.filter))];
        if let Some((key, _)) = filters.iter().find(|(_, filter)| filter.is_some_and(Filter::asks_device)) {
            return refuse(key, "no config has the value `auto` of arguments: name those that it stands for");
        }
        match &self.expect {
            Some(expect) if expect.status.is_empty() => {
                return refuse("expect", "the list of statuses is empty");
            }
            Some(expect) if expect.status.contains(&Status::Ok) => {
                return refuse("expect", "`ok` is not a failure");
            }
            _ => {}
        }
        if !self.acts() && !self.workaround {
            return refuse("id", "nothing is done about it: give `environment`, `skip`, `force` or `expect`");
        }
        Ok(())
    }

    /// Whether anything is done about it beside what the kernels do.
    fn acts(&self) -> bool {
        !self.environment.is_empty() || self.skip.is_some() || !self.force.is_empty() || self.expect.is_some()
    }

    /// What is expected of this config.
    fn expectation_of(&self, config: &Config, ran: &Config) -> Option<&Expect> {
        self.expect.as_ref().filter(|expect| expect.filter.accepts(config) || expect.filter.accepts(ran))
    }
}

impl DeviceMatch {
    pub(crate) fn matches(&self, device: &DeviceProfile) -> bool {
        let has = |text: &str, part: &Option<String>| {
            part.as_ref().is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
        };
        self.vendor_id.is_none_or(|vendor_id| vendor_id == device.vendor_id)
            && self.api.is_none_or(|api| api == device.api)
            && has(&device.name, &self.device)
            && has(&device.driver, &self.driver)
            && self.driver_version.as_ref().is_none_or(|range| {
                Version::in_description(&device.driver).is_some_and(|version| range.contains(&version))
            })
    }
}

impl VersionRange {
    fn contains(&self, version: &Version) -> bool {
        self.from.as_ref().is_none_or(|from| version >= from)
            && self.before.as_ref().is_none_or(|before| version < before)
    }
}

impl Version {
    /// The version in a description such as `llvmpipe Mesa 22.3.6 (LLVM 15.0.6)`: the first word that begins with a
    /// digit, up to where it stops being numbers and dots.
    fn in_description(driver: &str) -> Option<Self> {
        let word = driver.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        word[..end].trim_end_matches('.').to_owned().try_into().ok()
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let usage =
            |_| format!("`{text}` is not a version: write numbers with dots between them, such as 22.3.6");
        let mut numbers: Vec<u32> =
            text.split('.').map(str::parse).collect::<Result<_, _>>().map_err(usage)?;
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        Ok(Self(numbers))
    }
}

impl DeviceIssues {
    /// What `auto` stands for; the first issue that says something about a parameter decides.
    #[must_use]
    pub fn forced(&self) -> Forced {
        Forced {
            tile_state: self.active.iter().find_map(|issue| issue.force.tile_state),
            reset: self.active.iter().find_map(|issue| issue.force.reset),
            maximal_reconvergence: self.active.iter().find_map(|issue| issue.force.maximal_reconvergence),
        }
    }

    /// Whether a config is tried. `ran` is the config with the values that `auto` stands for.
    ///
    /// # Errors
    /// The issue that it is skipped for, as a rejection.
    pub fn allow(&self, config: &Config, ran: &Config) -> Result<(), Rejection> {
        let skips = |issue: &&Issue| {
            issue.skip.as_ref().is_some_and(|filter| filter.accepts(config) || filter.accepts(ran))
        };
        match self.active.iter().find(skips) {
            Some(issue) => Err(Rejection {
                rule: format!("{RULE_PREFIX}{}", issue.id).into(),
                detail: issue.why.clone(),
            }),
            None => Ok(()),
        }
    }

    /// What is to be thought of how a config ended. `ran` is the config with the values that `auto` stands for.
    #[must_use]
    pub fn judge(&self, config: &Config, ran: &Config, status: Status) -> Expectation<'_> {
        let expectations = || {
            let expected = |issue| Some((issue, Issue::expectation_of(issue, config, ran)?));
            self.active.iter().filter_map(expected)
        };
        if status == Status::Ok {
            let passed = expectations().find(|(_, expect)| !expect.sporadic);
            return passed.map_or(Expectation::None, |(issue, _)| Expectation::Passed(issue));
        }
        let failed = expectations().find(|(_, expect)| expect.status.contains(&status));
        failed.map_or(Expectation::None, |(issue, _)| Expectation::Failed(issue))
    }

    /// [`DeviceIssues::judge`] of a row of scanbox's own.
    #[must_use]
    pub fn judge_row(&self, record: &Record) -> Expectation<'_> {
        // Most devices have no issues, and files have many rows.
        if self.active.is_empty() {
            return Expectation::None;
        }
        let Some(config) = record.config() else { return Expectation::None };
        let kernel = Kernel {
            tile_state: record.parameters.tile_state.unwrap_or(config.kernel.tile_state),
            reset: record.parameters.reset.unwrap_or(config.kernel.reset),
            ..config.kernel
        };
        self.judge(&config, &Config { kernel, ..config }, record.status)
    }

    /// Adds the issue that a failure was expected for to the reason of a row.
    pub fn explain(&self, record: &mut Record) {
        if let Expectation::Failed(issue) = self.judge_row(record) {
            let reason = std::mem::take(&mut record.reason);
            let separator = if reason.is_empty() { "" } else { "; " };
            record.reason = format!("{reason}{separator}known issue {}", issue.id);
        }
    }

    /// Issues that rows passed in spite of, each with how many.
    pub fn passed<'a>(&'a self, records: impl IntoIterator<Item = &'a Record>) -> Vec<(&'a Issue, u64)> {
        let mut passed: Vec<(&Issue, u64)> = Vec::new();
        for record in records {
            let Expectation::Passed(issue) = self.judge_row(record) else { continue };
            match passed.iter_mut().find(|(other, _)| other.id == issue.id) {
                Some((_, rows)) => *rows += 1,
                None => passed.push((issue, 1)),
            }
        }
        passed
    }
}
