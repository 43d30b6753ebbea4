//! Eligibility, A3 (thesis 5.5): the sizes and kernels that can be compared.
//!
//! A kernel that is missing where throughput is low would look better than it is, so kernels are compared over the
//! sizes where every kernel of the space has a legal config, and a kernel takes part only if it is `ok` at all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use scanbox_model::record::Status;

use crate::lines::Lines;
use crate::table::{Catalog, KernelIndex};
use crate::warning::{Warning, size_list};

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Eligibility {
    /// The sizes, ascending: every kernel of every device's space has a legal config there, and every device an `ok` row.
    pub sizes: Vec<u64>,
    /// The kernels that are `ok` at all of them on every device, ascending.
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
    /// How its attempts at these sizes ended; empty: there was none.
    pub attempts: BTreeMap<Status, u64>,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
pub fn eligibility(catalog: &Catalog, devices: &[&Lines<'_>]) -> (Eligibility, Vec<Warning>) {
    let names = || devices.iter().map(|lines| lines.table.device.name.clone()).collect::<Vec<_>>();
    let mut warnings = Vec::new();
    let complete = devices.iter().map(|lines| lines.table.complete_sizes()).reduce(|a, b| &a & &b);
    let has_row = |n: &u64| devices.iter().all(|lines| lines.table.size_index(*n).is_some());
    let (sizes, unmeasured): (Vec<u64>, Vec<u64>) =
        complete.unwrap_or_default().into_iter().partition(has_row);
    if sizes.is_empty() {
        warnings.push(Warning::NoCommonSize { devices: names() });
        return (Eligibility::default(), warnings);
    }
    if !unmeasured.is_empty() {
        warnings.push(Warning::SizesWithoutRow { devices: names(), sizes: unmeasured });
    }
    let all: BTreeSet<KernelIndex> = devices.iter().flat_map(|lines| lines.kernels.iter().copied()).collect();
    let mut answer = Eligibility { sizes, ..Eligibility::default() };
    for kernel in all {
        match devices.iter().find_map(|lines| missing(catalog, lines, kernel, &answer.sizes)) {
            Some(dropped) => answer.dropped.push(dropped),
            None => answer.kernels.push(kernel),
        }
    }
    if answer.kernels.is_empty() {
        warnings.push(Warning::NoEligibleKernel { devices: names() });
    }
    (answer, warnings)
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
    Some(Dropped { kernel, device: lines.table.device.name.clone(), sizes: missing, attempts })
}
