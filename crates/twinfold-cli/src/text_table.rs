//! Tables of text that fit a terminal.

use std::fmt::Write as _;

/// Rows of cells: the first column to the left, the others to the right.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    columns: Vec<Vec<String>>,
}

const GAP: usize = 2;

impl TextTable {
    /// A table without rows.
    pub(crate) fn new(header: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            columns: header.into_iter().map(|name| vec![name.into()]).collect(),
        }
    }

    /// Adds a row; cells that are missing are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells = cells.into_iter();
        for column in &mut self.columns {
            column.push(cells.next().unwrap_or_default());
        }
    }

    /// The table in lines of at most `width` characters, as far as two columns fit. What does not fit
    /// beside the others follows below, the first column being repeated.
    pub(crate) fn render(&self, width: usize) -> String {
        let widths: Vec<usize> = self
            .columns
            .iter()
            .map(|column| {
                column
                    .iter()
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        let Some((&first, rest)) = widths.split_first() else {
            return text;
        };
        let mut start = 0;
        while start < rest.len() {
            let (mut end, mut used) = (start, first);
            while end < rest.len() && (end == start || used + GAP + rest[end] <= width) {
                used += GAP + rest[end];
                end += 1;
            }
            if start > 0 {
                text.push('\n');
            }
            for row in 0..self.columns[0].len() {
                let mut line = format!("{:<first$}", self.columns[0][row]);
                for (column, wide) in self.columns[1..].iter().zip(rest).take(end).skip(start) {
                    let wide = GAP + wide;
                    // Writing to a string does not fail.
                    let _ = write!(line, "{:>wide$}", column[row]);
                }
                text.push_str(line.trim_end());
                text.push('\n');
            }
            start = end;
        }
        text
    }
}

/// A label and its text in lines of at most `width` characters, where words allow.
pub(crate) fn labelled(label: &str, text: &str, width: usize) -> String {
    const INDENT: usize = 13;
    let mut lines = format!("{label:<INDENT$}");
    let mut used = INDENT;
    for (number, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && used + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(INDENT));
            used = INDENT;
        } else if number > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines.push('\n');
    lines
}

/// The characters of a line: those of the terminal, else what `COLUMNS` says, else 100.
pub(crate) fn width() -> usize {
    const DEFAULT: usize = 100;
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal
        .map(|(width, _)| usize::from(width.0))
        .or_else(columns)
        .filter(|&width| width > 0)
        .unwrap_or(DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_follows_below() {
        let mut table = TextTable::new(["name", "one", "two"]);
        table.row(["ä", "1", "22222"].map(String::from));
        assert_eq!(table.render(80), "name  one    two\nä       1  22222\n");
        assert_eq!(
            table.render(12),
            "name  one\nä       1\n\nname    two\nä     22222\n"
        );
        assert_eq!(table.render(1), table.render(12));
    }

    #[test]
    fn words_are_wrapped() {
        assert_eq!(
            labelled("note", "one two three", 21),
            "note         one two\n             three\n"
        );
        assert_eq!(labelled("note", "one", 1), "note         one\n");
    }
}
