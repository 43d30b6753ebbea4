//! What probes have found, as files of the cache folder: one for each device, build of its driver, and version of what
//! was asked.

use std::fs;
use std::path::PathBuf;

use scanbox_model::device::DeviceProfile;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::whole_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::tools::Tools;

/// Something that a probe finds, and that is kept.
pub(crate) trait Findings: Clone + Serialize + DeserializeOwned {
    /// What its files are called.
    const NAME: &'static str;

    /// Whether a probe can have found this.
    fn is_possible(&self) -> bool;

    /// What it is of, beside the device and its driver.
    ///
    /// # Errors
    /// When that cannot be read.
    fn version(device: &DeviceProfile, tools: &Tools) -> anyhow::Result<ProbeVersion>;
}

/// What a finding is of beside the device: whenever it changes there is another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProbeVersion {
    /// The hash of the shaders.
    pub kernel_hash: String,
    /// The version of scanbox, where it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scanbox: Option<String>,
    /// What runs the workgroups of a software device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<String>,
}

impl ProbeVersion {
    /// In words.
    pub fn told(&self) -> String {
        let parts = [Some(&self.kernel_hash), self.scanbox.as_ref(), self.threads.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// The file of a probe: what it was of, and what it found.
#[derive(Serialize, Deserialize)]
struct ProbeFile<P> {
    #[serde(flatten)]
    of: Probed,
    probe: P,
}

/// What a probe is of: whenever one of these changes there is another one.
#[derive(PartialEq, Serialize, Deserialize)]
struct Probed {
    device: String,
    #[serde(flatten)]
    api: DeviceApi,
    device_uuid: String,
    driver: String,
    driver_build: String,
    #[serde(flatten)]
    version: ProbeVersion,
}

impl Probed {
    fn new<P: Findings>(device: &DeviceProfile, tools: &Tools) -> anyhow::Result<Self> {
        Ok(Self {
            device: device.name.clone(),
            api: device.device_api(),
            device_uuid: device.uuid.clone(),
            driver: device.driver.clone(),
            driver_build: device.driver_build.clone(),
            version: P::version(device, tools)?,
        })
    }

    /// Where it is kept: each in a file of its own, so that nobody has to change what somebody else has written.
    fn path(&self, name: &str, tools: &Tools) -> Option<PathBuf> {
        let text = serde_json::to_vec(self).ok()?;
        let name = format!("{name}-{}.json", &blake3::hash(&text).to_hex()[..16]);
        Some(tools.probes()?.join(name))
    }
}

/// What an earlier probe of this device found. A file that cannot be read, or says that it is of something else, is
/// none: it is replaced by the next probe.
pub(crate) fn read<P: Findings>(device: &DeviceProfile, tools: &Tools) -> Option<P> {
    let probed = Probed::new::<P>(device, tools).ok()?;
    let text = fs::read(probed.path(P::NAME, tools)?).ok()?;
    let file: ProbeFile<P> = serde_json::from_slice(&text).ok()?;
    (file.of == probed && file.probe.is_possible()).then_some(file.probe)
}

/// Keeps what a probe found. Where it cannot be kept it is found out again.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write<P: Findings>(device: &DeviceProfile, tools: &Tools, probe: &P) -> anyhow::Result<()> {
    let of = Probed::new::<P>(device, tools)?;
    let Some(path) = of.path(P::NAME, tools) else { return Ok(()) };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_string_pretty(&ProbeFile { of, probe: probe.clone() })?;
    Ok(whole_file::replace_text(&path, &(text + "\n"))?)
}
