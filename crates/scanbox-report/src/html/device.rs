//! One device: throughput against size, what a single kernel loses, parameters, densities, metrics.

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::best_kernel::KernelLine;
use scanbox_analysis::density::Density;
use scanbox_analysis::table::KernelIndex;
use scanbox_analysis::trends::Trend;
use scanbox_model::units::size_label;

use super::{HtmlCell, HtmlColumn, Piece, Section, Sources, Table, printable, value_name};
use super::{portfolio, summary};
use crate::analysis::text::{count, distrusted, percent, row_counts, score};
use crate::figure::{
    Figure, Heatmap, HeatmapRow, LineChart, Look, Multiples, Panel, Plot, Series, Square, XAxis, YScale,
    power,
};
use crate::words::clock_word;

/// Losses of a percent or two are not to fill a plot.
const LEAST_LOSS_SHOWN: f64 = 10.0;
/// Other implementations with charts of their own.
const OTHERS_SHOWN: usize = 6;
/// With more sizes than that, figures of the page leave out those that are no power of two.
const SIZES_SHOWN: usize = 24;

/// What links to the section of the device at this position.
pub fn id(index: usize) -> String {
    format!("device-{}", index + 1)
}

/// The section of the device at this position.
pub fn section(sources: &Sources<'_>, index: usize) -> Section {
    let device = &sources.report.answers.devices[index];
    let mut section = Section {
        id: id(index),
        heading: sources.titles[index].clone(),
        pieces: vec![Piece::Says(format!(
            "{}. {}, {}. Times: {}.",
            device.table.problem.title(),
            printable(&device.table.provenance.to_string()),
            row_counts(device),
            clock_word(sources.report.clock)
        ))],
    };
    let pieces = &mut section.pieces;
    pieces.extend(distrusted(device).map(|text| Piece::Says(printable(&text))));
    if device.ideal.points.is_empty() {
        pieces.push(Piece::Says("No row is ok and has a time: there is nothing to show.".into()));
        return section;
    }
    let view = DeviceView { sources, index, device };
    let catalog = &sources.report.tables.catalog;
    let (name, title) = (&sources.names[index], &sources.titles[index]);

    pieces.push(Piece::Heading("What to launch".into()));
    pieces.push(Piece::Table(view.launch_table()));
    pieces.push(Piece::Heading("How many kernels to ship".into()));
    pieces.push(Piece::List(summary::kernels(sources, index)));
    pieces.extend(view.losses().map(Piece::Figure));
    if let Some(portfolio) = &device.portfolio {
        pieces.extend(portfolio::pieces(portfolio, catalog, name, title));
    }
    pieces.push(Piece::Heading("Throughput".into()));
    pieces.push(Piece::Figure(view.throughput()));
    pieces.extend(view.relative().map(Piece::Figure));
    pieces.push(Piece::Table(view.ideal_table()));
    if !device.trends.is_empty() {
        pieces.push(Piece::Heading("Which parameters matter where".into()));
        pieces.push(Piece::List(summary::parameters(&device.trends, view.compared())));
        pieces.push(Piece::Table(view.verdicts(&device.trends)));
        pieces.push(Piece::Figure(view.parameters(&device.trends)));
    }
    pieces.push(Piece::Heading("How good the average config is".into()));
    pieces.extend(summary::density_words(&device.densities).map(Piece::Says));
    pieces.push(Piece::Figure(view.densities(&device.densities)));
    if !device.by_metric.is_empty() {
        pieces.push(Piece::Heading("Best kernel by metric".into()));
        pieces.push(Piece::Table(view.metrics()));
    }
    pieces.retain(|piece| !matches!(piece, Piece::List(items) if items.is_empty()));
    section
}

/// One device, with what is said of it.
pub(super) struct DeviceView<'a> {
    pub sources: &'a Sources<'a>,
    pub index: usize,
    pub device: &'a DeviceAnswer<'a>,
}

