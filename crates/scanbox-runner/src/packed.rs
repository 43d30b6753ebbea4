//! Kernels of packs, recorded as programs record them, and compared as a verification does it.
//!
//! Every kernel is tried in every use that a table of the pack has it for: at sizes around those where tiles end, on
//! scratch memory of unknown content that is prepared once, behind a call of other elements and another number of them.
//! Where arrays may begin at any element, they begin at each of sixteen; where only the device knows how many elements
//! there are, it also says that there are more than there may be.

use std::collections::BTreeSet;
use std::sync::Arc;

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::packing::problem_of;
use scanbox_kernels::plan::{Build, Expected, Plan, PlanKind, Scratch};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Parameter;
use scanbox_model::problem::{Component, Mode, Placement, Problem, StructureValue};
use scanbox_model::record::Status;
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::user_operator::{Transforms, UserOperator};
use scanbox_pack::choose::Lack;
use scanbox_pack::{
    Breakpoint, CallUse, ChoiceTable, Pack, PackData, PackModule, PackProblem, PackRecipe, Promises, Recipe,
    ScanMode, ScanProblem,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Failure, PackedKernel};
use crate::session::{Ahead, Session, Setup};

/// The most elements that a kernel is tried with.
const MOST_ELEMENTS: u64 = 1 << 19;

/// Elements behind a multiple of as many, at each of which arrays begin that may begin anywhere.
const BEGINNINGS: u64 = 16;

/// What became of a kernel in a use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PackVerdict {
    /// The kernel and its use.
    pub what: String,
    /// `ok`, `unsupported` where the device cannot run it, or what went wrong.
    pub status: Status,
    /// Why it is not ok.
    pub reason: String,
    /// The size of subgroups that it needs and the device does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks_subgroups_of: Option<u32>,
    /// Calls that were compared.
    pub calls: u64,
    /// Elements that were compared, guards included.
    pub elements: u64,
}

/// What happens while a pack is tried.
#[derive(Debug)]
pub enum PackEvent<'a> {
    /// Something takes time before anything runs.
    Setup(Setup),
    /// A kernel is about to be tried.
    Started {
        /// The kernel and its use.
        what: &'a str,
    },
    /// It has been.
    Finished {
        /// How that went.
        verdict: PackVerdict,
    },
}

/// A kernel in a use.
struct PackItem {
    recipe: usize,
    call_use: CallUse,
    needs: Promises,
}

