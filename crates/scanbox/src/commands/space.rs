//! `scanbox space`: what a space holds on a device, and what it does not and why.

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use scanbox_kernels::catalog;
use scanbox_model::device::DeviceProfile;
use scanbox_model::filter::Filter;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::sizes::Sizes;
use scanbox_model::space::{Enumeration, RejectionCount, Space};
use scanbox_model::units::size_label;
use serde::Serialize;

use super::{Exit, Format, UsageError, answered, files, is_space_file, load_space, write_json};
use crate::args::problem::ProblemArgs;
use crate::output::Kind;
use scanbox_report::grid::{Column, Grid, Style};
use scanbox_report::terminal;
use scanbox_session::device::{self, known_issues};
use scanbox_session::tools::Tools;

/// Which part of which space.
#[derive(Debug, Args)]
pub struct SpaceSelection {
    /// The space: thesis, quick, full, nightly, problems, families, or the path of a .toml file
    #[arg(long, default_value = "thesis", value_name = "NAME|FILE")]
    pub space: String,

    /// Only these input sizes, for example 2^10..2^20 or 1000,2^20
    #[arg(long, value_name = "SIZES")]
    pub sizes: Option<Sizes>,

    /// Only these configs, for example lookback=parallel,workgroup_size=256|512; deterministic=yes keeps those whose results
    /// have the same bits on every run
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<Filter>,

    /// What is computed.
    #[command(flatten)]
    pub problem: ProblemArgs,
}

impl SpaceSelection {
    /// Every file that it reads.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let space = Path::new(&self.space);
        is_space_file(&self.space).then_some(space).into_iter().chain(self.problem.input())
    }

    /// Reads the space, as it is for the elements of the problem, and restricts its sizes.
    pub fn load(&self, problem: &Problem) -> anyhow::Result<Space> {
        let space = load_space(&self.space, problem)?;
        Ok(match &self.sizes {
            Some(sizes) => space.with_sizes(sizes.clone()),
            None => space,
        })
    }

    /// The points of the space on a device that the filter accepts.
    pub fn enumerate(
        &self,
        space: &Space,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> anyhow::Result<Enumeration> {
        let mut enumeration = legal(space, problem, device)?;
        if let Some(filter) = &self.filter {
            enumeration.points.retain(|point| filter.accepts(&point.config));
        }
        Ok(enumeration)
    }

    /// Why no config is left.
    pub fn why_none(
        &self,
        space: &Space,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> anyhow::Result<UsageError> {
        let none = format!("no config of space {} is left on {}", space.name, device.title());
        let legal = legal(space, problem, device)?.points.len();
        Ok(UsageError(match legal {
            0 => format!(
                "{none}; `scanbox space` with the same arguments shows which rules reject its configs"
            ),
            _ => format!("{none}: --filter accepts none of its {legal}"),
        }))
    }
}

/// The points of a space that can run on a device.
fn legal(space: &Space, problem: &Problem, device: &DeviceProfile) -> anyhow::Result<Enumeration> {
    let issues = known_issues::of(device)?;
    Ok(space.enumerate(device, |config, n, device| {
        catalog::legal(config, problem, n, device)?;
        issues.allow(config, &catalog::resolved(config, device))
    }))
}

/// Arguments of `scanbox space`.
#[derive(Debug, Args)]
pub struct SpaceArgs {
    #[command(flatten)]
    selection: SpaceSelection,

    /// The device: index, name, UUID or PCI address
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// Count for the device of this metadata file (results/*.meta.json) instead: it need not be here
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    profile: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// The counts, as JSON.
#[derive(Serialize)]
struct Counts {
    space: String,
    problem: Problem,
    device: String,
    subgroup_size: u32,
    configs: usize,
    kernels: usize,
    pipelines: usize,
    /// Kernels whose results have the same bits on every run.
    deterministic_kernels: usize,
    raw_points: u64,
    rejections: Vec<RejectionCount>,
    sizes: BTreeMap<u64, SizeCounts>,
}

impl Counts {
    fn rejected(&self) -> u64 {
        self.rejections.iter().map(|rejection| rejection.points).sum()
    }
}

/// The counts of one size.
#[derive(Serialize, Default)]
struct SizeCounts {
    configs: usize,
    kernels: usize,
    pipelines: usize,
}

/// Counts the space.
pub fn run(args: &SpaceArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let (problem, _) = args.selection.problem.problem()?;
    let space = args.selection.load(&problem)?;
    let device = match &args.profile {
        Some(path) => {
            let kinds = [Kind::SweepMetadata, Kind::BenchmarkMetadata, Kind::TornMetadata];
            files::expect(
                path,
                "--profile",
                &kinds,
                "a profile is the metadata beside rows, such as results/x.meta.json",
            )?;
            let mut device = Metadata::read(path).context("the profile is a metadata file")?.device;
            device::inform(&mut device, &tools.assume)?;
            device
        }
        None => device::profile(&args.device, &tools.assume)?,
    };
    let enumeration = args.selection.enumerate(&space, &problem, &device)?;
    let counts = count(&space, problem, &device, &enumeration);
    let mut out = stdout().lock();
    let written = match args.format {
        Format::Json => write_json(&mut out, &counts),
        Format::Table => write_table(&mut out, &counts),
    };
    answered(written, Exit::Done)
}

fn count(space: &Space, problem: Problem, device: &DeviceProfile, enumeration: &Enumeration) -> Counts {
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
    let kernels = enumeration.kernels();
    Counts {
        space: space.name.clone(),
        problem,
        device: device.title(),
        subgroup_size: device.subgroup_size,
        configs: enumeration.points.len(),
        kernels: kernels.len(),
        deterministic_kernels: kernels.iter().filter(|kernel| kernel.is_deterministic()).count(),
        pipelines: enumeration.pipelines().len(),
        raw_points: enumeration.raw_points(),
        rejections: enumeration.rejections.clone(),
        sizes: by_size.iter().map(|(&n, part)| (n, counts_of(part))).collect(),
    }
}

fn write_table(out: &mut impl Write, counts: &Counts) -> std::io::Result<()> {
    let width = terminal::width();
    let problem =
        if counts.problem.is_default() { String::new() } else { format!(", problem {}", counts.problem) };
    let heading = format!(
        "space {} on {}, subgroups of {}{problem}",
        counts.space, counts.device, counts.subgroup_size
    );
    writeln!(out, "{}\n", terminal::fold("", &heading, 2, width))?;
    let mut sizes = Grid::new(["size", "configs", "kernels", "pipelines"].map(Column::numbers));
    for (&n, part) in &counts.sizes {
        sizes.push([
            size_label(n),
            part.configs.to_string(),
            part.kernels.to_string(),
            part.pipelines.to_string(),
        ]);
    }
    sizes.push([
        "all".to_owned(),
        counts.configs.to_string(),
        counts.kernels.to_string(),
        counts.pipelines.to_string(),
    ]);
    writeln!(out, "{}\n", sizes.draw(Style::Text { width }))?;
    writeln!(out, "deterministic: {} of {} kernels", counts.deterministic_kernels, counts.kernels)?;
    writeln!(out, "rejected: {} of {} in the raw product", counts.rejected(), counts.raw_points)?;
    let longest =
        counts.rejections.iter().map(|rejection| rejection.points.to_string().len()).max().unwrap_or(0);
    for RejectionCount { rule, points, example } in &counts.rejections {
        writeln!(out, "  {points:>longest$}  {rule}")?;
        let head = format!("  {:longest$}  for example: ", "");
        writeln!(out, "{}", terminal::fold(&head, example, longest + 4, width))?;
    }
    Ok(())
}
