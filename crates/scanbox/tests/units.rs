//! Units of one model, as a user analyses them: the shards of a sweep, and several whole sweeps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::Record;
use serde_json::Value;

use crate::sweeps::Place;

const UNITS: usize = 4;

/// A folder with a published sweep as `whole.csv`, and metadata beside it.
fn published() -> Place {
    let place = Place::in_memory("");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    for ending in ["csv", "meta.json"] {
        let from = results.join(format!("published.nvidia-h200.thesis.{ending}"));
        fs::copy(from, place.folder().join(format!("whole.{ending}"))).unwrap();
    }
    place
}

/// Writes rows with metadata beside them, as those of a unit.
fn write(place: &Place, name: &str, unit: usize, rows: &[Record], metadata: &Metadata) {
    let sizes: BTreeSet<u64> = rows.iter().map(|row| row.n_elements).collect();
    let uuid = format!("unit-{unit}");
    let own = |row: &Record| Record { device_uuid: uuid.clone(), host: format!("node{unit}"), ..row.clone() };
    let rows: Vec<Record> = rows.iter().map(own).collect();
    let mut metadata = metadata.clone();
    metadata.device.uuid.clone_from(&uuid);
    metadata.ceiling_gbps.retain(|n, _| sizes.contains(n));
    let path = place.folder().join(name);
    csv_file::replace(&path, &rows).unwrap();
    metadata.write(&Metadata::path_beside(&path)).unwrap();
}

/// Splits a sweep by size over units: `part-0.csv` and so on; `merged.csv` has all of their rows.
fn split(place: &Place, whole: &str, units: usize) -> Vec<String> {
    let path = place.folder().join(whole);
    let rows = csv_file::read(&path).unwrap().records;
    let metadata = Metadata::read(&Metadata::path_beside(&path)).unwrap();
    let sizes: BTreeSet<u64> = rows.iter().map(|row| row.n_elements).collect();
    let unit: BTreeMap<u64, usize> = sizes.into_iter().enumerate().map(|(at, n)| (n, at % units)).collect();
    let mut merged = Vec::new();
    let mut parts = Vec::new();
    for part in 0..units {
        let own: Vec<Record> = rows.iter().filter(|row| unit[&row.n_elements] == part).cloned().collect();
        parts.push(format!("part-{part}.csv"));
        write(place, &parts[part], part, &own, &metadata);
        merged.extend(csv_file::read(&place.folder().join(&parts[part])).unwrap().records);
    }
    let path: PathBuf = place.folder().join("merged.csv");
    csv_file::replace(&path, &merged).unwrap();
    let metadata = Metadata {
        device: scanbox_model::device::DeviceProfile { uuid: "unit-0".into(), ..metadata.device },
        ..metadata
    };
    metadata.write(&Metadata::path_beside(&path)).unwrap();
    parts
}

/// The answers without what units and files are called.
fn nameless(place: &Place, arguments: &[&str]) -> Value {
    let told = place.run(&[&["analyze", "--format", "json"], arguments].concat(), 0);
    assert!(!told.stderr.contains("not complete"), "{}", told.stderr);
    let mut json: Value = serde_json::from_str(&told.stdout).unwrap();
    let devices = json["devices"].as_array_mut().unwrap();
    assert_eq!(devices.len(), 1);
    let device = devices[0].as_object_mut().unwrap();
    for name in ["title", "device_uuid", "host", "pci_address", "files", "units"] {
        device.remove(name);
    }
    json.as_object_mut().unwrap().remove("warnings");
    json
}

