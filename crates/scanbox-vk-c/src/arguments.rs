//! What C passes, as what Rust takes: pointers that are not null, structures of the right size, texts, words.

use std::ffi::{CStr, c_char};

use scanbox_pack::{ArgumentKind, CallUse, Pack, Promises, ScanMode, ScanProblem};
use scanbox_vk::{CallLength, DeviceRange, Features, ScanCall};

use crate::failure::Refusal;
use crate::structures::{
    SCANBOX_MODE_EXCLUSIVE, SCANBOX_MODE_INCLUSIVE, SCANBOX_MODE_REDUCE, SCANBOX_MODE_REVERSE,
    SCANBOX_TEXT_CHARACTERS, SCANBOX_USE_ANY_ELEMENT, SCANBOX_USE_BAKED, SCANBOX_USE_INIT_IN_MEMORY,
    SCANBOX_USE_LINE, SCANBOX_USE_N_ON_DEVICE, SCANBOX_USE_SCRATCH_OVERWRITTEN, SCANBOX_USE_TOTAL,
    ScanboxCall, ScanboxFeatures, ScanboxRange, ScanboxScanInfo,
};

/// A structure that begins with its size.
///
/// # Safety
/// It is `repr(C)`, and its first field is a `usize` that says how many bytes the program has.
pub(crate) unsafe trait SizedStructure {
    /// Its name in C.
    const NAME: &'static str;
}

/// Bytes that a structure of a newer header may have more. They are read, so that the program has to have them: a size
/// that is wrong by less is as bad as a pointer to nowhere.
const MOST_UNKNOWN: usize = 4096;

/// A pointer to a structure, if it is none by mistake.
///
/// # Safety
/// The pointer is null, or points to memory of the program that is as large as its first word says.
pub(crate) unsafe fn structure<T: SizedStructure>(pointer: *mut T) -> Result<*mut T, Refusal> {
    let name = T::NAME;
    if pointer.is_null() {
        return Err(Refusal::argument(format_args!("the pointer to {name} is NULL: pass one")));
    }
    if !pointer.is_aligned() {
        return Err(Refusal::argument(format_args!(
            "the pointer to {name} is not aligned as the structure is"
        )));
    }
    // SAFETY: the caller sees to the memory, which begins with its size.
    let size = unsafe { pointer.cast::<usize>().read() };
    let needed = size_of::<T>();
    if size < needed {
        return Err(Refusal::argument(format_args!(
            "{name}.size is {size}, and this library knows {needed} bytes of it: set it to sizeof({name}), and compile \
             with the header of this library",
        )));
    }
    if size - needed > MOST_UNKNOWN {
        return Err(Refusal::argument(format_args!("{name}.size is {size}: set it to sizeof({name})")));
    }
    // A newer header may have more. What it says with zeros is what this library does.
    // SAFETY: the memory is as large as its first word says.
    let unknown = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(needed), size - needed) };
    if unknown.iter().any(|byte| *byte != 0) {
        return Err(Refusal::argument(format_args!(
            "{name}.size is {size}, and what stands behind the {needed} bytes that this library knows is not zero: use a newer \
             library, or leave what it does not know at zero",
        )));
    }
    Ok(pointer)
}

macro_rules! sized {
    ($($structure:ty = $name:literal;)+) => {
        $(
            // SAFETY: `structures` declares it so.
            unsafe impl SizedStructure for $structure {
                const NAME: &'static str = $name;
            }
        )+
    };
}

sized! {
    ScanboxFeatures = "scanbox_features";
    crate::structures::ScanboxScannerInfo = "scanbox_scanner_info";
    ScanboxScanInfo = "scanbox_scan_info";
    crate::structures::ScanboxScratch = "scanbox_scratch";
    crate::structures::ScanboxChosen = "scanbox_chosen";
    crate::structures::ScanboxSync = "scanbox_sync";
    ScanboxCall = "scanbox_call";
    crate::structures::ScanboxLineNeeds = "scanbox_line_needs";
    crate::structures::ScanboxLine = "scanbox_line";
}

/// A handle of this library.
///
/// # Safety
/// The pointer is null, or this library gave it and it has not been freed.
pub(crate) unsafe fn handle<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Refusal> {
    // SAFETY: the caller sees to it.
    unsafe { pointer.as_ref() }
        .ok_or_else(|| Refusal::argument(format_args!("{name} is NULL: pass one that was made")))
}

