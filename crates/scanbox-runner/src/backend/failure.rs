//! Why something has no result.

use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;

/// Why a config has no time: the status and reason of its row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{status}: {reason}")]
pub struct Failure {
    /// The status.
    pub status: Status,
    /// The reason, with the driver's words.
    pub reason: String,
}

impl Failure {
    /// A failure with this status.
    pub fn new(status: Status, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// Whether the device cannot be used after it: only a new process can.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self.status, Status::Timeout | Status::DeviceLost)
    }

    /// The reason as rows have it, in one line: of a wrong result on a device that chooses the size of subgroups itself
    /// it says that too.
    #[must_use]
    pub fn reason_on(&self, device: &DeviceProfile) -> String {
        let reason = self.reason.replace(['\n', '\r'], " ");
        match (self.status, device.chosen_by_driver()) {
            (Status::WrongResult, Some((min, max))) => format!(
                "{reason} (kernels are built for subgroups of {}, and the driver chooses among {min} to {max} itself)",
                device.subgroup_size
            ),
            _ => reason,
        }
    }

    /// The same failure of something that is no config: its reason says what was going on, for example `the copy of
    /// 2^13 was measured`.
    #[must_use]
    pub fn amid(self, what: &str) -> Self {
        let reason = match self.status {
            Status::DeviceLost => format!("the device was lost while {what}: {}", self.reason),
            Status::Timeout => format!("the device gave no answer while {what}: {}", self.reason),
            status => format!("{status} while {what}: {}", self.reason),
        };
        Self { reason, ..self }
    }
}
