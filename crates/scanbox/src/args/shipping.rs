//! The flags that say what of rows is shipped, and what comes of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scanbox_analysis::grouping::{Builder, Runs};
use scanbox_analysis::table::{DeviceTable, Tables};
use scanbox_analysis::warning::Warning;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::api::Api;
use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::nearest::hint;
use scanbox_model::problem::{Direction, Element, InitSource, Mode, Operator, Placement, Problem, Total};
use scanbox_model::record::Clock;
use scanbox_pack::{CallTrait, Promises};
use scanbox_session::device::remembered::remember_refuted;
use scanbox_session::notes::note;
use scanbox_session::pack::{PackMade, PackRows, PackWish, UseSet, pack};
use scanbox_session::tools::Tools;

use super::problem::{element_word, operator_word};
use crate::exit::UsageError;
use crate::inputs::operator_of;
use crate::inputs::{SweepInput, once};

/// The subgroup sizes that get kernels for any device, where nobody says which.
pub const PORTABLE: &str = "8,16,32,64";

/// Every use.
pub const ALL_USES: &str =
    "pushed,line,baked,n-on-device,total,init-in-memory,any-element,scratch-overwritten";

/// Where the operator of rows is, and whether rows may be of other kernels.
#[derive(Debug, Clone, clap::Args)]
pub struct RowArgs {
    /// The GLSL file of the operator that the rows name, if it is your own
    #[arg(long, value_name = "FILE")]
    pub operator: Option<PathBuf>,

    /// Accept rows of other kernel sources: they choose kernels, and their times and losses are left out
    #[arg(long)]
    pub other_sources: bool,

    /// Of a command that has measured the rows itself, and says what of them is not there: what measures more of them;
    /// nothing where nothing does.
    #[arg(skip)]
    pub of_own: Option<&'static str>,
}

/// A set of promises: `none`, `progress`, `progress+workgroup-order`.
pub fn promises(text: &str) -> Result<Promises, String> {
    let words = || Promises::ALL.words().collect::<Vec<_>>().join(", ");
    text.split('+').filter(|word| *word != "none" || text != "none").try_fold(Promises::NONE, |set, word| {
        let one = Promises::try_from(vec![word.to_owned()]);
        one.map(|one| set.with(one)).map_err(|_| {
            let word: String = word.chars().take(40).collect();
            let near = hint(&word, Promises::ALL.words());
            format!("`{word}` is not a promise: none, or any of {}, joined by +{near}", words())
        })
    })
}

/// Subgroup sizes; no list where the word is `none`.
pub fn subgroup_size(text: &str) -> Result<Option<u32>, String> {
    if text == "none" {
        return Ok(None);
    }
    let size = text.parse().ok().filter(|size: &u32| size.is_power_of_two() && (4..=128).contains(size));
    size.map(Some).ok_or_else(|| format!("`{text}` is not a subgroup size: 4, 8, 16, 32, 64, 128, or none"))
}

/// A problem in one word: `u32:add:exclusive`, `f32:max:inclusive:in-place`, `u32:add:inclusive:init=7:reverse`,
/// `u32:add:exclusive:total:init-in-memory`.
pub fn problem(text: &str) -> Result<Problem, String> {
    let words: Vec<&str> = text.split(':').collect();
    let [element, operator, mode, more @ ..] = &*words else {
        return Err(format!("`{text}` is not of the form TYPE:OPERATOR:MODE, as u32:add:exclusive"));
    };
    let (mut placement, mut direction, mut init) = (Placement::OutOfPlace, Direction::Forward, None);
    let (mut total, mut init_source) = (Total::Absent, InitSource::Arguments);
    for word in more {
        match (*word, word.strip_prefix("init=")) {
            ("in-place", _) => placement = Placement::InPlace,
            ("reverse", _) => direction = Direction::Reverse,
            ("total", _) => total = Total::Stored,
            ("init-in-memory", _) => init_source = InitSource::Memory,
            (_, Some(value)) => init = Some(value),
            _ => {
                return Err(format!(
                    "`{word}` in `{text}`: behind TYPE:OPERATOR:MODE there are in-place, reverse, init=VALUE, total and \
                     init-in-memory{}",
                    hint(word, ["in-place", "reverse", "init=VALUE", "total", "init-in-memory"])
                ));
            }
        }
    }
    if let Some(right) = in_order([element, operator, mode]) {
        return Err(format!(
            "the parts of `{text}` must stand as TYPE:OPERATOR:MODE; did you mean `{right}`?"
        ));
    }
    let own = ", and scans by an operator of your own are packed from rows: `scanbox tune --operator FILE`";
    let (element, operator) = (element_word(element, own)?, operator_word(operator, own)?);
    let problem = Problem::new(Mode::from_word(mode)?, element, operator, init, placement)?;
    problem.in_direction(direction).with_operands(total, init_source)
}

