//! What to launch: at the sizes that were asked for, and in ranges of sizes.

use std::io::{self, Write};

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::between::at_size;
use scanbox_analysis::identity::DeviceIdentity;
use scanbox_analysis::ranges::NEAR_PPM;
use scanbox_analysis::table::DeviceTable;
use scanbox_model::api::Api;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::units::size_label;

use super::{TextPage, percent};
use crate::grid::{Grid, GridColumn};
use crate::launch::{self, label, workgroups_at};
use crate::paste::line;
use crate::words::title;

/// The command that measures what the rows are about at other sizes.
fn measuring(table: &DeviceTable, sizes: &str) -> String {
    let DeviceIdentity { name, api: DeviceApi { api, .. }, .. } = &table.device;
    let mut words = vec!["scanbox".to_owned(), "sweep".to_owned(), "--device".to_owned(), name.clone()];
    if *api != Api::default() {
        words.extend(["--api".to_owned(), api.to_string()]);
    }
    words.extend(["--sizes".to_owned(), sizes.to_owned()]);
    words.extend(table.problem.flags());
    line(words.iter().map(String::as_str))
}

impl TextPage<'_> {
    /// What to launch at the sizes of `--at`.
    pub(super) fn at_sizes(&self, device: &DeviceAnswer<'_>, out: &mut impl Write) -> io::Result<()> {
        let catalog = &self.report.tables.catalog;
        let found: Vec<_> =
            self.report.at.iter().filter_map(|&n| at_size(catalog, device.table, n)).collect();
        if found.is_empty() {
            return Ok(());
        }
        self.gap(out)?;
        let heading = match self.report.answers.devices.len() {
            1 => "Launch at the sizes of --at".to_owned(),
            _ => format!("Launch at the sizes of --at: {}", title(device)),
        };
        self.heading(3, &heading, out)?;
        let mut grid = Grid::new([
            GridColumn::numbers("elements"),
            GridColumn::words("config"),
            GridColumn::numbers("workgroups"),
            GridColumn::numbers("us"),
            GridColumn::numbers("loss %"),
            GridColumn::words("measured at"),
        ]);
        for at in &found {
            let measured: Vec<String> = at.measured.iter().map(|&n| size_label(n)).collect();
            grid.push([
                at.n.to_string(),
                label(&at.config),
                workgroups_at(at),
                at.time_ns.map_or_else(String::new, |ns| microseconds(ns / 1e3)),
                at.worst_loss_pct.map_or_else(String::new, percent),
                measured.join(", "),
            ]);
        }
        self.grid(grid, out)?;
        self.say(
            "us: between two measured sizes, on the straight line between their times; beyond all of them it is not known; \
             loss: the most that the config loses at these measured sizes",
            out,
        )?;
        for at in found.iter().filter(|at| at.worst_loss_pct.is_none()) {
            let above = at.n.checked_next_power_of_two().unwrap_or(at.n);
            let around = [above / 2, above].map(size_label).join("..");
            self.say(
                &format!(
                    "{}: no config was measured on both sides of it, so this is a guess; `{}` measures there",
                    at.n,
                    measuring(device.table, &around)
                ),
                out,
            )?;
        }
        Ok(())
    }

    /// Which config to launch in which range.
    pub(super) fn ranges(&self, device: &DeviceAnswer<'_>, out: &mut impl Write) -> io::Result<()> {
        let ranges = launch::ranges(&self.report.tables.catalog, device.table);
        if ranges.is_empty() {
            return Ok(());
        }
        self.gap(out)?;
        let heading = format!("Launch in ranges: at most {} % slower at measured sizes", NEAR_PPM / 10_000);
        self.heading(3, &heading, out)?;
        let mut grid = Grid::new([
            GridColumn::words("elements"),
            GridColumn::words("config"),
            // Without them nobody can launch it: rather no loss, or a label in two lines.
            GridColumn::words("workgroups"),
            GridColumn::numbers("loss %").expendable(1),
        ]);
        for found in ranges {
            grid.push([
                found.sizes.clone(),
                label(&found.range.config),
                launch::workgroups(&found.range.config),
                found.worst_loss_pct().map_or_else(String::new, percent),
            ]);
        }
        self.grid(grid, out)
    }
}

fn microseconds(us: f64) -> String {
    match us {
        100.0.. => format!("{us:.0}"),
        10.0.. => format!("{us:.1}"),
        _ => format!("{us:.2}"),
    }
}
