//! The invariants of ARCHITECTURE.md that can be read off the source.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::parameters::PARAMETER_NAMES;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files with this ending below a folder of the repository.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == ending) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// No file below `folder` but those that `allowed` accepts has one of the words in its code (comments do not count).
fn check(folder: &str, ending: &str, words: &[&str], allowed: impl Fn(&str) -> bool) {
    for path in files(folder, ending) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        if allowed(&name) {
            continue;
        }
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let code = line.split("//").next().unwrap();
            for word in words {
                assert!(!code.contains(word), "{name}:{}: `{word}`: {line}", number + 1);
            }
        }
    }
}

#[test]
fn only_code_for_vulkan_is_unsafe_or_names_ash() {
    let folders = ["crates/scanbox-runner/src/vulkan/", "crates/scanbox-vk/"];
    let vulkan = |name: &str| folders.iter().any(|folder| name.starts_with(folder));
    check("crates", "rs", &["unsafe {", "unsafe fn", "unsafe impl", "ash::"], |name| {
        vulkan(name) || name.ends_with("tests/architecture.rs")
    });
}

#[test]
fn the_loops_name_no_backend_and_no_parameter_of_a_kernel() {
    let loops = |name: &str| {
        ["/sweep.rs", "/verify.rs", "/session.rs"].iter().any(|file| name.ends_with(file))
            || name.contains("/src/bench")
    };
    let backends =
        ["vulkan", "Vulkan", "replay", "Replay", "chained_scan", "ChainedScan", "create_pipelines"];
    // As fields and as types: `tile_state` and `TileState::`.
    let types = PARAMETER_NAMES.iter().map(|name| {
        let words = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
        words.collect::<String>() + "::"
    });
    let fields =
        PARAMETER_NAMES.iter().flat_map(|name| ["kernel", "config"].map(|of| format!("{of}.{name}")));
    let words: Vec<String> = backends.map(str::to_owned).into_iter().chain(types).chain(fields).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    check("crates/scanbox-runner/src", "rs", &words, |name| !loops(name));
}

/// Programs record a call of a recipe while a frame waits for it.
#[test]
fn what_a_recipe_comes_to_allocates_nothing() {
    let allocates =
        ["Vec", "vec!", "Box", "Rc", "Arc", "String", "format!", "collect", "to_vec", "to_owned", "clone()"];
    check("crates/scanbox-pack/src", "rs", &allocates, |name| {
        !["launch", "formula", "levels", "scratch", "layout"]
            .iter()
            .any(|file| name.ends_with(&format!("/{file}.rs")))
    });
}

/// What a room knows crosses the wall as itself: a plan says what it was made from, so that nobody finds it out from
/// its shaders or its label.
#[test]
fn no_room_reads_defines_or_labels_of_another() {
    let product = |name: &str| name.contains("/src/");
    check("crates", "rs", &[".defines", ".shader.root"], |name| {
        !product(name) || name.starts_with("crates/scanbox-kernels/src/")
    });
    let read = [".label.parse", ".label.starts_with", ".label.strip_", ".label ==", ".label !="];
    check("crates", "rs", &read, |name| {
        // The analysis knows no plans: its labels are those of devices. A script names plans by the beginnings of their
        // labels.
        !product(name) || name.starts_with("crates/scanbox-analysis/") || name.ends_with("/replay.rs")
    });
}

#[test]
fn atomics_live_where_workgroups_or_subgroups_meet() {
    // Between workgroups; then within one; then the reports of the comparison and of the check of an operator.
    let allowed = [
        "/state/tile_state.glsl",
        "/state/tile_packed.glsl",
        "/state/tile_parts.glsl",
        "/state/tile_word64.glsl",
        "/state/group_added.glsl",
        "/tile/tile_order.glsl",
        "/state/leave.glsl",
        "/state/turn.glsl",
        "/arguments.glsl",
        "/block/rendezvous_flags.glsl",
        "/lookback/back_off.glsl",
        "/compare.comp",
        "/compare_sums.comp",
        "/operator_check.comp",
    ];
    for ending in ["glsl", "comp"] {
        check("kernels/glsl", ending, &["atomic"], |name| {
            allowed.iter().any(|allowed| name.ends_with(allowed))
        });
    }
    // Those within a workgroup see shared memory alone.
    for stage in ["rendezvous_flags.glsl", "back_off.glsl"] {
        check("kernels/glsl/stages", "glsl", &["gl_ScopeDevice", "buffer_reference"], |name| {
            !name.ends_with(stage)
        });
    }
}

