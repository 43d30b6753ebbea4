//! Packs of sweeps on the replay device, and kernels as files: as a user makes them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use scanbox_kernels::glsl::compile_flat;
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status};
use scanbox_pack::json::PackText;
use scanbox_pack::{ArgumentKind, CallUse, Chosen, Pack, Promises, Reason, SeenDevice, Wish};

use crate::machines::Machine;
use crate::sweeps::{Ended, Place};

/// Kernels that can be shipped: some that need progress, some that need nothing.
pub const SHIPPED: &str = r#"
name = "shipped"
sizes = "2^10..2^13"
[[block]]
family = ["chained-scan"]
batch_size = [1, 4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["parallel"]
block_scan = ["raking"]
reset = ["turn", "fill"]
arguments = ["push"]
[[block]]
family = ["chained-scan"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["parallel"]
block_scan = ["raking"]
arguments = ["block", "baked"]
[[block]]
family = ["reduce-then-scan"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["none"]
block_scan = ["raking"]
arguments = ["push"]
[[block]]
family = ["chained-scan"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["fallback"]
block_scan = ["raking"]
reset = ["turn"]
arguments = ["push"]
"#;

/// A folder with a sweep of a space in `rows.csv`.
pub fn swept(space: &str, flags: &[&str]) -> Place {
    let place = Place::in_memory("");
    sweep(&place, space, "rows.csv", flags);
    place
}

fn sweep(place: &Place, space: &str, out: &str, flags: &[&str]) {
    fs::write(place.folder().join("ship.toml"), space).unwrap();
    let line = ["sweep", "--device", "replay:replay.toml", "--space", "./ship.toml", "--out", out];
    place.run(&[&line[..], flags].concat(), 0);
}

fn read(place: &Place, name: &str) -> Pack {
    Pack::read(&fs::read(place.folder().join(name)).unwrap()).unwrap()
}

/// Few uses and subgroup sizes, since each has modules to compile.
const FEW: [&str; 4] = ["--uses", "pushed", "--portable", "none"];

#[track_caller]
fn refused(place: &Place, line: &[&str], code: i32, expected: &str) -> Ended {
    let ended = place.run(line, code);
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    ended
}

fn seen<'a>(pack: &'a Pack, features: &Pack) -> SeenDevice<'a> {
    let device = &pack.data().device;
    let modules = &features.data().modules;
    SeenDevice {
        vendor_id: device.vendor_id,
        device_id: device.device_id,
        driver: &device.driver,
        driver_build: &device.driver_build,
        subgroup_size: 32,
        min_subgroup_size: 32,
        max_subgroup_size: 32,
        max_workgroup_size: 1024,
        max_workgroup_subgroups: 32,
        max_shared_bytes: 48 << 10,
        features: modules
            .iter()
            .fold(scanbox_pack::FeatureSet::NONE, |all, module| all.with(module.features)),
    }
}

#[test]
fn a_pack_of_a_sweep_has_every_use() {
    let place = swept(SHIPPED, &[]);
    let made = place.run(&["pack", "rows.csv", "-o", "all.scanpack", "--portable", "32"], 0);
    let pack = read(&place, "all.scanpack");
    let data = pack.data();
    assert_eq!(data.problems.len(), 1);
    let problem = &data.problems[0];
    let kinds = [ArgumentKind::Pushed, ArgumentKind::Line, ArgumentKind::Baked];
    for (bits, arguments) in (0..16u8).flat_map(|bits| kinds.map(|kind| (bits, kind))) {
        let has = |bit: u8| bits >> bit & 1 == 1;
        let [n_on_device, total, any_element, scratch_overwritten] = [0, 1, 2, 3].map(has);
        let call_use = CallUse {
            n_on_device,
            total,
            init_in_memory: false,
            scratch_overwritten,
            arguments,
            any_element,
        };
        let there = problem.measured.iter().chain(&problem.portable).any(|table| table.call_use == call_use);
        // Rows have no kernel with arguments in memory whose scratch memory others may overwrite.
        let expected = match arguments {
            ArgumentKind::Pushed => true,
            ArgumentKind::Line => !scratch_overwritten,
            ArgumentKind::Baked => !n_on_device && !scratch_overwritten,
        };
        assert_eq!(there, expected, "{call_use}");
    }
    for table in &problem.measured {
        // What kernels start in vain where only the device knows the size is in no row.
        let CallUse { total, any_element, n_on_device, .. } = table.call_use;
        let unknown = total || any_element || n_on_device;
        let told = table.breakpoints.iter().any(|range| range.worst_loss_ppm.is_some());
        assert_eq!(told, !unknown, "{}", table.call_use);
    }
    assert!(problem.portable.iter().all(|table| table.needs == Promises::NONE));

    // Times are those of the rows: whole, confirmed where they are, and of what is shipped.
    let records = csv_file::read(&place.folder().join("rows.csv")).unwrap().records;
    assert!(!data.times.is_empty());
    for time in &data.times {
        let label = &data.recipes[usize::from(time.recipe)].label;
        let row = records.iter().find(|row| row.config_id == *label && row.n_elements == time.n);
        let steady = row.unwrap_or_else(|| panic!("{label} at {}", time.n)).steady.unwrap();
        assert_eq!(time.picoseconds, 1000 * steady.median_ns);
    }

    // Who promises nothing on a device that nobody knows gets what needs nothing; who promises progress gets more.
    let chosen = |promised, n| {
        let wish = Wish { scan: &problem.scan, call_use: CallUse::default(), promised };
        let Chosen { recipe, reason, table, .. } = pack.choose(&wish, &seen(&pack, &pack), n).unwrap();
        (data.recipes[usize::from(recipe)].label.clone(), reason, table.needs)
    };
    for n in [0, 1, 1024, 3000, 8192, 1 << 30] {
        let (label, reason, needs) = chosen(Promises::NONE, n);
        assert_eq!((reason, needs), (Reason::SameDriver, Promises::NONE), "{n}");
        assert!(label.starts_with("rts.") || label.contains(".fallback."), "{label}");
    }
    let best = |n: u64, may: &dyn Fn(&str) -> bool| {
        let rows = records.iter().filter(|row| row.n_elements == n && may(&row.config_id));
        rows.map(|row| row.steady.unwrap().median_ns).min().unwrap()
    };
    let shippable = |label: &str| !label.contains(".block.") && !label.contains(".baked.");
    for n in [1024, 2048, 4096, 8192] {
        let (label, ..) = chosen(Promises::PROGRESS, n);
        let own = best(n, &|other| other == label);
        assert!(own as f64 <= 1.02 * best(n, &shippable) as f64, "{label} at {n}");
    }

    // What was written is what is shown, and what the command said.
    let shown = place.run(&["pack", "--show", "all.scanpack"], 0);
    assert!(made.stdout.starts_with(&shown.stdout), "{}\n{}", made.stdout, shown.stdout);
    assert!(made.stdout.contains("progress promised: "), "{}", made.stdout);
    let json = place.run(&["pack", "--show", "all.scanpack", "--format", "json"], 0);
    let text: PackText = serde_json::from_str(&json.stdout).unwrap();
    let words: BTreeMap<_, _> = data.modules.iter().map(|module| (module.hash, &module.words)).collect();
    assert_eq!(text.pack(|hash| words.get(hash).map(|words| (*words).clone())).as_ref(), Ok(&pack));
    // In 80 columns.
    let narrow = place.scanbox(&["pack", "--show", "all.scanpack"]).env("COLUMNS", "80").output().unwrap();
    let narrow = String::from_utf8(narrow.stdout).unwrap();
    let longest = narrow.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(80), "{longest:?}: {narrow}");
}

#[test]
fn promises_and_portfolios_bound_what_is_in_it() {
    let place = swept(SHIPPED, &["--assume", "workgroup-order"]);
    let labels = |flags: &[&str]| {
        place.run(&[&["pack", "rows.csv", "-o", "x.scanpack"], &FEW[..], flags].concat(), 0);
        let pack = read(&place, "x.scanpack");
        let keeps = pack.data().device.keeps;
        assert_eq!(keeps, Promises::NONE, "what is assumed is not known");
        let recipes = &pack.data().recipes;
        let tables = &pack.data().problems[0].measured;
        let labels = |range: &scanbox_pack::Breakpoint| recipes[usize::from(range.ranked[0])].label.clone();
        tables
            .iter()
            .map(|table| (table.needs, table.breakpoints.iter().map(labels).collect::<Vec<_>>()))
            .collect::<Vec<_>>()
    };
    let none = labels(&["--promises", "none"]);
    assert!(none.iter().all(|(needs, _)| *needs == Promises::NONE) && none.len() == 1);
    let one = labels(&["--promises", "progress", "--portfolio", "1"]);
    assert_eq!(one.iter().map(|(_, labels)| labels.len()).collect::<Vec<_>>(), [1]);
    let both = labels(&["--promises", "none,progress+workgroup-order"]);
    assert!(both.len() <= 2 && both.iter().any(|(needs, _)| *needs == Promises::NONE));
    refused(
        &place,
        &["pack", "rows.csv", "-o", "y", "--promises", "luck"],
        2,
        "`luck` is not a promise: none, or any of progress",
    );
    refused(&place, &["pack", "rows.csv", "-o", "y", "--uses", "all"], 2, "`all` is not a use: pushed, line");
    refused(&place, &["pack", "rows.csv", "-o", "y", "--portable", "7"], 2, "`7` is not a subgroup size");
    assert!(!place.folder().join("y").exists());
}

/// What the host counts has a twin that the device counts.
#[test]
fn rows_of_calls_that_the_host_counts_choose_their_twins() {
    let space = SHIPPED.replace("reset = [\"turn\", \"fill\"]", "").replace("reset = [\"turn\"]", "");
    let place = swept(&space, &[]);
    let ended = place.run(&[&["pack", "rows.csv", "-o", "x.scanpack"], &FEW[..]].concat(), 0);
    assert!(
        ended.stderr.contains("their twins with reset turn are shipped, whose times nobody has measured")
    );
    let pack = read(&place, "x.scanpack");
    let data = pack.data();
    let twin = |place: u16| data.recipes[usize::from(place)].label.contains(".turn.");
    assert!((0..data.recipes.len() as u16).any(twin));
    assert!(data.times.iter().all(|time| !twin(time.recipe)));
    for range in data.problems[0].measured.iter().flat_map(|table| &table.breakpoints) {
        assert_eq!(range.worst_loss_ppm.is_none(), twin(range.ranked[0]));
    }
}

#[test]
fn what_cannot_be_shipped_is_refused_with_the_reason() {
    let place = swept(SHIPPED, &[]);
    let pack = |files: &[&'static str]| [&["pack"], files, &["-o", "x.scanpack"], &FEW[..]].concat();
    refused(&place, &["pack", "-o", "x.scanpack"], 2, "<FILES>...");
    refused(&place, &["pack", "rows.csv"], 2, "--output");
    refused(&place, &pack(&["none.csv"]), 1, "none.csv");

    let change = |name: &str, change: &dyn Fn(&mut Record)| {
        let mut records = csv_file::read(&place.folder().join("rows.csv")).unwrap().records;
        records.iter_mut().for_each(change);
        csv_file::replace(&place.folder().join(name), &records).unwrap();
        let beside = |name: &str| place.folder().join(name).with_extension("meta.json");
        let metadata = fs::read_to_string(beside("rows.csv")).unwrap();
        let own = csv_file::read(&place.folder().join("rows.csv")).unwrap().records;
        let metadata = metadata
            .replace("\"Replay\"", &format!("\"{}\"", records[0].device))
            .replace(&own[0].kernel_hash, &records[0].kernel_hash);
        fs::write(beside(name), metadata).unwrap();
    };
    change("hash.csv", &|row| row.kernel_hash = "0123456789abcdef".into());
    refused(
        &place,
        &pack(&["hash.csv"]),
        1,
        "the rows are of kernel sources 0123456789abcdef, and these are",
    );
    let told = place.run(&[&pack(&["hash.csv"])[..], &["--other-sources"]].concat(), 0);
    assert!(told.stdout.contains("what it loses was not measured"), "{}", told.stdout);
    assert!(read(&place, "x.scanpack").data().times.is_empty());
    fs::remove_file(place.folder().join("x.scanpack")).unwrap();

    change("other.csv", &|row| row.device = "Other".into());
    let two = "there are rows of Other (replay 1) and of Replay (replay 1): name files of one";
    refused(&place, &pack(&["rows.csv", "other.csv"]), 1, two);
    change("failed.csv", &|row| {
        (row.status, row.steady, row.span, row.samples) = (Status::Timeout, None, None, 0);
        row.reason = "late".into();
    });
    refused(&place, &pack(&["failed.csv"]), 1, "`scanbox sweep --space handover` measures kernels to ship");
    // Of these none is for pushed arguments.
    sweep(
        &place,
        &SHIPPED
            .replace("arguments = [\"push\"]", "arguments = [\"block\"]")
            .replace("\"turn\", \"fill\"", "\"fill\"")
            .replace("reset = [\"turn\"]", ""),
        "block.csv",
        &[],
    );
    let why = "arguments block are for no use that was asked for; `scanbox sweep --space handover`";
    refused(&place, &pack(&["block.csv"]), 1, why);
    fs::copy(place.folder().join("rows.csv"), place.folder().join("alone.csv")).unwrap();
    refused(&place, &pack(&["alone.csv"]), 1, "there is no metadata beside it");
    assert!(!place.folder().join("x.scanpack").exists(), "nothing was written");
}

#[test]
fn damaged_packs_are_told() {
    let place = swept(SHIPPED, &[]);
    place.run(&[&["pack", "rows.csv", "-o", "x.scanpack"], &FEW[..]].concat(), 0);
    let bytes = fs::read(place.folder().join("x.scanpack")).unwrap();
    let put = |bytes: &[u8]| fs::write(place.folder().join("y.scanpack"), bytes).unwrap();
    let show = ["pack", "--show", "y.scanpack"];
    put(&bytes[..bytes.len() / 2]);
    refused(&place, &show, 1, "the pack is cut");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    put(&flipped);
    refused(&place, &show, 1, "the pack is damaged");
    let mut data = Pack::read(&bytes).unwrap().into_data();
    data.modules[0].hash.0[5] ^= 1;
    put(&Pack::new(data).unwrap().write());
    refused(&place, &show, 1, "the code of module 0 is not what its hash says");
    put(b"my notes\n");
    refused(&place, &show, 1, "this is not a pack");
    refused(&place, &["pack", "rows.csv", "--show", "y.scanpack"], 2, "cannot be used with");
}

/// The code of a folder of kernels, by the name that modules have.
fn code(place: &Place, folder: &str) -> BTreeMap<String, (Vec<u32>, String)> {
    let files: Vec<PathBuf> =
        fs::read_dir(place.folder().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    let of = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        let text = fs::read_to_string(path.with_extension("comp")).unwrap();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), (words, text))
    };
    files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "spv")).map(of).collect()
}

