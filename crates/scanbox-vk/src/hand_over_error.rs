//! What can go wrong between a program and the library, and how to mend it.

use std::error::Error;
use std::fmt;

use ash::vk;
use scanbox_pack::layout::element_alignment;
use scanbox_pack::{ArgumentKind, PackError};

/// Memory that a program names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// What is scanned.
    Input,
    /// The scan.
    Output,
    /// The scratch memory.
    Scratch,
    /// What an exclusive scan begins with.
    Init,
    /// Where the total goes.
    Total,
    /// The word that says how many elements there are.
    Length,
    /// The lines of arguments.
    Lines,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Scratch => "scratch memory",
            Self::Init => "initial value",
            Self::Total => "total",
            Self::Length => "number of elements",
            Self::Lines => "lines of arguments",
        })
    }
}

/// Why the library does not split calls of more elements than a kernel takes into parts, each of which begins with the
/// total of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotSplit {
    /// Only the device knows how many elements there are, in a word of 32 bits.
    LengthOnDevice,
    /// Arguments are bound, once for all parts.
    BoundArguments,
    /// The pack does not say of the user's operator that it allows parts.
    Operator {
        /// Whether the scan is a reduction.
        is_reduction: bool,
    },
    /// The pack has no kernels that store a total, or none that begin with a value in memory.
    Uses {
        /// Whether the scan is a reduction.
        is_reduction: bool,
    },
    /// Its kernels take fewer elements than a part has at least.
    FewElements,
}

impl fmt::Display for NotSplit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LengthOnDevice => {
                "the number of elements is on the device; make it without `CallUse::n_on_device`, if the host knows n"
            }
            Self::BoundArguments => "its arguments are bound; make it for pushed ones (`CallUse::arguments`)",
            Self::Operator { is_reduction: false } => {
                "the pack does not say that its operator allows parts. A transform in its file may look at the index, and \
                 each part counts its own; or an older scanbox made the pack. Write the transforms without the index, and \
                 make the pack anew (`scanbox tune --operator FILE`)"
            }
            Self::Operator { is_reduction: true } => {
                "the pack does not say that its operator allows parts. A transform in its file may look at the index, and \
                 each part counts its own; the file may have an output transform, which each part would apply; or an older \
                 scanbox made the pack. Write the input transform without the index, transform the result in your program, \
                 and make the pack anew (`scanbox tune --operator FILE`)"
            }
            Self::Uses { is_reduction: false } => {
                "the pack has no kernels for both of the uses `total` and `total init-in-memory`; make the pack with them, \
                 as by default (`scanbox pack --uses`)"
            }
            Self::Uses { is_reduction: true } => {
                "the pack has no kernels for the use `init-in-memory`; make the pack with it, as by default (`scanbox pack \
                 --uses`)"
            }
            Self::FewElements => "its kernels take too few elements for parts; take a pack with other kernels",
        })
    }
}

/// Why a scan cannot be made or recorded. Where recording says this, nothing was recorded.
///
/// Its `Debug` is its `Display`: a `main` that returns an error prints the former, and the text says what to do.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandOverError {
    /// The pack cannot be read.
    Pack(PackError),
    /// The device does not have something, or has it and the program has not enabled it.
    Lacks {
        /// Its name in Vulkan.
        feature: &'static str,
    },
    /// The device does not offer something that kernels cannot do without, or the instance does not let it be seen.
    NotOffered {
        /// Its name in Vulkan.
        feature: &'static str,
    },
    /// The pack has nothing that runs here.
    NoKernel {
        /// For what.
        problem: String,
        /// Why not: of each kernel that was tried, or of the pack.
        why: Vec<String>,
        /// What to do, where that is another pack or another problem; otherwise empty, and the reasons say it.
        mend: String,
    },
    /// A scan was to be made for more elements than any kernel of the pack takes, and the library does not split its
    /// calls into parts.
    TooLargeForKernels {
        /// Elements.
        max_n: u64,
        /// The most that a kernel takes.
        most: u64,
        /// Why it does not.
        why: NotSplit,
    },
    /// More elements than the scan was made for.
    TooLarge {
        /// Elements.
        n: u64,
        /// As many there may be.
        max: u64,
    },
    /// Memory begins at an address that it cannot begin at.
    Misaligned {
        /// Which.
        what: Operand,
        /// Where it begins.
        address: u64,
        /// What that has to be a multiple of, in bytes.
        needed: u64,
    },
    /// An array begins between the bytes of an element.
    InsideElement {
        /// Which.
        what: Operand,
        /// Where it begins.
        address: u64,
        /// Bytes of an element.
        element_bytes: u64,
    },
    /// Memory has fewer bytes than the call touches.
    TooSmall {
        /// Which.
        what: Operand,
        /// Its bytes.
        bytes: u64,
        /// Those that are touched.
        needed: u64,
    },
    /// Two pieces of memory have bytes in common, and one of them is written.
    Overlap {
        /// One.
        one: Operand,
        /// The other one.
        other: Operand,
    },
    /// A scan in place whose output stands somewhere else than its input.
    NotInPlace {
        /// Where the input begins.
        input: u64,
        /// Where the output does.
        output: u64,
    },
    /// The scan was made for calls that name this, and the call does not.
    Missing {
        /// What.
        what: Operand,
    },
    /// The call names this by address 0, where no memory is.
    NullAddress {
        /// What.
        what: Operand,
    },
    /// The call names this, and the scan was made for calls that do not.
    Unexpected {
        /// What.
        what: Operand,
    },
    /// Calls of the scan find their arguments elsewhere.
    OtherArguments {
        /// Where the scan was made to find them.
        arguments: ArgumentKind,
    },
    /// What is bound to pipelines stays as it was bound, and the call has something else.
    BoundToOther {
        /// What.
        what: Operand,
    },
    /// Vulkan has failed.
    Vulkan {
        /// The function.
        call: &'static str,
        /// What it said.
        result: vk::Result,
    },
}

