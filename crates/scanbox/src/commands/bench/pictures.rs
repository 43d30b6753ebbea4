//! The pictures that a benchmark draws.

use std::path::PathBuf;

use scanbox_analysis::bench::Heat;
use scanbox_model::metadata::Metadata;
use scanbox_report::{figure, plot};

use super::BenchArgs;
use crate::output::{Output, OutputContent, Outputs};

/// Where the pictures go, which is settled before anything runs.
pub(super) struct Pictures {
    pub outputs: Outputs,
    pub plot: Option<Output>,
    pub plots: Vec<[Output; 2]>,
}

impl Pictures {
    pub fn claim(args: &BenchArgs) -> anyhow::Result<Self> {
        let read = [args.from.as_deref(), args.show.as_deref(), args.problem.input(), args.library.input()];
        let read =
            read.into_iter().flatten().chain(args.with.iter().chain(&args.baseline).map(PathBuf::as_path));
        let mut outputs = Outputs::beside(read);
        let plot = args.plot.as_ref().map(|path| outputs.claim("--plot", path, OutputContent::Picture));
        Ok(Self { plot: plot.transpose()?, plots: args.blocking.claim(&mut outputs)?, outputs })
    }
}

/// Writes the picture.
pub(super) fn draw(output: &Output, metadata: &Metadata, heats: &[Heat<'_>]) -> anyhow::Result<()> {
    let title = format!("{}, scanbox {}", metadata.device.title(), metadata.tool_version);
    output.write_text(&figure::file(&plot::svg(&title, heats)?))
}
