//! Reads the cells of rows, each of which is much like the one before it.

use std::sync::Arc;

use crate::record::{COLUMNS, Record, SCHEMA, UnknownCell};

/// Columns that say what a row is about besides its point: the problem, the unit and its run.
pub const SETTING: [&str; 21] = [
    "device",
    "device_uuid",
    "driver",
    "kernel_hash",
    "subject",
    "subject_version",
    "mode",
    "element",
    "op",
    "init",
    "placement",
    "operator_hash",
    "operator_facts",
    "host",
    "pci_address",
    "api",
    "implementation",
    "robustness",
    "direction",
    "total",
    "init_source",
];

/// What a column of a file is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileColumn {
    /// Its index in [`COLUMNS`].
    Known(usize),
    /// A name that this version does not know: newer versions append columns.
    Unknown(Arc<str>),
}

/// Reads the cells of rows into one record for all rows: their texts are nearly the same, and find their memory again.
/// A cell that says what the cell above it says is not read again.
pub(super) struct CellReader<'a> {
    order: &'a [FileColumn],
    /// What the reader has to know of each column.
    kinds: Vec<CellKind>,
    record: Record,
    /// The row that is in the record.
    before: csv::StringRecord,
    /// The bytes of each of its cells.
    lengths: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellKind {
    /// It is read in every row: cells of unknown columns are collected, and statistics of times, which are empty
    /// together, are.
    OfEachRow,
    /// See [`SETTING`].
    Setting,
    Other,
}

impl<'a> CellReader<'a> {
    pub(super) fn new(order: &'a [FileColumn]) -> Self {
        let kind = |place: &FileColumn| match place {
            FileColumn::Known(index) => match COLUMNS[*index].name {
                name if name.contains("_ns_") => CellKind::OfEachRow,
                name if SETTING.contains(&name) => CellKind::Setting,
                _ => CellKind::Other,
            },
            FileColumn::Unknown(_) => CellKind::OfEachRow,
        };
        let kinds = order.iter().map(kind).collect();
        let (before, lengths) = (csv::StringRecord::new(), vec![0; order.len()]);
        Self { order, kinds, record: Record::default(), before, lengths }
    }

    /// What the last row says.
    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// The last row.
    pub(super) fn row(&self) -> &csv::StringRecord {
        &self.before
    }

    /// Takes a row, and leaves the one before in its place. Tells whether the columns of [`SETTING`] say what they say
    /// in that one.
    ///
    /// # Errors
    /// The column that cannot be read, and why.
    pub(super) fn read(&mut self, row: &mut csv::StringRecord) -> Result<bool, (&'static str, String)> {
        let columns: &'static [_] = &COLUMNS;
        let record = &mut self.record;
        // Empty cells of a time leave it alone.
        (record.steady, record.span) = (None, None);
        record.unknown.clear();
        let is_first = self.before.is_empty();
        let mut has_same_setting = !is_first;
        let mut repeated = Repeated::new(row, &self.before);
        let columns_of_file = self.order.iter().zip(&self.kinds).zip(&mut self.lengths);
        for (cell, ((place, kind), length)) in row.iter().zip(columns_of_file) {
            let above = std::mem::replace(length, cell.len());
            let is_same = repeated.is_next(cell.len(), above);
            if is_same && *kind != CellKind::OfEachRow && !is_first {
                continue;
            }
            has_same_setting &= *kind != CellKind::Setting;
            match place {
                FileColumn::Known(index) => {
                    let column = &columns[*index];
                    column.read(record, cell).map_err(|reason| (column.name, reason))?;
                }
                FileColumn::Unknown(name) => {
                    record.unknown.push(UnknownCell { column: Arc::clone(name), text: cell.to_owned() });
                }
            }
        }
        if record.schema != SCHEMA {
            let reason = format!("this version reads schema {SCHEMA}, the row has {}", record.schema);
            return Err(("schema", reason));
        }
        std::mem::swap(&mut self.before, row);
        Ok(has_same_setting)
    }
}

/// Walks along two rows and finds cells that are equal. Most of these stand side by side, so texts are compared over
/// many cells at a time.
struct Repeated<'a> {
    /// What the rows have from the next cell on.
    rest: &'a [u8],
    above: &'a [u8],
    /// So many bytes of both are known to be equal.
    equal: usize,
}

impl<'a> Repeated<'a> {
    fn new(row: &'a csv::StringRecord, above: &'a csv::StringRecord) -> Self {
        Self { rest: row.as_slice().as_bytes(), above: above.as_slice().as_bytes(), equal: 0 }
    }

    /// Whether the next cell of this length is equal to that of the other length above it.
    #[inline]
    fn is_next(&mut self, length: usize, above: usize) -> bool {
        let has_same_length = above == length;
        if has_same_length && length > self.equal {
            self.equal = equal_bytes(self.rest, self.above);
        }
        let is_same = has_same_length && length <= self.equal;
        self.equal = if is_same { self.equal - length } else { 0 };
        self.rest = &self.rest[length..];
        self.above = &self.above[above..];
        is_same
    }
}

/// How many bytes two texts have in common from their beginning.
#[inline]
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let (a_words, b_words) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    for (place, (a, b)) in a_words.iter().zip(b_words).enumerate() {
        let difference = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if difference != 0 {
            return 8 * place + difference.trailing_zeros() as usize / 8;
        }
    }
    let words = a_words.len().min(b_words.len());
    let (a_rest, b_rest) = (&a[8 * words..], &b[8 * words..]);
    8 * words + a_rest.iter().zip(b_rest).take_while(|(a, b)| a == b).count()
}