#[test]
fn one_file_of_the_shaders_knows_where_an_invocation_stands() {
    let built_in = ["gl_Subgroup", "gl_LocalInvocation", "gl_WorkGroup", "gl_NumWorkGroups", "subgroupElect"];
    for ending in ["glsl", "comp"] {
        check("kernels/glsl", ending, &built_in, |name| name.ends_with("/place.glsl"));
    }
}

#[test]
fn shaders_have_no_subgroup_size_of_their_own() {
    // 32 stands for memory banks where it stands, which only speed depends on, and 64 for a pause.
    check("kernels/glsl/stages", "glsl", &["invocation_index", "64u"], |name| {
        name.ends_with("/back_off.glsl")
    });
}

/// The crates from below. Each may use those before it, and of them those named; what else a crate must not name
/// stands behind.
const CRATES: &[(&str, &[&str], &[&str])] = &[
    ("scanbox-pack", &[], &["ash", "shaderc", "clap", "toml", "csv"]),
    ("scanbox-model", &[], &["ash", "shaderc", "clap"]),
    ("scanbox-vk", &["scanbox-pack"], &["shaderc", "clap", "toml", "csv", "gpu-allocator"]),
    ("scanbox-kernels", &["scanbox-pack", "scanbox-model"], &["ash", "gpu-allocator", "clap"]),
    ("scanbox-analysis", &["scanbox-model"], &["ash", "shaderc", "clap"]),
    (
        "scanbox-runner",
        &["scanbox-pack", "scanbox-model", "scanbox-vk", "scanbox-kernels"],
        &["shaderc", "clap"],
    ),
    (
        "scanbox-report",
        &["scanbox-model", "scanbox-kernels", "scanbox-analysis", "scanbox-runner"],
        &["ash", "shaderc", "clap", "signal-hook", "indicatif"],
    ),
    (
        "scanbox-session",
        &["scanbox-model", "scanbox-kernels", "scanbox-analysis", "scanbox-runner"],
        &["ash", "shaderc", "clap", "comfy-table", "askama"],
    ),
    (
        "scanbox",
        &[
            "scanbox-model",
            "scanbox-kernels",
            "scanbox-analysis",
            "scanbox-runner",
            "scanbox-report",
            "scanbox-session",
        ],
        &["ash", "shaderc", "gpu-allocator"],
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

/// The modules of the rooms around the program, from below: each may use those before it.
const MODULES: &[(&str, &[&str])] = &[
    (
        "scanbox-session",
        &[
            "notes",
            "system",
            "signals",
            "origin",
            "pairs",
            "tools",
            "device",
            "failure",
            "protocol",
            "process",
            "lock",
            "probe",
            "supervise",
            "progress",
            "store",
            "bench",
            "verify",
            "confirm",
            "sweep",
            "worker",
        ],
    ),
    (
        "scanbox-report",
        &[
            "terminal", "grid", "document", "paste", "words", "curve", "figure", "plot", "evidence",
            "devices", "doctor", "space", "sweep", "verify", "versus", "bench", "blocking", "dispatch",
            "compare", "analysis", "records", "html",
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
            "vulkan::call",
            "vulkan::commands",
            "vulkan::device",
            "vulkan::instance",
            "vulkan::line",
            "vulkan::memory",
            "vulkan::pipeline",
            "vulkan::timing",
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

#[test]
fn no_file_has_a_name_that_says_nothing() {
    for ending in ["rs", "glsl", "comp"] {
        for folder in ["crates", "kernels"] {
            for path in files_if_any(folder, ending) {
                let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
                assert!(
                    !["util", "utils", "common", "base", "helpers", "types"].contains(&stem.as_str()),
                    "{path:?}"
                );
            }
        }
    }
}

fn files_if_any(folder: &str, ending: &str) -> Vec<PathBuf> {
    let has_any = (folder, ending) != ("crates", "glsl")
        && (folder, ending) != ("crates", "comp")
        && (folder, ending) != ("kernels", "rs");
    if has_any { files(folder, ending) } else { Vec::new() }
}
