//! Spaces: sets of configs and input sizes, read from TOML and enumerated for one device.
//!
//! A space is a union of products; a product is every combination of its lists. Where a product fixes `workgroups`, the
//! input size follows from it (thesis 3.8): `n = batch size * vector width * workgroup size * workgroups`. Where it
//! does not, every config runs at every size. A product may be a [sample](crate::sample::Sample) of its points, and it
//! may be for elements of some sizes alone (`element_bytes = [8, 16]`): what a vector of them loads at once is
//! another number of bytes for each.

mod entry;
mod product;
mod template;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{Config, Kernel};
use crate::device::DeviceProfile;
use crate::sizes::Sizes;

pub use product::Product;
pub use template::template;

/// A set of configs and input sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Space {
    /// A word for file names: `thesis`, `quick`.
    pub name: String,
    /// What the space is for.
    #[serde(default)]
    pub description: String,
    /// The input sizes in elements.
    pub sizes: Sizes,
    /// The products whose union the space is; in a file each is a `[[block]]`.
    #[serde(rename = "block")]
    pub products: Vec<Product>,
}

/// Numbers of a launch shape: a list, or the powers of two of a range whose ends may be named after the device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Numbers {
    /// These numbers.
    List(Vec<u32>),
    /// `"FROM..TO"`: FROM is a number or `subgroup`, TO a number or `device` (the limit of the device).
    Range(String),
}

impl Numbers {
    /// The numbers for a device with this subgroup size, where the limit of the device is `limit`.
    fn resolve(&self, subgroup_size: u32, limit: u32) -> Result<Vec<u32>, String> {
        match self {
            Self::List(numbers) => Ok(numbers.clone()),
            Self::Range(text) => {
                let usage = || {
                    format!(
                        "`{text}` is not a range: write FROM..TO with FROM a number or `subgroup`, TO a number or `device`"
                    )
                };
                let (from, to) = text.split_once("..").ok_or_else(usage)?;
                let from =
                    if from == "subgroup" { subgroup_size } else { from.parse().map_err(|_| usage())? };
                let to = if to == "device" { limit } else { to.parse().map_err(|_| usage())? };
                Ok((0..32).map(|e| 1u32 << e).filter(|n| (from..=to).contains(n)).collect())
            }
        }
    }
}

/// Why a space file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// The text is not the TOML of a space.
    #[error("{path}: {reason}")]
    Syntax {
        /// The file.
        path: String,
        /// What the TOML reader says, with line and column.
        reason: String,
    },
    /// No product is for elements of this size.
    #[error("space {space} has no block for elements of {bytes} bytes: its `element_bytes` are {those}")]
    OtherElements {
        /// The name of the space.
        space: String,
        /// Bytes of an element.
        bytes: u32,
        /// Those that it has.
        those: String,
    },
    /// A value makes no sense on any device.
    #[error("{path}: block {product}: `{key}`: {reason}")]
    Value {
        /// The file.
        path: String,
        /// The number of the product, from 1.
        product: usize,
        /// The key.
        key: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// A reason not to run a config, found before trying: the rule, and the numbers behind it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail} [{rule}]")]
pub struct Rejection {
    /// The name of the rule: what rejections are counted by.
    pub rule: Cow<'static, str>,
    /// What it says about this config.
    pub detail: String,
}

/// One config at one input size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Input size in elements.
    pub n: u64,
    /// The config.
    pub config: Config,
}

/// How often one rule rejected, with the first case as an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectionCount {
    /// The rule.
    pub rule: String,
    /// Points rejected by it.
    pub points: u64,
    /// What the rule said about the first of them.
    pub example: String,
}

/// A space on one device: what runs, and what does not and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Enumeration {
    /// The legal points, by size and label.
    pub points: Vec<Point>,
    /// The rejected points of the raw product, by rule.
    pub rejections: Vec<RejectionCount>,
}

impl Enumeration {
    /// Points of the raw product.
    #[must_use]
    pub fn raw_points(&self) -> u64 {
        self.points.len() as u64 + self.rejections.iter().map(|rejection| rejection.points).sum::<u64>()
    }

    /// The different kernels among the legal points.
    #[must_use]
    pub fn kernels(&self) -> BTreeSet<Kernel> {
        self.points.iter().map(|point| point.config.kernel).collect()
    }

    /// The different pipelines among the legal points: a kernel and a workgroup size are compiled in.
    #[must_use]
    pub fn pipelines(&self) -> BTreeSet<(Kernel, u32)> {
        self.points.iter().map(|point| (point.config.kernel, point.config.workgroup_size)).collect()
    }
}

