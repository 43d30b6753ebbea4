//! The tests of the crate. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod supervisor;
