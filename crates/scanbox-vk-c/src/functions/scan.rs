//! Scans, and the recording of their calls.

use ash::vk::Handle;
use scanbox_vk::{Access, Scan};

use super::scanner::ScanboxScanner;
use crate::arguments::{call, call_use, handle, place, put_text, range, scan_problem, structure};
use crate::failure::{Refusal, ScanboxResult, checked};
use crate::handles::VkCommandBuffer;
use crate::structures::{
    ScanboxAccess, ScanboxCall, ScanboxChosen, ScanboxRange, ScanboxScanInfo, ScanboxScratch, ScanboxSync,
};

/// A scan of up to so many elements: see scanbox_scan_create.
pub struct ScanboxScan {
    pub(super) scan: Scan,
}

/// A command buffer that is there.
pub(super) fn recording(commands: VkCommandBuffer) -> Result<VkCommandBuffer, Refusal> {
    match commands.is_null() {
        true => Err(Refusal::argument("the command buffer is VK_NULL_HANDLE: pass one that is recording")),
        false => Ok(commands),
    }
}

/// Makes a scan. Its pipelines are made here, which may take a while; recording makes none.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scan_create(
    scanner: *const ScanboxScanner,
    info: *const ScanboxScanInfo,
    scan: *mut *mut ScanboxScan,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the pointer.
        let place = unsafe { place(scan) }?;
        // SAFETY: the program sees to the handle.
        let scanner = &unsafe { handle(scanner, "the scanner") }?.scanner;
        // SAFETY: the program sees to the structure, which is as large as it says.
        let info = unsafe { &*structure(info.cast_mut())? };
        // SAFETY: the program sees to what it points to.
        let problem = unsafe { scan_problem(info, scanner.pack()) }?;
        let scan = scanner.scan(&problem, info.max_n, call_use(info.uses)?)?;
        *place = Box::into_raw(Box::new(ScanboxScan { scan }));
        Ok(())
    })
}

/// Frees a scan, when nothing that was recorded with it will run any more. NULL is fine.
///
/// # Safety
/// As [`mod@super`] says; nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scan_destroy(scan: *mut ScanboxScan) {
    if !scan.is_null() {
        // SAFETY: it was made here, and the program frees it once.
        let scan = unsafe { Box::from_raw(scan) };
        checked(|| {
            drop(scan);
            Ok(())
        });
    }
}

/// The scratch memory that calls need. Each call that may run at the same time as another one needs its own.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scan_scratch(
    scan: *const ScanboxScan,
    scratch: *mut ScanboxScratch,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let needs = unsafe { handle(scan, "the scan") }?.scan.scratch();
        // SAFETY: the program sees to the structure, which is as large as it says.
        let into = unsafe { &mut *structure(scratch)? };
        (into.bytes, into.alignment) = (needs.bytes, needs.alignment);
        Ok(())
    })
}

/// What runs for so many elements, 0 standing for 1.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scan_chosen(
    scan: *const ScanboxScan,
    n: u64,
    chosen: *mut ScanboxChosen,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let found = unsafe { handle(scan, "the scan") }?.scan.chosen(n);
        // SAFETY: the program sees to the structure, which is as large as it says.
        let into = unsafe { &mut *structure(chosen)? };
        into.alignment = found.alignment;
        into.nanoseconds = found.measured.map_or(0.0, |time| time.nanoseconds);
        into.measured_n = found.measured.map_or(0, |time| time.n);
        put_text(found.label, &mut into.label);
        put_text(&found.reason.to_string(), &mut into.reason);
        put_text(found.unaligned.map_or("", |kernel| kernel.label), &mut into.unaligned_label);
        Ok(())
    })
}

/// What the program's barriers have on their side of a call, or of scanbox_cmd_prepare.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_scan_sync(
    scan: *const ScanboxScan,
    sync: *mut ScanboxSync,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let found = unsafe { handle(scan, "the scan") }?.scan.sync();
        // SAFETY: the program sees to the structure, which is as large as it says.
        let into = unsafe { &mut *structure(sync)? };
        let side = |access: Access| ScanboxAccess { stages: access.stages, access: access.memory };
        (into.before, into.behind) = (side(found.before), side(found.behind));
        Ok(())
    })
}

/// Records what makes scratch memory fit for calls: once before the first call on it, and after somebody else has
/// written there. A barrier has to stand between this and a call.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_cmd_prepare(
    scan: *const ScanboxScan,
    command_buffer: VkCommandBuffer,
    scratch: ScanboxRange,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let scan = &unsafe { handle(scan, "the scan") }?.scan;
        let commands = recording(command_buffer)?;
        // SAFETY: the program sees to command buffer and memory.
        Ok(unsafe { scan.cmd_prepare(commands, range(scratch)) }?)
    })
}

/// Records one call. Binds a compute pipeline and pushes constants; neither locks nor allocates. The recording may be
/// submitted any number of times. Where this fails, nothing was recorded.
///
/// # Safety
/// As [`mod@super`] says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scanbox_cmd_scan(
    scan: *const ScanboxScan,
    command_buffer: VkCommandBuffer,
    call_info: *const ScanboxCall,
) -> ScanboxResult {
    checked(|| {
        // SAFETY: the program sees to the handle.
        let scan = &unsafe { handle(scan, "the scan") }?.scan;
        let commands = recording(command_buffer)?;
        // SAFETY: the program sees to the structure, which is as large as it says.
        let told = call(unsafe { &*structure(call_info.cast_mut())? })?;
        // SAFETY: the program sees to command buffer and memory.
        Ok(unsafe { scan.cmd_scan(commands, &told) }?)
    })
}
