//! Where there is no shaderc: in wasm, which has devices for WGSL alone.

use super::{CompileError, GlslText};

fn none<T>(glsl: &GlslText<'_>) -> Result<T, CompileError> {
    let GlslText { name, text, defines, .. } = glsl;
    let told =
        format!("this build has no compiler for {name} ({} bytes, {} defines)", text.len(), defines.len());
    Err(CompileError::Compiler(told))
}

pub(super) fn spirv(glsl: &GlslText<'_>, _: &str) -> Result<Vec<u32>, CompileError> {
    none(glsl)
}

pub(super) fn unoptimized(glsl: &GlslText<'_>, _: &str) -> Result<Vec<u32>, CompileError> {
    none(glsl)
}

pub(super) fn preprocessed(glsl: &GlslText<'_>, _: &str) -> Result<String, CompileError> {
    none(glsl)
}
