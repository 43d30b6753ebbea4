//! The sweep on the replay device: every fault becomes its status and reason, and nothing wrong is ever `ok`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::legal;
use scanbox_model::config::{Config, TileState};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::space::{Point, Rejection, Space};
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::measure::Protocol;
use scanbox_runner::replay::{Replay, Script};
use scanbox_runner::row::{Computation, Origin};
use scanbox_runner::session::{End, RunSummary};
use scanbox_runner::sweep::{self, SweepEvent, SweepJob};
use scanbox_testing::folder::copy_folder;

const SPACE: &str = r#"
name = "test"
sizes = "2^10..2^16"
[[block]]
family = ["chained-scan"]
batch_size = [1, 4]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["sequential", "parallel"]
block_scan = ["raking"]
"#;

struct Ran {
    outcome: RunSummary,
    records: Vec<Record>,
    /// Sizes and GB/s, as they were told.
    copies: Vec<(u64, f64)>,
    remarks: Vec<String>,
}

impl Ran {
    fn row(&self, config: &str, n: u64) -> &Record {
        self.records.iter().find(|record| record.config_id == config && record.n_elements == n).unwrap()
    }
}

fn u32_sum(config: &Config, n: u64, device: &DeviceProfile) -> Result<(), Rejection> {
    legal(config, &Problem::default(), n, device)
}

fn points(replay: &Replay) -> Vec<Point> {
    Space::from_toml(SPACE, "test").unwrap().enumerate(replay.profile(), u32_sum).points
}

fn job(points: Vec<Point>) -> SweepJob {
    SweepJob {
        computation: Computation { problem: Problem::default(), real: false, largest_n: 1 << 16, seed: 7 },
        ceiling_sizes: points.iter().map(|point| point.n).collect(),
        points,
        prove: BTreeSet::new(),
        seed: 7,
        protocol: Protocol::default(),
        order_start: 0,
        one_by_one: false,
        in_turns: false,
        origin: Origin {
            run_id: "run".into(),
            version: "1".into(),
            kernel_hash: "hash".into(),
            ..Origin::default()
        },
    }
}

fn run_with(script: &str, change: impl FnOnce(&mut SweepJob)) -> Ran {
    let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
    let mut job = job(points(&replay));
    change(&mut job);
    let mut records = Vec::new();
    let mut copies = Vec::new();
    let mut remarks = Vec::new();
    let compiler = Compiler::new(None, None).unwrap();
    let outcome = sweep::run(&mut replay, &compiler, &job, &AtomicBool::new(false), &mut |event| {
        match event {
            SweepEvent::Finished { record } => records.push(record.clone()),
            SweepEvent::Ceiling { n, gbps } => copies.push((n, gbps)),
            SweepEvent::Remark { text } => remarks.push(text.to_owned()),
            _ => {}
        }
        Ok::<(), Failure>(())
    })
    .unwrap();
    Ran { outcome, records, copies, remarks }
}

fn run(script: &str) -> Ran {
    run_with(script, |_| {})
}

const FAULTY: &str = "b4.vec4.par.rake.wg64";
const ALL: usize = 4 * 7;

#[test]
fn every_point_gets_one_verified_row() {
    let ran = run("");
    assert_eq!(ran.outcome.end, End::Complete);
    assert_eq!(ran.records.len(), ALL);
    let keys: BTreeSet<_> = ran.records.iter().map(|record| (&record.config_id, record.n_elements)).collect();
    assert_eq!(keys.len(), ALL);
    for (index, record) in ran.records.iter().enumerate() {
        assert_eq!(record.status, Status::Ok);
        assert_eq!(record.mismatches, Some(0));
        assert!(record.twin_calls >= Some(128), "{:?}", record.twin_calls);
        assert_eq!(record.order_index, index as u64);
        assert!(record.throughput_gbps(Clock::Steady).unwrap() > 0.0);
    }
    assert_eq!(ran.copies.iter().map(|copy| copy.0).collect::<BTreeSet<_>>().len(), 7);
}

#[test]
fn the_copy_of_an_idle_device_is_measured_again() {
    let awake: BTreeMap<u64, f64> = run("").copies.into_iter().collect();
    let copies = run("waking_ns = 1.82e8\nwaking_ratio = 1.4\n").copies;
    let (first, last) = (copies[0], copies[copies.len() - 1]);
    assert_eq!((first.0, last.0), (1 << 16, 1 << 16));
    assert!(2.0 * first.1 < awake[&first.0], "{first:?}");
    assert_eq!(copies.into_iter().collect::<BTreeMap<_, _>>(), awake);
}

