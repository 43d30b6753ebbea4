//! The report for people: as text for a terminal or a file, and as Markdown with the same tables.

use std::collections::BTreeSet;
use std::io::{self, Write};

use scanbox_analysis::answers::{AcrossAnswer, DeviceAnswer};
use scanbox_analysis::best_kernel::{KernelLine, Ranking};
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::table::{ConfigIndex, KernelIndex, SpaceOrigin};
use scanbox_model::record::Status;
use scanbox_model::units::size_label;

use super::grid::{Column, Grid, Style};
use super::terminal::fold;
use super::{Report, clock_word, title};

/// Devices side by side in a launch table, so that it fits 80 characters.
const DEVICES_PER_TABLE: usize = 3;
/// Dropped kernels that are listed one by one; JSON has all.
const DROPPED_SHOWN: usize = 4;

/// Writes the whole report.
///
/// # Errors
/// When the writer fails.
pub fn write(report: &Report<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = Page { report, style };
    for (index, device) in report.answers.devices.iter().enumerate() {
        if index > 0 {
            page.gap(out)?;
        }
        page.device(device, out)?;
    }
    if let Some(across) = &report.answers.across {
        page.gap(out)?;
        page.across(across, out)?;
    }
    Ok(())
}

struct Page<'a> {
    report: &'a Report<'a>,
    style: Style,
}

