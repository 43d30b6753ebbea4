//! Several devices: the portable kernel, what sets are worth elsewhere, and how portable kernels are.

use scanbox_analysis::answers::AcrossAnswer;
use scanbox_analysis::lines::Lines;
use scanbox_analysis::portability::Portability;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::shared::SharedSet;
use scanbox_analysis::transfer::Transfer;
use scanbox_model::units::{size_label, slug};

use super::{HtmlCell, HtmlColumn, Piece, Section, Sources, Table};
use super::{portfolio, summary};
use crate::analysis::text::across::speed_words;
use crate::analysis::text::{count, gbps, percent};
use crate::figure::{
    Figure, Heatmap, HeatmapRow, LineChart, Look, Multiples, Plot, Series, Square, XAxis, YScale,
};

/// With more devices than that, curves of every set on every device are no picture.
const DEVICES_WITH_CURVES: usize = 5;

/// With more devices than that, columns have numbers.
const NAMED_COLUMNS: usize = 3;

/// The section about one problem.
pub fn section(sources: &Sources<'_>, across: &AcrossAnswer) -> Section {
    let lines: Vec<&Lines<'_>> = across.devices.iter().map(|&index| &sources.lines[index]).collect();
    let view = AcrossView { sources, across, lines };
    let catalog = &sources.report.tables.catalog;
    let (transfers, portability) = (&across.transfers, &across.portability);

    let mut says = Vec::new();
    let mut pieces = Vec::new();
    for speed in &across.speeds {
        says.push(speed_words(speed, &|at| view.title(at).to_owned()));
    }
    if !across.speeds.is_empty() {
        pieces.push(Piece::Heading("Which device is faster".into()));
        pieces.push(Piece::Table(view.speed_table()));
    }
    match &across.portable.choice {
        Some(choice) => {
            says.push(view.portable_words(choice));
            pieces.push(Piece::Heading("One kernel for all".into()));
            pieces.push(Piece::Figure(view.portable(choice)));
            pieces.push(Piece::Table(view.launches(choice)));
        }
        None => {
            says.push("No kernel can be compared across the devices: they have no size in common.".into());
        }
    }
    if !across.shared.points.is_empty() {
        says.extend(view.shared_words());
        pieces.push(Piece::Heading("One config per size for all".into()));
        pieces.extend((0..view.lines.len()).map(|device| Piece::Figure(view.shared(device))));
        pieces.push(Piece::Table(view.shared_table()));
    }
    if let Some(portfolio) = &across.portfolio {
        let (choice, metric) = (across.portable.choice.as_ref(), sources.report.question.metric);
        says.extend(portfolio::words(portfolio, choice, metric, catalog));
        pieces.push(Piece::Heading("How many kernels to ship for all".into()));
        pieces.extend(portfolio::pieces(portfolio, catalog, &view.name(""), "all devices"));
    }
    says.extend(view.transfer_words(transfers));
    pieces.push(Piece::Heading("What the set of one device is worth on another".into()));
    if view.lines.len() <= DEVICES_WITH_CURVES {
        pieces.extend((0..view.lines.len()).map(|to| Piece::Figure(view.curves(transfers, to))));
    }
    pieces.push(Piece::Figure(view.matrix(transfers)));
    for &dead in &across.dead {
        says.push(format!(
            "No row is ok on {}: it supports no kernel, and PP is 0 for all.",
            sources.titles[dead]
        ));
    }
    if let Some(best) = portability.kernels.first() {
        says.push(format!(
            "The most portable kernel is {}: PP {:.3} over {} and {}.",
            view.kernel(best),
            best.pp,
            count(view.lines.len() + across.dead.len(), "device"),
            count(portability.sizes.len(), "size"),
        ));
        pieces.push(Piece::Heading("How portable kernels are".into()));
        pieces.push(Piece::Figure(view.cascade(&portability.kernels)));
        pieces.push(Piece::Table(view.portability(&portability.kernels)));
    }
    let all = view.lines.len() + across.dead.len();
    let heading = format!("Across {}: {}", count(all, "device"), across.problem.title());
    pieces.insert(0, Piece::List(says));
    Section { id: view.name(""), heading, pieces }
}

/// Devices of one problem, with what is said of them.
pub(super) struct AcrossView<'a> {
    pub sources: &'a Sources<'a>,
    pub across: &'a AcrossAnswer,
    pub lines: Vec<&'a Lines<'a>>,
}

