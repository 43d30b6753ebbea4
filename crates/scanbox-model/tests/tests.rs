//! The tests of the model. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
mod known_issues;
mod pair_file;
mod problem;
mod row_rules;
mod safe_devices;
mod sample;
mod shard;
mod vocabulary;
