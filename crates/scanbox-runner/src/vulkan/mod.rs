//! The Vulkan backend: devices, memory, pipelines, calls and their times.
//!
//! The only module of this crate that names `ash` and contains `unsafe`. What it times is recorded by `scanbox-vk`, as
//! programs record it; what only measuring needs is here. Every object is owned by a type that destroys it and holds
//! the device (`Gpu`), so that the order of destruction follows from ownership. All submissions are
//! synchronous, which is what makes those destructors right: whoever waits for a submission in vain ends the session,
//! and its objects are leaked instead ([`Vulkan`]'s `Drop`).
//!
//! Shaders reach memory by address, which they get in push constants: no descriptors, no limit of a binding's range.

mod asking;
mod buffer;
mod call;
mod commands;
mod device;
mod error;
mod instance;
mod library;
mod line;
mod memory;
mod operator;
mod options;
mod packed;
mod pipeline;
mod pipeline_maker;
mod scribble;
mod statistics;
#[cfg(feature = "testing")]
mod testing;
mod timestamps;
mod timing;
mod total;
mod twin;
mod varied;
mod watch;

use std::mem::ManuallyDrop;
use std::sync::Arc;

use ash::vk;
use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_kernels::plan::{Module, Plan, Shader};
use scanbox_model::config::Arguments;

use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use scanbox_pack::{Pack, Promises};

use self::commands::Commands;
pub use self::device::FORCED_FAMILY;
use self::device::{Candidate, Gpu};
pub use self::error::VulkanError;
use self::instance::Instance;
use self::library::Library;
use self::memory::Memory;
pub use self::options::Options;
use self::pipeline::Pipelines;
pub use self::pipeline_maker::{MadePipeline, PipelineMaker};
pub use self::statistics::PipelineStatistics;
#[cfg(feature = "testing")]
pub use self::testing::Tamper;
use self::timestamps::Timestamps;
use self::timing::VulkanSession;
use crate::backend::{
    Backend, ElementComparison, Failure, PackedKernel, PipelineInfo, ProbeAnswer, ProbeCall, TickInterval,
};
use crate::select::{Listed, find, place_of};
use crate::twin::{Checked, Course};
use scanbox_kernels::cases::Garbage;
use scanbox_kernels::ledger::Ledger;

/// What is wrong with a driver without a device.
const NO_HARDWARE: &str = "has no hardware behind its driver, which makes pipelines and runs none (`scanbox space \
                           --compile` shows what it reports of them)";

/// Timestamps to start with; more are made when a submission needs them.
const TIMESTAMPS: u32 = 64;

/// A failed call as the failure of a config.
fn failed(what: &str, result: vk::Result) -> Failure {
    let status = match result {
        vk::Result::ERROR_DEVICE_LOST => Status::DeviceLost,
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY => Status::OutOfMemory,
        _ => Status::RuntimeError,
    };
    Failure::new(status, format!("{what}: {result:?}"))
}

/// The Vulkan loader of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loader {
    /// The Vulkan version that it offers, `major.minor.patch`.
    pub version: String,
    /// Whether the validation layer is installed.
    pub validation_layer: bool,
}

/// The system's loader. It needs no driver.
///
/// # Errors
/// When there is none.
pub fn loader() -> Result<Loader, VulkanError> {
    instance::loader(None)
}

/// Every device, hardware first, then software, each in the loader's order: the index of a device is its place here.
///
/// # Errors
/// When there is no loader or no device.
pub fn devices() -> Result<Vec<Listed>, VulkanError> {
    devices_with(&Options::default())
}

/// [`devices`] with another loader or with validation.
///
/// # Errors
/// When there is no loader or no device.
pub fn devices_with(options: &Options) -> Result<Vec<Listed>, VulkanError> {
    let instance = Instance::new(options.loader.as_deref(), options.validation)?;
    Ok(candidates(&instance, options)?.into_iter().map(|candidate| candidate.listed).collect())
}

/// Every physical device, with what the known issues force on it.
fn candidates(instance: &Instance, options: &Options) -> Result<Vec<Candidate>, VulkanError> {
    let mut candidates = device::candidates(instance)?;
    for candidate in &mut candidates {
        let profile = &mut candidate.listed.profile;
        profile.force(options.known_issues.on(profile, |name| std::env::var(name).ok()).forced());
        options.safe_devices.apply(profile);
        if profile.kind == DeviceKind::Null {
            candidate.listed.problems.push(NO_HARDWARE.to_owned());
        }
    }
    Ok(candidates)
}

