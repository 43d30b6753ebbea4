//! What a worker says that probes a device, until it has said all or says nothing more.

use std::time::{Duration, Instant};

use crate::failure::SessionError;
use crate::process::{RunLimits, Silence, Worker, describe, signal_from_outside};
use crate::protocol::{Message, Order, Work};

/// What a message is to whoever listens.
pub(super) enum Heard<T> {
    /// All that was waited for.
    All(T),
    /// A sign of life: the next one comes within this time.
    Within(Duration),
    /// Nothing.
    Nothing,
}

/// Why a worker has not said all.
pub(super) struct CutShort {
    /// In words.
    pub why: String,
    /// Whether the device did not survive it: it hangs, or its driver took the process with it. Somebody who ends the
    /// process from outside says nothing about the device.
    pub hung: bool,
}

/// Lets a worker do this, and listens to it; the first message comes within `patience`.
///
/// # Errors
/// When the run has to stop.
pub(super) fn hear<T>(
    worker: &mut Worker,
    work: Work,
    patience: Duration,
    limits: &RunLimits<'_>,
    take: &mut dyn FnMut(Message) -> Heard<T>,
) -> Result<Result<T, CutShort>, SessionError> {
    let work = Box::new(work);
    worker.process.order(&Order::Work { work, operator: None, guarantees: None, device_lock: None });
    let (mut patience, mut since) = (patience, Instant::now());
    let cut_short = |why: String, hung| Ok(Err(CutShort { why, hung }));
    loop {
        match worker.process.next_message() {
            Ok(Message::Failed { reason, .. } | Message::Broke { reason }) => {
                return cut_short(reason, false);
            }
            Ok(message) => match take(message) {
                Heard::All(all) => return Ok(Ok(all)),
                Heard::Within(time) => (patience, since) = (time, Instant::now()),
                Heard::Nothing => {}
            },
            Err(Silence::Waiting) if since.elapsed() < patience => limits.pause(Duration::ZERO)?,
            Err(Silence::Waiting) => {
                worker.process.condemn();
                let why =
                    format!("it hangs: no answer within {} s; its worker was killed", patience.as_secs());
                return cut_short(why, true);
            }
            Err(Silence::Dead(status)) => {
                // Whoever ended the worker may have meant this process too.
                limits.pause(Duration::ZERO)?;
                let why = format!("the worker ended: {}", describe(status));
                return cut_short(why, signal_from_outside(status).is_none());
            }
        }
    }
}
