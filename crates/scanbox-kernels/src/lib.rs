//! Config in, executable plan out.
//!
//! [`catalog`] knows every kernel: its rules, its shader and defines, its memory. [`glsl`] compiles shaders from
//! sources embedded in the binary. [`mod@reference`] makes inputs and the CPU's answer. Needs shaderc, not Vulkan.
//! Neighbours: `scanbox-model` below, `scanbox-runner` above.

pub mod plan;
pub mod catalog;
pub mod glsl;
pub mod reference;

pub use catalog::legal;