#[test]
fn kernels_are_files_that_say_how_to_dispatch_them() {
    let place = swept(SHIPPED, &[]);
    let line = ["export", "rows.csv", "--format", "kernels", "-o", "kernels"];
    place.run(&line, 0);
    let code = code(&place, "kernels");
    let text = fs::read_to_string(place.folder().join("kernels/recipe.json")).unwrap();
    let text: PackText = serde_json::from_str(&text).unwrap();
    let pack = text.pack(|hash| Some(code[&hash.to_string()[..12]].0.clone())).unwrap();
    assert_eq!(scanbox_kernels::packing::wrong_module_hash(&pack), None);
    let data = pack.data();
    assert_eq!(data.modules.len(), code.len());
    let readme = fs::read_to_string(place.folder().join("kernels/README.md")).unwrap();
    for (name, (words, glsl)) in &code {
        assert!(readme.contains(&format!("`{name}`")), "{name}");
        assert!(compile_flat(glsl, name).unwrap() == *words, "{name}");
        let head: Vec<&str> = glsl.lines().take(6).collect();
        let expected = ["#version 460", "// SPDX-License-Identifier: MIT OR Apache-2.0", "// scanbox "];
        assert!(head.iter().zip(expected).all(|(line, begin)| line.starts_with(begin)), "{head:?}");
        assert!(
            head[2].contains(&data.kernel_hash) && head[2].contains("commit ") && head[5].contains("Replay")
        );
    }
    for (place, recipe) in data.recipes.iter().enumerate() {
        assert!(readme.contains(&format!("\n## Kernel {place}: {}\n", recipe.label)));
        let launch = recipe.recipe.at(1_000_000).unwrap();
        for step in launch.steps() {
            let module = data.modules[usize::from(*step.module())].hash.to_string()[..12].to_owned();
            let row = readme
                .lines()
                .find(|line| line.contains(&module) && line.contains(&format!(" {} ", step.workgroups)));
            assert!(row.is_some(), "{module} with {} workgroups", step.workgroups);
        }
    }
    // Kernels are replaced by kernels, and nothing else is.
    place.run(&line, 0);
    fs::write(place.folder().join("kernels/README.md"), "mine\n").unwrap();
    refused(&place, &line, 1, "--output");
    refused(&place, &["export", "rows.csv", "--format", "csv", "--other-sources"], 2, "--format kernels");
    refused(&place, &["export", "rows.csv", "--format", "kernels"], 2, "--output");
}

