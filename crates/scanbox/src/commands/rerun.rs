//! `scanbox rerun`: a base measured again, by the program that made it, in turns with this one.
//!
//! Two nights differ by more than what changed in the code. So a base is kept with its program, and `scanbox
//! compare --pairs` judges what both measured tonight. Each speaks the protocol of baselines (`scanbox serve`); this
//! process drives no device.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use scanbox_analysis::compare::{CompareQuestion, USUAL_METRIC, USUAL_PERCENT, roles};
use scanbox_analysis::metric::Metric;
use scanbox_analysis::pairs::{Pairs, QUADS_OF_SUSPECTS, ROUNDS_OF_ALL, ROUNDS_OF_SUSPECTS, Roles, suspects};
use scanbox_analysis::trust::Trust;
use scanbox_model::device_api::DeviceApi;
use scanbox_model::pair_file::{self, PairRow};
use scanbox_model::problem::{Operator, Problem};
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::units::{plural, size_label};
use scanbox_report::paste;
use scanbox_runner::backend::Failure;
use scanbox_runner::baseline::{Baseline, Greeting, Program};
use scanbox_runner::row::now_utc;

use crate::args::budget::parse_budget;
use crate::args::sharing::SharingArgs;
use crate::args::time::parse_limit;
use crate::args::words::threshold;
use crate::exit::{Exit, UsageError};
use crate::inputs::{JudgedSweep, pairs_of};
use crate::output::{OutputContent, Outputs};
use scanbox_session::device::known_issues;
use scanbox_session::notes::note;
use scanbox_session::pairs::{LabelledPoint, PairsEvent, PairsJob, Round, Side, Speaking, run as run_pairs};
use scanbox_session::process::{RunLimits, WorkerCommand};
use scanbox_session::progress::ProgressLine;
use scanbox_session::tools::Tools;

/// Arguments of `scanbox rerun`.
#[derive(Debug, Args)]
pub struct RerunArgs {
    /// The sweep before: its CSV
    #[arg(value_name = "BASE")]
    base: PathBuf,

    /// The sweep of this version
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// The scanbox that made BASE, kept beside it
    #[arg(long, value_name = "PROGRAM")]
    program: PathBuf,

    /// The device: index (see `scanbox devices`), name or UUID
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// The file of pairs to write; it must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// How much slower a config that decides alone may be before it is measured again, as in `scanbox compare`
    #[arg(long, default_value = USUAL_PERCENT, value_name = "PERCENT", value_parser = threshold)]
    threshold: f64,

    /// Chooses the kernel that is watched, as in `scanbox compare`
    #[arg(long, default_value = USUAL_METRIC, value_name = "METRIC")]
    metric: Metric,

    /// Stop after this time; the pairs so far are kept
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,

    /// Give up on an answer that takes longer: scanbox ends the program and starts it again
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "60s")]
    timeout: Duration,

    #[command(flatten)]
    sharing: SharingArgs,

    /// Seed of the order and of the input
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
}

/// Measures, and writes the pairs.
///
/// # Errors
/// When a file cannot be read or written, or a program cannot be started.
pub fn run(args: &RerunArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let out = Outputs::beside([&args.base, &args.new, &args.program]).claim(
        "--out",
        &args.out,
        OutputContent::Pairs,
    )?;
    let [base, new] = [JudgedSweep::read(&args.base)?, JudgedSweep::read(&args.new)?];
    let question = CompareQuestion {
        metric: args.metric,
        clock: Clock::Steady,
        threshold: args.threshold,
        accept_device: false,
        new_is_cut: false,
    };
    let roles = roles(&base.source(), &question)?;
    let rows = rows_of(&base.records, &new.records);
    let Some(first) = base.records.first().filter(|_| !rows.is_empty()) else {
        bail!("{} and {} have no ok row in common", args.base.display(), args.new.display());
    };
    let problem = Problem::of_row(first).map_err(anyhow::Error::msg)?;
    if problem.operator() == Operator::User {
        let message = "a base with an operator of a file cannot be measured again; compare the sweeps alone";
        return Err(UsageError(message.to_owned()).into());
    }
    // By a path, as a name alone would be looked for elsewhere.
    let program = std::fs::canonicalize(&args.program);
    let program = program.with_context(|| format!("--program {}", args.program.display()))?;
    let programs = Programs::new(args, &program, &problem, tools)?;
    let limits = RunLimits::of_run(args.budget)?;
    // The device is taken for as long as both use it. Whoever opened it for that is not needed any more.
    let mut command = WorkerCommand::new(&args.device, None, tools);
    let (worker, _occupied) =
        args.sharing.sharing().occupy(command.start(&limits)?, &mut command, &limits)?;
    drop(worker);
    let mut night = Rerun {
        programs,
        roles,
        rows,
        base_run: first.run_id.clone(),
        // There is one, since there are rows in common.
        new: new.records.first().cloned().unwrap_or_default(),
        measured: Vec::new(),
    };
    let outcome = night.run(args, &|| limits.end().is_some());
    // What there is is kept, whatever ended it. A file without a row would be none.
    if !night.measured.is_empty() {
        out.write(|file| pair_file::write(file, &night.measured))?;
    }
    let is_complete = outcome?;
    let (rows, path) = (plural(night.measured.len(), "row"), args.out.display());
    note(&if night.measured.is_empty() {
        format!("nothing was measured, so there is no {path}")
    } else {
        format!("{rows} in {path}")
    });
    Ok(if is_complete { Exit::Done } else { Exit::Incomplete })
}

