//! Shaders as one text: for engines that take GLSL, and have neither our includes nor our defines.

use scanbox_model::api::Api;

use super::{CompileError, Compiler, GlslText, failed, tools};
use crate::plan::Shader;

impl Compiler {
    /// A shader as one text without includes, defines and comments, which compiles to the same SPIR-V
    /// ([`compile_flat`]). `head` stands in front of the code, as comments.
    ///
    /// # Errors
    /// When the source does not compile.
    pub fn flat(&self, shader: &Shader, head: &[String]) -> Result<String, CompileError> {
        let flat = self.with_text(shader, tools::preprocessed)?;
        let mut text = String::new();
        // Lines of other files are no lines of this one, and what asks for includes asks for nothing here.
        let is_code = |line: &&str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("#line") && !line.contains("GL_GOOGLE_include_directive")
        };
        for line in flat.lines().filter(is_code) {
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

impl Compiler {
    /// The sources that a shader is made of, its root first, in the order in which the preprocessor enters them; those
    /// of which nothing but comments is left are not among them.
    ///
    /// # Errors
    /// When the source does not compile.
    pub fn files(&self, shader: &Shader) -> Result<Vec<String>, CompileError> {
        if shader.api() == Api::WebGpu {
            return self.wgsl.files(shader).map_err(|wrong| failed(shader, &wrong));
        }
        let text = self.with_text(shader, tools::preprocessed)?;
        let mut files: Vec<(String, bool)> = vec![(shader.root.to_owned(), true)];
        let mut current = 0;
        for line in text.lines().map(str::trim) {
            if let Some(named) = line.strip_prefix("#line") {
                let name = named.split('"').nth(1).unwrap_or(shader.root);
                current = files.iter().position(|(file, _)| file == name).unwrap_or_else(|| {
                    files.push((name.to_owned(), false));
                    files.len() - 1
                });
            } else if !line.is_empty() {
                files[current].1 = true;
            }
        }
        Ok(files.into_iter().filter(|(_, says)| *says).map(|(file, _)| file).collect())
    }
}

/// Compiles a text without includes, as shaders are compiled.
///
/// # Errors
/// When it does not compile.
pub fn compile_flat(text: &str, name: &str) -> Result<Vec<u32>, CompileError> {
    let include = |_: &str, requested: &str| Err(format!("there is no source {requested}"));
    tools::spirv(&GlslText { text, name, defines: &[], include: &include }, name)
}
