//! What to run: for a scan, a use, a device and a number of elements. Nothing here allocates.

use std::fmt;
use std::ops::RangeInclusive;

use crate::contents::{Breakpoint, CallUse, ChoiceTable, PackData, PackModule, PackRecipe, ScanProblem};
use crate::pack::Pack;
use crate::promises::{FeatureSet, Promises};

/// What is asked of a pack.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// What is computed.
    pub scan: &'a ScanProblem,
    /// How it is called.
    pub call_use: CallUse,
    /// What the program promises of the device beyond what Vulkan does.
    pub promised: Promises,
}

/// A device, and what of it is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenDevice<'a> {
    /// `VkPhysicalDeviceProperties::vendorID`.
    pub vendor_id: u32,
    /// `VkPhysicalDeviceProperties::deviceID`.
    pub device_id: u32,
    /// The driver and its version, as in packs ([`PackDevice`](crate::PackDevice)).
    pub driver: &'a str,
    /// What tells builds of it apart, as in packs; empty where that is not known.
    pub driver_build: &'a str,
    /// The subgroup size that it has by itself.
    pub subgroup_size: u32,
    /// The smallest one that a pipeline may ask for; where none may be asked for, that of the device.
    pub min_subgroup_size: u32,
    /// The largest one.
    pub max_subgroup_size: u32,
    /// Invocations per workgroup at most.
    pub max_workgroup_size: u32,
    /// Subgroups per workgroup at most.
    pub max_workgroup_subgroups: u32,
    /// Bytes of shared memory per workgroup at most.
    pub max_shared_bytes: u32,
    /// Features that are enabled, and operations of subgroups that there are.
    pub features: FeatureSet,
}

/// Why a device cannot run a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// It has no subgroups of this size.
    SubgroupSize(u32),
    /// It has no workgroups of this size.
    WorkgroupSize(u32),
    /// It has not so many bytes of shared memory.
    SharedBytes(u32),
    /// These features are not enabled.
    Features(FeatureSet),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SubgroupSize(size) => write!(f, "the device has no subgroups of {size}"),
            Self::WorkgroupSize(size) => write!(f, "the device has no workgroups of {size}"),
            Self::SharedBytes(bytes) => write!(f, "a workgroup has less than {bytes} bytes of shared memory"),
            Self::Features(features) => {
                write!(f, "{features} is missing: enable it where the device has it")
            }
        }
    }
}

impl PackModule {
    /// The size of subgroups that it needs, where it is none of those that a device has.
    #[must_use]
    pub fn lacks_subgroups_of(&self, has: &RangeInclusive<u32>) -> Option<u32> {
        Some(self.subgroup_size).filter(|size| !has.contains(size))
    }
}

impl SeenDevice<'_> {
    /// What it lacks for a module, if anything.
    #[must_use]
    pub fn lacks(&self, module: &PackModule) -> Option<Lack> {
        let PackModule { subgroup_size, workgroup_size, shared_bytes, features, .. } = *module;
        let subgroups = workgroup_size.checked_div(subgroup_size).unwrap_or(0);
        // Workgroups of whole subgroups alone.
        let fits = workgroup_size <= self.max_workgroup_size
            && subgroups <= self.max_workgroup_subgroups
            && workgroup_size.checked_rem(subgroup_size) == Some(0);
        if let Some(size) = module.lacks_subgroups_of(&(self.min_subgroup_size..=self.max_subgroup_size)) {
            Some(Lack::SubgroupSize(size))
        } else if !fits {
            Some(Lack::WorkgroupSize(workgroup_size))
        } else if shared_bytes > self.max_shared_bytes {
            Some(Lack::SharedBytes(shared_bytes))
        } else if !self.features.has(features) {
            Some(Lack::Features(features.without(self.features)))
        } else {
            None
        }
    }
}

/// On what ground something was chosen: the steps of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It was measured on this device, with this driver.
    SameDriver,
    /// It was measured on this device, with another driver.
    SameDevice,
    /// It was measured on a device of the same family.
    SameFamily,
    /// What runs everywhere, for its subgroup size: nothing was measured on a device like this, or what was measured
    /// needs something that nobody promises.
    Portable,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameDriver => "by measurements on this device with this driver",
            Self::SameDevice => "by measurements on this device with another driver",
            Self::SameFamily => "by measurements on a device of the same family",
            Self::Portable => "the portable choice, for any device with subgroups of this size",
        })
    }
}

