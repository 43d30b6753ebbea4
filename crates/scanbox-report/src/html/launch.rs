//! What to launch at which size: in ranges, for people who write programs, and size by size.

use scanbox_analysis::ranges::NEAR_PPM;
use scanbox_model::units::size_label;

use super::device::DeviceView;
use super::{HtmlCell, HtmlColumn, Table};
use crate::analysis::text::{gbps, percent};
use crate::launch::{self, LaunchRange};
use crate::words::ceiling_share;

impl DeviceView<'_> {
    /// Ranges of sizes, each with a config that is nearly the best in all of it.
    pub fn launch_table(&self) -> Table {
        let ranges = launch::ranges(&self.sources.report.tables.catalog, self.device.table);
        let rows = ranges.into_iter().map(|found| {
            let loss = found.worst_loss_pct().map(percent);
            let LaunchRange { sizes, range } = found;
            vec![
                HtmlCell::text(sizes),
                HtmlCell::code(range.config.kernel.to_string()),
                HtmlCell::text(range.config.workgroup_size.to_string()),
                HtmlCell::text(launch::workgroups(&range.config)),
                HtmlCell::text(loss.unwrap_or_default()),
            ]
        });
        Table {
            caption: format!(
                "Launch this config in this range: as few configs as possible, each within {} % of the best at every measured size of its \
                 range. scanbox explain LABEL says what a label means; scanbox pack hands the kernels to a program.",
                NEAR_PPM / 10_000
            ),
            columns: vec![
                HtmlColumn::words("elements"),
                HtmlColumn::words("kernel"),
                HtmlColumn::numbers("workgroup size"),
                HtmlColumn::words("workgroups"),
                HtmlColumn::numbers("loses at most, %"),
            ],
            rows: rows.collect(),
            name: format!("{}.launch", self.sources.names[self.index]),
            shown: None,
        }
    }

    /// The ideal configuration set.
    pub fn ideal_table(&self) -> Table {
        let device = self.device;
        let catalog = &self.sources.report.tables.catalog;
        let best = self.best();
        let columns = vec![
            HtmlColumn::numbers("size"),
            HtmlColumn::numbers("GB/s"),
            HtmlColumn::numbers(ceiling_share(&device.table.problem)),
            HtmlColumn::numbers("x baseline"),
            HtmlColumn::words("best config"),
            HtmlColumn::numbers("lead %"),
            HtmlColumn::numbers("units %"),
            HtmlColumn::numbers("ties"),
            HtmlColumn::numbers("spread %"),
            HtmlColumn::numbers("one kernel GB/s"),
            HtmlColumn::numbers("loss %"),
        ];
        let rows = device.ideal.points.iter().map(|point| {
            let kernel = best.and_then(|line| line.at(point.n));
            let optional = |text: Option<String>| HtmlCell::text(text.unwrap_or_default());
            vec![
                HtmlCell::text(size_label(point.n)),
                HtmlCell::text(gbps(point.best.gbps)),
                optional(point.ceiling_pct().map(|pct| format!("{pct:.0}"))),
                optional(point.baseline_ratio().map(|ratio| format!("{ratio:.2}"))),
                HtmlCell::code(catalog.config(point.best.config).to_string()),
                optional(point.margin_pct.map(percent)),
                optional(point.unit_spread_pct.map(percent)),
                HtmlCell::text(point.ties.to_string()),
                HtmlCell::text(percent(100.0 * point.best.relative_spread())),
                optional(kernel.map(|kernel| gbps(kernel.best.gbps))),
                optional(kernel.map(|kernel| percent(kernel.loss_pct))),
            ]
        });
        let units = match &device.table.pool {
            Some(_) => "units: how far they differ in that lead, below which it is a tie; ",
            None => "",
        };
        let mut table = Table {
            caption: format!(
                "Ideal configuration set: the best config of each size. lead: over the runner-up; {units}ties: configs within \
                 noise of the best; spread: interquartile range over median; x baseline: times as fast as the fastest scan of \
                 another implementation, by scanbox's own rows of that run where it has some; one kernel: the best for all sizes, \
                 and what it loses."
            ),
            columns,
            rows: rows.collect(),
            name: format!("{}.ideal", self.sources.names[self.index]),
            shown: None,
        };
        table.drop_empty_columns();
        table
    }
}
