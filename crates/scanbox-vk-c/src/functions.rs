//! What C calls.
//!
//! # Safety
//! Of all of them: a pointer is null, or points to what its type says; of a structure, to as many bytes as its first
//! word says, and what it points to is there. A handle is null, or one that was made here and not freed. What the
//! functions of `scanbox-vk` ask of their callers holds too.

mod scan;
mod scanner;

pub use scan::{
    ScanboxScan, scanbox_cmd_prepare, scanbox_cmd_scan, scanbox_scan_chosen, scanbox_scan_create,
    scanbox_scan_destroy, scanbox_scan_scratch, scanbox_scan_sync,
};
pub use scanner::{ScanboxScanner, scanbox_scanner_create, scanbox_scanner_destroy, scanbox_wanted};
