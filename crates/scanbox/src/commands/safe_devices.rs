//! The list of safe devices that this process goes by, and what the user assumes beside it.

use std::sync::OnceLock;

use anyhow::Context;
use scanbox_model::device::DeviceProfile;
use scanbox_model::safe_devices::{Guarantee, SafeDevices};

use super::known_issues;

/// The variable that names a file to use instead of the built-in list. Workers inherit it.
const FILE_VARIABLE: &str = "SCANBOX_SAFE_DEVICES";

const BUILT_IN: &str = include_str!("../../../../configs/safe_devices.toml");

/// What `--assume` says: one answer per process.
static ASSUMED: OnceLock<Vec<Guarantee>> = OnceLock::new();

/// Takes note of what the user assumes of every device.
pub fn assume(guarantees: &[Guarantee]) {
    let _ = ASSUMED.set(guarantees.to_vec());
}

/// All entries.
pub fn all() -> anyhow::Result<SafeDevices> {
    let read = |text: &str, path: &str| SafeDevices::from_toml(text, path).map_err(anyhow::Error::msg);
    let listed = match std::env::var(FILE_VARIABLE).ok().filter(|path| !path.is_empty()) {
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{FILE_VARIABLE}: {path}"))?;
            read(&text, &path)?
        }
        None => read(BUILT_IN, "configs/safe_devices.toml")?,
    };
    Ok(listed.assuming(ASSUMED.get().into_iter().flatten().copied()))
}

/// Writes down in a profile what is known of the device beside what its driver tells.
pub fn inform(profile: &mut DeviceProfile) -> anyhow::Result<()> {
    profile.forced = known_issues::of(profile)?.forced();
    all()?.apply(profile);
    Ok(())
}
