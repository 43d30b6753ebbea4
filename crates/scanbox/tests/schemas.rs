//! JSON schemas: those in docs/schemas are what the program says, and what it writes is valid by them.

use std::fs;
use std::path::{Path, PathBuf};

use scanbox_report::schemas::closed;
use serde_json::{Value, json};

use crate::sweeps::{CONFIG, Place, fault};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The standard output of a command in the root of the repository.
fn said(place: &Place, args: &[&str]) -> Vec<u8> {
    let output = place.scanbox(args).current_dir(root()).output().unwrap();
    assert!(output.status.code() < Some(8), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn names(place: &Place) -> Vec<String> {
    let list = String::from_utf8(said(place, &["explain", "--schema", "list"])).unwrap();
    list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// With `SCANBOX_WRITE_DOCUMENTS=1` they are written instead.
#[test]
fn the_published_schemas_are_what_the_program_says() {
    let place = Place::in_memory("");
    let folder = root().join("docs/schemas");
    let names = names(&place);
    assert!(names.len() > 20, "{names:?}");
    for name in &names {
        let path = folder.join(format!("{name}.json"));
        let made = said(&place, &["explain", "--schema", name]);
        if std::env::var_os("SCANBOX_WRITE_DOCUMENTS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &made).unwrap();
        }
        let there = fs::read(&path).unwrap_or_default();
        assert!(there == made, "{name}: SCANBOX_WRITE_DOCUMENTS=1 cargo test -p scanbox schemas:: writes it");
        let made: Value = serde_json::from_slice(&made).unwrap();
        assert!(jsonschema::meta::is_valid(&made), "{name} is not a schema");
        assert_eq!(made["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
    }
    for file in fs::read_dir(&folder).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(names.contains(&name) || name == "README", "{}", file.display());
    }
    let (code, said) = {
        let ended = place.run(&["explain", "--schema", "swep"], 2);
        (ended.code, ended.stderr)
    };
    assert!(said.contains("sweep") && said.contains("list") || said.contains("progress"), "{code:?} {said}");
}

/// Holds documents against a schema, and wrong ones too.
struct Checker {
    place: Place,
}

impl Checker {
    fn published(&self, name: &str) -> Value {
        serde_json::from_slice(&said(&self.place, &["explain", "--schema", name])).unwrap()
    }

    /// By it, a field that this version does not know is an error: readers forgive that, and this program writes none.
    fn schema(&self, name: &str) -> jsonschema::Validator {
        jsonschema::validator_for(&closed(self.published(name))).unwrap()
    }

    /// A document is valid; with another value in any of its fields it is not. With a field that nobody knows it is as
    /// published, because later versions have more of them, unless people write it; to this version it is not.
    #[track_caller]
    fn check(&self, name: &str, document: &Value) {
        let schema = self.schema(name);
        let errors: Vec<String> = schema
            .iter_errors(document)
            .take(3)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
        // Of a list the first one is enough.
        let sample = match document {
            Value::Array(list) => json!([list[0]]),
            one => one.clone(),
        };
        let with = |field: &str, value: Value| {
            let mut wrong = sample.clone();
            match &mut wrong {
                Value::Array(list) => list[0][field] = value,
                one => one[field] = value,
            }
            wrong
        };
        let more = with("no_such_field", json!(1));
        assert!(!schema.is_valid(&more), "{name} takes any field");
        let published = jsonschema::validator_for(&self.published(name)).unwrap();
        assert_eq!(
            published.is_valid(&more),
            name != "space-file",
            "{name} and the fields of a later version"
        );
        let fields: Vec<String> = document_fields(document);
        let value = json!({ "no": ["such", "value"] });
        let refused = fields.iter().filter(|field| !schema.is_valid(&with(field, value.clone())));
        // All but settings, which are of a form of their own.
        assert!(refused.count() + 1 >= fields.len(), "{name} takes any value");
    }

    /// What a command writes to stdout is valid.
    #[track_caller]
    fn check_answer(&self, name: &str, args: &[&str]) -> Value {
        let output = self.place.scanbox(args).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)));
        self.check(name, &document);
        document
    }
}

fn document_fields(document: &Value) -> Vec<String> {
    let object = document.as_array().map_or(document, |list| &list[0]);
    object.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn every_published_file_is_valid() {
    let checker = Checker { place: Place::in_memory("") };
    let mut checked = 0;
    for folder in ["results", "results/runs", "configs"] {
        let mut folders = vec![root().join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let text = || fs::read_to_string(&path).unwrap();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_string_lossy().ends_with(".meta.json") {
                    checker.check("metadata", &serde_json::from_str(&text()).unwrap());
                    checked += 1;
                } else if path.extension().is_some_and(|ending| ending == "toml")
                    && text().contains("[[block]]")
                {
                    let space: toml::Value = toml::from_str(&text()).unwrap();
                    checker.check("space-file", &serde_json::to_value(space).unwrap());
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 20, "{checked}");
    let published = |name: &str| root().join(name).to_string_lossy().into_owned();
    for file in ["results/published.nvidia-h200.thesis.csv", "results/published.llvmpipe.quick.csv"] {
        let rows = checker.check_answer("rows", &["export", "--format", "json", &published(file)]);
        checker.check("row", &rows[0]);
        let schema = checker.schema("row");
        for (column, value) in
            [("status", json!("fine")), ("n_elements", json!("1024")), ("lookback", json!("best"))]
        {
            let mut wrong = rows[0].clone();
            wrong[column] = value;
            assert!(!schema.is_valid(&wrong), "{column}");
        }
    }
    let packs = fs::read_dir(root().join("packs")).unwrap().map(|entry| entry.unwrap().path());
    for pack in packs.filter(|path| path.extension().is_some_and(|ending| ending == "scanpack")) {
        checker.check_answer("pack", &["pack", "--show", pack.to_str().unwrap(), "--format", "json"]);
    }
    let sweep = published("results/published.nvidia-h200.thesis.csv");
    let other = published("results/published.llvmpipe.quick.csv");
    let two = ["analyze", &sweep, &other, "--include-software", "--portfolio", "2", "--format", "json"];
    checker.check_answer("analyze", &two);
    checker.check_answer("compare", &["compare", &sweep, &sweep, "--format", "json"]);
    let bench = published("results/runs/2026-11-24-nvidia-h200/bench.csv");
    checker.check_answer("bench", &["bench", "--show", &bench, "--format", "json"]);
    checker.check_answer("bench-summary", &["bench", "--show", &bench, "--summary", "--format", "json"]);
    let devices = ["bench", "--show", &bench, "--summary", "devices", "--format", "json"];
    checker.check_answer("bench-devices", &devices);
}

/// What the program says and writes of runs on the replay device, some of which failed.
#[test]
fn what_commands_write_is_valid() {
    let place = Place::in_memory(&fault("wrong_element"));
    let sweep = ["sweep", "--device", "replay:replay.toml", "--space", "space.toml", "--sizes", "2^10,2^12"];
    let output = place
        .scanbox(&[&sweep[..], &["--out", "a.csv", "--format", "json", "--progress", "json"]].concat())
        .output()
        .unwrap();
    let checker = Checker { place };
    let stderr = String::from_utf8(output.stderr).unwrap();
    let ending: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    checker.check("sweep", &ending);

    // Everything on stderr is an event, and the last progress has all rows by status.
    let schema = checker.schema("progress");
    let events: Vec<Value> = stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        assert!(
            schema.is_valid(event),
            "{event}: {:?}",
            schema.iter_errors(event).map(|e| e.to_string()).collect::<Vec<_>>()
        );
        let mut wrong = event.clone();
        wrong["no_such_field"] = json!(1);
        assert!(!schema.is_valid(&wrong), "{wrong}");
    }
    let of = |kind: &str| events.iter().filter(|event| event["event"] == *kind).collect::<Vec<_>>();
    assert_eq!(of("begin")[0]["task"], "sweep");
    let last = of("progress").into_iter().next_back().unwrap();
    assert_eq!(
        (&last["done"], &last["total"], &last["eta_s"]),
        (&json!(8), &json!(8), &json!(0.0)),
        "{last}"
    );
    assert_eq!(last["rows_by_status"], ending["rows_by_status"]);
    assert_eq!(of("end").len(), 1);

    let metadata = fs::read(checker.place.folder().join("a.meta.json")).unwrap();
    checker.check("metadata", &serde_json::from_slice(&metadata).unwrap());
    let device = ["--device", "replay:replay.toml"];
    let with = |args: &[&'static str]| [args, &device, &["--format", "json"]].concat();
    checker.check_answer("space", &with(&["space", "--space", "space.toml"]));
    checker.check_answer("verify", &with(&["verify", CONFIG, "--sizes", "2^10"]));
    checker.check_answer("bench", &with(&["bench", CONFIG, "--sizes", "2^10", "--rounds", "2"]));
    // No published benchmark holds a config against itself with push constants.
    let block = "b4.vec4.par.rake.block.wg64";
    let push = ["bench", block, "--against-push", "--sizes", "2^10", "--rounds", "2", "--out", "push.csv"];
    checker.place.run(&with(&push), 0);
    let arguments = ["bench", "--show", "push.csv", "--summary", "arguments", "--format", "json"];
    checker.check_answer("bench-arguments", &arguments);
    checker.check_answer("merge", &["merge", "a.csv", "-o", "b.csv", "--format", "json"]);
    checker.check_answer("analyze", &["analyze", "a.csv", "--include-software", "--format", "json"]);
    checker.check_answer("doctor", &["doctor", "--format", "json"]);
    checker.check_answer("explain", &["explain", CONFIG, "--format", "json"]);
}
