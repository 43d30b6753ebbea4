//! What several commands have among their arguments.

pub mod attempt;
pub mod budget;
pub mod format;
pub mod needs;
pub mod problem;
pub mod request;
pub mod shard;
pub mod sharing;
pub mod shipping;
pub mod space;
pub mod speech;
pub mod time;
pub mod words;

/// The heading of options that every command has.
pub const FOR_ALL: &str = "For all commands";
