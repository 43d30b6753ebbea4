//! Files of records: what is written reads back, and what cannot be read says file, line and column.

use std::path::Path;

use proptest::prelude::*;
use scanbox_model::config::{BlockScan, Family, Lookback, VectorWidth};
use scanbox_model::csv_file::{self, Appender, CsvError};
use scanbox_model::parameters::Cells;
use scanbox_model::record::{
    COLUMNS, Cache, Clock, FIRST_COLUMNS, Record, RoundMedians, SCHEMA, Selection, Status, TimeStats,
};
use scanbox_model::whole_file::{replace, replace_text};

fn record(reason: &str, n: u64) -> Record {
    Record {
        schema: SCHEMA,
        run_id: "run".into(),
        device: "Device, with a comma".into(),
        config_id: "b4.vec4.par.rake.wg256.g1024".into(),
        kernel_id: "b4.vec4.par.rake".into(),
        n_elements: n,
        bytes_moved: 8 * n,
        parameters: Cells {
            family: Some(Family::ChainedScan),
            batch_size: Some(4),
            vector_width: Some(VectorWidth::Vec4),
            lookback: Some(Lookback::Parallel),
            block_scan: Some(BlockScan::Raking),
            ..Cells::default()
        },
        status: Status::Ok,
        reason: reason.into(),
        samples: 7,
        steady: Some(TimeStats {
            median_ns: 2000,
            min_ns: 1900,
            mean_ns: 2010,
            q1_ns: 1990,
            q3_ns: 2020,
            stddev_ns: 12,
        }),
        drift_pct: Some(-0.25),
        ..Record::default()
    }
}

fn text(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    csv_file::write(&mut bytes, true, records).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<csv_file::Records, String> {
    csv_file::read_bytes(bytes, Path::new("x.csv")).map_err(|error| error.to_string())
}

proptest! {
    #[test]
    fn what_is_written_reads_back(reason in "[ -~]{0,40}", n in 1u64..1 << 40) {
        let bench = Record {
            cache: Some(Cache::Cold),
            selection: vec![Selection::Ideal, Selection::BestKernel],
            rounds: Some(5),
            round_spread_pct: Some(1.25),
            round_medians_ns: RoundMedians(vec![2000.5, 2001.0, 1999.1, 2000.0, 2000.0]),
            ..record(&reason, n)
        };
        let confirmed = Record { confirmed_ns: Some(n), ..record(&reason, n) };
        let records = vec![bench, confirmed, record(&reason, n), Record { status: Status::Timeout, steady: None, ..record("", 1) }];
        prop_assert_eq!(read(&text(&records)).unwrap().records, records);
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..2000) {
        let _ = read(&bytes);
        let mut good = text(&[record("a", 1), record("b", 2)]);
        good.truncate(cut);
        good.extend(&bytes);
        let _ = read(&good);
    }
}

#[test]
fn throughput_is_computed_from_the_integers_of_the_row() {
    let row = record("", 1000);
    assert_eq!(row.throughput_gbps(Clock::Steady), Some(4.0));
    assert_eq!(row.throughput_gbps(Clock::Span), None);
    assert_eq!(Record { status: Status::WrongResult, ..row.clone() }.throughput_gbps(Clock::Steady), None);
    let bytes = String::from_utf8(text(&[row])).unwrap();
    let changed = read(bytes.replace(",4.00,", ",999.00,").as_bytes()).unwrap_err();
    assert!(
        changed.contains("line 2: column `throughput_gbps`: 999 where bytes over time are 4.00"),
        "{changed}"
    );
    assert_eq!(read(bytes.replace(",4.00,", ",,").as_bytes()).unwrap().records.len(), 1);
}

#[test]
fn a_file_cut_anywhere_loses_at_most_its_last_line() {
    let records: Vec<Record> = (1..=3).map(|n| record("quoted, \"cell\"", n)).collect();
    let whole = text(&records);
    for cut in 1..whole.len() {
        let found = read(&whole[..cut]).unwrap();
        let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(found.records, records[..lines.saturating_sub(1)], "cut at {cut}");
        assert_eq!(found.torn_line.is_some(), whole[cut - 1] != b'\n', "cut at {cut}");
    }
}

/// Files are read without holding them, and say the same as their bytes.
#[test]
fn a_file_says_what_its_bytes_say() {
    let records: Vec<Record> = (1..=300).map(|n| record("quoted, \"cell\"", n)).collect();
    let whole = text(&records);
    assert!(whole.len() > 1 << 16, "it must be read in several pieces");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let step = whole.len() / 23;
    for cut in (0..20).chain((0..=whole.len()).step_by(step)).chain([whole.len() - 1, whole.len()]) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut found = Vec::new();
        let take = |row: &csv_file::FileRow<'_>| -> Result<(), CsvError> {
            found.push(row.record.clone());
            Ok(())
        };
        let shape = csv_file::for_each(&path, take).map_err(|error| error.to_string());
        let of_bytes = csv_file::for_each_of_bytes(&whole[..cut], &path, |_| Ok::<(), CsvError>(()));
        assert_eq!(shape, of_bytes.map_err(|error| error.to_string()), "cut at {cut}");
        let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(found, records[..lines.saturating_sub(1)], "cut at {cut}");
    }
}

