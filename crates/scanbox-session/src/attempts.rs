//! Attempts at a sweep on nodes that come and go: rows on the node, copies of them in a folder that all nodes share.
//!
//! An attempt works in a folder of its own below the scratch folder, which no other attempt has, and publishes copies
//! by renaming, under a name that no other attempt has. So the share needs no locks, and an attempt that nobody can
//! reach any more can only add a file. An attempt begins with what all earlier ones have published, and with what those
//! that died on this node had not published yet.

pub mod agreed;
mod gathered;
mod publisher;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use scanbox_analysis::merge::fleet::UnitRatio;
use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::merged::MergedUnit;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Record, Status};
use scanbox_model::units::plural;
use scanbox_runner::row::now_utc;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use self::gathered::Gathered;
use self::publisher::{Names, Publisher};
use crate::lock;
use crate::notes::note;
use crate::process::RunLimits;
use crate::store::taken_back_words;
use crate::system::{host, is_own_folder, node, try_to_write_in};

/// What stands between the name of a sweep and that of the attempt.
pub const MARK: &str = ".attempt-";
/// How folders of attempts below the scratch folder begin.
const PREFIX: &str = "scanbox-";
/// The file in such a folder that says where its attempt publishes.
const DESTINATION: &str = "publishes-to";

/// What an attempt needs to be taken home by another one.
#[derive(Serialize, Deserialize)]
struct Destination {
    /// Where it publishes.
    publish: PathBuf,
    /// Bytes of its journal that are of attempts before it.
    inherited: usize,
}

/// Where attempts work and publish.
#[derive(Debug, Clone)]
pub struct AttemptFolders {
    /// On the node.
    pub scratch: PathBuf,
    /// On what all nodes share.
    pub publish: PathBuf,
    /// Time between two copies.
    pub every: Duration,
}

impl AttemptFolders {
    /// Whether both can be used.
    ///
    /// # Errors
    /// When one is missing, is no folder or cannot be written, and when both are the same.
    pub fn check(&self) -> anyhow::Result<()> {
        let mut places = Vec::new();
        for (option, folder) in [("--scratch", &self.scratch), ("--publish", &self.publish)] {
            let told = || format!("{option} {}", folder.display());
            if !folder.exists() {
                bail!("{}: there is no such folder; make it, or name another one", told());
            }
            if !folder.is_dir() {
                bail!("{}: that is not a folder", told());
            }
            try_to_write_in(folder).with_context(|| format!("{}: nothing can be written there", told()))?;
            places.push(folder.canonicalize().with_context(told)?);
        }
        if places[0] == places[1] {
            bail!(
                "--scratch and --publish are both {}: the one is on this node, the other on what all nodes share",
                places[0].display()
            );
        }
        Ok(())
    }

    /// Begins an attempt at the sweep of this name (a file name without its ending), with what others have published.
    ///
    /// # Errors
    /// When the folders cannot be read or written.
    pub fn begin(&self, sweep: &str, limits: &RunLimits<'_>) -> anyhow::Result<Attempt> {
        let folder = self.own_folder()?;
        let csv = folder.path().join(format!("{sweep}.csv"));
        // Before anything else is there: what has no lock was left by somebody.
        let lock = lock::results_file(&csv, None, limits)?;
        let publish = self.publish.canonicalize()?;
        self.take_home(&publish);
        let before = Gathered::of(&publish, sweep)?;
        before.tell(&publish);
        let destination = Destination { publish: publish.clone(), inherited: before.journal.len() };
        fs::write(folder.path().join(DESTINATION), serde_json::to_vec(&destination)?)?;
        before.write(&csv)?;
        let id = id_of(folder.path()).unwrap_or_default();
        let names = Names::new(&csv, &publish.join(format!("{sweep}{MARK}{id}.csv")), before.journal.len());
        Ok(Attempt {
            every: self.every,
            publisher: None,
            lock: Some(lock),
            before: before.files,
            off: before.off,
            is_kept: false,
            names,
            folder: Some(folder),
        })
    }

