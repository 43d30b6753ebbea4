//! Kernels in WGSL, without a device: what the generator makes, and what naga says of it.

use std::collections::{BTreeMap, BTreeSet};

use naga::valid::{Capabilities, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use scanbox_kernels::plan::{BindingAccess, Expected, Pass, Plan, Shader};
use scanbox_kernels::wgsl::{WgslSources, for_naga};
use scanbox_kernels::{catalog, legal};
use scanbox_model::api::Api;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups;

/// A device by WebGPU with subgroups of these sizes, or none, that promises all that a kernel may need.
fn webgpu(smallest: u32, largest: u32) -> DeviceProfile {
    DeviceProfile {
        api: Api::WebGpu,
        min_subgroup_size: smallest,
        max_subgroup_size: largest,
        guarantees: Guarantee::VALUES.to_vec(),
        buffer_addresses: false,
        float64_elements: false,
        max_storage_buffer_bytes: 128 << 20,
        ..with_subgroups(smallest, false)
    }
}

fn naga_module(shader: &Shader) -> naga::Module {
    let text = WgslSources::embedded().generate(shader).unwrap();
    let text = for_naga(&text);
    let module = naga::front::wgsl::parse_str(&text)
        .unwrap_or_else(|error| panic!("{shader}\n{}", error.emit_to_string(&text)));
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP);
    validator.subgroup_operations(SubgroupOperationSet::all()).subgroup_stages(ShaderStages::COMPUTE);
    if let Err(error) = validator.validate(&module) {
        panic!("{shader}\n{}", error.emit_to_string(&text));
    }
    module
}

/// The text is WGSL, and declares just what the pass binds, as the pass says it.
fn check_pass(pass: &Pass) {
    let module = naga_module(&pass.shader);
    let mut declared = BTreeMap::new();
    for (_, variable) in module.global_variables.iter() {
        let Some(binding) = variable.binding else { continue };
        let access = match variable.space {
            naga::AddressSpace::Uniform => None,
            naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => {
                Some(BindingAccess::ReadWrite)
            }
            _ => Some(BindingAccess::Read),
        };
        declared.insert(binding.binding, access);
    }
    let mut bound: BTreeMap<u32, Option<BindingAccess>> =
        (1..).zip(pass.accesses()).map(|(place, access)| (place, Some(access))).collect();
    if !bound.is_empty() {
        bound.insert(0, None);
    }
    assert_eq!(declared, bound, "{}", pass.shader);
    // What is written is bound once.
    for (place, binding) in pass.bindings.iter().enumerate() {
        assert!(!pass.bindings[..place].contains(binding), "{}: {binding:?} twice", pass.shader);
    }
}

fn plan(label: &str, problem: &Problem, n: u64, device: &DeviceProfile) -> Plan {
    let config: Config = label.parse().unwrap();
    catalog::plan(&config, problem, n, device).unwrap_or_else(|error| panic!("{label}: {error:?}"))
}

const LABELS: &[&str] = &[
    "b1.scalar.seq.rake.wg64",
    "b4.vec4.par.blelloch.wg256",
    "b3.vec2.par.rake.wg128",
    "b16.vec4.seq.blelloch.wg1024",
    "b2.vec4.par.sub.striped.early.wgid.wg256",
    "b4.vec4.fallback.sub.striped.wg256",
    "b1.scalar.fallback.ks.direct.wg64",
    "b4.vec2.gather.sub.direct.wgid.wg512",
    "b4.vec4.chain.sub.wg256.fill",
];

#[test]
fn every_shader_is_what_naga_takes_and_binds_what_its_pass_says() {
    let _ = (LABELS, Expected::Scan, legal, BTreeSet::<u32>::new());
    for device in [webgpu(8, 8), webgpu(4, 32), webgpu(1, 1)] {
        for shader in catalog::helper_shaders(&device) {
            naga_module(&shader);
        }
        for &label in LABELS {
            if label.contains(".par") && !device.has_subgroups() {
                continue;
            }
            for mode in [Mode::Inclusive, Mode::Exclusive, Mode::Reduce] {
                for (element, operator) in [
                    (Element::U32, Operator::Add),
                    (Element::I32, Operator::Min),
                    (Element::F32, Operator::Max),
                ] {
                    let problem = Problem::new(mode, element, operator, None, Placement::OutOfPlace).unwrap();
                    let config: Config = label.parse().unwrap();
                    let Ok(plan) = catalog::plan(&config, &problem, 100_000, &device) else { continue };
                    plan.passes.iter().for_each(check_pass);
                }
            }
        }
    }
    let problem = Problem::default();
    let _ = plan(LABELS[0], &problem, 1, &webgpu(8, 8));
}
