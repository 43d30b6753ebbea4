//! The Vulkan loader, and the files in which drivers say where they are.
//!
//! Which files the loader reads, and in which order:
//! <https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md>.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use scanbox_runner::vulkan::{Loader, VulkanError};
use serde::Deserialize;

use super::host::output_of;
use scanbox_report::doctor::Finding;

/// Variables that replace the search for driver files, the newer name first. The loader takes one of them only.
const FILES_VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
/// Variables that make the loader leave drivers out.
const CHOICE_VARIABLES: [&str; 2] = ["VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"];

const INSTALL_DRIVER: &str = "install a driver: the GPU vendor's, or mesa-vulkan-drivers (Debian, Ubuntu), which has a \
                              software device too";

/// A driver file, as far as it matters here.
#[derive(Deserialize)]
struct DriverFile {
    #[serde(rename = "ICD")]
    driver: Driver,
}

#[derive(Deserialize)]
struct Driver {
    library_path: String,
}

pub(super) fn check(loader: &Result<Loader, VulkanError>) -> Vec<Finding> {
    let mut findings = Vec::new();
    match loader {
        Ok(loader) => {
            findings.push(Finding::ok("Vulkan loader", format!("Vulkan {}", loader.version)));
            let layer = match loader.validation_layer {
                true => "installed",
                false => "not installed; only the tests of scanbox use it (Debian, Ubuntu: vulkan-validationlayers)",
            };
            findings.push(Finding::ok("validation layer", layer));
        }
        Err(VulkanError::NoLoader { reason }) => findings.push(Finding::problem(
            "Vulkan loader",
            format!("not found: {reason}"),
            "install it: sudo apt install libvulkan1 (Debian, Ubuntu), or the vulkan-loader package of the system",
        )),
        Err(error) => findings.push(Finding::problem(
            "Vulkan loader",
            error.to_string(),
            "install the loader anew: sudo apt install --reinstall libvulkan1 (Debian, Ubuntu)",
        )),
    }
    if cfg!(target_os = "linux") {
        findings.extend(check_driver_files(&|name| std::env::var_os(name)));
    }
    findings
}

/// The variables, then each file.
fn check_driver_files(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<Finding> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut findings = Vec::new();
    for name in CHOICE_VARIABLES {
        if let Some(value) = set(name) {
            findings.push(Finding::warning(
                "driver files",
                format!("{name}={} makes the loader leave drivers out", value.display()),
                format!("unset {name}"),
            ));
        }
    }
    let replaced = FILES_VARIABLES.iter().find_map(|name| Some((*name, set(name)?)));
    let mut all_missing = false;
    let (files, origin) = match &replaced {
        Some((name, value)) => {
            let (files, missing) = named_files(value);
            all_missing = files.is_empty() && !missing.is_empty();
            findings.extend(missing.into_iter().map(|path| {
                Finding::problem(
                    "driver files",
                    format!("{name} names {}, which does not exist", path.display()),
                    format!(
                        "unset {name}, or name a file such as /usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
                    ),
                )
            }));
            (files, format!("what {name} names"))
        }
        None => {
            let folders = search_folders(variable);
            (folders.iter().flat_map(|folder| json_files(folder)).collect(), "the usual folders".to_owned())
        }
    };
    let libraries = Libraries::find(variable);
    let checked: Vec<Result<String, Finding>> =
        files.iter().map(|file| check_file(file, &libraries)).collect();
    let good: Vec<&str> = checked.iter().filter_map(|file| file.as_deref().ok()).collect();
    match good.is_empty() {
        true if all_missing => {}
        false => findings.push(Finding::ok("driver files", format!("{} in {origin}", good.join(", ")))),
        true => {
            findings.push(Finding::problem("driver files", format!("no driver in {origin}"), INSTALL_DRIVER));
        }
    }
    findings.extend(checked.into_iter().filter_map(Result::err));
    findings
}

/// The files of a list of files and folders, and what of the list does not exist.
fn named_files(list: &OsString) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for path in std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()) {
        match path {
            path if path.is_dir() => files.extend(json_files(&path)),
            path if path.exists() => files.push(path),
            path => missing.push(path),
        }
    }
    (files, missing)
}

