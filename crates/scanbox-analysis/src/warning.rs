//! What an answer leaves out or takes for granted, for the user to know.

use std::fmt;

use scanbox_model::sizes::sizes_text;
use scanbox_model::units::size_label;

use crate::table::Provenance;
use crate::trust::{Distrusted, PROOF};

/// Something that a user has to know to trust an answer. `Display` is one line without the word "warning".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// There is no metadata beside a file.
    NoMetadata {
        /// The file.
        source_name: String,
    },
    /// A file has rows of other implementations.
    OtherSubjects {
        /// The file.
        source_name: String,
        /// How many rows.
        rows: u64,
        /// Their subjects.
        subjects: Vec<String>,
    },
    /// What other implementations reach on a device was measured on another unit of its model.
    BaselinesOfAnotherUnit {
        /// The device.
        device: String,
    },
    /// A device has rows of several runs and only the newest is taken.
    OlderRuns {
        /// The device.
        device: String,
        /// What is taken.
        kept: Provenance,
        /// What is left out, with the number of rows.
        left_out: Vec<(Provenance, u64)>,
    },
    /// Configs that were wrong once count nowhere until they are shown right.
    Distrusted {
        /// The device.
        device: String,
        /// Which, at which sizes.
        points: Vec<Distrusted>,
    },
    /// A device has several `ok` rows of one point; the last one is taken.
    Replaced {
        /// Whether they are of several files.
        several: bool,
        /// The device.
        device: String,
        /// Rows that were replaced.
        rows: u64,
    },
    /// Rows are `ok` but have no time of the chosen clock.
    WithoutTime {
        /// The device.
        device: String,
        /// How many rows.
        rows: u64,
    },
    /// Points of the space have no row.
    Incomplete {
        /// The device.
        device: String,
        /// Points without a row.
        missing: u64,
        /// Points of the space.
        planned: u64,
    },
    /// Of units that are taken together some are slower or faster than the median of all.
    UnitsOff {
        /// What they are together.
        device: String,
        /// Which.
        units: Vec<UnitOff>,
        /// Whether they count nowhere; else they are too many to say who is right.
        left_out: bool,
    },
    /// At these sizes units have different points, and too few that tell how much they differ as a whole.
    SizesOverUnits {
        /// What they are together.
        device: String,
        /// The sizes.
        sizes: Vec<u64>,
    },
    /// There are too many devices to show each against each.
    TooManyTransfers {
        /// How many there are.
        devices: usize,
        /// How many take part.
        shown: usize,
    },
    /// A device has no usable row.
    NothingUsable {
        /// The device.
        device: String,
    },
    /// Sizes at which every kernel has a legal config but no row is `ok`.
    SizesWithoutRow {
        /// The devices.
        devices: Vec<String>,
        /// The sizes.
        sizes: Vec<u64>,
    },
    /// No size has a legal config of every kernel: there is nothing to compare kernels by.
    NoCommonSize {
        /// The devices.
        devices: Vec<String>,
    },
    /// No kernel has an `ok` row at every size of the comparison.
    NoEligibleKernel {
        /// The devices.
        devices: Vec<String>,
        /// Sizes at which a kernel has an `ok` row on each of them; empty: there is none.
        covered: Vec<u64>,
    },
    /// A device has no bandwidth to divide by.
    NoBandwidth {
        /// The devices.
        devices: Vec<String>,
    },
    /// Sizes have rows and no ceiling, although others of the sweep have one.
    SizesWithoutCeiling {
        /// The device.
        device: String,
        /// What a ceiling is: a copy, or a read.
        ceiling: &'static str,
        /// The sizes.
        sizes: Vec<u64>,
        /// Whether the bandwidth is not known by that.
        no_bandwidth: bool,
    },
    /// No size of the comparison has a weight.
    NoWeight {
        /// The devices.
        devices: Vec<String>,
        /// The sizes.
        sizes: Vec<u64>,
    },
    /// Software devices stay out of the answers across devices.
    SoftwareLeftOut {
        /// The devices.
        devices: Vec<String>,
    },
    /// A device has several runs; answers across devices take the newest.
    NewestRunOnly {
        /// The device.
        device: String,
    },
    /// Throughput at these sizes has too few distinct values for a histogram.
    OneBin {
        /// The device.
        device: String,
        /// The sizes.
        sizes: Vec<u64>,
    },
    /// A device has one size only, over which nothing changes.
    OneSize {
        /// The device.
        device: String,
    },
    /// At these sizes the ideal config of one device is not `ok` on another.
    NotTransferred {
        /// Whose ideal configuration set it is.
        from: String,
        /// Where it was not measured, or failed.
        to: String,
        /// The sizes.
        sizes: Vec<u64>,
    },
}

