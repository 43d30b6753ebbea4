//! Files of records: what can be read is written and read back, and a cut file has the same rows up to the cut.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use scanbox_model::csv_file;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz.csv");
    let Ok(found) = csv_file::read_bytes(bytes, path) else { return };
    let cut = &bytes[..found.complete_bytes as usize];
    if !cut.is_empty() {
        let again = csv_file::read_bytes(cut, path).expect("complete lines read alike");
        assert_eq!(again.records, found.records);
    }
    for record in &found.records {
        let _ = record.config().map(|config| config.tiles(record.n_elements));
        let _ = record.throughput_gbps(Default::default());
    }
    let mut written = Vec::new();
    csv_file::write(&mut written, true, &found.records).expect("memory takes everything");
    let again = csv_file::read_bytes(&written, path).expect("what is written can be read");
    assert_eq!(again.records.len(), found.records.len());
    let mut twice = Vec::new();
    csv_file::write(&mut twice, true, &again.records).expect("memory takes everything");
    assert_eq!(written, twice);
});
