//! The anchors of a shard that has only some configs of each size: the copy and a few configs that all shards measure,
//! as a benchmark before its points, when it has half of them, and after them.
//!
//! Units of one model differ by some percent, and one unit by some from one hour to another. What all shards have
//! measured shows by how much. Rows of anchors stand in the file of the shard and say so in `selection`; they are
//! points of nobody, so no run takes them for what it was asked for, and no answer is about them.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Record, Selection, Status};
use scanbox_runner::bench::{Selected, behind_ceilings};
use scanbox_runner::subject::Subject;

use crate::bench::{BenchTask, News};
use crate::process::Worker;
use crate::protocol::BenchWork;
use crate::store::SweepFile;
use crate::supervise::{Supervised, Supervision};
use crate::system::node;

/// Blocks per anchor.
pub const ROUNDS: u32 = 3;

/// The configs that are anchors, by size.
pub type Anchors = BTreeMap<u64, Vec<Config>>;

/// The sizes whose anchors are to be measured now at a stage. `points_left`: whether points are; `measured`: whether
/// this run has measured any.
pub fn sizes_due(
    anchors: &Anchors,
    stage: Selection,
    points_left: bool,
    measured: bool,
    rows: &[Record],
    device: &DeviceProfile,
) -> BTreeSet<u64> {
    let left = |stage| sizes_left(anchors, stage, rows, device);
    match stage {
        Selection::AnchorEnd if points_left => BTreeSet::new(),
        Selection::AnchorEnd if measured => anchors.keys().copied().collect(),
        // A unit that has measured no point has no end.
        Selection::AnchorEnd if left(Selection::AnchorStart).is_empty() => left(stage),
        Selection::AnchorEnd => BTreeSet::new(),
        _ if points_left => left(stage),
        _ => BTreeSet::new(),
    }
}

/// Whether any anchors are to be measured.
pub fn any_due(anchors: &Anchors, points_left: bool, rows: &[Record], device: &DeviceProfile) -> bool {
    Selection::ANCHORS
        .into_iter()
        .any(|stage| !sizes_due(anchors, stage, points_left, false, rows, device).is_empty())
}

/// The sizes of these whose anchors this unit has not measured at a stage.
fn sizes_left(anchors: &Anchors, stage: Selection, rows: &[Record], device: &DeviceProfile) -> BTreeSet<u64> {
    let pci_address = device.pci_address.as_deref().unwrap_or_default();
    let unit = [node(), pci_address.to_owned(), device.uuid.clone()];
    let is_own = |row: &&Record| {
        row.selection.contains(&stage) && [&row.host, &row.pci_address, &row.device_uuid] == unit.each_ref()
    };
    // What is left of anchors whose times were taken back, the failed ones, are no anchors of a size.
    let mut done: BTreeMap<u64, (bool, usize)> = BTreeMap::new();
    for row in rows.iter().filter(is_own) {
        let (has_time, count) = done.entry(row.n_elements).or_default();
        *has_time |= row.status == Status::Ok;
        *count += 1;
    }
    let is_done = |n: &u64, configs: &[Config]| {
        done.get(n).is_some_and(|&(has_time, count)| has_time || count > configs.len())
    };
    anchors.iter().filter(|(n, configs)| !is_done(n, configs)).map(|(n, _)| *n).collect()
}

/// What is measured at a stage: at each of these sizes the copy, or read, and the configs.
pub fn subjects(
    anchors: &Anchors,
    sizes: &BTreeSet<u64>,
    stage: Selection,
    problem: &Problem,
    device: &DeviceProfile,
) -> Vec<(u64, Vec<Selected>)> {
    let of_size = |n: &u64| {
        let configs = anchors.get(n).into_iter().flatten();
        let selected =
            configs.map(|config| Selected { subject: Subject::config(*config), selection: Vec::new() });
        let mut all = behind_ceilings(selected.collect(), problem, device);
        all.iter_mut().for_each(|one| one.selection.push(stage));
        (*n, all)
    };
    sizes.iter().map(of_size).collect()
}

/// Measures the anchors that are the subjects of this work.
///
/// # Errors
/// What ends the run, as of [`Supervision`].
pub fn measure(
    supervision: &Supervision<'_>,
    worker: Worker,
    work: BenchWork,
    file: &mut SweepFile,
) -> anyhow::Result<Supervised> {
    let mut rows: Vec<Record> = Vec::new();
    let sink = &mut |news: News| match news {
        News::Row(row) => {
            rows.push(*row);
            Ok(())
        }
        // All of a size or none: they were measured against each other.
        News::SizeFinished(_) => rows.drain(..).try_for_each(|row| file.append(row)),
    };
    let mut task = BenchTask::new("anchors", work, sink);
    let supervised = supervision.run(worker, &mut task);
    task.end();
    supervised
}
