//! The supervisor: one worker process per device, and whatever happens to it, the work goes on.
//!
//! A worker that hangs is killed, one that dies is replaced, and the config that it died of gets its outcome. Certain
//! culprits get it at once: `timeout`, `device_lost`, and `runtime_error` for a process that its own code or driver
//! ended. A worker that was killed (by whom, nobody knows: perhaps for a lack of memory) says little about its
//! config, so that is tried once more; a config that ended two workers is `quarantined`. What asks a run to stop is
//! held against nobody, and what fails while no config runs (a copy, the load of an input) has its own name and costs
//! no config its row. What the workers do, and where outcomes go, is a [`Task`].

mod supervised;

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use scanbox_kernels::cases::Circumstance;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;
use scanbox_runner::baseline::Greeting;
use scanbox_runner::bench::EmptyCall;
use scanbox_runner::session::{End, Setup};

use crate::failure::SessionError;
use crate::process::{RunLimits, SETUP_LIMIT, Silence, Worker, WorkerCommand, describe, signal_from_outside};
use crate::protocol::{ConfigResult, Message, Order, SubjectKey, Work};
use crate::system::SIGKILL;

pub use self::supervised::Supervised;

/// Workers that a config may end before it is not tried any more.
pub const WORKERS_PER_CONFIG: u32 = 2;
/// How long a config in flight may take to finish when somebody wants to stop; then it is dropped. Batch systems kill
/// soon.
const STOP_GRACE: Duration = Duration::from_millis(1500);
/// The same where no config is in flight.
const SETUP_GRACE: Duration = Duration::from_millis(500);
/// Whoever kills a worker may be about to kill its supervisor too, or to ask it to stop: so long nothing is made of it.
const SETTLE: Duration = Duration::from_millis(500);
/// Before another worker is started for one that ended while no config ran. Each that comes to no row takes the next
/// one.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// What the supervisor itself slept through (its machine, or all processes of its job, were stopped) is nobody's time.
const ASLEEP: Duration = Duration::from_secs(2);

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
    ///
    /// # Errors
    /// What ends the run.
    fn begin(&mut self, device: &DeviceProfile) -> anyhow::Result<()>;

    /// Something other than a config takes time.
    fn phase(&mut self, what: &str);

    /// Something that is no config went wrong: a word that stays.
    fn remark(&mut self, text: &str);

    /// A worker ended while no config ran.
    ///
    /// # Errors
    /// What ends the run.
    fn broke(&mut self, _how: &str) -> anyhow::Result<()> {
        Ok(())
    }

    /// The ceiling of a size was measured, in GB/s.
    fn ceiling(&mut self, _n: u64, _gbps: f64) {}

    /// The ceiling of a size could not be measured, perhaps because a copy gave a wrong result.
    fn no_ceiling(&mut self, _n: u64, _wrong: bool) {}

    /// A baseline has started.
    fn greeted(&mut self, _greeting: Greeting) {}

    /// An empty call was measured, or why not.
    fn empty_call(&mut self, _call: Result<EmptyCall, String>) {}

    /// All rows of a size are there.
    ///
    /// # Errors
    /// What ends the run.
    fn size_finished(&mut self, _n: u64) -> anyhow::Result<()> {
        Ok(())
    }

    /// A config is about to run. Whatever comes of it, this is written down.
    ///
    /// # Errors
    /// What ends the run.
    fn intend(&mut self, key: &SubjectKey) -> anyhow::Result<()>;

    /// A config has just begun to run: what takes time now costs nothing.
    ///
    /// # Errors
    /// What ends the run.
    fn meanwhile(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// A config has come to its end.
    ///
    /// # Errors
    /// What ends the run.
    fn finish(&mut self, product: ConfigResult) -> anyhow::Result<()>;

    /// A worker ended on a config.
    ///
    /// # Errors
    /// What ends the run.
    fn worker_ended(&mut self, death: &Death, device: &DeviceProfile) -> anyhow::Result<()>;

    /// A config was stopped on request.
    ///
    /// # Errors
    /// What ends the run.
    fn dropped(&mut self, key: &SubjectKey) -> anyhow::Result<()>;
}

