//! What `scanbox` alone says: what is on this machine, and what to do next.

use std::io::{self, Write};
use std::path::PathBuf;

use scanbox_model::api::Api;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::metadata::Metadata;
use scanbox_model::units::plural;
use scanbox_runner::select::Listed;

use crate::document::{Document, Format};
use crate::paste;
use crate::terminal::fold;

/// Files of rows that are named.
const FILES_SHOWN: usize = 6;

/// What names of published sweeps begin with.
pub const PUBLISHED: &str = "published.";

/// What is on a machine.
pub struct Overview {
    /// Its devices by index, or why there are none.
    pub devices: Result<Vec<Listed>, String>,
    /// Files of rows in the folders that were looked at, the newest first.
    pub files: Vec<FoundFile>,
    /// The folders that were looked at, in words.
    pub places: String,
}

/// A file of rows.
pub struct FoundFile {
    /// The CSV.
    pub path: PathBuf,
    /// What stands beside it.
    pub metadata: Metadata,
}

impl FoundFile {
    /// Points without a row, by the last run that said so.
    fn left(&self) -> u64 {
        let outcome = self.metadata.runs.iter().rev().find_map(|run| run.outcome.as_ref());
        outcome.map_or(0, |outcome| outcome.points_left)
    }

    /// Whether it came with the sources of scanbox, and nobody here has measured it.
    fn is_published(&self) -> bool {
        self.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PUBLISHED))
    }

    /// Whether its device is one of these.
    fn is_of(&self, devices: &[Listed]) -> bool {
        let own = |device: &DeviceProfile| (device.name.clone(), device.uuid.clone(), device.device_api());
        devices.iter().any(|listed| own(&listed.profile) == own(&self.metadata.device))
    }

    fn words(&self) -> String {
        let metadata = &self.metadata;
        let rows: u64 = metadata.counts.values().sum();
        let what = match metadata.is_of_benchmark() {
            true => "a benchmark".to_owned(),
            false => format!("space {}", metadata.space.name),
        };
        let left = match self.left() {
            0 => String::new(),
            left => format!(", {} left", plural(left as usize, "point")),
        };
        let published = if self.is_published() { ", published with scanbox" } else { "" };
        format!("{}, {what}, {}{left}{published}", metadata.device.title(), plural(rows as usize, "row"))
    }
}

impl Overview {
    /// The device that a first sweep would take, and its index.
    pub fn first_device(&self) -> Option<(usize, &DeviceProfile)> {
        let devices = self.devices.as_ref().ok()?;
        let (index, listed) = devices.iter().enumerate().find(|(_, listed)| listed.is_usable())?;
        Some((index, &listed.profile))
    }

    /// What to do next: a command, and what it does.
    fn next(&self) -> Vec<(Vec<String>, String)> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let Some((index, device)) = self.first_device() else {
            return vec![(words(&["doctor"]), "says what is missing, and how to get it".to_owned())];
        };
        let hardware = device.kind == DeviceKind::Hardware;
        let mut next = Vec::new();
        // What another machine has measured says nothing of this one.
        let here = self.devices.as_deref().unwrap_or_default();
        let mut sweeps = self
            .files
            .iter()
            .filter(|file| !file.metadata.is_of_benchmark() && !file.is_published() && file.is_of(here));
        if let Some(file) = sweeps.find(|file| file.left() == 0) {
            let path = file.path.to_string_lossy();
            let what = "the best kernel of that sweep, and what it loses at each size";
            next.push((words(&["analyze", &path, "--metric", "squared"]), what.to_owned()));
        }
        let index = index.to_string();
        let (mut sweep, mut what) =
            (words(&["sweep", "--device", &index]), "measures every config of the thesis: minutes on a GPU");
        // An index is one of the devices of its API.
        if device.api != Api::default() {
            sweep.splice(1..1, words(&["--api", device.api.word()]));
        }
        if device.robustness == Some(false) {
            sweep.extend(words(&["--robustness", "off"]));
        }
        if !hardware {
            sweep.extend(words(&["--space", "quick"]));
            what = "measures a small space: there is no GPU, and a software device is slow";
        }
        next.push((sweep, what.to_owned()));
        next
    }
}

