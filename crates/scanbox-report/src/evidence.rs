//! What a report shows beside the answers: rows that failed, other implementations, and how the files were made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rayon::prelude::*;
use scanbox_analysis::bench::baseline_gbps;
use scanbox_analysis::grouping::{OWN_SUBJECT, release};
use scanbox_analysis::problem::Problem;
use scanbox_analysis::table::{DeviceIdentity, DeviceTable};
use scanbox_model::csv_file::{self, CsvError};
use scanbox_model::device_api::DeviceApi;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Clock, Record, Status};

use crate::words::maker;

/// Collected file by file.
#[derive(Debug, Default)]
pub struct Evidence {
    /// The files, as they were named.
    pub files: Vec<String>,
    /// Attempts of sweeps that did not end ok.
    pub failures: Vec<FailedAttempt>,
    /// Scans of other implementations on hot buffers.
    pub baselines: Vec<BaselineLine>,
    /// With the file that each stands beside.
    metadata: Vec<(String, Metadata)>,
}

/// What tells the runs of devices apart, as a row says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    file: String,
    problem: Problem,
    device: String,
    api: DeviceApi,
    device_uuid: String,
    host: String,
    pci_address: String,
    driver: String,
    version: String,
    kernel_hash: String,
}

/// An attempt that did not end ok.
#[derive(Debug, Clone)]
pub struct FailedAttempt {
    /// Where.
    pub run: RunIdentity,
    /// Input size in elements.
    pub n: u64,
    /// The label of the config.
    pub config: String,
    /// How it ended.
    pub status: Status,
    /// Why.
    pub reason: String,
}

/// Another implementation on one device.
#[derive(Debug, Clone)]
pub struct BaselineLine {
    device: String,
    api: DeviceApi,
    device_uuid: String,
    /// What it is called, with its version.
    name: String,
    /// Whose it is.
    pub maker: String,
    problem: Problem,
    /// Throughput by size, in GB/s.
    pub gbps: BTreeMap<u64, f64>,
}

impl RunIdentity {
    /// Whether these are the rows of this table.
    pub fn is_of(&self, table: &DeviceTable) -> bool {
        let provenance = &table.provenance;
        let unknown_or = |text: &str, own: &str| text.is_empty() || text == own;
        let is_unit = |device: &&DeviceIdentity| {
            unknown_or(&self.host, &device.host)
                && unknown_or(&self.pci_address, &device.pci_address)
                && self.device_uuid == device.uuid
        };
        table.files.contains(&self.file)
            && table.units().iter().any(is_unit)
            && self.problem == table.problem
            && self.device == table.device.name
            && self.api == table.device.api
            && self.driver == provenance.driver
            && self.kernel_hash == provenance.kernel_hash
            && release(&self.version) == provenance.version
    }
}

impl Evidence {
    /// Reads all files, several at the same time.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn read(paths: &[PathBuf], clock: Clock) -> anyhow::Result<Self> {
        // As the answers do: a file that is named twice is read once.
        let mut seen = BTreeSet::new();
        let first = |path: &&PathBuf| seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
        let paths: Vec<&PathBuf> = paths.iter().filter(first).collect();
        let files: Vec<anyhow::Result<Self>> = paths
            .par_iter()
            .map(|path| {
                let mut file = Self { files: vec![path.display().to_string()], ..Self::default() };
                csv_file::for_each(path, |row| {
                    file.add(row.record, clock);
                    Ok::<(), CsvError>(())
                })?;
                let beside = Metadata::path_beside(path);
                if beside.exists() {
                    file.metadata.push((path.display().to_string(), Metadata::read(&beside)?));
                }
                Ok(file)
            })
            .collect();
        let mut all = Self::default();
        for file in files {
            let file = file?;
            all.files.extend(file.files);
            all.failures.extend(file.failures);
            all.baselines.extend(file.baselines);
            all.metadata.extend(file.metadata);
        }
        Ok(all)
    }

    fn add(&mut self, record: &Record, clock: Clock) {
        if record.subject == OWN_SUBJECT && !record.is_of_benchmark() {
            if record.status != Status::Ok {
                let file = self.files.first().map_or("", String::as_str);
                self.failures.push(FailedAttempt::new(record, file));
            }
            return;
        }
        let Some(gbps) = baseline_gbps(record, clock) else { return };
        let line = BaselineLine {
            device: record.device.clone(),
            api: DeviceApi::of(record),
            device_uuid: record.device_uuid.clone(),
            name: format!("{} ({})", record.subject, record.subject_version),
            maker: maker(record),
            problem: Problem::of_row(record).unwrap_or_default(),
            gbps: BTreeMap::new(),
        };
        let index = self.baselines.iter().position(|other| other.is_same(&line)).unwrap_or_else(|| {
            self.baselines.push(line);
            self.baselines.len() - 1
        });
        let best = self.baselines[index].gbps.entry(record.n_elements).or_insert(gbps);
        *best = best.max(gbps);
    }

    /// The other implementations on the device of this table, with their names; where there are none, those on other
    /// units of its model, whose names say so. Some do not know their UUID.
    pub fn baselines_of(&self, table: &DeviceTable) -> Vec<(String, &BaselineLine)> {
        let of_model: Vec<&BaselineLine> = self
            .baselines
            .iter()
            .filter(|line| {
                let device = (&line.device, &line.api) == (&table.device.name, &table.device.api);
                device && line.problem == table.problem
            })
            .collect();
        let is_here =
            |line: &&&BaselineLine| line.device_uuid.is_empty() || table.has_unit(&line.device_uuid);
        let here: Vec<_> = of_model.iter().filter(is_here).map(|line| (line.name.clone(), *line)).collect();
        if here.is_empty() {
            of_model.into_iter().map(|line| (format!("{} on another unit", line.name), line)).collect()
        } else {
            here
        }
    }

    /// What the metadata beside the files of this table says.
    pub fn metadata_of(&self, table: &DeviceTable) -> Vec<&Metadata> {
        let same = |(file, metadata): &&(String, Metadata)| {
            table.files.contains(file)
                && metadata.problem == table.problem
                && metadata.device.name == table.device.name
                && metadata.device.device_api() == table.device.api
                && table.has_unit(&metadata.device.uuid)
                && metadata.device.driver == table.provenance.driver
                && metadata.kernel_hash == table.provenance.kernel_hash
                && release(&metadata.tool_version) == table.provenance.version
        };
        self.metadata.iter().filter(same).map(|(_, metadata)| metadata).collect()
    }
}

impl BaselineLine {
    fn is_same(&self, other: &Self) -> bool {
        (&self.device, &self.api, &self.device_uuid, &self.name, self.problem)
            == (&other.device, &other.api, &other.device_uuid, &other.name, other.problem)
    }
}

impl FailedAttempt {
    fn new(record: &Record, file: &str) -> Self {
        Self {
            run: RunIdentity {
                file: file.to_owned(),
                host: record.host.clone(),
                pci_address: record.pci_address.clone(),
                problem: Problem::of_row(record).unwrap_or_default(),
                device: record.device.clone(),
                api: DeviceApi::of(record),
                device_uuid: record.device_uuid.clone(),
                driver: record.driver.clone(),
                version: record.subject_version.clone(),
                kernel_hash: record.kernel_hash.clone(),
            },
            n: record.n_elements,
            config: record.config_id.clone(),
            status: record.status,
            reason: record.reason.clone(),
        }
    }
}
