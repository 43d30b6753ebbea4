//! What several commands have among their arguments.

pub mod words;
