//! What several commands have among their arguments.

pub mod problem;
pub mod sharing;
pub mod time;
pub mod words;
