//! `scanbox devices`: what is there, what each can do, why one cannot be used.

use clap::Args;

use crate::answer::{answered, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::words::words;
use crate::exit::Exit;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_report::devices::DeviceList;
use scanbox_report::document::Format;
use scanbox_session::device::{backends, inform_of_guarantees};
use scanbox_session::lock::Sharing;
use scanbox_session::probe::{self, guarantees};
use scanbox_session::process::{RunLimits, WorkerCommand};
use scanbox_session::tools::Tools;

/// Arguments of `scanbox devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Output format
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,

    /// Ask each device that can be used what it keeps beyond what Vulkan promises, whatever an earlier probe found:
    /// some seconds each
    #[arg(long)]
    probe: bool,
}

impl DevicesArgs {
    /// Whether devices are asked.
    pub fn probes(&self) -> bool {
        self.probe
    }
}

/// Lists the devices.
pub fn run(args: &DevicesArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let mut devices = backends::devices(tools)?;
    for (index, listed) in devices.iter_mut().enumerate() {
        listed.profile.arguments_probe = probe::kept(&listed.profile, tools);
        inform_of_guarantees(&mut listed.profile, tools)?;
        if args.probe && listed.is_usable() {
            listed.profile.guarantee_facts.probe = ask(index, tools)?;
        }
    }
    let usable = devices.iter().any(|device| device.problems.is_empty());
    let exit = if usable { Exit::Done } else { Exit::NoDevice };
    answered(print(&DeviceList(&devices), args.format), exit)
}

/// Asks the device of this index.
fn ask(index: usize, tools: &Tools) -> anyhow::Result<Option<GuaranteesProbe>> {
    let mut command = WorkerCommand::new(&index.to_string(), None, tools);
    let limits = RunLimits::of_run(None)?;
    let worker = command.start(&limits)?;
    let worker = guarantees::inform(worker, &mut command, &Sharing::default(), &limits, true)?;
    Ok(worker.profile.guarantee_facts.probe)
}
