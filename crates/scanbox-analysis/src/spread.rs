//! How far values lie apart that a few of them must not spoil: medians, and deviations by what most of them show.

use std::collections::BTreeMap;

/// The standard deviation of normal noise, in median absolute deviations.
pub(crate) const MAD_DEVIATION: f64 = 1.4826;

/// A statistic of the values of each size, with those of so many neighbouring sizes that there are `enough`. No size
/// has one where there are fewer than `known` in all.
pub(crate) fn pooled(
    values: &BTreeMap<u64, Vec<f64>>,
    enough: usize,
    known: usize,
    statistic: impl Fn(&mut [f64]) -> f64,
) -> BTreeMap<u64, f64> {
    let sizes: Vec<(&u64, &Vec<f64>)> = values.iter().collect();
    let mut found = BTreeMap::new();
    for (index, &(&n, at)) in sizes.iter().enumerate() {
        let mut pool = at.clone();
        let mut distance = 1;
        while pool.len() < enough && distance < sizes.len() {
            let (below, above) = (index.checked_sub(distance), index + distance);
            for (_, neighbour) in below.and_then(|below| sizes.get(below)).into_iter().chain(sizes.get(above))
            {
                pool.extend(*neighbour);
            }
            distance += 1;
        }
        if pool.len() >= known.max(1) {
            found.insert(n, statistic(&mut pool));
        }
    }
    found
}

/// The standard deviation by what most values show, and by the tails if they are wider. Configs that really changed
/// have one tail for themselves, so the narrower one counts.
pub(crate) fn deviation(values: &mut [f64]) -> f64 {
    /// The share of a tail, and where it begins for normal noise, in standard deviations.
    const TAIL: (f64, f64) = (0.025, 1.96);
    let centre = median(values).unwrap_or_default();
    let mut distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let middle = MAD_DEVIATION * median(&mut distances).unwrap_or_default();
    let last = values.len() - 1;
    let cut = (TAIL.0 * last as f64).round() as usize;
    let tail = (centre - values[cut]).min(values[last - cut] - centre) / TAIL.1;
    middle.max(tail)
}

/// The median; sorts the values. `None` of nothing.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (below, above) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*below, *above))
}
