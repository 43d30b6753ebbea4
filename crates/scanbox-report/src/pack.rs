//! What is in a pack: for whom, which kernel at which size, and what that takes and loses.

use std::collections::BTreeMap;
use std::io::{self, Write};

use scanbox_model::units::{plural, size_label};
use scanbox_pack::json::PackText;
use scanbox_pack::{
    ArgumentKind, Breakpoint, CallTrait, CallUse, ChoiceTable, Pack, PackData, PackProblem, ScanMode,
    ScanProblem,
};

use crate::document::{Document, Format, write_json};
use crate::grid::{Grid, GridColumn, Style};
use crate::terminal::fold;

/// A pack and what it is called.
pub struct PackContents<'a> {
    /// The file.
    pub name: &'a str,
    /// Its bytes.
    pub bytes: usize,
    /// The pack.
    pub pack: &'a Pack,
    /// What its calls lose at each size.
    pub losses: &'a [SizeLosses],
    /// What is known of it beside: sentences.
    pub remarks: &'a [String],
}

/// What ordinary calls lose at each size, for each set of promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeLosses {
    /// The problem, and where calls find their arguments.
    pub title: String,
    /// The sets.
    pub tiers: Vec<String>,
    /// By size, then by set: against the fastest with arguments in the same place, and against the fastest of all, in
    /// parts per million.
    pub rows: BTreeMap<u64, Vec<Option<[u32; 2]>>>,
}

impl Document for PackContents<'_> {
    fn write(&self, format: Format, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.table(width, out),
            Format::Json => write_json(out, &PackText::from(self.pack)),
            other => other.missing("a pack"),
        }
    }
}

