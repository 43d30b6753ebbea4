//! `scanbox verify`: whether kernels are right, without a word about how fast they are.

mod pairs;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use scanbox_kernels::cases::{Builds, CaseRequest, CaseSelection, Circumstance, Pattern};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_model::config::Config;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::filter::Filter;
use scanbox_model::known_issues::{DeviceIssues, Expectation, Issue};
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::shard::Shard;
use scanbox_model::sizes::Sizes;
use scanbox_model::units::plural;
use scanbox_runner::session::End;
use scanbox_runner::verify::{FailedCase, ItemVerdict};

use crate::answer::{answered, print};
use crate::args::budget::parse_budget;
use crate::args::format::TABLE_OR_JSON;
use crate::args::problem::ProblemArgs;
use crate::args::sharing::SharingArgs;
use crate::args::space::{load_space, on};
use crate::args::time::parse_limit;
use crate::args::words::{HelpWord, words};
use crate::exit::{Completion, Exit, UsageError, nothing_ok};
use scanbox_report::document::Format;
use scanbox_report::paste;
use scanbox_report::verify::{FailedConfig, VerifyEnding};
use scanbox_session::device::known_issues;
use scanbox_session::notes::note;
use scanbox_session::probe::{self, guarantees};
use scanbox_session::process::{RunLimits, WorkerCommand};
use scanbox_session::supervise::{Supervised, Supervision};
use scanbox_session::tools::{Tools, try_operator};
use scanbox_session::verify::{VerifyResults, VerifyTask};

const BUILDS: &[HelpWord<Builds>] = &[
    (
        "all",
        "The one that sweeps time, one that takes other calls, and one whose workgroups are late",
        Builds::All,
    ),
    ("swept", "The one that sweeps time, alone: half or a third as much is compiled", Builds::Swept),
];

/// Arguments of `scanbox verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Each config runs at sizes around every boundary of its own, on several inputs, and each of \
these cases in six circumstances at least: on memory as it is, again, with garbage in the scratch memory, on new scratch memory with \
garbage, with more workgroups than tiles, and up to 128 times in a row, as calls are timed, on two inputs that alternate, \
with three of the calls compared. Through Vulkan, they also run on arrays with guards on both sides, unless arguments are \
baked. Kernels also run in a build where workgroups are late and subgroups apart. Configs by arguments block also run with an n \
that the device has written: none, on arrays that begin at any element, beyond the maximum, and across the end of the count, with the total. Every element is compared on the device. On inputs that round, the bits of \
deterministic kernels must be the same each time."
)]
pub struct VerifyArgs {
    /// Only these configs, for example b4.vec4.par.rake.wg256; without --sizes, a workgroup count (.g1024) adds its
    /// size
    #[arg(value_name = "CONFIG", conflicts_with = "space")]
    configs: Vec<Config>,

    /// The device: index (see `scanbox devices`), name, UUID or PCI address
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// Every kernel and workgroup size of this space: thesis, quick, full, baked, handover, nightly, problems,
    /// families, or the path of a .toml file
    #[arg(long, default_value = "thesis", value_name = "NAME|FILE")]
    space: String,

    /// Only these configs, for example `lookback=parallel,workgroup_size=256|512`; deterministic=yes keeps those whose
    /// results have the same bits on every run, arguments=auto those with the arguments that are best on the device
    #[arg(long, value_name = "FILTER")]
    filter: Option<Filter>,

    /// These input sizes, for example 1,1000,2^20 [default: around every boundary of each config]
    #[arg(long, value_name = "SIZES")]
    sizes: Option<Sizes>,

    /// More boundaries and larger sizes
    #[arg(long, conflicts_with = "sizes")]
    thorough: bool,

