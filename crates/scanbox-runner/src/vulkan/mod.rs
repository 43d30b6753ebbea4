//! The Vulkan backend: devices, memory, pipelines, calls and their times.
//!
//! The only module of this crate that names `ash` and contains `unsafe`. What it times is recorded by `scanbox-vk`, as
//! programs record it; what only measuring needs is here. Every object is owned by a type that destroys it and holds
//! the device (`Gpu`), so that the order of destruction follows from ownership. All submissions are
//! synchronous, which is what makes those destructors right: whoever waits for a submission in vain ends the session,
//! and its objects are leaked instead ([`Vulkan`]'s `Drop`).
//!
//! Shaders reach memory by address, which they get in push constants: no descriptors, no limit of a binding's range.

mod buffer;
mod call;
mod commands;
mod device;
mod error;
mod instance;
mod line;
mod memory;
mod operator;
mod packed;
mod pipeline;
#[cfg(feature = "testing")]
mod testing;
mod timestamps;
mod timing;
mod twin;
mod varied;
mod watch;

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::Input;
use scanbox_kernels::plan::{Module, Plan};
use scanbox_model::device::DeviceProfile;
use scanbox_model::known_issues::KnownIssues;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use scanbox_model::safe_devices::SafeDevices;

use self::commands::Commands;
use self::device::{Candidate, Gpu};
pub use self::error::VulkanError;
use self::instance::Instance;
use self::memory::Memory;
use self::pipeline::Pipelines;
#[cfg(feature = "testing")]
pub use self::testing::Tamper;
use self::timestamps::Timestamps;
use self::timing::VulkanSession;
use crate::backend::{Backend, ElementComparison, Failure, PackedKernel, PipelineInfo, TickInterval};
use crate::twin::{Checked, Course};
use scanbox_kernels::cases::Garbage;
use scanbox_kernels::ledger::Ledger;

/// Timestamps to start with; more are made when a submission needs them.
const TIMESTAMPS: u32 = 64;

/// How to open devices.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long one submission may take before the device counts as hung.
    pub timeout: Duration,
    /// The folder where pipelines are cached between sessions.
    pub pipeline_cache: Option<PathBuf>,
    /// Whether the validation layer checks every call, synchronisation included.
    pub validation: bool,
    /// The library file of the Vulkan loader, instead of the system's.
    pub loader: Option<PathBuf>,
    /// What may be forced on a device.
    pub known_issues: KnownIssues,
    /// What devices keep beyond what Vulkan promises.
    pub safe_devices: SafeDevices,
}

impl Default for Options {
    /// 30 seconds, no cache, no validation, the system's loader, no known issues.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            pipeline_cache: None,
            validation: false,
            loader: None,
            known_issues: KnownIssues::default(),
            safe_devices: SafeDevices::default(),
        }
    }
}

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

/// A device that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// What it is and can do; numbers are 0 where a device is too old to tell.
    pub profile: DeviceProfile,
    /// Why it cannot be used, one sentence without subject each; empty: it can be.
    pub problems: Vec<String>,
}

impl Listed {
    /// Whether [`open`] takes it.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.problems.is_empty()
    }
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
        profile.forced = options.known_issues.on(profile, |name| std::env::var(name).ok()).forced();
        options.safe_devices.apply(profile);
    }
    Ok(candidates)
}

/// The device that `selector` names: its index in [`devices`] (digits alone are nothing else), its whole UUID, its
/// PCI address, its name, or a part of its name; a name, or part of one, that no other device has.
///
/// # Errors
/// When there is no such device, and when there are several.
pub fn select(selector: &str) -> Result<Listed, VulkanError> {
    let mut devices = devices()?;
    let index = place_of(&devices, selector)?;
    Ok(devices.swap_remove(index))
}

/// The index among these devices of the one that `selector` names, as in [`select`].
///
/// # Errors
/// As [`select`].
pub fn place_of(devices: &[Listed], selector: &str) -> Result<usize, VulkanError> {
    find(&devices.iter().collect::<Vec<_>>(), selector)
}

