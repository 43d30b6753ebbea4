//! The WebGPU backend: devices through wgpu, which stands on Vulkan, Metal or D3D12.
//!
//! The only module that names `wgpu`. What a session does (memory, verification, samples, twins) is data for a driver
//! ([`work`]), and only what drives a device here knows wgpu: the crate `scanbox-browser` drives a page with the same.
//!
//! Shaders are WGSL and reach memory by bindings: their words stand in a slot of 256 bytes of one uniform buffer, at a
//! dynamic offset for each dispatch; storage buffers follow. A sample is one compute pass between two timestamps:
//! WebGPU orders the dispatches of a pass.

mod adapter;
mod call;
mod error;
mod gpu;
mod layouts;
mod memory;
mod readback;
mod shader;
mod storage;
mod submissions;
mod timer;
mod twin;
mod unchecked;
mod watch;
pub mod work;

use std::sync::Arc;
use std::time::Duration;

use scanbox_kernels::cases::Garbage;
use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::{Module, Plan};
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use scanbox_model::safe_devices::SafeDevices;

pub use self::adapter::WGPU_VERSION;
use self::adapter::{FoundAdapter, candidates};
pub use self::error::WebGpuError;
use self::gpu::WgpuDevice;
pub use self::storage::{StorageUse, storage_of};
use self::submissions::WebGpuSession;
use self::work::DeviceDriver;
use crate::backend::{
    Backend, ElementComparison, Failure, PipelineInfo, ProbeAnswer, ProbeCall, TickInterval,
};
use crate::select::{Listed, find};
use crate::twin::{Checked, Course};

/// How a session works.
#[derive(Debug, Clone)]
pub struct WebGpuOptions {
    /// How long one submission may take; [`Duration::MAX`]: as long as it likes.
    pub timeout: Duration,
    /// Whether shaders have the checks that wgpu adds (indices, loops, divisions) and workgroup memory begins with
    /// zeros, as WebGPU promises.
    pub robustness: bool,
    /// What is known and assumed of devices.
    pub safe_devices: SafeDevices,
}

impl Default for WebGpuOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), robustness: true, safe_devices: SafeDevices::default() }
    }
}

/// Every device that wgpu finds, hardware first, then software: the index of a device is its place here.
///
/// # Errors
/// When there is none.
pub fn devices(options: &WebGpuOptions) -> Result<Vec<Listed>, WebGpuError> {
    Ok(found(options)?.into_iter().map(|candidate| candidate.listed).collect())
}

fn found(options: &WebGpuOptions) -> Result<Vec<FoundAdapter>, WebGpuError> {
    let mut found = candidates()?;
    for FoundAdapter { listed, .. } in &mut found {
        listed.profile.robustness = Some(options.robustness);
        options.safe_devices.apply(&mut listed.profile);
    }
    Ok(found)
}

/// Opens the device that `selector` names, as in [`crate::select::place_of`].
///
/// # Errors
/// When there is no such device, when there are several, and when it cannot be used.
pub fn open(selector: &str, compiler: &Compiler, options: &WebGpuOptions) -> Result<WebGpu, WebGpuError> {
    let found = found(options)?;
    let listed: Vec<&Listed> = found.iter().map(|candidate| &candidate.listed).collect();
    let FoundAdapter { raw, listed } = &found[find(&listed, selector)?];
    let device = listed.profile.name.clone();
    if !listed.is_usable() {
        return Err(WebGpuError::Unusable { device, problems: listed.problems.clone() });
    }
    let opened = WgpuDevice::open(raw, options.robustness, options.timeout);
    let gpu = opened.map_err(|reason| WebGpuError::NoDevice { device, reason })?;
    let mut profile = listed.profile.clone();
    profile.timestamp_period_ns = gpu.period_ns();
    drive(Box::new(gpu), profile, compiler)
}

/// A session with a device that is open: finds out how fine its clock is, and makes what every session needs.
///
/// # Errors
/// When the device does not do that.
pub fn drive(
    mut driver: Box<dyn DeviceDriver>,
    mut profile: DeviceProfile,
    compiler: &Compiler,
) -> Result<WebGpu, WebGpuError> {
    let device = profile.name.clone();
    let failed = |failure| WebGpuError::Setup { device: device.clone(), failure };
    let ticks = timer::resolution_ticks(&mut *driver).map_err(failed)?;
    profile.timer_resolution_ns = ticks as f64 * f64::from(profile.timestamp_period_ns);
    let session = WebGpuSession::new(driver);
    let mut webgpu = WebGpu { session, profile: Arc::new(profile), gone: None };
    let shaders = catalog::helper_shaders(&webgpu.profile);
    let modules: Vec<Module> = compiler.compile_all(&shaders).into_iter().collect::<Result<_, _>>()?;
    let created: Result<Vec<_>, _> = webgpu.create_pipelines(&modules).into_iter().collect();
    created.map_err(failed)?;
    Ok(webgpu)
}

