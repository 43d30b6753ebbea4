//! GLSL to SPIR-V at run time, from sources embedded in the binary or a folder, with a cache on disk. Shaders in WGSL
//! are made of theirs ([`crate::wgsl`]), which takes no time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use include_dir::{Dir, include_dir};
use rayon::prelude::*;
use scanbox_model::api::Api;

use crate::operator_file::{OperatorFile, TEXT_NAME};
use crate::plan::{Code, Module, Shader};
use crate::wgsl::WgslSources;

mod apart;
mod config_source;
mod flat;
mod memory_order;
mod probes;
mod purity;
mod spirv;
#[cfg(not(target_family = "wasm"))]
mod tools;
#[cfg(target_family = "wasm")]
#[path = "glsl/no_tools.rs"]
mod tools;
mod unset;

pub use flat::compile_flat;
pub use probes::{COUNTED_REGISTERS, ProbeShader, compile_probe, held_by, probe_hash};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../kernels/glsl");

/// What names of sources end in.
const ENDINGS: [&str; 3] = ["glsl", "comp", "wgsl"];
/// The first word of every SPIR-V module.
const SPIRV_MAGIC: u32 = 0x0723_0203;
/// Goes into the key of the cache: change it when the options below change.
const OPTIONS: &str = "vulkan1.3, optimize for performance, warnings are errors, late subgroups apart, \
                       shared words unset, memory order 2";

/// Why there is no SPIR-V.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A folder of kernel sources cannot be read.
    #[error("kernel sources {path}")]
    Sources {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// shaderc could not be started.
    #[error("shaderc: {0}")]
    Compiler(String),
    /// The source does not compile.
    #[error("{log} ({shader})")]
    Shader {
        /// Root file and defines.
        shader: String,
        /// What the compiler says.
        log: String,
    },
}

impl CompileError {
    fn of(shader: &str, log: &str) -> Self {
        Self::Shader { shader: shader.to_owned(), log: log.trim().to_owned() }
    }
}

/// What an include is: its name for messages, and its text; by its includer and the name that is asked for.
type Include<'a> = &'a dyn Fn(&str, &str) -> Result<(String, String), String>;

/// A text in GLSL, and what it is compiled with.
struct GlslText<'a> {
    text: &'a str,
    name: &'a str,
    defines: &'a [(&'static str, u32)],
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "no compiler is there to ask"))]
    include: Include<'a>,
}

/// Compiles shaders.
#[derive(Debug)]
pub struct Compiler {
    sources: BTreeMap<String, Cow<'static, str>>,
    wgsl: WgslSources,
    cache: Option<PathBuf>,
    operator: Option<OperatorFile>,
}

