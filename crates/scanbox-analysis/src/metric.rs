//! Metrics: how far a kernel line is from the ideal line, as one number (A4 to A9; thesis 5.5 and 5.6).

use std::fmt;
use std::str::FromStr;

use crate::AnalysisError;

/// How a kernel is judged. `I` is the ideal line, `L` the kernel's, both over the sizes of the comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// A4: the sum of L; the highest wins.
    Sum,
    /// A5: the sum of I - L; the lowest wins. Names the same kernel as `Sum`, by algebra.
    Absolute,
    /// A6: the sum of (I - L)^2; the lowest wins.
    Squared,
    /// A7: the largest I - L; the lowest wins.
    Chebyshev,
    /// A8: 1 - I.L / (|I| |L|); the lowest wins. Blind to scale: a kernel at half the ideal everywhere has 0.
    Cosine,
    /// A9: the sum of (I - L)^P; the lowest wins. 1 is `Absolute`, 2 is `Squared`.
    Power(Exponent),
}

/// The exponent of [`Metric::Power`]: above zero and finite.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Exponent(f64);

impl Exponent {
    /// The exponent that the thesis settles on (5.6, figure 5.19).
    pub const THESIS: Self = Self(1.25);

    /// `None` unless the exponent is above zero and finite.
    #[must_use]
    pub fn new(exponent: f64) -> Option<Self> {
        (exponent > 0.0 && exponent.is_finite()).then_some(Self(exponent))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Metric {
    /// The metrics of the thesis, in its order.
    pub const THESIS: [Self; 6] = [
        Self::Sum,
        Self::Absolute,
        Self::Squared,
        Self::Chebyshev,
        Self::Cosine,
        Self::Power(Exponent::THESIS),
    ];

    /// The score of a line; all three are equally long and `line` is nowhere above `ideal`. Each term of a sum, a
    /// maximum or a product of vectors counts as often as `weights` says.
    #[must_use]
    pub fn score(self, ideal: &[f64], line: &[f64], weights: &[f64]) -> f64 {
        // Rounding in a normalisation can put a line a last digit above the ideal.
        let gaps = ideal.iter().zip(line).map(|(i, l)| (i - l).max(0.0)).zip(weights);
        match self {
            Self::Sum => line.iter().zip(weights).map(|(l, w)| w * l).sum(),
            Self::Absolute => gaps.map(|(gap, w)| w * gap).sum(),
            Self::Squared => gaps.map(|(gap, w)| w * gap * gap).sum(),
            Self::Chebyshev => gaps.map(|(gap, w)| w * gap).fold(0.0, f64::max),
            Self::Cosine => {
                let dot = |a: &[f64], b: &[f64]| -> f64 {
                    a.iter().zip(b).zip(weights).map(|((a, b), w)| w * a * b).sum()
                };
                let norms = dot(ideal, ideal).sqrt() * dot(line, line).sqrt();
                // Only `minmax` can make a line of zeros: it has no direction and ranks last.
                if norms > 0.0 { (1.0 - dot(ideal, line) / norms).max(0.0) } else { 1.0 }
            }
            Self::Power(Exponent(exponent)) => gaps.map(|(gap, w)| w * gap.powf(exponent)).sum(),
        }
    }

    /// The magnitude against which two scores are compared: about the score of a line of zeros.
    pub(crate) fn magnitude(self, ideal: &[f64], weights: &[f64]) -> f64 {
        match self {
            Self::Sum => Self::Absolute.magnitude(ideal, weights),
            Self::Cosine => 1.0,
            _ => self.score(ideal, &vec![0.0; ideal.len()], weights),
        }
    }

    /// The formula, for people: `w` is the weight of a size, `I` the ideal line, `L` the line of the kernel.
    #[must_use]
    pub fn formula(self) -> String {
        match self {
            Self::Sum => "highest sum over sizes of w L".to_owned(),
            Self::Absolute => "lowest sum over sizes of w (I - L)".to_owned(),
            Self::Squared => "lowest sum over sizes of w (I - L)^2".to_owned(),
            Self::Chebyshev => "lowest maximum over sizes of w (I - L)".to_owned(),
            Self::Cosine => "lowest 1 - I.L / (|I| |L|), products weighted by w; blind to scale".to_owned(),
            Self::Power(Exponent(exponent)) => format!("lowest sum over sizes of w (I - L)^{exponent}"),
        }
    }

    /// Whether the highest score wins.
    #[must_use]
    pub fn highest_wins(self) -> bool {
        self == Self::Sum
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum => f.write_str("sum"),
            Self::Absolute => f.write_str("absolute"),
            Self::Squared => f.write_str("squared"),
            Self::Chebyshev => f.write_str("chebyshev"),
            Self::Cosine => f.write_str("cosine"),
            Self::Power(Exponent(exponent)) => write!(f, "power:{exponent}"),
        }
    }
}

/// The metrics, as a user writes them.
pub(crate) const WORDS: [&str; 6] = ["sum", "absolute", "squared", "chebyshev", "cosine", "power:P"];

impl FromStr for Metric {
    type Err = AnalysisError;

    fn from_str(text: &str) -> Result<Self, AnalysisError> {
        let error = |reason| AnalysisError::Metric { text: text.chars().take(40).collect(), reason };
        match text {
            "sum" => Ok(Self::Sum),
            "absolute" => Ok(Self::Absolute),
            "squared" => Ok(Self::Squared),
            "chebyshev" => Ok(Self::Chebyshev),
            "cosine" => Ok(Self::Cosine),
            _ => {
                let exponent = text.strip_prefix("power:").ok_or_else(|| error(""))?;
                let exponent = exponent.parse().map_err(|_| error(": the exponent is not a number"))?;
                Exponent::new(exponent)
                    .map(Self::Power)
                    .ok_or_else(|| error(": the exponent must be above 0 and finite"))
            }
        }
    }
}
