//! The shaders that ask a device what it keeps beyond what Vulkan promises: apart from the kernels, whose hash they
//! have no part in.

use std::fmt::Write;

use include_dir::{Dir, include_dir};

use super::{CompileError, GlslText, failed, hash_text, tools};
use crate::plan::{Code, Module, Shader};

static PROBES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../kernels/probes");

/// The name of what is written here.
const HELD: &str = "held.glsl";

/// What a probe asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProbeShader {
    /// How long a round of a wait takes.
    Speed,
    /// Whether workgroups start in the order of their numbers.
    Order,
    /// Whether subgroups of a workgroup make progress independently.
    Subgroups,
    /// Whether workgroups that have started make progress.
    Progress,
    /// How many workgroups are there at the same time, each with these registers per invocation and words of shared
    /// memory taken.
    Residents {
        /// Registers that are held, beside those that the question itself takes.
        held: u32,
        /// Words of shared memory.
        shared_words: u32,
    },
    /// Traffic to and from memory beside any of them.
    Load,
}

/// Registers per invocation that resident workgroups are counted with: in steps of eight up to what most kernels take,
/// and in wider ones up to the most that an invocation can have.
pub const COUNTED_REGISTERS: [u32; 20] =
    [24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 152, 168, 192, 224, 255];

impl ProbeShader {
    /// The shader for workgroups of this size.
    #[must_use]
    pub fn shader(self, workgroup_size: u32, subgroup_size: u32) -> Shader {
        let (root, of_its_own) = match self {
            Self::Speed => ("waits.comp", vec![("QUESTION", 0)]),
            Self::Order => ("waits.comp", vec![("QUESTION", 1)]),
            Self::Subgroups => ("waits.comp", vec![("QUESTION", 2)]),
            Self::Progress => ("waits.comp", vec![("QUESTION", 3)]),
            Self::Residents { held, shared_words } => {
                ("residents.comp", vec![("HELD", held), ("SHARED_WORDS", shared_words)])
            }
            Self::Load => ("load.comp", Vec::new()),
        };
        let mut defines = vec![("WORKGROUP_SIZE", workgroup_size), ("SUBGROUP_SIZE", subgroup_size)];
        defines.extend(of_its_own);
        Shader { root, defines, workgroup_size, subgroup_size, operator_file: false }
    }
}

/// Registers that an invocation of a probe holds, where it is one that holds some.
#[must_use]
pub fn held_by(shader: &Shader) -> Option<u32> {
    shader.defines.iter().find(|(name, _)| *name == "HELD").map(|(_, held)| *held)
}

/// Compiles a shader of a probe.
///
/// # Errors
/// When it does not compile.
pub fn compile_probe(shader: &Shader) -> Result<Module, CompileError> {
    let held = held_by(shader).unwrap_or(0);
    let include = |_: &str, requested: &str| {
        let content = match (requested, source(requested)) {
            (HELD, _) => text_of_held(held),
            (_, Some(text)) => text.to_owned(),
            (_, None) => return Err(format!("there is no source {requested} of a probe")),
        };
        Ok((requested.to_owned(), content))
    };
    let text = source(shader.root).ok_or_else(|| failed(shader, "there is no such probe"))?;
    let glsl = GlslText { text, name: shader.root, defines: &shader.defines, include: &include };
    let compiled = tools::spirv(&glsl, &shader.to_string())?;
    Ok(Module { shader: shader.clone(), code: Code::Spirv(compiled.into()), compile_ms: 0 })
}

/// What tells versions of all probes apart.
#[must_use]
pub fn probe_hash() -> String {
    let mut hasher = blake3::Hasher::new();
    let mut files: Vec<_> = PROBES.files().collect();
    files.sort_by_key(|file| file.path());
    for file in files {
        hash_text(&mut hasher, &file.path().to_string_lossy());
        hash_text(&mut hasher, file.contents_utf8().unwrap_or_default());
    }
    hash_text(&mut hasher, &text_of_held(2));
    hash_text(&mut hasher, &format!("{COUNTED_REGISTERS:?}"));
    hasher.finalize().to_hex()[..16].to_owned()
}

fn source(name: &str) -> Option<&'static str> {
    PROBES.get_file(name)?.contents_utf8()
}

/// Takes so many registers and uses them at the end: as variables of their own, because a driver may put an array
/// elsewhere.
fn text_of_held(held: u32) -> String {
    let mut text = String::new();
    for at in 0..held {
        let _ = writeln!(text, "uint held_{at};");
    }
    text.push_str("void hold() {\n");
    for at in 0..held {
        let _ = writeln!(text, "    held_{at} = HOLD({at}u);");
    }
    text.push_str("}\nuint release(uint all) {\n");
    for at in 0..held {
        let _ = writeln!(text, "    all = (all ^ held_{at}) * 0x01000193u;");
    }
    text.push_str("    return all;\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_compiles() {
        for probe in [
            ProbeShader::Speed,
            ProbeShader::Order,
            ProbeShader::Subgroups,
            ProbeShader::Progress,
            ProbeShader::Residents { held: 0, shared_words: 1 },
            ProbeShader::Residents { held: 160, shared_words: 1024 },
            ProbeShader::Load,
        ] {
            let module = compile_probe(&probe.shader(64, 32)).unwrap();
            assert_eq!(module.code.spirv().unwrap().first(), Some(&super::super::SPIRV_MAGIC), "{probe:?}");
        }
        assert_eq!(probe_hash().len(), 16);
    }
}
