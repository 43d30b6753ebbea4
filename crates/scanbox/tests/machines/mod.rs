//! Machines to run scanbox on: with the software device, without a driver, without a loader.

use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin_cmd;

/// What there is of Vulkan.
#[derive(Clone)]
pub enum Machine {
    /// A loader, and this driver.
    With(PathBuf),
    /// A loader that finds no driver.
    WithoutDriver,
    /// No loader.
    WithoutLoader,
}

/// What a run printed, and its exit code.
pub struct Answer {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Machine {
    /// The software device of Mesa, where it is installed.
    #[allow(clippy::print_stderr, reason = "whoever reads the output of a test that did nothing has to know")]
    pub fn lavapipe() -> Option<Self> {
        let files = std::fs::read_dir("/usr/share/vulkan/icd.d").into_iter().flatten().flatten();
        let mut paths = files.map(|file| file.path());
        let found = paths.find(|path| path.to_string_lossy().contains("/lvp_icd"));
        if found.is_none() {
            eprintln!("not tested: no lavapipe in /usr/share/vulkan/icd.d");
        }
        found.map(Self::With)
    }
}

/// Runs scanbox in a folder of this machine, with the cache in it and lines of 80 characters.
pub fn run(folder: &Path, machine: Machine, arguments: &[&str]) -> Answer {
    let mut command = cargo_bin_cmd!("scanbox");
    command.current_dir(folder).args(arguments);
    command.env("COLUMNS", "80").env("SCANBOX_CACHE", folder.join("cache"));
    // Tests run side by side.
    command.env("SCANBOX_LOCKS", folder);
    for name in ["VK_ICD_FILENAMES", "LP_NUM_THREADS", "SCANBOX_KERNELS", "SCANBOX_KNOWN_ISSUES"] {
        command.env_remove(name);
    }
    // Searched first, and what is found there first counts: a library without content does not load.
    let libraries = tempfile::tempdir().unwrap();
    match machine {
        Machine::With(driver) => command.env("VK_DRIVER_FILES", driver),
        Machine::WithoutDriver => command.env("VK_DRIVER_FILES", "/nonexistent"),
        Machine::WithoutLoader => {
            std::fs::write(libraries.path().join("libvulkan.so.1"), "").unwrap();
            command.env_remove("VK_DRIVER_FILES").env("LD_LIBRARY_PATH", libraries.path())
        }
    };
    let output = command.output().unwrap();
    Answer {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
