//! What a pack chooses on a device, before anybody has opened it: what the library will run there.

use std::collections::BTreeSet;

use scanbox_kernels::packing::{config_of, scan_problem};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_pack::{CallUse, FeatureSet, NotChosen, Pack, Promises, Reason, ScanProblem, SeenDevice, Wish};

/// The config that a pack has for so many elements, and on what ground.
///
/// # Errors
/// Why it has none.
pub fn chosen(
    pack: &Pack,
    problem: &Problem,
    call_use: CallUse,
    promised: Promises,
    n: u64,
    device: &DeviceProfile,
) -> Result<(Config, Reason), String> {
    let scan = scan_problem(problem);
    let wish = Wish { scan: &scan, call_use, promised };
    let chosen = pack.choose(&wish, &seen(device), n).map_err(|why| match why {
        NotChosen::OtherUse => format!("{why}; it has {}", uses(pack, &scan)),
        NotChosen::OtherScan => format!("{why}; `scanbox pack --show` lists what it has"),
        NotChosen::OtherSize { .. } | NotChosen::NotPromised(_) | NotChosen::Lacks(_) => why.to_string(),
    })?;
    let packed = &pack.data().recipes[usize::from(chosen.recipe)];
    let config =
        config_of(packed).ok_or_else(|| format!("{} is not a label of this version", packed.label))?;
    Ok((config, chosen.reason))
}

/// The uses that a pack has of a scan.
fn uses(pack: &Pack, scan: &ScanProblem) -> String {
    let problems = pack.data().problems.iter().filter(|problem| problem.scan == *scan);
    let tables = problems.flat_map(|problem| problem.measured.iter().chain(&problem.portable));
    let uses: BTreeSet<String> = tables.map(|table| table.call_use.to_string()).collect();
    uses.into_iter().collect::<Vec<_>>().join(", ")
}

/// The device as a choice sees it. Operations of subgroups count as there: a device without them runs no kernel.
fn seen(device: &DeviceProfile) -> SeenDevice<'_> {
    let lacks = [
        (device.int64_atomics, FeatureSet::INT64_ATOMICS),
        (device.int64_elements || device.int64_atomics, FeatureSet::INT64),
        (device.int64_elements, FeatureSet::EXTENDED_TYPES),
        (device.float64_elements, FeatureSet::FLOAT64),
        (device.uniform_control_flow, FeatureSet::UNIFORM_CONTROL_FLOW),
    ];
    let lacks = lacks.into_iter().filter(|(has, _)| !has).map(|(_, feature)| feature);
    SeenDevice {
        vendor_id: device.vendor_id,
        device_id: device.device_id,
        driver: &device.driver,
        driver_build: &device.driver_build,
        subgroup_size: device.subgroup_size,
        min_subgroup_size: device.min_subgroup_size,
        max_subgroup_size: device.max_subgroup_size,
        max_workgroup_size: device.max_workgroup_size,
        max_workgroup_subgroups: u32::MAX,
        max_shared_bytes: device.max_shared_bytes,
        features: lacks.fold(FeatureSet::ALL, FeatureSet::without),
    }
}