    /// Only shard I of N of the configs, counted from 0: 0/16 to 15/16 are all
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Verify nothing, but list what to verify of all problems, and of these files of operators, so that every pair of
    /// values which go together is tried once: one line per problem, with its flags and configs
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..,
        conflicts_with_all = ["configs", "sizes", "thorough", "shard", "op", "element", "operator", "mode", "init",
            "in_place", "reverse", "total", "init_in_memory", "inputs", "seed", "timeout", "blocking", "builds", "budget", "fail_fast", "format"]
    )]
    list_pairs: Option<Vec<PathBuf>>,

    #[command(flatten)]
    problem: ProblemArgs,

    /// These inputs, of random, real, ones, ramp, maximum, spike [default: those that show something
    /// of the problem; of --operator random, spike]
    #[arg(long, value_name = "INPUTS", value_delimiter = ',')]
    inputs: Vec<Pattern>,

    /// Seed of random inputs and of the order
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,

    /// Give up on a config when one call of it takes longer: its worker process is killed and replaced
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "60s")]
    timeout: Duration,

    /// With simulated blocking: 1 in 2^K tiles never publishes its total, the first one among them. Only
    /// lookback fallback finishes then
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=i64::from(catalog::MAX_BLOCKING)))]
    blocking: Option<u32>,

    /// Which builds of each config
    #[arg(long, value_parser = words(BUILDS), default_value = "all", conflicts_with = "blocking")]
    builds: Builds,

    /// Stop after this time, for example 10m
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,

    #[command(flatten)]
    sharing: SharingArgs,

    /// Stop at the first config that fails
    #[arg(long)]
    fail_fast: bool,

    /// Output format
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Verifies.
pub fn run(args: &VerifyArgs, tools: &Tools) -> anyhow::Result<Exit> {
    if let Some(files) = &args.list_pairs {
        return pairs::list(args, files, tools);
    }
    let (problem, operator) = args.problem.problem()?;
    let limits = RunLimits::of_run(args.budget)?;
    tools.warn_of_cache();
    let mut command = WorkerCommand::new(&args.device, operator.as_ref(), tools);
    let mut worker = command.start(&limits)?;
    if args.asks_device(&problem)? {
        worker = probe::inform(worker, &command, &args.sharing.sharing(), &limits)?;
        probe::tell(&worker.profile);
    }
    let configs = args.configs(&problem, &worker.profile)?;
    let sharing = args.sharing.sharing();
    worker = guarantees::inform_for(&configs, worker, &mut command, &sharing, &limits)?;
    let device = worker.profile.clone();
    try_operator(tools.compiler()?, operator.as_ref(), &problem, &device)?;
    let issues = known_issues::of(&device)?;
    let configs = args.configs(&problem, &device)?;
    let variant = Variant::blocked(args.blocking);
    let mut selection = CaseSelection::new(&configs, &device, &args.request(problem), |config| {
        issues.allow(config, &catalog::resolved(config, &device))?;
        catalog::variant_legal(config, variant)
    });
    if selection.items.is_empty() {
        return Err(nothing_to_do(&selection, &device).into());
    }
    if let Some(shard) = args.shard {
        take_shard(&mut selection, shard)?;
    }
    introduce(&device, &problem, &selection, args);
    if let Some(k) = args.blocking {
        note(&format!("1 in {} tiles never publishes its total", 1u64 << k));
    }
    for issue in &issues.active {
        note(&format!("known issue {}: {}", issue.id, issue.why));
    }

    let (worker, _occupied) = args.sharing.sharing().occupy(worker, &mut command, &limits)?;
    let supervision = Supervision { command, timeout: args.timeout, limits };
    let failure = |verdict: &ItemVerdict| {
        let mut failure = failure_of(verdict, &problem, &selection, args, tools);
        let config: Option<Config> = verdict.config.parse().ok();
        let judged = config.map(|config| judge(&issues, &config, &device, verdict.status));
        if let Some(Expectation::Failed(issue)) = judged {
            failure.reason = format!("{}; known issue {}", failure.reason, issue.id);
        }
        failure
    };
    let remark = |verdict: &ItemVerdict| failure(verdict).to_string();
    let mut task =
        VerifyTask::new(problem, variant, args.builds, &selection.items, args.seed, args.fail_fast, &remark);
    let supervised = supervision.run(worker, &mut task);
    let results = task.end();
    tell_unexpected_passes(&issues, &device, &selection, &results);
    let supervised = supervised?;
    let finished = supervised.finished;
    let mut answer = answer(&device, &problem, &selection, &results, supervised, failure);
    answer.blocking = args.blocking;
    answer.builds = args.blocking.is_none().then_some(args.builds);
    let exit = exit(&answer, finished, args.fail_fast);
    answer.exit_code = exit as u8;
    let written = print(&answer, args.format);
    errors(&answer).for_each(|error| note(&format!("error: {error}")));
    answered(written, exit)
}

