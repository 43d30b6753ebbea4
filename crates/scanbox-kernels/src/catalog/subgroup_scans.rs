//! Which subgroup scans go with a kernel and a problem.

use scanbox_model::config::{Config, Kernel, LoadLayout, SubgroupScan};
use scanbox_model::problem::Problem;
use scanbox_model::space::Rejection;

fn reject(rule: &'static str, detail: String) -> Result<(), Rejection> {
    Err(Rejection { rule: rule.into(), detail })
}

/// Whether there is this subgroup scan.
pub(super) fn is_there(Config { kernel, .. }: &Config, problem: &Problem) -> Result<(), Rejection> {
    let rows = if kernel.load_layout == LoadLayout::Striped { kernel.batch_size } else { 1 };
    if problem.user().is_some() && kernel.subgroup_scan == SubgroupScan::Shuffle && rows == 1 {
        let detail = format!(
            "{problem}: a user's operator has no subgroup operation but shuffles, so that subgroup scan operation is the same \
             kernel where a tile has one row"
        );
        return reject("shuffle-is-operation", detail);
    }
    if kernel.subgroup_scan == SubgroupScan::Exchange { exchanges(kernel, rows) } else { Ok(()) }
}

/// What a scan by exchange needs. `rows`: those of a tile that one invocation has a vector in.
fn exchanges(kernel: &Kernel, rows: u32) -> Result<(), Rejection> {
    if kernel.load_layout != LoadLayout::Striped || rows < 2 {
        let detail = format!(
            "subgroup scan exchange with load layout {} and batch size {}: it takes several rows of a striped layout at a \
             time",
            kernel.load_layout, kernel.batch_size
        );
        return reject("exchange-needs-rows", detail);
    }
    if kernel.lookback.falls_back() {
        let detail = format!(
            "subgroup scan exchange with lookback {}: who falls back combines a tile as the other scans do",
            kernel.lookback
        );
        return reject("exchange-without-fallback", detail);
    }
    Ok(())
}
