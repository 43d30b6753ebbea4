//! Programs that a test writes and then runs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that can be run at once.
///
/// Another process writes it: a file that this one has open for writing is inherited by each process that another
/// test starts in that moment, and as long as it is open anywhere, it cannot be run ("text file busy").
pub fn write_program(path: &Path, text: &str) {
    let mut writer =
        Command::new("sh").args(["-c", "cat >\"$1\"", "sh"]).arg(path).stdin(Stdio::piped()).spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success(), "{} cannot be written", path.display());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
