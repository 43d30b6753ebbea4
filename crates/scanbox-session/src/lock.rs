//! Locks: one run at a time on a device, and on a results file. The system lets go of a lock when its process ends,
//! however it ends.
//!
//! Three files stand for a device, in a folder of the host: the run (held by its supervisor alone), its workers (each
//! holds it together with others, so that one which cannot be killed still keeps the next run out), and those who
//! share the device on purpose (so that the run which they disturb knows).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use scanbox_model::device::DeviceProfile;
use scanbox_model::whole_file::folder_of;
use scanbox_runner::row::now_utc;

use crate::device::replay_script;
use crate::failure::SessionError;
use crate::notes::note;
use crate::process::{RunLimits, Worker, WorkerCommand};
use crate::system::{self, host};

/// A process that is just being started holds the locks of the one that starts it until it runs its own program, and so
/// for a moment longer than one that was killed.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same where the process that holds the lock is gone: a driver may need seconds to take down what it has left.
const PATIENCE_WITH_THE_DEAD: Duration = Duration::from_secs(10);
/// Between two looks.
const TICK: Duration = Duration::from_millis(20);
/// The variable that names the folder of the locks of devices.
const FOLDER_VARIABLE: &str = "SCANBOX_LOCKS";

/// How a run stands with others on its device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sharing {
    /// How long to wait while another run uses the device or the file, instead of giving up at once.
    pub wait: Option<Duration>,
    /// Run beside others on the device: their times and these disturb each other, and rows say so.
    pub share_device: bool,
}

/// The device of a run, which no other run uses as long as this is there.
pub struct Occupied {
    /// Held by the run; none where the system has no locks, and where the device is shared.
    _run: Option<File>,
    /// Looked at to see whether somebody shares the device now.
    sharers: Option<PathBuf>,
    /// This run shares it.
    shares: bool,
}

impl Occupied {
    /// Whether another run may disturb this one, or the other way round.
    pub fn is_shared(&self) -> bool {
        let others = || {
            let Some(file) = self.sharers.as_deref().and_then(|path| open(path).ok()) else { return false };
            matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        };
        self.shares || others()
    }
}

impl Sharing {
    /// Takes the device of a worker for this run. While it waits it has no worker; workers that `command` starts from
    /// now on hold the device too.
    ///
    /// # Errors
    /// [`SessionError::InUse`], when another run has it.
    pub fn occupy(
        &self,
        worker: Worker,
        command: &mut WorkerCommand,
        limits: &RunLimits<'_>,
    ) -> anyhow::Result<(Worker, Occupied)> {
        let Some(paths) = Paths::of(&command.device, &worker.profile) else {
            return Ok((worker, Occupied::alone()));
        };
        let title = worker.profile.title();
        let mut worker = Some(worker);
        let request = |path: &Path, what: String, advice| LockRequest {
            path: path.to_owned(),
            what,
            advice,
            wait: self.wait,
        };
        if self.share_device {
            let sharers = open(&paths.sharers)?;
            // Whoever looks at it holds it for a moment.
            sharers.lock_shared().or_else(|error| tolerate(error, &paths.sharers))?;
            let run = open(&paths.run)?;
            match run.try_lock_shared() {
                Err(TryLockError::WouldBlock) => {
                    note(&format!("{title} is shared with another run ({})", holder(&paths.run)));
                }
                Ok(()) => add_owner(&run, "shares the device")?,
                Err(TryLockError::Error(error)) => tolerate(error, &paths.run)?,
            }
            // Two files in one: they are held as long as the process lives.
            std::mem::forget(sharers);
            let occupied = Occupied { _run: Some(run), sharers: None, shares: true };
            return Ok((worker.take().expect("it was there"), occupied));
        }
        let advice = "wait for it with --wait, or run beside it with --share-device, which rows then say";
        let on_wait = &mut || drop(worker.take());
        let run =
            take(&request(&paths.run, format!("{title} is in use by another run"), advice), limits, on_wait)?;
        // Of a run that is gone, a worker may still be there.
        let left = format!("{title} is still in use by a worker of a run that has ended");
        let advice = "end that worker, or restart the machine if it cannot be killed; or run beside it with --share-device";
        let dead = LockRequest {
            wait: self.wait.or(Some(PATIENCE_WITH_THE_DEAD)),
            ..request(&paths.workers, left, advice)
        };
        if let Some(workers) = take(&dead, limits, on_wait)? {
            // This process is none of them.
            workers.set_len(0)?;
        }
        command.device_lock = Some(paths.workers);
        let worker = match worker {
            Some(worker) => worker,
            None => command.start(limits)?,
        };
        Ok((worker, Occupied { _run: run, sharers: Some(paths.sharers), shares: false }))
    }
}