impl Document for Overview {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        if format != Format::Table {
            return format.missing("what is on a machine");
        }
        writeln!(out, "scanbox {}\n", env!("CARGO_PKG_VERSION"))?;
        let mut head = "devices    ".to_owned();
        let say = |head: &mut String, text: &str, out: &mut dyn Write| {
            writeln!(out, "{}", fold(head, text, 15, width))?;
            *head = " ".repeat(11);
            io::Result::Ok(())
        };
        match &self.devices {
            Ok(devices) => {
                for (index, Listed { profile, problems }) in devices.iter().enumerate() {
                    let cannot = match problems.is_empty() {
                        true => String::new(),
                        false => format!("; cannot be used: it {}", problems.join(", ")),
                    };
                    say(
                        &mut head,
                        &format!("{index}  {}, {}{cannot}", profile.title(), profile.driver),
                        out,
                    )?;
                }
            }
            Err(why) => say(&mut head, &format!("none: {why}"), out)?,
        }
        head = "results    ".to_owned();
        for file in self.files.iter().take(FILES_SHOWN) {
            say(&mut head, &format!("{}: {}", paste::path(&file.path), file.words()), out)?;
        }
        match self.files.len() {
            0 => say(&mut head, &format!("none in {}", self.places), out)?,
            count if count > FILES_SHOWN => {
                say(&mut head, &format!("and {} more", count - FILES_SHOWN), out)?;
            }
            _ => {}
        }
        writeln!(out)?;
        let program = paste::program();
        for (place, (words, what)) in self.next().into_iter().enumerate() {
            let words = [program.as_str()].into_iter().chain(words.iter().map(String::as_str));
            let head = if place == 0 { "next       " } else { "or         " };
            writeln!(out, "{head}{}", paste::line(words))?;
            writeln!(out, "{}", fold("           ", &what, 11, width))?;
        }
        let more =
            format!("{program} --help lists the commands; {program} explain WORD says what a word means");
        writeln!(out, "{}", fold("more       ", &more, 11, width))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn published(name: &str) -> Metadata {
        let path = format!("{}/../../results/published.{name}.meta.json", env!("CARGO_MANIFEST_DIR"));
        Metadata::read(Path::new(&path)).expect("it is published")
    }

    /// What is next, by the word of its command, with these files on a machine that has this device.
    fn next(device: &str, files: &[(&str, &str)]) -> Vec<String> {
        let listed = Listed { profile: published(device).device, problems: Vec::new() };
        let found = |&(path, of): &(&str, &str)| FoundFile { path: path.into(), metadata: published(of) };
        let files = files.iter().map(found).collect();
        let overview = Overview { devices: Ok(vec![listed]), files, places: String::new() };
        overview.next().into_iter().map(|(words, _)| words[..2].join(" ")).collect()
    }

    #[test]
    fn rows_of_other_machines_are_no_next_step() {
        let (h200, lavapipe) = ("nvidia-h200.thesis", "llvmpipe.quick");
        let check = |files: &[(&str, &str)], expected: &[&str]| assert_eq!(next(h200, files), expected);
        check(&[], &["sweep --device"]);
        check(&[("results/published.nvidia-h200.thesis.csv", h200)], &["sweep --device"]);
        check(&[("mine/llvmpipe.quick.csv", lavapipe)], &["sweep --device"]);
        let own = ("mine/nvidia-h200.thesis.csv", h200);
        check(&[own], &["analyze mine/nvidia-h200.thesis.csv", "sweep --device"]);
        let others =
            [("results/published.nvidia-h200.full.csv", "nvidia-h200.full"), ("x.csv", lavapipe), own];
        check(&others, &["analyze mine/nvidia-h200.thesis.csv", "sweep --device"]);
    }
}
