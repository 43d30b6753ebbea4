//! A sweep as its supervisor sees it: the points that are left, and the rows of those that are not; then the
//! confirmation.

mod steps;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, Selection, Status};
use scanbox_model::space::{Enumeration, Point};
use scanbox_model::units::plural;
use scanbox_runner::bench::{BenchJob, Selected, computation_of};
use scanbox_runner::measure::Protocol;
use scanbox_runner::row::{Computation, Origin, blank_record, now_utc};
use scanbox_runner::session::End;
use scanbox_runner::sweep::SweepJob;

use self::steps::SweepStep;
use crate::anchors::{self, Anchors, sizes_due, subjects};
use crate::breaker::hanging;
use crate::confirm::{CACHES, PASSES, confirm, unconfirmed};
use crate::failure::{Cause, SessionError};
use crate::notes::note;
use crate::origin::origin;
use crate::process::{RunLimits, Worker, WorkerCommand};
use crate::progress::Progress;
use crate::protocol::{self, BenchWork, ConfigResult, Work};
use crate::store::{RowKey, SweepFile, point_key, row_key};
use crate::supervise::{Death, Supervised, Supervision, Task, WORKERS_PER_CONFIG};

/// How many times as long as any config one that has to be shown right may take: a proof is thousands of calls.
const PROOF_TIMEOUTS: u32 = 20;

/// What a sweep is asked for beside its points.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Whether the elements are reals.
    pub real: bool,
    /// Seed of the order and of the input.
    pub seed: u64,
    /// How times are taken.
    pub protocol: Protocol,
    /// How long a config may take.
    pub timeout: Duration,
    /// Whether what was wrong is to be shown right.
    pub prove: bool,
    /// How many of the fastest configs of each size are confirmed.
    pub confirm: Option<u32>,
    /// Blocks of each of them.
    pub rounds: u32,
    /// Whether the device is shared on purpose.
    pub shared_device: bool,
    /// The configs that are anchors; none where sizes are not split.
    pub anchors: Anchors,
    /// What comes before all other points, where time is short; sizes are then measured in turns.
    pub first: Option<HashSet<Point>>,
}

/// What came of a sweep.
pub struct Ran {
    /// How it went; `None` where nothing was left to do.
    pub supervised: Option<Supervised>,
    /// Whether somebody still has to be confirmed, or the anchors at the end to be measured.
    pub unconfirmed: bool,
    /// What came of the copies, or reads, of the sizes.
    pub ceilings: Ceilings,
}

/// The sizes whose copy, or read, is no ceiling yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Nobody has tried it.
    pub left: BTreeSet<u64>,
    /// It was wrong.
    pub wrong: BTreeSet<u64>,
}

/// What is measured in one go.
pub struct SweepPart<'a> {
    /// Points.
    pub points: &'a [Point],
    /// The ceilings that are left.
    pub ceilings: &'a mut Ceilings,
    /// Who is told.
    pub progress: &'a mut Progress,
}

