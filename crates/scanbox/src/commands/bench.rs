//! `scanbox bench`: few subjects against each other, in alternating blocks in one run, at any sizes.

mod blocking;
mod dispatch;
mod ending;
mod file;
mod forms;
mod library;
mod pictures;
mod select;
mod show;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use scanbox_model::config::{Config, Kernel};
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Record};
use scanbox_model::sizes::Sizes;
use scanbox_model::units::plural;
use scanbox_runner::bench::{BenchJob, Selected, behind_ceilings, by_arguments, computation_of};
use scanbox_runner::measure::Protocol;
use scanbox_runner::row::now_utc;
use scanbox_runner::session::End;

use self::blocking::{BlockingArgs, is_refuted};
use self::dispatch::DispatchArgs;
use self::ending::{completion, warn_of_other_devices};
use self::file::{BenchFile, metadata, others};
use self::forms::CallFormArgs;
use self::library::{LibraryArgs, PackTakingPart};
use self::pictures::{PictureArgs, Pictures};
use self::select::{ScratchUse, Tuned, configs_of, join_push, selected};
use self::show::{MEASURING, conclude, show};
use crate::args::budget::parse_budget;
use crate::args::format::ANSWERS;
use crate::args::problem::{Elements, ProblemArgs};
use crate::args::sharing::SharingArgs;
use crate::args::time::{parse_duration, parse_limit};
use crate::args::words::{HelpWord, words};
use crate::exit::{Exit, UsageError};
use crate::output::OutputContent;
use scanbox_report::document::Format;
use scanbox_report::versus::VersusView;
use scanbox_session::bench::{BenchTask, News};
use scanbox_session::device::known_issues;
use scanbox_session::lock;
use scanbox_session::notes::note;
use scanbox_session::origin::origin;
use scanbox_session::probe::{self, guarantees};
use scanbox_session::process::{RunLimits, WorkerCommand};
use scanbox_session::protocol::BenchWork;
use scanbox_session::supervise::Supervision;
use scanbox_session::tools::{Tools, try_operator};

/// Sizes where neither the command line nor a sweep says which.
const DEFAULT_SIZES: &str = "2^10..2^29";

/// What `--summary` shows.
const VIEWS: &[HelpWord<VersusView>] = &[
    (
        "ratios",
        "A line per size: time, both ratios, share of the fastest copy; and where it loses",
        VersusView::Ratios,
    ),
    ("views", "Every ratio and every time by its own name, on hot and on cold buffers", VersusView::Views),
    ("table", "The table of `ratios` alone", VersusView::Table),
    (
        "intervals",
        "Every ratio, each with the interval that holds it at 95 % (by the spread of samples and of rounds)",
        VersusView::Intervals,
    ),
    (
        "arguments",
        "Each config that took part with push constants too: by how much it takes longer than with them",
        VersusView::Arguments,
    ),
    (
        "loses",
        "Only how many times as fast it is, and where it loses; of each device in --show",
        VersusView::Loses,
    ),
    (
        "devices",
        "A line per size, with time and times as fast as the fastest baseline for each device in --show",
        VersusView::Devices,
    ),
];

/// Whether a word behind `--summary` is its value.
pub fn is_view(text: &str) -> bool {
    VIEWS.iter().any(|(word, ..)| *word == text)
}

/// Arguments of `scanbox bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "At each size every subject is verified once, every element, and then measured in rounds: one block \
of samples per subject and round, each after a warm-up of its own, in an order that is reversed from round to round. \
The copy (of a reduction: the read) in all its launch shapes always takes part: the fastest is the ceiling. \
A baseline is a program that scans on the same device and speaks JSON in lines: see docs/baselines.md."
)]
pub struct BenchArgs {
    /// These configs, for example b4.vec4.par.rake.wg256; a workgroup count that does not fit a size is left free there
    #[arg(value_name = "CONFIG")]
    configs: Vec<Config>,

    /// The device: index (see `scanbox devices`), name, UUID or PCI address
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// What this sweep found for the device: the winner of each size, between two of them the config that is best by
    /// its times at both, and the best kernel on average
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// This kernel, with the workgroup size that --from shows as the best for it at each size
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<Kernel>,

    /// Input sizes: 2^10..2^29, 2^20..2^24/4 (four steps per octave), 1000,2^20, or
    /// random:40:2^10..2^29:SEED [default: those of --from, else 2^10..2^29]
    #[arg(long, value_name = "SIZES")]
    sizes: Option<Sizes>,

    /// Also run each config whose arguments stand elsewhere with push constants, for --summary arguments
    #[arg(long, conflicts_with_all = ["blocking", "dispatch", "show"])]
    against_push: bool,

