//! Modules of the rooms: what the files of a crate use of each other.

use std::fs;
use std::path::Path;

use super::rooms::CRATES;
use super::{files, root};

/// The modules of the rooms around the program, from below: each may use those before it.
const MODULES: &[(&str, &[&str])] = &[
    (
        "scanbox-session",
        &[
            "event",
            "notes",
            "log",
            "system",
            "signals",
            "origin",
            "pairs",
            "tools",
            "device",
            "pack",
            "failure",
            "protocol",
            "process",
            "lock",
            "probe",
            "pack_check",
            "supervise",
            "progress",
            "store",
            "attempts",
            "bench",
            "verify",
            "confirm",
            "anchors",
            "breaker",
            "sweep",
            "worker",
        ],
    ),
    ("scanbox-browser", &["error", "hello", "link", "server", "guard", "chromium", "driver"]),
    (
        "scanbox-report",
        &[
            "terminal",
            "paint",
            "grid",
            "document",
            "explained",
            "paste",
            "words",
            "launch",
            "curve",
            "figure",
            "plot",
            "evidence",
            "devices",
            "overview",
            "doctor",
            "space",
            "compiled",
            "sweep",
            "verify",
            "versus",
            "library",
            "bench",
            "blocking",
            "dispatch",
            "compare",
            "analysis",
            "records",
            "pack",
            "pack_tried",
            "kernel_files",
            "merge",
            "html",
            "schemas",
        ],
    ),
    ("scanbox", &["exit", "output", "inputs", "args", "answer", "commands", "cli"]),
];

/// Files of one room that use each other, and why they may.
const CIRCLES: &[(&str, &[&str])] = &[
    // A profile carries what known issues force on it and what it is safe for, and both are told by profiles; rows
    // say their problem, and problems are read from rows. The table of parameters takes in those of the launch, which
    // are declared as its own are.
    (
        "scanbox-model",
        &[
            "device",
            "guarantee_probe",
            "known_issues",
            "parameters::launch",
            "parameters::table",
            "problem",
            "record",
            "safe_devices",
            "space",
            "user_operator",
        ],
    ),
    // A backend times calls by a protocol of measuring that is written for backends. Objects of Vulkan are made of
    // each other.
    (
        "scanbox-runner",
        &[
            "backend",
            "measure",
            "twin",
            "vulkan::asking",
            "vulkan::call",
            "vulkan::commands",
            "vulkan::device",
            "vulkan::instance",
            "vulkan::library",
            "vulkan::line",
            "vulkan::memory",
            "vulkan::pipeline",
            "vulkan::timing",
            "vulkan::total",
            "vulkan::twin",
            "vulkan::watch",
        ],
    ),
];

/// A file of a crate: the modules that lead to it, without the one of `lib.rs` or `main.rs`.
fn module_of(path: &Path, sources: &Path) -> Vec<String> {
    let inner = path.strip_prefix(sources).unwrap().with_extension("");
    let mut parts: Vec<String> = inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Every path that code names from `crate`, `super` or `self` on, as modules and items from the root of its crate.
fn names_in(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            expand(&code[at..], Vec::new(), &mut found);
        }
    }
    found.iter().map(|path| resolve(path, module)).collect()
}

/// The paths at the beginning of a text, those within braces one by one.
fn expand(text: &str, mut prefix: Vec<String>, found: &mut Vec<Vec<String>>) {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let (mut depth, mut start) = (0, 0);
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    expand(&group[start..at], prefix.clone(), found);
                    start = at + 1;
                    if c == '}' {
                        return;
                    }
                }
                _ => {}
            }
        }
        return;
    }
    let length = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    if length == 0 {
        return;
    }
    prefix.push(text[..length].to_owned());
    match text[length..].strip_prefix("::") {
        Some(rest) if rest.trim_start().starts_with(|c: char| c.is_alphanumeric() || "_{".contains(c)) => {
            expand(rest, prefix, found);
        }
        _ => found.push(prefix),
    }
}

/// From the root of the crate, what a path of a module means.
fn resolve(path: &[String], module: &[String]) -> Vec<String> {
    let mut place = module.to_vec();
    let mut rest = path;
    match path[0].as_str() {
        "crate" => (place, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        _ => {}
    }
    while rest.first().is_some_and(|part| part == "super") {
        place.pop();
        rest = &rest[1..];
    }
    place.extend(rest.iter().cloned());
    place
}

/// The arrows between the files of a crate: from each module to those that its code names, tests aside. A module and
/// those within it are one thing: between them there is no arrow.
fn arrows(room: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let sources = root().join("crates").join(room).join("src");
    let paths = files(&format!("crates/{room}/src"), "rs");
    let modules: Vec<Vec<String>> = paths.iter().map(|path| module_of(path, &sources)).collect();
    let mut arrows = Vec::new();
    for (path, module) in paths.iter().zip(&modules) {
        let text = fs::read_to_string(path).unwrap();
        let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let code: String =
            product.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
        for name in names_in(&code, module) {
            let target =
                modules.iter().filter(|other| name.starts_with(other)).max_by_key(|other| other.len());
            let Some(target) = target else { continue };
            if !target.starts_with(module) && !module.starts_with(target) {
                arrows.push((module.clone(), target.clone()));
            }
        }
    }
    arrows.sort();
    arrows.dedup();
    arrows
}

#[test]
fn arrows_between_modules_point_downward() {
    let mut upward = Vec::new();
    for (room, order) in MODULES {
        let place = |module: &[String]| {
            let found = order.iter().position(|name| *name == module[0]);
            found.unwrap_or_else(|| panic!("{room}: {} has no place in the table of modules", module[0]))
        };
        let wrong = arrows(room).into_iter().filter(|(from, to)| place(from) < place(to));
        upward.extend(wrong.map(|(from, to)| format!("{room}: {} uses {}", from.join("::"), to.join("::"))));
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn files_do_not_use_each_other_in_circles() {
    let mut circles = Vec::new();
    for (room, ..) in CRATES {
        let arrows = arrows(room);
        let reached = |from: &Vec<String>| {
            let mut seen: Vec<&Vec<String>> = Vec::new();
            let mut next = vec![from];
            while let Some(at) = next.pop() {
                for (_, target) in arrows.iter().filter(|(start, _)| start == at) {
                    if !seen.contains(&target) {
                        seen.push(target);
                        next.push(target);
                    }
                }
            }
            seen.contains(&from)
        };
        let allowed = CIRCLES.iter().find(|(of, _)| of == room).map_or(&[][..], |(_, files)| *files);
        let mut files: Vec<&Vec<String>> = arrows.iter().map(|(from, _)| from).collect();
        files.dedup();
        let circle = files.into_iter().filter(|file| reached(file)).map(|file| file.join("::"));
        let new = circle.filter(|file| !allowed.contains(&file.as_str()));
        circles.extend(new.map(|file| format!("{room}: {file}")));
    }
    assert!(
        circles.is_empty(),
        "files that use each other, which only a reason beside CIRCLES allows: {circles:#?}"
    );
}
