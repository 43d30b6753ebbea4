//! What no row can say: columns that contradict each other, and values that nothing has.
//!
//! A column that follows from others is checked against them; an empty cell of a parameter contradicts nothing,
//! because files of older versions have it. One table ([`RULES`]) holds it all; the reader of files
//! ([`crate::csv_file`]) refuses a row that breaks a rule, with the column to blame. Rows of other implementations
//! have labels and sizes of their own: what follows from a config or a problem is checked of scanbox's own rows alone.

mod checker;
mod labelled;
mod utc;

pub use self::checker::{Checker, check};
pub use self::labelled::Labelled;
use self::utc::is_utc;
use std::rc::Rc;

use crate::api::Api;
use crate::config::{Config, Family, MOST_ROWS};
use crate::parameters::PARAMETER_NAMES;
use crate::problem::{Mode, Problem};
use crate::record::{Record, RoundMedians, Status, THROUGHPUT, TimeStats};

/// The subject of rows that scanbox measured of its own kernels.
pub const OWN_SUBJECT: &str = "scanbox";

/// The most invocations that a subgroup has in Vulkan.
const MAX_SUBGROUP_SIZE: u32 = 128;

/// The column to blame, and why.
type Blame = (&'static str, String);

/// What a rule sees of a row.
pub struct RowView<'a> {
    record: &'a Record,
    /// The text of `throughput_gbps`, which a record computes and does not keep.
    throughput: &'a str,
    /// Of scanbox's own rows: what the label names, or why it names nothing.
    label: Option<&'a Result<Rc<Labelled>, String>>,
    /// Of scanbox's own rows: the problem, or why there is none.
    problem: Option<&'a Result<Problem, String>>,
}

impl<'a> RowView<'a> {
    fn labelled(&self) -> Option<&'a Labelled> {
        self.label?.as_ref().ok().map(Rc::as_ref)
    }

    fn config(&self) -> Option<&'a Config> {
        self.labelled().map(|labelled| &labelled.config)
    }

    fn is_ok(&self) -> bool {
        self.record.status == Status::Ok
    }
}

/// What holds of every row.
pub struct Rule {
    /// What holds, in a few words.
    pub name: &'static str,
    /// The columns that it is about.
    pub columns: &'static [&'static str],
    check: fn(&RowView<'_>) -> Result<(), Blame>,
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The name of the rule.
    pub rule: &'static str,
    /// The column to blame.
    pub column: &'static str,
    /// What is wrong.
    pub reason: String,
}

/// `Err` with this column and reason unless it holds.
fn holds(holds: bool, column: &'static str, reason: impl FnOnce() -> String) -> Result<(), Blame> {
    if holds { Ok(()) } else { Err((column, reason())) }
}

const STEADY: [&str; 5] =
    ["steady_ns_median", "steady_ns_min", "steady_ns_mean", "steady_ns_q1", "steady_ns_q3"];
const SPAN: [&str; 5] = ["span_ns_median", "span_ns_min", "span_ns_mean", "span_ns_q1", "span_ns_q3"];

