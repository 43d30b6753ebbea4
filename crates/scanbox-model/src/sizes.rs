//! Sets of input sizes, as `--sizes` and space files write them.
//!
//! ```text
//! sizes = item { "," item }
//! item  = number | range | "random:" COUNT ":" range ":" SEED
//! range = number ".." number [ "/" STEPS ]  (the powers of two from the first to the second, or so many steps per octave:
//!                                           2^20..2^21/2 is 2^20, 2^20.5, 2^21; after random:, any sizes, without steps)
//! number = digits | "2^" exponent
//! ```

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::size_label;

/// A set of input sizes in elements, each from 1 to 2^40.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Sizes(BTreeSet<u64>);

/// Why a text is no set of sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a set of sizes: {reason} (for example 2^10..2^29, or 1000,2^20)")]
pub struct SizesError {
    text: String,
    reason: String,
}

/// The largest exponent that is read: 2^40 elements are more than any device of today holds.
const MAX_EXPONENT: u32 = 40;
/// The most steps of an octave.
const MAX_STEPS: u32 = 64;
/// The most sizes in one set, so that no text makes an unbounded one.
const MAX_SIZES: usize = 100_000;

impl Sizes {
    /// The sizes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied()
    }

    /// Whether `n` is one of them.
    #[must_use]
    pub fn contains(&self, n: u64) -> bool {
        self.0.contains(&n)
    }

    /// The largest size.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }
}

/// Sizes as an option takes them.
pub fn sizes_text(sizes: impl Iterator<Item = u64>) -> String {
    let digits = sizes.map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    digits.parse::<Sizes>().map_or(digits, |sizes| sizes.to_string())
}

fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let n = match text.strip_prefix("2^") {
        Some(exponent) => {
            let wrong = |_| {
                let range = if exponent.contains('-') { ", and a range as 2^10..2^20" } else { "" };
                format!("`{text}` is not a size: a power of two is written as 2^20{range}")
            };
            let exponent: u32 = exponent.parse().map_err(wrong)?;
            if exponent > MAX_EXPONENT {
                return Err(format!("`{text}` is above 2^{MAX_EXPONENT}"));
            }
            1 << exponent
        }
        None => {
            let wrong = |_| {
                format!(
                    "`{text}` is not a number: write all its digits, as 3000000, or a power of two, as 2^20"
                )
            };
            text.replace('_', "").parse().map_err(wrong)?
        }
    };
    match n {
        // The rest of 3,000,000.
        0 if text.len() > 1 => {
            Err(format!("`{text}` is not a size: write no commas within a number, as 3000000"))
        }
        0 => Err("a scan has at least one element".to_owned()),
        n if n > 1 << MAX_EXPONENT => Err(format!("`{text}` is above 2^{MAX_EXPONENT}")),
        n => Ok(n),
    }
}

fn sizes(text: &str) -> Result<BTreeSet<u64>, String> {
    let mut set = BTreeSet::new();
    for item in text.split(',') {
        if let Some(rest) = item.trim().strip_prefix("random:") {
            set.extend(random(rest)?);
        } else if let Some((from, to)) = item.split_once("..") {
            let (to, steps) = to.split_once('/').unwrap_or((to, "1"));
            set.extend(range(number(from)?, number(to)?, steps)?);
        } else {
            set.insert(number(item)?);
        }
        if set.len() > MAX_SIZES {
            return Err(format!("more than {MAX_SIZES} sizes"));
        }
    }
    Ok(set)
}

/// The sizes from one to another at so many steps per octave, the powers of two among them, rounded.
fn range(from: u64, to: u64, steps: &str) -> Result<Vec<u64>, String> {
    let steps: u32 =
        steps.trim().parse().ok().filter(|steps| (1..=MAX_STEPS).contains(steps)).ok_or_else(|| {
            format!("`{steps}` is not a number of steps per octave, which is from 1 to {MAX_STEPS}")
        })?;
    let at = |step: u32| (f64::from(step) / f64::from(steps)).exp2().round() as u64;
    let sizes: Vec<u64> = (0..=MAX_EXPONENT * steps).map(at).filter(|n| (from..=to).contains(n)).collect();
    if sizes.is_empty() {
        let what = if steps == 1 { "power of two" } else { "step" };
        return Err(format!("no {what} from {from} to {to}"));
    }
    Ok(sizes)
}

/// `COUNT:FROM..TO:SEED`: that many different sizes, every octave of the range being as likely as any other.
fn random(text: &str) -> Result<BTreeSet<u64>, String> {
    let usage = || format!("`random:{text}` is not random:COUNT:FROM..TO:SEED");
    let mut parts = text.split(':');
    let (Some(count), Some(range), Some(seed), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(usage());
    };
    let (from, to) = range.split_once("..").ok_or_else(usage)?;
    let (from, to) = (number(from)?, number(to)?);
    let count: usize = count.parse().map_err(|_| usage())?;
    let mut state: u64 = seed.parse().map_err(|_| usage())?;
    if count == 0 {
        return Err("a set has at least one size".to_owned());
    }
    if from > to || count > MAX_SIZES || count as u64 > (to - from).div_ceil(2) {
        return Err(format!("there are not {count} sizes from {from} to {to} to choose from"));
    }
    let octaves = u64::from(to.ilog2() - from.ilog2() + 1);
    let mut set = BTreeSet::new();
    // Where an octave has few sizes the same ones come again; the bound is never reached with half of them free.
    for _ in 0..1000 * (count + 1) {
        if set.len() == count {
            return Ok(set);
        }
        let octave = from.ilog2() + (split_mix(&mut state) % octaves) as u32;
        let low = from.max(1 << octave);
        let high = to.min((1 << octave) * 2 - 1);
        set.insert(low + split_mix(&mut state) % (high - low + 1));
    }
    Err(format!("there are not {count} sizes from {from} to {to} to choose from"))
}

/// The next number of `SplitMix64` (Steele, Lea and Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        sizes(text).map(Self).map_err(|reason| SizesError { text: text.chars().take(60).collect(), reason })
    }
}

impl TryFrom<String> for Sizes {
    type Error = SizesError;

    fn try_from(text: String) -> Result<Self, SizesError> {
        text.parse()
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.to_string()
    }
}

impl fmt::Display for Sizes {
    /// Runs of successive powers of two as a range, everything else one by one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<u64> = self.iter().collect();
        let mut start = 0;
        while start < all.len() {
            let mut end = start;
            while end + 1 < all.len() && all[end].is_power_of_two() && all[end + 1] == 2 * all[end] {
                end += 1;
            }
            let separator = if start == 0 { "" } else { "," };
            if end > start {
                write!(f, "{separator}{}..{}", size_label(all[start]), size_label(all[end]))?;
            } else {
                write!(f, "{separator}{}", size_label(all[start]))?;
            }
            start = end + 1;
        }
        Ok(())
    }
}
