//! Samples of spaces: the same set for a seed, of every size as many as asked for.

use std::collections::BTreeSet;

use proptest::prelude::*;
use scanbox_model::sample::Sample;
use scanbox_model::space::{Point, Space};

/// 48 configs at 11 sizes.
fn points(batch_sizes: &str) -> Vec<Point> {
    let mut points = Vec::new();
    for batch_size in batch_sizes.split(' ') {
        for kernel in ["vec2.seq.rake", "vec4.seq.rake", "vec2.par.rake", "vec4.par.rake"] {
            for workgroup_size in [64, 128, 256] {
                let config = format!("b{batch_size}.{kernel}.wg{workgroup_size}").parse().unwrap();
                points.extend((10..=20).map(|exponent| Point { n: 1 << exponent, config }));
            }
        }
    }
    points
}

fn labels(points: &BTreeSet<Point>) -> Vec<String> {
    points.iter().map(|point| format!("{} {}", point.n, point.config)).collect()
}

#[test]
fn a_seed_is_a_set_on_every_machine() {
    let sample = Sample { per_size: 2, seed: 1 }.of(&points("1 2 4 8"));
    // Files of other nights hold these rows: this changes when labels do, and never else.
    assert_eq!(labels(&sample)[..4], FIRST);
    let other = Sample { per_size: 2, seed: 2 }.of(&points("1 2 4 8"));
    assert!(sample.intersection(&other).count() < 8);
}

/// The first of them.
const FIRST: [&str; 4] = [
    "1024 b4.vec2.seq.rake.wg256",
    "1024 b8.vec4.seq.rake.wg64",
    "2048 b4.vec4.par.rake.wg64",
    "2048 b8.vec2.par.rake.wg64",
];

proptest! {
    #[test]
    fn samples(seed in any::<u64>(), per_size in 1usize..60, cut in 0usize..528) {
        let all = points("1 2 4 8");
        let sample = Sample { per_size, seed };
        let taken = sample.of(&all);
        for exponent in 10..=20 {
            prop_assert_eq!(taken.iter().filter(|point| point.n == 1 << exponent).count(), per_size.min(48));
        }
        // The order is no matter.
        let mut turned = all.clone();
        turned.rotate_left(cut);
        prop_assert_eq!(&sample.of(&turned), &taken);
        // Nor are other sizes.
        let few: Vec<Point> = all.iter().copied().filter(|point| point.n < 4096).collect();
        let of_few: BTreeSet<Point> = taken.iter().copied().filter(|point| point.n < 4096).collect();
        prop_assert_eq!(sample.of(&few), of_few);
        // A larger sample has the smaller one in it, and a value more in a list only pushes out.
        let larger = Sample { per_size: per_size + 1, seed };
        prop_assert!(larger.of(&all).is_superset(&taken));
        let more = sample.of(&points("1 2 4 8 16"));
        prop_assert!(more.iter().filter(|point| point.config.kernel.batch_size != 16).all(|point| taken.contains(point)));
    }
}

#[test]
fn bad_samples_are_told() {
    let space = |sample: &str| {
        let text = format!(
            "name = \"small\"\nsizes = \"2^10..2^12\"\n[[block]]\nfamily = [\"chained-scan\"]\nbatch_size = [1]\n\
             vector_width = [\"vec4\"]\nworkgroup_size = [64]\nlookback = [\"parallel\"]\nblock_scan = [\"raking\"]\n\
             sample = {sample}\n"
        );
        Space::from_toml(&text, "my.toml").map_err(|error| error.to_string())
    };
    assert_eq!(
        space("{ per_size = 3, seed = 9 }").unwrap().products[0].sample,
        Some(Sample { per_size: 3, seed: 9 })
    );
    assert_eq!(space("{ per_size = 3 }").unwrap().products[0].sample.unwrap().seed, 0);
    for (text, part) in
        [("{ per_size = 0 }", "`per_size` is 0"), ("{ seed = 1 }", "per_size"), ("{ size = 1 }", "size")]
    {
        let error = space(text).unwrap_err();
        assert!(error.contains(part) && error.contains("my.toml"), "{error}");
    }
}