impl DeviceView<'_> {
    fn title(&self) -> &str {
        &self.sources.titles[self.index]
    }

    fn figure(&self, what: &str, title: String, caption: String, plot: Plot) -> Figure {
        Figure { name: format!("{}.{what}", self.sources.names[self.index]), title, caption, plot }
    }

    fn kernel(&self, kernel: KernelIndex) -> String {
        self.sources.report.tables.catalog.kernel(kernel).to_string()
    }

    /// The chosen kernel's line.
    pub fn best(&self) -> Option<&KernelLine> {
        self.device.choice.as_ref()?.lines.first()
    }

    /// The best config of each size beside one kernel, each other implementation, and each family of kernels.
    fn throughput(&self) -> Figure {
        let lines = &self.sources.lines[self.index];
        let table = self.device.table;
        let ideal: Vec<(u64, f64)> =
            table.sizes.iter().filter_map(|&n| Some((n, lines.ideal_gbps(n)?))).collect();
        let beside = |title: String, name: &str, look: Look, points: Vec<(u64, f64)>| {
            let best = Series { name: "best".into(), look: Look::IDEAL, points: ideal.clone() };
            let series = vec![best, Series { name: name.into(), look, points }];
            (title, LineChart { x: XAxis::Sizes, y: "GB/s", scale: YScale::Log, series })
        };
        let mut panels = Vec::new();
        if let Some(line) = self.best() {
            let points = line.points.iter().map(|point| (point.n, point.best.gbps)).collect();
            panels.push(beside("One kernel for all sizes".into(), "one kernel", Look::of(1), points));
        }
        for (name, baseline) in self.sources.evidence.baselines_of(table).into_iter().take(OTHERS_SHOWN) {
            let points = baseline.gbps.iter().map(|(&n, &gbps)| (n, gbps)).collect();
            panels.push(beside(printable(&name), &printable(&baseline.maker), Look::OTHER, points));
        }
        let family = self.device.trends.iter().find(|trend| trend.parameter == "family");
        let families = family.map_or(&[][..], |family| &family.pinned);
        for line in families.iter().filter(|_| families.len() > 1) {
            let points = line.points.iter().map(|point| (point.n, point.best.gbps)).collect();
            let name = value_name(&line.value.to_string());
            panels.push(beside(format!("Family {name}"), "family", Look::of(2), points));
        }
        if panels.is_empty() {
            panels.push(beside("All kernels".into(), "", Look::IDEAL, Vec::new()));
        }
        self.figure(
            "throughput",
            format!("Throughput of {}", self.title()),
            "Each chart has the best config of each size and one thing beside it, on the same logarithmic axes. Lines of other \
             implementations were measured in other runs, on hot buffers."
                .into(),
            Plot::Multiples(Multiples::alike(panels)),
        )
    }

    /// What one, two and three kernels lose.
    fn losses(&self) -> Option<Figure> {
        let lines = &self.sources.lines[self.index];
        let lost = |kernels: &[KernelIndex]| -> Vec<(u64, f64)> {
            let loss = |&n: &u64| {
                let best = kernels.iter().filter_map(|&kernel| lines.best(kernel, n)).map(|cell| cell.gbps);
                Some((n, 100.0 * (1.0 - best.reduce(f64::max)? / lines.ideal_gbps(n)?)))
            };
            lines.table.sizes.iter().filter_map(loss).collect()
        };
        let looks = [Look::OTHER, Look::IDEAL, Look::of(1)];
        let series: Vec<Series> = match &self.device.portfolio {
            Some(portfolio) if !portfolio.sets.is_empty() => {
                let sets = portfolio.sets.iter().zip(looks);
                let name = |kernels: usize| count(kernels, "kernel");
                sets.map(|(set, look)| Series {
                    name: name(set.kernels.len()),
                    look,
                    points: lost(&set.kernels),
                })
                .collect()
            }
            _ => {
                let line = self.best()?;
                vec![Series { name: "1 kernel".into(), look: looks[0], points: lost(&[line.kernel]) }]
            }
        };
        let chart =
            LineChart { x: XAxis::Sizes, y: "loss in %", scale: YScale::Linear(LEAST_LOSS_SHOWN), series };
        Some(self.figure(
            "loss",
            format!("What one, two and three kernels lose on {}", self.title()),
            "Loss against the best config of each size, where the fastest kernel of the set runs at each size; lower is better."
                .into(),
            Plot::Lines(chart),
        ))
    }

    /// The sizes over which values of parameters are compared: those of kernels, where there are any.
    fn compared(&self) -> &[u64] {
        let compared = &self.device.eligibility.sizes;
        if compared.is_empty() { &self.device.table.sizes } else { compared }
    }

    fn verdicts(&self, trends: &[Trend]) -> Table {
        let rows = summary::verdicts(trends, self.compared()).into_iter().map(|verdict| {
            let follows = verdict.follows_size();
            let (constant, mean, worst) = match verdict.constant {
                Some((value, mean, worst, at)) => (value, percent(mean), lost_at(worst, at)),
                None => Default::default(),
            };
            let stakes = lost_at(verdict.stakes.0, verdict.stakes.1);
            vec![
                HtmlCell::code(verdict.parameter),
                HtmlCell::text(if verdict.has_rival { constant } else { mark(constant) }),
                HtmlCell::text(mean),
                HtmlCell::text(worst),
                HtmlCell::text(stakes),
                HtmlCell::text(if follows { "yes" } else { "" }),
            ]
        });
        Table {
            caption: format!(
                "Each parameter pinned to one value, everything else free: the value that loses least over {}, and what the worst \
                 value costs there. *: no other value has a config at each of these sizes. Empty: no value has one.",
                summary::sizes_in_words(self.compared())
            ),
            columns: vec![
                HtmlColumn::words("parameter"),
                HtmlColumn::words("best constant"),
                HtmlColumn::numbers("mean loss %"),
                HtmlColumn::numbers("worst loss %"),
                HtmlColumn::numbers("worst value loses %"),
                HtmlColumn::words("must change with the size"),
            ],
            rows: rows.collect(),
            name: format!("{}.pinned", self.sources.names[self.index]),
            shown: None,
        }
    }

    /// Everything in percent of the best config of each size; nothing without other implementations.
    fn relative(&self) -> Option<Figure> {
        let lines = &self.sources.lines[self.index];
        let share = |n: u64, gbps: f64| Some((n, 100.0 * gbps / lines.ideal_gbps(n)?));
        let baselines = self.sources.evidence.baselines_of(self.device.table);
        let mut series: Vec<Series> = Vec::new();
        for (number, (name, baseline)) in baselines.into_iter().enumerate() {
            series.push(Series {
                name: printable(&name),
                look: Look::of(number),
                points: baseline.gbps.iter().filter_map(|(&n, &gbps)| share(n, gbps)).collect(),
            });
        }
        series.retain(|line| !line.points.is_empty());
        if series.is_empty() {
            return None;
        }
        let sizes = &self.device.table.sizes;
        let ideal = Series {
            name: "best config of each size".into(),
            look: Look::CEILING,
            points: sizes.iter().map(|&n| (n, 100.0)).collect(),
        };
        series.insert(0, ideal);
        let scale = YScale::Linear(100.0);
        let chart = LineChart { x: XAxis::Sizes, y: "% of the best config", scale, series };
        Some(self.figure(
            "relative",
            format!("Other implementations on {}", self.title()),
            "In percent of the throughput of the best config: above 100 the other implementation is faster.".into(),
            Plot::Lines(chart),
        ))
    }

    /// What is lost where a parameter is pinned, and what the ideal configuration set has.
    fn parameters(&self, trends: &[Trend]) -> Figure {
        let sizes = &self.shown_sizes(&self.device.table.sizes);
        let label = |n: u64| if n.is_power_of_two() { power(n.ilog2()) } else { n.to_string() };
        let rows = trends.iter().flat_map(|trend| {
            trend.pinned.iter().map(|line| HeatmapRow {
                group: trend.parameter.to_owned(),
                name: value_name(&line.value.to_string()),
                squares: sizes
                    .iter()
                    .map(|&n| {
                        let point = line.at(n)?;
                        let ideal = trend.ideal.iter().find(|(size, _)| *size == n);
                        Some(Square {
                            value: point.loss_pct,
                            // Half of the throughput gone is as dark as it gets.
                            shade: point.loss_pct / 50.0,
                            marked: ideal.is_some_and(|(_, value)| *value == line.value),
                        })
                    })
                    .collect(),
            })
        });
        let heatmap = Heatmap {
            row_name: "value",
            column_name: "n_elements",
            value_name: "loss_pct",
            columns: sizes.iter().map(|&n| (label(n), n.to_string())).collect(),
            rows: rows.collect(),
        };
        self.figure(
            "parameters",
            format!("Parameters over size on {}", self.title()),
            "Loss in % where a parameter is pinned to the value and everything else is free; darker is worse. Framed: the value \
             in the ideal configuration set. Empty: no config with it is ok at the size."
                .into(),
            Plot::Heatmap(heatmap),
        )
    }

    /// The sizes of figures that have a column or a panel for each.
    fn shown_sizes(&self, sizes: &[u64]) -> Vec<u64> {
        let powers: Vec<u64> = sizes.iter().copied().filter(|n| n.is_power_of_two()).collect();
        if sizes.len() > SIZES_SHOWN && !powers.is_empty() { powers } else { sizes.to_vec() }
    }

    fn densities(&self, densities: &[Density]) -> Figure {
        let sizes = self.shown_sizes(&self.device.table.sizes);
        let shown = densities.iter().filter(|density| sizes.contains(&density.n));
        let panels = shown.map(|density| Panel {
            n: density.n,
            low: density.histogram.low,
            width: density.histogram.width,
            counts: density.histogram.counts.clone(),
            median: density.median_gbps,
            near_best: density.near_best,
        });
        self.figure(
            "density",
            format!("How the configs of each size are distributed on {}", self.title()),
            "Configs over throughput; the upright line is the median; bins by Shimazaki and Shinomoto. Near the best: within 5 %."
                .into(),
            Plot::Histograms(panels.collect()),
        )
    }

    fn metrics(&self) -> Table {
        let columns = vec![
            HtmlColumn::words("metric"),
            HtmlColumn::words("best kernel"),
            HtmlColumn::numbers("mean loss %"),
            HtmlColumn::numbers("worst loss %"),
            HtmlColumn::words("at"),
            HtmlColumn::numbers("score"),
            HtmlColumn::words("runner-up"),
            HtmlColumn::numbers("its score"),
        ];
        let rows = self.device.by_metric.iter().map(|answer| {
            let ranking = &answer.ranking;
            let worst = answer.worst();
            let runner_up = ranking.others.first();
            vec![
                HtmlCell::text(ranking.metric.to_string()),
                HtmlCell::code(self.kernel(ranking.winner.kernel)),
                HtmlCell::text(answer.mean_loss_pct().map_or_else(String::new, percent)),
                HtmlCell::text(worst.map_or_else(String::new, |worst| percent(worst.loss_pct))),
                HtmlCell::text(worst.map_or_else(String::new, |worst| size_label(worst.n))),
                HtmlCell::text(score(ranking.winner.score)),
                HtmlCell::code(runner_up.map_or_else(String::new, |other| self.kernel(other.kernel))),
                HtmlCell::text(runner_up.map_or_else(String::new, |other| score(other.score))),
            ]
        });
        let sizes = self.device.eligibility.sizes.len();
        Table {
            caption: format!(
                "Over {} of {}; {} of {} have a config that is ok at each of them.",
                sizes,
                count(self.device.eligibility.measured, "size"),
                self.device.eligibility.kernels.len(),
                count(
                    self.device.eligibility.kernels.len() + self.device.eligibility.dropped.len(),
                    "kernel"
                ),
            ),
            columns,
            rows: rows.collect(),
            name: format!("{}.metrics", self.sources.names[self.index]),
            shown: None,
        }
    }
}

/// A value that had no rival.
fn mark(value: String) -> String {
    if value.is_empty() { value } else { format!("{value} *") }
}

/// A loss, and where it is, if there is any.
fn lost_at(loss_pct: f64, n: u64) -> String {
    match percent(loss_pct) {
        none if none == percent(0.0) => none,
        loss => format!("{loss} at {}", size_label(n)),
    }
}
