//! The known issues that this process goes by, and the environment that they are seen in.

use std::collections::BTreeMap;

use anyhow::Context;
use scanbox_kernels::catalog;
use scanbox_model::device::DeviceProfile;
use scanbox_model::known_issues::{DeviceIssues, Issue, KnownIssues};
use scanbox_model::problem::Problem;
use scanbox_model::space::{Enumeration, RejectionCount, Space};

/// The variable that names a file to use instead of the built-in issues. Workers inherit it.
const FILE_VARIABLE: &str = "SCANBOX_KNOWN_ISSUES";

const BUILT_IN: &str = include_str!("../../../../configs/known_issues.toml");

/// All known issues.
///
/// # Errors
/// When the list cannot be read.
pub fn all() -> anyhow::Result<KnownIssues> {
    match std::env::var(FILE_VARIABLE).ok().filter(|path| !path.is_empty()) {
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{FILE_VARIABLE}: {path}"))?;
            Ok(KnownIssues::from_toml(&text, &path)?)
        }
        None => Ok(KnownIssues::from_toml(BUILT_IN, "configs/known_issues.toml")?),
    }
}

/// The issues of a device that kernels run on in a worker.
///
/// # Errors
/// As [`all`].
pub fn of(device: &DeviceProfile) -> anyhow::Result<DeviceIssues> {
    Ok(all()?.on(device, variable))
}

/// The points of a space on a device that a sweep has to measure.
///
/// # Errors
/// As [`all`].
pub fn points(space: &Space, problem: &Problem, device: &DeviceProfile) -> anyhow::Result<Enumeration> {
    Ok(allowed(space, problem, device, &of(device)?))
}

/// The points that a sweep had to measure which was made before: without those that it skipped for known issues, which
/// its rejections say.
///
/// # Errors
/// As [`all`].
pub fn points_before(
    space: &Space,
    problem: &Problem,
    device: &DeviceProfile,
    rejections: &[RejectionCount],
) -> anyhow::Result<Enumeration> {
    Ok(allowed(space, problem, device, &all()?.that_skipped(rejections)))
}

fn allowed(space: &Space, problem: &Problem, device: &DeviceProfile, issues: &DeviceIssues) -> Enumeration {
    space.enumerate(device, |config, n, device| {
        catalog::legal(config, problem, n, device)?;
        issues.allow(config, &catalog::resolved(config, device))
    })
}

/// What a worker finds in its environment beside what the user has set.
///
/// # Errors
/// As [`all`].
pub fn worker_environment() -> anyhow::Result<BTreeMap<String, String>> {
    let known = all()?;
    let variables = known.environment(variable);
    Ok(variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// What to say when what an issue expects to fail does not.
pub fn unexpected_pass(issue: &Issue, times: u64) -> String {
    format!(
        "{times} in spite of the known issue {}: if that is fixed, its entry has to go or to end",
        issue.id
    )
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
