//! The process that drives a device.
//!
//! Vulkan cannot cancel a dispatch, and a driver may take its process with it: only ending a process is certain. So a
//! sweep runs each device in a worker of its own. Supervisor and worker talk in lines of JSON; the worker waits for a
//! word before each config, so that the supervisor has written down which one it is before anything can go wrong.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write, stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::csv_file;
use scanbox_model::record::Record;
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::user_operator::UserOperator;
use scanbox_pack::Pack;
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::baseline::Baseline;
use scanbox_runner::bench::{self, BenchEvent};
use scanbox_runner::guarantees::{self, AskEvent, Found};
use scanbox_runner::packed::{self, PackEvent};
use scanbox_runner::probe;
use scanbox_runner::session::{End, RunSummary, Setup};
use scanbox_runner::subject::Subject;
use scanbox_runner::sweep::{self, SweepEvent, SweepJob};
use scanbox_runner::verify::{self, VerifyEvent, VerifyJob};

use crate::failure::{Cause, WorkerError};
use crate::pack::bytes_of;
use crate::protocol::{BenchWork, ConfigResult, LentPack, MARK, Message, Order, SubjectKey, Work};
use crate::tools::Tools;
use crate::{device, lock, signals};

/// Drives the device that `selector` names until the supervisor, a process of this id, has no more work or goes away.
///
/// # Errors
/// When the supervisor cannot be told what went wrong.
pub fn run(selector: &str, supervisor: u32, tools: &Tools) -> anyhow::Result<()> {
    if !die_with_supervisor(supervisor) {
        return Ok(());
    }
    signals::leave_to_supervisor()?;
    if let Err(error) = work(selector, tools) {
        send(&match error.downcast_ref() {
            Some(WorkerError::Device(failure)) if failure.is_fatal() => {
                Message::Broke { reason: failure.reason.clone() }
            }
            _ => Message::Failed { reason: format!("{error:#}"), cause: Cause::of(&error) },
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

fn work(selector: &str, tools: &Tools) -> anyhow::Result<()> {
    let mut compiler = tools.compiler()?;
    let mut backend = device::open(selector, &compiler, tools)?;
    let profile = Box::new(backend.profile().as_ref().clone());
    send(&Message::Ready { profile, unit: device::unit_of(selector, tools)? })?;
    let Some(Order::Work { work, operator, guarantees, device_lock }) = receive()? else { return Ok(()) };
    if let Some(found) = guarantees {
        backend.learn(*found);
    }
    device_lock.iter().for_each(|path| lock::hold_for_worker(path));
    let mut user = None;
    if let Some(source) = operator {
        let file = OperatorFile::new(source)?;
        user = Some(file.operator());
        compiler = compiler.with_operator(file);
    }
    let outcome = match *work {
        Work::Sweep(job) => sweep(&job, backend.as_mut(), &compiler)?,
        Work::Verify(job) => verify(&job, backend.as_mut(), &compiler)?,
        Work::Bench(work) => bench(&work, backend.as_mut(), &compiler)?,
        Work::Pack { path } => try_pack(&path, user, backend.as_mut(), &compiler)?,
        Work::Guarantees { asked } => ask_for(&asked, backend.as_mut())?,
        Work::Probe => {
            let probed = probe::arguments(backend.as_mut(), &compiler);
            send(&Message::Probed(probed.map_err(|failure| failure.reason)))?;
            return Ok(());
        }
    };
    let seconds = outcome.seconds.into_iter().map(|(phase, time)| (phase.to_owned(), time)).collect();
    send(&Message::Ended { end: outcome.end, seconds })?;
    Ok(())
}

fn sweep(job: &SweepJob, backend: &mut dyn Backend, compiler: &Compiler) -> anyhow::Result<RunSummary> {
    let stop = AtomicBool::new(false);
    let observer = &mut |event: SweepEvent<'_>| -> Result<(), WorkerError> {
        match event {
            SweepEvent::Setup(setup) => send(&Message::Setup(setup))?,
            SweepEvent::Doing { what } => send(&Message::Doing { what: what.to_owned() })?,
            SweepEvent::Remark { text } => send(&Message::Remark { text: text.to_owned() })?,
            SweepEvent::Ceiling { n, gbps } => send(&Message::Ceiling { n, gbps })?,
            SweepEvent::NoCeiling { n, wrong } => send(&Message::NoCeiling { n, wrong })?,
            SweepEvent::Started { point } => {
                ask(SubjectKey { subject: Subject::config(point.config), n: point.n, input: None }, &stop)?;
            }
            SweepEvent::Finished { record } => send(&Message::Finished(ConfigResult::Row(row(record)?)))?,
        }
        Ok(())
    };
    Ok(sweep::run(backend, compiler, job, &stop, observer)?)
}

fn verify(job: &VerifyJob, backend: &mut dyn Backend, compiler: &Compiler) -> anyhow::Result<RunSummary> {
    let stop = AtomicBool::new(false);
    let observer = &mut |event: VerifyEvent<'_>| -> Result<(), WorkerError> {
        match event {
            VerifyEvent::Setup(setup) => send(&Message::Setup(setup))?,
            VerifyEvent::Started { item } => {
                let n = item.sizes.last().copied().unwrap_or(0);
                let subject = Subject::Config { config: item.config, variant: job.variant };
                ask(SubjectKey { subject, n, input: Some(item.input) }, &stop)?;
            }
            VerifyEvent::Calling { n, circumstance } => send(&Message::Calling { n, circumstance })?,
            VerifyEvent::Finished { verdict } => {
                send(&Message::Finished(ConfigResult::Verdict(Box::new(verdict.clone()))))?;
            }
        }
        Ok(())
    };
    Ok(verify::run(backend, compiler, job, &stop, observer)?)
}

fn bench(work: &BenchWork, backend: &mut dyn Backend, compiler: &Compiler) -> anyhow::Result<RunSummary> {
    let mut baselines = Vec::new();
    for path in &work.baselines {
        let mut baseline = Baseline::start(path, backend.profile(), work.timeout)
            .map_err(|failure| anyhow::anyhow!("{}", failure.reason))
            .context("a --baseline cannot take part")?;
        if !work.baseline_subjects.is_empty() {
            baseline.keep(&work.baseline_subjects);
        }
        send(&Message::Greeted(baseline.greeting().clone()))?;
        baselines.push(baseline);
    }
    if let Some(LentPack { path, promises }) = &work.pack {
        backend.lend(Arc::new(read_pack(path)?), *promises).map_err(WorkerError::from)?;
    }
    let stop = AtomicBool::new(false);
    let observer = &mut |event: BenchEvent<'_>| -> Result<(), WorkerError> {
        match event {
            BenchEvent::Setup(setup) => send(&Message::Setup(setup))?,
            BenchEvent::Started { subject, n } => {
                ask(SubjectKey { subject: subject.clone(), n, input: None }, &stop)?;
            }
            BenchEvent::Finished { record } => send(&Message::Finished(ConfigResult::Row(row(record)?)))?,
            BenchEvent::EmptyCall { call } => send(&Message::EmptyCall(call))?,
            BenchEvent::SizeFinished { n } => send(&Message::SizeFinished { n })?,
        }
        Ok(())
    };
    Ok(bench::run(backend, &mut baselines, compiler, &work.job, &stop, observer)?)
}

fn read_pack(path: &Path) -> anyhow::Result<Pack> {
    let place = || path.display().to_string();
    Pack::read(&bytes_of(path).with_context(place)?).with_context(place)
}

fn try_pack(
    path: &Path,
    user: Option<UserOperator>,
    backend: &mut dyn Backend,
    compiler: &Compiler,
) -> anyhow::Result<RunSummary> {
    let pack = read_pack(path)?;
    let observer = &mut |event: PackEvent<'_>| -> Result<(), WorkerError> {
        match event {
            PackEvent::Setup(setup) => send(&Message::Setup(setup))?,
            PackEvent::Started { what } => send(&Message::Doing { what: what.to_owned() })?,
            PackEvent::Finished { verdict } => send(&Message::Packed(Box::new(verdict)))?,
        }
        Ok(())
    };
    packed::run(backend, compiler, &pack, user, observer)?;
    Ok(RunSummary { end: End::Complete, seconds: BTreeMap::new() })
}

