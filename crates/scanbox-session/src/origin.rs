//! What rows and metadata say about the run that they are of.

use scanbox_runner::row::{Origin, now_utc};

use crate::system::host;

/// What the rows of a run that begins now say about its origin. `shared_device`: whether the device is shared on
/// purpose.
pub fn origin(kernel_hash: &str, shared_device: bool) -> Origin {
    Origin {
        run_id: run_id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_hash: kernel_hash.to_owned(),
        host: host(),
        shared_device,
    }
}

/// An identity for the rows of a run: when it started, and which process it was.
pub fn run_id() -> String {
    format!("{}-{}", now_utc().replace([':', '-'], ""), std::process::id())
}

/// Version and commit.
pub fn this_tool() -> (String, String) {
    (env!("CARGO_PKG_VERSION").to_owned(), env!("SCANBOX_COMMIT").to_owned())
}
