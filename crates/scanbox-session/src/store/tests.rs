//! Whatever byte the last run died at, the next one goes on: the files of a sweep are cut at every byte.

use std::fs;
use std::path::PathBuf;

use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::TimeStats;
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};
use scanbox_runner::row::{Computation, Origin, blank_record};
use tempfile::TempDir;

use super::*;

const SPACE: &str = r#"
name = "test"
sizes = "2^10..2^12"
[[block]]
family = ["chained-scan"]
batch_size = [1]
vector_width = ["vec4"]
workgroup_size = [64]
lookback = ["sequential", "parallel"]
block_scan = ["raking"]
"#;

type Rows = BTreeMap<RowKey, Status>;

/// The files of a sweep, and what it takes to go on with it.
struct Sweep {
    folder: TempDir,
    device: DeviceProfile,
    space: Space,
    enumeration: Enumeration,
}

impl Sweep {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let device = Replay::new(Script::default()).profile().as_ref().clone();
        let space = Space::from_toml(SPACE, "test").unwrap();
        let enumeration = space.enumerate(&device, |config, n, device| {
            scanbox_kernels::legal(config, &Problem::default(), n, device)
        });
        Self { folder: folder.unwrap(), device, space, enumeration }
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.folder.path().join(format!("x.{ending}"))
    }

    fn bytes(&self) -> [Vec<u8>; 3] {
        ENDINGS.map(|ending| fs::read(self.path(ending)).unwrap())
    }

    /// Puts files there; `None` removes one.
    fn restore(&self, files: [Option<&[u8]>; 3]) {
        for (ending, bytes) in ENDINGS.iter().zip(files) {
            let path = self.path(ending);
            match bytes {
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => drop(fs::remove_file(path)),
            }
        }
    }

    fn subject<'a>(&'a self, problem: &'a Problem) -> FileSubject<'a> {
        FileSubject {
            device: &self.device,
            space: &self.space,
            enumeration: &self.enumeration,
            shard: None,
            kernel_hash: "hash",
            problem,
            real: false,
            seed: None,
            elsewhere: OtherPlace::Out("scanbox sweep --out other.csv"),
        }
    }

    /// Does what is left to do, as a run does it, and returns the rows of the file.
    fn resume(&self) -> Rows {
        let origin = Origin {
            run_id: "run".into(),
            version: "1".into(),
            kernel_hash: "hash".into(),
            ..Origin::default()
        };
        let resume = Resume::default();
        let problem = Problem::default();
        let subject = self.subject(&problem);
        let mut file = SweepFile::open(&self.path("csv"), &subject, resume, None).unwrap();
        let points = file.points_to_do(&self.enumeration);
        if points.is_empty() {
            file.settle(true).unwrap();
        } else {
            file.begin_run("run", 1, serde_json::Value::Null).unwrap();
            for point in &points {
                let key = point_key(point);
                assert!(file.workers_ended(&key) < 2, "{key:?} is quarantined");
                file.intend(&key).unwrap();
                let computation =
                    Computation { problem: Problem::default(), real: false, largest_n: 4096, seed: 1 };
                let input = computation.input(&point.config, &self.device);
                let mut record = blank_record(point, &computation, &input, &self.device, &origin);
                record.status = outcome(point);
                if record.status == Status::Ok {
                    let ns = 1000;
                    let all = TimeStats {
                        median_ns: ns,
                        min_ns: ns,
                        mean_ns: ns,
                        q1_ns: ns,
                        q3_ns: ns,
                        stddev_ns: 0,
                    };
                    (record.samples, record.steady) = (3, Some(all));
                }
                if record.status == Status::Timeout {
                    file.worker_ended(&key, "timeout").unwrap();
                    record.reason = "did not finish, \"quoted\"".into();
                }
                file.append(record).unwrap();
            }
            file.end_run(true, &BTreeMap::new()).unwrap();
        }
        drop(file);
        let records = csv_file::read(&self.path("csv")).unwrap().records;
        let metadata = Metadata::read(&Metadata::path_beside(&self.path("csv"))).unwrap();
        assert_eq!(metadata.counts, counts(&records));
        let rows: Rows = records.iter().map(|record| (row_key(record), record.status)).collect();
        assert_eq!(rows.len(), records.len(), "a row stands there twice");
        rows
    }
}

const ENDINGS: [&str; 3] = ["csv", "meta.json", "journal"];

fn outcome(point: &Point) -> Status {
    if point.n == 2048 { Status::Timeout } else { Status::Ok }
}

/// Cuts each file, alone, at every byte, takes it away, and fills it with garbage.
#[test]
fn files_cut_at_any_byte_are_completed() {
    let sweep = Sweep::new();
    let complete = sweep.resume();
    assert_eq!(complete.len(), 6);
    let whole = sweep.bytes();
    for file in 0..3 {
        let check = |bytes: Option<&[u8]>, what: String| {
            let mut files = whole.each_ref().map(|bytes| Some(bytes.as_slice()));
            files[file] = bytes;
            sweep.restore(files);
            assert_eq!(sweep.resume(), complete, "{} {what}", ENDINGS[file]);
        };
        for cut in 0..whole[file].len() {
            check(Some(&whole[file][..cut]), format!("cut at {cut}"));
        }
        check(None, "absent".into());
        if ENDINGS[file] != "csv" {
            check(Some(b"\xff\xfe garbage\n\0\0\n"), "garbage".into());
        }
    }
}

/// What a run leaves that is killed between any two of its writes: rows, the journal up to a byte, old metadata.
#[test]
fn a_run_killed_between_any_two_bytes_is_completed() {
    let sweep = Sweep::new();
    let complete = sweep.resume();
    let [csv, metadata, journal] = sweep.bytes();
    let lines: Vec<usize> = (1..=csv.len()).filter(|&end| csv[end - 1] == b'\n').collect();
    for (rows, &end) in lines.iter().enumerate() {
        for cut in [end, end + 100] {
            for journal_cut in (0..journal.len()).step_by(7) {
                let files = [&csv[..cut.min(csv.len())], &metadata[..], &journal[..journal_cut]];
                sweep.restore(files.map(Some));
                assert_eq!(
                    sweep.resume(),
                    complete,
                    "after {rows} rows and {journal_cut} bytes of the journal"
                );
            }
        }
    }
}

/// No row says whether its kernel asked for maximal reconvergence, so that the metadata has to.
#[test]
fn kernels_that_ask_for_reconvergence_have_files_of_their_own() {
    for asked in [false, true] {
        let mut sweep = Sweep::new();
        sweep.device.maximal_reconvergence = asked;
        sweep.resume();
        let problem = Problem::default();
        assert!(Before::check(&sweep.path("csv"), &sweep.subject(&problem), Resume::default()).is_ok());
        sweep.device.maximal_reconvergence = !asked;
        let checked = Before::check(&sweep.path("csv"), &sweep.subject(&problem), Resume::default());
        let refused = checked.map(drop).unwrap_err().to_string();
        let before = if asked { "its kernels asked for" } else { "its kernels did not ask for" };
        assert!(refused.contains(before) && refused.contains("scanbox sweep --out other.csv"), "{refused}");
    }
}
