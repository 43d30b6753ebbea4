//! Shaders become pipelines, and each outcome is kept.

use std::collections::HashMap;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::{Plan, Shader};
use scanbox_model::record::Status;

use crate::backend::{Backend, Failure, PipelineInfo};

/// A pipeline (of a plan, all of them), and how long its shader took to compile in milliseconds; or why there is none.
pub type Prepared = Result<(PipelineInfo, u64), Failure>;

/// Shaders per core that are made at a time where there are many.
const SHADERS_PER_CORE: usize = 8;

/// The pipelines of a session.
#[derive(Debug, Default)]
pub struct PreparedShaders(HashMap<Shader, Prepared>);

/// Where the time of making pipelines went.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// From source to SPIR-V.
    pub compiling: Duration,
    /// From SPIR-V to pipelines.
    pub creating: Duration,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.compiling += other.compiling;
        self.creating += other.creating;
    }
}

impl PreparedShaders {
    /// Makes pipelines of these shaders, together, so that all cores have something to do.
    pub fn make(&mut self, backend: &mut dyn Backend, compiler: &Compiler, shaders: &[Shader]) -> Spent {
        let start = Instant::now();
        let mut modules = Vec::new();
        for (shader, outcome) in shaders.iter().zip(compiler.compile_all(shaders)) {
            match outcome {
                Ok(module) => modules.push(module),
                Err(error) => {
                    let failure = Failure::new(Status::CompileError, error.to_string());
                    self.0.insert(shader.clone(), Err(failure));
                }
            }
        }
        let compiling = start.elapsed();
        let outcomes = backend.create_pipelines(&modules);
        for (module, outcome) in modules.into_iter().zip(outcomes) {
            let prepared = outcome.map(|info| (info, module.compile_ms));
            self.0.insert(module.shader, prepared);
        }
        Spent { compiling, creating: start.elapsed() - compiling }
    }

    /// [`PreparedShaders::make`] of many shaders, in parts: `progress` hears after each how many are done, and what the
    /// driver keeps of them is kept whatever happens to the rest.
    ///
    /// # Errors
    /// What `progress` returns: that ends it. Where the device is lost, what is left is not tried: [`Backend::lost`]
    /// says so.
    pub fn make_all<E>(
        &mut self,
        backend: &mut dyn Backend,
        compiler: &Compiler,
        shaders: &[Shader],
        progress: &mut dyn FnMut(usize) -> Result<(), E>,
    ) -> Result<Spent, E> {
        let mut spent = Spent::default();
        let mut done = 0;
        for part in shaders.chunks(SHADERS_PER_CORE * rayon::current_num_threads()) {
            spent += self.make(backend, compiler, part);
            done += part.len();
            if backend.lost().is_some() {
                break;
            }
            progress(done)?;
        }
        Ok(spent)
    }

    /// The shaders of a plan that have not been tried.
    #[must_use]
    pub fn missing(&self, plan: &Plan) -> Vec<Shader> {
        let shaders = plan.passes.iter().map(|pass| &pass.shader);
        shaders.filter(|shader| !self.0.contains_key(shader)).cloned().collect()
    }

    /// What the driver tells about the pipelines of a plan, all of which have been tried: the most registers that one
    /// of them takes, and the fewest subgroups that a SIMD unit holds of one; and how long their shaders took to
    /// compile together, in milliseconds.
    ///
    /// # Errors
    /// Why there is no pipeline, of the first pass that has none.
    pub fn of_plan(&self, plan: &Plan) -> Prepared {
        let mut all = (PipelineInfo::default(), 0);
        for pass in &plan.passes {
            let (info, compile_ms) = self.0.get(&pass.shader).expect("it has been tried").clone()?;
            all.0 = all.0.and(info);
            all.1 += compile_ms;
        }
        Ok(all)
    }
}
