//! The tests of the kernels: all that needs no device. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod compile;
mod dependencies;
mod memory;
mod memory_order;
mod needs;
mod operands;
mod operators;
mod packing;
mod packs;
mod problem_pairs;
mod problems;
mod profiles;
mod recipes;
mod reconvergence;
mod same_code;
mod shown;
mod variants;
mod wgsl;
mod workarounds;