/// What is `ok` in both, and was not wrong in either.
fn rows_of(base: &[Record], new: &[Record]) -> Vec<LabelledPoint> {
    let trust = Trust::of(base.iter().chain(new));
    let ok = |records: &[Record]| -> BTreeSet<LabelledPoint> {
        let own = records.iter().filter(|record| {
            let is_ok = record.status == Status::Ok && record.steady.is_some();
            is_ok && !record.is_of_benchmark() && trust.trusts(record)
        });
        own.map(|record| LabelledPoint { n: record.n_elements, config: record.config_id.clone() }).collect()
    };
    ok(base).intersection(&ok(new)).cloned().collect()
}

/// How to start both programs.
struct Programs {
    base: Program,
    new: Program,
    problem: Problem,
    timeout: Duration,
    seed: u64,
}

impl Programs {
    fn new(args: &RerunArgs, base: &Path, problem: &Problem, tools: &Tools) -> anyhow::Result<Self> {
        let environment: Vec<(String, String)> = known_issues::worker_environment()?.into_iter().collect();
        let program = |path: &Path, kernels: Option<&PathBuf>| {
            let mut arguments: Vec<OsString> = Vec::new();
            for (flag, folder) in [("--kernels", kernels), ("--cache", tools.cache.as_ref())] {
                if let Some(folder) = folder {
                    arguments.extend([flag.into(), folder.into()]);
                }
            }
            for guarantee in &tools.assume {
                arguments.extend(["--assume".into(), guarantee.to_string().into()]);
            }
            arguments.extend(["serve".into(), "--device".into(), args.device.clone().into()]);
            arguments.extend(problem.flags().into_iter().map(OsString::from));
            // It is a flag here where it is meant.
            let without = vec!["SCANBOX_KERNELS".to_owned()];
            Program {
                path: path.to_owned(),
                arguments,
                environment: environment.clone(),
                without,
                leaves_group: true,
            }
        };
        let own = std::env::current_exe().context("the path of this program")?;
        Ok(Self {
            // Its kernels are in it.
            base: program(base, None),
            new: program(&own, tools.kernels.as_ref()),
            problem: *problem,
            timeout: args.timeout,
            seed: args.seed,
        })
    }

    fn start(&self, side: Side) -> Result<Speaking, Failure> {
        let program = match side {
            Side::Base => &self.base,
            Side::New => &self.new,
        };
        let baseline = Baseline::start_program(program, self.timeout)?;
        Ok(Speaking { baseline, problem: self.problem, seed: self.seed })
    }
}

/// What is measured tonight.
struct Rerun {
    programs: Programs,
    roles: Roles,
    rows: Vec<LabelledPoint>,
    base_run: String,
    /// A row of the new sweep.
    new: Record,
    measured: Vec<PairRow>,
}

