//! What rows of a file have in common: the reader says whether that is as in the row before, and groups rely on it.

use std::path::Path;

use scanbox_analysis::grouping::{Builder, FileFacts, FileRows, Runs};
use scanbox_analysis::table::{DeviceIdentity, Tables};
use scanbox_model::csv_file::{self, CsvError, FileRow, SETTING};
use scanbox_model::problem::Problem;
use scanbox_model::record::{COLUMNS, Cache, Clock, Record};

use crate::rows::*;

/// Which group a row is put in.
fn group(record: &Record) -> (DeviceIdentity, Result<Problem, String>, [&str; 4]) {
    let Record { driver, kernel_hash, subject, subject_version, .. } = record;
    (DeviceIdentity::of(record), Problem::of_row(record), [driver, kernel_hash, subject, subject_version])
}

#[test]
fn a_column_that_is_no_setting_changes_no_group() {
    let base = row(A, 64, 100, 10);
    let texts = ["1", "7", "0.5", "text", "yes", "on", "hot", "named", "wall", "rake", "timeout", "vec4", ""];
    for column in COLUMNS.iter() {
        let mut changed = false;
        for text in texts {
            let mut record = base.clone();
            if column.read(&mut record, text).is_ok() && record != base && !SETTING.contains(&column.name) {
                changed = true;
                assert_eq!(group(&record), group(&base), "{} {text}", column.name);
            }
        }
        let is_free = ["text", "1"].iter().any(|text| column.read(&mut base.clone(), text).is_ok());
        let is_left_out = SETTING.contains(&column.name) || column.name == "throughput_gbps";
        assert!(changed || !is_free || is_left_out, "{}", column.name);
    }
    for name in SETTING {
        assert!(COLUMNS.iter().any(|column| column.name == name), "{name} is no column");
    }
}

fn tables(rows: FileRows) -> Tables {
    let mut builder = Builder::new(Clock::Steady);
    builder.add_rows(rows, &FileFacts::default());
    builder.finish(Runs::All).0
}

/// Rows of a file are put where they are put one by one, whatever is between them.
#[test]
fn groups_of_a_file_are_those_of_its_rows() {
    let of = |host: &str, n| Record { host: host.into(), bytes_moved: 8 * n, ..row(A, 64, n, 10) };
    let benchmark = |host: &str| Record { cache: Some(Cache::Hot), ..of(host, 100) };
    let other = |host: &str| Record { subject: "cub".into(), ..benchmark(host) };
    let records = [
        of("north", 100),
        of("north", 200),
        benchmark("south"),
        of("south", 100),
        other("south"),
        of("south", 200),
        of("north", 300),
        benchmark("north"),
        benchmark("south"),
        of("south", 300),
    ];
    let mut bytes = Vec::new();
    csv_file::write(&mut bytes, true, &records).unwrap();
    let mut of_file = FileRows::new("x.csv", Clock::Steady);
    let take = |row: &FileRow<'_>| -> Result<(), CsvError> {
        of_file.push_of_file(row).unwrap();
        Ok(())
    };
    csv_file::for_each_of_bytes(&bytes, Path::new("x.csv"), take).unwrap();
    let mut one_by_one = FileRows::new("x.csv", Clock::Steady);
    records.iter().try_for_each(|record| one_by_one.push(record)).unwrap();
    let (of_file, one_by_one) = (tables(of_file), tables(one_by_one));
    let rows = |tables: &Tables| tables.devices.iter().map(|table| table.summary.rows).collect::<Vec<_>>();
    assert_eq!(rows(&of_file), [3, 3]);
    assert_eq!(format!("{of_file:?}"), format!("{one_by_one:?}"));
}
