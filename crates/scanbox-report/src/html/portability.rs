//! How portable kernels are: as devices are added, and in numbers.

use scanbox_analysis::portability::Portability;

use super::across::AcrossView;
use super::{HtmlCell, HtmlColumn, Table};
use crate::figure::{Figure, LineChart, Look, Plot, Series, XAxis, YScale};

/// Kernels in the cascade.
const KERNELS_SHOWN: usize = 5;
/// Kernels in the table of portability.
const ROWS_SHOWN: usize = 10;

impl AcrossView<'_> {
    pub fn cascade(&self, kernels: &[Portability]) -> Figure {
        let series = kernels.iter().take(KERNELS_SHOWN).enumerate().map(|(number, kernel)| Series {
            name: format!("no. {}", number + 1),
            look: Look::of(number),
            points: (1..).zip(&kernel.cascade).map(|(count, step)| (count, step.pp)).collect(),
        });
        Figure {
            name: self.name("cascade"),
            title: "Portability cascade".into(),
            caption: "PP (harmonic mean of the efficiencies over devices and sizes; 0 where a device is not supported) as \
                devices are added, each kernel's best device first. Numbers as in the table."
                .into(),
            plot: Plot::Lines(LineChart {
                x: XAxis::Counts("devices"),
                y: "PP",
                scale: YScale::Linear(1.0),
                series: series.collect(),
            }),
        }
    }

    pub fn portability(&self, kernels: &[Portability]) -> Table {
        let mut columns = vec![
            HtmlColumn::numbers("no."),
            HtmlColumn::words("kernel"),
            HtmlColumn::numbers("PP"),
            HtmlColumn::numbers("arithmetic mean"),
        ];
        columns.extend((0..self.lines.len()).map(|device| HtmlColumn::numbers(self.title(device))));
        let dead = self.across.dead.iter().map(|&device| &self.sources.titles[device]);
        columns.extend(dead.map(HtmlColumn::numbers));
        let rows = (1..).zip(kernels).map(|(number, kernel)| {
            let mut row = vec![
                HtmlCell::text(format!("{number}")),
                HtmlCell::code(self.kernel(kernel)),
                HtmlCell::text(format!("{:.3}", kernel.pp)),
                HtmlCell::text(format!("{:.3}", kernel.mean)),
            ];
            row.extend(kernel.efficiencies.iter().map(|value| HtmlCell::text(format!("{value:.3}"))));
            row
        });
        Table {
            caption: "Portability of the kernels: efficiency per device is the harmonic mean over the sizes."
                .into(),
            columns,
            rows: rows.collect(),
            name: self.name("portability"),
            shown: Some(ROWS_SHOWN),
        }
    }
}
