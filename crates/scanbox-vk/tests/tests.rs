//! The tests of what is recorded. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "what is tested is called as Vulkan is")]

mod dependencies;
mod driver;
mod features;
mod line;
mod pipeline;
mod push;
mod record;
mod shape;
mod step;