/// Measures the points that are left, with anchors before, between and after them, then confirms the leaders of each
/// size. `failed` is called when an error ends a run that the same command can go on with.
///
/// # Errors
/// What keeps the files from being written, and what no other worker would do better.
pub fn run(
    asked: &Asked,
    command: WorkerCommand,
    worker: Worker,
    limits: RunLimits<'_>,
    enumeration: &Enumeration,
    file: &mut SweepFile,
    failed: &dyn Fn(&SweepFile),
) -> anyhow::Result<Ran> {
    let mut ceilings = Ceilings { left: file.sizes_without_ceiling(enumeration), ..Ceilings::default() };
    let device = worker.profile.clone();
    let mut worker = Some(worker);
    // A run that has to stop before the next worker is there ends as one that stops in its midst: rows are there.
    let mut next_worker = || {
        let started = worker.take().map_or_else(|| command.start(&limits), Ok);
        started.map(Ok).or_else(|error| match error.downcast_ref() {
            Some(SessionError::Stopped(end)) => Ok(Err(Supervised::stopped(*end))),
            _ => Err(error),
        })
    };
    let mut supervised: Option<Supervised> = None;
    let is_going_on =
        |before: &Option<Supervised>| before.as_ref().is_none_or(|before| before.end == End::Complete);
    let mut measured = false;
    let mut progress: Option<Progress> = None;
    for step in asked.steps(enumeration) {
        let mut left = file.points_to_do(enumeration);
        let ran = match step {
            SweepStep::Points(points) => {
                let all = left.clone();
                left.retain(|point| points.contains(point));
                if left.is_empty() && (ceilings.left.is_empty() || points.is_empty()) {
                    continue;
                }
                let timeout = if asked.prove { asked.timeout * PROOF_TIMEOUTS } else { asked.timeout };
                let supervision = Supervision { command: command.clone(), timeout, limits };
                measured |= !left.is_empty();
                // Of both halves, where anchors stand between them.
                match &mut progress {
                    Some(progress) => progress.go_on(),
                    None => progress = Some(Progress::new(&all)),
                }
                let progress = progress.as_mut().expect("it was set above");
                let part = SweepPart { points: &left, ceilings: &mut ceilings, progress };
                match next_worker()? {
                    Ok(worker) => asked.measure(&supervision, worker, part, file, failed)?,
                    Err(stopped) => stopped,
                }
            }
            SweepStep::Anchors(stage) => {
                let sizes =
                    sizes_due(&asked.anchors, stage, !left.is_empty(), measured, &file.anchors, &device);
                if sizes.is_empty() {
                    continue;
                }
                let supervision = Supervision { command: command.clone(), timeout: asked.timeout, limits };
                match next_worker()? {
                    Ok(worker) => asked.measure_anchors(&supervision, worker, stage, &sizes, file, failed)?,
                    Err(stopped) => stopped,
                }
            }
        };
        supervised = Some(match supervised {
            Some(before) => before.then(ran),
            None => ran,
        });
        if !is_going_on(&supervised) {
            break;
        }
    }
    if supervised.is_none() {
        file.settle(true)?;
    }
    let complete = file.points_to_do(enumeration).is_empty() && ceilings.left.is_empty();
    let mut leaders = asked.leaders(&file.records, complete, 0)?;
    let mut pass = 0;
    while !leaders.is_empty() {
        let supervision = Supervision { command: command.clone(), timeout: asked.timeout, limits };
        let confirmed = match next_worker()? {
            Ok(worker) => asked.confirm(&supervision, worker, leaders, file, failed)?,
            Err(stopped) => stopped,
        };
        // A leader that failed is none any more, and the next one takes its place.
        let again = confirmed.end == End::Complete;
        pass += 1;
        leaders = asked.leaders(&file.records, again, pass)?;
        supervised = Some(match supervised {
            Some(before) => before.then(confirmed),
            None => confirmed,
        });
    }
    let unconfirmed = !asked.leaders(&file.records, true, pass)?.is_empty()
        || !sizes_due(&asked.anchors, Selection::AnchorEnd, false, false, &file.anchors, &device).is_empty();
    Ok(Ran { supervised, unconfirmed, ceilings })
}

impl Asked {
    /// Who is to be confirmed, if it is their turn: the leaders, and before the last pass what the answers name.
    fn leaders(
        &self,
        records: &[Record],
        turn: bool,
        pass: usize,
    ) -> anyhow::Result<Vec<(u64, Vec<Selected>)>> {
        let count = self.confirm.filter(|_| turn);
        count.map_or(Ok(Vec::new()), |count| unconfirmed(records, count as usize, pass < PASSES))
    }

    /// Measures the points, and writes down how the run began and ended.
    fn measure(
        &self,
        supervision: &Supervision<'_>,
        worker: Worker,
        part: SweepPart<'_>,
        file: &mut SweepFile,
        failed: &dyn Fn(&SweepFile),
    ) -> anyhow::Result<Supervised> {
        let settings = Settings {
            computation: Computation {
                problem: file.metadata.problem,
                real: self.real,
                largest_n: file.metadata.space.sizes.largest(),
                seed: self.seed,
            },
            seed: self.seed,
            protocol: self.protocol,
            in_turns: self.first.is_some(),
            origin: origin(&file.metadata.kernel_hash, self.shared_device),
        };
        file.begin_run(&settings.origin.run_id, self.seed, serde_json::to_value(settings.protocol)?)?;
        let mut task = SweepTask::new(file, part, settings);
        let result = supervision.run(worker, &mut task);
        task.end();
        end_run(result, file, failed)
    }

    /// Measures the leaders of each size against each other, and writes down how that began and ended.
    fn confirm(
        &self,
        supervision: &Supervision<'_>,
        worker: Worker,
        leaders: Vec<(u64, Vec<Selected>)>,
        file: &mut SweepFile,
        failed: &dyn Fn(&SweepFile),
    ) -> anyhow::Result<Supervised> {
        note(&format!("confirming the leaders of {}", plural(leaders.len(), "size")));
        let job = self.job(leaders, self.rounds, "confirm", file, &worker.profile);
        let told =
            serde_json::json!({ "confirm": self.confirm, "rounds": self.rounds, "protocol": job.protocol });
        file.begin_run(&job.origin.run_id, self.seed, told)?;
        let result = confirm(supervision, worker, self.work(job), file);
        end_run(result, file, failed)
    }