    #[command(flatten)]
    blocking: BlockingArgs,

    #[command(flatten)]
    dispatch: DispatchArgs,

    #[command(flatten)]
    forms: CallFormArgs,

    #[command(flatten)]
    library: LibraryArgs,

    #[command(flatten)]
    problem: ProblemArgs,

    /// The elements
    #[arg(long, value_name = "INPUT", value_enum, default_value_t = Elements::Random)]
    input: Elements,

    /// Hot: every call works on the same buffers; cold: each call uses other buffers than the one before, together
    /// larger than any cache
    #[arg(long, value_name = "STATES", value_enum, value_delimiter = ',', default_value = "hot")]
    buffers: Vec<Buffers>,

    /// Whether tile states are kept from call to call, or cleared in every call
    #[arg(long, value_name = "MODES", value_enum, value_delimiter = ',', default_value = "kept")]
    scratch: Vec<ScratchUse>,

    /// Blocks of samples per subject, size and state of the buffers
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// Make scanbox's pipelines, and the library's, anew in every round, in its order: where a driver puts their code
    /// changes a small scan by up to 90 ns, and is then elsewhere in each round. Take 30 rounds or more
    #[arg(long, conflicts_with_all = ["blocking", "dispatch", "show"])]
    renew_pipelines: bool,

    /// Minimum time for which the same subject runs right before the first sample of a block
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "8ms")]
    warm_up: Duration,

    /// Minimum number of samples per block; more are taken while their spread is large
    #[arg(long, value_name = "NUMBER", default_value_t = Protocol::default().samples_min, value_parser = clap::value_parser!(u32).range(3..=1000))]
    samples: u32,

    /// A program that runs another implementation; may be given several times
    #[arg(long, value_name = "PROGRAM")]
    baseline: Vec<PathBuf>,

    /// Of the baselines, only these subjects, for example cub-scan,cuda-memcpy [default: all that they have]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    baseline_subjects: Vec<String>,

    /// The file to write [default: results/bench/DEVICE.csv]
    #[arg(long, visible_alias = "output", value_name = "FILE.csv")]
    out: Option<PathBuf>,

    /// Seed of the order and of the input
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,

    #[command(flatten)]
    sharing: SharingArgs,

    /// Stop after this time, also during a long set-up; the rows of finished sizes are kept
    #[arg(long, value_name = "TIME", value_parser = parse_budget)]
    budget: Option<Duration>,

    /// Give up on a block, or on an answer of a baseline, that takes longer
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "30s")]
    timeout: Duration,

    /// Show the rows of this file too, for example of `scanbox import`: they are not measured in this run
    #[arg(long, value_name = "FILE.csv")]
    with: Vec<PathBuf>,

    /// Measure nothing: show the rows of this benchmark again, with --format, --with, --plot; those of --sizes alone.
    /// Several files go with --summary devices and loses
    #[arg(long, value_name = "FILE.csv", num_args = 1.., conflicts_with_all = MEASURING)]
    show: Vec<PathBuf>,

    #[command(flatten)]
    pictures: PictureArgs,

    /// One line per size: the fastest config against the fastest scan of another implementation in this run, with
    /// scratch memory kept and with the same contract (scratch memory of unknown content), both on calls as they come
    #[arg(long, value_parser = words(VIEWS), value_name = "VIEW", num_args = 0..=1, default_missing_value = "ratios", conflicts_with = "blocking")]
    summary: Option<VersusView>,

    /// Output format; csv and md with --summary
    #[arg(long, value_parser = words(ANSWERS), default_value = "table")]
    format: Format,
}

/// The state of the buffers at the start of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Buffers {
    Hot,
    Cold,
}

