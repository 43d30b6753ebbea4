//! The JSON form of a pack: the same, for people and other programs, with modules named by the hash of their words.
//!
//! Any reader and writer of serde will do. [`PackText`] is what stands in the JSON; [`PackText::pack`] checks it as the
//! file is checked, and takes the words from whoever has them.

use serde::{Deserialize, Serialize};

use crate::contents::{ModuleHash, PackData};
use crate::error::PackError;
use crate::pack::Pack;
use crate::version::{FIRST, MAJOR, MINOR, major};

/// What the JSON says it is.
const FORMAT: &str = "scanbox-pack";

/// A pack without the words of its modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PackText {
    /// What it is.
    format: String,
    /// The version of the pack.
    major: u32,
    /// Its minor part.
    minor: u32,
    /// The pack.
    pack: PackData,
}

impl From<&Pack> for PackText {
    fn from(pack: &Pack) -> Self {
        let mut data = pack.data().clone();
        data.modules.iter_mut().for_each(|module| module.words.clear());
        Self { format: FORMAT.to_owned(), major: major(&data), minor: MINOR, pack: data }
    }
}

impl PackText {
    /// The pack, with words from `find`, which knows modules by their hashes.
    ///
    /// # Errors
    /// When it is of another format, or of a newer version; when a module is not found; what does not fit together.
    pub fn pack(self, mut find: impl FnMut(&ModuleHash) -> Option<Vec<u32>>) -> Result<Pack, PackError> {
        let Self { format, major, minor, pack: mut data } = self;
        if format != FORMAT {
            return Err(PackError::NotAPack);
        }
        if major > MAJOR {
            return Err(PackError::Newer { major, minor });
        }
        if major < FIRST {
            return Err(PackError::malformed(
                "the beginning",
                format!("there is no version {major}.{minor}"),
            ));
        }
        for (place, module) in data.modules.iter_mut().enumerate() {
            module.words = find(&module.hash).ok_or_else(|| {
                PackError::malformed(
                    format!("module {place}"),
                    format!("nobody has the code {}", module.hash),
                )
            })?;
        }
        Pack::new(data)
    }
}
