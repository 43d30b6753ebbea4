//! `scanbox pack`: from rows, what programs ship; and what is in such a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use scanbox_kernels::packing::wrong_module_hash;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_model::units::{plural, size_label};
use scanbox_pack::{CallTrait, Pack, Promises};
use scanbox_report::document::Format;
use scanbox_report::pack::{PackContents, SizeLosses, arguments_text, percent};
use scanbox_report::pack_tried::PackTried;
use scanbox_runner::packed::PackVerdict;
use scanbox_session::lock::Sharing;
use scanbox_session::notes::note;
use scanbox_session::pack::fresh::changed;
use scanbox_session::pack::{PackMade, PackWish, TierLoss, Unpromised, UseSet, bytes_of, for_any_device};
use scanbox_session::pack_check::{self, PackChecked};
use scanbox_session::tools::Tools;

use crate::answer::{answered, print};
use crate::args::format::TABLE_OR_JSON;
use crate::args::shipping::{ALL_USES, PORTABLE, RowArgs, made, problem, promises, subgroup_size, use_word};
use crate::args::time::parse_limit;
use crate::args::words::words;
use crate::exit::{Completion, Exit};
use crate::inputs::operator_of;
use crate::output::{Kind, Output, OutputContent, Outputs};

/// Arguments of `scanbox pack`.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "A pack has, for each set of promises, the fastest kernels that need no more than that of a device: \
nothing beyond Vulkan (none), that workgroups which have started make progress (progress), or more: workgroup-order, \
subgroup-progress, co-residency; + joins them. Its checksum finds damage, but does not say who made it: a program \
that loads a pack runs what is in it."
)]
pub struct PackArgs {
    /// CSV files of `scanbox sweep`, of one device, with the metadata beside each (x.csv: x.meta.json)
    #[arg(required_unless_present_any = ["show", "any_device", "check"], value_name = "FILES")]
    files: Vec<PathBuf>,

    /// In place of files: these problems for any device with the subgroup sizes of --portable, TYPE:OPERATOR:MODE with
    /// :in-place, :reverse or :init=VALUE behind, as u32:add:exclusive
    #[arg(
        long,
        value_name = "PROBLEMS",
        value_delimiter = ',',
        value_parser = problem,
        conflicts_with_all = ["files", "show", "portfolio", "promises", "operator", "other_sources"]
    )]
    any_device: Vec<Problem>,

    /// The pack to write
    #[arg(
        long,
        short,
        visible_alias = "out",
        value_name = "FILE",
        required_unless_present_any = ["show", "check"],
        conflicts_with = "show"
    )]
    output: Option<PathBuf>,

    /// Kernels of one use at most [default: as many as it takes to be within 2 % everywhere]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "show")]
    portfolio: Option<u32>,

    /// Sets of promises that programs may make
    #[arg(long, value_name = "SETS", value_delimiter = ',', value_parser = promises, default_value = "none,progress")]
    promises: Vec<Promises>,

    /// Uses: those that have nothing beside these
    #[arg(
        long,
        value_name = "WORDS",
        value_delimiter = ',',
        value_parser = use_word,
        default_value = ALL_USES
    )]
    uses: Vec<CallTrait>,

    /// Subgroup sizes that get kernels for devices that nobody has measured, or none
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = subgroup_size, default_value = PORTABLE)]
    portable: Vec<Option<u32>>,

    #[command(flatten)]
    rows: RowArgs,

    /// Show what is in a pack, and check its code
    #[arg(long, value_name = "PACK", conflicts_with_all = ["files", "operator", "other_sources"])]
    show: Option<PathBuf>,

    /// With --show: where its kernels were compiled of other sources, compile what is in it again, and say what comes
    /// out otherwise
    #[arg(long)]
    again: bool,

    /// Run every kernel of a pack in every use on --device, through the library that programs have, and compare
    /// everything that it writes
    #[arg(long, value_name = "PACK", conflicts_with_all = ["files", "show", "any_device", "output", "other_sources"])]
    check: Option<PathBuf>,

    /// The device for --check: index (see `scanbox devices`), name, UUID or PCI address
    #[arg(long, default_value = "0", value_name = "DEVICE")]
    device: String,

    /// How long one kernel may take in one use, with its pipelines
    #[arg(long, value_name = "TIME", value_parser = parse_limit, default_value = "60s")]
    timeout: Duration,

    /// How to write what is in it
    #[arg(long, value_parser = words(TABLE_OR_JSON), default_value = "table")]
    format: Format,
}

