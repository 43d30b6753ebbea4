//! What a file is made of that unites others: shards of a space, and attempts at them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::DeviceProfile;
use crate::record::Record;
use crate::shard::ShardOf;

/// Where the rows of a merged file come from. Files that were merged before count as the files that they were made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedFrom {
    /// The files, in an order of their own.
    pub inputs: Vec<MergedInput>,
    /// How many measurements the ceiling of each size is the median of.
    pub copies: BTreeMap<u64, u64>,
}

/// A file whose rows were merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergedInput {
    /// Its name, without the folder.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Of a shard, which part of the space it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOf>,
    /// The units that its rows are of.
    pub units: BTreeSet<MergedUnit>,
    /// The runs that have written its rows.
    pub run_ids: BTreeSet<String>,
    /// Its device, where that is known and another one than that of the merged file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceProfile>,
    /// The ceiling of each size in GB/s, as it was measured there.
    #[serde(default, rename = "copy_gbps", skip_serializing_if = "BTreeMap::is_empty")]
    pub ceiling_gbps: BTreeMap<u64, f64>,
}

/// A unit of a model, as its rows tell it; what is empty is not known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MergedUnit {
    /// The host that it is in.
    pub host: String,
    /// Its address on the PCI bus.
    pub pci_address: String,
    /// The device UUID.
    pub uuid: String,
}

impl MergedUnit {
    /// That of a row.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self {
            host: record.host.clone(),
            pci_address: record.pci_address.clone(),
            uuid: record.device_uuid.clone(),
        }
    }
}

/// What a unit is called in a sentence: by its host and its address, where those are known.
impl Display for MergedUnit {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { host, pci_address, uuid } = self;
        match (host.as_str(), pci_address.as_str()) {
            ("", "") => write!(f, "unit {uuid}"),
            ("", pci_address) => write!(f, "the unit at {pci_address}"),
            (host, "") => write!(f, "the unit on {host}"),
            (host, pci_address) => write!(f, "the unit on {host} at {pci_address}"),
        }
    }
}
