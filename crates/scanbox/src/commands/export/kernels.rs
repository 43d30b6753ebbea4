//! The kernels that win, as files: for engines that take nothing but shaders.

use std::path::{Path, PathBuf};

use anyhow::Context;
use scanbox_model::units::plural;
use scanbox_pack::CallTrait;
use scanbox_pack::json::PackText;
use scanbox_report::document::write_json;
use scanbox_report::kernel_files::{head, module_file, readme};
use scanbox_session::notes::note;
use scanbox_session::origin::this_tool;
use scanbox_session::tools::Tools;

use crate::args::shipping::{RowArgs, made, wish};
use crate::exit::Exit;
use crate::inputs::operator_of;
use crate::output::{Output, OutputContent, Outputs};

/// Writes the kernels for calls that are told everything into a folder: all files of it may be written, or none is.
///
/// # Errors
/// When rows cannot be read, nothing can be shipped, or something else stands where a file belongs.
pub fn write(files: &[PathBuf], rows: &RowArgs, folder: &Path, tools: &Tools) -> anyhow::Result<Exit> {
    let mut outputs = Outputs::beside(files.iter().map(PathBuf::as_path).chain(rows.input()));
    let mut claim = |name: &str| outputs.claim("--output", &folder.join(name), OutputContent::KernelFile);
    // What is not ours is left alone before any work is done.
    let (about, recipes) = (claim("README.md")?, claim("recipe.json")?);
    let made = made(files, rows, &wish(&[CallTrait::Pushed, CallTrait::ScratchOverwritten]), tools)?;
    let data = made.pack.data();
    let (_, commit) = this_tool();
    let commit = if commit.is_empty() { "unknown" } else { &commit };
    let compiler = tools.compiler()?;
    let compiler = match &rows.operator {
        Some(path) => compiler.with_operator(operator_of("--operator", path)?),
        None => compiler,
    };
    let mut code: Vec<(Output, Vec<u8>)> = Vec::new();
    for (place, (module, shader)) in data.modules.iter().zip(&made.shaders).enumerate() {
        let name = module_file(module);
        let flat = compiler.flat(shader, &head(data, place, commit))?;
        let words = module.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        code.push((claim(&format!("{name}.spv"))?, words));
        code.push((claim(&format!("{name}.comp"))?, flat.into_bytes()));
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (output, bytes) in &code {
        output.write(|out| out.write_all(bytes))?;
    }
    recipes.write(|out| write_json(out, &PackText::from(&made.pack)))?;
    about.write_text(&readme(&made.pack, commit))?;
    note(&format!(
        "{} and {} in {}",
        plural(data.recipes.len(), "kernel"),
        plural(data.modules.len(), "module"),
        folder.display()
    ));
    Ok(Exit::Done)
}
