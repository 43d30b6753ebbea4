//! Recipes of kernels into packs: compiles their shaders, keeps each module once, and says of modules, problems and
//! devices what a pack says of them.

use std::collections::HashMap;

use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{
    Component, Element, ElementValue, Mode, Operator, Placement, Problem, StructureValue,
};
use scanbox_model::user_operator::UserOperator;
use scanbox_pack::{
    ModuleHash, Pack, PackData, PackDevice, PackError, PackModule, PackProblem, PackRecipe, PackTime,
    Promises, Recipe, ScanMode, ScanProblem, spirv,
};

use crate::catalog;
use crate::glsl::{CompileError, Compiler};
use crate::plan::{Module, Shader};

/// What kernels and what is compiled of them may be used under, as an SPDX expression.
pub const LICENCE: &str = env!("CARGO_PKG_LICENSE");

/// Why a recipe does not get into a pack.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// A shader of it does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A module is none of a kernel.
    #[error("{shader}: {wrong}")]
    Module {
        /// Root file and defines.
        shader: String,
        /// What is wrong.
        wrong: String,
    },
    /// There are more recipes or modules than a pack can name.
    #[error("a pack has 65536 {0} at most: put fewer problems into one")]
    TooMany(&'static str),
}

/// Where the choices of a pack come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackOrigin {
    /// Hash of the kernel sources.
    pub kernel_hash: String,
    /// When the choices were measured, in UTC; empty where nothing was.
    pub measured_utc: String,
    /// The device that they were measured on.
    pub device: PackDevice,
}

/// Collects the recipes and modules of a pack.
#[derive(Debug, Default)]
pub struct PackBuilder {
    recipes: Vec<PackRecipe>,
    modules: Vec<PackModule>,
    by_shader: HashMap<Shader, u16>,
    by_hash: HashMap<(ModuleHash, u32), u16>,
}

impl PackBuilder {
    /// One without recipes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds recipes by their labels, whose shaders it compiles on all cores: where each stands in the pack. One that is
    /// there already is not added again.
    ///
    /// # Errors
    /// When a shader does not compile, its module is none of a kernel, or there are too many.
    pub fn add_all(
        &mut self,
        compiler: &Compiler,
        recipes: impl IntoIterator<Item = (String, Recipe<Shader>)>,
    ) -> Result<Vec<u16>, PackingError> {
        let recipes: Vec<_> = recipes.into_iter().collect();
        let mut shaders: Vec<Shader> =
            recipes.iter().flat_map(|(_, recipe)| recipe.modules()).cloned().collect();
        shaders.sort();
        shaders.dedup();
        shaders.retain(|shader| !self.by_shader.contains_key(shader));
        for (shader, module) in shaders.iter().zip(compiler.compile_all(&shaders)) {
            let place = self.module(shader, Self::words(shader, &module?)?)?;
            self.by_shader.insert(shader.clone(), place);
        }
        recipes.into_iter().map(|(label, recipe)| self.recipe(label, recipe)).collect()
    }

    /// The words of a module.
    fn words(shader: &Shader, module: &Module) -> Result<Vec<u32>, PackingError> {
        let wrong =
            || PackingError::Module { shader: shader.to_string(), wrong: "packs are for Vulkan".to_owned() };
        module.code.spirv().map(|words| words.to_vec()).ok_or_else(wrong)
    }

    fn recipe(&mut self, label: String, recipe: Recipe<Shader>) -> Result<u16, PackingError> {
        let by_shader = &self.by_shader;
        let recipe = recipe.map(|shader| by_shader[&shader]);
        let recipe = PackRecipe { label, recipe };
        if let Some(place) = self.recipes.iter().position(|other| *other == recipe) {
            return Ok(place as u16);
        }
        let place = u16::try_from(self.recipes.len()).map_err(|_| PackingError::TooMany("recipes"))?;
        self.recipes.push(recipe);
        Ok(place)
    }

