//! One measured row, and the table of its columns: the only place where a column has a name.

mod cache;
mod cell;
#[macro_use]
mod documented;
mod selection;
mod status;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use self::cache::Cache;
use self::cell::CsvCell;
pub use self::cell::{Flag, Ratio, RoundMedians, UnknownCell};
pub use self::selection::{Selection, Selections};
pub use self::status::Status;
use crate::api::Api;
use crate::call_form::CallForm;
use crate::parameters::{Cells, Config, Declaration, PARAMETERS, Value, Values};
use crate::problem::{Direction, Element, InitSource, Mode, Placement, Total};
use crate::timer::Timer;
use crate::units::throughput_gbps;
use crate::user_operator::OperatorName;

/// The version of the columns. Within a version columns are only appended.
pub const SCHEMA: u32 = 1;

documented! {
    /// The distribution of the time of one call, in nanoseconds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub struct TimeStats {
        /// The median: the time that decides.
        pub median_ns: u64,
        /// The fastest sample.
        pub min_ns: u64,
        /// The arithmetic mean.
        pub mean_ns: u64,
        /// The first quartile.
        pub q1_ns: u64,
        /// The third quartile.
        pub q3_ns: u64,
        /// The standard deviation of the samples.
        pub stddev_ns: u64,
    }
}

