//! Space files: what can be read can be enumerated for a device, in bounded memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scanbox_model::space::Space;
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};

fuzz_target!(|text: &str| {
    let Ok(space) = Space::from_toml(text, "fuzz.toml") else { return };
    let replay = Replay::new(Script::default());
    let enumeration = space.enumerate(replay.profile(), |_, _, _| Ok(()));
    assert!(enumeration.points.iter().all(|point| space.sizes.contains(point.n)));
});
