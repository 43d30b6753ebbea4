//! What a dispatch costs by where its kernel finds its arguments (`scanbox bench --dispatch`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use scanbox_kernels::catalog;
use scanbox_kernels::plan::CeilingShape;
use scanbox_model::config::{Arguments, Parameter};
use scanbox_model::device::DeviceKind;
use scanbox_model::metadata::Metadata;
use scanbox_model::probe::ArgumentsProbe;
use scanbox_model::record::{Cache, Record, Status};
use scanbox_model::units::size_label;
use scanbox_runner::bench::EmptyCall;
use scanbox_runner::session::End;
use schemars::JsonSchema;
use serde::Serialize;

use super::devices::arguments_told;
use super::document::{Document, Format, write_json};
use super::grid::{Grid, GridColumn};
use super::terminal::fold;
use super::words::write_header;

/// The version of the JSON format: within it fields are only added.
const FORMAT: u32 = 1;

/// Characters of a line of Markdown, but for tables.
const MARKDOWN_WIDTH: usize = 116;

/// What is reported.
pub struct DispatchReport<'a> {
    metadata: &'a Metadata,
    end: End,
    rows: Vec<DispatchRow>,
    failed: Vec<&'a Record>,
}

/// One kernel at one size.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct DispatchRow {
    n_elements: u64,
    /// `empty`, which has no arguments, or `copy`.
    kernel: &'static str,
    arguments: Option<Arguments>,
    /// The median of a dispatch, one of many of which each waits for the one before.
    dispatch_ns: u64,
    q1_ns: u64,
    q3_ns: u64,
    rounds: u32,
    /// The highest less the lowest median of a round, in percent of the median.
    round_spread_pct: f64,
    /// How much more than that of the copy with pushed arguments; negative: it is faster.
    beyond_push_ns: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct DispatchJson<'a> {
    format: u32,
    metadata: &'a Metadata,
    end: End,
    rows: &'a [DispatchRow],
    failed: Vec<FailedDispatch<'a>>,
    auto: Option<&'a ArgumentsProbe>,
}

#[derive(Serialize, JsonSchema)]
struct FailedDispatch<'a> {
    n_elements: u64,
    config: &'a str,
    status: &'static str,
    reason: &'a str,
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// How the copy of a row finds its arguments, if it is one of those that differ in nothing else.
fn arguments_of(record: &Record) -> Option<Arguments> {
    let is_of_label = |shape: &CeilingShape| format!("copy.{shape}") == record.config_id;
    let shape = catalog::shapes_by_arguments().into_iter().find(is_of_label)?;
    (record.cache == Some(Cache::Hot)).then_some(shape.arguments)
}

impl<'a> DispatchReport<'a> {
    /// Of these rows, and of the empty calls that the metadata has; `None` where the rows are those of another
    /// benchmark.
    #[must_use]
    pub fn new(metadata: &'a Metadata, records: &'a [Record], end: End) -> Option<Self> {
        let (ok, failed): (Vec<&Record>, Vec<&Record>) =
            records.iter().partition(|record| record.status == Status::Ok);
        // Each copy once at each size, and nothing else.
        let mut known = BTreeSet::new();
        let are_of_dispatches = records
            .iter()
            .all(|row| arguments_of(row).is_some_and(|arguments| known.insert((row.n_elements, arguments))));
        if !are_of_dispatches || !known.iter().any(|(_, arguments)| *arguments == Arguments::Baked) {
            return None;
        }
        let sizes: BTreeSet<u64> = records.iter().map(|row| row.n_elements).collect();
        let mut empty = metadata.runs.iter().flat_map(|run| empty_calls(&run.settings)).collect::<Vec<_>>();
        empty.retain(|call| call.beside.is_some_and(|beside| sizes.contains(&beside.n)));
        let mut rows = Vec::new();
        for (call, beside) in empty.iter().filter_map(|call| Some((call, call.beside?))) {
            let [low, high] = beside.rounds_ns;
            let [q1_ns, q3_ns] = beside.steady_quartiles_ns;
            rows.push(DispatchRow {
                n_elements: beside.n,
                kernel: "empty",
                arguments: None,
                dispatch_ns: call.steady_ns,
                q1_ns,
                q3_ns,
                rounds: beside.rounds,
                round_spread_pct: rounded(100.0 * (high - low) as f64 / call.steady_ns.max(1) as f64),
                beyond_push_ns: None,
            });
        }
        for record in ok {
            let (Some(arguments), Some(steady)) = (arguments_of(record), record.steady) else { continue };
            rows.push(DispatchRow {
                n_elements: record.n_elements,
                kernel: "copy",
                arguments: Some(arguments),
                dispatch_ns: steady.median_ns,
                q1_ns: steady.q1_ns,
                q3_ns: steady.q3_ns,
                rounds: record.rounds.unwrap_or(0),
                round_spread_pct: rounded(record.round_spread_pct.unwrap_or(0.0)),
                beyond_push_ns: None,
            });
        }
        let push = rows.iter().filter(|row| row.arguments == Some(Arguments::Push));
        let push: BTreeMap<u64, u64> = push.map(|row| (row.n_elements, row.dispatch_ns)).collect();
        let differs = |row: &DispatchRow| row.arguments.is_some_and(|arguments| arguments != Arguments::Push);
        for row in &mut rows {
            let beside = push.get(&row.n_elements).filter(|_| differs(row));
            row.beyond_push_ns = beside.map(|push| row.dispatch_ns as i64 - *push as i64);
        }
        rows.sort_by_key(|row| (row.n_elements, row.arguments));
        Some(Self { metadata, end, rows, failed })
    }

