//! Shards whose points depend on what a probe finds: nodes that find different answers.

use std::fs;

use super::Fleet;
use crate::sweeps::{Ended, SPACE, ended};

/// Where arguments are best in a block, and where they are best pushed.
const SCRIPTS: [(&str, &str); 2] = [
    ("block", "hardware = true\narguments_ns = [450.0, 190.0, 0.0]\n"),
    ("push", "hardware = true\narguments_ns = [10.0, 190.0, 0.0]\n"),
];

fn fleet() -> Fleet {
    let fleet = Fleet::new("");
    let space = SPACE.replace("batch_size = [1, 4]", "batch_size = [1, 4]\narguments = [\"auto\"]");
    fs::write(fleet.place.folder().join("space.toml"), space).unwrap();
    fleet
}

/// An attempt at a shard on a node of its own, whose device answers as the script says.
fn attempt(fleet: &Fleet, script: &str, shard: &str, code: i32) -> Ended {
    let node = format!("node-{}", shard.replace('/', "-"));
    fleet.place.script(script);
    let mut command = fleet.command(&node, &["--shard", shard]);
    command.env("SCANBOX_CACHE", fleet.place.folder().join(format!("cache-{node}")));
    let ended = ended(command.output().unwrap());
    assert_eq!(ended.code, Some(code), "{shard}: {ended:?}");
    ended
}

fn merge(fleet: &Fleet, code: i32) -> Ended {
    let files: Vec<String> =
        fleet.published(".csv").iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    fleet.place.run(&[&["merge"], &files[..], &["-o", "all.csv"]].concat(), code)
}

#[test]
fn a_shard_takes_what_a_probe_on_another_node_has_found() {
    for (first, second, shards) in [(0, 1, ["0/2", "1/2"]), (1, 0, ["0/2", "1/2"]), (0, 1, ["1/2", "0/2"])] {
        let fleet = fleet();
        let (word, script) = SCRIPTS[first];
        let said = attempt(&fleet, script, shards[0], 0).stderr;
        assert!(said.contains(&format!("auto of arguments is {word}, as measured on this device")), "{said}");
        let said = attempt(&fleet, SCRIPTS[second].1, shards[1], 0).stderr;
        assert!(said.contains(&format!("auto of arguments is {word}, as in the other shards")), "{said}");
        assert!(merge(&fleet, 0).stdout.contains("28 of 28"));
    }
}

/// They began at the same moment, so that none could see the other.
#[test]
fn shards_that_found_different_answers_are_told_before_anything_is_measured() {
    let fleet = fleet();
    attempt(&fleet, SCRIPTS[0].1, "0/2", 0);
    let hidden = fleet.place.folder().join("hidden");
    fs::rename(fleet.share(), &hidden).unwrap();
    fs::create_dir(fleet.share()).unwrap();
    attempt(&fleet, SCRIPTS[1].1, "1/2", 0);
    for entry in fs::read_dir(&hidden).unwrap() {
        let path = entry.unwrap().path();
        fs::rename(&path, fleet.share().join(path.file_name().unwrap())).unwrap();
    }
    let there = fleet.published("");
    for (script, shard, other) in [(1, "0/2", "shard-1-of-2"), (0, "1/2", "shard-0-of-2")] {
        let said = attempt(&fleet, SCRIPTS[script].1, shard, 1).stderr;
        for part in [other, "a probe found something else", "move the files of one of the two shards away"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    assert_eq!(fleet.published(""), there);
    merge(&fleet, 1);
    // As told.
    let of_one = |path: &std::path::PathBuf| path.to_str().unwrap().contains("shard-1-of-2");
    for path in there.into_iter().filter(of_one) {
        fs::remove_file(path).unwrap();
    }
    let said = attempt(&fleet, SCRIPTS[1].1, "1/2", 0).stderr;
    assert!(said.contains("as in the other shards"), "{said}");
    merge(&fleet, 0);
}
