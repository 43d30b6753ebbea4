//! Tables in two styles: lined-up text that never wraps, and Markdown.

use std::borrow::Cow;

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};

/// How a table is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Lined-up columns, in at most this many characters per line where a limit is known.
    Text {
        /// Characters per line.
        width: Option<usize>,
    },
    /// A Markdown table.
    Markdown,
}

/// A column: its header, and how it is set.
#[derive(Debug, Clone)]
pub struct Column {
    header: Cow<'static, str>,
    numbers: bool,
    /// Columns with the highest number go first where a line is too narrow; 0 always stays.
    expendable: u8,
}

impl Column {
    /// A column of words.
    pub const fn words(header: &'static str) -> Self {
        Self { header: Cow::Borrowed(header), numbers: false, expendable: 0 }
    }

    /// A column of numbers.
    pub const fn numbers(header: &'static str) -> Self {
        Self { header: Cow::Borrowed(header), numbers: true, expendable: 0 }
    }

    /// A column of words whose header is not known before.
    pub fn words_of(header: String) -> Self {
        Self { header: Cow::Owned(header), numbers: false, expendable: 0 }
    }

    /// A column of numbers whose header is not known before.
    pub fn numbers_of(header: String) -> Self {
        Self { header: Cow::Owned(header), numbers: true, expendable: 0 }
    }

    /// Lets the column go where the line is too narrow, the highest number first.
    pub const fn expendable(mut self, expendable: u8) -> Self {
        self.expendable = expendable;
        self
    }
}

/// Cells in rows below columns.
#[derive(Debug, Clone)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty grid.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row with one cell per column.
    pub fn push<const N: usize>(&mut self, cells: [String; N]) {
        self.push_row(cells.into());
    }

    /// Adds a row with one cell per column.
    pub fn push_row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The grid as lines, without a line break at the end.
    pub fn draw(mut self, style: Style) -> String {
        // A column in which no row says anything is noise.
        for index in (0..self.columns.len()).rev() {
            if self.columns[index].expendable > 0 && self.rows.iter().all(|row| row[index].is_empty()) {
                self.remove(index);
            }
        }
        match style {
            Style::Markdown => self.table(presets::ASCII_MARKDOWN, (1, 1)),
            Style::Text { width: None } => self.table(presets::NOTHING, (0, 2)),
            Style::Text { width: Some(width) } => loop {
                let gap = [2, 1].into_iter().find(|gap| self.line_width(*gap) <= width);
                let least = (0..self.columns.len()).max_by_key(|&index| self.columns[index].expendable);
                match (gap, least) {
                    (None, Some(least)) if self.columns[least].expendable > 0 => self.remove(least),
                    (gap, _) => break self.table(presets::NOTHING, (0, gap.unwrap_or(1) as u16)),
                }
            },
        }
    }

    fn remove(&mut self, column: usize) {
        self.columns.remove(column);
        for row in &mut self.rows {
            row.remove(column);
        }
    }

    /// The characters of a line with this many between two columns.
    fn line_width(&self, gap: usize) -> usize {
        let widest = |index: usize| {
            let cells = self.rows.iter().map(|row| row[index].chars().count());
            cells.chain([self.columns[index].header.chars().count()]).max().unwrap_or(0)
        };
        (0..self.columns.len()).map(|index| widest(index) + gap).sum::<usize>().saturating_sub(gap)
    }

    fn table(&self, preset: &str, padding: (u16, u16)) -> String {
        let mut table = Table::new();
        table.load_preset(preset).set_content_arrangement(ContentArrangement::Disabled).force_no_tty();
        if preset == presets::NOTHING {
            table.set_style(TableComponent::HeaderLines, '─');
        }
        table.set_header(self.columns.iter().map(|column| column.header.as_ref()));
        for row in &self.rows {
            // In a Markdown table a bar ends the cell.
            table.add_row(row.iter().map(|cell| {
                if preset == presets::NOTHING { cell.clone() } else { cell.replace('|', "\\|") }
            }));
        }
        for (index, column) in self.columns.iter().enumerate() {
            if let Some(setting) = table.column_mut(index) {
                let last = index + 1 == self.columns.len() && preset == presets::NOTHING;
                setting.set_padding(if last { (0, 0) } else { padding });
                setting.set_cell_alignment(if column.numbers {
                    CellAlignment::Right
                } else {
                    CellAlignment::Left
                });
            }
        }
        table.trim_fmt()
    }
}
