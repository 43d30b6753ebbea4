//! Scans on a real device (with `SCANBOX_TEST_DEVICE=1`): every element of what recordings leave.

mod barriers;
mod bound;
mod costs;
mod examples;
mod gpu;
mod host_operators;
mod long;
mod operators;
mod queues;
mod replayed;
mod shapes;
mod together;
