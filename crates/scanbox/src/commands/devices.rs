//! `scanbox devices`: what is there, what each can do, why one cannot be used.

use std::io::{Write, stdout};

use clap::{Args, ValueEnum};
use comfy_table::{ContentArrangement, Table, presets};
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_runner::vulkan::{self, Listed};
use serde::Serialize;

use super::Exit;

/// Arguments of `scanbox devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// One device, as JSON.
#[derive(Serialize)]
struct Row<'a> {
    index: usize,
    name: &'a str,
    kind: DeviceKind,
    usable: bool,
    problems: &'a [String],
    profile: &'a DeviceProfile,
}

/// Lists the devices.
pub fn run(args: &DevicesArgs) -> anyhow::Result<Exit> {
    let devices = vulkan::devices()?;
    let mut out = stdout().lock();
    match args.format {
        Format::Json => {
            let rows: Vec<Row<'_>> = devices
                .iter()
                .enumerate()
                .map(|(index, Listed { profile, problems })| Row {
                    index,
                    name: &profile.name,
                    kind: profile.kind,
                    usable: problems.is_empty(),
                    problems,
                    profile,
                })
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        }
        Format::Table => writeln!(out, "{}", table(&devices))?,
    }
    Ok(if devices.iter().any(|device| device.problems.is_empty()) { Exit::Done } else { Exit::NoDevice })
}

fn table(devices: &[Listed]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["", "device", "can do", "usable"]);
    for (index, Listed { profile, problems }) in devices.iter().enumerate() {
        let kind = match profile.kind {
            DeviceKind::Hardware => "hardware",
            DeviceKind::Software => "software: times mean nothing for GPUs",
        };
        let identity =
            format!("{}\n{}\nVulkan {}\n{kind}\n{}", profile.name, profile.driver, profile.api_version, profile.uuid);
        let abilities = format!(
            "subgroups of {}\nworkgroups up to {}\nshared memory {} KiB\nmemory {:.1} GiB\n64-bit atomics: {}",
            profile.subgroup_size,
            profile.max_workgroup_size,
            profile.max_shared_bytes / 1024,
            profile.memory_bytes as f64 / f64::from(1 << 30),
            if profile.int64_atomics { "yes" } else { "no (packed tile state)" },
        );
        let usable = if problems.is_empty() { "yes".to_owned() } else { format!("no: {}", problems.join("; ")) };
        table.add_row([index.to_string(), identity, abilities, usable]);
    }
    table
}
