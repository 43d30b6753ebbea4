//! Few problems, and few configs of each, that have every pair of values which go together: what to verify where there
//! is no time for the product of all problems and configs.
//!
//! Most of what is wrong in a kernel shows with two values of what decides how it handles elements, such as a type and
//! a layout. What goes together is what the rules of the catalog let through.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_model::config::{Arguments, Config, Kernel, Lookback, Parameter, Reset};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{
    Component, Direction, Element, InitSource, Mode, Operator, Placement, Problem, StructureValue, Total,
};
use scanbox_model::user_operator::{Tolerance, UserOperator};

use super::Circumstance;
use super::covering::{covering, covering_beside};
use crate::catalog;

/// What decides how elements are handled, and how a kernel is called.
pub const DIMENSIONS: usize = 22;

/// Of those that a problem has, all in front.
const OF_PROBLEM: usize = 8;

/// A value of each of them, as its place in a list of values.
pub type ValueRow = [usize; DIMENSIONS];

/// Every problem that scanbox has itself, and those of these operators: from the identity and from another value, in
/// both directions, with and without a total and an initial value in memory.
#[must_use]
pub fn all_problems(users: &[UserOperator]) -> Vec<Problem> {
    let forward = forward_problems(users);
    let directed = Direction::VALUES
        .iter()
        .flat_map(|&direction| forward.iter().map(move |problem| problem.in_direction(direction)));
    directed.flat_map(with_operands).collect()
}

/// A problem with each of the operands in memory that go with it.
fn with_operands(problem: Problem) -> impl Iterator<Item = Problem> {
    let sources = |&total| InitSource::VALUES.iter().map(move |&source| (total, source));
    let operands = Total::VALUES.iter().flat_map(sources);
    operands.filter_map(move |(total, source)| problem.with_operands(total, source).ok())
}

fn forward_problems(users: &[UserOperator]) -> Vec<Problem> {
    let mut all = Vec::new();
    for &mode in Mode::VALUES {
        for &placement in Placement::VALUES {
            for &element in Element::VALUES {
                for &operator in Operator::VALUES {
                    let inits = [None, Some(another_init(operator))];
                    all.extend(
                        inits
                            .into_iter()
                            .filter_map(|init| Problem::new(mode, element, operator, init, placement).ok()),
                    );
                }
            }
            for &user in users {
                let Ok(plain) = Problem::of_user(mode, user, placement) else { continue };
                all.extend(
                    [Some(plain), user_init(&user).and_then(|init| plain.beginning_with(init).ok())]
                        .into_iter()
                        .flatten(),
                );
            }
        }
    }
    all
}

/// A value of a user's operator with words that hardly are its identity: what its fields are is in its file, and small
/// numbers are a value of theirs, as 0 and 1 are of a flag, which stands first. None of operators that round, which may
/// make anything of such bits. As `int` they say no type in their text, which suits fields of every type.
fn user_init(user: &UserOperator) -> Option<StructureValue> {
    let words = [1, 5, 7, 9].into_iter().take(user.element.bytes() as usize / 4);
    let exact = user.tolerance == Tolerance::EXACT;
    StructureValue::new(words.map(|word| (Component::Int, word))).ok().filter(|_| exact)
}

/// An initial value that is no identity, and leaves something to the elements.
fn another_init(operator: Operator) -> &'static str {
    match operator {
        Operator::And | Operator::Min => "1431655765",
        _ => "3",
    }
}

/// These configs by each way in which they may be told their arguments, with calls that the host counts and that the
/// device does.
#[must_use]
pub fn by_call(configs: &[Config]) -> Vec<Config> {
    let mut all = BTreeSet::new();
    for config in configs {
        let own = config.kernel.reset;
        for reset in [own, Reset::Turn] {
            // Who passes nothing on has no calls to count.
            let reset = if config.kernel.lookback == Lookback::None { own } else { reset };
            all.extend(Arguments::VALUES.iter().map(|&arguments| Config {
                kernel: Kernel { arguments, reset, ..config.kernel },
                ..*config
            }));
        }
    }
    all.into_iter().collect()
}

