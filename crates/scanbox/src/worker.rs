//! The process that drives a device, and the messages between it and its supervisor.
//!
//! Vulkan cannot cancel a dispatch, and a driver may take its process with it: only ending a process is certain. So a
//! sweep runs each device in a worker of its own. Supervisor and worker talk in lines of JSON; the worker waits for a
//! word before each config, so that the supervisor has written down which one it is before anything can go wrong.

use std::io::{self, BufRead, Write, stdin, stdout};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_kernels::operator_file::{OperatorFile, OperatorSource};
use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, Status};
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::baseline::{Baseline, Greeting};
use scanbox_runner::bench;
use scanbox_runner::cases::Circumstance;
use scanbox_runner::session::{End, Outcome, Setup};
use scanbox_runner::sweep;
use scanbox_runner::verify::{self, Verdict};
use scanbox_runner::vulkan;
use serde::{Deserialize, Serialize};

use crate::cli::Cli;
use crate::commands::{cache_folder, compiler, exit_of, open_device, unit_of};
use crate::{lock, signals};

/// What a line of a message begins with: drivers and layers may print to stdout too.
pub const MARK: &str = "scanbox:";

/// From the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Do this.
    Work {
        /// What.
        work: Box<Work>,
        /// The operator, where it is of a user's file.
        operator: Option<OperatorSource>,
        /// What is locked as long as the worker lives.
        device_lock: Option<PathBuf>,
    },
    /// Go on with the config that was announced.
    Go,
    /// Finish: no more configs.
    Stop,
}

/// A job, as it crosses the process boundary.
#[derive(Debug, Serialize, Deserialize)]
pub enum Work {
    /// Verify and measure.
    Sweep(sweep::Job),
    /// Verify at many sizes, on many inputs, and do not measure.
    Verify(verify::Job),
    /// Measure few subjects against each other.
    Bench(BenchWork),
}

/// A benchmark with the programs that take part in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BenchWork {
    /// The benchmark.
    pub job: bench::Job,
    /// Programs that take part.
    pub baselines: Vec<PathBuf>,
    /// Their subjects that take part; empty: all.
    pub baseline_subjects: Vec<String>,
    /// How long one block, or one answer of a program, may take.
    pub timeout: Duration,
}

/// What a config in flight is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Its label.
    pub config: String,
    /// Its size; in a verification, the largest one.
    pub n: u64,
    /// Its input, in a verification.
    pub input: Option<Input>,
    /// Whether it is a subject of a baseline, whose time-outs the worker sees to.
    pub external: bool,
}

/// What came of a config.
#[derive(Debug, Serialize, Deserialize)]
pub enum Product {
    /// A row of a sweep, as it stands in the file, with its line break.
    Row(String),
    /// A verdict of a verification.
    Verdict(Box<Verdict>),
}

/// From the worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// The device is open.
    Ready {
        /// What it is.
        profile: Box<DeviceProfile>,
        /// How many devices of the same name come before it.
        unit: usize,
    },
    /// Something takes time before any config runs.
    Setup(Setup),
    /// See [`sweep::Event::Doing`].
    Doing {
        /// What.
        what: String,
    },
    /// See [`sweep::Event::Remark`].
    Remark {
        /// What went wrong.
        text: String,
    },
    /// See [`sweep::Event::Ceiling`].
    Ceiling {
        /// Elements.
        n: u64,
        /// Throughput.
        gbps: f64,
    },
    /// Waits for [`Order::Go`] to run this config.
    Started {
        /// Which.
        key: Key,
    },
    /// One call of the config begins.
    Calling {
        /// Its size.
        n: u64,
        /// What is special about it.
        circumstance: Circumstance,
    },
    /// A config has come to its end.
    Finished(Product),
    /// A baseline has started.
    Greeted(Greeting),
    /// See [`bench::Event::EmptyCall`].
    EmptyCall(Result<bench::EmptyCall, String>),
    /// See [`bench::Event::SizeFinished`].
    SizeFinished {
        /// The size.
        n: u64,
    },
    /// Nothing more to do.
    Ended {
        /// Why.
        end: End,
        /// Where the time went, by phase, in seconds.
        seconds: Vec<(String, f64)>,
    },
    /// The device failed under something that is no config. Another process may do better.
    Broke {
        /// What failed, and what was going on.
        reason: String,
    },
    /// Nothing could be done.
    Failed {
        /// Why.
        reason: String,
        /// The exit code that it calls for.
        exit: u8,
    },
}

