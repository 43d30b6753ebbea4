//! Devices that are there, whatever API they were found by, and which one a word of the user names.

mod given;

use scanbox_model::device::DeviceProfile;

pub use self::given::AUTO;

/// A device that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// What it is and can do; numbers are 0 where a device is too old to tell.
    pub profile: DeviceProfile,
    /// Why it cannot be used, one sentence without subject each; empty: it can be.
    pub problems: Vec<String>,
}

impl Listed {
    /// Whether a session can be opened with it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Why a word names no single device.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// The selector says nothing.
    #[error("no device is named; there is {devices}")]
    NoSelector {
        /// Index, name, UUID and PCI address of every device.
        devices: String,
    },
    /// No device has this index, name, UUID or PCI address.
    #[error("there is no device `{selector}`; there is {devices}")]
    NotFound {
        /// What was asked for.
        selector: String,
        /// Index, name and UUID of every device.
        devices: String,
    },
    /// Several devices have it.
    #[error("`{selector}` stands for several devices: use the index or the PCI address; there is {devices}")]
    Ambiguous {
        /// What was asked for.
        selector: String,
        /// Index, name and UUID of those that match.
        devices: String,
    },
    /// A batch system gave this process no device that is there.
    #[error("--device auto: {reason}")]
    NoneGiven {
        /// Which variable says so, and what is wrong with that.
        reason: String,
    },
    /// What a batch system says does not name one device.
    #[error("--device auto: {reason}")]
    NotOneGiven {
        /// Which variable says so, and what is wrong with that.
        reason: String,
    },
}

/// The index among these devices of the one that `selector` names: that index itself (digits alone are nothing else),
/// its whole UUID, its PCI address, its name, or a part of its name; a name, or part of one, that no other device has.
/// `auto` is the one that a batch system gave to this process.
///
/// # Errors
/// When there is no such device, and when there are several.
pub fn place_of(devices: &[Listed], selector: &str) -> Result<usize, SelectError> {
    find(&devices.iter().collect::<Vec<_>>(), selector)
}

/// The place of the device that `selector` names. Digits are an index and nothing else: a device that has fallen off
/// the bus must not be another one whose name has that digit.
pub(crate) fn find(devices: &[&Listed], selector: &str) -> Result<usize, SelectError> {
    let selector = selector.trim();
    let describe = |indices: &[usize]| {
        let one = |&index: &usize| {
            let profile = &devices[index].profile;
            let pci =
                profile.pci_address.as_ref().map_or_else(String::new, |address| format!(", PCI {address}"));
            format!("{index}: {} ({}{pci})", profile.title(), profile.uuid)
        };
        match indices {
            [] => "none".to_owned(),
            indices => indices.iter().map(one).collect::<Vec<_>>().join(", "),
        }
    };
    let all: Vec<usize> = (0..devices.len()).collect();
    let not_found = || SelectError::NotFound { selector: selector.to_owned(), devices: describe(&all) };
    if selector.is_empty() {
        return Err(SelectError::NoSelector { devices: describe(&all) });
    }
    if selector == AUTO {
        return given::given(devices, &|name| std::env::var(name).ok());
    }
    if selector.bytes().all(|byte| byte.is_ascii_digit()) {
        return selector.parse().ok().filter(|index| *index < devices.len()).ok_or_else(not_found);
    }
    let wanted = selector.to_lowercase();
    let matching = |matches: &dyn Fn(&DeviceProfile) -> bool| -> Vec<usize> {
        all.iter().copied().filter(|&index| matches(&devices[index].profile)).collect()
    };
    let attempts = [
        matching(&|profile| profile.uuid.eq_ignore_ascii_case(&wanted)),
        matching(&|profile| profile.pci_address.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(&wanted))),
        matching(&|profile| profile.name.to_lowercase() == wanted),
        matching(&|profile| profile.name.to_lowercase().contains(&wanted)),
    ];
    match attempts.iter().find(|found| !found.is_empty()).map(Vec::as_slice) {
        Some([index]) => Ok(*index),
        Some(several) => {
            Err(SelectError::Ambiguous { selector: selector.to_owned(), devices: describe(several) })
        }
        None => Err(not_found()),
    }
}

