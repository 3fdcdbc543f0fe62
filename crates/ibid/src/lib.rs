//! The `ibid` program as a library: configuration, command line, transports.
//!
//! [`run`] is the whole program: it parses the arguments, reads the configuration, runs one command, and
//! turns what went wrong into a message on stderr and an exit code.

pub mod absent;
pub mod args;
pub mod assemble;
pub mod cli;
pub mod config;
pub mod http;
pub mod logging;
pub mod mcp;
pub mod profile;
pub mod reference;
pub mod serving;
pub mod ui;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use args::Arguments;
use cli::{Context, Failure};
use config::{Config, env::Surroundings};
use ui::printer::Printer;

/// Runs the program with the arguments of the process.
pub fn run() -> ExitCode {
    let arguments = match Arguments::command().try_get_matches() {
        Ok(matches) => match Arguments::from_arg_matches(&matches) {
            Ok(arguments) => arguments,
            Err(error) => return usage(&error),
        },
        Err(error) => return usage(&error),
    };
    let surroundings = match Surroundings::of_process(arguments.global.directory.as_deref()) {
        Ok(surroundings) => surroundings,
        Err(error) => {
            let printer =
                Printer::new(arguments.global.color, arguments.global.quiet, &Surroundings::default());
            return finish(&printer, Err(error.into()));
        }
    };
    let printer = Printer::new(arguments.global.color, arguments.global.quiet, &surroundings);
    let outcome = start(arguments, surroundings, printer.clone());
    finish(&printer, outcome)
}

fn start(arguments: Arguments, surroundings: Surroundings, printer: Printer) -> cli::Outcome {
    let Some(command) = arguments.command else {
        return cli::welcome::run(&printer);
    };
    let mut flags = command.flags();
    flags.extend(arguments.global.flags()?);
    let config = Config::load(surroundings, arguments.global.config.clone(), &flags)?;
    logging::start(&config, command.log_level(arguments.global.log_level));
    cli::run(command, Context::new(config, printer))
}

fn finish(printer: &Printer, outcome: cli::Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Failure::Error(error) = &failure {
                printer.error(error);
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// What clap has to say: help and version are answers, everything else is wrong usage.
fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe behind `ibid --help` is nobody's problem.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}
