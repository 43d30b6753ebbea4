//! Exports: T4 by its published schema, JSON and CSV by reading them again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};
use serde_json::Value;

fn scanbox(args: &[&str], folder: &Path) -> (i32, Vec<u8>, String) {
    let output = Command::cargo_bin("scanbox").unwrap().args(args).current_dir(folder).output().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results").canonicalize().unwrap()
}

/// A file with a row of every status.
fn every_status(folder: &Path) -> Vec<Record> {
    let mut records = csv_file::read(&published().join("published.llvmpipe.quick.csv")).unwrap().records;
    records.truncate(Status::ALL.len());
    for (record, status) in records.iter_mut().zip(Status::ALL) {
        record.status = status;
        if status != Status::Ok {
            (record.steady, record.span, record.samples) = (None, None, 0);
            record.reason = format!("scripted, \"{status}\"");
            record.mismatches = (status == Status::WrongResult).then_some(record.n_elements / 4);
        }
    }
    csv_file::replace(&folder.join("rows.csv"), &records).unwrap();
    records
}

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemas/t4/results-schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn t4_is_valid_by_the_published_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let records = every_status(folder.path());
    let (code, stdout, stderr) = scanbox(&["export", "--format", "t4", "rows.csv"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    let t4: Value = serde_json::from_slice(&stdout).unwrap();
    validator.validate(&t4).map_err(|error| error.to_string()).unwrap();
    // The validator does look: a word that the schema does not have.
    let mut wrong = t4.clone();
    wrong["results"][0]["invalidity"] = "fine".into();
    assert!(!validator.is_valid(&wrong));

    let results = t4["results"].as_array().unwrap();
    assert_eq!(results.len(), records.len());
    let words = [
        (Status::Ok, "correct", 1.0),
        (Status::WrongResult, "correctness", 0.75),
        (Status::CompileError, "compile", 0.0),
        (Status::PipelineError, "compile", 0.0),
        (Status::Timeout, "timeout", 0.0),
        (Status::DeviceLost, "runtime", 0.0),
        (Status::OutOfMemory, "runtime", 0.0),
        (Status::Unsupported, "constraints", 0.0),
        (Status::RuntimeError, "runtime", 0.0),
        (Status::Quarantined, "runtime", 0.0),
    ];
    for ((result, record), (status, word, correctness)) in results.iter().zip(&records).zip(words) {
        assert_eq!(record.status, status);
        assert_eq!(result["invalidity"], word, "{status}");
        assert_eq!(result["correctness"], correctness, "{status}");
        assert_eq!(result["configuration"]["config_id"], record.config_id.as_str());
        assert_eq!(result["configuration"]["n_elements"], record.n_elements);
        let measured: BTreeMap<&str, &Value> = result["measurements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|measurement| (measurement["name"].as_str().unwrap(), measurement))
            .collect();
        assert_eq!(measured["status"]["value"], status.word());
        let objective = result["objectives"][0].as_str().unwrap();
        match record.steady {
            Some(steady) => {
                let ms = steady.median_ns as f64 / 1e6;
                assert_eq!(measured[objective]["value"], ms);
                assert_eq!(measured[objective]["unit"], "ms");
                assert_eq!(result["times"]["runtimes"][0], ms);
            }
            None => {
                assert!(!measured.contains_key(objective));
                assert_eq!(result["times"]["runtimes"].as_array().unwrap().len(), 0);
                assert!(measured["reason"]["value"].as_str().unwrap().contains("scripted"));
            }
        }
    }
    assert_eq!(t4["metadata"]["timeunit"], "milliseconds");
}

#[test]
fn t4_has_every_row_and_the_environment_of_the_published_files() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let args = ["export", "--format", "t4", "published.llvmpipe.quick.csv", "published.nvidia-h200.full.csv"];
    let (code, stdout, stderr) = scanbox(&args, &published());
    assert_eq!(code, 0, "{stderr}");
    let t4: Value = serde_json::from_slice(&stdout).unwrap();
    assert!(validator.is_valid(&t4));
    let rows = |name: &str| csv_file::read(&published().join(name)).unwrap().records.len();
    let all = rows("published.llvmpipe.quick.csv") + rows("published.nvidia-h200.full.csv");
    assert_eq!(t4["results"].as_array().unwrap().len(), all);
    let environment = &t4["metadata"]["environment"];
    assert_eq!(environment[1]["device"]["name"], "NVIDIA H200");
    // A configuration is the point that was measured: without the labels no two rows of a file have the same, and all
    // have the same keys, among them every parameter.
    let configuration = |result: &Value| {
        let mut configuration = result["configuration"].as_object().unwrap().clone();
        assert!(configuration.remove("config_id").is_some() && configuration.remove("kernel_id").is_some());
        configuration
    };
    let h200 = &t4["results"].as_array().unwrap()[rows("published.llvmpipe.quick.csv")..];
    let points: std::collections::BTreeSet<String> =
        h200.iter().map(|result| Value::Object(configuration(result)).to_string()).collect();
    assert_eq!(points.len(), h200.len());
    let keys: std::collections::BTreeSet<Vec<String>> =
        h200.iter().map(|result| configuration(result).keys().cloned().collect()).collect();
    assert_eq!(keys.len(), 1);
    let keys = keys.first().unwrap();
    let parameters = scanbox_model::parameters::PARAMETERS.iter();
    // One that stands in labels alone is there where it is not the default, which no published row has.
    for parameter in parameters.filter(|parameter| parameter.column.is_some()) {
        assert!(keys.iter().any(|key| key == parameter.name), "{}", parameter.name);
    }
    assert!(environment[1]["runs"][0]["settings"].is_object());
}

#[test]
fn csv_and_json_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let records = every_status(folder.path());
    let file = |name: &str| folder.path().join(name);
    fs::copy(file("rows.csv"), file("again.csv")).unwrap();

    let args = ["export", "--format", "csv", "rows.csv", "again.csv", "-o", "merged.csv"];
    let (code, stdout, stderr) = scanbox(&args, folder.path());
    assert_eq!((code, stdout.as_slice()), (0, &b""[..]), "{stderr}");
    let merged = csv_file::read(&file("merged.csv")).unwrap().records;
    assert_eq!(merged, [records.clone(), records.clone()].concat());
    assert!(!file("merged.csv.partial").exists());

    let (code, stdout, _) = scanbox(&["export", "--format", "json", "rows.csv"], folder.path());
    assert_eq!(code, 0);
    let rows: Vec<Value> = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(row["config_id"], record.config_id.as_str());
        assert_eq!(row["status"], record.status.word());
        assert_eq!(row["n_elements"], record.n_elements);
        let median = record.steady.map(|steady| steady.median_ns);
        assert_eq!(row.get("steady_ns_median").and_then(Value::as_u64), median);
    }
    // A file without rows is a document without rows.
    csv_file::replace(&file("none.csv"), &[]).unwrap();
    let (_, stdout, _) = scanbox(&["export", "--format", "json", "none.csv"], folder.path());
    assert_eq!(serde_json::from_slice::<Vec<Value>>(&stdout).unwrap().len(), 0);
}

