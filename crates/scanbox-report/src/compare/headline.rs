//! The verdict in one line: what is slower, broken or gone, or why nothing can be said.

use scanbox_analysis::compare::{
    CompareQuestion, Comparison, ConfigChange, DRIFT_LIMIT, LineChange, Outcome, Verdict,
};
use scanbox_analysis::pairs::{Failed, RowsOf, SingleRole};
use scanbox_model::config::Parameter;
use scanbox_model::record::Status;
use scanbox_model::units::size_label;

use super::{line_name, signed, slower_or_faster, threshold};

/// So many sizes are named one by one.
const SIZES_NAMED: usize = 6;

/// Something that makes a regression.
struct Guilt {
    n: u64,
    /// `None`: nothing is left.
    change: Option<f64>,
    /// Who, in words.
    who: String,
}

/// The verdict in one line; with a regression the size and the config that it is about.
pub fn headline(comparison: &Comparison, question: &CompareQuestion) -> String {
    match comparison.outcome {
        Outcome::Regression => regression(comparison),
        Outcome::NoRegression => no_regression(comparison, question),
        Outcome::Inconclusive => inconclusive(comparison),
    }
}

fn regression(comparison: &Comparison) -> String {
    let broken = comparison.broken();
    // A line that lost everything is more than the configs that it lost.
    let whole_line = comparison.deciding().find(|(_, change)| change.lost_configs > 0);
    if let Some((is_ideal, change)) = whole_line {
        return format!(
            "SLOWER: at {} none of {} configs works any more, {} ({})",
            size_label(change.n),
            change.lost_configs,
            line_name(is_ideal),
            change.base.config
        );
    }
    if !broken.is_empty() {
        return broken_headline(&broken);
    }
    let mut failed = comparison.failed.iter().filter(|failed| failed.is_regression());
    if let Some(first) = failed.next() {
        return failed_headline(first, failed.count());
    }
    let guilty = guilty(comparison);
    let device = comparison.device.is_slower().then(|| device_headline(comparison));
    let Some(worst) = guilty.first() else { return device.unwrap_or_else(|| "SLOWER".to_owned()) };
    // A size is one however many of its verdicts say so.
    let mut others: Vec<u64> = guilty.iter().map(|guilt| guilt.n).filter(|&n| n != worst.n).collect();
    others.sort_unstable();
    others.dedup();
    let others = match others.as_slice() {
        [] => String::new(),
        [n] => format!("; also at {}", size_label(*n)),
        [first, .., last] => {
            let (first, last) = (size_label(*first), size_label(*last));
            format!("; also at {} other sizes from {first} to {last}", others.len())
        }
    };
    let change = worst.change.map_or_else(|| "lost".to_owned(), |change| format!("{} %", signed(change)));
    let device = device.map_or_else(String::new, |_| "; the device is slower, too".to_owned());
    format!("SLOWER: {change} at {}, {}{others}{device}", size_label(worst.n), worst.who)
}

/// What makes a regression, the worst first; of one size all its rows before single ones.
fn guilty(comparison: &Comparison) -> Vec<Guilt> {
    let mut guilty: Vec<Guilt> = Vec::new();
    let lines = comparison.guilty().into_iter();
    let is_paired = comparison.is_paired;
    // By pairs a line is a config that decides alone.
    let lines = lines.filter(|(_, change)| !is_paired || change.gone.is_some());
    guilty.extend(lines.map(|(is_ideal, change)| Guilt {
        n: change.n,
        change: change.change,
        who: line_words(is_ideal, change),
    }));
    let judgement = &comparison.judgement;
    let best_now = |n: u64| {
        let line = comparison.ideal.iter().find(|change| change.n == n);
        let new = line.and_then(|change| change.new.as_ref().map(|new| new.config.clone()));
        new.or_else(|| line.map(|change| change.base.config.clone())).unwrap_or_default()
    };
    for group in judgement.groups.iter().filter(|group| group.verdict == Verdict::Slower) {
        let who = match group.group {
            RowsOf::All => format!("the median of {} rows; the best is {}", group.rows, best_now(group.n)),
            RowsOf::Family(family) => format!("the median of {} {} rows", group.rows, family.word()),
        };
        guilty.push(Guilt { n: group.n, change: Some(group.change), who });
    }
    for single in judgement.singles.iter().filter(|single| single.verdict == Verdict::Slower) {
        let role = match single.role {
            SingleRole::Shipped => "winner of the base",
            SingleRole::Kernel => "best of the watched kernel",
        };
        guilty.push(Guilt { n: single.n, change: single.change, who: format!("{role} ({})", single.config) });
    }
    guilty.sort_by(|a, b| {
        let loss = |guilt: &Guilt| guilt.change.unwrap_or(f64::INFINITY);
        loss(b).total_cmp(&loss(a))
    });
    guilty
}