/// A use.
pub fn use_word(word: &str) -> Result<CallTrait, String> {
    word.parse().map_err(|error| format!("{error}{}", hint(word, CallTrait::WORDS.map(|(word, _)| word))))
}

/// Type, operator and mode in their order, where they stand in another one.
fn in_order(words: [&str; 3]) -> Option<String> {
    fn place<P: Parameter>(words: [&str; 3]) -> Option<usize> {
        words.iter().position(|word| P::from_word(word).is_ok())
    }
    let places = [place::<Element>(words)?, place::<Operator>(words)?, place::<Mode>(words)?];
    (places != [0, 1, 2]).then(|| places.map(|place| words[place]).join(":"))
}

/// What is shipped for these uses, where nobody says anything else.
pub fn wish(uses: &[CallTrait]) -> PackWish {
    PackWish {
        tiers: vec![Promises::NONE, Promises::PROGRESS],
        most: None,
        uses: UseSet::new(uses),
        portable: Vec::new(),
    }
}

/// The pack of the rows in these files.
///
/// # Errors
/// When a file cannot be read, rows are not of one device or not of these kernels, or nothing can be shipped.
pub fn made(files: &[PathBuf], args: &RowArgs, wish: &PackWish, tools: &Tools) -> anyhow::Result<PackMade> {
    let mut warnings = Vec::new();
    let operator = args.operator.as_deref().map(|path| operator_of("--operator", path)).transpose()?;
    let compiler = tools.compiler()?;
    let compiler = match &operator {
        Some(file) => compiler.with_operator(file.clone()),
        None => compiler,
    };
    let rows = Rows::read(files, args.of_own.is_some(), tools, &mut warnings)?;
    let first = rows.one_device()?;
    let tables: Vec<&DeviceTable> =
        rows.tables.devices.iter().filter(|table| !table.sizes.is_empty()).collect();
    let mut packed = Vec::new();
    for table in tables {
        check_operator(table, operator.as_ref())?;
        let other_sources = check_sources(table, &compiler, args.other_sources)?;
        let device = rows.device(table, first)?;
        packed.push(PackRows {
            catalog: &rows.tables.catalog,
            table,
            device,
            compiler: &compiler,
            other_sources,
            is_partial: rows.is_partial(table),
        });
    }
    if packed.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        bail!(
            "{}: no row of a sweep is ok and has a time, so that nothing can be shipped; `scanbox sweep --space handover` \
             measures kernels to ship",
            names.join(", ")
        );
    }
    for warning in &warnings {
        note(&format!("warning: {warning}"));
    }
    tools.warn_of_cache();
    let made = pack(&packed, wish)?;
    let helps = args.of_own.unwrap_or("; `scanbox sweep --space handover` measures some");
    for warning in &made.warnings {
        note(&format!("warning: {warning}{helps}"));
    }
    Ok(made)
}

/// Rows, and the devices that the metadata beside them is about.
struct Rows {
    tables: Tables,
    /// By file.
    devices: BTreeMap<String, DeviceProfile>,
    /// The points that the sweep was asked for, by file.
    points: BTreeMap<String, u64>,
}

