//! Where the numbers come from, device beside device; what differs stands out.

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::table::DeviceIdentity;
use scanbox_model::api::Api;
use scanbox_model::device::DeviceKind;
use scanbox_model::metadata::Metadata;

use super::{HtmlCell, HtmlColumn, Piece, Section, Sources, Table, printable};
use crate::analysis::text::row_counts;

/// What of a device's run is compared.
struct ProvenanceRow {
    name: &'static str,
    values: Vec<String>,
    /// Whether a difference is worth a mark: names and dates always differ.
    compared: bool,
    /// Whether a difference means that the devices did not run the same.
    must_agree: bool,
}

/// The section.
pub fn section(sources: &Sources<'_>) -> Section {
    let properties = properties(sources);
    let differs = |property: &ProvenanceRow| property.values.iter().any(|value| *value != property.values[0]);
    let mut pieces = Vec::new();
    let apart: Vec<&str> = properties
        .iter()
        .filter(|property| property.must_agree && differs(property))
        .map(|property| property.name)
        .collect();
    if sources.titles.len() > 1 {
        pieces.push(Piece::Says(if apart.is_empty() {
            "All runs were made by the same version with the same kernels, space and settings.".into()
        } else {
            format!("The runs were not made alike. They differ in: {}.", apart.join(", "))
        }));
    }
    let mut columns = vec![HtmlColumn::words("")];
    columns.extend(sources.titles.iter().map(HtmlColumn::words));
    let rows = properties.iter().map(|property| {
        let mut row = vec![HtmlCell::text(property.name)];
        row.extend(property.values.iter().map(|value| {
            let different = property.compared && *value != property.values[0];
            HtmlCell::text(value.clone()).flagged_if(different)
        }));
        row
    });
    pieces.push(Piece::Table(Table {
        caption: match sources.titles.len() {
            1 => "What the rows and the metadata say.".into(),
            _ => "What the rows and the metadata say. Marked with ≠: other than in the first column.".into(),
        },
        columns,
        rows: rows.collect(),
        name: "provenance".into(),
        shown: None,
    }));
    Section { id: "provenance".into(), heading: "Provenance".into(), pieces }
}

fn properties(sources: &Sources<'_>) -> Vec<ProvenanceRow> {
    let devices = &sources.report.answers.devices;
    let metadata: Vec<Vec<&Metadata>> =
        devices.iter().map(|device| sources.evidence.metadata_of(device.table)).collect();
    let said = |value: &dyn Fn(&Metadata) -> String| -> Vec<String> {
        let column = |of_device: &Vec<&Metadata>| {
            let mut values: Vec<String> = of_device.iter().map(|one| printable(&value(one))).collect();
            values.dedup();
            values.join("; ")
        };
        metadata.iter().map(column).collect()
    };
    let rows = |value: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..devices.len()).map(|index| printable(&value(index))).collect()
    };
    // Of several units taken together all; equal ones once.
    let of_units = |value: &dyn Fn(&DeviceIdentity) -> &str| {
        let every = |index: usize| {
            let units = devices[index].table.units();
            let mut values: Vec<&str> = units.into_iter().map(value).collect();
            values.dedup();
            values.join(", ")
        };
        rows(&every)
    };
    let alike = |name, values| ProvenanceRow { name, values, compared: true, must_agree: true };
    let fact = |name, values| ProvenanceRow { name, values, compared: true, must_agree: false };
    let own = |name, values| ProvenanceRow { name, values, compared: false, must_agree: false };
    let vulkan_version = |metadata: &Metadata| match metadata.device.api {
        Api::Vulkan => metadata.device.api_version.clone(),
        Api::WebGpu => String::new(),
    };
    let last = |metadata: &Metadata| metadata.runs.last().cloned();
    let settings = |metadata: &Metadata| last(metadata).map_or_else(String::new, |run| flat(&run.settings));
    // Vulkan alone goes without saying.
    let is_vulkan = |device: &DeviceAnswer<'_>| device.table.device.api.api == Api::Vulkan;
    let interfaces = if devices.iter().all(is_vulkan) {
        Vec::new()
    } else {
        rows(&|index| devices[index].table.device.api.words())
    };
    let mut properties = vec![
        alike("scanbox", rows(&|index| devices[index].table.provenance.version.clone())),
        alike("commit", said(&|metadata| metadata.tool_commit.clone())),
        alike("kernel sources", rows(&|index| devices[index].table.provenance.kernel_hash.clone())),
        alike("space", said(&|metadata| metadata.space.name.clone())),
        alike("seed", said(&|metadata| last(metadata).map_or_else(String::new, |run| run.seed.to_string()))),
        alike("settings", said(&settings)),
        fact("driver", rows(&|index| devices[index].table.provenance.driver.clone())),
        fact("kind", rows(&|index| kind(devices[index].table.kind).to_owned())),
        fact("interface", interfaces),
        fact("Vulkan", said(&vulkan_version)),
        fact("subgroup size", said(&|metadata| metadata.device.subgroup_size.to_string())),
        fact(
            "compute units",
            said(&|metadata| {
                metadata.device.compute_units.map_or_else(String::new, |units| units.to_string())
            }),
        ),
        fact("memory", said(&|metadata| format!("{:.1} GB", metadata.device.memory_bytes as f64 / 1e9))),
        fact("rows", rows(&|index| row_counts(&devices[index]))),
        own("files", rows(&|index| devices[index].table.files.join(", "))),
        own("host", of_units(&|unit| &unit.host)),
        own("PCI address", of_units(&|unit| &unit.pci_address)),
        own("UUID", of_units(&|unit| &unit.uuid)),
        own("newest row", rows(&|index| devices[index].table.newest_utc.clone())),
        own(
            "command",
            said(&|metadata| last(metadata).map_or_else(String::new, |run| run.arguments.join(" "))),
        ),
    ];
    // Without metadata there is nothing to say.
    properties.retain(|property| property.values.iter().any(|value| !value.is_empty()));
    properties
}

fn kind(kind: Option<DeviceKind>) -> &'static str {
    match kind {
        Some(DeviceKind::Hardware) => "hardware",
        Some(DeviceKind::Software) => "software: times mean nothing for GPUs",
        // It has no rows.
        Some(DeviceKind::Null) | None => "",
    }
}

/// Settings as one line.
fn flat(settings: &serde_json::Value) -> String {
    match settings {
        serde_json::Value::Object(fields) => {
            let field = |(name, value): (&String, &serde_json::Value)| format!("{name} {}", flat(value));
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
