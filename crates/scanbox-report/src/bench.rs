//! A benchmark for people and for machines.

use std::collections::BTreeSet;
use std::io::{self, Write};

use scanbox_analysis::bench::{Heat, TimedForm, TimedSubject};
use scanbox_analysis::grouping::OWN_SUBJECT;
use scanbox_analysis::library::LibraryDifference;
use scanbox_model::api::Api;
use scanbox_model::call_form::CallForm;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Clock, Record, Selection, TimeStats};
use scanbox_model::units::size_label;
use scanbox_runner::baseline::Greeting;
use scanbox_runner::bench::EmptyCall;
use scanbox_runner::session::End;
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, Format};
use super::grid::{Grid, GridColumn, Style};
use super::library::{LibraryRow, write_library};
use super::terminal::fold;
use super::versus::{self, VersusRow};
use super::words::{ceiling_share, subject_title, write_header};

/// The version of the JSON format: within it fields are only added.
const FORMAT: u32 = 1;
/// Rows that are not `ok` and are shown; JSON has all.
const FAILED_SHOWN: usize = 10;

/// What is reported.
pub struct BenchReport<'a> {
    /// How the rows were made.
    pub metadata: &'a Metadata,
    /// Other implementations that took part.
    pub baselines: &'a [Greeting],
    /// The rows.
    pub heats: &'a [Heat<'a>],
    /// Forms of calls beside the ordinary ones.
    pub forms: &'a [TimedForm<'a>],
    /// What the library costs, where it took part.
    pub library: &'a [LibraryDifference<'a>],
    /// How the run ended.
    pub end: End,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct BenchJson<'a> {
    format: u32,
    metadata: &'a Metadata,
    baselines: &'a [Greeting],
    /// What a call costs that does nothing, of each side: spans of two sides are set against each other beside it
    /// alone.
    empty_calls: &'a [EmptyCall],
    end: End,
    rows: Vec<BenchRow<'a>>,
    /// Forms of calls beside the ordinary ones.
    call_forms: Vec<CallFormRow<'a>>,
    /// What the library costs.
    library: Vec<LibraryRow<'a>>,
    /// Each size in one line: the fastest config against the fastest scan of another implementation.
    summary: Vec<VersusRow<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct BenchRow<'a> {
    run_id: &'a str,
    n: u64,
    cache: Cache,
    subject: &'a str,
    subject_version: &'a str,
    config: &'a str,
    kernel: &'a str,
    stateless: Option<bool>,
    selection: Vec<&'static str>,
    device: &'a str,
    api: Api,
    #[serde(skip_serializing_if = "str::is_empty")]
    implementation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    robustness: Option<bool>,
    device_uuid: &'a str,
    driver: &'a str,
    status: &'static str,
    reason: &'a str,
    mismatches: Option<u64>,
    bytes_moved: u64,
    samples: u32,
    rounds: Option<u32>,
    round_spread_pct: Option<f64>,
    steady_ns: Option<TimesJson>,
    span_ns: Option<TimesJson>,
    throughput_gbps: Option<f64>,
    copy_pct: Option<f64>,
    baseline_ratio: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
struct CallFormRow<'a> {
    n: u64,
    cache: Option<Cache>,
    config: &'a str,
    call_form: CallForm,
    status: &'static str,
    reason: &'a str,
    median_ns: Option<u64>,
    /// Of an ordinary call.
    ordinary_ns: Option<u64>,
    round_spread_pct: Option<f64>,
}

