//! The examples run, and say that they are right.

#[path = "../../examples/compaction/main.rs"]
#[allow(dead_code, reason = "its main is the program's")]
mod compaction;

#[test]
#[allow(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn values_are_compacted_on_the_device() {
    if std::env::var_os("SCANBOX_TEST_DEVICE").is_none() {
        eprintln!("skipped: set SCANBOX_TEST_DEVICE=1");
        return;
    }
    // Tests run in the folder of their crate, on whatever machine that is.
    let pack = std::fs::read("../../packs/portable.scanpack").unwrap();
    let said = compaction::compact(&pack).unwrap();
    assert!(said.starts_with("right three times, up to 3"), "{said}");
    assert!(said.contains("the portable choice"), "{said}");
}
