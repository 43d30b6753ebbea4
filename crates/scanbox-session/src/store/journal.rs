//! The journal of a sweep: what was about to happen, so that a config that ends its process is known by name.
//!
//! ```text
//! run BOOT HOST UP NOW      a run begins on HOST; BOOT is what the system calls the time since it was started, UP when that
//!                           was and NOW when the run began, both in seconds since 1970
//! start CONFIG SIZE         a config is about to run, one at a time
//! ended CONFIG SIZE CAUSE   it took its worker with it
//! dropped CONFIG SIZE       it was stopped on request, or by a signal that says nothing about it
//! broke CAUSE               a worker ended while no config ran
//! end                       the run ended in good order
//! ```

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::RowKey;
use crate::system::host;

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
    /// Workers, and machines, that each config has ended.
    ended: HashMap<RowKey, u32>,
}

impl Journal {
    /// Reads the journal, if there is one. `done` are the configs that have their row: none of them is to blame for the
    /// end of a run.
    pub fn open(path: &Path, done: &HashSet<RowKey>) -> anyhow::Result<Self> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let past = Past::read(&bytes, &Machine::this(), done);
        Ok(Self { path: path.to_owned(), file: None, past })
    }

    /// How many workers, or machines, a config has ended, in this run and before.
    pub fn workers_ended(&self, key: &RowKey) -> u32 {
        self.past.ended.get(key).copied().unwrap_or(0)
    }

    /// A run begins.
    pub fn run(&mut self) -> anyhow::Result<()> {
        // Lines of a run before it in this process stay.
        if self.file.is_none() {
            let failed = || format!("{}; choose another place with --out", self.path.display());
            let file = File::options().append(true).create(true).open(&self.path).with_context(failed)?;
            // A torn last line was cut off before its config ran.
            file.set_len(self.past.complete_bytes).with_context(failed)?;
            self.file = Some(file);
        }
        self.line(&format!("run {}", Machine::this()))
    }

    /// A config is about to run.
    pub fn start(&mut self, key: &RowKey) -> anyhow::Result<()> {
        self.about("start", key, "")
    }

    /// A worker ended on a config.
    pub fn ended(&mut self, key: &RowKey, cause: &str) -> anyhow::Result<()> {
        *self.past.ended.entry(key.clone()).or_insert(0) += 1;
        self.about("ended", key, cause)
    }

    /// A worker ended while no config ran.
    pub fn broke(&mut self, cause: &str) -> anyhow::Result<()> {
        self.line(&format!("broke {}", cause.replace(['\n', '\r'], " ")))
    }

    /// A config was stopped on request.
    pub fn dropped(&mut self, key: &RowKey) -> anyhow::Result<()> {
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
            self.past.complete_bytes = 0;
            // One that stays does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }

    fn about(&mut self, verb: &str, (config, n): &RowKey, cause: &str) -> anyhow::Result<()> {
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

/// The lines that still say something when the run is over: runs that died, with what they were at, and configs that
/// ended workers. A cut last line says nothing.
#[must_use]
pub fn lasting(bytes: &[u8]) -> String {
    let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let text = String::from_utf8_lossy(&bytes[..complete]);
    let (mut kept, mut in_flight) = (Vec::new(), None);
    for line in text.lines() {
        match line.split(' ').next() {
            Some("run") => {
                kept.extend(in_flight.take());
                kept.push(line);
            }
            Some("start") => in_flight = Some(line),
            Some("ended") => {
                in_flight = None;
                kept.push(line);
            }
            _ => in_flight = None,
        }
    }
    kept.extend(in_flight);
    if kept.iter().all(|line| line.starts_with("run ")) {
        return String::new();
    }
    kept.iter().map(|line| format!("{line}\n")).collect()
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
    fn read(bytes: &[u8], here: &Machine, done: &HashSet<RowKey>) -> Self {
        let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut past = Self { complete_bytes: complete as u64, ..Self::default() };
        let mut in_flight: Option<RowKey> = None;
        let mut machine: Option<Machine> = None;
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
                (Some("dropped" | "end" | "broke"), _) => in_flight = None,
                (Some("run"), _) => {
                    let next = Machine::parse(line);
                    past.killed_with(in_flight.take(), machine.as_ref(), next.as_ref(), done);
                    machine = next;
                }
                // Something that a crash left.
                _ => {}
            }
        }
        past.killed_with(in_flight, machine.as_ref(), Some(here), done);
        past
    }

    /// Nobody saw how a run on `then` ended; the next one was on `now`. What ends a supervisor is no config: somebody
    /// killed it, or its time in a batch system was over. Only if the whole machine went down is the config that ran
    /// a suspect.
    fn killed_with(
        &mut self,
        in_flight: Option<RowKey>,
        then: Option<&Machine>,
        now: Option<&Machine>,
        done: &HashSet<RowKey>,
    ) {
        let Some(key) = in_flight.filter(|key| !done.contains(key)) else { return };
        if then.zip(now).is_some_and(|(then, now)| now.was_restarted_since(then)) {
            *self.ended.entry(key).or_insert(0) += 1;
        }
    }
}

/// A machine from one start to the next, at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Machine {
    /// What the system calls the time since it was started.
    boot: String,
    host: String,
    /// When it was started, in seconds since 1970.
    up: i64,
    /// The moment.
    now: i64,
}

