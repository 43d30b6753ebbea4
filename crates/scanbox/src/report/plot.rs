//! A benchmark as a picture: throughput against input size, one line per subject, one panel per cache state.

use std::collections::BTreeMap;

use plotters::prelude::*;
use scanbox_analysis::bench::{Heat, Place};
use scanbox_model::config::Reset;
use scanbox_model::record::{Cache, Selection};

use super::bench::title;

/// Points of the picture per panel.
const PANEL: (u32, u32) = (1000, 560);
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
fn lines<'a>(heats: impl Iterator<Item = &'a Heat<'a>>) -> BTreeMap<String, Line> {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for heat in heats {
        for place in &heat.places {
            for name in names(place) {
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

/// What the lines are called that a subject is on: a choice is one line, whatever config it is at each size.
fn names(place: &Place<'_>) -> Vec<String> {
    let record = place.record;
    if record.selection.contains(&Selection::Baseline) {
        return vec![title(record)];
    }
    if record.selection.contains(&Selection::Copy) {
        return vec![record.subject.clone()];
    }
    let stateless = record.reset == Some(Reset::Fill);
    let name = |selection: &Selection| match selection {
        Selection::Named => record.config_id.clone(),
        choice if stateless => format!("{} (fill)", choice.word()),
        choice => choice.word().to_owned(),
    };
    record.selection.iter().map(name).collect()
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
    let mut chart = ChartBuilder::on(area)
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
        .label_style((FONT, 16))
        .x_desc("elements")
        .y_label_formatter(&|gbps| format!("{gbps:.decimals$}"))
        .y_desc("GB/s")
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (index, (name, line)) in lines.iter().enumerate() {
        let color = Palette99::pick(index).to_rgba();
        let line: Vec<(f64, f64)> = line.iter().map(|(n, gbps)| (exponent(*n), *gbps)).collect();
        chart
            .draw_series(LineSeries::new(line.iter().copied(), color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        chart.draw_series(line.into_iter().map(|point| Circle::new(point, 3, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 16))
        .draw()
}
