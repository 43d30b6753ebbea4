//! The file of a benchmark.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scanbox_model::csv_file::{self, Appender};
use scanbox_model::device::DeviceProfile;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::metadata::{Metadata, Run};
use scanbox_model::problem::{Problem, ProblemDifference};
use scanbox_model::record::{Cache, Clock, Record, SCHEMA};
use scanbox_model::row_rules::OWN_SUBJECT;
use scanbox_model::sizes::Sizes;
use scanbox_model::space::Space;
use scanbox_model::whole_file::folder_of;
use scanbox_report::paste;
use scanbox_runner::baseline::Greeting;
use scanbox_runner::bench::BenchJob;
use scanbox_runner::row::now_utc;
use scanbox_runner::session::End;
use scanbox_session::notes::note;
use scanbox_session::origin::this_tool;
use scanbox_session::store::counts;
use scanbox_session::supervise::Supervised;

use crate::exit::UsageError;
use crate::inputs::expect;
use crate::output::{Kind, Output};

/// The rows of a run on their way to their file: beside it until the run has come to its end.
pub struct BenchFile {
    path: PathBuf,
    output: Output,
    partial: PathBuf,
    appender: Appender,
    /// Held until the end; the system lets go of it when the process ends, however it ends.
    _lock: Option<File>,
    /// Those so far.
    pub records: Vec<Record>,
}

impl BenchFile {
    /// Begins the rows. What is at their place has been looked at, and its lock is the caller's.
    pub fn create(path: &Path, output: Output, lock: Option<File>) -> anyhow::Result<Self> {
        let partial = path.with_extension("csv.partial");
        match fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| elsewhere(path));
            }
            _ => {}
        }
        let (appender, _) = Appender::open(&partial).with_context(|| elsewhere(path))?;
        Ok(Self { path: path.to_owned(), output, partial, appender, _lock: lock, records: Vec::new() })
    }

    /// Adds a row.
    pub fn append(&mut self, record: Record) -> anyhow::Result<()> {
        self.appender.append(&record)?;
        self.records.push(record);
        Ok(())
    }

    /// Says where the rows are of a run that cannot go on.
    pub fn leave(&self) {
        if self.records.is_empty() {
            let _ = fs::remove_file(&self.partial);
        } else {
            note(&format!("the rows so far are in {}", paste::path(&self.partial)));
        }
    }

    /// Gives the rows their place; those of a run that was cut short stay beside it. Says where they are, if there are
    /// any.
    pub fn finish(&self, metadata: &Metadata, end: End) -> anyhow::Result<Option<PathBuf>> {
        self.appender.sync()?;
        if end != End::Complete {
            if self.records.is_empty() {
                let _ = fs::remove_file(&self.partial);
                return Ok(None);
            }
            return Ok(Some(self.partial.clone()));
        }
        // Somebody may have put something there meanwhile; then the rows stay beside it.
        self.output.check().inspect_err(|_| self.leave())?;
        metadata.write(&Metadata::path_beside(&self.path))?;
        fs::rename(&self.partial, &self.path).with_context(|| self.path.display().to_string())?;
        Ok(Some(self.path.clone()))
    }
}

fn elsewhere(path: &Path) -> String {
    format!("{}; choose another place with --out", folder_of(path).display())
}

/// How the rows were made, in the format of sweeps: the space has sizes and no blocks.
pub fn metadata(
    device: &DeviceProfile,
    sizes: &Sizes,
    job: &BenchJob,
    baselines: &[Greeting],
    started_utc: String,
    supervised: &Supervised,
    records: &[Record],
) -> anyhow::Result<Metadata> {
    let (tool_version, tool_commit) = this_tool();
    let mut ceiling_gbps: BTreeMap<u64, f64> = BTreeMap::new();
    let ceiling = job.computation.problem.ceiling();
    let ceilings =
        records.iter().filter(|record| record.subject == ceiling && record.cache == Some(Cache::Hot));
    for (n, gbps) in ceilings.filter_map(|row| Some((row.n_elements, row.throughput_gbps(Clock::Steady)?))) {
        let best = ceiling_gbps.entry(n).or_insert(0.0);
        *best = best.max((gbps * 10.0).round() / 10.0);
    }
    let run = Run {
        run_id: job.origin.run_id.clone(),
        arguments: std::env::args().skip(1).collect(),
        seed: job.computation.seed,
        settings: serde_json::json!({
            "protocol": job.protocol,
            "rounds": job.rounds,
            "renews_pipelines": job.renews_pipelines,
            "caches": job.caches,
            "baselines": baselines,
        }),
        started_utc,
        ended_utc: Some(now_utc()),
        rows: records.len() as u64,
        seconds: supervised.seconds.clone(),
        outcome: None,
    };
    Ok(Metadata {
        schema: SCHEMA,
        tool_version,
        tool_commit,
        device: device.clone(),
        kernel_hash: job.origin.kernel_hash.clone(),
        problem: job.computation.problem,
        space: Space {
            name: "bench".to_owned(),
            description: "A benchmark: subjects against each other in alternating blocks".to_owned(),
            sizes: sizes.clone(),
            products: Vec::new(),
        },
        points: records.len() as u64,
        shard: None,
        merged: None,
        rejections: Vec::new(),
        counts: counts(records),
        ceiling_gbps,
        runs: vec![run],
    })
}

/// The rows of these files of `--with` at these sizes, on buffers in one of these states.
///
/// # Errors
/// When a file cannot be read, is of something else, or has no such row.
pub fn others(
    with: &[PathBuf],
    sizes: &Sizes,
    caches: &[Cache],
    problem: &Problem,
    api: &DeviceApi,
) -> anyhow::Result<Vec<Record>> {
    let mut others = Vec::new();
    for path in with {
        expect(
            path,
            "--with",
            &[Kind::Benchmark, Kind::Import],
            "it shows other rows beside those of a benchmark",
        )?;
        let found = csv_file::read(path)?.records;
        // Rows of other implementations do not say what they compute.
        let other = found.iter().find_map(|row| {
            let of_row = row.op.map(|_| Problem::of_row(row)).unwrap_or(Ok(Problem::default()));
            of_row.ok()?.difference(problem)
        });
        if let Some(difference) = other {
            let ProblemDifference { column, flag, own, others } = difference;
            bail!(
                "--with {}: its rows have {column} `{own}`, this run has `{others}` ({flag})",
                path.display()
            );
        }
        // One label of two interfaces would be one subject with two times.
        let strange = found.iter().find(|row| row.subject == OWN_SUBJECT && !api.is_of(row));
        if let Some(row) = strange {
            bail!(
                "--with {}: its rows of scanbox are of {}, this run is of {}: `scanbox analyze` sets sweeps of both beside each \
                 other",
                path.display(),
                DeviceApi::of(row).words(),
                api.words()
            );
        }
        let found = found.into_iter();
        others.extend(found.filter(|row| {
            sizes.contains(row.n_elements) && row.cache.is_some_and(|cache| caches.contains(&cache))
        }));
    }
    if others.is_empty() && !with.is_empty() {
        let message = "--with: no row is of one of the sizes and of the state of the buffers of this run";
        return Err(UsageError(message.to_owned()).into());
    }
    Ok(others)
}
