//! A worker process, seen from its supervisor: how it is started, talked to, and ended.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use scanbox_kernels::operator_file::{OperatorFile, OperatorSource};
use scanbox_model::api::Api;
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_runner::select::AUTO;
use scanbox_runner::session::End;

use crate::device::{backends, known_issues};
use crate::failure::SessionError;
use crate::log;
use crate::notes::{note, pass_on};
use crate::protocol::{MARK, Message, Order};
use crate::signals::{is_asked_to_stop, stop_on_signals};
use crate::system;
use crate::tools::Tools;

/// The variable that turns off the layer of Mesa which sorts devices.
pub const DEVICE_LAYER_OFF: &str = "NODEVICE_SELECT";
/// How often the supervisor looks whether somebody wants it to stop.
const TICK: Duration = Duration::from_millis(50);
/// What is no config may take so long without a word: compiling a part of the shaders, uploading the input.
pub const SETUP_LIMIT: Duration = Duration::from_secs(600);
/// How long a device may take to open.
const OPEN_LIMIT: Duration = Duration::from_secs(120);
/// Before a device is tried once more: after a reset a driver needs seconds.
const OPEN_PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];
/// How long a process that was killed may take to end. One that is stuck in its driver may never.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// The same of one that still runs: its memory is taken down by the last of its threads, and threads of drivers (that
/// of Mesa's shader cache) may have so low a priority that a busy machine takes its time.
const TEARDOWN_PATIENCE: Duration = Duration::from_secs(60);
/// How long what a process has said last may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// When a run has to stop.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits<'a> {
    /// Somebody wants it to stop.
    pub stop: &'a AtomicBool,
    /// Its budget ends.
    pub deadline: Option<Instant>,
}

impl RunLimits<'static> {
    /// Of a run that begins now: it stops on request, and when its budget is spent, which pays for everything.
    ///
    /// # Errors
    /// When the system does not allow to listen to signals; [`SessionError::Stopped`] where the budget is nothing, as
    /// the moment that it ends at has been.
    pub fn of_run(budget: Option<Duration>) -> anyhow::Result<Self> {
        if budget == Some(Duration::ZERO) {
            let why = "the end of --budget has been there already, by the clock of this host";
            return Err(anyhow::Error::new(SessionError::Stopped(End::Budget)).context(why));
        }
        let deadline = budget.map(|budget| Instant::now() + budget);
        Ok(Self { stop: stop_on_signals()?, deadline })
    }
}

impl RunLimits<'_> {
    /// Why it has to stop now, if it has to.
    pub fn end(&self) -> Option<End> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(End::Interrupted);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(End::Budget)
    }

    /// Waits, unless it has to stop first.
    ///
    /// # Errors
    /// [`SessionError::Stopped`], when it has to.
    pub fn pause(&self, time: Duration) -> Result<(), SessionError> {
        let until = Instant::now() + time;
        loop {
            if let Some(end) = self.end() {
                return Err(SessionError::Stopped(end));
            }
            match until.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Ok(()),
                left => std::thread::sleep(left.min(TICK)),
            }
        }
    }
}

/// How to start a worker.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// Selector of the device.
    pub device: String,
    /// The program: one that knows `worker`, this one where nobody says otherwise.
    pub program: Option<PathBuf>,
    /// What the worker is handed too.
    pub tools: Tools,
    /// The operator that the worker is to compile with, where it is of a file. The worker gets its text, so that a
    /// file which changes meanwhile changes nothing.
    pub operator: Option<OperatorSource>,
    /// What was found out about guarantees of the device, where that is not what is kept.
    pub guarantees: Option<GuaranteesProbe>,
    /// What its workers lock as long as they live.
    pub device_lock: Option<PathBuf>,
}

/// A worker whose device is open.
pub struct Worker {
    /// Its process.
    pub process: Process,
    /// The device that it drives.
    pub profile: DeviceProfile,
    /// How many devices of the same name come before it.
    pub unit: usize,
}

/// A worker process. It ends when this is dropped.
pub struct Process {
    child: Child,
    orders: ChildStdin,
    messages: Receiver<Message>,
    /// Passes on what it prints.
    talk: JoinHandle<()>,
    /// It was killed, and did not end.
    given_up: bool,
}

/// What came instead of a message.
pub enum Silence {
    /// Nothing yet.
    Waiting,
    /// The process is gone; how, unless even that cannot be found out.
    Dead(Option<ExitStatus>),
}

impl WorkerCommand {
    /// The command for this device, with these tools.
    pub fn new(device: &str, operator: Option<&OperatorFile>, tools: &Tools) -> Self {
        Self {
            device: device.to_owned(),
            program: None,
            tools: tools.clone(),
            operator: operator.map(|file| file.source().clone()),
            guarantees: None,
            device_lock: None,
        }
    }