impl Occupied {
    /// Of a system that has no place for locks.
    fn alone() -> Self {
        Self { _run: None, sharers: None, shares: false }
    }
}

/// The lock of a results file, taken before anything in it is read, in a folder that is made where there is none.
///
/// # Errors
/// [`SessionError::InUse`], when another run writes it; when the folder cannot be made.
pub fn results_file(
    csv: &Path,
    sharing: Option<&Sharing>,
    limits: &RunLimits<'_>,
) -> anyhow::Result<Option<File>> {
    let folder = folder_of(csv);
    fs::create_dir_all(folder)
        .with_context(|| format!("output folder {}; choose another with --out", folder.display()))?;
    let wait = sharing.and_then(|sharing| sharing.wait);
    take(&request_of_file(csv, wait), limits, &mut || {})
}

/// Whether another run writes to the file now. Nothing is made for that.
///
/// # Errors
/// [`SessionError::InUse`], when one does.
pub fn check_free(csv: &Path) -> anyhow::Result<()> {
    let LockRequest { path, what, advice, .. } = request_of_file(csv, None);
    if !path.exists() {
        return Ok(());
    }
    let file = open(&path)?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            Err(SessionError::InUse { what, holder: holder(&path), advice }.into())
        }
        _ => Ok(()),
    }
}

/// Whether a results file was left by a run of this host that is gone.
#[must_use]
pub fn is_left(csv: &Path) -> bool {
    let path = beside(csv);
    let Some(file) = path.exists().then(|| open(&path).ok()).flatten() else { return false };
    // Where the system has no locks, the number of the process alone says it.
    let held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    !held && Holders::of(&path).all_gone
}

/// The file that is locked for a results file: beside what a link leads to, so that all names of a file have one.
#[must_use]
pub fn beside(csv: &Path) -> PathBuf {
    csv.canonicalize().unwrap_or_else(|_| csv.to_owned()).with_extension("lock")
}

fn request_of_file(csv: &Path, wait: Option<Duration>) -> LockRequest {
    LockRequest {
        path: beside(csv),
        what: format!("{} is being written by another run", csv.display()),
        advice: "wait for it with --wait, or choose another file with --out",
        wait,
    }
}

/// Holds the device for a worker, as long as the worker lives.
pub fn hold_for_worker(path: &Path) {
    // The supervisor has the device; this is for the time after it.
    if let Ok(file) = open(path)
        && file.lock_shared().is_ok()
    {
        let _ = add_owner(&file, "is a worker");
        std::mem::forget(file);
    }
}

/// Says that a process uses a device that answers requests on it and has no supervisor: rows of whoever has the device,
/// or takes it, say then that it is shared. One of its own ancestors (`rerun`) may have it for this process.
///
/// # Errors
/// When the files of the device cannot be locked.
pub fn share_with_others(selector: &str, device: &DeviceProfile) -> anyhow::Result<()> {
    let Some(paths) = Paths::of(selector, device) else { return Ok(()) };
    let run = open(&paths.run)?;
    let other = match run.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(holder(&paths.run)),
        Ok(()) => None,
        Err(TryLockError::Error(error)) => return tolerate(error, &paths.run),
    };
    drop(run);
    if let Some(other) = other {
        if pid_of(&other).is_some_and(system::is_ancestor) {
            return Ok(());
        }
        note(&format!(
            "warning: {} is in use by another run ({other}): its times and these disturb each other",
            device.title()
        ));
    }
    let sharers = open(&paths.sharers)?;
    sharers.lock_shared().or_else(|error| tolerate(error, &paths.sharers))?;
    // It is held as long as the process lives.
    std::mem::forget(sharers);
    Ok(())
}

/// What is to be locked, and how long to wait for it.
struct LockRequest {
    path: PathBuf,
    what: String,
    advice: &'static str,
    wait: Option<Duration>,
}

