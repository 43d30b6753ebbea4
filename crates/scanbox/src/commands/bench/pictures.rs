//! The pictures that a benchmark draws.

use std::path::PathBuf;

use clap::Args;
use scanbox_analysis::bench::Heat;
use scanbox_model::metadata::Metadata;
use scanbox_report::figure::PictureStyle;
use scanbox_report::plot;

use super::BenchArgs;
use crate::args::format::PICTURE_STYLES;
use crate::args::words::words;
use crate::output::Outputs;
use crate::output::figures::FigurePlaces;

/// The options of pictures.
#[derive(Debug, Args)]
pub(super) struct PictureArgs {
    /// Draw throughput and times as fast as the fastest baseline, against size, into this file; with --style paper also
    /// as PDF
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// How pictures of --plot and --plots look
    #[arg(long, value_parser = words(PICTURE_STYLES), value_name = "STYLE", default_value = "screen")]
    style: PictureStyle,
}

impl PictureArgs {
    pub fn is_asked_for(&self) -> bool {
        self.plot.is_some()
    }
}

/// Where the pictures go, which is settled before anything runs.
pub(super) struct Pictures {
    pub outputs: Outputs,
    pub plot: Option<FigurePlaces>,
    pub plots: Vec<FigurePlaces>,
}

impl Pictures {
    pub fn claim(args: &BenchArgs) -> anyhow::Result<Self> {
        let read = [args.from.as_deref(), args.problem.input(), args.library.input()];
        let files = args.show.iter().chain(&args.with).chain(&args.baseline);
        let read = read.into_iter().flatten().chain(files.map(PathBuf::as_path));
        let mut outputs = Outputs::beside(read);
        let plot = args
            .pictures
            .plot
            .as_ref()
            .map(|path| outputs.claim_picture("--plot", path, args.pictures.style));
        Ok(Self {
            plot: plot.transpose()?,
            plots: args.blocking.claim(&mut outputs, args.pictures.style)?,
            outputs,
        })
    }
}

/// Writes the picture.
pub(super) fn draw(places: &FigurePlaces, metadata: &Metadata, heats: &[Heat<'_>]) -> anyhow::Result<()> {
    let title = format!("{}, scanbox {}", metadata.device.title(), metadata.tool_version);
    places.write(&plot::figure(&title, heats)?).map(drop)
}
