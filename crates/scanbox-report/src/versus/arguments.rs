//! Each config against itself with push constants ([`scanbox_analysis::arguments`]).

use std::io::{self, Write};

use scanbox_analysis::arguments::{AgainstPush, MOST_NS, MOST_SHARE, against_push};
use scanbox_analysis::bench::Heat;
use scanbox_model::record::Cache;
use scanbox_model::units::size_label;
use schemars::JsonSchema;
use serde::Serialize;

use super::micros;
use crate::document::{Format, write_json};
use crate::grid::{Grid, GridColumn, Style};
use crate::terminal::fold;

/// A line for machines.
#[derive(Serialize, JsonSchema)]
pub struct AgainstPushRow<'a> {
    n_elements: u64,
    cache: Cache,
    config: &'a str,
    push_ns: u64,
    ns: u64,
    /// By how much it takes longer, and the interval that holds that at 95 %.
    longer_ns: f64,
    longer_ns_low: f64,
    longer_ns_high: f64,
    /// How much longer it may take.
    most_ns: f64,
    /// Whether the upper end of the interval keeps that.
    keeps: bool,
    /// How many times as fast as with push constants it is, and the interval that holds that at 95 %.
    ratio: f64,
    ratio_low: f64,
    ratio_high: f64,
}

impl<'a> AgainstPushRow<'a> {
    fn new(one: &AgainstPush<'a>) -> Self {
        let rounded = |value: f64| (value * 10_000.0).round() / 10_000.0;
        let tenths = |ns: f64| (ns * 10.0).round() / 10.0;
        Self {
            n_elements: one.record.n_elements,
            cache: one.cache,
            config: &one.record.config_id,
            push_ns: one.ns[1],
            ns: one.ns[0],
            longer_ns: tenths(one.longer_ns.value),
            longer_ns_low: tenths(one.longer_ns.interval.low),
            longer_ns_high: tenths(one.longer_ns.interval.high),
            most_ns: tenths(one.most_ns()),
            keeps: one.keeps(),
            ratio: rounded(one.ratio.value),
            ratio_low: rounded(one.ratio.interval.low),
            ratio_high: rounded(one.ratio.interval.high),
        }
    }
}

/// Every config that took part both ways.
pub(super) fn write(
    heats: &[Heat<'_>],
    format: Format,
    width: Option<usize>,
    mut out: &mut dyn Write,
) -> io::Result<()> {
    let all = against_push(heats);
    match format {
        Format::Table | Format::Markdown => write_table(&all, format.style(width), &mut out),
        Format::Json => write_json(out, &all.iter().map(AgainstPushRow::new).collect::<Vec<_>>()),
        Format::Csv => {
            writeln!(
                out,
                "n_elements,cache,config,push_ns,ns,longer_ns,longer_ns_low,longer_ns_high,most_ns,keeps,ratio,ratio_low,\
                 ratio_high"
            )?;
            for row in all.iter().map(AgainstPushRow::new) {
                let times = format!("{},{},{}", row.longer_ns, row.longer_ns_low, row.longer_ns_high);
                let ratios = format!("{},{},{}", row.ratio, row.ratio_low, row.ratio_high);
                let AgainstPushRow { n_elements, config, push_ns, ns, most_ns, keeps, .. } = row;
                let cache = row.cache.word();
                writeln!(
                    out,
                    "{n_elements},{cache},{config},{push_ns},{ns},{times},{most_ns},{keeps},{ratios}"
                )?;
            }
            Ok(())
        }
        other => other.missing("a comparison of arguments"),
    }
}

fn write_table(all: &[AgainstPush<'_>], style: Style, out: &mut impl Write) -> io::Result<()> {
    if all.is_empty() {
        let none = "no config took part both with push constants and with its arguments elsewhere: name both";
        return writeln!(out, "{}", fold("", none, 2, style_width(style)));
    }
    let mut grid = Grid::new([
        GridColumn::numbers("n"),
        GridColumn::words("buffers").expendable(3),
        GridColumn::words("config"),
        GridColumn::numbers("push us").expendable(1),
        GridColumn::numbers("us").expendable(2),
        GridColumn::numbers("longer by ns"),
        GridColumn::numbers("at most ns"),
        GridColumn::words("keeps it"),
    ]);
    for one in all {
        let interval = one.longer_ns.interval;
        grid.push([
            size_label(one.record.n_elements),
            one.cache.word().to_owned(),
            one.record.config_id.clone(),
            micros(one.ns[1]),
            micros(one.ns[0]),
            format!("{:.0} ({:.0} to {:.0})", one.longer_ns.value, interval.low, interval.high),
            format!("{:.0}", one.most_ns()),
            if one.keeps() { "yes" } else { "no" }.to_owned(),
        ]);
    }
    writeln!(out, "{}\n", grid.draw(style))?;
    let keep = all.iter().filter(|one| one.keeps()).count();
    let sentence = format!(
        "{keep} of {} take no longer than with push constants by more than {:.0} % or {MOST_NS:.0} ns, the larger, at \
         the upper end of the interval that holds the difference at 95 %.",
        all.len(),
        MOST_SHARE * 100.0
    );
    match style {
        Style::Markdown => writeln!(out, "{sentence}"),
        Style::Text { width } => writeln!(out, "{}", fold("", &sentence, 2, width)),
    }
}

fn style_width(style: Style) -> Option<usize> {
    match style {
        Style::Markdown => None,
        Style::Text { width } => width,
    }
}
