//! What ends an answer about several devices: what they have in common where that is little, and each in one line.

use std::collections::BTreeSet;
use std::io::{self, Write};

use scanbox_analysis::answers::{AcrossAnswer, DeviceAnswer};
use scanbox_analysis::transfer::Transfer;

use super::{TextPage, count, losses};
use crate::words::title;

/// Devices that have configs in common, directly or by way of others: groups of two and more, by position.
fn groups_in_common(devices: usize, transfers: &[Transfer]) -> Vec<Vec<usize>> {
    let mut group_of: Vec<usize> = (0..devices).collect();
    for transfer in transfers.iter().filter(|transfer| !transfer.points.is_empty()) {
        let (kept, joined) = (group_of[transfer.from], group_of[transfer.to]);
        for group in &mut group_of {
            if *group == joined {
                *group = kept;
            }
        }
    }
    let names: BTreeSet<usize> = group_of.iter().copied().collect();
    let members = |name: usize| (0..devices).filter(|&device| group_of[device] == name).collect();
    let mut groups: Vec<Vec<usize>> = names.into_iter().map(members).collect();
    groups.retain(|group| group.len() > 1);
    groups.sort();
    groups
}

impl TextPage<'_> {
    /// Why there is no portable kernel, and which files have one.
    pub(super) fn no_portable_kernel(
        &self,
        across: &AcrossAnswer,
        devices: &[&DeviceAnswer<'_>],
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.say("No portable kernel: no kernel is ok on every device at the sizes that are compared (--coverage).", out)?;
        let groups = groups_in_common(devices.len(), &across.transfers);
        if groups.iter().any(|group| group.len() == devices.len()) {
            return Ok(());
        }
        for group in groups {
            let numbers: Vec<String> = group.iter().map(|device| (device + 1).to_string()).collect();
            let files: BTreeSet<&str> =
                group.iter().flat_map(|&device| &devices[device].table.files).map(String::as_str).collect();
            let files = files.into_iter().collect::<Vec<_>>().join(" ");
            let text = format!(
                "Devices {} have configs in common: `scanbox analyze {files}` compares them.",
                numbers.join(", ")
            );
            self.say(&text, out)?;
        }
        Ok(())
    }

    /// Each device in one sentence: where there are several, their answers are far above.
    pub(super) fn in_short(&self, out: &mut impl Write) -> io::Result<()> {
        let devices = &self.report.answers.devices;
        if devices.len() < 2 {
            return Ok(());
        }
        self.gap(out)?;
        self.heading(2, "In short", out)?;
        for device in devices {
            let sizes = count(device.ideal.points.len(), "size");
            let choice = device.choice.as_ref();
            let kernel = choice.and_then(|choice| Some((choice, choice.lines.first()?))).map_or_else(
                || "no best kernel".to_owned(),
                |(choice, line)| {
                    format!("best kernel {}; {}", self.kernel(choice.ranking.winner.kernel), losses(line))
                },
            );
            self.say(&format!("{}: {sizes}; {kernel}", title(device)), out)?;
        }
        Ok(())
    }
}