    fn grid(&self) -> Grid {
        let mut grid = Grid::new([
            GridColumn::numbers("n"),
            GridColumn::numbers("empty").unless_empty(),
            GridColumn::numbers("push"),
            GridColumn::numbers("block"),
            GridColumn::numbers("baked"),
            GridColumn::numbers("block - push"),
            GridColumn::numbers("baked - push"),
            GridColumn::numbers("rounds %").expendable(1),
        ]);
        let mut sizes: BTreeMap<u64, Vec<&DispatchRow>> = BTreeMap::new();
        for row in &self.rows {
            sizes.entry(row.n_elements).or_default().push(row);
        }
        for (n, rows) in sizes {
            let of = |arguments| rows.iter().find(|row| row.arguments == arguments);
            let ns = |arguments| of(arguments).map_or_else(String::new, |row| row.dispatch_ns.to_string());
            let beyond = |arguments| {
                let ns = of(Some(arguments)).and_then(|row| row.beyond_push_ns);
                ns.map_or_else(String::new, |ns| format!("{ns:+}"))
            };
            let spread = rows.iter().map(|row| row.round_spread_pct).fold(0.0, f64::max);
            grid.push([
                size_label(n),
                ns(None),
                ns(Some(Arguments::Push)),
                ns(Some(Arguments::Block)),
                ns(Some(Arguments::Baked)),
                beyond(Arguments::Block),
                beyond(Arguments::Baked),
                format!("{spread:.1}"),
            ]);
        }
        grid
    }

    /// For people.
    fn write_text(&self, format: Format, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        let (width, indent) = if format == Format::Table { (width, 2) } else { (Some(MARKDOWN_WIDTH), 0) };
        write_header(self.metadata, out)?;
        writeln!(out, "\n{}\n", self.grid().draw(format.style(width)))?;
        let legend = "ns: median of a dispatch, one of many of which each waits for the one before; empty: a kernel that \
            reads nothing, in as many workgroups as the copy has; push, block, baked: a copy whose arguments are push \
            constants, stand in memory and are rewritten by every call, or are constants of its pipeline; rounds %: the \
            largest spread of the medians of rounds";
        writeln!(out, "{}", fold("", legend, indent, width))?;
        if format == Format::Markdown {
            writeln!(out)?;
        }
        let device = &self.metadata.device;
        let unknown = match device.kind {
            DeviceKind::Software => "auto of arguments is push, as on every software device",
            DeviceKind::Hardware | DeviceKind::Null => {
                "auto of arguments is push: a probe of the device has found nothing"
            }
        };
        let auto = arguments_told(device).unwrap_or_else(|| unknown.to_owned());
        writeln!(out, "{}", fold("", &auto, indent, width))?;
        for record in &self.failed {
            let (status, size) = (record.status.word(), size_label(record.n_elements));
            let text = format!("{status}: {} at {size}: {}", record.config_id, record.reason);
            writeln!(out, "{}", fold("", &text, indent, width))?;
        }
        Ok(())
    }

    fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "n_elements,kernel,arguments,dispatch_ns,q1_ns,q3_ns,rounds,round_spread_pct,beyond_push_ns"
        )?;
        for row in &self.rows {
            let DispatchRow { n_elements, kernel, dispatch_ns, q1_ns, q3_ns, rounds, .. } = row;
            let arguments = row.arguments.map_or("", Arguments::word);
            let beyond = row.beyond_push_ns.map_or_else(String::new, |ns| ns.to_string());
            let spread = row.round_spread_pct;
            writeln!(
                out,
                "{n_elements},{kernel},{arguments},{dispatch_ns},{q1_ns},{q3_ns},{rounds},{spread},{beyond}"
            )?;
        }
        Ok(())
    }
}

/// The empty calls beside sizes that a run's settings have.
fn empty_calls(settings: &serde_json::Value) -> Vec<EmptyCall> {
    let calls: Vec<EmptyCall> = serde_json::from_value(settings["empty_calls"].clone()).unwrap_or_default();
    calls.into_iter().filter(|call| call.beside.is_some()).collect()
}

impl Document for DispatchReport<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table | Format::Markdown => self.write_text(format, width, &mut out),
            Format::Csv => self.write_csv(&mut out),
            Format::Json => {
                let failed = self.failed.iter().map(|record| FailedDispatch {
                    n_elements: record.n_elements,
                    config: &record.config_id,
                    status: record.status.word(),
                    reason: &record.reason,
                });
                let document = DispatchJson {
                    format: FORMAT,
                    metadata: self.metadata,
                    end: self.end,
                    rows: &self.rows,
                    failed: failed.collect(),
                    auto: self.metadata.device.arguments_probe.as_ref(),
                };
                write_json(out, &document)
            }
            other => other.missing("the costs of dispatches"),
        }
    }
}
