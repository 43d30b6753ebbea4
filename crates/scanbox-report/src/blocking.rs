//! A benchmark of simulated blocking: a table, a JSON document, the four plots of the paper of decoupled fallback
//! (Smith, Levien and Owens 2025, section 5.4), and a fifth, of insertions, which only its repository draws.

use std::io::{self, Write};

use scanbox_analysis::blocking::{BlockedPoint, BlockedSize, LookbackMeans, blocked_sizes};
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Clock, Record};
use scanbox_model::units::size_label;
use scanbox_runner::session::End;
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Format};
use super::figure::{Figure, LineChart, Look, Plot, Series, XAxis, YScale};
use super::grid::{Grid, GridColumn, Style};
use super::terminal::fold;
use super::words::write_header;

/// The version of the JSON format: within it fields are only added.
const FORMAT: u32 = 1;

/// What is reported.
pub struct BlockingReport<'a> {
    metadata: &'a Metadata,
    sizes: Vec<BlockedSize<'a>>,
    proof: &'a [Record],
    end: End,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BlockingJson<'a> {
    format: u32,
    metadata: &'a Metadata,
    end: End,
    copies: Vec<CeilingRow>,
    rows: Vec<BlockingRow<'a>>,
    /// Configs without fallback whose tiles were blocked.
    proof: Vec<BlockingRow<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct CeilingRow {
    n: u64,
    throughput_gbps: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct BlockingRow<'a> {
    n: u64,
    config: &'a str,
    max_spins: Option<u32>,
    /// K of 1 in 2^K tiles.
    blocking: Option<u32>,
    status: &'static str,
    reason: &'a str,
    mismatches: Option<u64>,
    workgroups: Option<u32>,
    registers: Option<u32>,
    steady_ns_median: Option<u64>,
    throughput_gbps: Option<f64>,
    /// Its time as a multiple of that without blocking.
    slowdown: Option<f64>,
    spins_mean: Option<f64>,
    lookback_length_mean: Option<f64>,
    fallbacks_mean: Option<f64>,
    insertions_mean: Option<f64>,
}

/// The names of the plots, and what each shows.
pub const FIGURES: [(&str, &str); 5] = [
    ("fallbacks", "fallbacks per workgroup"),
    ("insertions", "insertions per workgroup"),
    ("spins", "spins per workgroup"),
    ("lookback_length", "tiles per lookback"),
    ("throughput", "GB/s"),
];

impl<'a> BlockingRow<'a> {
    fn new(point: &BlockedPoint<'a>) -> Self {
        let record = point.record;
        let rounded = |value: f64| (value * 10_000.0).round() / 10_000.0;
        let mean = |of: fn(&LookbackMeans) -> f64| point.means.as_ref().map(of).map(rounded);
        Self {
            n: record.n_elements,
            config: &record.config_id,
            max_spins: record.parameters.max_spins,
            blocking: record.blocking,
            status: record.status.word(),
            reason: &record.reason,
            mismatches: record.mismatches,
            workgroups: record.parameters.workgroups,
            registers: record.registers,
            steady_ns_median: point.gbps.and(record.time(Clock::Steady)).map(|time| time.median_ns),
            throughput_gbps: point.gbps.map(rounded),
            slowdown: point.slowdown.map(rounded),
            spins_mean: mean(|means| means.spins),
            lookback_length_mean: mean(|means| means.lookback_length),
            fallbacks_mean: mean(|means| means.fallbacks),
            insertions_mean: mean(|means| means.insertions),
        }
    }
}

/// `none`, or `1 in 8`.
fn blocked(blocking: Option<u32>) -> String {
    blocking.map_or("none".to_owned(), |k| format!("1 in {}", 1u64 << k.min(63)))
}

impl Document for BlockingReport<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_table(width, &mut out),
            Format::Json => self.write_json(&mut out),
            other => other.missing("a benchmark of blocking"),
        }
    }
}

impl<'a> BlockingReport<'a> {
    /// The report on these rows; `proof` are those of configs without fallback whose tiles were blocked.
    pub fn new(metadata: &'a Metadata, records: &'a [Record], proof: &'a [Record], end: End) -> Self {
        Self { metadata, sizes: blocked_sizes(records, Clock::Steady), proof, end }
    }