impl Page<'_> {
    fn heading(&self, level: usize, text: &str, out: &mut impl Write) -> io::Result<()> {
        match self.style {
            Style::Markdown => writeln!(out, "{} {text}\n", "#".repeat(level)),
            Style::Text { .. } => writeln!(out, "{text}"),
        }
    }

    /// One statement; a paragraph in Markdown.
    fn say(&self, text: &str, out: &mut impl Write) -> io::Result<()> {
        match self.style {
            Style::Markdown => writeln!(out, "{text}\n"),
            Style::Text { width } => writeln!(out, "{}", fold("", text, 2, width)),
        }
    }

    fn grid(&self, grid: Grid, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", grid.draw(self.style))?;
        match self.style {
            Style::Markdown => writeln!(out),
            Style::Text { .. } => Ok(()),
        }
    }

    /// An empty line between parts; in Markdown each part ends with one already.
    fn gap(&self, out: &mut impl Write) -> io::Result<()> {
        match self.style {
            Style::Markdown => Ok(()),
            Style::Text { .. } => writeln!(out),
        }
    }

    fn kernel(&self, kernel: KernelIndex) -> String {
        self.report.tables.catalog.kernel(kernel).to_string()
    }

    fn config(&self, config: ConfigIndex) -> String {
        self.report.tables.catalog.config(config).to_string()
    }

    fn device(&self, device: &DeviceAnswer<'_>, out: &mut impl Write) -> io::Result<()> {
        self.heading(2, &title(device), out)?;
        self.say(&device.table.provenance.to_string(), out)?;
        self.say(&rows(device), out)?;
        if device.ideal.points.is_empty() {
            return Ok(());
        }
        self.gap(out)?;
        let heading = format!(
            "Ideal configuration set ({} time): {} from {}",
            clock_word(self.report.clock),
            count(device.ideal.points.len(), "size"),
            count(device.ideal.uses.len(), "kernel"),
        );
        self.heading(3, &heading, out)?;
        self.ideal_table(device, out)?;
        self.say("lead: over the runner-up; ties: configs that cannot be told from the best one", out)?;
        let confirmed = device.ideal.points.iter().filter(|point| point.best.confirmed_ns.is_some()).count();
        if confirmed > 0 {
            let sizes = count(confirmed, "size");
            let text = format!("at {sizes} the best config and its lead are those of `sweep --confirm`");
            self.say(&text, out)?;
        }
        if device.ideal.points.iter().any(|point| point.baseline_gbps.is_some()) {
            self.say("x base: times as fast as the fastest scan of another implementation", out)?;
        }
        self.gap(out)?;
        match &device.choice {
            None => self.say("No best kernel: there is nothing that kernels can be compared by.", out)?,
            Some(choice) => self.best_kernel(device, choice, out)?,
        }
        self.dropped(&device.eligibility, out)
    }

    fn ideal_table(&self, device: &DeviceAnswer<'_>, out: &mut impl Write) -> io::Result<()> {
        let mut grid = Grid::new([
            Column::numbers("size"),
            Column::numbers("GB/s"),
            Column::numbers("copy %").expendable(1),
            Column::numbers("x base").expendable(1),
            Column::words("best config"),
            Column::numbers("lead %"),
            Column::numbers("ties").expendable(2),
            Column::numbers("kernel").expendable(1),
            Column::numbers("loss %").expendable(1),
        ]);
        let line = device.choice.as_ref().and_then(|choice| choice.lines.first());
        for point in &device.ideal.points {
            let in_choice = device.eligibility.sizes.binary_search(&point.n).is_ok();
            let mark = if in_choice || device.choice.is_none() { "" } else { "*" };
            let kernel = line.and_then(|line| line.at(point.n));
            grid.push([
                format!("{}{mark}", size_label(point.n)),
                gbps(point.best.gbps),
                point.copy_pct().map_or_else(String::new, |pct| format!("{pct:.0}")),
                point.baseline_ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                self.config(point.best.config),
                point.margin_pct.map_or_else(String::new, percent),
                point.ties.to_string(),
                kernel.map_or_else(String::new, |kernel| gbps(kernel.best.gbps)),
                kernel.map_or_else(String::new, |kernel| percent(kernel.loss_pct)),
            ]);
        }
        self.grid(grid, out)
    }

    fn best_kernel(
        &self,
        device: &DeviceAnswer<'_>,
        choice: &Choice,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let ranking = &choice.ranking;
        self.heading(
            3,
            &format!("Best kernel by {}: {}", named(ranking), self.kernel(ranking.winner.kernel)),
            out,
        )?;
        if let Some(line) = choice.lines.first() {
            self.say(&format!("{}; its GB/s are in column `kernel`.", sentence(&losses(line))), out)?;
        }
        self.say(&self.compared(&device.eligibility, device.ideal.points.len()), out)?;
        if let Some(text) = self.other_normalizations(choice) {
            self.say(&text, out)?;
        }
        let mut grid = Grid::new([
            Column::words("metric"),
            Column::words("best kernel"),
            Column::numbers("score"),
            Column::words("runner-up").expendable(1),
            Column::numbers("its score").expendable(2),
        ]);
        for ranking in &device.by_metric {
            let chosen = ranking.metric == self.report.question.metric;
            let runner_up = ranking.others.first();
            grid.push([
                format!("{}{}", ranking.metric, if chosen { " <" } else { "" }),
                self.kernel(ranking.winner.kernel),
                score(ranking.winner.score),
                runner_up.map_or_else(String::new, |runner_up| self.kernel(runner_up.kernel)),
                runner_up.map_or_else(String::new, |runner_up| score(runner_up.score)),
            ]);
        }
        self.grid(grid, out)
    }

    /// Over what kernels were compared.
    fn compared(&self, eligibility: &Eligibility, all_sizes: usize) -> String {
        let kernels = eligibility.kernels.len() + eligibility.dropped.len();
        let span = match (eligibility.sizes.first(), eligibility.sizes.last()) {
            (Some(first), Some(last)) if first != last => {
                format!(" from {} to {}", size_label(*first), size_label(*last))
            }
            _ => String::new(),
        };
        let note = if eligibility.sizes.len() < all_sizes {
            "; at sizes with * some kernel has no config"
        } else {
            ""
        };
        format!(
            "Compared: {} of {} over {}{span}{note}.",
            eligibility.kernels.len(),
            count(kernels, "kernel"),
            count(eligibility.sizes.len(), "size"),
        )
    }

    fn other_normalizations(&self, choice: &Choice) -> Option<String> {
        if choice.other_normalizations.is_empty() {
            return None;
        }
        let others = choice.other_normalizations.iter();
        let others: Vec<String> =
            others.map(|&(other, kernel)| format!("{other}: {}", self.kernel(kernel))).collect();
        Some(format!("Another normalisation would choose another kernel ({}).", others.join(", ")))
    }

    fn dropped(&self, eligibility: &Eligibility, out: &mut impl Write) -> io::Result<()> {
        if eligibility.dropped.is_empty() {
            return Ok(());
        }
        self.gap(out)?;
        self.say(
            &format!("Left out of the comparison: {}", count(eligibility.dropped.len(), "kernel")),
            out,
        )?;
        let mut grid = Grid::new([
            Column::words("kernel"),
            Column::words("device").expendable(1),
            Column::words("reason"),
        ]);
        let one_device =
            eligibility.dropped.iter().all(|dropped| dropped.device == eligibility.dropped[0].device);
        for dropped in eligibility.dropped.iter().take(DROPPED_SHOWN) {
            let device = if one_device { String::new() } else { dropped.device.clone() };
            grid.push([self.kernel(dropped.kernel), device, dropped.to_string()]);
        }
        self.grid(grid, out)?;
        match eligibility.dropped.len().saturating_sub(DROPPED_SHOWN) {
            0 => Ok(()),
            more => self.say(&format!("and {more} more (--format json lists all)"), out),
        }
    }

    fn across(&self, across: &AcrossAnswer, out: &mut impl Write) -> io::Result<()> {
        self.heading(2, &format!("Across {}", count(across.devices.len(), "device")), out)?;
        let Some(choice) = &across.portable.choice else {
            return self.say("No portable kernel: there is nothing that kernels can be compared by.", out);
        };
        let ranking = &choice.ranking;
        self.heading(
            3,
            &format!("Portable kernel by {}: {}", named(ranking), self.kernel(ranking.winner.kernel)),
            out,
        )?;
        let runner_up = ranking.others.first().map_or_else(
            || "no runner-up".to_owned(),
            |runner_up| format!("runner-up {} {}", self.kernel(runner_up.kernel), score(runner_up.score)),
        );
        self.say(&format!("Score {}; {runner_up}.", score(ranking.winner.score)), out)?;
        let shown = launch_sizes(choice.lines.iter()).len();
        self.say(&self.compared(&across.portable.eligibility, shown), out)?;
        if let Some(text) = self.other_normalizations(choice) {
            self.say(&text, out)?;
        }
        let devices: Vec<(&DeviceAnswer<'_>, &KernelLine)> = across
            .devices
            .iter()
            .map(|&index| &self.report.answers.devices[index])
            .zip(&choice.lines)
            .collect();
        for (first, group) in devices.chunks(DEVICES_PER_TABLE).enumerate() {
            self.gap(out)?;
            for (offset, (device, line)) in group.iter().enumerate() {
                let number = DEVICES_PER_TABLE * first + offset + 1;
                self.say(&format!("Device {number}: {}; {}", title(device), losses(line)), out)?;
            }
            self.launch_table(group, &across.portable.eligibility, out)?;
        }
        self.dropped(&across.portable.eligibility, out)
    }

    /// How to launch the kernel at each size on each device, and what it loses there.
    fn launch_table(
        &self,
        devices: &[(&DeviceAnswer<'_>, &KernelLine)],
        eligibility: &Eligibility,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut columns = vec![Column::numbers("size")];
        for _ in devices {
            columns.extend([Column::words("launch"), Column::numbers("GB/s"), Column::numbers("loss %")]);
        }
        let mut grid = Grid::new(columns);
        for n in launch_sizes(devices.iter().map(|&(_, line)| line)) {
            let mark = if eligibility.sizes.binary_search(&n).is_ok() { "" } else { "*" };
            let mut cells = vec![format!("{}{mark}", size_label(n))];
            for (_, line) in devices {
                match line.at(n) {
                    Some(point) => cells.extend([
                        self.launch(point.best.config),
                        gbps(point.best.gbps),
                        percent(point.loss_pct),
                    ]),
                    None => cells.extend([String::new(), String::new(), String::new()]),
                }
            }
            grid.push_row(cells);
        }
        self.grid(grid, out)
    }

    fn launch(&self, config: ConfigIndex) -> String {
        let config = self.report.tables.catalog.config(config);
        let workgroups = config.workgroups.map_or_else(String::new, |workgroups| format!(".g{workgroups}"));
        format!("wg{}{workgroups}", config.workgroup_size)
    }
}

/// Every size at which a kernel runs on one of the devices, ascending.
fn launch_sizes<'a>(lines: impl Iterator<Item = &'a KernelLine>) -> BTreeSet<u64> {
    lines.flat_map(|line| line.points.iter().map(|point| point.n)).collect()
}

/// Rows by status, and how much of the space they are.
fn rows(device: &DeviceAnswer<'_>) -> String {
    let summary = &device.table.summary;
    let statuses = Status::ALL
        .iter()
        .filter_map(|status| summary.by_status.get(status).map(|n| format!("{n} {status}")));
    let statuses: Vec<String> = statuses.collect();
    let space = match (device.table.space_origin, summary.planned_points) {
        (SpaceOrigin::Planned, Some(points)) => {
            format!("; {} of {points} points of the space", summary.planned_with_row)
        }
        _ => String::new(),
    };
    format!("{} rows: {}{space}", summary.rows, statuses.join(", "))
}

/// The metric, and the normalisation where there is one.
fn named(ranking: &Ranking) -> String {
    match ranking.normalization {
        Normalization::None => ranking.metric.to_string(),
        normalization => format!("{} ({normalization})", ranking.metric),
    }
}

/// What a kernel loses against the ideal line.
fn losses(line: &KernelLine) -> String {
    match (line.mean_loss_pct(), line.worst()) {
        (Some(mean), Some(worst)) => format!(
            "it loses {} % on average, {} % at worst (at {})",
            percent(mean),
            percent(worst.loss_pct),
            size_label(worst.n)
        ),
        _ => "it has no size in common".to_owned(),
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

fn gbps(value: f64) -> String {
    if value < 1.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

fn percent(value: f64) -> String {
    format!("{value:.1}")
}

/// A score with five significant digits.
fn score(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-3..1e7).contains(&size) => format!("{value:.4e}"),
        size => format!("{value:.*}", (4 - size.log10().floor() as i32).max(0) as usize),
    }
}
