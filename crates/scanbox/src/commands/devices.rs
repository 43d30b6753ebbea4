//! `scanbox devices`: what is there, what each can do, why one cannot be used.

use clap::Args;
use scanbox_runner::vulkan;

use crate::answer::{answered, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::words::words;
use crate::exit::Exit;
use scanbox_report::devices::DeviceList;
use scanbox_report::document::Format;

/// Arguments of `scanbox devices`.
#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Output format
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Lists the devices.
pub fn run(args: &DevicesArgs) -> anyhow::Result<Exit> {
    let devices = vulkan::devices()?;
    let usable = devices.iter().any(|device| device.problems.is_empty());
    let exit = if usable { Exit::Done } else { Exit::NoDevice };
    answered(print(&DeviceList(&devices), args.format), exit)
}
