//! Scans on a real device (with `SCANBOX_TEST_DEVICE=1`): every element of what recordings leave.

mod bound;
mod examples;
mod gpu;
mod replayed;
mod shapes;
mod together;