/// What ran when a worker ended, and how it ended.
pub struct Death {
    /// Which config.
    pub key: SubjectKey,
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
    pub limits: RunLimits<'a>,
}

/// How one worker ended.
enum Left {
    /// It did all it was asked for, or was asked to stop.
    Done(End),
    /// Another worker has to go on.
    Replace,
    /// No worker comes any further, and why.
    GiveUp(String),
}

impl Supervision<'_> {
    /// Gets a task done, whatever it takes.
    ///
    /// # Errors
    /// What the task returns, and what no other worker would do better.
    pub fn run(&self, worker: Worker, task: &mut dyn Task) -> anyhow::Result<Supervised> {
        let started = Instant::now();
        let mut shift = Shift {
            supervision: self,
            task,
            seconds: BTreeMap::new(),
            doing: "work was handed out".to_owned(),
            broken: 0,
            one_by_one: false,
            announced: false,
            told_laws: false,
            finished: 0,
            last: None,
            replaced: 0,
            crashed: 0,
        };
        let (end, trouble) = match shift.run_all(worker)? {
            Left::Done(end) => (end, None),
            Left::Replace => (End::Complete, None),
            Left::GiveUp(why) => (End::DeviceUnusable, Some(why)),
        };
        let Shift { mut seconds, doing, announced, finished, replaced, crashed, .. } = shift;
        seconds.insert("total".to_owned(), started.elapsed().as_secs_f64());
        let early = !announced && matches!(end, End::Budget | End::Interrupted);
        Ok(Supervised { end, seconds, replaced, crashed, finished, set_up: early.then_some(doing), trouble })
    }
}

/// The state of a run from worker to worker.
struct Shift<'a> {
    supervision: &'a Supervision<'a>,
    task: &'a mut dyn Task,
    seconds: BTreeMap<String, f64>,
    /// What a worker was at before or between configs, as a clause.
    doing: String,
    /// Workers in a row that ended while no config ran.
    broken: usize,
    /// A worker died while it made pipelines: the next ones make each with its config, so that there is a culprit.
    one_by_one: bool,
    /// Whether any config has run.
    announced: bool,
    /// Whether it was told that the laws of a user's operator hold.
    told_laws: bool,
    /// Configs that came to their end.
    finished: u64,
    /// The last one that this worker ran.
    last: Option<SubjectKey>,
    replaced: u32,
    crashed: u32,
}

/// What a worker is at.
struct InFlight {
    key: SubjectKey,
    call: Option<(u64, Circumstance)>,
}

