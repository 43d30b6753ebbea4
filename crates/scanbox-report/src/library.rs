//! What the library costs, as a table and for machines.

use std::io::{self, Write};

use scanbox_analysis::library::{LibraryCost, LibraryDifference};
use scanbox_model::call_form::CallForm;
use scanbox_model::record::Cache;
use scanbox_model::units::size_label;
use schemars::JsonSchema;
use serde::Serialize;

use crate::grid::{Grid, GridColumn, Style};
use crate::terminal::fold;
use crate::words::subject_title;

/// What is said of a difference in JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LibraryRow<'a> {
    n: u64,
    cache: Option<Cache>,
    what: &'static str,
    config: &'a str,
    call_form: Option<CallForm>,
    against_config: &'a str,
    against_form: Option<CallForm>,
    median_ns: f64,
    against_ns: f64,
    /// By how much the first one takes longer, and at most (the upper end of the interval that holds it at 95 %).
    more_ns: f64,
    /// None after one round.
    most_ns: Option<f64>,
}

impl<'a> LibraryRow<'a> {
    pub fn new(difference: &LibraryDifference<'a>) -> Self {
        let &LibraryDifference { record, other, ns: [median_ns, against_ns], .. } = difference;
        Self {
            n: record.n_elements,
            cache: record.cache,
            what: words(difference),
            config: &record.config_id,
            call_form: record.call_form,
            against_config: &other.config_id,
            against_form: other.call_form,
            median_ns,
            against_ns,
            more_ns: difference.more_ns(),
            most_ns: difference.most_ns(),
        }
    }
}

fn words(difference: &LibraryDifference<'_>) -> &'static str {
    match difference.cost {
        LibraryCost::Recording if difference.record.call_form == Some(CallForm::LibraryUpdated) => {
            "by the library, line written"
        }
        LibraryCost::Recording => "by the library",
        LibraryCost::Setting => "line written before",
        LibraryCost::Length => "n in memory",
        LibraryCost::LengthAlone => "n in memory, alone",
    }
}

/// The table of what the library costs; nothing where it took no part.
pub(crate) fn write_library(
    differences: &[LibraryDifference<'_>],
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    if differences.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWhat a program gets through the library")?;
    let mut grid = Grid::new([
        GridColumn::numbers("size"),
        GridColumn::words("config"),
        GridColumn::words("buffers").expendable(1),
        GridColumn::words("what"),
        GridColumn::numbers("ns"),
        GridColumn::numbers("against"),
        GridColumn::numbers("more ns"),
        GridColumn::numbers("at most"),
        GridColumn::numbers("more %").expendable(2),
    ]);
    for difference in differences {
        let [own, other] = difference.ns;
        grid.push([
            size_label(difference.record.n_elements),
            subject_title(difference.record),
            difference.record.cache.map_or("", Cache::word).to_owned(),
            words(difference).to_owned(),
            format!("{own:.0}"),
            format!("{other:.0}"),
            format!("{:+.0}", difference.more_ns()),
            difference.most_ns().map_or_else(String::new, |most| format!("{most:+.0}")),
            format!("{:+.1}", difference.more_percent()),
        ]);
    }
    writeln!(out, "{}", grid.draw(Style::Text { width }))?;
    let legend = "by the library: against the same config and arguments, recorded by scanbox; line written: both write \
                  the line before every call; line written before: against a line that stays; n in memory: against \
                  the library's choice for a known n; alone: against the same config where the host knows n; ns, \
                  against: medians of all rounds; more ns: the mean of the differences of the rounds; at most: the \
                  upper end of the interval that holds the difference at 95 %, from two rounds on; more %: of the \
                  mean of the other's rounds";
    writeln!(out, "{}", fold("", legend, 2, width))
}
