//! The report for people: as text for a terminal or a file, and as Markdown with the same tables.

pub(crate) mod across;
mod closing;
mod explain;
mod launch;
pub(crate) mod metrics;
mod units;

use std::io::{self, Write};

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::bandwidth::{AgainstBaseline, BandwidthOrigin, Regime, Region, Utilization};
use scanbox_analysis::best_kernel::{KernelLine, Ranking};
use scanbox_analysis::coverage::Coverage;
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::problem::Problem;
use scanbox_analysis::table::{ConfigIndex, KernelIndex, SpaceOrigin};
use scanbox_analysis::trust::PROOF;
use scanbox_model::record::Status;
use scanbox_model::units::size_label;

use self::units::unit_words;
use super::AnalysisReport;
use crate::curve;
use crate::grid::{DrawnGrid, Grid, GridColumn, Style};
use crate::terminal::fold;
use crate::words::{ceiling_share, clock_word, title};

/// Dropped kernels that are listed one by one; JSON has all.
const DROPPED_SHOWN: usize = 4;

/// Writes the whole report.
///
/// # Errors
/// When the writer fails.
pub fn write(report: &AnalysisReport<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    let page = TextPage { report, style };
    for (index, device) in report.answers.devices.iter().enumerate() {
        if index > 0 {
            page.gap(out)?;
        }
        page.device(device, out)?;
    }
    for across in &report.answers.across {
        page.gap(out)?;
        page.across(across, out)?;
    }
    page.in_short(out)?;
    // What was asked by number comes last: nothing scrolls it away.
    for device in &report.answers.devices {
        page.at_sizes(device, out)?;
    }
    Ok(())
}

struct TextPage<'a> {
    report: &'a AnalysisReport<'a>,
    style: Style,
}

