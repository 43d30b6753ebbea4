//! The supervisor: one worker process per device, and whatever happens to it, the work goes on.
//!
//! A worker that hangs is killed, one that dies is replaced, and the config that it died of gets its outcome. Certain
//! culprits get it at once: `timeout`, `device_lost`, and `runtime_error` for a process that its own code or driver
//! ended. A worker that was killed from outside says nothing about its config, so that is tried once more;
//! a config that ended two workers is `quarantined`. What the workers do, and where outcomes go, is a [`Task`].

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;
use scanbox_runner::baseline::Greeting;
use scanbox_runner::cases::Circumstance;
use scanbox_runner::sweep::End;

use crate::commands::{WorkerFailed, complain};
use crate::process::{SETUP_LIMIT, Silence, Worker, WorkerCommand, describe, ended_from_outside};
use crate::worker::{Key, Order, Product, Report, Work};

/// Workers that a config may end before it is not tried any more.
pub const WORKERS_PER_CONFIG: u32 = 2;
/// How long a config in flight may take to finish when somebody wants to stop; then it is dropped.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// What supervised workers do: a sweep or a verification. It knows what is left, and takes the outcomes.
pub trait Task {
    /// What is left to do. A worker that died while it made all pipelines is followed by one that makes them
    /// `one_by_one`.
    fn work(&self, one_by_one: bool) -> Work;

    /// Whether nothing is left.
    fn is_complete(&self) -> bool;

    /// Whether what happened so far is reason enough to stop.
    fn has_enough(&self) -> bool {
        false
    }

    /// A worker is about to begin.
    fn begin(&mut self, device: &DeviceProfile) -> anyhow::Result<()>;

    /// Something other than a config takes time.
    fn phase(&mut self, what: &str);

    /// The copy of a size was measured, in GB/s.
    fn ceiling(&mut self, _n: u64, _gbps: f64) {}

    /// A baseline has started.
    fn greeted(&mut self, _greeting: Greeting) {}

    /// All rows of a size are there.
    fn size_finished(&mut self, _n: u64) -> anyhow::Result<()> {
        Ok(())
    }

    /// A config is about to run. Whatever comes of it, this is written down.
    fn intend(&mut self, key: &Key) -> anyhow::Result<()>;

