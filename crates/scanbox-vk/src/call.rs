//! Calls: what a program passes, and what must hold of it. Nothing here allocates.

use scanbox_pack::layout::element_alignment;
use scanbox_pack::{CallUse, ScanMode};

use crate::hand_over_error::{HandOverError, Operand};
use crate::step::CallMemory;

/// Memory of a device, by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceRange {
    /// Where it begins (`vkGetBufferDeviceAddress`, and an offset).
    pub address: u64,
    /// How many bytes of it there are.
    pub bytes: u64,
}

/// How many elements a call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallLength {
    /// This many.
    Host(u64),
    /// As many as a word of 32 bits says when the call runs; more than the scan was made for count as that many.
    Device {
        /// Where the word stands.
        address: u64,
    },
}

/// One call of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanCall {
    /// What is scanned.
    pub input: DeviceRange,
    /// Where the scan goes: of a reduction one element, of a scan in place the input.
    pub output: DeviceRange,
    /// Scratch memory, as large and aligned as [`crate::Scan::scratch`] says; where that says 0 bytes, address 0. No
    /// other call that may run at the same time has it.
    pub scratch: DeviceRange,
    /// How many elements there are.
    pub n: CallLength,
    /// The address of the element that the scan or reduction begins with, where the scan was made for that
    /// ([`CallUse::init_in_memory`]).
    pub init: Option<u64>,
    /// The address where the total goes, where the scan was made for that ([`CallUse::total`]).
    pub total: Option<u64>,
}

/// What calls of a scan have to be like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallRules {
    pub mode: ScanMode,
    pub in_place: bool,
    pub element_bytes: u64,
    pub call_use: CallUse,
    /// Elements at most.
    pub max_n: u64,
    /// Bytes of scratch memory.
    pub scratch_bytes: u64,
}

/// Scratch memory begins at multiples of this many bytes, and so does what each kernel has of it.
pub(crate) const SCRATCH_ALIGNMENT: u64 = 256;

/// A call that may be recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedCall {
    /// What it works on.
    pub memory: CallMemory,
    /// Elements, or as many as there may be.
    pub n: u64,
}

/// An address that a call has exactly if the scan was made for it.
fn given(what: Operand, address: Option<u64>, wanted: bool, alignment: u64) -> Result<u64, HandOverError> {
    match (address, wanted) {
        (None, false) => Ok(0),
        (None, true) => Err(HandOverError::Missing { what }),
        (Some(0), true) => Err(HandOverError::NullAddress { what }),
        (Some(_), false) => Err(HandOverError::Unexpected { what }),
        (Some(address), true) => aligned(what, address, alignment).map(|()| address),
    }
}

pub(crate) fn aligned(what: Operand, address: u64, needed: u64) -> Result<(), HandOverError> {
    // Alignments are powers of two.
    if address & (needed - 1) == 0 {
        Ok(())
    } else {
        Err(HandOverError::Misaligned { what, address, needed })
    }
}

/// An array that begins where an element may.
fn at_element(what: Operand, address: u64, element_bytes: u64) -> Result<(), HandOverError> {
    let inside = HandOverError::InsideElement { what, address, element_bytes };
    aligned(what, address, element_alignment(element_bytes)).map_err(|_| inside)
}

/// Memory that is there, and has so many bytes.
pub(crate) fn large_enough(what: Operand, range: DeviceRange, needed: u64) -> Result<(), HandOverError> {
    if range.address == 0 {
        Err(HandOverError::NullAddress { what })
    } else if range.bytes < needed {
        Err(HandOverError::TooSmall { what, bytes: range.bytes, needed })
    } else if range.address.checked_add(needed).is_none() {
        // Memory ends where addresses do.
        Err(HandOverError::TooSmall { what, bytes: range.address.wrapping_neg(), needed })
    } else {
        Ok(())
    }
}

/// Whether two ranges, by address and bytes, share none.
pub(crate) fn apart((one, bytes): (u64, u64), (other, other_bytes): (u64, u64)) -> bool {
    bytes == 0
        || other_bytes == 0
        || one.saturating_add(bytes) <= other
        || other.saturating_add(other_bytes) <= one
}

impl CallRules {
    /// Bytes that calls of so many elements write into their output.
    pub fn output_bytes(&self, n: u64) -> u64 {
        if self.mode == ScanMode::Reduce { self.element_bytes } else { n * self.element_bytes }
    }

    /// Whether a call without elements has something to do.
    pub fn stores_one(&self) -> bool {
        self.mode == ScanMode::Reduce || self.call_use.total
    }

    /// What scratch memory has to be like.
    pub fn check_scratch(&self, scratch: DeviceRange) -> Result<(), HandOverError> {
        if self.scratch_bytes == 0 {
            return Ok(());
        }
        large_enough(Operand::Scratch, scratch, self.scratch_bytes)?;
        aligned(Operand::Scratch, scratch.address, SCRATCH_ALIGNMENT)
    }

    /// What a call works on, if all of it fits together but where vectors begin.
    pub fn check(&self, call: &ScanCall) -> Result<CheckedCall, HandOverError> {
        let Self { element_bytes, call_use, max_n, scratch_bytes, .. } = *self;
        let ScanCall { input, output, scratch, .. } = *call;
        let (n, elements) = match call.n {
            CallLength::Host(_) if call_use.n_on_device => {
                return Err(HandOverError::Missing { what: Operand::Length });
            }
            CallLength::Host(n) if n > max_n => return Err(HandOverError::TooLarge { n, max: max_n }),
            CallLength::Host(n) => (n, None),
            // It may be any number up to this one.
            CallLength::Device { address } => (max_n, Some(address)),
        };
        let elements = given(Operand::Length, elements, call_use.n_on_device, 4)?;
        let alignment = element_alignment(element_bytes);
        let initial = given(Operand::Init, call.init, call_use.init_in_memory, alignment)?;
        let total = given(Operand::Total, call.total, call_use.total, alignment)?;
        let (read, written) = (n * element_bytes, self.output_bytes(n));
        if n > 0 {
            large_enough(Operand::Input, input, read)?;
            at_element(Operand::Input, input.address, element_bytes)?;
        }
        if written > 0 {
            large_enough(Operand::Output, output, written)?;
            at_element(Operand::Output, output.address, element_bytes)?;
        }
        self.check_scratch(scratch)?;
        if self.in_place && n > 0 && input.address != output.address {
            return Err(HandOverError::NotInPlace { input: input.address, output: output.address });
        }
        // What is written comes first; what is not there has no bytes.
        let one = |address: u64| if address == 0 { 0 } else { element_bytes };
        let read = if self.in_place { 0 } else { read };
        let touched = [
            (Operand::Scratch, scratch.address, scratch_bytes),
            (Operand::Output, output.address, written),
            (Operand::Total, total, one(total)),
            (Operand::Input, input.address, read),
            (Operand::Init, initial, one(initial)),
            (Operand::Length, elements, if elements == 0 { 0 } else { 4 }),
        ];
        for (place, (one, at, bytes)) in touched.iter().take(3).enumerate() {
            for (other, other_at, other_bytes) in &touched[place + 1..] {
                if !apart((*at, *bytes), (*other_at, *other_bytes)) {
                    return Err(HandOverError::Overlap { one: *one, other: *other });
                }
            }
        }
        let memory = CallMemory {
            source: input.address,
            target: output.address,
            scratch: scratch.address,
            counts: 0,
            total,
            initial,
            elements,
        };
        Ok(CheckedCall { memory, n })
    }
}
