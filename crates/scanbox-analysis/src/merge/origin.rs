//! What the metadata of a union says: of what it is made, and what of that there is one of.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::device::DeviceProfile;
use scanbox_model::merged::{MergedFrom, MergedInput, MergedUnit};
use scanbox_model::metadata::{Metadata, Run};
use scanbox_model::record::{Record, SCHEMA};
use scanbox_model::shard::ShardOf;
use scanbox_model::space::Space;

use super::{MergeSource, fleet};
use crate::spread::median;

/// The metadata of a union but for what its points come to: `points`, `rejections` and `counts`. `None` where none of
/// the files has any. It does not depend on the order of the files. `inputs` are [`inputs`] of these files, `records`
/// the rows that stayed; `keeps_drifted` says whether shards whose anchors drifted have a say.
#[must_use]
pub fn metadata(
    sources: &[MergeSource],
    mut inputs: Vec<MergedInput>,
    records: &[Record],
    keeps_drifted: bool,
) -> Option<Metadata> {
    let told: Vec<&Metadata> = sources.iter().filter_map(|source| source.metadata.as_ref()).collect();
    // Which file gives what there is one of must not depend on the order of files.
    let device = told.iter().map(|told| &told.device).min_by_key(|device| device_order(device))?.clone();
    let tool = told.iter().map(|told| (&told.tool_version, &told.tool_commit)).max()?;
    // Their copies ran at the speeds that their rows did.
    let drifted = inputs.iter_mut().filter(|input| !keeps_drifted && fleet::has_drifted(input));
    drifted.for_each(|input| input.ceiling_gbps.clear());
    let (ceiling_gbps, copies) = ceilings(&inputs);
    for input in &mut inputs {
        input.device = input.device.take().filter(|own| *own != device);
    }
    // Attempts at one shard are that shard.
    let shard = told.iter().map(|told| told.shard.as_ref()).reduce(|a, b| a.filter(|_| is_same_shard(a, b)));
    Some(Metadata {
        schema: SCHEMA,
        tool_version: tool.0.clone(),
        tool_commit: tool.1.clone(),
        device,
        kernel_hash: told.iter().map(|told| &told.kernel_hash).max()?.clone(),
        problem: told.first()?.problem,
        space: space(&told)?,
        points: 0,
        shard: shard.flatten().cloned(),
        rejections: Vec::new(),
        counts: BTreeMap::new(),
        ceiling_gbps,
        runs: runs(&told, records),
        merged: Some(MergedFrom { inputs, copies }),
    })
}

/// An order of devices: by unit, then by everything else that is known.
fn device_order(device: &DeviceProfile) -> (String, Option<String>, String) {
    (device.uuid.clone(), device.pci_address.clone(), format!("{device:?}"))
}

/// The files that rows are of, in the end: each once, and of several states of one file the last. A file that was
/// merged before counts as those that it was made of.
#[must_use]
pub fn inputs(sources: &[MergeSource]) -> Vec<MergedInput> {
    let mut all: Vec<MergedInput> = sources.iter().flat_map(inputs_of).collect();
    all.sort_by_cached_key(|input| (input.name.clone(), format!("{input:?}")));
    all.dedup();
    let is_state_of = |before: &MergedInput, after: &MergedInput| {
        before.name == after.name
            && is_same_shard(before.shard.as_ref(), after.shard.as_ref())
            && before.run_ids.is_subset(&after.run_ids)
            && before.rows <= after.rows
    };
    let mut last: Vec<MergedInput> = Vec::new();
    for (at, input) in all.iter().enumerate() {
        let later = all.iter().enumerate().any(|(other_at, other)| {
            // Of two that say the same of each other the one in front goes.
            is_state_of(input, other) && other_at != at && (!is_state_of(other, input) || other_at > at)
        });
        if !later {
            last.push(input.clone());
        }
    }
    last
}

