//! `scanbox bench --blocking`: lookbacks with fallback while more and more tiles never publish their total, against
//! lookbacks without, which nothing blocks.
//!
//! It is a benchmark like others: what differs is who takes part, and what is made of the rows. That a blocked lookback
//! without fallback hangs can be shown as well, at the end, because each such config costs a worker.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::metadata::Metadata;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Record, Selection, Status};
use scanbox_model::units::size_label;
use scanbox_runner::bench::{Selected, behind_ceilings};
use scanbox_runner::session::End;
use scanbox_runner::subject::Subject;

use super::select::launched;
use crate::output::Outputs;
use crate::output::figures::FigurePlaces;
use scanbox_report::blocking::{self, BlockingReport};
use scanbox_report::figure::PictureStyle;
use scanbox_session::bench::{BenchTask, News};
use scanbox_session::notes::note;
use scanbox_session::protocol::BenchWork;
use scanbox_session::supervise::Supervision;

/// Who takes part where nobody is named: the shape that the paper of decoupled fallback measures on all its devices
/// (section 5.1: 256 invocations, 4 vectors of 4 elements, at most 4 spins), with and without fallback.
const DEFAULT_CONFIGS: [&str; 2] =
    ["b4.vec4.fallback.sub.striped.early.wg256", "b4.vec4.par.sub.striped.early.wg256"];
/// The size that the paper measures at.
const DEFAULT_SIZE: u64 = 1 << 25;
/// What the proof blocks: half of the tiles.
const PROOF: u32 = 1;

/// What `scanbox bench` is asked about simulated blocking.
#[derive(Debug, Args)]
pub struct BlockingArgs {
    /// Simulated blocking: 1 in 2^K tiles never publishes its total, for each of these K and for none; configs
    /// without fallback run without blocking, as a reference [default configs, size and K: those of the paper]
    #[arg(
        long,
        value_name = "K,K,...",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "9,8,7,6,5,4,3,2,1",
        value_parser = rates,
        conflicts_with_all = ["from", "kernel", "buffers", "scratch", "with", "plot", "baseline"]
    )]
    blocking: Option<Rates>,

    /// Prove at the end that blocking blocks: configs without fallback run with half of the tiles blocked, at the
    /// smallest size, and must not give a right result
    #[arg(long)]
    prove: bool,

    /// Write the five plots to this folder, each as SVG and as CSV
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
}

/// The exponents that were asked for.
#[derive(Debug, Clone)]
struct Rates(BTreeSet<u32>);

fn rates(text: &str) -> Result<Rates, String> {
    let rate = |word: &str| {
        let rate = word.trim().parse().ok().filter(|k| (1..=catalog::MAX_BLOCKING).contains(k));
        rate.ok_or_else(|| format!("`{word}` is not an exponent from 1 to {}", catalog::MAX_BLOCKING))
    };
    text.split(',').map(rate).collect::<Result<_, _>>().map(Rates)
}

impl BlockingArgs {
    /// Whether this is a benchmark of simulated blocking.
    pub fn is_asked_for(&self) -> bool {
        self.blocking.is_some()
    }

    /// The exponents, from few blocked tiles to many; for the metadata.
    pub fn rates(&self) -> Option<Vec<u32>> {
        Some(self.blocking.as_ref()?.0.iter().rev().copied().collect())
    }

    /// The size where none is given: that of the paper, or the largest power of two below it that fits the device.
    pub fn default_size(&self, configs: &[Config], problem: &Problem, device: &DeviceProfile) -> u64 {
        let configs = with_default(configs);
        let fits = |n: &u64| {
            configs.iter().all(|config| {
                let bytes = catalog::Resolved::new(config, problem, *n, device).memory_bytes();
                bytes <= device.memory_bytes
            })
        };
        std::iter::successors(Some(DEFAULT_SIZE), |n| Some(n / 2)).take(16).find(fits).unwrap_or(DEFAULT_SIZE)
    }

    /// The places of the plots, where some are wanted.
    ///
    /// # Errors
    /// When something is there that must stay.
    pub fn claim(&self, outputs: &mut Outputs, style: PictureStyle) -> anyhow::Result<Vec<FigurePlaces>> {
        let Some(folder) = &self.plots else { return Ok(Vec::new()) };
        outputs.claim_folder("--plots", folder)?;
        let claim =
            |(name, y): (&str, &str)| outputs.claim_plot(folder, name, &format!("blocked,series,{y}"), style);
        blocking::FIGURES.into_iter().map(claim).collect()
    }