/// Takes a lock that nobody else has at the same time; `None` where the system has no locks. `on_wait` is called
/// once, before a wait that may be long.
fn take(
    request: &LockRequest,
    limits: &RunLimits<'_>,
    on_wait: &mut dyn FnMut(),
) -> anyhow::Result<Option<File>> {
    let file = open(&request.path)?;
    let start = Instant::now();
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(error)) => {
                tolerate(error, &request.path)?;
                // Without a lock the line is all that tells whether its writer is still there.
                if Holders::of(&request.path).all_gone {
                    file.set_len(0)?;
                }
                add_owner(&file, "")?;
                return Ok(None);
            }
            Err(TryLockError::WouldBlock) => {}
        }
        let Holders { text: holder, all_gone } = Holders::of(&request.path);
        let patience = if all_gone { PATIENCE_WITH_THE_DEAD } else { PATIENCE };
        if start.elapsed() > patience && !told && request.wait.is_some() {
            told = true;
            note(&format!("{} ({holder}); waiting for it", request.what));
            on_wait();
        }
        if start.elapsed() > patience.max(request.wait.unwrap_or_default()) {
            return Err(
                SessionError::InUse { what: request.what.clone(), holder, advice: request.advice }.into()
            );
        }
        limits.pause(TICK)?;
    }
    file.set_len(0)?;
    add_owner(&file, "")?;
    Ok(Some(file))
}