impl TextPage<'_> {
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
        self.grid_drawn(grid, out).map(drop)
    }

    /// Draws a grid, and says which columns had no room in it.
    fn grid_drawn(&self, grid: Grid, out: &mut impl Write) -> io::Result<DrawnGrid> {
        let drawn = grid.drawn(self.style);
        writeln!(out, "{}", drawn.text_and_left_out(self.style))?;
        if self.style == Style::Markdown {
            writeln!(out)?;
        }
        Ok(drawn)
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
        self.heading(2, &format!("{}: {}", title(device), device.table.problem.title()), out)?;
        self.say(&device.table.provenance.to_string(), out)?;
        if self.report.answers.devices.len() > 1 || device.table.pool.is_some() {
            self.say(&unit_words(device), out)?;
        }
        self.say(&row_counts(device), out)?;
        if let Some(text) = distrusted(device) {
            self.say(&text, out)?;
        }
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
        let table = self.ideal_table(device, out)?;
        let ties = if table.has("ties") { "; ties: configs within noise of the best one" } else { "" };
        let units = match device.ideal.points.iter().any(|point| point.unit_spread_pct.is_some()) {
            true => {
                "; units: how far they differ in that lead (half of them lie within it), below which it is a tie"
            }
            false => "",
        };
        self.say(&format!("lead: over the runner-up{units}{ties}"), out)?;
        let confirmed = device.ideal.points.iter().filter(|point| point.best.confirmed_ns.is_some()).count();
        if confirmed > 0 {
            let sizes = count(confirmed, "size");
            let text = format!(
                "at {sizes} the best config is that of `sweep --confirm`; all times there are on the scale of its confirmation"
            );
            self.say(&text, out)?;
        }
        if device.ideal.points.iter().any(|point| point.baseline_gbps.is_some()) && table.has("x base") {
            let is_beside = device.ideal.points.iter().any(|point| point.baseline_own_gbps.is_some());
            let by = if is_beside { ", by the rows of scanbox in the same run" } else { "" };
            self.say(
                &format!("x base: times as fast as the fastest scan of another implementation{by}"),
                out,
            )?;
        }
        if let Some(utilization) = &device.utilization {
            self.say(&bandwidth(utilization, device.table.problem), out)?;
        }
        for text in device.baseline.iter().flat_map(baseline) {
            self.say(&text, out)?;
        }
        if self.report.explain {
            self.explain_ideal(device, out)?;
        }
        self.curve(device, out)?;
        self.gap(out)?;
        match &device.choice {
            None => self.say("No best kernel: there is nothing that kernels can be compared by.", out)?,
            Some(choice) => self.best_kernel(device, choice, out)?,
        }
        self.dropped(&device.eligibility, out)?;
        if let Some(portfolio) = &device.portfolio {
            self.portfolio(portfolio, device.choice.as_ref(), out)?;
        }
        self.ranges(device, out)
    }

    /// The ideal configuration set beside the best kernel; the columns that had no room.
    fn ideal_table(&self, device: &DeviceAnswer<'_>, out: &mut impl Write) -> io::Result<DrawnGrid> {
        let mut grid = Grid::new([
            GridColumn::numbers("size"),
            GridColumn::numbers("GB/s"),
            GridColumn::numbers(ceiling_share(&device.table.problem)).expendable(1),
            GridColumn::numbers("x base").expendable(1),
            GridColumn::words("best config"),
            GridColumn::numbers("lead %"),
            // Beside every lead of several units: how far they differ in it.
            GridColumn::numbers("units %").unless_empty(),
            GridColumn::numbers("ties").expendable(2),
            GridColumn::numbers("kernel").expendable(1),
            GridColumn::numbers("loss %").expendable(1),
        ]);
        let line = device.choice.as_ref().and_then(|choice| choice.lines.first());
        for point in &device.ideal.points {
            let in_choice = device.eligibility.sizes.binary_search(&point.n).is_ok();
            let mark = if in_choice || device.choice.is_none() { "" } else { "*" };
            let kernel = line.and_then(|line| line.at(point.n));
            grid.push([
                format!("{}{mark}", size_label(point.n)),
                gbps(point.best.gbps),
                point.ceiling_pct().map_or_else(String::new, |pct| format!("{pct:.0}")),
                point.baseline_ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                self.config(point.best.config),
                point.margin_pct.map_or_else(String::new, percent),
                point.unit_spread_pct.map_or_else(String::new, percent),
                point.ties.to_string(),
                kernel.map_or_else(String::new, |kernel| gbps(kernel.best.gbps)),
                kernel.map_or_else(String::new, |kernel| percent(kernel.loss_pct)),
            ]);
        }
        self.grid_drawn(grid, out)
    }

    /// The ideal line as a curve, where the lines have a width: in a terminal.
    fn curve(&self, device: &DeviceAnswer<'_>, out: &mut impl Write) -> io::Result<()> {
        let Style::Text { width: Some(width) } = self.style else { return Ok(()) };
        let points: Vec<(u64, f64)> =
            device.ideal.points.iter().map(|point| (point.n, point.best.gbps)).collect();
        match curve::draw(&points, width) {
            Some(curve) => writeln!(out, "\n{curve}"),
            None => Ok(()),
        }
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
            self.say(&format!("{}.", sentence(&losses(line))), out)?;
        }
        self.say(&compared(&device.eligibility), out)?;
        self.doubts(choice, out)?;
        self.metrics(&device.by_metric, out)?;
        if self.report.explain {
            self.explain_choice(choice, &device.eligibility, out)?;
        }
        Ok(())
    }

    /// What speaks against relying on a choice.
    fn doubts(&self, choice: &Choice, out: &mut impl Write) -> io::Result<()> {
        if !choice.ties.is_empty() {
            let names: Vec<String> = choice.ties.iter().map(|&kernel| self.kernel(kernel)).collect();
            let text = format!("Within noise of it at every size: {}.", names.join(", "));
            self.say(&text, out)?;
        }
        match self.other_normalizations(choice) {
            Some(text) => self.say(&text, out),
            None => Ok(()),
        }
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
        // Kernels that are made for other sizes are many and say nothing new; failures are told one by one.
        let (partial, failed): (Vec<_>, Vec<_>) =
            eligibility.dropped.iter().partition(|dropped| dropped.is_partial());
        if !partial.is_empty() {
            let text = format!(
                "Left out of the comparison: {} without a config at every one of these sizes \
                 (--coverage compares over other sizes, --portfolio K takes them in).",
                count(partial.len(), "kernel")
            );
            self.say(&text, out)?;
        }
        if failed.is_empty() {
            return Ok(());
        }
        self.gap(out)?;
        // Where a sweep ended early, nothing has failed.
        let why = if failed.iter().all(|dropped| dropped.is_untried()) { "" } else { " for a failure" };
        self.say(&format!("Left out of the comparison{why}: {}", count(failed.len(), "kernel")), out)?;
        let mut grid = Grid::new([
            GridColumn::words("kernel"),
            GridColumn::words("device").expendable(1),
            GridColumn::words("reason"),
        ]);
        let one_device = failed.iter().all(|dropped| dropped.device == failed[0].device);
        for dropped in failed.iter().take(DROPPED_SHOWN) {
            let device = if one_device { String::new() } else { dropped.device.clone() };
            grid.push([self.kernel(dropped.kernel), device, dropped.to_string()]);
        }
        self.grid(grid, out)?;
        match failed.len().saturating_sub(DROPPED_SHOWN) {
            0 => Ok(()),
            more => self.say(&format!("and {more} more (--format json lists all)"), out),
        }
    }

    fn launch(&self, config: ConfigIndex) -> String {
        let config = self.report.tables.catalog.config(config);
        let workgroups = config.workgroups.map_or_else(String::new, |workgroups| format!(".g{workgroups}"));
        format!("wg{}{workgroups}", config.workgroup_size)
    }
}

