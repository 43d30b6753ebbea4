//! `scanbox import`: times of another implementation that were taken elsewhere, as rows that `bench` and `analyze`
//! read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use scanbox_model::csv_file;
use scanbox_model::problem::{Problem, ProblemDifference};
use scanbox_model::record::{Cache, Record, SCHEMA, Selection, Status, TimeStats};
use scanbox_model::row_rules;
use scanbox_model::units::plural;
use scanbox_runner::baseline::{AskedProblem, Greeting};
use scanbox_runner::measure::Samples;
use scanbox_runner::row::now_utc;
use serde::Deserialize;

use crate::exit::{Exit, UsageError};
use crate::inputs::expect;
use crate::output::{Kind, OutputContent, Outputs};
use scanbox_report::paste;
use scanbox_session::notes::note;
use scanbox_session::origin::run_id;

/// Arguments of `scanbox import`.
#[derive(Debug, Args)]
#[command(
    after_help = "A CSV needs the columns n_elements and steady_ns_median, and may have steady_ns_min, steady_ns_mean, \
steady_ns_q1, steady_ns_q3, steady_ns_stddev, the same of span_ns, samples and bytes_moved. A file that ends with .jsonl \
holds what was said between scanbox and a baseline, line by line: its greeting, requests and replies. Nothing is verified: \
the rows say what the files say."
)]
pub struct ImportArgs {
    /// CSV or .jsonl files
    #[arg(required = true, value_name = "FILES")]
    files: Vec<PathBuf>,

    /// What was measured, for example cub-scan; of a .jsonl file, this subject
    #[arg(long, value_name = "NAME")]
    subject: String,

    /// Its tool and version, for example "CUB 3.5.0" [default: what the greeting in a .jsonl file says]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,

    /// The device it was measured on [default: what the greeting in a .jsonl file says]
    #[arg(long, value_name = "NAME")]
    device_name: Option<String>,

    /// The UUID of that device
    #[arg(long, value_name = "UUID", default_value = "")]
    device_uuid: String,

    /// The driver of that device
    #[arg(long, value_name = "DRIVER", default_value = "")]
    driver: String,

    /// The subject copies, and does not scan
    #[arg(long)]
    copy: bool,

    /// The times of the CSV file are of cold buffers
    #[arg(long)]
    cold: bool,

    /// The file to write, for example results/bench/cub.csv
    #[arg(short, long, visible_alias = "output", value_name = "FILE.csv")]
    out: PathBuf,
}

/// Imports.
pub fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    if args.subject == scanbox_analysis::grouping::OWN_SUBJECT {
        return Err(UsageError("--subject scanbox: only `scanbox bench` measures that".to_owned()).into());
    }
    let output = Outputs::beside(&args.files).claim("--out", &args.out, OutputContent::Import)?;
    let mut rows = Vec::new();
    for path in &args.files {
        expect(
            path,
            "",
            &[Kind::Foreign, Kind::Empty],
            "`import` takes in what was measured without scanbox",
        )?;
        let read = if path.extension().is_some_and(|ending| ending == "jsonl") { transcript } else { table };
        rows.extend(read(args, path).with_context(|| path.display().to_string())?);
    }
    let mut seen = BTreeMap::new();
    for row in &rows {
        if seen.insert((row.n_elements, row.cache), ()).is_some() {
            bail!("{} elements are there twice; leave one of the files out", row.n_elements);
        }
    }
    if let Some(folder) = args.out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let run_id = run_id();
    for (index, row) in rows.iter_mut().enumerate() {
        row.run_id.clone_from(&run_id);
        row.order_index = index as u64;
        row.timestamp_utc = now_utc();
    }
    output.write(|out| csv_file::write(out, true, &rows))?;
    note(&format!("{} of {} in {}", plural(rows.len(), "row"), args.subject, paste::path(&args.out)));
    Ok(Exit::Done)
}

impl ImportArgs {
    /// A row without times.
    fn row(&self, greeting: Option<&Greeting>, n: u64, cache: Cache) -> anyhow::Result<Record> {
        let said = greeting.map(|greeting| format!("{} {}", greeting.tool, greeting.version));
        let Some(version) = self.version.clone().or(said) else {
            return Err(UsageError("say with --version what was measured".to_owned()).into());
        };
        let Some(device) = self.device_name.clone().or(greeting.map(|greeting| greeting.device.clone()))
        else {
            return Err(UsageError("say with --device-name where it was measured".to_owned()).into());
        };
        let or = |given: &str, said: fn(&Greeting) -> &String| match greeting {
            Some(greeting) if given.is_empty() => said(greeting).clone(),
            _ => given.to_owned(),
        };
        Ok(Record {
            schema: SCHEMA,
            device,
            device_uuid: or(&self.device_uuid, |greeting| &greeting.device_uuid),
            driver: or(&self.driver, |greeting| &greeting.driver),
            subject: self.subject.clone(),
            subject_version: version,
            config_id: self.subject.clone(),
            kernel_id: self.subject.clone(),
            n_elements: n,
            element_bytes: 4,
            bytes_moved: 8 * n,
            status: Status::Ok,
            cache: Some(cache),
            selection: if self.copy {
                vec![Selection::Ceiling, Selection::Baseline]
            } else {
                vec![Selection::Baseline]
            },
            ..Record::default()
        })
    }
}

