//! The tests of what is recorded. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "what is tested is called as Vulkan is")]

mod bound;
mod calls;
mod cost;
mod dependencies;
mod driver;
mod examples;
mod features;
mod instance;
mod line;
mod on_device;
mod pipeline;
mod push;
mod reconvergence;
mod record;
mod scanner;
mod shape;
mod silent;
mod step;

#[path = "../../scanbox-pack/tests/packs/mod.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod packs;