/// Over what kernels were compared.
fn compared(eligibility: &Eligibility) -> String {
    let kernels = eligibility.kernels.len() + eligibility.dropped.len();
    let span = match (eligibility.sizes.first(), eligibility.sizes.last()) {
        (Some(first), Some(last)) if first != last => {
            format!(" from {} to {}", size_label(*first), size_label(*last))
        }
        _ => String::new(),
    };
    let why = match &eligibility.coverage {
        Coverage::Auto | Coverage::Common => "where every kernel has a config".to_owned(),
        Coverage::All => "all that were measured".to_owned(),
        Coverage::Widest => "what the kernels with the most sizes cover".to_owned(),
        Coverage::Share(share) => {
            format!("where at least {} % of the kernels have a config", percent(100.0 * share.get()))
        }
        Coverage::Sizes(_) => "as asked".to_owned(),
    };
    let note = if eligibility.sizes.len() < eligibility.measured { "; * marks the others" } else { "" };
    format!(
        "Compared: {} of {} over {} of {}{span} ({why}{note}).",
        eligibility.kernels.len(),
        count(kernels, "kernel"),
        eligibility.sizes.len(),
        count(eligibility.measured, "size"),
    )
}

/// What the ideal line reaches of the bandwidth at the largest size, and where it exceeds it (A20).
fn bandwidth(utilization: &Utilization, problem: Problem) -> String {
    let origin = match utilization.bandwidth.origin {
        BandwidthOrigin::Given => "as given".to_owned(),
        BandwidthOrigin::Ceiling { n } => format!("the measured {} of {}", problem.ceiling(), size_label(n)),
    };
    let largest = utilization.points.last().map_or_else(String::new, |point| {
        format!("{} % of it at {}", percent(point.pct), size_label(point.n))
    });
    let cached: Vec<u64> = utilization
        .points
        .iter()
        .filter(|point| point.regime == Regime::Cache)
        .map(|point| point.n)
        .collect();
    let cached = match (cached.first(), cached.last()) {
        (Some(first), Some(last)) => format!(
            "; above it, from caches, at {} from {} to {}",
            count(cached.len(), "size"),
            size_label(*first),
            size_label(*last)
        ),
        _ => String::new(),
    };
    format!("Bandwidth: {} GB/s ({origin}); {largest}{cached}.", gbps(utilization.bandwidth.gbps))
}

/// The ideal line against another implementation, one sentence per regime (A22).
fn baseline(comparison: &AgainstBaseline) -> impl Iterator<Item = String> {
    let mut subjects: Vec<&str> = comparison.points.iter().map(|point| point.subject.as_str()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let subjects = subjects.join(", ");
    let sentence = move |region: &Region| {
        let sizes = match region.regime {
            None => count(region.sizes, "size"),
            Some(Regime::Cache) => format!("{} from caches", count(region.sizes, "size")),
            Some(Regime::Memory) => format!("{} from memory", count(region.sizes, "size")),
        };
        format!(
            "Against {subjects}: {:.2} times as fast on average at {sizes} ({:.2} at {} to {:.2} at {}), faster at {}.",
            region.mean_ratio,
            region.least.0,
            size_label(region.least.1),
            region.most.0,
            size_label(region.most.1),
            region.faster,
        )
    };
    comparison.regions.iter().map(sentence)
}

/// What counts nowhere on a device, and what takes that back.
pub(crate) fn distrusted(device: &DeviceAnswer<'_>) -> Option<String> {
    let points = &device.table.distrusted;
    let first = points.first()?;
    let more = match points.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more (--format json lists all)"),
    };
    Some(format!(
        "not trusted, and left out of every answer: {} at {}{more}: wrong once, and not shown right since ({PROOF})",
        first.config,
        size_label(first.n)
    ))
}

/// How many rows have which status: `90 ok, 6 unsupported`.
pub(crate) fn statuses(device: &DeviceAnswer<'_>) -> String {
    let by_status = &device.table.summary.by_status;
    let counts =
        Status::ALL.into_iter().filter_map(|status| by_status.get(&status).map(|n| format!("{n} {status}")));
    counts.collect::<Vec<_>>().join(", ")
}

/// Rows by status, and how much of the space they are.
pub(crate) fn row_counts(device: &DeviceAnswer<'_>) -> String {
    let summary = &device.table.summary;
    let space = match (device.table.space_origin, summary.planned_points) {
        (SpaceOrigin::Planned, Some(points)) => {
            format!("; {} of {points} points of the space", summary.planned_with_row)
        }
        _ => String::new(),
    };
    format!("{} rows: {}{space}", summary.rows, statuses(device))
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

pub(crate) fn count(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

pub(crate) fn gbps(value: f64) -> String {
    if value < 1.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

pub(crate) fn percent(value: f64) -> String {
    format!("{value:.1}")
}

/// A score with five significant digits.
pub(crate) fn score(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-3..1e7).contains(&size) => format!("{value:.4e}"),
        size => format!("{value:.*}", (4 - size.log10().floor() as i32).max(0) as usize),
    }
}
