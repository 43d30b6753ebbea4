//! Completes the static link of shaderc, and rebuilds this crate when a kernel source changes.
//!
//! Debian's `libshaderc_combined.a` is not as combined as its name says: it leaves out glslang and SPIRV-Tools, which
//! Debian ships as archives of their own. Where the archive that the `shaderc` crate links is such a one, the missing
//! archives are taken from beside it. A complete one (Vulkan SDK, own build, `shaderc-from-source`) gets nothing.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Without these no glslang links.
const REQUIRED: [&str; 3] = ["glslang", "SPIRV-Tools-opt", "SPIRV-Tools"];

/// What glslang kept in archives of its own before release 15. That release leaves stand-ins.
const PARTS: [&str; 6] =
    ["MachineIndependent", "GenericCodeGen", "OSDependent", "OGLCompiler", "SPIRV", "HLSL"];

/// A member of a class of glslang. The prefix of the class alone would not do: shaderc's own functions name it in the
/// types of their parameters.
const GLSLANG: &[u8] = b"_ZN7glslang7TShader";

/// The only symbol of a stand-in, and the same one in each.
const STAND_IN: &[u8] = b"stub_library_function";

fn main() {
    // The sources are embedded by a macro, whose inputs cargo does not see.
    println!("cargo::rerun-if-changed=../../kernels/glsl");
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["SHADERC_LIB_DIR", "VULKAN_SDK", "SHADERC_NO_PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if env::var_os("CARGO_FEATURE_SHADERC_FROM_SOURCE").is_some() {
        return;
    }
    let Some(folder) = shaderc_folder() else { return };
    let combined = folder.join("libshaderc_combined.a");
    let Some(complete) = defines(&combined, GLSLANG) else { return };
    println!("cargo::rerun-if-changed={}", combined.display());
    if complete {
        return;
    }
    println!("cargo::rustc-link-search=native={}", folder.display());
    let file = |archive: &str| folder.join(format!("lib{archive}.a"));
    if let Some(missing) = REQUIRED.into_iter().find(|archive| !file(archive).exists()) {
        println!(
            "cargo::error={} needs lib{missing}.a beside it: run scripts/setup, or install glslang-dev and \
             spirv-tools, or build with --features scanbox-kernels/shaderc-from-source",
            combined.display()
        );
    }
    let parts =
        PARTS.into_iter().filter(|part| file(part).exists() && defines(&file(part), STAND_IN) != Some(true));
    for archive in REQUIRED.into_iter().chain(parts) {
        // Whole, because this crate comes before shaderc on the linker's command line and GNU ld reads an archive
        // once: it would take nothing from it. The binary grows by about 1 %.
        println!("cargo::rustc-link-lib=static:+whole-archive,-bundle={archive}");
    }
}

/// The folder that the `shaderc` crate searches, in its order.
fn shaderc_folder() -> Option<PathBuf> {
    if let Some(folder) = env::var_os("SHADERC_LIB_DIR") {
        return Some(PathBuf::from(folder));
    }
    if let Some(sdk) = env::var_os("VULKAN_SDK") {
        return Some(Path::new(&sdk).join("lib"));
    }
    if env::var("CARGO_CFG_TARGET_OS").ok()? != "linux" {
        return None;
    }
    pkg_config_folder().or_else(|| {
        let arch = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
        Some(PathBuf::from(format!("/usr/lib/{arch}-linux-gnu")))
    })
}

fn pkg_config_folder() -> Option<PathBuf> {
    if env::var_os("SHADERC_NO_PKG_CONFIG").is_some() || env::var("HOST") != env::var("TARGET") {
        return None;
    }
    let output = Command::new("pkg-config").args(["--variable=libdir", "shaderc"]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    let folder = folder.trim();
    (output.status.success() && !folder.is_empty()).then(|| PathBuf::from(folder))
}

/// Whether an archive's symbol index, its first member, has a name with this in it: that is, whether it defines one.
/// None where there is no such index.
fn defines(archive: &Path, symbol: &[u8]) -> Option<bool> {
    let mut file = File::open(archive).ok()?;
    // 8 bytes of magic, then a header of 60: name in bytes 0 to 15, size in decimal in bytes 48 to 57.
    let mut start = [0; 68];
    file.read_exact(&mut start).ok()?;
    let (name, size) = (&start[8..24], &start[56..66]);
    if name.trim_ascii() != b"/" {
        return None;
    }
    let size: u64 = str::from_utf8(size).ok()?.trim().parse().ok()?;
    let mut index = Vec::new();
    file.take(size).read_to_end(&mut index).ok()?;
    Some(index.windows(symbol.len()).any(|window| window == symbol))
}