/// Opens the device that `selector` names, as in [`select`].
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
    let mut vulkan = Vulkan { session: ManuallyDrop::new(session), gone: None };
    let modules: Vec<Module> =
        compiler.compile_all(&catalog::helper_shaders(profile)).into_iter().collect::<Result<_, _>>()?;
    let created: Result<Vec<_>, _> = vulkan.create_pipelines(&modules).into_iter().collect();
    created.map_err(|failure| VulkanError::Setup { device: profile.name.clone(), failure })?;
    Ok(vulkan)
}

/// The place of the device that `selector` names. Digits are an index and nothing else: a device that has fallen off
/// the bus must not be another one whose name has that digit.
fn find(devices: &[&Listed], selector: &str) -> Result<usize, VulkanError> {
    let selector = selector.trim();
    let describe = |indices: &[usize]| {
        let one = |&index: &usize| {
            let profile = &devices[index].profile;
            let pci =
                profile.pci_address.as_ref().map_or_else(String::new, |address| format!(", PCI {address}"));
            format!("{index}: {} ({}{pci})", profile.title(), profile.uuid)
        };
        match indices {
            [] => "none".to_owned(),
            indices => indices.iter().map(one).collect::<Vec<_>>().join(", "),
        }
    };
    let all: Vec<usize> = (0..devices.len()).collect();
    let not_found = || VulkanError::NotFound { selector: selector.to_owned(), devices: describe(&all) };
    if selector.is_empty() {
        return Err(VulkanError::NoSelector { devices: describe(&all) });
    }
    if selector.bytes().all(|byte| byte.is_ascii_digit()) {
        return selector.parse().ok().filter(|index| *index < devices.len()).ok_or_else(not_found);
    }
    let wanted = selector.to_lowercase();
    let matching = |matches: &dyn Fn(&DeviceProfile) -> bool| -> Vec<usize> {
        all.iter().copied().filter(|&index| matches(&devices[index].profile)).collect()
    };
    let attempts = [
        matching(&|profile| profile.uuid.eq_ignore_ascii_case(&wanted)),
        matching(&|profile| profile.pci_address.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(&wanted))),
        matching(&|profile| profile.name.to_lowercase() == wanted),
        matching(&|profile| profile.name.to_lowercase().contains(&wanted)),
    ];
    match attempts.iter().find(|found| !found.is_empty()).map(Vec::as_slice) {
        Some([index]) => Ok(*index),
        Some(several) => {
            Err(VulkanError::Ambiguous { selector: selector.to_owned(), devices: describe(several) })
        }
        None => Err(not_found()),
    }
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
            tried_comparisons: std::collections::BTreeSet::new(),
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
        &self.session.gpu.profile
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

    fn keep(&mut self, plan: &Plan) -> Result<(), Failure> {
        self.with(|session| session.keep(plan))
    }

    fn compare_with_kept(&mut self, plan: &Plan) -> Result<ElementComparison, Failure> {
        self.with(|session| session.compare_with_kept(plan))
    }

    fn scribble_scratch(&mut self, garbage: Garbage) -> Result<(), Failure> {
        self.with(|session| match garbage {
            Garbage::InNewMemory(word) => {
                session.ledger.forget();
                session.fill_scratch(0, word)
            }
            Garbage::Unnoticed(word) => session.fill_scratch(0, word),
            Garbage::InTileStates { word, from } => session.fill_scratch(from, word),
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
    use scanbox_model::device::DeviceKind;

    use super::*;
    use crate::replay::{Replay, Script};

    fn listed(name: &str, uuid: &str, pci: &str) -> Listed {
        let script = Script { name: name.to_owned(), uuid: uuid.to_owned(), ..Script::default() };
        let profile = DeviceProfile {
            kind: DeviceKind::Hardware,
            pci_address: (!pci.is_empty()).then(|| pci.to_owned()),
            ..Replay::new(script).profile().as_ref().clone()
        };
        Listed { profile, problems: Vec::new() }
    }

    #[test]
    fn a_selector_names_one_device_or_none() {
        // A name with digits, two units of a model, and two that have the same UUID too.
        let all = [
            listed("NVIDIA H200", "aaaaaaaa-0000", "0000:01:00.0"),
            listed("NVIDIA H200", "bbbbbbbb-0000", "0000:41:00.0"),
            listed("llvmpipe (LLVM 15.0.6, 256 bits)", "cccccccc-0000", ""),
            listed("AMD Radeon PRO W7900", "00000000-0300", "0000:03:00.0"),
            listed("AMD Radeon PRO W7900", "00000000-0300", "0000:83:00.0"),
            listed("NVIDIA H200 NVL", "dddddddd-0000", "0000:c1:00.0"),
            listed("99", "eeeeeeee-0000", ""),
        ];
        let check_in = |all: &[Listed], selector: &str, expected: Result<usize, &[&str]>| {
            let found = place_of(all, selector).map_err(|error| error.to_string());
            match (&found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{selector}"),
                (Err(message), Err(parts)) => {
                    parts.iter().for_each(|part| assert!(message.contains(part), "no `{part}` in {message}"));
                }
                _ => panic!("{selector}: {found:?}"),
            }
        };
        let check = |selector: &str, expected: Result<usize, &[&str]>| check_in(&all, selector, expected);
        // Digits are an index, whatever names have in them.
        check("0", Ok(0));
        check(" 2 ", Ok(2));
        check("06", Ok(6));
        for beyond in ["7", "15", "99", "200", "256", "7900", "18446744073709551616"] {
            check(
                beyond,
                Err(&["there is no device `", "0: NVIDIA H200 (aaaaaaaa-0000, PCI 0000:01:00.0), 1: "]),
            );
        }
        // On a machine with one device whose name has every digit.
        let one = [listed("llvmpipe (LLVM 15.0.6, 1234567890)", "cccccccc-0000", "")];
        check_in(&one, "0", Ok(0));
        for beyond in 1..20 {
            check_in(&one, &beyond.to_string(), Err(&["there is no device `", "; there is 0: llvmpipe"]));
        }
        ["+1", "-1", "1."].iter().for_each(|text| check(text, Err(&["there is no device `", text])));
        // UUIDs and PCI addresses, whole.
        check("BBBBBBBB-0000", Ok(1));
        for part in ["aaaaaaaa", "bbbb", "0000:41", "41:00.0"] {
            check(part, Err(&["there is no device"]));
        }
        check("0000:41:00.0", Ok(1));
        check("0000:83:00.0", Ok(4));
        check("00000000-0300", Err(&["several", "PCI 0000:03:00.0", "4: AMD", "PCI 0000:83:00.0"]));
        // Names, and parts of one that are unique.
        check("LLVMpipe", Ok(2));
        check("llvm 15", Ok(2));
        check("nvl", Ok(5));
        check("nvidia h200 nvl", Ok(5));
        check(
            "nvidia h200",
            Err(&["use the index or the PCI address; there is 0: NVIDIA H200", ", 1: NVIDIA H200 ("]),
        );
        check("H200", Err(&["stands for several", "5: NVIDIA H200 NVL"]));
        check("W7900", Err(&["3: AMD", "4: AMD"]));
        check("all", Err(&["there is no device `all`"]));
        for nothing in ["", " ", "\t"] {
            check(nothing, Err(&["no device is named; there is 0: NVIDIA H200"]));
        }
        check_in(&[], "0", Err(&["there is none"]));
    }

    #[test]
    fn a_missing_loader_says_what_to_install() {
        let options = Options { loader: Some("/nonexistent/libvulkan.so.1".into()), ..Options::default() };
        let error = devices_with(&options).unwrap_err();
        assert!(error.is_no_device());
        let message = error.to_string();
        assert!(message.contains("libvulkan1") && message.contains("mesa-vulkan-drivers"), "{message}");
    }
}
