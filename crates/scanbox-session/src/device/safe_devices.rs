//! The list of safe devices that this process goes by, and what the user assumes beside it.

use anyhow::Context;
use scanbox_model::safe_devices::{Guarantee, SafeDevices};

/// The variable that names a file to use instead of the built-in list. Workers inherit it.
const FILE_VARIABLE: &str = "SCANBOX_SAFE_DEVICES";

const BUILT_IN: &str = include_str!("../../../../configs/safe_devices.toml");

/// All entries, and what is assumed of every device.
///
/// # Errors
/// When the list cannot be read.
pub fn all(assume: &[Guarantee]) -> anyhow::Result<SafeDevices> {
    let read = |text: &str, path: &str| SafeDevices::from_toml(text, path).map_err(anyhow::Error::msg);
    let listed = match std::env::var(FILE_VARIABLE).ok().filter(|path| !path.is_empty()) {
        Some(path) => {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{FILE_VARIABLE}: {path}"))?;
            read(&text, &path)?
        }
        None => read(BUILT_IN, "configs/safe_devices.toml")?,
    };
    Ok(listed.assuming(assume.iter().copied()))
}