impl PackContents<'_> {
    fn table(&self, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let data = self.pack.data();
        let device = &data.device;
        let kinds: usize = data.modules.iter().map(|module| 4 * module.words.len()).sum();
        writeln!(out, "{}: {}, of which modules {}", self.name, bytes_text(self.bytes), bytes_text(kinds))?;
        // A pack that was made without a device has no ids and no driver.
        let is_of_device = device.vendor_id != 0 || device.device_id != 0 || !device.driver.is_empty();
        let ids = if is_of_device {
            format!(" (vendor {:#06x}, device {:#06x})", device.vendor_id, device.device_id)
        } else {
            String::new()
        };
        let facts = [
            ("device", format!("{}{ids}", device.name)),
            ("driver", device.driver.clone()),
            ("keeps", device.keeps.to_string()),
            (
                "measured",
                if data.measured_utc.is_empty() { "nothing".to_owned() } else { data.measured_utc.clone() },
            ),
            ("kernels", format!("{}, written by {}, {}", data.kernel_hash, data.written_by, data.licence)),
            (
                "holds",
                format!("{}, {}", plural(data.recipes.len(), "recipe"), plural(data.modules.len(), "module")),
            ),
        ];
        for (name, fact) in facts.into_iter().filter(|(_, fact)| !fact.is_empty()) {
            writeln!(out, "{}", fold(&format!("{name:<9} "), &fact, 10, width))?;
        }
        let style = Format::Table.style(width);
        for problem in &data.problems {
            writeln!(out, "\n{}", title(&problem.scan))?;
            self.problem(problem, style, out)?;
        }
        for losses in self.losses {
            losses.table(style, width, out)?;
        }
        for remark in self.remarks {
            writeln!(out, "\n{}", fold("", remark, 0, width))?;
        }
        Ok(())
    }

    fn problem(&self, problem: &PackProblem, style: Style, out: &mut dyn Write) -> io::Result<()> {
        for table in problem.measured.iter().filter(|table| is_swept(table)) {
            let beside: Vec<String> =
                CallTrait::of(table.call_use).skip(1).map(|what| format!(", {what}")).collect();
            let (arguments, beside) = (arguments_text(table.call_use.arguments), beside.concat());
            writeln!(out, "\n{arguments}{beside}, needs {}; {}", table.needs, loss_text(table))?;
            let mut grid = Grid::new([
                GridColumn::numbers("from n"),
                GridColumn::words("kernel"),
                GridColumn::numbers("time"),
                GridColumn::numbers("at n"),
                GridColumn::numbers("loss"),
                GridColumn::numbers("stand-ins").expendable(1),
            ]);
            for (place, range) in table.breakpoints.iter().enumerate() {
                let next = table.breakpoints.get(place + 1).map(|next| next.from);
                let (time, at) = self.time(range, next);
                grid.push([
                    size_label(range.from),
                    self.label(range),
                    time,
                    at,
                    percent(range.worst_loss_ppm),
                    (range.ranked.len() - 1).to_string(),
                ]);
            }
            writeln!(out, "{}", grid.draw(style))?;
        }
        self.others(problem, style, out)?;
        self.portable(problem, style, out)
    }

    /// Uses that no sweep measures as they are: a row for each, with the number of its kernels, which most share.
    fn others(&self, problem: &PackProblem, style: Style, out: &mut dyn Write) -> io::Result<()> {
        let mut sets: Vec<String> = Vec::new();
        let mut uses = Grid::new([
            GridColumn::words("use"),
            GridColumn::words("needs"),
            GridColumn::numbers("loss"),
            GridColumn::numbers("set"),
        ]);
        let mut kernels = Grid::new([
            GridColumn::numbers("set"),
            GridColumn::numbers("from n"),
            GridColumn::words("kernel"),
        ]);
        for table in problem.measured.iter().filter(|table| !is_swept(table)) {
            let labels = self.labels(table);
            let place = sets.iter().position(|set| *set == labels).unwrap_or_else(|| {
                sets.push(labels);
                for (at, range) in table.breakpoints.iter().enumerate() {
                    let number = if at == 0 { sets.len().to_string() } else { String::new() };
                    kernels.push([number, size_label(range.from), self.label(range)]);
                }
                sets.len() - 1
            });
            let (needs, loss) = (table.needs.to_string(), percent(worst_loss(table)));
            uses.push([table.call_use.to_string(), needs, loss, (place + 1).to_string()]);
        }
        if sets.is_empty() {
            return Ok(());
        }
        let width = if let Style::Text { width } = style { width } else { None };
        let head = "Other uses, with their worst loss where it was measured, and their set of kernels:";
        writeln!(out, "\n{}\n{}", fold("", head, 0, width), uses.draw(style))?;
        writeln!(out, "\nThe sets:\n{}", kernels.draw(style))
    }

    /// The kernels for devices that nobody measured: for each, which subgroup sizes it is there for, and how many uses.
    fn portable(&self, problem: &PackProblem, style: Style, out: &mut dyn Write) -> io::Result<()> {
        if problem.portable.is_empty() {
            return Ok(());
        }
        let data = self.pack.data();
        let mut kernels: BTreeMap<String, (Vec<u32>, Vec<CallUse>)> = BTreeMap::new();
        for table in &problem.portable {
            let (sizes, uses) = kernels.entry(self.labels(table)).or_default();
            let recipe = table.breakpoints.first().and_then(|range| range.ranked.first());
            let size = recipe.and_then(|recipe| subgroup_size(data, *recipe)).unwrap_or(0);
            if !sizes.contains(&size) {
                sizes.push(size);
            }
            if !uses.contains(&table.call_use) {
                uses.push(table.call_use);
            }
        }
        let mut grid = Grid::new([
            GridColumn::words("on any device with subgroups of"),
            GridColumn::words("kernels"),
            GridColumn::numbers("uses"),
        ]);
        for (labels, (sizes, uses)) in kernels {
            let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
            grid.push([sizes.join(", "), labels, uses.len().to_string()]);
        }
        writeln!(out, "\n{}", grid.draw(style))
    }

    fn label(&self, range: &Breakpoint) -> String {
        let recipe = range.ranked.first().and_then(|place| self.pack.data().recipes.get(usize::from(*place)));
        recipe.map_or_else(String::new, |recipe| recipe.label.clone())
    }

    /// The kernels of a table, each with where it begins.
    fn labels(&self, table: &ChoiceTable) -> String {
        let label = |range: &Breakpoint| match range.from {
            0 | 1 => self.label(range),
            from => format!("from {} {}", size_label(from), self.label(range)),
        };
        table.breakpoints.iter().map(label).collect::<Vec<_>>().join("; ")
    }

    /// The time at the smallest size of a range that has one, and that size.
    fn time(&self, range: &Breakpoint, next: Option<u64>) -> (String, String) {
        let inside = |n: u64| n >= range.from && next.is_none_or(|next| n < next);
        let times = self.pack.data().times.iter();
        let own = times.filter(|time| Some(&time.recipe) == range.ranked.first() && inside(time.n));
        match own.min_by_key(|time| time.n) {
            Some(time) => (time_text(time.picoseconds), size_label(time.n)),
            None => (String::new(), String::new()),
        }
    }
}

