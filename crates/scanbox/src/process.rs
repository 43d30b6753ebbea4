//! A worker process, seen from its supervisor: how it is started, talked to, and ended.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use scanbox_kernels::operator_file::{OperatorFile, OperatorSource};
use scanbox_model::device::DeviceProfile;
use scanbox_model::safe_devices::Guarantee;

use crate::cli::Cli;
use crate::commands::{WorkerFailed, complain};
use crate::worker::{MARK, Order, Report};

/// How often the supervisor looks whether somebody wants it to stop.
const TICK: Duration = Duration::from_millis(50);
/// Opening a device, compiling all shaders, uploading the input: what may take long without any config running.
pub const SETUP_LIMIT: Duration = Duration::from_secs(600);

/// How to start a worker.
#[derive(Debug, Clone)]
pub struct WorkerCommand {
    /// Selector of the device.
    pub device: String,
    /// See [`crate::cli::Cli::kernels`].
    pub kernels: Option<PathBuf>,
    /// What is assumed of the device.
    pub assume: Vec<Guarantee>,
    /// See [`crate::cli::Cli::cache`].
    pub cache: Option<PathBuf>,
    /// The operator that the worker is to compile with, where it is of a file. The worker gets its text, so that a file which
    /// changes meanwhile changes nothing.
    pub operator: Option<OperatorSource>,
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
    reports: Receiver<Report>,
}

/// What came instead of a report.
pub enum Silence {
    /// Nothing yet.
    Waiting,
    /// The process is gone.
    Dead(ExitStatus),
}

impl WorkerCommand {
    /// The command for this device, under the flags of all commands.
    pub fn new(device: &str, operator: Option<&OperatorFile>, cli: &Cli) -> Self {
        Self {
            device: device.to_owned(),
            kernels: cli.kernels.clone(),
            assume: cli.assume.clone(),
            cache: cli.cache.clone(),
            operator: operator.map(|file| file.source().clone()),
        }
    }

    /// Starts a worker and waits until its device is open.
    pub fn start(&self) -> anyhow::Result<Worker> {
        let mut process = self.spawn()?;
        let deadline = Instant::now() + SETUP_LIMIT;
        loop {
            match process.next() {
                Ok(Report::Ready { profile, unit }) => {
                    return Ok(Worker { process, profile: *profile, unit });
                }
                Ok(Report::Failed { reason, exit }) => return Err(WorkerFailed { reason, exit }.into()),
                Ok(report) => bail!("the worker for device {} began with {report:?}", self.device),
                Err(Silence::Waiting) if Instant::now() < deadline => {}
                Err(Silence::Waiting) => {
                    bail!("device {} did not open within {} s", self.device, SETUP_LIMIT.as_secs())
                }
                Err(Silence::Dead(status)) => {
                    bail!(
                        "the worker for device {} ended while it opened it: {}",
                        self.device,
                        describe(status)
                    )
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
        for guarantee in &self.assume {
            command.arg("--assume").arg(guarantee.to_string());
        }
        command.arg("worker").arg("--device").arg(&self.device);
        command.arg("--supervisor").arg(std::process::id().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // A Ctrl-C in the terminal is for the supervisor; the worker finishes its row.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.envs(crate::commands::known_issues::worker_environment()?);
        let mut child = command.spawn().context("the worker process cannot be started")?;
        let orders = child.stdin.take().expect("stdin is piped");
        let output = child.stdout.take().expect("stdout is piped");
        let (sender, reports) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                // A driver or a layer may print anything.
                let line = String::from_utf8_lossy(&line);
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
    pub fn next(&mut self) -> Result<Report, Silence> {
        self.reports.recv_timeout(TICK).map_err(|error| match error {
            RecvTimeoutError::Timeout => Silence::Waiting,
            // Its output is closed: it has ended or is about to.
            RecvTimeoutError::Disconnected => Silence::Dead(self.end()),
        })
    }

    /// Gives an order. A worker that is gone shows in the next report.
    pub fn order(&mut self, order: &Order) {
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

    /// Tells the system to end the process, and does not wait for it.
    pub fn condemn(&mut self) {
        let _ = self.child.kill();
    }

    /// Ends the process at once.
    pub fn kill(&mut self) -> ExitStatus {
        self.condemn();
        self.child.wait().unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a process ended, in words.
pub fn describe(status: ExitStatus) -> String {
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
pub fn ended_from_outside(status: ExitStatus) -> bool {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
        return [SIGHUP, SIGINT, SIGKILL, SIGTERM].contains(&signal);
    }
    false
}