/// The device that `selector` names, as in [`place_of`].
///
/// # Errors
/// When there is no such device, and when there are several.
pub fn select(selector: &str) -> Result<Listed, VulkanError> {
    let mut devices = devices()?;
    let index = place_of(&devices, selector)?;
    Ok(devices.swap_remove(index))
}

/// Opens the device that `selector` names, as in [`place_of`].
///
/// # Errors
/// When there is no such device, when there are several, and when it cannot be used.
pub fn open(selector: &str, compiler: &Compiler, options: Options) -> Result<Vulkan, VulkanError> {
    let instance = Instance::new(options.loader.as_deref(), options.validation)?;
    let candidates = candidates(&instance, &options)?;
    let listed: Vec<&Listed> = candidates.iter().map(|candidate| &candidate.listed).collect();
    let candidate = &candidates[find(&listed, selector)?];
    let Candidate { listed: Listed { profile, problems }, .. } = candidate;
    if !problems.is_empty() {
        return Err(VulkanError::Unusable { device: profile.name.clone(), problems: problems.clone() });
    }
    let session = VulkanSession::new(Gpu::new(instance, candidate)?, &options);
    let session = session.map_err(|failure| VulkanError::Setup { device: profile.name.clone(), failure })?;
    let profile_now = Arc::clone(&session.gpu.profile);
    let mut vulkan = Vulkan { session: ManuallyDrop::new(session), profile: profile_now, gone: None };
    let modules: Vec<Module> =
        compiler.compile_all(&catalog::helper_shaders(profile)).into_iter().collect::<Result<_, _>>()?;
    let created: Result<Vec<_>, _> = vulkan.create_pipelines(&modules).into_iter().collect();
    created.map_err(|failure| VulkanError::Setup { device: profile.name.clone(), failure })?;
    Ok(vulkan)
}

impl VulkanSession {
    fn new(gpu: Arc<Gpu>, options: &Options) -> Result<Self, Failure> {
        let memory = Memory::new(&gpu)?;
        let lines = memory.lines().address();
        Ok(Self {
            memory,
            pipelines: Pipelines::new(&gpu, options.pipeline_cache.as_deref(), lines)
                .map_err(|result| failed("creating the pipeline layout and cache", result))?,
            commands: Commands::new(&gpu)?,
            timestamps: Timestamps::new(&gpu, TIMESTAMPS)?,
            ledger: Ledger::default(),
            records: None,
            library: None,
            tried_comparisons: std::collections::BTreeSet::new(),
            operator: None,
            probe_memory: None,
            limit: options.timeout,
            gpu,
        })
    }
}

/// A session with one device.
///
/// After a time-out or the loss of the device, every call returns that failure: only another process can go on.
pub struct Vulkan {
    session: ManuallyDrop<VulkanSession>,
    /// What the driver told, and what was found out since.
    profile: Arc<DeviceProfile>,
    /// The failure that ended the session.
    gone: Option<Failure>,
}

impl Vulkan {
    /// Does something with the device, unless the session has ended, and keeps account of how that went.
    fn with<T>(&mut self, act: impl FnOnce(&mut VulkanSession) -> Result<T, Failure>) -> Result<T, Failure> {
        if let Some(gone) = &self.gone {
            return Err(gone.clone());
        }
        act(&mut self.session).inspect_err(|failure| {
            if failure.is_fatal() {
                self.gone = Some(failure.clone());
            }
            // What was recorded may have run or not: epochs and tickets start anew, on cleared memory.
            self.session.ledger.forget();
        })
    }
}

impl Backend for Vulkan {
    fn profile(&self) -> &Arc<DeviceProfile> {
        &self.profile
    }

    fn learn(&mut self, found: GuaranteesProbe) {
        Arc::make_mut(&mut self.profile).guarantee_facts.probe = Some(found);
    }

    fn ask(&mut self, call: &ProbeCall<'_>) -> Result<ProbeAnswer, Failure> {
        self.with(|session| session.ask(call))
    }

    fn reserve_scratch(&mut self, bytes: u64) -> Result<(), Failure> {
        self.with(|session| session.reserve_scratch(bytes))
    }

    fn create_pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineInfo, Failure>> {
        if let Some(gone) = &self.gone {
            return modules.iter().map(|_| Err(gone.clone())).collect();
        }
        let created = self.session.pipelines.create(modules);
        self.gone = created.iter().filter_map(|one| one.as_ref().err()).find(|one| one.is_fatal()).cloned();
        created
    }

