//! Answers in, documents out: nothing here computes an answer, reads a command line or starts a process.
//!
//! Every answer is a [`document::Document`], which can be written in some [`document::Format`]s.

pub mod analysis;
pub mod bench;
pub mod blocking;
pub mod compare;
pub mod compiled;
mod curve;
pub mod devices;
pub mod dispatch;
pub mod doctor;
pub mod document;
pub mod evidence;
pub mod explained;
pub mod figure;
pub mod grid;
pub mod html;
pub mod kernel_files;
pub mod launch;
mod library;
pub mod merge;
pub mod overview;
pub mod pack;
pub mod pack_tried;
pub mod paint;
pub mod paste;
pub mod plot;
pub mod records;
pub mod schemas;
pub mod space;
pub mod sweep;
pub mod terminal;
pub mod verify;
pub mod versus;
pub mod words;