fn line_words(is_ideal: bool, change: &LineChange) -> String {
    let line = line_name(is_ideal);
    let base = &change.base.config;
    if let Some(gone) = &change.gone {
        let how = gone.status.map_or("has no row", |status| status.word());
        return format!("{line}: its leader {how} now ({})", gone.config);
    }
    match &change.new {
        Some(new) if new.config != *base => format!("{line} ({}, was {base})", new.config),
        _ => format!("{line} ({base})"),
    }
}

/// What does not work any more.
fn broken_headline(broken: &[&ConfigChange]) -> String {
    let Some(first) = broken.first() else { return "BROKEN".to_owned() };
    let status = first.status.map_or("", |status| status.word());
    let word = if first.status == Some(Status::WrongResult) { "WRONG" } else { "BROKEN" };
    let more = more_fail(broken.len() - 1);
    format!("{word}: {} at {} was ok and is {status} now{more}", first.config, size_label(first.n))
}

/// What did not work when it was measured again.
fn failed_headline(first: &Failed, others: usize) -> String {
    let word = if first.status == Status::WrongResult { "WRONG" } else { "BROKEN" };
    let (size, status, more) = (size_label(first.n), first.status, more_fail(others));
    format!("{word}: {} at {size} is {status} beside the base, which runs it{more}", first.config)
}

/// What has a time in the new run, and none beside the base; why, where that is known.
fn unmeasured_headline(comparison: &Comparison, sizes: &str) -> String {
    let is_unmeasured = |failed: &&Failed| {
        comparison.deciding().any(|(_, change)| {
            let is_it = (change.n, &change.base.config) == (failed.n, &failed.config);
            is_it && change.verdict == Verdict::Unmeasured
        })
    };
    let why = match comparison.failed.iter().find(is_unmeasured) {
        Some(failed) => {
            let (config, size, side) = (&failed.config, size_label(failed.n), failed.side.word());
            format!(" ({config} at {size}, {side}: {})", failed.status)
        }
        None => "; let `scanbox rerun` finish".to_owned(),
    };
    format!("UNMEASURED: what led the base at {sizes} was not measured again{why}")
}

fn more_fail(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 more fails now".to_owned(),
        _ => format!("; {count} more fail now"),
    }
}

fn device_headline(comparison: &Comparison) -> String {
    let lost = signed(comparison.device.lost.exp_m1());
    let by = if comparison.device.kernels.is_some() {
        "the program of the base is slower than it was"
    } else {
        "copies and scans are slower"
    };
    format!("DEVICE SLOWER: {lost} % as a whole, {by}; no size is slower beside the base")
}

fn no_regression(comparison: &Comparison, question: &CompareQuestion) -> String {
    let mut faster: Vec<u64> = comparison
        .judgement
        .groups
        .iter()
        .filter(|group| group.verdict == Verdict::Faster)
        .map(|group| group.n)
        .collect();
    if !comparison.is_paired {
        let lines = comparison.ideal.iter().filter(|change| change.verdict == Verdict::Faster);
        faster.extend(lines.map(|change| change.n));
    }
    faster.sort_unstable();
    faster.dedup();
    let limit = threshold(question);
    let device = &comparison.device;
    let beside = match device.is_above(question.threshold) {
        true => format!(" beside the device, which is {} as a whole", slower_or_faster(device.lost)),
        false => String::new(),
    };
    let verdict = match faster.as_slice() {
        [] => format!("SAME{beside}: no size is slower by more than {limit}"),
        [n] => format!("FASTER{beside}: at {}, and no size is slower by more than {limit}", size_label(*n)),
        sizes => format!("FASTER{beside}: at {} sizes, and none is slower by more than {limit}", sizes.len()),
    };
    format!("{verdict}{}", seen_from(comparison))
}