#[test]
fn tuning_is_one_command() {
    let place = Place::in_memory("");
    fs::write(place.folder().join("ship.toml"), SHIPPED).unwrap();
    let line = [
        "tune",
        "--device",
        "replay:replay.toml",
        "--space",
        "./ship.toml",
        "--uses",
        "pushed,any-element",
        "--portable",
        "32",
        "--folder",
        "tuned",
    ];
    let problem = ["--problem", "u32:add:exclusive"];
    let tuned = place.run(&[&line[..], &problem].concat(), 0);
    let name = "tuned/replay.u32-add-exclusive.scanpack";
    let pack = read(&place, name);
    assert!(tuned.stdout.contains("exclusive u32 add") && tuned.stdout.contains(name), "{}", tuned.stdout);
    assert!(pack.data().times.iter().any(|time| time.confirmed), "the leaders are confirmed");
    assert!(pack.data().problems[0].portable.len() == 2);
    // Again: nothing is left to measure, and the pack is the same.
    place.run(&[&line[..], &["--mode", "exclusive"]].concat(), 0);
    assert_eq!(read(&place, name), pack);
    // What no kernel can be shipped of in this time is said.
    refused(
        &place,
        &[&line[..], &["--problem", "u32:add"]].concat(),
        2,
        "`u32:add` is not of the form TYPE:OPERATOR:MODE",
    );
    let both = ["--problem", "u32:add:exclusive", "--op", "max"];
    refused(&place, &[&line[..], &both].concat(), 2, "cannot be used with");
    refused(&place, &["tune", "--device", "replay:none.toml", "--folder", "tuned"], 1, "none.toml");
    fs::write(place.folder().join("tuned/replay.f32-max-inclusive.scanpack"), "mine").unwrap();
    let other = ["--type", "f32", "--op", "max"];
    let ended = refused(&place, &[&line[..], &other].concat(), 1, "--folder");
    assert!(!ended.stderr.contains("compiling"), "{}", ended.stderr);
}

