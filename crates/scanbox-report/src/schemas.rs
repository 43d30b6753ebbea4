//! JSON schemas (Draft 2020-12) of what scanbox writes and reads, made of the types that are written and of the tables
//! of columns and parameters. Those of what scanbox writes are open: later versions add fields, and who reads their
//! documents by the schema of an older one is not to fail. That of space files, which people write, is closed: a
//! mistyped name is the most frequent mistake.

use std::collections::BTreeSet;

use scanbox_model::metadata::Metadata;
use scanbox_model::space::Space;
use scanbox_pack::json::PackText;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::analysis::json::AnalysisJson;
use crate::bench::BenchJson;
use crate::blocking::BlockingJson;
use crate::compare::rows::CompareJson;
use crate::compiled::CompiledSpace;
use crate::devices::DeviceRow;
use crate::dispatch::DispatchJson;
use crate::doctor::Diagnosis;
use crate::explained::Explanation;
use crate::merge::MergeJson;
use crate::pack_tried::PackTried;
use crate::records::row_schema;
use crate::space::SpaceCounts;
use crate::sweep::EndingJson;
use crate::verify::VerifyEnding;
use crate::versus::VersusRow;
use crate::versus::arguments::AgainstPushRow;
use crate::versus::devices::DeviceVersus;

/// A schema.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedSchema {
    /// A word: `analyze`.
    pub name: &'static str,
    /// What it is of: one sentence.
    pub of: &'static str,
    /// The schema.
    pub schema: Value,
}

/// The schemas of files and answers.
pub fn schemas() -> Vec<NamedSchema> {
    let made = |name, of, schema| finished(name, of, schema);
    vec![
        made("row", "A row of a CSV file as JSON: an element of `export --format json`.", row_schema()),
        made(
            "rows",
            "The rows of files: `export --format json`.",
            json!({ "type": "array", "items": row_schema() }),
        ),
        made("metadata", "The metadata beside a CSV file, NAME.meta.json.", metadata()),
        made("space-file", "A space file, as the JSON that its TOML stands for.", closed(read::<Space>())),
        made(
            "pack",
            "A pack without its code: `pack --show --format json`, recipe.json.",
            written::<PackText>(),
        ),
        made("analyze", "`analyze --format json`.", written::<AnalysisJson<'_>>()),
        made("bench", "`bench --format json`.", written::<BenchJson<'_>>()),
        made("bench-summary", "`bench --summary --format json`.", written::<Vec<VersusRow<'_>>>()),
        made("bench-devices", "`bench --summary devices --format json`.", written::<Vec<DeviceVersus<'_>>>()),
        made(
            "bench-arguments",
            "`bench --summary arguments --format json`.",
            written::<Vec<AgainstPushRow<'_>>>(),
        ),
        made("bench-blocking", "`bench --blocking --format json`.", written::<BlockingJson<'_>>()),
        made("bench-dispatch", "`bench --dispatch --format json`.", written::<DispatchJson<'_>>()),
        made("compare", "`compare --format json`.", written::<CompareJson<'_>>()),
        made("sweep", "`sweep --format json`, of one device.", written::<EndingJson<'_>>()),
        made("verify", "`verify --format json`.", written::<VerifyEnding>()),
        made("merge", "`merge --format json`.", written::<MergeJson<'_>>()),
        made("space", "`space --format json`.", written::<SpaceCounts>()),
        made("space-compile", "`space --compile --format json`.", written::<CompiledSpace>()),
        made("devices", "`devices --format json`.", written::<Vec<DeviceRow<'_>>>()),
        made("doctor", "`doctor --format json`.", written::<Diagnosis<'_>>()),
        made("explain", "`explain --format json`.", written::<Explanation>()),
        made("pack-check", "`pack --check --format json`.", written::<PackTried<'_>>()),
    ]
}

/// The schema of what is written of a type.
pub fn written<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// The schema of what is read into a type.
fn read<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>().to_value()
}

/// That of metadata: what any version has written, as this one reads it.
fn metadata() -> Value {
    let mut schema = read::<Metadata>();
    // Of a parameter that there is no more.
    schema["$defs"]["Forced"]["properties"]["subgroup_total"] = json!({ "type": ["string", "null"] });
    schema
}

/// The same schema, by which a document with a field that it does not name is not valid.
#[must_use]
pub fn closed(mut schema: Value) -> Value {
    let mut parts = BTreeSet::new();
    collect_parts(&schema, &mut parts);
    close(&mut schema, "#", &parts, false);
    schema
}

/// A schema with its title.
pub fn finished(name: &'static str, of: &'static str, schema: Value) -> NamedSchema {
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    whole.insert("title".to_owned(), format!("scanbox {name}: {}", of.trim_end_matches('.')).into());
    if let Value::Object(rest) = schema {
        whole.extend(rest.into_iter().filter(|(key, _)| key != "$schema" && key != "title"));
    }
    NamedSchema { name, of, schema: whole.into() }
}

/// The keys below which schemas are parts of the one that they stand in.
const PARTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Definitions that are a part of another schema, which has more fields: those have to stay open.
fn collect_parts(schema: &Value, parts: &mut BTreeSet<String>) {
    let Value::Object(map) = schema else {
        schema.as_array().into_iter().flatten().for_each(|schema| collect_parts(schema, parts));
        return;
    };
    if map.contains_key("properties") {
        let below = PARTS.iter().filter_map(|key| map.get(*key)?.as_array()).flatten();
        let refs = below.chain([schema]).filter_map(|schema| schema.get("$ref")?.as_str());
        parts.extend(refs.map(str::to_owned));
    }
    map.values().for_each(|schema| collect_parts(schema, parts));
}

/// Closes every object with named fields.
fn close(schema: &mut Value, place: &str, parts: &BTreeSet<String>, is_part: bool) {
    let map = match schema {
        Value::Object(map) => map,
        Value::Array(list) => return list.iter_mut().for_each(|schema| close(schema, "", parts, is_part)),
        _ => return,
    };
    let has_fields = map.get("properties").is_some_and(Value::is_object);
    let has_parts =
        has_fields && (map.contains_key("$ref") || PARTS.iter().any(|key| map.contains_key(*key)));
    let is_part = is_part || parts.contains(place);
    let is_open = !["additionalProperties", "patternProperties"].iter().any(|key| map.contains_key(*key));
    if has_fields && is_open && !is_part {
        let key = if has_parts { "unevaluatedProperties" } else { "additionalProperties" };
        map.insert(key.to_owned(), false.into());
    }
    for (key, schema) in map.iter_mut() {
        match key.as_str() {
            "$defs" => {
                for (name, schema) in schema.as_object_mut().into_iter().flatten() {
                    close(schema, &format!("#/$defs/{name}"), parts, false);
                }
            }
            "properties" | "patternProperties" => {
                let fields = schema.as_object_mut().into_iter().flatten();
                fields.for_each(|(_, schema)| close(schema, "", parts, false));
            }
            // Examples and constants are values.
            "const" | "enum" | "default" | "examples" | "required" => {}
            key => close(schema, "", parts, PARTS.contains(&key) && has_parts),
        }
    }
}
