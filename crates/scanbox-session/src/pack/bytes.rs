//! The bytes of a pack file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use scanbox_pack::file::MAGIC;

/// All of it, where it begins as a pack; else no more than shows that it does not: a file of something else may be
/// larger than the memory.
///
/// # Errors
/// When it cannot be read.
pub fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
    if bytes == MAGIC {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