impl AcrossView<'_> {
    /// What the device at this position of the comparison is called.
    pub fn title(&self, device: usize) -> &str {
        &self.sources.titles[self.across.devices[device]]
    }

    /// The name of a file: with the problem where there are several.
    pub fn name(&self, what: &str) -> String {
        let one = self.sources.report.answers.across.len() == 1;
        let problem =
            if one { String::new() } else { format!("-{}", slug(&self.across.problem.to_string())) };
        let dot = if what.is_empty() { "" } else { "." };
        format!("across{problem}{dot}{what}")
    }

    /// The shared sets that are drawn: the chosen one, and those that the thesis compares at length.
    fn drawn_sets(&self) -> Vec<&SharedSet> {
        let drawn = ["mean", "rank-product", "power:1.25"];
        let others = self.across.shared_by_metric.iter();
        let others = others.filter(|set| drawn.contains(&set.metric.to_string().as_str()));
        std::iter::once(&self.across.shared).chain(others).collect()
    }

    /// Every ideal line against the first one.
    fn speed_table(&self) -> Table {
        let mut columns =
            vec![HtmlColumn::numbers("size"), HtmlColumn::numbers(format!("{}, GB/s", self.title(0)))];
        let speeds = &self.across.speeds;
        for speed in speeds {
            columns.push(HtmlColumn::numbers(format!("{}, GB/s", self.title(speed.other))));
            columns.push(HtmlColumn::numbers("times as fast"));
        }
        let first = self.lines[0];
        let rows = first.table.sizes.iter().map(|&n| {
            let mut row = vec![
                HtmlCell::text(size_label(n)),
                HtmlCell::text(first.ideal_gbps(n).map_or_else(String::new, gbps)),
            ];
            for speed in speeds {
                let point = speed.points.iter().find(|point| point.n == n);
                row.push(HtmlCell::text(point.map_or_else(String::new, |point| gbps(point.other_gbps))));
                row.push(HtmlCell::text(
                    point.map_or_else(String::new, |point| format!("{:.3}", point.ratio)),
                ));
            }
            row
        });
        Table {
            caption: "The best config of each size on each device, against the first device.".into(),
            columns,
            rows: rows.collect(),
            name: self.name("speed"),
            shown: None,
        }
    }

    fn shared_words(&self) -> Option<String> {
        let shared = &self.across.shared;
        let worst = shared.worst()?;
        Some(format!(
            "One config per size for all, by {}: it loses {} % on average, {} % at worst (at {}).",
            shared.metric,
            percent(shared.mean_loss_pct()?),
            percent(worst.worst_loss_pct()),
            size_label(worst.n)
        ))
    }

    /// What the shared configs and the portable kernel lose on a device.
    fn shared(&self, device: usize) -> Figure {
        let mut series: Vec<Series> = Vec::new();
        for (number, set) in self.drawn_sets().into_iter().enumerate() {
            series.push(Series {
                name: format!("shared configs by {}", set.metric),
                look: if number == 0 { Look::CHOSEN } else { Look::of(number - 1) },
                points: set.points.iter().map(|point| (point.n, point.loss_pct[device])).collect(),
            });
        }
        if let Some(choice) = &self.across.portable.choice {
            series.push(Series {
                name: "portable kernel, any launch shape".into(),
                look: Look::IDEAL,
                points: choice.lines[device].points.iter().map(|point| (point.n, point.loss_pct)).collect(),
            });
        }
        Figure {
            name: self.sources.names[self.across.devices[device]].clone() + ".shared",
            title: format!("What shared configs lose on {}", self.title(device)),
            caption: "Loss against the device's own best config of each size.".into(),
            plot: Plot::Lines(LineChart {
                x: XAxis::Sizes,
                y: "loss in %",
                scale: YScale::Linear(10.0),
                series,
            }),
        }
    }

    fn shared_table(&self) -> Table {
        let mut columns = vec![
            HtmlColumn::words("metric"),
            HtmlColumn::words("normalised by"),
            HtmlColumn::numbers("mean loss %"),
            HtmlColumn::numbers("worst loss %"),
            HtmlColumn::words("at"),
        ];
        columns.extend((0..self.lines.len()).map(|device| HtmlColumn::numbers(self.title(device))));
        let sets = std::iter::once(&self.across.shared).chain(&self.across.shared_by_metric);
        let rows = sets.map(|set| {
            let worst = set.worst();
            let mut row = vec![
                HtmlCell::text(set.metric.to_string()),
                HtmlCell::text(set.normalization.word()),
                HtmlCell::text(set.mean_loss_pct().map_or_else(String::new, percent)),
                HtmlCell::text(worst.map_or_else(String::new, |worst| percent(worst.worst_loss_pct()))),
                HtmlCell::text(worst.map_or_else(String::new, |worst| size_label(worst.n))),
            ];
            row.extend((0..self.lines.len()).map(|device| {
                let total: f64 = set.points.iter().map(|point| point.loss_pct[device]).sum();
                HtmlCell::text(percent(total / set.points.len().max(1) as f64))
            }));
            row
        });
        let without = match self.across.shared.without_config.len() {
            0 => String::new(),
            sizes => format!(" At {} no config is ok on every device.", count(sizes, "size")),
        };
        Table {
            caption: format!(
                "Every metric over {}; the chosen one first. Right: mean loss per device.{without}",
                count(self.across.shared.points.len(), "size")
            ),
            columns,
            rows: rows.collect(),
            name: self.name("shared"),
            shown: None,
        }
    }

    pub fn kernel(&self, of: &Portability) -> String {
        self.sources.report.tables.catalog.kernel(of.kernel).to_string()
    }

    fn portable_words(&self, choice: &Choice) -> String {
        let losses = choice.lines.iter().enumerate().filter_map(|(device, line)| {
            let (mean, worst) = (line.mean_loss_pct()?, line.worst()?);
            Some(format!(
                "{} % on {} ({} % at {})",
                percent(mean),
                self.title(device),
                percent(worst.loss_pct),
                size_label(worst.n)
            ))
        });
        format!(
            "One kernel for {}, by {} over {}: {}. It loses on average {}.",
            count(self.lines.len(), "device"),
            choice.ranking.metric,
            summary::compared_sizes(&self.across.portable.eligibility),
            self.sources.report.tables.catalog.kernel(choice.ranking.winner.kernel),
            losses.collect::<Vec<_>>().join(", ")
        )
    }

    fn portable(&self, choice: &Choice) -> Figure {
        let kernel = self.sources.report.tables.catalog.kernel(choice.ranking.winner.kernel);
        let panels = choice.lines.iter().enumerate().map(|(device, line)| {
            let points = line.points.iter().map(|point| (point.n, point.loss_pct)).collect();
            let series = vec![Series { name: String::new(), look: Look::IDEAL, points }];
            let scale = YScale::Linear(10.0);
            (self.title(device).to_owned(), LineChart { x: XAxis::Sizes, y: "loss in %", scale, series })
        });
        Figure {
            name: self.name("portable"),
            title: format!("What {kernel} loses on each device"),
            caption: format!(
                "Loss against the best config of each size and device; the launch shape is free. It was chosen over {}.",
                summary::compared_sizes(&self.across.portable.eligibility)
            ),
            plot: Plot::Multiples(Multiples::alike(panels.collect())),
        }
    }

    /// How to launch the portable kernel.
    fn launches(&self, choice: &Choice) -> Table {
        let mut columns = vec![HtmlColumn::numbers("size")];
        for device in 0..self.lines.len() {
            columns.push(HtmlColumn::words(self.title(device)));
            columns.push(HtmlColumn::numbers("GB/s"));
            columns.push(HtmlColumn::numbers("loss %"));
        }
        let mut sizes: Vec<u64> =
            choice.lines.iter().flat_map(|line| line.points.iter().map(|point| point.n)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let rows = sizes.into_iter().map(|n| {
            let mut row = vec![HtmlCell::text(size_label(n))];
            for line in &choice.lines {
                let point = line.at(n);
                let launch = point.map(|point| {
                    let config = self.sources.report.tables.catalog.config(point.best.config);
                    let label = config.to_string();
                    let kernel = config.kernel.to_string();
                    label.strip_prefix(&format!("{kernel}.")).unwrap_or(&label).to_owned()
                });
                row.push(HtmlCell::code(launch.unwrap_or_default()));
                row.push(HtmlCell::text(point.map_or_else(String::new, |point| gbps(point.best.gbps))));
                row.push(HtmlCell::text(point.map_or_else(String::new, |point| percent(point.loss_pct))));
            }
            row
        });
        Table {
            caption: "Its launch shape on each device.".into(),
            columns,
            rows: rows.collect(),
            name: self.name("launches"),
            shown: None,
        }
    }

    fn transfer_words(&self, transfers: &[Transfer]) -> Option<String> {
        let foreign = transfers.iter().filter(|transfer| transfer.from != transfer.to);
        let worst = foreign.filter_map(|transfer| Some((transfer, transfer.harmonic_mean()?)));
        let (transfer, mean) = worst.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let least = transfer.worst()?;
        Some(format!(
            "Tuning does not carry over by itself: the set of {} reaches {:.0} % of the best on {} ({:.0} % at {}); that is the \
             worst pair.",
            self.title(transfer.from),
            100.0 * mean,
            self.title(transfer.to),
            100.0 * least.efficiency,
            size_label(least.n)
        ))
    }

    /// What every set reaches on one device.
    fn curves(&self, transfers: &[Transfer], to: usize) -> Figure {
        let lines = self.lines[to];
        let ideal = lines.table.sizes.iter().filter_map(|&n| Some((n, lines.ideal_gbps(n)?)));
        let mut series = vec![Series {
            name: "best config of each size".into(),
            look: Look::IDEAL,
            points: ideal.collect(),
        }];
        for transfer in transfers.iter().filter(|transfer| transfer.to == to && transfer.from != to) {
            series.push(Series {
                name: format!("the set of {}", self.title(transfer.from)),
                look: Look::of(transfer.from),
                points: transfer.points.iter().map(|point| (point.n, point.gbps)).collect(),
            });
        }
        Figure {
            name: format!("{}.transfer", self.sources.names[self.across.devices[to]]),
            title: format!("Its own set and those of others on {}", self.title(to)),
            caption: "A size is missing where the config is not ok here.".into(),
            plot: Plot::Lines(LineChart { x: XAxis::Sizes, y: "GB/s", scale: YScale::Log, series }),
        }
    }

    fn matrix(&self, transfers: &[Transfer]) -> Figure {
        type Number = fn(&Transfer) -> Option<f64>;
        let numbers: [(&str, Number); 3] = [
            ("harmonic mean", Transfer::harmonic_mean),
            ("geometric mean", Transfer::geometric_mean),
            ("least of all sizes", |transfer| transfer.worst().map(|point| point.efficiency)),
        ];
        // Names of many devices have no room above columns.
        let are_many = self.lines.len() > NAMED_COLUMNS;
        let place =
            |device: usize, end: &str| if are_many { format!("{}{end}", device + 1) } else { String::new() };
        let head = |to: usize| if are_many { place(to, "") } else { self.title(to).to_owned() };
        // Of many devices not all take part.
        let to = || transfers.iter().filter(|own| own.from == own.to).map(|own| own.to);
        let square = |transfer: &Transfer, number: Number| {
            let value = number(transfer)?;
            let marked = transfer.from == transfer.to;
            Some(Square { value: 100.0 * value, shade: 1.0 - value, marked })
        };
        let rows = numbers.into_iter().flat_map(|(group, number)| {
            transfers.chunk_by(|a, b| a.from == b.from).map(move |of_set| HeatmapRow {
                group: group.to_owned(),
                name: format!("{}set of {}", place(of_set[0].from, ". "), self.title(of_set[0].from)),
                squares: of_set.iter().map(|transfer| square(transfer, number)).collect(),
            })
        });
        let heatmap = Heatmap {
            row_name: "from",
            column_name: "to",
            value_name: "efficiency_pct",
            columns: to().map(|to| (head(to), self.title(to).to_owned())).collect(),
            rows: rows.collect(),
        };
        let missing: usize = transfers.iter().map(|transfer| transfer.missing.len()).sum();
        let note = match missing {
            0 => String::new(),
            missing => format!(
                " Left out: {} where the config has no ok row on the other device.",
                count(missing, "case")
            ),
        };
        Figure {
            name: self.name("transfer"),
            title: "Transfer: rows on columns".into(),
            caption: format!(
                "Efficiency in % of the best config of each size on the device of the column; darker is worse; framed: a \
                 device's own set.{note}"
            ),
            plot: Plot::Heatmap(heatmap),
        }
    }
}
