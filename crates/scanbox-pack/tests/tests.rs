//! The tests of recipes and packs. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod choose;
mod contents;
mod file;
mod json;
mod launch;
mod packs;
mod reconvergence;
