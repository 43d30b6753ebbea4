//! The supervisor: one worker process per device, and whatever happens to it, the sweep goes on.
//!
//! A worker that hangs is killed, one that dies is replaced, and the config that it died of gets its row. Certain
//! culprits get it at once: `timeout`, `device_lost`, and `runtime_error` for a process that its own code or driver
//! ended. A worker that was killed from outside says nothing about its config, so that is tried once more;
//! a config that ended two workers is `quarantined`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, Status};
use scanbox_model::space::Point;
use scanbox_runner::measure::Protocol;
use scanbox_runner::sweep::{End, Origin, blank_record, input_of, now_utc};

use crate::commands::progress::Progress;
use crate::commands::sweep_file::{Key, SweepFile, point_key, row_key};
use crate::commands::{WorkerFailed, complain};
use crate::worker::{MARK, Order, Report, Work};

/// Workers that a config may end before it is not tried any more.
const WORKERS_PER_CONFIG: u32 = 2;
/// How often the supervisor looks whether somebody wants it to stop.
const TICK: Duration = Duration::from_millis(50);
/// How long a row in flight may take to finish when somebody wants to stop; then it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// Opening a device, compiling all shaders, uploading the input: what may take long without any config running.
const SETUP_LIMIT: Duration = Duration::from_secs(600);

/// How to start a worker.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// Selector of the device.
    pub device: String,
    /// See [`crate::cli::Cli::kernels`].
    pub kernels: Option<PathBuf>,
    /// See [`crate::cli::Cli::cache`].
    pub cache: Option<PathBuf>,
}

/// A worker whose device is open.
pub struct Worker {
    process: Process,
    /// The device that it drives.
    pub profile: DeviceProfile,
    /// How many devices of the same name come before it.
    pub unit: usize,
}

/// A worker process. It ends when this is dropped.
struct Process {
    child: Child,
    orders: ChildStdin,
    reports: Receiver<Report>,
}

/// What came instead of a report.
enum Silence {
    /// Nothing yet.
    Waiting,
    /// The process is gone.
    Dead(ExitStatus),
}

impl WorkerCommand {
    /// Starts a worker and waits until its device is open.
    pub fn start(&self) -> anyhow::Result<Worker> {
        let mut process = self.spawn()?;
        let deadline = Instant::now() + SETUP_LIMIT;
        loop {
            match process.next() {
                Ok(Report::Ready { profile, unit }) => return Ok(Worker { process, profile: *profile, unit }),
                Ok(Report::Failed { reason, exit }) => return Err(WorkerFailed { reason, exit }.into()),
                Ok(report) => bail!("the worker for device {} began with {report:?}", self.device),
                Err(Silence::Waiting) if Instant::now() < deadline => {}
                Err(Silence::Waiting) => {
                    bail!("device {} did not open within {} s", self.device, SETUP_LIMIT.as_secs())
                }
                Err(Silence::Dead(status)) => {
                    bail!("the worker for device {} ended while it opened it: {}", self.device, describe(status))
                }
            }
        }
    }

    fn spawn(&self) -> anyhow::Result<Process> {
        let program = std::env::current_exe().context("the path of this program")?;
        let mut command = Command::new(program);
        for (flag, folder) in [("--kernels", &self.kernels), ("--cache", &self.cache)] {
            if let Some(folder) = folder {
                command.arg(flag).arg(folder);
            }
        }
        command.arg("worker").arg("--device").arg(&self.device).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A Ctrl-C in the terminal is for the supervisor; the worker finishes its row.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().context("the worker process cannot be started")?;
        let orders = child.stdin.take().expect("stdin is piped");
        let output = child.stdout.take().expect("stdout is piped");
        let (sender, reports) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match line.strip_prefix(MARK).map(serde_json::from_str) {
                    Some(Ok(report)) => {
                        if sender.send(report).is_err() {
                            return;
                        }
                    }
                    // A message that was cut off by the end of the process.
                    Some(Err(_)) => {}
                    // A driver or a layer that prints.
                    None => complain(&line),
                }
            }
        });
        Ok(Process { child, orders, reports })
    }
}

impl Process {
    /// The next report, or nothing after [`TICK`].
    fn next(&mut self) -> Result<Report, Silence> {
        self.reports.recv_timeout(TICK).map_err(|error| match error {
            RecvTimeoutError::Timeout => Silence::Waiting,
            // Its output is closed: it has ended or is about to.
            RecvTimeoutError::Disconnected => Silence::Dead(self.end()),
        })
    }

    /// Gives an order. A worker that is gone shows in the next report.
    fn order(&mut self, order: &Order) {
        if let Ok(line) = serde_json::to_string(order) {
            let _ = writeln!(self.orders, "{line}").and_then(|()| self.orders.flush());
        }
    }

