//! What was measured, as an aligned table or as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::Outcome;

/// One measured thing.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// What the same work costs at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) floor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<Goal>,
    /// Said beside the value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) remark: String,
}

/// What a row has to stay under.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Goal {
    /// The value itself.
    Value(f64),
    /// The value divided by its floor.
    Ratio(f64),
}

impl Row {
    pub(crate) fn new(group: &'static str, name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { group, name: name.into(), value, unit, floor: None, goal: None, remark: String::new() }
    }

    pub(crate) fn floor(self, floor: f64) -> Self {
        Self { floor: Some(floor), ..self }
    }

    pub(crate) fn goal(self, goal: Goal) -> Self {
        Self { goal: Some(goal), ..self }
    }

    pub(crate) fn remark(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    fn ratio(&self) -> Option<f64> {
        self.floor.filter(|floor| *floor > 0.0).map(|floor| self.value / floor)
    }

    fn met(&self) -> Option<bool> {
        Some(match self.goal? {
            Goal::Value(most) => self.value <= most,
            Goal::Ratio(most) => self.ratio()? <= most,
        })
    }
}

/// Everything measured in a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    notes: Vec<String>,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(crate) fn json(&self) -> Outcome<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    pub(crate) fn table(&self) -> String {
        let mut lines = vec![["what", "measured", "floor", "ratio", "goal", ""].map(str::to_owned)];
        for row in &self.rows {
            let goal = match row.goal {
                None => String::new(),
                Some(Goal::Value(most)) => format!("< {}", number(most)),
                Some(Goal::Ratio(most)) => format!("< {most}x"),
            };
            let verdict = match row.met() {
                None => "",
                Some(true) => "met",
                Some(false) => "MISSED",
            };
            let last = [verdict, &row.remark].into_iter().filter(|part| !part.is_empty());
            lines.push([
                format!("{}: {}", row.group, row.name),
                format!("{} {}", number(row.value), row.unit),
                row.floor.map_or_else(String::new, |floor| format!("{} {}", number(floor), row.unit)),
                row.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}x")),
                goal,
                last.collect::<Vec<_>>().join(", "),
            ]);
        }
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut table = String::new();
        for note in &self.notes {
            let _ = writeln!(table, "{note}");
        }
        for line in &lines {
            let mut text = format!("{:<width$}", line[0], width = widths[0]);
            for column in 1..5 {
                let _ = write!(text, "  {:>width$}", line[column], width = widths[column]);
            }
            let _ = writeln!(table, "{}", format!("{text}  {}", line[5]).trim_end());
        }
        table
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => format!("{value:.2}"),
        10.0..1_000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
