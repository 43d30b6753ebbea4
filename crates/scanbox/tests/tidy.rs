//! What CONTRIBUTING.md says of files: how long and how wide they are, and that what documents name is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file of Rust at most.
const LINES: usize = 500;
/// Columns of a line at most.
const COLUMNS: usize = 120;

/// Longer files, with the lines that they have. A number here only ever falls.
const LONG: &[(&str, usize)] = &[
    ("crates/scanbox-analysis/src/compare.rs", 582),
    ("crates/scanbox-kernels/tests/problems.rs", 560),
    ("crates/scanbox/tests/analyze.rs", 518),
];

/// Files with wider lines, and how many. A number here only ever falls.
const WIDE: &[(&str, usize)] = &[
    ("crates/scanbox-model/src/sizes.rs", 2),
    ("crates/scanbox-runner/src/baseline.rs", 1),
    ("crates/scanbox-runner/src/replay.rs", 1),
    ("crates/scanbox-session/src/store/journal.rs", 1),
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files below these folders that end so, by their path from the root.
pub(crate) fn files(folders: &[&str], endings: &[&str]) -> Vec<(String, String)> {
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

/// The Markdown of this repository, by its path from the root.
pub(crate) fn documents() -> Vec<(String, String)> {
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let mut found = files(&["docs", "kernels", "results", "fuzz"], &["md"]);
    found.extend(pages.map(|name| (name.to_owned(), fs::read_to_string(root().join(name)).unwrap())));
    // Made by the program, as wide as its tables are.
    found.retain(|(name, _)| !(name.starts_with("results/runs/") && name.ends_with("/bench.md")));
    found
}

/// Holds counts per file against those that are allowed, which may not be larger than what there is either.
fn check(what: &str, found: &BTreeMap<String, usize>, allowed: &[(&str, usize)]) {
    let allowed: BTreeMap<String, usize> =
        allowed.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    let names = found.keys().chain(allowed.keys());
    let differ: Vec<String> = names
        .filter(|name| found.get(*name) != allowed.get(*name))
        .map(|name| {
            let [found, allowed] = [found, &allowed].map(|counts| counts.get(name).copied().unwrap_or(0));
            format!("{name}: {found}, allowed {allowed}")
        })
        .collect();
    assert!(differ.is_empty(), "{what}: {differ:#?}");
}

#[test]
fn files_are_short() {
    let long = files(&["crates"], &["rs"]).into_iter().map(|(name, text)| (name, text.lines().count()));
    check("lines", &long.filter(|(_, lines)| *lines > LINES).collect(), LONG);
}

#[test]
fn lines_are_narrow() {
    let is_wide = |line: &&str| line.chars().count() > COLUMNS;
    let mut wide = BTreeMap::new();
    for (name, text) in files(&["crates", "kernels"], &["rs", "glsl", "comp", "wgsl"]) {
        // rustfmt sees to code, and leaves a text in quotes as it is.
        let is_of_rust = name.ends_with(".rs");
        let lines = text.lines().filter(|line| !is_of_rust || line.trim_start().starts_with("//"));
        wide.insert(name, lines.filter(is_wide).count());
    }
    for (name, text) in documents() {
        let mut in_code = false;
        let prose = text.lines().filter(|line| {
            // What commands print is as wide as they print it.
            in_code ^=
                line.starts_with("```") || line.starts_with("<!-- scanbox ") || *line == "<!-- end -->";
            !in_code && !line.starts_with(['|', '!']) && !line.starts_with("<!--")
        });
        wide.insert(name, prose.filter(is_wide).count());
    }
    wide.retain(|_, count| *count > 0);
    check("lines that are too wide", &wide, WIDE);
}

/// Kernels are shipped without the rest of the repository.
#[test]
fn kernels_say_their_licence() {
    for (name, text) in files(&["kernels/glsl", "kernels/wgsl"], &["glsl", "comp", "wgsl"]) {
        let first = text.lines().find(|line| !line.starts_with("#version"));
        assert_eq!(first, Some("// SPDX-License-Identifier: MIT OR Apache-2.0"), "{name}");
    }
}

#[test]
fn root_shaders_are_described() {
    let manual = fs::read_to_string(root().join("kernels/README.md")).unwrap();
    for (name, _) in files(&["kernels"], &["comp"]) {
        let file = name.rsplit('/').next().unwrap();
        assert!(manual.contains(&format!("`{file}`")), "kernels/README.md does not name {file}");
    }
}

/// A path in backticks that ends as a file of this repository does, or in a slash, is there: from the root, or from
/// the document.
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

/// Every file that the map names is there, from the root or from the folder that it named last; and it names every
/// command and every crate.
#[test]
fn files_on_the_map_are_there() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let endings = [".rs", ".toml", ".glsl", ".comp", ".md", ".py"];
    let is_path = |word: &str| {
        word.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter))
            && (word.contains('/') || endings.iter().any(|ending| word.ends_with(ending)))
    };
    let (mut folder, mut is_list) = (root(), false);
    let (mut named, mut missing) = (BTreeSet::new(), Vec::new());
    for line in map.lines() {
        is_list ^= line.starts_with("```");
        // Elsewhere than in a list, files stand in backticks.
        let words: Vec<&str> = match is_list {
            true => line.split_whitespace().collect(),
            false => line.split('`').skip(1).step_by(2).collect(),
        };
        for word in words {
            let word = word.trim_matches([',', ';', '(', ')']);
            if !is_path(word) {
                continue;
            }
            let Some(path) = [root().join(word), folder.join(word)].into_iter().find(|path| path.exists())
            else {
                missing.push(word);
                continue;
            };
            if word.ends_with('/') {
                folder.clone_from(&path);
            }
            named.insert(path);
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md names what is not there: {missing:#?}");
    let inside = |folder: &str| fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let commands =
        inside("crates/scanbox/src/commands").filter(|path| path.is_file() && !path.ends_with("mod.rs"));
    let sources = inside("crates").map(|path| path.join("src"));
    let unnamed: Vec<PathBuf> = commands.chain(sources).filter(|path| !named.contains(path)).collect();
    assert!(unnamed.is_empty(), "ARCHITECTURE.md does not name {unnamed:#?}");
}

/// Each word is defined once, in the table of the map or of the document that needs it.
#[test]
fn words_are_defined_once() {
    let mut words: Vec<String> = Vec::new();
    for (name, text) in documents() {
        let Some((_, table)) = text.split_once("\n## Words\n") else { continue };
        let rows = table.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| ")).skip(2);
        let before = words.len();
        words.extend(
            rows.flat_map(|row| row.split('|').nth(1).unwrap().split(',')).map(|word| word.trim().into()),
        );
        if name == "ARCHITECTURE.md" {
            assert!(words.len() - before > 30 && text.split_whitespace().count() <= 2000);
        }
    }
    let all = words.len();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), all, "a word is defined twice");
    assert!(all > 45, "{all} words");
}

