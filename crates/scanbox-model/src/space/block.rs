//! What a block says, checked, and its product.

use super::{
    Block, MAX_BATCH_SIZE, MAX_LOOKBACK_WIDTH, MAX_MAX_SPINS, MAX_STATE_STRIDE, MAX_WORKGROUP_SIZE,
    MAX_WORKGROUPS, MAX_WORKGROUPS_PER_UNIT, Numbers, Point,
};
use crate::config::{
    BackOff, BlockScan, Config, Family, Kernel, LoadLayout, Lookback, Parameter, Publish, Rendezvous, Reset,
    SubgroupScan, TileOrder, TileState, VectorWidth,
};
use crate::device::DeviceProfile;
use crate::problem::Element;
use crate::sample::Sample;
use crate::sizes::Sizes;

impl Block {
    /// Checks what holds on every device: no empty list, no number that none can do.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        fn filled<T>(key: &'static str, values: &[T]) -> Result<(), (&'static str, String)> {
            if values.is_empty() { Err((key, "the list is empty".to_owned())) } else { Ok(()) }
        }
        fn upto(key: &'static str, values: &[u32], most: u32) -> Result<(), (&'static str, String)> {
            filled(key, values)?;
            match values.iter().find(|&&value| value == 0 || value > most) {
                Some(value) => {
                    Err((key, format!("{value} is no number from 1 to {most}, so no device can do it")))
                }
                None => Ok(()),
            }
        }
        fn numbers(key: &'static str, values: &Numbers, most: u32) -> Result<(), (&'static str, String)> {
            match values {
                Numbers::List(list) => upto(key, list, most),
                // Any subgroup size and limit do: this is about the grammar.
                Numbers::Range(_) => values
                    .resolve(1, most)
                    .map_err(|reason| (key, reason))
                    .and_then(|list| upto(key, &list, most)),
            }
        }
        if let Some(bytes) = &self.element_bytes {
            filled("element_bytes", bytes)?;
            if let Some(other) = bytes.iter().find(|bytes| !Element::ALL_BYTES.contains(bytes)) {
                let those = Element::ALL_BYTES.map(|bytes| bytes.to_string()).join(", ");
                return Err(("element_bytes", format!("elements have {those} bytes, and none has {other}")));
            }
        }
        filled(Family::NAME, &self.family)?;
        upto("batch_size", &self.batch_size, MAX_BATCH_SIZE)?;
        filled(VectorWidth::NAME, &self.vector_width)?;
        numbers("workgroup_size", &self.workgroup_size, MAX_WORKGROUP_SIZE)?;
        if let Some(workgroups) = &self.workgroups {
            numbers("workgroups", workgroups, MAX_WORKGROUPS)?;
        }
        if let Some(workgroups) = &self.workgroups_per_unit {
            upto("workgroups_per_unit", workgroups, MAX_WORKGROUPS_PER_UNIT)?;
            if self.workgroups.is_some() {
                let reason = "`workgroups` fixes the size, this does not: a block has one of them";
                return Err(("workgroups_per_unit", reason.to_owned()));
            }
        }
        filled(Lookback::NAME, &self.lookback)?;
        filled(BlockScan::NAME, &self.block_scan)?;
        filled(SubgroupScan::NAME, &self.subgroup_scan)?;
        filled(LoadLayout::NAME, &self.load_layout)?;
        filled(TileOrder::NAME, &self.tile_order)?;
        filled(Publish::NAME, &self.publish)?;
        filled(Rendezvous::NAME, &self.rendezvous)?;
        upto("lookback_width", &self.lookback_width, MAX_LOOKBACK_WIDTH)?;
        filled("max_spins", &self.max_spins)?;
        if let Some(spins) = self.max_spins.iter().find(|&&spins| spins > MAX_MAX_SPINS) {
            return Err(("max_spins", format!("{spins} is no number from 0 to {MAX_MAX_SPINS}")));
        }
        filled(BackOff::NAME, &self.back_off)?;
        upto("state_stride", &self.state_stride, MAX_STATE_STRIDE)?;
        filled(TileState::NAME, &self.tile_state)?;
        filled(Reset::NAME, &self.reset)?;
        match self.sample {
            Some(Sample { per_size: 0, .. }) => {
                Err(("sample", "`per_size` is 0, but a sample has at least one config per size".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// The sizes of the block in a space with these.
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
        let lists = [
            self.family.len(),
            self.batch_size.len(),
            self.vector_width.len(),
            self.lookback.len(),
            self.block_scan.len(),
            self.subgroup_scan.len(),
            self.load_layout.len(),
            self.tile_order.len(),
            self.publish.len(),
            self.rendezvous.len(),
            self.lookback_width.len(),
            self.max_spins.len(),
            self.back_off.len(),
            self.state_stride.len(),
            self.tile_state.len(),
            self.reset.len(),
            self.workgroups_per_unit.as_ref().map_or(1, Vec::len),
            count(&self.workgroup_size),
            self.workgroups.as_ref().map_or(self.sizes(sizes).count(), count),
        ];
        lists.iter().fold(1, |product, &length| product.saturating_mul(length as u64))
    }

    /// Every point of the block before any rule: the raw product.
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
        for kernel in self.kernels() {
            for &workgroup_size in &workgroup_sizes {
                let config = Config { kernel, workgroup_size, workgroups: None, workgroups_per_unit: None };
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

    /// The product of all lists that make up a kernel.
    fn kernels(&self) -> Vec<Kernel> {
        let mut kernels = vec![Kernel {
            family: self.family[0],
            batch_size: self.batch_size[0],
            vector_width: self.vector_width[0],
            lookback: self.lookback[0],
            block_scan: self.block_scan[0],
            subgroup_scan: self.subgroup_scan[0],
            load_layout: self.load_layout[0],
            tile_order: self.tile_order[0],
            publish: self.publish[0],
            rendezvous: self.rendezvous[0],
            lookback_width: self.lookback_width[0],
            max_spins: self.max_spins[0],
            back_off: self.back_off[0],
            state_stride: self.state_stride[0],
            tile_state: self.tile_state[0],
            reset: self.reset[0],
        }];
        each(&mut kernels, &self.family, |kernel, family| Kernel { family, ..kernel });
        each(&mut kernels, &self.batch_size, |kernel, batch_size| Kernel { batch_size, ..kernel });
        each(&mut kernels, &self.vector_width, |kernel, vector_width| Kernel { vector_width, ..kernel });
        each(&mut kernels, &self.lookback, |kernel, lookback| Kernel { lookback, ..kernel });
        each(&mut kernels, &self.block_scan, |kernel, block_scan| Kernel { block_scan, ..kernel });
        each(&mut kernels, &self.subgroup_scan, |kernel, subgroup_scan| Kernel { subgroup_scan, ..kernel });
        each(&mut kernels, &self.load_layout, |kernel, load_layout| Kernel { load_layout, ..kernel });
        each(&mut kernels, &self.tile_order, |kernel, tile_order| Kernel { tile_order, ..kernel });
        each(&mut kernels, &self.publish, |kernel, publish| Kernel { publish, ..kernel });
        each(&mut kernels, &self.rendezvous, |kernel, rendezvous| Kernel { rendezvous, ..kernel });
        each(&mut kernels, &self.lookback_width, |kernel, lookback_width| Kernel {
            lookback_width,
            ..kernel
        });
        each(&mut kernels, &self.max_spins, |kernel, max_spins| Kernel { max_spins, ..kernel });
        each(&mut kernels, &self.back_off, |kernel, back_off| Kernel { back_off, ..kernel });
        each(&mut kernels, &self.state_stride, |kernel, state_stride| Kernel { state_stride, ..kernel });
        each(&mut kernels, &self.tile_state, |kernel, tile_state| Kernel { tile_state, ..kernel });
        each(&mut kernels, &self.reset, |kernel, reset| Kernel { reset, ..kernel });
        kernels
    }
}

/// Replaces each kernel by one per value.
fn each<T: Copy>(kernels: &mut Vec<Kernel>, values: &[T], with: impl Fn(Kernel, T) -> Kernel) {
    let all = kernels.iter().flat_map(|&kernel| values.iter().map(move |&value| (kernel, value)));
    *kernels = all.map(|(kernel, value)| with(kernel, value)).collect();
}