#[test]
fn the_shards_of_a_sweep_have_its_answers() {
    let place = published();
    let parts = split(&place, "whole.csv", UNITS);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let whole = nameless(&place, &["whole.csv"]);
    assert_eq!(nameless(&place, &parts), whole);
    assert_eq!(nameless(&place, &["merged.csv"]), whole);

    let text = place.run(&[&["analyze"], &parts[..]].concat(), 0).stdout;
    assert!(text.contains("NVIDIA H200, 4 units"), "{text}");
    assert!(text.contains("3600 of 3600 points of the space"), "{text}");
    let each = place.run(&[&["analyze", "--units", "each"], &parts[..]].concat(), 0);
    assert_eq!(each.stderr.matches("the sweep is not complete").count(), UNITS, "{}", each.stderr);
    assert!(each.stdout.contains("NVIDIA H200 on node3"), "{}", each.stdout);

    // A comparison takes the units of a merged file for one, too.
    let same = place.run(&["compare", "whole.csv", "whole.csv"], 0).stdout;
    let merged = place.run(&["compare", "whole.csv", "merged.csv"], 0).stdout;
    let end = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    assert_eq!(end(&same), end(&merged));
    place.run(&[&["report", "-o", "page.html"], &parts[..]].concat(), 0);
    let page = fs::read_to_string(place.folder().join("page.html")).unwrap();
    assert!(page.contains("NVIDIA H200, 4 units") && page.contains("node0, node1, node2, node3"));
}

#[test]
fn whole_sweeps_of_several_units_are_pooled_on_request() {
    let place = published();
    let path = place.folder().join("whole.csv");
    let rows = csv_file::read(&path).unwrap().records;
    let metadata = Metadata::read(&Metadata::path_beside(&path)).unwrap();
    let slower = |row: &Record, percent: u64| {
        let mut row = row.clone();
        for time in row.steady.iter_mut().chain(&mut row.span) {
            for ns in
                [&mut time.median_ns, &mut time.min_ns, &mut time.mean_ns, &mut time.q1_ns, &mut time.q3_ns]
            {
                *ns = *ns * percent / 100;
            }
        }
        row
    };
    let names = ["a.csv", "b.csv", "c.csv", "d.csv"];
    for (unit, (name, percent)) in names.iter().zip([100, 102, 101, 110]).enumerate() {
        let rows: Vec<Record> = rows.iter().map(|row| slower(row, percent)).collect();
        write(&place, name, unit, &rows, &metadata);
    }
    let apart = place.run(&[&["analyze"], &names[..]].concat(), 0);
    assert!(!apart.stdout.contains("units %"), "{}", apart.stdout);
    let pooled = place.run(&[&["analyze", "--units", "pool"], &names[..]].concat(), 0);
    let said = "against the median of all units NVIDIA H200 on node3 is 8.";
    assert!(pooled.stderr.contains(said), "{}", pooled.stderr);
    assert!(pooled.stdout.contains("units %") && pooled.stdout.contains("10800 rows"), "{}", pooled.stdout);
    // The lead of each size is that of each unit: half of them lie close together.
    let csv = place.run(&[&["analyze", "--units", "pool", "--format", "csv"], &names[..]].concat(), 0).stdout;
    let mut csv = ::csv::Reader::from_reader(csv.as_bytes());
    let at = |name: &str, header: &::csv::StringRecord| header.iter().position(|own| own == name).unwrap();
    let header = csv.headers().unwrap().clone();
    let (units, spread) = (at("units", &header), at("unit_spread_pct", &header));
    for row in csv.records().map(Result::unwrap) {
        assert_eq!(&row[units], "3");
        assert!(row[spread].parse::<f64>().unwrap() < 0.2, "{row:?}");
    }
}

#[test]
fn a_pack_is_made_of_shards_as_of_the_whole() {
    let place = Place::in_memory("");
    let space = r#"
name = "shipped"
sizes = "2^10..2^13"
[[block]]
family = ["reduce-then-scan"]
batch_size = [1, 4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["none"]
block_scan = ["raking"]
arguments = ["push"]
"#;
    fs::write(place.folder().join("ship.toml"), space).unwrap();
    let line = ["sweep", "--device", "replay:replay.toml", "--space", "./ship.toml", "--out", "whole.csv"];
    place.run(&line, 0);
    let parts = split(&place, "whole.csv", 2);
    let pack = |files: &[&str], to: &str| {
        place.run(&[&["pack", "--portable", "none", "--uses", "pushed", "-o", to], files].concat(), 0);
        fs::read(place.folder().join(to)).unwrap()
    };
    let whole = pack(&["whole.csv"], "whole.scanpack");
    assert!(pack(&[&parts[0], &parts[1]], "parts.scanpack") == whole);
    assert!(pack(&["merged.csv"], "merged.scanpack") == whole);
}