/// What was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen<'a> {
    /// The recipe, by its place in the pack.
    pub recipe: u16,
    /// What stands in for it where its pipelines cannot be made, the best one first, by places in the pack. They have
    /// to be asked for whether they take the number of elements, and what the device lacks for them.
    pub others: &'a [u16],
    /// On what ground.
    pub reason: Reason,
    /// The table that it stands in.
    pub table: &'a ChoiceTable,
    /// The range that it was chosen for.
    pub breakpoint: &'a Breakpoint,
}

/// Why nothing was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotChosen {
    /// The pack does not have the scan.
    OtherScan,
    /// The pack does not have this use of it.
    OtherUse,
    /// All recipes for the use take other numbers of elements.
    OtherSize {
        /// The number.
        n: u64,
        /// The most that one takes.
        most: u64,
    },
    /// All recipes for it need something that nobody promises of this device.
    NotPromised(Promises),
    /// The device lacks something for each recipe; this for the first one.
    Lacks(Lack),
}

impl fmt::Display for NotChosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherScan => f.write_str("the pack has no such scan"),
            Self::OtherUse => f.write_str("the pack has the scan, and no kernel for this use of it"),
            Self::OtherSize { n, most } => write!(
                f,
                "no kernel of the pack takes {n} elements here, and the most that one takes is {most}: scan in parts",
            ),
            Self::NotPromised(needs) => write!(
                f,
                "every kernel for it needs {needs}, which nobody promises of this device: promise it, if it is so",
            ),
            Self::Lacks(lack) => write!(f, "{lack}"),
        }
    }
}

impl std::error::Error for NotChosen {}

impl NotChosen {
    /// How near it is to a choice: of several reasons the nearest is told.
    fn rank(self) -> u8 {
        match self {
            Self::OtherScan => 0,
            Self::OtherUse => 1,
            Self::OtherSize { .. } => 2,
            Self::NotPromised(_) => 3,
            Self::Lacks(_) => 4,
        }
    }

    fn nearer(self, other: Self) -> Self {
        match (self, other) {
            (Self::OtherSize { n, most: one }, Self::OtherSize { most: another, .. }) => {
                Self::OtherSize { n, most: one.max(another) }
            }
            _ if other.rank() > self.rank() => other,
            _ => self,
        }
    }
}

impl ChoiceTable {
    /// The choice for so many elements, 0 standing for 1; `None` where they are fewer than any choice is for.
    #[must_use]
    pub fn choose(&self, n: u64) -> Option<&Breakpoint> {
        let behind = self.breakpoints.partition_point(|breakpoint| breakpoint.from <= n.max(1));
        self.breakpoints.get(behind.checked_sub(1)?)
    }
}

impl Pack {
    /// How much a device is like that of the pack.
    #[must_use]
    pub fn likeness(&self, device: &SeenDevice<'_>) -> Reason {
        let measured = &self.data().device;
        let same_device = device.device_id == measured.device_id;
        let builds = [device.driver_build, &measured.driver_build];
        let same_build = builds[0] == builds[1] || builds.contains(&"");
        let same_driver = device.driver == measured.driver && same_build;
        if device.vendor_id != measured.vendor_id {
            Reason::Portable
        } else if same_device && same_driver {
            Reason::SameDriver
        } else if same_device {
            Reason::SameDevice
        } else if measured.family.contains(&device.device_id) {
            Reason::SameFamily
        } else {
            Reason::Portable
        }
    }

