//! The answers as flat CSV: one row per device, run and size.
//!
//! Columns: the ideal configuration set (`ideal_*`, `runner_up_*`, `margin_pct`, `ties`, `copy_*`), the best kernel of
//! the device (`kernel_*`, empty where it has no config), the portable kernel (`portable_*`, empty with one device),
//! what was scanned (`mode`, `element`, `op`), the shared config of the size (`shared_*`, empty with one device), the
//! bandwidth of the device (`bandwidth_*`), the fastest scan of another implementation (`baseline_*`), the time and
//! bytes that `ideal_gbps` is of, and what tells the unit apart (`unit`: what it is called, as no other one here;
//! `files`: where its rows are from), how many units it is the median of and how far they differ in the lead
//! (`unit_spread_pct`, empty of one unit), of how many measurements `copy_gbps` is the median, and through what the
//! device was driven (`api`, `implementation`, `robustness`).

use std::io::{self, Write};

use scanbox_analysis::best_kernel::LinePoint;
use scanbox_analysis::portable::Choice;
use scanbox_analysis::table::{Cell, KernelIndex};

use super::AnalysisReport;
use crate::document::csv_cell;
use crate::words::clock_word;

const HEADER: &str = "device,device_uuid,driver,scanbox_version,kernel_hash,clock,metric,normalization,n_elements,\
ideal_gbps,ideal_config,ideal_kernel,ideal_spread_pct,configs,ties,runner_up_config,runner_up_gbps,margin_pct,\
copy_gbps,copy_pct,in_choice,kernel,kernel_config,kernel_gbps,kernel_loss_pct,\
portable_kernel,portable_config,portable_gbps,portable_loss_pct,mode,element,op,\
shared_config,shared_gbps,shared_loss_pct,bandwidth_gbps,bandwidth_pct,baseline,baseline_gbps,baseline_ratio,\
ideal_time_ns,bytes_moved,unit,host,pci_address,files,units,unit_spread_pct,copy_count,\
api,implementation,robustness";

/// Writes header and rows.
///
/// # Errors
/// When the writer fails.
pub fn write(report: &AnalysisReport<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    let catalog = &report.tables.catalog;
    let config = |cell: &Cell| catalog.config(cell.config).to_string();
    let kernel = |kernel: KernelIndex| catalog.kernel(kernel).to_string();
    // Kernel, config, throughput and loss; all empty where the kernel has no config at the size.
    let line = |name: Option<KernelIndex>, point: Option<&LinePoint>| -> [String; 4] {
        match (name, point) {
            (Some(name), Some(point)) => {
                [kernel(name), config(&point.best), number(point.best.gbps), number(point.loss_pct)]
            }
            _ => Default::default(),
        }
    };
    for (index, device) in report.answers.devices.iter().enumerate() {
        let across = report.answers.across.iter().find_map(|across| {
            let position = across.devices.iter().position(|&device| device == index)?;
            Some((across, position))
        });
        let portable =
            across.and_then(|(across, position)| across.portable.choice.as_ref()?.lines.get(position));
        let best = device.choice.as_ref().and_then(|choice: &Choice| choice.lines.first());
        let table = device.table;
        let api = &table.device.api;
        let (files, units) = (csv_cell(&table.files.join(" ")), table.units().len().to_string());
        for point in &device.ideal.points {
            let mut cells = vec![
                csv_cell(&table.device.name),
                csv_cell(&table.device.uuid),
                csv_cell(&table.provenance.driver),
                csv_cell(&table.provenance.version),
                csv_cell(&table.provenance.kernel_hash),
                clock_word(report.clock).to_owned(),
                report.question.metric.to_string(),
                report.question.normalization_alone().to_string(),
                point.n.to_string(),
                number(point.best.gbps),
                config(&point.best),
                kernel(catalog.kernel_of(point.best.config)),
                number(100.0 * point.best.relative_spread()),
                point.configs.to_string(),
                point.ties.to_string(),
                point.runner_up.as_ref().map(config).unwrap_or_default(),
                optional(point.runner_up.map(|cell| cell.gbps)),
                optional(point.margin_pct),
                optional(point.ceiling_gbps),
                optional(point.ceiling_pct()),
                device.eligibility.sizes.binary_search(&point.n).is_ok().to_string(),
            ];
            for chosen in [best, portable] {
                cells.extend(line(chosen.map(|line| line.kernel), chosen.and_then(|line| line.at(point.n))));
            }
            let problem = table.problem;
            cells.extend([
                problem.mode().to_string(),
                problem.element().to_string(),
                problem.operator_name().to_string(),
            ]);
            let shared = across.and_then(|(across, position)| {
                let points = &across.shared.points;
                let at = points.binary_search_by_key(&point.n, |shared| shared.n).ok()?;
                Some((&points[at].cells[position], points[at].loss_pct[position]))
            });
            cells.extend([
                shared.map_or_else(String::new, |(cell, _)| config(cell)),
                optional(shared.map(|(cell, _)| cell.gbps)),
                optional(shared.map(|(_, loss)| loss)),
            ]);
            let bandwidth = table.bandwidth().map(|bandwidth| bandwidth.gbps);
            cells.extend([
                optional(bandwidth),
                optional(bandwidth.map(|gbps| 100.0 * point.best.gbps / gbps)),
                table.baselines.get(&point.n).map_or_else(String::new, |other| csv_cell(&other.subject)),
                optional(point.baseline_gbps),
                optional(point.baseline_ratio()),
                number(point.best.time_ns),
                problem.bytes_moved(point.n).to_string(),
                csv_cell(&table.title),
                csv_cell(&table.device.host),
                csv_cell(&table.device.pci_address),
                files.clone(),
                units.clone(),
                optional(point.unit_spread_pct),
                point.ceiling_gbps.map_or_else(String::new, |_| point.ceiling_count.to_string()),
                api.api.to_string(),
                csv_cell(&api.implementation),
                api.robustness.map_or("", |on| if on { "on" } else { "off" }).to_owned(),
            ]);
            writeln!(out, "{}", cells.join(","))?;
        }
    }
    Ok(())
}

fn number(value: f64) -> String {
    format!("{value:.4}")
}

fn optional(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}
