//! Aligned columns.

use std::fmt::Write as _;

use super::{
    printer::FAINT,
    text::{shorten, shorten_path, width},
};

/// Heading of a column of paths.
pub const PATH: &str = "path";

/// A table whose columns are as wide as their widest cell; the last one takes what is left.
#[derive(Debug, Default)]
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row of texts without styles.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table, no wider than so many columns.
    pub fn render(&self, columns: usize) -> String {
        let n_columns = self.head.len();
        let mut widths: Vec<_> = self.head.iter().map(|cell| width(cell)).collect();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                widths[column] = widths[column].max(width(cell));
            }
        }
        // The widest column gives way first.
        let gaps = 2 * n_columns.saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > columns {
            let Some(widest) = widths.iter_mut().max() else { break };
            if *widest <= 8 {
                break;
            }
            *widest -= 1;
        }
        let mut text = String::new();
        let head: Vec<_> = self.head.iter().map(|cell| (*cell).to_owned()).collect();
        if self.head.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(text, "{FAINT}{}{FAINT:#}", self.line(&head, &widths));
        }
        for row in &self.rows {
            text.push_str(&self.line(row, &widths));
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut text = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let shorten = if self.head[column] == PATH { shorten_path } else { shorten };
            let cell = shorten(cell, widths[column]);
            text.push_str(&cell);
            if column + 1 < cells.len() {
                text.push_str(&" ".repeat(widths[column] - width(&cell) + 2));
            }
        }
        text.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_the_widest_gives_way() {
        let mut table = Table::new(&["", ""]);
        table.row(["a".to_owned(), "one".to_owned()]);
        table.row(["日本".to_owned(), "a long text that does not fit".to_owned()]);
        assert_eq!(table.render(20), "a     one\n日本  a long text t…\n");
    }
}
