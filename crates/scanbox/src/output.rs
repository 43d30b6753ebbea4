//! What may be written where: one function decides it for every output of every command.
//!
//! Nothing is destroyed by accident. A file is replaced only by another one of its own kind, and only where it is
//! certain that scanbox has written it; rows of a sweep are appended to; rows that cannot be had again, whatever a
//! command reads, and everything else is left as it is, and the command says so before it does any work.

pub mod figures;
mod kind;
#[allow(dead_code, reason = "tests read what is written")]
pub mod options;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, bail};
use scanbox_model::metadata::Metadata;
use scanbox_model::whole_file;
use scanbox_session::lock;

pub use self::kind::Kind;

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputContent {
    /// Rows of a sweep; companions beside it.
    Sweep,
    /// Rows of a benchmark; companions beside it.
    Benchmark,
    /// Rows of several sweeps; companions beside it.
    Merged,
    /// Rows of another implementation.
    Import,
    /// A page.
    Page,
    /// A picture.
    Picture,
    /// A table with this header.
    Table(String),
    /// Base and new measured in turns: a night that cannot be had again.
    Pairs,
    /// An export in the format T4.
    T4,
    /// An export as JSON.
    JsonRows,
    /// An export as CSV, which nothing tells from a sweep.
    CsvRows,
    /// Kernels for programs.
    Pack,
    /// A file among exported kernels.
    KernelFile,
}

/// The endings of what stands beside a file of rows, and what it is.
const COMPANIONS: [(&str, &str); 4] =
    [("meta.json", "metadata"), ("journal", "journal"), ("lock", "lock"), ("csv.partial", "unfinished rows")];

/// A file that no output may touch.
#[derive(Debug)]
struct Held {
    place: FileIdentity,
    what: String,
}

/// What tells files apart: the name in its folder, and, where the file is there, what the system knows it by.
#[derive(Debug, PartialEq, Eq)]
struct FileIdentity {
    name: PathBuf,
    identity: Option<(u64, u64)>,
}

impl FileIdentity {
    fn of(path: &Path) -> Self {
        let folder = whole_file::folder_of(path);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = path.file_name().map_or(folder.clone(), |name| folder.join(name));
        Self { name: path.canonicalize().unwrap_or(name), identity: identity(path) }
    }

    fn is(&self, other: &Self) -> bool {
        self.name == other.name || (self.identity.is_some() && self.identity == other.identity)
    }
}

/// The outputs of one command, against its inputs and against each other.
#[derive(Debug, Default)]
pub struct Outputs {
    held: Vec<Rc<Held>>,
}

/// A place that may be written to.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    option: &'static str,
    content: OutputContent,
    /// Inputs, and what was given to other outputs before.
    held: Vec<Rc<Held>>,
}

impl Outputs {
    /// The outputs of a command that reads these files.
    pub fn beside(inputs: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let mut outputs = Self::default();
        for path in inputs {
            let path = path.as_ref();
            let has_companions = path.extension().is_some_and(|ending| ending == "csv");
            outputs.hold(path, has_companions, &format!("an input of this command ({})", path.display()));
        }
        outputs
    }

    fn hold(&mut self, path: &Path, has_companions: bool, what: &str) {
        self.held.push(Rc::new(Held { place: FileIdentity::of(path), what: what.to_owned() }));
        // A link has them beside it, and so has what it leads to.
        let paths = [Some(path.to_owned()), path.canonicalize().ok()];
        for path in paths.into_iter().flatten().filter(|_| has_companions) {
            for (ending, name) in COMPANIONS {
                let what = format!("the {name} of {what}");
                self.held.push(Rc::new(Held { place: FileIdentity::of(&path.with_extension(ending)), what }));
            }
        }
    }

    /// A place for this content, of which `option` was the name; nothing is written yet.
    ///
    /// # Errors
    /// When something is there that must stay: the message says what, and what to do.
    pub fn claim(
        &mut self,
        option: &'static str,
        path: &Path,
        content: OutputContent,
    ) -> anyhow::Result<Output> {
        let output = Output { path: path.to_owned(), option, content, held: self.held.clone() };
        output.check()?;
        whole_file::try_place(path, output.makes_folder())
            .with_context(|| format!("{}; choose another place with {option}", path.display()))?;
        if Kind::of(path).is_ok_and(|kind| kind != Kind::Stream) {
            let rows = matches!(
                output.content,
                OutputContent::Sweep | OutputContent::Merged | OutputContent::Benchmark
            );
            self.hold(path, rows, &format!("what this command writes with {option} ({})", path.display()));
        }
        Ok(output)
    }