impl<'a> CallFormRow<'a> {
    fn new(timed: &TimedForm<'a>) -> Self {
        let &TimedForm { record, form, median_ns, ordinary_ns, .. } = timed;
        Self {
            n: record.n_elements,
            cache: record.cache,
            config: &record.config_id,
            call_form: form,
            status: record.status.word(),
            reason: &record.reason,
            median_ns,
            ordinary_ns,
            round_spread_pct: record.round_spread_pct,
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct TimesJson {
    median: u64,
    min: u64,
    mean: u64,
    q1: u64,
    q3: u64,
    stddev: u64,
}

impl From<TimeStats> for TimesJson {
    fn from(stats: TimeStats) -> Self {
        let TimeStats { median_ns, min_ns, mean_ns, q1_ns, q3_ns, stddev_ns } = stats;
        Self { median: median_ns, min: min_ns, mean: mean_ns, q1: q1_ns, q3: q3_ns, stddev: stddev_ns }
    }
}

impl<'a> BenchRow<'a> {
    fn new(record: &'a Record, cache: Cache, subject: Option<&TimedSubject<'_>>) -> Self {
        let rounded = |value: f64| (value * 10_000.0).round() / 10_000.0;
        Self {
            run_id: &record.run_id,
            n: record.n_elements,
            cache,
            subject: &record.subject,
            subject_version: &record.subject_version,
            config: &record.config_id,
            kernel: &record.kernel_id,
            stateless: record.is_stateless(),
            selection: record.selection.iter().map(|selection| selection.word()).collect(),
            device: &record.device,
            api: record.api,
            implementation: &record.implementation,
            robustness: record.robustness,
            device_uuid: &record.device_uuid,
            driver: &record.driver,
            status: record.status.word(),
            reason: &record.reason,
            mismatches: record.mismatches,
            bytes_moved: record.bytes_moved,
            samples: record.samples,
            rounds: record.rounds,
            round_spread_pct: record.round_spread_pct.map(rounded),
            steady_ns: record.steady.map(TimesJson::from),
            span_ns: record.span.map(TimesJson::from),
            throughput_gbps: subject.map(|subject| rounded(subject.gbps)),
            copy_pct: subject.and_then(|subject| subject.ceiling_pct).map(rounded),
            baseline_ratio: subject.and_then(|subject| subject.baseline_ratio).map(rounded),
        }
    }
}

impl Document for BenchReport<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.write_table(width, &mut out),
            Format::Json => self.write_json(&mut out),
            other => other.missing("a benchmark"),
        }
    }
}

