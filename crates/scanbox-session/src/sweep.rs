//! A sweep as its supervisor sees it: the points that are left, and the rows of those that are not.

use std::collections::BTreeMap;

use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, Status};
use scanbox_model::space::Point;
use scanbox_runner::measure::Protocol;
use scanbox_runner::row::{Computation, Origin, blank_record, now_utc};
use scanbox_runner::sweep::Job;

use crate::progress::Progress;
use crate::protocol::{self, Product, Work};
use crate::store::{Key, SweepFile, point_key, row_key};
use crate::supervise::{Death, Task, WORKERS_PER_CONFIG};

/// Gets a row for every point.
pub struct SweepTask<'a> {
    file: &'a mut SweepFile,
    progress: Progress,
    left: BTreeMap<Key, Point>,
    rows: u64,
    settings: Settings,
}

/// What is the same for all rows of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is computed, and on which elements.
    pub computation: Computation,
    /// Seed of the order.
    pub seed: u64,
    /// How times are taken.
    pub protocol: Protocol,
    /// What rows say about their origin.
    pub origin: Origin,
}

impl<'a> SweepTask<'a> {
    /// The task of getting rows for these points into the file.
    pub fn new(file: &'a mut SweepFile, points: &[Point], settings: Settings) -> Self {
        let left = points.iter().map(|point| (point_key(point), *point)).collect();
        Self { file, progress: Progress::new(points), left, rows: 0, settings }
    }

    /// Takes the progress away.
    pub fn end(&self) {
        self.progress.end();
    }

    fn append(&mut self, record: Record) -> anyhow::Result<()> {
        self.left.remove(&row_key(&record));
        self.rows += 1;
        self.progress.finished(&record);
        self.file.append(record)
    }

    /// The row of a config that could not give one itself.
    fn append_for(
        &mut self,
        key: &Key,
        device: &DeviceProfile,
        status: Status,
        reason: String,
    ) -> anyhow::Result<()> {
        let settings = &self.settings;
        let Some(point) = self.left.get(key) else { return Ok(()) };
        let input = settings.computation.input(&point.config, device);
        let mut record = blank_record(point, &settings.computation, &input, device, &settings.origin);
        record.status = status;
        record.reason = reason;
        record.order_index = self.rows;
        record.timestamp_utc = now_utc();
        self.append(record)
    }
}

/// The key of a row, of what a worker says about its config.
fn key_of(key: &protocol::Key) -> Key {
    (key.subject.label(), key.n)
}

impl Task for SweepTask<'_> {
    fn work(&self, one_by_one: bool) -> Work {
        let is_to_prove = |(key, _): &(&Key, &Point)| self.file.is_to_be_proved(key);
        Work::Sweep(Job {
            points: self.left.values().copied().collect(),
            prove: self.left.iter().filter(is_to_prove).map(|(_, point)| *point).collect(),
            computation: self.settings.computation,
            copy_sizes: self.file.sizes_without_copy(self.left.values()),
            seed: self.settings.seed,
            protocol: self.settings.protocol,
            order_start: self.rows,
            one_by_one,
            origin: self.settings.origin.clone(),
        })
    }

    fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    /// Configs that have ended too many workers, in this run or before, get their row without being tried.
    fn begin(&mut self, device: &DeviceProfile) -> anyhow::Result<()> {
        let keys: Vec<Key> = self.left.keys().cloned().collect();
        for key in keys {
            let ended = self.file.workers_ended(&key);
            if ended >= WORKERS_PER_CONFIG {
                let reason = format!("{ended} workers ended while they ran it; the journal says how");
                self.append_for(&key, device, Status::Quarantined, reason)?;
            }
        }
        Ok(())
    }

    fn phase(&mut self, what: &str) {
        self.progress.phase(what);
    }

    fn remark(&mut self, text: &str) {
        self.progress.remark(text);
    }

    fn broke(&mut self, how: &str) -> anyhow::Result<()> {
        self.file.broke(how)
    }

    fn ceiling(&mut self, n: u64, gbps: f64) {
        self.progress.ceiling(n, gbps);
        self.file.metadata.copy_gbps.insert(n, (gbps * 10.0).round() / 10.0);
    }

    fn intend(&mut self, key: &protocol::Key) -> anyhow::Result<()> {
        self.file.intend(&key_of(key))
    }

    /// While the device works the disk costs the sweep nothing.
    fn meanwhile(&mut self) -> anyhow::Result<()> {
        self.file.sync_when_due()
    }

    fn finish(&mut self, product: Product) -> anyhow::Result<()> {
        match product {
            Product::Row(row) => self.append(csv_file::read_row(&row)?),
            Product::Verdict(_) => Ok(()),
        }
    }

    fn worker_ended(&mut self, death: &Death, device: &DeviceProfile) -> anyhow::Result<()> {
        let key = key_of(&death.key);
        self.file.worker_ended(&key, &death.how)?;
        match &death.outcome {
            Some((status, reason)) => self.append_for(&key, device, *status, reason.clone()),
            None => Ok(()),
        }
    }

    fn dropped(&mut self, key: &protocol::Key) -> anyhow::Result<()> {
        self.file.dropped(&key_of(key))
    }
}
