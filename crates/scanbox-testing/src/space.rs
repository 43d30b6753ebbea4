//! What a space comes to on a device, counted.

use std::collections::BTreeMap;

use scanbox_model::space::Enumeration;

/// Legal points per size.
pub fn points_per_size(enumeration: &Enumeration) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    for point in &enumeration.points {
        *counts.entry(point.n).or_insert(0) += 1;
    }
    counts
}
