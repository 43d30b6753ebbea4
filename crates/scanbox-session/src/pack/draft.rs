//! A table of a pack before its kernels have numbers.

use scanbox_analysis::ranges::ChoiceLoss;
use scanbox_model::config::Config;
use scanbox_pack::{CallUse, Promises};

use super::SizeLoss;

/// A table before its recipes have places.
pub(super) struct DraftTable {
    pub(super) call_use: CallUse,
    pub(super) needs: Promises,
    /// Of these kernels in ordinary calls, against all that was measured: to put the better table first.
    pub(super) of_kernels: Option<ChoiceLoss>,
    /// The same where the calls of this use were measured.
    pub(super) loss: Option<ChoiceLoss>,
    /// Of an ordinary use that was measured, at each size.
    pub(super) sizes: Vec<SizeLoss>,
    /// From how many elements on, what runs, the best first, and what that loses.
    pub(super) breakpoints: Vec<(u64, Vec<Config>, Option<u32>)>,
}

impl DraftTable {
    /// Its configs.
    pub(super) fn configs(&self) -> impl Iterator<Item = &Config> {
        self.breakpoints.iter().flat_map(|(_, ranked, _)| ranked)
    }
}