/// A cell that says what the cell above it says is not read again: that must not show, whatever rows follow each other.
#[test]
fn what_a_row_says_does_not_depend_on_the_row_before() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    for file in [
        "published.nvidia-h200.full.csv",
        "published.llvmpipe.quick.csv",
        "runs/2026-11-24-nvidia-h200/bench.csv",
    ] {
        let text = std::fs::read_to_string(results.join(file)).unwrap();
        let (header, lines) = text.split_once('\n').unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        // In an order in which rows that failed stand between others, and far ones side by side.
        let some: Vec<&str> = (0..400).map(|at| lines[at * 7919 % lines.len()]).collect();
        let failed = lines.iter().filter(|line| !line.contains(",ok,")).take(40);
        let mixed: Vec<&str> = some.iter().zip(failed.cycle()).flat_map(|(a, b)| [*a, *b]).collect();
        for lines in [some, mixed] {
            let together = read(format!("{header}\n{}\n", lines.join("\n")).as_bytes()).unwrap().records;
            for (line, found) in lines.iter().zip(&together) {
                let alone = read(format!("{header}\n{line}\n").as_bytes()).unwrap().records;
                assert_eq!(alone, std::slice::from_ref(found), "{file}: {line}");
            }
        }
    }
}

#[test]
fn a_file_of_something_else_is_no_torn_header() {
    for bytes in [&b"notes"[..], b"\x00\xff", b"schema,run_id,other"] {
        assert!(read(bytes).unwrap_err().contains("x.csv: line 1: this is not the header"), "{bytes:?}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, bytes).unwrap();
        assert!(Appender::open(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn an_appender_cuts_a_torn_line_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let rows: Vec<Record> = (1..=3).map(|n| record("", n)).collect();
    for cut in [0, 5, text(&rows[..1]).len() - 3, text(&rows[..1]).len()] {
        std::fs::write(&path, &text(&rows[..1])[..cut]).unwrap();
        let (mut appender, found) = Appender::open(&path).unwrap();
        for row in &rows[found.records.len()..] {
            appender.append(row).unwrap();
        }
        assert_eq!(csv_file::read(&path).unwrap().records, rows, "cut at {cut}");
    }
}

/// The file as an older version wrote it: without the columns that were appended since.
fn older(bytes: &[u8]) -> Vec<u8> {
    let mut csv = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
    let mut older = csv::Writer::from_writer(Vec::new());
    for row in csv.records() {
        older.write_record(row.unwrap().iter().take(FIRST_COLUMNS)).unwrap();
    }
    older.into_inner().unwrap()
}

#[test]
fn files_of_older_versions_are_read_and_gain_the_new_columns() {
    assert_eq!(COLUMNS[FIRST_COLUMNS - 1].name, "timestamp_utc");
    let rows: Vec<Record> = (1..=3).map(|n| record("with, comma", n)).collect();
    let old = older(&text(&rows[..2]));
    assert!(read(&old).unwrap().other_header);
    assert!(!read(&text(&rows[..2])).unwrap().other_header);
    assert_eq!(read(&old).unwrap().records, rows[..2]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    for torn in ["", "1,run,Dev"] {
        std::fs::write(&path, [&old[..], torn.as_bytes()].concat()).unwrap();
        let (mut appender, found) = Appender::open(&path).unwrap();
        assert_eq!((found.records.len(), found.torn_line), (2, (!torn.is_empty()).then_some(4)));
        appender.append(&rows[2]).unwrap();
        appender.sync().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), text(&rows));
    }
}

#[test]
fn an_appender_leaves_a_foreign_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "name,value\na,1\n").unwrap();
    assert!(Appender::open(&path).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "name,value\na,1\n");
}

/// The file with another text in a column of its first row.
fn with_cell(file: &str, column: &str, value: &str) -> String {
    let mut rows: Vec<Vec<String>> = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(file.as_bytes())
        .records()
        .map(|row| row.unwrap().iter().map(str::to_owned).collect())
        .collect();
    let place = rows[0].iter().position(|name| name == column).unwrap();
    rows[1][place] = value.to_owned();
    let mut changed = csv::Writer::from_writer(Vec::new());
    rows.iter().for_each(|row| changed.write_record(row).unwrap());
    String::from_utf8(changed.into_inner().unwrap()).unwrap()
}

#[test]
fn bad_files_say_file_line_and_column() {
    fn check(change: impl Fn(String) -> String, parts: &[&str]) {
        let good = String::from_utf8(text(&[record("", 1), record("", 2)])).unwrap();
        let error = read(change(good).as_bytes()).unwrap_err();
        for part in parts.iter().chain(&["x.csv"]) {
            assert!(error.contains(part), "{error}");
        }
    }
    check(|_| String::new(), &["empty"]);
    check(|file| file.replacen("n_elements,", "", 1), &["line 1", "`n_elements` is missing"]);
    check(|file| file.replacen("n_elements", "colour", 1), &["line 1", "`n_elements` is missing"]);
    check(|file| file.replacen("n_elements", "", 1), &["line 1", "no name"]);
    check(|file| with_column(&with_column(&file, "q"), "q"), &["line 1", "`q`", "twice"]);
    check(|_| "name,value\n1,2\n".to_owned(), &["line 1", "not the header"]);
    // Numbers that are none for their column.
    for column in ["n_elements", "steady_ns_median", "samples", "order_index", "confirmed_ns", "registers"] {
        for (cell, what) in [
            ("7731.64", "`7731.64` has a fraction; it must be a whole number"),
            ("-5", "`-5` is negative"),
            ("-0.5", "is negative"),
            ("99999999999999999999", "is too large; it is at most"),
            ("18446744073709551616", "is too large; it is at most"),
            ("1e3", "`1e3` must be written in digits alone"),
            ("NaN", "is not a number"),
            ("inf", "is not a number"),
            ("twelve", "is not a number"),
        ] {
            check(|file| with_cell(&file, column, cell), &["line 2", &format!("`{column}`"), what]);
        }
    }
    check(|file| with_cell(&file, "samples", "4294967296"), &["`samples`", "it is at most 4294967295"]);
    check(|file| file.replacen("n_elements", "status", 1), &["line 1", "`status`", "twice"]);
    check(
        |file| file.replacen(",2000,", ",two,", 1),
        &["line 2", "`steady_ns_median`", "`two` is not a number"],
    );
    check(|file| file.replacen(",ok,", ",fine,", 1), &["line 2", "`status`", "`fine`"]);
    check(|file| file.replacen("\n1,", "\n7,", 1), &["line 2", "`schema`", "7"]);
    check(|file| file.replacen("raking", "combing", 1), &["line 2", "`block_scan`", "blelloch"]);
    check(|file| file.replace("-0.25", "NaN"), &["line 2", "`drift_pct`"]);
    check(|file| with_cell(&file, "cache", "warm"), &["line 2", "`cache`", "`warm`"]);
    check(|file| with_cell(&file, "selection", "ideal+"), &["line 2", "`selection`", "`ideal+`"]);
    check(|file| file + "1,2,3\n", &["line 4", "3 cells"]);
}

/// The file with another column behind its others, with the number of the line in it.
fn with_column(file: &str, name: &str) -> String {
    let mut lines = file.lines();
    let header = lines.next().unwrap();
    let rows = lines.enumerate().map(|(line, row)| format!("{row},cell {line}\n"));
    std::iter::once(format!("{header},{name}\n")).chain(rows).collect()
}

#[test]
fn columns_of_newer_versions_are_kept_and_told() {
    let rows: Vec<Record> = (1..=2).map(|n| record("", n)).collect();
    let newer = with_column(&with_column(&String::from_utf8(text(&rows)).unwrap(), "q"), "z z");
    // Wherever the columns stand.
    let mixed = {
        let mut csv = csv::ReaderBuilder::new().has_headers(false).from_reader(newer.as_bytes());
        let mut writer = csv::Writer::from_writer(Vec::new());
        csv.records().for_each(|row| writer.write_record(row.unwrap().iter().rev()).unwrap());
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    };
    for file in [&newer, &mixed] {
        let found = read(file.as_bytes()).unwrap();
        let told = found.warnings("x.csv");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(["x.csv", "`q`", "`z z`", "newer"].iter().all(|part| told[0].contains(part)), "{told:?}");
        let cell = |row: usize, column: &str| {
            let cells = &found.records[row].unknown;
            cells.iter().find(|cell| &*cell.column == column).unwrap().text.clone()
        };
        assert_eq!((cell(0, "q"), cell(1, "z z")), ("cell 0".to_owned(), "cell 1".to_owned()));
        for (found, row) in found.records.iter().zip(&rows) {
            assert_eq!(Record { unknown: Vec::new(), ..found.clone() }, *row);
        }
        // A file that is replaced has them still, and so has one that is appended to.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, file).unwrap();
        csv_file::replace(&path, &found.records).unwrap();
        assert_eq!(csv_file::read(&path).unwrap().records.len(), 2);
        std::fs::write(&path, file).unwrap();
        let (mut appender, before) = Appender::open(&path).unwrap();
        assert_eq!(before.records.iter().map(|row| row.unknown.len()).collect::<Vec<_>>(), [2, 2]);
        appender.append(&record("", 3)).unwrap();
        appender.sync().unwrap();
        let after = csv_file::read(&path).unwrap();
        assert_eq!(after.records.len(), 3);
        let texts = |row: &Record| {
            let mut cells: Vec<_> =
                row.unknown.iter().map(|cell| (cell.column.to_string(), cell.text.clone())).collect();
            cells.sort();
            cells
        };
        for row in 0..2 {
            assert_eq!(texts(&after.records[row]), texts(&found.records[row]));
        }
        assert!(after.records[2].unknown.iter().all(|cell| cell.text.is_empty()));
    }
    assert!(read(&text(&rows)).unwrap().warnings("x.csv").is_empty());
}

#[test]
#[cfg(unix)]
fn links_stay_and_neighbours_are_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("page"), "old").unwrap();
    std::fs::set_permissions(path("page"), std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::write(path("link.partial"), "mine").unwrap();
    std::os::unix::fs::symlink(path("page"), path("link")).unwrap();
    replace_text(&path("link"), "new").unwrap();
    assert!(path("link").is_symlink());
    assert_eq!(std::fs::read_to_string(path("page")).unwrap(), "new");
    assert_eq!(std::fs::read_to_string(path("link.partial")).unwrap(), "mine");
    assert_eq!(std::fs::metadata(path("page")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn columns_have_their_names_once() {
    let names: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
}

#[test]
fn a_file_is_replaced_as_a_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    replace_text(&path, "old").unwrap();
    let fails = replace(&path, |out| out.write_all(b"ha").and_then(|()| Err(std::io::Error::other("lf"))));
    assert_eq!(fails.unwrap_err().to_string(), "lf");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    replace_text(&path, "new").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
    assert!(replace_text(folder.path(), "text").is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[cfg(unix)]
fn what_is_no_file_is_written_to_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    replace_text(&path, "text").unwrap();
    assert!(path.is_symlink() && std::fs::read_to_string(&path).unwrap().is_empty());
}

/// No command leaves a file that it would refuse itself.
#[test]
fn rows_that_could_not_be_read_do_not_replace_any() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let rows = [record("", 1), record("", 2)];
    csv_file::replace(&path, &rows).unwrap();
    let before = std::fs::read(&path).unwrap();
    let wrong = Record { confirmed_ns: Some(7), status: Status::WrongResult, ..rows[0].clone() };
    let error = csv_file::replace(&path, [&wrong, &rows[1]]).unwrap_err().to_string();
    assert!(error.contains("x.csv") && error.contains("`confirmed_ns`"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
