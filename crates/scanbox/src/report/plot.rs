//! A benchmark as a picture: throughput against input size, one line per subject, one panel per cache state.

use std::collections::{BTreeMap, BTreeSet};

use plotters::prelude::*;
use scanbox_analysis::bench::{Heat, Place};
use scanbox_model::config::Reset;
use scanbox_model::record::{Cache, Selection};

use super::bench::title;

/// Points of the picture per panel: the chart, and the names of its lines right of it.
const PANEL: (u32, u32) = (CHART + 420, 560);
const CHART: u32 = 840;
/// Points from one name to the next.
const NAME_HEIGHT: i32 = 22;
const FONT: &str = "sans-serif";

/// Size and throughput in GB/s.
type Line = Vec<(u64, f64)>;

/// The picture as SVG.
///
/// # Errors
/// When there is nothing to show, or it cannot be drawn.
pub fn svg(title: &str, heats: &[Heat<'_>]) -> anyhow::Result<String> {
    let mut panels = Vec::new();
    for cache in Cache::ALL {
        let lines = lines(heats.iter().filter(|heat| heat.cache == cache));
        if !lines.is_empty() {
            panels.push((format!("{title}, {} buffers", cache.word()), lines));
        }
    }
    anyhow::ensure!(!panels.is_empty(), "no subject is ok at any size");
    let mut text = String::new();
    let area =
        SVGBackend::with_string(&mut text, (PANEL.0, PANEL.1 * panels.len() as u32)).into_drawing_area();
    let failed = |error: String| anyhow::anyhow!("the plot cannot be drawn: {error}");
    area.fill(&WHITE).map_err(|error| failed(error.to_string()))?;
    let areas = area.split_evenly((panels.len(), 1));
    for (area, (title, lines)) in areas.iter().zip(&panels) {
        panel(area, title, lines).map_err(|error| failed(error.to_string()))?;
    }
    area.present().map_err(|error| failed(error.to_string()))?;
    drop((areas, area));
    Ok(text)
}

/// One line per subject.
fn lines<'a>(heats: impl Iterator<Item = &'a Heat<'a>> + Clone) -> BTreeMap<String, Line> {
    let following = shape_follows_size(heats.clone());
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for heat in heats {
        for place in &heat.places {
            for name in names(place, &following) {
                let line = lines.entry(name).or_default();
                // Places come fastest first: of several launch shapes of one subject the best is shown.
                if line.last().is_none_or(|(n, _)| *n != heat.n) {
                    line.push((heat.n, place.gbps));
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
        let named = heat.places.iter().map(|place| place.record);
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
fn names(place: &Place<'_>, following: &BTreeSet<&str>) -> Vec<String> {
    let record = place.record;
    if record.selection.contains(&Selection::Baseline) {
        return vec![title(record)];
    }
    if record.selection.contains(&Selection::Copy) {
        return vec![record.subject.clone()];
    }
    let stateless = record.reset == Some(Reset::Fill);
    let is_best = record.selection.contains(&Selection::BestKernel);
    let name = |selection: &Selection| match selection {
        Selection::Named if following.contains(record.kernel_id.as_str()) => record.kernel_id.clone(),
        Selection::Named => record.config_id.clone(),
        choice if stateless => format!("{} (fill)", choice.word()),
        choice => choice.word().to_owned(),
    };
    // The best kernel that is named too is one line.
    record
        .selection
        .iter()
        .filter(|selection| !(is_best && **selection == Selection::Named))
        .map(name)
        .collect()
}

fn panel<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    title: &str,
    lines: &BTreeMap<String, Line>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let points = || lines.values().flatten();
    let exponent = |n: u64| (n as f64).log2();
    let low = points().map(|(n, _)| exponent(*n)).fold(f64::INFINITY, f64::min).floor();
    let high = points().map(|(n, _)| exponent(*n)).fold(0.0, f64::max).ceil();
    let most = points().map(|(_, gbps)| *gbps).fold(0.0, f64::max);
    let decimals = if most < 10.0 { 1 } else { 0 };
    let (left, right) = area.split_horizontally(CHART);
    let mut chart = ChartBuilder::on(&left)
        .caption(title, (FONT, 20))
        .margin(12)
        .margin_right(36)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(low..high.max(low + 1.0), 0.0..(most * 1.05).max(1e-3))?;
    chart
        .configure_mesh()
        .x_labels((high - low) as usize + 1)
        .x_label_formatter(&|exponent| format!("2^{exponent:.0}"))
        .label_style((FONT, 14))
        .x_desc("elements")
        .y_label_formatter(&|gbps| format!("{gbps:.decimals$}"))
        .y_desc("GB/s")
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (index, (name, line)) in lines.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        let line: Vec<(f64, f64)> = line.iter().map(|(n, gbps)| (exponent(*n), *gbps)).collect();
        chart.draw_series(LineSeries::new(line.iter().copied(), color.stroke_width(2)))?;
        chart.draw_series(line.into_iter().map(|point| Circle::new(point, 3, color.filled())))?;
        let y = 44 + index as i32 * NAME_HEIGHT;
        right.draw(&PathElement::new([(0, y), (18, y)], color.stroke_width(3)))?;
        right.draw(&Text::new(name.as_str(), (26, y - 8), (FONT, 15)))?;
    }
    Ok(())
}
