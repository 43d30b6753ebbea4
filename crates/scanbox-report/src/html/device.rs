//! One device: throughput against size, what a single kernel loses, parameters, densities, metrics.

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::best_kernel::KernelLine;
use scanbox_analysis::density::Density;
use scanbox_analysis::table::KernelIndex;
use scanbox_analysis::trends::Trend;
use scanbox_model::units::size_label;

use super::{HtmlCell, HtmlColumn, Piece, Section, Sources, Table, printable, value_name};
use super::{portfolio, summary};
use crate::analysis::text::{count, distrusted, gbps, percent, row_counts, score};
use crate::figure::{
    Figure, Heatmap, HeatmapRow, LineChart, Look, Panel, Plot, Series, Square, XAxis, power,
};
use crate::words::{ceiling_share, clock_word};

/// Losses of a percent or two are not to fill a plot.
const LEAST_LOSS_SHOWN: f64 = 10.0;

/// The section of the device at this position, and what the summary says of it.
pub fn section(sources: &Sources<'_>, index: usize) -> (Section, Vec<String>) {
    let device = &sources.report.answers.devices[index];
    let mut section = Section {
        id: format!("device-{}", index + 1),
        heading: sources.titles[index].clone(),
        pieces: vec![Piece::Says(format!(
            "{}. {}, {}. Times: {}.",
            device.table.problem.title(),
            printable(&device.table.provenance.to_string()),
            row_counts(device),
            clock_word(sources.report.clock)
        ))],
    };
    section.pieces.extend(distrusted(device).map(|text| Piece::Says(printable(&text))));
    if device.ideal.points.is_empty() {
        section.pieces.push(Piece::Says("No row is ok and has a time: there is nothing to show.".into()));
        return (section, vec![format!("{}: no row is ok and has a time.", sources.titles[index])]);
    }
    let view = DeviceView { sources, index, device };
    let catalog = &sources.report.tables.catalog;

    section.pieces.push(Piece::Figure(view.throughput()));
    section.pieces.extend(view.losses().map(Piece::Figure));
    section.pieces.extend(view.relative().map(Piece::Figure));
    section.pieces.push(Piece::Table(view.ideal_table()));
    if !device.trends.is_empty() {
        section.pieces.push(Piece::Heading("Which parameters matter where".into()));
        section.pieces.push(Piece::Table(view.verdicts(&device.trends)));
        section.pieces.push(Piece::Figure(view.parameters(&device.trends)));
    }
    section.pieces.push(Piece::Heading("How good the average config is".into()));
    section.pieces.push(Piece::Figure(view.densities(&device.densities)));
    if !device.by_metric.is_empty() {
        section.pieces.push(Piece::Heading("Best kernel by metric".into()));
        section.pieces.push(Piece::Table(view.metrics()));
    }
    if let Some(portfolio) = &device.portfolio {
        section.pieces.push(Piece::Heading("How many kernels to ship".into()));
        let (name, title) = (&sources.names[index], &sources.titles[index]);
        section.pieces.extend(portfolio::pieces(portfolio, catalog, name, title));
    }
    let says = summary::device(sources, index);
    (section, says)
}

