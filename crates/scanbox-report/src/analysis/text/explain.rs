//! `--explain`: for each answer the formula, the rows behind it, and the runner-up.

use std::io::{self, Write};

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::bandwidth::BandwidthOrigin;
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::portable::{Choice, Term};
use scanbox_analysis::shared::SharedSet;
use scanbox_analysis::table::Cell;
use scanbox_model::units::size_label;

use super::{Grid, GridColumn, TextPage, clock_word, count, score};

impl TextPage<'_> {
    /// The rows of the best configs and of their runners-up.
    pub(super) fn explain_ideal(&self, device: &DeviceAnswer<'_>, out: &mut impl Write) -> io::Result<()> {
        let text = format!(
            "How: at each size the ok row with the highest x = bytes_moved / {}_ns_median; where the fastest was \
             measured again by sweep --confirm, the row with the smallest confirmed_ns. Two rows tie where the \
             intervals median +- 1.57 (q3 - q1) / sqrt(samples) of their times overlap.",
            clock_word(self.report.clock)
        );
        self.say(&text, out)?;
        let mut grid = Grid::new([
            GridColumn::numbers("size"),
            GridColumn::words(""),
            GridColumn::words("config"),
            GridColumn::numbers("ns"),
            GridColumn::numbers("q1").expendable(2),
            GridColumn::numbers("q3").expendable(2),
            GridColumn::numbers("samples").expendable(1),
            // Where there is one, it decides.
            GridColumn::numbers("confirmed").unless_empty(),
            GridColumn::numbers("registers").expendable(3),
            GridColumn::numbers("subgroups_per_simd").expendable(4),
            GridColumn::numbers("workgroups_held").expendable(5),
        ]);
        let told = |count: u16| if count == 0 { String::new() } else { count.to_string() };
        let mut push = |n: String, place: &str, cell: &Cell| {
            grid.push([
                n,
                place.to_owned(),
                self.config(cell.config),
                cell.median_ns.to_string(),
                cell.q1_ns.to_string(),
                cell.q3_ns.to_string(),
                cell.samples.to_string(),
                cell.confirmed_ns.map_or_else(String::new, |ns| ns.to_string()),
                told(cell.occupancy.registers),
                told(cell.occupancy.subgroups_per_simd.into()),
                told(cell.occupancy.workgroups_held.into()),
            ]);
        };
        for point in &device.ideal.points {
            push(size_label(point.n), "1", &point.best);
            if let Some(runner_up) = &point.runner_up {
                push(String::new(), "2", runner_up);
            }
        }
        self.grid(grid, out)?;
        if let Some(utilization) = &device.utilization {
            let ceiling = device.table.problem.ceiling();
            let origin = match utilization.bandwidth.origin {
                BandwidthOrigin::Given => "of --peak-gbps".to_owned(),
                BandwidthOrigin::Ceiling { .. } => format!("of the {ceiling} in the metadata"),
            };
            let text = format!(
                "How: 100 I / B with B = {:.1} GB/s {origin}; a size is cached where I > B. `{ceiling} %` is against the \
                 {ceiling} of its own size.",
                utilization.bandwidth.gbps
            );
            self.say(&text, out)?;
        }
        if device.baseline.is_some() {
            let text = "How: the fastest row of scanbox over the fastest one with selection baseline, both on hot buffers \
                        in one run; I where that run has no row of scanbox; averages are geometric.";
            self.say(text, out)?;
        }
        Ok(())
    }

    /// What the scores of the chosen kernel and of its runner-up are made of.
    pub(super) fn explain_choice(
        &self,
        choice: &Choice,
        eligibility: &Eligibility,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let ranking = &choice.ranking;
        let normalization = ranking.normalization;
        let text = format!(
            "How: {}, over {}; L is the best config of the kernel at a size, I the best of all, each as {}.",
            ranking.metric.formula(),
            count(eligibility.sizes.len(), "size"),
            normalization.formula(),
        );
        self.say(&text, out)?;
        let runner_up = ranking.others.first();
        let names = runner_up.map_or_else(
            || format!("1: {}", self.kernel(ranking.winner.kernel)),
            |other| format!("1: {}, 2: {}", self.kernel(ranking.winner.kernel), self.kernel(other.kernel)),
        );
        self.say(&names, out)?;
        let several = choice.terms.iter().any(|term| term.device > 0);
        let mut grid = Grid::new([
            GridColumn::numbers("device").expendable(1),
            GridColumn::numbers("size"),
            GridColumn::numbers("w").expendable(3),
            GridColumn::numbers("I"),
            GridColumn::numbers("L 1"),
            GridColumn::numbers("term 1").expendable(2),
            GridColumn::numbers("L 2").expendable(2),
            GridColumn::numbers("term 2").expendable(2),
        ]);
        let value = |x: f64| match normalization {
            Normalization::None => format!("{x:.1}"),
            _ => format!("{x:.4}"),
        };
        for term in &choice.terms {
            grid.push([
                if several { (term.device + 1).to_string() } else { String::new() },
                size_label(term.n),
                if term.weight == 1.0 { String::new() } else { score(term.weight) },
                value(term.ideal),
                value(term.winner),
                part(ranking.metric, term, term.winner),
                term.runner_up.map_or_else(String::new, value),
                term.runner_up.map_or_else(String::new, |x| part(ranking.metric, term, x)),
            ]);
        }
        self.grid(grid, out)?;
        let total = runner_up.map_or_else(String::new, |other| format!(", 2: {}", score(other.score)));
        self.say(&format!("Score 1: {}{total}.", score(ranking.winner.score)), out)
    }

    /// The scores of the shared configs and of their runners-up.
    pub(super) fn explain_shared(&self, shared: &SharedSet, out: &mut impl Write) -> io::Result<()> {
        let text = format!(
            "How: at each size, of the configs that are ok on every device, the {}; I is the best of all configs of a \
             device, each as {}.",
            shared.metric.formula(),
            shared.normalization.formula()
        );
        self.say(&text, out)?;
        let mut grid = Grid::new([
            GridColumn::numbers("size"),
            GridColumn::numbers("score"),
            GridColumn::words("runner-up"),
            GridColumn::numbers("its score"),
        ]);
        for point in &shared.points {
            grid.push([
                size_label(point.n),
                score(point.score),
                point.runner_up.map_or_else(String::new, |(config, _)| self.config(config)),
                point.runner_up.map_or_else(String::new, |(_, other)| score(other)),
            ]);
        }
        self.grid(grid, out)
    }
}

/// What one size adds to a score; empty where the score is no sum and no maximum of such parts.
fn part(metric: Metric, term: &Term, x: f64) -> String {
    match metric {
        Metric::Cosine => String::new(),
        _ => score(metric.score(&[term.ideal], &[x], &[term.weight])),
    }
}
