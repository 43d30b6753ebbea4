//! `scanbox space`: what a space holds on a device, and what it does not and why.

mod compile;

use std::io::{Write, stdout};
use std::path::PathBuf;

use clap::Args;
use scanbox_model::space::template;
use scanbox_report::document::Format;
use scanbox_report::space::SpaceCounts;
use scanbox_session::device;
use scanbox_session::notes::note;
use scanbox_session::probe;
use scanbox_session::tools::Tools;

use crate::answer::{answered, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::shard::AskedSpace;
use crate::args::space::SpaceSelection;
use crate::args::words::words;
use crate::exit::Exit;
use crate::inputs::profile_of;

/// Arguments of `scanbox space`.
#[derive(Debug, Args)]
pub struct SpaceArgs {
    #[command(flatten)]
    selection: SpaceSelection,

    /// The device: index, name, UUID or PCI address
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// Count for the device of this metadata file (results/*.meta.json), which this machine need not have
    #[arg(long, value_name = "FILE", conflicts_with = "device")]
    profile: Option<PathBuf>,

    /// Have the device's driver make every pipeline of the space, run none, and write what it reports of each to this
    /// CSV file: registers, spills, shared memory, occupancy, size of the program. It works without hardware if the
    /// driver does: RADV, with the name of a chip in a variable (docs/amd-compiler.md)
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    compile: Option<PathBuf>,

    /// With --compile: for subgroups of these sizes, of those that the device offers [default: its own choice]
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    subgroup_sizes: Vec<u32>,

    /// Print a space file to start from, with a comment on everything that a space file may have
    // Not `exclusive`: options for all commands, and variables that stand for them, do not matter here.
    #[arg(long, conflicts_with_all = [
        "space", "sizes", "filter", "device", "profile", "compile", "subgroup_sizes", "shard", "format",
    ])]
    template: bool,

    /// Output format
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

impl SpaceArgs {
    /// Whether it has a driver make pipelines.
    pub fn compiles(&self) -> bool {
        self.compile.is_some()
    }

    /// Whether it looks for a device.
    pub fn asks_a_device(&self) -> bool {
        !self.template && self.profile.is_none()
    }
}

/// Counts the space.
pub fn run(args: &SpaceArgs, tools: &Tools) -> anyhow::Result<Exit> {
    if args.template {
        return answered(stdout().lock().write_all(template().as_bytes()), Exit::Done);
    }
    if let Some(file) = &args.compile {
        return compile::run(args, file, args.format, tools);
    }
    let (problem, _) = args.selection.problem.problem()?;
    let space = args.selection.load(&problem)?;
    let device = match &args.profile {
        Some(path) => {
            let mut device = profile_of(path)?;
            device::inform(&mut device, &tools.assume)?;
            device
        }
        None if args.selection.asks_device(&space) => probe::informed_profile(&args.device, tools)?,
        None => device::profile(&args.device, tools)?,
    };
    if args.selection.asks_device(&space) {
        probe::tell(&device);
    }
    let whole = args.selection.enumerate(&space, &problem, &device)?;
    if whole.points.is_empty() {
        let why = args.selection.emptied_by(&space, &problem, &device)?;
        note(&format!("warning: no config is left: {why}"));
    }
    let AskedSpace { enumeration, shard, .. } = args.selection.shard.part(whole, &problem)?;
    let counts = SpaceCounts::new(&space, problem, &device, &enumeration, shard);
    answered(print(&counts, args.format), Exit::Done)
}
