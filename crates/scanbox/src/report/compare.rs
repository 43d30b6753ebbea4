//! Comparisons of two sweeps: the verdict in the first line, then what it rests on. [`mod@rows`] writes them for programs.

mod rows;

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_analysis::compare::{
    Comparison, ConfigChange, DRIFT_LIMIT, LineChange, Outcome, Question, Verdict,
};
use scanbox_model::record::{Record, Status};
use scanbox_model::units::size_label;

pub use self::rows::{csv, json};
use super::grid::{Column, Grid, Style};
use super::terminal::fold;

/// Single configs that are named in a table.
const CONFIGS_SHOWN: usize = 5;

/// What a report is about.
pub struct Report<'a> {
    /// What came of it.
    pub comparison: &'a Comparison,
    /// What was asked.
    pub question: &'a Question,
    /// The file of the base.
    pub base: &'a str,
    /// The other one.
    pub new: &'a str,
    /// The rows of both.
    pub records: [&'a [Record]; 2],
}

/// A share as percent with a sign.
fn signed(share: f64) -> String {
    format!("{:+.1}", 100.0 * share)
}

/// The threshold in percent.
fn threshold(question: &Question) -> String {
    format!("{} %", (1e4 * question.threshold).round() / 100.0)
}

/// Which line.
fn line_name(is_ideal: bool) -> &'static str {
    if is_ideal { "ideal line" } else { "best kernel" }
}

/// The verdict in one line; with a regression the size and the config that it is about.
pub fn headline(comparison: &Comparison, question: &Question) -> String {
    match comparison.outcome {
        Outcome::Regression => {
            let (guilty, broken) = (comparison.guilty(), comparison.broken());
            // A line that lost everything is more than the configs that it lost.
            let is_whole_line = guilty.first().is_some_and(|(_, worst)| worst.lost_configs > 0);
            if !broken.is_empty() && !is_whole_line {
                return broken_headline(&broken);
            }
            let Some((is_ideal, worst)) = guilty.first() else { return "SLOWER".to_owned() };
            // The two lines often share a config, and a size is one however many lines are slower there.
            let mut others: Vec<u64> =
                guilty.iter().map(|(_, change)| change.n).filter(|&n| n != worst.n).collect();
            others.sort_unstable();
            others.dedup();
            let others = match others.as_slice() {
                [] => String::new(),
                [n] => format!("; also at {}", size_label(*n)),
                [first, .., last] => {
                    let (first, last) = (size_label(*first), size_label(*last));
                    format!("; also at {} other sizes from {first} to {last}", others.len())
                }
            };
            let size = size_label(worst.n);
            let what = match worst.change {
                Some(change) => format!("{} % at {size}", signed(change)),
                None => format!("at {size} none of {} configs works any more", worst.lost_configs),
            };
            let base = &worst.base.config;
            if let (Some(gone), Some(change)) = (&worst.gone, worst.change) {
                let how = gone.status.map_or("has no row", |status| status.word());
                return format!(
                    "SLOWER: {} % at {size}, {}: its leader {how} now ({}){others}",
                    signed(change),
                    line_name(*is_ideal),
                    gone.config
                );
            }
            let config = match &worst.new {
                Some(new) if new.config != *base => format!("{}, was {base}", new.config),
                _ => base.clone(),
            };
            format!("SLOWER: {what}, {} ({config}){others}", line_name(*is_ideal))
        }
        Outcome::NoRegression => {
            let faster: Vec<u64> = comparison
                .ideal
                .iter()
                .filter(|change| change.verdict == Verdict::Faster)
                .map(|change| change.n)
                .collect();
            match faster.as_slice() {
                [] => format!("SAME: no size is slower by more than {}", threshold(question)),
                [n] => format!(
                    "FASTER: at {}, and no size is slower by more than {}",
                    size_label(*n),
                    threshold(question)
                ),
                sizes => {
                    format!(
                        "FASTER: at {} sizes, and none is slower by more than {}",
                        sizes.len(),
                        threshold(question)
                    )
                }
            }
        }
        Outcome::Inconclusive => inconclusive(comparison),
    }
}

/// What does not work any more, in one line.
fn broken_headline(broken: &[&ConfigChange]) -> String {
    let Some(first) = broken.first() else { return "BROKEN".to_owned() };
    let status = first.status.map_or("", |status| status.word());
    let word = if first.status == Some(Status::WrongResult) { "WRONG" } else { "BROKEN" };
    let more = match broken.len() - 1 {
        0 => String::new(),
        more => format!("; {more} more fail now"),
    };
    format!("{word}: {} at {} was ok and is {status} now{more}", first.config, size_label(first.n))
}

