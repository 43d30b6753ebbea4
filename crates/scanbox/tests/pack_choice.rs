//! What a pack chooses for uses that no row is about: from rows with times that are made up.

use std::collections::BTreeSet;
use std::fs;

use scanbox_model::csv_file;
use scanbox_pack::{CallUse, ChoiceTable, Pack, Promises};

use crate::sweeps::Place;

/// Kernels that need progress, one for each size and one for all of them, and one that needs nothing.
const SPACE: &str = r#"
name = "chosen"
sizes = "2^10..2^13"
[[block]]
family = ["chained-scan"]
batch_size = [1, 2, 4, 8]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["parallel"]
block_scan = ["raking"]
reset = ["turn"]
arguments = ["push"]
[[block]]
family = ["persistent"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
workgroups_per_unit = [2]
lookback = ["parallel"]
block_scan = ["raking"]
tile_order = ["ticket"]
reset = ["turn"]
arguments = ["push"]
[[block]]
family = ["reduce-then-scan"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["none"]
block_scan = ["raking"]
arguments = ["push"]
"#;

/// Nanoseconds: each size has a kernel that is made for it; persistent workgroups take half as long again everywhere,
/// and what needs nothing twice as long.
fn time(label: &str, n: u64) -> u64 {
    let batch = |size: u64| format!("b{}.", size >> 10);
    match label {
        _ if label.starts_with("rts.") => 2000,
        _ if label.starts_with("pers.") => 1500,
        _ if label.starts_with(&batch(n)) => 1000,
        _ => 3000,
    }
}

#[test]
fn what_no_row_is_about_is_chosen_by_rows_all_the_same() {
    let place = Place::in_memory("");
    fs::write(place.folder().join("chosen.toml"), SPACE).unwrap();
    place.run(
        &["sweep", "--device", "replay:replay.toml", "--space", "./chosen.toml", "--out", "rows.csv"],
        0,
    );
    let rows = place.folder().join("rows.csv");
    let mut records = csv_file::read(&rows).unwrap().records;
    assert_eq!(records.len(), 6 * 4);
    for row in &mut records {
        let (label, n) = (row.config_id.clone(), row.n_elements);
        row.steady.as_mut().unwrap().median_ns = time(&label, n);
    }
    csv_file::replace(&rows, &records).unwrap();
    let line = ["pack", "rows.csv", "-o", "x.scanpack", "--portable", "none"];
    let uses = ["--uses", "pushed,total,any-element,n-on-device"];
    let made = place.run(&[&line[..], &uses].concat(), 0);
    let pack = Pack::read(&fs::read(place.folder().join("x.scanpack")).unwrap()).unwrap();
    let tables = &pack.data().problems[0].measured;
    let of = |call_use: CallUse| -> Vec<&ChoiceTable> {
        tables.iter().filter(|table| table.call_use == call_use).collect()
    };
    let kernels = |table: &ChoiceTable| {
        table.breakpoints.iter().map(|range| range.ranked[0]).collect::<BTreeSet<u16>>().len()
    };
    let lost =
        |table: &ChoiceTable| table.breakpoints.iter().map(|range| range.worst_loss_ppm).max().flatten();
    let plain = CallUse::default();
    let (total, any) = (CallUse { total: true, ..plain }, CallUse { any_element: true, ..plain });
    let both = CallUse { total: true, ..any };
    let told = CallUse { n_on_device: true, ..plain };
    // By use: how many kernels who promises progress gets, and what is known of their loss.
    for (call_use, count, loss) in [
        (plain, 4, Some(0)),
        // One trait: as many as there are sizes to be fast at.
        (total, 4, None),
        (any, 4, None),
        // More of them: few, the first of which is good everywhere.
        (both, 2, None),
        // Only the device knows the size: one, and what it loses is in the rows.
        (told, 1, Some(500_000)),
        (CallUse { total: true, ..told }, 1, None),
    ] {
        let tables = of(call_use);
        // A program takes the first table whose promises it makes: the faster one, whether or not its loss is known.
        let needs: Vec<Promises> = tables.iter().map(|table| table.needs).collect();
        assert_eq!(needs, [Promises::PROGRESS, Promises::NONE], "{call_use}");
        assert_eq!((kernels(tables[0]), lost(tables[0])), (count, loss), "{call_use}");
    }
    for part in ["needs progress; worst loss 50.0 %:", "needs progress; worst loss not measured:"] {
        assert!(made.stdout.contains(part), "{part}: {}", made.stdout);
    }
    // At each size: what needs nothing takes twice as long as the best that progress has, which is the best of all.
    let row = |line: &&str| {
        line.split_whitespace().collect::<Vec<_>>().join(" ") == "2^11 100.0 % 100.0 % 0.0 % 0.0 %"
    };
    assert_eq!(made.stdout.lines().filter(row).count(), 1, "{}", made.stdout);
    // Who asks for fewer kernels gets fewer.
    place.run(&[&line[..], &uses, &["--portfolio", "3"]].concat(), 0);
    let pack = Pack::read(&fs::read(place.folder().join("x.scanpack")).unwrap()).unwrap();
    let most = pack.data().problems[0].measured.iter().map(kernels).max();
    assert_eq!(most, Some(3));
}
