//! Few configs that have every pair of parameter values between them, for tests that compile or run kernels.

use std::collections::BTreeSet;

pub use scanbox_kernels::cases::covering::{covering, pairs};
use scanbox_kernels::catalog;
use scanbox_model::config::{
    Arguments, BackOff, BlockScan, Config, Family, Kernel, LoadLayout, Lookback, Parameter, Publish,
    Rendezvous, Reset, SubgroupScan, TileOrder, TileState, VectorWidth,
};
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::{KERNEL_PARAMETERS, Value, Values};
use scanbox_model::problem::Problem;

/// Parameters of a config.
pub const PARAMETERS: usize = 18;

/// A value of each parameter, as its place in the list of values: first those that say which stages there are, then
/// those that may have any value in any kernel that passes totals on.
pub type Combination = [usize; PARAMETERS];

/// How many of the parameters say which stages there are.
const STAGES: usize = 9;
/// Where the batch size is.
const BATCH: usize = STAGES + 1;
/// Where those of kernels that pass totals on begin, four of them.
const STATES: usize = STAGES + 4;

/// The values that are tried of parameters which are numbers. All others have all their values.
#[derive(Debug, Clone)]
pub struct NumbersTried {
    /// Rows per invocation.
    pub batch_sizes: Vec<u32>,
    /// Invocations. The first one is right for any stages.
    pub workgroup_sizes: Vec<u32>,
    /// Tile states per invocation.
    pub lookback_widths: Vec<u32>,
    /// Words from one tile state to the next.
    pub state_strides: Vec<u32>,
    /// Workgroups of persistent kernels.
    pub workgroups_per_unit: Vec<u32>,
}

impl NumbersTried {
    /// How many values each parameter has.
    pub fn counts(&self) -> Combination {
        [
            Family::VALUES.len(),
            Lookback::VALUES.len(),
            BlockScan::VALUES.len(),
            SubgroupScan::VALUES.len(),
            LoadLayout::VALUES.len(),
            TileOrder::VALUES.len(),
            Publish::VALUES.len(),
            Rendezvous::VALUES.len(),
            self.lookback_widths.len(),
            Arguments::VALUES.len(),
            self.batch_sizes.len(),
            VectorWidth::VALUES.len(),
            self.workgroup_sizes.len(),
            // What `auto` stands for is tried instead; it is left to kernels without tile states.
            TileState::VALUES.len() - 1,
            Reset::VALUES.len() - 1,
            BackOff::VALUES.len(),
            self.state_strides.len(),
            self.workgroups_per_unit.len(),
        ]
    }

    /// The config with these values.
    pub fn config(&self, values: Combination) -> Config {
        let [family, lookback, block, subgroup, layout, order, publish, rendezvous, width, numbers @ ..] =
            values;
        let [arguments, batch, vector, size, state, reset, back_off, stride, per_unit] = numbers;
        let family = Family::VALUES[family];
        let has_states = Lookback::VALUES[lookback] != Lookback::None;
        let stateful = |place: usize| if has_states { place } else { 0 };
        let any: Kernel = "b1.scalar.none.rake".parse().expect("it is a label");
        let config = Config {
            kernel: Kernel {
                family,
                batch_size: self.batch_sizes[batch],
                vector_width: VectorWidth::VALUES[vector],
                lookback: Lookback::VALUES[lookback],
                block_scan: BlockScan::VALUES[block],
                subgroup_scan: SubgroupScan::VALUES[subgroup],
                load_layout: LoadLayout::VALUES[layout],
                tile_order: TileOrder::VALUES[order],
                publish: Publish::VALUES[publish],
                rendezvous: Rendezvous::VALUES[rendezvous],
                lookback_width: self.lookback_widths[width],
                back_off: BackOff::VALUES[stateful(back_off)],
                state_stride: self.state_strides[stateful(stride)],
                tile_state: TileState::VALUES[stateful(state + 1)],
                reset: Reset::VALUES[stateful(reset + 1)],
                arguments: Arguments::VALUES[arguments],
                ..any
            },
            workgroup_size: self.workgroup_sizes[size],
            workgroups: None,
            workgroups_per_unit: (family == Family::Persistent).then(|| self.workgroups_per_unit[per_unit]),
        };
        // Numbers that have a meaning for few kernels go with them: the default, the least, and another one.
        let few =
            KERNEL_PARAMETERS.iter().filter(|parameter| parameter.needs.is_some_and(|needs| needs.else_open));
        few.filter(|parameter| parameter.applies(&config)).fold(config, |config, parameter| {
            match (parameter.default, parameter.values) {
                (Some(default), Values::Numbers(least, _)) => {
                    let values = [default, Value::Number(least), Value::Number(9)];
                    parameter.with(config, values[(batch + size) % values.len()])
                }
                _ => config,
            }
        })
    }

    /// Configs of all stages that go together on this device, each with `each` combinations of the other values, and no
    /// config that `keep` refuses.
    pub fn candidates(
        &self,
        device: &DeviceProfile,
        each: usize,
        keep: impl Fn(&Config) -> bool,
    ) -> Vec<Combination> {
        let counts = self.counts();
        let [all_stages, all_numbers] =
            [&counts[..STAGES], &counts[STAGES..]].map(|counts| counts.iter().product::<usize>());
        let runs = |values| {
            let config = self.config(values);
            catalog::legal(&config, &Problem::default(), 1, device).is_ok() && keep(&config)
        };
        let mut found = Vec::new();
        let mut numbers = 0;
        for stages in 0..all_stages {
            let mut values = place_values(stages, &counts);
            // Some batch size, tile state and reset go with any stages that go together.
            let mut goes = false;
            for batch in 0..counts[BATCH] {
                for state in 0..counts[STATES] {
                    (values[BATCH], values[STATES]) = (batch, state);
                    goes |= catalog::legal(&self.config(values), &Problem::default(), 1, device).is_ok();
                }
            }
            let mut left = if goes { each } else { 0 };
            for _ in 0..all_numbers {
                if left == 0 {
                    break;
                }
                // A prime number, so that every combination comes in turn, and each is unlike the one before.
                numbers = (numbers + 7919) % all_numbers;
                let values = place_values(stages + numbers * all_stages, &counts);
                if runs(values) {
                    found.push(self.marked(values, &counts));
                    left -= 1;
                }
            }
        }
        found
    }

    /// The same values, but for parameters that a config does not have: theirs is one of its own there, so that a pair
    /// with it counts for nothing else.
    fn marked(&self, mut values: Combination, counts: &Combination) -> Combination {
        let config = self.config(values);
        if config.kernel.lookback == Lookback::None {
            values[STATES..STATES + 4].copy_from_slice(&counts[STATES..STATES + 4]);
        }
        if config.workgroups_per_unit.is_none() {
            values[PARAMETERS - 1] = counts[PARAMETERS - 1];
        }
        values
    }
}

/// The digits of a number, where each place has its own base.
fn place_values(mut number: usize, counts: &Combination) -> Combination {
    counts.map(|count| {
        let digit = number % count;
        number /= count;
        digit
    })
}

/// All pairs of all rows.
pub fn all_pairs<const N: usize>(rows: &[[usize; N]]) -> BTreeSet<(usize, usize, usize, usize)> {
    rows.iter().flat_map(pairs).collect()
}
