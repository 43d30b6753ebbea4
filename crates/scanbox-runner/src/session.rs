//! What a sweep, a verification and a benchmark do alike: prepare, load, plan, and only then run.
//!
//! A `Session` is one device with the pipelines that it has by now. It decides nothing: which configs run, in which
//! order and on which input, and what becomes of a failure, is the business of the three.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Instant;

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{Plan, Shader};
use scanbox_kernels::rounding;
use scanbox_model::config::Config;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::space::Rejection;
use scanbox_model::units::size_label;
use scanbox_model::user_operator::OperatorName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Failure, PipelineInfo};
use crate::prepare::{Prepared, PreparedShaders, Spent};

/// What takes time before anything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Setup {
    /// Shaders are about to be compiled.
    Compiling {
        /// How many.
        shaders: usize,
    },
    /// So many of them have become pipelines, or have not.
    Compiled {
        /// How many.
        done: usize,
        /// Of how many.
        shaders: usize,
    },
    /// The laws of a user's operator are about to be tried.
    Laws {
        /// Its name.
        operator: OperatorName,
    },
    /// They hold where they were tried.
    LawsHold {
        /// Its name.
        operator: OperatorName,
        /// Samples of three elements.
        samples: u64,
    },
    /// Input and reference are about to be made and uploaded.
    Loading {
        /// Elements.
        n: u64,
    },
}

impl Setup {
    /// What was going on, for what is told of a process that ends meanwhile.
    #[must_use]
    pub fn amid(&self) -> String {
        match self {
            Self::Compiling { .. } => "pipelines were made".to_owned(),
            Self::Compiled { done, shaders } => {
                format!("pipelines were made, {done} of {shaders} shaders had theirs")
            }
            Self::Laws { operator } | Self::LawsHold { operator, .. } => {
                format!("the laws of operator {operator} were tried")
            }
            Self::Loading { n } => format!("{} elements were loaded", size_label(*n)),
        }
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiling { shaders } => write!(f, "compiling {shaders} shaders"),
            Self::Compiled { done, shaders } => write!(f, "compiled {done} of {shaders} shaders"),
            Self::Laws { operator } => write!(f, "trying the laws of {operator}"),
            Self::LawsHold { operator, samples } => {
                write!(f, "operator {operator} keeps its laws on {samples} triples of elements that it draws")
            }
            Self::Loading { n } => write!(f, "loading {n} elements"),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum End {
    /// All was done that there was to do.
    Complete,
    /// The budget is spent. Only a supervisor has one.
    Budget,
    /// Somebody asked to stop.
    Interrupted,
    /// The device cannot be used any more: only a new process can go on.
    DeviceUnusable,
}

/// What a run has to say at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// How it ended.
    pub end: End,
    /// Where the time went, in seconds, by phase.
    pub seconds: BTreeMap<&'static str, f64>,
}

/// What a set-up says on its way. It may fail: that ends the run.
pub(crate) type OnSetup<'a, E> = &'a mut dyn FnMut(Setup) -> Result<(), E>;

/// A device, and its pipelines for one problem.
pub(crate) struct Session<'a> {
    pub backend: &'a mut dyn Backend,
    pub problem: Problem,
    /// Where the time of making pipelines went.
    pub spent: Spent,
    compiler: &'a Compiler,
    pipelines: PreparedShaders,
    /// Whether the laws of a user's operator were tried.
    tried_laws: bool,
    started: Instant,
}

impl<'a> Session<'a> {
    pub fn new(backend: &'a mut dyn Backend, compiler: &'a Compiler, problem: Problem) -> Self {
        let (spent, pipelines) = (Spent::default(), PreparedShaders::default());
        Self { backend, problem, spent, compiler, pipelines, tried_laws: false, started: Instant::now() }
    }

    /// Makes the pipelines of these plans, and of those that every run needs.
    ///
    /// # Errors
    /// What `progress` returns; the loss of the device, for which no config may be blamed. A shader that does not
    /// become a pipeline is a failure of its plans.
    pub fn prepare<E: From<Failure>>(&mut self, ahead: Ahead, progress: OnSetup<'_, E>) -> Result<(), E> {
        let Ahead { mut shaders, scratch_bytes } = ahead;
        // What does not fit is the failure of the plan that needs it.
        self.backend.reserve_scratch(scratch_bytes).or_else(|failure| match failure.status {
            Status::OutOfMemory => Ok(()),
            _ => Err(failure),
        })?;
        let device = self.backend.profile();
        shaders.extend(catalog::helper_shaders(device));
        shaders.extend(catalog::operator_shaders(&self.problem, device));
        let shaders: Vec<Shader> = shaders.into_iter().collect();
        let count = shaders.len();
        progress(Setup::Compiling { shaders: count })?;
        let each = &mut |done| progress(Setup::Compiled { done, shaders: count });
        self.spent += self.pipelines.make_all(self.backend, self.compiler, &shaders, each)?;
        Ok(self.check_device("pipelines were made")?)
    }

    /// Only what ran may be blamed for the loss of the device, so nothing is announced after it.
    ///
    /// # Errors
    /// The loss, with what was going on.
    pub fn check_device(&self, what: &str) -> Result<(), Failure> {
        self.backend.lost().map_or(Ok(()), |failure| Err(failure.clone().amid(what)))
    }

