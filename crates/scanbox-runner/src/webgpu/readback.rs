//! What a submission leaves for the host to read.

use std::sync::{Mutex, PoisonError};

use scanbox_model::record::Status;

use crate::backend::{Failure, TickInterval};

/// What a submission took, by the clock of the host, where that is all there is: of its only timed pass.
pub(super) fn wall(timed: usize, took_ns: u64) -> Vec<TickInterval> {
    vec![TickInterval { begin: 0, end: took_ns }; timed]
}

/// Pairs of timestamps of two words each.
pub(super) fn intervals(words: &[u32]) -> Vec<TickInterval> {
    let stamp = |words: &[u32]| u64::from(words[0]) | u64::from(words[1]) << 32;
    let interval = |words: &[u32]| TickInterval { begin: stamp(words), end: stamp(&words[2..]) };
    words.chunks_exact(4).map(interval).collect()
}

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
