//! The tests of the C interface, in C: programs that the machine's own compiler makes. One binary, because each one
//! costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dependencies;
mod header;
mod nothing;
mod on_device;
mod program;
