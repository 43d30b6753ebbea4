//! What goes back to C when something is wrong: a code, and a text.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use scanbox_vk::HandOverError;

/// How a call ended. Where it did not succeed, nothing was recorded or made, and scanbox_last_error() has a text.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanboxResult {
    /// It is done.
    Success = 0,
    /// A pointer, a handle, a size word, a flag or a text of the program is wrong.
    InvalidArgument = -1,
    /// The pack is none, is cut or damaged, or is of a newer version.
    BadPack = -2,
    /// The device lacks something, or it is not enabled.
    Lacks = -3,
    /// The pack has no kernel for this scan on this device.
    NoKernel = -4,
    /// There are more elements than the scan was made for.
    TooLarge = -5,
    /// An address is not aligned.
    Misaligned = -6,
    /// Memory is too small.
    TooSmall = -7,
    /// Memory overlaps.
    Overlap = -8,
    /// An argument that the use of the scan has is missing, or one that it does not have is there.
    OtherUse = -9,
    /// A function of Vulkan failed.
    Vulkan = -10,
    /// A fault of scanbox itself.
    Internal = -11,
}

/// Why a call failed.
pub(crate) struct Refusal {
    result: ScanboxResult,
    text: String,
}

impl Refusal {
    /// Something that the program passed is wrong.
    pub(crate) fn argument(text: impl fmt::Display) -> Self {
        Self { result: ScanboxResult::InvalidArgument, text: text.to_string() }
    }

    /// The pack has no such scan.
    pub(crate) fn no_kernel(text: impl fmt::Display) -> Self {
        Self { result: ScanboxResult::NoKernel, text: text.to_string() }
    }
}

/// What errors name in Rust, and what that is in C.
const IN_C: &[(&str, &str)] = &[
    ("`wanted`", "scanbox_wanted"),
    ("`ApplicationInfo::api_version`", "VkApplicationInfo.apiVersion"),
    ("`ScannerInfo::enabled`", "scanbox_scanner_info.enabled"),
    ("`CallUse::any_element`", "SCANBOX_USE_ANY_ELEMENT"),
    ("`CallUse::n_on_device`", "SCANBOX_USE_N_ON_DEVICE"),
    ("`CallUse::arguments`", "SCANBOX_USE_LINE, SCANBOX_USE_BAKED"),
    ("`CallUse`", "SCANBOX_USE_..."),
    ("`CallLength::Host`", "scanbox_call.n"),
    ("`CallLength::Device`", "scanbox_call.n_address"),
    ("`ScanProblem::begin_with`", "scanbox_scan_info.init"),
    ("`Scan::scratch`", "scanbox_scan_scratch"),
    ("`Scan::cmd_scan`", "scanbox_cmd_scan"),
    ("`Scan::bind`", "scanbox_bound_create"),
];

impl From<HandOverError> for Refusal {
    fn from(error: HandOverError) -> Self {
        use HandOverError as E;
        let result = match &error {
            E::Pack(_) => ScanboxResult::BadPack,
            E::Lacks { .. } | E::NotOffered { .. } => ScanboxResult::Lacks,
            E::NoKernel { .. } => ScanboxResult::NoKernel,
            E::TooLarge { .. } | E::TooLargeForKernels { .. } => ScanboxResult::TooLarge,
            E::Misaligned { .. } | E::InsideElement { .. } => ScanboxResult::Misaligned,
            E::TooSmall { .. } => ScanboxResult::TooSmall,
            E::Overlap { .. } | E::NotInPlace { .. } => ScanboxResult::Overlap,
            E::Missing { .. }
            | E::NullAddress { .. }
            | E::Unexpected { .. }
            | E::OtherArguments { .. }
            | E::BoundToOther { .. } => ScanboxResult::OtherUse,
            E::Vulkan { .. } => ScanboxResult::Vulkan,
            _ => ScanboxResult::Internal,
        };
        let text = IN_C.iter().fold(error.to_string(), |text, (rust, c)| text.replace(rust, c));
        Self { result, text }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

fn remember(text: &str) {
    // A text from a file may have zeros in it, at which C would stop reading.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that is about to end remembers nothing any more.
    let _ = LAST.try_with(|last| last.replace(text));
}

/// Does what C asked for. A panic ends here: C has nothing to catch it with.
pub(crate) fn checked(work: impl FnOnce() -> Result<(), Refusal>) -> ScanboxResult {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => ScanboxResult::Success,
        Ok(Err(Refusal { result, text })) => {
            remember(&text);
            result
        }
        Err(_) => {
            remember("a fault of scanbox, whose message is on stderr: report it with what was called");
            ScanboxResult::Internal
        }
    }
}

/// What the last call of this thread that failed had to say: what is wrong, and what to do. Empty where none has
/// failed. It is valid until another call of this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn scanbox_last_error() -> *const c_char {
    const NOTHING: &CStr = c"";
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(NOTHING.as_ptr())
}

