//! The process of a baseline: how it is started, asked, and ended.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use scanbox_model::record::Status;

use super::reply::RefusalReply;
use super::{BaselineRequest, Greeting, Program, excerpt};
use crate::backend::Failure;

/// Bytes that a line has at most: far more than any answer.
const LINE_MAX: u64 = 1 << 20;
/// Lines that wait at most until somebody asks for them: a program that says more waits too.
const LINES_MAX: usize = 16;

/// Its process. It ends when this is dropped.
pub(super) struct BaselineProcess {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<Result<String, String>>,
}

impl BaselineProcess {
    pub fn start(program: &Program, timeout: Duration) -> Result<(Self, Greeting), Failure> {
        let Program { path, arguments, environment, without, leaves_group } = program;
        let failed = |reason: String| {
            Failure::new(Status::RuntimeError, format!("baseline {}: {reason}", path.display()))
        };
        let mut command = Command::new(path);
        for name in without {
            command.env_remove(name);
        }
        // A Ctrl-C in the terminal is for whoever has started it.
        #[cfg(unix)]
        if *leaves_group {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        #[cfg(not(unix))]
        let _ = leaves_group;
        let mut child = command
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("it cannot be started: {error}")))?;
        let requests = child.stdin.take().expect("stdin is piped");
        let output = child.stdout.take().expect("stdout is piped");
        let (sender, replies) = sync_channel(LINES_MAX);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Ok(Some(line)) = read_line(&mut output) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut running = Self { child, requests, replies };
        let line = running.answer(timeout).map_err(|failure| failed(failure.reason))?;
        if let Ok(RefusalReply { error, .. }) = serde_json::from_str(&line) {
            return Err(failed(error));
        }
        let greeting: Greeting = serde_json::from_str(&line).map_err(|error| {
            failed(format!("it began with `{}`, which is not a greeting: {error}", excerpt(&line)))
        })?;
        greeting.check().map_err(failed)?;
        Ok((running, greeting))
    }

    pub fn ask(&mut self, request: &BaselineRequest<'_>, timeout: Duration) -> Result<String, Failure> {
        let line = serde_json::to_string(request)
            .map_err(|error| Failure::new(Status::RuntimeError, error.to_string()))?;
        // A program that is gone shows in its answer.
        let _ = writeln!(self.requests, "{line}").and_then(|()| self.requests.flush());
        self.answer(timeout)
    }

    fn answer(&mut self, timeout: Duration) -> Result<String, Failure> {
        let deadline = Instant::now() + timeout;
        loop {
            // A program that never falls silent has answered nothing all the same.
            let left = deadline.saturating_duration_since(Instant::now());
            let line =
                if left.is_zero() { Err(RecvTimeoutError::Timeout) } else { self.replies.recv_timeout(left) };
            match line {
                // An empty line is no answer.
                Ok(Ok(line)) if line.trim().is_empty() => {}
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(wrong)) => return Err(Failure::new(Status::RuntimeError, wrong)),
                Err(RecvTimeoutError::Timeout) => {
                    let reason =
                        format!("no answer within {} s (--timeout sets the limit)", timeout.as_secs_f64());
                    return Err(Failure::new(Status::Timeout, reason));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new(Status::RuntimeError, format!("it ended: {}", self.end())));
                }
            }
        }
    }

    /// Ends the process, if it has not ended, and says how it ended.
    fn end(&mut self) -> String {
        // Its output is closed: it is about to end, or never will.
        for _ in 0..50 {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.to_string();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

impl Drop for BaselineProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next line, or what is wrong with it; nothing at the end.
fn read_line(output: &mut impl BufRead) -> io::Result<Option<Result<String, String>>> {
    let mut line = Vec::new();
    let read = output.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if read as u64 == LINE_MAX {
        return Ok(Some(Err(format!("it says a line of more than {LINE_MAX} bytes"))));
    }
    Ok((read > 0).then(|| Ok(String::from_utf8_lossy(&line).into_owned())))
}
