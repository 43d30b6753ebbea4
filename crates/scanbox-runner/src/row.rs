//! Rows: what stands in a record whatever comes of its measurement.

use scanbox_kernels::catalog;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Cells;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Flag, Record, SCHEMA};
use scanbox_model::space::Point;
use serde::{Deserialize, Serialize};

/// What is computed, and on which elements: the same for all rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Computation {
    /// What is computed.
    pub problem: Problem,
    /// Whether sums of floats are of reals, which are rounded, and not of integers.
    pub real: bool,
    /// The largest size of the whole run, whether or not it is still to do.
    pub largest_n: u64,
    /// What random elements are drawn from.
    pub seed: u64,
}

impl Computation {
    /// The input that a config runs on.
    #[must_use]
    pub fn input(&self, config: &Config, device: &DeviceProfile) -> Input {
        let kind = match catalog::input_kind(&config.kernel, device, self.largest_n) {
            InputKind::Random if self.real => InputKind::Real,
            kind => kind,
        };
        Input { kind, seed: self.seed }
    }
}

/// The part of a record that is the same for all rows of a run, beside the device.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Origin {
    /// Identity of the run.
    pub run_id: String,
    /// Version of scanbox.
    pub version: String,
    /// Hash of all kernel sources.
    pub kernel_hash: String,
    /// Name of this host.
    pub host: String,
    /// Whether the device is shared with other runs on purpose.
    pub shared_device: bool,
}

/// The record of a point before it ran.
#[must_use]
pub fn blank_record(
    point: &Point,
    computation: &Computation,
    input: &Input,
    device: &DeviceProfile,
    origin: &Origin,
) -> Record {
    let config = &point.config;
    let resolved = catalog::Resolved::new(config, &computation.problem, point.n, device);
    let mut record = Record {
        subject: "scanbox".to_owned(),
        subject_version: origin.version.clone(),
        config_id: config.to_string(),
        kernel_id: config.kernel.to_string(),
        parameters: Cells {
            workgroups: u32::try_from(resolved.workgroups()).ok(),
            ..Cells::of(&resolved.runs)
        },
        subgroup_size: Some(resolved.subgroup_size()),
        shared_bytes: resolved.shared_bytes().and_then(|bytes| u32::try_from(bytes).ok()),
        ..record_of_run(point.n, input, device, origin)
    };
    computation.problem.describe(point.n, &mut record);
    record
}

/// What the rows of a run have in common, whatever they are about.
pub(crate) fn record_of_run(n: u64, input: &Input, device: &DeviceProfile, origin: &Origin) -> Record {
    Record {
        schema: SCHEMA,
        run_id: origin.run_id.clone(),
        device: device.name.clone(),
        device_uuid: device.uuid.clone(),
        driver: device.driver.clone(),
        kernel_hash: origin.kernel_hash.clone(),
        host: origin.host.clone(),
        pci_address: device.pci_address.clone().unwrap_or_default(),
        shared_device: Flag(origin.shared_device),
        api: device.api,
        implementation: device.implementation.clone(),
        robustness: device.robustness,
        timer: Some(device.timer),
        timer_resolution_ns: Some(device.timer_resolution_ns).filter(|ns| *ns > 0.0),
        n_elements: n,
        input: input.to_string(),
        ..Record::default()
    }
}

/// Now, in UTC, to the second.
#[must_use]
pub fn now_utc() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
