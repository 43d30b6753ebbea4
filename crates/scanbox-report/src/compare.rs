//! Comparisons of two sweeps: the verdict in the first line, then what it rests on. `rows` writes them for
//! programs.

mod again;
mod headline;
pub(crate) mod rows;

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_analysis::compare::{CompareQuestion, Comparison, ConfigChange, LineChange, Verdict};
use scanbox_analysis::pairs::GroupChange;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::record::Record;
use scanbox_model::units::{plural, size_label};

use self::again::Again;
pub use self::headline::headline;
use super::document::{Document, Format};
use super::grid::{Grid, GridColumn, Style};
use super::terminal::fold;

/// The column of how many single configs look slower.
const SLOWER_ALONE: &str = "slower alone";
/// Single configs that are named in a table.
const CONFIGS_SHOWN: usize = 5;

/// What a report is about.
pub struct CompareReport<'a> {
    /// What came of it.
    pub comparison: &'a Comparison,
    /// What was asked.
    pub question: &'a CompareQuestion,
    /// The file of the base.
    pub base: &'a str,
    /// The other one.
    pub new: &'a str,
    /// The rows of both.
    pub records: [&'a [Record]; 2],
    /// Which scanbox made the base, in words, where that is known.
    pub base_tool: Option<&'a str>,
}

impl Document for CompareReport<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table | Format::Markdown => text(self, format.style(width), &mut out),
            Format::Json => rows::json(self, &mut out),
            Format::Csv => rows::csv(self, &mut out),
            other => other.missing("a comparison"),
        }
    }
}

/// A share as percent with a sign.
fn signed(share: f64) -> String {
    format!("{:+.1}", 100.0 * share)
}

/// A logarithm of times as words: how much slower, or faster.
fn slower_or_faster(log: f64) -> String {
    let share = 100.0 * log.exp_m1();
    format!("{:.1} % {}", share.abs(), if share < 0.0 { "faster" } else { "slower" })
}

/// The threshold as a number of percent.
fn percent(question: &CompareQuestion) -> String {
    ((1e4 * question.threshold).round() / 100.0).to_string()
}

/// The threshold in percent.
fn threshold(question: &CompareQuestion) -> String {
    format!("{} %", percent(question))
}

/// Which line.
fn line_name(is_ideal: bool) -> &'static str {
    if is_ideal { "ideal line" } else { "best kernel" }
}

/// The whole comparison for people.
fn text(report: &CompareReport<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    let CompareReport { comparison, question, .. } = report;
    let width = match style {
        Style::Text { width } => width,
        Style::Markdown => None,
    };
    let bold = if style == Style::Markdown { "**" } else { "" };
    writeln!(out, "{bold}{}{bold}\n", fold("", &headline(comparison, question), 2, width))?;
    // In Markdown every fact is a line of a list.
    let mut fact = |head: &str, text: &str| match style {
        Style::Markdown => writeln!(out, "- {head}: {}", text.replace('|', "\\|")),
        Style::Text { .. } => writeln!(out, "{}", fold(&format!("{head:<9}  "), text, 11, width)),
    };
    fact("base", &origin(report.base, report.records[0]))?;
    fact("new", &origin(report.new, report.records[1]))?;
    for difference in &comparison.differences {
        let cut = |text: &str| text.chars().take(48).collect::<String>();
        fact(
            "differs",
            &format!("{}: {}, now {}", difference.what, cut(&difference.base), cut(&difference.new)),
        )?;
    }
    fact("device", &device(comparison))?;
    if !comparison.is_paired {
        fact("drift", &drift(comparison, question))?;
    }
    for (which, range) in ["base", "new run"].into_iter().zip(comparison.canary) {
        if let Some(range) = range.filter(|&range| range > question.threshold) {
            let range = 100.0 * range;
            fact(
                "canary",
                &format!("in the {which} a copy that was timed again and again ranged over {range:.1} %"),
            )?;
        }
    }
    if let Some(kernel) = &comparison.kernel {
        fact("kernel", &format!("{kernel}, the best of the base by {}", question.metric))?;
    }
    if let Some(Again { why, commands }) = again::again(report) {
        let whole = |fact: &str| match style {
            Style::Markdown => format!("  - `{fact}`"),
            Style::Text { .. } => format!("           {fact}"),
        };
        match style {
            Style::Markdown => writeln!(out, "- next: {why}")?,
            Style::Text { .. } => writeln!(out, "{}", fold("next       ", &why, 11, width))?,
        }
        for command in commands {
            writeln!(out, "{}", whole(&command))?;
        }
    }
    if comparison.ideal.is_empty() {
        return Ok(());
    }
    let drawn = grid(comparison).drawn(style);
    writeln!(out, "\n{}\n", drawn.text_and_left_out(style))?;
    let line = if comparison.is_paired {
        "winner: that of the base"
    } else {
        "ideal: the ideal line, the best config of each size"
    };
    let slower = match drawn.has(SLOWER_ALONE) {
        true => {
            "; slower alone: how many configs, of those in both sweeps, lost more than noise by their one time in each \
             sweep; it decides nothing, and can be 0 beside SLOWER, which more measurements show"
        }
        false => "",
    };
    let legend = format!(
        "%: how much slower; sees: 95 of 100 such comparisons find a loss of so many percent (none: no loss would be found); rows: the median of all rows of \
         the size; {line}; kernel: the best config of the kernel that is watched{slower}"
    );
    writeln!(out, "{}", fold("", &legend, 0, width))?;
    lists(report, style, width, out)
}

