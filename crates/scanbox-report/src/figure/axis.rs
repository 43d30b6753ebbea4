//! Axes: where values stand, and which of them have a label.

use scanbox_model::units::size_label;

use super::canvas::width_of;

/// What is to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XAxis {
    /// Input sizes, by their logarithm.
    Sizes,
    /// Whole numbers of these.
    Counts(&'static str),
    /// Shares of blocked tiles: 0 is none, and 32 - k is 1 in 2^k.
    Blocked,
}

impl XAxis {
    /// Where 1 in 2^k tiles blocked, or none, stands on [`XAxis::Blocked`].
    pub fn blocked(blocking: Option<u32>) -> u64 {
        blocking.map_or(0, |k| u64::from(32 - k.min(31)))
    }

    /// A place on [`XAxis::Blocked`] in words.
    pub(super) fn blocked_label(place: u64) -> String {
        match place {
            0 => "none".to_owned(),
            place => format!("1/{}", 1u64 << (32 - place.min(32))),
        }
    }

    /// What stands below it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sizes => "elements",
            Self::Counts(name) => name,
            Self::Blocked => "blocked tiles",
        }
    }
}

/// How values go upwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum YScale {
    /// From 0, evenly. The upper end shows at least this: losses of a percent are not to look like mountains.
    Linear(f64),
    /// By the logarithm: every factor of ten is as high.
    Log,
    /// By the logarithm, around 1: how many times as fast.
    Ratio,
}

/// The ends of both axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Left and right, as [`Range::of`] has positions.
    pub x: (f64, f64),
    /// Bottom and top.
    pub y: (f64, f64),
    /// Where the place of no blocking is.
    rarest: f64,
}

/// Ticks of ratios.
const RATIOS: [f64; 21] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6, 2.0, 3.0, 5.0, 10.0, 20.0,
    50.0,
];

impl Range {
    /// What holds all these points, on these axes.
    pub fn of<'a>(x: XAxis, scale: YScale, points: impl Iterator<Item = &'a (u64, f64)> + Clone) -> Self {
        let places = points.clone().map(|point| point.0).filter(|&place| place > 0);
        let rarest = places.min().unwrap_or(1) as f64;
        let mut range = Self { x: (f64::INFINITY, f64::NEG_INFINITY), y: (0.0, 1.0), rarest };
        for &(place, _) in points.clone() {
            let at = range.position(x, place);
            range.x = (range.x.0.min(at), range.x.1.max(at));
        }
        // Half a step of room where there is one size only.
        if range.x.0 >= range.x.1 {
            range.x = (range.x.1 - 0.5, range.x.1 + 0.5);
        }
        let values = points.map(|point| point.1);
        let positive = || values.clone().filter(|&value| value > 0.0);
        let (least, most) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
        range.y = match scale {
            YScale::Linear(at_least) => {
                let most = most.max(at_least);
                let step = step(most);
                (0.0, step * (most / step * 0.999).ceil().max(1.0))
            }
            _ if least > most => (0.1, 1.0),
            YScale::Log => {
                let (low, high) = (round_down(least), round_up(most));
                if high > low { (low, high) } else { (low / 2.0, high * 2.0) }
            }
            YScale::Ratio => (least.min(0.9) * 0.97, most.max(1.1) * 1.03),
        };
        range
    }

    /// How far right a place is.
    pub fn position(&self, x: XAxis, place: u64) -> f64 {
        match x {
            XAxis::Sizes => (place.max(1) as f64).log2(),
            XAxis::Counts(_) => place as f64,
            // None stands one step before the rarest blocking there is.
            XAxis::Blocked if place == 0 => self.rarest - 1.0,
            XAxis::Blocked => place as f64,
        }
    }

    /// How far right a place is, of 1.
    pub fn across(&self, x: XAxis, place: u64) -> f64 {
        (self.position(x, place) - self.x.0) / (self.x.1 - self.x.0)
    }

    /// How far up a value is, of 1; `None` where the axis has no place for it.
    pub fn up(&self, scale: YScale, value: f64) -> Option<f64> {
        let (low, high) = self.y;
        match scale {
            YScale::Linear(_) => Some((value.max(0.0) - low) / (high - low)),
            _ if value <= 0.0 => None,
            YScale::Log | YScale::Ratio => Some((value / low).ln() / (high / low).ln()),
        }
    }

    /// The values that have a line and a label.
    pub fn values(&self, scale: YScale) -> Vec<(f64, String)> {
        let (low, high) = self.y;
        match scale {
            YScale::Linear(_) => {
                let step = step(high);
                let count = (high / step).round() as u32;
                let decimals = (-step.log10()).ceil().max(0.0) as usize;
                let value = |index| step * f64::from(index);
                (0..=count).map(|index| (value(index), format!("{:.decimals$}", value(index)))).collect()
            }
            YScale::Ratio => {
                let inside = RATIOS.into_iter().filter(|ratio| (low..=high).contains(ratio));
                let spread = high / low;
                let few =
                    inside.filter(|ratio| spread < 3.0 || ![0.6, 0.7, 0.9, 1.2, 1.4, 1.6].contains(ratio));
                few.map(|ratio| (ratio, format!("{ratio}"))).collect()
            }
            YScale::Log => {
                let decades = (high / low).log10();
                let factors: &[f64] = if decades > 1.6 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let values =
                    (first..=last).flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
                let inside = values.filter(|value| (low * 0.999..=high * 1.001).contains(value));
                inside.map(|value| (value, short(value))).collect()
            }
        }
    }

    /// Places with their labels, so few that the labels have room on an axis that is so wide.
    pub fn places(&self, x: XAxis, width: f64) -> Vec<(u64, String)> {
        let (low, high) = (self.x.0.ceil() as u32, self.x.1.floor() as u32);
        let place = |tick: u32| match x {
            XAxis::Sizes => 1u64 << tick.min(63),
            XAxis::Counts(_) => u64::from(tick),
            XAxis::Blocked if f64::from(tick) < self.rarest => 0,
            XAxis::Blocked => u64::from(tick),
        };
        let label = |tick: u32| match x {
            XAxis::Sizes => power(tick),
            XAxis::Counts(_) => tick.to_string(),
            XAxis::Blocked => XAxis::blocked_label(place(tick)),
        };
        let widest = (low..=high).map(|tick| width_of(&label(tick))).fold(1.0, f64::max) + 10.0;
        let room = (width / widest).max(1.0);
        let steps = f64::from(high.saturating_sub(low) + 1);
        let step = [1, 2, 5, 10, 20].into_iter().find(|&step| steps / f64::from(step) <= room).unwrap_or(50);
        // Of sizes the round exponents.
        let first = if x == XAxis::Sizes && step > 1 { low.next_multiple_of(step) } else { low };
        let ticks: Vec<_> =
            (first..=high).step_by(step as usize).map(|tick| (place(tick), label(tick))).collect();
        if ticks.is_empty() {
            // One size that is no power of two.
            let n = 2f64.powf(self.x.0.midpoint(self.x.1)).round() as u64;
            return if x == XAxis::Sizes { vec![(n, size_label(n))] } else { Vec::new() };
        }
        ticks
    }
}