    /// What an attempt would begin with, in a folder that goes away with the value.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn look(&self, sweep: &str) -> anyhow::Result<AttemptPreview> {
        let folder = self.own_folder()?;
        let csv = folder.path().join(format!("{sweep}.csv"));
        let before = Gathered::of(&self.publish, sweep)?;
        before.tell(&self.publish);
        before.write(&csv)?;
        Ok(AttemptPreview { csv, before: before.files, _folder: folder })
    }

    /// A folder whose name has time, host and process, and an end that makes it one of its own all the same.
    fn own_folder(&self) -> anyhow::Result<TempDir> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let host: String = host().chars().map(plain).take(40).collect();
        let time = now_utc().replace([':', '-'], "");
        let prefix = format!("{PREFIX}{time}-{host}-{}-", std::process::id());
        tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir_in(&self.scratch)
            .with_context(|| format!("--scratch {}", self.scratch.display()))
    }

    /// Publishes what attempts that died on this node have left here, each under its own name. What cannot be taken
    /// home stays for the next attempt.
    fn take_home(&self, publish: &Path) {
        for folder in folders_in(&self.scratch) {
            let told = fs::read(folder.join(DESTINATION)).ok();
            let told = told.and_then(|bytes| serde_json::from_slice::<Destination>(&bytes).ok());
            let Some((id, told)) = id_of(&folder).zip(told.filter(|told| told.publish == publish)) else {
                continue;
            };
            let files = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            // The rows may be gone that the lock was for.
            let left: Vec<PathBuf> = files
                .filter(|path| path.extension().is_some_and(|ending| ending == "lock"))
                .map(|lock| lock.with_extension("csv"))
                .filter(|csv| lock::is_left(csv))
                .collect();
            let names = |csv: &PathBuf| {
                let sweep = csv.file_stem().unwrap_or_default().to_string_lossy();
                Names::new(csv, &publish.join(format!("{sweep}{MARK}{id}.csv")), told.inherited)
            };
            let begun: Vec<Names> = left.iter().map(names).filter(|names| !names.is_nothing()).collect();
            if left.is_empty() {
                continue;
            }
            match begun.iter().try_for_each(Names::publish) {
                Ok(()) => {
                    if !begun.is_empty() {
                        note(&format!(
                            "{}: an attempt died here; its rows are published now",
                            folder.display()
                        ));
                    }
                    // One that stays is published once more.
                    let _ = fs::remove_dir_all(&folder);
                }
                Err(error) => note(&format!(
                    "warning: {}: an attempt died here, and what it left cannot be published: {error:#}; the folder stays, \
                     and so does what was published before",
                    folder.display()
                )),
            }
        }
    }
}

/// The unit that a device is, as its rows tell it.
fn unit_of(device: &DeviceProfile) -> MergedUnit {
    let pci_address = device.pci_address.clone().unwrap_or_default();
    MergedUnit { host: node(), pci_address, uuid: device.uuid.clone() }
}

fn folders_in(scratch: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
    // In a folder of all users, somebody else could have this user publish whatever this user may read.
    let is_attempt = |path: &PathBuf| id_of(path).is_some() && is_own_folder(path);
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_attempt).collect();
    folders.sort_unstable();
    folders
}

/// The name of the attempt that works in a folder.
fn id_of(folder: &Path) -> Option<String> {
    folder.file_name()?.to_str()?.strip_prefix(PREFIX).map(str::to_owned)
}

/// What an attempt would begin with.
pub struct AttemptPreview {
    /// Its rows.
    pub csv: PathBuf,
    /// What attempts have published.
    pub before: Vec<PathBuf>,
    _folder: TempDir,
}

impl AttemptPreview {
    /// How the files are called that an attempt would publish.
    pub fn pattern(&self) -> String {
        let sweep = self.csv.file_stem().unwrap_or_default().to_string_lossy();
        format!("{sweep}{MARK}*.csv")
    }
}

/// An attempt that runs. Dropped, it publishes what it has.
pub struct Attempt {
    names: Names,
    every: Duration,
    publisher: Option<Publisher>,
    lock: Option<Option<fs::File>>,
    /// Those before it; the last one had seen most.
    before: Vec<PathBuf>,
    /// Units that are off at the anchors of all shards.
    off: Vec<UnitRatio>,
    /// Whether its rows stay on the node, as they cannot be published.
    is_kept: bool,
    /// Gone, once it is published.
    folder: Option<TempDir>,
}

impl Attempt {
    /// Where its rows are, on the node.
    pub fn csv(&self) -> &Path {
        self.names.scratch()
    }

    /// The lock of its rows: once.
    pub fn take_lock(&mut self) -> Option<fs::File> {
        self.lock.take().flatten()
    }

