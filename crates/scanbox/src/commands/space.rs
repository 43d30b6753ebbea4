//! `scanbox space`: what a space holds on a device, and what it does not and why.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use scanbox_kernels::catalog;
use scanbox_model::device::DeviceProfile;
use scanbox_model::filter::Filter;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::sizes::Sizes;
use scanbox_model::space::{Enumeration, Space};

use super::{Exit, UsageError, answered, files, is_space_file, load_space, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::problem::ProblemArgs;
use crate::args::words::words;
use crate::output::Kind;
use scanbox_report::document::Format;
use scanbox_report::space::Counts;
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
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
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
    let counts = Counts::new(&space, problem, &device, &enumeration);
    answered(print(&counts, args.format), Exit::Done)
}