/// What ends a run before its end.
#[derive(Debug, thiserror::Error)]
enum RerunError {
    #[error("base and new cannot be measured in turns")]
    Program(#[from] Failure),
}

impl Rerun {
    fn run(&mut self, args: &RerunArgs, is_over: &dyn Fn() -> bool) -> anyhow::Result<bool> {
        let greetings = self.greetings()?;
        let Self { programs, roles, rows, base_run, new, measured } = self;
        let line = std::cell::RefCell::new(ProgressLine::new("rerun", 0));
        let found = std::cell::RefCell::new(measured);
        let (mut done, mut total) = (0, 0);
        let outcome = run_pairs::<RerunError>(&mut PairsJob {
            start: &mut |side| Ok(Box::new(programs.start(side)?)),
            next: &mut |round| match round {
                round if round < ROUNDS_OF_ALL => Some(Round { rows: rows.clone(), quads: 1 }),
                round if round < ROUNDS_OF_ALL + ROUNDS_OF_SUSPECTS => {
                    let pairs: Pairs = pairs_of(&found.borrow());
                    let again = suspects(&pairs, roles, args.threshold);
                    let rows: Vec<LabelledPoint> =
                        again.into_iter().map(|(n, config)| LabelledPoint { n, config }).collect();
                    (!rows.is_empty()).then_some(Round { rows, quads: QUADS_OF_SUSPECTS })
                }
                _ => None,
            },
            observer: &mut |event| {
                let row = |row: &LabelledPoint, round| PairRow {
                    n_elements: row.n,
                    config_id: row.config.clone(),
                    round,
                    base_1_ns: None,
                    new_1_ns: None,
                    base_2_ns: None,
                    new_2_ns: None,
                    status: Status::Ok,
                    failed: String::new(),
                    reason: String::new(),
                    base_run: base_run.clone(),
                    base_version: greetings[0].version.clone(),
                    new_version: greetings[1].version.clone(),
                    device: greetings[1].device.clone(),
                    device_uuid: greetings[1].device_uuid.clone(),
                    driver: greetings[1].driver.clone(),
                    timestamp_utc: now_utc(),
                    new_run: new.run_id.clone(),
                };
                match event {
                    PairsEvent::Round { round, rows } => {
                        (done, total) = (0, rows as u64);
                        let again = if round < ROUNDS_OF_ALL { "" } else { " that looked slower" };
                        let rows = plural(rows, "row");
                        line.borrow_mut().phase(&format!("round {}: {rows}{again}", round + 1));
                    }
                    PairsEvent::Started { row } => {
                        done += 1;
                        let what = || format!("rows, {} at {}", row.config, size_label(row.n));
                        line.borrow_mut().step(done, total, what);
                    }
                    PairsEvent::Quad { row: of, round, base_ns, new_ns } => {
                        found.borrow_mut().push(PairRow {
                            base_1_ns: Some(base_ns[0]),
                            new_1_ns: Some(new_ns[0]),
                            base_2_ns: Some(base_ns[1]),
                            new_2_ns: Some(new_ns[1]),
                            ..row(of, round)
                        });
                    }
                    PairsEvent::Failed { row: of, round, side, failure } => {
                        let who = side.word();
                        let Failure { status, reason } = failure;
                        let size = size_label(of.n);
                        line.borrow().remark(&format!("{who}: {status}: {} at {size}: {reason}", of.config));
                        found.borrow_mut().push(PairRow {
                            status: *status,
                            failed: who.to_owned(),
                            reason: reason.replace(['\n', '\r'], " "),
                            ..row(of, round)
                        });
                    }
                }
                Ok(())
            },
            is_over,
            seed: args.seed,
        });
        line.borrow().end();
        Ok(outcome?)
    }

    /// What both say about themselves: one device, or there is nothing to pair.
    fn greetings(&self) -> anyhow::Result<[Greeting; 2]> {
        let greet = |side| -> anyhow::Result<Greeting> {
            let started = self.programs.start(side).map_err(RerunError::from)?;
            Ok(started.baseline.greeting().clone())
        };
        let [base, new] = [greet(Side::Base)?, greet(Side::New)?];
        let title = |greeting: &Greeting| greeting.device_api.title_of(&greeting.device);
        let [base_title, new_title] = [title(&base), title(&new)];
        if (&base_title, &base.device_uuid) != (&new_title, &new.device_uuid) {
            bail!(
                "the program of the base finds {base_title} ({}) where this one finds {new_title} ({})",
                base.device_uuid,
                new.device_uuid
            );
        }
        let swept = &self.new;
        let swept_title = DeviceApi::of(swept).title_of(&swept.device);
        if (&new_title, &new.device_uuid) != (&swept_title, &swept.device_uuid) {
            let message = format!(
                "--device is {new_title} ({}), and the new sweep is of {swept_title} ({}): a base is measured again beside it; \
                 where there is that device, run: {}",
                new.device_uuid,
                swept.device_uuid,
                paste::this_command_with("--device", &swept.device_uuid)
            );
            return Err(UsageError(message).into());
        }
        Ok([base, new])
    }
}
