//! The answers across devices: the portable kernel, and the shared config of each size.

use std::collections::BTreeSet;
use std::io::{self, Write};

use scanbox_analysis::answers::{AcrossAnswer, DeviceAnswer};
use scanbox_analysis::best_kernel::KernelLine;
use scanbox_analysis::eligible::Eligibility;
use scanbox_analysis::shared::SharedSet;
use scanbox_analysis::speed::Speed;
use scanbox_analysis::transfer::Transfer;
use scanbox_model::units::size_label;

use super::units::{shortened, unit_words};
use super::{Grid, GridColumn, TextPage, compared, count, gbps, losses, named, percent, score, title};

/// Devices side by side in a launch table, so that it fits 80 characters.
const DEVICES_PER_TABLE: usize = 3;
/// Transfers that are listed, the worst first; JSON has all.
const TRANSFERS_SHOWN: usize = 12;

impl TextPage<'_> {
    pub(super) fn across(&self, across: &AcrossAnswer, out: &mut impl Write) -> io::Result<()> {
        let devices: Vec<&DeviceAnswer<'_>> =
            across.devices.iter().map(|&index| &self.report.answers.devices[index]).collect();
        let all = devices.len() + across.dead.len();
        let heading = format!("Across {}: {}", count(all, "device"), across.problem.title());
        self.heading(2, &heading, out)?;
        for (index, device) in devices.iter().enumerate() {
            self.say(&format!("Device {}: {}", index + 1, unit_words(device)), out)?;
        }
        for &dead in &across.dead {
            let device = &self.report.answers.devices[dead];
            self.say(&format!("No row is ok on {}: it supports no kernel.", unit_words(device)), out)?;
        }
        self.speeds(across, &devices, out)?;
        self.gap(out)?;
        self.portable(across, &devices, out)?;
        self.portability(across, out)?;
        self.shared(across, &devices, out)?;
        self.transfers(across, out)?;
        match &across.portfolio {
            Some(portfolio) => self.portfolio(portfolio, across.portable.choice.as_ref(), out),
            None => Ok(()),
        }
    }

    /// Which device is faster, and by how much; of two, size by size.
    fn speeds(
        &self,
        across: &AcrossAnswer,
        devices: &[&DeviceAnswer<'_>],
        out: &mut impl Write,
    ) -> io::Result<()> {
        for speed in &across.speeds {
            self.say(&speed_words(speed, &|at| title(devices[at])), out)?;
        }
        let ([speed], 2) = (across.speeds.as_slice(), devices.len()) else { return Ok(()) };
        let mut grid = Grid::new([
            GridColumn::numbers("size"),
            GridColumn::numbers("GB/s of 1"),
            GridColumn::numbers("GB/s of 2"),
            GridColumn::numbers("2 over 1"),
        ]);
        for point in &speed.points {
            grid.push([
                size_label(point.n),
                gbps(point.base_gbps),
                gbps(point.other_gbps),
                format!("{:.3}", point.ratio),
            ]);
        }
        self.grid(grid, out)
    }

    fn portable(
        &self,
        across: &AcrossAnswer,
        devices: &[&DeviceAnswer<'_>],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Some(choice) = &across.portable.choice else {
            return self.no_portable_kernel(across, devices, out);
        };
        let ranking = &choice.ranking;
        self.heading(
            3,
            &format!("Portable kernel by {}: {}", named(ranking), self.kernel(ranking.winner.kernel)),
            out,
        )?;
        let runner_up = ranking.others.first().map_or_else(
            || "no runner-up".to_owned(),
            |runner_up| format!("runner-up {} {}", self.kernel(runner_up.kernel), score(runner_up.score)),
        );
        self.say(&format!("Score {}; {runner_up}.", score(ranking.winner.score)), out)?;
        self.say(&compared(&across.portable.eligibility), out)?;
        self.doubts(choice, out)?;
        self.metrics(&across.by_metric, out)?;
        if self.report.explain {
            self.explain_choice(choice, &across.portable.eligibility, out)?;
        }
        let lines: Vec<(&DeviceAnswer<'_>, &KernelLine)> =
            devices.iter().copied().zip(&choice.lines).collect();
        for (first, group) in lines.chunks(DEVICES_PER_TABLE).enumerate() {
            self.gap(out)?;
            for (offset, (device, line)) in group.iter().enumerate() {
                let number = DEVICES_PER_TABLE * first + offset + 1;
                self.say(&format!("Device {number}: {}; {}", title(device), losses(line)), out)?;
            }
            self.launch_table(group, &across.portable.eligibility, out)?;
        }
        self.dropped(&across.portable.eligibility, out)
    }

    /// The shared config of each size (A12 to A17).
    fn shared(
        &self,
        across: &AcrossAnswer,
        devices: &[&DeviceAnswer<'_>],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let shared = &across.shared;
        self.gap(out)?;
        let Some(worst) = shared.worst() else {
            return self.say("No shared configs: no config is ok on every device at any size.", out);
        };
        let heading = format!(
            "Shared configs by {} ({}): {}",
            shared.metric,
            shared.normalization,
            count(shared.points.len(), "size")
        );
        self.heading(3, &heading, out)?;
        let text = format!(
            "They lose {} % on average, {} % at worst (at {}).",
            percent(shared.mean_loss_pct().unwrap_or(0.0)),
            percent(worst.worst_loss_pct()),
            size_label(worst.n)
        );
        self.say(&text, out)?;
        if !shared.without_config.is_empty() {
            let sizes: Vec<String> = shared.without_config.iter().map(|&n| size_label(n)).collect();
            self.say(&format!("No config is ok on every device at {}.", sizes.join(", ")), out)?;
        }
        if !shared.other_normalizations.is_empty() {
            let others = shared.other_normalizations.iter();
            let others: Vec<String> =
                others.map(|(other, sizes)| format!("{other}: at {}", count(sizes.len(), "size"))).collect();
            let text = format!("Another normalisation would choose other configs ({}).", others.join(", "));
            self.say(&text, out)?;
        }
        // Few devices have a column each; of many the worst is told.
        let each = devices.len() <= DEVICES_PER_TABLE;
        let mut columns = vec![
            GridColumn::numbers("size"),
            GridColumn::words("config"),
            GridColumn::numbers("of").expendable(2),
            GridColumn::numbers("score").expendable(1),
        ];
        if each {
            columns.extend(
                ["loss % 1", "loss % 2", "loss % 3"].map(GridColumn::numbers).into_iter().take(devices.len()),
            );
        } else {
            columns.extend([
                GridColumn::numbers("mean loss %"),
                GridColumn::numbers("worst loss %"),
                GridColumn::numbers("on device"),
            ]);
        }
        let mut grid = Grid::new(columns);
        for point in &shared.points {
            let mut cells = vec![
                size_label(point.n),
                self.config(point.config),
                point.candidates.to_string(),
                score(point.score),
            ];
            if each {
                cells.extend(point.loss_pct.iter().map(|&loss| percent(loss)));
            } else {
                let worst = point.worst_loss_pct();
                let mean = point.loss_pct.iter().sum::<f64>() / point.loss_pct.len() as f64;
                let on = point.loss_pct.iter().position(|&loss| loss == worst).map_or(0, |at| at + 1);
                cells.extend([percent(mean), percent(worst), on.to_string()]);
            }
            grid.push_row(cells);
        }
        self.grid(grid, out)?;
        self.say("of: configs that are ok on every device; losses by the numbers of the devices", out)?;
        if self.report.explain {
            self.explain_shared(shared, out)?;
        }
        if self.report.question.all_metrics {
            self.shared_metrics(across, out)?;
        }
        Ok(())
    }

    /// What every metric of shared configs chooses, and what that loses.
    fn shared_metrics(&self, across: &AcrossAnswer, out: &mut impl Write) -> io::Result<()> {
        let mut grid = Grid::new([
            GridColumn::words("metric"),
            GridColumn::words("normalisation"),
            GridColumn::numbers("mean loss %"),
            GridColumn::numbers("worst loss %"),
            GridColumn::numbers("at"),
            GridColumn::numbers("other configs").expendable(1),
        ]);
        let same = |set: &SharedSet, n: u64, config| {
            set.points.iter().any(|point| point.n == n && point.config == config)
        };
        for set in std::iter::once(&across.shared).chain(&across.shared_by_metric) {
            let Some(worst) = set.worst() else { continue };
            let chosen = set.metric == across.shared.metric;
            let others =
                set.points.iter().filter(|point| !same(&across.shared, point.n, point.config)).count();
            grid.push([
                format!("{}{}", set.metric, if chosen { " <" } else { "" }),
                set.normalization.to_string(),
                percent(set.mean_loss_pct().unwrap_or(0.0)),
                percent(worst.worst_loss_pct()),
                size_label(worst.n),
                others.to_string(),
            ]);
        }
        self.grid(grid, out)?;
        self.say("other configs: sizes where the metric chooses another config than the first one", out)
    }

    /// What the portable kernel, and the most portable one, are worth on all devices (A23).
    fn portability(&self, across: &AcrossAnswer, out: &mut impl Write) -> io::Result<()> {
        let chosen = across.portable.choice.as_ref().map(|choice| choice.ranking.winner.kernel);
        let kernels = &across.portability.kernels;
        let chosen = kernels.iter().find(|row| Some(row.kernel) == chosen);
        let (Some(chosen), Some(best)) = (chosen, kernels.first()) else { return Ok(()) };
        if let Some(&dead) = across.dead.first() {
            let device = title(&self.report.answers.devices[dead]);
            let text = format!(
                "Portability PP (harmonic mean of efficiencies): 0 for every kernel, because of {device}."
            );
            return self.say(&text, out);
        }
        let best = if best.kernel == chosen.kernel {
            "the highest of all kernels".to_owned()
        } else {
            format!("the highest is {:.3}, of {}", best.pp, self.kernel(best.kernel))
        };
        let text = format!(
            "Portability PP (harmonic mean of efficiencies): {:.3}; {best}. Arithmetic mean: {:.3}.",
            chosen.pp, chosen.mean
        );
        self.say(&text, out)
    }

    /// What the ideal set of one device reaches on another (A11).
    fn transfers(&self, across: &AcrossAnswer, out: &mut impl Write) -> io::Result<()> {
        self.gap(out)?;
        self.heading(3, "Ideal configuration sets on other devices", out)?;
        let others = across.transfers.iter().filter(|transfer| transfer.from != transfer.to);
        let (mut pairs, apart): (Vec<&Transfer>, Vec<&Transfer>) =
            others.partition(|transfer| !transfer.points.is_empty());
        let mean = |transfer: &Transfer| transfer.geometric_mean().unwrap_or(0.0);
        pairs.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        let mut grid = Grid::new([
            GridColumn::numbers("set of"),
            GridColumn::numbers("on"),
            GridColumn::numbers("mean %"),
            GridColumn::numbers("worst %"),
            GridColumn::numbers("at"),
            GridColumn::numbers("sizes"),
            GridColumn::numbers("missing"),
        ]);
        let efficiency = |value: Option<f64>| value.map_or_else(String::new, |value| percent(100.0 * value));
        for transfer in pairs.iter().take(TRANSFERS_SHOWN) {
            let worst = transfer.worst();
            grid.push([
                (transfer.from + 1).to_string(),
                (transfer.to + 1).to_string(),
                efficiency(transfer.geometric_mean()),
                efficiency(worst.map(|point| point.efficiency)),
                worst.map_or_else(String::new, |point| size_label(point.n)),
                transfer.points.len().to_string(),
                transfer.missing.len().to_string(),
            ]);
        }
        if !pairs.is_empty() {
            self.grid(grid, out)?;
            let text = match pairs.len().saturating_sub(TRANSFERS_SHOWN) {
                0 => "of the ideal line there; mean: geometric; missing: sizes where a config is not ok"
                    .to_owned(),
                more => format!("and {more} better ones (--format json lists all)"),
            };
            self.say(&text, out)?;
        }
        if apart.is_empty() {
            return Ok(());
        }
        let pairs = apart.iter().map(|transfer| format!("{} on {}", transfer.from + 1, transfer.to + 1));
        let shown = shortened(pairs, TRANSFERS_SHOWN);
        self.say(&format!("No config of the first set is ok on the second device: {shown}."), out)
    }

    /// How to launch the kernel at each size on each device, and what it loses there.
    fn launch_table(
        &self,
        devices: &[(&DeviceAnswer<'_>, &KernelLine)],
        eligibility: &Eligibility,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut columns = vec![GridColumn::numbers("size")];
        for _ in devices {
            columns.extend([
                GridColumn::words("launch"),
                GridColumn::numbers("GB/s"),
                GridColumn::numbers("loss %"),
            ]);
        }
        let mut grid = Grid::new(columns);
        for n in launch_sizes(devices.iter().map(|&(_, line)| line)) {
            let mark = if eligibility.sizes.binary_search(&n).is_ok() { "" } else { "*" };
            let mut cells = vec![format!("{}{mark}", size_label(n))];
            for (_, line) in devices {
                match line.at(n) {
                    Some(point) => cells.extend([
                        self.launch(point.best.config),
                        gbps(point.best.gbps),
                        percent(point.loss_pct),
                    ]),
                    None => cells.extend([String::new(), String::new(), String::new()]),
                }
            }
            grid.push_row(cells);
        }
        self.grid(grid, out)
    }
}

/// Which of two devices is faster, by how much, and where it is not.
pub(crate) fn speed_words(speed: &Speed, title: &dyn Fn(usize) -> String) -> String {
    // Told of the faster one.
    let turned = speed.mean_ratio() < 1.0;
    let (fast, slow) = if turned { (speed.base, speed.other) } else { (speed.other, speed.base) };
    let ratio = |ratio: f64| if turned { 1.0 / ratio } else { ratio };
    let sizes = speed.points.len();
    let wins = speed.points.iter().filter(|point| ratio(point.ratio) > 1.0).count();
    let (Some(least), Some(most)) = (speed.least(), speed.most()) else { return String::new() };
    let (least, most) = if turned { (most, least) } else { (least, most) };
    format!(
        "{} is {:.3} times as fast as {} (geometric mean over {}; from {:.3} at {} to {:.3} at {}), and faster at {wins} of {sizes}.",
        title(fast),
        ratio(speed.mean_ratio()),
        title(slow),
        count(sizes, "size"),
        ratio(least.ratio),
        size_label(least.n),
        ratio(most.ratio),
        size_label(most.n),
    )
}

/// Every size at which a kernel runs on one of the devices, ascending.
fn launch_sizes<'a>(lines: impl Iterator<Item = &'a KernelLine>) -> BTreeSet<u64> {
    lines.flat_map(|line| line.points.iter().map(|point| point.n)).collect()
}
