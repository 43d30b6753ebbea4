//! Reads files of records row by row, without holding more of them than a row.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::cells::{CellReader, FileColumn};
use super::{CsvError, Shape, io_error, write};
use crate::problem::Problem;
use crate::record::{COLUMNS, FIRST_COLUMNS, Record, THROUGHPUT};
use crate::row_rules::{Checker, Labelled};

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 17;

/// A row of a file that keeps all rules, with what its reader found out on the way.
#[derive(Debug, Clone, Copy)]
pub struct FileRow<'a> {
    /// The row.
    pub record: &'a Record,
    /// Of scanbox's own rows: what its label says, and its problem.
    pub own: Option<(&'a Labelled, &'a Problem)>,
    /// Whether the columns of [`SETTING`](super::SETTING) say what they say in the row before it.
    pub has_same_setting: bool,
}

/// Reads a file of records one by one, as [`super::read`] does, and keeps none of them: `take` sees each.
///
/// # Errors
/// As [`super::read`], or when `take` says so.
pub fn for_each<E: From<CsvError>>(
    path: &Path,
    take: impl FnMut(&FileRow<'_>) -> Result<(), E>,
) -> Result<Shape, E> {
    let mut file = File::open(path).map_err(io_error(path))?;
    let is_file = file.metadata().map_err(io_error(path))?.is_file();
    if !is_file {
        // A pipe has no end to look at first.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io_error(path))?;
        return for_each_of_bytes(&bytes, path, take);
    }
    let ends = Ends::of(&mut file).map_err(io_error(path))?;
    if ends.complete == 0 {
        let mut bytes = Vec::new();
        // A torn header is short; what is longer is none.
        file.take(1 << 20).read_to_end(&mut bytes).map_err(io_error(path))?;
        return for_each_of_bytes(&bytes, path, take);
    }
    let torn_line = if ends.complete < ends.all {
        let whole = (&mut file).take(ends.complete);
        Some(1 + line_breaks(whole).map_err(io_error(path))?)
    } else {
        None
    };
    file.seek(SeekFrom::Start(0)).map_err(io_error(path))?;
    for_each_complete(file.take(ends.complete), ends.complete, torn_line, path, take)
}

/// Where the last complete line of a file ends, and where the file does.
struct Ends {
    complete: u64,
    all: u64,
}

impl Ends {
    /// Leaves the file at its beginning.
    fn of(file: &mut File) -> io::Result<Self> {
        let all = file.seek(SeekFrom::End(0))?;
        let (mut complete, mut block) = (all, vec![0; BUFFER]);
        while complete > 0 {
            let from = complete.saturating_sub(BUFFER as u64);
            let block = &mut block[..(complete - from) as usize];
            file.seek(SeekFrom::Start(from))?;
            file.read_exact(block)?;
            if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
                complete = from + at as u64 + 1;
                break;
            }
            complete = from;
        }
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { complete, all })
    }
}

fn line_breaks(bytes: impl Read) -> io::Result<u64> {
    let mut count = 0;
    let mut reader = BufReader::with_capacity(BUFFER, bytes);
    loop {
        let block = io::BufRead::fill_buf(&mut reader)?;
        if block.is_empty() {
            return Ok(count);
        }
        count += block.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let length = block.len();
        io::BufRead::consume(&mut reader, length);
    }
}

