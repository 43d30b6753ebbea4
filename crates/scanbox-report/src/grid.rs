//! Tables in two styles: lined-up text, and Markdown. Where a line is too narrow, columns go that are expendable;
//! where that is not enough, words take several lines.

use std::borrow::Cow;

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};

use crate::terminal::fold;

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
pub struct GridColumn {
    header: Cow<'static, str>,
    numbers: bool,
    /// Columns with the highest number go first where a line is too narrow; 0 always stays.
    expendable: u8,
    /// Whether it goes where no row says anything in it.
    goes_empty: bool,
}

impl GridColumn {
    /// A column of words.
    pub const fn words(header: &'static str) -> Self {
        Self { header: Cow::Borrowed(header), numbers: false, expendable: 0, goes_empty: false }
    }

    /// A column of numbers.
    pub const fn numbers(header: &'static str) -> Self {
        Self { header: Cow::Borrowed(header), numbers: true, expendable: 0, goes_empty: false }
    }

    /// A column of words whose header is not known before.
    pub fn words_of(header: String) -> Self {
        Self { header: Cow::Owned(header), ..Self::words("") }
    }

    /// A column of numbers whose header is not known before.
    pub fn numbers_of(header: String) -> Self {
        Self { numbers: true, ..Self::words_of(header) }
    }

    /// Lets the column go where the line is too narrow, the highest number first. What a table is ordered by is never
    /// expendable: without it a table seems to contradict itself.
    #[must_use]
    pub const fn expendable(mut self, expendable: u8) -> Self {
        self.expendable = expendable;
        self.unless_empty()
    }

    /// Lets the column go where no row says anything in it.
    #[must_use]
    pub const fn unless_empty(mut self) -> Self {
        self.goes_empty = true;
        self
    }
}

