//! Filters: any text gives a filter or an error, and a filter takes any config.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scanbox_model::config::Config;
use scanbox_model::filter::Filter;

fuzz_target!(|text: &str| {
    let Ok(filter) = text.parse::<Filter>() else { return };
    for label in ["b4.vec4.par.rake.wg256.g1024", "b1.scalar.seq.blelloch.direct.packed.fill.wg64"] {
        let config: Config = label.parse().expect("a label");
        let _ = filter.accepts(&config);
    }
});
