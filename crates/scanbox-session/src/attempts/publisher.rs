//! Copies of what an attempt has, renamed into the folder that all nodes share.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use scanbox_model::metadata::Metadata;
use scanbox_model::units::plural;
use scanbox_model::whole_file;

use crate::notes::note;
use crate::store::lasting;

/// Between two looks whether the facts about a run have changed, at most.
const TICK: Duration = Duration::from_secs(1);
/// How often the last copy is tried: a share that is full may have room a moment later.
const LAST_TRIES: u32 = 3;

/// The files of an attempt, on its node and for all.
#[derive(Debug, Clone)]
pub struct Names {
    scratch: PathBuf,
    published: PathBuf,
    /// Bytes of the journal that are of earlier attempts, which have published them.
    inherited: usize,
}

impl Names {
    pub fn new(scratch: &Path, published: &Path, inherited: usize) -> Self {
        Self { scratch: scratch.to_owned(), published: published.to_owned(), inherited }
    }

    /// The rows on the node.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The rows for all.
    pub fn published(&self) -> &Path {
        &self.published
    }

    /// Copies what there is: first what rows need beside them.
    ///
    /// # Errors
    /// When a file cannot be read or written, and when the node has lost rows or metadata that were there: the copies
    /// are then all that is left, and stay.
    pub fn publish(&self) -> anyhow::Result<()> {
        let beside = Metadata::path_beside(&self.scratch);
        let metadata = fs::read(&beside).with_context(|| beside.display().to_string())?;
        if metadata.is_empty() {
            bail!("{} is empty", beside.display());
        }
        let rows = fs::read(&self.scratch).with_context(|| self.scratch.display().to_string())?;
        // The line that is just being written is not there yet.
        let rows = complete_lines(&rows);
        let copied = read_if_there(&self.published)?.unwrap_or_default();
        // Rows of an attempt never get fewer: a confirmation changes them where they are.
        let (here, there) = (count_lines(rows), count_lines(complete_lines(&copied)));
        if here < there {
            bail!(
                "{} has {}, and its copy has {there}",
                self.scratch.display(),
                plural(here, "complete line")
            );
        }
        self.publish_journal()?;
        put(&Metadata::path_beside(&self.published), &metadata)?;
        put(&self.published, rows)
    }

    /// Copies what the journal holds against configs beyond what earlier attempts have published.
    fn publish_journal(&self) -> anyhow::Result<()> {
        let beside = self.published.with_extension("journal");
        let journal = read_if_there(&self.scratch.with_extension("journal"))?;
        let own = journal.as_ref().and_then(|journal| journal.get(self.inherited..)).unwrap_or_default();
        let facts = lasting(own);
        if !facts.is_empty() {
            return put(&beside, facts.as_bytes());
        }
        let Some(copied) = read_if_there(&beside)? else { return Ok(()) };
        // A sweep that is complete takes its journal away, unless a worker has ended; a run writes to it first of all.
        let is_over = match journal {
            None => !String::from_utf8_lossy(&copied).lines().any(|line| line.starts_with("ended ")),
            Some(_) => !own.is_empty(),
        };
        if is_over {
            fs::remove_file(&beside).with_context(|| beside.display().to_string())?;
        }
        Ok(())
    }

    /// Whether no run had begun: then there is nothing to publish.
    pub fn is_nothing(&self) -> bool {
        let rows = fs::read(&self.scratch).unwrap_or_default();
        !self.published.exists()
            && !Metadata::path_beside(&self.scratch).exists()
            && complete_lines(&rows).is_empty()
    }

    /// What there is to publish now; nothing before a run has begun.
    fn state(&self) -> Option<CopyState> {
        let facts = fs::metadata(Metadata::path_beside(&self.scratch)).ok()?;
        let rows = fs::metadata(&self.scratch).ok()?;
        // None where nothing is held against any config.
        let journal = fs::metadata(self.scratch.with_extension("journal")).map_or(0, |journal| journal.len());
        Some(CopyState {
            facts: (facts.modified().ok()?, facts.len()),
            rows: (rows.modified().ok()?, rows.len()),
            journal,
        })
    }
}

/// What tells one state of the files of an attempt from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CopyState {
    facts: (SystemTime, u64),
    rows: (SystemTime, u64),
    journal: u64,
}

/// The bytes of a file, if it is there.
fn read_if_there(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some).with_context(|| path.display().to_string()),
    }
}

/// The bytes up to the end of the last complete line.
fn complete_lines(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)]
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    whole_file::replace(path, |out| out.write_all(bytes)).with_context(|| path.display().to_string())
}

/// Publishes as long as it is there, beside the sweep: a share that does not answer does not hold up the device.
pub struct Publisher {
    /// Its end is the order to publish for the last time.
    order: Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Publisher {
    pub fn start(names: Names, every: Duration) -> Self {
        let (order, orders) = channel::<()>();
        // What is there before the run begins is of attempts that have published it.
        let mut copies = Copies { published: names.state(), names, every, last: None, trouble: None };
        let thread = std::thread::spawn(move || {
            loop {
                copies.look();
                match orders.recv_timeout(every.min(TICK)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return copies.last_one(),
                }
            }
        });
        Self { order, thread }
    }

    pub fn finish(self) -> anyhow::Result<()> {
        drop(self.order);
        self.thread.join().unwrap_or_else(|_| anyhow::bail!("the thread that publishes has ended"))
    }
}

struct Copies {
    names: Names,
    every: Duration,
    /// What is published.
    published: Option<CopyState>,
    last: Option<Instant>,
    /// Why the last copy could not be made.
    trouble: Option<String>,
}

impl Copies {
    /// Publishes when it is time: rows now and then, and at once that a run has begun, so that it is known even if it
    /// dies soon.
    fn look(&mut self) {
        let Some(state) = self.names.state().filter(|state| self.published.as_ref() != Some(state)) else {
            return;
        };
        let due = self.last.is_none_or(|last| last.elapsed() >= self.every);
        let news = self.trouble.is_none() && self.published.is_none_or(|before| before.facts != state.facts);
        if !due && !news {
            return;
        }
        self.last = Some(Instant::now());
        match self.names.publish() {
            Ok(()) => {
                self.published = Some(state);
                if self.trouble.take().is_some() {
                    note("rows are published again");
                }
            }
            Err(error) => self.tell(format!("{error:#}")),
        }
    }

    /// Once, until it changes.
    fn tell(&mut self, trouble: String) {
        if self.trouble.as_ref() != Some(&trouble) {
            note(&format!(
                "warning: {trouble}; rows cannot be published now and stay in {}; the sweep goes on, and publishing is \
                 tried again",
                self.names.scratch.display()
            ));
            self.trouble = Some(trouble);
        }
    }

    fn last_one(&self) -> anyhow::Result<()> {
        if self.names.state() == self.published {
            return Ok(());
        }
        for _ in 1..LAST_TRIES {
            if self.names.publish().is_ok() {
                return Ok(());
            }
            std::thread::sleep(TICK);
        }
        self.names.publish()
    }
}