    /// Where the rows are that everybody sees: its own, or, where it had nothing to add, those of the attempt before.
    /// Of rows that could not be published, where they are on the node.
    pub fn published(&self) -> &Path {
        let own = self.names.published();
        if self.is_kept {
            return self.names.scratch();
        }
        if own.exists() { own } else { self.before.last().map_or(own, PathBuf::as_path) }
    }

    /// Where it publishes.
    pub fn destination(&self) -> &Path {
        self.names.published()
    }

    /// Why what this device measures would not count, if it is a unit that is off at the anchors of all shards.
    pub fn off(&self, device: &DeviceProfile) -> Option<String> {
        let own = unit_of(device);
        let off = self.off.iter().find(|unit| unit.unit == own)?;
        Some(format!(
            "{}: what it measures does not count; the same command measures it on another one",
            off.how()
        ))
    }

    /// The same of a device that has measured some of these rows, by what is published now.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn off_now(&mut self, device: &DeviceProfile, rows: &[Record]) -> anyhow::Result<Option<String>> {
        let own = unit_of(device);
        if !rows.iter().any(|row| row.status == Status::Ok && MergedUnit::of(row) == own) {
            return Ok(None);
        }
        let published = self.names.published();
        let folder = published.parent().unwrap_or(Path::new("."));
        let sweep = self.names.scratch().file_stem().unwrap_or_default().to_string_lossy();
        self.off = Gathered::of(folder, &sweep)?.off;
        Ok(self.off(device))
    }

    /// What attempts before it have published.
    pub fn before(&self) -> &[PathBuf] {
        &self.before
    }

    /// From now on publishes what changes.
    pub fn go_on(&mut self) {
        note(&format!("copies go to {}", self.names.published().display()));
        self.publisher.get_or_insert_with(|| Publisher::start(self.names.clone(), self.every));
    }

    /// Publishes what there is, for the last time, and removes the folder on the node.
    ///
    /// # Errors
    /// When it cannot be published; then it stays on the node, and the message says where.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        let Some(folder) = self.folder.take() else { return Ok(()) };
        let published = match self.publisher.take() {
            Some(publisher) => publisher.finish(),
            None => Ok(()),
        };
        if let Err(error) = published {
            let kept = folder.keep();
            self.is_kept = self.csv().exists();
            let own = self.names.published();
            return Err(error).with_context(|| match (self.is_kept, own.exists()) {
                (true, _) => {
                    format!("the rows could not be published; they are in {} on {}", kept.display(), host())
                }
                (false, true) => {
                    format!("the rows of this node are gone; what was published of them is {}", own.display())
                }
                (false, false) => {
                    "the rows of this node are gone, and none of them were published".to_owned()
                }
            });
        }
        // What stays there is in nobody's way.
        let _ = folder.close();
        Ok(())
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            note(&format!("error: {error:#}"));
        }
    }
}

impl Gathered {
    fn tell(&self, publish: &Path) {
        if !self.files.is_empty() {
            note(&format!(
                "{} of {} in {}",
                plural(self.rows.len(), "row"),
                plural(self.files.len(), "earlier attempt"),
                publish.display()
            ));
        }
        if self.taken_back > 0 {
            note(&taken_back_words(self.taken_back));
        }
        for unit in &self.off {
            note(&format!("warning: {}: its rows do not count", unit.how()));
        }
        if self.taken_back_off > 0 {
            note(&format!("{} of it are measured again", plural(self.taken_back_off, "row")));
        }
        if !self.foreign.is_empty() {
            let few: Vec<&str> = self.foreign.iter().take(5).map(String::as_str).collect();
            let more = self.foreign.len() - few.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            note(&format!(
                "warning: {} has files that no sweep has published, which are left alone: {}{more}",
                publish.display(),
                few.join(", ")
            ));
        }
    }

    /// Puts it where an attempt goes on from.
    fn write(&self, csv: &Path) -> anyhow::Result<()> {
        if !self.rows.is_empty() {
            csv_file::replace(csv, &self.rows)?;
        }
        if let Some(metadata) = &self.metadata {
            metadata.write(&Metadata::path_beside(csv))?;
        }
        if !self.journal.is_empty() {
            fs::write(csv.with_extension("journal"), &self.journal)?;
        }
        Ok(())
    }
}
