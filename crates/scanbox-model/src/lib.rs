//! The vocabulary of scanbox, and the only code that reads and writes it.
//!
//! Everything else speaks in these terms: a [`problem::Problem`] says what is computed, a [`config::Config`] which
//! kernel runs in which launch shape, a [`space::Space`] is a set of them, a [`device::DeviceProfile`] is what one
//! device can do, and a
//! [`record::Record`] is one measured row. [`metadata::Metadata`] says how a file of records was made.
//! Neighbours: `scanbox-kernels` turns a config into an executable plan, `scanbox-runner` turns a plan into a
//! record, `scanbox-analysis` turns records into answers.

pub mod nearest;
#[macro_use]
pub mod parameters;
pub mod config;
pub mod deterministic;
pub mod probe;
pub mod problem;
pub mod user_operator;
pub mod sizes;
pub mod sample;
pub mod space;
pub mod shard;
pub mod merged;
mod stateless;
pub mod filter;
pub mod guarantee_probe;
pub mod api;
pub mod device_api;
pub mod timer;
pub mod device;
pub mod known_issues;
pub mod safe_devices;
pub mod call_form;
pub mod record;
pub mod row_rules;
pub mod csv_file;
pub mod pair_file;
pub mod metadata;
pub mod units;
pub mod whole_file;
