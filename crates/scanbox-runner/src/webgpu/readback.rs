//! What a submission leaves for the host to read.

use std::sync::{Mutex, PoisonError};

use scanbox_model::record::Status;

use crate::backend::Failure;

/// What was mapped.
pub(super) fn read(
    readback: &wgpu::Buffer,
    bytes: u64,
    mapped: &Mutex<Option<Result<(), wgpu::BufferAsyncError>>>,
) -> Result<Vec<u32>, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(Status::RuntimeError, format!("wgpu: the results cannot be read: {why}"))
    };
    match mapped.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(Ok(())) => {}
        Some(Err(error)) => return Err(failed(&error)),
        None => return Err(failed(&"they were not mapped")),
    }
    let view = readback.slice(..bytes).get_mapped_range().map_err(|error| failed(&error))?;
    let words = view.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let words = words.collect();
    drop(view);
    readback.unmap();
    Ok(words)
}

/// Words as they go to the device.
pub(super) fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
