//! The printer: the only place that writes to stdout and stderr.
//!
//! stdout carries data; everything else goes to stderr.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write as _},
    sync::Arc,
};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use ibid_api::{Error, Warning};
use serde::Serialize;

use crate::{
    args::Color,
    cli::{Failure, Outcome},
    config::env::{self, Surroundings},
};

const DEFAULT_WIDTH: usize = 100;
const NARROWEST: usize = 40;
/// Longer lines are hard to read, however wide the terminal.
const WIDEST: usize = 120;

/// Style of what went wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Style of what deserves attention.
pub const CAUTION: Style = AnsiColor::Yellow.on_default().bold();
/// Style of what is as it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Style of names and titles.
pub const STRONG: Style = Style::new().bold();
/// Style of places: paths, addresses.
pub const PLACE: Style = AnsiColor::Cyan.on_default();
/// Style of what is only there for completeness.
pub const FAINT: Style = Style::new().dimmed();
/// Style of matched words.
pub const MATCH: Style = AnsiColor::Yellow.on_default().bold();

/// Writes what people and programs read.
#[derive(Debug, Clone)]
pub struct Printer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    out: ColorChoice,
    err: ColorChoice,
    out_is_terminal: bool,
    err_is_terminal: bool,
    width: usize,
    quiet: bool,
}

impl Printer {
    /// A printer for these surroundings.
    pub fn new(color: Color, quiet: bool, surroundings: &Surroundings) -> Self {
        let out_is_terminal = io::stdout().is_terminal();
        let err_is_terminal = io::stderr().is_terminal();
        let choose = |terminal: bool| {
            let forced = surroundings.get(env::CLICOLOR_FORCE.name).is_some_and(|value| value != "0");
            let refused = surroundings.get(env::NO_COLOR.name).is_some();
            match color {
                Color::Always => ColorChoice::AlwaysAnsi,
                Color::Auto if !refused && (forced || terminal) => ColorChoice::Always,
                Color::Auto | Color::Never => ColorChoice::Never,
            }
        };
        let width = terminal_size::terminal_size()
            .filter(|_| out_is_terminal)
            .map(|(width, _)| usize::from(width.0))
            .or_else(|| surroundings.get(env::COLUMNS.name)?.parse().ok())
            .unwrap_or(DEFAULT_WIDTH)
            .clamp(NARROWEST, WIDEST);
        Self(Arc::new(Inner {
            out: choose(out_is_terminal),
            err: choose(err_is_terminal),
            out_is_terminal,
            err_is_terminal,
            width,
            quiet,
        }))
    }

    /// Columns to fill.
    pub fn width(&self) -> usize {
        self.0.width
    }

    /// Whether a person reads stdout.
    pub fn is_interactive(&self) -> bool {
        self.0.out_is_terminal
    }

    /// Whether progress may be drawn on stderr.
    pub fn draws_progress(&self) -> bool {
        self.0.err_is_terminal && !self.0.quiet
    }

    /// Writes a line of data.
    pub fn line(&self, line: impl Display) -> Outcome {
        self.write(format!("{line}\n").as_bytes())
    }

    /// Writes data as it is; styles are dropped when stdout has no colour.
    pub fn write(&self, bytes: &[u8]) -> Outcome {
        let mut out = AutoStream::new(io::stdout().lock(), self.0.out);
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| output_failure(&error))
    }

    /// Writes bytes that are not text.
    pub fn raw(&self, bytes: &[u8]) -> Outcome {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| output_failure(&error))
    }

    /// Writes a value as indented JSON.
    pub fn json(&self, value: &impl Serialize) -> Outcome {
        let mut json = serde_json::to_vec_pretty(value).map_err(|_| Error::internal())?;
        json.push(b'\n');
        self.raw(&json)
    }

    /// Writes a value as JSON on one line.
    pub fn json_line(&self, value: &impl Serialize) -> Outcome {
        let mut json = serde_json::to_vec(value).map_err(|_| Error::internal())?;
        json.push(b'\n');
        self.raw(&json)
    }

    /// Tells the user something that is not data.
    pub fn note(&self, note: impl Display) {
        if !self.0.quiet {
            self.aside(format_args!("{note}"));
        }
    }

    /// Tells whoever started a server where it is; scripts wait for this line, so `--quiet` does not suppress it.
    pub fn announce(&self, line: impl Display) {
        self.aside(format_args!("{line}"));
    }

    /// Tells the user something that is not data and that `--quiet` does not suppress.
    pub fn caution(&self, note: impl Display) {
        self.aside(format_args!("{CAUTION}caution{CAUTION:#}: {note}"));
    }

    /// Shows warnings of an answer.
    pub fn warnings(&self, warnings: &[Warning]) {
        for warning in warnings {
            self.warning(warning, None);
        }
    }

    /// Shows a warning and what to do about it.
    pub fn warning(&self, warning: &Warning, advice: Option<&str>) {
        let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
        self.note(format_args!("{CAUTION}warning{CAUTION:#}: {}{advice}", warning.message));
    }

    /// Shows an error: its code, its message and what to do next.
    pub fn error(&self, error: &Error) {
        self.aside(format_args!("{BAD}{}{BAD:#}: {}", error.code.as_str(), error.message));
        if let Some(hint) = &error.hint {
            self.aside(format_args!("{FAINT}hint{FAINT:#}: {hint}"));
        }
    }

    /// Asks a question; nothing when there is nobody to answer.
    pub fn ask(&self, question: impl Display) -> Option<bool> {
        if !self.0.err_is_terminal || !io::stdin().is_terminal() || self.0.quiet {
            return None;
        }
        let mut err = AutoStream::new(io::stderr().lock(), self.0.err);
        write!(err, "{question} {FAINT}[y/N]{FAINT:#} ").and_then(|()| err.flush()).ok()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    fn aside(&self, line: std::fmt::Arguments<'_>) {
        let mut err = AutoStream::new(io::stderr().lock(), self.0.err);
        // There is nobody left to tell when stderr is gone.
        let _ = writeln!(err, "{line}");
    }
}

fn output_failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
        io::ErrorKind::StorageFull => Failure::Error(Error::new(
            ibid_api::ErrorCode::StorageUnavailable,
            "the output could not be written: the disk is full",
        )),
        _ => Failure::Error(Error::new(
            ibid_api::ErrorCode::StorageUnavailable,
            "the output could not be written",
        )),
    }
}
