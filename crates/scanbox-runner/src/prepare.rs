//! Shaders become pipelines, and each outcome is kept: what both a sweep and a verification begin with.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::Shader;
use scanbox_model::record::Status;

use crate::backend::{Backend, Failure, PipelineInfo};

/// A pipeline, and how long its shader took to compile in milliseconds; or why there is none.
pub type Prepared = Result<(PipelineInfo, u64), Failure>;

/// The pipelines of a session.
#[derive(Debug, Default)]
pub struct Pipelines(HashMap<Shader, Prepared>);

/// Where the time of making pipelines went.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// From source to SPIR-V.
    pub compiling: Duration,
    /// From SPIR-V to pipelines.
    pub creating: Duration,
}

impl Pipelines {
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

    /// The outcome for a shader, if it has been tried.
    #[must_use]
    pub fn get(&self, shader: &Shader) -> Option<&Prepared> {
        self.0.get(shader)
    }
}
