//! Scripts of the replay device: any text gives a script or an error, and a script gives a device.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scanbox_runner::backend::Backend;
use scanbox_runner::replay::{Replay, Script};

fuzz_target!(|text: &str| {
    let Ok(script) = toml::from_str::<Script>(text) else { return };
    let replay = Replay::new(script);
    assert_eq!(replay.loaded_elements(), 0);
});