/// Arguments of the internal worker command.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The device
    #[arg(long)]
    device: String,

    /// Process id of the supervisor
    #[arg(long)]
    supervisor: u32,
}

/// Runs the worker until its supervisor has no more work or goes away.
pub fn run(args: &WorkerArgs, cli: &Cli) -> anyhow::Result<()> {
    if !die_with_supervisor(args.supervisor) {
        return Ok(());
    }
    signals::leave_to_supervisor()?;
    if let Err(error) = work(args, cli) {
        send(&match error.downcast_ref() {
            Some(WorkerError::Device(failure)) if failure.is_fatal() => {
                Report::Broke { reason: failure.reason.clone() }
            }
            _ => Report::Failed { reason: format!("{error:#}"), exit: exit_of(&error) as u8 },
        })?;
    }
    Ok(())
}

/// A worker that hangs in a driver cannot see that its supervisor is gone, so the system has to end it. False where
/// there is no supervisor any more.
#[cfg(target_os = "linux")]
fn die_with_supervisor(supervisor: u32) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    // Where it cannot be asked for, a worker that does not hang still ends at its next message.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // One that died before the line above has left its child to another process.
    getppid().is_some_and(|parent| parent.as_raw_nonzero().get().unsigned_abs() == supervisor)
}

/// Elsewhere, a worker that does not hang ends at its next message.
#[cfg(not(target_os = "linux"))]
fn die_with_supervisor(_: u32) -> bool {
    true
}

fn work(args: &WorkerArgs, cli: &Cli) -> anyhow::Result<()> {
    let mut compiler = compiler(cli)?;
    let options = vulkan::Options {
        // The supervisor has the clock, and ends the whole process.
        timeout: Duration::MAX,
        pipeline_cache: cache_folder(cli).map(|folder| folder.join("pipelines")),
        ..vulkan::Options::default()
    };
    let mut backend = open_device(&args.device, &compiler, options)?;
    let profile = Box::new(backend.profile().as_ref().clone());
    send(&Report::Ready { profile, unit: unit_of(&args.device)? })?;
    let Some(Order::Work { work, operator, device_lock }) = receive()? else { return Ok(()) };
    device_lock.iter().for_each(|path| lock::hold_for_worker(path));
    if let Some(source) = operator {
        compiler = compiler.with_operator(OperatorFile::new(source)?);
    }
    let outcome = match *work {
        Work::Sweep(job) => sweep(&job, backend.as_mut(), &compiler)?,
        Work::Verify(job) => verify(&job, backend.as_mut(), &compiler)?,
        Work::Bench(work) => bench(&work, backend.as_mut(), &compiler)?,
    };
    let seconds = outcome.seconds.into_iter().map(|(phase, time)| (phase.to_owned(), time)).collect();
    send(&Report::Ended { end: outcome.end, seconds })?;
    Ok(())
}

fn sweep(job: &sweep::Job, backend: &mut dyn Backend, compiler: &Compiler) -> anyhow::Result<Outcome> {
    let stop = AtomicBool::new(false);
    let observer = &mut |event: sweep::Event<'_>| -> Result<(), WorkerError> {
        use sweep::Event;
        match event {
            Event::Setup(setup) => send(&Report::Setup(setup))?,
            Event::Doing { what } => send(&Report::Doing { what: what.to_owned() })?,
            Event::Remark { text } => send(&Report::Remark { text: text.to_owned() })?,
            Event::Ceiling { n, gbps } => send(&Report::Ceiling { n, gbps })?,
            Event::Started { point } => {
                ask(
                    Key { config: point.config.to_string(), n: point.n, input: None, external: false },
                    &stop,
                )?;
            }
            Event::Finished { record } => send(&Report::Finished(Product::Row(row(record)?)))?,
        }
        Ok(())
    };
    Ok(sweep::run(backend, compiler, job, &stop, observer)?)
}

