//! The journal of a sweep: what was about to happen, so that a config that ends its process is known by name.
//!
//! ```text
//! run BOOT                  a run begins; BOOT is what the system calls the time since it was started
//! start CONFIG SIZE         a config is about to run, one at a time
//! ended CONFIG SIZE CAUSE   it took its worker with it
//! dropped CONFIG SIZE       it was stopped on request
//! end                       the run ended in good order
//! ```

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Key;

/// A run that was killed together with its worker says little about the config in flight: somebody wanted it to end,
/// or its time in a batch system was over. So many of those weigh as much as one worker that a config ended.
const KILLED_RUNS_PER_WORKER: u32 = 2;

/// The journal beside a sweep file.
pub struct Journal {
    path: PathBuf,
    /// Open from the first line that a run writes.
    file: Option<File>,
    past: Past,
}

/// What the lines of a journal say.
#[derive(Default)]
struct Past {
    /// Bytes up to the end of the last complete line.
    complete_bytes: u64,
    /// Workers that each config has ended.
    ended: HashMap<Key, u32>,
    /// Runs that were killed while a config ran.
    killed: HashMap<Key, u32>,
}

impl Journal {
    /// Reads the journal, if there is one. `done` are the configs that have their row: none of them is to blame for the
    /// end of a run.
    pub fn open(path: &Path, done: &HashSet<Key>) -> anyhow::Result<Self> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let past = Past::read(&bytes, boot().as_deref(), done);
        Ok(Self { path: path.to_owned(), file: None, past })
    }

    /// How many workers a config has ended, in this run and before.
    pub fn workers_ended(&self, key: &Key) -> u32 {
        let count = |map: &HashMap<Key, u32>| map.get(key).copied().unwrap_or(0);
        count(&self.past.ended) + count(&self.past.killed) / KILLED_RUNS_PER_WORKER
    }

    /// A run begins.
    pub fn run(&mut self) -> anyhow::Result<()> {
        let failed = || format!("{}; choose another place with --out", self.path.display());
        let file = File::options().append(true).create(true).open(&self.path).with_context(failed)?;
        // A torn last line was cut off before its config ran.
        file.set_len(self.past.complete_bytes).with_context(failed)?;
        self.file = Some(file);
        self.line(&format!("run {}", boot().as_deref().unwrap_or("unknown")))
    }

    /// A config is about to run.
    pub fn start(&mut self, key: &Key) -> anyhow::Result<()> {
        self.about("start", key, "")
    }

    /// A worker ended on a config.
    pub fn ended(&mut self, key: &Key, cause: &str) -> anyhow::Result<()> {
        *self.past.ended.entry(key.clone()).or_insert(0) += 1;
        self.about("ended", key, cause)
    }

    /// A config was stopped on request.
    pub fn dropped(&mut self, key: &Key) -> anyhow::Result<()> {
        self.about("dropped", key, "")
    }

    /// The run ends in good order.
    pub fn end(&mut self) -> anyhow::Result<()> {
        self.line("end")
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> anyhow::Result<()> {
        match &self.file {
            Some(file) => file.sync_data().with_context(|| self.path.display().to_string()),
            None => Ok(()),
        }
    }

    /// Removes the journal of a complete sweep, unless it says how workers ended.
    pub fn retire(&mut self) {
        if self.past.ended.is_empty() {
            self.file = None;
            // One that stays does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }

    fn about(&mut self, verb: &str, (config, n): &Key, cause: &str) -> anyhow::Result<()> {
        let line = format!("{verb} {config} {n} {}", cause.replace(['\n', '\r'], " "));
        self.line(line.trim_end())
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        let file =
            self.file.as_mut().context("a journal is written between the begin and the end of a run")?;
        // One system call, so that a line is there or not.
        file.write_all(format!("{line}\n").as_bytes()).with_context(|| self.path.display().to_string())
    }
}

/// Takes the journal away, and with it what it holds against any config.
pub fn forget(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| path.display().to_string())
        }
        _ => Ok(()),
    }
}

impl Past {
    fn read(bytes: &[u8], boot: Option<&str>, done: &HashSet<Key>) -> Self {
        let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut past = Self { complete_bytes: complete as u64, ..Self::default() };
        let mut in_flight: Option<Key> = None;
        let mut same_boot = false;
        let text = String::from_utf8_lossy(&bytes[..complete]);
        for line in text.lines() {
            let mut words = line.splitn(4, ' ');
            let (verb, subject) = (words.next(), words.next());
            let n = words.next().and_then(|word| word.parse().ok());
            let key = subject.zip(n).map(|(config, n)| (config.to_owned(), n));
            match (verb, key) {
                (Some("start"), Some(key)) => in_flight = Some(key),
                (Some("ended"), Some(key)) => {
                    in_flight = None;
                    *past.ended.entry(key).or_insert(0) += 1;
                }
                (Some("dropped"), _) | (Some("end"), _) => in_flight = None,
                (Some("run"), _) => {
                    past.killed_with(in_flight.take(), same_boot, done);
                    same_boot = subject == boot;
                }
                // Something that a crash left.
                _ => {}
            }
        }
        past.killed_with(in_flight, same_boot, done);
        past
    }

    /// Nobody saw how a run ended. If the whole machine went down, the config that ran is the first suspect.
    fn killed_with(&mut self, in_flight: Option<Key>, same_boot: bool, done: &HashSet<Key>) {
        let Some(key) = in_flight.filter(|key| !done.contains(key)) else { return };
        let counts = if same_boot { &mut self.killed } else { &mut self.ended };
        *counts.entry(key).or_insert(0) += 1;
    }
}

/// What the system calls the time since it was started, where it has a word for it.
fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ended` and `killed` of config `a` at size 1, after a journal of these lines, for the boot `now`.
    fn check(lines: &str, ended: u32, killed: u32) {
        let done = HashSet::from([("done".to_owned(), 1)]);
        for torn in ["", "start a 1", "ended a 1 x", "\u{fffd}"] {
            let text = lines.split_terminator(';').map(|line| format!("{line}\n")).collect::<String>();
            let past = Past::read((text.clone() + torn).as_bytes(), Some("now"), &done);
            let key = ("a".to_owned(), 1);
            let found = (past.ended.get(&key).copied(), past.killed.get(&key).copied());
            assert_eq!(found, ((ended > 0).then_some(ended), (killed > 0).then_some(killed)), "{text}{torn}");
            assert_eq!(past.complete_bytes, text.len() as u64);
        }
    }

    #[test]
    fn a_config_is_blamed_for_what_it_ended() {
        check("", 0, 0);
        check("run now;start a 1", 0, 1);
        check("run before;start a 1", 1, 0);
        check("run now;start a 1;end", 0, 0);
        check("run now;start a 1;dropped a 1;end", 0, 0);
        check("run now;start a 1;ended a 1 killed by signal 6;end", 1, 0);
        check("run now;start a 1;start b 1;end", 0, 0);
        check("run now;start a 1;run now;start a 1;run now", 0, 2);
        check("run before;start a 1;run now;start b 1", 1, 0);
        check("run now;start b 1;start done 1", 0, 0);
        check("run now;start a;start a one;nonsense;;start", 0, 0);
        check("start a 1", 1, 0);
    }
}
