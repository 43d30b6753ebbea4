//! What to run at a size that nobody has measured, from the two measured sizes around it.
//!
//! The winner of the nearest size is a risk: its time may jump where one more tile needs one more round of
//! workgroups, and of such jumps a single size tells nothing. A config that was measured at both sizes has shown what
//! lies ahead: its time is taken to lie on the straight line between the two, and the config with the smallest one is
//! chosen.

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
        Some((from + share * (to - from), if share < 0.5 { shape } else { *other }))
    });
    both.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, config)| config)
}
