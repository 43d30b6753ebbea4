//! Records in, answers out: no I/O, no GPU, no printing.
//!
//! [`grouping`] sorts the rows of any number of files into one dense [`table`] per device ([`identity`]) or [`pool`] of
//! units and run, without those that [`trust`] lets count nowhere, and with one time per row on one scale
//! ([`confirmed`]); [`anchors`] say whether a unit kept its speed. [`ideal`] finds the best
//! config for each size (the ICS), [`mod@between`] one for a size between two of them, [`ranges`] one for each range of
//! sizes, [`lines`] prunes to one
//! config per kernel and size, [`eligible`] says which kernels and sizes can be compared ([`coverage`]),
//! [`best_kernel`] chooses one kernel for a device by a [`metric`], and [`portable`] one kernel for several devices
//! after a [`normalize`] step; [`portfolio`] chooses several kernels. [`shared`] finds one config per size for several
//! devices, [`bandwidth`] sets the ideal line against the bandwidth of the device and other implementations,
//! [`density`] shows how the configs of a size are distributed, [`trends`] which parameters matter where, [`transfer`]
//! what the ICS of one device is worth on another, [`portability`] what a kernel is worth on all, [`speed`] which
//! device is faster. [`answers`] runs all of it. [`mod@bench`] sets the subjects of a benchmark against each
//! other, [`versus`] scanbox against the fastest of the others, [`device_lines`] that of several devices,
//! [`mod@blocking`] lookbacks with more and more tiles blocked, [`mod@compare`] two sweeps. No answer mixes rows of two
//! [`problem`]s. Every answer comes with its [`warning`]s. Neighbours: `scanbox-model` below, the binary `scanbox`
//! above.
//!
//! Throughput is in GB/s (10^9 bytes per second) everywhere, times are in nanoseconds, sizes in elements.

pub mod stats;
pub mod problem;
pub mod identity;
pub mod pool;
pub mod table;
pub mod grouping;
pub mod anchors;
pub mod trust;
pub mod confirmed;
pub mod ideal;
pub mod between;
pub mod ranges;
pub mod lines;
pub mod coverage;
pub mod eligible;
pub mod metric;
pub mod weights;
pub mod normalize;
pub mod best_kernel;
pub mod portable;
pub mod portfolio;
pub mod shared;
pub mod bandwidth;
pub mod density;
pub mod trends;
pub mod transfer;
pub mod portability;
pub mod speed;
mod spread;
pub mod answers;
pub mod bench;
mod verdict;
pub mod interval;
pub mod versus;
pub mod arguments;
pub mod device_lines;
pub mod library;
pub mod blocking;
pub mod compare;
pub mod pairs;
pub mod merge;
pub mod warning;

use scanbox_model::nearest::hint;

use crate::metric::WORDS;
use crate::shared::SharedMetric;

/// Why a request cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// The text names no metric.
    #[error("`{text}` is not a metric{reason}; the metrics are {}{}", WORDS.join(", "), hint(text, WORDS))]
    Metric {
        /// The text.
        text: String,
        /// What is wrong with it, where that is more than its name.
        reason: &'static str,
    },
    /// The text names no metric of shared configs.
    #[error(
        "`{text}` is not a metric of shared configs{reason}; the metrics are mean, max, mean-std, min, rank-sum, \
         rank-product, distance, squared, power:P{}",
        hint(text, SharedMetric::ALL.map(|metric| metric.to_string()))
    )]
    SharedMetric {
        /// The text.
        text: String,
        /// What is wrong with it, where that is more than its name.
        reason: &'static str,
    },
    /// The text names no coverage.
    #[error(
        "`{text}` does not name a coverage: write auto, common, all, widest, a share (0.5), or sizes \
         (2^19..2^29){}",
        hint(text, ["auto", "common", "all", "widest"])
    )]
    Coverage {
        /// The text.
        text: String,
    },
    /// The text is no bandwidth.
    #[error("`{text}` is not a bandwidth; it is GBPS or NAME=GBPS, above 0 (4800, H200=4800)")]
    Peak {
        /// The text.
        text: String,
    },
    /// A bandwidth belongs to no device, or is not the only one.
    #[error("bandwidth {text}: {reason}; there are {devices}")]
    PeakDevice {
        /// The bandwidth as it was given.
        text: String,
        /// What is wrong.
        reason: &'static str,
        /// The devices there are.
        devices: String,
    },
    /// The text names no normalisation.
    #[error("`{text}` is not a normalisation; it is one of size-best, device-peak, minmax, ceiling, none")]
    Normalization {
        /// The text.
        text: String,
    },
    /// A file that is to be compared has rows of more than one device.
    #[error("{source_name} has rows of {first} and of {second}: a comparison is about one device")]
    SeveralDevices {
        /// The file.
        source_name: String,
        /// A device.
        first: String,
        /// Another one.
        second: String,
    },
    /// Two files that are to be compared are of different models.
    #[error(
        "the base is of {base}, the new run of {new}, and between two models nothing is a regression: to see which is faster, \
         run scanbox analyze BASE NEW; --accept-device compares them all the same"
    )]
    OtherModel {
        /// The name of the device of the base.
        base: String,
        /// That of the new run.
        new: String,
    },
    /// Two sweeps of different problems are not compared.
    #[error("the base is of {base}, the new run of {new}: name two sweeps of one problem")]
    OtherProblem {
        /// What the base computes.
        base: String,
        /// What the new run computes.
        new: String,
    },
    /// A row of scanbox's own has a label that cannot be read.
    #[error("{source_name}: data row {row}: column `{column}`: {reason}")]
    Label {
        /// The file.
        source_name: String,
        /// The row below the header, from 1.
        row: usize,
        /// The column.
        column: &'static str,
        /// What is wrong.
        reason: String,
    },
}
