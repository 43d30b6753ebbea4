//! What a label cost where it was measured.

use std::collections::BTreeSet;
use std::path::PathBuf;

use scanbox_model::config::{Config, Kernel};
use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::merged::MergedUnit;
use scanbox_model::metadata::Metadata;
use scanbox_model::record::{Clock, Record, Status};
use scanbox_model::units::size_label;
use scanbox_report::explained::{ListOfWords, Meaning};
use scanbox_session::notes::note;

use crate::inputs::{expect, unreadable};
use crate::output::Kind;

/// The rows that a kernel, or one config of it, has in files: one meaning per file.
///
/// # Errors
/// When a file cannot be read.
pub fn meanings(kernel: &Kernel, config: Option<&Config>, files: &[PathBuf]) -> anyhow::Result<Vec<Meaning>> {
    let mut meanings = Vec::new();
    for path in files {
        expect(
            path,
            "--from",
            &[Kind::Sweep, Kind::Benchmark],
            "rows of a sweep or benchmark say what it cost",
        )?;
        let read = csv_file::read(path).map_err(|error| unreadable(path, error))?;
        read.warnings(&path.display().to_string()).iter().for_each(|warning| note(warning));
        let mut rows: Vec<&Record> =
            read.records.iter().filter(|record| is_of(record, kernel, config)).collect();
        rows.sort_by_key(|row| (row.n_elements, row.confirmed_ns.or(row.steady.map(|time| time.median_ns))));
        // Of a kernel, the fastest config of each size.
        if config.is_none() {
            rows.retain(|row| row.status == Status::Ok);
            rows.dedup_by_key(|row| row.n_elements);
        }
        let mut meaning = Meaning { kind: format!("in {}", path.display()), ..Meaning::default() };
        if rows.is_empty() {
            meaning.text = "The file has no row of it.".to_owned();
        } else {
            let device = Metadata::read(&Metadata::path_beside(path)).ok().map(|metadata| metadata.device);
            let units: BTreeSet<MergedUnit> = rows.iter().map(|row| MergedUnit::of(row)).collect();
            // Units of a model differ: a cost is that of one of them.
            let of_unit = |row: &Record| match units.len() {
                1 => cost(row, device.as_ref()),
                _ => format!("{}, {}", cost(row, device.as_ref()), MergedUnit::of(row)),
            };
            // Of a config, every row would repeat its label.
            let label = |row: &Record| if config.is_some() { String::new() } else { row.config_id.clone() };
            let words = rows.iter().map(|row| [size_label(row.n_elements), label(row), of_unit(row)]);
            let headings = ["n", if config.is_some() { "" } else { "config" }, "cost"];
            let units = if units.len() > 1 { format!(", {} units", units.len()) } else { String::new() };
            meaning.text = format!("On {}{units}, driver {}.", rows[0].device, rows[0].driver);
            meaning.list = Some(ListOfWords { headings, words: words.collect() });
        }
        meanings.push(meaning);
    }
    Ok(meanings)
}

fn is_of(record: &Record, kernel: &Kernel, config: Option<&Config>) -> bool {
    let Some(of) = record.config().filter(|_| record.is_ordinary()) else { return false };
    match config {
        // A row of a sweep says its workgroups where the space does.
        Some(config) => of == *config,
        None => of.kernel == *kernel,
    }
}

/// Workgroups that a unit holds at a time: files of older versions do not say it, and what is known of the device does.
fn held(row: &Record, device: Option<&DeviceProfile>) -> Option<u32> {
    let of_device = || {
        let (device, shape) = (device?, &row.parameters);
        let shared_bytes = u64::from(row.shared_bytes?);
        device.workgroups_per_unit(shape.workgroup_size?, row.subgroup_size?, row.registers, shared_bytes)
    };
    row.workgroups_held.or_else(of_device)
}

/// Time, throughput, and what the driver told of it.
fn cost(row: &Record, device: Option<&DeviceProfile>) -> String {
    let (Status::Ok, Some(time)) = (row.status, &row.steady) else {
        return format!("{}: {}", row.status, row.reason);
    };
    let mut said = vec![format!("{:.2} us", row.confirmed_ns.unwrap_or(time.median_ns) as f64 / 1000.0)];
    // A software device is below 1.
    let places = |gbps: f64| if gbps < 10.0 { 3 } else { 0 };
    let gbps = row.throughput_gbps(Clock::Steady);
    said.extend(gbps.map(|gbps| format!("{gbps:.*} GB/s", places(gbps))));
    said.extend(row.registers.map(|registers| format!("{registers} registers")));
    said.extend(row.shared_bytes.map(|bytes| format!("{bytes} bytes of shared memory")));
    said.extend(row.subgroups_per_simd.map(|subgroups| format!("{subgroups} subgroups per SIMD")));
    said.extend(held(row, device).map(|workgroups| format!("{workgroups} workgroups per unit at a time")));
    said.join(", ")
}