    /// Starts a worker and waits until its device is open. One that dies of it is replaced a few times.
    ///
    /// # Errors
    /// Why there is none; [`SessionError::Stopped`], when the run has to stop.
    pub fn start(&self, limits: &RunLimits<'_>) -> anyhow::Result<Worker> {
        self.start_patiently(limits, |error| error.is::<DiedOpening>())
    }

    /// The same for a device that was open before: whatever keeps it from opening may pass.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_again(&self, limits: &RunLimits<'_>) -> anyhow::Result<Worker> {
        self.start_patiently(limits, |error| !matches!(error.downcast_ref(), Some(SessionError::Stopped(_))))
    }

    /// Has every worker from now on drive the device of this one: where a device falls off the bus, what a batch system
    /// gave may be counted anew, and would be another one.
    pub fn stay_with(&mut self, worker: &Worker) {
        if let Some(address) = worker.profile.pci_address.as_ref().filter(|_| self.device == AUTO) {
            self.device.clone_from(address);
        }
    }

    fn start_patiently(
        &self,
        limits: &RunLimits<'_>,
        may_pass: impl Fn(&anyhow::Error) -> bool,
    ) -> anyhow::Result<Worker> {
        for pause in OPEN_PAUSES {
            match self.try_to_start(limits) {
                Err(error) if may_pass(&error) => {
                    let seconds = pause.as_secs_f64();
                    note(&format!("{error:#}; another attempt in {seconds} s"));
                    limits.pause(pause)?;
                }
                outcome => return outcome,
            }
        }
        self.try_to_start(limits)
    }

    fn try_to_start(&self, limits: &RunLimits<'_>) -> anyhow::Result<Worker> {
        limits.pause(Duration::ZERO)?;
        let mut process = self.spawn()?;
        let deadline = Instant::now() + OPEN_LIMIT;
        loop {
            match process.next_message() {
                Ok(Message::Ready { mut profile, unit }) => {
                    if let Some(found) = &self.guarantees {
                        profile.guarantee_facts.probe = Some(found.clone());
                    }
                    tracing::info!(device = profile.name, unit, "the device is open");
                    return Ok(Worker { process, profile: *profile, unit });
                }
                Ok(Message::Failed { reason, cause }) => {
                    return Err(SessionError::Worker { reason, cause }.into());
                }
                Ok(message) => bail!("the worker for device {} began with {message:?}", self.device),
                Err(Silence::Waiting) if Instant::now() < deadline => limits.pause(Duration::ZERO)?,
                Err(Silence::Waiting) => {
                    let how = format!("did not open within {} s", OPEN_LIMIT.as_secs());
                    return Err(DiedOpening(format!("device {} {how}", self.device)).into());
                }
                Err(Silence::Dead(status)) => {
                    // Whoever ended the worker may have meant this process too.
                    limits.pause(Duration::ZERO)?;
                    let how = describe(status);
                    let text =
                        format!("the worker for device {} ended while it opened it: {how}", self.device);
                    return Err(DiedOpening(text).into());
                }
            }
        }
    }

    fn spawn(&self) -> anyhow::Result<Process> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => std::env::current_exe().context("the path of this program")?,
        };
        let mut command = Command::new(program);
        let Tools { kernels, cache, assume, .. } = &self.tools;
        for (flag, folder) in [("--kernels", kernels), ("--cache", cache)] {
            if let Some(folder) = folder {
                command.arg(flag).arg(folder);
            }
        }
        for guarantee in assume {
            command.arg("--assume").arg(guarantee.to_string());
        }
        // A layer of Mesa looks for a display where a program can draw, as wgpu can, and prints that there is none.
        // It also sorts devices: by Vulkan, supervisor and worker have it or not as the user says.
        if self.tools.api == Api::WebGpu && std::env::var_os(DEVICE_LAYER_OFF).is_none() {
            command.env(DEVICE_LAYER_OFF, "1");
        }
        // Whatever the environment of this process says.
        command.env("SCANBOX_API", self.tools.api.word()).args(self.tools.flags_of_api());
        command.envs(backends::environment(&self.tools)?);
        command.arg("worker").arg("--device").arg(&self.device);
        command.arg("--supervisor").arg(std::process::id().to_string());
        // What it prints goes through its supervisor: a worker that nothing can end must not keep a pipe of the
        // caller open.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C in the terminal is for the supervisor; the worker finishes its row.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.envs(known_issues::worker_environment()?);
        // It speaks through its supervisor, which paints what it says; an older program knows no option for that.
        command.env("NO_COLOR", "1");
        if let Some(filter) = log::filter() {
            command.env(log::VARIABLE, filter);
        }
        let mut child = command.spawn().context("the worker process cannot be started")?;
        tracing::debug!(worker = child.id(), device = self.device, "a worker process begins");
        let orders = child.stdin.take().expect("stdin is piped");
        let output = child.stdout.take().expect("stdout is piped");
        let errors = child.stderr.take().expect("stderr is piped");
        let talk = std::thread::spawn(move || {
            for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
                pass_on(&String::from_utf8_lossy(&line));
            }
        });
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                // A driver or a layer may print anything.
                let line = String::from_utf8_lossy(&line);
                match line.strip_prefix(MARK).map(serde_json::from_str) {
                    Some(Ok(message)) => {
                        if sender.send(message).is_err() {
                            return;
                        }
                    }
                    // A message that was cut off by the end of the process.
                    Some(Err(_)) => {}
                    // A driver or a layer that prints.
                    None => note(&line),
                }
            }
        });
        Ok(Process { child, orders, messages, talk, given_up: false })
    }
}

