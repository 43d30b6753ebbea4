//! `include/scanbox.h` is what the sources say.

use std::fs;
use std::path::{Path, PathBuf};

/// The files of the interface, in the order of the header.
const SOURCES: [&str; 4] = ["structures.rs", "failure.rs", "functions/scanner.rs", "functions/scan.rs"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The header, as it has to be.
fn made() -> String {
    let config = cbindgen::Config::from_file(folder().join("cbindgen.toml")).unwrap();
    let builder = SOURCES
        .iter()
        .fold(cbindgen::Builder::new(), |builder, file| builder.with_src(folder().join("src").join(file)));
    let mut header = Vec::new();
    builder.with_config(config).generate().unwrap().write(&mut header);
    // What Rust asks of its own callers is nothing to C.
    let header = String::from_utf8(header).unwrap();
    without_safety(&header)
}

/// Without the parts of comments that are titled "# Safety".
fn without_safety(header: &str) -> String {
    let mut kept = Vec::new();
    let mut in_safety = false;
    for line in header.lines() {
        if line.trim() == "* # Safety" {
            in_safety = true;
            // The empty line in front of the title.
            if kept.last().is_some_and(|line: &&str| line.trim() == "*") {
                kept.pop();
            }
        }
        in_safety &= line.trim() != "*/";
        if !in_safety {
            kept.push(line);
        }
    }
    kept.join("\n") + "\n"
}

#[test]
fn the_header_is_made_of_the_sources() {
    let path = folder().join("include/scanbox.h");
    if std::env::var_os("SCANBOX_WRITE_DOCUMENTS").is_some() {
        fs::write(&path, made()).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap();
    assert_eq!(there, made(), "write it with SCANBOX_WRITE_DOCUMENTS=1 cargo test -p scanbox-vk-c header::");
}
