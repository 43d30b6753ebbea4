//! Finds out on a device what cannot be asked of its driver: where kernels are best told their arguments.
//!
//! Copies of a few sizes take turns, with pushed arguments and with arguments in a block, through the code that
//! measures rows: the line of a block is rewritten by every call, as it is in its rows. What follows from the times is
//! decided in [`ArgumentsProbe::of`].

use std::time::{Duration, Instant};

use scanbox_kernels::catalog::{self, CEILING_SHAPES};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::{CeilingShape, Plan};
use scanbox_model::config::Arguments;
use scanbox_model::probe::{ArgumentsProbe, ProbedSize};
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};

use crate::backend::{Backend, Failure};
use crate::measure::{Protocol, TimedPlan, duration_ns, median, steady};
use crate::session::Session;
use crate::verify::{describe, verify};

/// Sizes where a call takes little beside what a dispatch costs, and one where it does work.
const SIZES: [u64; 3] = [1 << 10, 1 << 14, 1 << 18];
/// Blocks of each kind and size. An odd number has a median that was measured.
const ROUNDS: usize = 9;
/// Rounds that are enough where a device is slow.
const ROUNDS_MIN: usize = 5;
/// When no further round begins.
const LIMIT: Duration = Duration::from_millis(1500);
/// The kinds that are told apart.
const KINDS: [Arguments; 2] = [Arguments::Push, Arguments::Block];

/// How a block is measured: short, because what is looked for is a tenth of a call or nothing, and rounds average.
/// The first round wakes the device, as long as rows do, and does not count.
fn protocol(round: usize) -> Protocol {
    let warm_up_ns_min = if round == 0 { Protocol::default().warm_up_ns_min } else { 500_000 };
    Protocol {
        warm_up_ns_min,
        warm_up_ns_max: warm_up_ns_min + 2_000_000,
        sample_ns: 250_000,
        samples_min: 5,
        samples_max: 5,
        sampling_ns_max: 0,
        ..Protocol::default()
    }
}

/// Probes where arguments are best.
///
/// # Errors
/// When a copy cannot run, is wrong, or the device is so slow that there are too few rounds.
pub fn arguments(backend: &mut dyn Backend, compiler: &Compiler) -> Result<ArgumentsProbe, Failure> {
    let started = Instant::now();
    let problem = Problem::default();
    let device = std::sync::Arc::clone(backend.profile());
    let of_size = |n: u64| {
        KINDS.map(|arguments| {
            catalog::copy(&problem, n, CeilingShape { arguments, ..CEILING_SHAPES[0] }, &device)
        })
    };
    let plans: Vec<[Plan; 2]> = SIZES.into_iter().map(of_size).collect();
    let input = Input { kind: InputKind::Random, seed: 1 };
    backend.load(&problem, &input, SIZES[SIZES.len() - 1])?;
    let mut session = Session::new(backend, compiler, problem);
    let mut calls_ns = Vec::new();
    for plan in plans.iter().flatten() {
        session.pipelines_of(plan)?;
        let compared = verify(session.backend, plan)?;
        if let Some(reason) = describe(&compared, plan.outputs()) {
            return Err(Failure::new(Status::WrongResult, format!("{} is wrong: {reason}", plan.label)));
        }
        calls_ns.push(duration_ns(compared.call, &device));
    }
    // By size and kind.
    let mut times = vec![[Vec::new(), Vec::new()]; SIZES.len()];
    let mut order: Vec<(usize, usize)> =
        (0..SIZES.len()).flat_map(|size| (0..KINDS.len()).map(move |kind| (size, kind))).collect();
    for round in 0..=ROUNDS {
        if round > ROUNDS_MIN && started.elapsed() > LIMIT {
            break;
        }
        for &(size, kind) in &order {
            let plan = &plans[size][kind];
            let mut timed = TimedPlan { backend: session.backend, plan, cache: Cache::Hot };
            let (_, mut samples) = steady(&mut timed, calls_ns[KINDS.len() * size + kind], &protocol(round))?;
            if round > 0 {
                times[size][kind].push(median(&mut samples));
            }
            if started.elapsed() > 2 * LIMIT {
                let reason = format!("it takes more than {} s", (2 * LIMIT).as_secs());
                return Err(Failure::new(Status::RuntimeError, reason));
            }
        }
        // Neither kind is always the one that comes second.
        order.reverse();
    }
    let probed = SIZES.into_iter().zip(&mut times).map(|(n, [push, block])| ProbedSize {
        n,
        push_ns: median(push),
        block_ns: median(block),
    });
    Ok(ArgumentsProbe::of(probed.collect()))
}