documented! {
    /// One row: one subject at one input size on one device. Fields are in column order, but for the parameters.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct Record {
        /// Version of the columns.
        pub schema: u32,
        /// The run that wrote the row: start time and a random part.
        pub run_id: String,
        /// Device name.
        pub device: String,
        /// Device UUID.
        pub device_uuid: String,
        /// Driver name and version.
        pub driver: String,
        /// Hash of all kernel sources.
        pub kernel_hash: String,
        /// `scanbox`, or the implementation that was measured.
        pub subject: String,
        /// Its version.
        pub subject_version: String,
        /// Label of the config; for another implementation, its own label.
        pub config_id: String,
        /// Label of the kernel; for another implementation, its own label.
        pub kernel_id: String,
        /// Input size in elements.
        pub n_elements: u64,
        /// Which prefixes are written.
        pub mode: Option<Mode>,
        /// Element type.
        pub element: Option<Element>,
        /// Name of the operator.
        pub op: Option<OperatorName>,
        /// Bytes of one element.
        pub element_bytes: u32,
        /// Bytes that a call moves at least (reads and writes).
        pub bytes_moved: u64,
        /// Which input it ran on: `random`, `bounded` (the total fits 30 bits) or `real` (sums of it are rounded).
        pub input: String,
        /// What it says of the config; nothing, for another implementation.
        pub parameters: Cells,
        /// How the attempt ended.
        pub status: Status,
        /// Why, where it is not `ok`.
        pub reason: String,
        /// Wrong elements, where the result was compared; of elements of several words that are compared bit by bit,
        /// wrong words of 4 bytes.
        pub mismatches: Option<u64>,
        /// The first wrong element.
        pub first_mismatch: Option<u64>,
        /// Samples behind the `steady` statistics.
        pub samples: u32,
        /// Time of one of many dependent calls back to back.
        pub steady: Option<TimeStats>,
        /// Time between timestamps around one call.
        pub span: Option<TimeStats>,
        /// Subgroup size that ran.
        pub subgroup_size: Option<u32>,
        /// Registers per invocation, where the driver tells.
        pub registers: Option<u32>,
        /// Time to compile GLSL to SPIR-V, in milliseconds; 0 from the cache.
        pub compile_ms: Option<u64>,
        /// Position in the shuffled order of the run.
        pub order_index: u64,
        /// How much slower the canary was at its last measurement than at its first, in percent.
        pub drift_pct: Option<f64>,
        /// When the row was finished, UTC.
        pub timestamp_utc: String,
        /// Shared memory of a workgroup, in bytes.
        pub shared_bytes: Option<u32>,
        /// Hot or cold, in a benchmark; empty in a sweep.
        pub cache: Option<Cache>,
        /// Why the subject takes part in a benchmark, joined by `+`; empty in a sweep, except for anchors.
        pub selection: Selections,
        /// Blocks of samples, one per round: behind the times of a benchmark, or behind `confirmed_ns` of a sweep.
        pub rounds: Option<u32>,
        /// The highest less the lowest `steady` median of a round, in percent of their median; as `rounds`.
        pub round_spread_pct: Option<f64>,
        /// `steady` time by the confirmation of a sweep: the median in alternating blocks with the other leaders of the
        /// size. A config that joins in a later pass is set against the fastest of the size, whose time of that pass
        /// gives the scale.
        pub confirmed_ns: Option<u64>,
        /// What it begins with, as text: of an exclusive scan always, of others where somebody said so. Of a user's
        /// operator the numbers of its structure, `1u,-3,0.5`; empty where that is its identity.
        pub init: String,
        /// Where the output stands; empty in files from before there was a choice.
        pub placement: Option<Placement>,
        /// Of sums and products of floats: the largest error of an element, as a share of the sum of magnitudes that
        /// were combined to it; 0 where every element is exact.
        pub max_error: Option<Ratio>,
        /// What it may be at most.
        pub error_bound: Option<Ratio>,
        /// Of a user's operator: hash of its file; else empty.
        pub operator_hash: String,
        /// What the file says of it: whether it commutes, and how far results may be off; else empty.
        pub operator_facts: String,
        /// Simulated blocking: 1 in 2^`blocking` tiles kept its total to itself; empty where none did.
        pub blocking: Option<u32>,
        /// What the calls are that no ordinary build of the config takes, or whose line of arguments is not written as
        /// ordinary ones write it; empty for those.
        pub call_form: Option<CallForm>,
        /// Looks that found nothing, of all workgroups of a call that counted them.
        pub spins_sum: Option<u64>,
        /// Tiles that lookbacks were made of, likewise.
        pub lookback_length_sum: Option<u64>,
        /// Tiles that workgroups added up for others, likewise.
        pub fallbacks_sum: Option<u64>,
        /// Those of them that nobody had published before, likewise.
        pub insertions_sum: Option<u64>,
        /// Name of the host that the device is in; empty in files from before it was written.
        pub host: String,
        /// PCI address of the device, `domain:bus:device.function`; empty where the driver does not tell.
        pub pci_address: String,
        /// Whether the run shared the device with others on purpose.
        pub shared_device: Flag,
        /// Calls of the untimed twin of the timed path, all in one command buffer, found right after the samples;
        /// empty in files from before there was one, and of baselines.
        pub twin_calls: Option<u32>,
        /// Calls in the circumstance that failed before that were found right by `sweep --retry-failed --prove`; empty
        /// elsewhere.
        pub proved_calls: Option<u32>,
        /// Through what the device was driven, `vulkan` or `webgpu`; empty in older files, which are of Vulkan.
        pub api: Api,
        /// What implements that API, with its version and the API below; empty of Vulkan, where that is the driver.
        pub implementation: String,
        /// Whether accesses of kernels were kept within bounds: `on` or `off`; empty where nobody asks.
        pub robustness: Option<bool>,
        /// Where times come from: `timestamps` of the device, or the clock on the `wall`; empty in older files.
        pub timer: Option<Timer>,
        /// The steps in nanoseconds in which times come; empty where that is not known, and no matter of the samples.
        pub timer_resolution_ns: Option<f64>,
        /// Calls of a sample behind the `steady` statistics; of several rounds, of the last one. Empty in older files.
        pub sample_calls: Option<u32>,
        /// The `steady` median of each round of a benchmark in nanoseconds, in the order of the rounds, joined by `+`:
        /// two subjects are compared round by round. Empty in older files.
        pub round_medians_ns: RoundMedians,
        /// From which end elements are combined; empty in older files, which are `forward`.
        pub direction: Option<Direction>,
        /// Subgroups that one SIMD unit holds at a time, where the driver tells.
        pub subgroups_per_simd: Option<u32>,
        /// Workgroups that one compute unit holds at a time, where a list or a probe of the device tells.
        pub workgroups_held: Option<u32>,
        /// Whether the total of all elements is stored beside the scan; empty in older files, which are `absent`.
        pub total: Option<Total>,
        /// Where calls find what they begin with; empty in older files, which are `arguments`.
        pub init_source: Option<InitSource>,
        /// What stands in columns that this version does not know: kept, and written again with the row.
        pub unknown: Vec<UnknownCell>,
    }
}

/// Which of the two times an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// Many dependent calls back to back.
    #[default]
    Steady,
    /// One call between timestamps.
    Span,
}

