//! What the host itself says, and the programs on it.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Memory that programs can still get, where the system tells.
pub(super) fn available_memory_bytes() -> Option<u64> {
    meminfo_bytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}

pub(super) fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    value.trim().strip_suffix(" kB")?.parse().ok().map(|kib: u64| kib * 1024)
}

/// What a program prints, if it ends well within a time.
pub(super) fn output_of(program: &str, arguments: &[&str], limit: Duration) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "not installed".to_owned(),
        _ => error.to_string(),
    })?;
    let mut output = child.stdout.take().expect("stdout is piped");
    // Apart, so that a full pipe does not stop the program. The thread ends with the output.
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        output.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", limit.as_secs_f64()));
            }
        }
    };
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    reader.join().map_err(|_| "its output cannot be read".to_owned())?.map_err(|error| error.to_string())
}