/// Whether both are the same part of the same points; that none is told of both is the same, too.
fn is_same_shard(a: Option<&ShardOf>, b: Option<&ShardOf>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_same_part(b) && a.points == b.points,
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// What a file stands for: itself, or what it was made of, and itself with what it has beside that.
fn inputs_of(source: &MergeSource) -> Vec<MergedInput> {
    let told = source.metadata.as_ref();
    let mut inputs = Vec::new();
    for input in told.and_then(|told| told.merged.as_ref()).iter().flat_map(|merged| &merged.inputs) {
        let device = input.device.clone().or_else(|| told.map(|told| told.device.clone()));
        inputs.push(MergedInput { device, ..input.clone() });
    }
    let known: BTreeSet<&String> = inputs.iter().flat_map(|input| &input.run_ids).collect();
    let own: Vec<&Record> = source.records.iter().filter(|row| !known.contains(&row.run_id)).collect();
    let was_merged = !inputs.is_empty();
    // Those of a merged file are of the files that it was made of, but for what was measured since.
    let ceilings = told.map(|told| told.ceiling_gbps.clone()).unwrap_or_default().into_iter();
    let ceiling_gbps: BTreeMap<u64, f64> =
        ceilings.filter(|(n, _)| !inputs.iter().any(|input| input.ceiling_gbps.contains_key(n))).collect();
    if !was_merged || !own.is_empty() || !ceiling_gbps.is_empty() {
        inputs.push(MergedInput {
            name: source.name.clone(),
            rows: own.len() as u64,
            shard: told.and_then(|told| told.shard.clone()),
            units: own.iter().map(|row| MergedUnit::of(row)).collect(),
            run_ids: own.iter().map(|row| row.run_id.clone()).collect(),
            device: told.map(|told| told.device.clone()),
            ceiling_gbps,
        });
    }
    inputs
}

/// The ceiling of a size, as one of the files of a merge has measured it.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredCopy<'a> {
    /// The size.
    pub n: u64,
    /// The place of the file, from 1.
    pub place: u32,
    /// The units that the file is of.
    pub units: &'a BTreeSet<MergedUnit>,
    /// GB/s.
    pub gbps: f64,
}

/// The ceilings that files have measured. A file that goes on where another one ended repeats what that has measured:
/// equal numbers of one unit are one.
pub fn measured_copies(inputs: &[MergedInput]) -> impl Iterator<Item = MeasuredCopy<'_>> {
    let mut measured: BTreeMap<u64, Vec<MeasuredCopy<'_>>> = BTreeMap::new();
    for (place, input) in (1..).zip(inputs) {
        for (&n, &gbps) in &input.ceiling_gbps {
            let of_size = measured.entry(n).or_default();
            if !of_size.iter().any(|known| (known.units, known.gbps) == (&input.units, gbps)) {
                of_size.push(MeasuredCopy { n, place, units: &input.units, gbps });
            }
        }
    }
    measured.into_values().flatten()
}

/// The ceiling of each size, and how many measurements it is the median of.
fn ceilings(inputs: &[MergedInput]) -> (BTreeMap<u64, f64>, BTreeMap<u64, u64>) {
    let mut measured: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for copy in measured_copies(inputs) {
        measured.entry(copy.n).or_default().push(copy.gbps);
    }
    let counts = measured.iter().map(|(&n, of_size)| (n, of_size.len() as u64)).collect();
    let medians = measured.into_iter().filter_map(|(n, mut of_size)| Some((n, median(&mut of_size)?)));
    (medians.collect(), counts)
}

/// One space with the sizes of all; of several that were accepted, one with the products of all.
fn space(told: &[&Metadata]) -> Option<Space> {
    let mut spaces: Vec<&Space> = told.iter().map(|told| &told.space).collect();
    spaces.sort_by_cached_key(|space| format!("{space:?}"));
    let mut space = (*spaces.first()?).clone();
    let names: BTreeSet<&str> = spaces.iter().flat_map(|space| space.name.split('+')).collect();
    let is_one = spaces.iter().all(|other| other.products == space.products);
    if !is_one {
        let mut products: Vec<_> = spaces.iter().flat_map(|space| space.products.clone()).collect();
        products.sort_by_cached_key(|product| format!("{product:?}"));
        products.dedup();
        space.products = products;
    }
    let sizes: Vec<String> = spaces.iter().map(|space| space.sizes.to_string()).collect();
    if let Ok(sizes) = sizes.join(",").parse() {
        space.sizes = sizes;
    }
    space.name = names.into_iter().collect::<Vec<_>>().join("+");
    Some(space)
}

/// The runs of all files, each once and in its last state, with the rows that stayed of it.
fn runs(told: &[&Metadata], records: &[Record]) -> Vec<Run> {
    let mut rows: BTreeMap<&str, u64> = BTreeMap::new();
    records.iter().for_each(|row| *rows.entry(&row.run_id).or_insert(0) += 1);
    // Two hosts may give two runs one name in one second.
    let key = |run: &Run| (run.started_utc.clone(), run.run_id.clone(), run.seed, run.arguments.clone());
    let mut runs: BTreeMap<_, Run> = BTreeMap::new();
    for run in told.iter().flat_map(|told| &told.runs) {
        let run = Run { rows: rows.get(run.run_id.as_str()).copied().unwrap_or(0), ..run.clone() };
        let state = |run: &Run| {
            let ended = (run.ended_utc.clone(), run.outcome.is_some());
            let rows = run.outcome.as_ref().map(|outcome| outcome.rows_by_status.values().sum::<u64>());
            (ended, rows, format!("{run:?}"))
        };
        match runs.get_mut(&key(&run)) {
            Some(before) if state(before) >= state(&run) => {}
            Some(before) => *before = run,
            None => drop(runs.insert(key(&run), run)),
        }
    }
    runs.into_values().collect()
}
