//! Runs: work in, files out, in two processes. No command line and no tables.
//!
//! From below: [`event`], [`notes`] and [`log`] are what a run says, [`protocol`] is what a supervisor and its worker
//! say to each other, [`failure`] what can end a run, [`device`] the only way to a device and its profile, with what
//! is known of it beside what its driver reports. [`process`] is a worker seen from its supervisor, [`lock`] keeps two
//! runs from one device or file, [`probe`] asks a device what no driver tells, [`supervise`] goes on whatever happens
//! to workers. [`store`] is the files of a sweep, and [`attempts`] those of one that moves from node to node. The
//! tasks ([`sweep`], [`verify`], [`mod@bench`], [`confirm`], [`anchors`]) say what workers do and where outcomes go;
//! [`worker`] is the process that does it. [`pairs`] lets two versions of scanbox measure in turns, [`mod@pack`] makes
//! of rows what is shipped, and [`pack_check`] tries that on a device.

pub mod anchors;
pub mod attempts;
pub mod bench;
mod breaker;
pub mod confirm;
pub mod device;
pub mod event;
pub mod failure;
pub mod lock;
pub mod log;
pub mod notes;
pub mod origin;
pub mod pack;
pub mod pack_check;
pub mod pairs;
pub mod probe;
pub mod process;
pub mod progress;
pub mod protocol;
pub mod signals;
pub mod store;
pub mod supervise;
pub mod sweep;
pub mod system;
pub mod tools;
pub mod verify;
pub mod worker;
