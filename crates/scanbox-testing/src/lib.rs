//! What the tests of several crates share. Nothing that users run depends on it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod covering;
pub mod device;
pub mod fixture;
pub mod folder;
pub mod operator_files;
#[cfg(unix)]
pub mod program;
pub mod space;
