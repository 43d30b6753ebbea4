//! Records calls of scans into command buffers of Vulkan: the one recorder, of programs that scan and of the runner
//! that measures.
//!
//! A program asks [`wanted`] what to enable on its device, makes a [`Scanner`] from its device and a pack, a [`Scan`]
//! for a problem, and records [`Scan::cmd_scan`] wherever it likes; [`Bound`] is for kernels whose arguments stand in
//! memory or are constants. [`HandOverError`] says what is wrong and how to mend it.
//!
//! Below that, [`mod@record`] has the commands of a call, [`mod@push`] and [`mod@line`] what it is told, [`mod@step`]
//! makes both of the steps of a recipe, [`mod@pipeline`] makes pipelines; [`mod@features`] and [`mod@shape`] say
//! whether a device can run them. Handles and addresses are the caller's, as in Vulkan itself: nothing but pipelines is
//! owned, nothing is waited for, no driver is loaded, and recording neither allocates nor locks.
//! Neighbours: `scanbox-pack` below, which says what a call consists of; `scanbox-runner` above.

#![expect(unsafe_code, reason = "Vulkan is a C API")]

pub mod features;
pub mod driver;
pub mod line;
pub mod push;
pub mod pipeline;
pub mod record;
pub mod shape;
pub mod step;
mod hand_over_error;
mod wanted;
mod device_facts;
mod call;
mod ranges;
mod scanner;
mod scan;
mod scan_maker;
mod bound;
mod words;

pub use bound::{Bound, LineBuffer, LineNeeds};
pub use call::{CallLength, DeviceRange, ScanCall};
pub use features::Features;
pub use hand_over_error::{HandOverError, NotSplit, Operand};
pub use line::LineWords;
pub use push::Push;
pub use record::{Access, Dispatch, Told};
pub use scan::{ChosenKernel, MeasuredTime, Scan, ScanSync, ScratchNeeds, UnalignedKernel};
pub use scanner::{Scanner, ScannerInfo};
pub use wanted::{Wanted, wanted};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/use-in-your-program.md")]
struct GuideForPrograms;
