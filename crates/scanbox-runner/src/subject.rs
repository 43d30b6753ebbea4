//! Subjects: what is measured, as one value on its way from the command line to the row.

use std::fmt;

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::plan::CeilingShape;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use serde::{Deserialize, Serialize};

/// What is measured. A sweep and a verification have configs alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// A config.
    Config {
        /// Which.
        config: Config,
        /// Which build of it. Of one that counts, the counts are those of such a build, and the times those of the same
        /// build without them.
        variant: Variant,
    },
    /// The ceiling of a problem ([`catalog::ceiling`]) in one launch shape.
    Ceiling {
        /// One of [`catalog::ceiling_shapes`].
        shape: CeilingShape,
        /// What its plan is called on the device.
        label: String,
    },
    /// A call of scanbox's own that does nothing; of a size, in as many workgroups as a copy has. It has no rows.
    Empty,
    /// What a baseline runs: one of its subjects, or, while it makes its input, itself.
    External {
        /// What the baseline calls it.
        name: String,
    },
}

impl Subject {
    /// A config in the build that has nothing special.
    #[must_use]
    pub fn config(config: Config) -> Self {
        Self::Config { config, variant: Variant::default() }
    }

    /// The ceiling of a problem in a launch shape, as a device has it.
    #[must_use]
    pub fn ceiling(problem: &Problem, shape: CeilingShape, device: &DeviceProfile) -> Self {
        Self::Ceiling { shape, label: catalog::ceiling(problem, 1, shape, device).label }
    }

    /// What its rows say in `config_id`.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Config { config, .. } => config.to_string(),
            Self::Ceiling { label: name, .. } | Self::External { name } => name.clone(),
            Self::Empty => "empty".to_owned(),
        }
    }

    /// The config, where it is one.
    #[must_use]
    pub fn as_config(&self) -> Option<&Config> {
        if let Self::Config { config, .. } = self { Some(config) } else { None }
    }

    /// Which build it is; nothing but configs have several.
    #[must_use]
    pub fn variant(&self) -> Variant {
        if let Self::Config { variant, .. } = self { *variant } else { Variant::default() }
    }

    /// Whether a baseline runs it.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self, Self::External { .. })
    }
}

impl fmt::Display for Subject {
    /// For messages: its label, and what else its build has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.label(), Variant { counted: false, ..self.variant() })
    }
}
