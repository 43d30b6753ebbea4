//! Metadata: what can be read is written and read back.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use scanbox_model::metadata::Metadata;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz.meta.json");
    let Ok(metadata) = Metadata::from_bytes(bytes, path) else { return };
    let _ = Metadata::path_beside(path);
    let mut written = Vec::new();
    metadata.write_to(&mut written).expect("memory takes everything");
    let again = Metadata::from_bytes(&written, path).expect("what is written can be read");
    let mut twice = Vec::new();
    again.write_to(&mut twice).expect("memory takes everything");
    assert_eq!(written, twice);
});