fn ask_for(asked: &[Guarantee], backend: &mut dyn Backend) -> anyhow::Result<RunSummary> {
    for &guarantee in asked {
        let observer = &mut |event: AskEvent| {
            // Who hears nothing any more hears nothing of what is found either, and that ends this.
            let _ = send(&match event {
                AskEvent::Compiling { shaders } => Message::Setup(Setup::Compiling { shaders }),
                AskEvent::Calling => Message::Doing { what: format!("it was asked for {guarantee}") },
            });
        };
        let outcome = guarantees::find(backend, guarantee, observer);
        let is_fatal = outcome.as_ref().is_err_and(Failure::is_fatal);
        let found = outcome.unwrap_or_else(|failure| Found::nothing(guarantee, failure.reason, is_fatal));
        send(&Message::Found(Box::new(found)))?;
        if is_fatal {
            // Another process goes on.
            break;
        }
    }
    Ok(RunSummary { end: End::Complete, seconds: BTreeMap::new() })
}

/// Waits for the word to run a config.
fn ask(key: SubjectKey, stop: &AtomicBool) -> io::Result<()> {
    send(&Message::Started { key })?;
    if !matches!(receive()?, Some(Order::Go)) {
        stop.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn row(record: &Record) -> io::Result<String> {
    let mut line = Vec::new();
    csv_file::write(&mut line, false, [record])?;
    String::from_utf8(line).map_err(io::Error::other)
}

fn send(message: &Message) -> io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{MARK}{}", serde_json::to_string(message)?)?;
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
