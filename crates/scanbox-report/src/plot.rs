//! A benchmark as a picture: for each state of the buffers the throughput against the input size, and, where other
//! implementations took part, how many times as fast as the fastest of them scanbox is. Three colours: scanbox, the
//! fastest other implementation, and the fastest copy; every subject by its own name is in the tables. Without another
//! implementation the subjects themselves are shown.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_analysis::bench::{Heat, TimedSubject};
use scanbox_analysis::grouping::OWN_SUBJECT;
use scanbox_analysis::versus::{RatedSubject, Versus, lines as versus_lines};
use scanbox_model::config::Reset;
use scanbox_model::record::{Cache, Selection};

use super::figure::{Figure, LineChart, Look, Multiples, Plot, Series, XAxis, YScale};
use super::words::{common_maker, maker, subject_title};

/// Subjects of one picture at most: more cannot be told apart.
const SUBJECTS: usize = 5;

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

/// The picture.
///
/// # Errors
/// When there is nothing to show.
pub fn figure(title: &str, heats: &[Heat<'_>]) -> anyhow::Result<Figure> {
    let mut panels = Vec::new();
    for cache in Cache::ALL {
        let of_cache: Vec<Heat<'_>> = heats.iter().filter(|heat| heat.cache == cache).cloned().collect();
        let lines = versus_lines(&of_cache);
        let buffers = format!("{} buffers", cache.word());
        match other_name(&lines) {
            Some(other) => {
                panels.push((format!("Throughput, {buffers}"), against(&of_cache, &lines, &other)));
                panels.push((format!("Times as fast as {other}, {buffers}"), ratios(&lines, &other)));
            }
            None => {
                let chart = subjects(&of_cache);
                if !chart.series.is_empty() {
                    panels.push((format!("Throughput, {buffers}"), chart));
                }
                // Rows of another run: their ratios are of two runs.
                let (chart, other) = ratios_of_runs(&of_cache);
                if let Some(other) = other {
                    panels.push((format!("Times as fast as {other} of another run, {buffers}"), chart));
                }
            }
        }
    }
    anyhow::ensure!(!panels.is_empty(), "no subject is ok at any size");
    let columns = panels.len().min(2);
    Ok(Figure {
        name: "bench".into(),
        title: title.into(),
        caption: String::new(),
        plot: Plot::Multiples(Multiples { panels, columns, same_axes: false }),
    })
}

/// What the other implementation is called: by the first word of its version, if all have the same.
fn other_name(lines: &[Versus<'_>]) -> Option<String> {
    let own = |line: &&Versus<'_>| line.kept.is_some();
    let others = lines.iter().filter(own).filter_map(|line| line.baseline);
    common_maker(others.map(|other| maker(other.record)).collect())
}

/// Throughput of scanbox, of another implementation, and of the copy.
fn against(heats: &[Heat<'_>], lines: &[Versus<'_>], other: &str) -> LineChart {
    type Subject = for<'a> fn(&Versus<'a>) -> Option<RatedSubject<'a>>;
    let of = |subject: Subject| -> Vec<(u64, f64)> {
        let gbps = |line: &Versus<'_>| {
            let found = subject(line)?;
            Some((line.n, found.record.bytes_moved as f64 / found.median_ns as f64))
        };
        lines.iter().filter_map(gbps).collect()
    };
    let ceiling = heats.iter().filter_map(|heat| Some((heat.n, heat.ceiling_gbps?)));
    // The same contract is a line of its own where it differs.
    let (kept, same) = (of(|line| line.kept), of(|line| line.same_contract));
    let mut series = vec![Series { name: "scanbox".into(), look: Look::IDEAL, points: kept.clone() }];
    if !same.is_empty() && same != kept {
        series.push(Series { name: "same contract".into(), look: Look::CHOSEN, points: same });
    }
    series.push(Series { name: other.into(), look: Look::OTHER, points: of(|line| line.baseline) });
    series.push(Series { name: "copy".into(), look: Look::CEILING, points: ceiling.collect() });
    series.retain(|series| !series.points.is_empty());
    LineChart { x: XAxis::Sizes, y: "GB/s", scale: YScale::Log, series }
}

/// How many times as fast as the other one scanbox is.
fn ratios(lines: &[Versus<'_>], other: &str) -> LineChart {
    let of = |subject: fn(&Versus<'_>) -> Option<f64>| -> Vec<(u64, f64)> {
        lines.iter().filter_map(|line| Some((line.n, subject(line)?))).collect()
    };
    let kept = of(|line| line.kept.and_then(|subject| subject.ratio));
    let same = of(|line| line.same_contract.and_then(|subject| subject.ratio));
    let one = kept.iter().map(|&(n, _)| (n, 1.0)).collect();
    let mut series = vec![Series { name: "scanbox".into(), look: Look::IDEAL, points: kept }];
    if !same.is_empty() {
        series.push(Series { name: "same contract".into(), look: Look::CHOSEN, points: same });
    }
    series.push(Series { name: other.into(), look: Look::OTHER, points: one });
    LineChart { x: XAxis::Sizes, y: "times as fast", scale: YScale::Ratio, series }
}

/// How many times as fast as another implementation of another run the fastest config is, and what that is called.
fn ratios_of_runs(heats: &[Heat<'_>]) -> (LineChart, Option<String>) {
    let best = |heat: &Heat<'_>| {
        let own = heat.subjects.iter().filter(|subject| subject.record.subject == OWN_SUBJECT);
        let ratios = own.filter_map(|subject| subject.baseline_ratio);
        Some((heat.n, ratios.reduce(f64::max)?))
    };
    let points: Vec<(u64, f64)> = heats.iter().filter_map(best).collect();
    let makers = heats.iter().filter_map(|heat| heat.baseline).map(maker).collect();
    let other = common_maker(makers).filter(|_| !points.is_empty());
    let one = points.iter().map(|&(n, _)| (n, 1.0)).collect();
    let mut series = vec![Series { name: "scanbox".into(), look: Look::IDEAL, points }];
    series.push(Series { name: other.clone().unwrap_or_default(), look: Look::OTHER, points: one });
    (LineChart { x: XAxis::Sizes, y: "times as fast", scale: YScale::Ratio, series }, other)
}

/// Throughput of the subjects, the most important ones first.
fn subjects(heats: &[Heat<'_>]) -> LineChart {
    let mut equal = 0..;
    let all = lines(heats.iter(), |subject| Some(subject.gbps));
    let series = all.into_iter().map(|((rank, name), points)| {
        let look = match rank {
            Rank::Ideal => Look::IDEAL,
            Rank::BestKernel => Look::CHOSEN,
            Rank::Ceiling => Look::CEILING,
            Rank::Other | Rank::Baseline => Look::of(equal.next().unwrap_or(0)),
        };
        (rank, Series { name, look, points })
    });
    let (ceilings, others): (Vec<_>, Vec<_>) = series.partition(|(rank, _)| *rank == Rank::Ceiling);
    let shown = others.into_iter().take(SUBJECTS).chain(ceilings).map(|(_, series)| series);
    LineChart { x: XAxis::Sizes, y: "GB/s", scale: YScale::Log, series: shown.collect() }
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