    fn module(&mut self, shader: &Shader, words: Vec<u32>) -> Result<u16, PackingError> {
        let wrong = |wrong: String| PackingError::Module { shader: shader.to_string(), wrong };
        let hash = module_hash(&words);
        // The same code for subgroups of another size is another module: a device has to have that size.
        let key = (hash, shader.subgroup_size);
        if let Some(place) = self.by_hash.get(&key) {
            return Ok(*place);
        }
        let facts = spirv::facts(&words).map_err(wrong)?;
        let shared_bytes = u32::try_from(facts.shared_bytes)
            .map_err(|_| wrong(format!("{} bytes of shared memory", facts.shared_bytes)))?;
        let place = u16::try_from(self.modules.len()).map_err(|_| PackingError::TooMany("modules"))?;
        self.modules.push(PackModule {
            hash,
            subgroup_size: shader.subgroup_size,
            workgroup_size: facts.workgroup_size,
            shared_bytes,
            features: facts.features,
            words,
        });
        self.by_hash.insert(key, place);
        Ok(place)
    }

    /// What the modules so far were compiled from, by their places.
    #[must_use]
    pub fn shaders(&self) -> Vec<Shader> {
        let mut shaders: Vec<(&u16, &Shader)> =
            self.by_shader.iter().map(|(shader, place)| (place, shader)).collect();
        // Of several shaders with the same code the first one stands for all.
        shaders.sort_unstable();
        shaders.dedup_by_key(|(place, _)| **place);
        shaders.into_iter().map(|(_, shader)| shader.clone()).collect()
    }

    /// The recipes so far, by their places.
    #[must_use]
    pub fn recipes(&self) -> &[PackRecipe] {
        &self.recipes
    }

    /// The pack of these problems, whose tables and times name recipes by the places that they got.
    ///
    /// # Errors
    /// What does not fit together.
    pub fn pack(
        self,
        origin: PackOrigin,
        problems: Vec<PackProblem>,
        times: Vec<PackTime>,
    ) -> Result<Pack, PackError> {
        let PackOrigin { kernel_hash, measured_utc, device } = origin;
        Pack::new(PackData {
            written_by: concat!("scanbox ", env!("CARGO_PKG_VERSION")).to_owned(),
            kernel_hash,
            licence: LICENCE.to_owned(),
            measured_utc,
            device,
            problems,
            recipes: self.recipes,
            times,
            modules: self.modules,
        })
    }
}

/// The hash of a module: BLAKE3 of its words as little-endian bytes.
#[must_use]
pub fn module_hash(words: &[u32]) -> ModuleHash {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    ModuleHash(*blake3::hash(&bytes).as_bytes())
}

/// The first module of a pack whose hash is not that of its words, by its place.
#[must_use]
pub fn wrong_module_hash(pack: &Pack) -> Option<usize> {
    pack.data().modules.iter().position(|module| module_hash(&module.words) != module.hash)
}

/// The config of a recipe of a pack; `None` where this version has none of that label.
#[must_use]
pub fn config_of(packed: &PackRecipe) -> Option<Config> {
    packed.label.parse().ok()
}

/// A problem as packs say it. The identity of a user's operator, with which an exclusive scan of it begins, is known to
/// its file alone: zeros stand for it.
#[must_use]
pub fn scan_problem(problem: &Problem) -> ScanProblem {
    let element_bytes = problem.element().bytes();
    let mode = match problem.mode() {
        Mode::Inclusive => ScanMode::Inclusive,
        Mode::Exclusive => ScanMode::Exclusive,
        Mode::Reduce => ScanMode::Reduce,
    };
    let has_init = problem.mode() == Mode::Exclusive || problem.init_words().is_some();
    let words = problem.init_words().unwrap_or_default();
    let init = &words[..if has_init { element_bytes as usize / 4 } else { 0 }];
    ScanProblem {
        mode,
        element: problem.element().to_string(),
        element_bytes,
        operator: problem.operator_name().to_string(),
        operator_hash: problem.user().map_or_else(String::new, |user| user.hash_text()),
        init: init.to_vec(),
        in_place: problem.placement() == Placement::InPlace,
        reverse: problem.is_reversed(),
    }
}