impl VerifyArgs {
    fn request(&self, problem: Problem) -> CaseRequest {
        let mut patterns = Vec::new();
        for pattern in &self.inputs {
            if !patterns.contains(pattern) {
                patterns.push(*pattern);
            }
        }
        if patterns.is_empty() {
            patterns = Pattern::of_problem(&problem);
        }
        CaseRequest {
            problem,
            patterns,
            sizes: self.sizes.as_ref().map(|sizes| sizes.iter().collect()),
            thorough: self.thorough,
            seed: self.seed,
        }
    }

    /// Whether the configs depend on what is found out on the device.
    fn asks_device(&self, problem: &Problem) -> anyhow::Result<bool> {
        let of_filter = self.filter.as_ref().is_some_and(Filter::asks_device);
        Ok(of_filter || self.configs.is_empty() && load_space(&self.space, problem)?.asks_device())
    }

    /// The configs that are asked for: those given, or each kernel of the space in each workgroup size.
    fn configs(&self, problem: &Problem, device: &DeviceProfile) -> anyhow::Result<Vec<Config>> {
        let filter = self.filter.as_ref().map(|filter| on(filter, device));
        let accepted = |config: &Config| filter.as_ref().is_none_or(|filter| filter.accepts(config));
        if !self.configs.is_empty() {
            let given: BTreeSet<Config> = self.configs.iter().copied().filter(accepted).collect();
            return Ok(given.into_iter().collect());
        }
        // What a space says about sizes and workgroup counts is about its sweep: here n is free.
        let all = load_space(&self.space, problem)?.enumerate(device, |_, _, _| Ok(()));
        let accepted = all.points.iter().map(|point| point.config).filter(accepted);
        let configs: BTreeSet<Config> =
            accepted.map(|config| Config { workgroups: None, ..config }).collect();
        Ok(configs.into_iter().collect())
    }
}

/// What the known issues of the device say about how a config ended.
fn judge<'a>(
    issues: &'a DeviceIssues,
    config: &Config,
    device: &DeviceProfile,
    status: Status,
) -> Expectation<'a> {
    issues.judge(config, &catalog::resolved(config, device), status)
}

/// Configs that passed although an issue says that they fail.
fn tell_unexpected_passes(
    issues: &DeviceIssues,
    device: &DeviceProfile,
    selection: &CaseSelection,
    results: &VerifyResults,
) {
    let failed: BTreeSet<&str> = results.failures.iter().map(|verdict| verdict.config.as_str()).collect();
    let mut passed: Vec<(&Issue, u64)> = Vec::new();
    for config in selection.configs().difference(&results.unfinished) {
        if failed.contains(config.to_string().as_str()) {
            continue;
        }
        let Expectation::Passed(issue) = judge(issues, config, device, Status::Ok) else { continue };
        match passed.iter_mut().find(|(other, _)| other.id == issue.id) {
            Some((_, configs)) => *configs += 1,
            None => passed.push((issue, 1)),
        }
    }
    for (issue, configs) in passed {
        note(&format!("configs passed: {}", known_issues::unexpected_pass(issue, configs)));
    }
}

