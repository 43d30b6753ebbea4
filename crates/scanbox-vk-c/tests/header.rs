//! `include/scanbox.h` is what the sources say.

use std::fs;
use std::mem::offset_of;

use scanbox_c::failure::ScanboxResult;
use scanbox_c::structures as rust;

use crate::program::{compiles, folder};

/// The files of the interface, in the order of the header.
const SOURCES: [&str; 5] =
    ["structures.rs", "failure.rs", "functions/scanner.rs", "functions/scan.rs", "functions/bound.rs"];

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
        if line.trim() == "// # Safety" {
            in_safety = true;
            // The empty line in front of the title.
            if kept.last().is_some_and(|line: &&str| line.trim() == "//") {
                kept.pop();
            }
        }
        in_safety &= line.starts_with("//");
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

macro_rules! same_layout {
    ($text:ident: $($rust:ident = $c:literal { $($field:ident),+ })+) => {
        $(
            $text += &format!("_Static_assert(sizeof({}) == {}, \"\");\n", $c, size_of::<rust::$rust>());
            $(
                let (name, offset) = (stringify!($field), offset_of!(rust::$rust, $field));
                $text += &format!("_Static_assert(offsetof({}, {name}) == {offset}, \"\");\n", $c);
            )+
        )+
    };
}

/// What stands where in structures, and how large they are, is the same on both sides; so are codes and bits.
#[test]
fn both_sides_agree_about_structures() {
    let mut text = String::from("#include \"scanbox.h\"\n");
    same_layout! { text:
        ScanboxFeatures = "scanbox_features" {
            size, v10, v12, v13, uniform_control_flow, maximal_reconvergence, extension_count, extensions
        }
        ScanboxScannerInfo = "scanbox_scanner_info" {
            size, get_instance_proc_addr, instance, physical_device, device, pipeline_cache, enabled, pack, pack_bytes,
            promises
        }
        ScanboxScanInfo = "scanbox_scan_info" {
            size, mode, uses, element, operator_name, init, init_words, in_place, max_n
        }
        ScanboxScratch = "scanbox_scratch" { size, bytes, alignment }
        ScanboxChosen = "scanbox_chosen" { size, alignment, nanoseconds, measured_n, label, reason, unaligned_label }
        ScanboxAccess = "scanbox_access" { stages, access }
        ScanboxSync = "scanbox_sync" { size, before, behind }
        ScanboxRange = "scanbox_range" { address, bytes }
        ScanboxLineNeeds = "scanbox_line_needs" { size, bytes, alignment }
        ScanboxLine = "scanbox_line" { size, buffer, offset, memory }
        ScanboxCall = "scanbox_call" {
            size, input, output, scratch, n, n_address, init_address, total_address
        }
    }
    text += &format!("_Static_assert(sizeof(scanbox_result) == {}, \"\");\n", size_of::<ScanboxResult>());
    let internal = ScanboxResult::Internal as i32;
    text += &format!("_Static_assert(SCANBOX_RESULT_INTERNAL == {internal}, \"\");\n");
    compiles("cc", &["-std=c11", "-x", "c"], &text);
    let text = text.replace("_Static_assert", "static_assert");
    compiles("c++", &["-std=c++11", "-x", "c++"], &text);
}

#[test]
fn promises_are_those_of_packs() {
    use scanbox_pack::Promises;
    let expected = [
        (rust::SCANBOX_PROMISE_PROGRESS, Promises::PROGRESS),
        (rust::SCANBOX_PROMISE_WORKGROUP_ORDER, Promises::WORKGROUP_ORDER),
        (rust::SCANBOX_PROMISE_SUBGROUP_PROGRESS, Promises::SUBGROUP_PROGRESS),
        (rust::SCANBOX_PROMISE_CO_RESIDENCY, Promises::CO_RESIDENCY),
    ];
    for (bits, promise) in expected {
        assert_eq!(Promises::from_bits(bits), Some(promise));
    }
    assert_eq!(
        expected.iter().fold(0, |all, (bits, _)| all | bits),
        Promises::ALL.bits(),
        "a promise is missing"
    );
}

/// What the guide shows in C is C.
#[test]
fn the_guide_compiles() {
    let guide = fs::read_to_string(folder().join("../../docs/use-in-your-program.md")).unwrap();
    let blocks: Vec<&str> =
        guide.split("```c\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        // Functions that nobody declares are fine in a program.
        compiles("cc", &["-std=c11", "-x", "c"], block);
    }
}
