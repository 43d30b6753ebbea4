//! A product of a space: every combination of lists of parameter values. In a file it is a `[[block]]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::{Numbers, Point};
use crate::device::DeviceProfile;
use crate::parameters::launch::{MAX_WORKGROUP_SIZE, MAX_WORKGROUPS, MAX_WORKGROUPS_PER_UNIT};
use crate::parameters::table::ANY_CONFIG;
use crate::parameters::words::{
    Arguments, BackOff, BlockScan, Family, LoadLayout, Lookback, Publish, Rendezvous, Reset, SubgroupScan,
    SubgroupSize, TileOrder, TileState, VectorWidth,
};
use crate::parameters::{Config, Declaration, KERNEL_PARAMETERS, Typed, Value, Values};
use crate::problem::Element;
use crate::sample::Sample;
use crate::sizes::Sizes;

/// Every combination of lists of parameter values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "InFile", into = "InFile")]
pub struct Product {
    /// Bytes of the elements that the product is for; any where there are none. A vector of so many elements is
    /// another load for each.
    pub element_bytes: Option<Vec<u32>>,
    /// The values of each of [`KERNEL_PARAMETERS`].
    kernels: Vec<Vec<Value>>,
    workgroup_size: Numbers,
    workgroups: Option<Numbers>,
    workgroups_per_unit: Option<Vec<u32>>,
    sizes: Option<Sizes>,
    /// Which part of the legal points that no product before has; all where there is none.
    pub sample: Option<Sample>,
}

