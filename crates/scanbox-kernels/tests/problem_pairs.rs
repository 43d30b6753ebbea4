//! What a verification of every pair of values tries: whatever goes together is in it.

use std::collections::BTreeSet;

use scanbox_kernels::cases::covering::pairs;
use scanbox_kernels::cases::problem_pairs::{ValueRow, all_problems, by_call, covering_problems, row};
use scanbox_kernels::catalog::legal;
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Space;
use scanbox_model::user_operator::{Tolerance, UserOperator};
use scanbox_testing::device::with_subgroups;
use scanbox_testing::operator_files;

const PROBLEMS: &str = include_str!("../../../configs/problems.toml");
const N: u64 = 1021;

fn device(int64_atomics: bool) -> DeviceProfile {
    DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..with_subgroups(32, int64_atomics) }
}

fn users() -> Vec<UserOperator> {
    operator_files::all().iter().map(|file| file.operator()).collect()
}

/// Every so-manieth config of the space for problems.
fn configs(device: &DeviceProfile, step: usize) -> Vec<Config> {
    let points = Space::from_toml(PROBLEMS, "problems").unwrap().enumerate(device, |_, _, _| Ok(())).points;
    let configs: BTreeSet<Config> = points.into_iter().map(|point| point.config).collect();
    by_call(&configs.into_iter().step_by(step).collect::<Vec<_>>())
}

#[test]
fn every_pair_that_goes_together_is_covered() {
    let users = users();
    for (int64_atomics, step, most) in [(true, 5, 260), (false, 7, 260)] {
        let device = device(int64_atomics);
        let configs = configs(&device, step);
        let chosen = covering_problems(&configs, &users, N, &device);
        let mut covered = BTreeSet::new();
        let mut count = 0;
        for (problem, configs) in &chosen {
            for config in configs {
                assert_eq!(legal(config, problem, N, &device), Ok(()), "{config} {problem}");
                covered.extend(pairs(&row(config, problem, &users, &device)).collect::<Vec<_>>());
                count += 1;
            }
        }
        // By hand: each problem with each config, whatever the choice was made of.
        for problem in all_problems(&users) {
            for config in &configs {
                let row: ValueRow = row(config, &problem, &users, &device);
                if let Some(missing) = pairs(&row).find(|pair| !covered.contains(pair)) {
                    assert!(legal(config, &problem, N, &device).is_err(), "{config} {problem}: {missing:?}");
                }
            }
        }
        assert!(count > 50 && count < most, "{count} of {} configs", configs.len());
        assert!(chosen.len() < count, "{} problems", chosen.len());
        assert_eq!(chosen, covering_problems(&configs, &users, N, &device));
    }
}

/// What is to be covered, by words: nothing of a problem is forgotten.
#[test]
fn every_problem_is_among_those_that_are_covered() {
    let users = users();
    let all = all_problems(&users);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    let count = |goes: &dyn Fn(&Problem) -> bool| all.iter().filter(|problem| goes(problem)).count();
    // 4 types with 7 operators, 2 with 4; in and out of place; from the identity and from another value; both ways; and
    // of a scan each with and without a total. An exclusive scan always has a value that memory may say, others have
    // one in every other problem.
    let own = |mode| count(&|problem| problem.mode() == mode && problem.user().is_none());
    assert_eq!(own(Mode::Exclusive), 36 * 2 * 2 * 2 * 2 * 2);
    assert_eq!(own(Mode::Inclusive), 36 * 2 * (1 + 2) * 2 * 2);
    assert_eq!(own(Mode::Reduce), 36 * (1 + 2) * 2);
    // Two modes in two places with and without a total, and one in one place without; both ways.
    let of_users = (2 * 2 * 2 + 1) * 2;
    let from_identity = |problem: &Problem| problem.user().is_some() && problem.user_init().is_none();
    assert_eq!(count(&from_identity), users.len() * of_users);
    let exact = users.iter().filter(|user| user.tolerance == Tolerance::EXACT).count();
    assert_eq!(count(&|problem| problem.user_init().is_some()), exact * of_users * 2);
    for user in &users {
        assert!(all.contains(&Problem::of_user(Mode::Inclusive, *user, Placement::InPlace).unwrap()));
    }
    assert!(Operator::VALUES.len() == 8, "a new operator is one more to count");
}

/// Every kernel that combines in order is tried with permutations, hardly two of which commute.
#[test]
fn permutations_reach_every_stage() {
    let device = device(true);
    let all = operator_files::all();
    let permutation =
        all.iter().find(|file| file.operator().name.to_string() == "permutation").unwrap().operator();
    let configs = configs(&device, 7);
    let problem = Problem::of_user(Mode::Inclusive, permutation, Placement::OutOfPlace).unwrap();
    let stages = |config: &Config| {
        let kernel = &config.kernel;
        let (family, lookback) = (kernel.family.to_string(), kernel.lookback.to_string());
        [("family", family), ("lookback", lookback), ("block scan", kernel.block_scan.to_string())]
    };
    let able = configs.iter().filter(|config| legal(config, &problem, N, &device).is_ok());
    let able: BTreeSet<_> = able.flat_map(stages).collect();
    let chosen = covering_problems(&configs, &[permutation], N, &device);
    let of_permutation = chosen.iter().filter(|(problem, _)| problem.user() == Some(permutation));
    let tried: BTreeSet<_> = of_permutation.flat_map(|(_, configs)| configs).flat_map(stages).collect();
    assert_eq!(tried, able);
    assert!(tried.len() > 12, "{tried:?}");
}
