//! Scans whose pipelines know where they find what they are told.

use scanbox_vk::{Bound, LineBuffer};

use super::scan::{ScanboxScan, recording};
use crate::arguments::{call, handle, place, range, structure};
use crate::failure::{Refusal, ScanboxResult, checked};
use crate::handles::{VkCommandBuffer, VkDeviceAddress};
use crate::structures::{ScanboxCall, ScanboxLine, ScanboxLineNeeds};

/// A scan that is bound to memory: see scanbox_bound_create.
pub struct ScanboxBound {
    bound: Bound,
}

/// The memory that arguments of a scan need which was made with SCANBOX_USE_LINE.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scan_line_needs(
    scan: *const ScanboxScan,
    needs: *mut ScanboxLineNeeds,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let found = unsafe { handle(scan, "the scan") }?.scan.line_needs();
        // SAFETY: the program sees to the structure, which is as large as it says.
        let into = unsafe { &mut *structure(needs)? };
        (into.bytes, into.alignment) = (found.bytes, found.alignment);
        Ok(())
    })
}

/// Binds a scan that was made with SCANBOX_USE_LINE or SCANBOX_USE_BAKED to the scratch memory and the number of
/// elements of a call; where arguments are constants, to all of the call. Makes pipelines, which takes milliseconds.
/// line is NULL where arguments are constants. One call at a time may run of what is bound.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_bound_create(
    scan: *const ScanboxScan,
    line: *const ScanboxLine,
    call_info: *const ScanboxCall,
    bound: *mut *mut ScanboxBound,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the pointer.
        let place = unsafe { place(bound) }?;
        // SAFETY: the program sees to the handle.
        let scan = &unsafe { handle(scan, "the scan") }?.scan;
        let lines = if line.is_null() {
            None
        } else {
            // SAFETY: the program sees to the structure, which is as large as it says.
            let line = unsafe { &*structure(line.cast_mut())? };
            Some(LineBuffer { buffer: line.buffer, offset: line.offset, range: range(line.memory) })
        };
        // SAFETY: the program sees to the structure, which is as large as it says.
        let told = call(unsafe { &*structure(call_info.cast_mut())? })?;
        // SAFETY: the program sees to the memory.
        let bound = unsafe { scan.bind(lines, &told) }?;
        *place = Box::into_raw(Box::new(ScanboxBound { bound }));
        Ok(())
    })
}

/// Frees what was bound, and its pipelines, when nothing that was recorded with it will run any more. NULL is fine.
///
/// # Safety
/// As [`mod@super`] says; nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_bound_destroy(bound: *mut ScanboxBound) {
    if !bound.is_null() {
        // SAFETY: it was made here, and the program frees it once.
        let bound = unsafe { Box::from_raw(bound) };
        checked(|| {
            drop(bound);
            Ok(())
        });
    }
}

/// The address of the word that says how many elements the next call has, where the scan was made with
/// SCANBOX_USE_N_ON_DEVICE too: the device may write it, with barriers. 0 where there is none.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_bound_length_address(
    bound: *const ScanboxBound,
    address: *mut VkDeviceAddress,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let found = unsafe { handle(bound, "what is bound") }?.bound.length_address();
        // SAFETY: the program sees to the pointer.
        let into = unsafe { address.as_mut() };
        *into.ok_or_else(|| Refusal::argument("the pointer that the address goes to is NULL: pass one"))? =
            found.unwrap_or(0);
        Ok(())
    })
}

/// Records what the next calls are told, with barriers on both sides: before the first one, and where arrays or, where
/// the device says how many, elements are others.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_bound_cmd_set(
    bound: *const ScanboxBound,
    command_buffer: VkCommandBuffer,
    call_info: *const ScanboxCall,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let bound = &unsafe { handle(bound, "what is bound") }?.bound;
        let commands = recording(command_buffer)?;
        // SAFETY: the program sees to the structure, which is as large as it says.
        let told = call(unsafe { &*structure(call_info.cast_mut())? })?;
        // SAFETY: the program sees to command buffer and memory.
        Ok(unsafe { bound.cmd_set(commands, &told) }?)
    })
}

/// Records one call, of what was told last.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_bound_cmd_scan(
    bound: *const ScanboxBound,
    command_buffer: VkCommandBuffer,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let bound = &unsafe { handle(bound, "what is bound") }?.bound;
        let commands = recording(command_buffer)?;
        // SAFETY: the program sees to command buffer and memory.
        unsafe { bound.cmd_scan(commands) };
        Ok(())
    })
}