/// Why nothing can be said.
fn inconclusive(comparison: &Comparison) -> String {
    let sizes = |verdict: Verdict| -> Vec<u64> {
        let mut sizes: Vec<u64> = comparison
            .deciding()
            .filter(|(_, change)| change.verdict == verdict)
            .map(|(_, change)| change.n)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let list = |sizes: &[u64]| sizes.iter().map(|&n| size_label(n)).collect::<Vec<_>>().join(", ");
    let (unclear, gone) = (sizes(Verdict::Unclear), sizes(Verdict::Missing));
    if comparison.ideal.is_empty() {
        return "MISSING: the base has no ok row, so there is nothing to compare".to_owned();
    }
    if comparison.drift.removed.abs() > DRIFT_LIMIT {
        let drift = signed(comparison.drift.removed.exp_m1());
        return format!("UNCLEAR: the device as a whole differs by {drift} %; measure again");
    }
    if !unclear.is_empty() {
        return format!("UNCLEAR: slower at {}, or noise; measure again", list(&unclear));
    }
    if !gone.is_empty() {
        let leader = comparison.deciding().find_map(|(_, change)| change.gone.as_ref());
        let leader = leader.map_or_else(String::new, |gone| {
            let status = gone.status.map_or("no row", |status| status.word());
            format!(" ({}: {status})", gone.config)
        });
        return format!("MISSING: the new run has no time of what led the base at {}{leader}", list(&gone));
    }
    if let Some(alone) = comparison.drift.scans_against_copies() {
        return format!(
            "UNCLEAR: scans as a whole are slower than copies would have it, by {} %",
            signed(alone)
        );
    }
    let drift = signed(comparison.drift.removed.exp_m1());
    format!("UNCLEAR: all sizes differ by {drift} %, and no copies tell whether that is drift")
}

/// The whole comparison for people.
pub fn text(report: &Report<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    let Report { comparison, question, .. } = report;
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
    fact("drift", &drift(comparison, question))?;
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
    if comparison.ideal.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", grid(comparison, question).draw(style))?;
    let legend = "%: how much slower, drift taken out; from %: what would be told at least, by noise and threshold; slower: single \
         configs that are, of those in both";
    writeln!(out, "{}", fold("", legend, 0, width))?;
    lists(report, style, width, out)
}

/// A file, and where its rows are from.
fn origin(name: &str, records: &[Record]) -> String {
    let Some(row) = records.last() else { return format!("{name}, without rows") };
    let hash: String = row.kernel_hash.chars().take(12).collect();
    format!("{name}: {}, driver {}, kernels {hash}, {}", row.device, row.driver, row.timestamp_utc)
}

fn drift(comparison: &Comparison, question: &Question) -> String {
    let drift = comparison.drift;
    let share =
        |log: Option<f64>| log.map_or("unknown".to_owned(), |log| format!("{} %", signed(log.exp_m1())));
    let removed = signed(drift.removed.exp_m1());
    let mut text = format!(
        "copies {}, scans {} (medians of all sizes); {removed} % is taken out of every change",
        share(drift.copies),
        share(drift.scans)
    );
    let alone = drift.scans_against_copies().unwrap_or_default();
    if alone > question.threshold {
        text += "; scans are slower as a whole, and copies are not";
    } else if drift.removed > question.threshold.ln_1p() {
        text += if drift.copies.is_some() {
            "; the device is slower as a whole: a change that slows scans and copies alike would look the same"
        } else {
            "; no copies tell whether the device drifted or all scans became slower"
        };
    }
    text
}

/// Both lines by size.
fn grid(comparison: &Comparison, question: &Question) -> Grid {
    let mut grid = Grid::new([
        Column::numbers("size"),
        Column::words("ideal"),
        Column::numbers("%"),
        Column::numbers("from %"),
        Column::words("kernel"),
        Column::numbers("%"),
        Column::numbers("from %"),
        Column::numbers("slower").expendable(1),
        Column::words("best config now").expendable(2),
    ]);
    let told = |change: &LineChange| {
        change.floor.map_or_else(String::new, |floor| format!("{:.1}", 100.0 * floor.max(question.threshold)))
    };
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
        let (count, all) = slower.get(&change.n).copied().unwrap_or_default();
        grid.push([
            size_label(change.n),
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

/// What decides nothing and has to be known.
fn lists(report: &Report<'_>, style: Style, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let Report { comparison, .. } = report;
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

    let missing = comparison.configs.iter().filter(|config| config.status.is_none()).count();
    if missing > 0 {
        writeln!(out, "\n{missing} configs of the base have no row in the new run.")?;
    }
    if !comparison.new_sizes.is_empty() {
        let sizes: Vec<String> = comparison.new_sizes.iter().map(|&n| size_label(n)).collect();
        writeln!(out, "\nOnly the new run has {}.", sizes.join(", "))?;
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
