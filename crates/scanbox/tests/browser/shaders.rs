//! Every shader of the spaces for WebGPU is right for Tint, the compiler of Chromium.

use std::collections::BTreeSet;

use scanbox_kernels::cases::Circumstance;
use scanbox_kernels::plan::Shader;
use scanbox_kernels::variant::Variant;
use scanbox_kernels::wgsl::WgslSources;
use scanbox_kernels::{catalog, legal};
use scanbox_model::api::Api;
use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Space;
use scanbox_testing::device::with_subgroups;

use super::{chromium, connection};

/// Shaders of a message.
const AT_A_TIME: usize = 100;

/// A device by WebGPU on which all that WGSL has is legal.
fn webgpu(smallest: u32, largest: u32) -> DeviceProfile {
    DeviceProfile {
        api: Api::WebGpu,
        min_subgroup_size: smallest,
        max_subgroup_size: largest,
        guarantees: Guarantee::VALUES.to_vec(),
        buffer_addresses: false,
        float64_elements: false,
        ..with_subgroups(smallest, false)
    }
}

/// Every shader that a sweep of the spaces needs on these devices, helpers too.
fn shaders() -> BTreeSet<Shader> {
    let texts = [
        include_str!("../../../../configs/thesis-webgpu.toml"),
        include_str!("../../../../configs/webgpu.toml"),
    ];
    let mut found = BTreeSet::new();
    for device in [webgpu(32, 32), webgpu(4, 32), webgpu(1, 1)] {
        found.extend(catalog::helper_shaders(&device));
        for text in texts {
            let space = Space::from_toml(text, "space").unwrap();
            let problem = Problem::default();
            let points =
                space.enumerate(&device, |config, n, device| legal(config, &problem, n, device)).points;
            for point in points {
                let late = Circumstance::late(&point.config, &problem, point.n, &device);
                // Those of a verification, of one device: they differ from the others in a few lines.
                let late = late.filter(|_| device.min_subgroup_size == 4);
                for variant in [Some(Variant::default()), late].into_iter().flatten() {
                    let plan = catalog::plan_variant(&point.config, variant, &problem, point.n, &device);
                    found.extend(plan.unwrap().passes.into_iter().map(|pass| pass.shader));
                }
            }
        }
    }
    found
}

#[test]
fn every_shader_of_the_spaces_is_right_for_tint() {
    if !chromium() {
        return;
    }
    let mut driver = connection().open().unwrap();
    let sources = WgslSources::embedded();
    let shaders: Vec<Shader> = shaders().into_iter().collect();
    assert!(shaders.len() > 500, "{} shaders", shaders.len());
    for some in shaders.chunks(AT_A_TIME) {
        let texts: Vec<String> = some.iter().map(|shader| sources.generate(shader).unwrap()).collect();
        let remarks = driver.check(texts).unwrap();
        for (shader, remarks) in some.iter().zip(remarks) {
            assert!(remarks.is_empty(), "{shader}: {remarks:#?}");
        }
    }
    // It would say so.
    let wrong = "@compute @workgroup_size(1) fn main() { let x: u32 = 1; }".replace('1', "-1");
    let remarks = driver.check(vec![wrong]).unwrap();
    assert!(remarks[0].iter().any(|remark| remark.starts_with("error, line 1: ")), "{remarks:?}");
}
