//! Rows as they are, for other programs.

mod t4;

use std::io::{self, Write};

use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::parameters::{Declaration, PARAMETERS, Value as ParameterValue, Values};
use scanbox_model::record::{COLUMNS, Cache, Record, Status};
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
const TEXTS: [&str; 12] = [
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
    // A list, also of one.
    "round_medians_ns",
];

/// The JSON schema of a row as [`object`] writes it, from the tables of columns and parameters.
pub fn row_schema() -> Value {
    let of_words = |words: Vec<&str>| serde_json::json!({ "enum": words });
    let of_parameter = |parameter: &Declaration| match parameter.values {
        Values::Words(words) => {
            // A word that is a number is written as one.
            let words = words.iter().map(|word| value(parameter.name, word.word.to_owned()));
            serde_json::json!({ "enum": words.collect::<Vec<_>>() })
        }
        Values::Numbers(least, most) => {
            serde_json::json!({ "type": "integer", "minimum": least, "maximum": most })
        }
    };
    let of_type =
        |name: &str, type_name: &str| match type_name.trim_start_matches("Option<").trim_end_matches('>') {
            "u32" | "u64" => serde_json::json!({ "type": "integer", "minimum": 0 }),
            "f64" | "Ratio" => serde_json::json!({ "type": "number" }),
            "Flag" => serde_json::json!({ "const": "yes" }),
            "Status" => of_words(Status::ALL.iter().map(|status| status.word()).collect()),
            "Cache" => of_words(Cache::ALL.iter().map(|cache| cache.word()).collect()),
            _ if TEXTS.contains(&name) => serde_json::json!({ "type": "string" }),
            _ => serde_json::json!({ "type": ["string", "number"] }),
        };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for column in COLUMNS.iter() {
        let mut schema = match column.type_name() {
            Some(type_name) => {
                if ["u32", "u64", "f64", "Status"].contains(&type_name) {
                    required.push(column.name);
                }
                of_type(column.name, type_name)
            }
            None => {
                let parameter = PARAMETERS.iter().find(|parameter| parameter.name == column.name);
                parameter.map_or_else(|| serde_json::json!({}), of_parameter)
            }
        };
        schema["description"] = column.meaning().into();
        properties.insert(column.name.to_owned(), schema);
    }
    for parameter in PARAMETERS.iter().filter(|parameter| parameter.column.is_none()) {
        let mut schema = of_parameter(parameter);
        schema["description"] = parameter.meaning.trim().into();
        properties.insert(parameter.name.to_owned(), schema);
    }
    serde_json::json!({
        "type": "object",
        "description": "A row. Cells without a value are left out.",
        "properties": properties,
        "required": required,
    })
}

fn value(column: &str, text: String) -> Value {
    let number = || text.parse::<serde_json::Number>().ok();
    match number().filter(|_| !TEXTS.contains(&column)) {
        Some(number) => Value::Number(number),
        None => Value::String(text),
    }
}
