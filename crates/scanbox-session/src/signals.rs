//! Signals: what asks a run to stop, what ends it at once, and what a worker does not listen to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context;
#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGUSR1, signal::SIGXCPU};
use signal_hook::consts::{SIGINT, SIGTERM};

/// What comes within this time of the first request is the same request: a batch system signals every process of a
/// job, and a wrapper passes on what it has got itself.
const SAME_REQUEST: Duration = Duration::from_secs(5);

/// The variable that tells a process whose end is its end.
const PARENT_VARIABLE: &str = "SCANBOX_PARENT";

/// The exit code of a process that a second request ended at once: that of a shell for SIGINT.
pub const INTERRUPTED_TWICE: i32 = 130;

static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether somebody has asked the run to stop, which the first Ctrl-C or SIGTERM does, and, as other batch systems and
/// a terminal that closes say it, SIGHUP, SIGUSR1 and SIGXCPU. A second Ctrl-C ends the process at once, and so does
/// another signal that comes clearly later than the first request.
///
/// # Errors
/// When the system does not allow to listen.
pub fn stop_on_signals() -> anyhow::Result<&'static AtomicBool> {
    static LISTENS: OnceLock<()> = OnceLock::new();
    if LISTENS.set(()).is_err() {
        return Ok(&STOP);
    }
    listen().context("listening to signals")?;
    Ok(&STOP)
}

/// Whether somebody has asked this process to stop.
pub fn is_asked_to_stop() -> bool {
    STOP.load(Ordering::Relaxed)
}

#[cfg(unix)]
fn listen() -> std::io::Result<()> {
    // A file that may not grow any more is an error of the write, as a full disk is, and no reason to die.
    signal_hook::flag::register(signal_hook::consts::signal::SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let mut asking = vec![SIGINT, SIGTERM, SIGUSR1, SIGXCPU];
    // Under nohup a run outlives its terminal.
    if ignores(SIGHUP) == Some(false) {
        asking.push(SIGHUP);
    }
    let mut signals = signal_hook::iterator::Signals::new(asking)?;
    std::thread::spawn(move || {
        let mut before = SignalsSeen::default();
        for signal in signals.forever() {
            if before.is_enough(signal, Instant::now()) {
                signal_hook::low_level::exit(INTERRUPTED_TWICE);
            }
            STOP.store(true, Ordering::Relaxed);
        }
    });
    Ok(())
}

/// Whether this process was started to ignore a signal, where the system tells that.
#[cfg(unix)]
fn ignores(signal: i32) -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask >> (signal - 1) & 1 == 1)
}

/// Has this process be asked to stop when its parent ends, if [`with_parent`] started it: a signal for the group of the
/// parent does not reach it, and it would go on alone.
pub fn stop_with_parent() {
    let Some(parent) = std::env::var(PARENT_VARIABLE).ok().and_then(|pid| pid.parse::<u32>().ok()) else {
        return;
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        // One that died before the line above has left its child to another process.
        if getppid().is_none_or(|found| found.as_raw_nonzero().get().unsigned_abs() != parent) {
            STOP.store(true, Ordering::Relaxed);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
}

/// Has a command be started in a process group of its own and know whose end is its end.
pub fn with_parent(command: &mut std::process::Command) {
    command.env(PARENT_VARIABLE, std::process::id().to_string());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// Nobody can wait for a signal here: the first one of either kind asks, and any further one ends the process.
#[cfg(not(unix))]
fn listen() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED_TWICE, Arc::clone(&STOP))?;
        signal_hook::flag::register(signal, Arc::clone(&STOP))?;
    }
    Ok(())
}

/// What has come before.
#[derive(Default)]
struct SignalsSeen {
    first: Option<Instant>,
    interrupts: u32,
}

impl SignalsSeen {
    /// Whether this signal ends the process at once.
    fn is_enough(&mut self, signal: i32, now: Instant) -> bool {
        let first = *self.first.get_or_insert(now);
        let later = now.duration_since(first) >= SAME_REQUEST;
        let enough = later || (signal == SIGINT && self.interrupts > 0);
        self.interrupts += u32::from(signal == SIGINT);
        enough
    }
}

/// Makes a worker deaf to the signals that ask its supervisor to stop: who signals all processes of a job means that
/// one, which lets the config in flight finish.
///
/// # Errors
/// When the system does not allow it.
pub fn leave_to_supervisor() -> anyhow::Result<()> {
    let nobody_reads = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [SIGHUP, SIGUSR1, SIGXCPU] {
        signal_hook::flag::register(signal, Arc::clone(&nobody_reads))?;
    }
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&nobody_reads))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_may_be_many_signals() {
        /// Signals with their times in milliseconds; which of them ends the process.
        fn check(signals: &[(i32, u64)], last: Option<usize>) {
            let (start, mut before) = (Instant::now(), SignalsSeen::default());
            let mut enough = signals
                .iter()
                .map(|&(signal, at)| before.is_enough(signal, start + Duration::from_millis(at)));
            assert_eq!(enough.position(|enough| enough), last, "{signals:?}");
        }
        check(&[(SIGTERM, 0)], None);
        check(&[(SIGINT, 0)], None);
        check(&[(SIGTERM, 0), (SIGTERM, 1), (SIGTERM, 200), (SIGTERM, 3000)], None);
        check(&[(SIGTERM, 0), (SIGTERM, 6000)], Some(1));
        check(&[(SIGINT, 0), (SIGINT, 200)], Some(1));
        check(&[(SIGINT, 0), (SIGTERM, 200), (SIGINT, 300)], Some(2));
        check(&[(SIGTERM, 0), (SIGINT, 100)], None);
        check(&[(SIGTERM, 0), (SIGINT, 100), (SIGINT, 200)], Some(2));
        check(&[(SIGINT, 0), (SIGTERM, 7500)], Some(1));
    }
}
