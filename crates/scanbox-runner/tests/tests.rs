//! The tests of the runner: one binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod guarantees;
mod ledger;
mod on_device;
mod probe;
mod sweep;
mod timer;
