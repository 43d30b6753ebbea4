//! A benchmark as a picture: for each state of the buffers the throughput against the input size, one line per
//! subject, and, where other implementations took part, how many times as fast as the fastest of them each scan is.
//! (Against a throughput of large inputs that of small ones cannot be seen.)

use std::collections::{BTreeMap, BTreeSet};

use scanbox_analysis::bench::{Heat, TimedSubject};
use scanbox_model::config::Reset;
use scanbox_model::record::{Cache, Selection};

use super::figure::{LineChart, Look, Series, XAxis, sheet};
use super::words::subject_title;

/// Sizes and values of each subject.
type PlotLines = BTreeMap<(Rank, String), Vec<(u64, f64)>>;

/// What a line is, which says where it stands and how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Ideal,
    BestKernel,
    Other,
    Baseline,
    Ceiling,
}

/// The picture as SVG.
///
/// # Errors
/// When there is nothing to show, or it cannot be drawn.
pub fn svg(title: &str, heats: &[Heat<'_>]) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for cache in Cache::ALL {
        let of_cache = || heats.iter().filter(|heat| heat.cache == cache);
        let throughput = lines(of_cache(), |subject| Some(subject.gbps));
        let ratio = lines(of_cache(), |subject| subject.baseline_ratio);
        let charts = [
            ("", chart("GB/s", throughput)),
            (", x base", chart("times as fast as the fastest baseline", ratio)),
        ];
        let row: Vec<_> = charts
            .into_iter()
            .filter(|(_, chart)| !chart.series.is_empty())
            // A long name of a device is cut off.
            .map(|(what, chart)| (format!("{} buffers{what}: {title}", cache.word()), chart))
            .collect();
        if !row.is_empty() {
            rows.push(row);
        }
    }
    anyhow::ensure!(!rows.is_empty(), "no subject is ok at any size");
    sheet(&rows)
}

fn chart(y: &'static str, lines: PlotLines) -> LineChart {
    let mut equal = 0..;
    let series = lines.into_iter().map(|((rank, name), points)| {
        let look = match rank {
            Rank::Ideal => Look::IDEAL,
            Rank::BestKernel => Look::CHOSEN,
            Rank::Ceiling => Look::CEILING,
            Rank::Other | Rank::Baseline => Look::of(equal.next().unwrap_or(0)),
        };
        Series { name, look, points }
    });
    LineChart { x: XAxis::Sizes, y, series: series.collect(), at_least: 0.0 }
}

/// One line per subject that has a value.
fn lines<'a>(
    heats: impl Iterator<Item = &'a Heat<'a>> + Clone,
    value: impl Fn(&TimedSubject<'_>) -> Option<f64>,
) -> PlotLines {
    let following = shape_follows_size(heats.clone());
    let mut lines = PlotLines::new();
    for heat in heats {
        for subject in &heat.subjects {
            let Some(value) = value(subject) else { continue };
            for name in names(subject, &following) {
                let line = lines.entry(name).or_default();
                // Subjects come fastest first: of several launch shapes of one subject the best is shown.
                if line.last().is_none_or(|(n, _)| *n != heat.n) {
                    line.push((heat.n, value));
                }
            }
        }
    }
    lines
}

/// Named kernels whose launch shape goes with the size: one line each. Of others each shape is a subject of its own.
fn shape_follows_size<'a>(heats: impl Iterator<Item = &'a Heat<'a>>) -> BTreeSet<&'a str> {
    let mut shapes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut side_by_side = BTreeSet::new();
    for heat in heats {
        let mut seen = BTreeSet::new();
        let named = heat.subjects.iter().map(|subject| subject.record);
        for record in named.filter(|record| record.selection.contains(&Selection::Named)) {
            let kernel = record.kernel_id.as_str();
            shapes.entry(kernel).or_default().insert(&record.config_id);
            if !seen.insert(kernel) {
                side_by_side.insert(kernel);
            }
        }
    }
    shapes.retain(|kernel, shapes| shapes.len() > 1 && !side_by_side.contains(kernel));
    shapes.into_keys().collect()
}

/// What the lines are called that a subject is on: a choice is one line, whatever config it is at each size.
fn names(subject: &TimedSubject<'_>, following: &BTreeSet<&str>) -> Vec<(Rank, String)> {
    let record = subject.record;
    let is_baseline = record.selection.contains(&Selection::Baseline);
    match (is_baseline, subject.is_ceiling()) {
        // A baseline's copies are the same in every version of it.
        (true, true) => return vec![(Rank::Baseline, record.subject.clone())],
        (true, false) => return vec![(Rank::Baseline, subject_title(record))],
        (false, true) => return vec![(Rank::Ceiling, record.subject.clone())],
        (false, false) => {}
    }
    let stateless = record.parameters.reset == Some(Reset::Fill);
    let is_best = record.selection.contains(&Selection::BestKernel);
    let name = |selection: &Selection| match selection {
        Selection::Named if following.contains(record.kernel_id.as_str()) => {
            (Rank::Other, record.kernel_id.clone())
        }
        Selection::Named => (Rank::Other, record.config_id.clone()),
        // Stateless says it already.
        Selection::IdealStateless => (Rank::Other, selection.word().to_owned()),
        choice if stateless => (Rank::Other, format!("{} (fill)", choice.word())),
        Selection::Ideal => (Rank::Ideal, selection.word().to_owned()),
        Selection::BestKernel => (Rank::BestKernel, selection.word().to_owned()),
        choice => (Rank::Other, choice.word().to_owned()),
    };
    // The best kernel that is named too is one line.
    record
        .selection
        .iter()
        .filter(|selection| !(is_best && **selection == Selection::Named))
        .map(name)
        .collect()
}