    /// Measures the anchors of these sizes, and writes down how that began and ended.
    fn measure_anchors(
        &self,
        supervision: &Supervision<'_>,
        worker: Worker,
        stage: Selection,
        sizes: &BTreeSet<u64>,
        file: &mut SweepFile,
        failed: &dyn Fn(&SweepFile),
    ) -> anyhow::Result<Supervised> {
        note(&format!("measuring the anchors of {} ({})", plural(sizes.len(), "size"), stage.word()));
        let subjects = subjects(&self.anchors, sizes, stage, &file.metadata.problem, &worker.profile);
        let job = self.job(subjects, anchors::ROUNDS, stage.word(), file, &worker.profile);
        let told = serde_json::json!({ "anchors": stage, "rounds": job.rounds, "protocol": job.protocol });
        file.begin_run(&job.origin.run_id, self.seed, told)?;
        let result = anchors::measure(supervision, worker, self.work(job), file);
        end_run(result, file, failed)
    }

    /// A benchmark of these subjects, as part of a sweep that calls it `what`.
    fn job(
        &self,
        sizes: Vec<(u64, Vec<Selected>)>,
        rounds: u32,
        what: &str,
        file: &SweepFile,
        device: &DeviceProfile,
    ) -> BenchJob {
        let (computation, input) =
            computation_of(&sizes, file.metadata.problem, self.real, self.seed, device);
        let origin = origin(&file.metadata.kernel_hash, self.shared_device);
        BenchJob {
            computation,
            input,
            sizes,
            caches: CACHES.to_vec(),
            rounds,
            protocol: self.protocol,
            empty_calls: false,
            renews_pipelines: false,
            one_by_one: false,
            origin: Origin { run_id: format!("{}-{what}", origin.run_id), ..origin },
        }
    }

    fn work(&self, job: BenchJob) -> BenchWork {
        let (baselines, baseline_subjects) = (Vec::new(), Vec::new());
        BenchWork { job, baselines, baseline_subjects, pack: None, timeout: self.timeout }
    }
}

/// Writes down how a run ended.
fn end_run(
    result: anyhow::Result<Supervised>,
    file: &mut SweepFile,
    failed: &dyn Fn(&SweepFile),
) -> anyhow::Result<Supervised> {
    let empty = BTreeMap::new();
    let (complete, seconds) = match &result {
        Ok(supervised) => (supervised.end == End::Complete, &supervised.seconds),
        Err(_) => (false, &empty),
    };
    // What ended the run matters more than that the last line about it could not be written.
    let written = file.end_run(complete, seconds);
    let supervised = result.and_then(|supervised| written.map(|()| supervised));
    // What is wrong with an operator does not go away.
    if supervised.as_ref().is_err_and(|error| Cause::of(error) != Cause::Operator) {
        failed(file);
    }
    supervised
}

/// Gets a row for every point.
pub struct SweepTask<'a> {
    file: &'a mut SweepFile,
    progress: &'a mut Progress,
    left: BTreeMap<RowKey, Point>,
    ceilings: &'a mut Ceilings,
    rows: u64,
    settings: Settings,
}

/// What is the same for all rows of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is computed, and on which elements.
    pub computation: Computation,
    /// Seed of the order.
    pub seed: u64,
    /// How times are taken.
    pub protocol: Protocol,
    /// Whether sizes are measured in turns.
    pub in_turns: bool,
    /// What rows say about their origin.
    pub origin: Origin,
}

impl<'a> SweepTask<'a> {
    /// The task of getting rows for these points, and the ceilings that are left, into the file.
    pub fn new(file: &'a mut SweepFile, part: SweepPart<'a>, settings: Settings) -> Self {
        let SweepPart { points, ceilings, progress } = part;
        let left = points.iter().map(|point| (point_key(point), *point)).collect();
        Self { file, progress, left, ceilings, rows: 0, settings }
    }

    /// Takes the progress away.
    pub fn end(&self) {
        self.progress.end();
    }

    fn append(&mut self, record: Record) -> anyhow::Result<()> {
        let is_new = self.left.remove(&row_key(&record)).is_some();
        self.rows += 1;
        self.progress.finished(&record, is_new);
        self.file.append(record)
    }

