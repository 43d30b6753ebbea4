//! Calls that do nothing: what they are subtracted from, and where there are none.

use scanbox_model::metadata::Metadata;
use scanbox_model::record::Status;

use super::{baseline, bench, command, rows, whole_baseline};
use crate::sweeps::{CONFIG, Place, ended};

/// Spans of two sides stand beside each other only where an empty call of both was measured, and then it stands there
/// too.
#[test]
fn spans_of_others_stand_beside_an_empty_call() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = Place::new("");
    baseline(&place, "fake", "");
    let args = [CONFIG, "--sizes", "4096,8192", "--rounds", "1", "--baseline", "./fake"];
    // So wide that no column is left out.
    let wide = |place: &Place, args: &[&str]| {
        let ended = ended(command(place, args).env("COLUMNS", "200").output().unwrap());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    };
    let of_fake = |text: &str| words(text.lines().find(|line| line.contains("fake-scan")).unwrap());
    let told = wide(&place, &args);
    assert!(words(&told).contains("no span is shown of Fake 3.5"), "{told}");
    assert!(words(&told).contains("span us of an empty call: scanbox 2.00"), "{told}");
    let without = of_fake(&told).split(' ').count();
    // Analyses by span have nobody else's, whatever the rows hold.
    place.sweep(&[]);
    for (clock, there) in [("steady", true), ("span", false)] {
        let answer =
            place.run(&["analyze", "out/test.csv", "bench.csv", "--include-software", "--time", clock], 0);
        assert_eq!(answer.stdout.contains("fake-scan"), there, "{clock}: {}", answer.stdout);
    }

    whole_baseline(&place, "fake", "");
    for subjects in [&[][..], &["--baseline-subjects", "fake-scan"]] {
        let told = wide(&place, &[&args[..], subjects].concat());
        assert!(
            words(&told).contains("span us of an empty call: scanbox 2.00 (2.00 to 2.00), Fake 3.5 4.00"),
            "{told}"
        );
        assert!(!told.contains("no span is shown"), "{told}");
        assert_eq!(of_fake(&told).split(' ').count(), without + 1, "{told}");
        let rows = rows(&place);
        assert!(rows.iter().all(|row| row.subject != "fake-empty" && row.config_id != "empty"));
        let of = |subject: &str| {
            rows.iter().filter(|row| row.config_id == subject).map(|row| row.twin_calls).collect::<Vec<_>>()
        };
        assert!(
            of("fake-scan").iter().all(|calls| calls.is_some_and(|calls| calls >= 128)),
            "{:?}",
            of("fake-scan")
        );
    }
    let metadata = Metadata::read(&place.folder().join("bench.meta.json")).unwrap();
    assert_eq!(metadata.runs[0].settings["empty_calls"][1]["of"], "Fake 3.5");
}

/// A device that cannot even do nothing is measured without an empty call.
#[test]
fn an_empty_call_that_fails_costs_no_row() {
    for kind in ["hang", "crash", "zero_timestamps", "device_lost"] {
        let place = Place::new(&format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"empty\"\nn = 1\n"));
        bench(&place, &[CONFIG, "--sizes", "4096", "--rounds", "1", "--timeout", "1s"], 0);
        assert!(rows(&place).iter().all(|row| row.status == Status::Ok), "{kind}");
        let metadata = Metadata::read(&place.folder().join("bench.meta.json")).unwrap();
        assert_eq!(metadata.runs[0].settings["empty_calls"], serde_json::json!([]), "{kind}");
    }
}
