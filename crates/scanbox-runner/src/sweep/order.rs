//! In which order a sweep measures its points.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use scanbox_model::space::Point;

use super::SweepJob;

/// The points in an order that favours no kernel and no size. It depends on the seed and the points alone.
pub(super) fn in_order(mut points: Vec<Point>, job: &SweepJob) -> Vec<Point> {
    points.sort();
    points.shuffle(&mut ChaCha8Rng::seed_from_u64(job.seed));
    if job.in_turns { in_turns(points) } else { points }
}

/// The first point of each size, then the second of each, and so on; within a turn as they came.
fn in_turns(points: Vec<Point>) -> Vec<Point> {
    let mut taken: BTreeMap<u64, usize> = BTreeMap::new();
    let mut with_turn: Vec<(usize, Point)> = Vec::new();
    for point in points {
        let turn = taken.entry(point.n).or_default();
        with_turn.push((*turn, point));
        *turn += 1;
    }
    with_turn.sort_by_key(|(turn, _)| *turn);
    with_turn.into_iter().map(|(_, point)| point).collect()
}