    /// Everything, as one JSON document.
    fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let proven = |record: &'a Record| {
            let gbps = record.throughput_gbps(Clock::Steady);
            BlockingRow::new(&BlockedPoint { record, gbps, slowdown: None, means: None })
        };
        let lines = self.sizes.iter().flat_map(|size| &size.lines);
        let document = BlockingJson {
            format: FORMAT,
            metadata: self.metadata,
            end: self.end,
            copies: self
                .sizes
                .iter()
                .map(|size| CeilingRow { n: size.n, throughput_gbps: size.ceiling_gbps })
                .collect(),
            rows: lines.flat_map(|line| &line.points).map(BlockingRow::new).collect(),
            proof: self.proof.iter().map(proven).collect(),
        };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }

    /// One table.
    fn write_table(&self, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        write_header(self.metadata, out)?;
        writeln!(out, "\nSimulated blocking: some tiles never publish their total")?;
        writeln!(out, "{}", self.grid().draw(Style::Text { width }))?;
        let legend = "us: median of a call among many back to back; x free: its time as a multiple of that without \
                      blocking; copy %: of the fastest copy; per workgroup, counted in another build of the kernel: failed \
                      looks, tiles in the lookback, tiles that were summed for others, and those of them that nobody had \
                      published";
        writeln!(out, "{}", fold("", legend, 2, width))?;
        let points = self.sizes.iter().flat_map(|size| &size.lines).flat_map(|line| &line.points);
        let failed = points.map(|point| point.record).filter(|record| record.steady.is_none());
        for record in failed.chain(self.proof) {
            let head = format!("{:<10} ", record.status.word());
            let (size, blocked) = (size_label(record.n_elements), blocked(record.blocking));
            let text = format!("{} at {size}, blocked {blocked}: {}", record.config_id, record.reason);
            writeln!(out, "{}", fold(&head, &text, 11, width))?;
        }
        Ok(())
    }

    fn grid(&self) -> Grid {
        let mut grid = Grid::new([
            GridColumn::numbers("size"),
            GridColumn::words("config"),
            GridColumn::words("blocked"),
            GridColumn::numbers("us"),
            GridColumn::numbers("GB/s").expendable(3),
            GridColumn::numbers("copy %").expendable(4),
            GridColumn::numbers("x free").expendable(1),
            GridColumn::numbers("spins"),
            GridColumn::numbers("tiles").expendable(2),
            GridColumn::numbers("fallbacks"),
            GridColumn::numbers("inserted").expendable(5),
        ]);
        for size in &self.sizes {
            let mut label = Some(size_label(size.n));
            for line in &size.lines {
                let mut config = Some(line.config.to_owned());
                for point in line.points.iter().filter(|point| point.gbps.is_some()) {
                    let number = |value: Option<f64>, digits: usize| {
                        value.map_or_else(String::new, |value| format!("{value:.digits$}"))
                    };
                    let time = point.record.time(Clock::Steady).map(|time| time.median_ns as f64 / 1e3);
                    let ceiling_pct =
                        size.ceiling_gbps.and_then(|ceiling| Some(100.0 * point.gbps? / ceiling));
                    grid.push([
                        label.take().unwrap_or_default(),
                        config.take().unwrap_or_default(),
                        blocked(point.record.blocking),
                        number(time, 2),
                        number(point.gbps, 1),
                        number(ceiling_pct, 0),
                        number(point.slowdown, 3),
                        number(point.means.map(|means| means.spins), 3),
                        number(point.means.map(|means| means.lookback_length), 3),
                        number(point.means.map(|means| means.fallbacks), 4),
                        number(point.means.map(|means| means.insertions), 4),
                    ]);
                }
            }
        }
        grid
    }

    /// The plots, of which [`FIGURES`] has the names: fallbacks, those that were inserted, spins, length of the
    /// lookback, throughput; each against the share of blocked tiles.
    pub fn figures(&self) -> Vec<Figure> {
        let device = self.metadata.device.title();
        let mean =
            |of: fn(&LookbackMeans) -> f64| move |point: &BlockedPoint<'_>| point.means.as_ref().map(of);
        let figure =
            |(name, y): (&str, &'static str), what: &str, caption: &str, series: Vec<Series>| Figure {
                name: name.to_owned(),
                title: format!("{what}, {device}"),
                caption: caption.to_owned(),
                plot: Plot::Lines(LineChart { x: XAxis::Blocked, y, scale: YScale::Linear(0.0), series }),
            };
        vec![
            figure(
                FIGURES[0],
                "Fallbacks",
                "Tiles that a workgroup added up for others.",
                self.series(mean(|means| means.fallbacks)),
            ),
            figure(
                FIGURES[1],
                "Insertions",
                "Tiles that a workgroup added up for others, and whose total nobody had published before.",
                self.series(mean(|means| means.insertions)),
            ),
            figure(
                FIGURES[2],
                "Spins",
                "Looks that found nothing where the lookback could not go on without.",
                self.series(mean(|means| means.spins)),
            ),
            figure(
                FIGURES[3],
                "Lookback length",
                "Tiles that the lookback of a workgroup was made of.",
                self.series(mean(|means| means.lookback_length)),
            ),
            figure(
                FIGURES[4],
                "Throughput",
                "By the median time of a call; flat lines are what nothing blocks.",
                self.throughput(),
            ),
        ]
    }

    /// A line per config and size that has something to show at more than one share.
    fn series(&self, of: impl Fn(&BlockedPoint<'_>) -> Option<f64>) -> Vec<Series> {
        let mut all = Vec::new();
        for size in &self.sizes {
            for line in size.lines.iter().filter(|line| line.points.len() > 1) {
                let place =
                    |point: &BlockedPoint<'_>| Some((XAxis::blocked(point.record.blocking), of(point)?));
                let points: Vec<(u64, f64)> = line.points.iter().filter_map(place).collect();
                if !points.is_empty() {
                    all.push(Series {
                        name: self.name(line.config, size.n),
                        look: Look::of(all.len()),
                        points,
                    });
                }
            }
        }
        all
    }

    fn throughput(&self) -> Vec<Series> {
        let mut all = self.series(|point| point.gbps);
        for size in &self.sizes {
            let lines = size.lines.iter().flat_map(|line| &line.points);
            let places = lines.map(|point| XAxis::blocked(point.record.blocking));
            let ends = (places.clone().min().unwrap_or(0), places.max().unwrap_or(0));
            let flat = |gbps: f64| {
                let mut points = vec![(ends.0, gbps), (ends.1, gbps)];
                points.dedup();
                points
            };
            for line in size.lines.iter().filter(|line| line.points.len() == 1) {
                if let Some(gbps) = line.points[0].gbps {
                    let name = self.name(line.config, size.n);
                    all.push(Series { name, look: Look::of(all.len()), points: flat(gbps) });
                }
            }
            if let Some(gbps) = size.ceiling_gbps {
                all.push(Series { name: self.name("copy", size.n), look: Look::CEILING, points: flat(gbps) });
            }
        }
        all
    }

    fn name(&self, config: &str, n: u64) -> String {
        if self.sizes.len() > 1 { format!("{config} at {}", size_label(n)) } else { config.to_owned() }
    }
}