/// What the device lost.
fn device(comparison: &Comparison) -> String {
    let device = &comparison.device;
    let share =
        |log: Option<f64>| log.map_or("unknown".to_owned(), |log| format!("{} %", signed(log.exp_m1())));
    let copies = share(device.ceilings);
    match device.kernels {
        Some(kernels) => format!(
            "the base's own program {} against {} (median of all sizes); copies {copies}",
            share(Some(kernels)),
            if device.nights == 1 { "its night".to_owned() } else { format!("{} nights", device.nights) }
        ),
        None => format!(
            "{}, by what copies and scans have in common; `scanbox rerun` would measure the base again",
            slower_or_faster(device.lost)
        ),
    }
}

/// A file, and where its rows are from.
fn origin(name: &str, records: &[Record]) -> String {
    let Some(row) = records.last() else { return format!("{name}, without rows") };
    let hash: String = row.kernel_hash.chars().take(12).collect();
    let device = DeviceApi::of(row).title_of(&row.device);
    format!("{name}: {device}, driver {}, kernels {hash}, {}", row.driver, row.timestamp_utc)
}

fn drift(comparison: &Comparison, question: &CompareQuestion) -> String {
    let drift = comparison.drift;
    let share =
        |log: Option<f64>| log.map_or("unknown".to_owned(), |log| format!("{} %", signed(log.exp_m1())));
    let removed = signed(drift.removed.exp_m1());
    let mut text = format!(
        "copies {}, scans {} (medians of all sizes, + is slower); every change is without {removed} % of drift",
        share(drift.ceilings),
        share(drift.scans)
    );
    let alone = drift.scans_against_ceilings().unwrap_or_default();
    if alone > question.threshold {
        text += if drift.scans.is_some_and(|scans| scans > 0.0)
            && drift.ceilings.is_some_and(|copies| copies <= question.threshold.ln_1p())
        {
            "; scans are slower as a whole, and copies are not"
        } else {
            "; scans have lost against copies"
        };
    } else if drift.removed > question.threshold.ln_1p() {
        text += if drift.ceilings.is_some() {
            "; the device is slower as a whole: a change that slows scans and copies alike would look the same"
        } else {
            "; no copies tell whether the device drifted or all scans became slower"
        };
    }
    text
}

/// Rows, winner or ideal line, and kernel, by size.
fn grid(comparison: &Comparison) -> Grid {
    let mut grid = Grid::new([
        GridColumn::numbers("size"),
        GridColumn::words("rows"),
        GridColumn::numbers("%"),
        GridColumn::numbers("sees"),
        GridColumn::words(if comparison.is_paired { "winner" } else { "ideal" }),
        GridColumn::numbers("%"),
        GridColumn::numbers("sees"),
        GridColumn::words("kernel"),
        GridColumn::numbers("%"),
        GridColumn::numbers("sees"),
        GridColumn::numbers(SLOWER_ALONE).expendable(1),
        GridColumn::words("best config now").expendable(2),
    ]);
    let told = |change: &LineChange| change.limit.map_or_else(String::new, limit);
    let percent = |change: &LineChange| change.change.map_or_else(String::new, signed);
    let mut slower: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
    for config in comparison.configs.iter().filter(|config| config.new_ns.is_some()) {
        let (count, all) = slower.entry(config.n).or_default();
        *count += usize::from(config.verdict == Verdict::Slower);
        *all += 1;
    }
    for change in &comparison.ideal {
        let kernel = comparison.kernel_line.iter().find(|kernel| kernel.n == change.n);
        let of_kernel = |text: &dyn Fn(&LineChange) -> String| kernel.map_or_else(String::new, text);
        let rows = comparison.judgement.at(change.n);
        let of_rows = |text: &dyn Fn(&GroupChange) -> String| rows.map_or_else(String::new, text);
        let (count, all) = slower.get(&change.n).copied().unwrap_or_default();
        grid.push([
            size_label(change.n),
            of_rows(&|rows| rows.verdict.word().to_owned()),
            of_rows(&|rows| signed(rows.change)),
            of_rows(&|rows| rows.limit.map_or_else(String::new, limit)),
            change.verdict.word().to_owned(),
            percent(change),
            told(change),
            of_kernel(&|change| change.verdict.word().to_owned()),
            of_kernel(&percent),
            of_kernel(&told),
            format!("{count}/{all}"),
            change.new.as_ref().map_or_else(String::new, |new| new.config.clone()),
        ]);
    }
    grid
}

