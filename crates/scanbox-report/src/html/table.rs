//! Tables of the page.

/// A cell with more characters than that may take several lines.
const LONG: usize = 40;

/// A table.
#[derive(Debug, Default)]
pub struct Table {
    /// What it is, and how to read it.
    pub caption: String,
    /// The columns.
    pub columns: Vec<HtmlColumn>,
    /// The rows: one cell per column.
    pub rows: Vec<Vec<HtmlCell>>,
    /// The beginning of the name of the CSV file that has all rows; empty: there is none.
    pub name: String,
    /// Rows beyond these are in that file only.
    pub shown: Option<usize>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct HtmlColumn {
    /// Its heading.
    pub name: String,
    /// Whether it has numbers.
    pub number: bool,
}

/// A cell of a table.
#[derive(Debug, Clone, Default)]
pub struct HtmlCell {
    /// What it says.
    pub text: String,
    /// Whether it is a label or a command.
    pub code: bool,
    /// Whether it stands out.
    pub flagged: bool,
}

impl HtmlColumn {
    /// A column of words.
    pub fn words(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: false }
    }

    /// A column of numbers.
    pub fn numbers(name: impl Into<String>) -> Self {
        Self { name: name.into(), number: true }
    }
}

impl HtmlCell {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A label or a command.
    pub fn code(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: true, flagged: false }
    }

    /// What the style sheet knows it by.
    pub fn class(&self, column: &HtmlColumn) -> Option<String> {
        let classes = [
            column.number.then_some("n"),
            self.flagged.then_some("f"),
            (self.text.chars().count() > LONG).then_some("w"),
        ];
        let classes: Vec<&str> = classes.into_iter().flatten().collect();
        (!classes.is_empty()).then(|| classes.join(" "))
    }

    /// It, standing out if so.
    #[must_use]
    pub fn flagged_if(self, flagged: bool) -> Self {
        Self { flagged, ..self }
    }
}

impl Table {
    /// All its rows as CSV with a header.
    ///
    /// # Errors
    /// When a text has no place in CSV; there is none.
    pub fn csv(&self) -> anyhow::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in &self.rows {
            // What stands in lines in the page stands in one here.
            writer.write_record(row.iter().map(|cell| cell.text.replace('\n', " ")))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }

    /// A column in which no row says anything is noise.
    pub fn drop_empty_columns(&mut self) {
        for index in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[index].text.is_empty()) {
                self.columns.remove(index);
                self.rows.iter_mut().for_each(|row| drop(row.remove(index)));
            }
        }
    }

    /// The rows of the page.
    pub fn shown_rows(&self) -> &[Vec<HtmlCell>] {
        &self.rows[..self.shown.unwrap_or(self.rows.len()).min(self.rows.len())]
    }

    /// How many rows the file alone has.
    pub fn rows_left_out(&self) -> usize {
        self.rows.len() - self.shown_rows().len()
    }

    /// What the style sheet knows it by: where the screen is narrower than it needs, rows become blocks.
    pub fn class(&self) -> &'static str {
        // What is long takes several lines. A letter is 8 pixels wide, and so is half the room between columns.
        let letters = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.chars().count().min(LONG)).max().unwrap_or(0).max(4)
        };
        match (0..self.columns.len()).map(|column| 8 * (letters(column) + 2)).sum() {
            0..=440_usize => "slim",
            441..=800 => "middle",
            801..=1200 => "wide",
            _ => "blocks",
        }
    }
}

impl HtmlCell {
    /// Its text in pieces between which a line may end: labels have no spaces.
    pub fn pieces(&self) -> Vec<&str> {
        match self.code && self.text.chars().count() > LONG / 2 {
            true => self.text.split_inclusive(['.', '/', '=', ',']).collect(),
            false => vec![&self.text],
        }
    }
}
