//! Completes the static link of shaderc.
//!
//! Debian's `libshaderc_combined.a` is not as combined as its name says: it leaves out glslang and SPIRV-Tools, which
//! Debian ships as archives of their own. Where those stand beside it, they are linked too. With a shaderc from
//! elsewhere (the Vulkan SDK, the crate's `build-from-source`) nothing is added.

use std::env;
use std::path::{Path, PathBuf};

/// In the order of their dependencies, for linkers that read archives once.
const ARCHIVES: [&str; 9] = [
    "glslang",
    "MachineIndependent",
    "GenericCodeGen",
    "OSDependent",
    "OGLCompiler",
    "SPIRV",
    "HLSL",
    "SPIRV-Tools-opt",
    "SPIRV-Tools",
];

fn main() {
    println!("cargo::rerun-if-env-changed=SHADERC_LIB_DIR");
    println!("cargo::rerun-if-env-changed=VULKAN_SDK");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../kernels/glsl");
    let Some(folder) = debian_folder() else { return };
    println!("cargo::rustc-link-search=native={}", folder.display());
    for archive in ARCHIVES.iter().filter(|archive| folder.join(format!("lib{archive}.a")).exists()) {
        println!("cargo::rustc-link-lib=static:-bundle={archive}");
    }
    println!("cargo::rustc-link-lib=dylib=stdc++");
}

/// The folder where Debian keeps the archives, unless shaderc comes from elsewhere.
fn debian_folder() -> Option<PathBuf> {
    if env::var_os("VULKAN_SDK").is_some() && env::var_os("SHADERC_LIB_DIR").is_none() {
        return None;
    }
    let multiarch = match env::var("CARGO_CFG_TARGET_ARCH").ok()?.as_str() {
        "x86_64" => "x86_64-linux-gnu",
        "aarch64" => "aarch64-linux-gnu",
        _ => return None,
    };
    let folder = env::var_os("SHADERC_LIB_DIR").map_or(Path::new("/usr/lib").join(multiarch), PathBuf::from);
    let complete = ["libshaderc_combined.a", "libglslang.a", "libSPIRV-Tools.a"];
    complete.iter().all(|archive| folder.join(archive).exists()).then_some(folder)
}
