//! What each metric chooses, and the best sets of kernels.

use std::io::{self, Write};

use scanbox_analysis::answers::MetricAnswer;
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::portfolio::Portfolio;
use scanbox_analysis::table::Catalog;
use scanbox_analysis::weights::Weights;
use scanbox_model::units::size_label;

use super::{Grid, GridColumn, TextPage, count, percent, score};

impl TextPage<'_> {
    /// The winner of each metric; with `--all-metrics` also what it loses, and where.
    pub(super) fn metrics(&self, answers: &[MetricAnswer], out: &mut impl Write) -> io::Result<()> {
        if answers.is_empty() {
            return Ok(());
        }
        let losses = self.report.question.all_metrics;
        let mut columns = vec![
            GridColumn::words("metric"),
            GridColumn::words("best kernel"),
            GridColumn::numbers("score").expendable(2),
        ];
        if losses {
            columns.extend(["mean loss %", "worst loss %", "at"].map(GridColumn::numbers));
        }
        let runner_up =
            [GridColumn::words("runner-up").expendable(1), GridColumn::numbers("its score").expendable(3)];
        columns.extend(runner_up);
        let mut grid = Grid::new(columns);
        for answer in answers {
            let ranking = &answer.ranking;
            let chosen = ranking.metric == self.report.question.metric;
            let mut cells = vec![
                format!("{}{}", ranking.metric, if chosen { " <" } else { "" }),
                self.kernel(ranking.winner.kernel),
                score(ranking.winner.score),
            ];
            if losses {
                cells.extend(lost(answer));
            }
            let runner_up = ranking.others.first();
            cells.extend([
                runner_up.map_or_else(String::new, |runner_up| self.kernel(runner_up.kernel)),
                runner_up.map_or_else(String::new, |runner_up| score(runner_up.score)),
            ]);
            grid.push_row(cells);
        }
        self.grid(grid, out)?;
        match &self.report.question.weights {
            Weights::Uniform => Ok(()),
            weights => self.say(&format!("Scores are weighted ({weights}); losses are not."), out),
        }
    }

    /// The best sets of kernels (A24); `choice` is the best single kernel that stands above.
    pub(super) fn portfolio(
        &self,
        portfolio: &Portfolio,
        choice: Option<&Choice>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Some(last) = portfolio.sets.last() else { return Ok(()) };
        self.gap(out)?;
        let metric = self.report.question.metric;
        let by = match portfolio.normalization {
            Normalization::None => metric.to_string(),
            normalization => format!("{metric} ({normalization})"),
        };
        let heading = format!(
            "Portfolios by {by}: the best sets of 1 to {} of {}",
            last.kernels.len(),
            count(portfolio.candidates, "kernel")
        );
        self.heading(3, &heading, out)?;
        let mut grid = Grid::new([
            GridColumn::numbers("kernels"),
            GridColumn::numbers("score").expendable(2),
            GridColumn::numbers("loss %"),
            GridColumn::numbers("worst %"),
            GridColumn::numbers("at"),
            GridColumn::words("search").expendable(1),
            GridColumn::words("which"),
        ]);
        for set in &portfolio.sets {
            let search = if set.exact { "exact" } else { "greedy" };
            let mut first = [
                set.kernels.len().to_string(),
                score(set.score),
                percent(set.mean_loss_pct),
                percent(set.worst.0),
                size_label(set.worst.1),
                search.to_owned(),
            ];
            for &kernel in &set.kernels {
                let [a, b, c, d, e, f] = std::mem::take(&mut first);
                grid.push([a, b, c, d, e, f, self.kernel(kernel)]);
            }
        }
        self.grid(grid, out)?;
        let text = format!(
            "loss: on average over {}, with the fastest of the set at each; worst: at one of them",
            sizes_words(portfolio)
        );
        self.say(&text, out)?;
        if let Some(text) = elsewhere_words(portfolio) {
            self.say(&format!("{text} (--coverage all compares over all sizes)"), out)?;
        }
        if let Some(text) = other_single_words(portfolio, choice, metric, &self.report.tables.catalog) {
            self.say(&text, out)?;
        }
        let question = self.report.question;
        let by_default = question.normalization.is_none() && question.weights == Weights::Uniform;
        if by_default && portfolio.normalization == Normalization::SizeBest {
            self.say("every size counts alike (size-best); --normalize none weighs them by GB/s", out)?;
        }
        if portfolio.undominated < portfolio.candidates {
            let text = format!("searched {} of them; the rest are never the fastest", portfolio.undominated);
            self.say(&text, out)?;
        }
        if portfolio.sets.iter().any(|set| !set.exact) {
            self.say(
                "greedy: one kernel more than the set before; there are too many sets to try each",
                out,
            )?;
        }
        for set in portfolio.sets.iter().filter(|set| set.uncovered > 0) {
            let text = format!(
                "No {} cover every compared size: the best leave {} out.",
                count(set.kernels.len(), "kernel"),
                set.uncovered
            );
            self.say(&text, out)?;
        }
        if self.report.explain {
            let text = format!(
                "How: {}, where L is the fastest kernel of the set at each size; sets that are ok at every size come \
                 first.",
                self.report.question.metric.formula()
            );
            self.say(&text, out)?;
        }
        Ok(())
    }
}