/// Where a handle goes. What stood there is overwritten by NULL first.
///
/// # Safety
/// The pointer is null, or points to a pointer of the program.
pub(crate) unsafe fn place<'a, T>(pointer: *mut *mut T) -> Result<&'a mut *mut T, Refusal> {
    // SAFETY: the caller sees to it.
    let place = unsafe { pointer.as_mut() };
    let place =
        place.ok_or_else(|| Refusal::argument("the pointer that the handle goes to is NULL: pass one"))?;
    *place = std::ptr::null_mut();
    Ok(place)
}

/// A text of the program.
///
/// # Safety
/// The pointer is null, or points to characters up to a zero.
unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Refusal> {
    if pointer.is_null() {
        return Err(Refusal::argument(format_args!("{name} is NULL: pass a text, as \"u32\" or \"add\"")));
    }
    // SAFETY: the caller sees to it.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Refusal::argument(format_args!("{name} is not UTF-8")))
}

/// Copies a text into a structure, cut where it does not fit.
pub(crate) fn put_text(text: &str, into: &mut [c_char; SCANBOX_TEXT_CHARACTERS]) {
    into.fill(0);
    // The last one stays zero.
    for (character, byte) in into.iter_mut().zip(text.bytes().take(SCANBOX_TEXT_CHARACTERS - 1)) {
        *character = byte as c_char;
    }
}

pub(crate) fn promises(bits: u32) -> Result<Promises, Refusal> {
    Promises::from_bits(bits).ok_or_else(|| {
        Refusal::argument(format_args!(
            "promises are {bits:#x}, and this library knows the bits of {:#x}",
            Promises::ALL.bits()
        ))
    })
}

/// The features that a program says are enabled.
pub(crate) fn features(from: &ScanboxFeatures) -> Features {
    let &ScanboxFeatures { v10, v12, v13, uniform_control_flow, maximal_reconvergence, .. } = from;
    Features { v10, v12, v13, uniform_control_flow, maximal_reconvergence }
}

pub(crate) fn call_use(uses: u32) -> Result<CallUse, Refusal> {
    const ALL: u32 = SCANBOX_USE_N_ON_DEVICE
        | SCANBOX_USE_TOTAL
        | SCANBOX_USE_INIT_IN_MEMORY
        | SCANBOX_USE_SCRATCH_OVERWRITTEN
        | SCANBOX_USE_ANY_ELEMENT
        | SCANBOX_USE_LINE
        | SCANBOX_USE_BAKED;
    let has = |flag: u32| uses & flag != 0;
    if uses & !ALL != 0 {
        return Err(Refusal::argument(format_args!(
            "uses are {uses:#x}, and this library knows the bits of {ALL:#x}"
        )));
    }
    let arguments = match (has(SCANBOX_USE_LINE), has(SCANBOX_USE_BAKED)) {
        (false, false) => ArgumentKind::Pushed,
        (true, false) => ArgumentKind::Line,
        (false, true) => ArgumentKind::Baked,
        (true, true) => {
            return Err(Refusal::argument(
                "SCANBOX_USE_LINE with SCANBOX_USE_BAKED: arguments stand in one place",
            ));
        }
    };
    Ok(CallUse {
        n_on_device: has(SCANBOX_USE_N_ON_DEVICE),
        total: has(SCANBOX_USE_TOTAL),
        init_in_memory: has(SCANBOX_USE_INIT_IN_MEMORY),
        scratch_overwritten: has(SCANBOX_USE_SCRATCH_OVERWRITTEN),
        arguments,
        any_element: has(SCANBOX_USE_ANY_ELEMENT),
    })
}