/// The statistics of a time: all there, above zero and in order.
fn times_in_order(time: Option<&TimeStats>, columns: [&'static str; 5]) -> Result<(), Blame> {
    let Some(time) = time else { return Ok(()) };
    let values = [time.median_ns, time.min_ns, time.mean_ns, time.q1_ns, time.q3_ns];
    for (value, column) in values.into_iter().zip(columns) {
        holds(value > 0, column, || "a time is above zero, and stands with all its statistics".to_owned())?;
    }
    let [median, min, mean, q1, q3] = columns;
    let at_most = |low: u64, low_column, high: u64, high_column: &str| {
        holds(low <= high, low_column, || format!("{low} is above {high} in `{high_column}`"))
    };
    at_most(time.min_ns, min, time.q1_ns, q1)?;
    at_most(time.q1_ns, q1, time.median_ns, median)?;
    at_most(time.median_ns, median, time.q3_ns, q3)?;
    at_most(time.min_ns, min, time.mean_ns, mean)
}

/// Every rule. The first that a row breaks is told.
pub const RULES: &[Rule] = &[
    Rule {
        name: "a row is about at least one element",
        columns: &["n_elements"],
        check: |row| {
            holds(row.record.n_elements > 0, "n_elements", || {
                "a row is about at least one element".to_owned()
            })
        },
    },
    Rule {
        name: "the label of scanbox's own config can be read",
        columns: &["config_id"],
        check: |row| match row.label {
            Some(Err(reason)) => Err(("config_id", reason.clone())),
            _ => Ok(()),
        },
    },
    Rule {
        name: "the kernel is that of the config",
        columns: &["kernel_id", "config_id"],
        check: |row| {
            let Some(Labelled { kernel, .. }) = row.labelled() else { return Ok(()) };
            holds(row.record.kernel_id == *kernel, "kernel_id", || {
                let found: String = row.record.kernel_id.chars().take(80).collect();
                format!("`{found}` where {} belongs to {kernel}", row.record.config_id)
            })
        },
    },
    Rule {
        name: "parameters are those of the label",
        columns: &PARAMETER_NAMES,
        check: |row| {
            let cells = &row.record.parameters;
            let misfit = row.labelled().and_then(|labelled| labelled.misfit(cells));
            let Some((parameter, said)) = misfit else { return Ok(()) };
            let (found, said) = (parameter.cell(cells), said.to_string());
            let said = if said.is_empty() { "none".to_owned() } else { format!("`{said}`") };
            Err((parameter.name, format!("`{found}` where {} says {said}", row.record.config_id)))
        },
    },
    Rule {
        name: "workgroups follow from config and size",
        columns: &["workgroups", "n_elements"],
        check: |row| {
            let (Some(config), n) = (row.config(), row.record.n_elements) else { return Ok(()) };
            let tiles = config.tiles(n);
            if let Some(fixed) = config.workgroups {
                holds(u64::from(fixed) == tiles, "n_elements", || {
                    format!("{n} elements are {tiles} tiles, and {} runs {fixed}", row.record.config_id)
                })?;
            }
            let Some(found) = row.record.parameters.workgroups.map(u64::from) else { return Ok(()) };
            let (fits, most) = match config.kernel.family {
                Family::OneWorkgroup => (found == 1, 1),
                Family::Persistent => {
                    let rows = n.div_ceil(config.workgroup_size.into()).min(MOST_ROWS.into());
                    let most = if config.scans_few() { tiles.max(rows) } else { tiles };
                    ((1..=most).contains(&found), most)
                }
                _ => (found == tiles, tiles),
            };
            holds(fits, "workgroups", || {
                format!("{found} where {} has {most} for {n} elements", row.record.config_id)
            })
        },
    },
    Rule {
        name: "mode, element type, operator, initial value and placement go together",
        columns: &["op", "mode", "element", "init", "placement", "direction", "total", "init_source"],
        check: |row| match row.problem {
            Some(Err(reason)) => Err(("op", reason.clone())),
            _ => Ok(()),
        },
    },
    Rule {
        name: "only a user's operator has a file",
        columns: &["operator_hash", "operator_facts"],
        check: |row| {
            let record = row.record;
            let built_in = record.op.is_none_or(|name| name.built_in().is_some());
            let none = || "only a user's operator has it".to_owned();
            holds(!built_in || record.operator_hash.is_empty(), "operator_hash", none)?;
            holds(!built_in || record.operator_facts.is_empty(), "operator_facts", none)
        },
    },
    Rule {
        name: "an element has the bytes of its type",
        columns: &["element_bytes", "element"],
        check: |row| match row.record.element {
            Some(element) => holds(row.record.element_bytes == element.bytes(), "element_bytes", || {
                format!("{} where {element} has {}", row.record.element_bytes, element.bytes())
            }),
            None => Ok(()),
        },
    },
    Rule {
        name: "bytes are those of size, element and mode",
        columns: &["bytes_moved", "n_elements", "mode", "element"],
        check: |row| {
            let found = row.record.bytes_moved;
            if let Some(Ok(problem)) = row.problem {
                let n = row.record.n_elements;
                let outputs = if problem.mode() == Mode::Reduce { 1 } else { n };
                let wanted = n.checked_add(outputs).and_then(|all| all.checked_mul(problem.element_bytes()));
                return holds(wanted == Some(found), "bytes_moved", || match wanted {
                    Some(wanted) => {
                        format!("{found} where {n} elements of {} move {wanted}", problem.title())
                    }
                    None => format!("{n} elements of {} are more than can be counted", problem.title()),
                });
            }
            let timed = row.record.steady.is_some() || row.record.span.is_some();
            holds(!timed || found > 0, "bytes_moved", || "a row with a time moved something".to_owned())
        },
    },
    Rule {
        name: "what is ok has no wrong element",
        columns: &["mismatches", "first_mismatch"],
        check: |row| {
            let record = row.record;
            let wrong = |count: u64| move || format!("{count} in a row that is ok");
            if !row.is_ok() {
                return Ok(());
            }
            let count = record.mismatches.unwrap_or(0);
            holds(count == 0, "mismatches", wrong(count))?;
            let first = record.first_mismatch;
            holds(first.is_none(), "first_mismatch", wrong(first.unwrap_or(0)))
        },
    },
    Rule {
        name: "what is ok has a time",
        columns: &["status", "steady_ns_median"],
        check: |row| {
            let timed = row.record.steady.is_some();
            holds(timed || !row.is_ok(), "steady_ns_median", || "a row that is ok has a time".to_owned())
        },
    },
    Rule {
        name: "times are above zero and in order",
        columns: &[
            "steady_ns_median",
            "steady_ns_min",
            "steady_ns_mean",
            "steady_ns_q1",
            "steady_ns_q3",
            "span_ns_median",
            "span_ns_min",
            "span_ns_mean",
            "span_ns_q1",
            "span_ns_q3",
        ],
        check: |row| {
            times_in_order(row.record.steady.as_ref(), STEADY)?;
            times_in_order(row.record.span.as_ref(), SPAN)
        },
    },
    Rule {
        name: "a time has samples",
        columns: &["samples"],
        check: |row| {
            let timed = row.record.steady.is_some() || row.record.span.is_some();
            holds(!timed || row.record.samples > 0, "samples", || {
                "a time is that of at least one sample".to_owned()
            })
        },
    },
    Rule {
        name: "throughput is bytes over time",
        columns: &[THROUGHPUT, "bytes_moved", "steady_ns_median", "status"],
        check: |row| {
            let Ok(found) = row.throughput.parse::<f64>() else { return Ok(()) };
            // It is written with two digits.
            let computed = row.record.throughput_gbps(crate::record::Clock::Steady);
            let fits = computed.is_some_and(|gbps| (gbps - found).abs() <= 0.005 + 1e-9 * gbps);
            holds(fits, THROUGHPUT, || match computed {
                Some(gbps) => format!("{found} where bytes over time are {gbps:.2}"),
                None => format!("{found} in a row that is not ok"),
            })
        },
    },
    Rule {
        name: "only an ok row of a sweep is confirmed",
        columns: &["confirmed_ns", "status", "cache"],
        check: |row| {
            let Some(ns) = row.record.confirmed_ns else { return Ok(()) };
            holds(ns > 0, "confirmed_ns", || "a time is above zero".to_owned())?;
            holds(row.is_ok(), "confirmed_ns", || format!("a time in a row that is {}", row.record.status))?;
            holds(!row.record.is_of_benchmark(), "confirmed_ns", || {
                "a row of a benchmark is not confirmed, a row of a sweep is".to_owned()
            })
        },
    },
    Rule {
        name: "rounds are at least one, and their spread is not negative",
        columns: &["rounds", "round_spread_pct"],
        check: |row| {
            let record = row.record;
            holds(record.rounds != Some(0), "rounds", || "a time is that of at least one round".to_owned())?;
            let spread = record.round_spread_pct;
            holds(spread.is_none_or(|pct| pct >= 0.0), "round_spread_pct", || {
                format!("{} is below zero", spread.unwrap_or(0.0))
            })
        },
    },
    Rule {
        name: "the medians of rounds are times of a benchmark, one of each round",
        columns: &["round_medians_ns", "rounds", "status", "cache"],
        check: |row| {
            let RoundMedians(medians) = &row.record.round_medians_ns;
            if medians.is_empty() {
                return Ok(());
            }
            let column = "round_medians_ns";
            holds(row.is_ok(), column, || format!("times in a row that is {}", row.record.status))?;
            holds(row.record.is_of_benchmark(), column, || "rows of a sweep have none".to_owned())?;
            holds(medians.iter().all(|&ns| ns > 0.0), column, || "a time is above zero".to_owned())?;
            holds(row.record.rounds == Some(medians.len() as u32), column, || {
                let rounds =
                    row.record.rounds.map_or_else(|| "no number".to_owned(), |rounds| rounds.to_string());
                format!("{} of them, and {rounds} of rounds", medians.len())
            })
        },
    },
    Rule {
        name: "a reason to take part is one of a benchmark",
        columns: &["selection", "cache"],
        check: |row| {
            let fits = row.record.selection.is_empty() || row.record.is_of_benchmark();
            holds(fits, "selection", || {
                "a row without a cache state is of a sweep, and nobody selected it".to_owned()
            })
        },
    },
    Rule {
        name: "counts of fallbacks and simulated blocking are of a benchmark",
        columns: &[
            "blocking",
            "spins_sum",
            "lookback_length_sum",
            "fallbacks_sum",
            "insertions_sum",
            "cache",
        ],
        check: |row| {
            let record = row.record;
            let counts = [
                ("blocking", record.blocking.map(u64::from)),
                ("spins_sum", record.spins_sum),
                ("lookback_length_sum", record.lookback_length_sum),
                ("fallbacks_sum", record.fallbacks_sum),
                ("insertions_sum", record.insertions_sum),
            ];
            for (column, count) in counts {
                holds(count.is_none() || record.is_of_benchmark(), column, || {
                    "a row without a cache state is of a sweep, which counts nothing".to_owned()
                })?;
            }
            let (inserted, fell_back) = (record.insertions_sum, record.fallbacks_sum);
            holds(inserted.unwrap_or(0) <= fell_back.unwrap_or(u64::MAX), "insertions_sum", || {
                "more totals were inserted than tiles were added up".to_owned()
            })
        },
    },
    Rule {
        name: "a form of calls is of a benchmark, and of a kernel that has such calls",
        columns: &["call_form", "cache", "config_id"],
        check: |row| {
            let record = row.record;
            let Some(form) = record.call_form else { return Ok(()) };
            holds(record.is_of_benchmark(), "call_form", || {
                "a row without a cache state is of a sweep, whose calls have no other form".to_owned()
            })?;
            let goes = row.config().is_none_or(|config| form.goes_with(&config.kernel));
            holds(goes, "call_form", || format!("{form}, and {} has no such calls", record.config_id))
        },
    },
    Rule {
        name: "what is ok is within the bound of its error",
        columns: &["max_error", "error_bound"],
        check: |row| {
            let bound = row.record.error_bound.map(|bound| bound.0);
            let max = row.record.max_error.map(|error| error.0);
            for (column, value) in [("max_error", max), ("error_bound", bound)] {
                holds(value.is_none_or(|value| value >= 0.0), column, || {
                    "an error is not negative".to_owned()
                })?;
            }
            match (max, bound) {
                (Some(max), Some(bound)) if row.is_ok() => holds(max <= bound, "max_error", || {
                    format!("{max:.2e} is above the bound of {bound:.2e}")
                }),
                _ => Ok(()),
            }
        },
    },
    Rule {
        name: "a subgroup is a power of two",
        columns: &["subgroup_size"],
        check: |row| {
            let size = row.record.subgroup_size.unwrap_or(1);
            holds(size.is_power_of_two() && size <= MAX_SUBGROUP_SIZE, "subgroup_size", || {
                format!("{size} is not a power of two up to {MAX_SUBGROUP_SIZE}")
            })
        },
    },
    Rule {
        name: "what was found right was called",
        columns: &["twin_calls", "proved_calls"],
        check: |row| {
            let calls = [("twin_calls", row.record.twin_calls), ("proved_calls", row.record.proved_calls)];
            for (column, calls) in calls {
                let none = row.is_ok() && calls == Some(0);
                holds(!none, column, || "what is ok was found right in at least one call".to_owned())?;
            }
            Ok(())
        },
    },
    Rule {
        name: "a device is never slower by all of its time",
        columns: &["drift_pct"],
        check: |row| {
            let drift = row.record.drift_pct.unwrap_or(0.0);
            holds(drift > -100.0, "drift_pct", || format!("{drift} is a time below zero"))
        },
    },
    Rule {
        name: "only rows of WebGPU name an implementation",
        columns: &["implementation", "robustness", "api"],
        check: |row| {
            let record = row.record;
            let is_vulkan = record.api == Api::Vulkan;
            holds(is_vulkan || !record.implementation.is_empty(), "implementation", || {
                "a row of WebGPU says who implements it".to_owned()
            })?;
            let none = || "that of Vulkan is the driver".to_owned();
            holds(!is_vulkan || record.implementation.is_empty(), "implementation", none)?;
            let asked = record.robustness.is_some();
            holds(!is_vulkan || !asked, "robustness", || "nobody asks Vulkan for it".to_owned())
        },
    },
    Rule {
        name: "times come in steps above zero, of at least one call",
        columns: &["timer_resolution_ns", "sample_calls"],
        check: |row| {
            let record = row.record;
            let step = record.timer_resolution_ns;
            holds(step.is_none_or(|ns| ns > 0.0), "timer_resolution_ns", || {
                "a step is above zero; where it is not known, the cell is empty".to_owned()
            })?;
            holds(record.sample_calls != Some(0), "sample_calls", || {
                "a sample has at least one call".to_owned()
            })
        },
    },
    Rule {
        name: "a row has its time in UTC",
        columns: &["timestamp_utc"],
        check: |row| {
            let text = &row.record.timestamp_utc;
            holds(text.is_empty() || is_utc(text), "timestamp_utc", || {
                let text: String = text.chars().take(40).collect();
                format!("`{text}` is not a time in UTC (2026-11-22T15:36:08Z)")
            })
        },
    },
];