impl Shift<'_> {
    /// Lets one worker after the other work. [`Left::Replace`]: the last one left nothing to do.
    fn run_all(&mut self, mut worker: Worker) -> anyhow::Result<Left> {
        loop {
            self.task.begin(&worker.profile)?;
            match self.run(&mut worker)? {
                Left::Replace if self.task.is_complete() => return Ok(Left::Replace),
                Left::Replace => {}
                left => return Ok(left),
            }
            if let Some(end) = self.stop_reason() {
                return Ok(Left::Done(end));
            }
            drop(worker);
            self.replaced += 1;
            tracing::info!(replaced = self.replaced, "another worker goes on");
            worker = match self.supervision.command.start_again(&self.supervision.limits) {
                Ok(worker) => worker,
                Err(error) => match error.downcast_ref() {
                    Some(SessionError::Stopped(end)) => return Ok(Left::Done(*end)),
                    _ => return Ok(Left::GiveUp(format!("the device cannot be opened again: {error:#}"))),
                },
            };
        }
    }

    /// Lets one worker work until it has nothing left or has to be replaced.
    fn run(&mut self, worker: &mut Worker) -> anyhow::Result<Left> {
        let profile = worker.profile.clone();
        let process = &mut worker.process;
        process.order(&Order::Work {
            work: Box::new(self.task.work(self.one_by_one)),
            operator: self.supervision.command.operator.clone(),
            guarantees: self.supervision.command.guarantees.clone().map(Box::new),
            device_lock: self.supervision.command.device_lock.clone(),
        });
        let mut in_flight: Option<InFlight> = None;
        self.last = None;
        let mut limit = SETUP_LIMIT;
        let mut since = Instant::now();
        let mut awake = Instant::now();
        let mut stop_deadline = None;
        loop {
            let message = process.next_message();
            let asleep = awake.elapsed();
            awake = Instant::now();
            message.iter().for_each(|message| tracing::trace!(?message, "from the worker"));
            if asleep > ASLEEP {
                since += asleep;
            }
            match message {
                Ok(Message::Setup(setup)) => {
                    (limit, since) = (SETUP_LIMIT, Instant::now());
                    self.doing = setup.amid();
                    match setup {
                        Setup::Compiled { .. } => {}
                        // Once, however often a worker begins anew.
                        Setup::LawsHold { .. } if !std::mem::replace(&mut self.told_laws, true) => {
                            self.task.remark(&setup.to_string());
                        }
                        Setup::LawsHold { .. } => {}
                        _ => self.task.phase(&setup.to_string()),
                    }
                }
                Ok(Message::Doing { what }) => {
                    (limit, since) = (self.supervision.timeout, Instant::now());
                    self.doing = what;
                }
                Ok(Message::Remark { text }) => self.task.remark(&text),
                Ok(Message::Ceiling { n, gbps }) => self.task.ceiling(n, gbps),
                Ok(Message::NoCeiling { n, wrong }) => self.task.no_ceiling(n, wrong),
                Ok(Message::Started { key }) => {
                    if self.stop_reason().is_some() {
                        process.order(&Order::Stop);
                        continue;
                    }
                    self.task.intend(&key)?;
                    self.announced = true;
                    // The worker itself gives up on a baseline, which may take several answers for one block.
                    let patience = if key.subject.is_external() { SETUP_LIMIT } else { Duration::ZERO };
                    in_flight = Some(InFlight { key, call: None });
                    (limit, since) = (self.supervision.timeout + patience, Instant::now());
                    process.order(&Order::Go);
                    self.task.meanwhile()?;
                }
                Ok(Message::Calling { n, circumstance }) => {
                    if let Some(in_flight) = &mut in_flight {
                        in_flight.call = Some((n, circumstance));
                        (limit, since) = (self.supervision.timeout, Instant::now());
                    }
                }
                Ok(Message::Finished(product)) => {
                    self.last = in_flight.take().map(|in_flight| in_flight.key);
                    (limit, since) = (SETUP_LIMIT, Instant::now());
                    "no config was in flight".clone_into(&mut self.doing);
                    self.broken = 0;
                    self.finished += 1;
                    self.task.finish(product)?;
                }
                Ok(Message::Greeted(greeting)) => self.task.greeted(greeting),
                Ok(Message::EmptyCall(call)) => self.task.empty_call(call),
                Ok(Message::SizeFinished { n }) => self.task.size_finished(n)?,
                Ok(Message::Ended { end, seconds }) => {
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
                Ok(Message::Broke { reason }) => return self.broke(&reason),
                Ok(Message::Failed { reason, cause }) => {
                    return Err(SessionError::Worker { reason, cause }.into());
                }
                Ok(Message::Ready { .. } | Message::Probed(_) | Message::Found(_) | Message::Packed(_)) => {}
                Err(Silence::Dead(status)) => return self.worker_died(status, in_flight, &profile),
                Err(Silence::Waiting) => {}
            }
            if since.elapsed() > limit {
                // The row does not wait for the driver, which may need seconds to take the process down; the next
                // worker does.
                process.condemn();
                return self.worker_hangs(in_flight, limit, &profile);
            }
            if let Some(end) = self.stop_reason() {
                let grace = if in_flight.is_some() { STOP_GRACE } else { SETUP_GRACE };
                let stop_deadline = *stop_deadline.get_or_insert_with(|| Instant::now() + grace);
                if Instant::now() > stop_deadline {
                    process.condemn();
                    if let Some(in_flight) = in_flight {
                        self.task.dropped(&in_flight.key)?;
                    }
                    return Ok(Left::Done(end));
                }
            }
        }
    }

    fn stop_reason(&self) -> Option<End> {
        if self.task.has_enough() {
            return Some(End::Interrupted);
        }
        self.supervision.limits.end()
    }

    fn worker_hangs(
        &mut self,
        in_flight: Option<InFlight>,
        limit: Duration,
        device: &DeviceProfile,
    ) -> anyhow::Result<Left> {
        let Some(InFlight { key, call }) = in_flight else {
            let how = format!("nothing came for {} s while {}", limit.as_secs_f64(), self.doing);
            return self.broke(&how);
        };
        let limit = self.supervision.timeout.as_secs_f64();
        let reason =
            format!("did not finish within {limit} s (--timeout sets the limit); its worker was killed");
        let death = Death { key, call, how: "timeout".to_owned(), outcome: Some((Status::Timeout, reason)) };
        (self.finished, self.broken) = (self.finished + 1, 0);
        self.task.worker_ended(&death, device)?;
        Ok(Left::Replace)
    }

    fn worker_died(
        &mut self,
        status: Option<ExitStatus>,
        in_flight: Option<InFlight>,
        device: &DeviceProfile,
    ) -> anyhow::Result<Left> {
        let how = describe(status);
        let signal = signal_from_outside(status);
        if signal.is_some() {
            // Whoever did it may mean all processes of the run, this one last.
            let _ = self.supervision.limits.pause(SETTLE);
        }
        let Some(InFlight { key, call }) = in_flight else {
            let what = format!("the worker ended ({how}) while {}", self.doing);
            let Some(last) = self.last.take().filter(|_| signal.is_none()) else { return self.broke(&what) };
            self.crashed += 1;
            let suspect =
                format!("{} at {} elements, behind which it was, may be", last.subject.label(), last.n);
            return self.broke_by(&what, &suspect);
        };
        let outcome = match signal {
            // On request, whether the worker or its supervisor heard it first.
            Some(_) if self.stop_reason().is_some() => {
                self.task.dropped(&key)?;
                return Ok(Left::Replace);
            }
            Some(signal) if signal != SIGKILL => {
                self.task.dropped(&key)?;
                return self.broke(&format!("the worker was ended from outside ({how})"));
            }
            Some(_) => None,
            None => {
                (self.finished, self.broken) = (self.finished + 1, 0);
                Some((Status::RuntimeError, format!("its worker process ended: {how}")))
            }
        };
        self.task.worker_ended(&Death { key, call, how, outcome }, device)?;
        Ok(Left::Replace)
    }

    /// A worker ended while no config ran, and by none.
    fn broke(&mut self, how: &str) -> anyhow::Result<Left> {
        self.broke_by(how, "no config is")
    }

    /// A worker ended while no config ran; `who` is to blame. Another one may have more luck, a few times.
    fn broke_by(&mut self, how: &str, who: &str) -> anyhow::Result<Left> {
        self.one_by_one |= self.doing.starts_with("pipelines");
        if self.stop_reason().is_some() {
            return Ok(Left::Replace);
        }
        self.task.broke(how)?;
        let Some(pause) = PAUSES.get(self.broken) else {
            return Ok(Left::GiveUp(format!(
                "{} workers in a row came to nothing; the last time {how}",
                self.broken + 1
            )));
        };
        self.broken += 1;
        let seconds = pause.as_secs();
        self.task.remark(&format!("{how}; {who} to blame; another worker goes on in {seconds} s"));
        // Where the run has to stop meanwhile, no other worker is started.
        let _ = self.supervision.limits.pause(*pause);
        Ok(Left::Replace)
    }
}