fn place<P: Parameter>(value: P) -> usize {
    P::VALUES.iter().position(|other| *other == value).unwrap_or(P::VALUES.len())
}

/// The values of a problem; `users` are the operators that there are.
fn problem_values(problem: &Problem, users: &[UserOperator]) -> [usize; OF_PROBLEM] {
    let operator = match problem.user() {
        None => place(problem.operator()),
        Some(user) => Operator::VALUES.len() + users.iter().position(|other| *other == user).unwrap_or(0),
    };
    let own_init = problem.user().is_none().then(|| problem.operator().identity(problem.element()));
    let init = match problem.init() {
        None => {
            if problem.user_init().is_some() {
                2
            } else {
                0
            }
        }
        init if init == own_init => 1,
        Some(_) => 2,
    };
    [
        place(problem.mode()),
        place(problem.element()),
        operator,
        place(problem.placement()),
        init,
        place(problem.direction()),
        place(problem.total()),
        place(problem.init_source()),
    ]
}

/// The values of a config and a problem.
#[must_use]
pub fn row(config: &Config, problem: &Problem, users: &[UserOperator], device: &DeviceProfile) -> ValueRow {
    let of_problem = problem_values(problem, users);
    let kernel = &config.kernel;
    let finds_n = Circumstance::varied(config, problem, 1, device).is_some();
    let of_config = [
        place(kernel.family),
        place(kernel.lookback),
        place(kernel.block_scan),
        place(kernel.subgroup_scan),
        place(kernel.load_layout),
        place(kernel.publish),
        place(kernel.rendezvous),
        place(kernel.tile_state),
        place(kernel.reset),
        place(kernel.vector_width),
        place(kernel.arguments),
        usize::from(kernel.lookback_width > 1),
        usize::from(finds_n),
        // Vectors of 12, 24 and 48 bytes, and of 32, have a way of their own to memory.
        catalog::whole_sector_vector(config, problem) as usize / 4,
    ];
    std::array::from_fn(|at| {
        of_problem.get(at).or_else(|| of_config.get(at - OF_PROBLEM)).copied().unwrap_or(0)
    })
}

/// A config and a problem of each row that can run for `n` elements on a device.
#[must_use]
pub fn rows(
    configs: &[Config],
    problems: &[Problem],
    users: &[UserOperator],
    n: u64,
    device: &DeviceProfile,
) -> BTreeMap<ValueRow, (Config, Problem)> {
    let mut rows = BTreeMap::new();
    for problem in problems {
        for config in configs {
            let row = row(config, problem, users, device);
            if !rows.contains_key(&row) && catalog::legal(config, problem, n, device).is_ok() {
                rows.insert(row, (*config, *problem));
            }
        }
    }
    rows
}

/// Few problems, with few configs of each, that have every pair of values which any problem and config have between
/// them that can run for `n` elements on a device. The same for the same arguments, whoever asks.
///
/// The problems are as few as is easy, because each of them is a run of its own: first those that have every pair of
/// values of problems, then what pairs with configs are left.
#[must_use]
pub fn covering_problems(
    configs: &[Config],
    users: &[UserOperator],
    n: u64,
    device: &DeviceProfile,
) -> BTreeMap<Problem, Vec<Config>> {
    let problems = all_problems(users);
    let by_row = rows(configs, &problems, users, n, device);
    let of_problem = |row: &ValueRow| -> [usize; OF_PROBLEM] { std::array::from_fn(|at| row[at]) };
    let there: BTreeSet<[usize; OF_PROBLEM]> = by_row.keys().map(of_problem).collect();
    let few: BTreeSet<_> = covering(&there.into_iter().collect::<Vec<_>>()).into_iter().collect();
    let (of_few, others): (Vec<ValueRow>, Vec<ValueRow>) =
        by_row.keys().partition(|row| few.contains(&of_problem(row)));
    let mut chosen = covering(&of_few);
    chosen.extend(covering_beside(&chosen, &others));
    let mut found: BTreeMap<Problem, Vec<Config>> = BTreeMap::new();
    for row in chosen {
        if let Some((config, problem)) = by_row.get(&row) {
            found.entry(*problem).or_default().push(*config);
        }
    }
    found
}
