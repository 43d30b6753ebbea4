//! One chip through Vulkan and WebGPU, as a user meets it: two devices side by side, never one file, never one answer.

use std::fs;
use std::path::Path;

use scanbox_model::api::Api;
use scanbox_model::csv_file;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};
use scanbox_model::timer::Timer;
use serde_json::Value;

use crate::sweeps::{ALL, Ended, Place};

/// The chip; through WebGPU other configs are fast, every call costs more, and times come in steps.
const CHIP: &str = "name = \"Chip\"\nhardware = true\nint64_atomics = true\nnoise_ratio = 0.002\n";
const WEB: &str = "api = \"webgpu\"\nimplementation = \"wgpu 30.0.1 (Vulkan)\"\nrobustness = true\n\
                   seed = 5\nlaunch_ns = 3000.0\ntimer_resolution_ns = 1e4\n";
const VULKAN_FILE: &str = "results/chip.test.csv";
const WEB_FILE: &str = "results/chip.webgpu-wgpu.test.csv";

/// A folder with a sweep of each, where they go by themselves.
fn both() -> Place {
    let place = Place::in_memory(CHIP);
    fs::write(place.folder().join("web.toml"), format!("{CHIP}{WEB}")).unwrap();
    sweep(&place, "replay.toml", &[], 0);
    sweep(&place, "web.toml", &[], 0);
    place
}

#[track_caller]
fn sweep(place: &Place, script: &str, args: &[&str], code: i32) -> Ended {
    let device = format!("replay:{script}");
    let first = ["sweep", "--device", &device, "--space", "space.toml"];
    place.run(&[&first, assumed(script), args].concat(), code)
}

/// By WebGPU nothing says that workgroups which have started go on, and the kernels of the space wait for each other.
fn assumed(script: &str) -> &'static [&'static str] {
    if script != "replay.toml" { &["--assume", "progress"] } else { &[] }
}

