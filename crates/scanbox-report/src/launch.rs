//! What to launch, for people who write programs: in ranges of sizes, and at one size.

use scanbox_analysis::between::AtSize;
use scanbox_analysis::ranges::{SizeRange, TimeGrid};
use scanbox_analysis::table::{Catalog, DeviceTable};
use scanbox_model::config::{Config, Family};
use scanbox_model::units::size_label;

/// A range of sizes in words, with its config.
pub struct LaunchRange {
    /// The sizes.
    pub sizes: String,
    /// The range.
    pub range: SizeRange,
}

/// As few configs as possible, each nearly the best in all of its range.
pub fn ranges(catalog: &Catalog, table: &DeviceTable) -> Vec<LaunchRange> {
    let ranges = TimeGrid::of(catalog, table).ranges(None);
    let ends: Vec<Option<u64>> = ranges.iter().skip(1).map(|range| Some(range.from)).chain([None]).collect();
    let in_words = |(range, end): (SizeRange, Option<u64>)| {
        let sizes = match end {
            Some(end) if range.from <= 1 => format!("below {}", size_label(end)),
            Some(end) => format!("{} to {}", size_label(range.from), size_label(end - 1)),
            None if range.from <= 1 => "all".to_owned(),
            None => format!("from {}", size_label(range.from)),
        };
        LaunchRange { sizes, range }
    };
    ranges.into_iter().zip(ends).map(in_words).collect()
}

impl LaunchRange {
    /// How much slower than the best its config is at worst, in percent.
    pub fn worst_loss_pct(&self) -> Option<f64> {
        self.range.worst_loss_ppm.map(|ppm| f64::from(ppm) / 10_000.0)
    }
}

/// How many workgroups a call starts, where the size is not known.
pub fn workgroups(config: &Config) -> String {
    match (config.workgroups, config.workgroups_per_unit) {
        (Some(count), _) => count.to_string(),
        (None, Some(count)) => format!("{count} per compute unit"),
        (None, None) => "by the size".to_owned(),
    }
}

/// How many workgroups a call of this size starts.
pub fn workgroups_at(at: &AtSize) -> String {
    match (at.config.kernel.family, at.config.workgroups_per_unit) {
        (Family::OneWorkgroup, _) => "1".to_owned(),
        (_, Some(count)) => format!("{count} per compute unit"),
        _ => at.config.tiles(at.n).to_string(),
    }
}

/// The label of a config whose number of workgroups follows from the size.
pub fn label(config: &Config) -> String {
    Config { workgroups: None, ..*config }.to_string()
}
