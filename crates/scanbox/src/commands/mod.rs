//! One module per command: arguments, work, report, exit code.

pub mod analyze;
pub mod bench;
pub mod compare;
pub mod devices;
pub mod doctor;
pub mod explain;
pub mod export;
#[cfg(feature = "webgpu")]
pub mod guard_browser;
pub mod help_files;
pub mod import;
pub mod merge;
pub mod overview;
pub mod pack;
pub mod report;
pub mod rerun;
pub mod serve;
pub mod space;
pub mod sweep;
pub mod tune;
pub mod verify;
pub mod worker;