    /// What to run for so many elements, 0 standing for 1; where only the device knows how many, for the most that
    /// there may be.
    ///
    /// What the pack knows its device to keep holds for the driver that it was measured with. With another one it is up
    /// to the program to promise it; on another device, however many of its workgroups run at the same time, nothing
    /// that counts on it is chosen.
    ///
    /// Programs that record often ask when they make a scan, once for each breakpoint: this compares texts and looks at
    /// modules, which takes some hundred nanoseconds.
    ///
    /// # Errors
    /// Why there is nothing.
    pub fn choose(&self, wish: &Wish<'_>, device: &SeenDevice<'_>, n: u64) -> Result<Chosen<'_>, NotChosen> {
        let has_scan = self.data().problems.iter().any(|problem| problem.scan == *wish.scan);
        let mut why = if has_scan { NotChosen::OtherUse } else { NotChosen::OtherScan };
        for choice in self.choices(wish, device, n) {
            match choice {
                Ok(chosen) => return Ok(chosen),
                Err(nearer) => why = why.nearer(nearer),
            }
        }
        Err(why)
    }

    /// What every table for the use says, in the order in which they are asked: the first one that is there is what
    /// [`Pack::choose`] says, and those behind it stand in for it where no pipeline of its table can be made.
    pub fn choices<'a>(
        &'a self,
        wish: &Wish<'_>,
        device: &SeenDevice<'_>,
        n: u64,
    ) -> impl Iterator<Item = Result<Chosen<'a>, NotChosen>> {
        let data = self.data();
        let likeness = self.likeness(device);
        let promised = match likeness {
            Reason::SameDriver => wish.promised.with(data.device.keeps),
            Reason::SameDevice => wish.promised,
            Reason::SameFamily | Reason::Portable => wish.promised.without(Promises::CO_RESIDENCY),
        };
        let problem = data.problems.iter().find(|problem| problem.scan == *wish.scan);
        let measured = problem.into_iter().flat_map(|problem| &problem.measured);
        let measured =
            measured.filter(move |_| likeness != Reason::Portable).map(move |table| (table, likeness));
        // Those for the subgroup size of the device come before those for one that it can be asked for.
        let portable = [true, false].into_iter().flat_map(move |own| {
            let of_size =
                move |table: &&ChoiceTable| (subgroup_size(data, table) == Some(device.subgroup_size)) == own;
            let tables = problem.into_iter().flat_map(|problem| &problem.portable);
            tables.filter(of_size).map(|table| (table, Reason::Portable))
        });
        let call_use = wish.call_use;
        let of_use = measured.chain(portable).filter(move |(table, _)| table.call_use == call_use);
        of_use.map(move |(table, reason)| {
            if !promised.has(table.needs) {
                return Err(NotChosen::NotPromised(table.needs.without(promised)));
            }
            let (recipe, others, breakpoint) = choose_from(data, table, device, n)?;
            Ok(Chosen { recipe, others, reason, table, breakpoint })
        })
    }
}

/// The subgroup size that a table is for: that of its first recipe.
fn subgroup_size(data: &PackData, table: &ChoiceTable) -> Option<u32> {
    let recipe = data.recipes.get(usize::from(*table.breakpoints.first()?.ranked.first()?))?;
    let module = recipe.recipe.all_passes().next()?.module;
    Some(data.modules.get(usize::from(module))?.subgroup_size)
}

/// The first recipe for so many elements that the device can run, and those behind it.
fn choose_from<'a>(
    data: &'a PackData,
    table: &'a ChoiceTable,
    device: &SeenDevice<'_>,
    n: u64,
) -> Result<(u16, &'a [u16], &'a Breakpoint), NotChosen> {
    let mut why = NotChosen::OtherSize { n, most: 0 };
    let Some(breakpoint) = table.choose(n) else { return Err(why) };
    let mut ranked = breakpoint.ranked.as_slice();
    while let [place, others @ ..] = ranked {
        ranked = others;
        let Some(PackRecipe { recipe, .. }) = data.recipes.get(usize::from(*place)) else { continue };
        if !recipe.takes(n.max(1)) {
            why = why.nearer(NotChosen::OtherSize { n, most: recipe.max_n });
            continue;
        }
        let mut modules = recipe.modules().filter_map(|place| data.modules.get(usize::from(*place)));
        let lack = modules.find_map(|module| device.lacks(module));
        match lack {
            Some(lack) => why = why.nearer(NotChosen::Lacks(lack)),
            None => return Ok((*place, others, breakpoint)),
        }
    }
    Err(why)
}