fn verify(job: &verify::Job, backend: &mut dyn Backend, compiler: &Compiler) -> anyhow::Result<Outcome> {
    let stop = AtomicBool::new(false);
    let observer = &mut |event: verify::Event<'_>| -> Result<(), WorkerError> {
        use verify::Event;
        match event {
            Event::Setup(setup) => send(&Report::Setup(setup))?,
            Event::Started { item } => {
                let n = item.sizes.last().copied().unwrap_or(0);
                ask(
                    Key { config: item.config.to_string(), n, input: Some(item.input), external: false },
                    &stop,
                )?;
            }
            Event::Calling { n, circumstance } => send(&Report::Calling { n, circumstance })?,
            Event::Finished { verdict } => {
                send(&Report::Finished(Product::Verdict(Box::new(verdict.clone()))))?;
            }
        }
        Ok(())
    };
    Ok(verify::run(backend, compiler, job, &stop, observer)?)
}

fn bench(work: &BenchWork, backend: &mut dyn Backend, compiler: &Compiler) -> anyhow::Result<Outcome> {
    let mut baselines = Vec::new();
    for path in &work.baselines {
        let mut baseline = Baseline::start(path, work.timeout)
            .map_err(|failure| anyhow::anyhow!("{}", failure.reason))
            .context("a --baseline cannot take part")?;
        if !work.baseline_subjects.is_empty() {
            baseline.keep(&work.baseline_subjects);
        }
        send(&Report::Greeted(baseline.greeting().clone()))?;
        baselines.push(baseline);
    }
    let stop = AtomicBool::new(false);
    let observer = &mut |event: bench::Event<'_>| -> Result<(), WorkerError> {
        use bench::Event;
        match event {
            Event::Setup(setup) => send(&Report::Setup(setup))?,
            Event::Started { label, n, external } => {
                ask(Key { config: label.to_owned(), n, input: None, external }, &stop)?;
            }
            Event::Finished { record } => send(&Report::Finished(Product::Row(row(record)?)))?,
            Event::EmptyCall { call } => send(&Report::EmptyCall(call))?,
            Event::SizeFinished { n } => send(&Report::SizeFinished { n })?,
        }
        Ok(())
    };
    Ok(bench::run(backend, &mut baselines, compiler, &work.job, &stop, observer)?)
}

/// Waits for the word to run a config.
fn ask(key: Key, stop: &AtomicBool) -> io::Result<()> {
    send(&Report::Started { key })?;
    if !matches!(receive()?, Some(Order::Go)) {
        stop.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// What ends the work of a worker before its end.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The device, before any config.
    #[error("nothing could run: {0}")]
    Device(Failure),
    /// The operator of the user is none, so that nothing can be right.
    #[error("{0}")]
    Operator(String),
    /// Nobody is there any more.
    #[error("the supervisor went away: {0}")]
    Supervisor(#[from] io::Error),
}

impl From<Failure> for WorkerError {
    fn from(failure: Failure) -> Self {
        match failure.status {
            Status::WrongResult => Self::Operator(failure.reason),
            _ => Self::Device(failure),
        }
    }
}

fn row(record: &Record) -> io::Result<String> {
    let mut line = Vec::new();
    csv_file::write(&mut line, false, [record])?;
    String::from_utf8(line).map_err(io::Error::other)
}

fn send(report: &Report) -> io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{MARK}{}", serde_json::to_string(report)?)?;
    out.flush()
}

/// The next order; `None` when the supervisor has gone.
fn receive() -> io::Result<Option<Order>> {
    let mut line = String::new();
    if stdin().lock().read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
