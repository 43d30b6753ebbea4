//! `scanbox space`: what a space holds on a device, and what it does not and why.

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use scanbox_model::device::DeviceProfile;
use scanbox_model::filter::Filter;
use scanbox_model::metadata::Metadata;
use scanbox_model::sizes::Sizes;
use scanbox_model::space::{Enumeration, RejectionCount, Space};
use scanbox_model::units::size_label;
use serde::Serialize;

use super::{Exit, device_profile, load_space};

/// Which part of which space.
#[derive(Debug, Args)]
pub struct SpaceSelection {
    /// The space: thesis, quick, or the path of a .toml file
    #[arg(long, default_value = "thesis", value_name = "NAME|FILE")]
    pub space: String,

    /// Only these input sizes, for example 2^10..2^20 or 1000,2^20
    #[arg(long, value_name = "SIZES")]
    pub sizes: Option<Sizes>,

    /// Only these configs, for example lookback=parallel,workgroup_size=256|512
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<Filter>,
}

impl SpaceSelection {
    /// Reads the space and restricts its sizes.
    pub fn load(&self) -> anyhow::Result<Space> {
        let space = load_space(&self.space)?;
        Ok(match &self.sizes {
            Some(sizes) => space.with_sizes(sizes.clone()),
            None => space,
        })
    }

    /// The points of the space on a device that the filter accepts.
    pub fn enumerate(&self, space: &Space, device: &DeviceProfile) -> Enumeration {
        let mut enumeration = space.enumerate(device, scanbox_kernels::legal);
        if let Some(filter) = &self.filter {
            enumeration.points.retain(|point| filter.accepts(&point.config));
        }
        enumeration
    }
}

/// Arguments of `scanbox space`.
#[derive(Debug, Args)]
pub struct SpaceArgs {
    #[command(flatten)]
    selection: SpaceSelection,

    /// The device: index, name or UUID
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// Count for the device of this metadata file (results/*.meta.json) instead: it need not be here
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    profile: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// The counts, as JSON.
#[derive(Serialize)]
struct Counts {
    space: String,
    device: String,
    subgroup_size: u32,
    configs: usize,
    kernels: usize,
    pipelines: usize,
    raw_points: u64,
    rejections: Vec<RejectionCount>,
    sizes: BTreeMap<u64, SizeCounts>,
}

/// The counts of one size.
#[derive(Serialize, Default)]
struct SizeCounts {
    configs: usize,
    kernels: usize,
    pipelines: usize,
}

/// Counts the space.
pub fn run(args: &SpaceArgs) -> anyhow::Result<Exit> {
    let space = args.selection.load()?;
    let device = match &args.profile {
        Some(path) => Metadata::read(path).context("the profile is a metadata file")?.device,
        None => device_profile(&args.device)?,
    };
    let enumeration = args.selection.enumerate(&space, &device);
    let counts = count(&space, &device, &enumeration);
    let mut out = stdout().lock();
    match args.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&counts)?)?,
        Format::Table => write_table(&mut out, &counts)?,
    }
    Ok(Exit::Done)
}

fn count(space: &Space, device: &DeviceProfile, enumeration: &Enumeration) -> Counts {
    let mut by_size: BTreeMap<u64, Enumeration> = BTreeMap::new();
    for point in &enumeration.points {
        let empty = || Enumeration { points: Vec::new(), rejections: Vec::new() };
        by_size.entry(point.n).or_insert_with(empty).points.push(*point);
    }
    let counts_of = |part: &Enumeration| SizeCounts {
        configs: part.points.len(),
        kernels: part.kernels().len(),
        pipelines: part.pipelines().len(),
    };
    Counts {
        space: space.name.clone(),
        device: device.title(),
        subgroup_size: device.subgroup_size,
        configs: enumeration.points.len(),
        kernels: enumeration.kernels().len(),
        pipelines: enumeration.pipelines().len(),
        raw_points: enumeration.raw_points(),
        rejections: enumeration.rejections.clone(),
        sizes: by_size.iter().map(|(&n, part)| (n, counts_of(part))).collect(),
    }
}

fn write_table(out: &mut impl Write, counts: &Counts) -> std::io::Result<()> {
    writeln!(out, "space {} on {}, subgroups of {}\n", counts.space, counts.device, counts.subgroup_size)?;
    let mut sizes = table(&["size", "configs", "kernels", "pipelines"]);
    for (&n, part) in &counts.sizes {
        sizes.add_row([
            size_label(n),
            part.configs.to_string(),
            part.kernels.to_string(),
            part.pipelines.to_string(),
        ]);
    }
    sizes.add_row([
        "all".to_owned(),
        counts.configs.to_string(),
        counts.kernels.to_string(),
        counts.pipelines.to_string(),
    ]);
    right_align(&mut sizes, 0..4);
    writeln!(out, "{sizes}\n")?;
    if counts.rejections.is_empty() {
        return writeln!(out, "no config of the {} in the raw product is rejected", counts.raw_points);
    }
    writeln!(out, "rejected of {} in the raw product:\n", counts.raw_points)?;
    let mut rejections = table(&["rule", "configs", "for example"]);
    for rejection in &counts.rejections {
        rejections.add_row([rejection.rule.clone(), rejection.points.to_string(), rejection.example.clone()]);
    }
    right_align(&mut rejections, 1..2);
    writeln!(out, "{rejections}")
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    table
}

fn right_align(table: &mut Table, columns: std::ops::Range<usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
