//! Which unit of which model something is about, and what units are called.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::device_api::DeviceApi;
use scanbox_model::record::Record;

/// Which unit of which model: two rows are of one unit when all of it agrees. Units of one model may have equal
/// UUIDs, where drivers make them of the place on the bus, so host and PCI address count too. Empty is unknown: files
/// of older versions do not have these columns, and their rows are put to the only unit that they can be of
/// ([`crate::grouping`]). Through what it is driven counts as well: one chip is two devices with Vulkan and WebGPU.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DeviceIdentity {
    /// The name that the driver gives.
    pub name: String,
    /// What the user calls the unit; empty: nothing. Rows of differently named files are of different units.
    pub label: String,
    /// Through what it is driven.
    pub api: DeviceApi,
    /// The device UUID.
    pub uuid: String,
    /// The host that it is in.
    pub host: String,
    /// Its address on the PCI bus.
    pub pci_address: String,
}

impl DeviceIdentity {
    /// That of a row, without a label.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self {
            name: record.device.clone(),
            label: String::new(),
            api: DeviceApi::of(record),
            uuid: record.device_uuid.clone(),
            host: record.host.clone(),
            pci_address: record.pci_address.clone(),
        }
    }

    /// Whether a row is of it, as far as both are known; the label is no matter of rows.
    #[must_use]
    pub fn is_of(&self, record: &Record) -> bool {
        self.name == record.device
            && self.api.is_of(record)
            && self.uuid == record.device_uuid
            && self.host == record.host
            && self.pci_address == record.pci_address
    }

    /// Whether both may be one unit: what is not known is no difference.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        let same = |a: &str, b: &str| a.is_empty() || b.is_empty() || a == b;
        (&self.name, &self.label, &self.api, &self.uuid)
            == (&other.name, &other.label, &other.api, &other.uuid)
            && same(&self.host, &other.host)
            && same(&self.pci_address, &other.pci_address)
    }

    /// What its title begins with: its label, else its name.
    fn title_root(&self) -> &str {
        if self.label.is_empty() { &self.name } else { &self.label }
    }

    /// How much of it is known.
    pub(crate) fn known(&self) -> usize {
        usize::from(!self.host.is_empty()) + usize::from(!self.pci_address.is_empty())
    }
}

/// For each title and each way to drive what is called so, but for Vulkan: in the fewest words that tell it apart.
fn ways_to_drive(units: &BTreeSet<DeviceIdentity>) -> BTreeMap<(&str, &DeviceApi), String> {
    let mut apis: BTreeMap<&str, BTreeSet<&DeviceApi>> = BTreeMap::new();
    for unit in units {
        apis.entry(unit.title_root()).or_default().insert(&unit.api);
    }
    let mut told = BTreeMap::new();
    for (root, apis) in apis {
        for api in &apis {
            let others: Vec<Vec<String>> =
                apis.iter().filter(|other| other != &api).map(|other| other.ways()).collect();
            let ways = api.ways();
            let is_alone = |way: &&String| !others.iter().flatten().any(|other| other == *way);
            if let Some(way) = ways.iter().find(is_alone).or(ways.last()) {
                told.insert((root, *api), way.clone());
            }
        }
    }
    told
}

/// What each of these units is called: its label, else its name; where it is not driven through Vulkan, with as much
/// of through what as tells it apart; where two have the same name, with the first of host, PCI address and UUID that
/// tells it apart from the others, or with as many of them as it takes.
pub(crate) fn unit_titles(units: &BTreeSet<DeviceIdentity>) -> BTreeMap<DeviceIdentity, String> {
    type Part = fn(&DeviceIdentity) -> String;
    fn tagged(tag: &str, text: &str) -> String {
        if text.is_empty() { String::new() } else { format!("{tag}{text}") }
    }
    let parts: [Part; 3] = [
        |unit| tagged(" on ", &unit.host),
        |unit| tagged(" at ", &unit.pci_address),
        |unit| tagged(" ", unit.uuid.split('-').next().unwrap_or_default()),
    ];
    let ways: [&[usize]; 7] = [&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]];
    let told = |unit: &DeviceIdentity, way: &[usize]| -> String {
        way.iter().map(|&part| parts[part](unit)).collect()
    };
    let ways_to_drive = ways_to_drive(units);
    let mut alike: BTreeMap<(&str, &str, &DeviceApi), Vec<&DeviceIdentity>> = BTreeMap::new();
    for unit in units {
        let name = if unit.label.is_empty() { unit.name.as_str() } else { "" };
        alike.entry((&unit.label, name, &unit.api)).or_default().push(unit);
    }
    let mut titles = BTreeMap::new();
    for ((label, ..), like) in alike {
        let distinct = |way: &&&[usize]| {
            like.iter().map(|other| told(other, way)).collect::<BTreeSet<_>>().len() == like.len()
        };
        let way = ways.iter().find(distinct);
        for unit in &like {
            let DeviceIdentity { name, uuid, api, .. } = unit;
            let name = match ways_to_drive.get(&(unit.title_root(), api)) {
                Some(way) => &format!("{name} ({way})"),
                None => name,
            };
            let title = match (label, like.len(), way) {
                ("", 1, _) => name.clone(),
                ("", _, Some(way)) => format!("{name}{}", told(unit, way)),
                // The whole UUID is the last resort: its beginning may be the same.
                ("", _, None) => format!("{name}{} {uuid}", told(unit, &[0, 1])).trim_end().to_owned(),
                (_, 1, _) => format!("{label} ({name})"),
                (_, _, _) => format!("{label} ({name} {uuid})"),
            };
            titles.insert((*unit).clone(), title);
        }
    }
    titles
}
