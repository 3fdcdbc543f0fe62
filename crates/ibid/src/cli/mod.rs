//! Commands: one file each, and how they are run.

pub mod bundle;
pub mod call;
pub mod completions;
pub mod config;
pub mod doctor;
pub mod eval;
mod filter;
pub mod get;
pub mod index;
pub mod init;
pub mod install_client;
mod interrupt;
mod knowledge;
pub mod list;
pub mod man;
pub mod mcp;
pub mod model;
pub mod reference;
pub mod related;
pub mod search;
pub mod serve;
pub mod status;
pub mod sync;
mod time;
pub mod tools;
pub mod welcome;

use ibid_api::{Error, ErrorCode};

use crate::{args::Command, config::Config, ui::printer::Printer};
use interrupt::Interrupt;

/// What a command ends with.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// Something to tell the user.
    Error(Error),
    /// Whoever read the output stopped reading: nothing to tell.
    BrokenPipe,
    /// The user interrupted.
    Interrupted,
    /// The command has said what is wrong itself.
    Told,
}

impl Failure {
    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Error(error) => error.code.exit_code(),
            Self::BrokenPipe => 0,
            Self::Interrupted => 130,
            Self::Told => 1,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// What every command works with.
pub struct Context {
    /// The configuration.
    pub config: Config,
    /// Where output goes.
    pub printer: Printer,
    /// The user's wish to stop.
    pub interrupt: Interrupt,
}

impl Context {
    /// A context for one command.
    pub fn new(config: Config, printer: Printer) -> Self {
        Self { config, printer, interrupt: Interrupt::default() }
    }
}

/// Runs a command.
pub fn run(command: Command, context: Context) -> Outcome {
    match command {
        Command::Init(arguments) => init::run(&arguments, &context),
        Command::Index(arguments) => wait(&context, index::run(&arguments, &context)),
        Command::Reindex(arguments) => wait(&context, index::run(&arguments.into_full(), &context)),
        Command::Search(arguments) => wait(&context, search::run(&arguments, &context)),
        Command::Get(arguments) => wait(&context, get::run(&arguments, &context)),
        Command::List(arguments) => wait(&context, list::run(&arguments, &context)),
        Command::Related(arguments) => wait(&context, related::run(&arguments, &context)),
        Command::Eval(arguments) => wait(&context, eval::run(&arguments, &context)),
        Command::Status(arguments) => wait(&context, status::run(&arguments, &context)),
        Command::Doctor(arguments) => wait(&context, doctor::run(&arguments, &context)),
        Command::Sync(arguments) => wait(&context, sync::run(&arguments, &context)),
        Command::Config(arguments) => config::run(&arguments, &context),
        Command::Model(arguments) => model::run(&arguments, &context),
        Command::Mcp(arguments) => mcp::run(&arguments, &context),
        Command::Serve(arguments) => serve::run(&arguments, &context),
        Command::Tools(arguments) => tools::run(&arguments, &context),
        Command::Call(arguments) => call::run(&arguments, &context),
        Command::InstallClient(arguments) => install_client::run(&arguments, &context),
        Command::Bundle(arguments) => bundle::run(&arguments, &context),
        Command::Completions(arguments) => completions::run(&arguments, &context),
        Command::Man(arguments) => man::run(&arguments, &context),
    }
}

/// Runs a command's future to its end, with Ctrl-C as a polite request to stop.
fn wait(context: &Context, command: impl Future<Output = Outcome>) -> Outcome {
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        context.interrupt.listen();
        command.await
    });
    // What still runs was given up by the command, such as a look at a folder that turned out to be large. No
    // write is among it: those are waited for, and whole or not at all if the process ends.
    runtime.shutdown_background();
    outcome
}

fn runtime() -> Outcome<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|_| {
        Error::new(ErrorCode::Internal, "the system gave no threads to work with")
            .with_hint("check the limit of processes with `ulimit -u`")
            .into()
    })
}
