//! Makes pipelines and runs none: what a driver's compiler says of kernels, also one without a device behind it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::record::Status;

use super::device::Gpu;
use super::instance::Instance;
use super::pipeline::Pipelines;
use super::statistics::PipelineStatistics;
use super::{NO_HARDWARE, Options, VulkanError, candidates, failed};
use crate::backend::Failure;
use crate::select::find;

/// A device whose compiler is asked.
pub struct PipelineMaker {
    pipelines: Pipelines,
    profile: DeviceProfile,
    /// Whether it tells anything of them.
    tells: bool,
}

/// A pipeline that was made, or tried.
#[derive(Debug, Clone)]
pub struct MadePipeline {
    /// What the driver tells of it, or why there is none.
    pub outcome: Result<PipelineStatistics, Failure>,
    /// What the driver took for it.
    pub made_in: Duration,
}

impl PipelineMaker {
    /// The device that `selector` names, as for [`super::open`]; it need not have hardware.
    ///
    /// # Errors
    /// When there is no such device, when there are several, and when it lacks what kernels need.
    pub fn open(selector: &str, options: &Options) -> Result<Self, VulkanError> {
        let instance = Instance::new(options.loader.as_deref(), options.validation)?;
        let candidates = candidates(&instance, options)?;
        let listed: Vec<_> = candidates.iter().map(|candidate| &candidate.listed).collect();
        let candidate = &candidates[find(&listed, selector)?];
        let profile = candidate.listed.profile.clone();
        let mut problems = candidate.listed.problems.clone();
        problems.retain(|problem| profile.kind != DeviceKind::Null || problem != NO_HARDWARE);
        if !problems.is_empty() {
            return Err(VulkanError::Unusable { device: profile.name, problems });
        }
        let gpu = Gpu::new(instance, candidate)?;
        let tells = gpu.statistics.is_some();
        let pipelines = Pipelines::new(&gpu, None, SOME_LINE).map_err(|result| VulkanError::Setup {
            device: profile.name.clone(),
            failure: failed("creating the pipeline layout and cache", result),
        })?;
        Ok(Self { pipelines, profile, tells })
    }

    /// The device.
    #[must_use]
    pub fn profile(&self) -> &DeviceProfile {
        &self.profile
    }

    /// Whether its driver tells anything of pipelines.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.tells
    }

    /// Makes a pipeline of each shader, on all cores, from source; nothing of them is kept. `done` hears, from any
    /// thread, how many have been made or refused so far.
    pub fn make(
        &self,
        compiler: &Compiler,
        shaders: &[Shader],
        done: &(dyn Fn(usize) + Sync),
    ) -> Vec<MadePipeline> {
        let count = AtomicUsize::new(0);
        shaders
            .par_iter()
            .map(|shader| {
                let made = self.make_one(compiler, shader);
                done(count.fetch_add(1, Ordering::Relaxed) + 1);
                made
            })
            .collect()
    }

    fn make_one(&self, compiler: &Compiler, shader: &Shader) -> MadePipeline {
        let module = match compiler.compile(shader) {
            Ok(module) => module,
            Err(error) => {
                let failure = Failure::new(Status::CompileError, error.to_string());
                return MadePipeline { outcome: Err(failure), made_in: Duration::ZERO };
            }
        };
        let start = Instant::now();
        let outcome = self.pipelines.tried(&module);
        MadePipeline { outcome, made_in: start.elapsed() }
    }
}

/// An address like those of lines of arguments: pipelines that have it in them are made and never run.
const SOME_LINE: u64 = 1 << 32;