/// The name of the type that a line declares. A `type` that is indented belongs to a trait or a function.
fn declared_type(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => code,
    };
    let (keyword, rest) = code.split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name = rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next()?;
    (is_type && !name.is_empty()).then_some(name)
}

/// A type has a name of its own in the whole workspace: types are imported by name, and whoever reads or searches for
/// one finds one idea.
#[test]
fn type_names_are_declared_once() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in files(&["crates"], &["rs"]) {
        let is_product = file.contains("/src/") && !file.ends_with("/tests.rs");
        let product =
            text.split("#[cfg(test)]\nmod tests {").next().filter(|_| is_product).unwrap_or_default();
        for (index, line) in product.lines().enumerate() {
            if let Some(name) = declared_type(line) {
                places.entry(name.to_owned()).or_default().push(format!("{file}:{}", index + 1));
            }
        }
    }
    assert!(places.len() > 500, "only {} types were found", places.len());
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "one name for several types: {places:#?}");
}

/// What a benchmark measures is a subject: no other word for it.
#[test]
fn a_subject_has_one_word() {
    let texts = files(&["crates"], &["rs"]).into_iter().filter(|(name, _)| !name.ends_with("/tidy.rs"));
    for (name, text) in texts.chain(documents()) {
        for word in ["entrant", "contestant", "participant"] {
            assert!(!text.to_lowercase().contains(word), "{name} says {word}: the word is subject");
        }
    }
}

/// Runs stand in folders DATE-DEVICE with a README.md of their own, and results/README.md lists them.
#[test]
fn runs_are_dated_and_described() {
    let door = fs::read_to_string(root().join("results/README.md")).unwrap();
    for run in fs::read_dir(root().join("results/runs")).unwrap() {
        let name = run.unwrap().file_name().into_string().unwrap();
        let shape = name.replace(|letter: char| letter.is_ascii_digit(), "0");
        assert!(shape.starts_with("0000-00-00-"), "{name}");
        let page = format!("runs/{name}/README.md");
        assert!(root().join("results").join(&page).exists() && door.contains(&page), "{page}");
    }
}
