//! What tests on a device share: whether they run, and the device, one test at a time.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scanbox_kernels::cases::Builds;
use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{Plan, Shader};
use scanbox_model::config::Config;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::guarantee_probe::{GuaranteeFinding, GuaranteesProbe, ProbeVerdict};
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::{Guarantee, SafeDevices};
use scanbox_runner::backend::{Backend, ElementComparison};
use scanbox_runner::vulkan::{self, Options, Vulkan};
use scanbox_testing::folder::copy_folder;

use super::progress::hangs;

/// One test at a time: lavapipe ends the loops of workgroups that wait for one which the system has descheduled.
static DEVICE: Mutex<()> = Mutex::new(());

const SAFE_DEVICES: &str = include_str!("../../../../configs/safe_devices.toml");

/// Full-range elements.
pub const RANDOM: Input = Input { kind: InputKind::Random, seed: 7 };
pub const ONES: Input = Input { kind: InputKind::Ones, seed: 0 };

/// The device, as it is opened where nobody asks for anything.
pub fn device() -> Option<Bench> {
    device_with(options())
}

/// The same with these options.
pub fn device_with(options: Options) -> Option<Bench> {
    Bench::with(compiler, options)
}

/// The options of a session that no test changes.
pub fn options() -> Options {
    Options {
        // Enough for any case of these tests on a software device that has one core to itself, and an end to those that
        // hang. A submission that is given up goes on, and slows what comes after it.
        timeout: Duration::from_secs(240),
        validation: std::env::var_os("SCANBOX_VALIDATION").is_some_and(|on| on == "1"),
        ..Options::default()
    }
}

/// A compiler of the kernels. All tests and all passes over the devices share its SPIR-V, of which they need mostly
/// the same; the tests of `scanbox-kernels` compile everything themselves.
pub fn compiler() -> Compiler {
    cached(None)
}

/// Sees to the pipelines of shaders by a compiler of its own, all at once.
pub fn create(device: &mut Vulkan, compiler: &Compiler, shaders: &[Shader]) {
    let modules: Result<Vec<_>, _> = compiler.compile_all(shaders).into_iter().collect();
    for created in device.create_pipelines(&modules.unwrap()) {
        created.unwrap();
    }
}

/// A compiler of the kernels in a folder.
pub fn compiler_of_folder(sources: &Path) -> Compiler {
    cached(Some(sources))
}

/// A change of the kernels: a file, a text that stands once in it, and what takes its place.
pub type Change = (&'static str, &'static str, &'static str);

/// A compiler of the kernels with changes.
pub fn compiler_of_changed(changes: &[Change]) -> Compiler {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/glsl"), folder.path());
    for (file, from, to) in changes {
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
        fs::write(&path, text.replace(from, to)).unwrap();
    }
    compiler_of_folder(folder.path())
}

fn cached(sources: Option<&Path>) -> Compiler {
    Compiler::new(sources, Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("spirv"))).unwrap()
}

/// The builds of one of the rows of a table that are verified. A software device takes most of its time to compile,
/// three builds as long as three configs: there every fourth row has all of them, beside the tests whose subject they
/// are.
pub fn builds(turn: usize, device: &DeviceProfile) -> Builds {
    if device.kind != DeviceKind::Software || turn.is_multiple_of(4) { Builds::All } else { Builds::Swept }
}

