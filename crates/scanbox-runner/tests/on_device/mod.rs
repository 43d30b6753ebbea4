//! Kernels and backend on a real device: the first one that the loader lists (`VK_DRIVER_FILES` chooses the driver).
//!
//! Needs `SCANBOX_TEST_DEVICE=1`; without it every test says that it is skipped. `SCANBOX_VALIDATION=1` turns on the
//! validation layer, and then every test also asserts that it has nothing to say. One test runs at a time.

mod any_element;
mod comparisons;
mod deterministic;
mod device;
mod fallback;
mod guarantees;
mod harness;
mod library;
mod operands;
mod operator_laws;
mod operators;
mod order;
mod problems;
mod probe;
mod progress;
mod scan;
mod stages;
mod twin;
mod varied;
#[cfg(feature = "webgpu")]
mod webgpu;
