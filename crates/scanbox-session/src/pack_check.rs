//! Trying the kernels of a pack on a device: in a worker, since a kernel may hang or take its driver with it.

use std::path::Path;
use std::time::{Duration, Instant};

use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;
use scanbox_runner::packed::PackVerdict;

use crate::failure::SessionError;
use crate::lock::Sharing;
use crate::process::{RunLimits, Silence, Worker, WorkerCommand, describe};
use crate::protocol::{Message, Order, Work};
use crate::tools::Tools;

/// What became of the kernels of a pack.
#[derive(Debug)]
pub struct PackChecked {
    /// The device.
    pub device: DeviceProfile,
    /// By kernel and use.
    pub verdicts: Vec<PackVerdict>,
    /// Why not all of them were tried, if they were not.
    pub trouble: Option<String>,
}

/// Tries every kernel of the pack in this file, each of which may take so long; `heard` is told of each.
///
/// # Errors
/// When there is no such device, another run has it, or the run has to stop.
pub fn check(
    path: &Path,
    selector: &str,
    operator: Option<&OperatorFile>,
    timeout: Duration,
    sharing: Sharing,
    tools: &Tools,
    heard: &mut dyn FnMut(&PackVerdict),
) -> anyhow::Result<PackChecked> {
    let limits = RunLimits::of_run(None)?;
    let mut command = WorkerCommand::new(selector, operator, tools);
    let worker = command.start(&limits)?;
    let (mut worker, occupied) = sharing.occupy(worker, &mut command, &limits)?;
    let device = worker.profile.clone();
    worker.process.order(&Order::Work {
        work: Box::new(Work::Pack { path: path.to_owned() }),
        operator: operator.map(|file| file.source().clone()),
        guarantees: None,
        device_lock: None,
    });
    let mut verdicts = Vec::new();
    let trouble = listen(&mut worker, timeout, &limits, &mut |verdict| {
        heard(&verdict);
        verdicts.push(verdict);
    })?;
    drop(worker);
    drop(occupied);
    Ok(PackChecked { device, verdicts, trouble })
}

/// Takes in what a worker says until it has tried all, or cannot go on: then returns why.
fn listen(
    worker: &mut Worker,
    timeout: Duration,
    limits: &RunLimits<'_>,
    take: &mut dyn FnMut(PackVerdict),
) -> Result<Option<String>, SessionError> {
    let mut trying: Option<String> = None;
    let mut deadline = Instant::now() + timeout;
    loop {
        let (status, reason) = match worker.process.next_message() {
            Ok(Message::Ended { .. }) => return Ok(None),
            Ok(Message::Failed { reason, .. } | Message::Broke { reason }) => return Ok(Some(reason)),
            Ok(Message::Doing { what }) => {
                trying = Some(what);
                deadline = Instant::now() + timeout;
                continue;
            }
            Ok(Message::Packed(verdict)) => {
                trying = None;
                deadline = Instant::now() + timeout;
                take(*verdict);
                continue;
            }
            Ok(_) => {
                deadline = Instant::now() + timeout;
                continue;
            }
            Err(Silence::Waiting) if Instant::now() < deadline => {
                limits.pause(Duration::ZERO)?;
                continue;
            }
            Err(Silence::Waiting) => {
                let seconds = timeout.as_secs_f64();
                let reason =
                    format!("not finished within {seconds} s: maybe only slow; --timeout gives it longer");
                (Status::Timeout, reason)
            }
            Err(Silence::Dead(status)) => {
                // Whoever ended the worker may have meant this process too.
                limits.pause(Duration::ZERO)?;
                (Status::RuntimeError, format!("the worker ended: {}", describe(status)))
            }
        };
        let Some(what) = trying else { return Ok(Some(reason)) };
        take(PackVerdict {
            what,
            status,
            reason: reason.clone(),
            lacks_subgroups_of: None,
            calls: 0,
            elements: 0,
        });
        return Ok(Some(format!("{reason}; what comes behind it was not tried")));
    }
}
