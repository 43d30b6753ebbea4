//! The answers about one device.

use std::collections::BTreeMap;

use scanbox_analysis::answers::DeviceAnswer;
use scanbox_analysis::bandwidth::{self, BandwidthOrigin, Regime};
use scanbox_analysis::between::at_size;
use scanbox_analysis::density::Density;
use scanbox_analysis::ideal::IdealPoint;
use scanbox_analysis::pool::UnitPool;
use scanbox_analysis::table::{DeviceIdentity, SpaceOrigin};
use scanbox_analysis::trends::Trend;
use scanbox_analysis::trust::Distrusted;
use scanbox_model::api::Api;
use scanbox_model::device::DeviceKind;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::AnalysisReport;
use super::kernels::{BestKernelJson, ComparedSizesJson, KernelSetJson, MetricRow};
use super::{Labeller, NineDigits, ProblemJson, scanned};
use crate::launch;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DeviceJson {
    /// What the unit is called: no other one here is called the same.
    title: String,
    device: String,
    /// Through what it is driven, with who implements that where it is not Vulkan.
    api: Api,
    #[serde(skip_serializing_if = "String::is_empty")]
    implementation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    robustness: Option<bool>,
    device_uuid: String,
    /// What the user calls it; empty: nothing.
    name: String,
    /// Empty: not known.
    host: String,
    /// Empty: not known.
    pci_address: String,
    /// Where its rows are from.
    files: Vec<String>,
    /// The units that are taken together; missing of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<UnitsJson>,
    #[serde(flatten)]
    problem: ProblemJson,
    /// `null` without metadata.
    kind: Option<DeviceKind>,
    driver: String,
    scanbox_version: String,
    kernel_hash: String,
    newest_utc: String,
    rows: RowsJson,
    ideal: IdealJson,
    /// A20; `null` where the bandwidth is not known.
    bandwidth: Option<BandwidthJson>,
    /// A22; `null` without rows of another implementation.
    baseline: Option<BaselineJson>,
    comparison: ComparedSizesJson,
    best_kernel: Option<BestKernelJson>,
    by_metric: Vec<MetricRow>,
    /// A24, one set per number of kernels; `null` where nobody asked.
    portfolio: Option<Vec<KernelSetJson>>,
    /// What to launch in which range of sizes, ascending.
    launch: Vec<LaunchRangeJson>,
    /// What to launch at the sizes of `--at`.
    at: Vec<LaunchAtJson>,
    /// A19, by size.
    densities: Vec<DensityRow>,
    /// A21, by parameter.
    trends: Vec<TrendRow>,
}

/// A config and the sizes that it is taken for.
#[derive(Debug, Serialize, JsonSchema)]
struct LaunchRangeJson {
    /// The fewest elements; the range ends where the next one begins.
    from: u64,
    config: String,
    /// How much slower than the fastest config it is at the worst measured size of the range.
    worst_loss_pct: Option<NineDigits>,
}

/// What to launch at a size, measured or not.
#[derive(Debug, Serialize, JsonSchema)]
struct LaunchAtJson {
    n: u64,
    config: String,
    /// `null` beyond all measured sizes.
    time_ns: Option<NineDigits>,
    /// The measured sizes that say so.
    measured: Vec<u64>,
    /// The most that the config loses there, of the throughput of the fastest one; `null` where no config was measured
    /// on both sides of the size.
    worst_loss_pct: Option<NineDigits>,
}