    /// A config has just begun to run: what takes time now costs nothing.
    fn meanwhile(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// A config has come to its end.
    fn finish(&mut self, product: Product) -> anyhow::Result<()>;

    /// A worker ended on a config.
    fn worker_ended(&mut self, death: &Death, device: &DeviceProfile) -> anyhow::Result<()>;

    /// A config was stopped on request.
    fn dropped(&mut self, key: &Key) -> anyhow::Result<()>;
}

/// What ran when a worker ended, and how it ended.
pub struct Death {
    /// Which config.
    pub key: Key,
    /// The call of it, if it makes several.
    pub call: Option<(u64, Circumstance)>,
    /// How the worker ended, in a few words.
    pub how: String,
    /// The outcome of the config; none where something else may have ended the worker.
    pub outcome: Option<(Status, String)>,
}

/// How workers are supervised.
pub struct Supervision<'a> {
    /// How to replace a worker.
    pub command: WorkerCommand,
    /// A config that takes longer, or a call of it where it says when it begins one, is given up with its worker.
    pub timeout: Duration,
    /// When the run stops.
    pub deadline: Option<Instant>,
    /// Somebody wants the run to stop.
    pub stop: &'a AtomicBool,
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

impl Supervised {
    /// This run and the one after it.
    pub fn then(mut self, next: Self) -> Self {
        for (phase, time) in next.seconds {
            *self.seconds.entry(phase).or_default() += time;
        }
        Self { end: next.end, replaced: self.replaced + next.replaced, ..self }
    }
}

/// How one worker ended.
enum Left {
    /// It did all it was asked for, or was asked to stop.
    Done(End),
    /// Another worker has to go on.
    Replace,
}

impl Supervision<'_> {
    /// Gets a task done, whatever it takes.
    pub fn run(&self, mut worker: Worker, task: &mut dyn Task) -> anyhow::Result<Supervised> {
        let started = Instant::now();
        let mut shift = Shift { supervision: self, task, seconds: BTreeMap::new(), setup_deaths: 0 };
        let mut replaced = 0;
        let end = loop {
            shift.task.begin(&worker.profile)?;
            match shift.run(&mut worker)? {
                Left::Done(end) => break end,
                Left::Replace if shift.task.is_complete() => break End::Complete,
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
    task: &'a mut dyn Task,
    seconds: BTreeMap<String, f64>,
    /// Workers that died before their first config.
    setup_deaths: u32,
}

/// What a worker is at.
struct InFlight {
    key: Key,
    call: Option<(u64, Circumstance)>,
}

impl Shift<'_> {
    /// Lets one worker work until it has nothing left or has to be replaced.
    fn run(&mut self, worker: &mut Worker) -> anyhow::Result<Left> {
        let profile = worker.profile.clone();
        let process = &mut worker.process;
        process.order(&Order::Work {
            work: Box::new(self.task.work(self.setup_deaths > 0)),
            operator: self.supervision.command.operator.clone(),
        });
        let mut in_flight: Option<InFlight> = None;
        let mut deadline = Instant::now() + SETUP_LIMIT;
        let mut stop_deadline = None;
        loop {
            match process.next() {
                Ok(Report::Compiling { shaders }) => self.task.phase(&format!("compiling {shaders} shaders")),
                Ok(Report::Loading { n }) => self.task.phase(&format!("loading {n} elements")),
                Ok(Report::Ceiling { n, gbps }) => self.task.ceiling(n, gbps),
                Ok(Report::Started { key }) => {
                    if self.stop_reason().is_some() {
                        process.order(&Order::Stop);
                        continue;
                    }
                    self.task.intend(&key)?;
                    // The worker itself gives up on a baseline, which may take several answers for one block.
                    let patience = if key.external { SETUP_LIMIT } else { Duration::ZERO };
                    in_flight = Some(InFlight { key, call: None });
                    deadline = Instant::now() + self.supervision.timeout + patience;
                    process.order(&Order::Go);
                    self.task.meanwhile()?;
                }
                Ok(Report::Calling { n, circumstance }) => {
                    if let Some(in_flight) = &mut in_flight {
                        in_flight.call = Some((n, circumstance));
                        deadline = Instant::now() + self.supervision.timeout;
                    }
                }
                Ok(Report::Finished(product)) => {
                    in_flight = None;
                    deadline = Instant::now() + SETUP_LIMIT;
                    self.setup_deaths = 0;
                    self.task.finish(product)?;
                }
                Ok(Report::Greeted(greeting)) => self.task.greeted(greeting),
                Ok(Report::SizeFinished { n }) => self.task.size_finished(n)?,
                Ok(Report::Ended { end, seconds }) => {
                    for (phase, time) in seconds {
                        *self.seconds.entry(phase).or_default() += time;
                    }
                    return Ok(match end {
                        End::Complete => Left::Done(End::Complete),
                        // The worker knows of no budget: only its supervisor stops it.
                        End::Interrupted | End::Budget => {
                            Left::Done(self.stop_reason().unwrap_or(End::Interrupted))
                        }
                        // The config that lost the device has its outcome already.
                        End::DeviceUnusable => Left::Replace,
                    });
                }
                Ok(Report::Failed { reason, exit }) => return Err(WorkerFailed { reason, exit }.into()),
                Ok(Report::Ready { .. }) => {}
                Err(Silence::Dead(status)) => return self.worker_died(status, in_flight, &profile),
                Err(Silence::Waiting) => {}
            }
            if Instant::now() > deadline {
                // The row does not wait for the driver, which may need seconds to take the process down; the next
                // worker does.
                process.condemn();
                return self.worker_hangs(in_flight, &profile);
            }
            if let Some(end) = self.stop_reason() {
                let stop_deadline = *stop_deadline.get_or_insert_with(|| Instant::now() + STOP_GRACE);
                if Instant::now() > stop_deadline {
                    process.kill();
                    if let Some(in_flight) = in_flight {
                        self.task.dropped(&in_flight.key)?;
                    }
                    return Ok(Left::Done(end));
                }
            }
        }
    }

    fn stop_reason(&self) -> Option<End> {
        if self.supervision.stop.load(Ordering::Relaxed) || self.task.has_enough() {
            return Some(End::Interrupted);
        }
        self.supervision.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(End::Budget)
    }

    fn worker_hangs(&mut self, in_flight: Option<InFlight>, device: &DeviceProfile) -> anyhow::Result<Left> {
        let Some(InFlight { key, call }) = in_flight else {
            return self.died_in_setup(&format!("took more than {} s", SETUP_LIMIT.as_secs()));
        };
        let limit = self.supervision.timeout.as_secs_f64();
        let reason =
            format!("did not finish within {limit} s (--timeout sets the limit); its worker was killed");
        let death = Death { key, call, how: "timeout".to_owned(), outcome: Some((Status::Timeout, reason)) };
        self.task.worker_ended(&death, device)?;
        Ok(Left::Replace)
    }

    fn worker_died(
        &mut self,
        status: ExitStatus,
        in_flight: Option<InFlight>,
        device: &DeviceProfile,
    ) -> anyhow::Result<Left> {
        let how = describe(status);
        let Some(InFlight { key, call }) = in_flight else {
            return self.died_in_setup(&format!("ended: {how}"));
        };
        let outcome = (!ended_from_outside(status))
            .then(|| (Status::RuntimeError, format!("its worker process ended: {how}")));
        self.task.worker_ended(&Death { key, call, how, outcome }, device)?;
        Ok(Left::Replace)
    }

    /// A worker that dies while it makes all pipelines names no culprit: the next one makes them one by one.
    fn died_in_setup(&mut self, how: &str) -> anyhow::Result<Left> {
        self.setup_deaths += 1;
        if self.setup_deaths > WORKERS_PER_CONFIG {
            bail!(
                "{} workers in a row ended before their first config; the last one {how}",
                self.setup_deaths
            );
        }
        complain(&format!(
            "the worker {how} while it made pipelines and input; another one makes them one by one"
        ));
        Ok(Left::Replace)
    }
}
