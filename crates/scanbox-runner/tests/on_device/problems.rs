//! Problems on a real device: combinations that cover every pair of what decides how an element is handled, at
//! awkward sizes.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use super::harness::{self, Bench, compiler};
use super::progress::hangs;
use scanbox_kernels::cases::{CaseRequest, CaseSelection, Item, Pattern};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Direction, Element, Mode, Operator, Placement, Problem, StructureValue};
use scanbox_model::record::Status;
use scanbox_model::space::Space;
use scanbox_runner::backend::{Backend, Failure};
use scanbox_runner::verify::{self, VerifyEvent, VerifyJob};
use scanbox_testing::covering::covering;

const PROBLEMS: &str = include_str!("../../../../configs/problems.toml");

/// The configs of the space for problems, in small workgroups.
fn configs(device: &DeviceProfile) -> Vec<Config> {
    let points = Space::from_toml(PROBLEMS, "problems").unwrap().enumerate(device, |_, _, _| Ok(())).points;
    let small = |config: Config| Config { workgroup_size: 2 * device.subgroup_size, ..config };
    let runs = |config: &Config| !hangs(config, device);
    let mut configs: Vec<Config> = points.iter().map(|point| small(point.config)).filter(runs).collect();
    configs.sort();
    configs.dedup();
    configs
}

fn all_problems() -> Vec<Problem> {
    let mut all = Vec::new();
    for &mode in Mode::VALUES {
        for &element in Element::VALUES {
            for &operator in Operator::VALUES {
                for &placement in Placement::VALUES {
                    // Another initial value than the identity, in every other problem that has one.
                    let init = match operator {
                        // It has to leave something to the elements.
                        Operator::And | Operator::Min => "1431655765",
                        _ => "3",
                    };
                    let init = (mode == Mode::Reduce || placement == Placement::InPlace).then_some(init);
                    all.extend(Problem::new(mode, element, operator, init, placement).ok());
                }
            }
        }
    }
    for file in scanbox_testing::operator_files::all() {
        for &mode in Mode::VALUES {
            for &placement in Placement::VALUES {
                let Ok(plain) = Problem::of_user(mode, file.operator(), placement) else { continue };
                // In every other one.
                let init = user_init(&file)
                    .filter(|_| (mode == Mode::Inclusive) == (placement == Placement::InPlace));
                all.push(init.map_or(plain, |init| plain.beginning_with(init).unwrap()));
            }
        }
    }
    Direction::VALUES
        .iter()
        .flat_map(|&direction| all.iter().map(move |problem| problem.in_direction(direction)))
        .collect()
}

/// A value that leaves something to the elements; none where fields are such that not any number will do.
fn user_init(file: &OperatorFile) -> Option<StructureValue> {
    ["3", "3,5", "3,5,7,9", "1.0,0.25"].into_iter().find_map(|text| file.value(text).ok())
}

fn place<P: Parameter>(value: P) -> usize {
    P::VALUES.iter().position(|other| *other == value).unwrap()
}

/// What decides how an element is handled.
const PARAMETERS: usize = 11;
type Row = [usize; PARAMETERS];

fn row(config: &Config, problem: &Problem) -> Row {
    let kernel = &config.kernel;
    [
        place(problem.mode()),
        place(problem.element()),
        place(problem.operator()),
        place(problem.placement()),
        place(problem.direction()),
        place(kernel.family),
        place(kernel.lookback),
        place(kernel.block_scan),
        place(kernel.subgroup_scan),
        place(kernel.load_layout),
        place(kernel.tile_state),
    ]
}

/// A config and a problem of each row that the device can run.
fn all_rows(device: &DeviceProfile) -> BTreeMap<Row, (Config, Problem)> {
    let mut all = BTreeMap::new();
    for config in configs(device) {
        for problem in all_problems() {
            if catalog::legal(&config, &problem, 1000, device).is_ok() {
                all.entry(row(&config, &problem)).or_insert((config, problem));
            }
        }
    }
    all
}

/// Cases of a config: around one boundary each, in turns.
fn items(turn: usize, config: Config, problem: Problem, device: &DeviceProfile) -> Vec<Item> {
    let tile = config.tile_elements();
    let window = u64::from(device.subgroup_size) * tile;
    let sizes = match turn % 4 {
        0 => vec![1, tile - 1, 3 * tile + 1],
        1 => vec![2, tile + 1, window + 1],
        2 => vec![3, tile, window + tile + 3],
        _ => vec![5, 2 * tile - 1, 33 * tile + 2],
    };
    let patterns = Pattern::of_problem(&problem);
    let second = patterns[1 + turn % (patterns.len() - 1)];
    let request = CaseRequest {
        problem,
        patterns: vec![Pattern::Random, second],
        sizes: Some(sizes),
        thorough: false,
        seed: 13,
    };
    CaseSelection::new(&[config], device, &request, |_| Ok(())).items
}

#[test]
fn every_pair_of_problem_and_stage_is_right() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let profile = bench.device().profile().clone();
    let (device, compiler) = bench.parts();
    let all = all_rows(&profile);
    let rows = covering(&all.keys().copied().collect::<Vec<_>>());
    assert!(rows.len() > 12, "{} rows", rows.len());
    // All pipelines at once, so that no core waits for another one.
    let of_user = |problem: &Problem| {
        let file = problem.user().map(|user| scanbox_testing::operator_files::of(&user));
        file.map(|file| harness::compiler().with_operator(file))
    };
    let shaders = rows.iter().map(|row| &all[row]).filter(|(_, problem)| problem.user().is_none());
    let shaders = shaders.flat_map(|(config, problem)| {
        catalog::plan(config, problem, 1, &profile).unwrap().passes.into_iter().map(|pass| pass.shader)
    });
    harness::create(device, compiler, &shaders.collect::<Vec<_>>());
    let mut cases = 0;
    for (turn, row) in rows.iter().enumerate() {
        let (config, problem) = all[row];
        let items = items(turn, config, problem, &profile);
        let builds = harness::builds(turn, &profile);
        let job =
            VerifyJob { problem, items, variant: Variant::default(), builds, seed: 3, one_by_one: false };
        assert!(!job.items.is_empty(), "{config} {problem}");
        let of_user = of_user(&problem);
        let compiler = of_user.as_ref().unwrap_or(compiler);
        verify::run(device, compiler, &job, &AtomicBool::new(false), &mut |event| {
            if let VerifyEvent::Finished { verdict } = event {
                assert_eq!(verdict.status, Status::Ok, "{problem}: {verdict:#?}");
                cases += verdict.tally.cases;
            }
            Ok::<(), Failure>(())
        })
        .unwrap();
    }
    assert!(cases > 3 * rows.len() as u64, "{cases} cases of {} rows", rows.len());
}
