//! Sets of sizes: printing is the inverse of parsing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scanbox_model::sizes::Sizes;

fuzz_target!(|text: &str| {
    let Ok(sizes) = text.parse::<Sizes>() else { return };
    assert!(sizes.iter().all(|n| n >= 1 && n <= sizes.largest()));
    assert_eq!(sizes.to_string().parse(), Ok(sizes));
});