    fn as_run(&mut self, plan: &Plan) -> Result<Option<PipelineInfo>, Failure> {
        let own = |shader: &Shader| shader.arguments() == Arguments::Baked || shader.counts_at_each_call();
        // The library tells nothing of its pipelines.
        if plan.is_by_library() || !plan.passes.iter().any(|pass| own(&pass.shader)) {
            return Ok(None);
        }
        self.with(|session| session.prepare(plan).map(|call| Some(call.info())))
    }

    fn prove_operator(&mut self, problem: &Problem, file: &OperatorFile) -> Result<bool, Failure> {
        self.with(|session| session.prove_operator(problem, file)).map(|()| true)
    }

    fn load(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure> {
        self.with(|session| session.load(problem, input, n))
    }

    fn load_other(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure> {
        self.with(|session| {
            session.memory.swap_inputs();
            let loaded = session.load(problem, input, n);
            session.memory.swap_inputs();
            loaded
        })
    }

    fn first_of_answer(&mut self, problem: &Problem) -> Result<[u32; 4], Failure> {
        self.with(|session| session.element_words(problem, true, 0))
    }

    fn lost(&self) -> Option<&Failure> {
        self.gone.as_ref()
    }

    fn loaded_elements(&self) -> u64 {
        self.session.memory.loaded()
    }

    /// Of poisoning, calls and comparisons; not of uploads, which overlap with the generation of what they carry.
    fn busy_ns(&self) -> f64 {
        self.session.commands.busy_ns()
    }

    fn verify(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        self.with(|session| session.verify(plan))
    }

    fn verify_at(&mut self, plan: &Plan, begin: [u64; 2]) -> Result<u64, Failure> {
        self.with(|session| session.verify_at(plan, begin))
    }

    fn verify_packed(&mut self, plan: &Plan, begin: [u64; 2], kernel: &PackedKernel) -> Result<u64, Failure> {
        self.with(|session| session.verify_packed(plan, begin, kernel))
    }

    fn lend(&mut self, pack: Arc<Pack>, promises: Promises) -> Result<(), Failure> {
        self.with(|session| {
            session.library = Some(Library::new(&session.gpu, pack, promises)?);
            Ok(())
        })
    }

    fn drop_pipelines(&mut self) -> Result<(), Failure> {
        self.with(|session| {
            session.pipelines.drop_all();
            session.library.as_mut().map_or(Ok(()), Library::renew)
        })
    }

    fn keep(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.with(|session| session.keep(plan))
    }

    fn compare_with_kept(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        self.with(|session| session.compare_with_kept(plan))
    }

    fn scribble_scratch(&mut self, garbage: Garbage) -> Result<(), Failure> {
        self.with(|session| {
            garbage.tell(&mut session.ledger);
            session.fill_scratch(garbage.from(), garbage.word())?;
            garbage.turn().map_or(Ok(()), |turn| session.set_turn(turn))
        })
    }

    fn scratch_content(&mut self, offset: u64, words: usize) -> Result<Option<Vec<u32>>, Failure> {
        self.with(|session| session.scratch_words(offset, words).map(Some))
    }

    fn forget_scratch(&mut self) {
        self.session.ledger.forget();
        self.session.memory.renew_outputs();
    }

    fn time(
        &mut self,
        plan: &Plan,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<TickInterval>, Failure> {
        self.with(|session| session.time(plan, cache, calls, samples))
    }

    fn twin(&mut self, plan: &Plan, course: &Course<'_>) -> Result<Vec<Checked>, Failure> {
        self.with(|session| session.twin(plan, course))
    }

    fn check_input(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.with(|session| session.check_input(plan))
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        if self.gone.as_ref().is_some_and(|gone| gone.status == Status::Timeout) {
            // The device may still work with all of it, perhaps for ever: waiting would hang, and destroying what is
            // in use is not allowed. The end of the process frees it.
            return;
        }
        // SAFETY: nothing else submits now. It fails for a lost device, which has nothing left to wait for.
        let _ = unsafe { self.session.gpu.raw.device_wait_idle() };
        // SAFETY: the session is not used again.
        unsafe { ManuallyDrop::drop(&mut self.session) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_loader_says_what_to_install() {
        let options = Options { loader: Some("/nonexistent/libvulkan.so.1".into()), ..Options::default() };
        let error = devices_with(&options).unwrap_err();
        assert!(error.is_no_device());
        let message = error.to_string();
        assert!(message.contains("libvulkan1") && message.contains("mesa-vulkan-drivers"), "{message}");
    }
}
