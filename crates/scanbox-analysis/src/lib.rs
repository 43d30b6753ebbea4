//! Records in, answers out: no I/O, no GPU, no printing.
//!
//! [`grouping`] sorts the rows of any number of files into one dense [`table`] per device and run. [`ideal`] finds the
//! best config for each size (the ICS), [`lines`] prunes to one config per kernel and size, [`eligible`] says which
//! kernels and sizes can be compared, [`best_kernel`] chooses one kernel for a device by a [`metric`], and
//! [`portable`] one kernel for several devices after a [`normalize`] step. [`answers`] runs all of it. [`mod@bench`] sets the
//! subjects of a benchmark against each other, [`mod@compare`] two sweeps.
//! Every answer comes with its [`warning`]s. Neighbours: `scanbox-model` below, the binary `scanbox` above.
//!
//! Throughput is in GB/s (10^9 bytes per second) everywhere, times are in nanoseconds, sizes in elements.

pub mod stats;
pub mod table;
pub mod grouping;
pub mod ideal;
pub mod lines;
pub mod eligible;
pub mod metric;
pub mod normalize;
pub mod best_kernel;
pub mod portable;
pub mod answers;
pub mod bench;
pub mod compare;
pub mod warning;

/// Why a request cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalysisError {
    /// The text names no metric.
    #[error(
        "`{text}` is no metric: {reason}; the metrics are sum, absolute, squared, chebyshev, cosine, power:P"
    )]
    Metric {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The text names no normalisation.
    #[error("`{text}` is no normalisation; it is one of size-best, device-peak, minmax, none")]
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
        "the base is of {base}, the new run of {new}: between two models nothing is a regression; --accept-device \
         compares them all the same"
    )]
    OtherModel {
        /// The name of the device of the base.
        base: String,
        /// That of the new run.
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
