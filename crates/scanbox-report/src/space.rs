//! What a space holds on a device, and what it does not and why.

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::shard::ShardOf;
use scanbox_model::space::{Enumeration, RejectionCount, Space};
use scanbox_model::units::size_label;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::grid::{Grid, GridColumn, Style};
use crate::terminal::fold;

/// The counts of a space.
#[derive(Serialize, JsonSchema)]
pub struct SpaceCounts {
    space: String,
    problem: Problem,
    device: String,
    subgroup_size: u32,
    /// Of which part of the space these are the counts; the rejections and the raw product are those of the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<ShardOf>,
    configs: usize,
    kernels: usize,
    pipelines: usize,
    /// Kernels whose results have the same bits on every run.
    deterministic_kernels: usize,
    raw_points: u64,
    rejections: Vec<RejectionCount>,
    sizes: BTreeMap<u64, SizeCounts>,
}

impl SpaceCounts {
    /// What `enumeration` has of the space, or of this shard of it, on the device.
    pub fn new(
        space: &Space,
        problem: Problem,
        device: &DeviceProfile,
        enumeration: &Enumeration,
        shard: Option<ShardOf>,
    ) -> Self {
        let counts = count(space, problem, device, enumeration);
        let own = enumeration.points.len() as u64;
        let others = shard.as_ref().map_or(0, |shard| shard.of_points - own);
        Self { raw_points: counts.raw_points + others, shard, ..counts }
    }

    fn rejected(&self) -> u64 {
        self.rejections.iter().map(|rejection| rejection.points).sum()
    }
}

/// The counts of one size.
#[derive(Serialize, JsonSchema, Default)]
struct SizeCounts {
    configs: usize,
    kernels: usize,
    pipelines: usize,
}

impl Document for SpaceCounts {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => write_table(self, width, out),
            Format::Json => write_json(out, self),
            other => other.missing("a count of a space"),
        }
    }
}

fn count(space: &Space, problem: Problem, device: &DeviceProfile, enumeration: &Enumeration) -> SpaceCounts {
    let mut by_size: BTreeMap<u64, Enumeration> = BTreeMap::new();
    for point in &enumeration.points {
        let empty = || Enumeration { points: Vec::new(), rejections: Vec::new() };
        by_size.entry(point.n).or_insert_with(empty).points.push(*point);
    }
    let counts_of = |part: &Enumeration| SizeCounts {
        configs: part.points.len(),
        kernels: part.kernels().len(),
        pipelines: part.pipelines().len(),
    };
    let kernels = enumeration.kernels();
    SpaceCounts {
        space: space.name.clone(),
        problem,
        device: device.title(),
        subgroup_size: device.subgroup_size,
        shard: None,
        configs: enumeration.points.len(),
        kernels: kernels.len(),
        deterministic_kernels: kernels.iter().filter(|kernel| kernel.is_deterministic()).count(),
        pipelines: enumeration.pipelines().len(),
        raw_points: enumeration.raw_points(),
        rejections: enumeration.rejections.clone(),
        sizes: by_size.iter().map(|(&n, part)| (n, counts_of(part))).collect(),
    }
}

fn write_table(counts: &SpaceCounts, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let problem =
        if counts.problem.is_default() { String::new() } else { format!(", problem {}", counts.problem) };
    let shard = counts.shard.as_ref().map_or_else(String::new, |shard| format!(", {shard}"));
    let heading = format!(
        "space {} on {}, subgroups of {}{problem}{shard}",
        counts.space, counts.device, counts.subgroup_size
    );
    writeln!(out, "{}\n", fold("", &heading, 2, width))?;
    let mut sizes = Grid::new(["size", "configs", "kernels", "pipelines"].map(GridColumn::numbers));
    for (&n, part) in &counts.sizes {
        sizes.push([
            size_label(n),
            part.configs.to_string(),
            part.kernels.to_string(),
            part.pipelines.to_string(),
        ]);
    }
    sizes.push([
        "all".to_owned(),
        counts.configs.to_string(),
        counts.kernels.to_string(),
        counts.pipelines.to_string(),
    ]);
    writeln!(out, "{}\n", sizes.draw(Style::Text { width }))?;
    if let Some(ShardOf { index, count, by, points, of_points, .. }) = &counts.shard {
        let by = by.word();
        writeln!(
            out,
            "shard: {index} of {count} by {by}, {} of {of_points} configs (hash {points})",
            counts.configs
        )?;
    }
    writeln!(out, "deterministic: {} of {} kernels", counts.deterministic_kernels, counts.kernels)?;
    writeln!(out, "rejected: {} of {} in the raw product", counts.rejected(), counts.raw_points)?;
    let longest =
        counts.rejections.iter().map(|rejection| rejection.points.to_string().len()).max().unwrap_or(0);
    for RejectionCount { rule, points, example } in &counts.rejections {
        writeln!(out, "  {points:>longest$}  {rule}")?;
        let head = format!("  {:longest$}  for example: ", "");
        writeln!(out, "{}", fold(&head, example, longest + 4, width))?;
    }
    Ok(())
}
