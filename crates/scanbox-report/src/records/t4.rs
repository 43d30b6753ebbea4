//! Rows in T4, a results format of autotuners: by the schema that Kernel Tuner ships as
//! `kernel_tuner/schema/T4/1.0.0/results-schema.json`, and writes files of. (It has grown out of
//! github.com/odgaard/TuningSchema, which has neither measurements that are words nor the invalidity `correct`, and
//! refuses such files.)
//!
//! Where the schema leaves something open, this follows Kernel Tuner's own files: times are in milliseconds, which
//! `metadata.timeunit` says, a configuration is an object of tunable parameters, an objective is the name of a
//! measurement. The size is a part of the configuration, because a row is about one config at one size.

use std::io::{self, Write};

use scanbox_model::parameters::PARAMETERS;
use scanbox_model::record::{COLUMNS, Record, Status, TimeStats};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Exported, object};

/// The version of the schema.
const SCHEMA_VERSION: &str = "1.0.0";

/// The columns that make up a configuration beside the parameters: what ran, on how many elements of which problem,
/// through what.
/// Every configuration has all of them; what does not apply is null.
const CONFIGURATION: &[&str] = &[
    "config_id",
    "kernel_id",
    "n_elements",
    "mode",
    "element",
    "op",
    "init",
    "placement",
    "direction",
    "total",
    "init_source",
    "input",
    "subgroup_size",
    "api",
    "implementation",
    "robustness",
    "blocking",
    "call_form",
    "cache",
];

/// The column of the steps in which times come, which is no time itself.
const TIMER_RESOLUTION: &str = "timer_resolution_ns";

/// The columns of a configuration: those, and every parameter that has one. A parameter that stands in labels alone
/// is there where it is not the default.
fn configuration_columns() -> impl Iterator<Item = &'static str> {
    let parameters = PARAMETERS.iter().filter(|parameter| parameter.column.is_some());
    CONFIGURATION.iter().copied().chain(parameters.map(|parameter| parameter.name))
}

#[derive(Serialize, JsonSchema)]
struct T4Results {
    schema_version: &'static str,
    results: Vec<T4Entry>,
    metadata: Value,
}

#[derive(Serialize, JsonSchema)]
struct T4Entry {
    timestamp: String,
    configuration: Map<String, Value>,
    times: T4Times,
    invalidity: &'static str,
    /// The share of the elements that were right.
    correctness: f64,
    measurements: Vec<T4Measurement>,
    objectives: [&'static str; 1],
}

/// In milliseconds.
#[derive(Serialize, JsonSchema)]
struct T4Times {
    #[serde(skip_serializing_if = "Option::is_none")]
    compilation_time: Option<f64>,
    /// A row keeps statistics of its samples, not the samples: the median stands for them.
    runtimes: Vec<f64>,
}

#[derive(Serialize, JsonSchema)]
struct T4Measurement {
    name: String,
    value: Value,
    unit: &'static str,
}

/// Every row of every file, `ok` or not.
pub(super) fn write(files: &[Exported], out: &mut dyn Write) -> io::Result<()> {
    let document = T4Results {
        schema_version: SCHEMA_VERSION,
        results: files.iter().flat_map(|file| &file.records).map(entry).collect(),
        metadata: metadata(files),
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// What the schema calls the way in which a row ended. `constraints` is for what breaks a rule of the device.
fn invalidity(status: Status) -> &'static str {
    match status {
        Status::Ok => "correct",
        Status::WrongResult => "correctness",
        Status::CompileError | Status::PipelineError => "compile",
        Status::Timeout => "timeout",
        Status::Unsupported => "constraints",
        Status::DeviceLost | Status::OutOfMemory | Status::RuntimeError | Status::Quarantined => "runtime",
    }
}

fn correctness(record: &Record) -> f64 {
    match (record.status, record.mismatches) {
        (Status::Ok, _) => 1.0,
        (_, Some(wrong)) if record.n_elements > 0 => {
            1.0 - wrong.min(record.n_elements) as f64 / record.n_elements as f64
        }
        _ => 0.0,
    }
}

fn entry(record: &Record) -> T4Entry {
    let mut cells = object(record);
    let configuration = configuration_columns();
    let every = configuration.map(|name| (name.to_owned(), cells.remove(name).unwrap_or(Value::Null)));
    let mut configuration: Map<String, Value> = every.collect();
    let in_label_alone = PARAMETERS.iter().filter(|parameter| parameter.column.is_none());
    configuration.extend(
        in_label_alone
            .filter_map(|parameter| Some((parameter.name.to_owned(), cells.remove(parameter.name)?))),
    );
    let mut measurements = Vec::new();
    let mut measure = |name: &str, value: Value, unit| {
        measurements.push(T4Measurement { name: name.to_owned(), value, unit });
    };
    measure("status", json!(record.status.word()), "");
    if !record.reason.is_empty() {
        measure("reason", json!(record.reason), "");
    }
    let times = [("time", record.steady), ("span", record.span)];
    for (name, stats) in times.into_iter().filter_map(|(name, stats)| Some((name, stats?))) {
        for (statistic, ns) in statistics(&stats) {
            measure(&format!("{name}{statistic}"), json!(milliseconds(ns)), "ms");
        }
    }
    if let Some(ns) = record.confirmed_ns {
        measure("time_confirmed", json!(milliseconds(ns)), "ms");
    }
    // What is left is neither configuration nor time.
    let is_time = |name: &str| name.contains("_ns") && name != TIMER_RESOLUTION;
    for column in COLUMNS.iter().filter(|column| !is_time(column.name) && column.name != "compile_ms") {
        let told = ["status", "reason", "timestamp_utc"].contains(&column.name);
        if let Some(value) = cells.remove(column.name).filter(|_| !told) {
            measure(column.name, value, unit(column.name));
        }
    }
    T4Entry {
        timestamp: record.timestamp_utc.clone(),
        configuration,
        times: T4Times {
            compilation_time: record.compile_ms.map(|ms| ms as f64),
            runtimes: record.steady.iter().map(|stats| milliseconds(stats.median_ns)).collect(),
        },
        invalidity: invalidity(record.status),
        correctness: correctness(record),
        measurements,
        objectives: ["time"],
    }
}

/// The statistics of a time; the median has no name of its own, as it is the time that decides.
fn statistics(stats: &TimeStats) -> [(&'static str, u64); 6] {
    [
        ("", stats.median_ns),
        ("_min", stats.min_ns),
        ("_mean", stats.mean_ns),
        ("_q1", stats.q1_ns),
        ("_q3", stats.q3_ns),
        ("_stddev", stats.stddev_ns),
    ]
}

fn unit(column: &str) -> &'static str {
    match column {
        "throughput_gbps" => "GB/s",
        "element_bytes" | "bytes_moved" | "shared_bytes" => "B",
        "drift_pct" | "round_spread_pct" => "%",
        TIMER_RESOLUTION => "ns",
        _ => "",
    }
}

/// Where the rows were measured: the schema leaves the form open.
fn metadata(files: &[Exported]) -> Value {
    let environments: Vec<Value> = files
        .iter()
        .map(|file| match &file.metadata {
            None => json!({ "file": file.name }),
            Some(metadata) => json!({
                "file": file.name,
                "device": metadata.device,
                "kernel_hash": metadata.kernel_hash,
                "scanbox_version": metadata.tool_version,
                "scanbox_commit": metadata.tool_commit,
                "space": metadata.space.name,
                "copy_gbps": metadata.ceiling_gbps,
                "runs": metadata.runs,
            }),
        })
        .collect();
    json!({ "timeunit": "milliseconds", "tool": "scanbox", "environment": environments })
}
