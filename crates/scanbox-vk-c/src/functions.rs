//! What C calls.
//!
//! # Safety
//! Of all of them: a pointer is null, or points to what its type says; of a structure, to as many bytes as its first
//! word says, and what it points to is there. A handle is null, or one that was made here and not freed. What the
//! functions of `scanbox-vk` ask of their callers holds too.

mod bound;
mod scan;
mod scanner;

pub use bound::{
    ScanboxBound, scanbox_bound_cmd_scan, scanbox_bound_cmd_set, scanbox_bound_create, scanbox_bound_destroy,
    scanbox_bound_length_address, scanbox_scan_line_needs,
};
pub use scan::{
    ScanboxScan, scanbox_cmd_prepare, scanbox_cmd_scan, scanbox_scan_chosen, scanbox_scan_create,
    scanbox_scan_destroy, scanbox_scan_scratch, scanbox_scan_sync,
};
pub use scanner::{ScanboxScanner, scanbox_scanner_create, scanbox_scanner_destroy, scanbox_wanted};