impl SizeLosses {
    fn table(&self, style: Style, width: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
        let head = format!(
            "{}: how much slower than the fastest kernel with arguments in the same place, whatever it needs, and than \
             the fastest of all (of all), by what is promised",
            self.title
        );
        let mut columns = vec![GridColumn::numbers("n")];
        for tier in &self.tiers {
            columns.extend([GridColumn::numbers_of(tier.clone()), GridColumn::numbers("of all")]);
        }
        let mut grid = Grid::new(columns);
        for (n, losses) in &self.rows {
            let mut cells = vec![size_label(*n)];
            for loss in losses {
                cells.extend(loss.map_or_else(Default::default, |loss| loss.map(|ppm| percent(Some(ppm)))));
            }
            grid.push_row(cells);
        }
        writeln!(out, "\n{}\n{}", fold("", &head, 0, width), grid.draw(style))
    }
}

/// What a table loses at its worst size, in parts per million, where that was measured.
fn worst_loss(table: &ChoiceTable) -> Option<u32> {
    let worst = table.breakpoints.iter().map(|range| range.worst_loss_ppm);
    worst.collect::<Option<Vec<u32>>>()?.into_iter().max()
}

/// The same in words.
fn loss_text(table: &ChoiceTable) -> String {
    worst_loss(table).map_or_else(
        || "worst loss not measured".to_owned(),
        |worst| format!("worst loss {}", percent(Some(worst))),
    )
}

fn subgroup_size(data: &PackData, recipe: u16) -> Option<u32> {
    let module = *data.recipes.get(usize::from(recipe))?.recipe.modules().next()?;
    Some(data.modules.get(usize::from(module))?.subgroup_size)
}

/// What is computed, as other answers say it.
#[must_use]
pub fn title(scan: &ScanProblem) -> String {
    let ScanProblem { mode, element, operator, init, in_place, reverse, .. } = scan;
    let mode = match mode {
        ScanMode::Inclusive => "inclusive",
        ScanMode::Exclusive => "exclusive",
        ScanMode::Reduce => "reduce",
    };
    let words: String = init.iter().rev().map(|word| format!("{word:08x}")).collect();
    let is_default = scan.mode == ScanMode::Exclusive && init.iter().all(|word| *word == 0);
    let init = if is_default || init.is_empty() { String::new() } else { format!(" from 0x{words}") };
    let reverse = if *reverse { "reverse " } else { "" };
    format!("{reverse}{mode} {element} {operator}{init}{}", if *in_place { " in place" } else { "" })
}

/// Where calls find their arguments.
#[must_use]
pub fn arguments_text(arguments: ArgumentKind) -> &'static str {
    match arguments {
        ArgumentKind::Pushed => "pushed arguments",
        ArgumentKind::Line => "arguments in a line",
        ArgumentKind::Baked => "baked arguments",
    }
}

/// Whether it is for calls that a sweep measures: ordinary ones, and those of a problem with a total or an initial
/// value in memory, where its rows were there.
fn is_swept(table: &ChoiceTable) -> bool {
    let CallUse { arguments, total, init_in_memory, .. } = table.call_use;
    let is_known = || table.breakpoints.iter().any(|range| range.worst_loss_ppm.is_some());
    table.call_use == CallUse { arguments, total, init_in_memory, ..CallUse::default() }
        && (!(total || init_in_memory) || is_known())
}

/// Parts per million as percent: rounded up, so that no loss looks smaller than it is.
#[must_use]
pub fn percent(ppm: Option<u32>) -> String {
    ppm.map_or_else(String::new, |ppm| format!("{:.1} %", f64::from(ppm.div_ceil(1000)) / 10.0))
}

fn time_text(picoseconds: u64) -> String {
    match picoseconds {
        0..1_000_000 => format!("{} ns", picoseconds.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.2} us", picoseconds as f64 / 1e6),
        _ => format!("{:.2} ms", picoseconds as f64 / 1e9),
    }
}

fn bytes_text(bytes: usize) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        _ => format!("{} KiB", bytes.div_ceil(1024)),
    }
}