impl Compiler {
    /// A compiler of the embedded sources, or of those in a folder (in WGSL the embedded ones, if it has none); SPIR-V
    /// is kept in the folder `cache`, if given.
    ///
    /// # Errors
    /// When the folder of sources cannot be read.
    pub fn new(sources: Option<&Path>, cache: Option<PathBuf>) -> Result<Self, CompileError> {
        let mut all = BTreeMap::new();
        match sources {
            Some(folder) => read_folder(folder, folder, &mut all)?,
            None => read_embedded(&EMBEDDED, &mut all),
        }
        let (wgsl, mut glsl): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(path, _)| path.ends_with(".wgsl"));
        glsl.insert(config_source::NAME.to_owned(), Cow::Owned(config_source::text()));
        let wgsl = if wgsl.is_empty() { WgslSources::embedded() } else { WgslSources::new(wgsl) };
        Ok(Self { sources: glsl, wgsl, cache, operator: None })
    }

    /// The same compiler, which also compiles shaders of this operator.
    #[must_use]
    pub fn with_operator(self, operator: OperatorFile) -> Self {
        Self { operator: Some(operator), ..self }
    }

    /// That operator.
    #[must_use]
    pub fn operator(&self) -> Option<&OperatorFile> {
        self.operator.as_ref()
    }

    /// Hash of all kernel sources in GLSL: the `kernel_hash` of records. That of a user's operator is a column of its
    /// own.
    #[must_use]
    pub fn kernel_hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, text) in &self.sources {
            hash_text(&mut hasher, path);
            hash_text(&mut hasher, text);
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The same of the sources that an API takes.
    #[must_use]
    pub fn kernel_hash_of(&self, api: Api) -> String {
        match api {
            Api::Vulkan => self.kernel_hash(),
            Api::WebGpu => self.wgsl.hash(),
        }
    }

    /// The text of a source, as it is compiled.
    #[must_use]
    pub fn source(&self, path: &str) -> Option<&str> {
        match path.ends_with(".wgsl") {
            true => self.wgsl.text(path),
            false => self.sources.get(path).map(|text| &**text),
        }
    }

    /// Compiles many shaders on all cores; one outcome per shader, in order.
    pub fn compile_all(&self, shaders: &[Shader]) -> Vec<Result<Module, CompileError>> {
        shaders.par_iter().map(|shader| self.compile(shader)).collect()
    }

    /// Compiles one shader, or takes it from the cache.
    ///
    /// # Errors
    /// When the source does not compile.
    pub fn compile(&self, shader: &Shader) -> Result<Module, CompileError> {
        if shader.api() == Api::WebGpu {
            let text = self.wgsl.generate(shader).map_err(|wrong| failed(shader, &wrong))?;
            return Ok(Module { shader: shader.clone(), code: Code::Wgsl(text.into()), compile_ms: 0 });
        }
        let cached = self.cache.as_ref().map(|folder| folder.join(format!("{}.spv", self.key(shader))));
        if let Some(words) = cached.as_deref().and_then(read_cached) {
            return Ok(Module { shader: shader.clone(), code: Code::Spirv(words.into()), compile_ms: 0 });
        }
        let start = Instant::now();
        let spirv = self.compile_uncached(shader)?;
        let compile_ms = start.elapsed().as_millis().max(1) as u64;
        if let Some(path) = cached {
            // A cache that cannot be written costs time in the next run, nothing else.
            let _ = write_cached(&path, &spirv);
        }
        Ok(Module { shader: shader.clone(), code: Code::Spirv(spirv.into()), compile_ms })
    }

    fn compile_uncached(&self, shader: &Shader) -> Result<Vec<u32>, CompileError> {
        let words = self.with_text(shader, tools::spirv)?;
        if let Some(wrong) = memory_order::unordered(&words, memory_order::Duties::of(shader)) {
            return Err(failed(shader, wrong));
        }
        let is_late = shader.defines.iter().any(|(name, value)| (*name, *value) == ("LATE", 1));
        Ok(if is_late { apart::subgroups_apart(&unset::with_garbage(&words)) } else { words })
    }

    /// The text of its root file.
    fn root(&self, shader: &Shader) -> Result<&str, CompileError> {
        self.source(shader.root).ok_or_else(|| failed(shader, "there is no such kernel source"))
    }

    /// Does something with the text of a shader, and what it is compiled with.
    fn with_text<T>(
        &self,
        shader: &Shader,
        act: impl FnOnce(&GlslText<'_>, &str) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        let include = |includer: &str, requested: &str| {
            let path = self.include_path(includer, requested);
            let found = self.sources.get(&path).map(|text| (path.clone(), text.to_string()));
            // Of a user's file the compiler shall say the path that the user knows.
            found
                .or_else(|| self.operator_source(&path))
                .ok_or_else(|| format!("there is no kernel source {path}"))
        };
        let text = self.root(shader)?;
        let defines = &shader.defines;
        act(&GlslText { text, name: shader.root, defines, include: &include }, &shader.to_string())
    }

    /// What a stage includes of a user's operator: its name for the compiler, and its text.
    fn operator_source(&self, path: &str) -> Option<(String, String)> {
        let operator = self.operator.as_ref()?;
        let name = path.strip_prefix("stages/tile/")?;
        if name == TEXT_NAME {
            let source = operator.source();
            return Some((source.path.clone(), source.text.clone()));
        }
        (name == "operator_file.glsl").then(|| (path.to_owned(), operator.glue().to_owned()))
    }

    /// The key of a shader in the cache: everything that decides its SPIR-V.
    fn key(&self, shader: &Shader) -> String {
        let mut hasher = blake3::Hasher::new();
        hash_text(&mut hasher, OPTIONS);
        hash_text(&mut hasher, env!("CARGO_PKG_VERSION"));
        hash_text(&mut hasher, &shader.to_string());
        let mut closure = BTreeMap::new();
        self.collect(shader.root, &mut closure);
        for (path, text) in closure {
            hash_text(&mut hasher, path);
            hash_text(&mut hasher, text);
        }
        if let Some(operator) = self.operator.as_ref().filter(|_| shader.operator_file) {
            hash_text(&mut hasher, operator.glue());
            hash_text(&mut hasher, &operator.source().text);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// The path of an include. Sources name each other from their root; anything else stands beside its includer.
    fn include_path(&self, includer: &str, requested: &str) -> String {
        let both_are_sources = [includer, requested].iter().all(|path| self.sources.contains_key(*path));
        match includer.rsplit_once('/') {
            Some((folder, _)) if !both_are_sources => format!("{folder}/{requested}"),
            _ => requested.to_owned(),
        }
    }

    /// All sources that a source may include, whatever its conditions say.
    fn collect<'a>(&'a self, path: &str, closure: &mut BTreeMap<&'a str, &'a str>) {
        let Some((path, text)) = self.sources.get_key_value(path) else { return };
        if closure.insert(path, text).is_some() {
            return;
        }
        for line in text.lines() {
            if let Some(name) =
                line.trim().strip_prefix("#include \"").and_then(|rest| rest.split('"').next())
            {
                self.collect(&self.include_path(path, name), closure);
            }
        }
    }
}

fn failed(shader: &Shader, log: &str) -> CompileError {
    CompileError::of(&shader.to_string(), log)
}

/// Hashes a text with its length, so that no two sequences of texts look alike.
fn hash_text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

fn read_embedded(folder: &'static Dir<'static>, all: &mut BTreeMap<String, Cow<'static, str>>) {
    for file in folder.files() {
        let text = file.contents_utf8().expect("kernel sources are UTF-8");
        all.insert(file.path().to_string_lossy().into_owned(), Cow::Borrowed(text));
    }
    folder.dirs().for_each(|folder| read_embedded(folder, all));
}

fn read_folder(
    root: &Path,
    folder: &Path,
    all: &mut BTreeMap<String, Cow<'static, str>>,
) -> Result<(), CompileError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| CompileError::Sources { path, source }
    };
    for entry in fs::read_dir(folder).map_err(failed(folder))? {
        let path = entry.map_err(failed(folder))?.path();
        if path.is_dir() {
            read_folder(root, &path, all)?;
        } else if path.extension().is_some_and(|extension| ENDINGS.iter().any(|known| extension == *known)) {
            let text = fs::read_to_string(&path).map_err(failed(&path))?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            all.insert(name, Cow::Owned(text));
        }
    }
    Ok(())
}

/// The words of a cached module: a hash of the words, then the words. `None` for anything else.
fn read_cached(path: &Path) -> Option<Vec<u32>> {
    let bytes = fs::read(path).ok()?;
    let (hash, body) = bytes.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(body).as_bytes() != hash {
        return None;
    }
    let words: Vec<u32> =
        body.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    (words.first() == Some(&SPIRV_MAGIC)).then_some(words)
}

fn write_cached(path: &Path, words: &[u32]) -> std::io::Result<()> {
    let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut bytes = blake3::hash(&body).as_bytes().to_vec();
    bytes.extend(body);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Written beside its place and renamed: another process sees all of it or nothing.
    let partial =
        path.with_extension(format!("partial-{}-{:?}", std::process::id(), std::thread::current().id()));
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}
