//! The C interface: what `scanbox-vk` does, for programs in C and for whatever can call C.
//!
//! [`mod@structures`] are what both sides exchange, [`mod@functions`] what C calls. A call from C checks every pointer
//! and the size word of every structure, ends no program by a panic, and leaves a text about what went wrong
//! ([`mod@failure`]). `include/scanbox.h` is made of these files; a test compares.
//! Neighbours: `scanbox-vk` below. Nothing in Rust stands above.

#![expect(unsafe_code, reason = "C calls it")]
#![expect(clippy::doc_markdown, reason = "these comments go into the header, where names stand as they are")]

pub mod handles;
pub mod structures;
pub mod failure;
mod arguments;
pub mod functions;
