//! A device whose driver makes pipelines that nobody runs.

use std::time::Duration;

use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::Status;
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::replay::{Replay, Script};
use scanbox_runner::vulkan::{self, MadePipeline, PipelineMaker, PipelineStatistics};

use super::{inform, known_issues, remembered, replay_script, safe_devices};
use crate::tools::Tools;

/// Such a device; it need not have hardware.
pub enum DeviceCompiler {
    /// That of a driver, and what is known of the device.
    Driver(Box<PipelineMaker>, Box<DeviceProfile>),
    /// What a script says.
    Replay(Box<Replay>),
}

impl DeviceCompiler {
    /// That of the selected device.
    ///
    /// # Errors
    /// When there is no such device, when it lacks what kernels need, and as [`super::inform`].
    pub fn open(selector: &str, tools: &Tools) -> anyhow::Result<Self> {
        if let Some(path) = replay_script(selector) {
            let mut replay = Replay::new(Script::read(path)?);
            inform(replay.profile_mut(), &tools.assume)?;
            remembered::remember(replay.profile_mut(), tools);
            return Ok(Self::Replay(Box::new(replay)));
        }
        let options = vulkan::Options {
            known_issues: known_issues::all()?,
            safe_devices: safe_devices::all(&tools.assume)?,
            ..vulkan::Options::default()
        };
        let maker = PipelineMaker::open(selector, &options)?;
        let mut profile = Box::new(maker.profile().clone());
        inform(&mut profile, &tools.assume)?;
        remembered::remember(&mut profile, tools);
        Ok(Self::Driver(Box::new(maker), profile))
    }

    /// The device.
    #[must_use]
    pub fn profile(&self) -> &DeviceProfile {
        match self {
            Self::Driver(_, profile) => profile,
            Self::Replay(replay) => replay.profile(),
        }
    }

    /// Whether it tells anything of pipelines.
    #[must_use]
    pub fn tells(&self) -> bool {
        match self {
            Self::Driver(maker, _) => maker.tells(),
            Self::Replay(_) => true,
        }
    }

    /// Makes a pipeline of each shader, on all cores. `done` hears, from any thread, how many have been made or refused
    /// so far.
    pub fn make(
        &mut self,
        compiler: &Compiler,
        shaders: &[Shader],
        done: &(dyn Fn(usize) + Sync),
    ) -> Vec<MadePipeline> {
        let replay = match self {
            Self::Driver(maker, _) => return maker.make(compiler, shaders, done),
            Self::Replay(replay) => replay,
        };
        let modules = compiler.compile_all(shaders).into_iter().map(|module| {
            let module = module.map_err(|error| Failure::new(Status::CompileError, error.to_string()))?;
            let made = replay.create_pipelines(&[module]).remove(0)?;
            Ok(PipelineStatistics { registers: made.registers, ..PipelineStatistics::default() })
        });
        modules.map(|outcome| MadePipeline { outcome, made_in: Duration::ZERO }).collect()
    }
}