/// A limit in percent; from 1,000 % on no loss would be found.
fn limit(share: f64) -> String {
    if share < 10.0 { format!("{:.1}", 100.0 * share) } else { "none".to_owned() }
}

/// What decides nothing and has to be known.
fn lists(
    report: &CompareReport<'_>,
    style: Style,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let CompareReport { comparison, .. } = report;
    let failing: Vec<&ConfigChange> = comparison.configs.iter().filter(|config| config.fails_now()).collect();
    let status = |config: &ConfigChange| config.status.map_or("", |status| status.word());
    let mut items = failing.iter().map(|config| {
        let reason = if config.reason.is_empty() { String::new() } else { format!(": {}", config.reason) };
        format!("{} at {}: {}{reason}", config.config, size_label(config.n), status(config))
    });
    list("Configs that were ok and fail now", &mut items, style, width, out)?;

    let mut slower: Vec<&ConfigChange> =
        comparison.configs.iter().filter(|config| config.verdict == Verdict::Slower).collect();
    slower.sort_by(|a, b| b.change.unwrap_or_default().total_cmp(&a.change.unwrap_or_default()));
    let mut items = slower.iter().map(|config| {
        format!(
            "{} at {}: {} %",
            config.config,
            size_label(config.n),
            signed(config.change.unwrap_or_default())
        )
    });
    list("Single configs that are slower (they do not decide)", &mut items, style, width, out)?;

    let mut items = comparison
        .winners
        .iter()
        .map(|change| format!("{}: {}, now {}", size_label(change.n), change.base, change.new));
    list("Sizes with another winner", &mut items, style, width, out)?;

    let mut items = comparison.failed.iter().map(|failed| {
        let (size, side) = (size_label(failed.n), failed.side.word());
        format!("{} at {size}, {side}: {}: {}", failed.config, failed.status, failed.reason)
    });
    list("Configs that failed when base and new ran in turns", &mut items, style, width, out)?;

    let missing = comparison.configs.iter().filter(|config| config.status.is_none()).count();
    if missing > 0 {
        let have = if missing == 1 { "has" } else { "have" };
        writeln!(out, "\n{} of the base {have} no row in the new run.", plural(missing, "config"))?;
    }
    if comparison.unmeasured > 0 {
        let configs = plural(comparison.unmeasured, "config");
        let text = format!("Not measured again, though both sweeps have a time: {configs}.");
        writeln!(out, "\n{}", fold("", &text, 0, width))?;
    }
    if !comparison.new_sizes.is_empty() {
        let sizes: Vec<String> = comparison.new_sizes.iter().map(|&n| size_label(n)).collect();
        let text = format!("Only the new run has {}.", sizes.join(", "));
        writeln!(out, "\n{}", fold("", &text, 0, width))?;
    }
    Ok(())
}

/// A heading with the first items.
fn list(
    heading: &str,
    items: &mut dyn ExactSizeIterator<Item = String>,
    style: Style,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let count = items.len();
    if count == 0 {
        return Ok(());
    }
    let (bullet, gap) = if style == Style::Markdown { ("- ", "\n") } else { ("  ", "") };
    writeln!(out, "\n{heading}: {count}{gap}")?;
    for item in items.take(CONFIGS_SHOWN) {
        writeln!(out, "{}", fold(bullet, &item, 4, width))?;
    }
    match count.saturating_sub(CONFIGS_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "{bullet}and {more} more; --format csv has all of them"),
    }
}
