//! What a sweep measures after what.

use std::collections::HashSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_model::record::Selection;
use scanbox_model::space::{Enumeration, Point};

use super::Asked;

/// What is measured before the confirmation, in this order.
pub(super) enum SweepStep {
    /// Those of these points that are left.
    Points(HashSet<Point>),
    /// The anchors.
    Anchors(Selection),
}

impl Asked {
    /// Points in one go, or those that come first before the others; where there are anchors, in two halves, which a
    /// seed decides: no kernel and no size is in one alone.
    pub(super) fn steps(&self, enumeration: &Enumeration) -> Vec<SweepStep> {
        let mut points = enumeration.points.clone();
        if self.anchors.is_empty() {
            let (first, others): (HashSet<_>, HashSet<_>) =
                points.into_iter().partition(|point| self.first.contains(point));
            return vec![SweepStep::Points(first), SweepStep::Points(others)];
        }
        points.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
        let second = points.split_off(points.len() / 2);
        let [start, middle, end] = Selection::ANCHORS.map(SweepStep::Anchors);
        let [first, second] = [points, second].map(|half| SweepStep::Points(half.into_iter().collect()));
        vec![start, first, middle, second, end]
    }
}
