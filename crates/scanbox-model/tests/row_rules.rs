//! Rows that cannot be: one broken row per rule and column, and every published row breaks none.

use std::collections::BTreeSet;
use std::path::Path;

use scanbox_model::api::Api;
use scanbox_model::call_form::CallForm;
use scanbox_model::config::{BlockScan, Family, Lookback, Reset, TileState, VectorWidth};
use scanbox_model::csv_file;
use scanbox_model::parameters::Cells;
use scanbox_model::problem::{Element, Mode, Placement};
use scanbox_model::record::{Cache, Ratio, Record, RoundMedians, SCHEMA, Selection, Status, TimeStats};
use scanbox_model::row_rules::{self, RULES};
use scanbox_model::timer::Timer;

const LABEL: &str = "b4.vec4.par.rake.wg256";

fn good() -> Record {
    let time =
        TimeStats { median_ns: 2000, min_ns: 1900, mean_ns: 2010, q1_ns: 1990, q3_ns: 2020, stddev_ns: 12 };
    Record {
        schema: SCHEMA,
        subject: "scanbox".into(),
        config_id: LABEL.into(),
        kernel_id: "b4.vec4.par.rake".into(),
        n_elements: 1 << 15,
        mode: Some(Mode::Inclusive),
        element: Some(Element::U32),
        op: Some("add".parse().unwrap()),
        element_bytes: 4,
        bytes_moved: 8 << 15,
        parameters: Cells {
            family: Some(Family::ChainedScan),
            batch_size: Some(4),
            vector_width: Some(VectorWidth::Vec4),
            workgroup_size: Some(256),
            workgroups: Some(8),
            lookback: Some(Lookback::Parallel),
            block_scan: Some(BlockScan::Raking),
            tile_state: Some(TileState::Word64),
            reset: Some(Reset::Epoch),
            ..Cells::default()
        },
        status: Status::Ok,
        mismatches: Some(0),
        samples: 7,
        steady: Some(time),
        span: Some(time),
        subgroup_size: Some(32),
        timestamp_utc: "2026-11-22T15:36:08Z".into(),
        drift_pct: Some(-0.25),
        rounds: Some(9),
        round_spread_pct: Some(0.5),
        confirmed_ns: Some(2010),
        twin_calls: Some(128),
        ..Record::default()
    }
}

/// A row of a benchmark.
fn of_benchmark() -> Record {
    Record {
        cache: Some(Cache::Cold),
        selection: vec![Selection::Ideal],
        round_medians_ns: RoundMedians(vec![2000.5; 9]),
        confirmed_ns: None,
        fallbacks_sum: Some(2),
        insertions_sum: Some(1),
        ..good()
    }
}

/// A row of another implementation.
fn of_cub() -> Record {
    Record {
        subject: "cub-scan".into(),
        config_id: "cub-scan".into(),
        kernel_id: "cub-scan".into(),
        bytes_moved: 123,
        ..of_benchmark()
    }
}

fn failed(status: Status) -> Record {
    Record {
        status,
        mismatches: Some(3),
        first_mismatch: Some(5),
        steady: None,
        span: None,
        samples: 0,
        confirmed_ns: None,
        ..good()
    }
}

fn steady(change: impl Fn(&mut TimeStats)) -> Record {
    let mut row = good();
    change(row.steady.as_mut().unwrap());
    row
}

fn span(change: impl Fn(&mut TimeStats)) -> Record {
    let mut row = good();
    change(row.span.as_mut().unwrap());
    row
}

#[test]
fn rows_that_can_be_break_no_rule() {
    let real = Record { max_error: Some(Ratio(1e-7)), error_bound: Some(Ratio(1e-7)), ..good() };
    let labels = |label: &str| Record {
        config_id: format!("{label}.wg256"),
        kernel_id: label.into(),
        parameters: Cells { workgroups: None, family: None, ..good().parameters },
        ..good()
    };
    let reduce = Record { mode: Some(Mode::Reduce), bytes_moved: 4 * ((1 << 15) + 1), ..good() };
    // Files of older versions have empty cells.
    let old = Record {
        mode: None,
        element: None,
        op: None,
        element_bytes: 0,
        parameters: Cells { workgroups: None, batch_size: None, ..good().parameters },
        subgroup_size: None,
        ..good()
    };
    let mut persistent = labels("pers.b4.vec4.par.rake");
    persistent.parameters.workgroups = Some(3);
    let web = Record {
        api: Api::WebGpu,
        implementation: "Dawn, Chromium 156.0 (Vulkan)".into(),
        robustness: Some(true),
        timer: Some(Timer::Wall),
        timer_resolution_ns: Some(1e5),
        sample_calls: Some(21_000),
        // Shorter than a step of the timer.
        span: None,
        ..good()
    };
    let rows = [good(), of_benchmark(), of_cub(), real, reduce, old, persistent, web];
    for row in rows.into_iter().chain(Status::ALL.into_iter().skip(1).map(failed)) {
        assert_eq!(row_rules::check(&row, ""), Ok(()), "{row:?}");
    }
    assert_eq!(row_rules::check(&good(), "131.07"), Ok(()));
}

