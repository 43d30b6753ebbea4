//! A headless Chromium, started for one session behind a guard.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::BrowserError;
use crate::guard;

/// What Chromium is called in PATH.
pub const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"];

/// What it is told: to be alone with its page, and to show the clock of the GPU as it is. The developer features tell
/// the name of the GPU too, and keep timestamps from being rounded.
const FLAGS: [&str; 12] = [
    "--headless=new",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--mute-audio",
    "--enable-unsafe-webgpu",
    "--enable-webgpu-developer-features",
];
/// Where there is no GPU, its own software device.
const SOFTWARE: &str = "--use-webgpu-adapter=swiftshader";
/// Variables that name drivers for Vulkan.
const DRIVER_FILES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
/// Where there is one, through Vulkan on Linux, whatever Chromium thinks of its driver.
const HARDWARE: [&str; 2] = ["--enable-features=Vulkan", "--ignore-gpu-blocklist"];
/// How long the guard may take to end a browser.
const PATIENCE: Duration = Duration::from_secs(5);

/// A browser that runs. It ends when this is dropped, and when this process ends, however it does.
pub struct Chromium {
    guard: Child,
    said: Receiver<String>,
}

impl Chromium {
    /// Starts a browser, this one or the first that PATH has, at a page.
    ///
    /// # Errors
    /// When there is none, or it does not start.
    pub fn start(program: Option<&Path>, guard: &Path, url: &str) -> Result<Self, BrowserError> {
        let program = match program {
            Some(program) => program.to_owned(),
            None => NAMES.iter().find_map(|name| in_path(name)).ok_or(BrowserError::NoBrowser)?,
        };
        let failed = |error| BrowserError::Start { program: program.display().to_string(), error };
        if program.components().count() > 1 && !program.is_file() {
            return Err(failed(std::io::ErrorKind::NotFound.into()));
        }
        let mut command = Command::new(guard);
        command.arg(guard::COMMAND).arg("--").arg(&program).args(flags()).arg(url);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Whoever kills the group of this process must not kill the one that ends the browser.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        if !has_gpu() {
            // What names drivers for Vulkan keeps Chromium from its own software device.
            for name in DRIVER_FILES {
                command.env_remove(name);
            }
        }
        let mut guard = command.spawn().map_err(failed)?;
        let output = guard.stdout.take().expect("stdout is piped");
        let (sender, said) = channel();
        std::thread::spawn(move || {
            let lines: Vec<String> = BufReader::new(output).lines().map_while(Result::ok).collect();
            // Nobody may ask any more.
            let _ = sender.send(lines.join(" "));
        });
        Ok(Self { guard, said })
    }

    /// How it ended, with its last words, if it does within this time.
    pub fn ended_within(&mut self, limit: Duration) -> Option<String> {
        match self.said.recv_timeout(limit) {
            Ok(said) => Some(said),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some("nobody knows how".to_owned()),
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The guard ends when nobody can speak to it any more, and the browser with it.
        drop(self.guard.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.guard.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn flags() -> Vec<OsString> {
    let mut flags: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    match has_gpu() {
        true => flags.extend(HARDWARE.iter().map(OsString::from)),
        false => flags.push(SOFTWARE.into()),
    }
    // The sandbox of Chromium does not let root in.
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        flags.push("--no-sandbox".into());
    }
    flags
}

/// Whether the system shows a GPU.
fn has_gpu() -> bool {
    let renders = std::fs::read_dir("/dev/dri").into_iter().flatten().flatten();
    let mut nodes = renders.filter(|entry| entry.file_name().to_string_lossy().starts_with("renderD"));
    !cfg!(target_os = "linux") || nodes.next().is_some() || Path::new("/dev/nvidia0").exists()
}

fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
