//! The folders that scanbox writes to: whether they can be written, without writing anything.

use std::fs;
use std::path::{Path, PathBuf};

use super::bytes_label;
use scanbox_kernels::glsl::Compiler;
use scanbox_report::doctor::Finding;
use scanbox_session::system::{free_bytes, may_write_in};
use scanbox_session::tools::Tools;

/// The folder of `scanbox sweep` without `--out`.
const RESULTS: &str = "results";
/// What the files of a large sweep, or the cache of a large space, take up.
const NEEDED_BYTES: u64 = 100 << 20;
/// Files that are counted at most.
const MAX_FILES: usize = 100_000;

pub(super) fn check(tools: &Tools) -> Vec<Finding> {
    let cache = match &tools.cache {
        Some(folder) => {
            check_folder("cache folder", folder, "choose another with --cache DIR or SCANBOX_CACHE")
        }
        None => Finding::warning(
            "cache folder",
            "the system names none, so kernels are compiled anew each time",
            "choose one with --cache DIR or SCANBOX_CACHE",
        ),
    };
    let kernels = tools.kernels.as_deref().map(|folder| match Compiler::new(Some(folder), None) {
        Ok(_) => Finding::ok("kernel sources", folder.display().to_string()),
        Err(error) => Finding::problem(
            "kernel sources",
            format!("{:#}", anyhow::Error::from(error)),
            "choose others with --kernels DIR or SCANBOX_KERNELS, or none",
        ),
    });
    let folders = [
        cache,
        check_folder("results folder", Path::new(RESULTS), "choose another with scanbox sweep --out DIR"),
    ];
    kernels.into_iter().chain(folders).collect()
}

fn check_folder(check: &str, folder: &Path, fix: &str) -> Finding {
    let path = folder.display();
    let Some(existing) = nearest_existing(folder) else {
        return Finding::problem(check, format!("{path}: nothing of it exists"), fix);
    };
    if !existing.is_dir() {
        return Finding::problem(check, format!("{path}: {} is not a folder", existing.display()), fix);
    }
    if let Err(reason) = may_write_in(&existing) {
        return Finding::problem(
            check,
            format!("{path}: {} cannot be written: {reason}", existing.display()),
            fix,
        );
    }
    let content = match existing == folder {
        true => bytes_label(size_bytes(folder)),
        false => "not there yet, will be made".to_owned(),
    };
    match free_bytes(&existing) {
        Some(free) if free < NEEDED_BYTES => {
            Finding::warning(check, format!("{path}: {content}, only {} free", bytes_label(free)), fix)
        }
        Some(free) => Finding::ok(check, format!("{path}: {content}, {} free", bytes_label(free))),
        None => Finding::ok(check, format!("{path}: {content}")),
    }
}

/// The folder itself, or the one above it that will have to take it in.
fn nearest_existing(folder: &Path) -> Option<PathBuf> {
    let mut ancestors = folder.ancestors().map(|ancestor| match ancestor.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => ancestor.to_owned(),
    });
    // A link to nowhere stands in the way as well as a file.
    ancestors.find(|ancestor| ancestor.symlink_metadata().is_ok())
}

/// What the files in a folder and below take up, as far as they can be seen.
fn size_bytes(folder: &Path) -> u64 {
    let (mut bytes, mut files) = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FILES - files) {
            files += 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(_) => bytes += entry.metadata().map_or(0, |metadata| metadata.len()),
                Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use scanbox_report::doctor::CheckResult;

    #[test]
    fn folders_are_judged_without_being_made() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let check = |path: &str, verdict: CheckResult, part: &str| {
            let finding = check_folder("cache folder", &root.path().join(path), "use another");
            assert_eq!(finding.verdict, verdict, "{path}: {}", finding.found);
            assert!(finding.found.contains(part), "no `{part}` in {}", finding.found);
        };
        fs::create_dir_all(root.path().join("full/spirv")).expect("a folder");
        fs::write(root.path().join("full/spirv/one"), [0; 3000]).expect("a file");
        fs::write(root.path().join("file"), "").expect("a file");
        check("full", CheckResult::Ok, "2.9 KiB");
        check("new/below", CheckResult::Ok, "not there yet, will be made");
        check("file", CheckResult::Problem, "file is not a folder");
        check("file/below", CheckResult::Problem, "file is not a folder");
        assert!(!root.path().join("new").exists());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/nonexistent", root.path().join("link")).expect("a link");
            check("link", CheckResult::Problem, "link is not a folder");
        }
    }
}
