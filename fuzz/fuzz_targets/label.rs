//! Labels: printing is the inverse of parsing, and no shape that can be written overflows.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scanbox_model::config::{Config, Kernel};

fuzz_target!(|text: &str| {
    if let Ok(kernel) = text.parse::<Kernel>() {
        assert_eq!(kernel.to_string(), text);
        let _ = kernel.items_per_invocation();
    }
    if let Ok(config) = text.parse::<Config>() {
        assert_eq!(config.to_string(), text);
        let _ = (config.tile_elements(), config.fixed_elements(), config.tiles(1 << 40));
    }
});