/// Units of one model taken together.
#[derive(Debug, Serialize, JsonSchema)]
struct UnitsJson {
    /// How far they lie apart as a whole (half of them lie within it); `null` where they have no points in common.
    spread_pct: Option<NineDigits>,
    units: Vec<UnitJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UnitJson {
    title: String,
    device_uuid: String,
    host: String,
    pci_address: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DensityRow {
    n: u64,
    configs: usize,
    median_gbps: NineDigits,
    p90_gbps: NineDigits,
    best_gbps: NineDigits,
    /// The share of the configs within 5 % of the best, from 0 to 1.
    near_best: NineDigits,
    /// The left edge of the first bin, the width of each, and how many configs are in each.
    low_gbps: NineDigits,
    width_gbps: NineDigits,
    counts: Vec<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TrendRow {
    parameter: &'static str,
    /// Its value in the ideal configuration set, by size.
    ideal: BTreeMap<u64, String>,
    /// The best line with the parameter pinned.
    pinned: Vec<PinnedJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PinnedJson {
    value: String,
    mean_loss_pct: Option<NineDigits>,
    /// Percent of the ideal throughput, by size.
    loss_pct: BTreeMap<u64, NineDigits>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BandwidthJson {
    gbps: NineDigits,
    /// `given` or `copy`.
    origin: &'static str,
    /// The size of the copy.
    copy_n: Option<u64>,
    points: Vec<BandwidthRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BandwidthRow {
    n: u64,
    pct: NineDigits,
    regime: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BaselineJson {
    points: Vec<BaselineRow>,
    regions: Vec<BaselineRegionJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BaselineRow {
    n: u64,
    subject: String,
    gbps: NineDigits,
    ratio: NineDigits,
    regime: Option<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BaselineRegionJson {
    /// `null`: every size, where the bandwidth is not known.
    regime: Option<&'static str>,
    sizes: usize,
    faster: usize,
    mean_ratio: NineDigits,
    least_ratio: NineDigits,
    least_n: u64,
    most_ratio: NineDigits,
    most_n: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RowsJson {
    total: u64,
    by_status: BTreeMap<&'static str, u64>,
    replaced: u64,
    without_time: u64,
    /// What counts nowhere although it has an `ok` row: wrong once, and not shown right since.
    distrusted: Vec<PointJson>,
    /// `planned`: from metadata; `rows`: what the rows show.
    space: &'static str,
    planned_points: Option<u64>,
    planned_with_row: Option<u64>,
}

/// A config at a size.
#[derive(Debug, Serialize, JsonSchema)]
struct PointJson {
    n: u64,
    config: String,
}

/// A1 and A20.
#[derive(Debug, Serialize, JsonSchema)]
struct IdealJson {
    /// Kernels that the set needs, with the number of sizes.
    kernels: BTreeMap<String, usize>,
    points: Vec<IdealRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IdealRow {
    n: u64,
    config: String,
    kernel: String,
    gbps: NineDigits,
    /// The time that `gbps` is by: that of the confirmation, where there is one.
    time_ns: NineDigits,
    /// The time in the sweep.
    time_ns_median: u64,
    time_ns_q1: u64,
    time_ns_q3: u64,
    samples: u32,
    spread_pct: NineDigits,
    /// By the confirmation of the sweep; `null` without one.
    confirmed_ns_median: Option<u64>,
    runner_up: Option<String>,
    runner_up_gbps: Option<NineDigits>,
    margin_pct: Option<NineDigits>,
    /// How far units differ in that lead; missing of one unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_spread_pct: Option<NineDigits>,
    ties: usize,
    configs: usize,
    copy_gbps: Option<NineDigits>,
    copy_pct: Option<NineDigits>,
    /// Of how many measurements `copy_gbps` is the median; missing of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy_count: Option<u64>,
    /// The fastest scan of another implementation; `null` without a file that has one.
    baseline_gbps: Option<NineDigits>,
    /// The fastest scan of scanbox's own in the run of that, which the ratio is by; without one it is by `gbps`.
    baseline_own_gbps: Option<NineDigits>,
    baseline_ratio: Option<NineDigits>,
}

impl Labeller<'_> {
    pub(super) fn device(&self, device: &DeviceAnswer<'_>, report: &AnalysisReport<'_>) -> DeviceJson {
        let table = device.table;
        let catalog = &report.tables.catalog;
        DeviceJson {
            title: table.title.clone(),
            name: table.device.label.clone(),
            host: table.device.host.clone(),
            pci_address: table.device.pci_address.clone(),
            files: table.files.clone(),
            units: table.pool.as_ref().map(units),
            device: table.device.name.clone(),
            api: table.device.api.api,
            implementation: table.device.api.implementation.clone(),
            robustness: table.device.api.robustness,
            device_uuid: table.device.uuid.clone(),
            problem: scanned(table.problem),
            kind: table.kind,
            driver: table.provenance.driver.clone(),
            scanbox_version: table.provenance.version.clone(),
            kernel_hash: table.provenance.kernel_hash.clone(),
            newest_utc: table.newest_utc.clone(),
            rows: RowsJson {
                total: table.summary.rows,
                by_status: table
                    .summary
                    .by_status
                    .iter()
                    .map(|(status, &count)| (status.word(), count))
                    .collect(),
                replaced: table.summary.replaced,
                without_time: table.summary.without_time,
                distrusted: table.distrusted.iter().map(point).collect(),
                space: match table.space_origin {
                    SpaceOrigin::Planned => "planned",
                    SpaceOrigin::Rows => "rows",
                },
                planned_points: table.summary.planned_points,
                planned_with_row: table.summary.planned_points.map(|_| table.summary.planned_with_row),
            },
            ideal: IdealJson {
                kernels: device
                    .ideal
                    .uses
                    .iter()
                    .map(|(&kernel, &sizes)| (self.kernel(kernel), sizes))
                    .collect(),
                points: device.ideal.points.iter().map(|point| self.ideal_row(point)).collect(),
            },
            bandwidth: device.utilization.as_ref().map(bandwidth),
            baseline: device.baseline.as_ref().map(baseline),
            comparison: self.comparison(&device.eligibility),
            best_kernel: device.choice.as_ref().map(|choice| self.best(choice)),
            by_metric: device.by_metric.iter().map(|answer| self.metric_row(answer)).collect(),
            portfolio: device.portfolio.as_ref().map(|portfolio| self.portfolio(portfolio)),
            launch: launch::ranges(catalog, table)
                .into_iter()
                .map(|found| LaunchRangeJson {
                    from: found.range.from,
                    config: launch::label(&found.range.config),
                    worst_loss_pct: found.worst_loss_pct().map(NineDigits),
                })
                .collect(),
            at: report
                .at
                .iter()
                .filter_map(|&n| at_size(catalog, table, n))
                .map(|at| LaunchAtJson {
                    n: at.n,
                    config: launch::label(&at.config),
                    time_ns: at.time_ns.map(NineDigits),
                    measured: at.measured,
                    worst_loss_pct: at.worst_loss_pct.map(NineDigits),
                })
                .collect(),
            densities: device.densities.iter().map(density).collect(),
            trends: device.trends.iter().map(trend).collect(),
        }
    }

    fn ideal_row(&self, point: &IdealPoint) -> IdealRow {
        IdealRow {
            n: point.n,
            config: self.config(point.best.config),
            kernel: self.kernel(self.0.kernel_of(point.best.config)),
            gbps: NineDigits(point.best.gbps),
            time_ns: NineDigits(point.best.time_ns),
            time_ns_median: point.best.median_ns,
            time_ns_q1: point.best.q1_ns,
            time_ns_q3: point.best.q3_ns,
            samples: point.best.samples,
            spread_pct: NineDigits(100.0 * point.best.relative_spread()),
            confirmed_ns_median: point.best.confirmed_ns,
            runner_up: point.runner_up.map(|cell| self.config(cell.config)),
            runner_up_gbps: point.runner_up.map(|cell| NineDigits(cell.gbps)),
            margin_pct: point.margin_pct.map(NineDigits),
            unit_spread_pct: point.unit_spread_pct.map(NineDigits),
            ties: point.ties,
            configs: point.configs,
            copy_gbps: point.ceiling_gbps.map(NineDigits),
            copy_pct: point.ceiling_pct().map(NineDigits),
            copy_count: Some(point.ceiling_count).filter(|&count| count > 1),
            baseline_gbps: point.baseline_gbps.map(NineDigits),
            baseline_own_gbps: point.baseline_own_gbps.map(NineDigits),
            baseline_ratio: point.baseline_ratio().map(NineDigits),
        }
    }
}

fn units(pool: &UnitPool) -> UnitsJson {
    let unit = |(unit, title): &(DeviceIdentity, String)| UnitJson {
        title: title.clone(),
        device_uuid: unit.uuid.clone(),
        host: unit.host.clone(),
        pci_address: unit.pci_address.clone(),
    };
    UnitsJson {
        spread_pct: pool.spread.map(|spread| NineDigits(100.0 * spread)),
        units: pool.units.iter().map(unit).collect(),
    }
}

fn point(point: &Distrusted) -> PointJson {
    PointJson { n: point.n, config: point.config.clone() }
}

fn density(density: &Density) -> DensityRow {
    DensityRow {
        n: density.n,
        configs: density.configs,
        median_gbps: NineDigits(density.median_gbps),
        p90_gbps: NineDigits(density.p90_gbps),
        best_gbps: NineDigits(density.best_gbps),
        near_best: NineDigits(density.near_best),
        low_gbps: NineDigits(density.histogram.low),
        width_gbps: NineDigits(density.histogram.width),
        counts: density.histogram.counts.clone(),
    }
}

fn trend(trend: &Trend) -> TrendRow {
    let pinned = trend.pinned.iter().map(|line| PinnedJson {
        value: line.value.to_string(),
        mean_loss_pct: line.mean_loss_pct().map(NineDigits),
        loss_pct: line.points.iter().map(|point| (point.n, NineDigits(point.loss_pct))).collect(),
    });
    TrendRow {
        parameter: trend.parameter,
        ideal: trend.ideal.iter().map(|(n, value)| (*n, value.to_string())).collect(),
        pinned: pinned.collect(),
    }
}

fn bandwidth(utilization: &bandwidth::Utilization) -> BandwidthJson {
    let (origin, copy_n) = match utilization.bandwidth.origin {
        BandwidthOrigin::Given => ("given", None),
        BandwidthOrigin::Ceiling { n } => ("copy", Some(n)),
    };
    let points = utilization.points.iter();
    let points = points.map(|point| BandwidthRow {
        n: point.n,
        pct: NineDigits(point.pct),
        regime: point.regime.word(),
    });
    BandwidthJson { gbps: NineDigits(utilization.bandwidth.gbps), origin, copy_n, points: points.collect() }
}

fn baseline(comparison: &bandwidth::AgainstBaseline) -> BaselineJson {
    let row = |point: &bandwidth::AgainstBaselinePoint| BaselineRow {
        n: point.n,
        subject: point.subject.clone(),
        gbps: NineDigits(point.gbps),
        ratio: NineDigits(point.ratio),
        regime: point.regime.map(Regime::word),
    };
    let region = |region: &bandwidth::Region| BaselineRegionJson {
        regime: region.regime.map(Regime::word),
        sizes: region.sizes,
        faster: region.faster,
        mean_ratio: NineDigits(region.mean_ratio),
        least_ratio: NineDigits(region.least.0),
        least_n: region.least.1,
        most_ratio: NineDigits(region.most.0),
        most_n: region.most.1,
    };
    BaselineJson {
        points: comparison.points.iter().map(row).collect(),
        regions: comparison.regions.iter().map(region).collect(),
    }
}
