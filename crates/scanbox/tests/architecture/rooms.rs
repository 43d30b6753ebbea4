//! Rooms: the crates, what each may use, and how large it may grow.

use std::fs;
use std::path::PathBuf;

use super::{files, root};

/// The crates from below. Each may use those before it, and of them those named; what else a crate must not name
/// stands behind.
pub(super) const CRATES: &[(&str, &[&str], &[&str])] = &[
    ("scanbox-pack", &[], &["ash", "shaderc", "clap", "toml", "csv"]),
    ("scanbox-model", &[], &["ash", "shaderc", "clap"]),
    ("scanbox-vk", &["scanbox-pack"], &["shaderc", "clap", "toml", "csv", "gpu-allocator"]),
    (
        "scanbox-vk-c",
        &["scanbox-pack", "scanbox-vk"],
        &["shaderc", "clap", "toml", "csv", "serde", "gpu-allocator"],
    ),
    ("scanbox-kernels", &["scanbox-pack", "scanbox-model"], &["ash", "gpu-allocator", "wgpu", "clap"]),
    ("scanbox-analysis", &["scanbox-model"], &["ash", "shaderc", "clap"]),
    (
        "scanbox-runner",
        &["scanbox-pack", "scanbox-model", "scanbox-vk", "scanbox-kernels"],
        &["shaderc", "clap"],
    ),
    (
        "scanbox-browser",
        &["scanbox-model", "scanbox-kernels", "scanbox-runner"],
        &["ash", "shaderc", "wgpu", "gpu-allocator", "clap"],
    ),
    (
        "scanbox-report",
        &["scanbox-pack", "scanbox-model", "scanbox-kernels", "scanbox-analysis", "scanbox-runner"],
        &["ash", "shaderc", "wgpu", "clap", "signal-hook", "indicatif"],
    ),
    (
        "scanbox-session",
        &[
            "scanbox-pack",
            "scanbox-model",
            "scanbox-kernels",
            "scanbox-analysis",
            "scanbox-runner",
            "scanbox-browser",
        ],
        &["ash", "shaderc", "wgpu", "clap", "comfy-table", "askama"],
    ),
    (
        "scanbox",
        &[
            "scanbox-pack",
            "scanbox-model",
            "scanbox-kernels",
            "scanbox-analysis",
            "scanbox-runner",
            "scanbox-report",
            "scanbox-session",
        ],
        &["ash", "shaderc", "wgpu", "gpu-allocator"],
    ),
];

/// The names in the section `[dependencies]` of a manifest.
fn dependencies(room: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join("crates").join(room).join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or("").split("\n[").next().unwrap();
    let name = |line: &str| line.split(['.', '=', ' ']).next().unwrap_or("").to_owned();
    section.lines().map(name).filter(|name| !name.is_empty() && !name.starts_with('#')).collect()
}

#[test]
fn arrows_between_crates_point_downward() {
    for (place, (room, allowed, forbidden)) in CRATES.iter().enumerate() {
        let below: Vec<&str> = CRATES[..place].iter().map(|(room, ..)| *room).collect();
        assert!(allowed.iter().all(|room| below.contains(room)), "{room}");
        for name in dependencies(room) {
            let is_room = name.starts_with("scanbox");
            assert!(!is_room || allowed.contains(&name.as_str()), "{room} depends on {name}");
            assert!(!forbidden.contains(&name.as_str()), "{room} depends on {name}");
        }
    }
    // What tests share is in no program.
    let named: Vec<&str> = CRATES.iter().map(|(room, ..)| *room).chain(["scanbox-testing"]).collect();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(named.contains(&name.as_str()), "{name} has no place in the table of crates");
    }
}

#[test]
fn arrows_of_the_map_point_downward() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let picture = map.split("```").nth(1).unwrap();
    let row_of = |room: &str| {
        picture.lines().position(|line| line.split_whitespace().any(|word| word == room)).expect(room)
    };
    for (room, ..) in CRATES {
        for below in dependencies(room).iter().filter(|name| name.starts_with("scanbox")) {
            assert!(row_of(room) < row_of(below), "{room} does not stand above {below}");
        }
    }
}

/// Tests aside. A room that has grown beyond it is two.
#[test]
fn no_room_has_more_than_a_fifth_of_the_lines() {
    let lines_of = |room: &str| -> usize {
        let of_tests = |path: &PathBuf| path.ends_with("tests.rs") || path.ends_with("testing.rs");
        let product = |path: PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            text.split("#[cfg(test)]\nmod tests").next().unwrap().lines().count()
        };
        files(&format!("crates/{room}/src"), "rs")
            .into_iter()
            .filter(|path| !of_tests(path))
            .map(product)
            .sum()
    };
    let rooms = CRATES.iter().map(|(room, ..)| *room).chain(["scanbox-testing"]);
    let rooms: Vec<(&str, usize)> = rooms.map(|room| (room, lines_of(room))).collect();
    let all: usize = rooms.iter().map(|(_, lines)| lines).sum();
    for (room, lines) in rooms {
        assert!(5 * lines <= all, "{room} has {lines} of {all} lines");
    }
}