/// Leaves the cases of every n-th config: neighbours have much in common, and cost about the same.
fn take_shard(selection: &mut CaseSelection, shard: Shard) -> Result<(), UsageError> {
    let configs = selection.configs();
    let own = shard.in_turns(configs.len()).map_err(|most| {
        let of = plural(configs.len(), "config");
        UsageError(format!("--shard {shard}: of {of} some shards would have none; make at most {most}"))
    })?;
    let own: BTreeSet<Config> =
        configs.iter().zip(own).filter(|(_, own)| *own).map(|(one, _)| *one).collect();
    selection.items.retain(|item| own.contains(&item.config));
    note(&format!("shard {shard}: {} of {}", own.len(), plural(configs.len(), "config")));
    Ok(())
}

fn nothing_to_do(selection: &CaseSelection, device: &DeviceProfile) -> UsageError {
    let device = device.title();
    UsageError(match selection.left_out.iter().next() {
        Some((rule, left_out)) => {
            let why = left_out.sentence(rule);
            format!("no config is left on {device}: {why}; `scanbox explain {rule}` says what to do")
        }
        None => format!("no config is left on {device}: the filter accepts none"),
    })
}

fn introduce(device: &DeviceProfile, problem: &Problem, selection: &CaseSelection, args: &VerifyArgs) {
    note(&format!("{}, {}", device.title(), device.driver));
    if device.kind == DeviceKind::Software {
        note("a software device: what is right there may still be wrong on a GPU");
    }
    if !problem.is_default() {
        note(&format!("problem {problem}"));
    }
    let circumstances = |config: &Config| {
        if args.blocking.is_some() {
            return Circumstance::ALL.len();
        }
        let guarded = usize::from(Circumstance::may_be_between_guards(config, device));
        let others = match args.builds {
            Builds::Swept => 0,
            Builds::All => {
                let varied = Circumstance::varied(config, problem, 1, device)
                    .map_or(0, |_| Circumstance::VARIED.len());
                varied + usize::from(Circumstance::late(config, problem, 1, device).is_some())
            }
        };
        Circumstance::ALL.len() + guarded + others
    };
    let counts: BTreeSet<usize> = selection.configs().iter().map(circumstances).collect();
    let circumstances = match (counts.first(), counts.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (least, _) => least.unwrap_or(&0).to_string(),
    };
    note(&format!(
        "{}, {} in {circumstances} circumstances each",
        plural(selection.configs().len(), "config"),
        plural(usize::try_from(selection.cases()).unwrap_or(usize::MAX), "case")
    ));
    for (rule, left_out) in &selection.left_out {
        note(&format!("left out: {}", left_out.sentence(rule)));
    }
}

/// How a config failed, and how to see it again.
fn failure_of(
    verdict: &ItemVerdict,
    problem: &Problem,
    selection: &CaseSelection,
    args: &VerifyArgs,
    tools: &Tools,
) -> FailedConfig {
    let nothing = FailedCase { n: 0, circumstance: None, reason: String::new(), mismatch: None };
    let FailedCase { n, circumstance, reason, mismatch } = verdict.failed.clone().unwrap_or(nothing);
    // What memory says of n is told to a call that was recorded for the largest size.
    let mut sizes = BTreeSet::from([n]);
    if circumstance.is_some_and(|circumstance| Circumstance::VARIED.contains(&circumstance)) {
        sizes.extend(selection.largest(&verdict.config, &verdict.input));
    }
    FailedConfig {
        config: verdict.config.clone(),
        status: verdict.status,
        n,
        input: verdict.input.to_string(),
        circumstance,
        first_mismatch: mismatch.map(|mismatch| mismatch.index),
        expected: mismatch.map(|mismatch| json(mismatch.expected())),
        got: mismatch.map(|mismatch| json(mismatch.got())),
        reason,
        repeat: repeat(verdict, &sizes, problem, args, tools),
    }
}