/// The rows of a CSV.
fn table(args: &ImportArgs, path: &Path) -> anyhow::Result<Vec<Record>> {
    let text = std::fs::read(path)?;
    let mut reader = csv::Reader::from_reader(&text[..]);
    let headers = reader.headers()?.clone();
    let cache = if args.cold { Cache::Cold } else { Cache::Hot };
    let mut rows = Vec::new();
    for line in reader.records() {
        let line = line?;
        let number = line.position().map_or(0, csv::Position::line);
        let cell = |column: &str| {
            let place = headers.iter().position(|header| header.trim() == column);
            place.and_then(|place| line.get(place)).map(str::trim).filter(|cell| !cell.is_empty())
        };
        let whole = |column: &str| -> anyhow::Result<Option<u64>> {
            let Some(text) = cell(column) else { return Ok(None) };
            // A time in nanoseconds may have a fraction; a row has none.
            let value = text.parse::<f64>().ok().filter(|value| (0.0..1e18).contains(value));
            let value =
                value.with_context(|| format!("line {number}: `{column}`: `{text}` is not a number"))?;
            Ok(Some(value.round() as u64))
        };
        let needed = |column: &str| {
            whole(column)?
                .filter(|value| *value > 0)
                .with_context(|| format!("line {number}: `{column}` is missing or zero"))
        };
        let times = |clock: &str| -> anyhow::Result<Option<TimeStats>> {
            let Some(median_ns) = whole(&format!("{clock}_ns_median"))?.filter(|ns| *ns > 0) else {
                return Ok(None);
            };
            let statistic = |name: &str| whole(&format!("{clock}_ns_{name}"));
            let (mean_ns, q1_ns) =
                (statistic("mean")?.unwrap_or(median_ns), statistic("q1")?.unwrap_or(median_ns));
            Ok(Some(TimeStats {
                median_ns,
                // What is not told is no more than what is.
                min_ns: statistic("min")?.unwrap_or(mean_ns.min(q1_ns).min(median_ns)),
                mean_ns,
                q1_ns,
                q3_ns: statistic("q3")?.unwrap_or(median_ns),
                stddev_ns: statistic("stddev")?.unwrap_or(0),
            }))
        };
        let n = needed("n_elements")?;
        needed("steady_ns_median")?;
        let row = args.row(None, n, cache)?;
        let row = Record {
            steady: times("steady")?,
            span: times("span")?,
            samples: whole("samples")?.and_then(|samples| samples.try_into().ok()).unwrap_or(1),
            bytes_moved: whole("bytes_moved")?.unwrap_or(row.bytes_moved),
            ..row
        };
        // What nobody could read again is not written.
        if let Err(broken) = row_rules::check(&row, "") {
            bail!("line {number}: `{}`: {}", broken.column, broken.reason);
        }
        rows.push(row);
    }
    if rows.is_empty() {
        bail!("it has no rows");
    }
    Ok(rows)
}

/// A request or a reply of the protocol of baselines, as far as it matters here.
#[derive(Deserialize)]
struct TranscriptLine {
    #[serde(rename = "do")]
    request: Option<String>,
    subject: Option<String>,
    n: Option<u64>,
    cache: Option<Cache>,
    calls: Option<u32>,
    samples_ns: Option<Vec<f64>>,
}

/// The rows of what was said between scanbox and a baseline.
fn transcript(args: &ImportArgs, path: &Path) -> anyhow::Result<Vec<Record>> {
    let text = std::fs::read_to_string(path)?;
    let mut greeting: Option<Greeting> = None;
    let mut asked: Option<(u64, Cache, u32)> = None;
    let mut samples: BTreeMap<(u64, Cache), Samples> = BTreeMap::new();
    let mut problem: Option<Problem> = None;
    for (index, text) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if let Ok(said) = serde_json::from_str(text) {
            greeting = Some(said);
            continue;
        }
        let line: TranscriptLine =
            serde_json::from_str(text).with_context(|| format!("line {}", index + 1))?;
        // Loads of version 1 name no problem: there is one alone.
        if line.request.as_deref() == Some("load")
            && let Ok(asked) = serde_json::from_str::<AskedProblem>(text)
        {
            let of_load = asked.problem().map_err(anyhow::Error::msg);
            let of_load = of_load.with_context(|| format!("line {}", index + 1))?;
            if let Some(difference) = problem.and_then(|problem| problem.difference(&of_load)) {
                let ProblemDifference { own, others, .. } = difference;
                bail!("line {}: rows are of one problem, and here `{others}` follows `{own}`", index + 1);
            }
            problem = Some(of_load);
        }
        // A reply may repeat what was asked for.
        if line.request.as_deref() == Some("time") || (line.samples_ns.is_some() && line.n.is_some()) {
            let ours = line.subject.as_deref().is_none_or(|subject| subject == args.subject);
            asked = line
                .n
                .filter(|_| ours)
                .map(|n| (n, line.cache.unwrap_or_default(), line.calls.unwrap_or(1).max(1)));
        }
        if let (Some((n, cache, calls)), Some(durations)) = (asked, line.samples_ns) {
            if !durations.iter().all(|ns| ns.is_finite() && *ns > 0.0) {
                bail!("line {}: a duration is not above zero", index + 1);
            }
            let per_call = durations.into_iter().map(|ns| ns / f64::from(calls));
            let all = samples.entry((n, cache)).or_default();
            if calls > 1 { all.steady.extend(per_call) } else { all.span.extend(per_call) }
        }
    }
    let mut rows = Vec::new();
    for ((n, cache), mut samples) in samples {
        // A large call fills a sample alone.
        if samples.steady.is_empty() {
            samples.steady.clone_from(&samples.span);
        }
        if samples.steady.is_empty() {
            continue;
        }
        let measured = samples.measurement();
        let mut row = args.row(greeting.as_ref(), n, cache)?;
        if let Some(problem) = problem {
            problem.describe(n, &mut row);
        }
        rows.push(Record {
            samples: measured.samples,
            steady: Some(measured.steady),
            span: measured.span,
            ..row
        });
    }
    if rows.is_empty() {
        bail!("it has no samples of {}", args.subject);
    }
    Ok(rows)
}
