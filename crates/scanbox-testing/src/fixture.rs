//! Devices that nobody here has, from files: each fact with its source, or with the word that it is assumed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::device::DeviceProfile;
use serde::Deserialize;

/// What a file has to say of a device, beside what no profile needs.
const NEEDED: [&str; 26] = [
    "name",
    "vendor_id",
    "device_id",
    "kind",
    "driver",
    "api_version",
    "subgroup_size",
    "min_subgroup_size",
    "max_subgroup_size",
    "max_workgroup_size",
    "max_workgroup_count",
    "max_shared_bytes",
    "max_storage_buffer_bytes",
    "max_allocation_bytes",
    "memory_bytes",
    "buffer_addresses",
    "int64_atomics",
    "int64_elements",
    "float64_elements",
    "uniform_control_flow",
    "maximal_reconvergence",
    "timestamp_period_ns",
    "timestamp_valid_bits",
    OPERATIONS,
    FEATURES,
    // Without a number of them, one is assumed.
    "compute_units",
];

/// What drivers need not tell.
const OPEN: [&str; 2] = ["compute_units", "pinned_subgroups"];

/// What a profile of scanbox has not: it is about devices that can be used.
const OPERATIONS: &str = "subgroup_operations";
const FEATURES: &str = "features";

/// A device from a file.
#[derive(Debug, Clone)]
pub struct DeviceFixture {
    /// The name of its file, without the ending.
    pub name: String,
    /// What it is and can do; nothing is known of what it gives beyond what Vulkan promises.
    pub profile: DeviceProfile,
    /// Its subgroup operations in compute shaders.
    pub operations: Vec<String>,
    /// Its features, of those that kernels cannot do without.
    pub features: Vec<String>,
}

/// A fact of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    value: toml::Value,
    source: Option<String>,
    assumed: Option<String>,
}

impl DeviceFixture {
    /// The devices of the folder, by name.
    pub fn all() -> Vec<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("profiles");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let mut all: Vec<Self> = files.map(|path| Self::read(&path).unwrap()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The device of a file.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::of_text(&name, &text).map_err(|wrong| format!("{}: {wrong}", path.display()))
    }

    /// The device of such a text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_text(name: &str, text: &str) -> Result<Self, String> {
        let mut facts: BTreeMap<String, Fact> = toml::from_str(text).map_err(|error| error.to_string())?;
        for needed in NEEDED.iter().filter(|needed| !OPEN.contains(needed)) {
            if !facts.contains_key(*needed) {
                return Err(format!("it says nothing of {needed}"));
            }
        }
        for (fact, Fact { source, assumed, .. }) in &facts {
            if !NEEDED.contains(&fact.as_str()) && !OPEN.contains(&fact.as_str()) {
                return Err(format!("nothing of a device is called {fact}"));
            }
            let words = [source, assumed].map(|words| words.as_deref().unwrap_or_default().trim());
            if words.iter().filter(|words| !words.is_empty()).count() != 1 {
                return Err(format!("{fact} has either its source, or why it is assumed"));
            }
        }
        let mut list = |name: &str| -> Result<Vec<String>, String> {
            let fact = facts.remove(name).ok_or_else(|| format!("it says nothing of {name}"))?;
            fact.value.try_into().map_err(|error| format!("{name}: {error}"))
        };
        let (operations, features) = (list(OPERATIONS)?, list(FEATURES)?);
        let mut table: toml::Table = facts.into_iter().map(|(name, fact)| (name, fact.value)).collect();
        table.insert("uuid".to_owned(), format!("uuid of {name}").into());
        let profile: DeviceProfile = table.try_into().map_err(|error: toml::de::Error| error.to_string())?;
        Ok(Self { name: name.to_owned(), profile, operations, features })
    }
}
