//! Rows as they are, for other programs.

mod t4;

use std::io::{self, Write};

use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::parameters::{PARAMETERS, Value as ParameterValue};
use scanbox_model::record::{COLUMNS, Record};
use serde_json::{Map, Value};

use crate::document::{Document, Format};

/// A file with what its metadata says.
pub struct Exported {
    /// The file.
    pub name: String,
    /// Its rows.
    pub records: Vec<Record>,
    /// Its metadata, where there is any.
    pub metadata: Option<Metadata>,
}

/// The rows of files.
pub struct Exports<'a>(pub &'a [Exported]);

impl Document for Exports<'_> {
    fn write(&self, format: Format, _: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::T4 => t4::write(self.0, out),
            Format::Json => json(self.0, out),
            Format::Csv => csv(self.0, out),
            other => other.missing("a file of rows"),
        }
    }
}

/// Every row of every file as one CSV.
fn csv(files: &[Exported], out: &mut dyn Write) -> io::Result<()> {
    csv_file::write(out, true, rows(files))
}

/// Every row of every file as one array of objects.
fn json(files: &[Exported], out: &mut dyn Write) -> io::Result<()> {
    let mut separator = "[\n";
    for record in rows(files) {
        out.write_all(separator.as_bytes())?;
        serde_json::to_writer(&mut *out, &object(record))?;
        separator = ",\n";
    }
    if separator == "[\n" {
        out.write_all(b"[")?;
    }
    out.write_all(b"\n]\n")
}

fn rows(files: &[Exported]) -> impl Iterator<Item = &Record> {
    files.iter().flat_map(|file| &file.records)
}

/// A row as an object: its columns by name, numbers as numbers, those without a value left out; and what only its
/// label says.
pub fn object(record: &Record) -> Map<String, Value> {
    let cell = |column: &scanbox_model::record::Column| {
        let text = column.write(record);
        (!text.is_empty()).then(|| (column.name.to_owned(), value(column.name, text)))
    };
    let unknown = record.unknown.iter().filter(|cell| !cell.text.is_empty());
    let unknown = unknown.map(|cell| (cell.column.to_string(), Value::String(cell.text.clone())));
    COLUMNS.iter().filter_map(cell).chain(unknown).chain(in_label_alone(record)).collect()
}

/// The parameters of a row that have no column, where they are not the default.
fn in_label_alone(record: &Record) -> impl Iterator<Item = (String, Value)> {
    let config = record.config();
    PARAMETERS.iter().filter(|parameter| parameter.column.is_none()).filter_map(move |parameter| {
        let found = parameter.value(&config?);
        let said = found != ParameterValue::Open && Some(found) != parameter.default;
        said.then(|| (parameter.name.to_owned(), value(parameter.name, found.to_string())))
    })
}

/// Columns whose text may look like a number and is a name.
const TEXTS: [&str; 11] = [
    "run_id",
    "device",
    "device_uuid",
    "driver",
    "kernel_hash",
    "subject",
    "subject_version",
    "config_id",
    "kernel_id",
    "reason",
    "implementation",
];

fn value(column: &str, text: String) -> Value {
    let number = || text.parse::<serde_json::Number>().ok();
    match number().filter(|_| !TEXTS.contains(&column)) {
        Some(number) => Value::Number(number),
        None => Value::String(text),
    }
}
