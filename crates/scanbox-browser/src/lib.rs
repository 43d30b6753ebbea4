//! WebGPU of a browser: a page on loopback runs what it is sent, and everything that decides stays here.
//!
//! [`mod@server`] serves the page and refuses what is no page of this program; [`hello`] is what a page says of its
//! browser; [`link`] are requests and answers; [`driver`] is the device behind them, for the sessions that wgpu has too
//! ([`scanbox_runner::webgpu::drive`]); [`chromium`] starts a browser, and [`mod@guard`] is the process that ends it,
//! whatever happens to the one that wanted it.

pub mod chromium;
pub mod driver;
pub mod error;
pub mod guard;
pub mod hello;
pub mod link;
pub mod server;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use scanbox_kernels::glsl::Compiler;
use scanbox_model::safe_devices::SafeDevices;
use scanbox_runner::select::{Listed, place_of};
use scanbox_runner::webgpu::{self, WebGpu};

use self::chromium::Chromium;
use self::driver::PageDriver;
use self::error::BrowserError;
use self::server::{Address, OpenPage, PageServer};

/// How long a browser that was started here may take until its page is there.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long nobody is told that a page is waited for: one that was there before comes back by itself.
const SILENCE: Duration = Duration::from_secs(5);

/// Which browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowserChoice {
    /// A headless Chromium that is started for the purpose: this program, or the first of [`chromium::NAMES`] in PATH.
    Chromium(Option<PathBuf>),
    /// Any that opens the address.
    Wait,
}

/// How to come by a page.
#[derive(Debug, Clone)]
pub struct BrowserOptions {
    /// Which browser.
    pub choice: BrowserChoice,
    /// Where its page is; `None`: any free port, a new token.
    pub address: Option<Address>,
    /// A program that is [`guard::run`] where its first argument is [`guard::COMMAND`].
    pub guard: PathBuf,
    /// What is known and assumed of devices.
    pub safe_devices: SafeDevices,
    /// Tells the user something.
    pub tell: fn(&str),
}

/// The device of the browser: browsers show one.
///
/// # Errors
/// When there is no browser, none opens the page, or it has no adapter.
pub fn devices(options: &BrowserOptions) -> Result<Vec<Listed>, BrowserError> {
    Ok(vec![Connection::begin(options)?.listed])
}

/// Opens the device of the browser, which `selector` names as in [`place_of`].
///
/// # Errors
/// As [`devices`], and when the device is another one, or cannot be used.
pub fn open(selector: &str, compiler: &Compiler, options: &BrowserOptions) -> Result<WebGpu, BrowserError> {
    let connection = Connection::begin(options)?;
    place_of(std::slice::from_ref(&connection.listed), selector)?;
    let profile = connection.listed.profile.clone();
    Ok(webgpu::drive(Box::new(connection.open()?), profile, compiler)?)
}

/// A page that is there, and all that it needs.
pub struct Connection {
    /// Its device.
    pub listed: Listed,
    page: OpenPage,
    server: PageServer,
    chromium: Option<Chromium>,
}

impl Connection {
    /// Waits for a page.
    ///
    /// # Errors
    /// As [`devices`].
    pub fn begin(options: &BrowserOptions) -> Result<Self, BrowserError> {
        let server = PageServer::start(options.address.as_ref())?;
        let url = server.url();
        let mut chromium = match &options.choice {
            BrowserChoice::Chromium(program) => {
                Some(Chromium::start(program.as_deref(), &options.guard, &url)?)
            }
            BrowserChoice::Wait => None,
        };
        let page = wait(&server, chromium.as_mut(), options)?;
        let mut listed = page.hello.listed()?;
        options.safe_devices.apply(&mut listed.profile);
        Ok(Self { listed, page, server, chromium })
    }

    /// Opens its device.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn open(self) -> Result<PageDriver, BrowserError> {
        let Self { listed, page, server, chromium } = self;
        let device = listed.profile.name.clone();
        if !listed.is_usable() {
            return Err(BrowserError::Unusable { device, problems: listed.problems });
        }
        let opened = PageDriver::open(page, server, chromium);
        opened.map_err(|failure| BrowserError::NoDevice { device, failure })
    }
}

fn wait(
    server: &PageServer,
    mut chromium: Option<&mut Chromium>,
    options: &BrowserOptions,
) -> Result<OpenPage, BrowserError> {
    let begin = Instant::now();
    let mut told = false;
    loop {
        if let Some(page) = server.page(Duration::from_millis(100)) {
            return Ok(page);
        }
        if let Some(how) = chromium.as_mut().and_then(|chromium| chromium.ended_within(Duration::ZERO)) {
            return Err(BrowserError::Ended { how });
        }
        if chromium.is_some() && begin.elapsed() > START_LIMIT {
            return Err(BrowserError::Silent { seconds: START_LIMIT.as_secs() });
        }
        if chromium.is_none() && !told && begin.elapsed() > SILENCE {
            (options.tell)(&format!("waiting for a browser that opens {}", server.url()));
            told = true;
        }
    }
}