/// Opens a file to lock it. Other users may lock it too.
fn open(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    // Several processes write into it, each a line.
    options.read(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    // First without creating it: in a folder of all users, a file of another one may not be created anew.
    let opened = options.open(path).or_else(|_| {
        let made = options.create(true).open(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let _ = made.set_permissions(fs::Permissions::from_mode(0o666));
        }
        Ok::<_, io::Error>(made)
    });
    opened.with_context(|| {
        format!("lock {}; choose another place with --out or {FOLDER_VARIABLE}", path.display())
    })
}

/// Writes into a locked file that this process has it, too.
fn add_owner(mut file: &File, role: &str) -> anyhow::Result<()> {
    // A line is a process.
    let command = std::env::args().map(|word| word.replace(char::is_control, " "));
    let command: Vec<String> = command.collect();
    let job = std::env::var("SLURM_JOB_ID").map_or_else(|_| String::new(), |job| format!(", job {job}"));
    let role = if role.is_empty() { String::new() } else { format!(" {role}") };
    let words = command.join(" ");
    let text =
        format!("process {}{role} on {}{job}, since {}: {words}\n", std::process::id(), host(), now_utc());
    Ok(file.write_all(text.as_bytes())?)
}

/// Who holds a lock.
struct Holders {
    /// Those that may still be there, in words.
    text: String,
    /// None is there any more of those that have said that they hold it.
    all_gone: bool,
}

impl Holders {
    fn of(path: &Path) -> Self {
        let mut text = String::new();
        let _ = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
        Self::in_text(&text)
    }

    /// Each has written a line. Whoever is gone holds nothing, and who is named is ended by somebody.
    fn in_text(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let alive: Vec<&str> = lines.iter().copied().filter(|line| !is_gone(line)).collect();
        let text = match (alive.is_empty(), lines.last()) {
            (false, _) => alive.join("; "),
            (true, Some(last)) => format!("{last}; that process is gone"),
            (true, None) => "it is just beginning".to_owned(),
        };
        Self { text, all_gone: alive.is_empty() && !lines.is_empty() }
    }
}

/// Who holds a lock, in words.
fn holder(path: &Path) -> String {
    Holders::of(path).text
}

/// Whether who has written this line into a lock was a process of this host, and is not there any more.
fn is_gone(holder: &str) -> bool {
    let here = holder.contains(&format!(" on {},", host()));
    here && pid_of(holder).is_some_and(system::is_gone)
}

/// The number of the process that has written this line into a lock.
fn pid_of(holder: &str) -> Option<i32> {
    holder.split([' ', ',']).nth(1)?.parse().ok()
}

/// What to make of a lock that the system does not give.
#[derive(Debug, PartialEq, Eq)]
enum LockTrouble {
    /// The file system has no locks: a run is possible, with a user who takes care.
    NoLocks,
    /// Something is broken.
    Broken,
}

fn judge(error: &io::Error) -> LockTrouble {
    if system::has_no_locks(error) { LockTrouble::NoLocks } else { LockTrouble::Broken }
}

fn tolerate(error: io::Error, path: &Path) -> anyhow::Result<()> {
    match judge(&error) {
        LockTrouble::NoLocks => {
            note(&format!("{}: {error}; nothing stops another run beside this one", path.display()));
            Ok(())
        }
        LockTrouble::Broken => Err(error).with_context(|| format!("lock {}", path.display())),
    }
}

/// The files that stand for a device.
struct Paths {
    run: PathBuf,
    workers: PathBuf,
    sharers: PathBuf,
}

impl Paths {
    /// In a folder that all sessions of this host have, whatever their environment is; `None` where nothing can be
    /// written there.
    fn of(selector: &str, device: &DeviceProfile) -> Option<Self> {
        let name = match replay_script(selector) {
            Some(script) => {
                let path = fs::canonicalize(script).unwrap_or_else(|_| script.to_owned());
                format!("replay {}", path.display())
            }
            // APIs have UUIDs of their own for a device, which stands in one place.
            None => match &device.pci_address {
                Some(pci_address) => format!("pci {pci_address}"),
                None => device.uuid.clone(),
            },
        };
        let name: String = name
            .trim()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        // The end tells scripts apart, and names of files are short.
        let name: String = name.chars().rev().take(160).collect::<Vec<_>>().into_iter().rev().collect();
        let folder = match std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
            Some(folder) => PathBuf::from(folder),
            None if cfg!(unix) => PathBuf::from("/tmp"),
            None => std::env::temp_dir(),
        };
        let path = |kind: &str| folder.join(format!("scanbox-{name}{kind}.lock"));
        let paths = Self { run: path(""), workers: path(".workers"), sharers: path(".sharers") };
        let usable = [&paths.run, &paths.workers, &paths.sharers]
            .into_iter()
            .try_for_each(|path| open(path).map(drop));
        match usable {
            Ok(()) => Some(paths),
            Err(error) => {
                note(&format!("{error:#}; nothing stops another run on {}", device.title()));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn file_systems_without_locks_are_no_obstacle() {
        use rustix::io::Errno;
        let judge = |errno: Errno| judge(&io::Error::from_raw_os_error(errno.raw_os_error()));
        for errno in [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP] {
            assert_eq!(judge(errno), LockTrouble::NoLocks, "{errno}");
        }
        for errno in [Errno::IO, Errno::ACCESS, Errno::BADF, Errno::NOSPC] {
            assert_eq!(judge(errno), LockTrouble::Broken, "{errno}");
        }
    }

    /// Of several workers of one run the first may be stuck, and the last one gone.
    #[test]
    fn every_holder_that_may_be_there_is_named_and_no_other() {
        let (here, own) = (host(), std::process::id());
        let line = |pid: u32, host: &str| format!("process {pid} is a worker on {host}, since now: scanbox");
        let gone = line(999_999_999, &here);
        let (stuck, far) = (line(own, &here), line(7, "elsewhere"));
        let check = |lines: &[&String], named: &[&String], all_gone: bool| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let found = Holders::in_text(&text);
            let expected: Vec<&str> = named.iter().map(|line| line.as_str()).collect();
            assert_eq!((found.text, found.all_gone), (expected.join("; "), all_gone), "{text}");
        };
        check(&[&stuck], &[&stuck], false);
        check(&[&stuck, &gone], &[&stuck], false);
        check(&[&gone, &stuck, &gone, &far], &[&stuck, &far], false);
        check(&[&gone, &gone], &[&format!("{gone}; that process is gone")], true);
        check(&[], &[&"it is just beginning".to_owned()], false);
    }

    #[test]
    fn only_processes_of_this_host_are_known_to_be_gone() {
        let (here, own) = (host(), std::process::id());
        let check = |text: String, gone: bool| assert_eq!(is_gone(&text), gone, "{text}");
        check(format!("process {own} on {here}, since now: scanbox"), false);
        check(format!("process 999999999 on {here}, since now: scanbox"), true);
        check(format!("process 999999999 on {here}, job 7, since now: scanbox"), true);
        check("process 999999999 on elsewhere, since now: scanbox".to_owned(), false);
        check("it is just beginning".to_owned(), false);
        check(String::new(), false);
    }
}
