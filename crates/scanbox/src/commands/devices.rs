//! `scanbox devices`: what is there, what each can do, why one cannot be used.

use clap::Args;
use scanbox_runner::vulkan;

use crate::answer::{answered, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::words::words;
use crate::exit::Exit;
use scanbox_report::devices::DeviceList;
use scanbox_report::document::Format;
use scanbox_session::device::inform_of_guarantees;
use scanbox_session::probe;
use scanbox_session::tools::Tools;

/// Arguments of `scanbox devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Output format
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Lists the devices.
pub fn run(args: &DevicesArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let mut devices = vulkan::devices()?;
    for listed in &mut devices {
        listed.profile.arguments_probe = probe::kept(&listed.profile, tools);
        inform_of_guarantees(&mut listed.profile, &tools.assume)?;
    }
    let usable = devices.iter().any(|device| device.problems.is_empty());
    let exit = if usable { Exit::Done } else { Exit::NoDevice };
    answered(print(&DeviceList(&devices), args.format), exit)
}
