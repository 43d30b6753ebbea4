//! Statements in words: each is computed from the answers.

use scanbox_analysis::density::Density;
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::trends::Trend;
use scanbox_model::units::size_label;

use super::portfolio;
use super::{Sources, value_name};
use crate::analysis::text::{count, percent};

/// Losses above this are named by size, in percent.
const NOTABLE_LOSS: f64 = 5.0;
/// A parameter whose best constant loses less than this on average needs no other value anywhere, in percent.
const CONSTANT_ENOUGH: f64 = 1.0;
/// A parameter whose wrong value never costs more than this hardly matters, in percent.
const HARDLY: f64 = 3.0;

/// What single kernels and sets of them lose on a device that has rows.
pub fn kernels(sources: &Sources<'_>, index: usize) -> Vec<String> {
    let device = &sources.report.answers.devices[index];
    let catalog = &sources.report.tables.catalog;
    let mut says = Vec::new();
    match device.choice.as_ref().and_then(|choice| Some((choice, choice.lines.first()?))) {
        Some((choice, line)) => {
            let kernel = catalog.kernel(line.kernel);
            let notable = line.points.iter().map(|point| (point.n, point.loss_pct > NOTABLE_LOSS));
            let where_ = match ranges(notable) {
                ranges if ranges.is_empty() => format!("nowhere more than {NOTABLE_LOSS} %"),
                ranges => format!("more than {NOTABLE_LOSS} % {ranges}"),
            };
            if let (Some(mean), Some(worst)) = (line.mean_loss_pct(), line.worst()) {
                says.push(format!(
                    "The best single kernel by {} over {} is {kernel}: it loses {} % on average, {} % at worst (at {}), \
                     {where_}.",
                    choice.ranking.metric,
                    compared_sizes(&device.eligibility),
                    percent(mean),
                    percent(worst.loss_pct),
                    size_label(worst.n),
                ));
            }
        }
        None => says
            .push("No single kernel can be chosen: no kernel is ok at every size of the comparison.".into()),
    }
    let metric = sources.report.question.metric;
    let portfolio = device.portfolio.as_ref();
    says.extend(
        portfolio.and_then(|portfolio| portfolio::words(portfolio, device.choice.as_ref(), metric, catalog)),
    );
    says
}

/// What pinning a parameter costs.
pub struct PinningCost {
    /// The parameter.
    pub parameter: &'static str,
    /// What the wrong value costs at worst, in percent, and where.
    pub stakes: (f64, u64),
    /// The value that loses least: the value, its mean and worst loss in percent, and where that is. `None`: no value
    /// has a config at every one of the sizes that are compared.
    pub constant: Option<(String, f64, f64, u64)>,
    /// Whether another value has a config at every one of them, too.
    pub has_rival: bool,
}

impl PinningCost {
    /// Whether the parameter has to follow the size.
    pub fn follows_size(&self) -> bool {
        self.constant.as_ref().is_some_and(|constant| constant.1 >= CONSTANT_ENOUGH)
    }
}

/// What pinning each parameter costs at these sizes, the one first whose best constant costs most. A value without a
/// config at a size that is in no comparison is as good as any other.
pub fn verdicts(trends: &[Trend], sizes: &[u64]) -> Vec<PinningCost> {
    let verdict = |trend: &Trend| {
        let stakes = sizes.iter().filter_map(|&n| Some((trend.stakes_pct(n)?, n)));
        let constant = trend.constant(sizes);
        Some(PinningCost {
            parameter: trend.parameter,
            stakes: stakes.reduce(|most, next| if next.0 > most.0 { next } else { most })?,
            has_rival: constant.is_some_and(|constant| constant.rivals > 0),
            constant: constant.map(|found| {
                let value = value_name(&found.value.to_string());
                (value, found.mean_loss_pct, found.worst_loss_pct, found.worst_at)
            }),
        })
    };
    let mut verdicts: Vec<PinningCost> = trends.iter().filter_map(verdict).collect();
    let cost =
        |verdict: &PinningCost| verdict.constant.as_ref().map_or(f64::NEG_INFINITY, |constant| constant.1);
    verdicts.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then(b.stakes.0.total_cmp(&a.stakes.0)));
    verdicts
}

