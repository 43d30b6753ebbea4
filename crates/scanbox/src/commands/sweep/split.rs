//! One space shared by equal devices of one host: each sweeps a shard of it at the same time, and the rows are merged.

use std::ffi::OsString;
use std::path::PathBuf;

use scanbox_model::device::DeviceProfile;
use scanbox_model::shard::{Shard, ShardBy};
use scanbox_report::document::Format;
use scanbox_report::paste;
use scanbox_session::device::{profile, replay_script};
use scanbox_session::notes::note;
use scanbox_session::tools::Tools;

use super::SweepArgs;
use super::many::{self, DeviceSweep};
use super::place::{file_stem, is_file};
use crate::exit::{Exit, UsageError};
use crate::output::{OutputContent, Outputs};

/// Flags of the whole that its parts have otherwise, and whether a value comes behind each.
const OWN: [(&str, bool); 3] = [("--split", false), ("--out", true), ("--format", true)];

/// Sweeps the space on these devices, a shard each. `given` are the arguments but for the devices.
///
/// # Errors
/// When the devices are not equal, and when something else stands where the merged rows go.
pub fn run(devices: &[String], args: &SweepArgs, given: &[OsString], tools: &Tools) -> anyhow::Result<Exit> {
    let profiles = devices.iter().map(|device| profile(device, tools));
    let profiles = profiles.collect::<anyhow::Result<Vec<DeviceProfile>>>()?;
    check_equal(devices, &profiles)?;
    let (problem, _) = args.selection.problem.problem()?;
    let real = args.input.real(&problem)?;
    let space = args.selection.load(&problem)?;
    let base = match is_file(&args.out) {
        true => args.out.with_extension(""),
        false => args.out.join(file_stem(&profiles[0], 0, &space, &problem, real)),
    };
    let beside = |ending: &str| {
        let mut name = base.clone().into_os_string();
        name.push(ending);
        PathBuf::from(name)
    };
    // Beside `DEVICE.SPACE.csv`, which is what one device has swept.
    let merged = if is_file(&args.out) { args.out.clone() } else { beside(".merged.csv") };
    let inputs = args.selection.inputs().chain(devices.iter().filter_map(|device| replay_script(device)));
    Outputs::beside(inputs).claim("--out", &merged, OutputContent::Merged)?;
    let mut sweeps = Vec::new();
    let mut files: Vec<OsString> = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        let Some(shard) = Shard::new(index as u32, devices.len() as u32) else { continue };
        let file = beside(&format!(".{}.csv", shard.file_word(ShardBy::Size)));
        let mut arguments = without(given, &OWN);
        arguments.extend(["--shard".into(), shard.to_string().into(), "--out".into(), file.clone().into()]);
        arguments.extend(["--format".into(), format_word(args.format).into()]);
        if args.dry_run {
            // It prints a table, and takes no format.
            arguments.truncate(arguments.len() - 2);
        }
        sweeps.push(DeviceSweep { device: device.clone(), arguments });
        files.push(file.into());
    }
    let merge = (!args.dry_run).then(|| {
        let mut arguments: Vec<OsString> = vec!["merge".into()];
        arguments.append(&mut files);
        arguments.extend(["--out".into(), merged.into(), "--format".into(), format_word(args.format).into()]);
        arguments
    });
    let exit = many::run(&sweeps, merge.as_deref(), args.format)?;
    if exit == Exit::Incomplete {
        note(&format!("to continue on all of these devices, run: {}", paste::this_command()));
    }
    Ok(exit)
}

fn format_word(format: Format) -> &'static str {
    if format == Format::Json { "json" } else { "table" }
}

/// Whether all devices are one model under one driver: only then is a time of one a time of all.
fn check_equal(devices: &[String], profiles: &[DeviceProfile]) -> Result<(), UsageError> {
    type Property = (&'static str, fn(&DeviceProfile) -> String);
    const PROPERTIES: [Property; 5] = [
        ("name", |profile| profile.name.clone()),
        ("vendor", |profile| format!("{:#06x}", profile.vendor_id)),
        ("device id", |profile| format!("{:#06x}", profile.device_id)),
        ("driver", |profile| profile.driver.clone()),
        ("build of the driver", |profile| profile.driver_build.clone()),
    ];
    let Some((first, others)) = profiles.split_first() else { return Ok(()) };
    for (profile, device) in others.iter().zip(&devices[1..]) {
        let other = PROPERTIES.iter().find(|(_, of)| of(first) != of(profile));
        if let Some((property, of)) = other {
            let message = format!(
                "--split: device {} and device {device} are not equal, their {property} is `{}` and `{}`; equal devices alone \
                 share a space: name those with --device, or leave --split out for a whole sweep of each",
                devices[0],
                of(first),
                of(profile)
            );
            return Err(UsageError(message));
        }
        // What is one device twice is known of devices of Vulkan before; scripts say who they are.
        let unit = |profile: &DeviceProfile| (profile.uuid.clone(), profile.pci_address.clone());
        let twin = profiles.iter().filter(|twin| unit(twin) == unit(profile)).count();
        if twin > 1 && replay_script(device).is_some() {
            let message =
                format!("--split: device {device} is named twice, as a unit with the UUID {}", profile.uuid);
            return Err(UsageError(message));
        }
    }
    Ok(())
}

/// The arguments without these flags and their values.
fn without(given: &[OsString], flags: &[(&str, bool)]) -> Vec<OsString> {
    let mut left = Vec::new();
    let mut words = given.iter();
    while let Some(word) = words.next() {
        match flags.iter().find(|(flag, _)| word == flag) {
            Some((_, has_value)) if *has_value => drop(words.next()),
            Some(_) => {}
            None => left.push(word.clone()),
        }
    }
    left
}