impl Rows {
    fn read(
        files: &[PathBuf],
        are_own: bool,
        tools: &Tools,
        warnings: &mut Vec<String>,
    ) -> anyhow::Result<Self> {
        let mut builder = Builder::new(Clock::Steady);
        let (mut devices, mut points) = (BTreeMap::new(), BTreeMap::new());
        for path in once(files, warnings) {
            let file = SweepInput::read(path, Clock::Steady)?;
            if let Some(metadata) = file.metadata() {
                let mut device = metadata.device.clone();
                // Nothing is shipped that was seen to hang since.
                remember_refuted(&mut device, tools);
                devices.insert(path.display().to_string(), device);
                points.insert(path.display().to_string(), metadata.points);
            }
            file.add_to(&mut builder, "", warnings);
        }
        let (tables, more) = builder.finish(Runs::Latest);
        let is_told = |warning: &&Warning| !(are_own && matches!(warning, Warning::Incomplete { .. }));
        warnings.extend(more.iter().filter(is_told).map(ToString::to_string));
        Ok(Self { tables, devices, points })
    }

    /// The first table, if all are of one device.
    fn one_device(&self) -> anyhow::Result<Option<&DeviceTable>> {
        let first = self.tables.devices.first();
        let another = first.and_then(|first| {
            let differs = |table: &&DeviceTable| {
                table.device != first.device || table.provenance.driver != first.provenance.driver
            };
            Some((first, self.tables.devices.iter().find(differs)?))
        });
        if let Some((first, other)) = another {
            bail!(
                "a pack is of one device with one driver, and there are rows of {} ({}) and of {} ({}): name files of one, \
                 and make a pack of each",
                first.title,
                first.provenance.driver,
                other.title,
                other.provenance.driver
            );
        }
        if let Some(table) = first.filter(|table| table.device.api.api != Api::Vulkan) {
            bail!(
                "the rows are of {}: a pack is SPIR-V for Vulkan, and made of rows of Vulkan alone: name files of those",
                table.title
            );
        }
        Ok(first)
    }

    /// Whether most of the points that a sweep of a table was asked for have no row.
    fn is_partial(&self, table: &DeviceTable) -> bool {
        let points = table.files.iter().filter_map(|file| self.points.get(file)).max();
        points.is_some_and(|&points| 2 * table.summary.rows < points)
    }

    /// What the device of a table can do.
    fn device(&self, table: &DeviceTable, first: Option<&DeviceTable>) -> anyhow::Result<&DeviceProfile> {
        let of = |table: &DeviceTable| {
            let mut found = table.files.iter().filter_map(|file| self.devices.get(file));
            found.find(|device| device.driver == table.provenance.driver)
        };
        of(table).or_else(|| first.and_then(of)).with_context(|| {
            format!(
                "{}: there is no metadata beside it (x.csv: x.meta.json), which says what the device can do",
                table.files.join(", ")
            )
        })
    }
}

/// Whether the rows of a table are of other sources than these, which somebody has to want.
fn check_sources(table: &DeviceTable, compiler: &Compiler, accepted: bool) -> anyhow::Result<bool> {
    let (measured, here) = (&table.provenance.kernel_hash, compiler.kernel_hash());
    if *measured == here {
        return Ok(false);
    }
    if !accepted {
        bail!(
            "{}: the rows are of kernel sources {measured}, and these are {here}: what was measured would not be what is \
             shipped; sweep again, or pass --other-sources, which leaves their times out",
            table.files.join(", ")
        );
    }
    Ok(true)
}

/// Whether the operator of a table is the one that is there to be compiled.
fn check_operator(table: &DeviceTable, operator: Option<&OperatorFile>) -> Result<(), UsageError> {
    let Some(user) = table.problem.user() else { return Ok(()) };
    let wrong = match operator {
        Some(file) if file.operator() == user => return Ok(()),
        Some(file) => format!("--operator {} is another one", file.source().path),
        None => "--operator FILE names it".to_owned(),
    };
    Err(UsageError(format!(
        "{}: the rows are of the operator {} of a file of your own ({}): {wrong}",
        table.files.join(", "),
        user.name,
        user.hash_text()
    )))
}

/// What a command reads beside rows.
impl RowArgs {
    /// Whether one of them is there.
    pub fn is_given(&self) -> bool {
        self.operator.is_some() || self.other_sources
    }

    /// The file of the operator, where there is one.
    pub fn input(&self) -> Option<&Path> {
        self.operator.as_deref()
    }
}