/// Which parameters matter: those that have to follow the size, those that need the right value, and the rest.
pub fn parameters(trends: &[Trend], sizes: &[u64]) -> Vec<String> {
    let (verdicts, without_rival): (Vec<PinningCost>, Vec<PinningCost>) = verdicts(trends, sizes)
        .into_iter()
        .partition(|verdict| verdict.has_rival || verdict.constant.is_none());
    let mut says = Vec::new();
    let follow: Vec<String> = verdicts
        .iter()
        .filter(|verdict| verdict.follows_size())
        .filter_map(|verdict| {
            let (value, mean, ..) = verdict.constant.as_ref()?;
            Some(format!(
                "{} ({value} everywhere would lose {} % on average)",
                verdict.parameter,
                percent(*mean)
            ))
        })
        .collect();
    if !follow.is_empty() {
        says.push(format!("Must change with the size: {}.", listed(&follow)));
    }
    let (matter, hardly): (Vec<&PinningCost>, Vec<&PinningCost>) = verdicts
        .iter()
        .filter(|verdict| !verdict.follows_size() && verdict.constant.is_some())
        .partition(|verdict| verdict.stakes.0 >= HARDLY);
    let matter: Vec<String> = matter
        .into_iter()
        .filter_map(|verdict| {
            let (value, ..) = verdict.constant.as_ref()?;
            let (stakes, at) = (percent(verdict.stakes.0), size_label(verdict.stakes.1));
            Some(format!("{} {value} (otherwise up to {stakes} % are lost, at {at})", verdict.parameter))
        })
        .collect();
    if !matter.is_empty() {
        says.push(format!("Can stay the same at every size: {}.", listed(&matter)));
    }
    if !hardly.is_empty() {
        let names: Vec<String> = hardly.iter().map(|verdict| verdict.parameter.to_owned()).collect();
        says.push(format!("Hardly matter, by less than {HARDLY} % at any size: {}.", listed(&names)));
    }
    let lonely: Vec<String> = without_rival
        .iter()
        .filter_map(|verdict| Some(format!("{} {}", verdict.parameter, verdict.constant.as_ref()?.0)))
        .collect();
    if !lonely.is_empty() {
        says.push(format!(
            "Not judged, because no other value has a config at every one of these sizes: {}.",
            listed(&lonely)
        ));
    }
    says
}

/// `a, b and c`.
fn listed(words: &[String]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// How good the configs of a size are that are not the best.
pub fn density_words(densities: &[Density]) -> Option<String> {
    let by_share = |a: &&Density, b: &&Density| a.near_best.total_cmp(&b.near_best);
    let (fewest, most) = (densities.iter().min_by(by_share)?, densities.iter().max_by(by_share)?);
    let medians: Vec<f64> =
        densities.iter().map(|density| 100.0 * density.median_gbps / density.best_gbps).collect();
    let low = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let high = medians.iter().copied().fold(0.0, f64::max);
    Some(format!(
        "Between {:.1} % (at {}) and {:.1} % (at {}) of the configs of a size come within 5 % of the best; the median config \
         reaches {low:.0} to {high:.0} % of it.",
        100.0 * fewest.near_best,
        size_label(fewest.n),
        100.0 * most.near_best,
        size_label(most.n),
    ))
}

/// The sizes of a comparison.
pub fn compared_sizes(eligibility: &Eligibility) -> String {
    sizes_in_words(&eligibility.sizes)
}

/// Sizes, ascending.
pub fn sizes_in_words(sizes: &[u64]) -> String {
    let words = count(sizes.len(), "size");
    match (sizes.first(), sizes.last()) {
        (Some(first), Some(last)) if first != last => {
            format!("{words} from {} to {}", size_label(*first), size_label(*last))
        }
        _ => words,
    }
}

/// Where something holds, of sizes in ascending order: `from 2^15 to 2^19 and at 2^22`.
fn ranges(sizes: impl Iterator<Item = (u64, bool)>) -> String {
    let sizes: Vec<(u64, bool)> = sizes.collect();
    let runs = sizes.chunk_by(|a, b| a.1 == b.1).filter(|run| run[0].1);
    let words: Vec<String> = runs
        .map(|run| match run {
            [one] => format!("at {}", size_label(one.0)),
            [first, .., last] => format!("from {} to {}", size_label(first.0), size_label(last.0)),
            [] => String::new(),
        })
        .collect();
    listed(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_words() {
        let check = |held: &[bool], expected: &str| {
            let sizes = held.iter().enumerate().map(|(index, &held)| (1024 << index, held));
            assert_eq!(ranges(sizes), expected);
        };
        check(&[], "");
        check(&[false, false], "");
        check(&[true], "at 2^10");
        check(&[true, true, true], "from 2^10 to 2^12");
        check(&[true, false, true, true], "at 2^10 and from 2^12 to 2^13");
        check(&[true, false, true, false, true], "at 2^10, at 2^12 and at 2^14");
    }
}