impl Machine {
    /// This one, now. Where the system has no word for something, it stays `-` or 0, and proves nothing.
    fn this() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let word = |text: &str| text.split_whitespace().next().unwrap_or("-").to_owned();
        let up = read("/proc/stat").lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
        Self {
            boot: word(&read("/proc/sys/kernel/random/boot_id")),
            host: word(&host()),
            up: up.unwrap_or(0),
            now: jiff::Timestamp::now().as_second(),
        }
    }

    /// From the line that begins a run; older journals do not say enough.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, boot, host, up, now] = words[..] else { return None };
        let (up, now) = (up.parse().ok()?, now.parse().ok()?);
        Some(Self { boot: boot.to_owned(), host: host.to_owned(), up, now })
    }

    /// Whether this is the same machine, which was started again after that moment: another boot alone may be another
    /// node of the same name, or another container.
    fn was_restarted_since(&self, then: &Self) -> bool {
        let known = |machine: &Self| machine.boot != "-" && machine.host != "-";
        known(self) && known(then) && self.host == then.host && self.boot != then.boot && self.up > then.now
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { boot, host, up, now } = self;
        write!(f, "{boot} {host} {up} {now}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many workers and machines config `a` at size 1 has ended, after a journal of these lines, for a run that
    /// begins now on boot 9 of host `h`, which was started at second 900.
    fn check(lines: &str, ended: u32) {
        let done = HashSet::from([("done".to_owned(), 1)]);
        let here = Machine::parse("run 9 h 900 950").unwrap();
        for torn in ["", "start a 1", "ended a 1 x", "\u{fffd}"] {
            let text = lines.split_terminator(';').map(|line| format!("{line}\n")).collect::<String>();
            let past = Past::read((text.clone() + torn).as_bytes(), &here, &done);
            let found = past.ended.get(&("a".to_owned(), 1)).copied();
            assert_eq!(found, (ended > 0).then_some(ended), "{text}{torn}");
            assert_eq!(past.complete_bytes, text.len() as u64);
        }
    }

    #[test]
    fn a_config_is_blamed_for_what_it_ended() {
        check("", 0);
        check("run 9 h 900 910;start a 1;end", 0);
        check("run 9 h 900 910;start a 1;dropped a 1;end", 0);
        check("run 9 h 900 910;broke the device was lost;end", 0);
        check("run 9 h 900 910;start a 1;ended a 1 killed by signal 6;end", 1);
        check("run 9 h 900 910;start a 1;start b 1;end", 0);
        check("run 9 h 900 910;start a;start a one;nonsense;;start", 0);
    }

    #[test]
    fn a_killed_run_says_something_only_if_its_machine_went_down() {
        // The same boot, once and again: somebody killed the run.
        check("run 9 h 900 910;start a 1", 0);
        check("run 9 h 900 910;start a 1;run 9 h 900 920;start a 1;run 9 h 900 930;start a 1", 0);
        // This machine was started again since: once, twice; and only what ran then is a suspect.
        check("run 8 h 800 810;start a 1", 1);
        check("run 7 h 700 710;start a 1;run 8 h 800 810;start a 1", 2);
        check("run 8 h 800 810;start a 1;run 9 h 900 910;start b 1", 1);
        check("run 8 h 800 810;start b 1;start done 1", 0);
        check("run 8 h 800 810;start done 1", 0);
        // Other hosts, and other boots of a machine that has been up all the time: nodes of one name, containers.
        check("run 8 g 800 810;start a 1;run 7 f 700 910;start a 1", 0);
        check("run 8 h 800 910;start a 1;run 7 h 700 920;start a 1", 0);
        // Nobody knows.
        check("start a 1", 0);
        check("run 8;start a 1", 0);
        check("run - h 800 810;start a 1", 0);
        check("run 8 - 800 810;start a 1", 0);
    }

    /// What lasts weighs the same, whatever other attempts stand before and behind it.
    #[test]
    fn what_lasts_of_a_journal_says_the_same() {
        let check = |lines: &str, kept: &str| {
            let text = |lines: &str| -> String {
                lines.split_terminator(';').map(|line| format!("{line}\n")).collect()
            };
            assert_eq!(lasting((text(lines) + "ended a 1").as_bytes()), text(kept), "{lines}");
            assert_eq!(lasting(text(kept).as_bytes()), text(kept), "{kept}");
            let here = Machine::parse("run 9 h 900 950").unwrap();
            let weigh = |text: String| Past::read(text.as_bytes(), &here, &HashSet::new()).ended;
            let other = "run 5 g 500 510;start b 1;dropped b 1;end;";
            assert_eq!(weigh(text(lines)), weigh(text(kept)), "{lines}");
            assert_eq!(weigh(text(other) + &text(lines)), weigh(text(other) + &text(kept)), "{lines}");
        };
        check("", "");
        check("run 9 h 900 910;start a 1;dropped a 1;end", "");
        check("run 9 h 900 910;start a 1;broke x;end", "");
        check("run 8 h 800 810;start b 1;start a 1", "run 8 h 800 810;start a 1");
        check(
            "run 8 h 800 810;start a 1;ended a 1 signal 6;start b 1;start c 1;end",
            "run 8 h 800 810;ended a 1 signal 6",
        );
        check(
            "run 7 h 700 710;start a 1;run 8 h 800 810;start a 1;end;run 8 g 800 820;end",
            "run 7 h 700 710;start a 1;run 8 h 800 810;run 8 g 800 820",
        );
    }

    #[test]
    fn a_machine_reads_what_it_writes() {
        let here = Machine::this();
        assert_eq!(Machine::parse(&format!("run {here}")), Some(here));
    }
}