    /// Loads the input for the largest of these items, unless there is no memory for it: then those of that size are
    /// taken out and returned, with the reason. To be called until it returns nothing.
    ///
    /// # Errors
    /// What `progress` returns; any other failure of the device, and of an operator that is not associative, which no
    /// kernel can get right.
    pub fn load<T, E: From<Failure>>(
        &mut self,
        input: &Input,
        items: &mut Vec<T>,
        size: impl Fn(&T) -> u64,
        progress: OnSetup<'_, E>,
    ) -> Result<Option<(Vec<T>, Failure)>, E> {
        let Some(n) = items.iter().map(&size).max() else { return Ok(None) };
        if let Some(file) =
            self.compiler.operator().filter(|_| self.problem.user().is_some() && !self.tried_laws)
        {
            let operator = file.operator().name;
            progress(Setup::Laws { operator })?;
            if self.backend.prove_operator(&self.problem, file)? {
                progress(Setup::LawsHold { operator, samples: catalog::LAW_SAMPLES })?;
            }
            self.tried_laws = true;
        }
        progress(Setup::Loading { n })?;
        match self.backend.load(&self.problem, input, n) {
            Ok(()) => Ok(None),
            Err(failure) if failure.status == Status::OutOfMemory => {
                let too_large = items.extract_if(.., |item| size(item) == n).collect();
                Ok(Some((too_large, failure)))
            }
            Err(failure) if failure.is_fatal() => Err(failure.amid(&Setup::Loading { n }.amid()).into()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Loads another input of `n` elements beside this one, which twins alternate with. Returns whether there was
    /// memory for it: where there is none they do not.
    ///
    /// # Errors
    /// Any other failure of the device.
    pub fn load_another(&mut self, input: Input, n: u64) -> Result<bool, Failure> {
        let another = input.another(&self.problem, n);
        match self.backend.load_other(&self.problem, &another, n) {
            Ok(()) => Ok(true),
            Err(failure) if failure.status == Status::OutOfMemory => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// The plan of a build of a config.
    ///
    /// # Errors
    /// `unsupported`, with the rule that says no.
    pub fn plan(&self, config: &Config, variant: Variant, n: u64) -> Result<Plan, Failure> {
        catalog::plan_variant(config, variant, &self.problem, n, self.backend.profile()).map_err(unsupported)
    }

    /// The pipelines of a plan; those that are missing are made now.
    ///
    /// # Errors
    /// Why there is none.
    pub fn pipelines_of(&mut self, plan: &Plan) -> Prepared {
        let missing = self.pipelines.missing(plan);
        if !missing.is_empty() {
            self.spent += self.pipelines.make(self.backend, self.compiler, &missing);
        }
        self.pipelines.of_plan(plan)
    }

    /// The same, and what is known of them as the plan runs on what is loaded.
    ///
    /// # Errors
    /// Why there is none.
    pub fn pipelines_as_run(&mut self, plan: &Plan) -> Prepared {
        let (info, compile_ms) = self.pipelines_of(plan)?;
        Ok((self.backend.as_run(plan)?.unwrap_or(info), compile_ms))
    }

    /// Drops all pipelines and makes those again that every run needs. A plan gets its own by
    /// [`Session::pipelines_as_run`].
    ///
    /// # Errors
    /// The loss of the device, and why the library cannot work on it any more.
    pub fn renew_pipelines(&mut self) -> Result<(), Failure> {
        self.pipelines = PreparedShaders::default();
        self.backend.drop_pipelines()?;
        self.prepare(Ahead::default(), &mut |_| Ok(()))
    }

    /// Whether all workgroups of a plan run at once where they wait for each other, now that its pipelines are known.
    ///
    /// # Errors
    /// `unsupported`, with the rule that says no.
    pub fn check_resident(&self, plan: &Plan, info: PipelineInfo) -> Result<(), Failure> {
        catalog::resident(plan, self.backend.profile(), info.registers).map_err(unsupported)
    }

    /// A config that can run at a size: its plan, with its pipelines.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn ready(&mut self, config: &Config, variant: Variant, n: u64) -> Result<Plan, Failure> {
        let plan = self.plan(config, variant, n)?;
        let (info, _) = self.pipelines_as_run(&plan)?;
        self.check_resident(&plan, info)?;
        Ok(plan)
    }

    /// The outcome of a run that has ended so, with what else it knows of where its time went.
    pub fn outcome(self, end: End, mut seconds: BTreeMap<&'static str, f64>) -> RunSummary {
        seconds.insert("total", self.started.elapsed().as_secs_f64());
        seconds.insert("device_busy", self.backend.busy_ns() / 1e9);
        RunSummary { end, seconds }
    }
}

/// What plans need that is made before any of them runs.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    shaders: BTreeSet<Shader>,
    /// Of the plan that needs most. Pipelines may have the address of this memory in them.
    scratch_bytes: u64,
}

impl FromIterator<Plan> for Ahead {
    fn from_iter<I: IntoIterator<Item = Plan>>(plans: I) -> Self {
        let mut ahead = Self::default();
        for plan in plans {
            ahead.scratch_bytes = ahead.scratch_bytes.max(plan.scratch.bytes);
            ahead.shaders.extend(plan.passes.into_iter().map(|pass| pass.shader));
        }
        ahead
    }
}

/// What a rule forbids.
pub(crate) fn unsupported(rejection: Rejection) -> Failure {
    Failure::new(Status::Unsupported, rejection.to_string())
}

/// Whether the answer to a plan on an input can be found to be wrong.
///
/// # Errors
/// `unsupported`, with the rule that says no.
pub(crate) fn tells(plan: &Plan, input: &Input) -> Result<(), Failure> {
    match input.kind {
        InputKind::Real => rounding::tells(&plan.problem, plan.n, plan.error_bound).map_err(unsupported),
        _ => Ok(()),
    }
}