#[test]
fn packs_for_any_device_need_no_rows() {
    let place = Place::in_memory("");
    let line = ["pack", "--any-device", "u32:add:exclusive,f32:max:inclusive:in-place", "-o", "any.scanpack"];
    let few = ["--portable", "32", "--uses", "pushed,total"];
    place.run(&[&line[..], &few].concat(), 0);
    let pack = read(&place, "any.scanpack");
    let data = pack.data();
    assert_eq!(data.problems.len(), 2);
    assert!(data.problems.iter().all(|problem| problem.measured.is_empty() && problem.portable.len() == 2));
    assert!(data.times.is_empty() && data.measured_utc.is_empty());
    refused(&place, &["pack", "--any-device", "u32:plus:exclusive", "-o", "x"], 2, "plus");
}

/// A pack as the program makes it, run by the library that programs have: on lavapipe.
#[test]
fn packs_are_tried_through_the_library() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let place = Place::in_memory("");
    fs::write(place.folder().join("ship.toml"), SHIPPED.replace("2^13", "2^11")).unwrap();
    let run = |line: &[&str], code: i32| {
        let mut command = place.scanbox(line);
        // Subgroups of 8; kernels that wait for workgroups on another core may wait for a long time.
        command
            .env("VK_DRIVER_FILES", &driver)
            .env("LP_NATIVE_VECTOR_WIDTH", "256")
            .env("LP_NUM_THREADS", "1");
        let ended = crate::sweeps::ended(command.env("SCANBOX_LOCKS", place.folder()).output().unwrap());
        assert_eq!(ended.code, Some(code), "{line:?}: {}{}", ended.stdout, ended.stderr);
        ended
    };
    let uses = ["--uses", "pushed,line,n-on-device", "--portable", "8,16"];
    let tune = [
        "tune",
        "--device",
        "0",
        "--space",
        "./ship.toml",
        "--problem",
        "u32:add:exclusive",
        "--folder",
        ".",
    ];
    run(&[&tune[..], &uses].concat(), 0);
    let pack = "llvmpipe.u32-add-exclusive.scanpack";
    let json = run(&["pack", "--check", pack, "--format", "json"], 0).stdout;
    let tried: serde_json::Value = serde_json::from_str(&json).unwrap();
    let verdicts = tried["verdicts"].as_array().unwrap();
    for verdict in verdicts {
        // What is for subgroups of 16 cannot run; everything else did.
        let what = verdict["what"].as_str().unwrap();
        let expected = if what.ends_with("subgroups of 16") { "unsupported" } else { "ok" };
        assert_eq!(verdict["status"], expected, "{verdict}");
        assert!(expected != "ok" || verdict["calls"].as_u64() >= Some(5), "{verdict}");
    }
    for part in [", pushed n-on-device,", ", line n-on-device,", "rts.", "fallback", ".turn."] {
        let found = verdicts.iter().any(|verdict| verdict["what"].as_str().unwrap().contains(part));
        assert!(found, "{part}: {json}");
    }

    // Success is a few lines: what cannot run is told once for each reason.
    let left_out = verdicts.iter().filter(|verdict| verdict["status"] == "unsupported").count();
    let shown = run(&["pack", "--check", pack], 0).stdout;
    let said = format!("\n{left_out} not tried: the device has no subgroups of 16\n");
    assert!(left_out > 1 && shown.contains(&said) && shown.lines().count() < 6, "{shown}");

    // Code that gives something else is found: sums in place of maxima.
    let data = |operator: &str, subgroups: &str| {
        let (name, problem) = (format!("{operator}.scanpack"), format!("u32:{operator}:inclusive"));
        let few = ["--uses", "pushed", "--portable", subgroups, "-o", &name];
        place.run(&[&["pack", "--any-device", &problem][..], &few].concat(), 0);
        read(&place, &name).into_data()
    };
    let (sums, mut maxima) = (data("add", "8"), data("max", "8"));
    maxima.modules = sums.modules;
    fs::write(place.folder().join("wrong.scanpack"), Pack::new(maxima).unwrap().write()).unwrap();
    let wrong = run(&["pack", "--check", "wrong.scanpack"], 5);
    assert!(wrong.stdout.contains("1 kernel wrong") && wrong.stderr.contains("wrong_result"), "{wrong:?}");
    refused(&place, &["pack", "--check", "none.scanpack"], 1, "none.scanpack");
    // Who plays a device runs no code.
    data("min", "32");
    let played = ["pack", "--check", "min.scanpack", "--device", "replay:replay.toml"];
    refused(&place, &played, 1, "").stdout.contains("who plays a device runs no code").then_some(()).unwrap();
}
