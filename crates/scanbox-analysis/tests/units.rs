//! Units of one model: told apart by what is known of them, called differently, and set against each other; and
//! devices on which nothing runs.

use crate::rows::*;
use scanbox_analysis::answers::{Question, answer};
use scanbox_analysis::grouping::{Builder, FileFacts, FileRows, Runs};
use scanbox_analysis::table::Tables;
use scanbox_model::device::DeviceKind;
use scanbox_model::record::{Clock, Record, Status};

/// Rows of a unit of a model.
fn unit(uuid: &str, host: &str, pci: &str, gbps: u64) -> Vec<Record> {
    let place = |record: Record| Record {
        device: "GPU".into(),
        device_uuid: uuid.into(),
        host: host.into(),
        pci_address: pci.into(),
        ..record
    };
    [100, 200].into_iter().flat_map(|n| [row(A, 64, n, gbps), row(B, 64, n, gbps / 2)]).map(place).collect()
}

/// The tables of files with what the user calls them.
fn tables_of_named(files: &[(&str, &str, &[Record])]) -> Tables {
    let mut builder = Builder::new(Clock::Steady);
    for (name, label, records) in files {
        let mut rows = FileRows::new(name, Clock::Steady);
        records.iter().try_for_each(|record| rows.push(record)).unwrap();
        let facts = FileFacts { kind: Some(DeviceKind::Hardware), label, ..FileFacts::default() };
        builder.add_rows(rows, &facts);
    }
    builder.finish(Runs::Latest).0
}

#[test]
fn units_are_told_apart_by_what_is_known_of_them() {
    let check = |files: &[(&str, &str, &[Record])], expected: &[&str]| {
        let tables = tables_of_named(files);
        let titles: Vec<&str> = tables.devices.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(titles, expected);
        let mut turned = files.to_vec();
        turned.reverse();
        let again: Vec<String> =
            tables_of_named(&turned).devices.into_iter().map(|table| table.title).collect();
        assert_eq!(again, expected, "the order of files decides");
    };
    let (one, other) = ("0000:01:00.0", "0000:02:00.0");
    let north = unit("u", "north", one, 10);
    let south = unit("u", "south", one, 10);
    let second = unit("u", "north", other, 10);
    let old = unit("u", "", "", 10);
    // Equal UUIDs: equal slots of equal nodes, and two slots of one node.
    check(&[("a", "", &north)], &["GPU"]);
    check(&[("a", "", &north), ("b", "", &south)], &["GPU on north", "GPU on south"]);
    check(&[("a", "", &north), ("b", "", &second)], &["GPU at 0000:01:00.0", "GPU at 0000:02:00.0"]);
    check(
        &[("a", "", &north), ("b", "", &second), ("c", "", &south)],
        &["GPU on north at 0000:01:00.0", "GPU on north at 0000:02:00.0", "GPU on south at 0000:01:00.0"],
    );
    // Files of before these columns: of the only unit that they can be of, else of one that is not known.
    check(&[("a", "", &north), ("b", "", &old)], &["GPU"]);
    check(&[("a", "", &north), ("b", "", &south), ("c", "", &old)], &["GPU", "GPU on north", "GPU on south"]);
    let resumed: Vec<Record> = old.iter().cloned().chain(north.clone()).collect();
    check(&[("a", "", &resumed), ("b", "", &south)], &["GPU on north", "GPU on south"]);
    // Other UUIDs, and names of the user's, which tell apart what nothing else does.
    let another = unit("v-1", "", "", 10);
    check(&[("a", "", &old), ("b", "", &another)], &["GPU u", "GPU v"]);
    check(&[("a", "base", &old), ("b", "new", &old)], &["base (GPU)", "new (GPU)"]);
    check(&[("a", "base", &old), ("b", "", &old)], &["GPU", "base (GPU)"]);
    check(&[("a", "base", &old), ("b", "base", &old)], &["base (GPU)"]);
    check(&[("a", "both", &old), ("b", "both", &another)], &["both (GPU u)", "both (GPU v-1)"]);
}

#[test]
fn tables_know_their_files() {
    let old = unit("u", "", "", 10);
    let tables = tables_of_named(&[("b.csv", "", &old), ("a.csv", "", &old)]);
    assert_eq!(tables.devices[0].files, ["a.csv", "b.csv"]);
}

#[test]
fn of_two_units_the_faster_one_is_told_size_by_size() {
    let slow = unit("u", "north", "", 40);
    let mut fast = unit("u", "south", "", 50);
    for record in fast.iter_mut().filter(|record| record.n_elements == 200) {
        record.bytes_moved = record.bytes_moved * 8 / 10;
    }
    let tables = tables_of_named(&[("a", "", &slow), ("b", "", &fast)]);
    let (answers, _) = answer(&tables, &Question::default());
    let [speed] = answers.across[0].speeds.as_slice() else { panic!("{:?}", answers.across[0].speeds) };
    let points: Vec<_> =
        speed.points.iter().map(|point| (point.n, point.base_gbps, point.other_gbps)).collect();
    assert_eq!(points, [(100, 40.0, 50.0), (200, 40.0, 40.0)]);
    assert!((speed.mean_ratio() - 1.25f64.sqrt()).abs() < 1e-12);
    assert_eq!((speed.least().unwrap().n, speed.most().unwrap().n, speed.faster()), (200, 100, 1));
    // A third one is set against the first, too.
    let third = unit("u", "west", "", 20);
    let tables = tables_of_named(&[("a", "", &slow), ("b", "", &fast), ("c", "", &third)]);
    let (answers, _) = answer(&tables, &Question::default());
    let ratios: Vec<f64> = answers.across[0].speeds.iter().map(|speed| speed.points[0].ratio).collect();
    assert_eq!(ratios, [1.25, 0.5]);
}

#[test]
fn a_device_on_which_nothing_runs_makes_no_kernel_portable() {
    let alive = unit("u", "north", "", 40);
    let dead: Vec<Record> =
        unit("u", "south", "", 40).into_iter().map(|record| failed(record, Status::RuntimeError)).collect();
    let other = unit("u", "west", "", 30);
    let check = |files: &[(&str, &str, &[Record])], devices: usize, dead: usize| {
        let tables = tables_of_named(files);
        let (answers, _) = answer(&tables, &Question::default());
        let across = &answers.across[0];
        assert_eq!((across.devices.len(), across.dead.len()), (devices, dead));
        assert!(!across.portability.kernels.is_empty());
        for kernel in &across.portability.kernels {
            assert_eq!(kernel.efficiencies.len(), devices + dead);
            assert_eq!(kernel.pp == 0.0, dead > 0, "{kernel:?}");
            assert_eq!(kernel.cascade.len(), devices + dead);
        }
    };
    check(&[("a", "", &alive), ("b", "", &other)], 2, 0);
    check(&[("a", "", &alive), ("b", "", &other), ("c", "", &dead)], 2, 1);
    check(&[("a", "", &alive), ("c", "", &dead)], 1, 1);
    let nothing = tables_of_named(&[("c", "", &dead)]);
    assert!(answer(&nothing, &Question::default()).0.across.is_empty());
}
