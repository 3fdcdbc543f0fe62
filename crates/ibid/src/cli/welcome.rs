//! What `ibid` alone says.

use super::Outcome;
use crate::ui::printer::{FAINT, PLACE, Printer, STRONG};

/// Prints the summary.
pub fn run(printer: &Printer) -> Outcome {
    let lines = [
        ("ibid search WORDS…", "find passages here, by words and by meaning"),
        ("ibid get PATH#SECTION", "print a document, a section or some lines"),
        ("ibid init", "set this folder up and register it with your agent"),
        ("ibid mcp", "serve it to an agent over MCP"),
        ("ibid status", "how fresh the index is and what is in it"),
        ("ibid doctor", "check that everything works"),
    ];
    printer.line(format_args!(
        "{STRONG}ibid{STRONG:#} {FAINT}{}{FAINT:#}: the knowledge base that agents and people share\n",
        env!("CARGO_PKG_VERSION")
    ))?;
    for (command, about) in lines {
        printer.line(format_args!("  {PLACE}{command:<22}{PLACE:#} {about}"))?;
    }
    printer.line("\n`ibid --help` lists everything; `ibid COMMAND --help` explains one command.")
}