    /// What hangs on this device by its waiting: what is left of it gets its row without being tried.
    fn end_kinds(&mut self, device: &DeviceProfile) -> anyhow::Result<()> {
        for hanging in hanging(&self.file.records, self.left.values(), device) {
            let ended = self.left.values().filter(|point| hanging.ends(point, device));
            let keys: Vec<RowKey> = ended.map(point_key).collect();
            if keys.is_empty() {
                continue;
            }
            let reason = hanging.why_ended();
            self.progress.remark(&format!("{}: {reason}", plural(keys.len(), "config")));
            for key in keys {
                self.append_for(&key, device, Status::Unsupported, reason.clone())?;
            }
        }
        Ok(())
    }

    /// The row of a config that could not give one itself.
    fn append_for(
        &mut self,
        key: &RowKey,
        device: &DeviceProfile,
        status: Status,
        reason: String,
    ) -> anyhow::Result<()> {
        let settings = &self.settings;
        let Some(point) = self.left.get(key) else { return Ok(()) };
        let input = settings.computation.input(&point.config, device);
        let mut record = blank_record(point, &settings.computation, &input, device, &settings.origin);
        record.status = status;
        record.reason = reason;
        record.order_index = self.rows;
        record.timestamp_utc = now_utc();
        self.append(record)
    }
}

/// The key of a row, of what a worker says about its config.
fn key_of(key: &protocol::SubjectKey) -> RowKey {
    (key.subject.label(), key.n)
}

impl Task for SweepTask<'_> {
    fn work(&self, one_by_one: bool) -> Work {
        let is_to_prove = |(key, _): &(&RowKey, &Point)| self.file.is_to_be_proved(key);
        Work::Sweep(SweepJob {
            points: self.left.values().copied().collect(),
            prove: self.left.iter().filter(is_to_prove).map(|(_, point)| *point).collect(),
            computation: self.settings.computation,
            ceiling_sizes: self.ceilings.left.clone(),
            seed: self.settings.seed,
            protocol: self.settings.protocol,
            order_start: self.rows,
            one_by_one,
            in_turns: self.settings.in_turns,
            origin: self.settings.origin.clone(),
        })
    }

    fn is_complete(&self) -> bool {
        self.left.is_empty() && self.ceilings.left.is_empty()
    }

    /// Configs that have ended too many workers, in this run or before, get their row without being tried.
    fn begin(&mut self, device: &DeviceProfile) -> anyhow::Result<()> {
        let keys: Vec<RowKey> = self.left.keys().cloned().collect();
        for key in keys {
            let ended = self.file.workers_ended(&key);
            if ended >= WORKERS_PER_CONFIG {
                let reason = format!("{ended} workers ended while they ran it; the journal says how");
                self.append_for(&key, device, Status::Quarantined, reason)?;
            }
        }
        self.end_kinds(device)
    }

    fn phase(&mut self, what: &str) {
        self.progress.phase(what);
    }

    fn remark(&mut self, text: &str) {
        self.progress.remark(text);
    }

    fn broke(&mut self, how: &str) -> anyhow::Result<()> {
        self.file.broke(how)
    }

    fn ceiling(&mut self, n: u64, gbps: f64) {
        self.progress.ceiling(n, gbps);
        self.ceilings.left.remove(&n);
        self.file.set_ceiling(n, Some((gbps * 10.0).round() / 10.0));
    }

    fn no_ceiling(&mut self, n: u64, wrong: bool) {
        self.ceilings.left.remove(&n);
        self.file.set_ceiling(n, None);
        if wrong {
            self.ceilings.wrong.insert(n);
        }
    }

    fn intend(&mut self, key: &protocol::SubjectKey) -> anyhow::Result<()> {
        self.file.intend(&key_of(key))
    }

    /// While the device works the disk costs the sweep nothing.
    fn meanwhile(&mut self) -> anyhow::Result<()> {
        self.file.write_ceilings()?;
        self.file.sync_when_due()
    }

    fn finish(&mut self, product: ConfigResult) -> anyhow::Result<()> {
        match product {
            ConfigResult::Row(row) => self.append(csv_file::read_row(&row)?),
            ConfigResult::Verdict(_) => Ok(()),
        }
    }

    fn worker_ended(&mut self, death: &Death, device: &DeviceProfile) -> anyhow::Result<()> {
        let key = key_of(&death.key);
        self.file.worker_ended(&key, &death.how)?;
        match &death.outcome {
            Some((status, reason)) => self.append_for(&key, device, *status, reason.clone()),
            None => Ok(()),
        }
    }

    fn dropped(&mut self, key: &protocol::SubjectKey) -> anyhow::Result<()> {
        self.file.dropped(&key_of(key))
    }
}
