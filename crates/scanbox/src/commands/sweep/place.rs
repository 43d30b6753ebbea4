//! Where the rows of a run are: in a file that every run of the sweep goes on with, or in one of an attempt's own on
//! the node, of which copies are published.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scanbox_session::attempts::{Attempt, AttemptFolders, AttemptPreview};
use scanbox_session::lock::Sharing;
use scanbox_session::process::RunLimits;
use scanbox_session::store::SweepFile;

/// Where the rows of a run are.
pub struct RowsPlace {
    path: PathBuf,
    attempt: Option<Attempt>,
    /// Of a run that only looks.
    _look: Option<AttemptPreview>,
    /// Where an attempt publishes.
    publish: Option<PathBuf>,
}

impl RowsPlace {
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
            None => SweepFile::lock(&self.path, Some(sharing), limits),
        }
    }

    /// What keeps a run from going on with what is there, said of where that came from.
    ///
    /// # Errors
    /// The error.
    pub fn explain<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        match &self.publish {
            None => outcome,
            Some(publish) => outcome.with_context(|| {
                format!(
                    "what attempts have published in {} is not of this run; publish to another folder",
                    publish.display()
                )
            }),
        }
    }

    /// A run begins; `works`: it has something to do.
    pub fn begin(&mut self, works: bool) {
        if let Some(attempt) = self.attempt.as_mut().filter(|_| works) {
            attempt.go_on();
        }
    }

    /// Where everybody sees the rows, when all of them are there, and whether they are.
    pub fn end(self) -> (PathBuf, anyhow::Result<()>) {
        let Some(mut attempt) = self.attempt else { return (self.path, Ok(())) };
        let outcome = attempt.finish();
        (attempt.published().to_owned(), outcome)
    }
}