/// Benchmarks.
pub fn run(args: &BenchArgs, tools: &Tools) -> anyhow::Result<Exit> {
    if args.summary.is_none()
        && !args.dispatch.is_asked_for()
        && matches!(args.format, Format::Csv | Format::Markdown)
    {
        let message = "--format csv and md are of --summary and --dispatch; `scanbox export FILE --format csv` writes the rows";
        return Err(UsageError(message.to_owned()).into());
    }
    if !args.show.is_empty() {
        return show(args, &args.show);
    }
    let mut places = Pictures::claim(args)?;
    let nobody = args.configs.is_empty()
        && args.from.is_none()
        && args.baseline.is_empty()
        && !args.library.is_asked_for();
    if nobody && !args.blocking.is_asked_for() && !args.dispatch.is_asked_for() {
        let message = "nothing to compare: name configs, or take those of a sweep with --from or of a pack with \
             --pack, or give a --baseline";
        return Err(UsageError(message.to_owned()).into());
    }
    args.check_pack_alone()?;
    let (problem, operator) = args.problem.problem()?;
    let real = args.input.real(&problem)?;
    let pack = args.library.read()?;
    let compiler = tools.compiler()?;
    let limits = RunLimits::of_run(args.budget)?;
    tools.warn_of_cache();
    let mut command = WorkerCommand::new(&args.device, operator.as_ref(), tools);
    let mut worker = command.start(&limits)?;
    if args.dispatch.is_asked_for() {
        worker = probe::inform(worker, &command, &args.sharing.sharing(), &limits)?;
    }
    let kernel_hash = compiler.kernel_hash_of(worker.profile.api);
    try_operator(compiler, operator.as_ref(), &problem, &worker.profile)?;
    let read = |path: &PathBuf| Tuned::read(path, &problem, &worker.profile, args.kernel);
    let tuned = args.from.as_ref().map(read).transpose()?;
    let sizes = args.sizes(tuned.as_ref(), &problem, &worker.profile)?;
    let sharing = args.sharing.sharing();
    let asked =
        configs_of(&args.selected(&sizes, tuned.as_ref(), pack.as_ref(), &problem, &worker.profile)?);
    let worker = guarantees::inform_for(&asked, worker, &mut command, &sharing, &limits)?;
    let device = worker.profile.clone();
    let selected = args.selected(&sizes, tuned.as_ref(), pack.as_ref(), &problem, &device)?;
    args.forms.check(&selected, &problem, &device)?;
    let path = args.path(&problem, &device);
    let others = others(&args.with, &sizes, &args.caches(), &problem, &device.device_api())?;
    let output = places.outputs.claim("--out", &path, OutputContent::Benchmark)?;
    introduce(&device, &sizes, &path)?;
    if args.rounds == 1 {
        note(
            "one round does not show what changes from block to block, which no interval then has: take --rounds 5",
        );
    }
    pack.iter().for_each(|pack| pack.introduce(sizes.iter(), &problem, &device, &kernel_hash));

    let lock = lock::results_file(&path, Some(&sharing), &limits)?;
    let (worker, occupied) = sharing.occupy(worker, &mut command, &limits)?;
    let mut file = BenchFile::create(&path, output, lock)?;
    let supervision = Supervision { command, timeout: args.timeout, limits };
    let (computation, input) = computation_of(&selected, problem, real, args.seed, &device);
    let job = BenchJob {
        computation,
        input,
        sizes: selected,
        caches: args.caches(),
        rounds: args.rounds,
        renews_pipelines: args.renew_pipelines,
        protocol: Protocol::default().with(args.warm_up, args.samples).within(args.timeout),
        empty_calls: !args.blocking.is_asked_for() && !args.dispatch.is_asked_for(),
        one_by_one: false,
        origin: origin(&kernel_hash, sharing.share_device),
    };
    let work = BenchWork {
        job,
        baselines: args.baselines()?,
        baseline_subjects: args.baseline_subjects.clone(),
        pack: pack.as_ref().map(PackTakingPart::lent),
        timeout: args.timeout,
    };
    let started_utc = now_utc();
    let sink = &mut |news: News| match news {
        News::Row(mut record) => {
            record.shared_device.0 |= occupied.is_shared();
            file.append(*record)
        }
        News::SizeFinished(_) => Ok(()),
    };
    let mut task = BenchTask::new("bench", work.clone(), sink);
    let supervised = supervision.run(worker, &mut task);
    let (baselines, empty_calls) = task.end();
    let supervised = supervised.inspect_err(|_| {
        file.leave();
    })?;
    let measured = file.records.clone();
    let proof = match (supervised.end, sizes.iter().min()) {
        (End::Complete, Some(n)) => {
            let sink = &mut |row: &Record| file.append(row.clone());
            args.blocking.prove(&args.configs, n, &work, &supervision, sink)?
        }
        _ => Vec::new(),
    };
    let mut metadata =
        metadata(&device, &sizes, &work.job, &baselines, started_utc, &supervised, &file.records)?;
    if let Some(rates) = args.blocking.rates() {
        metadata.runs.iter_mut().for_each(|run| run.settings["blocking"] = rates.clone().into());
    }
    if let Some(pack) = &pack {
        metadata.runs.iter_mut().for_each(|run| run.settings["library"] = pack.settings());
    }
    metadata.runs.iter_mut().for_each(|run| run.settings["empty_calls"] = serde_json::json!(empty_calls));
    warn_of_other_devices(&device, &baselines);
    let place = file.finish(&metadata, supervised.end)?;
    let (completion, nothing_ok) = completion(&measured, &work.job, &baselines, &supervised);
    let exit = match completion.exit() {
        Exit::Done if is_refuted(&proof) => Exit::Operational,
        exit => exit,
    };
    for error in supervised.trouble().into_iter().chain(nothing_ok) {
        note(&format!("error: {error}"));
    }
    let records: Vec<Record> = measured.into_iter().chain(others).collect();
    conclude(args, &records, &proof, &metadata, &baselines, supervised.end, place.as_deref(), &places)?;
    if supervised.end != End::Complete
        && let Some(during) = &supervised.set_up
    {
        note(&format!("nothing was measured yet: it ended while {during}"));
    }
    Ok(exit)
}

