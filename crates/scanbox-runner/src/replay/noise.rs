//! Noise of a device beyond that of samples: what a gate has to tell from a loss.
//!
//! [`Weather`] is what everything that runs at a moment has in common: drift, throttling, a neighbour. [`RowNoise`]
//! is what one block of one row has for itself: where it lies in memory, which of two modes it is in. Both as
//! logarithms, so that 0.01 is 1 %. They depend on seeds alone.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

/// What a device does to times. Everything is off where it is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NoiseModel {
    /// Standard deviation of a block at 2^10 elements and below, as a share.
    pub small_ratio: f64,
    /// The same at 2^20 and above; between them it falls geometrically.
    pub large_ratio: f64,
    /// Degrees of freedom of a Student t, where blocks are not normal; 0: they are.
    pub degrees: f64,
    /// Share of blocks that are further off, by 10 to 70 %.
    pub outlier_share: f64,
    /// Standard deviation of the drift within a run, a first order autoregression.
    pub drift_ratio: f64,
    /// By which share everything is slower once [`Self::throttle_after`] blocks have run.
    pub throttle_ratio: f64,
    /// See there.
    pub throttle_after: u64,
    /// Share of the rows that have a second, slower mode.
    pub bimodal_share: f64,
    /// By which share that one is slower.
    pub bimodal_ratio: f64,
    /// How often they are in it.
    pub bimodal_chance: f64,
    /// Whether the mode is that of a process, and not of a block.
    pub bimodal_process: bool,
    /// Share of the time in which a neighbour is busy, in bursts of [`BURST_BLOCKS`].
    pub burst_share: f64,
    /// Standard deviation of a block of another unit up to 2^16 elements; half of it above.
    pub unit_ratio: f64,
}

/// Blocks until drift has forgotten where it was.
const DRIFT_BLOCKS: f64 = 50.0;
/// Blocks of a burst.
pub const BURST_BLOCKS: u32 = 40;
/// How often a block within a burst is hit.
const BURST_CHANCE: f64 = 0.7;

/// What everything has in common, block after block.
#[derive(Debug)]
pub struct Weather {
    noise: NoiseModel,
    draws: ChaCha8Rng,
    drift: f64,
    blocks: u64,
    burst: u32,
}

impl Weather {
    /// The weather of a night.
    #[must_use]
    pub fn new(noise: NoiseModel, seed: u64) -> Self {
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        let drift = noise.drift_ratio * normal(&mut draws);
        Self { noise, draws, drift, blocks: 0, burst: 0 }
    }

    /// That of the next block.
    pub fn next_block(&mut self) -> f64 {
        let Self { noise, draws, .. } = self;
        let kept = (-1.0 / DRIFT_BLOCKS).exp();
        self.drift = kept * self.drift + (1.0 - kept * kept).sqrt() * noise.drift_ratio * normal(draws);
        let mut all = self.drift;
        self.blocks += 1;
        if self.blocks > noise.throttle_after {
            all += noise.throttle_ratio;
        }
        if self.burst > 0 {
            self.burst -= 1;
            if draws.random::<f64>() < BURST_CHANCE {
                all += 0.05 + 0.25 * draws.random::<f64>();
            }
        } else if draws.random::<f64>() * f64::from(BURST_BLOCKS) < noise.burst_share {
            self.burst = BURST_BLOCKS;
        }
        all
    }
}

/// What a block has for itself.
#[derive(Debug)]
pub struct RowNoise {
    noise: NoiseModel,
    draws: ChaCha8Rng,
    /// Draws of the process.
    process: u64,
}

impl RowNoise {
    /// The noise of a process.
    #[must_use]
    pub fn new(noise: NoiseModel, seed: u64, process: u64) -> Self {
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        draws.set_stream(process);
        Self { noise, draws, process }
    }

    /// That of the next block of a row at this size.
    pub fn next_block(&mut self, row: &str, n: u64) -> f64 {
        let Self { noise, draws, process } = self;
        let share = (((n.max(1) as f64).log2() - 10.0) / 10.0).clamp(0.0, 1.0);
        let deviation = noise.small_ratio * (noise.large_ratio / noise.small_ratio).powf(share);
        let mut own = if noise.small_ratio > 0.0 { deviation * scatter(draws, noise.degrees) } else { 0.0 };
        if draws.random::<f64>() < noise.outlier_share {
            own += 0.1 + 0.6 * draws.random::<f64>();
        }
        let is_bimodal = unit_interval(&format!("mode {row} {n}")) < noise.bimodal_share;
        let mode = if noise.bimodal_process {
            unit_interval(&format!("mode {process} {row} {n}"))
        } else {
            draws.random()
        };
        if is_bimodal && mode < noise.bimodal_chance {
            own += noise.bimodal_ratio;
        }
        let unit = if n <= 1 << 16 { noise.unit_ratio } else { 0.5 * noise.unit_ratio };
        own + unit * normal(draws)
    }
}

/// A standard normal draw (Box and Muller).
fn normal(draws: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * draws.random::<f64>().max(f64::MIN_POSITIVE).ln()).sqrt();
    radius * (std::f64::consts::TAU * draws.random::<f64>()).cos()
}

/// A draw of a Student t with so many degrees of freedom; a normal one of 0. The chi squared below it is twice a gamma
/// (Marsaglia and Tsang 2000).
fn scatter(draws: &mut ChaCha8Rng, degrees: f64) -> f64 {
    let top = normal(draws);
    if degrees <= 0.0 {
        return top;
    }
    let d = degrees / 2.0 - 1.0 / 3.0;
    let c = (9.0 * d).sqrt().recip();
    loop {
        let x = normal(draws);
        let v = (1.0 + c * x).powi(3);
        let u: f64 = draws.random();
        if v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return top / (2.0 * d * v / degrees).sqrt();
        }
    }
}

/// One plus normal noise of this standard deviation, by the sum of twelve uniform draws.
pub(super) fn factor(noise: &mut ChaCha8Rng, ratio: f64) -> f64 {
    let normal: f64 = (0..12).map(|_| noise.random::<f64>()).sum::<f64>() - 6.0;
    (1.0 + ratio * normal).max(0.1)
}

/// A number from 0 to 1 that depends on the text alone.
pub(super) fn unit_interval(text: &str) -> f64 {
    // FNV-1a, then a generator to spread it.
    let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    ChaCha8Rng::seed_from_u64(hash).random()
}
