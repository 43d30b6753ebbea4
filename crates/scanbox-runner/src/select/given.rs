//! The device that a batch system gave to this process, by the variables that it sets for programs of the vendors.

use std::collections::BTreeSet;

use scanbox_model::device::DeviceKind;

use super::{Listed, SelectError};

/// The selector that means it.
pub const AUTO: &str = "auto";

const NVIDIA: u32 = 0x10de;
const AMD: u32 = 0x1002;
const INTEL: u32 = 0x8086;

/// Variables about devices of one vendor: the first one that is set counts.
const OF_VENDORS: [(u32, &[&str]); 3] = [
    (NVIDIA, &["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"]),
    (AMD, &["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"]),
    (INTEL, &["ZE_AFFINITY_MASK"]),
];
/// Variables of Slurm, which count devices of the node whatever this process sees of them.
const OF_NODE: [&str; 2] = ["SLURM_STEP_GPUS", "SLURM_JOB_GPUS"];
/// What says that every device is given, or none is named.
const ALL: [&str; 2] = ["all", "void"];

/// What counts the GPUs of NVIDIA from the fastest one, unless the second one says otherwise.
const FASTEST_FIRST: &str = "CUDA_VISIBLE_DEVICES";
const ORDER: (&str, &str) = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID");

/// A variable, and what it says.
struct Said {
    name: &'static str,
    text: String,
    /// Whose devices it is about; of a node those of all vendors.
    vendor: Option<u32>,
}

