//! The tests of the program: most run it as a user does. One binary, because each one costs a link.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod analyze;
mod any_device;
mod apis;
mod architecture;
mod attempts;
mod auto_arguments;
mod bench;
mod blame;
mod blocking;
mod bounds;
mod browser;
mod confirm;
mod devices;
mod doctor;
#[cfg(unix)]
mod documents;
mod exit_codes;
mod explain;
mod export;
mod faults;
mod fleet;
mod gate;
mod guarantees;
mod hints;
mod import;
mod in_use;
mod kill;
mod known_issues;
mod machines;
mod merge;
mod mutants;
mod nightly;
mod null_device;
mod operands;
mod operators;
#[cfg(unix)]
#[path = "../src/output/options.rs"]
mod options;
mod outputs;
mod pack;
mod pack_check;
mod pack_choice;
mod pairs;
mod problem;
mod published;
mod readme;
mod refusals;
mod release;
mod report;
mod rerun;
mod residents;
mod resume;
mod schemas;
mod shard;
mod spaces;
mod split;
mod sweep;
mod sweeps;
mod terminal;
mod tidy;
mod tune;
mod units;
mod verify;
mod voice;
#[cfg(feature = "webgpu")]
mod webgpu;
