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
            check_kernels(folder, self.api)?;
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

/// The sources that an API takes: their language, the folder of the repository's own, the ending of their root shaders.
fn language(api: Api) -> (&'static str, &'static str, &'static str) {
    match api {
        Api::Vulkan => ("GLSL", "glsl", "comp"),
        Api::WebGpu => ("WGSL", "wgsl", "wgsl"),
    }
}

/// Whether a folder has a shader in it that ends so.
fn has_shader(folder: &Path, ending: &str) -> std::io::Result<bool> {
    let mut entries = std::fs::read_dir(folder)?.flatten();
    Ok(entries.any(|entry| entry.path().extension().is_some_and(|found| found == ending)))
}

/// The folder of the sources that an API takes: one that has none may have them in a folder by the name of their
/// language, as the folder `kernels` of the repository.
#[must_use]
pub fn kernel_folder(folder: PathBuf, api: Api) -> PathBuf {
    let (_, name, ending) = language(api);
    let below = folder.join(name);
    let is_meant =
        !has_shader(&folder, ending).unwrap_or(false) && has_shader(&below, ending).unwrap_or(false);
    if is_meant { below } else { folder }
}

/// Whether a folder has kernel sources that an API takes: what has none is named before every config fails of it.
fn check_kernels(folder: &Path, api: Api) -> anyhow::Result<()> {
    let (language, name, ending) = language(api);
    let place = || format!("kernel sources {}; choose another folder with --kernels", folder.display());
    if !has_shader(folder, ending).with_context(place)? {
        bail!(
            "kernel sources {}: no shader in {language} (.{ending}) is there, nor in {name}/ in it, and {} takes no other; \
             name a folder like kernels/{name} of scanbox's repository with --kernels",
            folder.display(),
            api.title()
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
) -> anyhow::Result<()> {
    let Some(file) = operator else { return Ok(()) };
    let compiler = compiler.with_operator(file.clone());
    let shaders = catalog::operator_shaders(problem, device);
    if let Some(log) = shaders.iter().find_map(|shader| match compiler.check_purity(shader) {
        Err(CompileError::Shader { log, .. }) if !log.contains("error:") => Some(log),
        // What does not compile is told below.
        _ => None,
    }) {
        bail!("--operator {log}");
    }
    let mut outcomes = compiler.compile_all(&shaders).into_iter();
    match outcomes.find_map(Result::err) {
        // Which shader it was first says nothing to the user.
        Some(CompileError::Shader { log, .. }) => {
            bail!("--operator {} does not compile:\n{log}", file.source().path)
        }
        Some(error) => bail!("--operator {}: {error}", file.source().path),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row by row: the files of a folder, and where the sources are that each API takes of it.
    #[test]
    fn sources_of_both_languages_are_found_by_the_api() {
        let check = |files: &[&str], glsl: &str, wgsl: &str| {
            let place = tempfile::tempdir().unwrap();
            for file in files {
                let path = place.path().join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, "").unwrap();
            }
            for (api, expected) in [(Api::Vulkan, glsl), (Api::WebGpu, wgsl)] {
                let found = kernel_folder(place.path().to_owned(), api);
                assert_eq!(
                    found.strip_prefix(place.path()).unwrap(),
                    Path::new(expected),
                    "{files:?}, {api}"
                );
                let is_there = files.iter().any(|file| place.path().join(file).parent() == Some(&*found));
                assert_eq!(check_kernels(&found, api).is_ok(), is_there, "{files:?}, {api}");
            }
        };
        check(&["glsl/copy.comp", "wgsl/copy.wgsl"], "glsl", "wgsl");
        check(&["copy.comp", "copy.wgsl"], "", "");
        check(&["copy.comp", "copy.wgsl", "glsl/copy.comp", "wgsl/copy.wgsl"], "", "");
        check(&[], "", "");
    }
}