impl fmt::Display for HandOverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pack(error) => write!(f, "{error}"),
            Self::Lacks { feature } => write!(
                f,
                "{feature} is missing: where the device has it, enable it when the device is made (`wanted` says what \
                 to enable), and say so in `ScannerInfo::enabled`",
            ),
            Self::NotOffered { feature } => write!(
                f,
                "{feature} is missing: the device does not offer it, or the instance does not show it; was the \
                 instance made for Vulkan 1.3 (`ApplicationInfo::api_version`)?",
            ),
            Self::NoKernel { problem, why, mend } => {
                write!(f, "the pack has no kernel for {problem} that runs here: {}", why.join("; "))?;
                if mend.is_empty() { Ok(()) } else { write!(f, "; {mend}") }
            }
            Self::TooLargeForKernels { max_n, most, why } => write!(
                f,
                "max_n is {max_n}, and no kernel of the pack takes more than {most} elements here: make the scan for \
                 {most}, and scan in parts. The library does not split this scan itself: {why}",
            ),
            Self::TooLarge { n, max } => write!(
                f,
                "{n} elements, and the scan was made for {max} at most: make it for as many (`max_n`), or scan \
                 in parts",
            ),
            Self::Misaligned { what: what @ (Operand::Input | Operand::Output), address, needed } => write!(
                f,
                "{what} begins at {address:#x}, which is not a multiple of {needed} bytes: begin there, or make the scan \
                 for arrays at any element (`CallUse::any_element`), which begin at multiples of an element",
            ),
            Self::InsideElement { what, address, element_bytes } => write!(
                f,
                "{what} begins at {address:#x}, between the bytes of an element: begin at a multiple of {} bytes",
                element_alignment(*element_bytes),
            ),
            Self::Misaligned { what, address, needed } => {
                write!(f, "{what} begins at {address:#x}, which is not a multiple of {needed} bytes: move it there")
            }
            Self::TooSmall { what: Operand::Scratch, bytes, needed } => write!(
                f,
                "scratch memory has {bytes} bytes, and the scan needs {needed}: give it what `Scan::scratch` says",
            ),
            Self::TooSmall { what, bytes, needed } => write!(
                f,
                "{what} has {bytes} bytes, and the call touches {needed}: pass all of it, or fewer elements (where the \
                 device says how many there are, memory has to have room for the most that the scan was made for)",
            ),
            Self::Overlap { one: one @ Operand::Output, other: other @ Operand::Input } => write!(
                f,
                "{one} and {other} overlap: keep them apart (a scan in place is another problem, whose input and \
                 output are the same)",
            ),
            Self::Overlap { one, other } => {
                write!(f, "{one} and {other} overlap: keep them apart, since one of them is written")
            }
            Self::NotInPlace { input, output } => write!(
                f,
                "a scan in place has its input at {input:#x} and its output at {output:#x}: pass the same memory \
                 twice, or make the scan out of place",
            ),
            Self::Missing { what: Operand::Length } => f.write_str(
                "n comes from the host (`CallLength::Host`), and the scan reads it from memory: pass \
                 `CallLength::Device`, or make the scan without `CallUse::n_on_device`",
            ),
            Self::Unexpected { what: Operand::Length } => f.write_str(
                "n is in memory (`CallLength::Device`), and the scan takes it from the host: pass `CallLength::Host`, \
                 or make the scan with `CallUse::n_on_device`",
            ),
            Self::NullAddress { what } => write!(
                f,
                "the address of {what} is 0, where no memory is: pass what `vkGetBufferDeviceAddress` says of its \
                 buffer",
            ),
            Self::Missing { what } => write!(
                f,
                "the scan was made for calls with {what}, and the call has none: name it, or make the scan without it",
            ),
            Self::Unexpected { what } => write!(
                f,
                "the call has {what}, and the scan was made for calls without it: leave it out, or make the scan with \
                 it (`CallUse`)",
            ),
            Self::OtherArguments { arguments: ArgumentKind::Pushed } => f.write_str(
                "calls of the scan get their arguments as they are recorded: record it by `Scan::cmd_scan`, or \
                 make it for arguments in lines or constants (`CallUse::arguments`) to bind it",
            ),
            Self::OtherArguments { .. } => f.write_str(
                "pipelines of the scan find their arguments in lines or constants: bind it (`Scan::bind`) and record \
                 that, or make it for pushed arguments (`CallUse::arguments`)",
            ),
            Self::BoundToOther { what } => write!(
                f,
                "{what} is not what was bound, and pipelines know where that is: bind the scan again for it",
            ),
            Self::Vulkan { call, result } => write!(
                f,
                "{call} failed: {result}; the validation layer may say more, and memory may have run out",
            ),
        }
    }
}

impl fmt::Debug for HandOverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for HandOverError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Pack(error) => Some(error),
            _ => None,
        }
    }
}

impl From<PackError> for HandOverError {
    fn from(error: PackError) -> Self {
        Self::Pack(error)
    }
}

impl HandOverError {
    /// A failed call of Vulkan.
    pub(crate) fn vulkan(call: &'static str) -> impl FnOnce(vk::Result) -> Self {
        move |result| Self::Vulkan { call, result }
    }
}