struct DeviceView<'a> {
    sources: &'a Sources<'a>,
    index: usize,
    device: &'a DeviceAnswer<'a>,
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
    fn best(&self) -> Option<&KernelLine> {
        self.device.choice.as_ref()?.lines.first()
    }

    fn throughput(&self) -> Figure {
        let lines = &self.sources.lines[self.index];
        let table = self.device.table;
        let ideal = table.sizes.iter().filter_map(|&n| Some((n, lines.ideal_gbps(n)?)));
        let mut series = vec![Series {
            name: "best config of each size".into(),
            look: Look::IDEAL,
            points: ideal.collect(),
        }];
        if let Some(line) = self.best() {
            series.push(Series {
                name: format!("best kernel: {}", self.kernel(line.kernel)),
                look: Look::CHOSEN,
                points: line.points.iter().map(|point| (point.n, point.best.gbps)).collect(),
            });
        }
        for (number, (name, baseline)) in self.sources.evidence.baselines_of(table).into_iter().enumerate() {
            series.push(Series {
                name: printable(&name),
                look: Look::of(number),
                points: baseline.gbps.iter().map(|(&n, &gbps)| (n, gbps)).collect(),
            });
        }
        let (first, last) = (table.sizes.first().copied(), table.sizes.last().copied());
        let ceiling = table.ceiling_gbps.iter().filter(|(n, _)| Some(**n) >= first && Some(**n) <= last);
        let ceiling: Vec<(u64, f64)> = ceiling.map(|(&n, &gbps)| (n, gbps)).collect();
        if !ceiling.is_empty() {
            series.push(Series {
                name: format!("measured {}", table.problem.ceiling()),
                look: Look::CEILING,
                points: ceiling,
            });
        }
        if let (Some(peak), Some(first), Some(last)) = (table.peak_gbps, first, last) {
            let points = if first == last { vec![(first, peak)] } else { vec![(first, peak), (last, peak)] };
            series.push(Series { name: "given bandwidth".into(), look: Look::PEAK, points });
        }
        let chart = LineChart { x: XAxis::Sizes, y: "GB/s", series, at_least: 0.0 };
        self.figure(
            "throughput",
            format!("Throughput of {}", self.title()),
            "Higher is better. Lines of other implementations were measured in other runs, on hot buffers."
                .into(),
            Plot::Lines(chart),
        )
    }

    /// What the kernels lose that the metrics choose.
    fn losses(&self) -> Option<Figure> {
        let choice = self.device.choice.as_ref()?;
        let lines = &self.sources.lines[self.index];
        // The chosen metric first; metrics that agree share a line.
        let mut winners = vec![(choice.ranking.winner.kernel, vec![choice.ranking.metric.to_string()])];
        for ranking in &self.device.by_metric {
            let (kernel, metric) = (ranking.ranking.winner.kernel, ranking.ranking.metric.to_string());
            match winners.iter_mut().find(|(winner, _)| *winner == kernel) {
                Some((_, metrics)) if metrics.contains(&metric) => {}
                Some((_, metrics)) => metrics.push(metric),
                None => winners.push((kernel, vec![metric])),
            }
        }
        let series = winners.into_iter().enumerate().map(|(number, (kernel, metrics))| {
            let line = KernelLine::new(lines, kernel, &self.device.eligibility);
            Series {
                name: format!("{} ({})", self.kernel(kernel), metrics.join(", ")),
                look: if number == 0 { Look::CHOSEN } else { Look::of(number - 1) },
                points: line.points.iter().map(|point| (point.n, point.loss_pct)).collect(),
            }
        });
        let chart = LineChart {
            x: XAxis::Sizes,
            y: "loss in %",
            series: series.collect(),
            at_least: LEAST_LOSS_SHOWN,
        };
        Some(self.figure(
            "loss",
            format!("What one kernel loses on {}", self.title()),
            "Loss against the best config of each size; lower is better. In parentheses: the metrics that choose the kernel."
                .into(),
            Plot::Lines(chart),
        ))
    }

    fn ideal_table(&self) -> Table {
        let device = self.device;
        let catalog = &self.sources.report.tables.catalog;
        let best = self.best();
        let columns = vec![
            HtmlColumn::numbers("size"),
            HtmlColumn::numbers("GB/s"),
            HtmlColumn::numbers(ceiling_share(&device.table.problem)),
            HtmlColumn::numbers("x baseline"),
            HtmlColumn::words("best config"),
            HtmlColumn::numbers("lead %"),
            HtmlColumn::numbers("units %"),
            HtmlColumn::numbers("ties"),
            HtmlColumn::numbers("spread %"),
            HtmlColumn::numbers("best kernel GB/s"),
            HtmlColumn::numbers("loss %"),
        ];
        let rows = device.ideal.points.iter().map(|point| {
            let kernel = best.and_then(|line| line.at(point.n));
            let optional = |text: Option<String>| HtmlCell::text(text.unwrap_or_default());
            vec![
                HtmlCell::text(size_label(point.n)),
                HtmlCell::text(gbps(point.best.gbps)),
                optional(point.ceiling_pct().map(|pct| format!("{pct:.0}"))),
                optional(point.baseline_ratio().map(|ratio| format!("{ratio:.2}"))),
                HtmlCell::code(catalog.config(point.best.config).to_string()),
                optional(point.margin_pct.map(percent)),
                optional(point.unit_spread_pct.map(percent)),
                HtmlCell::text(point.ties.to_string()),
                HtmlCell::text(percent(100.0 * point.best.relative_spread())),
                optional(kernel.map(|kernel| gbps(kernel.best.gbps))),
                optional(kernel.map(|kernel| percent(kernel.loss_pct))),
            ]
        });
        let units = match &device.table.pool {
            Some(_) => "units: how far they differ in that lead, below which it is a tie; ",
            None => "",
        };
        let mut table = Table {
            caption: format!(
                "Ideal configuration set. lead: over the runner-up; {units}ties: configs that cannot be told from \
                the best; \
                spread: interquartile range over median; x baseline: times as fast as the fastest scan of another implementation, by \
                scanbox's own rows of that run where it has some."
            ),
            columns,
            rows: rows.collect(),
            name: format!("{}.ideal", self.sources.names[self.index]),
            shown: None,
        };
        table.drop_empty_columns();
        table
    }

    fn verdicts(&self, trends: &[Trend]) -> Table {
        let rows = summary::verdicts(trends).into_iter().map(|verdict| {
            let follows = verdict.follows_size();
            let (constant, mean, worst) = match verdict.constant {
                Some((value, mean, worst, at)) => (value, percent(mean), lost_at(worst, at)),
                None => Default::default(),
            };
            let stakes = lost_at(verdict.stakes.0, verdict.stakes.1);
            vec![
                HtmlCell::code(verdict.parameter),
                HtmlCell::text(constant),
                HtmlCell::text(mean),
                HtmlCell::text(worst),
                HtmlCell::text(stakes),
                HtmlCell::text(if follows { "yes" } else { "" }),
            ]
        });
        Table {
            caption: "Each parameter pinned to one value for all sizes, everything else free: the value that loses least, and what \
                the worst one costs. Empty: no value has a config at every size."
                .into(),
            columns: vec![
                HtmlColumn::words("parameter"),
                HtmlColumn::words("best constant"),
                HtmlColumn::numbers("mean loss %"),
                HtmlColumn::numbers("worst loss %"),
                HtmlColumn::numbers("worst value loses %"),
                HtmlColumn::words("has to follow the size"),
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
            look: Look::IDEAL,
            points: sizes.iter().map(|&n| (n, 100.0)).collect(),
        };
        series.insert(0, ideal);
        let chart = LineChart { x: XAxis::Sizes, y: "% of the best config", series, at_least: 100.0 };
        Some(self.figure(
            "relative",
            format!("Other implementations on {}", self.title()),
            "In percent of the throughput of the best config: above 100 the other implementation is faster.".into(),
            Plot::Lines(chart),
        ))
    }

    /// What is lost where a parameter is pinned, and what the ideal configuration set has.
    fn parameters(&self, trends: &[Trend]) -> Figure {
        let sizes = &self.device.table.sizes;
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

    fn densities(&self, densities: &[Density]) -> Figure {
        let panels = densities.iter().map(|density| Panel {
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

/// A loss, and where it is, if there is any.
fn lost_at(loss_pct: f64, n: u64) -> String {
    match percent(loss_pct) {
        none if none == percent(0.0) => none,
        loss => format!("{loss} at {}", size_label(n)),
    }
}