    /// Who takes part at a size.
    pub fn selected(
        &self,
        configs: &[Config],
        n: u64,
        problem: &Problem,
        device: &DeviceProfile,
    ) -> Vec<Selected> {
        let mut selected = Vec::new();
        for config in with_default(configs) {
            let config = launched(config, problem, n, device);
            let rates = self.rates().unwrap_or_default();
            let blocked = rates.into_iter().filter(|_| config.kernel.lookback.falls_back()).map(Some);
            for blocking in std::iter::once(None).chain(blocked) {
                let variant = Variant::blocked(blocking);
                // What cannot count is measured all the same.
                let counts = catalog::variant_legal(&config, variant.counted()).is_ok();
                let variant = if counts { variant.counted() } else { variant };
                let subject = Subject::Config { config, variant };
                selected.push(Selected { subject, selection: vec![Selection::Named] });
            }
        }
        behind_ceilings(selected, problem, device)
    }

    /// Runs the configs without fallback with half of the tiles blocked, where that is asked for. Returns: their
    /// rows, which `sink` has got too.
    ///
    /// # Errors
    /// When the device cannot be opened, or `sink` fails.
    pub fn prove(
        &self,
        configs: &[Config],
        n: u64,
        work: &BenchWork,
        supervision: &Supervision<'_>,
        sink: &mut dyn FnMut(&Record) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Record>> {
        let mut rows: Vec<Record> = Vec::new();
        if !self.prove {
            return Ok(rows);
        }
        let plain = with_default(configs).into_iter().filter(|config| {
            !config.kernel.lookback.falls_back()
                && catalog::variant_legal(config, Variant::blocked(Some(PROOF))).is_ok()
        });
        for config in plain {
            let worker = supervision
                .command
                .start_again(&supervision.limits)
                .context("the device cannot be opened again")?;
            let device = worker.profile.clone();
            let config = launched(config, &work.job.computation.problem, n, &device);
            let subject = Subject::Config { config, variant: Variant::blocked(Some(PROOF)) };
            note(&format!("{subject} at {}: it has to hang, or to be wrong", size_label(n)));
            let selected = Selected { subject, selection: vec![Selection::Named] };
            let mut work = work.clone();
            work.job.sizes = vec![(n, vec![selected])];
            let news = &mut |news: News| {
                if let News::Row(row) = news {
                    sink(&row)?;
                    rows.push(*row);
                }
                Ok(())
            };
            let mut task = BenchTask::new("bench", work, news);
            let supervised = supervision.run(worker, &mut task);
            task.end();
            supervised?;
        }
        for row in rows.iter().filter(|row| row.status == Status::Ok) {
            note(&format!(
                "{}{} at {} came to a right result: simulated blocking does not block it",
                row.config_id,
                Variant::blocked(row.blocking),
                size_label(row.n_elements)
            ));
        }
        Ok(rows)
    }

    /// What is made of the rows; the plots are written.
    ///
    /// # Errors
    /// When a plot cannot be written.
    pub fn report<'a>(
        &self,
        records: &'a [Record],
        proof: &'a [Record],
        metadata: &'a Metadata,
        end: End,
        places: &[FigurePlaces],
    ) -> anyhow::Result<BlockingReport<'a>> {
        let report = BlockingReport::new(metadata, records, proof, end);
        if let Some(folder) = &self.plots {
            fs::create_dir_all(folder).with_context(|| format!("--plots {}", folder.display()))?;
        }
        for (places, drawn) in places.iter().zip(report.figures()) {
            places.write(&drawn)?;
        }
        Ok(report)
    }
}

/// Whether a proof has failed: something without fallback came to a right result with half of the tiles blocked.
pub fn is_refuted(proof: &[Record]) -> bool {
    proof.iter().any(|row| row.status == Status::Ok)
}

fn with_default(configs: &[Config]) -> Vec<Config> {
    match configs {
        [] => DEFAULT_CONFIGS.iter().filter_map(|label| label.parse().ok()).collect(),
        named => named.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exponents() {
        let parsed = |text: &str| rates(text).map(|rates| rates.0.into_iter().collect::<Vec<_>>());
        assert_eq!(parsed("9,1, 3"), Ok(vec![1, 3, 9]));
        for wrong in ["", "0", "32", "1,", "1..3", "x"] {
            assert!(parsed(wrong).unwrap_err().contains("not an exponent from 1 to 31"), "{wrong}");
        }
    }

    #[test]
    fn the_default_configs_are_labels() {
        let configs = with_default(&[]);
        assert_eq!(configs.iter().map(ToString::to_string).collect::<Vec<_>>(), DEFAULT_CONFIGS);
    }
}
