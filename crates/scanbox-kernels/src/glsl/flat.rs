//! Shaders as one text: for engines that take GLSL, and have neither our includes nor our defines.

use super::{CompileError, Compiler, failed, plain_tools};
use crate::plan::Shader;

impl Compiler {
    /// A shader as one text without includes, defines and comments, which compiles to the same SPIR-V
    /// ([`compile_flat`]). `head` stands in front of the code, as comments.
    ///
    /// # Errors
    /// When the source does not compile.
    pub fn flat(&self, shader: &Shader, head: &[String]) -> Result<String, CompileError> {
        let (compiler, options) = self.tools(shader)?;
        let flat = compiler
            .preprocess(self.root(shader)?, shader.root, "main", Some(&options))
            .map_err(|error| failed(shader, &error.to_string()))?;
        let mut text = String::new();
        // Lines of other files are no lines of this one, and what asks for includes asks for nothing here.
        let is_code = |line: &&str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("#line") && !line.contains("GL_GOOGLE_include_directive")
        };
        for line in flat.as_text().lines().filter(is_code) {
            text.push_str(line.trim_end());
            text.push('\n');
            // Nothing but comments may stand in front of the version, and some compilers want it first of all.
            if line.starts_with("#version") {
                head.iter().for_each(|line| text.push_str(&format!("// {line}\n")));
            }
        }
        Ok(text)
    }
}

/// Compiles a text without includes, as shaders are compiled.
///
/// # Errors
/// When it does not compile.
pub fn compile_flat(text: &str, name: &str) -> Result<Vec<u32>, CompileError> {
    let (compiler, options) = plain_tools()?;
    let failed = |error: shaderc::Error| CompileError::Shader {
        shader: name.to_owned(),
        log: error.to_string().trim().to_owned(),
    };
    let kind = shaderc::ShaderKind::Compute;
    let artifact = compiler.compile_into_spirv(text, kind, name, "main", Some(&options)).map_err(failed)?;
    Ok(artifact.as_binary().to_vec())
}
