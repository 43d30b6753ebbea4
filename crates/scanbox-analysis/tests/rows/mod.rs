//! Rows made by hand for tests.

use scanbox_analysis::answers::{Answers, Question, answer};
use scanbox_analysis::grouping::{Builder, RecordFile, Runs};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::table::Tables;
use scanbox_analysis::warning::Warning;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceKind;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Clock, Record, SCHEMA, Status, TimeStats};

/// Kernels in the fixed order of parameters.
pub const A: &str = "b1.vec2.seq.rake";
pub const B: &str = "b2.vec2.seq.rake";
pub const C: &str = "b4.vec2.seq.rake";
pub const D: &str = "b8.vec2.seq.rake";

/// An `ok` row of device `d1` at `gbps`: a time of 1000 ns without spread.
pub fn row(kernel: &str, workgroup_size: u32, n: u64, gbps: u64) -> Record {
    let config_id = format!("{kernel}.wg{workgroup_size}");
    let config: Config = config_id.parse().unwrap();
    let time =
        TimeStats { median_ns: 1000, min_ns: 1000, mean_ns: 1000, q1_ns: 1000, q3_ns: 1000, stddev_ns: 0 };
    Record {
        schema: SCHEMA,
        device: "d1".into(),
        device_uuid: "u1".into(),
        driver: "driver 1".into(),
        kernel_hash: "hash".into(),
        subject: "scanbox".into(),
        subject_version: "0.1.0".into(),
        kernel_id: config.kernel.to_string(),
        config_id,
        n_elements: n,
        bytes_moved: 1000 * gbps,
        status: Status::Ok,
        samples: 25,
        steady: Some(time),
        timestamp_utc: "2025-11-21T08:00:00Z".into(),
        ..Record::default()
    }
}

/// The same row with another time.
pub fn timed(mut record: Record, median_ns: u64, half_range_ns: u64) -> Record {
    record.steady = Some(TimeStats {
        median_ns,
        min_ns: median_ns - half_range_ns,
        mean_ns: median_ns,
        q1_ns: median_ns - half_range_ns,
        q3_ns: median_ns + half_range_ns,
        stddev_ns: 0,
    });
    record
}

/// The same row that failed.
pub fn failed(mut record: Record, status: Status) -> Record {
    record.status = status;
    record
}

/// The same row of another device.
pub fn on(mut record: Record, device: &str) -> Record {
    record.device = device.into();
    record.device_uuid = format!("uuid of {device}");
    record
}

/// A file without metadata.
pub fn source(records: &[Record]) -> RecordFile<'_> {
    RecordFile {
        name: "x.csv",
        records,
        planned: None,
        problem: Problem::default(),
        kind: Some(DeviceKind::Hardware),
        ceiling_gbps: None,
    }
}

pub fn tables_of(sources: &[RecordFile<'_>], runs: Runs) -> (Tables, Vec<Warning>) {
    let mut builder = Builder::new(Clock::Steady);
    for source in sources {
        builder.add(source).unwrap();
    }
    builder.finish(runs)
}

pub fn tables(records: &[Record]) -> Tables {
    tables_of(&[source(records)], Runs::Latest).0
}

pub fn by(metric: Metric) -> Question {
    Question { metric, ..Question::default() }
}

pub fn answers<'a>(tables: &'a Tables, metric: &str) -> Answers<'a> {
    answer(tables, &by(metric.parse().unwrap())).0
}

/// Labels of the ideal configs of the device with this position, by size.
pub fn ideal_labels(tables: &Tables, device: usize) -> Vec<(u64, String)> {
    let answers = answers(tables, "squared");
    let points = answers.devices[device].ideal.points.iter();
    points.map(|point| (point.n, tables.catalog.config(point.best.config).to_string())).collect()
}