    /// Ends the process, if it has not ended, and says how it ended.
    fn end(&mut self) -> ExitStatus {
        // A process that closes its output on its own is given the time to say how it ends.
        let deadline = Instant::now() + Duration::from_millis(500);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status,
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                _ => return self.kill(),
            }
        }
    }

    fn kill(&mut self) -> ExitStatus {
        let _ = self.child.kill();
        self.child.wait().unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a process ended, in words.
fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "no exit code".to_owned(),
    }
}

/// Whether something outside ended the process: the user, the system, a lack of memory. Then the config that ran is
/// not necessarily to blame.
fn ended_from_outside(status: ExitStatus) -> bool {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
        return [SIGHUP, SIGINT, SIGKILL, SIGTERM].contains(&signal);
    }
    false
}

/// What one run has to do, and how.
pub struct Supervision<'a> {
    /// How to replace a worker.
    pub command: WorkerCommand,
    /// A config that takes longer is given up, with its worker.
    pub timeout: Duration,
    /// When the run stops.
    pub deadline: Option<Instant>,
    /// Somebody wants the run to stop.
    pub stop: &'a AtomicBool,
    /// The largest size of the sweep.
    pub largest_n: u64,
    /// Seed of order and input.
    pub seed: u64,
    /// How times are taken.
    pub protocol: Protocol,
    /// What rows say about their origin.
    pub origin: Origin,
}

/// How a run went.
pub struct Supervised {
    /// How it ended.
    pub end: End,
    /// Where the time of the workers went, by phase, in seconds.
    pub seconds: BTreeMap<String, f64>,
    /// Workers that had to be replaced.
    pub replaced: u32,
}

/// How one worker ended.
enum Left {
    /// It did all it was asked for, or was asked to stop.
    Done(End),
    /// Another worker has to go on.
    Replace,
}

impl Supervision<'_> {
    /// Gets a row for every point, whatever it takes.
    pub fn run(
        &self,
        mut worker: Worker,
        points: Vec<Point>,
        file: &mut SweepFile,
        progress: &mut Progress,
    ) -> anyhow::Result<Supervised> {
        let started = Instant::now();
        let mut shift =
            Shift { supervision: self, file, progress, left: points, seconds: BTreeMap::new(), rows: 0, setup_deaths: 0 };
        let mut replaced = 0;
        let end = loop {
            shift.quarantine(&worker.profile)?;
            match shift.run(&mut worker)? {
                Left::Done(end) => break end,
                Left::Replace if shift.left.is_empty() => break End::Complete,
                Left::Replace => {
                    drop(worker);
                    replaced += 1;
                    worker = self.command.start().context("the device cannot be opened again")?;
                }
            }
        };
        let mut seconds = shift.seconds;
        seconds.insert("total".to_owned(), started.elapsed().as_secs_f64());
        Ok(Supervised { end, seconds, replaced })
    }
}

/// The state of a run from worker to worker.
struct Shift<'a> {
    supervision: &'a Supervision<'a>,
    file: &'a mut SweepFile,
    progress: &'a mut Progress,
    left: Vec<Point>,
    seconds: BTreeMap<String, f64>,
    rows: u64,
    /// Workers that died before their first config.
    setup_deaths: u32,
}

