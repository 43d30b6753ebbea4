//! What a reader takes away: a number, a chart and a few facts of each device.

use std::collections::BTreeSet;

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::bandwidth::BandwidthOrigin;
use scanbox_analysis::versus::shown;
use scanbox_model::device::DeviceKind;
use scanbox_model::units::size_label;

use super::{Piece, Section, Sources, printable};
use crate::analysis::text::across::speed_words;
use crate::analysis::text::{count, percent, statuses};
use crate::figure::{Figure, LineChart, Look, Multiples, Plot, Series, XAxis, YScale};
use crate::words::common_maker;

/// One card per device.
#[derive(Debug)]
pub struct Cards {
    /// In the order of the sections.
    pub cards: Vec<Card>,
    /// The charts of those that have one, all with the same axes.
    pub figure: Option<Figure>,
}

/// A device in short.
#[derive(Debug)]
pub struct Card {
    /// What the device is called.
    pub title: String,
    /// The section about it.
    pub target: String,
    /// The number, and its unit; empty where there is none.
    pub number: String,
    /// What the number is.
    pub says: String,
    /// What else: names and values.
    pub facts: Vec<(&'static str, String)>,
    /// The place of its chart.
    pub chart: Option<usize>,
}

/// The first section.
pub fn section(sources: &Sources<'_>) -> Section {
    let mut panels = Vec::new();
    let mut cards = Vec::new();
    for (index, device) in sources.report.answers.devices.iter().enumerate() {
        let chart = (!device.ideal.points.is_empty()).then_some(panels.len());
        if chart.is_some() {
            panels.push((sources.titles[index].clone(), throughput(sources, index)));
        }
        cards.push(card(sources, index, chart));
    }
    let figure = (!panels.is_empty()).then(|| Figure {
        name: "devices".into(),
        title: "Throughput of each device".into(),
        caption: CAPTION.into(),
        plot: Plot::Multiples(Multiples::alike(panels)),
    });
    let mut pieces = vec![Piece::Cards(Cards { cards, figure }), Piece::Says(CAPTION.into())];
    pieces.extend(faster(sources));
    Section { id: "summary".into(), heading: "At a glance".into(), pieces }
}

/// Which device is faster, where few are compared.
fn faster(sources: &Sources<'_>) -> Option<Piece> {
    let [across] = sources.report.answers.across.as_slice() else { return None };
    let title = |at: usize| sources.titles[across.devices[at]].clone();
    let says: Vec<String> = across.speeds.iter().map(|speed| speed_words(speed, &title)).collect();
    (1..=MOST_SPEEDS).contains(&says.len()).then_some(Piece::List(says))
}

/// As many comparisons are read before the rest; the section about all devices has them all.
const MOST_SPEEDS: usize = 3;

const CAPTION: &str = "Both axes are logarithmic, and the same for every device. scanbox is the best config of each size; the copy \
    was measured in the same run; other implementations, the fastest at each size, may come from other runs, on hot buffers.";

/// The best of each size, the fastest other implementation, and the ceiling.
fn throughput(sources: &Sources<'_>, index: usize) -> LineChart {
    let lines = &sources.lines[index];
    let table = lines.table;
    let ideal = table.sizes.iter().filter_map(|&n| Some((n, lines.ideal_gbps(n)?)));
    let mut series = vec![Series { name: "scanbox".into(), look: Look::IDEAL, points: ideal.collect() }];
    let others = table.baselines.iter().filter(|(_, other)| other.gbps > 0.0);
    let others: Vec<(u64, f64)> = others.map(|(&n, other)| (n, other.gbps)).collect();
    if !others.is_empty() {
        series.push(Series {
            name: other_name(sources, device(sources, index)),
            look: Look::OTHER,
            points: others,
        });
    }
    let ends = (table.sizes.first().copied(), table.sizes.last().copied());
    let inside = table.ceiling_gbps.iter().filter(|(n, _)| Some(**n) >= ends.0 && Some(**n) <= ends.1);
    let ceiling: Vec<(u64, f64)> = inside.map(|(&n, &gbps)| (n, gbps)).collect();
    if !ceiling.is_empty() {
        series.push(Series { name: table.problem.ceiling().into(), look: Look::CEILING, points: ceiling });
    }
    if let (Some(peak), (Some(first), Some(last))) = (table.peak_gbps, ends) {
        let points = if first == last { vec![(first, peak)] } else { vec![(first, peak), (last, peak)] };
        series.push(Series { name: "given bandwidth".into(), look: Look::PEAK, points });
    }
    LineChart { x: XAxis::Sizes, y: "GB/s", scale: YScale::Log, series }
}

fn device<'a>(sources: &Sources<'a>, index: usize) -> &'a DeviceAnswer<'a> {
    &sources.report.answers.devices[index]
}

