//! The files of a figure: SVG, in the style for papers PDF too, and its data as CSV.

use std::path::Path;

use scanbox_report::figure::{Figure, PictureStyle, pdf};

use super::{Output, OutputContent, Outputs};

/// Where a figure goes.
#[derive(Debug)]
pub struct FigurePlaces {
    style: PictureStyle,
    svg: Output,
    /// In the style for papers.
    pdf: Option<Output>,
    /// Where its data are wanted.
    csv: Option<Output>,
}

impl Outputs {
    /// The places of a picture: this one, and beside it a PDF where the style has one.
    ///
    /// # Errors
    /// As [`Outputs::claim`].
    pub fn claim_picture(
        &mut self,
        option: &'static str,
        path: &Path,
        style: PictureStyle,
    ) -> anyhow::Result<FigurePlaces> {
        let svg = self.claim(option, path, OutputContent::Picture)?;
        let pdf = (style == PictureStyle::Paper)
            .then(|| self.claim(option, &path.with_extension("pdf"), OutputContent::Picture));
        Ok(FigurePlaces { style, svg, pdf: pdf.transpose()?, csv: None })
    }

    /// The places of a figure in a folder that has this name, and this header above its data.
    ///
    /// # Errors
    /// As [`Outputs::claim`].
    pub fn claim_plot(
        &mut self,
        folder: &Path,
        name: &str,
        header: &str,
        style: PictureStyle,
    ) -> anyhow::Result<FigurePlaces> {
        let places = self.claim_picture("--plots", &folder.join(format!("{name}.svg")), style)?;
        Ok(FigurePlaces { csv: Some(self.claim_rows(folder, name, header)?), ..places })
    }

    /// The place of a table in a folder, of which this is the header.
    ///
    /// # Errors
    /// As [`Outputs::claim`].
    pub fn claim_rows(&mut self, folder: &Path, name: &str, header: &str) -> anyhow::Result<Output> {
        let header = OutputContent::Table(header.to_owned());
        self.claim("--plots", &folder.join(format!("{name}.csv")), header)
    }
}

impl FigurePlaces {
    /// Writes the figure, and returns how many files there are.
    ///
    /// # Errors
    /// When it cannot be drawn, or as [`Output::write`].
    pub fn write(&self, figure: &Figure) -> anyhow::Result<usize> {
        let svg = figure.svg(self.style);
        // What cannot be drawn is known before anything is written.
        let pdf =
            self.pdf.as_ref().map(|output| anyhow::Ok((output, pdf(&svg, &figure.title)?))).transpose()?;
        let csv = self.csv.as_ref().map(|output| anyhow::Ok((output, figure.csv()?))).transpose()?;
        self.svg.write_text(&svg)?;
        if let Some((output, bytes)) = &pdf {
            output.write(|out| out.write_all(bytes))?;
        }
        if let Some((output, text)) = &csv {
            output.write_text(text)?;
        }
        Ok(1 + usize::from(pdf.is_some()) + usize::from(csv.is_some()))
    }
}
