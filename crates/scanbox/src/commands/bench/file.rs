//! The file of a benchmark.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scanbox_model::csv_file::Appender;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::Record;
use scanbox_report::paste;
use scanbox_runner::session::End;
use scanbox_session::notes::note;

use crate::output::Output;

/// The rows of a run on their way to their file: beside it until the run has come to its end.
pub struct BenchFile {
    path: PathBuf,
    output: Output,
    partial: PathBuf,
    appender: Appender,
    /// Those so far.
    pub records: Vec<Record>,
}

impl BenchFile {
    /// Begins the rows. What is at their place has been looked at.
    pub fn create(path: &Path, output: Output) -> anyhow::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let elsewhere = || format!("{}; choose another place with --out", folder.display());
        fs::create_dir_all(folder).with_context(elsewhere)?;
        let partial = path.with_extension("csv.partial");
        match fs::remove_file(&partial) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).with_context(elsewhere),
            _ => {}
        }
        let (appender, _) = Appender::open(&partial).with_context(elsewhere)?;
        Ok(Self { path: path.to_owned(), output, partial, appender, records: Vec::new() })
    }

    /// Adds a row.
    pub fn append(&mut self, record: Record) -> anyhow::Result<()> {
        self.appender.append(&record)?;
        self.records.push(record);
        Ok(())
    }

    /// Says where the rows are of a run that cannot go on.
    pub fn leave(&self) {
        if self.records.is_empty() {
            let _ = fs::remove_file(&self.partial);
        } else {
            note(&format!("the rows so far are in {}", paste::path(&self.partial)));
        }
    }

    /// Gives the rows their place; those of a run that was cut short stay beside it. Says where they are.
    pub fn finish(&self, metadata: &Metadata, end: End) -> anyhow::Result<PathBuf> {
        self.appender.sync()?;
        if end != End::Complete {
            return Ok(self.partial.clone());
        }
        // Somebody may have put something there meanwhile; then the rows stay beside it.
        self.output.check().inspect_err(|_| self.leave())?;
        metadata.write(&Metadata::path_beside(&self.path))?;
        fs::rename(&self.partial, &self.path).with_context(|| self.path.display().to_string())?;
        Ok(self.path.clone())
    }
}
