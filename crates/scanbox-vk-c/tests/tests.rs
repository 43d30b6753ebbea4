//! The tests of the C interface. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod header;
