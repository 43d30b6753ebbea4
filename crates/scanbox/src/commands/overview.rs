//! `scanbox` alone: what is on this machine, and what to do next. Nothing is measured or written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use scanbox_model::metadata::Metadata;
use scanbox_report::document::Format;
use scanbox_report::overview::{FoundFile, Overview};
use scanbox_session::device::backends;
use scanbox_session::tools::Tools;

use crate::answer::{answered, print};
use crate::exit::Exit;

/// Folders of this one in which files of rows are looked for, at most.
const FOLDERS_AT_MOST: usize = 100;

/// Looks around.
pub fn run(tools: &Tools) -> anyhow::Result<Exit> {
    let devices = backends::devices(tools).map_err(|error| error.to_string());
    let mut files: Vec<(SystemTime, FoundFile)> =
        folders().iter().flat_map(|folder| files_in(folder)).collect();
    files.sort_by(|(one, file), (other, another)| other.cmp(one).then_with(|| file.path.cmp(&another.path)));
    let overview = Overview {
        devices,
        files: files.into_iter().map(|(_, file)| file).collect(),
        places: "this folder and those in it".to_owned(),
    };
    let exit = if overview.first_device().is_some() { Exit::Done } else { Exit::NoDevice };
    answered(print(&overview, Format::Table), exit)
}

/// This folder and those in it, but for hidden ones.
fn folders() -> Vec<String> {
    let entries = fs::read_dir(".").into_iter().flatten().flatten();
    let names = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    names.truncate(FOLDERS_AT_MOST);
    names.push(".".to_owned());
    names
}

/// The files of rows in a folder with the metadata that says what they are, and when that was written.
fn files_in(folder: &str) -> Vec<(SystemTime, FoundFile)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let beside = entry.path();
        let name = entry.file_name();
        let stem = name.to_str()?.strip_suffix(".meta.json")?;
        let path = match folder {
            "." => PathBuf::from(format!("{stem}.csv")),
            folder => Path::new(folder).join(format!("{stem}.csv")),
        };
        let written = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
        let metadata = Metadata::read(&beside).ok().filter(|_| path.is_file())?;
        Some((written, FoundFile { path, metadata }))
    });
    found.collect()
}