    /// A folder for files of this command, which need not be there yet.
    ///
    /// # Errors
    /// When something else is there.
    pub fn claim_folder(&self, option: &'static str, path: &Path) -> anyhow::Result<()> {
        let kind = Kind::of(path).with_context(|| path.display().to_string())?;
        if !matches!(kind, Kind::Nothing | Kind::Folder) {
            bail!("{} is {}; choose another folder with {option}", path.display(), kind.describe());
        }
        Ok(())
    }
}

impl Output {
    /// Whether who writes the content makes its folder.
    fn makes_folder(&self) -> bool {
        match self.content {
            OutputContent::Sweep
            | OutputContent::Benchmark
            | OutputContent::Merged
            | OutputContent::Import
            | OutputContent::KernelFile => true,
            OutputContent::Page
            | OutputContent::Picture
            | OutputContent::Table(_)
            | OutputContent::Pairs
            | OutputContent::T4
            | OutputContent::JsonRows
            | OutputContent::CsvRows
            | OutputContent::Pack => matches!(self.option, "--plots" | "--folder"),
        }
    }

    /// Whether the content may be written now.
    ///
    /// # Errors
    /// As [`Outputs::claim`].
    pub fn check(&self) -> anyhow::Result<()> {
        let Self { path, option, content, held } = self;
        check_one(path, option, content, held)?;
        let companions: &[(&str, &[Kind])] = match content {
            OutputContent::Sweep | OutputContent::Merged => &[
                ("meta.json", &[Kind::SweepMetadata, Kind::TornMetadata]),
                ("journal", &[Kind::Journal]),
                ("lock", &[Kind::Lock]),
            ],
            OutputContent::Benchmark => &[
                ("meta.json", &[Kind::BenchmarkMetadata, Kind::TornMetadata]),
                ("csv.partial", &[Kind::Benchmark, Kind::NoRows]),
            ],
            _ => &[],
        };
        let is_sweep = !companions.is_empty() && matches!(Kind::of(path), Ok(Kind::Sweep));
        for (ending, kinds) in companions {
            let beside = if *ending == "lock" { lock::beside(path) } else { path.with_extension(ending) };
            let kind = look(&beside, option, held)?;
            if let Some(target) = leads_elsewhere(&beside, path, ending) {
                let what = format!("a link to {}, which is not of these rows", target.display());
                return refuse(&beside, &what, option);
            }
            // Beside rows that are there, what is no text, or just begins, is what a crash has left of a companion.
            let is_damaged = is_sweep && matches!(kind, Kind::Bytes | Kind::Piece);
            if !matches!(kind, Kind::Nothing | Kind::Empty) && !kinds.contains(&kind) && !is_damaged {
                return refuse(&beside, kind.describe(), option);
            }
        }
        Ok(())
    }

    /// Writes the content, if it may still be written; whoever looks sees the file before or the new one.
    ///
    /// # Errors
    /// When something is there now that must stay, or the system says no; what was there is there still.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        self.check()?;
        whole_file::replace(&self.path, write).with_context(|| self.path.display().to_string())
    }

    /// The same with a text.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_text(&self, text: &str) -> anyhow::Result<()> {
        self.write(|out| out.write_all(text.as_bytes()))
    }
}

/// What is at a path, if it is none of the files that must not be touched.
fn look(path: &Path, option: &str, held: &[Rc<Held>]) -> anyhow::Result<Kind> {
    let place = FileIdentity::of(path);
    if let Some(held) = held.iter().find(|held| held.place.is(&place)) {
        return refuse(path, &held.what, option);
    }
    Kind::of(path).with_context(|| format!("{}; choose another place with {option}", path.display()))
}

/// Where a companion of rows leads, if it is a link to what is no companion of them: whoever wrote through it would
/// write into the facts about other rows.
fn leads_elsewhere(companion: &Path, rows: &Path, ending: &str) -> Option<PathBuf> {
    let target = companion.is_symlink().then(|| companion.canonicalize().ok()).flatten()?;
    (target != FileIdentity::of(rows).name.with_extension(ending)).then_some(target)
}

