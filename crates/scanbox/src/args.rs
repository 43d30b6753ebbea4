//! What several commands have among their arguments.

pub mod format;
pub mod problem;
pub mod sharing;
pub mod time;
pub mod words;