/// An element as a number; as text where JSON has no such number.
fn json(text: String) -> serde_json::Value {
    serde_json::from_str(&text).unwrap_or_else(|_| text.into())
}

/// The command that runs one case again, of one of these sizes.
fn repeat(
    verdict: &ItemVerdict,
    sizes: &BTreeSet<u64>,
    problem: &Problem,
    args: &VerifyArgs,
    tools: &Tools,
) -> String {
    let mut words = vec![paste::program(), "verify".to_owned()];
    words.extend(tools.flags_on(&args.device));
    words.push(verdict.config.clone());
    words.extend(args.problem.flags(problem));
    let input = Pattern::of(&verdict.input).to_string();
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    words.extend(["--sizes".to_owned(), sizes.join(","), "--inputs".to_owned(), input]);
    words.extend(["--seed".to_owned(), args.seed.to_string()]);
    if let Some(k) = args.blocking {
        words.extend(["--blocking".to_owned(), k.to_string()]);
    }
    if args.builds == Builds::Swept {
        words.extend(["--builds".to_owned(), "swept".to_owned()]);
    }
    words.extend(["--timeout".to_owned(), format!("{}s", args.timeout.as_secs_f64())]);
    paste::line(words.iter().map(String::as_str))
}

fn answer(
    device: &DeviceProfile,
    problem: &Problem,
    selection: &CaseSelection,
    results: &VerifyResults,
    supervised: Supervised,
    failure: impl Fn(&ItemVerdict) -> FailedConfig,
) -> VerifyEnding {
    let configs = selection.configs().len();
    VerifyEnding {
        device: device.title(),
        driver: device.driver.clone(),
        subgroup_size: device.subgroup_size,
        problem: *problem,
        blocking: None,
        builds: None,
        configs,
        configs_by_status: results.counts(configs),
        configs_unfinished: results.unfinished.len(),
        cases_planned: selection.cases(),
        tally: results.tally,
        left_out: selection.left_out.clone(),
        exit_code: 0,
        trouble: supervised.trouble(),
        set_up: supervised.set_up,
        seconds: supervised.seconds,
        workers_replaced: supervised.replaced,
        workers_crashed: supervised.crashed,
        end: supervised.end,
        failures: results.failures.iter().map(failure).collect(),
    }
}

fn exit(answer: &VerifyEnding, finished: u64, fail_fast: bool) -> Exit {
    let count = |status| answer.configs_by_status.get(&status).copied().unwrap_or(0);
    let completion = Completion {
        // It does not go on where it ended, so what is wrong comes first. Who wants to hear of the first failure
        // alone has been told all.
        left: answer.end != End::Complete
            && count(Status::WrongResult) == 0
            && (!fail_fast || answer.failures.is_empty()),
        stuck: answer.trouble.is_some() && finished == 0,
        wrong: count(Status::WrongResult),
        nothing_ok: count(Status::Ok) == 0,
    };
    match completion.exit() {
        // Nothing was wrong, but not everything was shown to be right.
        Exit::Done if !answer.failures.is_empty() || answer.workers_crashed > 0 => Exit::Operational,
        exit => exit,
    }
}

/// What is to be said beside the answer: why no worker could go on, and why nothing became `ok`.
fn errors(answer: &VerifyEnding) -> impl Iterator<Item = String> {
    let any_ok = answer.configs_by_status.contains_key(&Status::Ok).then_some((Status::Ok, ""));
    let failures = answer.failures.iter().map(|failure| (failure.status, failure.reason.as_str()));
    let crashed = (answer.workers_crashed > 0).then(|| {
        format!(
            "{} workers crashed while no config ran: a config before them may have written where it must not; verify those \
             that are named above one by one",
            answer.workers_crashed
        )
    });
    let trouble = answer.trouble.clone().into_iter().chain(crashed);
    trouble.chain(nothing_ok("no config became ok", failures.chain(any_ok)))
}
