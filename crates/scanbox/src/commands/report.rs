//! `scanbox report`: the answers as one HTML page with plots, for people who were not there.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use scanbox_analysis::answers::{Answers, DeviceAnswer, Question, answer};
use scanbox_analysis::lines::Lines;
use scanbox_analysis::warning::NOT_PART;

use crate::args::format::PICTURE_STYLES;
use crate::args::request::AnalysisRequest;
use crate::args::words::words;
use crate::exit::Exit;
use crate::output::{OutputContent, Outputs};
use scanbox_report::analysis::AnalysisReport;
use scanbox_report::document::{Document, Format};
use scanbox_report::evidence::Evidence;
use scanbox_report::figure::PictureStyle;
use scanbox_report::html::{self, Page, Sources, printable};
use scanbox_report::paste;
use scanbox_report::words::title;
use scanbox_session::notes::note;

/// Kernels of the largest portfolio where the command line says nothing.
const PORTFOLIO: usize = 6;

/// Arguments of `scanbox report`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page needs no network and no script; it can be printed. Files of `scanbox bench` and `scanbox import` \
add the lines of other implementations."
)]
pub struct ReportArgs {
    #[command(flatten)]
    request: AnalysisRequest,

    /// The page to write
    #[arg(short, long, visible_alias = "output", value_name = "FILE.html", default_value = "report.html")]
    out: PathBuf,

    /// Write each plot as SVG and CSV into this folder too, and the tables as CSV; with --style paper also as PDF
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,

    /// How the files of --plots look
    #[arg(long, value_parser = words(PICTURE_STYLES), value_name = "STYLE", default_value = "screen")]
    style: PictureStyle,

    /// The heading of the page; without it, what was computed and where
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

/// Writes the page, and the plots where that is wanted.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let request = &args.request;
    let mut outputs = Outputs::beside(request.inputs());
    let output = outputs.claim("--out", &args.out, OutputContent::Page)?;
    if let Some(folder) = &args.plots {
        outputs.claim_folder("--plots", folder)?;
    }
    let question = request.question()?;
    let portfolio = question.portfolio.or(Some(PORTFOLIO));
    let question = Question { portfolio, all_metrics: true, distributions: true, ..question };
    let (tables, mut warnings) = request.tables()?;
    let evidence = Evidence::read(&request.files, request.time)?;
    let (answers, more) = answer(&tables, &question);
    warnings.extend(more.iter().map(ToString::to_string));
    // The page shows what a benchmark beside a sweep has.
    warnings.retain(|warning| !warning.ends_with(NOT_PART));
    let lines: Vec<Lines<'_>> =
        tables.devices.iter().map(|table| Lines::new(&tables.catalog, table)).collect();
    let report = AnalysisReport {
        at: &[],
        tables: &tables,
        answers: &answers,
        question: &question,
        clock: request.time,
        explain: false,
        warnings: &warnings,
    };
    let sources = Sources {
        report: &report,
        lines: &lines,
        evidence: &evidence,
        titles: titles(&answers, &evidence),
        names: file_names(&answers),
    };
    let shown: Vec<String> = warnings.iter().map(|warning| printable(warning)).collect();
    let sections = html::sections(&sources, &shown);
    for warning in &shown {
        note(&format!("warning: {warning}"));
    }
    let heading = args.title.as_deref().map_or_else(|| html::heading(&sources), printable);
    let document = Page { heading: &heading, files: &evidence.files, sections: &sections };
    let mut page = Vec::new();
    document.write(Format::Html, None, &mut page)?;
    let (mut plots, mut rows) = (Vec::new(), Vec::new());
    if let Some(folder) = &args.plots {
        for figure in html::figures(&sections) {
            let table = figure.csv()?;
            let header = table.lines().next().unwrap_or_default();
            plots.push((outputs.claim_plot(folder, &figure.name, header, args.style)?, figure));
        }
        for table in html::tables(&sections) {
            let text = table.csv()?;
            let header = text.lines().next().unwrap_or_default();
            rows.push((outputs.claim_rows(folder, &table.name, header)?, text));
        }
    }
    // From here on nothing is refused any more: all is written, or the system says no.
    output.write(|out| out.write_all(&page))?;
    if let Some(folder) = &args.plots {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut written = rows.len();
    for (places, figure) in &plots {
        written += places.write(figure)?;
    }
    for (place, text) in &rows {
        place.write_text(text)?;
    }
    let plots = match &args.plots {
        Some(folder) => format!(", {written} files in {}", paste::path(folder)),
        None => String::new(),
    };
    note(&format!("{} ({} kB){plots}", paste::path(&args.out), page.len().div_ceil(1000)));
    Ok(Exit::Done)
}

/// What each device is called: where one has several runs, with what tells them apart.
fn titles(answers: &Answers<'_>, evidence: &Evidence) -> Vec<String> {
    let problems =
        answers.devices.iter().any(|device| device.table.problem != answers.devices[0].table.problem);
    let name = |device: &DeviceAnswer<'_>| match problems {
        true => printable(&format!("{}, {}", title(device), device.table.problem)),
        false => printable(&title(device)),
    };
    let titles: Vec<String> = answers.devices.iter().map(name).collect();
    let several = |name: &String| titles.iter().filter(|other| *other == name).count() > 1;
    let run = |(index, name): (usize, &String)| {
        if !several(name) {
            return name.clone();
        }
        let number = titles[..=index].iter().filter(|other| *other == name).count();
        let table = answers.devices[index].table;
        let spaces: Vec<&str> =
            evidence.metadata_of(table).iter().map(|metadata| metadata.space.name.as_str()).collect();
        let spaces =
            if spaces.is_empty() { String::new() } else { format!(", space {}", spaces.join(" and ")) };
        printable(&format!("{name}, run {number}{spaces}"))
    };
    titles.iter().enumerate().map(run).collect()
}

/// The beginning of the names of the files of each device: no two are the same.
fn file_names(answers: &Answers<'_>) -> Vec<String> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    let name = |device: &DeviceAnswer<'_>| {
        let slug = device.table.device.api.file_name_of(&device.table.device.name);
        let number = uses.entry(slug.clone()).or_insert(0);
        *number += 1;
        if *number == 1 { slug } else { format!("{slug}-{number}") }
    };
    answers.devices.iter().map(name).collect()
}
