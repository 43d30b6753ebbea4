//! Config in, executable plan out.
//!
//! [`catalog`] knows every kernel: its rules, its shader and defines, its memory. [`glsl`] compiles shaders from
//! sources embedded in the binary, [`wgsl`] makes those of WebGPU, [`packing`] puts recipes into packs. [`input`]
//! makes inputs, [`mod@reference`] the CPU's answer, [`operator_file`] reads users' operators, and [`rounding`] says
//! how far from it sums of floats may be. [`cases`] are the sizes, inputs and circumstances in which scans go wrong;
//! [`ledger`] is what scratch memory has seen. Needs shaderc, unless feature `compile` is off, and not Vulkan.
//! Neighbours: `scanbox-model` below, `scanbox-runner` above.

pub mod plan;
pub mod ledger;
pub mod catalog;
#[cfg(feature = "compile")]
pub mod glsl;
#[cfg(feature = "compile")]
pub mod packing;
pub mod input;
pub mod operator_file;
pub mod reference;
pub mod rounding;
pub mod variant;
pub mod wgsl;
pub mod cases;

pub use catalog::legal;