impl Shift<'_> {
    /// Lets one worker work until it has nothing left or has to be replaced.
    fn run(&mut self, worker: &mut Worker) -> anyhow::Result<Left> {
        let profile = worker.profile.clone();
        let process = &mut worker.process;
        process.order(&Order::Work(Box::new(self.work())));
        let mut in_flight: Option<Key> = None;
        let mut deadline = Instant::now() + SETUP_LIMIT;
        let mut stop_deadline = None;
        loop {
            match process.next() {
                Ok(Report::Compiling { shaders }) => self.progress.phase(&format!("compiling {shaders} shaders")),
                Ok(Report::Loading { n }) => self.progress.phase(&format!("loading {n} elements")),
                Ok(Report::Copied { n, gbps }) => {
                    self.progress.copied(n, gbps);
                    self.file.metadata.copy_gbps.insert(n, (gbps * 10.0).round() / 10.0);
                }
                Ok(Report::Started { config, n }) => {
                    if self.stop_reason().is_some() {
                        process.order(&Order::Stop);
                        continue;
                    }
                    let key = (config, n);
                    self.file.intend(&key)?;
                    in_flight = Some(key);
                    deadline = Instant::now() + self.supervision.timeout;
                    process.order(&Order::Go);
                }
                Ok(Report::Finished { row }) => {
                    in_flight = None;
                    deadline = Instant::now() + SETUP_LIMIT;
                    self.finish(csv_file::read_row(&row)?)?;
                }
                Ok(Report::Ended { end, seconds }) => {
                    for (phase, time) in seconds {
                        *self.seconds.entry(phase).or_default() += time;
                    }
                    return Ok(match end {
                        End::Complete => Left::Done(End::Complete),
                        // The worker knows of no budget: only its supervisor stops it.
                        End::Interrupted | End::Budget => Left::Done(self.stop_reason().unwrap_or(End::Interrupted)),
                        // The config that lost the device has its row already.
                        End::DeviceUnusable => Left::Replace,
                    });
                }
                Ok(Report::Failed { reason, exit }) => return Err(WorkerFailed { reason, exit }.into()),
                Ok(Report::Ready { .. }) => {}
                Err(Silence::Dead(status)) => return self.worker_died(status, in_flight, &profile),
                Err(Silence::Waiting) => {}
            }
            if Instant::now() > deadline {
                process.kill();
                return self.worker_hangs(in_flight, &profile);
            }
            if let Some(end) = self.stop_reason() {
                let stop_deadline = *stop_deadline.get_or_insert_with(|| Instant::now() + STOP_GRACE);
                if Instant::now() > stop_deadline {
                    process.kill();
                    if let Some(key) = in_flight {
                        self.file.dropped(&key)?;
                    }
                    return Ok(Left::Done(end));
                }
            }
        }
    }

    fn work(&self) -> Work {
        Work {
            points: self.left.iter().map(point_key).collect(),
            largest_n: self.supervision.largest_n,
            copy_sizes: self.file.sizes_without_copy(&self.left),
            seed: self.supervision.seed,
            protocol: self.supervision.protocol,
            order_start: self.rows,
            one_by_one: self.setup_deaths > 0,
            origin: self.supervision.origin.clone(),
        }
    }

    fn stop_reason(&self) -> Option<End> {
        if self.supervision.stop.load(Ordering::Relaxed) {
            return Some(End::Interrupted);
        }
        self.supervision.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(End::Budget)
    }

    fn finish(&mut self, record: Record) -> anyhow::Result<()> {
        let key = row_key(&record);
        self.left.retain(|point| point_key(point) != key);
        self.rows += 1;
        self.setup_deaths = 0;
        self.progress.finished(&record);
        self.file.append(record)
    }

    /// The row of a config that could not give one itself.
    fn finish_for(&mut self, key: &Key, device: &DeviceProfile, status: Status, reason: String) -> anyhow::Result<()> {
        let supervision = self.supervision;
        let Some(point) = self.left.iter().find(|point| point_key(point) == *key) else { return Ok(()) };
        let input = input_of(point, device, supervision.largest_n, supervision.seed);
        let mut record = blank_record(point, &input, device, &supervision.origin);
        record.status = status;
        record.reason = reason;
        record.order_index = self.rows;
        record.timestamp_utc = now_utc();
        self.finish(record)
    }

    fn worker_hangs(&mut self, in_flight: Option<Key>, device: &DeviceProfile) -> anyhow::Result<Left> {
        let Some(key) = in_flight else {
            return self.died_in_setup(&format!("took more than {} s", SETUP_LIMIT.as_secs()));
        };
        let limit = self.supervision.timeout.as_secs_f64();
        let reason = format!("did not finish within {limit} s (--timeout sets the limit); its worker was killed");
        self.file.worker_ended(&key, "timeout")?;
        self.finish_for(&key, device, Status::Timeout, reason)?;
        Ok(Left::Replace)
    }

    fn worker_died(
        &mut self,
        status: ExitStatus,
        in_flight: Option<Key>,
        device: &DeviceProfile,
    ) -> anyhow::Result<Left> {
        let how = describe(status);
        let Some(key) = in_flight else { return self.died_in_setup(&format!("ended: {how}")) };
        self.file.worker_ended(&key, &how)?;
        if !ended_from_outside(status) {
            self.finish_for(&key, device, Status::RuntimeError, format!("its worker process ended: {how}"))?;
        }
        Ok(Left::Replace)
    }

    /// A worker that dies while it makes all pipelines names no culprit: the next one makes them one by one.
    fn died_in_setup(&mut self, how: &str) -> anyhow::Result<Left> {
        self.setup_deaths += 1;
        if self.setup_deaths > WORKERS_PER_CONFIG {
            bail!("{} workers in a row ended before their first config; the last one {how}", self.setup_deaths);
        }
        complain(&format!("the worker {how} while it made pipelines and input; another one makes them one by one"));
        Ok(Left::Replace)
    }

    /// Configs that have ended too many workers, in this run or before, get their row without being tried.
    fn quarantine(&mut self, device: &DeviceProfile) -> anyhow::Result<()> {
        let keys: Vec<Key> = self.left.iter().map(point_key).collect();
        for key in keys {
            let ended = self.file.workers_ended(&key);
            if ended >= WORKERS_PER_CONFIG {
                let reason = format!("{ended} workers ended while they ran it; the journal says how");
                self.finish_for(&key, device, Status::Quarantined, reason)?;
            }
        }
        Ok(())
    }
}
