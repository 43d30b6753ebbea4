//! On a device: the first one that the loader lists. Without `SCANBOX_TEST_DEVICE=1` every test says that it is
//! skipped.

mod packs;
mod installed;

use std::fs;
use std::path::PathBuf;

use crate::program::{Linked, Program, folder};

/// Whether tests on a device are asked for.
#[allow(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn is_asked_for() -> bool {
    let asked = std::env::var_os("SCANBOX_TEST_DEVICE").is_some();
    if !asked {
        eprintln!("skipped: set SCANBOX_TEST_DEVICE=1");
    }
    asked
}

/// The portable pack of the repository.
fn pack() -> PathBuf {
    folder().join("../../packs/portable.scanpack")
}

#[test]
fn what_is_wrong_is_refused_and_what_is_right_runs() {
    if is_asked_for() {
        let said = Program::of_tests("misuse.c", Linked::Dynamically).check(&[&pack()]);
        assert!(said.ends_with("0 failures\n"), "{said}");
    }
}

#[test]
fn what_is_bound_runs_and_can_be_told_something_else() {
    if is_asked_for() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("bound.scanpack");
        fs::write(&path, packs::bytes()).unwrap();
        let said = Program::of_tests("bound.c", Linked::Statically).check(&[&path]);
        assert!(said.ends_with("0 failures\n"), "{said}");
    }
}

#[test]
fn structures_of_12_bytes_stand_in_arrays_of_c() {
    if is_asked_for() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("structures.scanpack");
        fs::write(&path, packs::of_structures()).unwrap();
        let said = Program::of_tests("structures.c", Linked::Statically).check(&[&path]);
        assert!(said.ends_with("0 failures\n"), "{said}");
    }
}