#[test]
fn times_are_those_of_the_device() {
    // 2 us per call and 1000 GB/s at an efficiency from 0.5 to 0.95: 2^16 elements take 2.55 to 3.05 us.
    let ran = run("");
    for record in ran.records.iter().filter(|record| record.n_elements == 1 << 16) {
        let steady = record.steady.unwrap();
        assert!((2551..=3049).contains(&steady.median_ns), "{steady:?}");
        assert_eq!(steady.stddev_ns, 0);
    }
}

/// Where time is short, no size waits for another.
#[test]
fn sizes_are_measured_in_turns_where_that_is_asked_for() {
    let sizes = |in_turns| {
        let ran = run_with("", |job| job.in_turns = in_turns);
        ran.records.iter().map(|record| record.n_elements).collect::<Vec<_>>()
    };
    let is_in_turns =
        |sizes: &[u64]| sizes.chunks(7).all(|turn| turn.iter().collect::<BTreeSet<_>>().len() == turn.len());
    assert_eq!(sizes(true).len(), ALL);
    assert!(is_in_turns(&sizes(true)), "{:?}", sizes(true));
    assert!(!is_in_turns(&sizes(false)));
}

#[test]
fn the_order_depends_on_the_seed_alone() {
    let order = |seed| {
        let ran = run_with("", |job| job.seed = seed);
        ran.records.iter().map(|record| (record.config_id.clone(), record.n_elements)).collect::<Vec<_>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn every_fault_has_its_status_and_reason() {
    fn check(kind: &str, status: Status, reason: &str) {
        let script = format!("[[fault]]\nkind = \"{kind}\"\nconfig = \"{FAULTY}\"\nn = 4096\n");
        let ran = run(&script);
        assert_eq!(ran.outcome.end, End::Complete, "{kind}");
        assert_eq!(ran.records.len(), ALL, "{kind}");
        let row = ran.row(FAULTY, 4096);
        assert_eq!(row.status, status, "{kind}");
        assert!(row.reason.contains(reason), "{kind}: {}", row.reason);
        assert_eq!(row.steady, None, "{kind}: a time without a right answer");
        let ok = ran.records.iter().filter(|record| record.status == Status::Ok).count();
        assert_eq!(ok, ALL - 1, "{kind}");
    }
    check("wrong_element", Status::WrongResult, "first is element 0: expected 1, got 2");
    check("wrong_last", Status::WrongResult, "first is element 4095");
    check("write_behind", Status::WrongResult, "behind the output");
    check("loses_tickets", Status::WrongResult, "first is element 0");
    check("wrong_timed", Status::WrongResult, "right when called once, wrong in call ");
    check("wrong_second", Status::WrongResult, "(1 of 3 calls that were compared are wrong)");
    check("wrong_late", Status::WrongResult, "(3 of 3 calls that were compared are wrong)");
    check("out_of_memory", Status::OutOfMemory, "scripted");
    check("pipeline_error", Status::PipelineError, "scripted");
    check("zero_timestamps", Status::RuntimeError, "zero or negative");
    check("backward_timestamps", Status::RuntimeError, "zero or negative");
}

#[test]
fn after_a_mismatch_the_scratch_memory_is_cleared() {
    let script = format!("[[fault]]\nkind = \"loses_tickets\"\nconfig = \"{FAULTY}\"\ntimes = 1\n");
    let mut replay = Replay::new(toml::from_str::<Script>(&script).unwrap());
    let mismatches: Vec<u64> = [FAULTY, "b1.vec4.par.rake.wg64", FAULTY]
        .map(|label| {
            let config: Config = label.parse().unwrap();
            let plan = catalog::plan(&config, &Problem::default(), 4096, replay.profile()).unwrap();
            replay.verify(&plan).unwrap().mismatches
        })
        .to_vec();
    assert_eq!(mismatches, [1, 0, 0], "one wrong kernel accuses nobody else");
}

#[test]
fn a_single_bad_timestamp_is_taken_again() {
    let ran = run(&format!("[[fault]]\nkind = \"zero_timestamp_once\"\nconfig = \"{FAULTY}\"\ntimes = 3\n"));
    assert!(ran.records.iter().all(|record| record.status == Status::Ok));
}

#[test]
fn a_lost_device_ends_the_run_with_its_row() {
    let ran = run(&format!("[[fault]]\nkind = \"device_lost\"\nconfig = \"{FAULTY}\"\nn = 4096\n"));
    assert_eq!(ran.outcome.end, End::DeviceUnusable);
    assert_eq!(ran.records.last().unwrap().status, Status::DeviceLost);
    assert_eq!(ran.row(FAULTY, 4096).status, Status::DeviceLost);
    assert!(ran.records.len() < ALL);
}

/// Enough points to see the canary, which is timed every 100 rows, several times.
fn many_points(job: &mut SweepJob) {
    let sizes: Vec<_> = (1..=100_u64).map(|place| (600 * place).to_string()).collect();
    let space = Space::from_toml(SPACE, "test").unwrap().with_sizes(sizes.join(",").parse().unwrap());
    job.points = space.enumerate(Replay::new(Script::default()).profile(), u32_sum).points;
}

/// A fault of this row, once.
fn once(kind: &str, row: &Record) -> String {
    format!(
        "[[fault]]\nkind = \"{kind}\"\nconfig = \"{}\"\nn = {}\ntimes = 1\n",
        row.config_id, row.n_elements
    )
}

#[test]
fn what_is_measured_at_another_speed_is_measured_again() {
    let clean = run_with("hardware = true\n", many_points);
    let count = clean.records.len();
    assert_eq!(count, 400);
    assert!(clean.records.iter().all(|record| record.drift_pct == Some(0.0)));
    let time = |record: &Record| record.steady.unwrap().median_ns;
    let times = |records: &[Record]| -> HashMap<_, _> {
        records.iter().map(|record| (key(record), time(record))).collect()
    };
    let before = times(&clean.records);
    let slower = |records: &[Record]| {
        let latest = times(records);
        latest.iter().filter(|(key, ns)| **ns as f64 > 1.5 * before[key] as f64).count()
    };
    // Where it throttles and where it is back, in rows; which rows are measured again, and how many stay slow.
    for (from, to, again, slow) in
        [(120, 150, 0..0, 30), (120, 230, 100..300, 0), (120, 205, 100..300, 0), (380, count, 0..0, 20)]
    {
        let recovers = clean.records.get(to).map_or(String::new(), |row| once("recover", row));
        let faults = once("throttle", &clean.records[from]) + &recovers;
        let ran = run_with(&format!("hardware = true\n{faults}"), many_points);
        let expected: BTreeSet<_> = clean.records[again.clone()].iter().map(key).collect();
        let repeated: BTreeSet<_> = ran.records[count..].iter().map(key).collect();
        assert_eq!(ran.records.len(), count + again.len(), "{from} to {to}");
        assert_eq!(repeated, expected, "{from} to {to}");
        let slow_at_last = slower(&ran.records);
        assert_eq!(slow_at_last, slow, "{from} to {to}");
        let told =
            ran.remarks.iter().any(|text| text.contains("the device runs at another speed than at first"));
        assert_eq!(told, to > 200, "{from} to {to}: {:?}", ran.remarks);
        let stay = ran.remarks.iter().any(|text| text.contains("100 rows stay as they are"));
        assert_eq!(stay, to == count, "{from} to {to}: {:?}", ran.remarks);
        // Times of software mean nothing.
        let software = run_with(&faults, many_points);
        assert_eq!((software.records.len(), software.remarks), (count, Vec::new()), "{from} to {to}");
    }
}

#[test]
fn a_device_that_becomes_faster_than_at_first_was_not_awake() {
    let clean = run_with("hardware = true\n", many_points);
    let count = clean.records.len();
    let time = |record: &Record| record.steady.unwrap().median_ns;
    let before: HashMap<_, _> = clean.records.iter().map(|record| (key(record), time(record))).collect();
    // The canary copies what is loaded: as much as the largest ceiling.
    let largest = 1 << 16;
    let plan = catalog::copy(
        &Problem::default(),
        largest,
        catalog::CEILING_SHAPES[0],
        Replay::new(Script::default()).profile(),
    );
    let asleep =
        format!("[[fault]]\nkind = \"throttle\"\nconfig = \"{}\"\nn = {largest}\ntimes = 1\n", plan.label);
    // Where it wakes up, in rows, and how many of them are measured again: all before the canary that sees it.
    for (wakes, again) in [(1, 100), (50, 100), (130, 200), (390, count)] {
        let faults = asleep.clone() + &once("recover", &clean.records[wakes]);
        let ran = run_with(&format!("hardware = true\n{faults}"), many_points);
        assert_eq!(ran.records.len(), count + again, "{wakes}: {:?}", ran.remarks);
        let latest: HashMap<_, _> = ran.records.iter().map(|record| (key(record), record)).collect();
        assert!(
            latest.iter().all(|(key, record)| (time(record) as f64) < 1.5 * before[key] as f64),
            "{wakes}"
        );
        assert!(latest.values().all(|record| record.drift_pct == Some(0.0)), "{wakes}");
        assert_eq!(ran.remarks.len(), 1, "{wakes}: {:?}", ran.remarks);
        let told = format!("faster than at first: a copy takes -50 %; {again} rows are measured once more");
        assert!(ran.remarks[0].contains(&told), "{wakes}: {:?}", ran.remarks);
    }
}

#[test]
fn a_device_that_stays_slow_is_told_once() {
    let clean = run_with("hardware = true\n", many_points);
    let ran = run_with(&format!("hardware = true\n{}", once("throttle", &clean.records[120])), many_points);
    assert_eq!(ran.records.len(), clean.records.len());
    let remarks: Vec<_> = ran.remarks.iter().map(String::as_str).collect();
    assert!(
        matches!(remarks[..], [goes_on, stay]
        if goes_on.contains("goes on so") && stay.contains("300 rows stay as they are")),
        "{remarks:?}"
    );
}

fn key(record: &Record) -> (String, u64) {
    (record.config_id.to_string(), record.n_elements)
}

#[test]
fn sizes_that_do_not_fit_are_out_of_memory() {
    // Input, output and reference of 2^16 elements take 768 KiB; the rules see the whole memory, the device less.
    let ran = run_with("memory_bytes = 600000", |job| {
        job.points = points(&Replay::new(Script::default()));
    });
    let too_large: Vec<_> =
        ran.records.iter().filter(|record| record.status == Status::OutOfMemory).collect();
    assert_eq!(too_large.len(), 4);
    assert!(too_large.iter().all(|record| record.n_elements == 1 << 16 && record.reason.contains("600000")));
    assert_eq!(ran.records.len(), ALL);
}

#[test]
fn the_tile_state_decides_the_input() {
    let check = |ran: &Ran, input: &str| {
        assert_eq!(ran.records.len(), ALL);
        assert!(ran.records.iter().all(|record| record.status == Status::Ok && record.input == input));
    };
    // Without 64-bit atomics `auto` is the split state, which carries whole words.
    check(&run("int64_atomics = false"), "random");
    let packed = run_with("", |job| {
        for point in &mut job.points {
            point.config.kernel.tile_state = TileState::Packed;
        }
    });
    check(&packed, "bounded");
}

#[test]
fn a_stop_ends_between_rows() {
    let replay = Replay::new(Script::default());
    let job = job(points(&replay));
    let compiler = Compiler::new(None, None).unwrap();
    for stop_at in [0, 3] {
        let mut replay = Replay::new(Script::default());
        let stop = AtomicBool::new(stop_at == 0);
        let mut rows = 0;
        let outcome = sweep::run(&mut replay, &compiler, &job, &stop, &mut |event| {
            if let SweepEvent::Finished { .. } = event {
                rows += 1;
                stop.store(rows == stop_at, std::sync::atomic::Ordering::Relaxed);
            }
            Ok::<(), Failure>(())
        });
        assert_eq!((outcome.unwrap().end, rows), (End::Interrupted, stop_at));
    }
}

#[test]
fn one_by_one_gives_the_same_rows() {
    let key = |ran: &Ran| {
        ran.records
            .iter()
            .map(|record| (record.order_index, record.config_id.clone(), record.steady))
            .collect::<Vec<_>>()
    };
    assert_eq!(key(&run_with("", |job| job.one_by_one = true)), key(&run("")));
}

#[test]
fn a_plan_of_several_passes_is_one_row() {
    let config = "rts.b1.vec4.none.rake.wg64";
    let ran = run_with("", |job| {
        job.points = [1 << 10, 1 << 16].map(|n| Point { n, config: config.parse().unwrap() }).to_vec();
    });
    for n in [1 << 10, 1 << 16] {
        let row = ran.row(config, n);
        assert_eq!((row.status, row.registers), (Status::Ok, Some(32)), "{row:?}");
        assert!(row.compile_ms.is_some() && row.steady.is_some(), "{row:?}");
    }
    assert_eq!(ran.records.len(), 2);
}

#[test]
fn a_compile_error_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/glsl");
    copy_folder(kernels.as_ref(), folder.path());
    let broken = folder.path().join("stages/lookback/parallel.glsl");
    std::fs::write(&broken, "this is not GLSL\n").unwrap();
    let mut replay = Replay::new(Script::default());
    let job = job(points(&replay));
    let compiler = Compiler::new(Some(folder.path()), None).unwrap();
    let mut statuses = BTreeMap::new();
    sweep::run(&mut replay, &compiler, &job, &AtomicBool::new(false), &mut |event| {
        if let SweepEvent::Finished { record } = event {
            *statuses.entry((record.parameters.lookback.unwrap().to_string(), record.status)).or_insert(0) +=
                1;
        }
        Ok::<(), Failure>(())
    })
    .unwrap();
    let expected = [
        (("parallel".to_owned(), Status::CompileError), ALL / 2),
        (("sequential".to_owned(), Status::Ok), ALL / 2),
    ];
    assert_eq!(statuses, BTreeMap::from(expected));
}