impl Record {
    /// Whether its calls are those of an ordinary build, as one follows the other.
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        self.blocking.is_none() && self.call_form.is_none()
    }

    /// Whether it is a row of a benchmark: those of a sweep have no cache state.
    #[must_use]
    pub fn is_of_benchmark(&self) -> bool {
        self.cache.is_some()
    }

    /// Whether it is a row of an anchor: beside the points of a shard, and of none of them.
    #[must_use]
    pub fn is_anchor(&self) -> bool {
        self.selection.iter().any(|selection| Selection::ANCHORS.contains(selection))
    }

    /// The statistics of one clock.
    #[must_use]
    pub fn time(&self, clock: Clock) -> Option<&TimeStats> {
        match clock {
            Clock::Steady => self.steady.as_ref(),
            Clock::Span => self.span.as_ref(),
        }
    }

    /// Throughput by the median of one clock, in GB/s; `None` unless the row is `ok` and has that time.
    #[must_use]
    pub fn throughput_gbps(&self, clock: Clock) -> Option<f64> {
        let time = self.time(clock).filter(|_| self.status == Status::Ok)?;
        throughput_gbps(self.bytes_moved, time.median_ns)
    }

    /// What a step of the timer comes to in the time of one call, in nanoseconds: the time is not known better. 0 where
    /// steps are not known, and no matter.
    #[must_use]
    pub fn resolution_ns(&self, clock: Clock) -> f64 {
        let calls = match clock {
            Clock::Steady => self.sample_calls.unwrap_or(1).max(1),
            Clock::Span => 1,
        };
        self.timer_resolution_ns.unwrap_or(0.0) / f64::from(calls)
    }

    /// The config of a row of scanbox's own.
    #[must_use]
    pub fn config(&self) -> Option<Config> {
        self.config_id.parse().ok()
    }
}

/// One column: its name, and how a record fills it and is filled from it.
#[derive(Clone, Copy)]
pub struct Column {
    /// The name in the header.
    pub name: &'static str,
    source: CellSource,
}

/// Where a record keeps what stands in a column.
#[derive(Clone, Copy)]
enum CellSource {
    /// In a field of its own.
    Field { write: fn(&Record) -> String, read: fn(&mut Record, &str) -> Result<(), String> },
    /// Among its parameters.
    Parameter(&'static Declaration),
}

impl Column {
    /// What stands in the column, in words.
    #[must_use]
    pub fn meaning(&self) -> String {
        match self.source {
            CellSource::Parameter(parameter) => parameter.meaning.trim().to_owned(),
            CellSource::Field { .. } => meaning_of_field(self.name).unwrap_or_default(),
        }
    }

    /// The name of the type that stands in the column, as `Option<u64>`; `None` of a parameter, which says its values.
    #[must_use]
    pub fn type_name(&self) -> Option<&'static str> {
        match self.source {
            CellSource::Parameter(_) => None,
            CellSource::Field { .. } if self.name == THROUGHPUT => Some("Option<f64>"),
            CellSource::Field { .. } => {
                let field = Record::FIELDS.iter().find(|(field, ..)| *field == self.name);
                // All others are statistics of a time, which a row has or not.
                Some(field.map_or("Option<u64>", |(_, _, type_name)| type_name))
            }
        }
    }

    /// The text of the column.
    #[must_use]
    pub fn write(&self, record: &Record) -> String {
        match self.source {
            CellSource::Field { write, .. } => write(record),
            CellSource::Parameter(parameter) => parameter.cell(&record.parameters).to_string(),
        }
    }

    /// Reads the text into the record.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&self, record: &mut Record, text: &str) -> Result<(), String> {
        match self.source {
            CellSource::Field { read, .. } => read(record, text),
            CellSource::Parameter(parameter) => {
                parameter.set_cell(&mut record.parameters, parameter_value(parameter, text)?);
                Ok(())
            }
        }
    }
}

/// What the field of a column says. A column of a time has the name of the time and that of its statistic.
fn meaning_of_field(column: &str) -> Option<String> {
    let of = |fields: &[(&str, &str, &str)], name: &str| {
        let (_, meaning, _) = fields.iter().find(|(field, ..)| *field == name)?;
        Some(meaning.trim().to_owned())
    };
    if column == THROUGHPUT {
        return Some("Throughput in GB/s: `bytes_moved` over `steady_ns_median`.".to_owned());
    }
    let of_time = || {
        let (time, statistic) = column.split_once("_ns_")?;
        let statistic = of(TimeStats::FIELDS, &format!("{statistic}_ns"))?;
        Some(format!("{} {statistic} In nanoseconds.", of(Record::FIELDS, time)?))
    };
    of(Record::FIELDS, column).or_else(of_time)
}

/// The value that a parameter has in a cell.
fn parameter_value(parameter: &Declaration, text: &str) -> Result<Value, String> {
    match parameter.values {
        _ if text.is_empty() => Ok(Value::Open),
        Values::Words(_) => {
            parameter.values.with_word(text).ok_or_else(|| parameter.values.unknown(parameter.name, text))
        }
        Values::Numbers(..) => u32::read(text).map(Value::Number),
    }
}

