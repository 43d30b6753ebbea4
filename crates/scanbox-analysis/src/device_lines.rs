//! Benchmarks of several devices beside each other: the lines of each ([`crate::versus`]), whatever files its rows
//! are in.

use std::collections::BTreeSet;

use scanbox_model::record::Cache;

use crate::bench::Heat;
use crate::identity::{DeviceIdentity, unit_titles};
use crate::versus::{Versus, lines};

/// The rows of one file of a benchmark.
#[derive(Debug, Clone)]
pub struct DeviceBenchmark<'a> {
    /// What messages call the file.
    pub file: String,
    /// The device that it was measured on.
    pub device: DeviceIdentity,
    /// Its rows.
    pub heats: Vec<Heat<'a>>,
}

/// One device, with the lines of all its files.
#[derive(Debug, Clone)]
pub struct DeviceLines<'a> {
    /// Which device.
    pub device: DeviceIdentity,
    /// What tells it apart from the others.
    pub title: String,
    /// Its files, in the order in which they were named.
    pub files: Vec<String>,
    /// By state of the buffers and size, ascending.
    pub lines: Vec<Versus<'a>>,
}

/// Two files of one device have the same size, so that it has two times.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{first} and {second} both have rows of {device} at {n} elements ({}): name one of them", cache.word())]
pub struct MeasuredTwice {
    /// The device.
    pub device: String,
    /// The size.
    pub n: u64,
    /// The state of the buffers.
    pub cache: Cache,
    /// The file that was named first.
    pub first: String,
    /// The other one.
    pub second: String,
}

/// The lines of each device, in the order in which the devices were named. Files whose device may be the same one are
/// taken together.
///
/// # Errors
/// When two files of one device have the same size on buffers in the same state.
pub fn by_device<'a>(benchmarks: Vec<DeviceBenchmark<'a>>) -> Result<Vec<DeviceLines<'a>>, MeasuredTwice> {
    let mut groups: Vec<Vec<DeviceBenchmark<'a>>> = Vec::new();
    for benchmark in benchmarks {
        let is_of = |group: &&mut Vec<DeviceBenchmark<'a>>| {
            group.iter().all(|other| other.device.may_be(&benchmark.device))
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(benchmark),
            None => groups.push(vec![benchmark]),
        }
    }
    let devices: Vec<DeviceIdentity> = groups.iter().map(|group| best_known(group)).collect();
    let titles = unit_titles(&devices.iter().cloned().collect::<BTreeSet<_>>());
    let of_group = |(device, group): (DeviceIdentity, Vec<DeviceBenchmark<'a>>)| -> Result<_, MeasuredTwice> {
        let title = titles.get(&device).cloned().unwrap_or_default();
        let files = group.iter().map(|benchmark| benchmark.file.clone()).collect();
        Ok(DeviceLines { lines: lines(&united(group, &title)?), device, title, files })
    };
    devices.into_iter().zip(groups).map(of_group).collect()
}

/// The file that says most about the device speaks for it.
fn best_known(group: &[DeviceBenchmark<'_>]) -> DeviceIdentity {
    let most = group.iter().map(|benchmark| &benchmark.device).max_by_key(|device| device.known());
    most.cloned().unwrap_or_default()
}

/// The heats of all files of a device, by state of the buffers and size.
fn united<'a>(group: Vec<DeviceBenchmark<'a>>, title: &str) -> Result<Vec<Heat<'a>>, MeasuredTwice> {
    let mut all: Vec<(String, Heat<'a>)> = Vec::new();
    for DeviceBenchmark { file, heats, .. } in group {
        for heat in heats {
            let same = all.iter().find(|(_, other)| (other.n, other.cache) == (heat.n, heat.cache));
            if let Some((first, _)) = same {
                return Err(MeasuredTwice {
                    device: title.to_owned(),
                    n: heat.n,
                    cache: heat.cache,
                    first: first.clone(),
                    second: file,
                });
            }
            all.push((file.clone(), heat));
        }
    }
    all.sort_by_key(|(_, heat)| (heat.cache, heat.n));
    Ok(all.into_iter().map(|(_, heat)| heat).collect())
}

/// The first state of the buffers that every device was measured in.
#[must_use]
pub fn common_cache(devices: &[DeviceLines<'_>]) -> Option<Cache> {
    let has = |cache: Cache| devices.iter().all(|device| device.lines.iter().any(|line| line.cache == cache));
    Cache::ALL.into_iter().find(|&cache| !devices.is_empty() && has(cache))
}
