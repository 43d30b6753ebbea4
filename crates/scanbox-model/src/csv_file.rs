//! Files of records: strict reading with line and column in every message, and appending row by row.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::record::{COLUMNS, Record};
use crate::whole_file;

mod cells;
mod reading;

pub use cells::SETTING;
pub use reading::{FileRow, for_each, for_each_of_bytes};

/// Why a file of records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The file system says no.
    #[error("{path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is nothing in the file.
    #[error("{path}: the file is empty; it needs at least the header line")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// There is no header line.
    #[error(
        "{path}: line 1: this is not the header of a scanbox file; name a .csv that `scanbox sweep` wrote"
    )]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// The header misses a column.
    #[error("{path}: line 1: column `{column}` is missing")]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
    },
    /// The header has a column twice, or one without a name.
    #[error("{path}: line 1: column `{column}` stands twice, or has no name")]
    RepeatedColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// A cell cannot be read.
    #[error("{path}: line {line}: column `{column}`: {reason}")]
    Cell {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The column.
        column: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A line has the wrong shape.
    #[error("{path}: line {line}: {reason}")]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> CsvError + '_ {
    move |source| CsvError::Io { path: path.to_owned(), source }
}

/// The records of a file, and what had to be left out.
#[derive(Debug, Default)]
pub struct Records {
    /// The rows in file order.
    pub records: Vec<Record>,
    /// Bytes from the start of the file to the end of the last complete line.
    pub complete_bytes: u64,
    /// The number of the torn last line, if there is one: a run that was cut off left it.
    pub torn_line: Option<u64>,
    /// Whether the file has another header than a new one would get: an older version began it.
    pub other_header: bool,
    /// Columns that this version does not know: a newer one has them. Rows keep what stands there.
    pub unknown_columns: Vec<Arc<str>>,
}

/// What a file of records is like, apart from its rows; see [`Records`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shape {
    /// Bytes up to the end of the last complete line.
    pub complete_bytes: u64,
    /// The number of the torn last line.
    pub torn_line: Option<u64>,
    /// Whether the header is another one than that of a new file.
    pub other_header: bool,
    /// Columns that this version does not know.
    pub unknown_columns: Vec<Arc<str>>,
}

impl Records {
    /// What whoever reads the file has to be told about it; `name` is what it is called.
    #[must_use]
    pub fn warnings(&self, name: &str) -> Vec<String> {
        warnings(name, self.torn_line, &self.unknown_columns)
    }
}

impl Shape {
    /// As [`Records::warnings`].
    #[must_use]
    pub fn warnings(&self, name: &str) -> Vec<String> {
        warnings(name, self.torn_line, &self.unknown_columns)
    }
}

fn warnings(name: &str, torn_line: Option<u64>, unknown_columns: &[Arc<str>]) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(line) = torn_line {
        warnings.push(format!("{name}: line {line} is torn (it has no line break) and is left out"));
    }
    if !unknown_columns.is_empty() {
        let plain = |column: &Arc<str>| column.escape_debug().take(40).collect::<String>();
        let columns: Vec<String> =
            unknown_columns.iter().map(|column| format!("`{}`", plain(column))).collect();
        let columns = columns.join(", ");
        warnings.push(format!(
            "{name}: this version does not know {columns}: a newer one wrote it; what stands there is kept, and not used"
        ));
    }
    warnings
}

/// Reads a file of records. A torn last line (no line break at its end) is left out and reported; any other
/// malformed line is an error, as is a row that cannot be ([`crate::row_rules`]).
///
/// # Errors
/// With file, line and column.
pub fn read(path: &Path) -> Result<Records, CsvError> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(io_error(path))?;
    read_bytes(&bytes, path)
}

/// Reads the bytes of a file of records; `path` is for messages.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(bytes: &[u8], path: &Path) -> Result<Records, CsvError> {
    let mut records = Vec::new();
    let shape = for_each_of_bytes(bytes, path, |row| {
        records.push(row.record.clone());
        Ok::<(), CsvError>(())
    })?;
    let Shape { complete_bytes, torn_line, other_header, unknown_columns } = shape;
    Ok(Records { records, complete_bytes, torn_line, other_header, unknown_columns })
}

/// Reads one line without its header, with the columns in the order of [`COLUMNS`].
///
/// # Errors
/// As [`read`].
pub fn read_row(line: &str) -> Result<Record, CsvError> {
    let mut bytes = Vec::new();
    let path = Path::new("a row");
    write(&mut bytes, true, []).map_err(io_error(path))?;
    bytes.extend_from_slice(line.as_bytes());
    let reason = || "a row is one complete line".to_owned();
    read_bytes(&bytes, path)?.records.pop().ok_or_else(|| CsvError::Row {
        path: path.to_owned(),
        line: 1,
        reason: reason(),
    })
}

/// The header line and one line per record, as they stand in a file; columns that this version does not know come last.
///
/// # Errors
/// When the writer fails.
pub fn write<'a>(
    writer: impl Write,
    header: bool,
    records: impl IntoIterator<Item = &'a Record>,
) -> io::Result<()> {
    let records: Vec<&Record> = records.into_iter().collect();
    let mut seen = BTreeSet::new();
    let cells = records.iter().flat_map(|record| &record.unknown);
    let unknown: Vec<Arc<str>> =
        cells.filter(|cell| seen.insert(&cell.column)).map(|cell| Arc::clone(&cell.column)).collect();
    write_with(writer, header, &unknown, records)
}