#[cfg(test)]
mod tests {
    use scanbox_model::device::DeviceKind;

    use super::*;
    use crate::backend::Backend;
    use crate::replay::{Replay, Script};

    fn listed(name: &str, uuid: &str, pci: &str) -> Listed {
        let script = Script { name: name.to_owned(), uuid: uuid.to_owned(), ..Script::default() };
        let profile = DeviceProfile {
            kind: DeviceKind::Hardware,
            pci_address: (!pci.is_empty()).then(|| pci.to_owned()),
            ..Replay::new(script).profile().as_ref().clone()
        };
        Listed { profile, problems: Vec::new() }
    }

    #[test]
    fn a_selector_names_one_device_or_none() {
        // A name with digits, two units of a model, and two that have the same UUID too.
        let all = [
            listed("NVIDIA H200", "aaaaaaaa-0000", "0000:01:00.0"),
            listed("NVIDIA H200", "bbbbbbbb-0000", "0000:41:00.0"),
            listed("llvmpipe (LLVM 15.0.6, 256 bits)", "cccccccc-0000", ""),
            listed("AMD Radeon PRO W7900", "00000000-0300", "0000:03:00.0"),
            listed("AMD Radeon PRO W7900", "00000000-0300", "0000:83:00.0"),
            listed("NVIDIA H200 NVL", "dddddddd-0000", "0000:c1:00.0"),
            listed("99", "eeeeeeee-0000", ""),
        ];
        let check_in = |all: &[Listed], selector: &str, expected: Result<usize, &[&str]>| {
            let found = place_of(all, selector).map_err(|error| error.to_string());
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{selector}"),
                (Err(message), Err(parts)) => {
                    parts.iter().for_each(|part| assert!(message.contains(part), "no `{part}` in {message}"));
                }
                _ => panic!("{selector}: {found:?}"),
            }
        };
        let check = |selector: &str, expected: Result<usize, &[&str]>| check_in(&all, selector, expected);
        // Digits are an index, whatever names have in them.
        check("0", Ok(0));
        check(" 2 ", Ok(2));
        check("06", Ok(6));
        for beyond in ["7", "15", "99", "200", "256", "7900", "18446744073709551616"] {
            check(
                beyond,
                Err(&["there is no device `", "0: NVIDIA H200 (aaaaaaaa-0000, PCI 0000:01:00.0), 1: "]),
            );
        }
        // On a machine with one device whose name has every digit.
        let one = [listed("llvmpipe (LLVM 15.0.6, 1234567890)", "cccccccc-0000", "")];
        check_in(&one, "0", Ok(0));
        for beyond in 1..20 {
            check_in(&one, &beyond.to_string(), Err(&["there is no device `", "; there is 0: llvmpipe"]));
        }
        ["+1", "-1", "1."].iter().for_each(|text| check(text, Err(&["there is no device `", text])));
        // UUIDs and PCI addresses, whole.
        check("BBBBBBBB-0000", Ok(1));
        for part in ["aaaaaaaa", "bbbb", "0000:41", "41:00.0"] {
            check(part, Err(&["there is no device"]));
        }
        check("0000:41:00.0", Ok(1));
        check("0000:83:00.0", Ok(4));
        check("00000000-0300", Err(&["several", "PCI 0000:03:00.0", "4: AMD", "PCI 0000:83:00.0"]));
        // Names, and parts of one that are unique.
        check("LLVMpipe", Ok(2));
        check("llvm 15", Ok(2));
        check("nvl", Ok(5));
        check("nvidia h200 nvl", Ok(5));
        check(
            "nvidia h200",
            Err(&["use the index or the PCI address; there is 0: NVIDIA H200", ", 1: NVIDIA H200 ("]),
        );
        check("H200", Err(&["stands for several", "5: NVIDIA H200 NVL"]));
        check("W7900", Err(&["3: AMD", "4: AMD"]));
        check("all", Err(&["there is no device `all`"]));
        for nothing in ["", " ", "\t"] {
            check(nothing, Err(&["no device is named; there is 0: NVIDIA H200"]));
        }
        check_in(&[], "0", Err(&["there is none"]));
    }
}
