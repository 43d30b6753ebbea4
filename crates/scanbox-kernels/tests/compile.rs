//! Every kernel compiles, for every subgroup size, without a device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_kernels::{catalog, legal};
use scanbox_model::device::{DeviceKind, DeviceProfile, Forced};
use scanbox_model::space::Space;

fn device(subgroup_size: u32, int64_atomics: bool) -> DeviceProfile {
    DeviceProfile {
        name: "test".into(),
        uuid: String::new(),
        vendor_id: 0,
        device_id: 0,
        kind: DeviceKind::Software,
        driver: String::new(),
        api_version: "1.3.0".into(),
        subgroup_size,
        min_subgroup_size: subgroup_size,
        max_subgroup_size: subgroup_size,
        max_workgroup_size: 1024,
        max_workgroup_count: [65_535; 3],
        max_shared_bytes: 32 << 10,
        max_storage_buffer_bytes: 1 << 30,
        max_allocation_bytes: 1 << 30,
        memory_bytes: 64 << 30,
        buffer_addresses: true,
        int64_atomics,
        timestamp_period_ns: 1.0,
        timestamp_valid_bits: 64,
        forced: Forced::default(),
        guarantees: Vec::new(),
        residency: None,
        compute_units: None,
        uniform_control_flow: false,
    }
}

const THESIS: &str = include_str!("../../../configs/thesis.toml");

/// The thesis space with every other value of the parameters that it leaves at their defaults, at some workgroup sizes.
fn widened(workgroup_sizes: &str) -> Space {
    let text = THESIS
        .replace("workgroup_size = \"subgroup..device\"", &format!("workgroup_size = {workgroup_sizes}"))
        .replace("[\"vec2\", \"vec4\"]", "[\"scalar\", \"vec2\", \"vec4\"]")
        + "load_layout = [\"transposed\", \"direct\"]\n";
    Space::from_toml(&text, "widened").unwrap()
}

fn shaders(space: &Space, device: &DeviceProfile) -> BTreeSet<Shader> {
    let points = space.enumerate(device, legal).points;
    let plans = points.iter().map(|point| catalog::plan(&point.config, point.n, device).unwrap());
    plans
        .flat_map(|plan| plan.passes)
        .map(|pass| pass.shader)
        .chain(catalog::helper_shaders(device))
        .collect()
}

fn check(space: &Space, subgroup_size: u32, int64_atomics: bool, pipelines: usize) {
    let device = device(subgroup_size, int64_atomics);
    let shaders: Vec<Shader> = shaders(space, &device).into_iter().collect();
    let helpers = catalog::helper_shaders(&device).len();
    assert_eq!(shaders.len(), pipelines + helpers, "subgroups of {subgroup_size}");
    for outcome in Compiler::new(None, None).unwrap().compile_all(&shaders) {
        outcome.unwrap();
    }
}

#[test]
fn the_thesis_space_compiles() {
    check(&Space::from_toml(THESIS, "thesis").unwrap(), 32, true, 240);
}

#[test]
fn every_subgroup_size_tile_state_and_layout_compiles() {
    // Batch sizes, vector widths, lookbacks, block scans, layouts; then workgroup sizes.
    let kernels = 5 * 3 * 2 * 2 * 2;
    for (subgroup_size, int64_atomics) in [(4, true), (8, false), (16, true), (64, true), (128, false)] {
        check(&widened("[128]"), subgroup_size, int64_atomics, kernels);
    }
    check(&widened("[4]"), 4, false, kernels);
}

#[test]
fn the_thesis_space_has_3600_configs_where_subgroups_have_32_invocations() {
    // 8 GiB: 2^29 elements four times do fit the 64 GiB of the test device.
    let space = Space::from_toml(THESIS, "thesis").unwrap();
    let enumeration = space.enumerate(&device(32, true), legal);
    assert_eq!(enumeration.points.len(), 3600);
    assert_eq!(enumeration.kernels().len(), 40);
    assert_eq!(enumeration.pipelines().len(), 240);
    assert_eq!(enumeration.points_per_size().values().max(), Some(&240));
    assert_eq!(
        enumeration.rejections.iter().map(|rejection| rejection.rule.as_str()).collect::<Vec<_>>(),
        ["size-outside-space"]
    );
}

#[test]
fn an_error_names_shader_and_defines() {
    let device = device(32, true);
    let mut shader = catalog::helper_shaders(&device).remove(0);
    shader.defines.retain(|(name, _)| *name != "LANES");
    let error = Compiler::new(None, None).unwrap().compile(&shader).unwrap_err().to_string();
    assert!(error.contains("WORKGROUP_SIZE=") && error.contains("LANES must be defined"), "{error}");
}

#[test]
fn the_cache_gives_the_same_words_and_survives_garbage() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new(None, Some(folder.path().to_owned())).unwrap();
    let shader = catalog::helper_shaders(&device(8, true)).remove(0);
    let fresh = compiler.compile(&shader).unwrap();
    let cached = compiler.compile(&shader).unwrap();
    assert!(fresh.compile_ms > 0 && cached.compile_ms == 0);
    assert_eq!(fresh.spirv, cached.spirv);
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, b"garbage").unwrap();
    let again = compiler.compile(&shader).unwrap();
    assert_eq!(fresh.spirv, again.spirv);
}

#[test]
fn sources_can_come_from_a_folder() {
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/glsl");
    let embedded = Compiler::new(None, None).unwrap();
    let folder = Compiler::new(Some(kernels.as_ref()), None).unwrap();
    assert_eq!(embedded.kernel_hash(), folder.kernel_hash());
    assert!(Compiler::new(Some("/nowhere".as_ref()), None).unwrap_err().to_string().contains("/nowhere"));
}