/// Cells in rows below columns.
#[derive(Debug, Clone)]
pub struct Grid {
    columns: Vec<GridColumn>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty grid.
    pub fn new(columns: impl Into<Vec<GridColumn>>) -> Self {
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

    /// The grid as lines, without a line break at the end; columns that had no room are named below.
    pub fn draw(self, style: Style) -> String {
        self.drawn(style).text_and_left_out(style)
    }

    /// The grid as lines, with the columns that it has then, and those that went because a line is too narrow.
    pub fn drawn(mut self, style: Style) -> DrawnGrid {
        let mut gone = Vec::new();
        // A column in which no row says anything is noise.
        for index in (0..self.columns.len()).rev() {
            if self.columns[index].goes_empty && self.rows.iter().all(|row| row[index].is_empty()) {
                self.remove(index);
            }
        }
        let text = match style {
            Style::Markdown => self.table(presets::ASCII_MARKDOWN, (1, 1)),
            Style::Text { width: None } => self.table(presets::NOTHING, (0, 2)),
            Style::Text { width: Some(width) } => {
                gone = self.fit(width);
                let gap = if self.line_width(2) <= width { 2 } else { 1 };
                self.table(presets::NOTHING, (0, gap))
            }
        };
        let shown = self.columns.into_iter().map(|column| column.header.into_owned()).collect();
        DrawnGrid { text, shown, gone }
    }

    /// Makes rows fit a line; the columns that had to go.
    fn fit(&mut self, width: usize) -> Vec<String> {
        let mut gone = Vec::new();
        while self.line_width(1) > width {
            let expendable = (0..self.columns.len()).max_by_key(|&index| self.columns[index].expendable);
            let expendable = expendable.filter(|&index| self.columns[index].expendable > 0);
            if expendable.is_none() {
                // Below the second width labels are no longer read; still better than rows that the terminal breaks.
                [12, 8].into_iter().for_each(|least| self.break_words(width, least));
            }
            // Rather no column than a broken row. What the table is ordered by stands first.
            let numbers = || (1..self.columns.len()).rev().find(|&index| self.columns[index].numbers);
            let too_wide = self.line_width(1) > width && self.columns.len() > 2;
            match expendable.or_else(|| numbers().filter(|_| too_wide)) {
                Some(index) => {
                    gone.insert(0, self.columns[index].header.to_string());
                    self.remove(index);
                }
                None => break,
            }
        }
        gone
    }

    /// Breaks the words of the widest columns into lines of at least `least`, so that the others have room.
    fn break_words(&mut self, width: usize, least: usize) {
        let mut too_much = self.line_width(1).saturating_sub(width);
        if too_much == 0 {
            return;
        }
        let words = (0..self.columns.len()).filter(|&index| !self.columns[index].numbers);
        let mut rooms: Vec<(usize, usize)> = words.map(|index| (index, self.widest(index))).collect();
        while let Some((_, room)) = rooms.iter_mut().max_by_key(|(_, room)| *room).filter(|_| too_much > 0) {
            if *room <= least {
                break;
            }
            *room -= 1;
            too_much -= 1;
        }
        for (index, room) in rooms {
            for row in &mut self.rows {
                let lines: Vec<String> = row[index].lines().map(|line| broken(line, room)).collect();
                row[index] = lines.join("\n");
            }
        }
    }

    fn widest(&self, index: usize) -> usize {
        let lines = self.rows.iter().flat_map(|row| row[index].lines());
        let cells = lines.map(|line| line.chars().count());
        cells.chain([self.columns[index].header.chars().count()]).max().unwrap_or(0)
    }

    fn remove(&mut self, column: usize) {
        self.columns.remove(column);
        for row in &mut self.rows {
            row.remove(column);
        }
    }

    /// The characters of a line with this many between two columns.
    fn line_width(&self, gap: usize) -> usize {
        (0..self.columns.len()).map(|index| self.widest(index) + gap).sum::<usize>().saturating_sub(gap)
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

/// A grid as lines.
pub struct DrawnGrid {
    /// The lines, without a line break at the end.
    pub text: String,
    /// The columns that it has.
    pub shown: Vec<String>,
    /// Those that had no room.
    pub gone: Vec<String>,
}

impl DrawnGrid {
    /// What is said of columns that had no room; `None` where all had.
    pub fn left_out(&self) -> Option<String> {
        let gone = self.gone.join(", ");
        (!gone.is_empty()).then(|| format!("hidden columns: {gone}; widen the terminal or pipe to `cat`"))
    }

    /// Whether a column of this name is there.
    pub fn has(&self, column: &str) -> bool {
        self.shown.iter().any(|shown| shown == column)
    }

    /// The lines, and below them what had no room.
    pub fn text_and_left_out(&self, style: Style) -> String {
        match (self.left_out(), style) {
            (Some(left_out), Style::Text { width }) => {
                format!("{}\n{}", self.text, fold("", &left_out, 2, width))
            }
            _ => self.text.clone(),
        }
    }
}

/// A text in lines of at most `room` characters: broken behind a space or before a dot, where it has one.
fn broken(text: &str, room: usize) -> String {
    let mut rest: Vec<char> = text.chars().collect();
    let mut lines: Vec<String> = Vec::new();
    while rest.len() > room {
        // A dot within a label may begin a line, that of a sentence may not.
        let is_within = |at: usize| rest[at] == '.' && rest.get(at + 1).is_some_and(|next| *next != ' ');
        let cut = (1..=room).rev().find(|&at| is_within(at) || rest[at - 1] == ' ').unwrap_or(room);
        let line: String = rest.drain(..cut).collect();
        lines.push(line.trim_end().to_owned());
    }
    lines.push(rest.into_iter().collect());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_width_or_says_what_went() {
        let grid = || {
            let mut grid = Grid::new([
                GridColumn::numbers("size"),
                GridColumn::words("config"),
                GridColumn::numbers("ties").expendable(1),
            ]);
            grid.push(["2^10", "pers.b4.vec4.gather.sub.shuffle.striped.wgid.early", "7"].map(str::to_owned));
            grid
        };
        let longest = |text: &str| text.lines().map(|line| line.chars().count()).max();
        let check = |width: usize, dropped: &[&str], lines: usize| {
            let DrawnGrid { text, gone, .. } = grid().drawn(Style::Text { width: Some(width) });
            assert!(longest(&text) <= Some(width), "{text}");
            assert_eq!(gone, dropped, "{text}");
            assert_eq!(text.lines().count(), lines, "{text}");
        };
        check(80, &[], 3);
        check(56, &["ties"], 3);
        check(40, &["ties"], 4);
        check(24, &["ties"], 5);
    }

    #[test]
    fn no_row_is_broken_however_narrow_the_line() {
        let numbers = ["one", "two", "three", "four", "five", "six"].map(GridColumn::numbers);
        let mut grid = Grid::new([GridColumn::numbers("size"), GridColumn::words("config")]);
        grid.columns.extend(numbers);
        let cells = ["2^10", "b4.vec4.par.rake.wg64"].into_iter().chain(["123456.7"; 6]);
        grid.push_row(cells.map(str::to_owned).collect());
        for width in 20..=90 {
            let text = grid.clone().draw(Style::Text { width: Some(width) });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            let first = text.lines().next().unwrap();
            let says = ["one", "two", "three", "four", "five", "six"].map(|name| text.contains(name));
            assert!(first.contains("size") && says.iter().all(|says| *says), "{width}:\n{text}");
        }
        let drawn = grid.drawn(Style::Text { width: Some(60) });
        assert_eq!(drawn.gone, ["six"]);
        assert!(drawn.has("two") && !drawn.has("six"));
    }

    #[test]
    fn where_two_columns_are_too_wide_both_break() {
        let mut grid = Grid::new(["rule", "what to do"].map(GridColumn::words));
        grid.push(
            ["before-scan needs-subgroup scan of words", "use another one of these many words"]
                .map(str::to_owned),
        );
        let text = grid.draw(Style::Text { width: Some(40) });
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width <= 40), "{text}");
        assert_eq!(widths.len(), 5, "{text}");
    }

    #[test]
    fn words_break_at_dots_and_spaces() {
        assert_eq!(broken("abc.def.ghi", 8), "abc.def\n.ghi");
        assert_eq!(broken("a tile.", 6), "a\ntile.");
        assert_eq!(broken("no ok row at 2^10", 8), "no ok\nrow at\n2^10");
        assert_eq!(broken("abcdefgh", 3), "abc\ndef\ngh");
        assert_eq!(broken("", 3), "");
    }
}
