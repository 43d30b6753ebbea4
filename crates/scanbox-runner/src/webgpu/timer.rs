//! How fine the clock of a device is: implementations round timestamps, some to 100 us.

use std::time::{Duration, Instant};

use super::work::{DeviceDriver, DeviceWork, WorkStep};
use crate::backend::Failure;

/// Passes of one look.
const PASSES: usize = 64;
/// Timestamps that differ, at least: what they have in common may be more than a step otherwise.
const DIFFERENT: usize = 16;
/// Who has not seen so many by then takes what was seen.
const PATIENCE: Duration = Duration::from_millis(500);

/// The step of the clock in ticks: what all differences between timestamps are multiples of. 0 where it does not move.
pub(super) fn resolution_ticks(driver: &mut dyn DeviceDriver) -> Result<u64, Failure> {
    let start = Instant::now();
    let mut stamps = Vec::new();
    loop {
        let empty = || WorkStep::Pass { dispatches: Vec::new(), is_timed: true };
        let passes = if driver.has_timestamps() { PASSES } else { 1 };
        let work = DeviceWork { steps: (0..passes).map(|_| empty()).collect(), ..DeviceWork::default() };
        let spans = driver.run(&work)?.spans;
        stamps.extend(spans.iter().flat_map(|span| [span.begin, span.end]));
        stamps.sort_unstable();
        stamps.dedup();
        if stamps.len() >= DIFFERENT || start.elapsed() >= PATIENCE {
            return Ok(step(&stamps));
        }
    }
}

/// What the differences between numbers in order have in common.
fn step(stamps: &[u64]) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    stamps.windows(2).map(|pair| pair[1] - pair[0]).fold(0, divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_what_all_differences_are_multiples_of() {
        for (stamps, expected) in [
            (&[][..], 0),
            (&[7], 0),
            (&[100, 400, 500], 100),
            (&[5, 37, 133, 165], 32),
            (&[0, 1, 5], 1),
            (&[12_000_000, 12_100_000, 12_400_000], 100_000),
        ] {
            assert_eq!(step(stamps), expected, "{stamps:?}");
        }
    }
}
