//! Benchmarks of several devices beside each other: a pair of columns for each, and where each loses.

use std::collections::BTreeSet;
use std::io::{self, Write};

use scanbox_analysis::device_lines::{DeviceLines, common_cache};
use scanbox_analysis::versus::{RatedSubject, RatioSummary, Versus, verdict};
use scanbox_model::units::size_label;
use schemars::JsonSchema;
use serde::Serialize;

use super::{VersusRow, VersusView, machine_line, ratio, runs, time, write_csv_lines};
use crate::document::{Document, Format, write_json};
use crate::grid::{Grid, GridColumn, Style};
use crate::terminal::fold;

/// A device for machines.
#[derive(Serialize, JsonSchema)]
pub struct DeviceVersus<'a> {
    /// What tells it apart from the others.
    title: &'a str,
    device: &'a str,
    device_uuid: &'a str,
    files: &'a [String],
    lines: Vec<VersusRow<'a>>,
}

/// What is shown of the benchmarks of several devices.
pub struct DevicesReport<'a> {
    /// Which part: [`VersusView::Devices`] or [`VersusView::Loses`].
    pub view: VersusView,
    /// The devices. They have a state of the buffers in common.
    pub devices: &'a [DeviceLines<'a>],
}

impl Document for DevicesReport<'_> {
    fn write(&self, format: Format, width: Option<usize>, mut out: &mut dyn Write) -> io::Result<()> {
        match (format, self.view) {
            (Format::Table | Format::Markdown, VersusView::Devices) => {
                writeln!(out, "{}", self.grid().draw(format.style(width)))
            }
            (Format::Table | Format::Markdown, VersusView::Loses) => {
                for sentence in self.sentences() {
                    match format.style(width) {
                        Style::Markdown => writeln!(out, "- {sentence}")?,
                        Style::Text { width } => writeln!(out, "{}", fold("", &sentence, 2, width))?,
                    }
                }
                Ok(())
            }
            (Format::Json, _) => write_json(out, &machine(self.devices)),
            (Format::Csv, _) => {
                let devices = self.devices.iter().map(|device| (device.title.as_str(), &device.lines[..]));
                write_csv_lines(devices, &mut out)
            }
            (other, _) => other.missing("a summary of several devices"),
        }
    }
}

/// Every device with its lines, for machines.
pub fn machine<'a>(devices: &'a [DeviceLines<'a>]) -> Vec<DeviceVersus<'a>> {
    let one = |device: &'a DeviceLines<'a>| DeviceVersus {
        title: &device.title,
        device: &device.device.name,
        device_uuid: &device.device.uuid,
        files: &device.files,
        lines: device.lines.iter().map(machine_line).collect(),
    };
    devices.iter().map(one).collect()
}

impl DevicesReport<'_> {
    /// Each device with the lines that are compared: those on buffers in the state that all have.
    fn columns(&self) -> Vec<(String, String, Vec<&Versus<'_>>)> {
        let cache = common_cache(self.devices);
        let titles: Vec<&str> = self.devices.iter().map(|device| device.title.as_str()).collect();
        let lines = self.devices.iter().map(|device| {
            let lines: Vec<&Versus<'_>> =
                device.lines.iter().filter(|line| Some(line.cache) == cache).collect();
            (tool(&lines), lines)
        });
        let named = short_titles(&titles).into_iter().zip(lines);
        named.map(|(title, (tool, lines))| (title, tool, lines)).collect()
    }

    fn grid(&self) -> Grid {
        let columns = self.columns();
        let mut header = vec![GridColumn::numbers("n")];
        for (title, tool, _) in &columns {
            header.push(GridColumn::numbers_of(format!("{title} us")));
            header.push(GridColumn::numbers_of(format!("{title} x {tool}")).unless_empty());
        }
        let mut grid = Grid::new(header);
        let sizes: BTreeSet<u64> =
            columns.iter().flat_map(|(.., lines)| lines.iter().map(|line| line.n)).collect();
        for n in sizes {
            let mut row = vec![size_label(n)];
            for (.., lines) in &columns {
                let kept = lines.iter().find(|line| line.n == n).and_then(|line| line.kept.as_ref());
                row.extend([time(kept), ratio(kept)]);
            }
            grid.push_row(row);
        }
        grid
    }

    /// Where each device loses, in a sentence of its own; none without another implementation.
    fn sentences(&self) -> Vec<String> {
        let sentence = |(title, tool, lines): (String, String, Vec<&Versus<'_>>)| {
            let kept = Losses::of(&lines, |line| line.kept.as_ref())?;
            let Losses { part, place } = &kept;
            let mut text = match place {
                Some(place) => format!("{title}{part}: slower than the fastest {tool} at {place}"),
                None => format!("{title}{part}: nowhere slower than the fastest {tool}"),
            };
            if let Some(Losses { part, place }) = Losses::of(&lines, |line| line.same_contract.as_ref()) {
                let place = place.map_or_else(|| "nowhere".to_owned(), |place| format!("at {place}"));
                text.push_str(&format!("; with the same contract{part}, {place}"));
            }
            Some(text + ".")
        };
        self.columns().into_iter().filter_map(sentence).collect()
    }
}