impl BenchArgs {
    /// The file to write.
    fn path(&self, problem: &Problem, device: &DeviceProfile) -> PathBuf {
        let mut name = device.device_api().file_name_of(&device.name);
        if !problem.is_default() {
            name = format!("{name}.{problem}");
        }
        if self.blocking.is_asked_for() {
            name.push_str(".blocking");
        }
        if self.dispatch.is_asked_for() {
            name.push_str(".dispatch");
        }
        self.out.clone().unwrap_or_else(|| Path::new("results/bench").join(format!("{name}.csv")))
    }

    /// What is asked of configs has some.
    fn check_pack_alone(&self) -> Result<(), UsageError> {
        let alone = self.library.is_asked_for() && self.configs.is_empty() && self.from.is_none();
        let asked = [
            ("--against-push", self.against_push),
            ("--scratch", self.scratch != [ScratchUse::Kept]),
            ("--call-forms", self.forms.is_asked_for()),
        ];
        let Some((flag, _)) = asked.into_iter().find(|(_, is_asked)| alone && *is_asked) else {
            return Ok(());
        };
        let message = format!(
            "{flag} is of configs that are named or come by --from; the kernels of a pack are called as --uses says"
        );
        Err(UsageError(message))
    }

    fn sizes(
        &self,
        tuned: Option<&Tuned>,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> anyhow::Result<Sizes> {
        let text = match (&self.sizes, tuned) {
            (Some(sizes), _) => return Ok(sizes.clone()),
            (None, Some(tuned)) => tuned.sizes().map(|n| n.to_string()).collect::<Vec<_>>().join(","),
            (None, None) if self.blocking.is_asked_for() => {
                self.blocking.default_size(&self.configs, problem, device).to_string()
            }
            (None, None) if self.dispatch.is_asked_for() => dispatch::DEFAULT_SIZES.to_owned(),
            (None, None) => DEFAULT_SIZES.to_owned(),
        };
        Ok(text.parse()?)
    }

    fn selected(
        &self,
        sizes: &Sizes,
        tuned: Option<&Tuned>,
        pack: Option<&PackTakingPart<'_>>,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> Result<Vec<(u64, Vec<Selected>)>, UsageError> {
        let at = |n: u64| {
            if self.dispatch.is_asked_for() {
                return Ok((n, by_arguments(problem, device)));
            }
            if self.blocking.is_asked_for() {
                return Ok((n, self.blocking.selected(&self.configs, n, problem, device)));
            }
            let mut selected = selected(&self.configs, tuned, &self.scratch, n, problem, device);
            if self.against_push {
                join_push(&mut selected);
            }
            self.forms.join(&mut selected, n, problem, device);
            if let Some(pack) = pack {
                pack.join(&mut selected, n, problem, device)?;
            }
            Ok((n, behind_ceilings(selected, problem, device)))
        };
        sizes.iter().map(at).collect()
    }

    fn caches(&self) -> Vec<Cache> {
        let asked: BTreeSet<Cache> = self
            .buffers
            .iter()
            .map(|state| if *state == Buffers::Hot { Cache::Hot } else { Cache::Cold })
            .collect();
        asked.into_iter().collect()
    }

    /// The programs, by the path that they are found under from anywhere.
    fn baselines(&self) -> anyhow::Result<Vec<PathBuf>> {
        let found =
            |path: &PathBuf| fs::canonicalize(path).with_context(|| format!("--baseline {}", path.display()));
        self.baseline.iter().map(found).collect()
    }
}

fn introduce(device: &DeviceProfile, sizes: &Sizes, path: &Path) -> anyhow::Result<()> {
    note(&format!("{}, {}", device.title(), device.driver));
    if device.kind == DeviceKind::Software {
        note("a software device: its times mean nothing for GPUs");
    }
    for issue in &known_issues::of(device)?.active {
        note(&format!("known issue {}: {}", issue.id, issue.why));
    }
    note(&format!("{}; rows go to {}", plural(sizes.iter().count(), "size"), path.display()));
    Ok(())
}