/// The right to use the device; nothing where tests on a device are not asked for.
#[allow(clippy::print_stderr, reason = "a test that did not run has to say so")]
pub fn turn() -> Option<MutexGuard<'static, ()>> {
    if std::env::var_os("SCANBOX_TEST_DEVICE").is_none() {
        eprintln!("skipped: set SCANBOX_TEST_DEVICE=1");
        return None;
    }
    Some(DEVICE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A device for the time of one test.
pub struct Bench {
    /// Dropped by hand, so that complaints about the end of the session count too.
    device: Option<Vulkan>,
    /// Compiles for it.
    pub compiler: Compiler,
    _turn: MutexGuard<'static, ()>,
}

impl Bench {
    /// The first device, with the sources that `compiler` has; nothing where tests on a device are not asked for.
    pub fn new(compiler: impl FnOnce() -> Compiler) -> Option<Self> {
        let safe_devices = SafeDevices::from_toml(SAFE_DEVICES, "configs/safe_devices.toml").unwrap();
        let mut bench = Self::with(compiler, Options { safe_devices, ..options() })?;
        // Of one workgroup this is true everywhere; tests start no more where it is not known how many fit.
        bench.device().learn(GuaranteesProbe {
            findings: vec![GuaranteeFinding {
                guarantee: Guarantee::CoResidency,
                verdict: ProbeVerdict::NotRefuted,
                calls: 1,
                detail: "one workgroup".to_owned(),
                date: "2026-11-23".to_owned(),
            }],
            ..GuaranteesProbe::default()
        });
        Some(bench)
    }

    /// The same with these options.
    pub fn with(compiler: impl FnOnce() -> Compiler, options: Options) -> Option<Self> {
        let turn = turn()?;
        let compiler = compiler();
        let device = vulkan::open("0", &compiler, options).unwrap_or_else(|error| panic!("{error}"));
        Some(Self { device: Some(device), compiler, _turn: turn })
    }

    /// The device.
    pub fn device(&mut self) -> &mut Vulkan {
        self.device.as_mut().unwrap()
    }

    /// The device and the compiler.
    pub fn parts(&mut self) -> (&mut Vulkan, &Compiler) {
        (self.device.as_mut().unwrap(), &self.compiler)
    }

    /// Sees to the pipelines of a plan.
    pub fn prepare(&mut self, plan: &Plan) {
        for pass in &plan.passes {
            self.create(std::slice::from_ref(&pass.shader));
        }
    }

    /// Sees to the pipelines of shaders.
    pub fn create(&mut self, shaders: &[Shader]) {
        for shader in shaders {
            let module = self.compiler.compile(shader).unwrap_or_else(|error| panic!("{error}"));
            for created in self.device().create_pipelines(&[module]) {
                created.unwrap_or_else(|failure| panic!("{shader}: {failure}"));
            }
        }
    }

    /// The plan that copies `n` loaded elements.
    pub fn copy(&mut self, n: u64) -> Plan {
        let plan = catalog::copy(&Problem::default(), n, catalog::CEILING_SHAPES[0], self.device().profile());
        self.prepare(&plan);
        plan
    }

    /// Runs a plan twice in a row; each time every element has to be right.
    pub fn check_plan(&mut self, plan: &Plan, input: &Input) {
        let device = self.device();
        device
            .load(&plan.problem, input, plan.n)
            .unwrap_or_else(|failure| panic!("{}: {failure}", plan.label));
        for run in ["first", "second"] {
            let comparison =
                device.verify(plan).unwrap_or_else(|failure| panic!("{}: {failure}", plan.label));
            let ElementComparison { compared, mismatches, first, .. } = comparison;
            assert_eq!((mismatches, first), (0, None), "{} n={} {input}, {run} run", plan.label, plan.n);
            assert!(compared >= plan.outputs(), "{compared} of {} elements compared", plan.outputs());
        }
    }

    /// Checks a config at a size on an input. A config that the rules reject on this device is no failure, and said.
    /// Random words are bounded where the tile state cannot carry the total of full-range ones.
    #[allow(clippy::print_stderr, reason = "what was not tested must be said")]
    pub fn check(&mut self, label: &str, n: u64, input: &Input) {
        let config: Config = label.parse().unwrap();
        let profile = self.device().profile();
        if hangs(&config, profile) {
            eprintln!("not tested: {label} at {n}: it does not come to its end here");
            return;
        }
        let kind = match input.kind {
            InputKind::Random => catalog::input_kind(&config.kernel, profile, n),
            kind => kind,
        };
        match catalog::plan(&config, &Problem::default(), n, profile) {
            Ok(plan) => {
                self.prepare(&plan);
                self.check_plan(&plan, &Input { kind, ..*input });
            }
            Err(rejection) => eprintln!("not tested: {label} at {n}: {rejection}"),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let log = self.device.as_ref().map(Vulkan::validation_log);
        self.device = None;
        if let Some(log) = log.filter(|_| !std::thread::panicking()) {
            assert_eq!(*log.lock().unwrap(), Vec::<String>::new(), "the validation layer complains");
        }
    }
}
