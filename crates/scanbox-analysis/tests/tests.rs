//! The tests of the analysis. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod across;
mod apis;
mod between;
mod compare;
mod confirmed;
mod devices;
mod fleet;
mod golden;
mod golden_answers;
mod grouping;
mod ideal_line;
mod merge;
mod metrics;
mod pairs;
mod portfolio;
mod properties;
mod ranges;
mod rows;
mod settings;
mod stats;
mod trust;
mod units;
