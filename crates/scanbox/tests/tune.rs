//! `scanbox tune`, where it has to stop.
#![cfg(unix)]

use std::fs;

use scanbox_model::config::Arguments;
use scanbox_model::csv_file;

use crate::pack::SHIPPED;
use crate::sweeps::{Place, ended, slow};

/// What is said of a budget that ends before anything else has begun.
const UNOPENED: &str = "the budget ended in the set-up, while the device was opened or asked what it keeps: nothing was \
                        measured; run the same command again with a longer --budget";

/// A budget that ends before the first row leaves nothing to pack, and the same command continues.
#[test]
fn tuning_that_has_measured_nothing_says_how_to_continue() {
    let tune = ["tune", "--device", "replay:replay.toml", "--space", "./space.toml", "--folder", "tuned"];
    for budget in ["1ms", "20ms", "50ms"] {
        // Three runs in a row without a row would be another failure: each is the first one in its folder.
        let place = Place::new(&slow(300));
        let ended = ended(place.scanbox(&[&tune[..], &["--budget", budget]].concat()).output().unwrap());
        assert_eq!(ended.code, Some(4), "{budget}: {ended:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains("can be shipped"), "{budget}: {said}");
        let told = "the budget ended in the set-up, before any config was measured, so there is no pack; a longer --budget \
                    measures more; to continue, run: ";
        assert!(said.contains(told) || said.contains(UNOPENED), "{budget}: {said}");
        assert!(!said.contains("--out"), "{budget}: {said}");
    }
    // What it says of a device that is in use are options that it has.
    let help = Place::new("").run(&["tune", "--help"], 0).stdout;
    assert!(
        help.contains("--wait") && help.contains("--timeout") && help.contains("--share-device"),
        "{help}"
    );
}

/// What no use can take is not measured, and the last line says how to ask for a size. Where most points have no row,
/// nothing is said of losses, and sizes without one are named.
#[test]
fn tuning_says_what_it_knows_and_no_more() {
    let place = Place::in_memory("");
    fs::write(place.folder().join("ship.toml"), SHIPPED).unwrap();
    let tune = [
        "tune",
        "--device",
        "replay:replay.toml",
        "--space",
        "./ship.toml",
        "--folder",
        "tuned",
        "--uses",
        "pushed,any-element",
        "--portable",
        "none",
    ];
    let tuned = place.run(&[&tune[..], &["--budget", "10m"]].concat(), 0);
    let mut files = fs::read_dir(place.folder().join("tuned")).unwrap().flatten().map(|entry| entry.path());
    let rows = files.find(|path| path.extension().is_some_and(|end| end == "csv")).unwrap();
    let mut records = csv_file::read(&rows).unwrap().records;
    assert!(records.iter().all(|row| row.config().unwrap().kernel.arguments == Arguments::Push));
    let file = rows.file_name().unwrap().to_str().unwrap();
    let last = tuned.stderr.lines().last().unwrap();
    assert!(last.starts_with("to see what to use at a size, run:"), "{last}");
    assert!(last.ends_with(&format!("analyze tuned/{file} --at 4096")), "{last}");
    assert!(!tuned.stderr.contains(" points") && !tuned.stderr.contains("have no row"), "{}", tuned.stderr);
    assert!(tuned.stdout.contains("worst loss 0."), "{tuned:?}");

    // As a budget leaves it that ended early.
    let all = records.len();
    records.retain(|row| row.n_elements == 1 << 10);
    records.truncate(2);
    csv_file::replace(&rows, &records).unwrap();
    // Where the machine is busy, so short a budget may end even earlier.
    let again = || ended(place.scanbox(&[&tune[..], &["--budget", "1ms"]].concat()).output().unwrap());
    let short = (0..50).map(|_| again()).find(|short| !short.stderr.contains(UNOPENED)).unwrap();
    assert_eq!(short.code, Some(0), "{}", short.stderr);
    let said = format!(
        "\nthe budget ended after 2 of {all} points, and nothing was measured at 2^11, 2^12, 2^13; the pack has the best of \
         what was measured; a longer --budget measures more; to continue, run: "
    );
    assert!(short.stderr.contains(&said) && !short.stderr.contains("have no row"), "{}", short.stderr);
    assert!(short.stdout.contains("worst loss not measured") && !short.stdout.contains("0.0 %"), "{short:?}");
    assert!(short.stdout.contains("what it loses was not measured"), "{}", short.stdout);
}

/// A use that has no kernel yet gets some from a longer budget, not from another command.
#[test]
fn tuning_sends_nobody_to_sweep() {
    let place = Place::in_memory("");
    fs::write(place.folder().join("ship.toml"), SHIPPED).unwrap();
    let device = ["tune", "--device", "replay:replay.toml", "--space", "./ship.toml", "--folder", "tuned"];
    let tune = [&device[..], &["--uses", "pushed,line", "--portable", "none"]].concat();
    let complete = place.run(&[&tune[..], &["--budget", "10m"]].concat(), 0);
    // Nothing measures more of a space that is complete.
    let said = "arguments block for programs that promise nothing, as no row is of one\n";
    assert!(
        complete.stderr.contains(said) && !complete.stderr.contains("scanbox sweep"),
        "{}",
        complete.stderr
    );
    let mut files = fs::read_dir(place.folder().join("tuned")).unwrap().flatten().map(|entry| entry.path());
    let rows = files.find(|path| path.extension().is_some_and(|end| end == "csv")).unwrap();
    let mut records = csv_file::read(&rows).unwrap().records;
    records.retain(|row| row.config().unwrap().kernel.arguments == Arguments::Push);
    csv_file::replace(&rows, &records).unwrap();
    let again = || ended(place.scanbox(&[&tune[..], &["--budget", "1ms"]].concat()).output().unwrap());
    let short = (0..50).map(|_| again()).find(|short| !short.stderr.contains(UNOPENED)).unwrap();
    assert_eq!(short.code, Some(0), "{}", short.stderr);
    let said = "the pack has no kernel with arguments block for programs that promise nothing or progress, as no row is of \
                one; a longer --budget measures some\n";
    assert!(short.stderr.contains(said) && !short.stderr.contains("scanbox sweep"), "{}", short.stderr);
    let help = place.run(&["tune", "--help"], 0).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains(
            "The exit code of a spent budget is 0 if it left a pack, and 4 if nothing was measured"
        ),
        "{help}"
    );
}