/// The one decision: what may become of what is there.
fn check_one(path: &Path, option: &str, content: &OutputContent, held: &[Rc<Held>]) -> anyhow::Result<()> {
    let kind = look(path, option, held)?;
    let may = match (content, kind) {
        // There is nothing to lose.
        (_, Kind::Nothing | Kind::Empty) => true,
        // What goes through a pipe is there for its reader. Rows that grow need a file.
        (
            OutputContent::Sweep | OutputContent::Merged | OutputContent::Benchmark | OutputContent::Table(_),
            Kind::Stream,
        ) => false,
        (_, Kind::Stream) => true,
        // Appended to; what is there is checked row by row.
        (OutputContent::Sweep, Kind::Sweep | Kind::NoRows) => true,
        // What a crash has left of them, where something else says so.
        (OutputContent::Sweep, Kind::Piece) => {
            matches!(Kind::of(&path.with_extension("meta.json")), Ok(Kind::SweepMetadata))
        }
        // What was merged can be merged again. Whoever writes looks whether all its rows are in the new one.
        (OutputContent::Merged, Kind::Sweep | Kind::NoRows) => is_merged(path),
        // Replaced by its own kind.
        (OutputContent::Benchmark, Kind::Benchmark)
        | (OutputContent::Page, Kind::Page)
        | (OutputContent::Picture, Kind::Picture)
        | (OutputContent::T4, Kind::T4)
        | (OutputContent::JsonRows, Kind::JsonRows)
        | (OutputContent::Pack, Kind::Pack)
        | (OutputContent::KernelFile, Kind::KernelFile) => true,
        (OutputContent::Table(header), Kind::Foreign) => is_same_table(path, header),
        _ => false,
    };
    if !may {
        let torn =
            (content == &OutputContent::Sweep && kind == Kind::BrokenRows).then(|| broken(path)).flatten();
        let what = torn.unwrap_or_else(|| kind.describe().to_owned());
        return refuse(path, &what, option);
    }
    match companion_of(path) {
        Some((csv, name)) if kind != Kind::Stream => {
            refuse(path, &format!("where the {name} of {} is looked for", csv.display()), option)
        }
        _ => Ok(()),
    }
}

fn refuse<T>(path: &Path, what: &str, option: &str) -> anyhow::Result<T> {
    bail!("{} is {what}, and stays as it is; choose another place with {option}", path.display())
}

/// Whether a file of rows is known to be made of others.
fn is_merged(path: &Path) -> bool {
    Metadata::read(&Metadata::path_beside(path)).is_ok_and(|metadata| metadata.merged.is_some())
}

/// What is wrong with a file of rows.
fn broken(path: &Path) -> Option<String> {
    let error = scanbox_model::csv_file::read(path).err()?;
    Some(format!("{} ({error})", Kind::BrokenRows.describe()))
}

/// The file of rows whose companion this path would be.
fn companion_of(path: &Path) -> Option<(PathBuf, &'static str)> {
    let name = path.file_name()?.to_str()?;
    COMPANIONS.iter().find_map(|(ending, what)| {
        let stem = name.strip_suffix(&format!(".{ending}"))?;
        let csv = path.with_file_name(format!("{stem}.csv"));
        csv.exists().then_some((csv, *what))
    })
}

/// Whether a file is a table of these columns: one of an earlier version may have fewer of them. One with more has
/// some that nobody would write again.
fn is_same_table(path: &Path, header: &str) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    let columns = |line: &str| {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        reader.records().next()?.ok().map(|row| row.iter().map(str::to_owned).collect::<Vec<_>>())
    };
    let (Some(before), Some(now)) = (columns(text.lines().next().unwrap_or_default()), columns(header))
    else {
        return false;
    };
    before.first() == now.first() && before.len() > 1 && before.iter().all(|column| now.contains(column))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use clap::{Arg, Command, CommandFactory};

    use super::options::PATHS;
    use crate::cli::Cli;

    /// Whether a user gives a path here, by its type or by what help calls it.
    fn is_path(arg: &Arg) -> bool {
        let by_type = arg.get_value_parser().type_id() == TypeId::of::<std::path::PathBuf>();
        let words = ["FILE", "PATH", "DIR", "FOLDER", "WEIGHTS", "PROGRAM"];
        let names = arg.get_value_names().unwrap_or_default();
        by_type || names.iter().any(|name| words.iter().any(|word| name.contains(word)))
    }

    fn find<'a>(command: &'a str, args: impl Iterator<Item = &'a Arg>) -> Vec<(&'a str, &'a str)> {
        args.filter(|arg| is_path(arg)).map(|arg| (command, arg.get_id().as_str())).collect()
    }

    /// A new option that is a path has to be in the table, and one that writes has to be tried (`tests/outputs.rs`).
    #[test]
    fn every_option_that_is_a_path_is_in_the_table() {
        let cli: Command = Cli::command();
        let mut found = find("", cli.get_arguments());
        for command in cli.get_subcommands().filter(|command| command.get_name() != "worker") {
            found.extend(find(command.get_name(), command.get_arguments()));
        }
        found.sort_unstable();
        let mut listed: Vec<(&str, &str)> = PATHS.iter().map(|(command, id, _)| (*command, *id)).collect();
        listed.sort_unstable();
        assert_eq!(found, listed);
    }
}
