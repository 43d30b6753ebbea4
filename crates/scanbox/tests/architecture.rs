//! The invariants of ARCHITECTURE.md that can be read off the source: here those of words that code may not say.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::parameters::PARAMETER_NAMES;

mod modules;
mod rooms;

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
                // `hash::` does not name `ash::`.
                let is_end = |at: usize| code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                let is_word = word.starts_with(char::is_alphabetic);
                let named = code.match_indices(word).any(|(at, _)| !(is_word && is_end(at)));
                assert!(!named, "{name}:{}: `{word}`: {line}", number + 1);
            }
        }
    }
}

#[test]
fn only_code_for_vulkan_is_unsafe_or_names_ash() {
    let folders = ["crates/scanbox-runner/src/vulkan/", "crates/scanbox-vk/", "crates/scanbox-vk-c/"];
    let vulkan = |name: &str| folders.iter().any(|folder| name.starts_with(folder));
    check("crates", "rs", &["unsafe {", "unsafe fn", "unsafe impl", "ash::"], |name| {
        // wgpu has one call that it calls so.
        let unchecked = name == "crates/scanbox-runner/src/webgpu/unchecked.rs";
        vulkan(name) || unchecked || name.contains("/tests/architecture")
    });
}

#[test]
fn only_the_backend_for_webgpu_names_wgpu() {
    let webgpu = |name: &str| name.starts_with("crates/scanbox-runner/src/webgpu/");
    check("crates", "rs", &["wgpu::", "use wgpu", "pollster::"], |name| {
        webgpu(name) || name.contains("/tests/architecture")
    });
    // What a session does is data: who drives a device elsewhere needs no wgpu for it.
    let drives = ["/adapter.rs", "/gpu.rs", "/layouts.rs", "/readback.rs", "/shader.rs", "/unchecked.rs"];
    check("crates/scanbox-runner/src/webgpu", "rs", &["wgpu::"], |name| {
        drives.iter().any(|file| name.ends_with(file))
    });
}

/// What a page without a program would be made of: wasm has no Vulkan, and no compiler of GLSL.
#[test]
fn what_wasm_has_not_is_no_dependency_there() {
    for name in ["model", "analysis", "kernels", "runner"] {
        let text = fs::read_to_string(root().join(format!("crates/scanbox-{name}/Cargo.toml"))).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap();
        for native in ["ash", "gpu-allocator", "scanbox-vk", "shaderc"] {
            assert!(!dependencies.contains_key(native), "scanbox-{name}: {native}");
        }
        let optional =
            |native: &str| dependencies.get(native).is_none_or(|of| of["optional"].as_bool() == Some(true));
        assert!(optional("wgpu"), "scanbox-{name}: wgpu");
    }
}

#[test]
fn the_loops_name_no_backend_and_no_parameter_of_a_kernel() {
    let loops = |name: &str| {
        ["/sweep.rs", "/verify.rs", "/session.rs"].iter().any(|file| name.ends_with(file))
            || name.contains("/src/bench")
    };
    let backends = [
        "vulkan",
        "Vulkan",
        "webgpu",
        "WebGpu",
        "replay",
        "Replay",
        "chained_scan",
        "ChainedScan",
        "create_pipelines",
    ];
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
        // labels. A pack that comes from a file has nothing but labels.
        let knows_labels_alone = ["/replay.rs", "/packing.rs"].iter().any(|file| name.ends_with(file));
        !product(name) || name.starts_with("crates/scanbox-analysis/") || knows_labels_alone
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
        "/lookback/gather_fallback.glsl",
        "/lookback/onward_fallback.glsl",
        "/compare.comp",
        "/compare_sums.comp",
        "/laws.glsl",
        "/operator_laws.comp",
    ];
    for ending in ["glsl", "comp"] {
        check("kernels/glsl", ending, &["atomic"], |name| {
            allowed.iter().any(|allowed| name.ends_with(allowed))
        });
    }
    let in_wgsl = ["/state/tile_state.wgsl", "/compare.wgsl", "/compare_sums.wgsl", "/read.wgsl"];
    check("kernels/wgsl", "wgsl", &["atomic"], |name| in_wgsl.iter().any(|allowed| name.ends_with(allowed)));
    // Those within a workgroup see shared memory alone.
    for stage in ["rendezvous_flags.glsl", "back_off.glsl", "gather_fallback.glsl", "onward_fallback.glsl"] {
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
