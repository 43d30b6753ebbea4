//! Whether the code of a pack is what the recipes in it compile to today: sources may have changed around them.
//!
//! A pack does not say all that its modules were compiled for, so each recipe is compiled for every kind of device that
//! it may have been. One that has its code is enough.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::{CompileError, Compiler};
use scanbox_kernels::packing::{config_of, module_hash, problem_of};
use scanbox_kernels::plan::Shader;
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Parameter;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::user_operator::UserOperator;
use scanbox_pack::{CallUse, ModuleHash, Pack, PackRecipe, Recipe};

use super::{portable, uses};

/// Labels of the recipes whose code is another one than theirs compile to today, or that nothing compiles to any more.
///
/// # Errors
/// When the compiler cannot be started.
pub fn changed(
    pack: &Pack,
    compiler: &Compiler,
    user: Option<UserOperator>,
) -> Result<BTreeSet<String>, CompileError> {
    let mut modules = Modules { compiler, hashes: HashMap::new() };
    let mut changed = BTreeSet::new();
    for (place, (problem, call_uses)) in recipes(pack, user) {
        let packed = &pack.data().recipes[usize::from(place)];
        let mut is_fresh = false;
        for call_use in call_uses {
            is_fresh = is_fresh
                || match problem {
                    Some(problem) => modules.compile_to(pack, packed, &problem, call_use)?,
                    None => false,
                };
        }
        if !is_fresh {
            changed.insert(packed.label.clone());
        }
    }
    Ok(changed)
}

/// The recipes that tables name, each with a problem and its uses; without those of operators whose file is not here.
type Named = BTreeMap<u16, (Option<Problem>, Vec<CallUse>)>;

fn recipes(pack: &Pack, user: Option<UserOperator>) -> Named {
    let mut named = Named::new();
    // Nothing is known of an operator whose file is not here.
    let is_here = |hash: &str| hash.is_empty() || user.is_some_and(|user| user.hash_text() == hash);
    for packed in pack.data().problems.iter().filter(|packed| is_here(&packed.scan.operator_hash)) {
        let problem = problem_of(&packed.scan, user);
        for table in packed.measured.iter().chain(&packed.portable) {
            for place in table.breakpoints.iter().flat_map(|range| &range.ranked) {
                let (of, call_uses) = named.entry(*place).or_insert((problem, Vec::new()));
                if *of == problem && !call_uses.contains(&table.call_use) {
                    call_uses.push(table.call_use);
                }
            }
        }
    }
    named
}

/// Modules by what they are compiled from.
struct Modules<'a> {
    compiler: &'a Compiler,
    hashes: HashMap<Shader, ModuleHash>,
}

impl Modules<'_> {
    /// Whether a recipe of a pack is what its label compiles to, for some device.
    fn compile_to(
        &mut self,
        pack: &Pack,
        packed: &PackRecipe,
        problem: &Problem,
        call_use: CallUse,
    ) -> Result<bool, CompileError> {
        let Some(config) = config_of(packed) else { return Ok(false) };
        let data = pack.data();
        let subgroup_size =
            packed.recipe.modules().next().map(|place| data.modules[usize::from(*place)].subgroup_size);
        let wanted = packed.recipe.clone().map(|place| data.modules[usize::from(place)].hash);
        let variant = uses::variant(call_use);
        // Whose vectors have one element begins anywhere as it is.
        let variants = [variant, Variant { any_element: false, ..variant }];
        for device in devices(pack, subgroup_size.unwrap_or(32)) {
            for variant in variants.iter().take(1 + usize::from(variant.any_element)) {
                let Ok(recipe) = catalog::recipe(&config, *variant, problem, &device) else { continue };
                if self.hashed(&recipe)?.is_some_and(|found| is_same(&found, &wanted)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// A recipe with the hashes of its modules; `None` where one does not compile.
    fn hashed(&mut self, recipe: &Recipe<Shader>) -> Result<Option<Recipe<ModuleHash>>, CompileError> {
        let missing: BTreeSet<Shader> =
            recipe.modules().filter(|shader| !self.hashes.contains_key(*shader)).cloned().collect();
        let missing: Vec<Shader> = missing.into_iter().collect();
        for (shader, outcome) in missing.iter().zip(self.compiler.compile_all(&missing)) {
            match outcome.map(|module| module.code.spirv()) {
                Ok(Some(words)) => {
                    self.hashes.insert(shader.clone(), module_hash(&words));
                }
                Ok(None) | Err(CompileError::Shader { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let is_whole = recipe.modules().all(|shader| self.hashes.contains_key(shader));
        Ok(is_whole.then(|| recipe.clone().map(|shader| self.hashes[&shader])))
    }
}

/// Whether two recipes run the same code in the same way. The most elements depend on limits that a pack does not say.
fn is_same(one: &Recipe<ModuleHash>, other: &Recipe<ModuleHash>) -> bool {
    let (min_n, max_n) = (other.min_n, other.max_n);
    Recipe { min_n, max_n, ..one.clone() } == *other
}

/// Every kind of device that modules of a pack may be for.
fn devices(pack: &Pack, subgroup_size: u32) -> Vec<DeviceProfile> {
    let known = &pack.data().device;
    let units = Some(known.units).filter(|units| *units > 0);
    let mut devices = vec![portable::any_device(&portable::nobodys(), subgroup_size)];
    for int64_atomics in [true, false] {
        for uniform_control_flow in [true, false] {
            for workgroups in [u32::MAX >> 1, 65_535] {
                for max_shared_bytes in [48 << 10, 32 << 10, 64 << 10] {
                    devices.push(DeviceProfile {
                        vendor_id: known.vendor_id,
                        device_id: known.device_id,
                        subgroup_size,
                        min_subgroup_size: subgroup_size,
                        max_subgroup_size: subgroup_size,
                        max_workgroup_size: 1024,
                        max_workgroup_count: [workgroups, 65_535, 65_535],
                        max_shared_bytes,
                        memory_bytes: 1 << 40,
                        compute_units: units,
                        int64_atomics,
                        uniform_control_flow,
                        guarantees: Guarantee::VALUES.to_vec(),
                        ..portable::nobodys()
                    });
                }
            }
        }
    }
    devices
}
