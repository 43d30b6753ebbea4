//! What takes part in a benchmark with a kernel of scanbox's own: its plans, its input, its record before it ran.

use scanbox_kernels::catalog::{self, CEILING_SHAPES, Variant};
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::Plan;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Record, Selection, Selections, Status};
use scanbox_model::space::Point;
use serde::{Deserialize, Serialize};

use crate::backend::Failure;
use crate::row::{Computation, Origin, blank_record, record_of_run};
use crate::session::unsupported;
use crate::subject::Subject;

/// A subject of scanbox's own, and why it takes part. Subjects of baselines are no part of a job: the program names
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// What is measured.
    pub subject: Subject,
    /// Why.
    pub selection: Selections,
}

/// These subjects behind the ceiling of their problem ([`catalog::ceiling`]), in all the launch shapes that they ask
/// for: the fastest of them at a size counts.
#[must_use]
pub fn behind_ceilings(selected: Vec<Selected>, problem: &Problem, device: &DeviceProfile) -> Vec<Selected> {
    let configs = selected.iter().filter_map(|one| match &one.subject {
        Subject::Config { config, .. } => Some(config),
        _ => None,
    });
    let mut ceilings: Vec<Selected> = Vec::new();
    for shape in catalog::ceiling_shapes(configs) {
        let subject = Subject::ceiling(problem, shape, device);
        // On a device with small workgroups two shapes may be one.
        if !ceilings.iter().any(|other| other.subject.label() == subject.label()) {
            ceilings.push(Selected { subject, selection: vec![Selection::Ceiling] });
        }
    }
    ceilings.extend(selected);
    ceilings
}

/// What shows where arguments cost time: a call that does nothing, and the same copy with each kind of arguments.
#[must_use]
pub fn by_arguments(problem: &Problem, device: &DeviceProfile) -> Vec<Selected> {
    let copies = catalog::shapes_by_arguments().map(|shape| Subject::ceiling(problem, shape, device));
    let subjects = std::iter::once(Subject::Empty).chain(copies);
    subjects.map(|subject| Selected { subject, selection: vec![Selection::Ceiling] }).collect()
}

/// What all subjects compute at these sizes, and the input that all can run on. It is one for all, because they
/// alternate: any random elements, unless some config needs smaller ones.
#[must_use]
pub fn computation_of(
    sizes: &[(u64, Vec<Selected>)],
    problem: Problem,
    real: bool,
    seed: u64,
    device: &DeviceProfile,
) -> (Computation, Input) {
    let largest_n = sizes.iter().map(|(n, _)| *n).max().unwrap_or(1);
    let computation = Computation { problem, real, largest_n, seed };
    let configs = sizes.iter().flat_map(|(_, selected)| selected).filter_map(|one| match one.subject {
        Subject::Config { config, .. } => Some(config),
        _ => None,
    });
    let any = if real { InputKind::Real } else { InputKind::Random };
    let special = configs.map(|config| computation.input(&config, device)).find(|input| input.kind != any);
    (computation, special.unwrap_or(Input { kind: any, seed }))
}

/// The plans of a subject.
pub(super) struct Plans {
    /// The one whose times count.
    pub timed: Plan,
    /// The same in the build that counts, if that is asked for.
    pub counted: Option<Plan>,
}

/// The plans of a subject at a size.
///
/// # Errors
/// `unsupported`, where it has none on this device.
pub(super) fn plans_of(
    subject: &Subject,
    problem: &Problem,
    n: u64,
    device: &DeviceProfile,
) -> Result<Plans, Failure> {
    match subject {
        Subject::Config { config, variant } => {
            let plan =
                |variant| catalog::plan_variant(config, variant, problem, n, device).map_err(unsupported);
            let timed = plan(Variant { counted: false, ..*variant })?;
            let counted = if variant.counted { Some(plan(*variant)?) } else { None };
            Ok(Plans { timed, counted })
        }
        // Kernels index with 32 bits, these too, and the guard lies behind the last element.
        Subject::Ceiling { .. } | Subject::Empty
            if u32::try_from(n * problem.element_bytes() / 4 + (1 << 20)).is_err() =>
        {
            let reason = format!("{n} elements, where kernels index with 32 bits");
            Err(Failure::new(Status::Unsupported, reason))
        }
        Subject::Ceiling { shape, .. } => {
            Ok(Plans { timed: catalog::ceiling(problem, n, *shape, device), counted: None })
        }
        Subject::Empty => {
            let copy = catalog::ceiling(problem, n, CEILING_SHAPES[0], device);
            Ok(Plans { timed: catalog::empty_beside(&copy, device), counted: None })
        }
        Subject::External { .. } => {
            Err(Failure::new(Status::Unsupported, format!("{subject} has no plan of this problem")))
        }
    }
}

/// The record of a subject before it ran.
#[must_use]
pub fn blank(
    selected: &Selected,
    n: u64,
    computation: &Computation,
    input: &Input,
    device: &DeviceProfile,
    origin: &Origin,
) -> Record {
    let Selected { subject, selection } = selected;
    let mut record = match subject {
        Subject::Config { config, .. } => {
            blank_record(&Point { n, config: *config }, computation, input, device, origin)
        }
        Subject::Ceiling { .. } | Subject::Empty | Subject::External { .. } => Record {
            subject: computation.problem.ceiling().to_owned(),
            bytes_moved: computation.problem.bytes_moved(n),
            subject_version: origin.version.clone(),
            config_id: subject.label(),
            kernel_id: subject.label(),
            ..plain_record(n, computation, input, device, origin)
        },
    };
    record.selection.clone_from(selection);
    record.blocking = subject.variant().blocking;
    record.call_form = subject.variant().form(n);
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
