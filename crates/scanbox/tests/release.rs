//! What others get: workflows that make releases, and the script that packs them. That a package can be installed is
//! tried by `scripts/test install`.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn workflows() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join(".github/workflows")).unwrap().map(|file| file.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    files.map(read).collect()
}

/// What GitHub would say of a file before it runs anything, as far as that can be said here: it is YAML, jobs that are
/// waited for are there, every step does one thing, and what a step of a shell says is a script.
const CHECK: &str = r#"
import subprocess, sys, yaml
workflow = yaml.safe_load(open(sys.argv[1]))
assert workflow["name"] and workflow[True], "a name, and what starts it"
jobs = workflow["jobs"]
for name, job in jobs.items():
    needs = job.get("needs", [])
    for needed in [needs] if isinstance(needs, str) else needs:
        assert needed in jobs, f"{name} needs {needed}"
    assert job["runs-on"] and job["timeout-minutes"], name
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step), (name, step)
        if "uses" in step:
            assert "@v" in step["uses"], step
            continue
        script = step["run"].replace("${{", "expression_").replace("}}", "_expression")
        told = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        assert told.returncode == 0, (name, told.stderr)
"#;

#[test]
fn workflows_are_what_github_reads() {
    let has_yaml = Command::new("python3").args(["-c", "import yaml"]).output();
    let has_yaml = has_yaml.is_ok_and(|output| output.status.success());
    let names: BTreeSet<String> = workflows().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains("release.yml") && names.contains("ci.yml"), "{names:?}");
    for (name, text) in workflows() {
        // Scripts that a step starts are there.
        for word in text.split([' ', '\n', '"']).filter(|word| word.starts_with("scripts/")) {
            let word = word.trim_end_matches([',', '.', ':']);
            assert!(root().join(word).exists(), "{name}: {word}");
        }
        if has_yaml {
            let file = root().join(".github/workflows").join(&name);
            let output = Command::new("python3").args(["-c", CHECK]).arg(file).output().unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Every system that the README speaks of has a job, and what nobody has seen run says so. Archives have the packs, and
/// packs of other kernels end a release.
#[test]
fn a_release_is_for_all_systems_and_says_what_is_unproved() {
    let text = fs::read_to_string(root().join(".github/workflows/release.yml")).unwrap();
    for part in [
        "windows-latest",
        "macos-latest",
        "debian:bookworm",
        "Unproved",
        "scripts/package-deb --try",
        "scripts/packs --check --fresh",
        "cp -r packs dist/scanbox-linux-x86_64/",
        "cp -r packs \"dist/${{ matrix.name }}/\"",
        "scripts/install-c dist/scanbox-linux-x86_64/c",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn the_script_that_packs_says_how_it_is_used() {
    let script = root().join("scripts/package-deb");
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o111, 0o111);
    let check = |args: &[&str], code: i32, part: &str| {
        let output = Command::new(&script).args(args).output().unwrap();
        // Help that was asked for is an answer; everything else is an error.
        let (told, other) = match code {
            0 => (output.stdout, output.stderr),
            _ => (output.stderr, output.stdout),
        };
        let told = String::from_utf8_lossy(&told).into_owned();
        assert!(output.status.code() == Some(code) && told.contains(part), "{args:?}: {told}");
        assert!(other.is_empty(), "{args:?}: {}", String::from_utf8_lossy(&other));
    };
    let usage = "scripts/package-deb FOLDER --from BINARY";
    for args in [&[][..], &[""], &["--try"], &["out", "--from"], &["out", "--with", "x"]] {
        check(args, 2, usage);
    }
    for args in ["-h", "--help"] {
        check(&[args], 0, usage);
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    check(&[out, "--from", "/nowhere/scanbox"], 1, "name a binary behind --from");
    assert_eq!(fs::read_dir(out).unwrap().count(), 0);
}