/// Makes a pack, or shows one.
///
/// # Errors
/// When a file cannot be read or written, or nothing can be shipped.
pub fn run(args: &PackArgs, tools: &Tools) -> anyhow::Result<Exit> {
    if let Some(path) = &args.check {
        return check(path, args, tools);
    }
    match (&args.show, &args.output) {
        (Some(path), _) => show(path, args, tools),
        (None, Some(output)) => write(args, output, tools),
        (None, None) => bail!("--output FILE names the pack to write"),
    }
}

fn write(args: &PackArgs, path: &Path, tools: &Tools) -> anyhow::Result<Exit> {
    let mut outputs = Outputs::beside(args.files.iter().map(PathBuf::as_path).chain(args.rows.input()));
    let output = outputs.claim("--output", path, OutputContent::Pack)?;
    let wish = PackWish {
        tiers: args.promises.clone(),
        most: args.portfolio.map(|most| most as usize),
        uses: UseSet::new(&args.uses),
        portable: args.portable.iter().flatten().copied().collect(),
    };
    if !args.any_device.is_empty() {
        let pack = for_any_device(&args.any_device, &tools.compiler()?, &wish)?;
        return finish(&pack, &output, path, &PackTold::default(), args.format);
    }
    let made = made(&args.files, &args.rows, &wish, tools)?;
    finish(&made.pack, &output, path, &PackTold::of(&made, &args.promises), args.format)
}

/// Writes a pack, and says what is in it.
///
/// # Errors
/// When it cannot be written.
pub fn finish(
    pack: &Pack,
    output: &Output,
    path: &Path,
    told: &PackTold,
    format: Format,
) -> anyhow::Result<Exit> {
    let bytes = pack.write();
    output.write(|out| out.write_all(&bytes))?;
    // Where it went to whoever reads the output, nothing else does.
    if Kind::of(path).is_ok_and(|kind| kind == Kind::Stream) {
        return Ok(Exit::Done);
    }
    let name = path.display().to_string();
    let PackTold { losses, remarks } = told;
    let contents = PackContents { name: &name, bytes: bytes.len(), pack, losses, remarks };
    answered(print(&contents, format), Exit::Done)
}

/// What is told of a pack beside what is in it.
#[derive(Debug, Default)]
pub struct PackTold {
    losses: Vec<SizeLosses>,
    remarks: Vec<String>,
}

impl PackTold {
    /// Of one that was made of rows for these sets of promises.
    pub fn of(made: &PackMade, promises: &[Promises]) -> Self {
        let unpromised = made.unpromised.iter().map(|unpromised| unpromised_told(unpromised, promises));
        Self { losses: losses(&made.tiers), remarks: made.tiers.iter().map(told).chain(unpromised).collect() }
    }
}

/// That kernels which analyze names are left out, and which option ships them, as a sentence.
fn unpromised_told(unpromised: &Unpromised, promises: &[Promises]) -> String {
    let Unpromised { problem, sizes, of, needs } = unpromised;
    let word = |set: &Promises| match *set {
        Promises::NONE => "none".to_owned(),
        set => set.words().collect::<Vec<_>>().join("+"),
    };
    let sets: Vec<String> = promises.iter().chain(needs).map(word).collect();
    format!(
        "{}: at {sizes} of {of} sizes the fastest measured kernel is left out, as it needs promises that were not given \
         ({}); --promises {} adds such kernels.",
        problem.title(),
        needs.iter().map(word).collect::<Vec<_>>().join(" or "),
        sets.join(",")
    )
}

/// What a set of promises costs, as a sentence.
fn told(tier: &TierLoss) -> String {
    let TierLoss { problem, arguments, tier, loss, .. } = tier;
    let who = format!("{}, {}, {tier} promised", problem.title(), arguments_text(*arguments));
    match loss {
        Some(loss) if loss.sizes == 1 => format!(
            "{who}: {} slower than the fastest that was measured, at {}, the only size.",
            percent(Some(loss.mean_ppm)),
            size_label(loss.worst_at)
        ),
        Some(loss) => format!(
            "{who}: {} slower than the fastest that was measured on average of {} sizes, {} at worst ({}).",
            percent(Some(loss.mean_ppm)),
            loss.sizes,
            percent(Some(loss.worst_ppm)),
            size_label(loss.worst_at)
        ),
        None => format!("{who}: what it loses was not measured."),
    }
}

