//! What a sweep measures after what.

use std::collections::{BTreeMap, HashSet};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_model::record::Selection;
use scanbox_model::space::{Enumeration, Point};

use super::Asked;

/// Points of each size that come before all others where time is short: each brings pipelines, which are made before
/// anything is timed.
const FEW: usize = 4;

/// A sweep of more points than this begins with a few of each size.
const MANY: usize = 100;

/// What is measured before the confirmation, in this order.
pub(super) enum SweepStep {
    /// Those of these points that are left.
    Points(HashSet<Point>),
    /// The anchors.
    Anchors(Selection),
}

impl Asked {
    /// Points in one go; where time is short a few of each size, what comes first, and the others; where there are
    /// anchors, in two halves, which a seed decides: no kernel and no size is in one alone.
    pub(super) fn steps(&self, enumeration: &Enumeration) -> Vec<SweepStep> {
        let mut points = enumeration.points.clone();
        if self.anchors.is_empty() {
            let Some(first) = &self.first else {
                return vec![SweepStep::Points(points.into_iter().collect())];
            };
            let few = few_of_each_size(&points, first, self.seed);
            points.retain(|point| !few.contains(point));
            let (first, others): (HashSet<_>, HashSet<_>) =
                points.into_iter().partition(|point| first.contains(point));
            return [few, first, others].map(SweepStep::Points).into();
        }
        points.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
        let second = points.split_off(points.len() / 2);
        let [start, middle, end] = Selection::ANCHORS.map(SweepStep::Anchors);
        let [first, second] = [points, second].map(|half| SweepStep::Points(half.into_iter().collect()));
        vec![start, first, middle, second, end]
    }
}

/// A few points of each size, those that come first before others; none where there are not many.
fn few_of_each_size(points: &[Point], first: &HashSet<Point>, seed: u64) -> HashSet<Point> {
    if points.len() <= MANY {
        return HashSet::new();
    }
    let mut points = points.to_vec();
    points.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    points.sort_by_key(|point| !first.contains(point));
    let mut taken: BTreeMap<u64, usize> = BTreeMap::new();
    points.retain(|point| {
        let count = taken.entry(point.n).or_default();
        *count += 1;
        *count <= FEW
    });
    points.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_points_of_each_size_come_first() {
        let config = |batch: u32| format!("b{batch}.vec4.par.rake.wg64").parse().expect("a label");
        let points: Vec<Point> = (1..=16)
            .flat_map(|batch| (10..18).map(move |size| Point { n: 1 << size, config: config(batch) }))
            .collect();
        // What is promising is of two sizes.
        let first: HashSet<Point> =
            points.iter().copied().filter(|point| point.n < 1 << 12 && point.config == config(9)).collect();
        let few = few_of_each_size(&points, &first, 1);
        assert!(first.is_subset(&few) && first.len() == 2);
        for size in 10..18 {
            assert_eq!(few.iter().filter(|point| point.n == 1 << size).count(), FEW, "{size}");
        }
        assert!(few_of_each_size(&points[..MANY], &first, 1).is_empty());
    }
}