/// A power of two as people write it.
pub fn power(exponent: u32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = exponent.to_string();
    let raised = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]);
    std::iter::once('2').chain(raised).collect()
}

/// A size as people write it.
pub fn size(n: u64) -> String {
    if n.is_power_of_two() && n >= 1024 { power(n.ilog2()) } else { n.to_string() }
}

/// A round number without more digits than it needs.
fn short(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{}", (value * 1e6).round() / 1e6) }
}

/// The next lower of 1, 2 and 5 times a power of ten.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|round| *round <= value * 1.001)
        .unwrap_or(power)
}

/// The next higher one.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let rounds = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power);
    rounds.into_iter().find(|round| *round >= value * 0.999).unwrap_or(10.0 * power)
}

/// The distance of grid lines: 1, 2 or 5 times a power of ten, about five of them.
fn step(most: f64) -> f64 {
    let rough = most.max(1e-9) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_are_round_numbers() {
        let check = |most: f64, expected: f64| assert!((step(most) / expected - 1.0).abs() < 1e-9, "{most}");
        check(2868.8, 1000.0);
        check(5.0, 1.0);
        check(12.0, 5.0);
        check(0.037, 0.01);
        assert!(step(0.0) > 0.0);
    }

    #[test]
    fn powers_are_raised() {
        assert_eq!(power(10), "2¹⁰");
        assert_eq!(power(9), "2⁹");
        assert_eq!(size(1000), "1000");
        assert_eq!(size(1 << 29), "2²⁹");
    }

    #[test]
    fn values_have_round_labels() {
        let check = |scale: YScale, values: &[f64], expected: &[&str]| {
            let points: Vec<(u64, f64)> = values.iter().map(|&value| (1024, value)).collect();
            let range = Range::of(XAxis::Sizes, scale, points.iter());
            let labels: Vec<String> = range.values(scale).into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels, expected);
            for &value in values {
                let up = range.up(scale, value).unwrap();
                assert!((-1e-9..=1.0 + 1e-9).contains(&up), "{value} is at {up}");
            }
        };
        check(YScale::Log, &[4.4, 4229.0], &["10", "100", "1000"]);
        check(YScale::Log, &[0.3, 2.0], &["0.2", "0.5", "1", "2"]);
        check(YScale::Log, &[7.0], &["5", "10"]);
        check(YScale::Linear(10.0), &[3.0], &["0", "2", "4", "6", "8", "10"]);
        check(YScale::Ratio, &[0.76, 1.41], &["0.8", "0.9", "1", "1.2", "1.4"]);
        check(YScale::Ratio, &[0.2, 3.0], &["0.2", "0.3", "0.5", "0.8", "1", "2", "3"]);
    }

    #[test]
    fn places_have_room() {
        let check = |sizes: &[u64], width: f64, expected: &[&str]| {
            let points: Vec<(u64, f64)> = sizes.iter().map(|&n| (n, 1.0)).collect();
            let range = Range::of(XAxis::Sizes, YScale::Log, points.iter());
            let labels: Vec<String> =
                range.places(XAxis::Sizes, width).into_iter().map(|place| place.1).collect();
            assert_eq!(labels, expected);
        };
        check(&[1 << 10, 1 << 29], 260.0, &["2¹⁰", "2¹⁵", "2²⁰", "2²⁵"]);
        check(&[1 << 10, 1 << 13], 260.0, &["2¹⁰", "2¹¹", "2¹²", "2¹³"]);
        // A size that is no power of two stands beside the nearest one.
        check(&[1000], 260.0, &["2¹⁰"]);
        check(&[1500], 260.0, &["2¹¹"]);
    }
}
