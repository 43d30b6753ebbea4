//! What only the operating system knows: the name of the host, who may write where, what is free, which process runs.
//!
//! The one place that differs between Unix and the rest. Elsewhere much of it has no answer here; then nothing is
//! refused for the lack of one.

use std::io;
use std::path::Path;

/// What ends a process that nothing else ends.
#[cfg(unix)]
pub use signal_hook::consts::SIGKILL;
/// What ends a process that nothing else ends; without signals none ever has.
#[cfg(not(unix))]
pub const SIGKILL: i32 = 9;

/// The name of this host.
pub fn host() -> String {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    // A journal takes `-` for a host without a name.
    #[cfg(not(unix))]
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "-".to_owned())
}

/// The variable that names the machine where [`host`] names something that comes and goes, as a container does.
pub const NODE_VARIABLE: &str = "SCANBOX_NODE";

/// The machine whose devices these are, as rows name it.
pub fn node() -> String {
    let told = std::env::var(NODE_VARIABLE).unwrap_or_default();
    let told: String = told.trim().chars().filter(|c| !c.is_control()).collect();
    if told.is_empty() { host() } else { told }
}

/// Whether this user is the owner of a folder, and it is no link to one.
pub fn is_own_folder(folder: &Path) -> bool {
    let Ok(found) = std::fs::symlink_metadata(folder) else { return false };
    #[cfg(unix)]
    let is_own = std::os::unix::fs::MetadataExt::uid(&found) == rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    let is_own = true;
    found.is_dir() && is_own
}

/// Whether files can be made in a folder.
///
/// # Errors
/// What the system has against it.
#[cfg(unix)]
pub fn may_write_in(folder: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    Ok(access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Whether files can be made in a folder: here the first file tells.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn may_write_in(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether a file can be read and written.
pub fn may_read_and_write(file: &Path) -> bool {
    #[cfg(unix)]
    return rustix::fs::access(file, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK).is_ok();
    #[cfg(not(unix))]
    file.exists()
}

/// What is free in the file system of a folder, in bytes, if that is known.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(folder).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}

/// What is free in the file system of a folder, in bytes: not known here.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Whether it is known that no process of this host has this number.
#[cfg(unix)]
pub fn is_gone(pid: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Whether it is known that no process of this host has this number: never here.
#[cfg(not(unix))]
pub fn is_gone(_: i32) -> bool {
    false
}

/// Ends a process that was started as the first of a group, and all others of that group: those that it has started and
/// that have not left it.
#[cfg(unix)]
pub fn kill_group(leader: &std::process::Child) {
    // Who is not there any more needs no end.
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(leader),
        rustix::process::Signal::KILL,
    );
}

/// Ends a process that was started as the first of a group, and all others of that group: here nobody has any.
#[cfg(not(unix))]
pub fn kill_group(_: &std::process::Child) {}

/// Whether a thread of a process is at work or could be, rather than waiting for a device where no signal reaches it.
#[cfg(target_os = "linux")]
pub fn is_running(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let state = |task: std::fs::DirEntry| -> Option<char> {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        stat[stat.rfind(')')? + 1..].trim_start().chars().next()
    };
    tasks.into_iter().flatten().flatten().filter_map(state).any(|state| matches!(state, 'R' | 'S'))
}

/// Whether a thread of a process is at work: nobody says it here.
#[cfg(not(target_os = "linux"))]
pub fn is_running(_: u32) -> bool {
    false
}

/// Whether this process was started by the one with this number, itself or through others.
#[cfg(target_os = "linux")]
pub fn is_ancestor(pid: i32) -> bool {
    // pid (name) state parent: the name may hold anything.
    let parent = |child: &i32| -> Option<i32> {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()
    };
    let own = i32::try_from(std::process::id()).ok();
    std::iter::successors(own, parent).take(MOST_ANCESTORS).skip(1).any(|ancestor| ancestor == pid)
}

/// Processes that are looked at from one to its parent: far more than there are.
#[cfg(target_os = "linux")]
const MOST_ANCESTORS: usize = 100;

/// Whether this process was started by the one with this number: elsewhere nobody says it.
#[cfg(not(target_os = "linux"))]
pub fn is_ancestor(_: i32) -> bool {
    false
}

/// Tries to make a file in a folder, and takes it away.
///
/// # Errors
/// What the system has against it.
pub fn try_to_write_in(folder: &Path) -> io::Result<()> {
    tempfile::Builder::new().prefix(".scanbox-").tempfile_in(folder).map(drop)
}

/// Whether an error of a lock says that the file system has none. A network file system without a lock service says
/// it in several ways; all of them mean the same.
pub fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let no_locks = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];
        let code = error.raw_os_error();
        if no_locks.iter().any(|no| code == Some(no.raw_os_error())) {
            return true;
        }
    }
    error.kind() == io::ErrorKind::Unsupported
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    #[test]
    fn a_process_runs_unless_it_is_stopped_or_gone() {
        assert!(is_running(std::process::id()));
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        let begun = std::time::Instant::now();
        while is_running(child.id()) && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(!is_running(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_running(child.id()));
    }
}
