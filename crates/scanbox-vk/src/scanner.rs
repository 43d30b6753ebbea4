//! Scanners: a device of the program, a pack, and the pipelines of both.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use scanbox_pack::{ArgumentKind, CallSizes, Pack, Promises, Reason, Recipe};

use crate::device_facts::DeviceFacts;
use crate::features::Features;
use crate::hand_over_error::HandOverError;
use crate::pipeline::{self, PipelineSource};
use crate::ranges::RangeChoice;
use crate::shape::WorkgroupShape;
use crate::step::{CallMemory, in_line, pushed};

/// What a scanner is made of. Instance, physical device and device are the program's.
#[derive(Clone)]
pub struct ScannerInfo<'a> {
    /// The instance, made for Vulkan 1.3 or newer.
    pub instance: &'a ash::Instance,
    /// The physical device.
    pub physical: vk::PhysicalDevice,
    /// The device.
    pub device: &'a ash::Device,
    /// What is enabled on it, which Vulkan cannot be asked: what [`crate::wanted`] said, where the program has enabled
    /// all of that.
    pub enabled: Features,
    /// Where pipelines are looked for and kept; null: nowhere.
    pub pipeline_cache: vk::PipelineCache,
    /// What runs.
    pub pack: Arc<Pack>,
    /// What the program promises of the device beyond what Vulkan does. Kernels that need a promise which is not kept
    /// may wait for ever.
    pub promises: Promises,
}

impl fmt::Debug for ScannerInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device.handle();
        f.debug_struct("ScannerInfo")
            .field("device", &device)
            .field("promises", &self.promises)
            .finish_non_exhaustive()
    }
}

/// Makes scans for a device. Clones are the same scanner.
///
/// Pipelines live until the last clone, and the last [`crate::Scan`] of it, is dropped: behind all work that was
/// recorded with them, and before the device is destroyed.
#[derive(Debug, Clone)]
pub struct Scanner {
    pub(crate) parts: Arc<ScannerParts>,
}

pub(crate) struct ScannerParts {
    pub device: ash::Device,
    pub facts: DeviceFacts,
    /// What is enabled on the device, as modules are adapted to it.
    enabled: Features,
    pub layout: vk::PipelineLayout,
    pub cache: vk::PipelineCache,
    pub pack: Arc<Pack>,
    pub promises: Promises,
    /// By the place of the module in the pack. Nobody asks while a call is recorded.
    pipelines: Mutex<HashMap<u16, vk::Pipeline>>,
}

impl fmt::Debug for ScannerParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device.handle();
        f.debug_struct("ScannerParts")
            .field("device", &device)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl Scanner {
    /// A scanner. Makes no pipelines: [`Scanner::scan`] makes those that it needs.
    ///
    /// # Errors
    /// What the device lacks, or what Vulkan said.
    ///
    /// # Safety
    /// - Instance, physical device and device are valid and belong together; the functions of `instance` and `device`
    ///   are theirs. They outlive the scanner, its clones and its scans.
    /// - What is said to be enabled is.
    /// - The pipeline cache is null or of this device, outlives the scanner too, and needs no synchronisation of the
    ///   program's.
    /// - The code in the pack comes from somebody whom the program trusts: it runs on the device as it is.
    pub unsafe fn new(info: &ScannerInfo<'_>) -> Result<Self, HandOverError> {
        let ScannerInfo { instance, physical, device, enabled, pipeline_cache, pack, promises } = info;
        // SAFETY: the caller sees to the device.
        let facts = unsafe { DeviceFacts::of(instance, *physical, enabled) }?;
        // SAFETY: the caller sees to the device, and the layout is destroyed with the parts.
        let layout = unsafe { pipeline::create_layout(device) }
            .map_err(HandOverError::vulkan("vkCreatePipelineLayout"))?;
        let parts = ScannerParts {
            device: (*device).clone(),
            facts,
            enabled: *enabled,
            layout,
            cache: *pipeline_cache,
            pack: Arc::clone(pack),
            promises: *promises,
            pipelines: Mutex::default(),
        };
        Ok(Self { parts: Arc::new(parts) })
    }

    /// The pack.
    #[must_use]
    pub fn pack(&self) -> &Pack {
        &self.parts.pack
    }
}

impl ScannerParts {
    /// The recipe at a place of the pack.
    pub fn recipe(&self, place: u16) -> &Recipe<u16> {
        &self.pack.data().recipes[usize::from(place)].recipe
    }

    /// Its label.
    pub fn label(&self, place: u16) -> &str {
        &self.pack.data().recipes[usize::from(place)].label
    }

    /// The first of the recipes of a range whose pipelines can be made and whose calls can be recorded, by its place in
    /// the pack, with its pipelines.
    ///
    /// # Errors
    /// Why none can, one reason for each.
    pub fn first_that_works(
        &self,
        choice: &RangeChoice,
        in_memory: bool,
    ) -> Result<(u16, Reason, Recipe<vk::Pipeline>), Vec<String>> {
        // Code that was compiled for a device which takes all workgroups in one row may count on that. It is the same
        // device with the same driver, or may take fewer; what is portable counts on nothing.
        let [row, rows, _] = self.facts.max_groups;
        let mut why = Vec::new();
        for &(place, reason) in &choice.ranked {
            let one_row = matches!(reason, Reason::SameDevice | Reason::SameFamily);
            let groups = [row, if one_row { 1 } else { rows }, 1];
            match self.try_recipe(place, choice.to, in_memory, groups) {
                Ok(recipe) => return Ok((place, reason, recipe)),
                Err(reason) => why.push(format!("{}: {reason}", self.label(place))),
            }
        }
        Err(why)
    }

