//! What the compiler of a driver says of the pipelines of a space.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_runner::vulkan::PipelineStatistics;
use schemars::JsonSchema;
use serde::Serialize;

use crate::document::{Document, Format, write_json};
use crate::grid::{Grid, GridColumn, Style};
use crate::terminal::fold;

/// So many pipelines that are refused or spill are named in a table.
const NAMED: usize = 20;

/// The pipelines of a space on a device.
#[derive(Serialize, JsonSchema)]
pub struct CompiledSpace {
    space: String,
    device: String,
    driver: String,
    /// Whether the driver tells anything of its pipelines.
    tells_statistics: bool,
    pipelines: Vec<CompiledPipeline>,
}

/// One of them: a row of the file.
#[derive(Serialize, JsonSchema)]
pub struct CompiledPipeline {
    /// The label of a config that has it; others differ in their workgroups, or in what does not concern it.
    pub config: String,
    /// What is computed.
    pub problem: Problem,
    /// The root file of its shader.
    pub shader: &'static str,
    /// Invocations of a workgroup.
    pub workgroup_size: u32,
    /// The subgroup size that it was made for.
    pub subgroup_size: u32,
    /// `ok`, or why there is none.
    pub status: Status,
    /// The same in the driver's words.
    pub reason: String,
    /// What the driver took to make it, in milliseconds.
    pub made_in_ms: f64,
    /// What the driver reports of it; its subgroup size is `made_for`.
    #[serde(flatten)]
    pub told: PipelineStatistics,
}

/// The first columns of the file, as it begins.
pub const FIRST_COLUMNS: &str = "device,driver,config,problem,shader,";

/// The columns of the file.
const COLUMNS: [&str; 20] = [
    "device",
    "driver",
    "config",
    "problem",
    "shader",
    "workgroup_size",
    "subgroup_size",
    "status",
    "reason",
    "made_in_ms",
    "registers",
    "scalar_registers",
    "spilled_registers",
    "spilled_scalar_registers",
    "scratch_bytes",
    "shared_bytes",
    "subgroups_per_simd",
    "code_bytes",
    "instructions",
    "made_for",
];

impl CompiledPipeline {
    /// Whether it keeps something in memory for which there are no registers.
    fn spills(&self) -> bool {
        let told = &self.told;
        [told.spilled_registers, told.spilled_scalar_registers, told.scratch_bytes]
            .iter()
            .any(|count| count.is_some_and(|count| count > 0))
    }

    fn is_refused(&self) -> bool {
        self.status != Status::Ok
    }
}

fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl CompiledSpace {
    /// The pipelines of a space on a device whose driver tells statistics, or does not.
    #[must_use]
    pub fn new(
        space: &str,
        device: &DeviceProfile,
        tells_statistics: bool,
        pipelines: Vec<CompiledPipeline>,
    ) -> Self {
        let (device, driver) = (device.title(), device.driver.clone());
        Self { space: space.to_owned(), device, driver, tells_statistics, pipelines }
    }

    /// How many the driver refuses.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.pipelines.iter().filter(|pipeline| pipeline.is_refused()).count()
    }

    /// The header of the file.
    #[must_use]
    pub fn csv_header() -> String {
        COLUMNS.join(",")
    }

    /// The file: a row for each pipeline.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(COLUMNS)?;
        for one in &self.pipelines {
            let told = &one.told;
            writer.write_record([
                self.device.clone(),
                self.driver.clone(),
                one.config.clone(),
                one.problem.to_string(),
                one.shader.to_owned(),
                one.workgroup_size.to_string(),
                one.subgroup_size.to_string(),
                one.status.word().to_owned(),
                one.reason.clone(),
                format!("{:.1}", one.made_in_ms),
                cell(told.registers),
                cell(told.scalar_registers),
                cell(told.spilled_registers),
                cell(told.spilled_scalar_registers),
                cell(told.scratch_bytes),
                cell(told.shared_bytes),
                cell(told.subgroups_per_simd),
                cell(told.code_bytes),
                cell(told.instructions),
                cell(told.subgroup_size),
            ])?;
        }
        writer.flush()
    }

    fn write_table(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let Self { space, device, driver, pipelines, .. } = self;
        let heading = format!("pipelines of space {space} on {device}, {driver}");
        writeln!(out, "{}\n", fold("", &heading, 2, width))?;
        let mut grid = Grid::new([
            GridColumn::numbers("subgroup size"),
            GridColumn::numbers("pipelines"),
            GridColumn::numbers("refused"),
            GridColumn::numbers("spill"),
            GridColumn::numbers("most registers"),
            GridColumn::numbers("fewest subgroups per SIMD"),
            GridColumn::numbers("made in s"),
        ]);
        let sizes: BTreeSet<u32> = pipelines.iter().map(|one| one.subgroup_size).collect();
        for size in sizes {
            let of_size = || pipelines.iter().filter(|one| one.subgroup_size == size);
            grid.push([
                size.to_string(),
                of_size().count().to_string(),
                of_size().filter(|one| one.is_refused()).count().to_string(),
                of_size().filter(|one| one.spills()).count().to_string(),
                cell(of_size().filter_map(|one| one.told.registers).max()),
                cell(of_size().filter_map(|one| one.told.subgroups_per_simd).min()),
                format!("{:.1}", of_size().map(|one| one.made_in_ms).sum::<f64>() / 1000.0),
            ]);
        }
        writeln!(out, "{}", grid.draw(Style::Text { width }))?;
        if !self.tells_statistics {
            let none = "the driver tells nothing of its pipelines (no VK_KHR_pipeline_executable_properties)";
            writeln!(out, "\n{}", fold("", none, 2, width))?;
        }
        self.write_refused(width, out)?;
        self.write_spilling(width, out)
    }

    /// What is refused, by reason.
    fn write_refused(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let mut reasons: BTreeMap<&str, Vec<&CompiledPipeline>> = BTreeMap::new();
        for one in self.pipelines.iter().filter(|one| one.is_refused()) {
            reasons.entry(&one.reason).or_default().push(one);
        }
        for (reason, those) in reasons.iter().take(NAMED) {
            let text = format!(
                "{} refused, for example {} with subgroups of {}: {reason}",
                those.len(),
                those[0].config,
                those[0].subgroup_size
            );
            writeln!(out, "\n{}", fold("", &text, 2, width))?;
        }
        Ok(())
    }

    /// Those that spill, the worst first.
    fn write_spilling(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let mut spilling: Vec<&CompiledPipeline> = self.pipelines.iter().filter(|one| one.spills()).collect();
        if spilling.is_empty() {
            return Ok(());
        }
        let weight = |one: &CompiledPipeline| (one.told.spilled_registers, one.told.scratch_bytes);
        spilling.sort_by_key(|one| Reverse(weight(one)));
        let mut grid = Grid::new([
            GridColumn::words("spills"),
            GridColumn::words("shader"),
            GridColumn::numbers("subgroup size"),
            GridColumn::numbers("registers"),
            GridColumn::numbers("spilled"),
            GridColumn::numbers("spilled per subgroup"),
            GridColumn::numbers("scratch bytes"),
        ]);
        for one in spilling.iter().take(NAMED) {
            grid.push([
                one.config.clone(),
                one.shader.to_owned(),
                one.subgroup_size.to_string(),
                cell(one.told.registers),
                cell(one.told.spilled_registers),
                cell(one.told.spilled_scalar_registers),
                cell(one.told.scratch_bytes),
            ]);
        }
        writeln!(out, "\n{}", grid.draw(Style::Text { width }))?;
        match spilling.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => writeln!(out, "and {more} more"),
        }
    }
}

impl Document for CompiledSpace {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_table(width, out),
            Format::Json => write_json(out, self),
            other => other.missing("what a compiler says of a space"),
        }
    }
}