/// Over how many of all sizes the losses of sets are.
pub(crate) fn sizes_words(portfolio: &Portfolio) -> String {
    let Portfolio { compared, measured, .. } = portfolio;
    match measured {
        1 => "the one size".to_owned(),
        all if compared == all => format!("all {all} sizes"),
        all => format!("{compared} of all {all} sizes"),
    }
}

/// What the sets lose at sizes that were not compared, and which sizes they do not cover.
pub(crate) fn elsewhere_words(portfolio: &Portfolio) -> Option<String> {
    let others = portfolio.measured - portfolio.compared;
    let words = portfolio.sets.iter().map(|set| {
        let worst = set
            .worst_elsewhere
            .map(|(loss, n)| format!("{} % at worst (at {})", percent(loss), size_label(n)));
        let mut sizes: Vec<String> = set.not_covered.iter().map(|&n| size_label(n)).collect();
        sizes.dedup();
        let missing = (!sizes.is_empty()).then(|| format!("no ok row at {}", sizes.join(", ")));
        let words: Vec<String> = worst.into_iter().chain(missing).collect();
        (set.kernels.len(), words.join(" and "))
    });
    // Sets that say the same are named together.
    let words: Vec<(usize, String)> = words.collect();
    let alike = words.chunk_by(|one, other| one.1 == other.1);
    let words: Vec<String> = alike
        .map(|alike| match alike {
            [.., last] if alike.len() > 1 => format!("{} to {} kernels: {}", alike[0].0, last.0, last.1),
            _ => format!("{}: {}", count(alike[0].0, "kernel"), alike[0].1),
        })
        .collect();
    (others > 0).then(|| format!("Loss at the other {}: {}", count(others, "size"), words.join("; ")))
}

/// Why a set of one is not the best single kernel, where it is not.
pub(crate) fn other_single_words(
    portfolio: &Portfolio,
    choice: Option<&Choice>,
    metric: Metric,
    catalog: &Catalog,
) -> Option<String> {
    let ranking = &choice?.ranking;
    let (winner, alone) = (ranking.winner.kernel, *portfolio.sets.first()?.kernels.first()?);
    let by = |normalization: Normalization| match normalization {
        Normalization::None => "GB/s, in which fast sizes count most".to_owned(),
        Normalization::SizeBest => "shares of the best of each size".to_owned(),
        other => format!("throughput over {other}"),
    };
    (winner != alone && ranking.normalization != portfolio.normalization).then(|| {
        format!(
            "The set of one is another kernel than the best one ({}): here {metric} weighs {}, there {}. Neither is chosen \
             by its mean loss.",
            catalog.kernel(winner),
            by(portfolio.normalization),
            by(ranking.normalization),
        )
    })
}

/// What the winner loses on average and at worst, over all devices, and at which size that is.
fn lost(answer: &MetricAnswer) -> [String; 3] {
    let worst = answer.worst();
    [
        answer.mean_loss_pct().map_or_else(String::new, percent),
        worst.map_or_else(String::new, |point| percent(point.loss_pct)),
        worst.map_or_else(String::new, |point| size_label(point.n)),
    ]
}