#[cfg(test)]
mod tests {
    use ash::vk;
    use scanbox_pack::{ArgumentKind, PackError};
    use scanbox_vk::{NotSplit, Operand};

    use super::*;

    fn last() -> String {
        // SAFETY: it is a text of this thread.
        unsafe { CStr::from_ptr(scanbox_last_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_ends_at_the_interface() {
        assert_eq!(checked(|| panic!("on purpose")), ScanboxResult::Internal);
        assert!(last().contains("a fault of scanbox"), "{}", last());
        assert_eq!(checked(|| Err(Refusal::argument("with a \0 in it"))), ScanboxResult::InvalidArgument);
        assert_eq!(last(), "with a   in it");
        // What succeeds leaves the text of what failed.
        assert_eq!(checked(|| Ok(())), ScanboxResult::Success);
        assert_eq!(last(), "with a   in it");
    }

    /// Texts name what there is in C, and every error has a code.
    #[test]
    fn errors_speak_of_c() {
        use HandOverError as E;
        let what = Operand::Scratch;
        let mut errors = vec![
            E::Pack(PackError::NotAPack),
            E::Lacks { feature: "shaderInt64" },
            E::NotOffered { feature: "maintenance4" },
            E::NoKernel {
                problem: "u32 add".to_owned(),
                why: vec!["it is so".to_owned()],
                mend: "pass all words of an element (`ScanProblem::begin_with`)".to_owned(),
            },
            E::TooLarge { n: 2, max: 1 },
            E::NotInPlace { input: 1, output: 2 },
            E::BoundToOther { what },
            E::Vulkan { call: "vkCreateDevice", result: vk::Result::ERROR_UNKNOWN },
        ];
        for what in [Operand::Input, Operand::Scratch, Operand::Total, Operand::Length, Operand::Lines] {
            errors.push(E::Misaligned { what, address: 4, needed: 16 });
            errors.push(E::TooSmall { what, bytes: 4, needed: 16 });
            errors.push(E::Overlap { one: what, other: Operand::Output });
            errors.push(E::InsideElement { what, address: 2, element_bytes: 4 });
            errors.push(E::NullAddress { what });
            errors.push(E::Missing { what });
            errors.push(E::Unexpected { what });
        }
        for why in [
            NotSplit::LengthOnDevice,
            NotSplit::BoundArguments,
            NotSplit::Operator { is_reduction: true },
            NotSplit::Uses { is_reduction: false },
            NotSplit::FewElements,
        ] {
            errors.push(E::TooLargeForKernels { max_n: 2, most: 1, why });
        }
        for arguments in [ArgumentKind::Pushed, ArgumentKind::Line, ArgumentKind::Baked] {
            errors.push(E::OtherArguments { arguments });
        }
        for error in errors {
            let rust = error.to_string();
            let Refusal { result, text } = error.into();
            assert!(result != ScanboxResult::Internal && result != ScanboxResult::Success, "{rust}");
            assert!(!text.contains("::"), "{text}");
        }
    }
}
