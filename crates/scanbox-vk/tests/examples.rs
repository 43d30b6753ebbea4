//! The shaders of the examples: their SPIR-V is checked in, so that whoever copies an example needs no compiler.

use std::fs;
use std::path::{Path, PathBuf};

use shaderc::{
    CompileOptions, Compiler, EnvVersion, OptimizationLevel, ResolvedInclude, ShaderKind, TargetEnv,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/compaction/shaders")
}

/// The SPIR-V of a shader of the examples.
fn compiled(name: &str) -> Vec<u32> {
    let mut options = CompileOptions::new().unwrap();
    options.set_target_env(TargetEnv::Vulkan, EnvVersion::Vulkan1_3 as u32);
    // What an optimiser makes of it depends on its version more than what a compiler does.
    options.set_optimization_level(OptimizationLevel::Zero);
    options.set_include_callback(|file, _, _, _| {
        let content = fs::read_to_string(folder().join(file)).map_err(|error| error.to_string())?;
        Ok(ResolvedInclude { resolved_name: file.to_owned(), content })
    });
    let source = fs::read_to_string(folder().join(name)).unwrap();
    let compiler = Compiler::new().unwrap();
    let made = compiler.compile_into_spirv(&source, ShaderKind::Compute, name, "main", Some(&options));
    made.unwrap_or_else(|error| panic!("{name}: {error}")).as_binary().to_vec()
}

#[test]
fn shaders_of_examples_are_compiled_from_their_sources() {
    let mut compared = 0;
    for name in ["mark", "scatter", "third"] {
        let path = folder().join(name).with_extension("spv");
        let expected = compiled(&format!("{name}.comp"));
        if std::env::var_os("SCANBOX_WRITE_DOCUMENTS").is_some() {
            let bytes: Vec<u8> = expected.iter().flat_map(|word| word.to_le_bytes()).collect();
            fs::write(&path, bytes).unwrap();
        }
        let there = fs::read(&path).unwrap();
        let there: Vec<u32> =
            there.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        // The third word is the version of the compiler, and another one may say the same in other words.
        if there[2] == expected[2] {
            let how = "SCANBOX_WRITE_DOCUMENTS=1 cargo test -p scanbox-vk examples::";
            assert!(there == expected, "{name}.spv is not that of {name}.comp: {how} writes it");
            compared += 1;
        }
    }
    assert!(compared == 0 || compared == 3, "compiled by several versions");
}
