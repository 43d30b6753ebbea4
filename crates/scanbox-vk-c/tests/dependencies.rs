//! What comes with the library into a program.

use std::process::Command;

#[test]
fn no_loader_and_no_compiler_come_with_it() {
    let arguments = ["tree", "--offline", "--locked", "--edges=normal", "--prefix=none", "--format={p}"];
    let cargo = Command::new(env!("CARGO")).args(arguments).arg("--package=scanbox-vk-c").output().unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let tree = String::from_utf8(cargo.stdout).unwrap();
    let mut names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["ash", "scanbox-pack", "scanbox-vk", "scanbox-vk-c"]);
}
