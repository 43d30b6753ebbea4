//! Portfolios: what several kernels lose together, on one device or on several.

use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::portfolio::{KernelSet, Portfolio};
use scanbox_analysis::table::Catalog;
use scanbox_model::units::size_label;

use super::{HtmlCell, HtmlColumn, Piece, Table};
use crate::analysis::text::metrics::{elsewhere_words, other_single_words, sizes_words};
use crate::analysis::text::{count, percent};
use crate::figure::{Figure, LineChart, Look, Plot, Series, XAxis, YScale};

/// A further kernel is worth shipping where it takes at least this off the mean loss, in percent of the throughput.
const WORTH: f64 = 0.5;

/// The curve and the table. `name` begins the names of their files, `title` says whose they are.
pub fn pieces(portfolio: &Portfolio, catalog: &Catalog, name: &str, title: &str) -> Vec<Piece> {
    let points = |loss: fn(&KernelSet) -> f64| {
        (1..).zip(&portfolio.sets).map(|(kernels, set)| (kernels, loss(set))).collect()
    };
    let series = vec![
        Series { name: "mean".into(), look: Look::IDEAL, points: points(|set| set.mean_loss_pct) },
        Series { name: "worst".into(), look: Look::OTHER, points: points(|set| set.worst.0) },
    ];
    let figure = Figure {
        name: format!("{name}.portfolio"),
        title: format!("What a set of kernels loses on {title}"),
        caption:
            "Loss against the best config of each size, where the fastest of the kernels runs at each size."
                .into(),
        plot: Plot::Lines(LineChart {
            x: XAxis::Counts("kernels"),
            y: "loss in %",
            scale: YScale::Linear(5.0),
            series,
        }),
    };
    let rows = portfolio.sets.iter().map(|set| {
        let kernels: Vec<String> =
            set.kernels.iter().map(|&kernel| catalog.kernel(kernel).to_string()).collect();
        vec![
            HtmlCell::text(set.kernels.len().to_string()),
            HtmlCell::text(percent(set.mean_loss_pct)),
            HtmlCell::text(percent(set.worst.0)),
            HtmlCell::text(size_label(set.worst.1)),
            HtmlCell::text(set.worst_elsewhere.map_or_else(String::new, |(loss, _)| percent(loss))),
            HtmlCell::text(not_covered(set)),
            HtmlCell::text(if set.exact { "every set" } else { "one more" }),
            HtmlCell::code(kernels.join("\n")),
        ]
    });
    let mut table = Table {
        caption: format!(
            "The best sets of kernels, of {}, {}. Losses are over {}; elsewhere: at the others. Tried: every set of that many that can be the best, or one more than the set before.",
            count(portfolio.candidates, "kernel"),
            match portfolio.normalization {
                Normalization::SizeBest => "by shares of the best of each size".to_owned(),
                Normalization::None => "by GB/s".to_owned(),
                other => format!("by throughput over {other}"),
            },
            sizes_words(portfolio)
        ),
        columns: vec![
            HtmlColumn::numbers("kernels"),
            HtmlColumn::numbers("mean loss %"),
            HtmlColumn::numbers("worst loss %"),
            HtmlColumn::words("at"),
            HtmlColumn::numbers("worst elsewhere %"),
            HtmlColumn::words("not covered"),
            HtmlColumn::words("tried"),
            HtmlColumn::words("which"),
        ],
        rows: rows.collect(),
        name: format!("{name}.portfolio-sets"),
        shown: None,
    };
    table.drop_empty_columns();
    vec![Piece::Figure(figure), Piece::Table(table)]
}

/// The sizes at which no kernel of a set is `ok`.
fn not_covered(set: &KernelSet) -> String {
    let mut sizes: Vec<String> = set.not_covered.iter().map(|&n| size_label(n)).collect();
    sizes.dedup();
    sizes.join(", ")
}

/// How many kernels are worth shipping, in words; `choice` is the best single kernel that the page names.
pub fn words(
    portfolio: &Portfolio,
    choice: Option<&Choice>,
    metric: Metric,
    catalog: &Catalog,
) -> Option<String> {
    let sets = &portfolio.sets;
    // The last kernel that is worth it, given those before it.
    let worth = (1..sets.len()).rev().find(|&index| {
        let gain = sets[index - 1].mean_loss_pct - sets[index].mean_loss_pct;
        gain >= WORTH || sets[index].uncovered < sets[index - 1].uncovered
    });
    let worth = worth.unwrap_or(0);
    let set = sets.get(worth)?;
    let kernels: Vec<String> = set.kernels.iter().map(|&kernel| catalog.kernel(kernel).to_string()).collect();
    let losses: Vec<String> = sets
        .iter()
        .map(|set| format!("{} lose {} %", set.kernels.len(), percent(set.mean_loss_pct)))
        .collect();
    let further = match sets.get(worth + 1) {
        Some(_) => format!("; a further one gains less than {WORTH} %"),
        None => String::new(),
    };
    let elsewhere = elsewhere_words(portfolio).map_or_else(String::new, |words| format!(" {words}."));
    let single = other_single_words(portfolio, choice, metric, catalog);
    let single = single.map_or_else(String::new, |words| format!(" {words}"));
    Some(format!(
        "Worth shipping: {} ({}){further}. On average over {} {}.{elsewhere}{single}",
        count(set.kernels.len(), "kernel"),
        kernels.join(", "),
        sizes_words(portfolio),
        losses.join(", ").replacen("1 lose ", "1 loses ", 1),
    ))
}
