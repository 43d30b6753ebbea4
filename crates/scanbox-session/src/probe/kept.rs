//! What is kept of what a probe has found.

use scanbox_model::device::DeviceProfile;

use crate::device::findings::{self, Findings};
use crate::lock::Sharing;
use crate::notes::note;
use crate::tools::Tools;

/// Keeps what a probe found, unless the device may have been shared meanwhile: then nobody knows what it is of. Where
/// it cannot be kept it is found out again.
///
/// # Errors
/// When it cannot be written.
pub(super) fn keep<P: Findings>(
    device: &DeviceProfile,
    tools: &Tools,
    sharing: &Sharing,
    probe: &P,
) -> anyhow::Result<()> {
    if sharing.share_device { Ok(()) } else { findings::write(device, tools, probe) }
}

/// Says where something is not kept.
pub(super) fn tell(sharing: &Sharing, outcome: anyhow::Result<()>) {
    if sharing.share_device {
        note("it is not kept, since the device may have been shared");
    } else if let Err(error) = outcome {
        note(&format!("warning: it cannot be kept, and is found out again by the next run: {error:#}"));
    }
}