impl BenchReport<'_> {
    /// Everything, as one JSON document.
    fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let rows = self.heats.iter().flat_map(|heat| {
            let subjects =
                heat.subjects.iter().map(|subject| BenchRow::new(subject.record, heat.cache, Some(subject)));
            subjects.chain(heat.failed.iter().map(|record| BenchRow::new(record, heat.cache, None)))
        });
        let empty_calls = self.empty_calls();
        let document = BenchJson {
            format: FORMAT,
            metadata: self.metadata,
            baselines: self.baselines,
            empty_calls: &empty_calls,
            end: self.end,
            rows: rows.collect(),
            call_forms: self.forms.iter().map(CallFormRow::new).collect(),
            library: self.library.iter().map(LibraryRow::new).collect(),
            summary: versus::machine(self.heats),
        };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)
    }

    /// What the run says of empty calls.
    fn empty_calls(&self) -> Vec<EmptyCall> {
        let settings = self.metadata.runs.iter().map(|run| run.settings["empty_calls"].clone());
        let all = settings.filter_map(|all| serde_json::from_value::<Vec<EmptyCall>>(all).ok()).flatten();
        all.filter(|call| call.beside.is_none()).collect()
    }

    /// One table per cache state.
    fn write_table(&self, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        write_header(self.metadata, out)?;
        for Greeting { tool, version, .. } in self.baselines {
            writeln!(out, "baseline {tool} {version}")?;
        }
        if self.metadata.runs.iter().any(|run| run.settings["renews_pipelines"] == true) {
            writeln!(out, "pipelines of scanbox and of the library: made anew in each round")?;
        }
        let empty_calls = self.empty_calls();
        let mut shown: Vec<String> = Vec::new();
        for cache in Cache::ALL {
            let heats: Vec<&Heat<'_>> = self.heats.iter().filter(|heat| heat.cache == cache).collect();
            if !heats.is_empty() {
                let what = match cache {
                    Cache::Hot => "Hot: every call works on the same buffers",
                    Cache::Cold => "Cold: calls rotate over buffers that together exceed any cache",
                };
                writeln!(out, "\n{what}")?;
                let drawn = grid(&heats, &self.metadata.problem, &empty_calls).drawn(Style::Text { width });
                writeln!(out, "{}", drawn.text_and_left_out(Style::Text { width }))?;
                shown.extend(drawn.shown);
            }
        }
        let ceiling = self.metadata.problem.ceiling();
        let legend = [
            ("us", "us: median of a call among many back to back".to_owned()),
            ("span us", "span us: of one call on its own".to_owned()),
            (
                ceiling_share(&self.metadata.problem),
                format!("{ceiling} %: of the fastest {ceiling} of the size"),
            ),
            ("x base", "x base: times as fast as the fastest scan of another implementation".to_owned()),
            ("iqr %", "iqr %: spread of the samples".to_owned()),
            ("rounds %", "rounds %: spread of the medians of the rounds".to_owned()),
        ];
        let legend = legend.into_iter().filter(|(column, _)| shown.iter().any(|shown| shown == column));
        let legend = legend.map(|(_, text)| text).collect::<Vec<_>>().join("; ");
        writeln!(out, "{}", fold("", &legend, 2, width))?;
        self.write_forms(width, out)?;
        write_library(self.library, width, out)?;
        self.write_empty_calls(&empty_calls, width, out)?;
        versus::write_loses(self.heats, width, out)?;
        self.write_others(width, out)?;
        self.write_failed(width, out)
    }

    /// One table of all forms of calls.
    fn write_forms(&self, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        if self.forms.iter().all(|timed| timed.median_ns.is_none()) {
            return Ok(());
        }
        writeln!(out, "\nForms of calls beside the ordinary call of the config")?;
        let mut grid = Grid::new([
            GridColumn::numbers("size"),
            GridColumn::words("config"),
            GridColumn::words("buffers"),
            GridColumn::words("form"),
            GridColumn::numbers("us"),
            GridColumn::numbers("ordinary us"),
            GridColumn::numbers("more %"),
            GridColumn::numbers("rounds %").expendable(1),
        ]);
        let micros = |ns: u64| format!("{:.2}", ns as f64 / 1e3);
        let percent = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
        for TimedForm { record, form, median_ns, ordinary_ns, more_percent } in self.forms {
            let Some(median_ns) = median_ns else { continue };
            grid.push([
                size_label(record.n_elements),
                subject_title(record),
                record.cache.map_or("", Cache::word).to_owned(),
                form.to_string(),
                micros(*median_ns),
                ordinary_ns.map_or_else(String::new, micros),
                percent(*more_percent),
                percent(record.round_spread_pct),
            ]);
        }
        writeln!(out, "{}", grid.draw(Style::Text { width }))?;
        let legend = "us, ordinary us: medians of all samples; more %: the mean of the differences of the rounds, of \
                      the mean of the ordinary call";
        writeln!(out, "{}", fold("", legend, 2, width))
    }

    /// Says what of a span is no work, and of whom no span is shown because nobody knows.
    fn write_empty_calls(
        &self,
        empty_calls: &[EmptyCall],
        width: Option<usize>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let micros = |ns: u64| ns as f64 / 1e3;
        let told: Vec<String> = empty_calls
            .iter()
            .map(|call| {
                let [q1, q3] = call.span_quartiles_ns.map(micros);
                format!("{} {:.2} ({q1:.2} to {q3:.2})", call.of, micros(call.span_ns))
            })
            .collect();
        if !told.is_empty() {
            writeln!(
                out,
                "{}",
                fold("", &format!("span us of an empty call: {}", told.join(", ")), 2, width)
            )?;
        }
        let hidden: BTreeSet<&str> = self
            .heats
            .iter()
            .flat_map(|heat| &heat.subjects)
            .filter(|subject| {
                subject.record.span.is_some() && !has_comparable_span(subject.record, empty_calls)
            })
            .map(|subject| subject.record.subject_version.as_str())
            .collect();
        if hidden.is_empty() {
            return Ok(());
        }
        let hidden = hidden.into_iter().collect::<Vec<_>>().join(", ");
        let text = format!("no span is shown of {hidden}: no empty call of both sides was measured");
        writeln!(out, "{}", fold("", &text, 2, width))
    }

    /// Says which rows are of other runs.
    fn write_others(&self, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        let run_id = self.metadata.runs.first().map_or("", |run| &run.run_id);
        let others = self.heats.iter().flat_map(|heat| &heat.subjects).map(|subject| subject.record);
        let others: BTreeSet<String> = others
            .filter(|record| record.run_id != run_id)
            .map(|record| format!("{} ({})", record.subject, record.subject_version))
            .collect();
        if others.is_empty() {
            return Ok(());
        }
        let others = others.into_iter().collect::<Vec<_>>().join(", ");
        writeln!(out, "{}", fold("", &format!("measured in another run: {others}"), 2, width))
    }

    fn write_failed(&self, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        let failed = self.heats.iter().flat_map(|heat| heat.failed.iter().copied());
        let forms = self.forms.iter().filter(|timed| timed.median_ns.is_none()).map(|timed| timed.record);
        let failed: Vec<&Record> = failed.chain(forms).collect();
        for record in failed.iter().take(FAILED_SHOWN) {
            let head = format!("{:<10} ", record.status.word());
            let size = size_label(record.n_elements);
            let cache = record.cache.map_or("", Cache::word);
            let form = record.call_form.map_or_else(String::new, |form| format!(" ({form})"));
            let text = format!("{}{form} at {size}, {cache}: {}", record.config_id, record.reason);
            writeln!(out, "{}", fold(&head, &text, 2, width))?;
        }
        match failed.len().saturating_sub(FAILED_SHOWN) {
            0 => Ok(()),
            more => writeln!(out, "and {more} more that are not ok (--format json has them all)"),
        }
    }
}

