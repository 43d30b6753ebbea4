//! Records calls of scans into command buffers of Vulkan: the one recorder, of programs that scan and of the runner
//! that measures.
//!
//! [`mod@record`] has the commands of a call, [`mod@push`] and [`mod@line`] what it is told, [`mod@step`] makes both of
//! the steps of a recipe, [`mod@pipeline`] makes pipelines; [`mod@features`] and [`mod@shape`] say whether a device can
//! run them. Handles and addresses are the caller's, as in Vulkan itself: nothing here is owned or waited for, no
//! driver is loaded, and recording neither allocates nor locks.
//! Neighbours: `scanbox-pack` below, which says what a call consists of; `scanbox-runner` above.

#![expect(unsafe_code, reason = "Vulkan is a C API")]

pub mod features;
pub mod line;
pub mod push;
pub mod pipeline;
pub mod record;
pub mod shape;
pub mod step;

pub use line::LineWords;
pub use push::Push;
pub use record::{Access, Dispatch, Told};