/// What sets of promises cost at each size: of each problem and each place of arguments that was measured.
fn losses(tiers: &[TierLoss]) -> Vec<SizeLosses> {
    let mut tables: Vec<SizeLosses> = Vec::new();
    for of_one in tiers.chunk_by(|a, b| (a.problem, a.arguments) == (b.problem, b.arguments)) {
        let known: Vec<&TierLoss> = of_one.iter().filter(|tier| !tier.sizes.is_empty()).collect();
        let Some(first) = known.first() else { continue };
        let mut rows: BTreeMap<u64, Vec<Option<[u32; 2]>>> = BTreeMap::new();
        for (place, tier) in known.iter().enumerate() {
            for loss in &tier.sizes {
                let row = rows.entry(loss.n).or_insert_with(|| vec![None; known.len()]);
                row[place] = Some([loss.of_kind_ppm, loss.of_all_ppm]);
            }
        }
        tables.push(SizeLosses {
            title: format!("{}, {}", first.problem.title(), arguments_text(first.arguments)),
            tiers: known.iter().map(|tier| tier.tier.to_string()).collect(),
            rows,
        });
    }
    tables
}

/// Tries the kernels of a pack, and says how that went.
fn check(path: &Path, args: &PackArgs, tools: &Tools) -> anyhow::Result<Exit> {
    read(path)?;
    let limits = (args.timeout, Sharing::default());
    let checked = tried(path, &args.device, args.rows.input(), limits, tools)?;
    let name = path.display().to_string();
    let report = report(&name, &checked);
    answered(print(&report, args.format), exit_of(&report))
}

/// Tries the kernels of a pack, whose problem may need an operator of the file `operator`.
///
/// # Errors
/// When the file of the operator cannot be read, or there is no such device.
pub fn tried(
    path: &Path,
    device: &str,
    operator: Option<&Path>,
    (timeout, sharing): (Duration, Sharing),
    tools: &Tools,
) -> anyhow::Result<PackChecked> {
    let operator = operator.map(|path| operator_of("--operator", path)).transpose()?;
    let heard = &mut |verdict: &PackVerdict| match verdict.status {
        Status::Ok | Status::Unsupported => {}
        status => note(&format!("{}: {status}: {}", verdict.what, verdict.reason)),
    };
    pack_check::check(path, device, operator.as_ref(), timeout, sharing, tools, heard)
}

/// What became of the kernels of a pack with this name.
pub fn report<'a>(name: &'a str, checked: &'a PackChecked) -> PackTried<'a> {
    PackTried {
        pack: name,
        device: checked.device.title(),
        verdicts: &checked.verdicts,
        trouble: checked.trouble.as_deref(),
    }
}

/// What that calls for.
pub fn exit_of(report: &PackTried<'_>) -> Exit {
    let counts = report.counts();
    let completion = Completion {
        left: false,
        stuck: false,
        wrong: counts.wrong,
        nothing_ok: counts.right == 0 || counts.failed > 0 || report.trouble.is_some(),
    };
    completion.exit()
}

/// A pack whose code is what its hashes say.
fn read(path: &Path) -> anyhow::Result<(Pack, usize)> {
    let name = path.display().to_string();
    let bytes = bytes_of(path).with_context(|| name.clone())?;
    let pack = Pack::read(&bytes).with_context(|| name.clone())?;
    if let Some(place) = wrong_module_hash(&pack) {
        bail!("{name}: the code of module {place} is not what its hash says: have the pack written again");
    }
    Ok((pack, bytes.len()))
}

fn show(path: &Path, args: &PackArgs, tools: &Tools) -> anyhow::Result<Exit> {
    let name = path.display().to_string();
    let (pack, bytes) = read(path)?;
    if pack.data().problems.is_empty() {
        note(&format!("warning: {name}: it has no problem"));
    }
    let remarks: Vec<String> = remark_of_sources(&pack, args.again, tools)?.into_iter().collect();
    let contents = PackContents { name: &name, bytes, pack: &pack, losses: &[], remarks: &remarks };
    answered(print(&contents, args.format), Exit::Done)
}

/// What is to be said of a pack whose kernels were compiled of other sources than those of this program. `again`:
/// whether to see what they compile to now.
fn remark_of_sources(pack: &Pack, again: bool, tools: &Tools) -> anyhow::Result<Option<String>> {
    let compiler = tools.compiler()?;
    let (its, ours) = (&pack.data().kernel_hash, compiler.kernel_hash());
    if *its == ours {
        return Ok(None);
    }
    let sources =
        format!("Its kernels are compiled of other sources ({its}) than those of this program ({ours})");
    if !again {
        return Ok(Some(format!("{sources}; --again says whether these compile to the same.")));
    }
    let changed = changed(pack, &compiler, None)?;
    Ok(Some(match changed.first() {
        None => format!("{sources}, which compile to the same."),
        Some(first) => {
            let of = plural(changed.len(), "kernel");
            format!("{sources}, which compile to something else: {of}, as {first}.")
        }
    }))
}