/// The same with these columns beside those that this version knows.
fn write_with<'a>(
    writer: impl Write,
    header: bool,
    unknown: &[Arc<str>],
    records: impl IntoIterator<Item = &'a Record>,
) -> io::Result<()> {
    let mut csv = csv::WriterBuilder::new().from_writer(writer);
    if header {
        let names = COLUMNS.iter().map(|column| column.name);
        csv.write_record(names.chain(unknown.iter().map(|name| &**name))).map_err(writer_error)?;
    }
    for record in records {
        let text = |name: &Arc<str>| {
            let cell = record.unknown.iter().find(|cell| cell.column == *name);
            cell.map_or_else(String::new, |cell| cell.text.clone())
        };
        let known = COLUMNS.iter().map(|column| column.write(record));
        csv.write_record(known.chain(unknown.iter().map(text))).map_err(writer_error)?;
    }
    csv.flush()
}

/// The error of the writer that CSV is written to, whose kind says whether it is a closed pipe or a full disk.
#[must_use]
pub fn writer_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Writes a file of records beside its place and renames it, so that a reader sees the old or the new one. What this
/// module would not read is not written.
///
/// # Errors
/// When the folder cannot be written; as [`read`], where a row cannot be: then what was there is there still.
pub fn replace<'a>(path: &Path, records: impl IntoIterator<Item = &'a Record>) -> Result<(), CsvError> {
    let mut bytes = Vec::new();
    write(&mut bytes, true, records).map_err(io_error(path))?;
    for_each_of_bytes(&bytes, path, |_| Ok::<(), CsvError>(()))?;
    whole_file::replace(path, |out| out.write_all(&bytes)).map_err(io_error(path))
}

/// A file of records that grows row by row; each row is in the file when [`Appender::append`] returns.
#[derive(Debug)]
pub struct Appender {
    path: PathBuf,
    file: File,
    /// Length of the file, if nobody else writes to it.
    bytes: u64,
    /// The columns of the file that this version does not know: a row that is appended has nothing there.
    unknown: Vec<Arc<str>>,
}

impl Appender {
    /// Opens a file for appending and returns what it holds already. A new file gets its header; a torn last line
    /// is cut at the last line break before it (a torn number still parses, so it cannot be kept). A file that an
    /// older version began, with fewer columns, is replaced by one with the same rows and all columns.
    ///
    /// # Errors
    /// When the file cannot be opened, or what it holds cannot be read: then it is left as it is.
    pub fn open(path: &Path) -> Result<(Self, Records), CsvError> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path).map_err(io_error(path))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io_error(path))?;
        let mut records = if bytes.is_empty() { Records::default() } else { read_bytes(&bytes, path)? };
        if records.other_header && records.complete_bytes > 0 {
            replace(path, &records.records)?;
            let torn_line = records.torn_line;
            let (appender, found) = Self::open(path)?;
            return Ok((appender, Records { torn_line, ..found }));
        }
        if records.complete_bytes < bytes.len() as u64 {
            file.set_len(records.complete_bytes).map_err(io_error(path))?;
        }
        let unknown = records.unknown_columns.clone();
        let mut appender = Self { path: path.to_owned(), file, bytes: records.complete_bytes, unknown };
        if records.complete_bytes == 0 {
            appender.write(true, None)?;
            records.complete_bytes = appender.bytes;
        }
        Ok((appender, records))
    }

    /// Appends one row and hands it to the operating system.
    ///
    /// # Errors
    /// When the file cannot be written (disk full, removed medium). Then it ends with the row before.
    pub fn append(&mut self, record: &Record) -> Result<(), CsvError> {
        self.write(false, Some(record))
    }

    /// Waits until everything is on the disk, and checks that the file still has its name and its length.
    ///
    /// # Errors
    /// When the disk says no, or somebody removed, replaced or changed the file: what is written now would be lost.
    pub fn sync(&self) -> Result<(), CsvError> {
        let failed = io_error(&self.path);
        self.file.sync_data().map_err(&failed)?;
        if !is_same_file(&self.file, &self.path).map_err(&failed)? {
            let gone = "the file was removed or replaced while it was being written";
            return Err(failed(io::Error::other(gone)));
        }
        let found = self.file.metadata().map_err(&failed)?.len();
        if found != self.bytes {
            let changed = format!(
                "somebody else changed the file while it was being written: it has {found} bytes where {} were written",
                self.bytes
            );
            return Err(failed(io::Error::other(changed)));
        }
        Ok(())
    }

    fn write(&mut self, header: bool, record: Option<&Record>) -> Result<(), CsvError> {
        // One system call per row: a killed process leaves at most one torn line.
        let mut line = Vec::new();
        write_with(&mut line, header, &self.unknown, record).map_err(io_error(&self.path))?;
        let written = self.file.write_all(&line);
        match written {
            Ok(()) => self.bytes += line.len() as u64,
            // Part of the row may be in the file. Where it cannot be cut off now, the next run does it.
            Err(_) => drop(self.file.set_len(self.bytes)),
        }
        written.map_err(io_error(&self.path))
    }
}

/// Whether the open file is the one that the path names.
#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let open = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(named) => Ok((open.dev(), open.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the path still names a file; systems without inodes do not let an open file be replaced.
#[cfg(not(unix))]
fn is_same_file(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}
