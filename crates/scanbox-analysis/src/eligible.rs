//! Eligibility, A3 (thesis 5.5): the sizes and kernels that can be compared.
//!
//! A kernel that is missing where throughput is low would look better than it is, so kernels are compared over the same
//! sizes, and a kernel takes part only if it is `ok` at all of them on every device. Which sizes these are is the
//! question of [`Coverage`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use scanbox_model::record::Status;

use crate::coverage::Coverage;
use crate::lines::Lines;
use crate::table::{Catalog, KernelIndex};
use crate::warning::{Warning, size_list};

/// What is compared.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Eligibility {
    /// How the sizes were chosen; never [`Coverage::Auto`] where there is any.
    pub coverage: Coverage,
    /// The sizes of the comparison, ascending; every device has an `ok` row at each.
    pub sizes: Vec<u64>,
    /// How many sizes have an `ok` row on every device.
    pub measured: usize,
    /// The kernels that are `ok` at all sizes of the comparison on every device, ascending.
    pub kernels: Vec<KernelIndex>,
    /// The other kernels, each with the reason.
    pub dropped: Vec<Dropped>,
}

/// A kernel that does not take part, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The kernel.
    pub kernel: KernelIndex,
    /// The device where it is missing.
    pub device: String,
    /// The sizes of the comparison where it has no `ok` row there.
    pub sizes: Vec<u64>,
    /// At how many of them the space has a config of it: 0 for a kernel that is made for other sizes.
    pub legal: usize,
    /// How its attempts at these sizes ended; empty: there was none.
    pub attempts: BTreeMap<Status, u64>,
}

impl Dropped {
    /// Whether the kernel is missing only where the space has no config of it.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.legal == 0 && self.is_untried()
    }

    /// Whether nothing of it was tried there.
    #[must_use]
    pub fn is_untried(&self) -> bool {
        self.attempts.is_empty()
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_partial() {
            return write!(f, "no config at {}", size_list(&self.sizes));
        }
        if self.attempts.is_empty() {
            return write!(f, "no row at {}", size_list(&self.sizes));
        }
        let attempts: Vec<String> =
            self.attempts.iter().map(|(status, count)| format!("{count} {status}")).collect();
        write!(f, "no ok row at {} ({})", size_list(&self.sizes), attempts.join(", "))
    }
}

/// Finds what can be compared on all of these devices (one or more).
#[must_use]
pub fn eligibility(
    catalog: &Catalog,
    devices: &[&Lines<'_>],
    coverage: &Coverage,
) -> (Eligibility, Vec<Warning>) {
    let names = || devices.iter().map(|lines| lines.table.title.clone()).collect::<Vec<_>>();
    let mut warnings = Vec::new();
    let measured = intersection(devices, |lines| lines.table.sizes.iter().copied().collect());
    let (coverage, wanted) = wanted(devices, coverage, &measured);
    let (sizes, unmeasured): (Vec<u64>, Vec<u64>) = wanted.into_iter().partition(|n| measured.contains(n));
    let mut answer = Eligibility { coverage, sizes, measured: measured.len(), ..Eligibility::default() };
    if answer.sizes.is_empty() {
        warnings.push(Warning::NoCommonSize { devices: names() });
        return (answer, warnings);
    }
    if !unmeasured.is_empty() {
        warnings.push(Warning::SizesWithoutRow { devices: names(), sizes: unmeasured });
    }
    let all: BTreeSet<KernelIndex> = devices.iter().flat_map(|lines| lines.kernels.iter().copied()).collect();
    for kernel in all {
        match devices.iter().find_map(|lines| missing(catalog, lines, kernel, &answer.sizes)) {
            Some(dropped) => answer.dropped.push(dropped),
            None => answer.kernels.push(kernel),
        }
    }
    if answer.kernels.is_empty() {
        warnings.push(Warning::NoEligibleKernel {
            devices: names(),
            covered: widest(devices, &measured).into_iter().collect(),
        });
    }
    (answer, warnings)
}

/// The sizes that a coverage asks for, and the coverage that decided it. `measured`: on every device.
fn wanted(
    devices: &[&Lines<'_>],
    coverage: &Coverage,
    measured: &BTreeSet<u64>,
) -> (Coverage, BTreeSet<u64>) {
    let of_share = |share| intersection(devices, |lines| lines.table.sizes_of_share(share));
    let sizes = match coverage {
        Coverage::Auto => {
            let common = of_share(1.0);
            let usable = common.intersection(measured).count();
            if usable > 0 && 2 * usable >= measured.len() {
                return (Coverage::Common, common);
            }
            return (Coverage::Widest, widest(devices, measured));
        }
        Coverage::Common => of_share(1.0),
        Coverage::Share(share) => of_share(share.get()),
        Coverage::Widest => widest(devices, measured),
        Coverage::All => measured.clone(),
        Coverage::Sizes(sizes) => sizes.iter().collect(),
    };
    (coverage.clone(), sizes)
}

/// What the sets of all devices have in common.
fn intersection(devices: &[&Lines<'_>], of: impl Fn(&Lines<'_>) -> BTreeSet<u64>) -> BTreeSet<u64> {
    devices.iter().map(|lines| of(lines)).reduce(|a, b| &a & &b).unwrap_or_default()
}

/// The sizes of a kernel that is `ok` on every device at about the most sizes, more than nine tenths of them: those
/// that give the most to compare, sizes times kernels that cover them all. Otherwise a few kernels with one size more
/// than all others would be the only ones. Of several such sets the longer one, then the one of the larger sizes.
fn widest(devices: &[&Lines<'_>], measured: &BTreeSet<u64>) -> BTreeSet<u64> {
    let Some(first) = devices.first() else { return BTreeSet::new() };
    let covered = |&kernel: &KernelIndex| -> BTreeSet<u64> {
        let everywhere = |n: &u64| devices.iter().all(|lines| lines.best(kernel, *n).is_some());
        measured.iter().copied().filter(everywhere).collect()
    };
    let sets: Vec<BTreeSet<u64>> = first.kernels.iter().map(covered).collect();
    let most = sets.iter().map(BTreeSet::len).max().unwrap_or(0);
    let wide: BTreeSet<&BTreeSet<u64>> = sets.iter().filter(|set| 10 * set.len() > 9 * most).collect();
    let compared = |set: &BTreeSet<u64>| set.len() * sets.iter().filter(|other| set.is_subset(other)).count();
    let best =
        wide.into_iter().max_by_key(|set| (compared(set), set.len(), set.iter().rev().collect::<Vec<_>>()));
    best.cloned().unwrap_or_default()
}

/// Why a kernel cannot take part on one device; `None` if it can.
fn missing(catalog: &Catalog, lines: &Lines<'_>, kernel: KernelIndex, sizes: &[u64]) -> Option<Dropped> {
    let missing: Vec<u64> = sizes.iter().copied().filter(|&n| lines.best(kernel, n).is_none()).collect();
    if missing.is_empty() {
        return None;
    }
    let mut attempts = BTreeMap::new();
    for failure in missing.iter().flat_map(|&n| lines.table.failures_at(n)) {
        if catalog.kernel_of(failure.config) == kernel {
            *attempts.entry(failure.status).or_insert(0) += 1;
        }
    }
    let legal = missing.iter().filter(|&&n| lines.table.is_legal(n, kernel)).count();
    Some(Dropped { kernel, device: lines.table.title.clone(), sizes: missing, legal, attempts })
}
