//! What to run at a size that nobody has measured, from the two measured sizes around it.
//!
//! The winner of the nearest size is a risk: its time may jump where one more tile needs one more round of
//! workgroups, and of such jumps a single size tells nothing. A config that was measured at both sizes has shown what
//! lies ahead: its time is taken to lie on the straight line between the two. Of the configs with the smallest times
//! there, the one is chosen that loses least at both sizes.

use std::collections::BTreeMap;

use scanbox_model::config::Config;

use crate::table::{Catalog, DeviceTable};

/// The config for `n` elements, of those that `suits` lets through, where `n` lies between two measured sizes that
/// have one in common; `None` elsewhere, at measured sizes too. A workgroup count that stands for a size is that of
/// the nearer one.
#[must_use]
pub fn between(
    catalog: &Catalog,
    table: &DeviceTable,
    n: u64,
    suits: impl Fn(&Config) -> bool,
) -> Option<Config> {
    interpolated(catalog, table, n, suits).map(|found| found.config)
}

/// What to run at a size, measured or not.
#[derive(Debug, Clone, PartialEq)]
pub struct AtSize {
    /// Elements.
    pub n: u64,
    /// The config.
    pub config: Config,
    /// The time of one call in nanoseconds; `None` where nothing was measured above or below.
    pub time_ns: Option<f64>,
    /// The measured sizes that say so: one, or those around it.
    pub measured: Vec<u64>,
    /// The most that the config loses there, in percent of the throughput of the fastest one; `None` where the size
    /// lies beyond all that was measured, or no config was measured on both sides.
    pub worst_loss_pct: Option<f64>,
}

/// How much longer than the shortest time on the line a time may be, to be as good: the line is not known better.
const AS_GOOD: f64 = 1.02;

/// What to run at `n` elements: the best config of a measured size, what [`between`] finds between two of them, else
/// the best config of the nearest size. `None` where the table has no row.
#[must_use]
pub fn at_size(catalog: &Catalog, table: &DeviceTable, n: u64) -> Option<AtSize> {
    if let Some(found) = interpolated(catalog, table, n, |_| true) {
        return Some(found);
    }
    let distance = |size: u64| (size.max(1) as f64 / n.max(1) as f64).ln().abs();
    let nearest = table.sizes.iter().copied().min_by(|&a, &b| distance(a).total_cmp(&distance(b)))?;
    let size = table.size_index(nearest)?;
    let best = table.cells_at(size).iter().min_by(|a, b| a.time_ns.total_cmp(&b.time_ns))?;
    Some(AtSize {
        n,
        config: *catalog.config(best.config),
        time_ns: (nearest == n).then_some(best.time_ns),
        measured: vec![nearest],
        worst_loss_pct: (nearest == n).then_some(0.0),
    })
}

fn interpolated(
    catalog: &Catalog,
    table: &DeviceTable,
    n: u64,
    suits: impl Fn(&Config) -> bool,
) -> Option<AtSize> {
    let above = table.sizes.partition_point(|&size| size < n);
    if above == 0 || above == table.sizes.len() || table.sizes[above] == n {
        return None;
    }
    let below = above - 1;
    let (low, high) = (table.sizes[below] as f64, table.sizes[above] as f64);
    let share = (n as f64 - low) / (high - low);
    // By what a config is at any size.
    let times = |size: usize| {
        let mut times: BTreeMap<Config, (f64, Config)> = BTreeMap::new();
        for cell in table.cells_at(size) {
            let config = *catalog.config(cell.config);
            if suits(&config) {
                let here = (cell.time_ns, config);
                let best = times.entry(Config { workgroups: None, ..config }).or_insert(here);
                if here.0 < best.0 {
                    *best = here;
                }
            }
        }
        times
    };
    let there = times(above);
    let both = times(below).into_iter().filter_map(|(config, (from, shape))| {
        let (to, other) = there.get(&config)?;
        Some((from + share * (to - from), if share < 0.5 { shape } else { *other }, [from, *to]))
    });
    let fastest = [below, above]
        .map(|size| table.cells_at(size).iter().map(|cell| cell.time_ns).fold(f64::INFINITY, f64::min));
    let worst_loss = |times: &[f64; 2]| {
        let loss = |(fastest, own): (f64, &f64)| 100.0 * (1.0 - fastest / own).max(0.0);
        fastest.into_iter().zip(times).map(loss).fold(0.0, f64::max)
    };
    let both: Vec<(f64, Config, [f64; 2])> = both.collect();
    let shortest = both.iter().map(|(time_ns, ..)| *time_ns).fold(f64::INFINITY, f64::min);
    let as_good = both.into_iter().filter(|(time_ns, ..)| *time_ns <= shortest * AS_GOOD);
    let of = |(time_ns, _, times): &(f64, Config, [f64; 2])| (worst_loss(times), *time_ns);
    let (time_ns, config, times) = as_good.min_by(|a, b| {
        let (a, b) = (of(a), of(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    Some(AtSize {
        n,
        config,
        time_ns: Some(time_ns),
        measured: vec![table.sizes[below], table.sizes[above]],
        worst_loss_pct: Some(worst_loss(&times)),
    })
}
