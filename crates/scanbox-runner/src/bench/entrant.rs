//! Who takes part in a benchmark with a kernel of scanbox's own: its plans, its input, its record before it ran.

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::Plan;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Record, Selection, Selections, Status};
use scanbox_model::space::Point;
use serde::{Deserialize, Serialize};

use crate::backend::Failure;
use crate::sweep::{Computation, Origin, blank_record, record_of_run};

/// A subject of scanbox's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrant {
    /// The label of a config, or of a ceiling (see [`ceilings`]).
    pub label: String,
    /// Why it takes part.
    pub selection: Selections,
    /// Which build of the config it is. Where it is one that counts, the counts are those of such a build, and the times
    /// those of the same build without them.
    #[serde(default)]
    pub variant: Variant,
}

impl Entrant {
    /// What it is called: no two entrants of a size have the same name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}{}", self.label, Variant::blocked(self.variant.blocking))
    }
}

/// The ceiling of a problem ([`catalog::ceiling`]) in all its launch shapes: the fastest of them at a size counts.
#[must_use]
pub fn ceilings(problem: &Problem, device: &DeviceProfile) -> Vec<Entrant> {
    let entrant = |&shape: &(u32, u32)| Entrant {
        label: catalog::ceiling(problem, 1, shape, device).label,
        selection: vec![Selection::Copy],
        variant: Variant::default(),
    };
    let mut ceilings: Vec<Entrant> = Vec::new();
    for ceiling in catalog::CEILING_SHAPES.iter().map(entrant) {
        // On a device with small workgroups two shapes may be one.
        if !ceilings.contains(&ceiling) {
            ceilings.push(ceiling);
        }
    }
    ceilings
}

/// What all subjects compute at these sizes, and the input that all can run on. It is one for all, because they
/// alternate: any random elements, unless some config needs smaller ones.
#[must_use]
pub fn computation_of(
    sizes: &[(u64, Vec<Entrant>)],
    problem: Problem,
    real: bool,
    seed: u64,
    device: &DeviceProfile,
) -> (Computation, Input) {
    let largest_n = sizes.iter().map(|(n, _)| *n).max().unwrap_or(1);
    let computation = Computation { problem, real, largest_n, seed };
    let entrants = sizes.iter().flat_map(|(_, entrants)| entrants);
    let configs = entrants.filter_map(|entrant| entrant.label.parse::<Config>().ok());
    let any = if real { InputKind::Real } else { InputKind::Random };
    let special = configs.map(|config| computation.input(&config, device)).find(|input| input.kind != any);
    (computation, special.unwrap_or(Input { kind: any, seed }))
}

/// The plans of an entrant.
pub(super) struct Plans {
    /// None: a ceiling.
    pub config: Option<Config>,
    /// The one whose times count.
    pub timed: Plan,
    /// The same in the build that counts, if that is asked for.
    pub counted: Option<Plan>,
}

/// The plans of an entrant at a size.
///
/// # Errors
/// `unsupported`, where it has none on this device.
pub(super) fn plans_of(
    entrant: &Entrant,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<Plans, Failure> {
    let Entrant { label, variant, .. } = entrant;
    let unsupported = |reason: String| Failure::new(Status::Unsupported, reason);
    let mut ceilings =
        catalog::CEILING_SHAPES.iter().map(|&shape| catalog::ceiling(problem, 1, shape, device));
    if let Some(place) = ceilings.position(|plan| plan.label == *label) {
        // Kernels index with 32 bits, these too, and the guard lies behind the last element.
        if u32::try_from(n * problem.element_bytes() / 4 + (1 << 20)).is_err() {
            return Err(unsupported(format!("{n} elements, where kernels index with 32 bits")));
        }
        let timed = catalog::ceiling(problem, n, catalog::CEILING_SHAPES[place], device);
        return Ok(Plans { config: None, timed, counted: None });
    }
    let config: Config = label.parse().map_err(|error| unsupported(format!("{error}")))?;
    let plan = |variant| {
        catalog::plan_variant(&config, variant, problem, n, device)
            .map_err(|rejection| unsupported(rejection.to_string()))
    };
    let timed = plan(Variant::blocked(variant.blocking))?;
    let counted = if variant.counted { Some(plan(*variant)?) } else { None };
    Ok(Plans { config: Some(config), timed, counted })
}

/// The record of an entrant before it ran.
#[must_use]
pub fn blank(
    entrant: &Entrant,
    n: u64,
    computation: &Computation,
    input: &Input,
    device: &DeviceProfile,
    origin: &Origin,
) -> Record {
    let mut record = match entrant.label.parse::<Config>() {
        Ok(config) => blank_record(&Point { n, config }, computation, input, device, origin),
        Err(_) => Record {
            subject: computation.problem.ceiling().to_owned(),
            bytes_moved: computation.problem.bytes_moved(n),
            subject_version: origin.version.clone(),
            config_id: entrant.label.clone(),
            kernel_id: entrant.label.clone(),
            ..plain_record(n, computation, input, device, origin)
        },
    };
    record.selection.clone_from(&entrant.selection);
    record.blocking = entrant.variant.blocking;
    record
}

/// What rows of anything but a config have in common.
pub(super) fn plain_record(
    n: u64,
    computation: &Computation,
    input: &Input,
    device: &DeviceProfile,
    origin: &Origin,
) -> Record {
    Record {
        element_bytes: computation.problem.element().bytes(),
        bytes_moved: 2 * computation.problem.element_bytes() * n,
        ..record_of_run(n, input, device, origin)
    }
}
