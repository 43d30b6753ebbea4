//! Why there is no session with the GPU of a browser, in words that say what helps.

use std::io;

use scanbox_runner::backend::Failure;
use scanbox_runner::select::SelectError;
use scanbox_runner::webgpu::WebGpuError;

/// Why there is no session with the GPU of a browser.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// There is none to start.
    #[error(
        "no Chromium is in PATH (Debian: the package chromium); --browser PATH names another one, and with --browser wait \
         any browser opens the page"
    )]
    NoBrowser,
    /// It does not start.
    #[error("{program} does not start: {error}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// It started, and ended before its page was there.
    #[error("the browser ended before its page was there: {how}")]
    Ended {
        /// How, with its last words.
        how: String,
    },
    /// It started, and its page was never there.
    #[error("the browser has not opened its page within {seconds} s")]
    Silent {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The page cannot be served.
    #[error("the page for the browser cannot be served at 127.0.0.1: {0}")]
    Serve(io::Error),
    /// The browser has no WebGPU, or no adapter.
    #[error(
        "{browser}: {why}; Chromium on Linux wants to be asked for WebGPU (chrome://flags, Unsafe WebGPU Support), as \
         --browser chromium does"
    )]
    NoAdapter {
        /// Which.
        browser: String,
        /// What it says.
        why: String,
    },
    /// What the page says of its device cannot be.
    #[error("the page says what no device is: {0}")]
    Nonsense(String),
    /// The selector names no single device.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The adapter misses what kernels need.
    #[error("{device} cannot be used in this browser: it {}", problems.join("; it "))]
    Unusable {
        /// Its name.
        device: String,
        /// See [`scanbox_runner::select::Listed::problems`].
        problems: Vec<String>,
    },
    /// The adapter gives no device.
    #[error("{device} does not open in the browser: {failure}")]
    NoDevice {
        /// Its name.
        device: String,
        /// What the browser says.
        failure: Failure,
    },
    /// The device does not do what every session needs.
    #[error(transparent)]
    WebGpu(#[from] WebGpuError),
}

impl BrowserError {
    /// Whether the machine has no device that could be used, as opposed to a wrong question.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        matches!(self, Self::NoBrowser | Self::NoAdapter { .. } | Self::Unusable { .. })
    }
}
