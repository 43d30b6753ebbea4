//! What `auto` stands for where a device has to be asked: what was measured there, and the rule that decides by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameters::words::Arguments;

/// What a probe of a device found about the arguments of kernels: copies of a few sizes, timed in turns with pushed
/// arguments and with arguments in a block that every call rewrites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArgumentsProbe {
    /// What `auto` stands for: `push` or `block`.
    pub arguments: Arguments,
    /// What that was decided by.
    pub sizes: Vec<ProbedSize>,
}

/// What a dependent call of a copy takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbedSize {
    /// Elements.
    pub n: u64,
    /// With pushed arguments: the median of the rounds, in nanoseconds.
    pub push_ns: f64,
    /// With arguments in a block.
    pub block_ns: f64,
}

/// What two times have to differ by to differ at all: this share of the one with pushed arguments,
const DIFFERS_RATIO: f64 = 0.01;
/// or this, whichever is more.
const DIFFERS_NS: f64 = 30.0;

impl ProbedSize {
    /// How many nanoseconds less a call takes with a block, where that is more than times differ by anyway; negative
    /// where it takes more, and 0 where nothing can be told.
    fn gain_ns(&self) -> f64 {
        let gain_ns = self.push_ns - self.block_ns;
        let differs_ns = (DIFFERS_RATIO * self.push_ns).max(DIFFERS_NS);
        if gain_ns.abs() > differs_ns { gain_ns } else { 0.0 }
    }
}

impl ArgumentsProbe {
    /// What follows from these times: `block`, where it is faster at most of the sizes and slower at none of them.
    ///
    /// What reading a constant costs is paid once in a call, however many elements it has. So a device that has this
    /// cost shows it at small sizes, where calls take little else, and one size that says so alone has seen something
    /// else: hence most of them. Where a block is slower at some size, it costs something that constants do not, and
    /// who does not know better is left with `push`, which needs no memory and no pipeline of its own. `baked` is
    /// never chosen: what is baked cannot change, and whoever says `auto` has not said that nothing will.
    #[must_use]
    pub fn of(sizes: Vec<ProbedSize>) -> Self {
        let gains = || sizes.iter().map(ProbedSize::gain_ns);
        let faster = gains().filter(|gain_ns| *gain_ns > 0.0).count();
        let is_block = 2 * faster > sizes.len() && gains().all(|gain_ns| gain_ns >= 0.0);
        let arguments = if is_block { Arguments::Block } else { Arguments::Push };
        Self { arguments, sizes }
    }

    /// Whether a probe can have found this: times that are some, and what follows from them.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_time = |ns: f64| ns.is_finite() && ns > 0.0;
        let are_times = self.sizes.iter().all(|size| is_time(size.push_ns) && is_time(size.block_ns));
        !self.sizes.is_empty() && are_times && *self == Self::of(self.sizes.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_has_to_be_faster_at_most_sizes_and_slower_at_none() {
        let check = |times: &[(f64, f64)], expected: Arguments| {
            let sizes = times.iter().map(|&(push_ns, block_ns)| ProbedSize { n: 1, push_ns, block_ns });
            let probe = ArgumentsProbe::of(sizes.collect());
            assert_eq!(probe.arguments, expected, "{times:?}");
            // What is kept is what was found.
            assert_eq!(probe.is_sound(), !times.is_empty(), "{times:?}");
            let kept = serde_json::to_string(&probe).unwrap();
            assert_eq!(serde_json::from_str::<ArgumentsProbe>(&kept).unwrap(), probe, "{kept}");
        };
        use Arguments::{Block, Push};
        check(&[(1900.0, 1740.0), (2000.0, 1820.0), (2230.0, 1960.0)], Block);
        check(&[(1900.0, 1740.0), (2000.0, 1820.0), (2230.0, 2230.0)], Block);
        check(&[(1900.0, 1740.0), (2000.0, 2000.0), (2230.0, 2230.0)], Push);
        check(&[(1900.0, 1740.0), (2000.0, 1820.0), (2230.0, 2300.0)], Push);
        // Below 3 us 30 ns count, above a hundredth.
        check(&[(1000.0, 970.0)], Push);
        check(&[(1000.0, 969.0)], Block);
        check(&[(10_000.0, 9901.0)], Push);
        check(&[(10_000.0, 9899.0)], Block);
        check(&[(1900.0, 1740.0), (2000.0, 1820.0), (10_000.0, 10_090.0)], Block);
        check(&[(1900.0, 1900.0)], Push);
        check(&[(1740.0, 1900.0)], Push);
        check(&[(1900.0, 1740.0), (1900.0, 1900.0)], Push);
        check(&[], Push);
        let other = |push_ns, block_ns| {
            let sizes = vec![ProbedSize { n: 1, push_ns, block_ns }];
            ArgumentsProbe { arguments: Block, sizes }.is_sound()
        };
        assert!(other(1900.0, 1740.0));
        assert!(!other(1740.0, 1900.0) && !other(1.0, -1740.0) && !other(f64::INFINITY, 1.0));
    }
}
