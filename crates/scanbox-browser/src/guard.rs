//! The process between a worker and the browser that it has started.
//!
//! A browser is many processes, and a worker may be killed at any time: so this one waits for the end of whoever
//! started it, which it hears of by the end of its input, and then ends the browser, all of it, and removes what it
//! has written.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, stdin};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The command of the program that is [`run`].
pub const COMMAND: &str = "guard-browser";
/// Lines of what a browser says that are kept.
const LAST_WORDS: usize = 3;
/// How long they may take to arrive.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs a browser, a program and its arguments, in a folder of its own, until it ends or nobody wants it any more.
/// Returns how it ended, where it did so by itself.
///
/// # Errors
/// When it cannot be started.
pub fn run(program: &OsString, arguments: &[OsString]) -> std::io::Result<Option<String>> {
    listen_to_nobody()?;
    let folder = tempfile::Builder::new().prefix("scanbox-browser.").tempdir()?;
    let mut data = OsString::from("--user-data-dir=");
    data.push(folder.path());
    let mut command = Command::new(program);
    command.arg(data).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // With all that it starts, so that all of it can be ended.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut browser = command.spawn()?;
    let words = Arc::new(Mutex::new(VecDeque::new()));
    if let Some(errors) = browser.stderr.take() {
        let words = Arc::clone(&words);
        std::thread::spawn(move || {
            for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
                let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
                words.push_back(String::from_utf8_lossy(&line).into_owned());
                if words.len() > LAST_WORDS {
                    words.pop_front();
                }
            }
        });
    }
    let (sender, wanted) = channel();
    std::thread::spawn(move || {
        // Whatever comes, it is the end that counts.
        let _ = stdin().lock().read_to_end(&mut Vec::new());
        let _ = sender.send(());
    });
    let ended = loop {
        if let Some(status) = browser.try_wait()? {
            break Some(status);
        }
        if wanted.recv_timeout(Duration::from_millis(20)).is_ok() {
            break None;
        }
    };
    end(&mut browser);
    // What is left of it may still write there for a moment.
    for _ in 0..20 {
        if std::fs::remove_dir_all(folder.path()).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(PATIENCE);
    let words = words.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(ended.map(|status| described(status, &words.iter().cloned().collect::<Vec<_>>())))
}

fn described(status: ExitStatus, words: &[String]) -> String {
    match words {
        [] => format!("{status}"),
        words => format!("{status}; its last words: {}", words.join(" / ")),
    }
}

/// A Ctrl-C in the terminal is for who started this; when that ends, this does.
#[cfg(unix)]
fn listen_to_nobody() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn listen_to_nobody() -> std::io::Result<()> {
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false))).map(drop)
}

/// Ends a browser with all that it has started.
fn end(browser: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(browser.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = browser.kill();
    let _ = browser.wait();
}