macro_rules! column {
    ($field:ident) => {
        Column {
            name: stringify!($field),
            source: CellSource::Field {
                write: |record| record.$field.write(),
                read: |record, text| CsvCell::fill(&mut record.$field, text),
            },
        }
    };
    // A statistic of a time: present in all six columns or in none.
    ($name:literal, $time:ident . $field:ident) => {
        Column {
            name: $name,
            source: CellSource::Field {
                write: |record| record.$time.map_or_else(String::new, |stats| stats.$field.write()),
                read: |record, text| {
                    if !text.is_empty() {
                        record.$time.get_or_insert_default().$field = CsvCell::read(text)?;
                    }
                    Ok(())
                },
            },
        }
    };
}

/// The name of the column that is computed from others when it is written and compared with them when it is read.
pub(crate) const THROUGHPUT: &str = "throughput_gbps";

/// Every column, in file order: parameters stand at the places that their table gives them, all others in the order of
/// `OWN_COLUMNS` between them.
pub static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let of_parameters = PARAMETERS.iter().filter_map(|parameter| {
        let source = CellSource::Parameter(parameter);
        Some((parameter.column?, Column { name: parameter.name, source }))
    });
    let mut of_parameters: BTreeMap<usize, Column> = of_parameters.collect();
    let mut columns = Vec::new();
    for own in OWN_COLUMNS {
        while let Some(column) = of_parameters.remove(&columns.len()) {
            columns.push(column);
        }
        columns.push(*own);
    }
    columns.extend(of_parameters.into_values());
    columns
});

/// Every column that is not a parameter, in file order.
const OWN_COLUMNS: &[Column] = &[
    column!(schema),
    column!(run_id),
    column!(device),
    column!(device_uuid),
    column!(driver),
    column!(kernel_hash),
    column!(subject),
    column!(subject_version),
    column!(config_id),
    column!(kernel_id),
    column!(n_elements),
    column!(mode),
    column!(element),
    column!(op),
    column!(element_bytes),
    column!(bytes_moved),
    column!(input),
    column!(status),
    column!(reason),
    column!(mismatches),
    column!(first_mismatch),
    column!(samples),
    column!("steady_ns_median", steady.median_ns),
    column!("steady_ns_min", steady.min_ns),
    column!("steady_ns_mean", steady.mean_ns),
    column!("steady_ns_q1", steady.q1_ns),
    column!("steady_ns_q3", steady.q3_ns),
    column!("steady_ns_stddev", steady.stddev_ns),
    column!("span_ns_median", span.median_ns),
    column!("span_ns_min", span.min_ns),
    column!("span_ns_mean", span.mean_ns),
    column!("span_ns_q1", span.q1_ns),
    column!("span_ns_q3", span.q3_ns),
    column!("span_ns_stddev", span.stddev_ns),
    Column {
        name: THROUGHPUT,
        source: CellSource::Field {
            write: |record| record.throughput_gbps(Clock::Steady).write(),
            // Derived: the integers in the row decide. The reader of files refuses a row where it says something else.
            read: |_, text| Option::<f64>::read(text).map(|_| ()),
        },
    },
    column!(subgroup_size),
    column!(registers),
    column!(compile_ms),
    column!(order_index),
    column!(drift_pct),
    column!(timestamp_utc),
    // Appended: files without them are read as well.
    column!(shared_bytes),
    column!(cache),
    column!(selection),
    column!(rounds),
    column!(round_spread_pct),
    column!(confirmed_ns),
    column!(init),
    column!(placement),
    column!(max_error),
    column!(error_bound),
    column!(operator_hash),
    column!(operator_facts),
    column!(blocking),
    column!(spins_sum),
    column!(lookback_length_sum),
    column!(fallbacks_sum),
    column!(insertions_sum),
    column!(host),
    column!(pci_address),
    column!(shared_device),
    column!(twin_calls),
    column!(proved_calls),
    column!(call_form),
    column!(api),
    column!(implementation),
    column!(robustness),
    column!(timer),
    column!(timer_resolution_ns),
    column!(sample_calls),
    column!(round_medians_ns),
    column!(direction),
    column!(subgroups_per_simd),
    column!(workgroups_held),
    column!(total),
    column!(init_source),
];

/// How many columns schema 1 began with. The others were appended since: a file may end before them.
pub const FIRST_COLUMNS: usize = 51;