/// Whether the span of a row can stand beside that of scanbox's own rows: of another implementation where an empty
/// call of both was measured.
fn has_comparable_span(record: &Record, empty_calls: &[EmptyCall]) -> bool {
    let known = |of: &str| empty_calls.iter().any(|call| call.of == of);
    !record.selection.contains(&Selection::Baseline) || (known(OWN_SUBJECT) && known(&record.subject_version))
}

fn grid(heats: &[&Heat<'_>], problem: &Problem, empty_calls: &[EmptyCall]) -> Grid {
    let ceiling = problem.ceiling();
    let mut grid = Grid::new([
        GridColumn::numbers("size"),
        GridColumn::words("subject"),
        GridColumn::words("chosen as").expendable(3),
        GridColumn::numbers("us"),
        GridColumn::numbers("GB/s"),
        GridColumn::numbers(ceiling_share(problem)).expendable(1),
        GridColumn::numbers("x base").expendable(1),
        GridColumn::numbers("span us").expendable(5),
        GridColumn::numbers("iqr %").expendable(4),
        GridColumn::numbers("rounds %").expendable(2),
    ]);
    for heat in heats {
        let mut size = Some(size_label(heat.n));
        let mut shown = false;
        for subject in &heat.subjects {
            let record = subject.record;
            let is_ceiling = record.subject == ceiling;
            // The subjects come fastest first: the other launch shapes of the ceiling say nothing more.
            if is_ceiling && std::mem::replace(&mut shown, true) {
                continue;
            }
            let selection: Vec<&str> = record.selection.iter().map(|selection| selection.word()).collect();
            let optional = |value: Option<f64>, digits: usize| {
                value.map_or_else(String::new, |value| format!("{value:.digits$}"))
            };
            let span = record
                .time(Clock::Span)
                .filter(|_| has_comparable_span(record, empty_calls))
                .map(|time| time.median_ns as f64 / 1e3);
            grid.push([
                size.take().unwrap_or_default(),
                if is_ceiling { ceiling.to_owned() } else { subject_title(record) },
                if is_ceiling { String::new() } else { selection.join("+") },
                format!("{:.2}", subject.median_ns as f64 / 1e3),
                format!("{:.1}", subject.gbps),
                optional(subject.ceiling_pct, 0),
                optional(subject.baseline_ratio, 2),
                optional(span, 2),
                optional(subject.spread_pct(Clock::Steady), 1),
                optional(record.round_spread_pct, 1),
            ]);
        }
    }
    grid
}
