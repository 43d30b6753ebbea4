//! shaderc: the only file that names it. In wasm there is none (`no_tools`).

use super::{CompileError, GlslText};

/// Compiles a text to SPIR-V; `shader` is what the error calls it.
///
/// # Errors
/// When it does not compile.
pub(super) fn spirv(glsl: &GlslText<'_>, shader: &str) -> Result<Vec<u32>, CompileError> {
    let (compiler, options) = tools(glsl)?;
    let kind = shaderc::ShaderKind::Compute;
    let artifact = compiler.compile_into_spirv(glsl.text, kind, glsl.name, "main", Some(&options));
    Ok(artifact.map_err(|error| CompileError::of(shader, &error.to_string()))?.as_binary().to_vec())
}

/// The same without optimization and with the names and lines of the text: for looking at what functions do.
///
/// # Errors
/// When it does not compile.
pub(super) fn unoptimized(glsl: &GlslText<'_>, shader: &str) -> Result<Vec<u32>, CompileError> {
    let (compiler, mut options) = tools(glsl)?;
    options.set_optimization_level(shaderc::OptimizationLevel::Zero);
    options.set_generate_debug_info();
    let kind = shaderc::ShaderKind::Compute;
    let artifact = compiler.compile_into_spirv(glsl.text, kind, glsl.name, "main", Some(&options));
    Ok(artifact.map_err(|error| CompileError::of(shader, &error.to_string()))?.as_binary().to_vec())
}

/// The text behind the preprocessor.
///
/// # Errors
/// When it cannot be read.
pub(super) fn preprocessed(glsl: &GlslText<'_>, shader: &str) -> Result<String, CompileError> {
    let (compiler, options) = tools(glsl)?;
    let artifact = compiler.preprocess(glsl.text, glsl.name, "main", Some(&options));
    Ok(artifact.map_err(|error| CompileError::of(shader, &error.to_string()))?.as_text())
}

/// shaderc, and how it has to compile a text.
fn tools<'a>(
    glsl: &'a GlslText<'_>,
) -> Result<(shaderc::Compiler, shaderc::CompileOptions<'a>), CompileError> {
    let none = |error: shaderc::Error| CompileError::Compiler(error.to_string());
    let compiler = shaderc::Compiler::new().map_err(none)?;
    let mut options = shaderc::CompileOptions::new().map_err(none)?;
    options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_3 as u32);
    options.set_optimization_level(shaderc::OptimizationLevel::Performance);
    options.set_warnings_as_errors();
    for (name, value) in glsl.defines {
        options.add_macro_definition(name, Some(&value.to_string()));
    }
    options.set_include_callback(|requested, _, includer, _| {
        let (resolved_name, content) = (glsl.include)(includer, requested)?;
        Ok(shaderc::ResolvedInclude { resolved_name, content })
    });
    Ok((compiler, options))
}