fn rows(place: &Place, file: &str) -> Vec<Record> {
    csv_file::read(&place.folder().join(file)).unwrap().records
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn rows_say_through_what_they_were_measured() {
    let place = both();
    let (vulkan, web) = (rows(&place, VULKAN_FILE), rows(&place, WEB_FILE));
    assert_eq!((vulkan.len(), web.len()), (ALL, ALL));
    for row in &vulkan {
        assert_eq!((row.api, row.implementation.as_str(), row.robustness), (Api::Vulkan, "", None));
        assert_eq!((row.timer, row.timer_resolution_ns), (Some(Timer::Timestamps), None));
        assert!(row.span.is_some());
    }
    let told = csv_file::read(&place.folder().join(WEB_FILE)).unwrap().records.len();
    assert_eq!(told, ALL);
    for row in &web {
        let api = (row.api, row.implementation.as_str(), row.robustness);
        assert_eq!(api, (Api::WebGpu, "wgpu 30.0.1 (Vulkan)", Some(true)));
        assert_eq!((row.status, row.timer_resolution_ns), (Status::Ok, Some(1e4)));
        let (time, calls) = (row.steady.unwrap(), row.sample_calls.unwrap());
        assert!(f64::from(calls) * time.median_ns as f64 >= 199.0 * 1e4, "{row:?}");
        // A call that is shorter than a step has no time of its own.
        assert_eq!(row.span.is_some(), time.median_ns >= 10_000, "{row:?}");
    }
    assert!(web.iter().any(|row| row.span.is_none()));
    let device = Metadata::read(&Metadata::path_beside(&place.folder().join(WEB_FILE))).unwrap().device;
    assert_eq!((device.api, device.timer_resolution_ns), (Api::WebGpu, 1e4));
    let text = fs::read_to_string(place.folder().join("results/chip.test.meta.json")).unwrap();
    assert!(
        !text.contains("\"api\"") && !text.contains("timer"),
        "metadata of Vulkan is what it was: {text}"
    );
}

#[test]
fn answers_set_the_two_beside_each_other() {
    let place = both();
    let files = [VULKAN_FILE, WEB_FILE];
    let analyze =
        |format: &str| place.run(&[&["analyze", "--format", format], &files[..]].concat(), 0).stdout;
    for format in ["table", "md"] {
        says(&analyze(format), &["Chip (WebGPU)", "driven through", "wgpu 30.0.1 (Vulkan)"]);
    }
    let found = json(&analyze("json"));
    let devices = found["devices"].as_array().unwrap();
    let titles: Vec<&str> = devices.iter().map(|device| device["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Chip", "Chip (WebGPU)"]);
    let apis: Vec<&str> = devices.iter().map(|device| device["api"].as_str().unwrap()).collect();
    assert_eq!(apis, ["vulkan", "webgpu"]);
    assert_eq!(devices[1]["implementation"], "wgpu 30.0.1 (Vulkan)");
    assert_eq!(devices[1]["robustness"], true);
    assert!(devices.iter().all(|device| device["rows"]["total"] == ALL));
    let text = found.to_string();
    assert!(!text.contains("older"), "no run was taken for another state of the other: {text}");

    let csv = analyze("csv");
    let mut csv = csv::Reader::from_reader(csv.as_bytes());
    let header = csv.headers().unwrap().clone();
    let cell = |row: &csv::StringRecord, name: &str| {
        row[header.iter().position(|own| own == name).unwrap()].to_owned()
    };
    let lines: Vec<[String; 4]> = csv
        .records()
        .map(|row| {
            ["unit", "api", "implementation", "robustness"].map(|name| cell(row.as_ref().unwrap(), name))
        })
        .collect();
    assert_eq!(lines.len(), 14);
    assert_eq!(lines[0], ["Chip", "vulkan", "", ""]);
    assert_eq!(lines[13], ["Chip (WebGPU)", "webgpu", "wgpu 30.0.1 (Vulkan)", "on"]);

    place.run(&[&["report", "-o", "page.html"], &files[..]].concat(), 0);
    let page = fs::read_to_string(place.folder().join("page.html")).unwrap();
    says(&page, &["Chip (WebGPU)", "WebGPU, wgpu 30.0.1 (Vulkan)"]);
}

#[test]
fn transfer_between_the_two_is_computed() {
    let place = both();
    let found = place.run(&["analyze", "--format", "json", VULKAN_FILE, WEB_FILE], 0);
    let found = json(&found.stdout);
    let transfers = found["across"][0]["transfers"].as_array().unwrap();
    let other = |transfer: &&Value| transfer["from"] != transfer["to"];
    let others: Vec<&Value> = transfers.iter().filter(other).collect();
    assert_eq!(others.len(), 2, "{transfers:?}");
    assert!(others.iter().all(|transfer| transfer["sizes"] == 7), "{transfers:?}");
    let table = place.run(&["analyze", VULKAN_FILE, WEB_FILE], 0).stdout;
    says(&table, &["Chip (WebGPU)"]);
}

#[test]
fn no_file_holds_both() {
    let place = both();
    let resumed = sweep(&place, "web.toml", &["--out", VULKAN_FILE], 1);
    says(&resumed.stderr, &["its rows are of Vulkan, this run is of WebGPU, wgpu 30.0.1 (Vulkan)", "--out"]);
    let resumed = sweep(&place, "replay.toml", &["--out", WEB_FILE, "--accept-device"], 1);
    says(&resumed.stderr, &["its rows are of WebGPU", "this run is of Vulkan"]);
    let newer = format!("{CHIP}{WEB}").replace("30.0.1", "31.0.0");
    fs::write(place.folder().join("newer.toml"), newer).unwrap();
    let resumed = sweep(&place, "newer.toml", &[], 1);
    says(&resumed.stderr, &["wgpu 30.0.1", "this run is of WebGPU, wgpu 31.0.0"]);
    // Both go on with their own.
    for script in ["replay.toml", "web.toml"] {
        says(&sweep(&place, script, &[], 0).stderr, &["28 of them done before"]);
    }
    let merged = place.run(&["merge", VULKAN_FILE, WEB_FILE, "-o", "both.csv"], 1);
    says(&merged.stderr, &["they differ in the interface to the device", "`Vulkan`", "WebGPU, wgpu 30.0.1"]);
    assert!(!place.folder().join("both.csv").exists());
    let compared = place.run(&["compare", VULKAN_FILE, WEB_FILE], 2);
    says(&compared.stderr, &["Chip (WebGPU, wgpu 30.0.1 (Vulkan)"]);
    // Who wants it all the same is told.
    let compared = place.scanbox(&["compare", "--accept-device", VULKAN_FILE, WEB_FILE]).output().unwrap();
    says(&String::from_utf8(compared.stdout).unwrap(), &["Chip (WebGPU"]);
    let packed = place.run(&["pack", WEB_FILE, "-o", "x.scanpack"], 1);
    says(&packed.stderr, &["Chip (WebGPU)", "made of rows of Vulkan alone"]);
    assert!(!Path::new(&place.folder().join("x.scanpack")).exists());
}

#[test]
fn a_benchmark_takes_configs_of_its_own_interface() {
    let place = both();
    let bench = |script: &str, args: &[&str], code| {
        let device = format!("replay:{script}");
        let first = ["bench", "--device", &device, "--sizes", "4096", "--rounds", "3"];
        let all = [&first, assumed(script), args].concat();
        place.run(&all, code)
    };
    let refused = bench("web.toml", &["--from", VULKAN_FILE], 1);
    says(&refused.stderr, &["it has rows of Chip", "this device is Chip (WebGPU"]);
    bench("web.toml", &["--from", WEB_FILE], 0);
    bench("replay.toml", &["--from", VULKAN_FILE], 0);
    let web = rows(&place, "results/bench/chip.webgpu-wgpu.csv");
    assert!(web.iter().all(|row| row.api == Api::WebGpu && row.sample_calls.is_some()));
    // Rounds that agree to the last step are not certain.
    let step_pct = |row: &Record| {
        let (calls, time) = (row.sample_calls.unwrap(), row.steady.unwrap().median_ns);
        100.0 * 1e4 / f64::from(calls) / time as f64
    };
    assert!(web.iter().all(|row| row.round_spread_pct.unwrap() >= step_pct(row) - 0.01), "{web:?}");
    let shown = bench(
        "replay.toml",
        &["b4.vec4.par.rake.wg64", "--with", "results/bench/chip.webgpu-wgpu.csv", "--out", "x.csv"],
        1,
    );
    says(&shown.stderr, &["its rows of scanbox are of WebGPU", "this run is of Vulkan"]);
}

#[test]
fn a_confirmation_of_webgpu_stays_in_its_file() {
    let place = both();
    sweep(&place, "web.toml", &["--confirm", "3"], 0);
    let web = rows(&place, WEB_FILE);
    assert!(web.iter().any(|row| row.confirmed_ns.is_some()));
    assert!(web.iter().all(|row| row.api == Api::WebGpu));
}

#[test]
fn t4_tells_the_two_apart() {
    let place = both();
    let t4 = json(&place.run(&["export", "--format", "t4", VULKAN_FILE, WEB_FILE], 0).stdout);
    let results = t4["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 * ALL);
    let of = |place: usize, name: &str| results[place]["configuration"][name].clone();
    assert_eq!((of(0, "api"), of(0, "implementation")), ("vulkan".into(), Value::Null));
    assert_eq!((of(ALL, "api"), of(ALL, "implementation")), ("webgpu".into(), "wgpu 30.0.1 (Vulkan)".into()));
    assert_eq!(of(ALL, "robustness"), "on");
    let steps = results[ALL]["measurements"].as_array().unwrap().iter();
    let steps: Vec<&Value> = steps.filter(|one| one["name"] == "timer_resolution_ns").collect();
    assert_eq!((steps[0]["value"].as_f64(), steps[0]["unit"].as_str()), (Some(1e4), Some("ns")));
    assert_eq!(t4["metadata"]["environment"][1]["device"]["api"], "webgpu");
}

#[test]
fn rounded_and_unrounded_clocks_agree() {
    let place = Place::in_memory("");
    let noisy = "noise_ratio = 0.002\noutlier_share = 0.01\n";
    let mut medians = Vec::new();
    for (script, file) in [("", "fine.csv"), ("timer_resolution_ns = 1e5\n", "rounded.csv")] {
        place.script(&format!("{noisy}{script}"));
        sweep(&place, "replay.toml", &["--out", file], 0);
        let mut rows = rows(&place, file);
        rows.sort_by_key(|row| (row.n_elements, row.config_id.clone()));
        medians.push(rows.iter().map(|row| row.steady.unwrap().median_ns as f64).collect::<Vec<_>>());
    }
    for (fine, rounded) in medians[0].iter().zip(&medians[1]) {
        assert!((fine - rounded).abs() <= 0.01 * fine, "{fine} {rounded}");
    }
}
