//! What the shards of a sweep have to agree on: the points that are split. They depend on what a probe finds, and a
//! probe on another node may find something else. So an attempt takes what the attempts at other shards have published.

use std::path::{Path, PathBuf};

use anyhow::bail;
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::metadata::Metadata;
use scanbox_model::shard::ShardOf;
use scanbox_model::units::plural;

use super::gathered::{of_attempt, shard_of};

/// What attempts at the other shards of a sweep say in their metadata, the shard with the lowest number first.
#[derive(Default)]
pub struct OtherShards(Vec<(PathBuf, Metadata)>);

impl OtherShards {
    /// Reads what attempts have published. What cannot be read says nothing: the attempts at its shard tell it.
    #[must_use]
    pub fn of(publish: &Path, sweep: &str) -> Self {
        let Some((whole, count, own)) = shard_of(sweep) else { return Self(Vec::new()) };
        let entries = std::fs::read_dir(publish).into_iter().flatten().flatten();
        let mut named: Vec<(u32, String)> = entries
            .filter_map(|entry| {
                let name =
                    entry.file_name().into_string().ok().filter(|name| name.ends_with(".meta.json"))?;
                let (of, parts, index) = shard_of(of_attempt(&name)?)?;
                ((of, parts) == (whole, count) && index != own).then_some((index, name.clone()))
            })
            .collect();
        named.sort_unstable();
        let read = |(_, name): (u32, String)| {
            let path = publish.join(name);
            Metadata::read(&path).ok().map(|metadata| (path, metadata))
        };
        Self(named.into_iter().filter_map(read).collect())
    }

    /// What a device of this model was found to do, under this driver.
    #[must_use]
    pub fn device(&self, device: &DeviceProfile) -> Option<&DeviceProfile> {
        let facts = |device: &DeviceProfile| {
            let DeviceProfile { name, driver, driver_build, .. } = device;
            ([name, driver, driver_build].map(String::clone), device.device_api())
        };
        self.0.iter().map(|(_, metadata)| &metadata.device).find(|other| facts(other) == facts(device))
    }

    /// What such a device was found to guarantee, by what `version` asks.
    #[must_use]
    pub fn guarantees(&self, device: &DeviceProfile, version: &str) -> Option<GuaranteesProbe> {
        let probe = self.device(device)?.guarantee_facts.probe.as_ref();
        probe.filter(|probe| probe.answers(version)).cloned()
    }

    /// Whether they are of the points that this one is of.
    ///
    /// # Errors
    /// When one is of others: no merge could unite them.
    pub fn check(&self, now: &ShardOf) -> anyhow::Result<()> {
        let words = |shard: &ShardOf| {
            format!("{} (hash {})", plural(shard.of_points as usize, "point"), shard.points)
        };
        for (path, metadata) in &self.0 {
            if let Some(other) = metadata.shard.as_ref().filter(|other| other.points != now.points) {
                bail!(
                    "{}: its shard is of {}, and this one is of {}: on its node a probe found something else, and `scanbox merge` \
                     refuses to join them; move the files of one of the two shards away and run that shard again, or publish to \
                     another folder",
                    path.display(),
                    words(other),
                    words(now)
                );
            }
        }
        Ok(())
    }
}