#[test]
fn every_rule_refuses_a_row_and_blames_its_column() {
    let mut seen = BTreeSet::new();
    let mut check = |rule: &'static str, column: &str, row: Record, throughput: &str| {
        let broken = row_rules::check(&row, throughput).expect_err(rule);
        assert_eq!((broken.rule, broken.column), (rule, column), "{}", broken.reason);
        let rule = RULES.iter().find(|other| other.name == rule).unwrap();
        assert!(rule.columns.contains(&column), "{column} is none of {:?}", rule.columns);
        seen.insert(rule.name);
        if throughput.is_empty() {
            // The reader says the same, with the line.
            let mut bytes = Vec::new();
            csv_file::write(&mut bytes, true, [&good(), &row]).unwrap();
            let error = csv_file::read_bytes(&bytes, Path::new("x.csv")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("x.csv: line 3: column `{column}`: ")), "{error}");
        }
    };
    let with = |change: &dyn Fn(&mut Record)| {
        let mut row = good();
        change(&mut row);
        row
    };
    check("a row is about at least one element", "n_elements", with(&|row| row.n_elements = 0), "");
    let labels = "the label of scanbox's own config can be read";
    check(labels, "config_id", with(&|row| row.config_id = "b4.vec4".into()), "");
    check(
        "the kernel is that of the config",
        "kernel_id",
        with(&|row| row.kernel_id = "b2.vec4.par.rake".into()),
        "",
    );
    let parameters = "parameters are those of the label";
    check(parameters, "family", with(&|row| row.parameters.family = Some(Family::Recompute)), "");
    check(parameters, "batch_size", with(&|row| row.parameters.batch_size = Some(16)), "");
    check(parameters, "lookback", with(&|row| row.parameters.lookback = Some(Lookback::Gather)), "");
    check(parameters, "max_spins", with(&|row| row.parameters.max_spins = Some(4)), "");
    check(parameters, "workgroup_size", with(&|row| row.parameters.workgroup_size = Some(512)), "");
    check(parameters, "workgroups_per_unit", with(&|row| row.parameters.workgroups_per_unit = Some(2)), "");
    check(parameters, "tile_state", with(&|row| row.parameters.tile_state = Some(TileState::Auto)), "");
    let packed = with(&|row| {
        row.config_id = "b4.vec4.par.rake.packed.wg256".into();
        row.kernel_id = "b4.vec4.par.rake.packed".into();
    });
    check(parameters, "tile_state", packed, "");
    let workgroups = "workgroups follow from config and size";
    check(workgroups, "workgroups", with(&|row| row.parameters.workgroups = Some(7)), "");
    check(workgroups, "n_elements", with(&|row| row.config_id = format!("{LABEL}.g9")), "");
    let problem = "mode, element type, operator, initial value and placement go together";
    check(problem, "op", with(&|row| row.op = Some("max-plus".parse().unwrap())), "");
    check(problem, "op", with(&|row| row.init = "three".into()), "");
    let in_place = with(&|row| (row.mode, row.placement) = (Some(Mode::Reduce), Some(Placement::InPlace)));
    check(problem, "op", in_place, "");
    let file = "only a user's operator has a file";
    check(file, "operator_hash", with(&|row| row.operator_hash = "0123456789abcdef".into()), "");
    check(file, "operator_facts", with(&|row| row.operator_facts = "commutative".into()), "");
    check("an element has the bytes of its type", "element_bytes", with(&|row| row.element_bytes = 8), "");
    let bytes = "bytes are those of size, element and mode";
    check(bytes, "bytes_moved", with(&|row| row.bytes_moved = 999_999_999), "");
    check(bytes, "bytes_moved", with(&|row| row.mode = Some(Mode::Reduce)), "");
    check(bytes, "bytes_moved", with(&|row| (row.element, row.element_bytes) = (Some(Element::U64), 8)), "");
    let huge = |row: &mut Record| (row.n_elements, row.parameters.workgroups) = (u64::MAX, None);
    check(bytes, "bytes_moved", with(&huge), "");
    check(bytes, "bytes_moved", Record { bytes_moved: 0, ..of_cub() }, "");
    let wrong = "what is ok has no wrong element";
    check(wrong, "mismatches", with(&|row| row.mismatches = Some(5)), "");
    check(wrong, "first_mismatch", with(&|row| row.first_mismatch = Some(0)), "");
    check("what is ok has a time", "steady_ns_median", with(&|row| row.steady = None), "");
    let order = "times are above zero and in order";
    check(order, "steady_ns_median", steady(|time| time.median_ns = 0), "");
    check(order, "steady_ns_q1", steady(|time| time.q1_ns = 2001), "");
    check(order, "steady_ns_median", steady(|time| time.q3_ns = 1999), "");
    check(order, "steady_ns_min", steady(|time| time.min_ns = 1991), "");
    check(order, "steady_ns_min", steady(|time| time.mean_ns = 1899), "");
    check(order, "steady_ns_mean", steady(|time| time.mean_ns = 0), "");
    check(order, "span_ns_q1", span(|time| time.q1_ns = 2001), "");
    check(order, "span_ns_min", span(|time| time.min_ns = 0), "");
    check("a time has samples", "samples", with(&|row| row.samples = 0), "");
    let throughput = "throughput is bytes over time";
    check(throughput, "throughput_gbps", good(), "131.09");
    check(throughput, "throughput_gbps", failed(Status::Timeout), "131.07");
    let confirmed = "only an ok row of a sweep is confirmed";
    check(confirmed, "confirmed_ns", Record { confirmed_ns: Some(1), ..failed(Status::WrongResult) }, "");
    check(confirmed, "confirmed_ns", Record { confirmed_ns: Some(1), ..of_benchmark() }, "");
    check(confirmed, "confirmed_ns", with(&|row| row.confirmed_ns = Some(0)), "");
    let rounds = "rounds are at least one, and their spread is not negative";
    check(rounds, "rounds", with(&|row| row.rounds = Some(0)), "");
    check(rounds, "round_spread_pct", with(&|row| row.round_spread_pct = Some(-1.0)), "");
    let medians = "the medians of rounds are times of a benchmark, one of each round";
    let of_rounds = |ns: &[f64]| RoundMedians(ns.to_vec());
    check(medians, "round_medians_ns", with(&|row| row.round_medians_ns = of_rounds(&[1.0; 9])), "");
    let of = |ns: &[f64], row: Record| Record { round_medians_ns: of_rounds(ns), ..row };
    check(medians, "round_medians_ns", of(&[1.0; 8], of_benchmark()), "");
    check(medians, "round_medians_ns", of(&[0.0; 9], of_benchmark()), "");
    let hung = Record { cache: Some(Cache::Hot), ..failed(Status::Timeout) };
    check(medians, "round_medians_ns", of(&[1.0; 9], hung), "");
    let selected = "a reason to take part is one of a benchmark";
    check(selected, "selection", with(&|row| row.selection = vec![Selection::Named]), "");
    let counts = "counts of fallbacks and simulated blocking are of a benchmark";
    check(counts, "blocking", with(&|row| row.blocking = Some(1)), "");
    check(counts, "insertions_sum", Record { insertions_sum: Some(3), ..of_benchmark() }, "");
    let form = "a form of calls is of a benchmark, and of a kernel that has such calls";
    check(form, "call_form", with(&|row| row.call_form = Some(CallForm::Total)), "");
    check(form, "call_form", Record { call_form: Some(CallForm::Max(4)), ..of_benchmark() }, "");
    let bound = "what is ok is within the bound of its error";
    let over = |row: &mut Record| (row.max_error, row.error_bound) = (Some(Ratio(2e-7)), Some(Ratio(1e-7)));
    check(bound, "max_error", with(&over), "");
    check(bound, "error_bound", with(&|row| row.error_bound = Some(Ratio(-1e-7))), "");
    check("a subgroup is a power of two", "subgroup_size", with(&|row| row.subgroup_size = Some(48)), "");
    check("a subgroup is a power of two", "subgroup_size", with(&|row| row.subgroup_size = Some(256)), "");
    check("what was found right was called", "twin_calls", with(&|row| row.twin_calls = Some(0)), "");
    check("what was found right was called", "proved_calls", with(&|row| row.proved_calls = Some(0)), "");
    check(
        "a device is never slower by all of its time",
        "drift_pct",
        with(&|row| row.drift_pct = Some(-100.0)),
        "",
    );
    let interface = "only rows of WebGPU name an implementation";
    check(interface, "implementation", with(&|row| row.api = Api::WebGpu), "");
    check(interface, "implementation", with(&|row| row.implementation = "wgpu 30.0.1".into()), "");
    check(interface, "robustness", with(&|row| row.robustness = Some(true)), "");
    let steps = "times come in steps above zero, of at least one call";
    check(steps, "timer_resolution_ns", with(&|row| row.timer_resolution_ns = Some(0.0)), "");
    check(steps, "sample_calls", with(&|row| row.sample_calls = Some(0)), "");
    for text in [
        "2026-11-22T15:36:08+02:00",
        "2026-11-22 15:36:08Z",
        "yesterday",
        "2026-11-22T15:36:08.Z",
        "2026-13-22T15:36:08Z",
        "2026-11-00T15:36:08Z",
        "2026-11-22T24:36:08Z",
        "9999-99-99T99:99:99Z",
    ] {
        check("a row has its time in UTC", "timestamp_utc", with(&|row| row.timestamp_utc = text.into()), "");
    }
    let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len(), "a name stands twice");
    assert_eq!(seen, names, "rules that no row breaks");
}

#[test]
fn published_rows_break_no_rule() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let mut files = 0;
    let runs = std::fs::read_dir(results.join("runs")).unwrap().map(|run| run.unwrap().path());
    for folder in runs.chain([results.clone()]) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "csv") {
                let mut rows = 0;
                let count = |_: &csv_file::FileRow<'_>| -> Result<(), csv_file::CsvError> {
                    rows += 1;
                    Ok(())
                };
                csv_file::for_each(&path, count).unwrap();
                assert!(rows > 0, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 6, "{files}");
}
