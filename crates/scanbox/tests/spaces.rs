//! What the spaces that need no file hold: point for point, for elements of each size.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use scanbox_kernels::legal;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::space::{Point, Space};

const PROFILE: &str = "results/published.nvidia-h200.full.meta.json";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn points(space: &str, element: Element) -> Vec<Point> {
    let text = fs::read_to_string(root().join(format!("configs/{space}.toml"))).unwrap();
    let device = Metadata::read(&root().join(PROFILE)).unwrap().device;
    let problem = Problem::new(Mode::Inclusive, element, Operator::Add, None, Placement::OutOfPlace).unwrap();
    let space = Space::from_toml(&text, space).unwrap().for_elements(element.bytes()).unwrap();
    assert!(
        space.products.iter().all(|product| product.element_bytes.is_none()),
        "what is written has no choice"
    );
    space.enumerate(&device, |config, n, device| legal(config, &problem, n, device)).points
}

/// FNV-1a of all points.
fn hash(points: &[Point]) -> u64 {
    let text: String = points.iter().map(|point| format!("{} {}\n", point.config, point.n)).collect();
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Rows of sweeps are found again by their points: a space that changes by accident loses them.
#[test]
fn a_space_is_the_same_point_for_point() {
    fn check(space: &str, element: Element, count: usize, expected: u64) {
        let points = points(space, element);
        assert_eq!((points.len(), hash(&points)), (count, expected), "{space}, {element}");
    }
    for element in [Element::U32, Element::F32] {
        check("full", element, 10_878, 0xbb91_a146_b6e6_0f5f);
        check("nightly", element, 978, 0xae08_e28f_0c13_3588);
    }
    for element in [Element::U64, Element::F64] {
        check("full", element, 5102, 0xe230_cb46_9e70_c8fa);
    }
    check("nightly", Element::U64, 941, 0x41cc_fc7a_1002_c55d);
    check("nightly", Element::F64, 941, 0xcc73_8dec_ac19_043b);
    check("baked", Element::U32, 1210, 0x5880_3a6d_2b10_29f7);
    check("handover", Element::U32, 2742, 0xb92d_e702_1be1_0a05);
    check("handover", Element::F64, 1422, 0x4b9d_d161_b359_463a);
    check("problems", Element::U32, 1500, 0x504d_4a3f_3e5d_5e64);
    check("families", Element::U32, 1642, 0x7cca_15c1_dc09_00bf);
}

/// The counts of `scanbox space` on the published device.
fn counts(args: &[&str]) -> serde_json::Value {
    let mut command = Command::cargo_bin("scanbox").unwrap();
    command.args(["space", "--profile", PROFILE, "--format", "json"]).args(args).current_dir(root());
    serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap()
}

#[test]
fn one_name_has_the_shapes_for_every_size_of_an_element() {
    // No vector is wider than 48 bytes. Elements of 16 bytes come one by one, too, and in `full` those of 4 bytes,
    // where there are few.
    for (space, element, widths) in [
        ("full", Element::U32, BTreeSet::from([1, 2, 4])),
        ("full", Element::I64, BTreeSet::from([2, 4])),
        ("full", Element::F64, BTreeSet::from([2, 4])),
        ("nightly", Element::U32, BTreeSet::from([2, 4])),
        ("nightly", Element::I64, BTreeSet::from([2])),
        ("nightly", Element::F64, BTreeSet::from([2])),
    ] {
        let found: BTreeSet<u32> =
            points(space, element).iter().map(|point| point.config.kernel.vector_width.lanes()).collect();
        assert_eq!(found, widths, "{space}, {element}");
    }
    assert_eq!(counts(&["--space", "full"])["configs"], 10_878);
    assert_eq!(counts(&["--space", "full", "--type", "u64"])["configs"], 5102);
    // What does not commute has several shapes at every size, too.
    for operator in ["matrix2x2", "affine", "argmax", "text-position"] {
        let file = format!("kernels/operators/{operator}.glsl");
        let counts = counts(&["--space", "full", "--operator", &file]);
        for exponent in 10..=27 {
            let at = counts["sizes"][(1u64 << exponent).to_string()]["configs"].as_u64().unwrap_or(0);
            assert!(at >= 20, "{operator}: {at} configs at 2^{exponent}");
        }
    }
}

#[test]
fn a_space_for_other_elements_says_so() {
    fn check(args: &[&str], parts: &[&str]) {
        let mut command = Command::cargo_bin("scanbox").unwrap();
        command.args(["space", "--profile", PROFILE]).args(args).current_dir(root());
        let stderr = String::from_utf8(command.assert().code(2).get_output().stderr.clone()).unwrap();
        for part in parts {
            assert!(stderr.contains(part), "no `{part}` in {stderr}");
        }
    }
    check(&["--space", "full64", "--type", "u64"], &["`full64`", "--space full", "--type u64"]);
    let folder = tempfile::tempdir().unwrap();
    let wide = fs::read_to_string(root().join("configs/quick.toml")).unwrap();
    let wide = wide.replace("[[block]]", "[[block]]\nelement_bytes = [8, 16]");
    let path = folder.path().join("wide.toml");
    fs::write(&path, wide).unwrap();
    let path = path.to_str().unwrap();
    check(&["--space", path], &["space quick", "elements of 4 bytes", "8, 16", "u32"]);
    assert_ne!(counts(&["--space", path, "--type", "u64"])["configs"], 0);
}
