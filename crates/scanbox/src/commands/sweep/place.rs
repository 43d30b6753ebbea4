//! Where the rows of a run are: in a file that every run of the sweep goes on with, or in one of an attempt's own on
//! the node, of which copies are published.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::Record;
use scanbox_model::space::Space;
use scanbox_model::whole_file;
use scanbox_report::paste;
use scanbox_session::attempts::agreed::OtherShards;
use scanbox_session::attempts::{Attempt, AttemptFolders, AttemptPreview};
use scanbox_session::lock::{self, Sharing};
use scanbox_session::process::RunLimits;
use scanbox_session::store::{OtherPlace, rows_before};
use scanbox_session::system::try_to_write_in;

/// Where the rows of a run are.
pub struct SweepPlace {
    path: PathBuf,
    attempt: Option<Attempt>,
    /// Of a run that only looks.
    _look: Option<AttemptPreview>,
    /// Where an attempt publishes.
    publish: Option<PathBuf>,
}

impl SweepPlace {
    /// The file itself, or, with folders for attempts, one of that name in a folder of this attempt. `only_look`: for a
    /// run that writes nothing.
    ///
    /// # Errors
    /// When the folders cannot be used.
    pub fn of(
        path: PathBuf,
        folders: Option<&AttemptFolders>,
        only_look: bool,
        limits: &RunLimits<'_>,
    ) -> anyhow::Result<Self> {
        let Some(folders) = folders else {
            return Ok(Self { path, attempt: None, _look: None, publish: None });
        };
        let sweep = path.file_stem().context("a sweep has a name")?.to_string_lossy().into_owned();
        let publish = Some(folders.publish.clone());
        if only_look {
            let look = folders.look(&sweep)?;
            return Ok(Self { path: look.csv.clone(), attempt: None, _look: Some(look), publish });
        }
        let attempt = folders.begin(&sweep, limits)?;
        Ok(Self { path: attempt.csv().to_owned(), attempt: Some(attempt), _look: None, publish })
    }

    /// What attempts at other shards of the sweep have published.
    pub fn other_shards(&self) -> OtherShards {
        let sweep = self.path.file_stem().unwrap_or_default().to_string_lossy();
        self.publish.as_ref().map_or_else(OtherShards::default, |publish| OtherShards::of(publish, &sweep))
    }

    /// Where the rows are, on this machine.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lock of the rows.
    ///
    /// # Errors
    /// When another run has it.
    pub fn lock(&mut self, sharing: &Sharing, limits: &RunLimits<'_>) -> anyhow::Result<Option<File>> {
        match &mut self.attempt {
            Some(attempt) => Ok(attempt.take_lock()),
            None => lock::results_file(&self.path, Some(sharing), limits),
        }
    }

    /// The command that writes to another file.
    pub fn other_command(&self) -> String {
        paste::this_command_into(&paste::numbered(&self.path))
    }

    /// Where rows of something else may go, as messages say it; `command` is that which writes to another file.
    pub fn elsewhere<'a>(&self, command: &'a str) -> OtherPlace<'a> {
        if self.publish.is_some() { OtherPlace::Publish } else { OtherPlace::Out(command) }
    }

    /// Whether a run may go on with what is there. What attempts have published is looked at file by file, so that the
    /// message names the one that is of something else.
    ///
    /// # Errors
    /// What is said of the file.
    pub fn check<T>(&self, check: impl Fn(&Path) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let outcome = check(&self.path);
        let (Err(_), Some(publish)) = (&outcome, &self.publish) else { return outcome };
        let attempt = self.attempt.as_ref().map(Attempt::before);
        let before = attempt.or(self._look.as_ref().map(|look| &look.before[..])).unwrap_or_default();
        let culprit = before.iter().filter(|csv| rows_before(csv).is_ok()).find_map(|csv| check(csv).err());
        culprit.map_or(outcome, Err).with_context(|| {
            format!("what attempts have published in {} is not of this run", publish.display())
        })
    }

    /// Where everybody will see the rows, as words.
    pub fn shown(&self) -> PathBuf {
        match (&self.attempt, &self._look, &self.publish) {
            (Some(attempt), ..) => attempt.destination().to_owned(),
            (None, Some(look), Some(publish)) => publish.join(look.pattern()),
            _ => self.path.clone(),
        }
    }

    /// A run begins; `works`: it has something to do.
    pub fn begin(&mut self, works: bool) {
        if let Some(attempt) = self.attempt.as_mut().filter(|_| works) {
            attempt.go_on();
        }
    }

    /// Why what this device measures would not count: of the units that share the sweep it is one that is off.
    pub fn off(&self, device: &DeviceProfile) -> Option<String> {
        self.attempt.as_ref()?.off(device)
    }

    /// Where everybody sees the rows, when all of them are there, and whether they are; and why what this device has
    /// measured does not count, if that has come out since.
    pub fn end(self, device: &DeviceProfile, rows: &[Record]) -> (PathBuf, anyhow::Result<Option<String>>) {
        let Some(mut attempt) = self.attempt else { return (self.path, Ok(None)) };
        let outcome = attempt.finish().and_then(|()| attempt.off_now(device, rows));
        (attempt.published().to_owned(), outcome)
    }
}

/// The name of a file without its ending, and without the shard.
pub fn file_stem(
    device: &DeviceProfile,
    unit: usize,
    space: &Space,
    problem: &Problem,
    real: bool,
) -> String {
    let unit = if unit == 0 { String::new() } else { format!("-{unit}") };
    let problem = if problem.is_default() { String::new() } else { format!(".{problem}") };
    let real = if real { ".real" } else { "" };
    format!("{}{unit}.{}{problem}{real}", device.device_api().file_name_of(&device.name), space.name)
}

/// Whether `--out` names the file itself, not its folder.
pub fn is_file(out: &Path) -> bool {
    out.extension().is_some_and(|extension| extension == "csv")
}

/// Whether the folder of a file can be written, or made.
///
/// # Errors
/// When it can be neither.
pub fn check_folder(path: &Path) -> anyhow::Result<()> {
    let folder = whole_file::folder_of(path);
    let Some(existing) = folder.ancestors().find(|folder| folder.as_os_str().is_empty() || folder.exists())
    else {
        return Ok(());
    };
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    if existing.is_dir() {
        return try_to_write_in(existing)
            .with_context(|| format!("output folder {}; choose another with --out", existing.display()));
    }
    anyhow::bail!(
        "output folder {}: {} is not a folder; choose another with --out",
        folder.display(),
        existing.display()
    )
}
