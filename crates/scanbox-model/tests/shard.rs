//! Shards of lists of points: what belongs together stays together, and who asks for one that cannot be is told.

use scanbox_model::shard::{Shard, ShardBy};
use scanbox_model::space::Point;

#[test]
fn shards_are_read_from_text_and_written_again() {
    for text in ["0/1", "3/16", "15/16", "4294967294/4294967295"] {
        assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
    }
    for (text, parts) in [
        ("0/0", &["`0/0`", "0 shards", "0/1"][..]),
        ("1/0", &["0 shards"]),
        ("16/16", &["`16/16`", "counted from 0", "the last one of 16 is 15/16"]),
        ("1/1", &["0/1"]),
        ("", &["`` is not a shard", "I/N", "0/16"]),
        ("3", &["I/N"]),
        ("a/16", &["`a/16` is not a shard"]),
        ("3/", &["I/N"]),
        ("/16", &["I/N"]),
        ("-1/16", &["`-1/16` is not a shard"]),
        ("+1/16", &["is not a shard"]),
        ("1.5/16", &["is not a shard"]),
        ("1/2/3", &["is not a shard"]),
        (" 1/2", &["is not a shard"]),
        ("4294967296/4294967297", &["is not a shard"]),
    ] {
        let error = text.parse::<Shard>().unwrap_err();
        parts.iter().for_each(|part| assert!(error.contains(part), "no `{part}` in {error}"));
    }
}

/// Four configs at sizes from 2^10 on.
fn points(sizes: u32) -> Vec<Point> {
    let config = |label: &str| label.parse().unwrap();
    let configs = ["b1.vec4.seq.rake.wg64", "b1.vec4.par.rake.wg64", "b4.vec4.seq.rake.wg64"].map(config);
    let at = |n| configs.iter().map(move |&config| Point { n, config }).collect::<Vec<_>>();
    (10..10 + sizes).flat_map(|exponent| at(1 << exponent)).collect()
}

fn bytes(n: u64) -> u64 {
    8 * n
}

#[test]
fn what_belongs_together_stays_together() {
    let all = points(5);
    let sizes = |shard: &str| {
        let part = shard.parse::<Shard>().unwrap().of(ShardBy::Size, &all, bytes).unwrap();
        let mut sizes: Vec<u64> = part.points.iter().map(|point| point.n).collect();
        assert_eq!((sizes.len() % 3, part.told.of_points), (0, 15));
        sizes.dedup();
        sizes
    };
    // The most expensive first, each to who has least.
    assert_eq!(["0/2", "1/2"].map(sizes), [vec![2048, 16384], vec![1024, 4096, 8192]]);
    assert_eq!(sizes("0/1"), [1024, 2048, 4096, 8192, 16384]);
    let pipelines = |shard: &str| {
        let part = shard.parse::<Shard>().unwrap().of(ShardBy::Pipeline, &all, bytes).unwrap();
        assert!(part.points.iter().all(|point| point.config == part.points[0].config));
        part.points.len()
    };
    assert_eq!(["0/3", "1/3", "2/3"].map(pipelines), [5, 5, 5]);
}

#[test]
fn more_shards_than_things_are_refused() {
    let all = points(5);
    let refused =
        |shard: &str, by| shard.parse::<Shard>().unwrap().of(by, &all, bytes).unwrap_err().to_string();
    let check = |error: String, parts: &[&str]| {
        parts.iter().for_each(|part| assert!(error.contains(part), "no `{part}` in {error}"));
    };
    check(refused("0/6", ShardBy::Size), &["6 shards of 5 sizes", "never split", "at most 5"]);
    check(refused("2/4", ShardBy::Pipeline), &["4 shards of 3 pipelines", "at most 3"]);
    // It is told, not tried.
    check(refused("7/4294967295", ShardBy::Size), &["4294967295 shards of 5 sizes"]);
}

#[test]
fn a_list_of_points_has_a_hash_of_its_own() {
    let hash =
        |points: &[Point]| Shard::new(0, 1).unwrap().of(ShardBy::Size, points, bytes).unwrap().told.points;
    // Files of other machines have it.
    assert_eq!(hash(&points(5)), "28c27d25d4507633");
    assert_ne!(hash(&points(5)), hash(&points(4)));
    let told = Shard::new(1, 2).unwrap().of(ShardBy::Size, &points(5), bytes).unwrap().told;
    let json = serde_json::to_value(&told).unwrap();
    let expected = serde_json::json!({
        "index": 1, "count": 2, "by": "size", "points": told.points, "of_points": 15
    });
    assert_eq!(json, expected);
}
