//! What a pack chooses for uses that no row is about: from rows with times that are made up.

use std::collections::BTreeSet;
use std::fs;

use scanbox_model::csv_file;
use scanbox_pack::{ArgumentKind, CallUse, ChoiceTable, Pack, Promises};

use crate::sweeps::Place;

/// Kernels that need progress, one for each size and one for all of them, and one that needs nothing and has every use.
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
lookback = ["gather"]
publish = ["before-scan"]
block_scan = ["subgroup"]
tile_order = ["ticket"]
reset = ["turn"]
arguments = ["push"]
[[block]]
family = ["chained-scan"]
batch_size = [4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["gather-fallback"]
publish = ["before-scan"]
block_scan = ["subgroup"]
tile_order = ["workgroup-id"]
reset = ["turn"]
arguments = ["push"]
"#;

/// Nanoseconds: each size has a kernel that is made for it; persistent workgroups take half as long again everywhere,
/// and what needs nothing takes `needs_nothing`.
fn time(label: &str, n: u64, needs_nothing: u64) -> u64 {
    let batch = |size: u64| format!("b{}.", size >> 10);
    match label {
        _ if label.contains(".gatherfall.") => needs_nothing,
        _ if label.starts_with("pers.") => 1500,
        _ if label.starts_with(&batch(n)) => 1000,
        _ => 3000,
    }
}

/// A folder with rows of these times.
fn swept(needs_nothing: u64) -> Place {
    let place = Place::in_memory("");
    fs::write(place.folder().join("chosen.toml"), SPACE).unwrap();
    let line = ["sweep", "--device", "replay:replay.toml", "--space", "./chosen.toml", "--out", "rows.csv"];
    place.run(&line, 0);
    let rows = place.folder().join("rows.csv");
    let mut records = csv_file::read(&rows).unwrap().records;
    assert_eq!(records.len(), 6 * 4);
    for row in &mut records {
        let ns = time(&row.config_id, row.n_elements, needs_nothing);
        let steady = row.steady.as_mut().unwrap();
        (steady.min_ns, steady.q1_ns, steady.median_ns) = (ns, ns, ns);
        (steady.mean_ns, steady.q3_ns) = (ns, ns);
    }
    csv_file::replace(&rows, &records).unwrap();
    place
}

/// The tables of the problem in a pack of these rows, and what the command says.
fn packed(place: &Place, flags: &[&str]) -> (Vec<ChoiceTable>, String) {
    let line = ["pack", "rows.csv", "-o", "x.scanpack", "--portable", "none", "--uses"];
    let uses = "pushed,total,any-element,n-on-device";
    let made = place.run(&[&line[..], &[uses], flags].concat(), 0);
    let pack = Pack::read(&fs::read(place.folder().join("x.scanpack")).unwrap()).unwrap();
    (pack.into_data().problems.remove(0).measured, made.stdout)
}

/// Of a use: what its tables need, in their order.
fn needs(tables: &[ChoiceTable], call_use: CallUse) -> Vec<Promises> {
    tables.iter().filter(|table| table.call_use == call_use).map(|table| table.needs).collect()
}

fn kernels(table: &ChoiceTable) -> usize {
    table.breakpoints.iter().map(|range| range.ranked[0]).collect::<BTreeSet<u16>>().len()
}

const PLAIN: CallUse = CallUse {
    n_on_device: false,
    total: false,
    init_in_memory: false,
    scratch_overwritten: false,
    arguments: ArgumentKind::Pushed,
    any_element: false,
};

#[test]
fn what_no_row_is_about_is_chosen_by_rows_all_the_same() {
    let place = swept(2000);
    let (tables, said) = packed(&place, &[]);
    let total = CallUse { total: true, ..PLAIN };
    let any = CallUse { any_element: true, ..PLAIN };
    let told = CallUse { n_on_device: true, ..PLAIN };
    // By use: how many kernels who promises progress gets, and what is known of their loss.
    for (call_use, count, loss) in [
        (PLAIN, 4, Some(0)),
        // Few, one of which is good everywhere and the others in places.
        (total, 3, None),
        (any, 3, None),
        (CallUse { total: true, ..any }, 3, None),
        // Only the device knows the size: one, and what it loses is in the rows.
        (told, 1, Some(500_000)),
        (CallUse { total: true, ..told }, 1, None),
        (CallUse { total: true, any_element: true, ..told }, 1, None),
    ] {
        // A program takes the first table whose promises it makes: the faster one, whether or not its loss is known.
        assert_eq!(needs(&tables, call_use), [Promises::PROGRESS, Promises::NONE], "{call_use}");
        let first = tables.iter().find(|table| table.call_use == call_use).unwrap();
        let lost = first.breakpoints.iter().map(|range| range.worst_loss_ppm).max().flatten();
        assert_eq!((kernels(first), lost), (count, loss), "{call_use}");
    }
    // A use that no sweep measures has one row, with the number of its kernels.
    let (_, uses) = said.split_once("\nOther uses, ").unwrap();
    let (uses, sets) = uses.split_once("\nThe sets:\n").unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let set_of = |begin: &str| {
        let found: Vec<_> = uses.lines().map(words).filter(|row| row.join(" ").starts_with(begin)).collect();
        assert_eq!(found.len(), 1, "{begin}: {uses}");
        found[0].last().unwrap().clone()
    };
    let alone = set_of("pushed n-on-device progress 50.0 % ");
    assert_eq!(set_of("pushed n-on-device total progress "), alone, "{uses}");
    assert_ne!(set_of("pushed total progress "), alone, "{uses}");
    let begins = sets.lines().map(words).filter(|row| row.first() == Some(&alone)).count();
    assert_eq!(begins, 1, "{sets}");
    // At each size: what needs nothing takes twice as long as the best that progress has, which is the best of all.
    let row = |line: &&str| {
        line.split_whitespace().collect::<Vec<_>>().join(" ") == "2^11 100.0 % 100.0 % 0.0 % 0.0 %"
    };
    assert_eq!(said.lines().filter(row).count(), 1, "{said}");
    // Who asks for fewer kernels gets fewer.
    let (tables, _) = packed(&place, &["--portfolio", "2"]);
    assert_eq!(tables.iter().map(kernels).max(), Some(2));
}

#[test]
fn more_promises_have_a_table_where_they_are_worth_it() {
    let (tables, _) = packed(&swept(1030), &[]);
    assert_eq!(needs(&tables, PLAIN), [Promises::PROGRESS, Promises::NONE]);
    // With few kernels, half of the sizes gain 3 %.
    assert_eq!(needs(&tables, CallUse { any_element: true, ..PLAIN }), [Promises::NONE]);
}

/// Where analyze names kernels that a pack leaves out, the pack says which promises they need, and how to make them.
#[test]
fn fastest_kernels_that_need_more_promises_are_told() {
    let place = swept(2000);
    let check = |promises: &[&str], told: Option<&str>| {
        let (_, said) = packed(&place, promises);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let left_out = "the fastest measured kernel is left out";
        assert_eq!(said.contains(left_out), told.is_some(), "{promises:?}: {said}");
        assert!(said.contains(told.unwrap_or_default()), "{promises:?}: {said}");
    };
    check(&[], None);
    check(&["--promises", "progress"], None);
    check(
        &["--promises", "none"],
        Some(
            "inclusive u32 add: at 4 of 4 sizes the fastest measured kernel is left out, as it needs promises that were not \
             given (progress); --promises none,progress adds such kernels.",
        ),
    );
}
