//! What the user may type.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use scanbox_model::safe_devices::Guarantee;
use scanbox_session::tools::Tools;

use crate::commands;

/// Finds the fastest prefix scan for a GPU at every input size, proves it right, and hands it over.
///
/// A first look: `scanbox devices`, then `scanbox sweep --device 0`, then
/// `scanbox analyze results/*.csv --metric squared`.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = crate::exit::help())]
pub struct Cli {
    /// Compile kernels from the sources in this folder instead of the built-in ones
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "DIR", env = "SCANBOX_KERNELS")]
    pub kernels: Option<PathBuf>,

    /// Keep compiled kernels in this folder [default: the user's cache folder]
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "DIR", env = "SCANBOX_CACHE")]
    pub cache: Option<PathBuf>,

    /// Run kernels that need this of a device even where it is not known to give it: workgroup-order, subgroup-progress,
    /// co-residency; what hangs costs its row
    #[arg(help_heading = FOR_ALL, long, global = true, value_name = "GUARANTEE", value_delimiter = ',', env = "SCANBOX_ASSUME")]
    pub assume: Vec<Guarantee>,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// What every run is handed.
    pub fn tools(&self) -> Tools {
        let cache = self.cache.clone().or_else(|| {
            directories::ProjectDirs::from("", "", "scanbox").map(|folders| folders.cache_dir().to_owned())
        });
        Tools { kernels: self.kernels.clone(), cache, assume: self.assume.clone() }
    }
}

const FOR_ALL: &str = "For all commands";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the Vulkan devices, what each can do, and why one cannot be used
    Devices(commands::devices::DevicesArgs),
    /// Count a space on a device: configs, kernels and pipelines per size, and every rejection with its rule
    Space(commands::space::SpaceArgs),
    /// Measure and verify every config of a space; goes on where the last run ended
    Sweep(commands::sweep::SweepArgs),
    /// Check that scans are right, without timing: sizes around every boundary, many inputs, garbage in memory
    Verify(commands::verify::VerifyArgs),
    /// Measure few subjects against each other in alternating blocks: configs, winners of a sweep, copies, baselines
    Bench(Box<commands::bench::BenchArgs>),
    /// Take in times of another implementation that were measured elsewhere
    Import(commands::import::ImportArgs),
    /// Answer from sweeps: the best config per size, the best kernel, the portable kernel
    Analyze(commands::analyze::AnalyzeArgs),
    /// Show the answers as one HTML page with plots
    Report(commands::report::ReportArgs),
    /// Say whether a sweep became slower than the one before, also by the exit code: the gate of a nightly job
    Compare(commands::compare::CompareArgs),
    /// Measure a base again in turns with this version, by the program that made it: for `compare --pairs`
    Rerun(commands::rerun::RerunArgs),
    /// Write the rows of sweeps for other programs: the T4 format of autotuners, JSON, one CSV
    Export(commands::export::ExportArgs),
    /// Look for what keeps scanbox from working here, and say what to do about it; changes nothing
    Doctor(commands::doctor::DoctorArgs),
    /// Verify and time configs on request (internal)
    #[command(hide = true)]
    Serve(commands::serve::ServeArgs),
    /// Drive a device for a supervisor (internal)
    #[command(hide = true)]
    Worker(commands::worker::WorkerArgs),
}