#[test]
fn a_failure_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    every_status(folder.path());
    fs::write(folder.path().join("bad.csv"), "schema\n1\n").unwrap();
    let check = |args: &[&str], code: i32, text: &str| {
        let (found, _, stderr) = scanbox(&[&["export"], args].concat(), folder.path());
        assert_eq!(found, code, "{stderr}");
        assert!(stderr.contains(text), "{stderr}");
    };
    check(&["--format", "json", "rows.csv", "-o", "out.json"], 0, "");
    let before = fs::read(folder.path().join("out.json")).unwrap();
    check(&["--format", "json", "bad.csv", "-o", "out.json"], 1, "bad.csv: line 1");
    check(&["--format", "json", "missing.csv", "-o", "out.json"], 1, "missing.csv");
    check(&["--format", "yaml", "rows.csv"], 2, "yaml");
    check(&["rows.csv"], 2, "--format");
    check(&["--format", "t4", "rows.csv", "-o", "no/such/folder.json"], 1, "no/such/folder.json");
    assert_eq!(fs::read(folder.path().join("out.json")).unwrap(), before);
}

#[test]
fn nobody_has_to_read_the_rows() {
    for format in ["t4", "json", "csv"] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("scanbox"));
        command
            .args(["export", "published.nvidia-h200.thesis.csv", "--format", format])
            .current_dir(published());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{format}: {ended:?}");
    }
}

#[test]
fn a_file_that_is_named_twice_is_exported_once() {
    let once = scanbox(&["export", "published.llvmpipe.quick.csv", "--format", "csv"], &published());
    let twice = scanbox(
        &["export", "published.llvmpipe.quick.csv", "./published.llvmpipe.quick.csv", "--format", "csv"],
        &published(),
    );
    assert_eq!((twice.0, twice.1), (0, once.1));
    assert!(twice.2.contains("named twice"), "{}", twice.2);
}