impl Said {
    fn first(
        vendor: Option<u32>,
        names: &[&'static str],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let one = |&name: &&'static str| Some(Self { name, text: variable(name)?.trim().to_owned(), vendor });
        names.iter().find_map(|name| one(name).filter(|said| !ALL.contains(&said.text.as_str())))
    }

    fn words(&self) -> Vec<&str> {
        self.text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect()
    }

    /// Whether it says that there is no GPU for this process.
    fn names_no_gpu(&self) -> bool {
        match self.words()[..] {
            [] => true,
            [word] => word == "-1" || ["nodevfiles", "none"].contains(&word.to_lowercase().as_str()),
            _ => false,
        }
    }

    fn none(&self, why: &str) -> SelectError {
        SelectError::NoneGiven { reason: format!("{}={} {why}", self.name, self.text) }
    }

    /// Another node would say the same: it is the job that has none.
    fn no_gpu(&self) -> SelectError {
        self.unclear(
            "says that this process was given no GPU; ask the batch system for one (of Slurm: --gres=gpu:1), or name the \
             device with --device",
        )
    }

    fn unclear(&self, why: &str) -> SelectError {
        SelectError::NotOneGiven { reason: format!("{}={} {why}", self.name, self.text) }
    }
}

/// The place of the device that was given, or of the only one. Indices count devices by their PCI addresses, as drivers
/// and batch systems do for equal ones.
///
/// # Errors
/// When what was given is not there or cannot be told from others.
pub(super) fn given(
    devices: &[&Listed],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<usize, SelectError> {
    let usable = |kind| {
        let places = (0..devices.len()).filter(move |&place| devices[place].profile.kind == kind);
        places.filter(|&place| devices[place].is_usable()).collect::<Vec<_>>()
    };
    let mut hardware = usable(DeviceKind::Hardware);
    hardware.sort_by_key(|&place| devices[place].profile.pci_address.clone());
    let vendors: BTreeSet<u32> = hardware.iter().map(|&place| devices[place].profile.vendor_id).collect();
    let of_vendors = OF_VENDORS
        .iter()
        .filter(|(vendor, _)| hardware.is_empty() || vendors.contains(vendor))
        .filter_map(|(vendor, names)| Said::first(Some(*vendor), names, variable));
    let of_node = Said::first(None, &OF_NODE, variable);
    if hardware.is_empty() {
        return match of_vendors.chain(of_node).find(|said| !said.names_no_gpu()) {
            Some(said) => Err(said
                .none("names a GPU, and Vulkan finds none here that can be used; `scanbox doctor` says why")),
            None => only(&usable(DeviceKind::Software)),
        };
    }
    let (without, naming): (Vec<Said>, Vec<Said>) = of_vendors.partition(Said::names_no_gpu);
    if let [one, other, ..] = &naming[..] {
        let why = format!("and {}={} name devices of two vendors", other.name, other.text);
        return Err(one.unclear(&format!("{why}; name one with --device")));
    }
    let of_vendor = naming.into_iter().chain(without).next();
    if let (Some(vendor), Some(node)) = (&of_vendor, &of_node)
        && vendors.len() == 1
        && contradict(vendor, node, hardware.len())
    {
        let why = format!("and {}={} name different devices of {}", node.name, node.text, hardware.len());
        return Err(vendor.unclear(&format!("{why}; name one with --device")));
    }
    let Some(said) = of_vendor.or(of_node) else { return only(&hardware) };
    if said.names_no_gpu() {
        return Err(said.no_gpu());
    }
    if said.vendor.is_none() && vendors.len() > 1 {
        return Err(said.unclear(
            "counts the GPUs that the batch system knows, and those here are of several vendors; name one with --device",
        ));
    }
    hardware.retain(|&place| said.vendor.is_none_or(|vendor| devices[place].profile.vendor_id == vendor));
    let models: BTreeSet<&str> = hardware.iter().map(|&place| devices[place].profile.name.as_str()).collect();
    let is_ordered =
        said.name != FASTEST_FIRST || variable(ORDER.0).is_some_and(|order| order.trim() == ORDER.1);
    place_of_word(devices, &hardware, &said, models.len() == 1 || is_ordered)
}

/// The one that is there.
fn only(places: &[usize]) -> Result<usize, SelectError> {
    match places {
        [] => Err(SelectError::NoneGiven {
            reason: "there is no device that can be used; `scanbox doctor` says why".to_owned(),
        }),
        [place] => Ok(*place),
        several => Err(SelectError::NotOneGiven {
            reason: format!(
                "{} devices can be used here, and nothing says which of them is this process's: no {}; ask the batch \
                 system for one, or name it with --device",
                several.len(),
                [OF_VENDORS[0].1[0], OF_VENDORS[1].1[0], OF_NODE[1]].join(", no ")
            ),
        }),
    }
}

/// Whether indices of a vendor's variable and of the node are of one list, which all devices that are seen are of, and
/// are not the same. Where the system shows a process only its own devices, they are counted anew, and that is no
/// contradiction.
fn contradict(vendor: &Said, node: &Said, seen: usize) -> bool {
    let indices =
        |said: &Said| said.words().into_iter().map(|word| word.parse::<usize>().ok()).collect::<Vec<_>>();
    let (vendor, node) = (indices(vendor), indices(node));
    let known = vendor.iter().chain(&node).all(Option::is_some) && !vendor.is_empty() && !node.is_empty();
    known && seen > node.len() && !vendor.iter().all(|index| node.contains(index))
}

/// The device that a variable names, of those that it is about; `is_ordered`: it counts them as they are here.
fn place_of_word(
    devices: &[&Listed],
    hardware: &[usize],
    said: &Said,
    is_ordered: bool,
) -> Result<usize, SelectError> {
    let words = said.words();
    let word = match words[..] {
        [word] => word,
        ref several => {
            let why =
                format!("gives {} devices: a run has one; ask for one per task, or name it", several.len());
            return Err(said.unclear(&format!("{why} with --device")));
        }
    };
    let lower = word.to_lowercase();
    if lower.starts_with("mig") || lower.contains("/gi") || word.contains(':') {
        return Err(said.none(
            "is a part of a GPU (MIG): Vulkan does not offer such parts, and a measurement on one would be of all of \
             them; take a whole GPU",
        ));
    }
    if let Ok(index) = word.parse::<usize>() {
        if !is_ordered {
            let [name, value] = [ORDER.0, ORDER.1];
            return Err(said.unclear(&format!(
                "counts GPUs from the fastest one, and those here are of several models; set {name}={value}, or name one \
                 with --device"
            )));
        }
        return hardware.get(index).copied().ok_or_else(|| {
            said.none(&format!("is not there: Vulkan sees {} of the GPUs of this node", hardware.len()))
        });
    }
    let Some(uuid) = lower.strip_prefix("gpu-").filter(|uuid| is_uuid(uuid)) else {
        return Err(said.unclear("is neither an index nor a UUID of a GPU; name the device with --device"));
    };
    // A UUID may be cut short as long as one device has it.
    let found: Vec<usize> = hardware
        .iter()
        .copied()
        .filter(|&place| devices[place].profile.uuid.to_lowercase().starts_with(uuid))
        .collect();
    match found[..] {
        [place] => Ok(place),
        [] => Err(said.none("is not one of the devices that Vulkan sees: their UUIDs are others")),
        _ => Err(said.unclear("stands for several devices; name one with --device")),
    }
}

/// Whether this is the beginning of a UUID.
fn is_uuid(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::replay::{Replay, Script};

    fn listed(vendor_id: u32, kind: DeviceKind, uuid: &str, pci: &str) -> Listed {
        let profile = scanbox_model::device::DeviceProfile {
            vendor_id,
            kind,
            uuid: uuid.to_owned(),
            pci_address: (!pci.is_empty()).then(|| pci.to_owned()),
            ..Replay::new(Script::default()).profile().as_ref().clone()
        };
        Listed { profile, problems: Vec::new() }
    }

    #[test]
    fn the_device_that_was_given_is_found_or_refused() {
        use DeviceKind::{Hardware, Software};
        // As the loader lists them, which is not by PCI address.
        let lavapipe = || listed(0x10005, Software, "6d657361", "");
        let node = [
            listed(NVIDIA, Hardware, "cccccccc-0000", "0000:81:00.0"),
            listed(NVIDIA, Hardware, "aaaaaaaa-0000", "0000:01:00.0"),
            lavapipe(),
            listed(NVIDIA, Hardware, "aabbbbbb-0000", "0000:41:00.0"),
        ];
        let of_amd = [
            listed(AMD, Hardware, "00000000-0300", "0000:03:00.0"),
            listed(AMD, Hardware, "00000000-0300", "0000:83:00.0"),
        ];
        let laptop = [
            listed(INTEL, Hardware, "eeeeeeee-0000", "0000:00:02.0"),
            listed(NVIDIA, Hardware, "aaaaaaaa-0000", "0000:01:00.0"),
        ];
        let mut unequal = [
            listed(NVIDIA, Hardware, "aaaaaaaa-0000", "0000:01:00.0"),
            listed(NVIDIA, Hardware, "bbbbbbbb-0000", "0000:41:00.0"),
        ];
        unequal[1].profile.name = "Another model".to_owned();
        let (one, software) = ([lavapipe(), listed(NVIDIA, Hardware, "aaaa", "0000:01:00.0")], [lavapipe()]);
        let broken = Listed { problems: vec!["is broken".to_owned()], ..listed(NVIDIA, Hardware, "b", "1") };
        let with_broken = [broken, listed(NVIDIA, Hardware, "aaaa", "0000:01:00.0")];
        let check = |devices: &[Listed], variables: &str, expected: Result<usize, (bool, &str)>| {
            let pairs: Vec<(&str, &str)> =
                variables.split_whitespace().map(|pair| pair.split_once('=').unwrap()).collect();
            let variable = |name: &str| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
            };
            let found = given(&devices.iter().collect::<Vec<_>>(), &variable);
            match (&found, expected) {
                (Ok(place), Ok(expected)) => assert_eq!(*place, expected, "{variables}"),
                (Err(error), Err((is_none, part))) => {
                    let none = matches!(error, SelectError::NoneGiven { .. });
                    let told = error.to_string();
                    assert!(none == is_none && told.contains(part), "{variables}: {none} {told}");
                }
                _ => panic!("{variables}: {found:?}"),
            }
        };
        let none = |part| Err((true, part));
        let unclear = |part| Err((false, part));
        // Nothing says which.
        check(&[], "", none("no device that can be used"));
        check(&software, "", Ok(0));
        check(&one, "", Ok(1));
        check(&with_broken, "", Ok(1));
        check(&node, "", unclear("3 devices can be used here"));
        check(&node, "NVIDIA_VISIBLE_DEVICES=all", unclear("nothing says which"));
        check(&one, "NVIDIA_VISIBLE_DEVICES=void", Ok(1));
        // Indices, in the order of PCI addresses.
        check(&node, "CUDA_VISIBLE_DEVICES=0", Ok(1));
        check(&node, "CUDA_VISIBLE_DEVICES=1", Ok(3));
        check(&node, "CUDA_VISIBLE_DEVICES=2", Ok(0));
        check(&node, "CUDA_VISIBLE_DEVICES=3", none("is not there: Vulkan sees 3 of the GPUs"));
        check(&node, "SLURM_JOB_GPUS=2", Ok(0));
        check(&node, "SLURM_STEP_GPUS=1 SLURM_JOB_GPUS=1,2", Ok(3));
        check(&of_amd, "ROCR_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0", Ok(1));
        check(&of_amd, "HIP_VISIBLE_DEVICES=0", Ok(0));
        // Counted on the node, and among what the process sees.
        check(&node, "CUDA_VISIBLE_DEVICES=2 SLURM_JOB_GPUS=2", Ok(0));
        check(&one, "CUDA_VISIBLE_DEVICES=0 SLURM_JOB_GPUS=2", Ok(1));
        check(&node, "CUDA_VISIBLE_DEVICES=0 SLURM_JOB_GPUS=2", unclear("name different devices of 3"));
        check(&node, "CUDA_VISIBLE_DEVICES=1 SLURM_JOB_GPUS=0,1", Ok(3));
        // A variable of a vendor is about devices of that vendor, and one of the node about all.
        check(&laptop, "CUDA_VISIBLE_DEVICES=0", Ok(1));
        check(&laptop, "ZE_AFFINITY_MASK=0", Ok(0));
        check(&laptop, "CUDA_VISIBLE_DEVICES=1", none("is not there: Vulkan sees 1 of the GPUs"));
        check(&laptop, "CUDA_VISIBLE_DEVICES=GPU-eeeeeeee", none("not one of the devices that Vulkan sees"));
        check(&laptop, "CUDA_VISIBLE_DEVICES=0 SLURM_JOB_GPUS=1", Ok(1));
        check(&laptop, "CUDA_VISIBLE_DEVICES=none ZE_AFFINITY_MASK=0", Ok(0));
        check(&laptop, "CUDA_VISIBLE_DEVICES=0 ZE_AFFINITY_MASK=0", unclear("of two vendors"));
        check(&laptop, "SLURM_JOB_GPUS=0", unclear("are of several vendors"));
        // Indices of CUDA begin with the fastest GPU, unless that is said to be otherwise.
        check(&unequal, "CUDA_VISIBLE_DEVICES=1", unclear("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
        check(&unequal, "CUDA_VISIBLE_DEVICES=1 CUDA_DEVICE_ORDER=PCI_BUS_ID", Ok(1));
        check(&unequal, "CUDA_VISIBLE_DEVICES=0 CUDA_DEVICE_ORDER=FASTEST_FIRST", unclear("several models"));
        check(&unequal, "CUDA_VISIBLE_DEVICES=GPU-bbbb", Ok(1));
        check(&unequal, "NVIDIA_VISIBLE_DEVICES=1", Ok(1));
        check(&unequal, "SLURM_JOB_GPUS=0", Ok(0));
        // UUIDs, whole or cut short.
        check(&node, "CUDA_VISIBLE_DEVICES=GPU-cccccccc-0000", Ok(0));
        check(&node, "CUDA_VISIBLE_DEVICES=GPU-AABB SLURM_JOB_GPUS=0", Ok(3));
        check(&node, "CUDA_VISIBLE_DEVICES=GPU-aa", unclear("is neither an index nor a UUID"));
        check(&of_amd, "ROCR_VISIBLE_DEVICES=GPU-0000", unclear("several devices"));
        check(&node, "CUDA_VISIBLE_DEVICES=GPU-dddddddd", none("not one of the devices that Vulkan sees"));
        // What is no single GPU.
        check(&node, "CUDA_VISIBLE_DEVICES=0,1", unclear("gives 2 devices"));
        check(&one, "CUDA_VISIBLE_DEVICES=0,1", unclear("gives 2 devices"));
        check(&node, "CUDA_VISIBLE_DEVICES=", unclear("was given no GPU"));
        check(&node, "CUDA_VISIBLE_DEVICES=-1", unclear("was given no GPU"));
        check(&one, "CUDA_VISIBLE_DEVICES=NoDevFiles", unclear("was given no GPU"));
        check(&node, "CUDA_VISIBLE_DEVICES=MIG-aaaaaaaa-0000", none("part of a GPU (MIG)"));
        check(&one, "CUDA_VISIBLE_DEVICES=MIG-GPU-aaaa/1/0", none("take a whole GPU"));
        check(&one, "CUDA_VISIBLE_DEVICES=0:1", none("part of a GPU"));
        check(&node, "CUDA_VISIBLE_DEVICES=h200", unclear("is neither an index nor a UUID"));
        check(&node, "CUDA_VISIBLE_DEVICES=1.5", unclear("is neither an index"));
        check(&node, "SLURM_JOB_GPUS=99999999999999999999999", unclear("is neither an index"));
        // A GPU was given, and only software is there.
        check(&software, "CUDA_VISIBLE_DEVICES=0", none("Vulkan finds none here"));
        check(&software, "SLURM_JOB_GPUS=0", none("Vulkan finds none here"));
        check(&software, "CUDA_VISIBLE_DEVICES= SLURM_JOB_GPUS=0", none("SLURM_JOB_GPUS=0 names a GPU"));
        for no_gpu in ["", "-1", "NoDevFiles", "none"] {
            check(&software, &format!("CUDA_VISIBLE_DEVICES={no_gpu}"), Ok(0));
            check(&node, &format!("CUDA_VISIBLE_DEVICES={no_gpu}"), unclear("was given no GPU"));
        }
    }
}
