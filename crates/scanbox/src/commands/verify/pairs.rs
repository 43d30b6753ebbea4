//! `scanbox verify --list-pairs`: what to verify to have every pair of values that go together, of all problems.

use std::io::{Write, stdout};
use std::path::PathBuf;

use scanbox_kernels::cases::problem_pairs::{by_call, covering_problems};
use scanbox_kernels::catalog;
use scanbox_model::config::Config;
use scanbox_model::problem::Problem;
use scanbox_model::user_operator::UserOperator;
use scanbox_report::paste;
use scanbox_session::device::known_issues;
use scanbox_session::probe::guarantees;
use scanbox_session::process::{RunLimits, WorkerCommand};
use scanbox_session::tools::Tools;

use super::VerifyArgs;
use crate::answer::answered;
use crate::exit::{Exit, UsageError};
use crate::inputs::operator_of;

/// The size that what is listed can run for: several tiles of all but the largest configs.
const N: u64 = 1021;

/// Writes a line for each problem: its flags, and the configs to verify of it. `files` have operators beside those that
/// scanbox has itself.
pub(super) fn list(args: &VerifyArgs, files: &[PathBuf], tools: &Tools) -> anyhow::Result<Exit> {
    let operators: anyhow::Result<Vec<UserOperator>> =
        files.iter().map(|path| Ok(operator_of("", path)?.operator())).collect();
    let operators = operators?;
    let limits = RunLimits::of_run(None)?;
    let mut command = WorkerCommand::new(&args.device, None, tools);
    let worker = command.start(&limits)?;
    let configs = by_call(&args.configs(&Problem::default(), &worker.profile)?);
    let worker = guarantees::inform_for(&configs, worker, &mut command, &args.sharing.sharing(), &limits)?;
    let device = &worker.profile;
    let issues = known_issues::of(device)?;
    let allowed = |config: &Config| issues.allow(config, &catalog::resolved(config, device)).is_ok();
    let configs: Vec<Config> = configs.into_iter().filter(allowed).collect();
    let mut text = String::new();
    for (problem, configs) in covering_problems(&configs, &operators, N, device) {
        let mut words = problem.flags();
        let place = words.iter().position(|word| word == "--operator");
        let file = operators.iter().zip(files).find(|(operator, _)| problem.user() == Some(**operator));
        if let (Some(place), Some((_, path))) = (place, file) {
            words[place + 1] = path.display().to_string();
        }
        words.extend(configs.iter().map(Config::to_string));
        text.push_str(&paste::line(words.iter().map(String::as_str)));
        text.push('\n');
    }
    if text.is_empty() {
        return Err(UsageError(format!("no config is left on {}", device.title())).into());
    }
    let written = stdout().lock().write_all(text.as_bytes());
    answered(written, Exit::Done)
}