/// Tries every kernel of a pack. `operator`: that of a user's file, where there is one.
///
/// # Errors
/// What the observer returns; a failure of the device before any kernel could be tried.
pub fn run<E: From<Failure>>(
    backend: &mut dyn Backend,
    compiler: &Compiler,
    pack: &Pack,
    operator: Option<UserOperator>,
    observer: &mut dyn FnMut(PackEvent<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut left: usize = pack.data().problems.iter().map(|problem| items(problem).len()).sum();
    for problem in &pack.data().problems {
        let items = items(problem);
        let Some(computed) = problem_of(&problem.scan, operator) else {
            left -= items.len();
            for item in items {
                let what = name(pack.data(), problem, &item);
                let reason = why_unknown(&problem.scan, operator);
                observer(PackEvent::Finished {
                    verdict: verdict(what, Err(Failure::new(Status::Unsupported, reason))),
                })?;
            }
            continue;
        };
        let reads_identity = items.iter().any(|item| item.call_use.init_in_memory);
        let computed = match computed.user() {
            Some(user) if reads_identity && computed.first_words().is_none() => {
                let words = identity(&mut *backend, compiler, user, observer)?;
                beginning_with(computed, words)
            }
            _ => computed,
        };
        let mut session = Session::new(&mut *backend, compiler, computed);
        session.prepare(Ahead::default(), &mut |setup| observer(PackEvent::Setup(setup)))?;
        let largest =
            items.iter().flat_map(|item| sizes(&pack.data().recipes[item.recipe].recipe, false)).max();
        let input = Input { kind: InputKind::Random, seed: 1 };
        let mut loads = vec![largest.unwrap_or(1) + 1];
        // Who has no memory for so few elements has none for anything.
        if let Some((_, failure)) =
            session.load(&input, &mut loads, |n| *n, &mut |setup| observer(PackEvent::Setup(setup)))?
        {
            return Err(failure.into());
        }
        for item in &items {
            left -= 1;
            let what = name(pack.data(), problem, item);
            observer(PackEvent::Started { what: &what })?;
            let lacks_subgroups_of = lacking(pack.data(), item, session.backend.profile());
            let tried = match lacks_subgroups_of {
                Some(size) => Err(Failure::new(Status::Unsupported, Lack::SubgroupSize(size).to_string())),
                None => attempt(session.backend, pack.data(), &problem.scan, computed, item),
            };
            let lost = tried.as_ref().err().filter(|failure| failure.is_fatal() && left > 0).cloned();
            let verdict = PackVerdict { lacks_subgroups_of, ..verdict(what, tried) };
            observer(PackEvent::Finished { verdict })?;
            if let Some(Failure { status, reason }) = lost {
                return Err(
                    Failure::new(status, format!("{reason}; the {left} behind it were not tried")).into()
                );
            }
        }
    }
    Ok(())
}

/// The words of the identity of a user's operator, which its file alone knows: an exclusive scan begins with it.
fn identity<E: From<Failure>>(
    backend: &mut dyn Backend,
    compiler: &Compiler,
    user: UserOperator,
    observer: &mut dyn FnMut(PackEvent<'_>) -> Result<(), E>,
) -> Result<[u32; 4], E> {
    let as_combined = user.with_transforms(Transforms { output: false, ..user.transforms });
    let problem = Problem::of_user(Mode::Exclusive, as_combined, Placement::OutOfPlace);
    let problem = problem.expect("a scan can be anywhere");
    let mut session = Session::new(&mut *backend, compiler, problem);
    session.prepare(Ahead::default(), &mut |setup| observer(PackEvent::Setup(setup)))?;
    backend.load(&problem, &Input { kind: InputKind::Random, seed: 1 }, 1)?;
    Ok(backend.first_of_answer(&problem)?)
}

/// The same problem of a user's operator, which begins with an element of these words.
fn beginning_with(problem: Problem, words: [u32; 4]) -> Problem {
    let count = problem.element_bytes() as usize / 4;
    let value = StructureValue::new(words.into_iter().take(count).map(|word| (Component::Uint, word)));
    let value = value.expect("it has the words of an element");
    problem.beginning_with(value).expect("it has the bytes of an element")
}

/// Why nothing is known of an operator. `given`: that of the file that somebody named.
fn why_unknown(scan: &ScanProblem, given: Option<UserOperator>) -> String {
    let ScanProblem { operator, operator_hash, .. } = scan;
    match given {
        Some(given) => format!(
            "its operator {operator} (text {operator_hash}) is not that of the file that --operator names ({}, text {})",
            given.name,
            given.hash_text()
        ),
        None => format!("its operator {operator} is of a file, which --operator has to name"),
    }
}

/// Each kernel once for each use.
fn items(problem: &PackProblem) -> Vec<PackItem> {
    let mut seen = BTreeSet::new();
    let mut items = Vec::new();
    for table in problem.measured.iter().chain(&problem.portable) {
        for recipe in table.breakpoints.iter().flat_map(|range| &range.ranked) {
            if seen.insert((*recipe, table.call_use.to_string())) {
                let (call_use, needs) = (table.call_use, table.needs);
                items.push(PackItem { recipe: usize::from(*recipe), call_use, needs });
            }
        }
    }
    items
}

fn name(data: &PackData, problem: &PackProblem, item: &PackItem) -> String {
    let recipe = &data.recipes[item.recipe];
    let module = recipe.recipe.modules().next().map_or(0, |place| usize::from(*place));
    let subgroup_size = data.modules.get(module).map_or(0, |module| module.subgroup_size);
    let ScanProblem { element, operator, .. } = &problem.scan;
    format!("{} for {element} {operator}, {}, subgroups of {subgroup_size}", recipe.label, item.call_use)
}

/// The size of subgroups that a kernel needs and the device does not have.
fn lacking(data: &PackData, item: &PackItem, device: &DeviceProfile) -> Option<u32> {
    let has = device.min_subgroup_size..=device.max_subgroup_size;
    let modules = data.recipes[item.recipe].recipe.modules();
    modules.map(|place| &data.modules[usize::from(*place)]).find_map(|module| module.lacks_subgroups_of(&has))
}

fn verdict(what: String, tried: Result<(u64, u64), Failure>) -> PackVerdict {
    let (status, reason, (calls, elements)) = match tried {
        Ok(counts) => (Status::Ok, String::new(), counts),
        Err(Failure { status, reason }) => (status, reason, (0, 0)),
    };
    PackVerdict { what, status, reason, lacks_subgroups_of: None, calls, elements }
}

/// Sizes at which a kernel is tried: around the ends of tiles, of a group of them, and of levels.
/// Calls without elements are tried where they store something.
fn sizes(recipe: &Recipe<u16>, stores: bool) -> Vec<u64> {
    let tile = recipe.formula.tile_elements.get();
    let sizes = [0, 1, tile.saturating_sub(1), tile, tile + 1, 3 * tile + 5, 33 * tile + 7, 300 * tile + 3];
    let most = recipe.max_n.min(MOST_ELEMENTS);
    let mut sizes: Vec<u64> =
        sizes.into_iter().filter(|n| (*n > 0 || stores) && (recipe.min_n..=most).contains(n)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Tries a kernel at all sizes. Returns calls and elements.
fn attempt(
    backend: &mut dyn Backend,
    data: &PackData,
    scan: &ScanProblem,
    problem: Problem,
    item: &PackItem,
) -> Result<(u64, u64), Failure> {
    let device = Arc::clone(backend.profile());
    let PackRecipe { label, recipe } = &data.recipes[item.recipe];
    let unsupported = |reason: String| Failure::new(Status::Unsupported, reason);
    let given: Vec<Guarantee> =
        Guarantee::VALUES.iter().copied().filter(|guarantee| device.gives(*guarantee)).collect();
    let missing = item.needs.without(catalog::promises(&given));
    if missing != Promises::NONE {
        return Err(unsupported(format!("it needs {missing}, which the device is not known to give")));
    }
    let config: Config =
        label.parse().map_err(|_| unsupported(format!("{label} is not a label of this version")))?;
    let sizes = sizes(recipe, item.call_use.total || scan.mode == ScanMode::Reduce);
    let max_n =
        sizes.last().copied().ok_or_else(|| unsupported("it takes no size that is tried".to_owned()))?;
    let pack = Arc::new(alone(data, scan, item, &device).map_err(unsupported)?);
    let call_use = item.call_use;
    let kernel = PackedKernel { pack, scan: scan.clone(), call_use, max_n, is_beyond: false };
    let step = u64::from(recipe.alignment / problem.element().alignment());
    let mut trials: Vec<(u64, bool)> = sizes.iter().map(|&n| (n, false)).collect();
    trials.extend(call_use.n_on_device.then_some((max_n, true)));
    if step == 1 {
        // The rest of the beginnings, with few elements.
        let tile = recipe.formula.tile_elements.get();
        let few = sizes.iter().copied().find(|n| *n > tile).unwrap_or(max_n);
        trials.extend((trials.len() as u64..BEGINNINGS).map(|_| (few, false)));
    }
    let (mut calls, mut elements) = (0, 0);
    for (n, is_beyond) in trials {
        let plan = compared(config, problem, n, call_use);
        let kernel = PackedKernel { is_beyond, ..kernel.clone() };
        elements += backend.verify_packed(&plan, beginnings(calls, step), &kernel)?;
        calls += 1;
    }
    Ok((calls, elements))
}

/// Where input and output of a call begin, in elements, of a kernel whose arrays begin at multiples of `step`. What may
/// begin anywhere begins at each element up to [`BEGINNINGS`] in as many calls, the output elsewhere than the input.
fn beginnings(call: u64, step: u64) -> [u64; 2] {
    if step == 1 { [call, 7 * call + 3].map(|begin| begin % BEGINNINGS) } else { [step, 3 * step] }
}

/// A plan that says what a call has to leave, and has nothing to run.
fn compared(config: Config, problem: Problem, n: u64, call_use: CallUse) -> Plan {
    let variant = Variant {
        total: call_use.total,
        init_in_memory: call_use.init_in_memory,
        any_element: call_use.any_element,
        max_n: call_use.n_on_device.then_some(n),
        ..Variant::default()
    };
    let kind = PlanKind::Config(Build { config, variant, tile_state: None, shared_bytes: 0 });
    Plan {
        label: kind.to_string(),
        kind,
        problem,
        n,
        bytes_moved: problem.bytes_moved(n),
        result: if problem.mode() == Mode::Reduce { Expected::Total } else { Expected::Scan },
        // The input is one whose sums are exact; what a user's operator rounds is known to its file alone.
        error_bound: problem.user().map_or(0.0, |user| user.tolerance.share().into()),
        scratch: Scratch::NONE,
        passes: Vec::new(),
    }
}

/// A pack of one kernel for one use, for a device that it was measured on, so that a library takes it.
fn alone(
    data: &PackData,
    scan: &ScanProblem,
    item: &PackItem,
    device: &DeviceProfile,
) -> Result<Pack, String> {
    let packed = &data.recipes[item.recipe];
    let mut modules: Vec<PackModule> = Vec::new();
    let recipe = packed.recipe.clone().map(|place| {
        let module = &data.modules[usize::from(place)];
        let found = modules.iter().position(|other| other == module);
        found.unwrap_or_else(|| {
            modules.push(module.clone());
            modules.len() - 1
        }) as u16
    });
    let from = recipe.min_n.max(1);
    let breakpoints = vec![Breakpoint { from, ranked: vec![0], worst_loss_ppm: None }];
    let table = ChoiceTable { call_use: item.call_use, needs: item.needs, breakpoints };
    let mut of_device = data.device.clone();
    (of_device.vendor_id, of_device.device_id) = (device.vendor_id, device.device_id);
    of_device.driver.clone_from(&device.driver);
    of_device.driver_build.clone_from(&device.driver_build);
    Pack::new(PackData {
        device: of_device,
        problems: vec![PackProblem {
            scan: scan.clone(),
            splittable: false,
            measured: vec![table],
            portable: Vec::new(),
        }],
        recipes: vec![PackRecipe { label: packed.label.clone(), recipe }],
        times: Vec::new(),
        modules,
        written_by: data.written_by.clone(),
        kernel_hash: data.kernel_hash.clone(),
        licence: data.licence.clone(),
        measured_utc: data.measured_utc.clone(),
    })
    .map_err(|error| error.to_string())
}