/// A unit whose times are not those of the others of its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitOff {
    /// What it is called.
    pub unit: String,
    /// By how much it is slower than the median of all, in thousandths; below 0 it is faster.
    pub per_mille: i64,
    /// Points that say so.
    pub points: usize,
}

impl fmt::Display for UnitOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, word) =
            (self.per_mille.abs() as f64 / 10.0, if self.per_mille < 0 { "faster" } else { "slower" });
        write!(f, "{} is {percent:.1} % {word} (median of {} points)", self.unit, self.points)
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash: String = self.kernel_hash.chars().take(12).collect();
        write!(f, "driver {}, scanbox {}, kernels {hash}", self.driver, self.version)
    }
}

/// Sizes as text, shortened where there are many.
pub(crate) fn size_list(sizes: &[u64]) -> String {
    const SHOWN: usize = 4;
    let mut words: Vec<String> = sizes.iter().take(SHOWN).map(|&n| size_label(n)).collect();
    if sizes.len() > SHOWN {
        words.push(format!("{} more", sizes.len() - SHOWN));
    }
    words.join(", ")
}

/// How the warning about rows of a benchmark ends: beside a sweep they are what they should be.
pub const NOT_PART: &str = "not part of these answers";

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMetadata { source_name } => {
                write!(f, "{source_name}: no metadata beside it; the space is taken from what the rows show")
            }
            Self::OtherSubjects { source_name, rows, subjects } => {
                let (noun, verb) = if *rows == 1 { ("row", "is") } else { ("rows", "are") };
                let subjects = subjects.join(", ");
                write!(f, "{source_name}: {rows} benchmark {noun} of {subjects} {verb} {NOT_PART}")
            }
            Self::BaselinesOfAnotherUnit { device } => write!(
                f,
                "{device}: other implementations were measured on another unit of this model, with scans of scanbox \
                 beside them in the same run; the ratios are of that run"
            ),
            Self::OlderRuns { device, kept, left_out } => {
                write!(f, "{device}: several runs; taken is the newest ({kept}), left out:")?;
                for (index, (provenance, rows)) in left_out.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ";" };
                    write!(f, "{separator} {rows} rows ({provenance})")?;
                }
                write!(f, "; --runs all shows each")
            }
            Self::Distrusted { device, points } => {
                const SHOWN: usize = 3;
                let shown = points.iter().take(SHOWN);
                let shown: Vec<String> =
                    shown.map(|point| format!("{} at {}", point.config, size_label(point.n))).collect();
                let more = match points.len().saturating_sub(SHOWN) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(
                    f,
                    "{device}: {}{more} gave a wrong result once and does not count, whatever other rows say, until \
                     {PROOF} with the arguments of the sweep has shown it right",
                    shown.join(", ")
                )
            }
            Self::Replaced { several, device, rows } => {
                let compare = if *several { "; to compare two runs, use `scanbox compare`" } else { "" };
                write!(
                    f,
                    "{device}: {rows} ok rows are replaced by a later ok row of the same config and size{compare}"
                )
            }
            Self::WithoutTime { device, rows } => {
                write!(
                    f,
                    "{device}: {rows} ok rows have no time of the chosen clock; --time chooses the other"
                )
            }
            Self::Incomplete { device, missing, planned } => {
                write!(f, "{device}: the sweep is not complete: {missing} of {planned} points have no row")
            }
            Self::UnitsOff { device, units, left_out } => {
                let units: Vec<String> = units.iter().map(ToString::to_string).collect();
                let end = match left_out {
                    true => "left out; --units each shows each unit alone",
                    false => {
                        "nothing is left out, since they are not the few; --units each shows each unit alone"
                    }
                };
                write!(f, "{device}: against the median of all units {}: {end}", units.join(", "))
            }
            Self::SizesOverUnits { device, sizes } => write!(
                f,
                "{device}: at {} units have different configs and too few in common to tell how much they differ: what \
                 wins there may be the unit",
                size_list(sizes)
            ),
            Self::TooManyTransfers { devices, shown } => write!(
                f,
                "what the best configs of one device are worth on another is compared between {shown} of {devices} devices, \
                 one of each model first: each against each would be {} pairs",
                devices * devices
            ),
            Self::NothingUsable { device } => {
                write!(f, "{device}: no row is ok and has a time; there is no answer for it")
            }
            Self::SizesWithoutRow { devices, sizes } => write!(
                f,
                "{}: no ok row at {}; the choice of the kernel leaves that out",
                devices.join(", "),
                size_list(sizes)
            ),
            Self::NoCommonSize { devices } => write!(
                f,
                "{}: there is no measured size to compare kernels at; no {} kernel can be chosen (--coverage)",
                devices.join(", "),
                if devices.len() > 1 { "portable" } else { "best" }
            ),
            Self::NoBandwidth { devices } => write!(
                f,
                "{}: the bandwidth is not known (no metadata with a copy); --peak-gbps gives it, and ceiling needs it",
                devices.join(", ")
            ),
            Self::SizesWithoutCeiling { device, ceiling, sizes, no_bandwidth } => {
                let sizes = size_list(sizes);
                let bandwidth = if *no_bandwidth {
                    "; without that of the largest size the bandwidth is not known (--peak-gbps gives it)"
                } else {
                    ""
                };
                write!(
                    f,
                    "{device}: no {ceiling} of {sizes} was measured, the same sweep command does it{bandwidth}"
                )
            }
            Self::NoWeight { devices, sizes } => write!(
                f,
                "{}: none of the sizes of the comparison ({}) has a weight; no best kernel can be chosen",
                devices.join(", "),
                size_list(sizes)
            ),
            Self::NoEligibleKernel { devices, covered } => {
                let devices = devices.join(", ");
                let what = match covered.is_empty() {
                    true => "no kernel was measured at one size on all of them".to_owned(),
                    false => format!("try --coverage {}", sizes_text(covered.iter().copied())),
                };
                write!(
                    f,
                    "{devices}: no kernel has an ok row at every size of the comparison; no best kernel can be chosen \
                     ({what})"
                )
            }
            Self::SoftwareLeftOut { devices } => write!(
                f,
                "{}: a software device stays out of the answers across devices; --include-software takes it in",
                devices.join(", ")
            ),
            Self::NewestRunOnly { device } => {
                write!(f, "{device}: several runs; answers across devices take the newest one")
            }
            Self::OneBin { device, sizes } => {
                let sizes = size_list(sizes);
                write!(f, "{device}: too few distinct times for a histogram at {sizes}: one bin each")
            }
            Self::OneSize { device } => {
                write!(f, "{device}: one size only; how parameters depend on it cannot be seen")
            }
            Self::NotTransferred { from, to, sizes } => write!(
                f,
                "the best config of {from} has no ok row on {to} at {}; the transfer leaves that out",
                size_list(sizes)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_an_option_takes_them() {
        let check = |sizes: &[u64], expected: &str| {
            assert_eq!(sizes_text(sizes.iter().copied()), expected, "{sizes:?}");
        };
        check(&[4096, 8192, 16384], "2^12..2^14");
        check(&[4096], "2^12");
        check(&[4096, 16384], "2^12,2^14");
        check(&[1000, 2000], "1000,2000");
    }
}
