//! Plan and device in, measured record out.
//!
//! [`sweep`] is the whole pipeline of a run. [`verify`] and [`measure`] are its two steps per config; a verification
//! without times runs the first of them alone, on the cases where scans go wrong ([`scanbox_kernels::cases`]).
//! [`mod@bench`] measures few subjects against each other in alternating blocks, among them other implementations
//! ([`baseline`]). [`session`] is what these three do alike before they run: prepare, load, plan. [`mod@serve`]
//! answers another version of scanbox as a baseline does. [`packed`] tries what is in a pack. [`backend`] is what
//! all need from a device; [`replay`], [`vulkan`] and `webgpu` are the devices there are, and [`mod@select`] tells
//! which of them a user names.

pub mod backend;
#[cfg(any(not(target_family = "wasm"), feature = "webgpu"))]
mod comparison_report;
pub mod prepare;
pub mod row;
pub mod select;
pub mod session;
pub mod subject;
pub mod twin;
pub mod verify;
pub mod measure;
pub mod sweep;
pub mod baseline;
pub mod bench;
pub mod serve;
pub mod probe;
pub mod guarantees;
pub mod packed;
pub mod replay;
#[cfg(not(target_family = "wasm"))]
#[expect(unsafe_code, reason = "Vulkan is a C API: the only module that may call it")]
pub mod vulkan;
#[cfg(feature = "webgpu")]
pub mod webgpu;
