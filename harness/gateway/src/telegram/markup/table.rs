//! A Markdown table as lines of monospaced text: no chat has tables.

/// The cells of a table, row by row; the first row is its head.
#[derive(Default)]
pub(super) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(text);
        }
    }

    /// The rows one below the other, columns aligned, a line under the head.
    pub(super) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row, &widths)).collect();
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        if !lines.is_empty() {
            lines.insert(1, rules.join("-+-"));
        }
        lines.join("\n")
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let pad = |(cell, width): (&String, &usize)| {
        let missing = width.saturating_sub(cell.chars().count());
        format!("{cell}{}", " ".repeat(missing))
    };
    let cells: Vec<String> = row.iter().zip(widths).map(pad).collect();
    cells.join(" | ").trim_end().to_owned()
}