/// Where the loader looks for driver files, without folders that are named twice.
fn search_folders(variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let home = variable("HOME").map(PathBuf::from);
    let below_home = |path: &str| home.iter().map(|home| home.join(path)).collect::<Vec<_>>();
    let list = |name: &str, default: Vec<PathBuf>| match variable(name).filter(|value| !value.is_empty()) {
        Some(value) => std::env::split_paths(&value).collect(),
        None => default,
    };
    let roots = [
        list("XDG_CONFIG_HOME", below_home(".config")),
        list("XDG_CONFIG_DIRS", vec!["/etc/xdg".into()]),
        vec!["/usr/local/etc".into(), "/etc".into()],
        list("XDG_DATA_HOME", below_home(".local/share")),
        list("XDG_DATA_DIRS", vec!["/usr/local/share".into(), "/usr/share".into()]),
    ];
    let mut folders = Vec::new();
    for folder in roots.into_iter().flatten().map(|root| root.join("vulkan/icd.d")) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The driver files of a folder, by name; a folder that is not there has none.
fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

/// The name of the driver's file, if it is readable and names a library that is there.
fn check_file(path: &Path, libraries: &Libraries) -> Result<String, Finding> {
    let bad = |found: String, fix: &str| {
        Err(Finding::warning("driver files", format!("{}: {found}", path.display()), fix.to_owned()))
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return bad(error.to_string(), "make it readable, or remove it"),
    };
    let library = match serde_json::from_str::<DriverFile>(&text) {
        Ok(file) => file.driver.library_path,
        Err(error) => {
            return bad(format!("no driver file: {error}"), "install its driver anew, or remove the file");
        }
    };
    // A path is relative to the file; a bare name is looked up like any other library.
    let is_there = match library.contains('/') {
        true => path.parent().unwrap_or(Path::new("/")).join(&library).exists(),
        false => libraries.may_have(&library),
    };
    if !is_there {
        return bad(
            format!("names {library}, which is not installed"),
            "install its driver anew, or remove the file",
        );
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(name.split('.').next().unwrap_or_default().trim_end_matches("_icd").to_owned())
}

/// The libraries that a program finds by their name.
struct Libraries {
    /// Folders that are searched first.
    folders: Vec<PathBuf>,
    /// What the system's list has; nothing where it cannot be read.
    system: Option<String>,
}

impl Libraries {
    fn find(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let folders = variable("LD_LIBRARY_PATH").map(|list| std::env::split_paths(&list).collect());
        // Not in everybody's PATH.
        let list = |program| output_of(program, &["-p"], Duration::from_secs(5)).ok();
        Self {
            folders: folders.unwrap_or_default(),
            system: list("/sbin/ldconfig").or_else(|| list("ldconfig")),
        }
    }

    /// Whether the library is there, or nobody knows.
    fn may_have(&self, name: &str) -> bool {
        self.folders.iter().any(|folder| folder.join(name).exists())
            || self
                .system
                .as_ref()
                .is_none_or(|system| system.lines().any(|line| line.split_whitespace().next() == Some(name)))
    }
}

/// Whether drivers are chosen by a variable.
pub(super) fn chosen_by_variable() -> Option<&'static str> {
    FILES_VARIABLES.into_iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// What to do where a GPU is there but Vulkan does not show it.
pub(super) fn why_hidden() -> String {
    match chosen_by_variable() {
        Some(name) => format!("unset {name}, which chooses the drivers"),
        None => "install its vendor's driver; if it is, VK_LOADER_DEBUG=error,warn scanbox devices says why it fails"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scanbox_report::doctor::CheckResult;

    /// A folder with `vulkan/icd.d` in it, and these files in that.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let drivers = folder.path().join("vulkan/icd.d");
        fs::create_dir_all(&drivers).expect("a folder");
        for (name, text) in files {
            fs::write(drivers.join(name), text).expect("a file");
        }
        folder
    }

    /// The findings about drivers with this environment.
    fn check(variables: &[(&str, &Path)]) -> Vec<(CheckResult, String)> {
        let known =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).into());
        // No system folders: what is there differs from machine to machine.
        let lists = ["XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "XDG_DATA_HOME"];
        let nowhere = |name: &str| lists.contains(&name).then(|| "/nonexistent".into());
        let findings = check_driver_files(&|name| known(name).or_else(|| nowhere(name)));
        findings.into_iter().map(|finding| (finding.verdict, finding.found)).collect()
    }

    #[test]
    fn driver_files_are_found_read_and_checked() {
        let here = std::env::current_exe().expect("this program");
        let good = format!(r#"{{"ICD": {{"library_path": "{}"}}}}"#, here.display());
        let folder = folder(&[
            ("good_icd.x86_64.json", &good),
            ("gone.json", r#"{"ICD": {"library_path": "/nonexistent/libgone.so"}}"#),
            ("torn.json", "{"),
            ("readme.txt", "no driver"),
        ]);
        let found = check(&[("XDG_DATA_HOME", folder.path())]);
        let verdicts: Vec<CheckResult> = found.iter().map(|(verdict, _)| *verdict).collect();
        // A machine may have more in /etc, which no variable replaces.
        assert!(verdicts.starts_with(&[CheckResult::Ok]) && found[0].1.contains("good"), "{found:?}");
        let about =
            |part: &str| found.iter().find(|(_, found)| found.contains(part)).map(|(verdict, _)| *verdict);
        assert_eq!(
            about("names /nonexistent/libgone.so, which is not installed"),
            Some(CheckResult::Warning)
        );
        assert_eq!(about("torn.json: no driver file"), Some(CheckResult::Warning));
        assert_eq!(about("readme"), None);
    }

    #[test]
    fn a_variable_that_names_nothing_is_a_problem() {
        for name in FILES_VARIABLES {
            let found = check(&[(name, Path::new("/nonexistent"))]);
            let reason = format!("{name} names /nonexistent, which does not exist");
            assert_eq!(found, [(CheckResult::Problem, reason)]);
        }
    }

    #[test]
    fn a_variable_that_leaves_drivers_out_is_told() {
        let found = check(&[("VK_LOADER_DRIVERS_DISABLE", Path::new("*"))]);
        let expected = "VK_LOADER_DRIVERS_DISABLE=* makes the loader leave drivers out".to_owned();
        assert_eq!(found[0], (CheckResult::Warning, expected));
    }
}