/// What packs say of a problem beside what is computed: whether calls of its user's operator may be in parts.
#[must_use]
pub fn is_splittable(problem: &Problem) -> bool {
    problem.user().is_some() && problem.splits()
}

/// The problem that packs say so; `None` where this version has none, or it is of the operator of another file than
/// `user`.
#[must_use]
pub fn problem_of(scan: &ScanProblem, user: Option<UserOperator>) -> Option<Problem> {
    let mode = match scan.mode {
        ScanMode::Inclusive => Mode::Inclusive,
        ScanMode::Exclusive => Mode::Exclusive,
        ScanMode::Reduce => Mode::Reduce,
    };
    let placement = if scan.in_place { Placement::InPlace } else { Placement::OutOfPlace };
    let problem = if scan.operator_hash.is_empty() {
        let (element, operator) =
            (Element::from_word(&scan.element).ok()?, Operator::from_word(&scan.operator).ok()?);
        let word = |place: usize| u64::from(scan.init.get(place).copied().unwrap_or(0));
        let init = ElementValue { element, bits: word(0) | word(1) << 32 };
        let plain = Problem::new(mode, element, operator, None, placement).ok()?;
        // The identity may be a value that nobody can type.
        if scan.init.is_empty() || operator.identity(element) == init {
            plain
        } else {
            Problem::new(mode, element, operator, Some(&init.to_string()), placement).ok()?
        }
    } else {
        let plain = Problem::of_user(mode, user?, placement).ok()?;
        // What the fields are is in the file; what their words are is enough.
        let init = StructureValue::new(scan.init.iter().map(|word| (Component::Uint, *word)));
        if init.is_err() || scan_problem(&plain).init == scan.init {
            plain
        } else {
            plain.beginning_with(init.ok()?).ok()?
        }
    };
    let problem = if scan.reverse { problem.reversed() } else { problem };
    (scan_problem(&problem) == *scan).then_some(problem)
}

/// Devices with the same architecture, as far as it is known: vendor, and device ids. What was measured on one of a row
/// is a better guess for the others than what is portable. All stand in the PCI ID database, version 2026.08.22.
const FAMILIES: &[(u32, &[u32])] = &[
    // NVIDIA, GH100: H100 (NVL, SXM of 80 GB, PCIe, SXM of 94 GB), H800 (PCIe, SXM), H20, H200 (SXM, NVL), GH200 (of
    // 120 GB and 144 GB).
    (0x10de, &[0x2321, 0x2330, 0x2331, 0x2339, 0x2322, 0x2324, 0x2329, 0x2335, 0x233b, 0x2342, 0x2348]),
    // NVIDIA, GA100: A100 (SXM of 40 and 80 GB, PCIe of 80 and 40 GB).
    (0x10de, &[0x20b0, 0x20b2, 0x20b5, 0x20f1]),
];

/// Device ids of the vendor of a device with its architecture, where that is known; its own is not among them.
#[must_use]
pub fn family_of(device: &DeviceProfile) -> Vec<u32> {
    let known =
        FAMILIES.iter().find(|(vendor, ids)| *vendor == device.vendor_id && ids.contains(&device.device_id));
    let ids = known.into_iter().flat_map(|(_, ids)| *ids).copied();
    ids.filter(|id| *id != device.device_id).collect()
}

/// A device as packs say it. `family`: ids of devices of the same vendor that are like it. Whether as many workgroups
/// run as fit depends on what else a program has the device do, so that no pack takes it for known.
#[must_use]
pub fn pack_device(device: &DeviceProfile, family: Vec<u32>) -> PackDevice {
    PackDevice {
        name: device.name.clone(),
        driver: device.driver.clone(),
        driver_build: device.driver_build.clone(),
        vendor_id: device.vendor_id,
        device_id: device.device_id,
        units: device.compute_units.unwrap_or(0),
        family,
        keeps: catalog::promises(&device.guarantees).without(Promises::CO_RESIDENCY),
    }
}
