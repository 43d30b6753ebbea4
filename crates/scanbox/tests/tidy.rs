//! What documents name is there.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files below these folders that end so, by their path from the root.
fn files(folders: &[&str], endings: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            left.extend(entries.filter(|path| !path.ends_with("target") && !path.ends_with("corpus")));
        } else if endings.iter().any(|ending| path.extension().is_some_and(|own| own == *ending)) {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

fn documents() -> Vec<(String, String)> {
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let mut found = files(&["docs", "kernels", "results", "fuzz"], &["md"]);
    found.extend(pages.map(|name| (name.to_owned(), fs::read_to_string(root().join(name)).unwrap())));
    // Made by the program, as wide as its tables are.
    found.retain(|(name, _)| !name.starts_with("results/bench/"));
    found
}

#[test]
fn root_shaders_are_described() {
    let manual = fs::read_to_string(root().join("kernels/README.md")).unwrap();
    for (name, _) in files(&["kernels"], &["comp"]) {
        let file = name.rsplit('/').next().unwrap();
        assert!(manual.contains(&format!("`{file}`")), "kernels/README.md does not name {file}");
    }
}

/// A path in backticks that ends as a file of this repository does, or in a slash, is there: from the root, or from the document.
#[test]
fn paths_in_documents_are_there() {
    let endings = [".rs", ".toml", ".glsl", ".comp", ".md", ".yml", "/"];
    let mut missing = Vec::new();
    for (name, text) in documents() {
        let folder = root().join(&name);
        let folder = folder.parent().unwrap();
        for path in text.split('`').skip(1).step_by(2) {
            let is_path = path.contains('/')
                && endings.iter().any(|ending| path.ends_with(ending))
                && path.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter))
                && !path.starts_with('/');
            let places = [root(), folder.to_owned(), folder.join("glsl")];
            if is_path && !places.iter().any(|place| place.join(path).exists()) {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Each word of the table is defined once.
#[test]
fn words_are_defined_once() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = map.split("## Words").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut words: Vec<&str> = rows.map(|row| row.split('|').nth(1).unwrap().trim()).collect();
    assert!(words.len() > 30 && map.split_whitespace().count() <= 2000);
    let all = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), all, "a word is defined twice");
}