/// The scan that a program asks for: one of scanbox's own operators, or a user's that the pack has.
///
/// # Safety
/// What the structure points to is there.
pub(crate) unsafe fn scan_problem(info: &ScanboxScanInfo, pack: &Pack) -> Result<ScanProblem, Refusal> {
    let reverse = info.mode & SCANBOX_MODE_REVERSE != 0;
    let mode = match info.mode & !SCANBOX_MODE_REVERSE {
        SCANBOX_MODE_INCLUSIVE => ScanMode::Inclusive,
        SCANBOX_MODE_EXCLUSIVE => ScanMode::Exclusive,
        SCANBOX_MODE_REDUCE => ScanMode::Reduce,
        _ => {
            let mode = info.mode;
            return Err(Refusal::argument(format_args!("mode is {mode}: use one of SCANBOX_MODE_...")));
        }
    };
    // SAFETY: the caller sees to the texts.
    let element = unsafe { text(info.element, "scanbox_scan_info.element") }?;
    // SAFETY: as above.
    let operator = unsafe { text(info.operator_name, "scanbox_scan_info.operator_name") }?;
    let in_place = info.in_place != 0;
    let init = match (info.init.is_null(), info.init_words) {
        (true, 0) => None,
        (true, words) => {
            return Err(Refusal::argument(format_args!(
                "init_words is {words}, and init is NULL: point to the words"
            )));
        }
        (false, 0) => {
            return Err(Refusal::argument("init is there, and init_words is 0: say how many words it has"));
        }
        // SAFETY: the caller sees to the words. No element has more than four.
        (false, words) => Some(unsafe { std::slice::from_raw_parts(info.init, words.min(4)) }),
    };
    if let Some(scan) = ScanProblem::built_in(mode, element, operator) {
        let scan = if in_place { scan.in_place() } else { scan };
        let scan = if reverse { scan.reversed() } else { scan };
        let words = scan.element_bytes as usize / 4;
        return match init {
            None => Ok(scan),
            Some(init) if init.len() == words => Ok(scan.begin_with(init)),
            Some(_) => Err(Refusal::argument(format_args!(
                "init_words is {}, and an element of {element} has {words}",
                info.init_words
            ))),
        };
    }
    let same = |scan: &&ScanProblem| {
        (scan.mode, &*scan.element, &*scan.operator) == (mode, element, operator)
            && (scan.in_place, scan.reverse) == (in_place, reverse)
            && init.is_none_or(|init| init == scan.init)
    };
    let scans = || pack.data().problems.iter().map(|problem| &problem.scan);
    scans().find(same).cloned().ok_or_else(|| {
        let mut known: Vec<String> = scans().map(|scan| format!("{} of {}", scan.operator, scan.element)).collect();
        known.dedup();
        Refusal::no_kernel(format_args!(
            "the pack has no scan by {operator} of {element}, in the place and the direction asked for, and neither has \
             scanbox: it has {}; make a pack with it (`scanbox pack`)",
            known.join(", "),
        ))
    })
}

pub(crate) fn range(range: ScanboxRange) -> DeviceRange {
    DeviceRange { address: range.address, bytes: range.bytes }
}

pub(crate) fn call(call: &ScanboxCall) -> Result<ScanCall, Refusal> {
    let n = match (call.n, call.n_address) {
        (n, 0) => CallLength::Host(n),
        (0, address) => CallLength::Device { address },
        (n, _) => {
            return Err(Refusal::argument(format_args!(
                "scanbox_call has n = {n} and n_address: where memory says how many elements there are, n is 0",
            )));
        }
    };
    let given = |address: u64| (address != 0).then_some(address);
    Ok(ScanCall {
        input: range(call.input),
        output: range(call.output),
        scratch: range(call.scratch),
        n,
        init: given(call.init_address),
        total: given(call.total_address),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_end() {
        let mut into = [1; SCANBOX_TEXT_CHARACTERS];
        put_text("b4", &mut into);
        assert_eq!(into[..4], [b'b' as c_char, b'4' as c_char, 0, 0]);
        put_text(&"x".repeat(2 * SCANBOX_TEXT_CHARACTERS), &mut into);
        assert_eq!(
            (into[SCANBOX_TEXT_CHARACTERS - 2], into[SCANBOX_TEXT_CHARACTERS - 1]),
            (b'x' as c_char, 0)
        );
    }

    #[test]
    fn uses_are_what_their_bits_say() {
        let plain = CallUse::default();
        for (bits, expected) in [
            (0, plain),
            (SCANBOX_USE_N_ON_DEVICE, CallUse { n_on_device: true, ..plain }),
            (SCANBOX_USE_TOTAL, CallUse { total: true, ..plain }),
            (SCANBOX_USE_INIT_IN_MEMORY, CallUse { init_in_memory: true, ..plain }),
            (SCANBOX_USE_SCRATCH_OVERWRITTEN, CallUse { scratch_overwritten: true, ..plain }),
            (SCANBOX_USE_ANY_ELEMENT, CallUse { any_element: true, ..plain }),
            (SCANBOX_USE_LINE, CallUse { arguments: ArgumentKind::Line, ..plain }),
            (SCANBOX_USE_BAKED, CallUse { arguments: ArgumentKind::Baked, ..plain }),
        ] {
            assert!(call_use(bits).is_ok_and(|found| found == expected), "{bits}");
        }
    }
}
