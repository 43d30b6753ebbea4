//! What every run is handed: where kernels come from, where what can be made again is kept, what is assumed of devices.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scanbox_kernels::catalog;
use scanbox_kernels::glsl::{CompileError, Compiler};
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::api::Api;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;

use crate::notes::note;

/// The browser whose GPU is driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Browser {
    /// The Chromium of this system, which is started without a window.
    Chromium,
    /// Another one, which is started so.
    Program(PathBuf),
    /// One that opens the address which it is told.
    Wait,
}

impl std::str::FromStr for Browser {
    type Err = std::convert::Infallible;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Ok(match word {
            "chromium" => Self::Chromium,
            "wait" => Self::Wait,
            program => Self::Program(program.into()),
        })
    }
}

impl std::fmt::Display for Browser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Chromium => f.write_str("chromium"),
            Self::Wait => f.write_str("wait"),
            Self::Program(program) => write!(f, "{}", program.display()),
        }
    }
}

/// What every run is handed.
#[derive(Debug, Clone, Default)]
pub struct Tools {
    /// The folder of the kernel sources, in place of the built-in ones.
    pub kernels: Option<PathBuf>,
    /// The folder for what can be made again: SPIR-V, pipelines. `None`: nothing is kept.
    pub cache: Option<PathBuf>,
    /// What is assumed of every device.
    pub assume: Vec<Guarantee>,
    /// Through what devices are driven.
    pub api: Api,
    /// Whether kernels go without the checks that WebGPU adds to them.
    pub unchecked: bool,
    /// The browser whose WebGPU it is; `None`: that of wgpu.
    pub browser: Option<Browser>,
}

impl Tools {
    /// A compiler of these kernels.
    ///
    /// # Errors
    /// When the sources cannot be read.
    pub fn compiler(&self) -> anyhow::Result<Compiler> {
        if let Some(folder) = &self.kernels {
            check_kernels(folder)?;
        }
        tracing::debug!(kernels = ?self.kernels, cache = ?self.cache, assumed = ?self.assume, "the tools");
        let spirv = self.cache.as_ref().map(|folder| folder.join("spirv"));
        Ok(Compiler::new(self.kernels.as_deref(), spirv)?)
    }

    /// The arguments that choose the API, where it is not the one of who says nothing.
    pub fn flags_of_api(&self) -> Vec<String> {
        let api = (self.api != Api::default()).then(|| ["--api".to_owned(), self.api.to_string()]);
        let robustness = self.unchecked.then(|| ["--robustness".to_owned(), "off".to_owned()]);
        let browser = self.browser.as_ref().map(|browser| ["--browser".to_owned(), browser.to_string()]);
        [api, robustness, browser].into_iter().flatten().flatten().collect()
    }

    /// The flags of a command that does on a device what this one did: of kernels, guarantees and API.
    #[must_use]
    pub fn flags_on(&self, device: &str) -> Vec<String> {
        let mut flags = Vec::new();
        if let Some(kernels) = &self.kernels {
            flags.extend(["--kernels".to_owned(), kernels.display().to_string()]);
        }
        for guarantee in &self.assume {
            flags.extend(["--assume".to_owned(), guarantee.to_string()]);
        }
        flags.extend(self.flags_of_api());
        flags.extend(["--device".to_owned(), device.to_owned()]);
        flags
    }

    /// The folder of pipelines.
    pub fn pipelines(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|folder| folder.join("pipelines"))
    }

    /// The folder of what was found out about devices.
    pub fn probes(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|folder| folder.join("probes"))
    }

    /// Says, once and before anything is compiled, that nothing can be kept in the cache.
    pub fn warn_of_cache(&self) {
        let Some(folder) = &self.cache else {
            note(
                "warning: the system names no cache folder: kernels are compiled anew in each run; choose one with --cache",
            );
            return;
        };
        let tried = ["spirv", "pipelines"].iter().try_for_each(|name| {
            let folder = folder.join(name);
            std::fs::create_dir_all(&folder)?;
            tempfile::Builder::new().prefix(".scanbox-").tempfile_in(folder).map(drop)
        });
        if let Err(error) = tried {
            note(&format!(
                "warning: the cache folder {} cannot be used ({error}): kernels are compiled anew in each run; choose another \
                 with --cache",
                folder.display()
            ));
        }
    }
}

/// Whether a folder is one of kernel sources: what has no shader at all is named before every config fails of it.
fn check_kernels(folder: &Path) -> anyhow::Result<()> {
    let is_shader = |path: &Path| path.extension().is_some_and(|ending| ending == "comp" || ending == "wgsl");
    let place = || format!("kernel sources {}; choose another folder with --kernels", folder.display());
    let mut entries = std::fs::read_dir(folder).with_context(place)?.flatten();
    if !entries.any(|entry| is_shader(&entry.path())) {
        bail!(
            "kernel sources {}: no shader (.comp, .wgsl) is there; choose another folder with --kernels",
            folder.display()
        );
    }
    Ok(())
}

/// Compiles the kernels that make and prove the answer to a user's operator, before anything else is done with it:
/// what is wrong with the file is told once, and not as the failure of every config.
///
/// # Errors
/// What is wrong with the file, and which option names it.
pub fn try_operator(
    compiler: Compiler,
    operator: Option<&OperatorFile>,
    problem: &Problem,
    device: &DeviceProfile,
) -> Result<(), String> {
    let Some(file) = operator else { return Ok(()) };
    let compiler = compiler.with_operator(file.clone());
    let shaders = catalog::operator_shaders(problem, device);
    if let Some(log) = shaders.iter().find_map(|shader| match compiler.check_purity(shader) {
        Err(CompileError::Shader { log, .. }) if !log.contains("error:") => Some(log),
        // What does not compile is told below.
        _ => None,
    }) {
        return Err(format!("--operator {log}"));
    }
    let mut outcomes = compiler.compile_all(&shaders).into_iter();
    match outcomes.find_map(Result::err) {
        // Which shader it was first says nothing to the user.
        Some(CompileError::Shader { log, .. }) => {
            Err(format!("--operator {} does not compile:\n{log}", file.source().path))
        }
        Some(error) => Err(format!("--operator {}: {error}", file.source().path)),
        None => Ok(()),
    }
}
