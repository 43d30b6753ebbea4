//! Packs for any device: how they are made, and those of the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use scanbox_kernels::packing::wrong_module_hash;
use scanbox_pack::{CallUse, Pack, Promises, ScanMode, ScanProblem};

use crate::machines::{Machine, run};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pack has a table for each subgroup size, for this problem and use, and promises nothing.
#[track_caller]
fn check_tables(pack: &Pack, scan: &ScanProblem, call_use: CallUse, sizes: &[u32]) {
    let data = pack.data();
    let problem = data.problems.iter().find(|problem| problem.scan == *scan).unwrap();
    assert!(
        problem.measured.is_empty() && problem.portable.iter().all(|table| table.needs == Promises::NONE)
    );
    let tables = problem.portable.iter().filter(|table| table.call_use == call_use);
    let found: Vec<u32> = tables
        .map(|table| {
            let recipe = &data.recipes[usize::from(table.breakpoints[0].ranked[0])].recipe;
            let module = *recipe.modules().next().unwrap();
            data.modules[usize::from(module)].subgroup_size
        })
        .collect();
    assert_eq!(found, sizes, "{call_use:?}");
}

#[test]
fn a_pack_is_made_without_rows_and_without_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let pack = |arguments: &[&str], code: i32, part: &str| {
        let line = [&["pack", "-o", "any.scanpack"], arguments].concat();
        let answer = run(folder.path(), Machine::WithoutLoader, &line);
        assert_eq!(answer.code, code, "{}{}", answer.out, answer.err);
        assert!(answer.out.contains(part) || answer.err.contains(part), "{}{}", answer.out, answer.err);
    };
    let few = ["--portable", "8,32", "--uses", "pushed,any-element"];
    let problems = ["--any-device", "i32:min:exclusive,f32:add:inclusive:in-place"];
    pack(&[&problems[..], &few].concat(), 0, "device    any device\nkeeps ");
    let made = Pack::read(&fs::read(folder.path().join("any.scanpack")).unwrap()).unwrap();
    let least = ScanProblem::built_in(ScanMode::Exclusive, "i32", "min").unwrap();
    let in_place = ScanProblem::built_in(ScanMode::Inclusive, "f32", "add").unwrap().in_place();
    for scan in [&least, &in_place] {
        check_tables(&made, scan, CallUse::default(), &[8, 32]);
        check_tables(&made, scan, CallUse { any_element: true, ..CallUse::default() }, &[8, 32]);
    }
    assert_eq!((wrong_module_hash(&made), &*made.data().measured_utc), (None, ""));

    pack(&["--any-device", "u32:add:inclusive", "--uses", "line"], 1, "take pushed arguments only");
    pack(&["--any-device", "u32"], 2, "TYPE:OPERATOR:MODE");
    pack(&["--any-device", "u32:plus:inclusive"], 2, "plus");
    pack(&["--any-device", "f32:xor:inclusive"], 2, "xor");
    pack(&["--any-device", "u32:add:inclusive", "rows.csv"], 2, "cannot be used with");
    pack(&["--any-device", "u32:add:inclusive", "--uses", "line"], 1, "--uses");
}

/// Programs ship these: they are what they say, and what the guide and the examples need is in them.
#[test]
#[allow(clippy::print_stderr, reason = "a pack that is stale is not a fault until a release")]
fn packs_of_the_repository_are_whole() {
    let mut packs = 0;
    for file in fs::read_dir(root().join("packs")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "scanpack") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let pack = Pack::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(wrong_module_hash(&pack), None, "{}", path.display());
        assert_eq!(pack.write(), bytes, "{}: written otherwise", path.display());
        let ours = scanbox_kernels::glsl::Compiler::new(None, None).unwrap().kernel_hash();
        if pack.data().kernel_hash != ours {
            eprintln!("warning: {} is stale: run scripts/packs", path.display());
        }
        packs += 1;
    }
    assert!(packs > 0);
    let portable = Pack::read(&fs::read(root().join("packs/portable.scanpack")).unwrap()).unwrap();
    for mode in [ScanMode::Inclusive, ScanMode::Exclusive] {
        let scan = ScanProblem::built_in(mode, "u32", "add").unwrap();
        let plain = CallUse::default();
        for call_use in [
            plain,
            CallUse { any_element: true, ..plain },
            CallUse { n_on_device: true, ..plain },
            CallUse { total: true, ..plain },
        ] {
            check_tables(&portable, &scan, call_use, &[4, 8, 16, 32, 64]);
        }
    }
}

#[test]
fn the_script_tells_stale_packs_from_damaged_and_large_ones() {
    let folder = tempfile::tempdir().unwrap();
    let packs = folder.path().join("packs");
    for name in ["packs", "scripts"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let script = folder.path().join("scripts/packs");
    fs::copy(root().join("scripts/packs"), &script).unwrap();
    let check = |flags: &[&str], code: i32, part: &str| {
        let mut command = Command::new(&script);
        command
            .args(flags)
            .env("SCANBOX", cargo_bin("scanbox"))
            .env("SCANBOX_CACHE", folder.path().join("cache"));
        let ended = command.output().unwrap();
        let said = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(ended.status.code(), Some(code), "{said:?}");
        assert!(said.concat().contains(part), "{said:?}");
    };
    let made = {
        let line = ["pack", "--any-device", "u32:add:inclusive", "--uses", "pushed", "--portable", "8", "-o"];
        let answer = run(&packs, Machine::WithoutLoader, &[&line[..], &["a.scanpack"]].concat());
        assert_eq!(answer.code, 0, "{}", answer.err);
        fs::read(packs.join("a.scanpack")).unwrap()
    };
    check(&["--check", "--fresh"], 0, "a.scanpack is what it says");
    let text = fs::read_to_string(&script).unwrap();
    assert!(text.contains("\nlimit=409600\n"));
    fs::write(&script, text.replace("\nlimit=409600\n", "\nlimit=1000\n")).unwrap();
    check(&["--check"], 1, "and a program ships 1000 at most");
    fs::write(&script, text).unwrap();
    let mut data = Pack::read(&made).unwrap().into_data();
    data.kernel_hash = "0123456789abcdef".to_owned();
    fs::write(packs.join("a.scanpack"), Pack::new(data).unwrap().write()).unwrap();
    // Sources that changed around its kernels leave it as good as it was.
    check(&["--check", "--fresh"], 0, "a.scanpack is what it says");
    // Its kernel is another one than its label says: as if the sources of that had changed.
    let mut data = Pack::read(&made).unwrap().into_data();
    data.kernel_hash = "0123456789abcdef".to_owned();
    let recipe = &mut data.recipes[0];
    assert!(recipe.label.contains(".rake."), "{}", recipe.label);
    recipe.label = recipe.label.replace(".rake.", ".sub.");
    fs::write(packs.join("a.scanpack"), Pack::new(data).unwrap().write()).unwrap();
    check(&["--check"], 0, "is stale");
    check(&["--check", "--fresh"], 1, "is stale");
    let mut damaged = made;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(packs.join("a.scanpack"), damaged).unwrap();
    check(&["--check"], 1, "a.scanpack");
    check(&["--fresh"], 2, "scripts/packs --check");
}
