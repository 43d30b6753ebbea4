//! `scanbox tune`, where it has to stop.
#![cfg(unix)]

use crate::sweeps::{Place, ended, slow};

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
        assert!(said.contains("to continue, run") && !said.contains("can be shipped"), "{budget}: {said}");
        assert!(!said.contains("--out"), "{budget}: {said}");
    }
    // What it says of a device that is in use are options that it has.
    let help = Place::new("").run(&["tune", "--help"], 0).stdout;
    assert!(help.contains("--wait") && help.contains("--share-device"), "{help}");
}
