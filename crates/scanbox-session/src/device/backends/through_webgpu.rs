//! WebGPU: natively through wgpu, or through the page of a browser.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, anyhow};
use scanbox_browser::server::Address;
use scanbox_browser::{BrowserChoice, BrowserOptions};
use scanbox_kernels::glsl::Compiler;
use scanbox_runner::backend::Backend;
use scanbox_runner::select::Listed;
use scanbox_runner::webgpu;

use crate::device::safe_devices;
use crate::notes::note;
use crate::tools::{Browser, Tools};

/// Where the page is that any browser may open: the workers of a run have the one of their supervisor.
const PAGE: &str = "SCANBOX_PAGE";

/// Every device.
pub(super) fn devices(tools: &Tools) -> anyhow::Result<Vec<Listed>> {
    match &tools.browser {
        Some(browser) => Ok(scanbox_browser::devices(&in_browser(browser, tools)?)?),
        None => Ok(webgpu::devices(&natively(tools)?)?),
    }
}

/// Opens a device.
pub(super) fn open(selector: &str, compiler: &Compiler, tools: &Tools) -> anyhow::Result<Box<dyn Backend>> {
    Ok(Box::new(match &tools.browser {
        Some(browser) => scanbox_browser::open(selector, compiler, &in_browser(browser, tools)?)?,
        None => webgpu::open(selector, compiler, &natively(tools)?)?,
    }))
}

/// See [`super::environment`].
pub(super) fn environment(tools: &Tools) -> anyhow::Result<Option<(&'static str, String)>> {
    if tools.browser != Some(Browser::Wait) {
        return Ok(None);
    }
    Ok(Some((PAGE, address()?.to_word())))
}

fn natively(tools: &Tools) -> anyhow::Result<webgpu::WebGpuOptions> {
    Ok(webgpu::WebGpuOptions {
        timeout: Duration::MAX,
        robustness: !tools.unchecked,
        safe_devices: safe_devices::all(&tools.assume)?,
    })
}

fn in_browser(browser: &Browser, tools: &Tools) -> anyhow::Result<BrowserOptions> {
    let (choice, address) = match browser {
        Browser::Chromium => (BrowserChoice::Chromium(None), None),
        Browser::Program(program) => (BrowserChoice::Chromium(Some(program.clone())), None),
        Browser::Wait => (BrowserChoice::Wait, Some(address()?)),
    };
    Ok(BrowserOptions {
        choice,
        address,
        guard: std::env::current_exe().context("the path of this program")?,
        safe_devices: safe_devices::all(&tools.assume)?,
        tell: note,
    })
}

/// The address of the page of this run: the one in the environment, or a new one, which stays the same.
fn address() -> anyhow::Result<Address> {
    static OWN: OnceLock<Address> = OnceLock::new();
    if let Some(address) = OWN.get() {
        return Ok(address.clone());
    }
    let address = match std::env::var(PAGE) {
        Ok(word) => Address::parse(&word)
            .ok_or_else(|| anyhow!("{PAGE}=`{word}`: it is PORT:TOKEN, or is not set"))?,
        Err(_) => {
            let address = Address::new().context("the address of the page")?;
            note(&format!("open {} in a browser, and keep its page in sight", address.url()));
            address
        }
    };
    Ok(OWN.get_or_init(|| address).clone())
}