    /// A recipe with its pipelines, whose calls of up to `max_n` elements can be recorded here, in so many workgroups
    /// of each dimension at most.
    pub fn try_recipe(
        &self,
        place: u16,
        max_n: u64,
        in_memory: bool,
        groups: [u32; 3],
    ) -> Result<Recipe<vk::Pipeline>, String> {
        let recipe = self.recipe(place);
        if recipe.arguments == ArgumentKind::Pushed && recipe.call_sizes == CallSizes::Same {
            return Err("all of its calls have the same number of elements".to_owned());
        }
        if (recipe.call_sizes == CallSizes::InMemory) != in_memory {
            return Err("it finds the number of elements elsewhere".to_owned());
        }
        if !can_be_recorded(recipe, max_n, groups) {
            return Err(format!("more workgroups or arguments than the device takes, for {max_n} elements"));
        }
        let mut made = HashMap::new();
        for module in recipe.modules() {
            made.insert(*module, self.pipeline(*module)?);
        }
        Ok(recipe.clone().map(|module| made[&module]))
    }

    /// The pipeline of a module; of one that reads no push constants, one to see that it can be made.
    fn pipeline(&self, module: u16) -> Result<vk::Pipeline, String> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = pipelines.get(&module) {
            return Ok(*made);
        }
        let made = self.create(module, &[]).map_err(|error| error.to_string())?;
        pipelines.insert(module, made);
        Ok(made)
    }

    /// Makes a pipeline of a module, with these constants.
    ///
    /// # Errors
    /// What the device lacks, as a kernel that there is not; what Vulkan said.
    pub fn create(&self, module: u16, constants: &[u32]) -> Result<vk::Pipeline, PipelineFailure> {
        let module = &self.pack.data().modules[usize::from(module)];
        let shape =
            WorkgroupShape { workgroup_size: module.workgroup_size, subgroup_size: module.subgroup_size };
        if let Some(lack) = self.facts.seen().lacks(module) {
            return Err(PipelineFailure::Unfit(lack.to_string()));
        }
        let shapes = &self.facts.shapes;
        shapes.check(shape).map_err(|wrong| PipelineFailure::Unfit(wrong.to_string()))?;
        let pinned = shapes.pinned(shape);
        let flags = vk::PipelineCreateFlags::empty();
        let spirv = self.enabled.adapted(&module.words).map_err(PipelineFailure::Unfit)?;
        let source = PipelineSource { spirv: &spirv, pinned, constants, flags };
        // SAFETY: whoever made the scanner sees to device, cache, and that the features which the module needs are
        // enabled, as was checked, and its shape too. Pipelines are destroyed before the layout, with the parts.
        unsafe { pipeline::create(&self.device, self.layout, self.cache, &source) }
            .map_err(PipelineFailure::Vulkan)
    }
}

/// Whether a device that takes so many workgroups takes all that a call may be: that of most elements has the most of
/// them, and words and addresses are as many in all.
fn can_be_recorded(recipe: &Recipe<u16>, max_n: u64, groups: [u32; 3]) -> bool {
    let nothing = CallMemory::default();
    let Some(laid_out) = recipe.laid_out(max_n) else { return false };
    let Some(launch) = laid_out.at(max_n) else { return false };
    let told = |step: &scanbox_pack::Step<'_, u16>| match recipe.arguments {
        ArgumentKind::Pushed => pushed(step, vk::Pipeline::null(), &nothing, groups).is_some(),
        ArgumentKind::Line | ArgumentKind::Baked => in_line(step, &nothing, groups).is_some(),
    };
    let prepared = |step| pushed(&step, vk::Pipeline::null(), &nothing, groups).is_some();
    launch.fill().iter().all(told)
        && launch.steps().all(|step| told(&step))
        && laid_out.prepare().all(prepared)
}

/// Why a pipeline cannot be made.
#[derive(Debug)]
pub(crate) enum PipelineFailure {
    /// The device lacks something.
    Unfit(String),
    /// Vulkan has failed.
    Vulkan(vk::Result),
}

impl fmt::Display for PipelineFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(why) => f.write_str(why),
            Self::Vulkan(result) => write!(f, "its pipeline cannot be made: {result}"),
        }
    }
}

impl Drop for ScannerParts {
    fn drop(&mut self) {
        let pipelines = self.pipelines.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (_, pipeline) in pipelines.drain() {
            // SAFETY: whoever drops the last one sees to it that no work with its pipelines is pending, and that the
            // device is there.
            unsafe { self.device.destroy_pipeline(pipeline, None) };
        }
        // SAFETY: as above.
        unsafe { self.device.destroy_pipeline_layout(self.layout, None) };
    }
}
