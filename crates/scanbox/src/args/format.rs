//! The words for formats, and for how pictures look.

use scanbox_report::document::Format;
use scanbox_report::figure::PictureStyle;

use super::words::HelpWord;

/// Of answers that have two forms.
pub const TABLE_OR_JSON: &[HelpWord<Format>] = &[("table", "", Format::Table), ("json", "", Format::Json)];

/// Of explanations.
pub const TABLE_MARKDOWN_OR_JSON: &[HelpWord<Format>] = &[
    ("table", "For a terminal", Format::Table),
    ("md", "Markdown", Format::Markdown),
    ("json", "", Format::Json),
];

/// Of analyses, benchmarks and comparisons.
pub const ANSWERS: &[HelpWord<Format>] = &[
    ("table", "Tables for a terminal", Format::Table),
    ("json", "One JSON document with everything", Format::Json),
    ("csv", "One row per device and size", Format::Csv),
    ("md", "Tables in Markdown", Format::Markdown),
];

/// Of rows.
pub const ROWS: &[HelpWord<Format>] = &[
    (
        "t4",
        "A results format of autotuners, valid by the schema that Kernel Tuner ships (T4, version 1.0.0)",
        Format::T4,
    ),
    ("json", "One JSON array with an object per row; cells without a value are left out", Format::Json),
    ("csv", "One CSV of all files, with every column of this version", Format::Csv),
    (
        "kernels",
        "A folder with the kernels that win: SPIR-V, GLSL in one text each, recipe.json, and a README on how to dispatch them",
        Format::Kernels,
    ),
];

/// Of pictures.
pub const PICTURE_STYLES: &[HelpWord<PictureStyle>] = &[
    ("screen", "Light or dark, as the reader has chosen", PictureStyle::Screen),
    (
        "paper",
        "For a column of a paper: letters of 8 points, no title; as PDF too, which carries its font",
        PictureStyle::Paper,
    ),
];