/// Reads the bytes of a file of records one by one, as [`for_each`] does; `path` is for messages.
///
/// # Errors
/// As [`for_each`].
pub fn for_each_of_bytes<E: From<CsvError>>(
    bytes: &[u8],
    path: &Path,
    take: impl FnMut(&FileRow<'_>) -> Result<(), E>,
) -> Result<Shape, E> {
    if bytes.is_empty() {
        return Err(CsvError::Empty { path: path.to_owned() }.into());
    }
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let is_torn = complete < bytes.len();
    let torn_line =
        is_torn.then(|| 1 + bytes[..complete].iter().filter(|&&byte| byte == b'\n').count() as u64);
    if complete == 0 {
        // A header without its line break was cut off before any row: nothing is lost with it.
        let mut header = Vec::new();
        write(&mut header, true, []).map_err(io_error(path))?;
        return if header.starts_with(bytes) {
            Ok(Shape { torn_line, ..Shape::default() })
        } else {
            Err(CsvError::NoHeader { path: path.to_owned() }.into())
        };
    }
    for_each_complete(&bytes[..complete], complete as u64, torn_line, path, take)
}

/// Reads so many bytes of complete lines.
fn for_each_complete<E: From<CsvError>>(
    lines: impl Read,
    complete_bytes: u64,
    torn_line: Option<u64>,
    path: &Path,
    mut take: impl FnMut(&FileRow<'_>) -> Result<(), E>,
) -> Result<Shape, E> {
    let mut shape = Shape { complete_bytes, torn_line, ..Shape::default() };
    let mut reader = csv::ReaderBuilder::new().flexible(true).buffer_capacity(BUFFER).from_reader(lines);
    let row_error = |line, reason: String| CsvError::Row { path: path.to_owned(), line, reason };
    let failed = |line, error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => io_error(path)(error),
        _ => row_error(line, "the line is not UTF-8 text".to_owned()),
    };
    let header = match reader.headers() {
        Ok(header) => header,
        Err(error) if error.is_io_error() => return Err(failed(1, error).into()),
        Err(error) => return Err(row_error(1, error.to_string()).into()),
    };
    let order = column_order(header, path)?;
    let known = order
        .iter()
        .map_while(|place| if let FileColumn::Known(index) = place { Some(*index) } else { None });
    shape.other_header = !known.eq(0..COLUMNS.len());
    let unknown = |place: &FileColumn| {
        if let FileColumn::Unknown(name) = place { Some(Arc::clone(name)) } else { None }
    };
    shape.unknown_columns = order.iter().filter_map(unknown).collect();
    let mut row = csv::StringRecord::new();
    let mut cells = CellReader::new(&order);
    let mut checker = Checker::default();
    let throughput = order
        .iter()
        .position(|place| matches!(place, FileColumn::Known(index) if COLUMNS[*index].name == THROUGHPUT));
    loop {
        let line = reader.position().line();
        match reader.read_record(&mut row) {
            Ok(false) => return Ok(shape),
            Ok(true) => {}
            Err(error) => {
                let line = error.position().map_or(line, csv::Position::line);
                return Err(failed(line, error).into());
            }
        }
        let line = row.position().map_or(line, csv::Position::line);
        if row.len() != order.len() {
            let reason = format!("{} cells where the header has {}", row.len(), order.len());
            return Err(row_error(line, reason).into());
        }
        let wrong_cell = |column, reason| CsvError::Cell { path: path.to_owned(), line, column, reason };
        let has_same_setting = cells.read(&mut row).map_err(|(column, reason)| wrong_cell(column, reason))?;
        let throughput = throughput.and_then(|place| cells.row().get(place)).unwrap_or_default();
        let own = checker
            .check(cells.record(), throughput, has_same_setting)
            .map_err(|broken| wrong_cell(broken.column, broken.reason))?;
        take(&FileRow { record: cells.record(), own, has_same_setting })?;
    }
}

/// What each column of the file is. Columns that were appended within the schema may be missing.
fn column_order(header: &csv::StringRecord, path: &Path) -> Result<Vec<FileColumn>, CsvError> {
    let mut order = Vec::with_capacity(header.len());
    let mut seen = BTreeSet::new();
    for name in header {
        let place = match COLUMNS.iter().position(|column| column.name == name) {
            Some(index) => FileColumn::Known(index),
            None => FileColumn::Unknown(name.into()),
        };
        if name.is_empty() || !seen.insert(name) {
            let column = name.escape_debug().take(40).collect();
            return Err(CsvError::RepeatedColumn { path: path.to_owned(), column });
        }
        order.push(place);
    }
    if !order.iter().any(|place| matches!(place, FileColumn::Known(_))) {
        return Err(CsvError::NoHeader { path: path.to_owned() });
    }
    match (0..FIRST_COLUMNS).find(|index| !order.contains(&FileColumn::Known(*index))) {
        Some(index) => Err(CsvError::MissingColumn { path: path.to_owned(), column: COLUMNS[index].name }),
        None => Ok(order),
    }
}
