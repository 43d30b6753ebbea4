//! What comes with the crate.

use std::process::Command;

/// The crates below this one, with these flags.
fn tree(flags: &[&str]) -> Vec<String> {
    let arguments = ["tree", "--offline", "--locked", "--edges=normal", "--prefix=none", "--format={p}"];
    let mut cargo = Command::new(env!("CARGO"));
    let cargo = cargo.args(arguments).arg("--package=scanbox-kernels").args(flags).output().unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
    let tree = String::from_utf8(cargo.stdout).unwrap();
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Whoever wants recipes alone needs no compiler of shaders.
#[test]
fn shaders_are_compiled_by_a_feature() {
    let needs = |flags: &[&str], name: &str| tree(flags).iter().any(|found| found == name);
    for name in ["shaderc", "shaderc-sys", "include_dir"] {
        assert!(needs(&[], name), "{name}");
        assert!(!needs(&["--no-default-features"], name), "{name}");
    }
    assert!(needs(&["--no-default-features"], "scanbox-pack"));
}