impl Process {
    /// The next message, or nothing after `TICK`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn next_message(&mut self) -> Result<Message, Silence> {
        self.messages.recv_timeout(TICK).map_err(|error| match error {
            RecvTimeoutError::Timeout => Silence::Waiting,
            // Its output is closed: it has ended or is about to.
            RecvTimeoutError::Disconnected => Silence::Dead(self.end()),
        })
    }

    /// Gives an order. A worker that is gone shows in the next message.
    pub fn order(&mut self, order: &Order) {
        if let Ok(line) = serde_json::to_string(order) {
            let _ = writeln!(self.orders, "{line}").and_then(|()| self.orders.flush());
        }
    }

    /// Ends the process, if it has not ended, and says how it ended.
    fn end(&mut self) -> Option<ExitStatus> {
        // A process that closes its output on its own is given the time to say how it ends.
        let status = wait_at_most(LAST_WORDS, || self.child.try_wait()).or_else(|| self.kill());
        // Baselines that it has left behind.
        system::kill_group(&self.child);
        wait_at_most(LAST_WORDS, || Ok(self.talk.is_finished().then_some(())));
        tracing::debug!(worker = self.child.id(), how = describe(status), "a worker process ended");
        status
    }

    /// Tells the system to end the process and the baselines that it has started, and does not wait for it.
    pub fn condemn(&mut self) {
        system::kill_group(&self.child);
        let _ = self.child.kill();
    }

    /// Ends the process, and waits for that a while: `None`, and a word about it, where it does not end.
    pub fn kill(&mut self) -> Option<ExitStatus> {
        if self.given_up {
            return None;
        }
        self.condemn();
        let condemned = Instant::now();
        let id = self.child.id();
        let status = loop {
            let status = wait_at_most(KILL_PATIENCE, || self.child.try_wait());
            // Who was asked to stop may have seconds for what is left to do.
            let patient = condemned.elapsed() < TEARDOWN_PATIENCE && !is_asked_to_stop();
            if status.is_some() || !patient || !system::is_running(id) {
                break status;
            }
        };
        if status.is_none() {
            self.given_up = true;
            let seconds = condemned.elapsed().as_secs();
            let why = match system::is_running(id) {
                true => "the machine is too busy to take its memory down",
                false => "it is stuck in its driver, and may keep the device busy",
            };
            note(&format!(
                "worker process {id} was killed {seconds} s ago and has not ended: {why}; nothing waits for it"
            ));
        }
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What comes of something within a time; `None` where nothing does.
fn wait_at_most<T>(limit: Duration, mut poll: impl FnMut() -> io::Result<Option<T>>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        match poll() {
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            Ok(outcome) => return outcome,
            Err(_) => return None,
        }
    }
}

/// How a process ended, in words.
pub fn describe(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "it could not be killed".to_owned() };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "no exit code".to_owned(),
    }
}

/// The signal that somebody outside ended a process with, if it was one: the user, the system, a lack of memory.
pub fn signal_from_outside(status: Option<ExitStatus>) -> Option<i32> {
    #[cfg(unix)]
    if let Some(signal) = status.as_ref().and_then(std::os::unix::process::ExitStatusExt::signal) {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGUSR1, signal::SIGXCPU};
        let outside = [SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGUSR1, SIGXCPU];
        return outside.contains(&signal).then_some(signal);
    }
    None
}

/// A device that took its worker with it while it was opened, or did not open.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct DiedOpening(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_for_ever() {
        let start = Instant::now();
        let limit = Duration::from_millis(50);
        assert_eq!(wait_at_most(limit, || Ok(None::<()>)), None);
        assert!((limit..limit * 20).contains(&start.elapsed()), "{:?}", start.elapsed());
        assert_eq!(wait_at_most::<()>(limit, || Err(io::Error::other("no such process"))), None);
        let mut polls = 0;
        let third = wait_at_most(Duration::from_secs(60), || {
            polls += 1;
            Ok((polls == 3).then_some("ended"))
        });
        assert_eq!(third, Some("ended"));
    }

    #[test]
    fn a_pause_ends_when_the_run_has_to() {
        let stop = AtomicBool::new(false);
        let pause =
            |deadline| RunLimits { stop: &stop, deadline }.pause(Duration::from_secs(60)).unwrap_err();
        let soon = Instant::now() + Duration::from_millis(20);
        assert!(matches!(pause(Some(soon)), SessionError::Stopped(End::Budget)));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(pause(None), SessionError::Stopped(End::Interrupted)));
    }
}