/// What a page is called that nobody has named: what was computed, and where.
pub fn heading(sources: &Sources<'_>) -> String {
    let devices = &sources.report.answers.devices;
    let mut problems: BTreeSet<String> = devices.iter().map(|device| device.table.problem.title()).collect();
    let what = match problems.len() {
        1 => problems.pop_first().unwrap_or_default(),
        several => count(several, "problem"),
    };
    let (shown, more) = sources.titles.split_at(sources.titles.len().min(MOST_NAMED));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("scanbox: {what} on {}{more}", shown.join("; "))
}

/// Devices that a heading names.
const MOST_NAMED: usize = 3;

/// What the other implementations are called together.
pub fn other_name(sources: &Sources<'_>, device: &DeviceAnswer<'_>) -> String {
    let makers = sources.evidence.baselines_of(device.table).into_iter().map(|(_, line)| line.maker.clone());
    printable(&common_maker(makers.collect()).unwrap_or_else(|| "others".into()))
}

fn card(sources: &Sources<'_>, index: usize, chart: Option<usize>) -> Card {
    let device = device(sources, index);
    let mut card = Card {
        title: sources.titles[index].clone(),
        target: super::device::id(index),
        number: String::new(),
        says: "No row is ok and has a time.".into(),
        facts: Vec::new(),
        chart,
    };
    let points = &device.ideal.points;
    let peak = points.iter().max_by(|a, b| a.best.gbps.total_cmp(&b.best.gbps));
    // The largest input: one that fits a cache is faster, and says less of the next device.
    if let (Some(peak), Some(last)) = (peak, points.last()) {
        let shown = |gbps: f64| if gbps < 10.0 { format!("{gbps:.2}") } else { format!("{gbps:.0}") };
        card.number = shown(last.best.gbps);
        card.says = format!("{} of {} elements", device.table.problem.title(), size_label(last.n));
        if shown(peak.best.gbps) != card.number {
            let text = format!("{} GB/s at {}", shown(peak.best.gbps), size_label(peak.n));
            card.facts.push(("Fastest", text));
        }
    }
    if device.table.kind == Some(DeviceKind::Software) {
        card.facts.push(("Mind", "a device in software: its times mean nothing for GPUs".into()));
    }
    if let Some((bandwidth, point)) =
        device.utilization.as_ref().and_then(|found| Some((found.bandwidth, found.points.last()?)))
    {
        let of = match bandwidth.origin {
            BandwidthOrigin::Given => "the given bandwidth".to_owned(),
            BandwidthOrigin::Ceiling { .. } => format!("a {}", device.table.problem.ceiling()),
        };
        card.facts.push(("Large inputs", format!("{:.0} % of {of} at {}", point.pct, size_label(point.n))));
    }
    let ratios: Vec<(u64, f64)> =
        points.iter().filter_map(|point| Some((point.n, point.baseline_ratio()?))).collect();
    let least = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let most = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some(least), Some(most)) = (least, most) {
        // As the table of a benchmark has it: what is shown as 1.00 does not lose.
        let behind = ratios.iter().filter(|(_, ratio)| shown(*ratio) < 1.0).count();
        let place = |(n, ratio): &(u64, f64)| format!("{ratio:.2} (at {})", size_label(*n));
        let compared = || points.iter().filter(|point| point.baseline_gbps.is_some());
        let beside = compared().filter(|point| point.baseline_own_gbps.is_some()).count();
        let how = match compared().count() - beside {
            0 => "measured beside it in one run, scratch memory kept".to_owned(),
            others if beside == 0 => format!("measured in another run at {}", count(others, "size")),
            others => format!("measured beside it at {}, in another run at {others}", count(beside, "size")),
        };
        card.facts.push((
            "Against others",
            format!(
                "{} to {} times as fast as {}; {}; {how}",
                place(least),
                place(most),
                other_name(sources, device),
                match behind {
                    0 => format!("not slower at any of {}", count(ratios.len(), "size")),
                    behind => format!("slower at {behind} of {}", count(ratios.len(), "size")),
                }
            ),
        ));
    }
    match &device.portfolio {
        Some(portfolio) if !portfolio.sets.is_empty() => {
            let sets = portfolio.sets.iter().take(3);
            let losses = sets.map(|set| format!("{}: {} %", set.kernels.len(), percent(set.mean_loss_pct)));
            card.facts.push(("Loss with 1, 2, 3 kernels", losses.collect::<Vec<_>>().join(", ")));
        }
        _ => {}
    }
    card.facts.push(("Rows", statuses(device)));
    let date = device.table.newest_utc.split('T').next().unwrap_or_default();
    card.facts.push(("Measured", printable(&format!("{date}, {}", device.table.provenance.driver))));
    card
}