/// From which loss on a comparison would have seen one at any size, in its rows, its winner or the watched kernel.
fn seen_from(comparison: &Comparison) -> String {
    let of_lines = comparison.deciding().filter_map(|(_, change)| change.limit);
    let of_rows = comparison.ideal.iter().filter_map(|change| comparison.judgement.at(change.n)?.limit);
    match of_lines.chain(of_rows).reduce(f64::max) {
        Some(loss) => format!("; a loss of {:.1} % or more would have been seen", 100.0 * loss),
        None => String::new(),
    }
}

/// Why nothing can be said.
fn inconclusive(comparison: &Comparison) -> String {
    let of_lines = |verdict: Verdict| -> Vec<u64> {
        comparison
            .deciding()
            .filter(|(_, change)| change.verdict == verdict)
            .map(|(_, change)| change.n)
            .collect()
    };
    let list = |sizes: &[u64]| {
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        match sizes.as_slice() {
            [first, .., last] if sizes.len() > SIZES_NAMED => {
                format!("{} sizes from {} to {}", sizes.len(), size_label(*first), size_label(*last))
            }
            few => few.iter().map(|&n| size_label(n)).collect::<Vec<_>>().join(", "),
        }
    };
    if comparison.ideal.is_empty() {
        return "MISSING: the base has no ok row, so there is nothing to compare".to_owned();
    }
    if !comparison.is_paired && comparison.drift.removed.abs() > DRIFT_LIMIT {
        let drift = slower_or_faster(comparison.drift.removed);
        return format!(
            "UNCLEAR: the device as a whole is {drift}, and at another clock another config leads; measure again"
        );
    }
    let gone = of_lines(Verdict::Missing);
    if !gone.is_empty() {
        let leader = comparison.deciding().find_map(|(_, change)| change.gone.as_ref());
        let leader = leader.map_or_else(String::new, |gone| {
            let status = gone.status.map_or("no row", |status| status.word());
            format!(" ({}: {status})", gone.config)
        });
        return format!("MISSING: the new run has no time of what led the base at {}{leader}", list(&gone));
    }
    let unmeasured = of_lines(Verdict::Unmeasured);
    if !unmeasured.is_empty() {
        return unmeasured_headline(comparison, &list(&unmeasured));
    }
    // What looks slower, and what could not have been seen.
    let (mut slower, mut blind) = (Vec::new(), Vec::new());
    let mut sort = |n: u64, verdict: Verdict, change: Option<f64>| {
        if verdict == Verdict::Unclear {
            if change.is_some_and(|change| change > 0.02) { slower.push(n) } else { blind.push(n) }
        }
    };
    for group in &comparison.judgement.groups {
        sort(group.n, group.verdict, Some(group.change));
    }
    for single in &comparison.judgement.singles {
        sort(single.n, single.verdict, single.change);
    }
    for (_, change) in comparison.deciding() {
        sort(change.n, change.verdict, change.change);
    }
    if !slower.is_empty() {
        return format!("UNCLEAR: slower at {}, or noise; measure again", list(&slower));
    }
    if !blind.is_empty() {
        return format!("UNCLEAR: too noisy to see a loss at {}; measure again", list(&blind));
    }
    if comparison.device.is_doubtful() {
        let lost = slower_or_faster(comparison.device.lost);
        return format!("UNCLEAR: the device as a whole is {lost}, or drifts; measure again");
    }
    if let Some(alone) = comparison.drift.scans_against_ceilings() {
        return format!(
            "UNCLEAR: scans as a whole are {} than copies would have it",
            slower_or_faster(alone.ln_1p())
        );
    }
    let drift = slower_or_faster(comparison.drift.removed);
    format!("UNCLEAR: all sizes are {drift}, and no copies tell whether that is drift")
}