impl Space {
    /// Reads a space from TOML; `path` is for messages.
    ///
    /// # Errors
    /// When the text is not a space, or a value makes no sense on any device.
    pub fn from_toml(text: &str, path: &str) -> Result<Self, SpaceError> {
        let space: Self = toml::from_str(text).map_err(|error| SpaceError::Syntax {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        if space.name.is_empty() || space.name != crate::units::slug(&space.name) {
            let reason =
                format!("`name`: `{}` is not a word of lower-case letters, digits and dashes", space.name);
            return Err(SpaceError::Syntax { path: path.to_owned(), reason });
        }
        for (index, product) in space.products.iter().enumerate() {
            product.check().map_err(|(key, reason)| SpaceError::Value {
                path: path.to_owned(),
                product: index + 1,
                key,
                reason,
            })?;
        }
        let points: u64 = space
            .products
            .iter()
            .map(|product| product.raw_points(&space.sizes))
            .fold(0, u64::saturating_add);
        if points > MAX_POINTS {
            let reason =
                format!("its lists make {points} configs, more than {MAX_POINTS}: make several spaces of it");
            return Err(SpaceError::Syntax { path: path.to_owned(), reason });
        }
        if space.products.is_empty() {
            return Err(SpaceError::Syntax {
                path: path.to_owned(),
                reason: "a space has at least one [[block]]".into(),
            });
        }
        Ok(space)
    }

    /// The same space at other sizes.
    #[must_use]
    pub fn with_sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// The space as it is for elements of so many bytes: the products for them, which no longer say so.
    ///
    /// # Errors
    /// When it has none.
    pub fn for_elements(mut self, bytes: u32) -> Result<Self, SpaceError> {
        let all: BTreeSet<u32> = self
            .products
            .iter()
            .flat_map(|product| product.element_bytes.iter().flatten().copied())
            .collect();
        self.products
            .retain(|product| product.element_bytes.as_ref().is_none_or(|those| those.contains(&bytes)));
        if self.products.is_empty() && !all.is_empty() {
            let those = all.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            return Err(SpaceError::OtherElements { space: self.name, bytes, those });
        }
        self.products.iter_mut().for_each(|product| product.element_bytes = None);
        Ok(self)
    }

    /// What tells the definitions of spaces apart, whatever their names and sizes: eight hexadecimal digits.
    #[must_use]
    pub fn definition(&self) -> String {
        let text = serde_json::to_vec(&self.products).unwrap_or_default();
        blake3::hash(&text).to_hex()[..8].to_owned()
    }

    /// Whether a list has `auto` of a parameter whose best value is found out on the device: then the points depend on
    /// what a probe found there ([`DeviceProfile::arguments`]).
    #[must_use]
    pub fn asks_device(&self) -> bool {
        self.products.iter().any(Product::leaves_open)
    }

    /// Every point of the space on this device. `legal` holds the rules of the kernels. Of a space with products for
    /// elements of some sizes, [`Self::for_elements`] chooses those first.
    #[must_use]
    pub fn enumerate(
        &self,
        device: &DeviceProfile,
        legal: impl Fn(&Config, u64, &DeviceProfile) -> Result<(), Rejection>,
    ) -> Enumeration {
        let mut legal_points = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut rejections = Rejections::default();
        for point in self.products.iter().flat_map(|product| product.points(&self.sizes, device)) {
            if !seen.insert(point) {
                continue;
            }
            let verdict = if self.sizes.contains(point.n) {
                legal(&point.config, point.n, device)
            } else {
                Err(Rejection {
                    rule: "size-outside-space".into(),
                    detail: format!(
                        "{} stands for {} elements, which is not among the sizes {}",
                        point.config, point.n, self.sizes
                    ),
                })
            };
            match verdict {
                Ok(()) => {
                    legal_points.insert(point);
                }
                Err(rejection) => rejections.count(rejection),
            }
        }
        let points = self.sampled(&legal_points, device);
        for point in legal_points.difference(&points) {
            rejections.count(Rejection {
                rule: "not-in-sample".into(),
                detail: format!("{} at {} could run, but the sample leaves it out", point.config, point.n),
            });
        }
        Enumeration { points: points.into_iter().collect(), rejections: rejections.0.into_values().collect() }
    }

    /// The legal points without those that the samples of products leave out.
    fn sampled(&self, legal: &BTreeSet<Point>, device: &DeviceProfile) -> BTreeSet<Point> {
        if self.products.iter().all(|product| product.sample.is_none()) {
            return legal.clone();
        }
        let mut points = BTreeSet::new();
        for product in &self.products {
            let mut of_product = product.points(&self.sizes, device);
            of_product.retain(|point| legal.contains(point) && !points.contains(point));
            match product.sample {
                Some(sample) => points.extend(sample.of(&of_product)),
                None => points.extend(of_product),
            }
        }
        points
    }
}

/// Rejections by rule.
#[derive(Default)]
struct Rejections(BTreeMap<Cow<'static, str>, RejectionCount>);

impl Rejections {
    fn count(&mut self, rejection: Rejection) {
        let entry = self.0.entry(rejection.rule.clone()).or_insert_with(|| RejectionCount {
            rule: rejection.rule.into_owned(),
            points: 0,
            example: rejection.detail,
        });
        entry.points += 1;
    }
}

/// More configs than this are days of measuring, and a mistake in the file.
const MAX_POINTS: u64 = 1 << 18;
