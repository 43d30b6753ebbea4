//! The backends: who lists the devices of an API, and opens one.

use std::time::Duration;

use scanbox_kernels::glsl::Compiler;
use scanbox_model::api::Api;
use scanbox_runner::backend::Backend;
use scanbox_runner::select::{Listed, place_of};
use scanbox_runner::vulkan;

#[cfg(feature = "webgpu")]
use self::through_webgpu::{
    devices as webgpu_devices, environment as webgpu_environment, open as open_webgpu,
};
use super::{known_issues, safe_devices};
use crate::tools::Tools;

#[cfg(feature = "webgpu")]
mod through_webgpu;
#[cfg(feature = "webgpu")]
pub use scanbox_browser::guard::run as guard_browser;

/// Every device of the API that the user chose: the index of a device is its place here.
///
/// # Errors
/// When there is none, or this program was built without the API.
pub fn devices(tools: &Tools) -> anyhow::Result<Vec<Listed>> {
    tracing::debug!(api = tools.api.word(), "looks for devices");
    let listed = match tools.api {
        Api::Vulkan => vulkan::devices()?,
        Api::WebGpu => webgpu_devices(tools)?,
    };
    for (index, Listed { profile, problems }) in listed.iter().enumerate() {
        tracing::info!(
            index,
            name = profile.name,
            driver = profile.driver,
            usable = problems.is_empty(),
            "found a device"
        );
    }
    Ok(listed)
}

/// The place among the devices of the API of the one that `selector` names.
///
/// # Errors
/// As [`devices`]; when it names none, or several.
pub fn place(selector: &str, tools: &Tools) -> anyhow::Result<usize> {
    Ok(place_of(&devices(tools)?, selector)?)
}

/// Opens the device of the API that `selector` names.
///
/// # Errors
/// As [`place`], and when it cannot be opened.
pub(super) fn open(selector: &str, compiler: &Compiler, tools: &Tools) -> anyhow::Result<Box<dyn Backend>> {
    match tools.api {
        Api::Vulkan => {
            let options = vulkan::Options {
                timeout: Duration::MAX,
                pipeline_cache: tools.pipelines(),
                known_issues: known_issues::all()?,
                safe_devices: safe_devices::all(&tools.assume)?,
                ..vulkan::Options::default()
            };
            Ok(Box::new(vulkan::open(selector, compiler, options)?))
        }
        Api::WebGpu => open_webgpu(selector, compiler, tools),
    }
}

/// What workers find in their environment to come by the same device: where the page of a browser is.
///
/// # Errors
/// When there is no place for one.
pub fn environment(tools: &Tools) -> anyhow::Result<Option<(&'static str, String)>> {
    webgpu_environment(tools)
}

#[cfg(not(feature = "webgpu"))]
fn webgpu_environment(_: &Tools) -> anyhow::Result<Option<(&'static str, String)>> {
    Ok(None)
}

#[cfg(not(feature = "webgpu"))]
fn webgpu_devices(_: &Tools) -> anyhow::Result<Vec<Listed>> {
    anyhow::bail!("this scanbox was built without WebGPU: cargo's feature webgpu puts it in")
}

#[cfg(not(feature = "webgpu"))]
fn open_webgpu(_: &str, _: &Compiler, tools: &Tools) -> anyhow::Result<Box<dyn Backend>> {
    webgpu_devices(tools).map(|_| unreachable!("it is an error"))
}