/// The key of a list, and what is wrong with it.
type WrongList = (&'static str, String);

/// Makes a product as it stands in a file, and both ways between the two.
macro_rules! in_file {
    (
        tile { $($(#[doc = $tile_doc:literal])+ $tile:ident: $tile_type:ident $tile_facts:tt)+ }
        stages { $($(#[doc = $doc:literal])+ $stage:ident: $stage_type:ident $facts:tt)+ }
    ) => {
        /// A product as it stands in a file.
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct InFile {
            #[serde(skip_serializing_if = "Option::is_none")]
            element_bytes: Option<Vec<u32>>,
            $(#[serde(skip_serializing_if = "Option::is_none")]
            $tile: Option<Vec<Entry<$tile_type>>>,)+
            workgroup_size: Numbers,
            #[serde(skip_serializing_if = "Option::is_none")]
            workgroups: Option<Numbers>,
            #[serde(skip_serializing_if = "Option::is_none")]
            workgroups_per_unit: Option<Vec<u32>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            sizes: Option<Sizes>,
            $(#[serde(skip_serializing_if = "Option::is_none")]
            $stage: Option<Vec<Entry<$stage_type>>>,)+
            #[serde(skip_serializing_if = "Option::is_none")]
            sample: Option<Sample>,
        }

        impl TryFrom<InFile> for Product {
            type Error = String;

            fn try_from(file: InFile) -> Result<Self, String> {
                let mut parameters = KERNEL_PARAMETERS.iter();
                let kernels = vec![
                    $(values(parameters.next(), file.$tile)?,)+
                    $(values(parameters.next(), file.$stage)?,)+
                ];
                Ok(Self {
                    element_bytes: file.element_bytes,
                    kernels,
                    workgroup_size: file.workgroup_size,
                    workgroups: file.workgroups,
                    workgroups_per_unit: file.workgroups_per_unit,
                    sizes: file.sizes,
                    sample: file.sample,
                })
            }
        }

        impl From<Product> for InFile {
            fn from(product: Product) -> Self {
                let mut lists = KERNEL_PARAMETERS.iter().zip(product.kernels);
                Self {
                    element_bytes: product.element_bytes,
                    $($tile: list(lists.next()),)+
                    workgroup_size: product.workgroup_size,
                    workgroups: product.workgroups,
                    workgroups_per_unit: product.workgroups_per_unit,
                    sizes: product.sizes,
                    $($stage: list(lists.next()),)+
                    sample: product.sample,
                }
            }
        }
    };
}
with_parameters!(in_file);

/// The values that a file lists for a parameter: its default, where it has none.
fn values<T: Typed>(
    parameter: Option<&Declaration>,
    list: Option<Vec<Entry<T>>>,
) -> Result<Vec<Value>, String> {
    let parameter = parameter.expect("a product has the lists of the table");
    match (list, parameter.default) {
        (Some(list), _) => list.into_iter().map(|entry| entry.value(parameter)).collect(),
        (None, Some(default)) => Ok(vec![default]),
        (None, None) => Err(format!("missing field `{}`", parameter.name)),
    }
}

/// What a file says of a parameter: nothing, where it is the default and no file has to have it.
fn list<T: Typed>(list: Option<(&Declaration, Vec<Value>)>) -> Option<Vec<Entry<T>>> {
    let (parameter, values) = list?;
    let default = !parameter.always_listed && values.iter().map(|value| Some(*value)).eq([parameter.default]);
    (!default).then(|| values.into_iter().filter_map(Entry::of).collect())
}

/// Checks a list of a file.
fn upto(key: &'static str, values: &[u32], least: u32, most: u32) -> Result<(), WrongList> {
    if values.is_empty() {
        return Err((key, "the list is empty".to_owned()));
    }
    let wrong = values.iter().find(|&value| !(least..=most).contains(value));
    let no_device = if least == 1 { ", so no device can do it" } else { "" };
    wrong.map_or(Ok(()), |value| {
        Err((key, format!("{value} is not a number from {least} to {most}{no_device}")))
    })
}

fn numbers(key: &'static str, values: &Numbers, most: u32) -> Result<(), WrongList> {
    match values {
        Numbers::List(list) => upto(key, list, 1, most),
        // Any subgroup size and limit do: this is about the grammar.
        Numbers::Range(_) => {
            values.resolve(1, most).map_err(|reason| (key, reason)).and_then(|list| upto(key, &list, 1, most))
        }
    }
}

impl Product {
    /// Checks what holds on every device: no empty list, no number that none can do.
    pub(super) fn check(&self) -> Result<(), WrongList> {
        if let Some(bytes) = &self.element_bytes {
            if bytes.is_empty() {
                return Err(("element_bytes", "the list is empty".to_owned()));
            }
            if let Some(other) = bytes.iter().find(|bytes| !Element::ALL_BYTES.contains(bytes)) {
                let those = Element::ALL_BYTES.map(|bytes| bytes.to_string()).join(", ");
                return Err(("element_bytes", format!("elements have {those} bytes, and none has {other}")));
            }
        }
        for (parameter, values) in KERNEL_PARAMETERS.iter().zip(&self.kernels) {
            let numbers: Vec<u32> = values.iter().filter_map(|value| u32::of(*value)).collect();
            match parameter.values {
                Values::Numbers(least, most) => upto(parameter.name, &numbers, least, most)?,
                Values::Words(_) if values.is_empty() => {
                    return Err((parameter.name, "the list is empty".to_owned()));
                }
                Values::Words(_) => {}
            }
        }
        numbers("workgroup_size", &self.workgroup_size, MAX_WORKGROUP_SIZE)?;
        if let Some(workgroups) = &self.workgroups {
            numbers("workgroups", workgroups, MAX_WORKGROUPS)?;
        }
        if let Some(workgroups) = &self.workgroups_per_unit {
            upto("workgroups_per_unit", workgroups, 1, MAX_WORKGROUPS_PER_UNIT)?;
            if self.workgroups.is_some() {
                let reason = "`workgroups` fixes the size, this does not: a block has one of them";
                return Err(("workgroups_per_unit", reason.to_owned()));
            }
        }
        match self.sample {
            Some(Sample { per_size: 0, .. }) => {
                Err(("sample", "`per_size` is 0, but a sample has at least one config per size".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// The sizes of the product in a space with these.
    fn sizes<'a>(&'a self, of_space: &'a Sizes) -> impl Iterator<Item = u64> + use<'a> {
        of_space.iter().filter(|&n| self.sizes.as_ref().is_none_or(|sizes| sizes.contains(n)))
    }

    /// How many points the raw product has at most, on any device.
    pub(super) fn raw_points(&self, sizes: &Sizes) -> u64 {
        let count = |numbers: &Numbers| match numbers {
            Numbers::List(list) => list.len(),
            // The powers of two of a 32-bit number.
            Numbers::Range(_) => 32,
        };
        let launch = [
            self.workgroups_per_unit.as_ref().map_or(1, Vec::len),
            count(&self.workgroup_size),
            self.workgroups.as_ref().map_or(self.sizes(sizes).count(), count),
        ];
        let lists = self.kernels.iter().map(Vec::len).chain(launch);
        lists.fold(1, |product, length| product.saturating_mul(length as u64))
    }

    /// Every point of the product, before any rule.
    pub(super) fn points(&self, sizes: &Sizes, device: &DeviceProfile) -> Vec<Point> {
        // `check` has read both ranges before.
        let workgroup_sizes =
            self.workgroup_size.resolve(device.subgroup_size, device.max_workgroup_size).unwrap_or_default();
        let workgroups = self.workgroups.as_ref().map(|numbers| {
            numbers
                .resolve(
                    device.subgroup_size,
                    u32::try_from(device.most_workgroups()).unwrap_or(MAX_WORKGROUPS).min(MAX_WORKGROUPS),
                )
                .unwrap_or_default()
        });
        let mut points = Vec::new();
        for kernel in self.kernels(device) {
            for &workgroup_size in &workgroup_sizes {
                let config = Config { workgroup_size, ..kernel };
                match (&workgroups, &self.workgroups_per_unit) {
                    (Some(counts), _) => points.extend(counts.iter().map(|&count| Point {
                        n: config.tile_elements() * u64::from(count),
                        config: Config { workgroups: Some(count), ..config },
                    })),
                    (None, Some(per_unit)) => points.extend(per_unit.iter().flat_map(|&count| {
                        let config = Config { workgroups_per_unit: Some(count), ..config };
                        self.sizes(sizes).map(move |n| Point { n, config })
                    })),
                    (None, None) => points.extend(self.sizes(sizes).map(|n| Point { n, config })),
                }
            }
        }
        points
    }

    /// Whether a list leaves something to what is found out on the device.
    pub(super) fn leaves_open(&self) -> bool {
        self.kernels.iter().any(|values| values.contains(&Value::Auto))
    }

    /// The product of all lists that make up a kernel, each with some launch shape.
    fn kernels(&self, device: &DeviceProfile) -> Vec<Config> {
        let mut configs = vec![ANY_CONFIG];
        for (parameter, listed) in KERNEL_PARAMETERS.iter().zip(&self.kernels) {
            let mut values: Vec<Value> = Vec::with_capacity(listed.len());
            let of_device = |entry: &Value| match entry {
                Value::All => device.offers(parameter),
                entry => vec![device.found(parameter, *entry)],
            };
            for value in listed.iter().flat_map(of_device) {
                // What the device is found to be best with may be listed too.
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            let product = configs.iter().flat_map(|&config| values.iter().map(move |value| (config, *value)));
            configs = product.map(|(config, value)| parameter.with(config, value)).collect();
        }
        configs
    }
}
