//! What README.md shows is what the commands print.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_first_screen_is_the_analysis_of_the_published_file() {
    let output = Command::cargo_bin("scanbox")
        .unwrap()
        .args(["analyze", "results/nvidia-h200.thesis.csv", "--metric", "squared"])
        .current_dir(root())
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(printed.trim_end()), "README.md does not show:\n{printed}");
}

#[test]
fn what_the_readme_names_is_there() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let files = ["scripts/quickstart", "scripts/test", "configs/known_issues.toml", "kernels/README.md"];
    for file in files {
        assert!(readme.contains(file) && root().join(file).exists(), "{file}");
    }
    let help = Command::cargo_bin("scanbox").unwrap().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for line in readme.lines().filter_map(|line| line.strip_prefix("| `scanbox ")) {
        let command = line.split('`').next().unwrap();
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{command} "))), "{command}");
    }
}
