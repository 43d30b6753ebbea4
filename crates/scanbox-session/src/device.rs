//! The only way to a device and to its profile: with what is known of it beside what its driver reports, and what was
//! found out there.

pub mod backends;
pub mod compiler;
pub(crate) mod findings;
pub mod known_issues;
pub mod remembered;
mod safe_devices;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::bail;
use scanbox_kernels::glsl::Compiler;
use scanbox_model::api::Api;
use scanbox_model::device::DeviceProfile;
use scanbox_model::safe_devices::Guarantee;
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};
use scanbox_runner::select::place_of;
use scanbox_runner::vulkan::FORCED_FAMILY;

use crate::tools::Tools;

/// The prefix of a device selector that names a script of the replay device.
const REPLAY: &str = "replay:";

/// The script that a selector of the replay device names.
pub fn replay_script(selector: &str) -> Option<&Path> {
    selector.strip_prefix(REPLAY).map(Path::new)
}

/// Writes down in a profile what is known of the device beside what its driver reports, and what is assumed of it.
///
/// # Errors
/// When the lists of known issues or safe devices cannot be read.
pub fn inform(profile: &mut DeviceProfile, assume: &[Guarantee]) -> anyhow::Result<()> {
    // What is forced are values of kernels in GLSL.
    if profile.api == Api::Vulkan {
        profile.force(known_issues::of(profile)?.forced());
    }
    safe_devices::all(assume)?.apply(profile);
    Ok(())
}

/// The part of [`inform`] about guarantees, and what earlier probes found: what the device gives beyond what Vulkan
/// promises.
///
/// # Errors
/// When the list of safe devices cannot be read.
pub fn inform_of_guarantees(profile: &mut DeviceProfile, tools: &Tools) -> anyhow::Result<()> {
    remembered::remember(profile, tools);
    safe_devices::all(&tools.assume)?.apply(profile);
    Ok(())
}

/// The profile of the selected device, without using the device.
///
/// # Errors
/// When there is no such device, and as [`inform`].
pub fn profile(selector: &str, tools: &Tools) -> anyhow::Result<DeviceProfile> {
    let mut profile = match replay_script(selector) {
        Some(path) => Replay::new(Script::read(path)?).profile().as_ref().clone(),
        None => {
            let mut devices = backends::devices(tools)?;
            devices.swap_remove(place_of(&devices, selector)?).profile
        }
    };
    inform(&mut profile, &tools.assume)?;
    remembered::remember(&mut profile, tools);
    Ok(profile)
}

/// The selected device, ready for work, with what earlier probes of it found. A submission may take as long as it
/// likes: who gave the work has the clock, and ends the whole process.
///
/// # Errors
/// When there is no such device, when it cannot be opened, and as [`inform`].
pub fn open(selector: &str, compiler: &Compiler, tools: &Tools) -> anyhow::Result<Box<dyn Backend>> {
    let mut backend: Box<dyn Backend> = match replay_script(selector) {
        Some(path) => {
            let mut replay = Replay::new(Script::read(path)?);
            inform(replay.profile_mut(), &tools.assume)?;
            Box::new(replay)
        }
        None => backends::open(selector, compiler, tools)?,
    };
    if let Some(found) = remembered::kept(backend.profile(), tools) {
        backend.learn(found);
    }
    Ok(backend)
}

/// What RADV says before it ends the process.
const UNKNOWN_FAMILY: &str = "Unknown family";

/// Whether RADV knows the chip that it is told to make pipelines for. Where it does not, it ends the process that asks
/// for devices: so another one asks, `asking`, with what it needs to ask for nothing but devices.
///
/// # Errors
/// When it knows no such chip.
pub fn check_forced_family(asking: &mut Command) -> anyhow::Result<()> {
    // RADV looks for a chip of no name, too.
    let Some(family) = std::env::var_os(FORCED_FAMILY) else { return Ok(()) };
    // What cannot be started, or fails of something else, fails again and says so.
    let Ok(output) = asking.stdin(Stdio::null()).output() else { return Ok(()) };
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && said.contains(UNKNOWN_FAMILY) {
        bail!(
            "{FORCED_FAMILY}={}: RADV knows no such chip; it is a name of Mesa's, such as gfx1100 (navi31 in newer versions), \
             navi21 or vega10; or unset it",
            family.display()
        );
    }
    Ok(())
}

/// How many devices of the same name come before the selected one. By their order, not by their UUIDs: drivers give
/// units of one model the same.
///
/// # Errors
/// When there is no such device.
pub fn unit_of(selector: &str, tools: &Tools) -> anyhow::Result<usize> {
    // A browser shows one device, and has it open now.
    if replay_script(selector).is_some() || tools.browser.is_some() {
        return Ok(0);
    }
    let devices = backends::devices(tools)?;
    let names: Vec<&str> = devices.iter().map(|listed| listed.profile.name.as_str()).collect();
    Ok(same_names_before(&names, place_of(&devices, selector)?))
}

fn same_names_before(names: &[&str], place: usize) -> usize {
    names[..place].iter().filter(|name| **name == names[place]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_a_model_are_numbered_by_their_place() {
        // Whatever their UUIDs are: some drivers give them all the same.
        let names = ["A", "B", "A", "A", "B"];
        let units: Vec<usize> = (0..names.len()).map(|place| same_names_before(&names, place)).collect();
        assert_eq!(units, [0, 0, 1, 2, 1]);
    }
}
