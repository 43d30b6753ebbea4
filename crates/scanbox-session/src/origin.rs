//! What rows and metadata say about the run that they are of.

use std::hash::{BuildHasher, RandomState};

use scanbox_runner::row::{Origin, now_utc};

use crate::system::node;

/// What the rows of a run that begins now say about its origin. `shared_device`: whether the device is shared on
/// purpose.
pub fn origin(kernel_hash: &str, shared_device: bool) -> Origin {
    Origin {
        run_id: run_id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel_hash: kernel_hash.to_owned(),
        host: node(),
        shared_device,
    }
}

/// An identity for the rows of a run: when it started, which process it was, and what tells it from a process of the
/// same number in another container.
pub fn run_id() -> String {
    let random = RandomState::new().hash_one(0) % 100_000_000;
    format!("{}-{}-{random:08}", now_utc().replace([':', '-'], ""), std::process::id())
}

/// Version and commit.
pub fn this_tool() -> (String, String) {
    (env!("CARGO_PKG_VERSION").to_owned(), env!("SCANBOX_COMMIT").to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_runs_have_one_identity() {
        let runs: std::collections::BTreeSet<String> = (0..100).map(|_| super::run_id()).collect();
        assert!(runs.len() > 95, "{runs:?}");
    }
}