/// A session with one device.
///
/// After a time-out or the loss of the device, every call returns that failure: only another process can go on.
pub struct WebGpu {
    session: WebGpuSession,
    /// What wgpu told, and what was found out since.
    profile: Arc<DeviceProfile>,
    /// The failure that ended the session.
    gone: Option<Failure>,
}

impl WebGpu {
    /// Does something with the device, unless the session has ended, and keeps account of how that went.
    fn with<T>(
        &mut self,
        act: impl FnOnce(&mut WebGpuSession, &DeviceProfile) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(gone) = &self.gone {
            return Err(gone.clone());
        }
        act(&mut self.session, &self.profile).inspect_err(|failure| {
            if failure.is_fatal() {
                self.gone = Some(failure.clone());
            }
            // What was submitted may have run or not: epochs and tickets start anew, on cleared memory.
            self.session.ledger.forget();
        })
    }
}

impl Backend for WebGpu {
    fn profile(&self) -> &Arc<DeviceProfile> {
        &self.profile
    }

    fn learn(&mut self, found: GuaranteesProbe) {
        Arc::make_mut(&mut self.profile).guarantee_facts.probe = Some(found);
    }

    fn ask(&mut self, _: &ProbeCall<'_>) -> Result<ProbeAnswer, Failure> {
        let reason = "no probe is written for WebGPU: --assume says what its devices give";
        Err(Failure::new(Status::Unsupported, reason))
    }

    fn reserve_scratch(&mut self, bytes: u64) -> Result<(), Failure> {
        self.with(|session, _| session.reserve_scratch(bytes))
    }

    fn create_pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineInfo, Failure>> {
        if let Some(gone) = &self.gone {
            return modules.iter().map(|_| Err(gone.clone())).collect();
        }
        let created = self.session.create_pipelines(modules);
        self.gone = created.iter().filter_map(|one| one.as_ref().err()).find(|one| one.is_fatal()).cloned();
        created
    }

    fn drop_pipelines(&mut self) -> Result<(), Failure> {
        self.with(|session, _| {
            session.drop_pipelines();
            Ok(())
        })
    }

    fn load(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure> {
        self.with(|session, profile| session.load(profile, problem, input, n))
    }

    fn load_other(&mut self, problem: &Problem, input: &Input, n: u64) -> Result<(), Failure> {
        self.with(|session, profile| {
            session.memory.swap_inputs();
            let loaded = session.load(profile, problem, input, n);
            session.memory.swap_inputs();
            loaded
        })
    }

    fn lost(&self) -> Option<&Failure> {
        self.gone.as_ref()
    }

    fn loaded_elements(&self) -> u64 {
        self.session.memory.loaded()
    }

    /// By the clock of the host, from each submission to its end.
    fn busy_ns(&self) -> f64 {
        self.session.driver.busy_ns()
    }

    fn verify(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        self.with(|session, profile| session.verify(profile, plan))
    }

    fn verify_at(&mut self, plan: &Plan, begin: [u64; 2]) -> Result<u64, Failure> {
        if begin != [0, 0] {
            let reason = format!("{}: what WebGPU binds begins at multiples of 256 bytes", plan.label);
            return Err(Failure::new(Status::Unsupported, reason));
        }
        self.verify(plan)?.all_right()
    }

    fn keep(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.with(|session, _| session.keep(plan))
    }

    fn compare_with_kept(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        self.with(|session, profile| session.compare_with_kept(profile, plan))
    }

    fn scribble_scratch(&mut self, garbage: Garbage) -> Result<(), Failure> {
        self.with(|session, _| {
            garbage.tell(&mut session.ledger);
            // No kernel in WGSL counts its calls, so no garbage has a turn.
            session.fill_scratch(garbage.from(), garbage.word())
        })
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
        self.with(|session, profile| session.time(profile, plan, cache, calls, samples))
    }

    fn twin(&mut self, plan: &Plan, course: &Course<'_>) -> Result<Vec<Checked>, Failure> {
        self.with(|session, profile| session.twin(profile, plan, course))
    }

    fn check_input(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.with(|session, profile| session.check_input(profile, plan))
    }
}