/// Where one contract loses on one device.
struct Losses {
    /// ` (measured at 5 of 14 sizes)`, where it was not measured at all.
    part: String,
    /// `2^10 (0.99)`: the sizes, and how many times as fast it is there; none where it is nowhere slower.
    place: Option<String>,
}

impl Losses {
    /// None where no size has a ratio.
    fn of<'a>(
        lines: &[&'a Versus<'a>],
        side: impl Fn(&'a Versus<'a>) -> Option<&'a RatedSubject<'a>>,
    ) -> Option<Self> {
        let ratios: Vec<(u64, Option<f64>)> =
            lines.iter().map(|line| (line.n, side(line).and_then(|side| side.ratio))).collect();
        let RatioSummary { range, loses, loses_range } = verdict(&ratios);
        range?;
        let measured = ratios.iter().filter(|(_, ratio)| ratio.is_some()).count();
        let part = match measured == ratios.len() {
            true => String::new(),
            false => format!(" (measured at {measured} of {} sizes)", ratios.len()),
        };
        let place = loses_range.map(|(low, high)| {
            let times = if low < high { format!("{low:.2} to {high:.2}") } else { format!("{low:.2}") };
            format!("{} ({times} times as fast)", runs(&loses))
        });
        Some(Self { part, place })
    }
}

/// What the other implementations of these lines are called together.
fn tool(lines: &[&Versus<'_>]) -> String {
    let versions =
        lines.iter().filter_map(|line| Some(line.baseline.as_ref()?.record.subject_version.as_str()));
    super::tool_of(versions)
}

/// Titles in the fewest words that still tell them apart: `H200` and `H100` of `NVIDIA H200` and `NVIDIA H100 80GB`.
/// Distinct titles stay distinct.
fn short_titles(titles: &[&str]) -> Vec<String> {
    let words: Vec<Vec<&str>> = titles.iter().map(|title| title.split_whitespace().collect()).collect();
    let [first, others @ ..] = &words[..] else { return Vec::new() };
    if others.is_empty() {
        return vec![first.join(" ")];
    }
    let shortest = words.iter().map(Vec::len).min().unwrap_or_default();
    let is_common = |index: &usize| words.iter().all(|other| other[*index] == first[*index]);
    let common = (0..shortest.saturating_sub(1)).take_while(is_common).count();
    let short = |(own, title): (usize, &Vec<&str>)| {
        let rest = &title[common..];
        let tells_apart = |count: &usize| {
            let alike = |(index, other): (usize, &Vec<&str>)| {
                index != own && other[common..].get(..*count) == rest.get(..*count)
            };
            !words.iter().enumerate().any(alike)
        };
        let count = (1..rest.len()).find(tells_apart).unwrap_or(rest.len());
        rest[..count].join(" ")
    };
    words.iter().enumerate().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_short_and_tell_devices_apart() {
        fn check(titles: &[&str], short: &[&str]) {
            assert_eq!(short_titles(titles), short, "{titles:?}");
        }
        check(&[], &[]);
        check(&["NVIDIA H200"], &["NVIDIA H200"]);
        check(&["NVIDIA H200", "NVIDIA H100 80GB HBM3"], &["H200", "H100"]);
        check(&["NVIDIA H200", "NVIDIA H200 NVL"], &["H200", "H200 NVL"]);
        check(&["NVIDIA H200", "AMD Radeon", "AMD Instinct"], &["NVIDIA", "AMD Radeon", "AMD Instinct"]);
        check(&["NVIDIA H200 on a", "NVIDIA H200 on b"], &["a", "b"]);
        check(&["GPU", "GPU"], &["GPU", "GPU"]);
    }

    proptest::proptest! {
        #[test]
        fn different_titles_stay_different(words in proptest::collection::hash_set("[ab]( [ab]){0,3}", 1..6)) {
            let titles: Vec<&str> = words.iter().map(String::as_str).collect();
            let short = short_titles(&titles);
            let distinct: BTreeSet<&String> = short.iter().collect();
            proptest::prop_assert_eq!(distinct.len(), titles.len());
            for (title, short) in titles.iter().zip(&short) {
                proptest::prop_assert!(!short.is_empty() && title.contains(short.as_str()));
            }
        }
    }
}
